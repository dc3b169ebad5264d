/*
 * How csr_merge_cuda cuts CSR: tiles of equal numbers of entries, whose rows a block of threads has, and pieces of long
 * rows. For its kernels of one column (csr_merge_cuda.cu) and of several (csr_panel_cuda.cu).
 */
#pragma once

#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/csr/csr.h"
}

/*
 * Measured on an H100: 256 x 4 of f32 is 4 to 9 % faster on graphs than 128 x 8 and 2.5 % slower on circuits. Products
 * of f64 take twice the shared memory, which the first-level cache lacks then: it is where gathers of x that are on
 * their way land, so that fewer of them can be. A tile is `slack` less than what the threads load at once: its last row
 * reaches beyond it, and a block that has more waits for memory once more.
 */
template <typename V> struct shape {
    static const int threads = 256;
    static const int items = sizeof(V) == 8 ? 5 : 4; /* entries a thread has in flight */
    static const int slack = 64;
    static const int tile = threads * items - slack;
};

/*
 * Codes by what rows of over 512 entries, which are cut into pieces, have of all entries: up to a quarter, more. In
 * MANY only rows twice as long are cut, and fewer threads a multiprocessor leave the first-level cache what larger
 * tiles take from it: 3 to 4 % faster on R-MAT graphs, up to 10 % slower elsewhere. In NEARLY_ALL these rows have
 * seven in eight, so that most tiles would load columns of which they have no row: only tiles with rows are listed.
 * Longer pieces with more entries in flight, for which fewer threads have registers, take 0.8 of the time on rows of
 * 4000.
 */
enum { FEW, MANY, NEARLY_ALL };
template <int KIND> struct cut {
    static const int longest = KIND == FEW ? 512 : 1024;
    static const int resident = KIND == FEW ? 2048 : KIND == MANY ? 1536 : 1024; /* threads a multiprocessor */
    template <typename V> struct pieces {
        static const int items = KIND == NEARLY_ALL ? 8 : shape<V>::items; /* entries a thread has in flight, of */
        static const int entries = 2 * items * shape<V>::threads;          /* a piece */
    };
};

/* A piece of a long row; the row's pieces follow one another. */
typedef struct __align__(16) piece
{
    int64_t begin, row;
    int32_t count; /* entries */
    int32_t part, parts;
    int32_t index; /* of the row among the long ones */
}
piece;

/* Rows of a block, its long row left out, and their entries. */
typedef struct __align__(16) tile_rows
{
    int64_t first, base;
    int32_t rows, count;
    int64_t start; /* the tile's first entry */
}
tile_rows;

/* What prepare keeps; pointers are device addresses. */
typedef struct merge_splits {
    int kind;
    int64_t nnz, blocks, long_count, piece_count;
    tile_rows *tiles; /* blocks; of NEARLY_ALL in any order */
    piece *pieces;
} merge_splits;

/* Columns of which the pieces of long rows have sums in the workspace at the same time; behind them counters of rows. */
enum { PANEL_COLUMNS = 64 };

static inline unsigned *arrivals_of(const merge_splits *s, void *workspace)
{
    return s->long_count > 0 ? (unsigned *)((char *)workspace + s->piece_count * PANEL_COLUMNS * 8) : NULL;
}

/* csr_panel_cuda.cu: several columns of x and y at once. */
template <typename S, typename V, typename P, typename J>
spry_status spry_cuda_csr_panel(const spryi_run_args *args, spry_error *err);
