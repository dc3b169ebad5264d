/* The matrices printed in the tutorial and the lecture, with one product each, for every kernel of a device. */
#pragma once

#include "testing.h"

enum { MOST_ROWS = 5 };

/* A square CSR matrix. All values are integers, so any order of summation gives equal results. */
typedef struct example {
    const char *name;
    int rows, nnz;
    const int32_t *offsets, *columns;
    const double *values, *x, *product;
} example;

/* Sparse Methods, "A Simple Parallel SpMV" and "Storage (CSR Format)": AA, JA and IA as printed. */
extern const example lecture;
/* CUDA Kernels for SpMV, "Example data": ptr as printed; columns and values from Bell and Garland 2008, section 3. */
extern const example tutorial;

spry_matrix *example_matrix(spry_context *context, const example *e);

/*
 * Multiplies both examples with every available kernel of "cpu" or "cuda", in f32 and f64, including HYB with overflow.
 * The lecture overwrites y (beta 0); the tutorial adds to y (beta 1). Returns the number of kernels.
 */
int multiply_examples(spry_context *context, const char *device);
