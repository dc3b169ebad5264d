/* For the CUDA kernels of ELL and SELL: the sum of a row's slots, and the search for slices with a constant stride. */
#pragma once

#include "device/cuda/cuda_common.cuh"

/*
 * Returns the sum of a row's `length` entries (at, at + stride, ...) times x. Padding is never read. Four entries are
 * in flight. In a strided slice the columns of lane l are the columns of lane 0 plus l, and all lanes read only the
 * columns of lane 0.
 */
template <typename S, typename V, typename J>
static __device__ __forceinline__ V sum_slots(const J *__restrict__ Aj, const S *__restrict__ Ax,
                                              const V *__restrict__ x, int64_t at, int64_t stride, int length,
                                              int strided, int lane)
{
    V sum = 0;
    int s = 0;
    const J *columns = strided ? Aj + at - lane : Aj + at;
    const J add = strided ? (J)lane : J(0);
    for (; s + 4 <= length; s += 4, columns += 4 * stride, at += 4 * stride) {
        J j[4];
        V a[4];
#pragma unroll
        for (int u = 0; u < 4; u++) j[u] = (strided ? columns[u * stride] : load_once(columns + u * stride)) + add;
#pragma unroll
        for (int u = 0; u < 4; u++) a[u] = Ax ? element_at<V>(Ax + at + u * stride) : V(1);
#pragma unroll
        for (int u = 0; u < 4; u++) sum += a[u] * x[j[u]];
    }
#pragma unroll 3
    for (; s < length; s++, columns += stride, at += stride)
        sum += (Ax ? element_at<V>(Ax + at) : V(1)) * x[(strided ? *columns : load_once(columns)) + add];
    return sum;
}

/*
 * Returns true if the slice of `lanes` rows has rows of equal length, and each row's columns are the previous row's
 * plus one.
 */
template <typename J> static __device__ bool slice_steps(const J *Aj, const int32_t *lengths, int64_t first_length,
                                                         int64_t at, int64_t stride, int lanes)
{
    int length = lengths[first_length];
    for (int l = 1; l < lanes; l++)
        if (lengths[first_length + l] != length) return false;
    for (int s = 0; s < length; s++) {
        J base = Aj[at + s * stride];
        for (int l = 1; l < lanes; l++)
            if (Aj[at + s * stride + l] != base + l) return false;
    }
    return length > 0;
}
