/* Rows of dense b x b blocks: whether the matrix is made of them, and whether some rows are. */
#ifndef SPRY_FN
#include "base/error.h"
#include "formats/packed/packed_group.h"
#include "matrix/columns.h"

#include <string.h>

#define SPRYI_TEMPLATE "formats/packed/packed_blocks.c" /* its second half */
#include "base/instantiate_indices.h"

int spryi_packed_has_blocks(const spry_arrays *csr, int64_t row, int64_t rows, int b, int64_t long_over)
{
    return SPRYI_BY_PAIR(csr, has_blocks, csr, row, rows, b, long_over);
}

/* Samples of blocks of b rows, and where the n-th begins. */
static int64_t samples_of(const spry_arrays *csr, int b)
{
    const int64_t rows = csr->rows / b;
    return rows < SPRYI_PACKED_SAMPLES ? rows : SPRYI_PACKED_SAMPLES;
}

static int64_t sampled_row(const spry_arrays *csr, int b, int64_t n)
{
    return csr->rows / b * n / samples_of(csr, b) * b;
}

/* 1: by the lengths of b rows they may be blocks, so that their columns are looked at. */
static int may_be_blocks(const spry_arrays *csr, int64_t row, int b)
{
    const int64_t length = spryi_row_length(csr, row);
    for (int r = 1; r < b; r++)
        if (spryi_row_length(csr, row + r) != length) return 0;
    return length > 0 && length % b == 0 && length <= (int64_t)SPRYI_PACKED_MOST_WIDTH * b;
}

static void want_samples(spryi_column_reader *reader, int b)
{
    for (int64_t n = 0; n < samples_of(reader->csr, b); n++) {
        const int64_t row = sampled_row(reader->csr, b, n);
        if (may_be_blocks(reader->csr, row, b)) (void)spryi_want_rows(reader, row, row + b);
    }
}

/* range: of the first sample that may be blocks; that behind the last one is its value then. */
static int is_mostly_blocks(const spryi_column_reader *reader, int b, int64_t *range)
{
    const spry_arrays *csr = reader->csr;
    int64_t seen = 0, blocks = 0;
    for (int64_t n = 0; n < samples_of(csr, b); n++) {
        const int64_t row = sampled_row(csr, b, n);
        if (spryi_offset_of(csr, row + b) == spryi_offset_of(csr, row)) continue;
        seen++;
        if (!may_be_blocks(csr, row, b)) continue;
        const spry_arrays view = spryi_range_at(reader, (*range)++);
        blocks += spryi_packed_has_blocks(&view, row, b, b, INT64_MAX);
    }
    return spryi_packed_mostly_blocks(seen, blocks);
}

spry_status spryi_packed_find_block(spryi_column_reader *reader, int64_t *block, spry_error *err)
{
    const int most = reader->csr->value_type == SPRY_PATTERN ? 1 : SPRYI_PACKED_MOST_BLOCK;
    int64_t range = reader->count;
    *block = most;
    for (int b = most; b > 1; b--) want_samples(reader, b);
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    while (*block > 1 && !is_mostly_blocks(reader, (int)*block, &range)) --*block;
    return SPRY_OK;
}

#else /* once for each pair of index types */

static int SPRY_FN(has_blocks)(const spry_arrays *csr, int64_t row, int64_t rows, int b, int64_t long_over)
{
    const SPRY_P *Ap = csr->offsets;
    for (int64_t i = row; i < row + rows; i += b) {
        const SPRY_J *Aj = (const SPRY_J *)csr->indices + Ap[i];
        const int64_t length = Ap[i + 1] - Ap[i];
        if (length % b != 0 || length > (int64_t)SPRYI_PACKED_MOST_WIDTH * b || length > long_over) return 0;
        for (int r = 1; r < b; r++)
            if (Ap[i + r + 1] - Ap[i + r] != length || memcmp(Aj, Aj + r * length, (size_t)length * sizeof *Aj) != 0)
                return 0;
        for (int64_t k = 0; k < length; k += b) {
            if (Aj[k] % b != 0) return 0;
            for (int c = 1; c < b; c++)
                if (Aj[k + c] != Aj[k] + c) return 0;
        }
    }
    return 1;
}

#endif
