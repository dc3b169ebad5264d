/*
 * CSR on the CPU.
 *
 *     row 0: a . b .        offsets  0 2 3 5        row i holds entries offsets[i] .. offsets[i+1]-1
 *     row 1: . c . .        columns  0 2 1 0 3
 *     row 2: d . . e        values   a b c d e     (NULL if all entries are ones: a pattern)
 *
 * A plan borrows the user's three arrays. It builds auxiliary arrays, which hold no values of the matrix:
 *
 *   - row blocks: groups of rows, the units of work of threads
 *   - runs: consecutive rows of a block whose columns are equal or shifted by one
 *   - spans, for y = A x with AVX-512: register loads of x, each of which replaces multiple gathered elements
 *   - chunks, for y = A^T x: groups of row blocks that threads scatter without conflicts
 *
 * Kernels are loops over runs. csr_driver.c calls the loops of csr_<level>_cpu.c for y = A x and those of
 * csr_scatter_<level>.c for y = A^T x.
 *
 * Format csc uses the same struct with the arrays of A^T: the rows of the struct are the columns of A, and the plain
 * and the transposed product are exchanged.
 */
#pragma once

#include "core/kernel.h"
#include "matrix/matrix.h"

#include <stdbool.h>

/* ---- row blocks ---------------------------------------------------------------------------------------- */

/*
 * Row blocks: the units of work of the CPU's threads on a CSR matrix. (csr_row_blocks.cuh has those of GPUs.)
 *
 *     rows  0 1 2 3 | 4 5 | 6 6 6 | 7 8 9        | ends a block; row 6 is long and is cut into three pieces
 *
 * A block is a range of consecutive rows. All blocks have about equal work. Only the matrix decides where blocks end,
 * so the bits of y do not depend on the number of threads. A row too long for a block is cut into pieces, each a block
 * of its own. The sum of each piece goes to a workspace; the sums of a row are added in order after all blocks are
 * done.
 */
enum {
    SPRYI_CSR_ROW_COST = 2,      /* cost of a row in addition to its entries; an entry has cost 1 */
    SPRYI_CSR_MOST_COST = 32768, /* maximum cost of a block; large enough that starting a block takes little time */
};

typedef struct spryi_csr_block {
    int64_t begin, end;           /* the block is rows begin .. end - 1; a piece is entries begin .. end - 1 */
    int64_t runs_begin, runs_end; /* runs of the block; a piece has none */
    int64_t piece;                /* slot of the piece's sum in the workspace; -1: the block has whole rows */
    int64_t row;                  /* row that the piece belongs to */
} spryi_csr_block;

/* A row cut into `count` pieces. Their sums are in slots first .. first + count - 1 of the workspace. */
typedef struct spryi_csr_long_row {
    int64_t row, first, count;
} spryi_csr_long_row;

