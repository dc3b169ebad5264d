/* Hooks of a context that count what is held and fail one allocation, or all from one on. */
#ifndef TESTS_IO_HOOKS_H
#define TESTS_IO_HOOKS_H

#include "testing.h"

typedef struct hooks {
    _Atomic int calls, fail_at, fail_after; /* the n-th fails; all from the n-th on */
    _Atomic int64_t live;
} hooks;

static inline void *allocate(void *user, size_t bytes, size_t alignment)
{
    hooks *h = user;
    int call = atomic_fetch_add(&h->calls, 1) + 1;
    if (call == h->fail_at || (h->fail_after > 0 && call >= h->fail_after)) return NULL;
    void *pointer = NULL;
    if (posix_memalign(&pointer, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) != 0) return NULL;
    atomic_fetch_add(&h->live, (int64_t)bytes);
    return pointer;
}

static inline void release(void *user, void *pointer, size_t bytes)
{
    atomic_fetch_sub(&((hooks *)user)->live, (int64_t)bytes);
    free(pointer);
}

#endif
