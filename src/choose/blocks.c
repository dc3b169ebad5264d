/* A look at CSR in host memory that choices on every device share: what it stores, how it repeats, its blocks. */
#include "choose/blocks.h"

double spryi_csr_entry_bytes(const spry_arrays *csr)
{
    return (double)spry_type_bytes(csr->value_type) + (double)spry_index_type_bytes(csr->index_type) +
           (double)spry_index_type_bytes(csr->offset_type) * (double)csr->rows / (double)csr->nnz;
}

double spryi_adjacent_share(const spry_arrays *csr)
{
    enum { PLACES = 64, ROWS = 16, MOST = 512 };
    int64_t seen = 0, adjacent = 0;
    for (int64_t p = 0; p < PLACES; p++) {
        const int64_t first = csr->rows * p / PLACES, last = csr->rows * (p + 1) / PLACES;
        for (int64_t i = first; i < last && i < first + ROWS; i++) {
            const int64_t begin = spryi_index_at(csr->offsets, csr->offset_type, i);
            int64_t end = spryi_index_at(csr->offsets, csr->offset_type, i + 1);
            if (end - begin > MOST) end = begin + MOST;
            seen += end - begin;
            for (int64_t k = begin; k + 1 < end; k++)
                adjacent += spryi_index_at(csr->indices, csr->index_type, k + 1) ==
                            spryi_index_at(csr->indices, csr->index_type, k) + 1;
        }
    }
    return seen > 0 ? (double)adjacent / (double)seen : 0;
}

enum { PLACES = 128, PLACE_ROWS = 64 }; /* of CSR, that are looked at */

/* How much further the columns of row i lie than those of the row before: 0 or 1; -1: not all by as much, or more. */
static int step_of(const spry_arrays *a, int64_t i)
{
    const int64_t before = spryi_index_at(a->offsets, a->offset_type, i - 1);
    const int64_t begin = spryi_index_at(a->offsets, a->offset_type, i), length = begin - before;
    if (length == 0 || spryi_index_at(a->offsets, a->offset_type, i + 1) - begin != length) return -1;
    const int64_t step = spryi_index_at(a->indices, a->index_type, begin) -
                         spryi_index_at(a->indices, a->index_type, before);
    if (step != 0 && step != 1) return -1;
    for (int64_t k = 1; k < length; k++)
        if (spryi_index_at(a->indices, a->index_type, begin + k) -
                spryi_index_at(a->indices, a->index_type, before + k) !=
            step)
            return -1;
    return (int)step;
}

double spryi_unread_share(const spry_arrays *a, int step)
{
    int64_t seen = 0, unread = 0;
    for (int64_t p = 0; p < PLACES; p++) {
        const int64_t first = a->rows * p / PLACES, most = a->rows * (p + 1) / PLACES;
        for (int64_t i = first + 1; i < most && i <= first + PLACE_ROWS; i++) {
            const int64_t length = spryi_index_at(a->offsets, a->offset_type, i + 1) -
                                   spryi_index_at(a->offsets, a->offset_type, i);
            seen += length;
            unread += step_of(a, i) >= step ? length : 0;
        }
    }
    return seen > 0 ? (double)unread / (double)seen : 0;
}

spry_status spryi_find_blocks(const spry_arrays *csr, spry_context *context, spryi_bsr_guess *guess, spry_error *err)
{
    static const double ADJACENT = 0.4; /* blocks of 2 have 0.5 and, with one place in eight empty, 0.43 */
    *guess = (spryi_bsr_guess){.block = 1, .bytes = spryi_csr_entry_bytes(csr) * (double)csr->nnz};
    if (spryi_adjacent_share(csr) < ADJACENT) return SPRY_OK;
    return spryi_bsr_guess_of(context, guess, csr, err);
}
