/*
 * Rows that lie apart as CSR in pieces, in formats of slices (packed, windowed). Their storages have the same members:
 * SPRYI_LONG_ROWS_OF(s) gathers them. long_rows.cuh multiplies them on a GPU.
 */
#pragma once

#include "matrix/assemble.h"
#include "spry/spry.h"

typedef struct spryi_long_rows {
    int64_t count, piece_count, nnz;
    const int64_t *rows;   /* count, rising */
    const int64_t *first;  /* count + 1: pieces */
    const int64_t *pieces; /* piece_count + 1: entries of columns and values */
    const void *columns, *values;
} spryi_long_rows;

#define SPRYI_LONG_ROWS_OF(s)                                                                                          \
    (spryi_long_rows)                                                                                                  \
    {                                                                                                                  \
        .count = (s)->long_count, .piece_count = (s)->piece_count, .nnz = (s)->long_nnz, .rows = (s)->long_rows,       \
        .first = (s)->long_first, .pieces = (s)->pieces, .columns = (s)->long_columns, .values = (s)->long_values      \
    }

/* SPRY_BAD_FILE where the rows of a restored storage, of a matrix a, do not fit their pieces. */
spry_status spryi_check_long_rows(const spryi_long_rows *r, const spry_arrays *a, const char *format, spry_error *err);

/* Their entries, into rows whose offsets are known; of a's types. */
void spryi_copy_long_rows(const spryi_long_rows *r, const spry_arrays *a, const spryi_compressed *to);
