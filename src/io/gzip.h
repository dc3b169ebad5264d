/* Reading and writing gzip by zlib with the memory of a context. */
#pragma once

#include "base/error.h"
#include "base/memory.h"

#include <zlib.h>

static inline void *spryi_gzip_allocate(void *context, unsigned count, unsigned size)
{
    void *pointer = NULL;
    return spryi_allocate(context, &pointer, count, size, "gzip window", NULL) == SPRY_OK ? pointer : NULL;
}

static inline void spryi_gzip_release(void *context, void *pointer)
{
    spryi_release(context, pointer);
}

static inline void spryi_gzip_allocate_with(z_stream *z, spry_context *context)
{
    z->zalloc = spryi_gzip_allocate;
    z->zfree = spryi_gzip_release;
    z->opaque = context;
}

/* Reports that inflateInit2 or deflateInit2 returned `result`. */
static inline spry_status spryi_gzip_fail(int result, spry_error *err)
{
    if (result == Z_MEM_ERROR) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: the gzip window");
    return spryi_fail(err, SPRY_INTERNAL, NULL, "zlib refused to start: error %d", result);
}
