/*
 * Shared by sparse products (spgemm/spgemm_plan.c) and their kernels. A kernel has a symbolic phase, which counts the
 * entries of C's rows, and a numeric phase, which fills the rows or, in a known structure, only the values. On a CPU, a
 * plan has a third phase between them that finds only the columns. Descriptors of CPU kernels (core/kernel.h) hold
 * these functions. The driver of another device finds its own functions (find_kernel).
 */
#pragma once

#include "base/cpu_features.h"
#include "core/device.h"
#include "matrix/matrix.h"
#include "spry/spry.h"

/* ---- CPU --------------------------------------------------------------------------------------- */

typedef struct spryi_spgemm_job spryi_spgemm_job;

/* Runs a phase of a whole product, in parallel. Allocates nothing. */
typedef void (*spryi_spgemm_fn)(spryi_spgemm_job *job);
typedef spryi_spgemm_fn spryi_spgemm_table[SPRYI_VALUE_TYPES][SPRYI_INDEX_PAIRS];

/* Times of the stages in us, as in spry_spgemm_stages; -1: the kernel has no such stage or does not measure it. */
typedef struct spryi_spgemm_stages {
    double convert_us, count_us, scan_us, fill_us, sort_us;
} spryi_spgemm_stages;
#define SPRYI_NO_STAGES ((spryi_spgemm_stages){-1, -1, -1, -1, -1})

/* One pass is count and fill together: rows of C are not counted first. */
typedef enum spryi_spgemm_phase { SPRYI_COUNT, SPRYI_FILL, SPRYI_ONE_PASS } spryi_spgemm_phase;

/* Sizes of a phase's workspace. Unused sizes are 0. */
typedef struct spryi_spgemm_sizes {
    int threads;
    int64_t bytes, thread_bytes; /* bytes of the workspace; bytes of each thread's part of it */
    int64_t mask;                /* number of words of a mask with one bit per column of C */
    int64_t windows, slots;      /* number of words of 64 columns in the dense window; slots of the hash table */
    /*
     * For one pass. listed: maximal products of a row whose products are listed. entries: entries of C that a buffer
     * holds. buffers: number of buffers. ring: number of column groups in the dense window of groups.
     */
    int64_t listed, entries, buffers, ring;
    /*
     * For runs of rows (cpu/row_runs.h); 0: no search for runs. run_products: maximal products of a row. run_values:
     * transposed values of A and B. run_staged: entries of the buffer for non-temporal stores.
     */
    const struct spryi_run_functions *runs;
    int64_t run_products, run_values, run_staged;
} spryi_spgemm_sizes;

/*
 * The functions of a CPU kernel. sizes computes a phase's workspace from the job's input and job->found, and changes
 * nothing. It keeps the workspace within most_bytes (0: no limit) if it can. For SPRYI_FILL, sizes is called after the
 * count phase.
 */
typedef struct spryi_spgemm_host_phases {
    bool sequential;   /* uses one thread, as a teaching reference does */
    bool uses_bitmaps; /* may use job->rows_of_b.bitmaps */
    bool needs_csc;    /* needs op(B) by columns in addition to op(B) by rows */
    spryi_spgemm_sizes (*sizes)(const spryi_spgemm_job *job, spryi_spgemm_phase phase, int64_t most_bytes);
    const spryi_spgemm_table *count;   /* stores the length of row i in offsets[i + 1]; sets job->found */
    const spryi_spgemm_table *fill;    /* computes columns and values */
    const spryi_spgemm_table *columns; /* finds columns, in the workspace of fill; may overwrite values */
    /*
     * Counts rows and finds columns together, in the workspace of count. One thread writes to `columns`, several
     * threads to `listed`; either array has room for all products. NULL: not supported.
     */
    const spryi_spgemm_table *list;
    const spryi_spgemm_table *refill; /* computes values, given the columns */
    /*
     * Computes offsets (from 0 on), columns and values. Requires that columns and values have room for all products,
     * and that the rows are cut for one pass. The table is NULL if the kernel has no one-pass functions. A function is
     * NULL if its types are not supported.
     */
    const spryi_spgemm_table *one_pass;
} spryi_spgemm_host_phases;

