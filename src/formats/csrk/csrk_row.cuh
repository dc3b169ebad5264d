/* The innermost loop of the CUDA kernels of csr2 and csr3. */
#pragma once

#include "device/cuda/reduce.cuh"

/*
 * Returns the sum of a_k x_j over entries k, k + STEP, ... below end. If Ax is NULL, all entries are 1. Uses plain
 * loads, because a few lanes read a sector in multiple steps and need it in the L1 cache.
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
