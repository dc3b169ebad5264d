/* What every fuzz target gives the library: memory that is counted and ends soon, and a check that ends the run. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A case must not take much memory and time only because a size in it says so: past this, there is none. */
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
