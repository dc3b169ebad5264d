/* The reference of one row of op(A)x, in about twice the precision, where the arrays run over those rows. */
#ifndef SPRYI_VERIFY_ROW_H
#define SPRYI_VERIFY_ROW_H

#include "core/assemble.h"
#include "core/matrix.h"
#include "ops/row_sum.h"

typedef spryi_row_sum (*spryi_sum_row_fn)(const spry_arrays *a, const void *x, spry_type type, int64_t i);

/* The same bits by the processor's own fma: without it each entry costs a call of the C library's. */
spryi_row_sum spryi_sum_row_avx2(const spry_arrays *a, const void *x, spry_type type, int64_t i);

static inline spryi_row_sum spryi_sum_row(const spry_arrays *a, const void *x, spry_type type, int64_t i)
{
    spryi_row_sum sum = {0};
    const int64_t first = spryi_index_at(a->offsets, a->offset_type, i);
    const int64_t end = spryi_index_at(a->offsets, a->offset_type, i + 1);
    for (int64_t k = first; k < end; k++)
        spryi_sum_add_product(&sum, spryi_value_at(a->values, a->value_type, k),
                              spryi_value_at(x, type, spryi_index_at(a->indices, a->index_type, k)));
    sum.entries = end - first;
    return sum;
}

#endif
