#include "core/context.h"

#include "core/cuda_plugin.h"
#include "core/error.h"
#include "core/team.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 4096, BLOCK = sizeof(spry_context) + sizeof(spryi_cuda_state) };
_Static_assert(sizeof(spry_context) % _Alignof(spryi_cuda_state) == 0, "the state follows the context");

static spry_status check_options(const spry_context_options *options, spry_error *err)
{
    spry_status status = SPRYI_CHECK_OPTIONS(options, err);
    if (status != SPRY_OK || !options) return status;
    if (!options->allocate != !options->release)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "allocate",
                          "context: allocate and release must both be given or both be NULL");
    if (options->cuda_plugin && strlen(options->cuda_plugin) >= sizeof((spryi_cuda_state *)0)->path)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "cuda_plugin", "context: cuda_plugin is longer than %zu bytes",
                          sizeof((spryi_cuda_state *)0)->path - 1);
    if (options->threads < 0 || options->threads > MAX_THREADS)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "threads", options->threads, MAX_THREADS,
                                "context: threads is %d, expected 0 to %d", options->threads, MAX_THREADS);
    return SPRY_OK;
}

spry_status spry_context_create(spry_context **context, const spry_context_options *options, spry_error *err)
{
    if (!context) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "context", "context must not be NULL");
    spry_status status = check_options(options, err);
    if (status != SPRY_OK) return status;

    spryi_simd simd;
    if (!spryi_allowed_simd(&simd))
        return spryi_fail(err, SPRY_UNKNOWN_NAME, "SPRY_SIMD",
                          "the environment variable SPRY_SIMD is \"%s\", expected portable, avx2 or avx512",
                          getenv("SPRY_SIMD"));
    spry_context_options chosen = options ? *options : SPRY_INIT(spry_context_options);
    /* one block: the context, then what it knows of the plug-in */
    spry_context *made = chosen.allocate ? chosen.allocate(chosen.user, BLOCK, _Alignof(max_align_t)) : malloc(BLOCK);
    if (!made)
        return spryi_fail(err, SPRY_OUT_OF_MEMORY, "context", "out of memory: a context needs %zu bytes",
                          (size_t)BLOCK);
    spryi_cuda_state *cuda = (spryi_cuda_state *)(made + 1);
    memset(cuda, 0, sizeof *cuda);
    pthread_mutex_init(&cuda->lock, NULL); /* cannot fail with default attributes on the systems we build for */
    if (chosen.cuda_plugin) snprintf(cuda->path, sizeof cuda->path, "%s", chosen.cuda_plugin);
    *made = (spry_context){
        .cuda = cuda,
        .allocate = chosen.allocate,
        .release = chosen.release,
        .user = chosen.user,
        .threads = chosen.threads > 0 ? chosen.threads : omp_get_max_threads(),
        .simd = simd,
    };
    pthread_mutex_init(&made->spares.lock, NULL);
    *context = made;
    return SPRY_OK;
}

void spry_context_destroy(spry_context *context)
{
    if (!context) return;
    if (context->cuda->plugin) context->cuda->plugin->close();
    pthread_mutex_destroy(&context->cuda->lock);
    (void)spryi_spares_release(context);
    pthread_mutex_destroy(&context->spares.lock);
    if (context->release) {
        context->release(context->user, context, BLOCK);
    } else {
        free(context);
    }
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
    pthread_mutex_lock(&context->cuda->lock); /* a plug-in that is not loaded stays so */
    const spryi_cuda_plugin *plugin = context->cuda->plugin;
    pthread_mutex_unlock(&context->cuda->lock);
    return spryi_spares_release(context) + (plugin ? plugin->trim() : 0);
}

int64_t spry_context_peak_bytes(const spry_context *context)
{
    return context ? atomic_load(&context->peak_bytes) : 0;
}
