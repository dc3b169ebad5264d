/* What the tests of plans on a GPU share: the device, a matrix whose products are exact, and plans of it. */
#pragma once

#include "testing.h"

/* CSR in host memory, 32-bit indices, numbers of `type`. */
typedef struct problem {
    int64_t rows, cols, nnz;
    spry_type type;
    int32_t *offsets, *columns;
    void *values;
} problem;

/*
 * Rows of very different lengths: none, a few entries, 3000, and one of all 10 000 columns; some unsorted, with
 * entries at one position. With `exact` numbers are small integers, so that any order of summing gives the same.
 */
problem problem_make(spry_type type, int exact);
problem problem_square(spry_type type, int exact); /* the same with 700 columns */
void problem_free(problem *p);
spry_arrays problem_arrays(const problem *p);
spry_matrix *problem_matrix(spry_context *context, const problem *p);

/* Number `seed` of the vectors that op(A) is multiplied with; the caller frees. */
void *problem_x(const problem *p, spry_op op, int exact, int seed);
/* factor * op(A)*x, of exact numbers. */
void *problem_product(const problem *p, spry_op op, const void *x, double factor);
int64_t x_length(const problem *p, spry_op op);
int64_t y_length(const problem *p, spry_op op);

/* Each CUDA kernel that has the product; NULL behind the last one. *index starts at 0. */
const char *next_kernel(const spry_context *context, spry_op op, int deterministic, int *index);

/* On device 1, vectors there too if `vectors` is 1. Fails the test when it cannot be made. */
spry_spmv_plan *gpu_plan(spry_context *context, const spry_matrix *A, const char *kernel, spry_op op, int vectors);
spry_spmv_options gpu_options(const char *kernel, spry_op op, int vectors);

/* The plans that follow get this ordering; NULL: none. */
void gpu_order_plans(const char *ordering);

int64_t workspace_of(const spry_spmv_plan *plan);
