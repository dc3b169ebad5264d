#include "base/context.h"

#include "base/error.h"
#include "base/pool.h"
#include "device/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = sizeof(spry_context) + sizeof(spryi_device_list) + SPRYI_POOL_ROOM };
_Static_assert(sizeof(spryi_device_list) % _Alignof(pthread_t) == 0, "room for threads follows the list");
_Static_assert(sizeof(spry_context) % _Alignof(spryi_device_list) == 0, "the list follows the context");

/* Hooks come in pairs; `have` is the one that has no other. */
static spry_status fail_alone(const char *missing, const char *have, spry_error *err)
{
    return spryi_fail(err, SPRY_INVALID_ARGUMENT, missing, "context: %s is NULL, but %s is given: both or none",
                      missing, have);
}

static spry_status check_options(const spry_context_options *options, spry_error *err)
{
    if (!options->allocate != !options->release)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "allocate",
                          "context: allocate and release must both be given or both be NULL");
    if (!options->device_allocate && options->device_release)
        return fail_alone("device_allocate", "device_release", err);
    if (options->device_allocate && !options->device_release)
        return fail_alone("device_release", "device_allocate", err);
    if (options->no_caches != 0 && options->no_caches != 1)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "no_caches", options->no_caches, 1,
                                "context: no_caches is %d, expected 0 or 1", options->no_caches);
    if (options->cuda_plugin && strlen(options->cuda_plugin) >= sizeof((spryi_device_list *)0)->plugin_path)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "cuda_plugin", "context: cuda_plugin is longer than %zu bytes",
                          sizeof((spryi_device_list *)0)->plugin_path - 1);
    if ((int)options->threading < SPRY_THREADING_DEFAULT || (int)options->threading > SPRY_THREADING_OPENMP)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "threading", options->threading, SPRY_THREADING_OPENMP,
                                "context: threading is %d, expected SPRY_THREADING_DEFAULT or SPRY_THREADING_POOL",
                                (int)options->threading);
    return spryi_check_threads(options->threads, "context", err);
}

static void close_context(spry_context *context)
{
    spryi_pool_close(&context->pool);
    spryi_attached *choose = atomic_load(&context->choose);
    if (choose) choose->close(context, choose);
    spryi_close_devices(context);
    (void)spryi_block_cache_release(context);
    pthread_mutex_destroy(&context->cached_blocks.lock);
    if (context->release) {
        context->release(context->user, context, BLOCK);
    } else {
        free(context);
    }
}

spry_status spry_context_create(spry_context **context, const spry_context_options *options, spry_error *err)
{
    if (!context) return spryi_fail_missing(err, "context");
    spry_context_options chosen;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&chosen, options, err));
    SPRYI_OK_OR_RETURN(check_options(&chosen, err));

    spryi_simd simd;
    if (!spryi_allowed_simd(&simd))
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "SPRY_SIMD",
                          "the environment variable SPRY_SIMD is \"%s\", expected portable, avx2 or avx512",
                          getenv("SPRY_SIMD"));
    /* one block: the context, then its devices, then its threads */
    spry_context *made = chosen.allocate ? chosen.allocate(chosen.user, BLOCK, _Alignof(spry_context))
                                         : aligned_alloc(_Alignof(spry_context), (BLOCK + 63) / 64 * 64);
    if (!made)
        return spryi_fail(err, SPRY_OUT_OF_MEMORY, "context", "out of memory: a context needs %zu bytes",
                          (size_t)BLOCK);
    spryi_device_list *devices = (spryi_device_list *)(made + 1);
    *made = (spry_context){
        .allocate = chosen.allocate,
        .release = chosen.release,
        .user = chosen.user,
        .no_caches = chosen.no_caches,
        .threads = chosen.threads > 0 ? chosen.threads : spryi_default_threads(),
        .simd = simd,
        .amd = spryi_cpu_is_amd(),
    };
    atomic_init(&made->references, 1);
    made->close = close_context;
    pthread_mutex_init(&made->cached_blocks.lock, NULL); /* cannot fail with default attributes where we build for */
    spryi_pool_open(&made->pool, &chosen, devices + 1);
    spryi_open_devices(made, devices);
    spryi_open_hooked_memory(made, &chosen);
    if (chosen.cuda_plugin) snprintf(devices->plugin_path, sizeof devices->plugin_path, "%s", chosen.cuda_plugin);
    *context = made;
    return SPRY_OK;
}

void spry_context_destroy(spry_context *context)
{
    spryi_context_release(context);
}

int spry_context_threads(const spry_context *context)
{
    return context ? spryi_team(context->threads) : 0;
}

int64_t spry_context_bytes(const spry_context *context)
{
    return context ? atomic_load(&context->bytes) : 0;
}

int64_t spry_context_trim(spry_context *context)
{
    if (!context) return 0;
    return spryi_block_cache_release(context) + spryi_trim_devices(context);
}

int64_t spry_context_cached_bytes(const spry_context *context)
{
    if (!context) return 0;
    return spryi_block_cache_bytes(context) + spryi_cached_device_bytes(context);
}

int64_t spry_context_peak_bytes(const spry_context *context)
{
    return context ? atomic_load(&context->peak_bytes) : 0;
}
