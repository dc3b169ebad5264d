/* The public handle of an ordering. reorder/reorder.c makes it. */
#pragma once

#include "spry/spry.h"

#include <stdatomic.h>

struct spry_ordering {
    spry_context *context;
    const char *method;
    int64_t rows, cols, components;
    int64_t *perm; /* new row -> old row; of columns too where the matrix is square */
    int64_t sr_count, ssr_count, sssr_count, srs, ssrs, sssrs;
    int64_t *sr_ptr, *ssr_ptr, *sssr_ptr; /* NULL: none */
    double setup_us;
    atomic_int others; /* who keep it beside its maker; spry_ordering_destroy takes one away, or the ordering */
};

static inline spry_ordering *spryi_ordering_retain(const spry_ordering *ordering)
{
    spry_ordering *kept = (spry_ordering *)(uintptr_t)ordering;
    if (kept) atomic_fetch_add(&kept->others, 1);
    return kept;
}
