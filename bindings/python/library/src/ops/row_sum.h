/*
 * Sums in about twice the precision: an unevaluated pair hi + lo (double-double: two-sum, and the exact product by
 * fma), so that the error is near 2^-100 of the absolute sum, which is beside it, and the plain sum, which alone can
 * say which infinity or NaN is due. Source: Ogita, Rump, Oishi, Accurate sum and dot product, 2005.
 */
#ifndef SPRYI_ROW_SUM_H
#define SPRYI_ROW_SUM_H

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

#endif
