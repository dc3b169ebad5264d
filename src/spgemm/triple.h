/*
 * C = P^T*A*P in host memory without storing the product of two matrices. triple.c chooses between rows of C
 * (triple_rows.c) and runs of rows of P (triple_runs.c). Otherwise two products are computed by plans
 * (triple_products.c).
 */
#pragma once

#include "base/memory.h"
#include "spgemm/spgemm_plan.h"

/* A host array whose bytes are counted. */
typedef struct spryi_triple_array {
    void *at;
    int64_t bytes;
    bool reserved; /* address space was reserved for the array: only written pages use memory; bytes are not counted */
} spryi_triple_array;

/* Counts the bytes of a triple product, also if multiple threads allocate, and enforces the limit. */
typedef struct spryi_triple_memory {
    spry_context *context;
    int64_t limit;        /* maximal bytes; 0: no limit */
    _Atomic int64_t held; /* current bytes, including inputs */
    _Atomic int64_t peak;
} spryi_triple_memory;

/* Workspace of one thread for the method by rows of C. Sums are zero between rows. */
typedef struct spryi_triple_part {
    spryi_triple_array space; /* memory of middle, sums, seen and list */
    /* current row of P^T*A. middle: sum of each column of A; seen: last row that has the column; list: row's columns */
    void *middle, *seen, *list;
    void *sums;                         /* current row of C: sum of each column */
    spryi_triple_array finding;         /* memory of seen_of_c and list_of_c */
    void *seen_of_c, *list_of_c;        /* like seen and list, for columns of C; only while the structure is computed */
    spryi_triple_array columns, values; /* column indices and values of the rows of C that this thread computed */
    int64_t room, used;                 /* entries that fit into `columns` and `values`; entries stored there */
    int64_t products;
    int64_t fills; /* spryi_triple.fills when `seen` was last cleared */
} spryi_triple_part;

/* Data of the method by rows of C. */
typedef struct spryi_triple_rows {
    /* P^T: its row offsets; for each entry, its row of P and its position in P */
    spryi_triple_array offsets, rows, entries;
    spryi_triple_array pieces; /* int64_t: first row of C of each piece, then the number of rows of C */
    /* int64_t, for each piece: thread that computed it, and its first entry in that thread's arrays */
    spryi_triple_array owners, starts;
    int64_t piece_count;
    int threads;
    spryi_triple_array parts; /* spryi_triple_part, one for each thread */
} spryi_triple_rows;

/* Rows of C that one thread computes in the method by runs. */
typedef struct spryi_triple_share {
    int64_t first_row, last_row;              /* rows of C */
    int64_t first_run, last_run, first_place; /* runs that add to these rows; start of first_run's part of `places` */
    spryi_triple_array space;
    void *positions; /* for each column of P: its position among the columns of the current run */
    void *sums, *block;
    unsigned char *touched; /* for each column of the run: 1 if the current row of A*P has it */
} spryi_triple_share;

/* Data of the method by runs. A run is consecutive rows of P with equal columns. */
typedef struct spryi_triple_runs {
    spryi_triple_array begins;  /* int64_t: first row of each run, then the number of rows of P */
    spryi_triple_array ends;    /* int64_t: end of each run's columns in `columns` */
    spryi_triple_array columns; /* columns that the rows of A*P of each run have, run by run */
    spryi_triple_array places;  /* uint16_t: for each element of each run's block, its position in its row of C */
    int64_t count;              /* runs */
    int64_t widest, largest;    /* maximal number of columns of a run; maximal number of elements of a run's block */
    spryi_triple_array shares;  /* spryi_triple_share, one for each thread */
} spryi_triple_runs;

/* Data of the method by two products. */
typedef struct spryi_triple_products {
    spry_spgemm_plan *first, *last; /* A*P, and P^T*(A*P) */
    spry_matrix *transposed;        /* P^T on the device; NULL on the host, where plan `last` transposes P */
    void *origins;                  /* device, int32_t: position in P of each entry of P^T */
} spryi_triple_products;

typedef struct spryi_triple {
    spryi_triple_memory memory;
    spryi_triple_rows rows;
    spryi_triple_runs runs;
    spryi_triple_products products;
    int64_t fills; /* number of calls that computed new values by rows */
} spryi_triple;

extern const spryi_spgemm_steps spryi_triple_by_rows, spryi_triple_by_runs, spryi_triple_by_products;

/* Returns true if most rows of P have the same columns as the next row. */
bool spryi_triple_has_runs(const spry_arrays *p);

/*
 * Finds the runs, and creates C with its columns. If a row of C is too long for 16-bit positions, sets *fits = false
 * and frees the runs.
 */
spry_status spryi_triple_find_runs(spry_spgemm_plan *plan, bool *fits, spry_error *err);

/* Computes C by two products on the route's device. */
spry_status spryi_triple_compute_products(const spryi_route *r, spry_spgemm_plan *plan, const spryi_spgemm_request *q,
                                          spry_error *err);

/* ---- memory (triple.c) --------------------------------------------------------------------------------- */

/* Allocates an array. Returns SPRY_TOO_LARGE beyond the limit. */
spry_status spryi_triple_take(spryi_triple_memory *memory, spryi_triple_array *array, int64_t count, size_t size,
                              spry_error *err);
void spryi_triple_give(spryi_triple_memory *memory, spryi_triple_array *array);

/*
 * Enlarges an array to hold `more` elements after the first `used`. If there is no memory limit and the context can
 * reserve address space, the array grows by a factor of four, because only written pages use memory. Otherwise it grows
 * by half.
 */
spry_status spryi_triple_grow(spryi_triple_memory *memory, spryi_triple_array *array, int64_t used, int64_t more,
                              size_t size, spry_error *err);

/* Ends the growth of a reserved array: sets its length to `count` elements and counts its bytes. */
spry_status spryi_triple_settle(spryi_triple_memory *memory, spryi_triple_array *array, int64_t count, size_t size,
                                spry_error *err);

/* Shrinks a reserved array to `count` elements and hands its memory to *to. Returns false if it is not reserved. */
bool spryi_triple_hand_over(spryi_triple_memory *memory, spryi_triple_array *array, int64_t count, size_t size,
                            void **to);

/* Counts bytes that were not allocated by spryi_triple_take. Returns an error beyond the limit. */
spry_status spryi_triple_hold(spryi_triple_memory *memory, int64_t bytes, spry_error *err);

/* Creates C from job->offsets, columns and values. Allocates columns and values that are NULL. Counts C's bytes. */
spry_status spryi_triple_create_result(spry_spgemm_plan *plan, spry_error *err);

/* Returns the number of threads: options.threads or the context's, less if there is little work. */
int spryi_triple_threads(const spry_spgemm_plan *plan, int64_t work);

/*
 * Returns the number of threads, at least 1, whose workspaces of `bytes` bytes each fit into half of the memory that
 * the limit leaves.
 */
int spryi_triple_threads_that_fit(const spryi_triple_memory *memory, int threads, int64_t bytes);

/* Returns `bytes` rounded up to a cache line, so that parts of a block are aligned. */
static inline int64_t spryi_triple_aligned(int64_t bytes)
{
    return (bytes + SPRYI_ALIGNMENT - 1) / SPRYI_ALIGNMENT * SPRYI_ALIGNMENT;
}
