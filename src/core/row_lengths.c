#include "core/row_lengths.h"

#include "core/assemble.h"

enum { ROWS = 4096 }; /* looked at together */

static int64_t longest_i32(const int32_t *Ap, int64_t rows)
{
    int32_t longest = 0;
    for (int64_t i = 0; i < rows; i++) longest = Ap[i + 1] - Ap[i] > longest ? Ap[i + 1] - Ap[i] : longest;
    return longest;
}

static int64_t longest_i64(const int64_t *Ap, int64_t rows)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < rows; i++) longest = Ap[i + 1] - Ap[i] > longest ? Ap[i + 1] - Ap[i] : longest;
    return longest;
}

int64_t spryi_longest_row(const spry_context *context, const spry_arrays *csr)
{
    int64_t longest = 0;
    int threads = spryi_threads(context, csr->rows);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : longest)
    for (int64_t i = 0; i < csr->rows; i += ROWS) {
        int64_t rows = csr->rows - i < ROWS ? csr->rows - i : ROWS;
        int64_t length = csr->offset_type == SPRY_I32 ? longest_i32((const int32_t *)csr->offsets + i, rows)
                                                      : longest_i64((const int64_t *)csr->offsets + i, rows);
        if (length > longest) longest = length;
    }
    return longest;
}

void spryi_count_row_lengths(const spry_arrays *csr, int64_t *rows_of, int64_t most)
{
    for (int64_t i = 0; i < csr->rows; i++) {
        int64_t length = spryi_index_at(csr->offsets, csr->offset_type, i + 1) -
                         spryi_index_at(csr->offsets, csr->offset_type, i);
        rows_of[length < most ? length : most]++;
    }
}
