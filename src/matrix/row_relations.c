#include "matrix/row_relations.h"

#include "base/error.h"
#include "matrix/columns.h"

enum { MOST_ENTRIES = 512 /* of a row that are compared */ };

/* Two rows of one length that follow each other, by their entries, and their ranges of the reader. */
typedef struct row_pair {
    int64_t before, begin, length, before_range, range;
} row_pair;

/* How much further the second row's columns lie than the first's: 0 or 1; -1: not all by as much, or more. */
static int step_of(const spryi_column_reader *reader, const row_pair *p)
{
    const int64_t step = spryi_column_at(reader, p->range, p->begin) -
                         spryi_column_at(reader, p->before_range, p->before);
    if (step != 0 && step != 1) return -1;
    for (int64_t k = 1; k < p->length; k++)
        if (spryi_column_at(reader, p->range, p->begin + k) - spryi_column_at(reader, p->before_range, p->before + k) !=
            step)
            return -1;
    return (int)step;
}

/* Where a sample looks: `rows` rows behind the first of each of `count` parts. */
typedef struct places {
    int64_t count, rows;
} places;

/* Of few rows there are fewer parts: each has some to compare. */
static places places_of(const spry_arrays *csr, spryi_effort effort)
{
    enum { PLACES = 128, ROWS = 64, QUICK_PLACES = 16, QUICK_ROWS = 24, QUICK_LEAST = 6, QUICK_ENTRIES = 1 << 13 };
    enum { LEAST_PART = 16 /* rows */ };
    const int64_t parts = csr->rows / LEAST_PART + 1, most = effort == SPRYI_FULL ? PLACES : QUICK_PLACES;
    const int64_t count = parts < most ? parts : most, enough = QUICK_ENTRIES * csr->rows / (count * (csr->nnz + 1));
    if (effort == SPRYI_FULL) return (places){count, ROWS};
    return (places){count, enough < QUICK_LEAST ? QUICK_LEAST : enough < QUICK_ROWS ? enough : QUICK_ROWS};
}

/* The rows of a place, of which the first is only compared to. */
static int64_t place_at(const spry_arrays *csr, places all, int64_t p, int64_t *end)
{
    const int64_t first = csr->rows * p / all.count, most = csr->rows * (p + 1) / all.count;
    *end = first + 1 + all.rows < most ? first + 1 + all.rows : most;
    return first;
}

/* Entries of sampled rows. */
typedef struct relation_sums {
    int64_t seen, adjacent, repeated, moved, compared;
} relation_sums;

/* Row i, of whose entries some are looked at, and the row before. */
static void add_row(relation_sums *sums, const spryi_column_reader *reader, int64_t i, int64_t range)
{
    const spry_arrays *csr = reader->csr;
    const int64_t before = spryi_offset_of(csr, i - 1), begin = spryi_offset_of(csr, i);
    const int64_t all = spryi_offset_of(csr, i + 1) - begin, length = all < MOST_ENTRIES ? all : MOST_ENTRIES;
    const row_pair pair = {before, begin, all, range - 1, range};
    const spry_arrays view = spryi_range_at(reader, range);
    sums->seen += length;
    for (int64_t k = begin; k + 1 < begin + length; k++)
        sums->adjacent += spryi_minor_of(&view, k + 1) == spryi_minor_of(&view, k) + 1;
    sums->compared += all;
    if (all == 0 || all > MOST_ENTRIES || begin - before != all) return;
    const int step = step_of(reader, &pair);
    if (step >= 0) sums->repeated += all;
    if (step == 1) sums->moved += all;
}

spry_status spryi_find_relations(spryi_row_relations *relations, spryi_column_reader *reader, spryi_effort effort,
                                 spry_error *err)
{
    const spry_arrays *csr = reader->csr;
    const places all = places_of(csr, effort);
    relation_sums sums = {0};
    int64_t range = reader->count, end;
    *relations = (spryi_row_relations){0};
    for (int64_t p = 0; p < all.count; p++)
        for (int64_t i = place_at(csr, all, p, &end); i < end; i++) {
            const int64_t begin = spryi_offset_of(csr, i), length = spryi_row_length(csr, i);
            (void)spryi_want_entries(reader, begin, begin + (length < MOST_ENTRIES ? length : MOST_ENTRIES));
        }
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    for (int64_t p = 0; p < all.count; p++) {
        const int64_t first = place_at(csr, all, p, &end);
        for (int64_t i = first + 1; i < end; i++) add_row(&sums, reader, i, range + i - first);
        range += end - first;
    }
    if (sums.seen == 0) return SPRY_OK;
    *relations = (spryi_row_relations){.adjacent = (double)sums.adjacent / (double)sums.seen,
                                       .repeated = (double)sums.repeated / (double)sums.compared,
                                       .moved = (double)sums.moved / (double)sums.compared};
    return SPRY_OK;
}