/*
 * Work pieces: rows with about equal work. Only the matrix determines where rows are cut. Idle threads fetch the next
 * piece.
 */
typedef struct spryi_work_pieces {
    int64_t count;
    int64_t *rows; /* count + 1 */
    /*
     * Number of products of each piece: `count` elements, in the allocation of rows. While several threads list
     * columns, each element is the number of products of all pieces before the piece. NULL if the rows are cut for one
     * pass.
     */
    int64_t *products;
    int64_t *sizes, *positions; /* one pass: entries of C in each piece, and before each piece; count + 1 elements */
} spryi_work_pieces;

/* Spans of rows of C, in words of 64 columns. Bin b is for rows that span 2^(b-1) to 2^b - 1 words. */
enum { SPRYI_SPAN_BINS = 60 };
typedef struct spryi_spgemm_spans {
    int64_t widest[SPRYI_SPAN_BINS];  /* maximal number of words that a row of the bin spans */
    int64_t busiest[SPRYI_SPAN_BINS]; /* maximal number of products of a row of the bin, at most the columns of C */
    int64_t scattered;                /* like busiest, for rows with few products in a wide span, which are in no bin */
    int64_t identical; /* maximal words that a row spans if its columns in A equal those of the row before */
    int64_t repeated;  /* maximal words that a row spans if its columns in C are those of the row before, shifted */
    int64_t in_runs;   /* number of rows in runs, set when columns are found or listed */
} spryi_spgemm_spans;

/* Rows of B as bitmaps: all columns of a row in one word of 64 columns are one entry. count 0: not built. */
typedef struct spryi_spgemm_bitmaps {
    int64_t count, bytes;
    int64_t *offsets; /* rows + 1 */
    int32_t *index;   /* column / 64 */
    uint64_t *bits;
} spryi_spgemm_bitmaps;

/* Properties of the rows of b that kernels use. */
typedef struct spryi_spgemm_rows_of_b {
    bool rise;                    /* columns increase, without duplicates */
    spryi_spgemm_bitmaps bitmaps; /* built only if they save time */
    bool grouped;                 /* one pass uses column_groups */
    uint32_t *column_groups;      /* the groups of row i start at the row's offset */
} spryi_spgemm_rows_of_b;

/* One product on the CPU. All arguments have been validated. */
struct spryi_spgemm_job {
    /* Input. */
    spry_arrays a, b;      /* CSR of one index pair; b is op(B). Rows may be unsorted and have duplicates */
    spry_arrays b_columns; /* op(B) as CSC, if the kernel needs it */
    spry_type type;
    const void *alpha;       /* one value of `type` */
    int threads;             /* maximal number of threads of `pool` */
    struct spryi_pool *pool; /* base/pool.h; NULL: one thread */
    int64_t products;        /* products a_ik * b_kj of the whole job */
    spryi_work_pieces pieces;
    spryi_spgemm_rows_of_b rows_of_b;
    int64_t piece_work; /* sum of entries and rows of a piece of A; 0: default. Tests set smaller pieces */
    /* Set by the count phase and, for plans, the columns phase. */
    spryi_spgemm_spans found;
    /*
     * Workspace of the next phase. It is zero before the first phase; phases restore the zeros, except in the memory
     * for runs.
     */
    spryi_spgemm_sizes sizes;
    void *workspace;
    /* Output. */
    int64_t *offsets; /* rows + 1 */
    void *columns, *values;
    void *listed;   /* listed columns; a piece has room for one column per product; NULL: not used */
    double sort_us; /* time of sorting rows in fill or refill, if the kernel measures it; -1 before */
};

/*
 * Elements of job->rows_of_b.column_groups: rows of b as groups of eight columns, each row from its offset on. An
 * element holds column / 8, a mark of the row's last group, and one bit for each column of the row.
 */
#define SPRYI_GROUP_COLUMNS (1 << 26)
#define SPRYI_GROUP_LAST 256u

