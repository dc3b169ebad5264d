/* What the tests of the interface share: a counting, failing allocator and a small matrix in every layout. */
#pragma once

#include "testing.h"

/*
 * The same matrix in each layout, borrowed: rows x cols, some rows empty, one longer than a block of any kernel when
 * `rows` allows. values hold what A's are multiplied with, so that tests can change them in place.
 */
typedef struct sample {
    int64_t rows, cols, nnz;
    int32_t *offsets, *row_of, *columns;           /* CSR; row_of for COO */
    int32_t *column_offsets, *rows_by_column;      /* CSC */
    double *values, *values_by_column, *x, *exact; /* exact: A*x, in integers, so without rounding */
} sample;

sample sample_make(int64_t rows, int64_t cols);
void sample_free(sample *s);

enum { INPUTS = 5 }; /* CSR, COO known sorted, COO, CSC, CSR pattern */
spry_arrays sample_arrays(const sample *s, int input);
spry_matrix *sample_matrix(spry_context *context, const sample *s, int input);

/* y is A*x exactly, of that input (a pattern's values are 1). */
int is_product(const sample *s, int input, const double *y);
