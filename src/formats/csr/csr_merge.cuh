/*
 * Tiles and pieces of csr_merge_cuda. CSR is cut into tiles with equal numbers of entries, and long rows are cut into
 * pieces. One block of threads multiplies each tile and each piece. The kernels for one vector (csr_merge_cuda.cu) and
 * for multiple vectors (csr_panel_cuda.cu) use this file.
 */
#pragma once

#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/csr/csr.h"
}

/*
 * Sizes of a tile. Measured on an H100 for f32: 256 threads with 4 entries each are 4 to 9 % faster on graphs than 128
 * threads with 8 entries each, and 2.5 % slower on circuits. Products of f64 take twice the shared memory. This leaves
 * less L1 cache for gathers of x in flight. A tile has `slack` entries less than the threads load together, because its
 * last row may extend beyond the tile. If it extends by more than `slack` entries, the block needs a second round of
 * loads.
 */
template <typename V> struct shape {
    static const int threads = 256;
    static const int items = sizeof(V) == 8 ? 5 : 4; /* entries per thread in flight */
    static const int slack = 64;
    static const int tile = threads * items - slack;
};

/*
 * Cases of a matrix. Rows longer than 512 entries are cut into pieces. FEW: at most a quarter of the entries is in such
 * rows. MANY: more than a quarter is. NEARLY_ALL: more than seven eighths of the entries are in rows longer than 1024.
 * In MANY and NEARLY_ALL only rows longer than 1024 entries are cut. In MANY fewer threads run per multiprocessor,
 * which leaves L1 cache although blocks have more products in shared memory. Compared with FEW, products with R-MAT
 * graphs are 3 to 4 % faster, and products with other matrices are up to 10 % slower. In NEARLY_ALL most tiles have no
 * rows, so only tiles with rows are listed. Pieces are longer, and each thread has more entries in flight and more
 * registers, so fewer threads run: products of rows with 4000 entries take 0.8 times as long as
 * without this case.
 */
enum { FEW, MANY, NEARLY_ALL };
template <int KIND> struct cut {
    static const int longest = KIND == FEW ? 512 : 1024;
    static const int resident = KIND == FEW ? 2048 : KIND == MANY ? 1536 : 1024; /* threads per multiprocessor */
    template <typename V> struct pieces {
        static const int items = KIND == NEARLY_ALL ? 8 : shape<V>::items; /* entries per thread in flight */
        static const int entries = 2 * items * shape<V>::threads;          /* entries of a piece */
    };
};

/* A piece of a long row. The pieces of a row are consecutive in the list. */
typedef struct __align__(16) piece
{
    int64_t begin, row;
    int32_t count; /* number of entries */
    int32_t part, parts;
    int32_t index; /* index of the row in the list of long rows */
}
piece;

/* Rows of a tile and their entries. A row that is cut into pieces is left out. */
typedef struct __align__(16) tile_rows
{
    int64_t first, base;
    int32_t rows, count;
    int64_t start; /* the tile's first entry */
}
tile_rows;

/* Auxiliary data of a plan. Pointers are device addresses. */
typedef struct merge_splits {
    int kind;
    int64_t nnz, blocks, long_count, piece_count;
    tile_rows *tiles; /* `blocks` tiles; in any order if NEARLY_ALL. Memory for all tiles and a counter */
    piece *pieces;
} merge_splits;

/* Vectors per launch. The workspace has PANEL_COLUMNS sums per piece, followed by the counters of the long rows. */
enum { PANEL_COLUMNS = 64 };

static inline unsigned *arrivals_of(const merge_splits *s, void *workspace)
{
    return s->long_count > 0 ? (unsigned *)((char *)workspace + s->piece_count * PANEL_COLUMNS * 8) : NULL;
}

/* csr_panel_cuda.cu: product with multiple vectors. */
template <typename S, typename V, typename P, typename J>
spry_status spry_cuda_csr_panel(const spryi_run_args *args, spry_error *err);
