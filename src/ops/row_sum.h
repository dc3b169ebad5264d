/*
 * Sums in about twice the precision: an unevaluated pair hi + lo (double-double: two-sum, and the exact product by
 * fma), so that the error is near 2^-100 of the absolute sum, which is beside it, and the plain sum, which alone can
 * say which infinity or NaN is due. Source: Ogita, Rump, Oishi, Accurate sum and dot product, 2005.
 */
#pragma once

#include "matrix/assemble.h"
#include "matrix/matrix.h"

#include <math.h>
#include <stdint.h>

typedef struct spryi_row_sum {
    double hi, lo, plain, absolute;
    int64_t entries;
    int not_finite; /* a product was: then the plain sum tells which infinity or NaN is due */
} spryi_row_sum;

static inline void spryi_sum_add(spryi_row_sum *s, double value)
{
    double sum = s->hi + value, part = sum - s->hi;
    s->lo += (s->hi - (sum - part)) + (value - part);
    s->hi = sum;
}

static inline void spryi_sum_add_product(spryi_row_sum *s, double a, double b)
{
    double product = a * b;
    spryi_sum_add(s, product);
    s->lo += fma(a, b, -product);
    s->plain += product;
    s->not_finite |= !isfinite(product);
    s->absolute += fabs(product);
}

/* The reference of one row of op(A)x, where the arrays run over those rows. */
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
