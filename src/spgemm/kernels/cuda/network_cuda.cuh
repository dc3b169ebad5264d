/*
 * Rows of A with up to 4 entries that select rows of B with up to 4 entries: a thread sorts its row's products.
 *
 * Idea: all columns are read independently and merged in registers by a bitonic network with sorted inputs. Positions
 *       after a row's end hold the largest key. A key is the column, and in the low bits the position of the product,
 *       so that sums keep A's order.
 * Work: a warp processes 32 consecutive rows, if all of them are this short.
 * Cost: B's columns are read once per entry of A for counting, and again for computing. B's values are read once per
 *       entry of A. C is written once.
 * Source: Batcher 1968; one row per thread: this library.
 */
#pragma once

#include "spgemm/kernels/cuda/steps_cuda.cuh"

#include <cuda_pipeline.h>

enum {
    NET_MOST = 4,                            /* maximal entries of a row, of A and of B */
    NET_KEYS = NET_MOST * NET_MOST,          /* a_u times entry e of its row of B has position u * NET_MOST + e */
    NET_VALUES = 32 * (NET_KEYS + NET_MOST), /* values of a warp in shared memory */
    NET_BITS = 4,
    NET_COLUMNS = 1 << (31 - NET_BITS) /* maximal number of columns */
};
static const unsigned NET_NONE = 0xffffffffu;

/* The rows of B that a row of A selects: first entries and lengths. */
template <int MOST> struct merge_row {
    int64_t from[MOST];
    int length[MOST];
    int products;
};

/* Returns true if the network can process a warp's rows. merged: the lane has a row to merge. */
template <int MOST>
static __device__ __forceinline__ bool by_network(const gpu_rows &r, const merge_row<MOST> &row, int merged)
{
    int longest = MOST > NET_MOST || r.B.cols > NET_COLUMNS ? NET_MOST + 1 : 0;
#pragma unroll
    for (int u = 0; u < MOST; u++) longest = max(longest, row.length[u]);
    return !__any_sync(ALL_LANES, merged && longest > NET_MOST);
}

static __device__ __forceinline__ void net_order(unsigned *low, unsigned *high)
{
    const unsigned least = min(*low, *high);
    *high = max(*low, *high);
    *low = least;
}

/* Loads and sorts the row's keys. */
static __device__ __forceinline__ void net_keys(const merge_row<NET_MOST> &row, const int32_t *Bj,
                                                unsigned (&key)[NET_KEYS])
{
#pragma unroll
    for (int i = 0; i < NET_KEYS; i++) {
        const int u = i / NET_MOST, e = i % NET_MOST;
        key[i] = NET_NONE;
        if (e < row.length[u]) key[i] = (unsigned)__ldg(Bj + row.from[u] + e) << NET_BITS | (unsigned)i;
    }
#pragma unroll
    for (int s = 3; s <= 4; s++) {
#pragma unroll
        for (int i = 0; i < NET_KEYS; i++) { /* compares two sorted runs from opposite ends */
            const int other = i ^ ((1 << s) - 1);
            if (other > i) net_order(&key[i], &key[other]);
        }
#pragma unroll
        for (int t = s - 2; t >= 0; t--) {
#pragma unroll
            for (int i = 0; i < NET_KEYS; i++)
                if (!(i & 1 << t)) net_order(&key[i], &key[i | 1 << t]);
        }
    }
}

static __device__ __forceinline__ int net_differ(unsigned a, unsigned b)
{
    return (a ^ b) >> NET_BITS != 0;
}

/* Returns the number of columns of the row. */
static __device__ __forceinline__ int net_count(const merge_row<NET_MOST> &row, const int32_t *Bj)
{
    unsigned key[NET_KEYS];
    net_keys(row, Bj, key);
    int n = 1;
#pragma unroll
    for (int i = 1; i < NET_KEYS; i++) n += net_differ(key[i], key[i - 1]);
    return n - (key[NET_KEYS - 1] == NET_NONE); /* NET_NONE was counted as one column */
}

/* Copies to shared memory the values of the row's products: B's values by position, then A's. */
template <typename V> static __device__ __forceinline__ void net_fetch(const merge_row<NET_MOST> &row, const V *Ax,
                                                                       int length, const V *Bx, V *values)
{
    V *to = values + threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < NET_KEYS; i++) {
        const int u = i / NET_MOST, e = i % NET_MOST;
        if (e < row.length[u]) __pipeline_memcpy_async(to + 32 * i, Bx + row.from[u] + e, sizeof(V));
    }
#pragma unroll
    for (int u = 0; u < NET_MOST; u++)
        if (u < length) __pipeline_memcpy_async(to + 32 * (NET_KEYS + u), Ax + u, sizeof(V));
    __pipeline_commit();
}

/* Stores the row's columns and sums in out_j and out_x. */
template <typename V> static __device__ __forceinline__ void net_sums(const unsigned (&key)[NET_KEYS], const V *values,
                                                                      V alpha, int32_t *out_j, V *out_x)
{
    const V *b = values + threadIdx.x % 32, *a = b + 32 * NET_KEYS;
    V sum = 0;
    int n = -1;
#pragma unroll
    for (int i = 0; i < NET_KEYS; i++) {
        if (key[i] != NET_NONE) {
            const int place = (int)(key[i] & (NET_KEYS - 1)),
                      first = i == 0 || net_differ(key[i], key[i > 0 ? i - 1 : 0]);
            n += first;
            sum = first ? V(0) : sum;
            add_product(&sum, a[32 * (place / NET_MOST)], b[32 * place]);
            out_j[n] = (int32_t)(key[i] >> NET_BITS); /* the last store of a column is final */
            out_x[n] = alpha * sum;
        }
    }
}
