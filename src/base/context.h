#pragma once

#include "base/cpu_features.h"
#include "base/memory.h"
#include "base/pool.h"
#include "spry/spry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct spryi_device;
struct spryi_device_list;

/* First member of a struct that a higher layer stores in a context. */
typedef struct spryi_attached {
    void (*close)(spry_context *context, struct spryi_attached *attached);
} spryi_attached;

struct spry_context {
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    void (*release)(void *user, void *pointer, size_t bytes);
    void *user;
    int threads;
    bool no_caches;                    /* freed blocks return to the system immediately */
    spryi_simd simd;                   /* highest level that kernels may use: the CPU's, limited by SPRY_SIMD */
    bool amd;                          /* the processor is from AMD, which has its own rates (choose/rates.c) */
    struct spryi_device_list *devices; /* device/drivers.h */
    const struct spryi_device *(*device_at)(const spry_context *context, int number); /* spryi_device_at */
    _Atomic(spryi_attached *) choose; /* choose/state.h; NULL until first use */
    _Atomic int64_t bytes, peak_bytes;
    _Atomic int64_t references; /* number of references: the caller's handle, and one per object with its own handle */
    void (*close)(spry_context *context);
    spryi_block_cache cached_blocks;
    spryi_pool pool;
};

/* Adds a reference. Each object with a handle of its own keeps its context alive. */
static inline spry_context *spryi_context_retain(spry_context *context)
{
    atomic_fetch_add(&context->references, 1);
    return context;
}

static inline void spryi_context_release(spry_context *context)
{
    if (context && atomic_fetch_sub(&context->references, 1) == 1) context->close(context);
}
