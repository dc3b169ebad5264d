/*
 * What sparse products (spgemm/spgemm_plan.c) and their kernels share. A kernel has a symbolic phase, which counts the
 * entries of C's rows, and a numeric phase, which fills the rows or, in a known structure, only the values. On a CPU, a
 * plan has a third phase between them that finds only the columns. Descriptors of CPU kernels (core/kernel.h) hold
 * these functions. The driver of another device finds its own (find_kernel).
 */
#pragma once

#include "base/cpu_features.h"
#include "core/device.h"
#include "matrix/matrix.h"
#include "spry/spry.h"

/* ---- CPU --------------------------------------------------------------------------------------- */

typedef struct spryi_spgemm_job spryi_spgemm_job;

/* A phase of a whole product, in parallel; it allocates nothing. */
typedef void (*spryi_spgemm_fn)(spryi_spgemm_job *job);
typedef spryi_spgemm_fn spryi_spgemm_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS];

/* Times of the stages in us, as in spry_spgemm_stages; -1: the kernel has no such stage or does not measure it. */
typedef struct spryi_spgemm_stages {
    double convert_us, count_us, scan_us, fill_us, sort_us;
} spryi_spgemm_stages;
#define SPRYI_NO_STAGES ((spryi_spgemm_stages){-1, -1, -1, -1, -1})

/* One pass is count and fill together: no row of C is counted first. */
typedef enum spryi_spgemm_phase { SPRYI_COUNT, SPRYI_FILL, SPRYI_ONE_PASS } spryi_spgemm_phase;

/* The workspace of a phase; what a kernel does not use is 0. */
typedef struct spryi_spgemm_sizes {
    int threads;
    int64_t bytes, thread_bytes; /* of the whole workspace; of each thread's part, one behind the other */
    int64_t mask;                /* words of a bit a column of C */
    int64_t windows, slots;      /* of the dense window, in words of 64 columns; of the hash table */
    /* one pass: products of a row that are listed, entries of a buffer for C, buffers, column groups in their window */
    int64_t listed, entries, buffers, ring;
    /* runs: products of a row, values side by side, entries on their way to C; 0: not looked for */
    const struct spryi_run_functions *runs;
    int64_t run_products, run_values, run_staged;
} spryi_spgemm_sizes;

/*
 * The functions of a CPU kernel. sizes tells a phase's workspace from the job's input and what was found, and changes
 * nothing; it stays under most_bytes (0: no matter) where it can. Fill is sized after count.
 */
typedef struct spryi_spgemm_host_phases {
    int sequential;   /* 1: one thread, as a teaching reference has it */
    int uses_bitmaps; /* 1: job->bitmaps are worth making */
    int needs_csc;    /* 1: op(B) by columns beside op(B) by rows */
    spryi_spgemm_sizes (*sizes)(const spryi_spgemm_job *job, spryi_spgemm_phase phase, int64_t most_bytes);
    const spryi_spgemm_table *count;   /* lengths of the rows into offsets[i + 1]; job->found */
    const spryi_spgemm_table *fill;    /* columns and values */
    const spryi_spgemm_table *columns; /* columns, in the workspace of fill; what is in values then means nothing */
    /*
     * Count and columns at once, in the workspace of count. By one thread into columns, which have room for all
     * products; by several into `listed`, which has. NULL: one after the other.
     */
    const spryi_spgemm_table *list;
    const spryi_spgemm_table *refill; /* values, columns being there */
    /*
     * Offsets from 0 on, columns and values; NULL: there is none, or none of these types. columns and values have room
     * for all products, and the rows are cut for one pass.
     */
    const spryi_spgemm_table *one_pass;
} spryi_spgemm_host_phases;

/* Work pieces: rows with about equal work, cut by the matrix; threads take one after the other. */
typedef struct spryi_work_pieces {
    int64_t count;
    int64_t *rows;              /* count + 1 */
    int64_t *products;          /* count, in the same block, before each where columns are listed by several threads;
                                   NULL of those for one pass, which have in its stead: */
    int64_t *sizes, *positions; /* entries of C in each, and before each, count + 1 */
} spryi_work_pieces;

/* Rows of C by the words of 64 columns that they span: bin b holds those of 2^(b-1) to 2^b - 1 words. */
enum { SPRYI_SPAN_BINS = 60 };
typedef struct spryi_spgemm_spans {
    int64_t widest[SPRYI_SPAN_BINS];  /* most words that a row spans */
    int64_t busiest[SPRYI_SPAN_BINS]; /* most slots that a row of the bin needs: products, or columns if less */
    int64_t scattered; /* of rows with few products in a wide span, the most slots: no part of the bins */
    int64_t identical; /* of rows whose columns in A are those of the row before, the most words */
    int64_t repeated;  /* of rows that repeat the one before, the most words */
    int64_t in_runs;   /* rows that make runs, as the columns phase finds */
} spryi_spgemm_spans;

/* Rows of B as bitmaps: the columns of a row that fall into one word of 64 are one entry. count 0: not made. */
typedef struct spryi_spgemm_bitmaps {
    int64_t count, bytes;
    int64_t *offsets; /* rows + 1 */
    int32_t *index;   /* column / 64 */
    uint64_t *bits;
} spryi_spgemm_bitmaps;

/* What kernels know of the rows of b. */
typedef struct spryi_spgemm_rows_of_b {
    int rise;                     /* 1: columns rise, without duplicates */
    spryi_spgemm_bitmaps bitmaps; /* if they pay */
    int grouped;                  /* one pass: 1: columns are taken in groups */
    uint32_t *column_groups;      /* the groups of a row begin at its offset */
} spryi_spgemm_rows_of_b;

