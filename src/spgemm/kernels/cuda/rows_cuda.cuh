/*
 * C = alpha*A*B on the GPU: declarations shared by the kernels. B's rows must be sorted without duplicates; A's rows
 * may be in any order.
 *
 * A chunk of C's rows passes these steps: classify (products, span of columns), count (entries of each row of C), a
 * scan to offsets, and numeric (columns and values). The classes of rows are:
 *
 *   run     consecutive rows of class merge; each has the columns of the row before, plus 1       (runs_cuda.cu)
 *   merge   at most MERGE_MOST entries in A and MERGE_PRODUCTS products: a thread merges B's rows (merge_cuda.cu)
 *   span    columns within SPAN_WORDS words of 32: a bit mask of the span, by 16 or 32 lanes      (group_cuda.cu)
 *   sort    few products in distant columns: sorted in registers by 16 or 32 lanes                (sort_cuda.cu)
 *   hash    few products, but a longer row of A or a very wide span: a table of words, by a warp  (group_cuda.cu)
 *   block   the rest: a bit mask of all columns from the row's first to its last, by a block      (block_cuda.cu)
 *
 * No value is added atomically. The order of sums depends only on the matrices, so results repeat bit for bit.
 */
#pragma once

#include "device/cuda/cuda_common.cuh"

extern "C" {
#include "spgemm/kernels/spgemm.h"
}

enum {
    MERGE_MOST = 8,      /* maximal entries of a row of A that a thread merges */
    MERGE_PRODUCTS = 64, /* maximal products of a row that a thread merges */
    SPAN_WORDS = 2048,   /* maximal words of 32 columns of a span */
    HASH_PRODUCTS = 512, /* maximal products of a row that a warp counts with a table */
    SORT_SIZES = 4,
    BLOCK_LOW_PRODUCTS = 4096,
    NO_COLUMN = 0x7fffffff
};
static const unsigned ALL_LANES = 0xffffffffu;

/* Offsets of 32 or 64 bits, distinguished at run time in code that loads one offset per row. */
struct row_offsets {
    const void *at;
    bool wide;
    __device__ __forceinline__ int64_t get(int64_t i) const
    {
        return wide ? __ldg((const long long *)at + i) : (int64_t)__ldg((const int *)at + i);
    }
};

/* CSR in device memory with 32-bit columns. values may be NULL while entries are counted. */
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

/* Returns SPRY_UNSUPPORTED if a row of B is not sorted or has duplicates. Reads B unless its order is known. */
spry_status gpu_require_rising(spryi_device_product *product, spry_error *err);

enum row_class {
    ROW_EMPTY,
    ROW_MERGE,
    ROW_SPAN_LOW,
    ROW_SPAN_HIGH,
    ROW_SPAN_WIDE,
    ROW_HASH_LOW, /* low, middle and high: at most 128, 256 and 512 products */
    ROW_HASH_MIDDLE,
    ROW_HASH_HIGH,
    ROW_SORT,                              /* SORT_SIZES classes: at most 64, 128, 256 and 512 products */
    ROW_BLOCK_LOW = ROW_SORT + SORT_SIZES, /* at most BLOCK_LOW_PRODUCTS */
    ROW_BLOCK,
    ROW_CLASSES
};

/* Results of classify for a chunk of rows. The host reads them to size launches. */
struct gpu_row_counts {
    unsigned long long products;
    unsigned long long entries; /* entries of C; set after the scan */
    /* lower bound on C's entries in rows that are not merged: sum of the lengths of their longest selected rows of B */
    unsigned long long least_entries;
    unsigned rows[ROW_CLASSES];
    unsigned merge_slots;   /* maximal slots (slots_for in merge_cuda.cu) that a warp's 32 merged rows need */
    unsigned merge_results; /* maximal number of entries of C in a warp's 32 merged rows */
    unsigned merges;        /* 1 if some merged rows do not use the network (network_cuda.cuh) */
    unsigned most_products; /* maximal number of products of a row, at most 2^32 - 1 */
    unsigned list[72]; /* number of rows of each list of the numeric phase; then positions while lists are filled */
    unsigned columns_kept;
    unsigned lost;         /* 1 if the columns of some rows could not be kept */
    unsigned sort_again;   /* 1 if the order of some sorted rows could not be kept */
    unsigned sample_moved; /* sampled rows of A whose columns are those of the row before, plus 1 */
    unsigned sample_same;  /* sampled columns of B that are in the same word of 32 columns as the column before */
    unsigned groups;       /* number of groups (gpu_run) that runs were cut into */
    unsigned odd;          /* number of rows outside of runs, if runs are searched */
    unsigned run_rows;     /* rows that are counted as runs */
    unsigned run_room;     /* maximal number of values in shared memory that a run needs */
};

/* Up to 32 consecutive rows of a run (runs_cuda.cu). */
struct __align__(16) gpu_run
{
    int32_t row, rows;
    int32_t after; /* rows of the run before `row` */
    int32_t run;   /* counts of one row: products | entries of C << 8 | entries of A << 16; 0: not computed as a run */
};

/* Arrays of a chunk of rows. Element 0 is the chunk's first row. */
struct gpu_rows {
    gpu_csr A, B;
    int64_t first; /* index in A of the chunk's first row */
    int rows;
    int32_t *counts;   /* number of entries of each row of C, and an additional 0 at the end */
    int32_t *low;      /* first word of the row's columns */
    int32_t *words;    /* words of the span; 0: merged or empty */
    int32_t *distinct; /* words of the span that have columns */
    int32_t *products; /* number of products of each row that is not merged, at most 2^31 - 1 */
    int32_t *list;     /* rows by class */
    int32_t *kept;     /* position in `columns` of the columns found by counting; -1: not kept */
    int32_t *columns;  /* columns_room elements */
    int columns_room;
    uint2 *pairs;                  /* pairs of B's rows (pairs_cuda.cu), at B's offsets; NULL: not built */
    int32_t *pair_counts;          /* number of pairs of each row */
    unsigned *shifts_a, *shifts_b; /* a bit per row of A (in the chunk) and of B: 1 if it is the row before, shifted */
    gpu_run *groups;               /* found->groups elements; NULL: runs are not searched */
    int32_t *odd;                  /* rows outside of runs; found->odd elements */
    gpu_row_counts *found;
};

/* *sum += a*b with one rounding, independent of the compiler's options for contraction. */
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

/* Returns the sum over the preceding lanes of a group of `width` lanes. *total: sum over the group. */
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
