/*
 * CSR on the CPU.
 *
 *     row 0: a . b .        offsets  0 2 3 5        row i holds entries offsets[i] .. offsets[i+1]-1
 *     row 1: . c . .        columns  0 2 1 0 3
 *     row 2: d . . e        values   a b c d e     (none where all are ones: a pattern)
 *
 * The user's three arrays are used as they are. Beside them the plan keeps auxiliary arrays, which
 * hold no value of the matrix:
 *
 *   blocks  consecutive rows of about equal work, cut by the matrix alone, never by the number of
 *           threads: that is what makes the bits of y independent of it. A row too long for a block
 *           is cut into pieces, blocks of their own, whose sums meet in a workspace and are added in
 *           order when all are done.
 *   runs    inside a block, rows whose columns need not all be read:
 *             stepped  equal lengths, and each row's columns are the last row's plus one (grids,
 *                      bands, diagonals): x is loaded in vectors, not gathered
 *             shared   groups of rows with the same columns (several unknowns a node, as in finite
 *                      elements): a group reads its columns and gathers x once
 *             general  everything else
 *           Found by one reading of the columns; blocks that would gain little keep one general run.
 *   spans   of AVX-512: what a register loaded from x at a column has for the next entries of a row, or of a group of
 *           shared rows; general runs and shared ones whose columns lie close enough are multiplied by their spans
 *           and read no columns:
 *
 *               columns 7 9 10 30 31        spans {7, lanes 0 2 3}, {30, lanes 0 1}
 *
 *   chunks  of the transposed product, made for plans of that alone: consecutive blocks that one thread
 *           scatters into y without another's interference; see csr_chunks.c.
 *
 * Format csc is the same struct with the arrays of A^T: its columns are rows here, and its products change places.
 */
#ifndef SPRYI_CSR_H
#define SPRYI_CSR_H

#include "core/kernel.h"

typedef enum spryi_csr_run_kind { SPRYI_RUN_GENERAL, SPRYI_RUN_STEPPED, SPRYI_RUN_SHARED } spryi_csr_run_kind;

typedef struct spryi_csr_run {
    int32_t begin, end; /* rows, counted from the block's first */
    int16_t kind;
    int16_t group; /* SHARED: rows a group, 2 to SPRYI_MAX_GROUP; end - begin is a multiple */
    int32_t least; /* spans a row or group has at least, or 0: it has none */
    int64_t spans; /* the first of them, row after row */
} spryi_csr_run;

/* Up to a register's lanes of x from a column on: bit l of `lanes` is set where column + l has an entry. */
typedef struct spryi_csr_span {
    int32_t column;
    uint16_t lanes, count; /* count: bits that are set */
} spryi_csr_span;

typedef struct spryi_csr_block {
    int64_t begin, end; /* rows; of a piece: entries */
    int64_t runs_begin, runs_end;
    int64_t piece; /* slot of its sum, -1 for whole rows */
} spryi_csr_block;

/* A row in pieces: its sums are slots first .. first + count - 1. */
typedef struct spryi_csr_long_row {
    int64_t row, first, count;
} spryi_csr_long_row;

enum {
    SPRYI_MAX_GROUP = 8,
    SPRYI_MOST_LEAST = 4,          /* spans that each row may be given, so that rows end alike */
    SPRYI_MIN_STEPPED = 8,         /* shorter runs are faster as general rows */
    SPRYI_CSR_ROW_COST = 2,        /* work of a row, in entries, beside its entries */
    SPRYI_CSR_MOST_COST = 32768,   /* of a block: large enough to hide its start */
    SPRYI_CSR_LEAST_COST = 4096,   /* small matrices get smaller blocks, or few threads would find one */
    SPRYI_CSR_BLOCKS = 256,        /* that are aimed at in between */
    SPRYI_STREAM_BYTES = 16 << 20, /* from this size y is streamed: it would not stay near a core anyway */
    SPRYI_MIN_RUN_ENTRIES = 16,    /* a block whose runs have fewer on average keeps one general run */
    SPRYI_MOST_CHUNKS = 256,
    SPRYI_MOST_TURNS = 32,
    SPRYI_MOST_WINDOWS = 8,
    SPRYI_WINDOW_SHARE = 2, /* all windows together take at most one part in so many of the entries' bytes */
};

/* Columns begin .. end - 1: a part of y. */
typedef struct spryi_csr_range {
    int64_t begin, end;
} spryi_csr_range;

/*
 * Blocks first .. last - 1, scattered one after the other. With turns, straight into y, of which it first sets the
 * columns in its ranges. With windows, into its copy of the columns in `window`, which begins in the workspace after
 * `at` numbers.
 */
typedef struct spryi_csr_chunk {
    int64_t first, last;
    int64_t ranges_begin, ranges_end;
    spryi_csr_range window;
    int64_t at;
} spryi_csr_chunk;

/* How y = A^T x is scattered. */
typedef struct spryi_csr_scatter {
    spryi_csr_chunk *chunks; /* turn by turn */
    spryi_csr_range *ranges; /* disjoint, together all columns */
    int64_t chunk_count, range_count;
    int64_t turn_count;                  /* 0: windows */
    int64_t turns[SPRYI_MOST_TURNS + 1]; /* turn t: chunks turns[t] .. turns[t + 1] - 1, no column in common */
    int64_t window_count;                /* numbers in all windows */
} spryi_csr_scatter;

