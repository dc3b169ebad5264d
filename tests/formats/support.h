/* Matrices built row by row, and plans, for the tests of formats. */
#pragma once

#include "testing.h"

/* A matrix that is built row by row. Its values are 1, 2, 3, ... in the order of the entries. */
typedef struct sketch {
    int64_t rows, cols, nnz, begun; /* begun: rows that have a first entry */
    int32_t *Ap, *Aj;
    double *Ax;
} sketch;

enum { SKETCH_ROOM = 1 << 20 };

sketch sketch_of(int64_t rows, int64_t cols);
void sketch_put(sketch *k, int64_t row, int64_t column); /* rows must be given in ascending order */
void sketch_finish(sketch *k);                           /* called once, after the last entry */
void sketch_free(sketch *k);

/* Fails the test unless y is exactly the product with the sketch. The message names `kernel`. */
void check_sketch_product(const sketch *k, const double *x, const double *y, const char *kernel);

/* Fails the test unless `back` has the sketch's arrays. Destroys `back`. */
void check_sketch(const sketch *k, spry_matrix *back);

/* Returns an x of small integers, for exact products. Columns without entries have NaN. The caller frees x. */
double *sketch_x(const sketch *k);

int kernel_is_here(const char *name);

/*
 * Creates a plan that uses all threads of the context, even for a small matrix. The plan has a memory limit of 1 GiB,
 * so that no format is refused only for its padding, and keeps the type of values.
 */
spry_spmv_plan *plan_in(spry_context *context, const spry_matrix *A, const char *format, const char *kernel,
                        spry_op op);
