/* The public handle of an ordering. ops/reorder.c makes it. */
#ifndef SPRYI_REORDER_ORDERING_H
#define SPRYI_REORDER_ORDERING_H

#include "core/matrix.h"
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

/* degree.c: rows by falling number of entries in row and column (row alone where rectangular); ties as they were. */
spry_status spryi_order_by_degree(spry_context *context, int64_t *perm, const spry_matrix *A, spry_error *err);

#endif
