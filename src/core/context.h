#ifndef SPRYI_CONTEXT_H
#define SPRYI_CONTEXT_H

#include "core/cpu_features.h"
#include "spry/spry.h"

#include <stdatomic.h>

struct spry_context {
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    void (*release)(void *user, void *pointer, size_t bytes);
    void *user;
    int threads;
    spryi_simd simd; /* what kernels may use: what the CPU has, lowered by SPRY_SIMD */
    _Atomic int64_t bytes, peak_bytes;
};

#endif
