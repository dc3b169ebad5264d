/* The innermost loop of csr2's and csr3's kernels. */
#pragma once

#include "device/cuda/reduce.cuh"

/*
 * Sum of a_k x_j over entries k, k + STEP, ... below end; Ax NULL: ones. With plain loads: few lanes read a sector in
 * several steps, so entries have to stay in the first-level cache.
 */
template <int STEP, typename V, typename J>
static __device__ __forceinline__ V row_product(int64_t k, int64_t end, const J *__restrict__ Aj,
                                                const V *__restrict__ Ax, const V *__restrict__ x)
{
    V sum = 0;
#pragma unroll 4
    for (; k < end; k += STEP) sum += (Ax ? Ax[k] : V(1)) * x[Aj[k]];
    return sum;
}
