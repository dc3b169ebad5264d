/*
 * Sums with about twice the precision, as an unevaluated pair hi + lo (double-double: two-sum, and exact products by
 * fma). The error is near 2^-100 of the sum of magnitudes. Source: Ogita, Rump, Oishi, Accurate sum and dot product,
 * 2005.
 */
#pragma once

#include "base/element.h"
#include "spry/spry.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct spryi_row_sum {
    double hi, lo, plain, absolute; /* plain: the sum in double; absolute: the sum of magnitudes */
    int64_t entries;
    bool not_finite; /* a product is not finite, and `plain` has the expected infinity or NaN */
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

/* Computes row i of op(A)x. The arrays are stored by rows of op(A). */
static inline spryi_row_sum spryi_sum_row(const spry_arrays *a, const void *x, spry_type type, int64_t i)
{
    spryi_row_sum sum = {0};
    const int64_t first = spryi_offset_of(a, i), end = spryi_offset_of(a, i + 1);
    for (int64_t k = first; k < end; k++)
        spryi_sum_add_product(&sum, spryi_value_of(a, k), spryi_value_at(x, type, spryi_minor_of(a, k)));
    sum.entries = end - first;
    return sum;
}

/* Like spryi_sum_row, with the same bits. Uses the processor's fma instead of calls of the C library's fma. */
spryi_row_sum spryi_sum_row_avx2(const spry_arrays *a, const void *x, spry_type type, int64_t i);
