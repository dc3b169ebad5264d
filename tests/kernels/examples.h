/* The matrices that the tutorial and the lecture print, with a product each, for every kernel of a device. */
#pragma once

#include "testing.h"

enum { MOST_ROWS = 5 };

/* CSR, square. Whole numbers: any order of summing gives the same. */
typedef struct example {
    const char *name;
    int rows, nnz;
    const int32_t *offsets, *columns;
    const double *values, *x, *product;
} example;

/* Sparse Methods, "A Simple Parallel SpMV" and "Storage (CSR Format)": AA, JA and IA as printed. */
extern const example lecture;
/* CUDA Kernels for SpMV, "Example data": ptr as printed, columns and values of Bell and Garland 2008, section 3. */
extern const example tutorial;

spry_matrix *example_matrix(spry_context *context, const example *e);

/*
 * Both by every kernel of "cpu" or "cuda" that can run here, in f32 and f64, HYB with overflow, too: y is overwritten
 * (beta 0, the lecture) and added to (beta 1, the tutorial). How many kernels these were.
 */
int multiply_examples(spry_context *context, const char *device);
