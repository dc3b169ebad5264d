/* The public handle of an ordering. reorder/reorder.c makes it. */
#ifndef SPRYI_ORDERING_H
#define SPRYI_ORDERING_H

#include "spry/spry.h"

struct spry_ordering {
    spry_context *context;
    const char *method;
    int64_t rows, cols, components;
    int64_t *perm; /* new row -> old row; of columns too where the matrix is square */
    int64_t sr_count, ssr_count, srs, ssrs;
    int64_t *sr_ptr, *ssr_ptr;
    double setup_us;
};

#endif
