/* CSR of the transposed, made on the device (formats/csc/csc_convert.cu). */
#ifndef SPRY_CUDA_TRANSPOSE_CUH
#define SPRY_CUDA_TRANSPOSE_CUH

#include "device/cuda/cuda_common.cuh"

/*
 * offsets, rows and values of a, which is CSR, in columns, each in the order of the rows; values may be NULL.
 * SPRY_UNSUPPORTED: more entries than a key can number. Returns when it is done.
 */
spry_status spry_cuda_transpose(const spryi_device *device, const spry_arrays *a, void *offsets, int32_t *rows,
                                void *values, spry_error *err);

#endif
