/*
 * Spry: streams and memory of NVIDIA GPUs. No header of CUDA is needed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Streams. A stream is a cudaStream_t; NULL is CUDA's legacy default stream, and in a run the plan's stream.
 *  - A run (spry_spmv_plan_run) with vectors in GPU memory starts its kernels in the stream and returns. Kernels read
 *    alpha and beta in GPU memory.
 *  - A run with vectors in host memory copies x and y, and returns when y is complete.
 *  - All other calls, except copies, wait for the stream, and have ended their work on return.
 *  - Only runs with vectors in GPU memory can be captured in a CUDA graph. The graph keeps addresses of vectors, plan
 *    and workspace, and the values of alpha and beta in host memory. An update without a new array keeps the addresses.
 *    Other calls fail with SPRY_DEVICE_FAILED and end the capture.
 *  - Runs that overlap need a workspace each (spry_spmv_run_options).
 *  - spry_matrix_create and spry_matrix_check have no stream: their arrays must be complete.
 *  - A fault in a kernel is reported by the next call that waits: SPRY_DEVICE_FAILED.
 *  - The current CUDA device of the calling thread is restored on return.
 * docs/how-to/gpu-and-streams.md has examples.
 */
#ifndef SPRY_CUDA_H
#define SPRY_CUDA_H

#include "spry/spry.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The caller's functions for GPU memory, both required. allocate returns memory of that GPU, aligned to 256 bytes, or
 * NULL. The library waits for the GPU before release. Any thread may call them; the GPU is current. Runs never do.
 * The library then caches no GPU memory.
 */
typedef struct spry_device_hooks {
    size_t struct_size;
    void *(*allocate)(void *user, int device, int64_t bytes);
    void (*release)(void *user, int device, void *pointer, int64_t bytes);
    void *user; /* first argument of both */
} spry_device_hooks;

/* Allocates memory of a GPU, aligned to 256 bytes. Memory of cudaMalloc is equally usable. */
SPRY_MUST_CHECK SPRY_API spry_status spry_device_allocate(const spry_context *context, void **data, int device,
                                                          int64_t bytes, spry_error *err);
SPRY_API void spry_device_free(const spry_context *context, int device, void *data);

/* Copies bytes between the host (0) and a GPU, or within one GPU, in stream order. May return before the copy ends. */
SPRY_MUST_CHECK SPRY_API spry_status spry_device_copy(const spry_context *context, void *to, int to_device,
                                                      const void *from, int from_device, int64_t bytes, void *stream,
                                                      spry_error *err);

/* Waits for the work in a stream. */
SPRY_API spry_status spry_device_synchronize(const spry_context *context, int device, void *stream, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
