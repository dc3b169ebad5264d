/*
 * Rows that are stored as CSR in pieces, since they are far longer than others, in formats of slices (packed,
 * windowed). long_rows.cuh multiplies them on a GPU.
 */
#pragma once

#include "matrix/assemble.h"
#include "spry/spry.h"

typedef struct spryi_long_rows {
    int64_t count, piece_count, nnz;
    int64_t *rows;   /* count, rising */
    int64_t *first;  /* count + 1: pieces */
    int64_t *pieces; /* piece_count + 1: entries of columns and values */
    void *columns, *values;
} spryi_long_rows;

/* SPRY_BAD_FILE where the rows of a restored storage, of a matrix a, do not fit their pieces. */
spry_status spryi_check_long_rows(const spryi_long_rows *r, const spry_arrays *a, const char *format, spry_error *err);

/* Their entries, into rows whose offsets are known; of a's types. */
void spryi_copy_long_rows(const spryi_long_rows *r, const spry_arrays *a, const spryi_compressed *to);
