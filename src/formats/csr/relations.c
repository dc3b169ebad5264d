#include "formats/csr/relations.h"

enum { MOST_ENTRIES = 512 /* of a row that are compared */ };

/* How much further the columns of row i lie than those of the row before: 0 or 1; -1: not all by as much, or more. */
static int step_of(const spry_arrays *a, int64_t before, int64_t begin, int64_t length)
{
    const int64_t step = spryi_minor_of(a, begin) - spryi_minor_of(a, before);
    if (step != 0 && step != 1) return -1;
    for (int64_t k = 1; k < length; k++)
        if (spryi_minor_of(a, begin + k) - spryi_minor_of(a, before + k) != step) return -1;
    return (int)step;
}

spryi_row_relations spryi_find_relations(const spry_arrays *csr, spryi_effort effort)
{
    enum { PLACES = 128, ROWS = 64, QUICK_PLACES = 16, QUICK_ROWS = 24, QUICK_LEAST = 6, QUICK_ENTRIES = 1 << 13 };
    const int quick = effort == SPRYI_QUICK;
    const int64_t places = quick ? QUICK_PLACES : PLACES,
                  enough = QUICK_ENTRIES * csr->rows / (places * (csr->nnz + 1));
    const int64_t quick_rows = enough < QUICK_LEAST ? QUICK_LEAST : enough < QUICK_ROWS ? enough : QUICK_ROWS;
    const int64_t rows = quick ? quick_rows : ROWS;
    int64_t seen = 0, adjacent = 0, repeated = 0, moved = 0, compared = 0;
    for (int64_t p = 0; p < places; p++) {
        const int64_t first = csr->rows * p / places, most = csr->rows * (p + 1) / places;
        for (int64_t i = first + 1; i < most && i <= first + rows; i++) {
            const int64_t before = spryi_offset_of(csr, i - 1), begin = spryi_offset_of(csr, i);
            const int64_t all = spryi_offset_of(csr, i + 1) - begin, length = all < MOST_ENTRIES ? all : MOST_ENTRIES;
            seen += length;
            for (int64_t k = begin; k + 1 < begin + length; k++)
                adjacent += spryi_minor_of(csr, k + 1) == spryi_minor_of(csr, k) + 1;
            compared += all;
            if (all == 0 || all > MOST_ENTRIES || begin - before != all) continue;
            const int step = step_of(csr, before, begin, all);
            if (step >= 0) repeated += all;
            if (step == 1) moved += all;
        }
    }
    if (seen == 0) return (spryi_row_relations){0};
    return (spryi_row_relations){.adjacent = (double)adjacent / (double)seen,
                                 .repeated = (double)repeated / (double)compared,
                                 .moved = (double)moved / (double)compared};
}