/* One product on the CPU. Everything has been validated. */
struct spryi_spgemm_job {
    /* Input. */
    spry_arrays a, b;      /* CSR of one index pair, values of `type`; b is op(B). Duplicates and any order may be */
    spry_arrays b_columns; /* where the kernel needs it: op(B), CSC */
    spry_type type;
    const void *alpha;       /* one number of `type` */
    int threads;             /* at most, of `pool` */
    struct spryi_pool *pool; /* base/pool.h; NULL: one thread */
    int64_t products;        /* in all */
    spryi_work_pieces pieces;
    spryi_spgemm_rows_of_b rows_of_b;
    int64_t piece_work; /* entries and rows a piece; 0: the library's choice (tests cut finer) */
    /* The count phase finds, and for plans the columns phase: */
    spryi_spgemm_spans found;
    /* The workspace of the next phase, cleared to 0 once before; phases leave it so, but for what runs take. */
    spryi_spgemm_sizes sizes;
    void *workspace;
    /* Output. */
    int64_t *offsets; /* rows + 1 */
    void *columns, *values;
    void *listed;   /* columns of each piece, with room for its products; NULL: they are in columns, or not listed */
    double sort_us; /* of fill and its kin, sorting rows, where the kernel tells it apart; -1 before */
};

/*
 * job->column_groups: rows of b as groups of eight columns, each row from its offset on: column / 8, a mark of the
 * row's last group, and a bit for each column that the row has.
 */
#define SPRYI_GROUP_COLUMNS (1 << 26)
#define SPRYI_GROUP_LAST 256u

/* ---- devices with memory of their own ------------------------------------------------------------------- */

typedef struct spryi_device_product spryi_device_product;

/* The device of a product. */
typedef struct spryi_product_processor {
    int multiprocessors, shared_bytes, major;
} spryi_product_processor;

/*
 * Device memory for the kernel, counted against the limit: SPRY_TOO_LARGE if a block would pass it. Blocks that live
 * between phases are kept in `state`; discard releases them.
 */
typedef struct spryi_product_memory {
    spry_status (*allocate)(spryi_device_product *product, void **pointer, int64_t bytes, const char *what,
                            spry_error *err);
    void (*release)(spryi_device_product *product, void *pointer, int64_t bytes); /* NULL is fine */
    void *owner;                                                                  /* of both functions */
    int64_t most_bytes; /* that workspace should not exceed if the kernel can choose; 0: no limit */
} spryi_product_memory;

/*
 * One product on a device, or a chunk of its rows. ops fills in the first part and owns the arrays; a kernel's symbolic
 * phase fills in the second; numeric may then be called any number of times, and discard once. The device is current.
 */
struct spryi_device_product {
    spry_arrays a, b; /* CSR in device memory, 32-bit columns, offsets of one type, values of `type`; b is op(B) */
    spry_type type;
    int device; /* the driver's own number */
    spryi_product_processor processor;
    const int64_t *kernel_parameters; /* as in spryi_run_args */
    void *stream;
    int64_t row_begin, row_end; /* rows of a that are to be multiplied */
    spryi_product_memory memory;
    int64_t *c_offsets; /* device, row_end - row_begin + 1 entries, which symbolic fills: from 0 to nnz */
    /* symbolic tells: */
    int64_t products, nnz;
    void *state; /* the kernel's own, NULL before */
    /* numeric gets: */
    const void *alpha;  /* one number of `type`, host */
    int32_t *c_columns; /* device, nnz */
    void *c_values;     /* device, nnz */
    int values_alone;   /* 1: c_columns are there from an earlier numeric phase */
    int tell_stages;    /* 1: from symbolic on, the kernel measures its stages if it can */
};

/* The functions of a kernel. */
typedef struct spryi_spgemm_device_phases {
    spry_status (*symbolic)(spryi_device_product *product, spry_error *err); /* done when it returns */
    spry_status (*numeric)(spryi_device_product *product, spry_error *err);  /* in the stream; allocates nothing */
    void (*discard)(spryi_device_product *product);
    /* After a numeric phase that has ended, with tell_stages: what they took. NULL: they are not told apart. */
    spry_status (*stages)(spryi_device_product *product, spryi_spgemm_stages *stages, spry_error *err);
} spryi_spgemm_device_phases;

/* What a device has beside kernels; spryi_device_ops points to one of these. The device is current. */
typedef struct spryi_spgemm_functions {
    /* Products of rows 0 .. i-1, for each i: rows + 1 numbers into host memory, for cutting into chunks. */
    spry_status (*scan_products)(spryi_device_product *product, int64_t *host_scan, spry_error *err);
    /* to[i] = from[i] + shift, in 32 bits where to_32. */
    spry_status (*copy_offsets)(void *to, int to_32, const int64_t *from, int64_t shift, int64_t count, void *stream,
                                spry_error *err);
    /*
     * Leaves out the entries whose value is 0: offsets (64 bits), columns and values are rewritten in place, stably;
     * *nnz is what is left. flags: nnz + 1 numbers of workspace.
     */
    spry_status (*drop_zeros)(int64_t *offsets, int32_t *columns, void *values, spry_type type, int64_t rows,
                              int64_t *nnz, void *workspace, void *stream, spry_error *err);
    int64_t (*drop_zeros_bytes)(spry_type type, int64_t rows, int64_t nnz);
} spryi_spgemm_functions;
