/* A small matrix in every layout, which the tests of the interface share. */
#pragma once

#include "testing.h"

/*
 * Arrays of one rows x cols matrix in every layout, to be borrowed. Some rows are empty. If rows > 11, row 11 has all
 * columns. With many columns, row 11 is longer than a block of any kernel. Tests can change the values in place,
 * because matrices borrow them.
 */
typedef struct sample {
    int64_t rows, cols, nnz;
    int32_t *offsets, *row_of, *columns;           /* CSR; row_of is the row index of each entry, for COO */
    int32_t *column_offsets, *rows_by_column;      /* CSC */
    double *values, *values_by_column, *x, *exact; /* exact: A*x, computed in integers, without rounding */
} sample;

sample sample_make(int64_t rows, int64_t cols);
void sample_free(sample *s);

enum { INPUTS = 5 }; /* CSR, COO declared as sorted, COO, CSC, CSR pattern */
spry_arrays sample_arrays(const sample *s, int input);
spry_matrix *sample_matrix(spry_context *context, const sample *s, int input);

/* Returns 1 if y equals A*x exactly for this input. A pattern's values are 1. */
int is_product(const sample *s, int input, const double *y);