/* ---- devices with their own memory ------------------------------------------------------------------- */

typedef struct spryi_device_product spryi_device_product;

/* Properties of a product's device. */
typedef struct spryi_product_processor {
    int multiprocessors, shared_bytes, major;
} spryi_product_processor;

/*
 * Device memory for the kernel, counted against the limit. allocate returns SPRY_TOO_LARGE if a block would exceed the
 * limit. Blocks that are needed between phases are stored in spryi_device_product.state; discard releases them.
 */
typedef struct spryi_product_memory {
    spry_status (*allocate)(spryi_device_product *product, void **pointer, int64_t bytes, const char *what,
                            spry_error *err);
    void (*release)(spryi_device_product *product, void *pointer, int64_t bytes); /* NULL is allowed */
    void *owner;        /* the spry_spgemm_plan that counts the bytes */
    int64_t most_bytes; /* limit for workspace whose size the kernel can choose; 0: no limit */
} spryi_product_memory;

/*
 * One product on a device, or a chunk of its rows. The caller sets the first part and owns the arrays. A kernel's
 * symbolic phase sets the second part. numeric may then be called any number of times, and discard once. The device is
 * current.
 */
struct spryi_device_product {
    spry_arrays a, b; /* CSR in device memory, 32-bit columns, offsets of one type, values of `type`; b is op(B) */
    spry_type type;
    int device; /* the driver's own index */
    spryi_product_processor processor;
    const int64_t *kernel_parameters; /* as in spryi_run_args */
    void *stream;
    int64_t row_begin, row_end; /* rows of a to multiply */
    spryi_product_memory memory;
    int64_t *c_offsets; /* device, row_end - row_begin + 1 elements; symbolic sets them, from 0 to nnz */
    /* set by symbolic: */
    int64_t products, nnz;
    void *state; /* the kernel's own, NULL before */
    /* input of numeric: */
    const void *alpha;   /* one value of `type`, on the host */
    int32_t *c_columns;  /* device, nnz */
    void *c_values;      /* device, nnz */
    bool values_only;    /* c_columns are valid from an earlier numeric phase */
    bool measure_stages; /* the kernel measures its stages if it can, from symbolic on */
};

/* The functions of a kernel on a device. */
typedef struct spryi_spgemm_device_phases {
    spry_status (*symbolic)(spryi_device_product *product, spry_error *err); /* has finished when it returns */
    spry_status (*numeric)(spryi_device_product *product, spry_error *err);  /* runs in the stream; allocates nothing */
    void (*discard)(spryi_device_product *product);
    /* Returns the times of the stages after a completed numeric phase with measure_stages. NULL: not measured. */
    spry_status (*stages)(spryi_device_product *product, spryi_spgemm_stages *stages, spry_error *err);
} spryi_spgemm_device_phases;

/* Functions of a device in addition to kernels; spryi_device_ops points to them. The device is current. */
typedef struct spryi_spgemm_functions {
    /*
     * Sets host_scan[i] to the number of products of rows 0 .. i-1, for i from 0 to the number of rows. Used to cut
     * chunks.
     */
    spry_status (*scan_products)(spryi_device_product *product, int64_t *host_scan, spry_error *err);
    /* Sets to[i] = from[i] + shift, as 32-bit integers if to_32 is not 0. */
    spry_status (*copy_offsets)(void *to, int to_32, const int64_t *from, int64_t shift, int64_t count, void *stream,
                                spry_error *err);
    /*
     * Removes entries whose value is 0: compacts offsets (64 bits), columns and values in place, stably. *nnz is set to
     * the remaining entries. workspace: drop_zeros_bytes bytes.
     */
    spry_status (*drop_zeros)(int64_t *offsets, int32_t *columns, void *values, spry_type type, int64_t rows,
                              int64_t *nnz, void *workspace, void *stream, spry_error *err);
    int64_t (*drop_zeros_bytes)(spry_type type, int64_t rows, int64_t nnz);
} spryi_spgemm_functions;