typedef struct spryi_csr_blocks {
    spryi_csr_block *list;
    spryi_csr_long_row *long_rows;
    int64_t count, long_count, piece_count;
    /*
     * Number of units for static scheduling. A unit is a group of consecutive blocks, and each thread gets an equal
     * number of units. 0: threads take blocks dynamically. Unit u begins at block unit_ptr[0][u], or at block
     * unit_ptr[1][unit_ptr[0][u]] if both pointers are set, or at block u if none is. csr-k owns the pointers.
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
 * Runs: consecutive rows of a block. For some kinds of run, not all column indices need to be read.
 *
 *     constant stride   Rows of equal length. Each column index is the previous row's plus one:
 *                           row i: 3 7 8    row i+1: 4 8 9    row i+2: 5 9 10
 *                       Grids, bands and diagonals have such rows. Only the columns of the first row are read, and x is
 *                       loaded in vectors instead of gathered.
 *     shared            Groups of rows with the same columns, for example in finite elements with several unknowns per
 *                       node. A group reads its columns and gathers x once.
 *     general           All other rows.
 *
 * One pass over the columns finds the runs. A block that would gain little is one general run.
 */
typedef enum spryi_csr_run_kind { SPRYI_RUN_GENERAL, SPRYI_RUN_STRIDED, SPRYI_RUN_SHARED } spryi_csr_run_kind;

typedef struct spryi_csr_run {
    int32_t begin, end; /* rows, relative to the block's first */
    int16_t kind;
    int16_t group;       /* SHARED: rows per group, 2 to SPRYI_MAX_GROUP; divides end - begin */
    int32_t least_spans; /* minimum number of spans of each row or group; 0: the run has no spans */
    int64_t first_span;  /* index of the run's first span; spans are stored row by row */
} spryi_csr_run;

enum {
    SPRYI_MAX_GROUP = 8,
    SPRYI_MIN_STRIDED = 8,     /* minimum rows of a strided run; fewer rows are faster in a general run */
    SPRYI_MIN_RUN_ENTRIES = 16 /* minimum entries per run on average; below it, the block is one general run */
};

typedef struct spryi_csr_runs {
    spryi_csr_run *list;
    int64_t count;
    double structured; /* share of the entries in strided and shared runs */
} spryi_csr_runs;

/* ---- spans --------------------------------------------------------------------------------------------- */

/*
 * Spans: loads of x into registers that replace gathers of x, for kernels with AVX-512.
 *
 *     columns 7 9 10 30 31        spans {7, lanes 0 2 3}, {30, lanes 0 1}
 *
 * A span describes one register load of x: the column where the load begins, and the lanes that the next entries use.
 * The entries belong to a row, or to a group of rows with shared columns. In general and shared runs whose columns are
 * close enough, products read spans instead of columns. A span takes 8 bytes and one load of x, while each entry would
 * take 4 or 8 bytes and a load of its own.
 */
/* One load of x from `column` on. Bit l of `lanes` is set if an entry of the span is in column + l. */
typedef struct spryi_csr_span {
    int32_t column;
    uint16_t lanes, count; /* count: number of set bits */
} spryi_csr_span;

enum { SPRYI_MAX_LEAST_SPANS = 4 }; /* largest value of least_spans */

typedef struct spryi_csr_spans {
    spryi_csr_span *list; /* slots for spans; some slots of a run may be unused, after the spans of its last row */
    int64_t count;
} spryi_csr_spans;

/* Finds the spans that reduce time for x of vector_type. Sets least_spans and first_span of the runs. */
spry_status spryi_csr_spans_find(spry_context *context, spryi_csr_spans *spans, spryi_csr_runs *runs,
                                 const spryi_csr_blocks *blocks, const spry_arrays *csr, spry_type vector_type,
                                 spry_error *err);

/* ---- chunks -------------------------------------------------------------------------------------------- */

/*
 * Chunks: units of work for y = A^T x, such that two threads never add to the same y_j at the same time.
 *
 * The row blocks are grouped into chunks of consecutive blocks with about equal work. One thread scatters a chunk.
 *
 *   phases    Chunks with no page of y in common form a phase. (A page is 512 or more consecutive elements of y.) They
 *             scatter directly into y at the same time. Matrices whose entries are near the diagonal (grids, meshes,
 *             bands) need two to five phases. Phases add no memory traffic except reads of y, and need a workspace only
 *             if beta is not 0 and alpha is not 1. The first chunk that touches a page sets it to zero or beta*y before
 *             it scatters.
 *   windows   If every chunk adds to most of y, as for graphs, each phase would have only one chunk. Then a few chunks
 *             scatter at the same time, each into its window: a private copy of y from the chunk's smallest to its
 *             largest column. The windows are added in order. The number of chunks is limited so that all windows
 *             together take at most 1 / SPRYI_WINDOW_SHARE of the bytes of the entries.
 *
 * Only the matrix decides, so the bits of y do not depend on the number of threads.
 */
enum { SPRYI_MOST_CHUNKS = 256, SPRYI_MOST_PHASES = 32, SPRYI_MOST_WINDOWS = 8, SPRYI_WINDOW_SHARE = 2 };

/* Columns begin .. end - 1 of the matrix, which are elements of y. */
typedef struct spryi_csr_range {
    int64_t begin, end;
} spryi_csr_range;

/* Row blocks first .. last - 1, which one thread scatters. */
typedef struct spryi_csr_chunk {
    int64_t first, last;
    int64_t ranges_begin, ranges_end; /* phases: ranges[ranges_begin .. ranges_end - 1] of y are set by the chunk */
    spryi_csr_range window;           /* windows: columns of the chunk's private copy */
    int64_t at;                       /* windows: offset of the copy in the workspace, in elements */
} spryi_csr_chunk;

typedef struct spryi_csr_chunks {
    spryi_csr_chunk *list;   /* ordered by phase */
    spryi_csr_range *ranges; /* disjoint ranges that together contain all columns */
    int64_t count, range_count;
    int64_t phase_count;                   /* 0: windows are used */
    int64_t phases[SPRYI_MOST_PHASES + 1]; /* phase f is chunks phases[f] .. phases[f + 1] - 1 */
    int64_t window_elements;               /* elements of all windows */
} spryi_csr_chunks;

/* ---- storage ------------------------------------------------------------------------------------------- */

/* Minimum numbers of expected products for which the plan finds runs and spans. */
enum {
    SPRYI_CSR_CALLS_FOR_RUNS = 3, /* see also runs_pay in csr_format.c */
    /* finding spans takes the time of two to four products; spans save 20 to 50 % of each product's time */
    SPRYI_CSR_CALLS_FOR_SPANS = 16,
};

/*
 * Number of vectors that one pass multiplies if some rows are cut into pieces. The workspace has a sum of each piece
 * for each of these vectors.
 */
enum { SPRYI_CSR_SUMS = 16 };
enum {
    SPRYI_CSR_COLUMN_MAJOR =
        4, /* number of column-major vectors that CPU kernels multiply together (csr_column_major.c) */
    SPRYI_CSR_COLUMN_MAJOR_MEAN = 8 /* largest mean row length for which multiplying them together reduces time */
};

/* The storage of format csr. */
typedef struct spryi_csr {
    spry_arrays a;      /* CSR, borrowed from the matrix or stored in `owned` */
    spry_matrix *owned; /* conversion that the storage owns, or NULL */
    int64_t *offsets;   /* offsets built from sorted COO, or NULL */
    spry_type vector_type;
    bool scatters; /* the storage is built for y = A^T x */
    spryi_csr_blocks blocks;
    spryi_csr_runs runs;
    spryi_csr_spans spans;
    spryi_csr_chunks chunks;
} spryi_csr;

extern const spryi_format spryi_format_csr;
extern const struct spryi_estimator spryi_csr_estimator; /* csr_work.c */
/* Parameters of kernels: indices in the kernels' lists. */
enum { SPRYI_CSR_LANES }; /* parameters of csr_vector_cuda */
/* Constants of csr_vector_cuda and of its predicted work. */
enum {
    SPRYI_CSR_BLOCK_A_ROW = 256,    /* threads of a block; the lanes per row, if a block adds each row */
    SPRYI_CSR_IN_FLIGHT = 4,        /* entries that a lane loads before it waits */
    SPRYI_CSR_LONG_FOR_LANES = 128, /* longer rows are added by a warp */
    SPRYI_CSR_LONG_FOR_WARP = 1024  /* longer rows are added by a block */
};
enum { SPRYI_CSR_NNZ_PER_WG, SPRYI_CSR_VECTOR }; /* parameters of csr_adaptive_cuda and csr_adaptive_atomic_cuda */
enum { SPRYI_CSR_MOST_VECTOR = 2048 };

/*
 * Returns the lanes per row of csr_vector_cuda: 2 to 32, so that a lane has about six entries; more lanes if the rows
 * would not fill a GPU; SPRYI_CSR_BLOCK_A_ROW if the mean row is long.
 */
static inline int spryi_csr_vector_lanes(int64_t rows, int64_t nnz)
{
    enum { ENTRIES = 6, MOST = 32, FILLS = 300000 /* threads */, LONG_MEAN = 512 };
    const double mean = rows > 0 ? (double)nnz / (double)rows : 0;
    int lanes = 2;
    if (mean > LONG_MEAN) return SPRYI_CSR_BLOCK_A_ROW;
    while (lanes < MOST && (ENTRIES * lanes < mean || (1.5 * lanes < mean && rows * lanes < FILLS))) lanes *= 2;
    return lanes;
}

extern const spryi_kernel spryi_csr_portable_cpu, spryi_csr_avx2_cpu, spryi_csr_avx512_cpu;
extern const spryi_kernel spryi_csr_scalar_cuda, spryi_csr_vector_cuda, spryi_csr_merge_cuda;
extern const spryi_kernel spryi_csr_adaptive_atomic_cuda, spryi_csr_adaptive_cuda, spryi_csr_scatter_cuda;

/*
 * Builds the auxiliary arrays of s, whose CSR arrays must be set. Builds row blocks, unless csr-k has built them, and
 * runs. If `scatters` is true, also builds chunks. If it is false, builds spans if the plan will use them.
 */
spry_status spryi_csr_finish(spry_context *context, spryi_csr *s, const spryi_build_request *request, bool scatters,
                             spry_error *err);
void spryi_csr_release_auxiliary(spry_context *context, spryi_csr *s);

/*
 * Functions of the kernels. gather multiplies by the stored matrix (csr's plain product, csc's transposed product).
 * scatter multiplies by its transpose (csr's transposed product, csc's plain product).
 */
extern const spryi_run_table spryi_csr_gather_portable, spryi_csr_gather_avx2, spryi_csr_gather_avx512;
extern const spryi_run_table spryi_csr_scatter_portable, spryi_csr_scatter_avx2, spryi_csr_scatter_avx512;
