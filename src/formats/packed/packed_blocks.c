/* Rows of dense b x b blocks: whether the matrix is made of them, and whether some rows are. */
#ifndef SPRY_FN
#include "formats/packed/packed_group.h"

#include <string.h>

#define SPRYI_TEMPLATE "formats/packed/packed_blocks.c" /* its second half */
#include "core/instantiate_indices.h"

int spryi_packed_has_blocks(const spry_arrays *csr, int64_t row, int64_t rows, int b, int64_t long_over)
{
    return SPRYI_BY_PAIR(csr, has_blocks, csr, row, rows, b, long_over);
}

int spryi_packed_find_block(const spry_arrays *csr)
{
    for (int b = SPRYI_PACKED_MOST_BLOCK; b > 1 && csr->value_type != SPRY_PATTERN; b--) {
        const int64_t rows = csr->rows / b, samples = rows < SPRYI_PACKED_SAMPLES ? rows : SPRYI_PACKED_SAMPLES;
        int64_t seen = 0, blocks = 0;
        for (int64_t n = 0; n < samples; n++) {
            const int64_t i = rows * n / samples * b;
            if (spryi_index_at(csr->offsets, csr->offset_type, i + b) ==
                spryi_index_at(csr->offsets, csr->offset_type, i))
                continue;
            seen++;
            blocks += spryi_packed_has_blocks(csr, i, b, b, INT64_MAX);
        }
        if (spryi_packed_mostly_blocks(seen, blocks)) return b;
    }
    return 1;
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
