/* Helpers of the solver tests: small dense matrices with a direct solver, and conversions to sparse matrices. */
#pragma once

#include "spry/solve.h"
#include "testing.h"

/* Context of a test, with set-up and tear-down for cmocka. */
extern spry_context *context;
int set_up(void **state);
int tear_down(void **state);

/* n x n, row-major. */
typedef struct dense {
    int n;
    double *a;
} dense;
dense dense_make(int n);
void dense_free(dense *d);
/* Calls spry_cg for a system given by a product callback. options may be NULL. */
spry_status solve_by_products(spry_context *own, spry_vector x, spry_cg_result *result, const spry_operator *A,
                              spry_const_vector b, const spry_cg_options *options, spry_error *err);
/* Solves d*x = b by Gaussian elimination with partial pivoting. d and b are not changed. */
void dense_solve(const dense *d, const double *b, double *x);

/* Creates a matrix of the nonzero entries in the given layout and type. The arrays are copied. */
spry_matrix *sparse_of(spry_context *context, const dense *d, spry_layout layout, spry_type type);

spry_vector vector_of(spry_context *own, const double *values, int n, spry_type type);
double entry(const spry_vector *v, int64_t i);
void set_entry(const spry_vector *v, int64_t i, double value);

double uniform(uint64_t *state); /* in [0, 1), the same sequence on every machine */

/* max |x_i - y_i| */
double distance(const spry_vector *x, const double *y);

/* Fails the test unless the status equals `wanted` and the message contains the text. */
void expect_status(spry_status got, const spry_error *err, spry_status wanted, const char *text);

/* cmocka compares floats; these functions compare doubles. */
#define assert_at_most(value, bound)                                                                                   \
    do {                                                                                                               \
        double value_ = (value), bound_ = (bound);                                                                     \
        if (!(value_ <= bound_)) fail_msg("%s is %.17g, expected at most %.3g", #value, value_, bound_);               \
    } while (0)