/* The storage of format csr. */
typedef struct spryi_csr {
    spry_arrays a;      /* CSR in host memory, borrowed from the matrix or ... */
    spry_matrix *owned; /* ... of this conversion, or NULL */
    int64_t *offsets;   /* made here when only offsets were missing (from sorted COO), or NULL */
    int64_t block_cost; /* by the matrix alone; a longer row is cut into pieces */
    int64_t block_count, run_count, long_count, piece_count;
    spryi_csr_block *blocks;
    spryi_csr_run *runs;
    spryi_csr_long_row *long_rows;
    spryi_csr_span *spans; /* slots: of those of a run as many are used as its rows need */
    int64_t span_count;
    double structured; /* share of the entries in stepped and shared runs */
    spry_type vector_type;
    int scatters; /* 1: made for y = A^T x */
    spryi_csr_scatter scatter;
} spryi_csr;

extern const spryi_format spryi_format_csr;
extern const spryi_kernel spryi_csr_reference_cpu, spryi_csr_portable_cpu, spryi_csr_avx2_cpu, spryi_csr_avx512_cpu;
extern const spryi_kernel spryi_csr_scalar_cuda, spryi_csr_vector_cuda, spryi_csr_merge_cuda;
extern const spryi_kernel spryi_csr_vector_shared_cuda, spryi_csr_adaptive_atomic_cuda, spryi_csr_adaptive_cuda,
    spryi_csr_scatter_cuda;

/* csr_partition.c: fills blocks, long_rows and pieces of s; then csr_runs.c: the runs. */
spry_status spryi_csr_partition(spry_context *context, spryi_csr *s, spry_error *err);
spry_status spryi_csr_find_runs(spry_context *context, spryi_csr *s, spry_error *err);

/* Then the spans of the runs, for a plan that will use them (csr_format.c); by csr_spans_avx512.c. */
spry_status spryi_csr_make_spans(spry_context *context, spryi_csr *s, const spry_spmv_options *options,
                                 spry_error *err);
spry_status spryi_csr_find_spans(spry_context *context, spryi_csr *s, spry_error *err);

/* csr_chunks.c: fills s->scatter, of blocks that have their runs. */
spry_status spryi_csr_make_chunks(spry_context *context, spryi_csr *s, spry_error *err);
void spryi_csr_release_chunks(spry_context *context, spryi_csr *s);

/*
 * csr_format.c: blocks, runs and, for `scatters`, chunks of s, whose arrays are there; then what formats csr and csc
 * answer alike.
 */
spry_status spryi_csr_finish(spry_context *context, spryi_csr *s, const spry_spmv_options *options, int scatters,
                             spry_error *err);
void spryi_csr_destroy(spry_context *context, void *storage);
int64_t spryi_csr_storage_bytes(const void *storage);
int64_t spryi_csr_owned_bytes(const void *storage);
int64_t spryi_csr_workspace_bytes(const void *storage);
int spryi_csr_borrows_values(const void *storage, const spry_matrix *A);
const spry_arrays *spryi_csr_arrays(const void *storage);
int spryi_csr_device_sections(void *storage, spryi_section *sections);

/* What the inner functions of a kernel work on. alpha and beta hold an f32 exactly. */
typedef struct spryi_csr_job {
    const void *offsets, *columns, *values, *x;
    void *y;
    double alpha, beta;
    int stream_y; /* y is large and not read: kernels may write it around the cache, which saves reading it in */
} spryi_csr_job;

/* The inner functions, one set a SIMD level, value type and index pair. They write y = alpha*A*x + beta*y. */
typedef struct spryi_csr_leaves {
    void (*rows)(const spryi_csr_job *job, int64_t begin, int64_t end);
    void (*stepped)(const spryi_csr_job *job, int64_t begin, int64_t end);
    void (*shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group);
    double (*piece)(const spryi_csr_job *job, int64_t begin, int64_t end); /* the plain sum over entries */
    /* rows and shared by spans s; NULL where a level does not use them. */
    void (*span_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, const spryi_csr_span *s, int least);
    void (*span_groups)(const spryi_csr_job *job, int64_t begin, int64_t end, const spryi_csr_span *s, int group);
} spryi_csr_leaves;

/* csr_driver.c: runs the leaves over the blocks on args->threads threads. */
spry_status spryi_csr_drive(const spryi_run_args *args, const spryi_csr_leaves *leaves);

/*
 * The inner functions of the transposed product. They add to y: y_j += a_ij x_i, alpha and beta are not looked at.
 * piece takes some entries of one row.
 */
typedef struct spryi_csr_scatter_leaves {
    void (*rows)(const spryi_csr_job *job, int64_t begin, int64_t end);
    void (*stepped)(const spryi_csr_job *job, int64_t begin, int64_t end);
    void (*shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group);
    void (*piece)(const spryi_csr_job *job, int64_t row, int64_t begin, int64_t end);
} spryi_csr_scatter_leaves;

/* csr_scatter.c: runs the leaves over the chunks on args->threads threads; y = alpha*A^T*x + beta*y. */
spry_status spryi_csr_drive_scatter(const spryi_run_args *args, const spryi_csr_scatter_leaves *leaves);

/* The plain product for stored values; what kernels run comes to it. */
extern const spryi_run_table spryi_csr_values_portable, spryi_csr_values_avx2, spryi_csr_values_avx512;

/*
 * What kernels run: the products with A, csr's plain and csc's transposed ones, and those with A^T, csr's transposed
 * and csc's plain ones.
 */
extern const spryi_run_table spryi_csr_gather_reference, spryi_csr_gather_portable, spryi_csr_gather_avx2,
    spryi_csr_gather_avx512;
extern const spryi_run_table spryi_csr_scatter_reference, spryi_csr_scatter_portable, spryi_csr_scatter_avx2,
    spryi_csr_scatter_avx512;

#endif
