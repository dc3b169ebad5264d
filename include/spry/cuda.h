/*
 * Spry: memory of GPUs.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules at the top of spry/spry.h hold here too.
 */
#ifndef SPRY_CUDA_H
#define SPRY_CUDA_H

#include "spry/spry.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Memory of a GPU (device >= 1), for callers without CUDA's headers; pointers of cudaMalloc serve as well. Nobody
 * counts it: spry_device_free is the caller's to call, and accepts NULL.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_device_allocate(const spry_context *context, void **data, int device,
                                                          int64_t bytes, spry_error *err);
SPRY_API void spry_device_free(const spry_context *context, int device, void *data);

/*
 * Copies bytes between host (0) and a GPU, or within one, in the order of `stream` (a cudaStream_t; NULL: the default
 * one). Asynchronous within a GPU; a copy from or to pageable host memory returns when the host's side is done with.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_device_copy(const spry_context *context, void *to, int to_device,
                                                      const void *from, int from_device, int64_t bytes, void *stream,
                                                      spry_error *err);
SPRY_API spry_status spry_device_synchronize(const spry_context *context, int device, void *stream, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
