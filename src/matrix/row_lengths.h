/* Row lengths of CSR arrays, the order of columns in rows, and the similarity of neighbouring rows. */
#pragma once

#include "core/estimate.h"
#include "matrix/columns.h"
#include "matrix/matrix.h"

/* Returns the number of entries of the longest row. */
int64_t spryi_longest_row(const spry_context *context, const spry_arrays *csr);

/* Returns 1 if columns increase in every row. Reads all columns and does not rely on csr->sorted or csr->unique. */
int spryi_rows_rise(const spry_context *context, const spry_arrays *csr);

/*
 * Counts rows first .. end - 1 in rows_of[length]. Rows with `most` or more entries count in rows_of[most]. The caller
 * clears rows_of. Returns the first of the longest rows.
 */
int64_t spryi_count_lengths(const spry_arrays *csr, int64_t first, int64_t end, int64_t *rows_of, int64_t most);

/*
 * Returns a row with many entries, usually the longest row. Divides the rows into `ranges` ranges. Halves the four
 * ranges with most entries repeatedly and keeps the halves with more entries.
 */
int64_t spryi_long_row(const spry_arrays *csr, int64_t ranges);

/* Sorts in descending order. Fast if few lengths are 512 or more. */
void spryi_sort_lengths(int64_t *lengths, int64_t count);

/* Returns the first row of the n-th range of rows. */
static inline int64_t spryi_range_of_rows(int64_t rows, int64_t n, int64_t ranges)
{
    return rows / ranges * n + rows % ranges * n / ranges;
}

/* Computes the similarity of neighbouring rows of CSR from a sample of rows. */
spry_status spryi_find_relations(spryi_row_relations *relations, spryi_column_reader *reader, spryi_effort effort,
                                 spry_error *err);
