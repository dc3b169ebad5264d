/* The product as it ought to be, and the judge of y. Knows nothing of src/verify/verify.c. */
#pragma once

#include "families.h"

/* For each row of op(A): its sum, the sum of its absolute products, and how many entries it has. */
typedef struct reference {
    int64_t rows;
    long double *sum, *absolute;
    int64_t *entries;
} reference;

/* values NULL: every entry is 1. Exact products, compensated sums. */
reference reference_make(const family *f, const double *values, const double *x, int transposed);
void reference_free(reference *r);

typedef struct comparison {
    int64_t wrong; /* rows past the bound, or not finite */
    int64_t worst_row;
    double worst; /* largest error as a share of the bound */
} comparison;

/* |y_i - exact| <= (nnz_i + 3) eps (|alpha| |A||x| + |beta y_before|)_i. With beta 0, y_before is not read. */
comparison reference_compare(const reference *r, spry_type type, double alpha, double beta, const void *y_before,
                             const void *y);

/* The exact result of row i, rounded once to long double, and its bound. */
long double reference_value(const reference *r, int64_t i, double alpha, double beta, double y_before);
long double reference_bound(const reference *r, spry_type type, int64_t i, double alpha, double beta, double y_before);

double element_at(const void *data, spry_type type, int64_t i);
/* Also of SPRY_BF16 and SPRY_F16, numbers that these hold, in the normal range. */
void set_number(void *data, spry_type type, int64_t i, double value);
