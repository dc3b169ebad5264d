/*
 * C = alpha*A*B on the GPU: what its kernels share. B's rows are sorted and hold no column twice; A's may be as they are.
 *
 * A piece of C's rows goes through: classify (products, span of columns), count (entries of each row of C), a scan to
 * offsets, and numeric. Rows are told apart twice, by what is known of them before and after counting:
 *
 *   run     neighbours that would be merged, each the one before moved by a column           (runs_cuda.cu)
 *   merge   at most MERGE_MOST entries in A and MERGE_PRODUCTS products: a thread merges B's rows (merge_cuda.cu)
 *   span    columns within SPAN_WORDS words of 32: a bit mask of the span, by 16 or 32 lanes (group_cuda.cu)
 *   sort    few products far apart: they are sorted in registers, by a warp               (sort_cuda.cu)
 *   hash    those of long rows of A: a table of words of 32 columns, by a warp                        (group_cuda.cu)
 *   block   the rest: a bit mask of all columns from the row's first to its last, by a block   (block_cuda.cu)
 *
 * No value is added atomically, and the order of sums depends on the matrices alone: results are the same bit for bit.
 */
#pragma once

#include "device/cuda/cuda_common.cuh"

extern "C" {
#include "spgemm/kernels/spgemm.h"
}

enum {
    MERGE_MOST = 8,      /* entries of a row of A that a thread merges */
    MERGE_PRODUCTS = 64, /* and products */
    SPAN_WORDS = 2048,   /* words of 32 columns of a span */
    HASH_PRODUCTS = 512, /* of a row that a warp counts by a table */
    SORT_SIZES = 4,
    BLOCK_LOW_PRODUCTS = 4096,
    NO_COLUMN = 0x7fffffff
};
static const unsigned ALL_LANES = 0xffffffffu;

/* Offsets of 32 or 64 bits; told apart at run time where that costs one load a row. */
struct row_offsets {
    const void *at;
    int wide;
    __device__ __forceinline__ int64_t get(int64_t i) const
    {
        return wide ? __ldg((const long long *)at + i) : (int64_t)__ldg((const int *)at + i);
    }
};

/* CSR in device memory with 32-bit columns; values may be NULL while entries are counted. */
struct gpu_csr {
    int64_t rows, cols, nnz;
    row_offsets p;
    const int32_t *j;
    const void *x;
};

static inline gpu_csr gpu_csr_of(const spry_arrays *a)
{
    const row_offsets p = {a->offsets, a->offset_type == SPRY_I64};
    return {a->rows, a->columns, a->nnz, p, (const int32_t *)a->indices, a->values};
}

/* SPRY_UNSUPPORTED where a row of B is not sorted or holds a column twice; looks at B unless that is known. */
spry_status gpu_require_rising(spryi_device_product *product, spry_error *err);

enum row_class {
    ROW_EMPTY,
    ROW_MERGE,
    ROW_SPAN_LOW,
    ROW_SPAN_HIGH,
    ROW_SPAN_WIDE,
    ROW_HASH_LOW, /* at most 128, 256, 512 products */
    ROW_HASH_MIDDLE,
    ROW_HASH_HIGH,
    ROW_SORT,                              /* SORT_SIZES: at most 64, 128, 256, 512 products */
    ROW_BLOCK_LOW = ROW_SORT + SORT_SIZES, /* at most BLOCK_LOW_PRODUCTS */
    ROW_BLOCK,
    ROW_CLASSES
};

/* Findings of classify in a piece of rows, for the host to size launches by. */
struct gpu_row_counts {
    unsigned long long products;
    unsigned long long entries;       /* of C; written after the scan */
    unsigned long long least_entries; /* of rows that are not merged: that of their longest rows of B */
    unsigned rows[ROW_CLASSES];
    unsigned merge_slots; /* most of 32 neighbours that threads merge: products, and ends of rows of B */
    unsigned merge_results;
    unsigned merges;        /* whether some of these do not go through the network (network_cuda.cuh) */
    unsigned most_products; /* of any row, at most 2^32 - 1 */
    unsigned list[72];      /* rows of each list of the numeric phase; the positions while lists are filled */
    unsigned columns_kept;
    unsigned lost;         /* whether there was no room for some */
    unsigned sort_again;   /* the same of orders of rows that are sorted */
    unsigned sample_moved; /* of the rows that were looked at before runs: those that are the row before, moved */
    unsigned sample_same;  /* of the columns of B that were looked at: those in the word of the one before */
    unsigned groups;       /* of rows of runs */
    unsigned odd;          /* rows in no run, where runs are looked for */
    unsigned run_rows;     /* rows that are counted as runs */
    unsigned run_room;     /* values in shared memory that a run needs at most */
};

/* Up to 32 neighbouring rows of a run (runs_cuda.cu). */
struct __align__(16) gpu_run
{
    int32_t row, rows;
    int32_t after; /* rows of the run before them */
    int32_t run;   /* products, columns and entries of A of a row as bytes from the lowest; 0: counted otherwise */
};

/* Arrays of a piece of rows, counted from its first. */
struct gpu_rows {
    gpu_csr A, B;
    int64_t first; /* row of A */
    int rows;
    int32_t *counts;   /* entries of the row of C; one more, 0, at the end */
    int32_t *low;      /* first word of columns */
    int32_t *words;    /* 0: merged or empty; else words of the span */
    int32_t *distinct; /* words of those that have columns */
    int32_t *products; /* at most 2^31 - 1; of rows that are not merged */
    int32_t *list;     /* rows by class */
    int32_t *kept;     /* where in `columns` the columns are that counting has found, -1: they are not kept */
    int32_t *columns;  /* room for columns_room of them */
    int columns_room;
    uint2 *pairs;                  /* of B's rows (pairs_cuda.cu), where its entries lie; NULL: there are none */
    int32_t *pair_counts;          /* of each row */
    unsigned *shifts_a, *shifts_b; /* bits: the row is the one before, moved by a column. A's of the piece; B's */
    gpu_run *groups;               /* found->groups; NULL: runs are not looked for */
    int32_t *odd;                  /* found->odd rows */
    gpu_row_counts *found;
};

/* *sum += a*b with one rounding, whatever the compiler makes of the code around it. */
static __device__ __forceinline__ void add_product(float *sum, float a, float b)
{
    *sum = __fmaf_rn(a, b, *sum);
}
static __device__ __forceinline__ void add_product(double *sum, double a, double b)
{
    *sum = __fma_rn(a, b, *sum);
}

/* ---- lanes -------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ int warp_max(int v)
{
    for (int step = 16; step > 0; step /= 2) v = max(v, __shfl_xor_sync(ALL_LANES, v, step));
    return v;
}

static __device__ __forceinline__ int warp_sum(int v)
{
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(ALL_LANES, v, step);
    return v;
}

/* Sum over the lanes of a group of `width` before this one; *total that of all. */
static __device__ __forceinline__ int lanes_before(int v, int width, int *total)
{
    int sum = v;
    const int lane = threadIdx.x % width;
    for (int step = 1; step < width; step *= 2) {
        const int other = __shfl_up_sync(ALL_LANES, sum, step, width);
        if (lane >= step) sum += other;
    }
    *total = __shfl_sync(ALL_LANES, sum, width - 1, width);
    return sum - v;
}
