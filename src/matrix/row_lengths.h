/* Lengths of the rows of CSR arrays, and the order of their columns. */
#pragma once

#include "matrix/matrix.h"

/* Entries of the longest row. */
int64_t spryi_longest_row(const spry_context *context, const spry_arrays *csr);

/* Returns 1 if columns increase in every row, whatever the arrays claim. */
int spryi_rows_rise(const spry_context *context, const spry_arrays *csr);

/* rows_of[length]++ for each row, those of `most` entries and more in rows_of[most]; the caller clears it before. */
void spryi_count_row_lengths(const spry_arrays *csr, int64_t *rows_of, int64_t most);

/* The same of rows first .. end - 1, of which there is one; the first of the longest ones. */
int64_t spryi_count_some_lengths(const spry_arrays *csr, int64_t first, int64_t end, int64_t *rows_of, int64_t most);

/*
 * One of the longest rows, the longest of all but by bad luck: of so many ranges of rows, those with the most entries
 * are halved, again and again, and the half with more entries is kept.
 */
int64_t spryi_long_row(const spry_arrays *csr, int64_t ranges);

/* Puts the longest first. Quick where few are as long as 512. */
void spryi_sort_lengths(int64_t *lengths, int64_t count);

/* Where the n-th of so many ranges of rows begins. */
static inline int64_t spryi_range_of_rows(int64_t rows, int64_t n, int64_t ranges)
{
    return rows / ranges * n + rows % ranges * n / ranges;
}
