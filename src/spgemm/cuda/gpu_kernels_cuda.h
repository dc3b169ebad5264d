/* The plug-in's ways to multiply sparse matrices: seed_cuda.cu and gpu_driver_cuda.cu. */
#ifndef SPRY_GPU_KERNELS_CUDA_H
#define SPRY_GPU_KERNELS_CUDA_H

extern "C" {
#include "spgemm/spgemm.h"
}

extern const spryi_cuda_spgemm_kernel spry_cuda_spgemm_rows, spry_cuda_spgemm_seed_getvals, spry_cuda_spgemm_seed_reset,
    spry_cuda_spgemm_seed_rows, spry_cuda_spgemm_seed_claim, spry_cuda_spgemm_seed_balance;

/* SPRY_UNSUPPORTED where a row of B is not sorted or holds a column twice; looks at B unless that is known. */
spry_status gpu_require_rising(spryi_cuda_product *product, spry_error *err);

#endif
