/* sell_chunks_cuda's two kernels share these: the one of a column (sell_chunks_cuda.cu) and the one of several. */
#pragma once

#include "device/cuda/cuda_common.cuh"

extern "C" {
#include "formats/sell/sell.h"
}

static __device__ __forceinline__ int64_t row_of(const spryi_sell &s, int64_t l)
{
    return s.sigma > 1 ? l / s.sigma * s.sigma + s.permutation[l] : l;
}

/* sell_columns_cuda.cu: several columns of x and y at once, that lie row by row. */
template <typename S, typename V> void spry_cuda_sell_columns(const spryi_run_args *args);
