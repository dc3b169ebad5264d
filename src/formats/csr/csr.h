/*
 * CSR on the CPU.
 *
 *     row 0: a . b .        offsets  0 2 3 5        row i holds entries offsets[i] .. offsets[i+1]-1
 *     row 1: . c . .        columns  0 2 1 0 3
 *     row 2: d . . e        values   a b c d e     (none where all are ones: a pattern)
 *
 * The user's three arrays are used as they are. Beside them the plan keeps auxiliary arrays, which hold no value of the
 * matrix: row blocks for the threads, in them runs of rows whose columns need not all be read, then either spans, by
 * which AVX-512 loads x, or for y = A^T x chunks that do not meet in y.
 * Kernels are loops over runs, which csr_driver.h calls: csr_<level>_cpu.c for y = A x, csr_scatter_<level>.c for A^T.
 *
 * Format csc is the same struct with the arrays of A^T: its columns are rows here, and its products change places.
 */
#pragma once

#include "core/kernel.h"
#include "matrix/matrix.h"

/* ---- row blocks ---------------------------------------------------------------------------------------- */

/*
 * Row blocks: the pieces of work that the CPU's threads take of a CSR matrix. (A GPU's are csr_row_blocks.cuh.)
 *
 *     rows  0 1 2 3 | 4 5 | 6 6 6 | 7 8 9        | ends a block; row 6 is long and comes in three pieces
 *
 * A block is consecutive rows of about equal work, cut by the matrix alone, never by the number of threads: that makes
 * the bits of y independent of it. A row too long for a block is cut into pieces, which are blocks of their own. Their
 * sums meet in a workspace and are added in order when all are done.
 */
enum {
    SPRYI_CSR_ROW_COST = 2,      /* work of a row, in entries, beside its entries */
    SPRYI_CSR_MOST_COST = 32768, /* of a block: large enough to hide its start */
};

typedef struct spryi_csr_block {
    int64_t begin, end;           /* rows; of a piece: entries */
    int64_t runs_begin, runs_end; /* its runs; a piece has none */
    int64_t piece;                /* slot of its sum in the workspace, -1 for whole rows */
    int64_t row;                  /* that a piece is of */
} spryi_csr_block;

/* A row in pieces: its sums are slots first .. first + count - 1. */
typedef struct spryi_csr_long_row {
    int64_t row, first, count;
} spryi_csr_long_row;

typedef struct spryi_csr_blocks {
    spryi_csr_block *list;
    spryi_csr_long_row *long_rows;
    int64_t count, long_count, piece_count;
    /*
     * 0: threads take blocks as they come. Else each has an equal share of so many units of blocks: unit u holds blocks
     * from unit_ptr[0][u], and with two pointers from unit_ptr[1][unit_ptr[0][u]]; without any, block u. Another's.
     */
    int64_t units;
    const int64_t *unit_ptr[2];
} spryi_csr_blocks;

