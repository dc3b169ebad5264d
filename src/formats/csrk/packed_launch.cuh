/*
 * Launches of packed that lie in modules of their own. A GPU loads a module whole when one of its kernels is launched
 * for the first time in a process, so what one matrix needs stands apart from what it does not: rows by value type,
 * patterns, and each size of blocks.
 */
#ifndef SPRYI_PACKED_LAUNCH_CUH
#define SPRYI_PACKED_LAUNCH_CUH

#include "cuda/cuda_common.cuh"

/* Slices whose lanes are rows; ONES: a pattern. packed_rows_*_cuda.cu */
template <typename V, bool ONES> void spry_cuda_packed_rows(const spryi_run_args *args);

/* Slices whose lanes may be rows of blocks of B x B, B > 1. packed_blocks*_cuda.cu */
template <typename V, int B> void spry_cuda_packed_blocks(const spryi_run_args *args);

#endif
