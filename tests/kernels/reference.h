/* Reference product and comparison with y. Shares no code with src/verify/verify.c. */
#pragma once

#include "families.h"

/* For each row of op(A): the sum of its products with x, the sum of their absolute values, its number of entries. */
typedef struct reference {
    int64_t rows;
    long double *sum, *absolute;
    int64_t *entries;
} reference;

/* Computes exact products and compensated sums. values NULL: every entry is 1. */
reference reference_make(const family *f, const double *values, const double *x, int transposed);
void reference_free(reference *r);

typedef struct comparison {
    int64_t wrong; /* rows of y whose error exceeds the bound, or that are not finite */
    int64_t worst_row;
    double worst; /* largest error divided by the bound */
} comparison;

/* Checks |y_i - exact| <= (nnz_i + 3) eps (|alpha| |A||x| + |beta y_before|)_i. If beta is 0, y_before is not read. */
comparison reference_compare(const reference *r, spry_type type, double alpha, double beta, const void *y_before,
                             const void *y);

/* The exact result of row i, rounded once to long double, and its bound. */
long double reference_value(const reference *r, int64_t i, double alpha, double beta, double y_before);
long double reference_bound(const reference *r, spry_type type, int64_t i, double alpha, double beta, double y_before);

double element_at(const void *data, spry_type type, int64_t i);
/* Stores a value. SPRY_BF16 and SPRY_F16: the value must be a normal number of the type. */
void set_number(void *data, spry_type type, int64_t i, double value);
