/* Shared by the tests of the interface: an allocator that counts and fails, and a small matrix in every layout. */
#pragma once

#include "testing.h"

/*
 * One matrix in every layout, for borrowing: rows x cols, with some empty rows. Row 11 has all columns, if rows > 11:
 * with many columns, it is longer than a block of any kernel. Matrices borrow values, so tests can change values in
 * place.
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
