/* Free device memory as reported by the CUDA run-time. */
#pragma once

#include "testing.h"
#include <cuda_runtime_api.h>

enum { MIB = 1 << 20 };

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        cudaError_t code_ = (call);                                                                                    \
        if (code_ != cudaSuccess) fail_msg("%s: %s", #call, cudaGetErrorString(code_));                                \
    } while (0)

/* Waits for the current device, then returns its free memory in bytes. */
static inline int64_t free_memory(void)
{
    size_t now = 0, all = 0;
    OK(cudaDeviceSynchronize());
    OK(cudaMemGetInfo(&now, &all));
    return (int64_t)now;
}
