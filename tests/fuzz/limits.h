/* Memory hooks with a small limit, and a check that ends the process if it fails. All fuzz targets use both. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Most bytes that a case may hold. Otherwise a size in the input could make a case take much memory and time. */
enum { MOST_BYTES = 32 << 20 };
static _Atomic int64_t live;

static void *allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    if (atomic_fetch_add(&live, (int64_t)bytes) + (int64_t)bytes > MOST_BYTES) {
        atomic_fetch_sub(&live, (int64_t)bytes);
        return NULL;
    }
    void *pointer = NULL;
    if (posix_memalign(&pointer, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) != 0) abort();
    return pointer;
}

static void release(void *user, void *pointer, size_t bytes)
{
    (void)user;
    atomic_fetch_sub(&live, (int64_t)bytes);
    free(pointer);
}

static void require(int condition, const char *what)
{
    if (condition) return;
    fprintf(stderr, "fuzzing: %s\n", what);
    abort();
}
