/*
 * Rows far longer than others, for formats with slices (packed, windowed). They are stored as CSR, and each is cut into
 * pieces. long_rows.cuh multiplies them on a GPU.
 */
#pragma once

#include "matrix/assemble.h"
#include "spry/spry.h"

typedef struct spryi_long_rows {
    int64_t count, piece_count, nnz;
    int64_t *rows;   /* count elements, rising */
    int64_t *first;  /* count + 1 elements: first piece of each row */
    int64_t *pieces; /* piece_count + 1 elements: first entry of each piece in columns and values */
    void *columns, *values;
} spryi_long_rows;

/* Returns SPRY_BAD_FILE if the long rows of a restored storage do not match their pieces or the matrix a. */
spry_status spryi_check_long_rows(const spryi_long_rows *r, const spry_arrays *a, const char *format, spry_error *err);

/*
 * Copies the entries of the long rows to the CSR arrays *to, which have a's types. The offsets of all rows must be set.
 */
void spryi_copy_long_rows(const spryi_long_rows *r, const spry_arrays *a, const spryi_compressed *to);
