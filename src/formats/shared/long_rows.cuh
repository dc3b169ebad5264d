/*
 * Rows that lie apart as CSR in pieces, in formats of slices: a storage S has long_count, piece_count, long_rows,
 * long_first, pieces, long_columns and long_values, as packed.h tells them.
 *
 * Work: a warp a piece, then a warp a row, which adds the pieces up in order. Deterministic.
 */
#ifndef SPRYI_LONG_ROWS_CUH
#define SPRYI_LONG_ROWS_CUH

#include "device/cuda/reduce.cuh"

enum { LONG_ROW_THREADS = 128 };

template <typename S, typename V, bool ONES> static __global__ void __launch_bounds__(LONG_ROW_THREADS)
    long_row_pieces(const S s, const V *__restrict__ x, V *sums)
{
    const int64_t p = ((int64_t)blockIdx.x * LONG_ROW_THREADS + threadIdx.x) / 32;
    if (p >= s.piece_count) return;
    const int32_t *Aj = (const int32_t *)s.long_columns;
    const V *Ax = (const V *)s.long_values;
    const int64_t end = s.pieces[p + 1];
    V sum = 0;
#pragma unroll 4
    for (int64_t e = s.pieces[p] + threadIdx.x % 32; e < end; e += 32)
        sum += (ONES ? V(1) : load_once(Ax + e)) * x[load_once(Aj + e)];
    sum = lanes_sum(sum, 32);
    if (threadIdx.x % 32 == 0) sums[p] = sum;
}

/* The sums are left zero, as the next run expects them. */
template <typename S, typename V> static __global__ void __launch_bounds__(LONG_ROW_THREADS)
    long_rows(const S s, V *sums, V *y, scalar<V> alpha, scalar<V> beta)
{
    const int64_t n = ((int64_t)blockIdx.x * LONG_ROW_THREADS + threadIdx.x) / 32;
    if (n >= s.long_count) return;
    const int64_t end = s.long_first[n + 1];
    V sum = 0;
    for (int64_t p = s.long_first[n] + threadIdx.x % 32; p < end; p += 32) {
        sum += sums[p];
        sums[p] = 0;
    }
    sum = lanes_sum(sum, 32);
    if (threadIdx.x % 32 == 0) put(y, s.long_rows[n], sum, alpha.get(), beta.get());
}

/* y of the long rows, if there are any; the workspace holds piece_count numbers. */
template <typename S, typename V, bool ONES> static void launch_long_rows(const spryi_run_args *args)
{
    const S *s = (const S *)args->storage;
    if (s->long_count == 0) return;
    V *sums = (V *)args->workspace;
    long_row_pieces<S, V, ONES><<<(unsigned)ceil_div(s->piece_count * 32, LONG_ROW_THREADS), LONG_ROW_THREADS, 0,
                                  stream_of(args)>>>(*s, (const V *)args->x, sums);
    long_rows<S, V><<<(unsigned)ceil_div(s->long_count * 32, LONG_ROW_THREADS), LONG_ROW_THREADS, 0,
                      stream_of(args)>>>(*s, sums, (V *)args->y, SPRY_ALPHA(V, args), SPRY_BETA(V, args));
}

#endif
