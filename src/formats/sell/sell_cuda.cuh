/* Declarations for both kernels of sell_chunks_cuda: for one vector (sell_chunks_cuda.cu) and for multiple vectors. */
#pragma once

#include "device/cuda/cuda_common.cuh"

extern "C" {
#include "formats/sell/sell.h"
}

static __device__ __forceinline__ int64_t row_of(const spryi_sell &s, int64_t l)
{
    return s.sigma > 1 ? l / s.sigma * s.sigma + s.permutation[l] : l;
}

/* Multiplies multiple vectors, stored row-major; in sell_columns_cuda.cu. */
template <typename S, typename V> void spry_cuda_sell_columns(const spryi_run_args *args);
