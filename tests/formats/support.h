/* Matrices under construction and plans for the tests of formats. */
#pragma once

#include "testing.h"

/* A matrix that is built row by row; values count the entries from 1. */
typedef struct sketch {
    int64_t rows, cols, nnz, begun; /* begun: rows that have a first entry */
    int32_t *Ap, *Aj;
    double *Ax;
} sketch;

enum { SKETCH_ROOM = 1 << 20 };

sketch sketch_of(int64_t rows, int64_t cols);
void sketch_put(sketch *k, int64_t row, int64_t column); /* rows must not fall */
void sketch_finish(sketch *k);                           /* once, after the last entry */
void sketch_free(sketch *k);

/* Fails the test unless y is exactly the product with the sketch. `kernel` is shown. */
void check_sketch_product(const sketch *k, const double *x, const double *y, const char *kernel);

/* Fails the test unless `back` has the sketch's arrays; destroys it. */
void check_sketch(const sketch *k, spry_matrix *back);

/* x for exact products: small integers, NaN where no entry is. To be freed. */
double *sketch_x(const sketch *k);

int kernel_is_here(const char *name);

/* Creates a plan with all threads of the context, whatever its size, and 1 GiB in place of the limit of padding. */
spry_spmv_plan *plan_in(spry_context *context, const spry_matrix *A, const char *format, const char *kernel,
                        spry_op op);
