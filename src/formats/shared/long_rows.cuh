/*
 * Products of long rows in formats with slices. The storage type F has a member long_rows of type spryi_long_rows.
 *
 * Work: one warp per piece, then one warp per row, which adds up the row's pieces in order. With multiple vectors, each
 *       vector has warps of its own. A launch multiplies up to LONG_ROW_COLUMNS vectors. Deterministic.
 */
#pragma once

#include "device/cuda/reduce.cuh"

enum { LONG_ROW_THREADS = 128, LONG_ROW_COLUMNS = 8 };

/* One vector or multiple vectors x and y. In the kernels, blockIdx.y is the index of the vector. */
template <typename V> struct long_row_vectors {
    const V *x;
    V *y;
    int64_t x_row, y_row, x_column_stride, y_column_stride; /* elements between rows and between vectors */
};

template <typename F, typename S, typename V, bool ONES> static __global__ void __launch_bounds__(LONG_ROW_THREADS)
    long_row_pieces(const F s, const long_row_vectors<V> v, V *sums)
{
    const int64_t p = ((int64_t)blockIdx.x * LONG_ROW_THREADS + threadIdx.x) / 32;
    open_table<cached_of<S>>(s);
    if (p >= s.long_rows.piece_count) return;
    const int32_t *Aj = (const int32_t *)s.long_rows.columns;
    const cached_of<S> *Ax = (const cached_of<S> *)s.long_rows.values;
    const V *x = v.x + blockIdx.y * v.x_column_stride;
    const int64_t end = s.long_rows.pieces[p + 1];
    V sum = 0;
#pragma unroll 4
    for (int64_t e = s.long_rows.pieces[p] + threadIdx.x % 32; e < end; e += 32)
        sum += (ONES ? V(1) : element_at<V>(Ax + e)) * x[load_once(Aj + e) * v.x_row];
    sum = lanes_sum(sum, 32);
    if (threadIdx.x % 32 == 0) sums[blockIdx.y * s.long_rows.piece_count + p] = sum;
}

/* Adds up the pieces of long rows and writes y. Sets the sums to zero, as the next run expects. */
template <typename F, typename V> static __global__ void __launch_bounds__(LONG_ROW_THREADS)
    long_rows(const F s, const long_row_vectors<V> v, V *sums, scalar<V> alpha, scalar<V> beta)
{
    const int64_t n = ((int64_t)blockIdx.x * LONG_ROW_THREADS + threadIdx.x) / 32;
    if (n >= s.long_rows.count) return;
    const int64_t end = s.long_rows.first[n + 1];
    V sum = 0;
    sums += blockIdx.y * s.long_rows.piece_count;
    for (int64_t p = s.long_rows.first[n] + threadIdx.x % 32; p < end; p += 32) {
        sum += sums[p];
        sums[p] = 0;
    }
    sum = lanes_sum(sum, 32);
    if (threadIdx.x % 32 == 0)
        put(v.y + blockIdx.y * v.y_column_stride, s.long_rows.rows[n] * v.y_row, sum, alpha.get(), beta.get());
}

/* Returns the bytes of workspace that launch_long_rows needs. */
template <typename F> static inline int64_t long_rows_workspace(const F *s, spry_type vector_type)
{
    return s->long_rows.piece_count * LONG_ROW_COLUMNS * (int64_t)spry_type_bytes(vector_type);
}

/* Computes y of the long rows, if there are any. */
template <typename F, typename S, typename V, bool ONES> static void launch_long_rows(const spryi_run_args *args)
{
    const F *s = (const F *)args->storage;
    if (s->long_rows.count == 0) return;
    V *sums = (V *)args->workspace;
    const unsigned pieces = (unsigned)ceil_div(s->long_rows.piece_count * 32, LONG_ROW_THREADS);
    const unsigned rows = (unsigned)ceil_div(s->long_rows.count * 32, LONG_ROW_THREADS);
    long_row_vectors<V> v = {(const V *)args->x, (V *)args->y, 1, 1, 0, 0};
    const int64_t columns = args->columns > 1 ? args->columns : 1;
    if (columns > 1) {
        v.x_row = args->x_stride;
        v.y_row = args->y_stride;
        v.x_column_stride = args->x_column_stride;
        v.y_column_stride = args->y_column_stride;
    }
    for (int64_t c = 0; c < columns; c += LONG_ROW_COLUMNS) {
        const unsigned batch = (unsigned)(columns - c < LONG_ROW_COLUMNS ? columns - c : (int64_t)LONG_ROW_COLUMNS);
        long_row_pieces<F, S, V, ONES><<<dim3(pieces, batch), LONG_ROW_THREADS, 0, stream_of(args)>>>(*s, v, sums);
        long_rows<F, V><<<dim3(rows, batch), LONG_ROW_THREADS, 0, stream_of(args)>>>(*s, v, sums, SPRY_ALPHA(V, args),
                                                                                     SPRY_BETA(V, args));
        v.x += LONG_ROW_COLUMNS * v.x_column_stride;
        v.y += LONG_ROW_COLUMNS * v.y_column_stride;
    }
}