/* Returns the number of entries of rows begin .. end - 1. */
static inline int64_t spryi_csr_entries(const spry_arrays *csr, int64_t begin, int64_t end)
{
    return spryi_offset_of(csr, end) - spryi_offset_of(csr, begin);
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

/*
 * Runs: neighbouring rows of a block whose columns need not all be read.
 *
 *     constant stride   rows of equal length, and each row's columns are the last row's plus one:
 *                           row i: 3 7 8    row i+1: 4 8 9    row i+2: 5 9 10
 *                       as on grids, bands and diagonals. The first row's columns tell all, and x of neighbouring rows
 *                       is loaded in vectors, not gathered.
 *     shared            groups of rows with the same columns, as where finite elements have several unknowns a node. A
 *                       group reads its columns and gathers x once.
 *     general           everything else
 *
 * Runs are found by one reading of the columns. A block that would gain little keeps one general run.
 */
typedef enum spryi_csr_run_kind { SPRYI_RUN_GENERAL, SPRYI_RUN_STRIDED, SPRYI_RUN_SHARED } spryi_csr_run_kind;

typedef struct spryi_csr_run {
    int32_t begin, end; /* rows, counted from the block's first */
    int16_t kind;
    int16_t group;       /* SHARED: rows a group, 2 to SPRYI_MAX_GROUP; end - begin is a multiple */
    int32_t least_spans; /* that a row or group has, or 0: it has none */
    int64_t first_span;  /* row after row */
} spryi_csr_run;

enum {
    SPRYI_MAX_GROUP = 8,
    SPRYI_MIN_STRIDED = 8,     /* shorter runs are faster as general rows */
    SPRYI_MIN_RUN_ENTRIES = 16 /* a block whose runs have fewer on average keeps one general run */
};

typedef struct spryi_csr_runs {
    spryi_csr_run *list;
    int64_t count;
    double structured; /* share of the entries in strided and shared runs */
} spryi_csr_runs;

/* ---- spans --------------------------------------------------------------------------------------------- */

/*
 * Spans: x by registers instead of by columns, for kernels with AVX-512.
 *
 *     columns 7 9 10 30 31        spans {7, lanes 0 2 3}, {30, lanes 0 1}
 *
 * A span is what a register loaded from x at a column has for the next entries of a row, or of a group of rows that
 * share their columns. General and shared runs whose columns lie close enough are multiplied by their spans
 * and read no columns: 8 bytes a span in place of 4 or 8 bytes an entry, and one load of x in place of one an entry.
 */
/* Up to a register's lanes of x from a column on: bit l of `lanes` is set where column + l has an entry. */
typedef struct spryi_csr_span {
    int32_t column;
    uint16_t lanes, count; /* count: bits that are set */
} spryi_csr_span;

enum { SPRYI_MAX_LEAST_SPANS = 4 }; /* spans that each row may be given, so that rows end alike */

typedef struct spryi_csr_spans {
    spryi_csr_span *list; /* slots: a run uses as many of its own as its rows need */
    int64_t count;
} spryi_csr_spans;

/* Finds the spans that pay, for x of vector_type, and sets least_spans and first_span of the runs. */
spry_status spryi_csr_spans_find(spry_context *context, spryi_csr_spans *spans, spryi_csr_runs *runs,
                                 const spryi_csr_blocks *blocks, const spry_arrays *csr, spry_type vector_type,
                                 spry_error *err);

/* ---- chunks -------------------------------------------------------------------------------------------- */

/*
 * Chunks: how y = A^T x is scattered without two threads adding to one y_j.
 *
 * Rows are cut into chunks, consecutive blocks of about equal work, each scattered by one thread:
 *
 *   phases    Chunks that have no page of y in common may go at once, straight into y: they form a phase. Matrices
 *             whose rows are near their columns (grids, meshes, bands) need two to five phases: no memory beside y, and
 *             no byte that the plain product has not, but for reading y. The first chunk to touch a page sets it, so y
 *             is not cleared before.
 *   windows   Where every chunk touches everything (graphs), phases would be one chunk each. Then a few chunks scatter
 *             at once, each into its window, a private copy of the columns between its least and its largest. The
 *             windows are added in order. There are as many chunks as keep all windows within one part in
 *             SPRYI_WINDOW_SHARE of the entries' bytes.
 *
 * The matrix decides, never the number of threads, so the bits of y do not depend on it.
 */
enum { SPRYI_MOST_CHUNKS = 256, SPRYI_MOST_PHASES = 32, SPRYI_MOST_WINDOWS = 8, SPRYI_WINDOW_SHARE = 2 };

/* Columns begin .. end - 1: a part of y. */
typedef struct spryi_csr_range {
    int64_t begin, end;
} spryi_csr_range;

/* Blocks first .. last - 1. */
typedef struct spryi_csr_chunk {
    int64_t first, last;
    int64_t ranges_begin, ranges_end; /* with phases: the columns of y that it sets before it scatters */
    spryi_csr_range window;           /* with windows: the columns that it has a copy of, ... */
    int64_t at;                       /* ... which begins in the workspace after so many numbers */
} spryi_csr_chunk;

typedef struct spryi_csr_chunks {
    spryi_csr_chunk *list;   /* phase by phase */
    spryi_csr_range *ranges; /* disjoint, together all columns */
    int64_t count, range_count;
    int64_t phase_count;                   /* 0: windows */
    int64_t phases[SPRYI_MOST_PHASES + 1]; /* phase f: chunks phases[f] .. phases[f + 1] - 1 */
    int64_t window_numbers;                /* in all windows */
} spryi_csr_chunks;

/* ---- storage ------------------------------------------------------------------------------------------- */

/* Products that a plan has to expect for what they take to pay. */
enum {
    SPRYI_CSR_CALLS_FOR_RUNS = 3,   /* finding runs reads the columns once: about half a product */
    SPRYI_CSR_CALLS_FOR_SPANS = 16, /* finding spans takes two to four, and saves a fifth to a half of each */
};

enum { SPRYI_CSR_SUMS = 16 /* columns for which the workspace has the sums of pieces */ };
enum {
    SPRYI_CSR_APART = 4,     /* columns that lie apart, which CPU kernels multiply at once (csr_apart.c), */
    SPRYI_CSR_APART_MEAN = 8 /* where rows have up to so many entries */
};

/* The storage of format csr. */
typedef struct spryi_csr {
    spry_arrays a;      /* CSR in host memory, borrowed from the matrix or ... */
    spry_matrix *owned; /* ... of this conversion, or NULL */
    int64_t *offsets;   /* made here when only offsets were missing (from sorted COO), or NULL */
    spry_type vector_type;
    int scatters; /* 1: made for y = A^T x */
    spryi_csr_blocks blocks;
    spryi_csr_runs runs;
    spryi_csr_spans spans;
    spryi_csr_chunks chunks;
} spryi_csr;

extern const spryi_format spryi_format_csr;
extern const struct spryi_estimator spryi_csr_estimator; /* csr_work.c */
/* Parameters of kernels, by their places in the kernels' lists. */
enum { SPRYI_CSR_LANES };                        /* of csr_vector_cuda */
enum { SPRYI_CSR_NNZ_PER_WG, SPRYI_CSR_VECTOR }; /* of csr_adaptive_cuda and csr_adaptive_atomic_cuda */
enum { SPRYI_CSR_MOST_VECTOR = 2048 };

extern const spryi_kernel spryi_csr_portable_cpu, spryi_csr_avx2_cpu, spryi_csr_avx512_cpu;
extern const spryi_kernel spryi_csr_scalar_cuda, spryi_csr_vector_cuda, spryi_csr_merge_cuda;
extern const spryi_kernel spryi_csr_adaptive_atomic_cuda, spryi_csr_adaptive_cuda, spryi_csr_scatter_cuda;

/*
 * Makes all auxiliary arrays of s, whose CSR is set: blocks, except if csr-k has set its own, runs, then chunks for
 * `scatters`, else spans if the plan will use them.
 */
spry_status spryi_csr_finish(spry_context *context, spryi_csr *s, const spryi_build_request *request, int scatters,
                             spry_error *err);
void spryi_csr_release_auxiliary(spry_context *context, spryi_csr *s);

/*
 * What kernels run. gather is the product with A, csr's plain and csc's transposed one; scatter that with A^T, csr's
 * transposed and csc's plain one.
 */
extern const spryi_run_table spryi_csr_gather_portable, spryi_csr_gather_avx2, spryi_csr_gather_avx512;
extern const spryi_run_table spryi_csr_scatter_portable, spryi_csr_scatter_avx2, spryi_csr_scatter_avx512;
