/* Helpers of tests with plans on a GPU: the device, a matrix with exact products, and plans of this matrix. */
#pragma once

#include "testing.h"

/* CSR in host memory with 32-bit indices and values of `type`. */
typedef struct problem {
    int64_t rows, cols, nnz;
    spry_type type;
    int32_t *offsets, *columns;
    void *values;
} problem;

/*
 * Builds rows of very different lengths: empty, short, 3000 entries, and one with all 10 000 columns. Some rows are
 * unsorted, with repeated positions. If `exact`, values are small integers, so any order of summation gives equal
 * results.
 */
problem problem_make(spry_type type, int exact);
problem problem_square(spry_type type, int exact); /* like problem_make, but with 700 rows and 700 columns */
void problem_free(problem *p);
spry_arrays problem_arrays(const problem *p);
spry_matrix *problem_matrix(spry_context *context, const problem *p);

/* Returns a vector to multiply with op(A). Each `seed` gives another vector. The caller frees it. */
void *problem_x(const problem *p, spry_op op, int exact, int seed);
/* Returns factor * op(A)*x. All values are small integers. */
void *problem_product(const problem *p, spry_op op, const void *x, double factor);
int64_t x_length(const problem *p, spry_op op);
int64_t y_length(const problem *p, spry_op op);

/* Returns the next CUDA kernel that has the product, or NULL. *index starts at 0. */
const char *next_kernel(const spry_context *context, spry_op op, int deterministic, int *index);

/* Creates a plan on device 1. vectors: 1 if vectors are also on the device. Fails the test if creation fails. */
spry_spmv_plan *gpu_plan(spry_context *context, const spry_matrix *A, const char *kernel, spry_op op, int vectors);
spry_spmv_options gpu_options(const char *kernel, spry_op op, int vectors);

/* Sets the ordering of all later plans. NULL: none. */
void gpu_order_plans(const char *ordering);

int64_t workspace_of(const spry_spmv_plan *plan);
