#ifndef SPRYI_CONTEXT_H
#define SPRYI_CONTEXT_H

#include "core/cpu_features.h"
#include "core/spares.h"
#include "core/tuning.h"
#include "spry/spry.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SPRYI_MOST_GPUS = 16 };

/* What is known of the CUDA plug-in: filled at the first need, under the lock, and constant then, but for lost_us. */
typedef struct spryi_cuda_state {
    pthread_mutex_t lock;
    int settled, devices;
    double lost_us; /* by work that was left to the CPU because the GPU had not been started: ops/spgemm_route.c */
    const struct spryi_cuda_plugin *plugin; /* NULL: not to be had */
    char path[1024];                        /* of the context's options, "" for the default */
    char reason[512];                       /* why there is no plug-in, or why it finds no device */
    struct {
        char name[16], description[256];
        int multiprocessors, shared_bytes, major, minor; /* the last two: of the compute capability */
        int64_t memory_bytes, cache_bytes;
    } gpus[SPRYI_MOST_GPUS];
} spryi_cuda_state;

struct spry_context {
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    void (*release)(void *user, void *pointer, size_t bytes);
    void *user;
    int threads;
    spryi_simd simd; /* what kernels may use: what the CPU has, lowered by SPRY_SIMD */
    spryi_cuda_state *cuda;
    spryi_tuning tuning;
    _Atomic int64_t bytes, peak_bytes;
    spryi_spares spares;
};

#endif
