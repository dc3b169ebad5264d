#include "core/row_lengths.h"

#include "core/assemble.h"
#include "core/bisect.h"

enum { ROWS = 4096 }; /* looked at together */

/* type is a constant where it is inlined. */
static inline __attribute__((always_inline)) int64_t longest_of(const void *offsets, spry_index_type type,
                                                                int64_t first, int64_t end)
{
    int64_t longest = 0;
    for (int64_t i = first; i < end; i++) {
        const int64_t length = spryi_index_at(offsets, type, i + 1) - spryi_index_at(offsets, type, i);
        longest = length > longest ? length : longest;
    }
    return longest;
}

int64_t spryi_longest_row(const spry_context *context, const spry_arrays *csr)
{
    int64_t longest = 0;
    int threads = spryi_threads(context, csr->rows);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : longest)
    for (int64_t i = 0; i < csr->rows; i += ROWS) {
        int64_t end = csr->rows - i < ROWS ? csr->rows : i + ROWS;
        int64_t length = csr->offset_type == SPRY_I32 ? longest_of(csr->offsets, SPRY_I32, i, end)
                                                      : longest_of(csr->offsets, SPRY_I64, i, end);
        if (length > longest) longest = length;
    }
    return longest;
}

/* type is a constant where it is inlined. */
static inline __attribute__((always_inline)) int64_t count_of(const void *offsets, spry_index_type type, int64_t first,
                                                              int64_t end, int64_t *rows_of, int64_t most)
{
    int64_t longest = -1, at = first, before = spryi_index_at(offsets, type, first);
    for (int64_t i = first; i < end; i++) {
        const int64_t next = spryi_index_at(offsets, type, i + 1), length = next - before;
        before = next;
        if (length > longest) {
            longest = length;
            at = i;
        }
        rows_of[length < most ? length : most]++;
    }
    return at;
}

void spryi_count_row_lengths(const spry_arrays *csr, int64_t *rows_of, int64_t most)
{
    (void)spryi_count_some_lengths(csr, 0, csr->rows, rows_of, most);
}

int64_t spryi_count_some_lengths(const spry_arrays *csr, int64_t first, int64_t end, int64_t *rows_of, int64_t most)
{
    return csr->offset_type == SPRY_I32 ? count_of(csr->offsets, SPRY_I32, first, end, rows_of, most)
                                        : count_of(csr->offsets, SPRY_I64, first, end, rows_of, most);
}

int64_t spryi_sampled_row(const spry_arrays *csr, int64_t s, int64_t samples)
{
    const int64_t distance = csr->nnz / samples, entry = distance * s + distance / 2;
    int64_t row;
    SPRYI_BISECT(row, 0, csr->rows - 1, spryi_offset_of(csr, row + 1) <= entry);
    return row;
}
