#include "matrix/row_lengths.h"

#include "base/error.h"
#include "base/pool.h"
#include "matrix/assemble.h"

/* type is a constant after inlining. */
SPRYI_INLINE int64_t longest_of(const void *offsets, spry_index_type type, int64_t first, int64_t end)
{
    int64_t longest = 0;
    for (int64_t i = first; i < end; i++) {
        const int64_t length = spryi_index_at(offsets, type, i + 1) - spryi_index_at(offsets, type, i);
        longest = length > longest ? length : longest;
    }
    return longest;
}

typedef struct length_job {
    const spry_arrays *csr;
    atomic_llong longest;
} length_job;

static void inspect_lengths(void *job, int64_t begin, int64_t end)
{
    length_job *j = job;
    const void *offsets = j->csr->offsets;
    spryi_raise(&j->longest, j->csr->offset_type == SPRY_I32 ? longest_of(offsets, SPRY_I32, begin, end)
                                                             : longest_of(offsets, SPRY_I64, begin, end));
}

int64_t spryi_longest_row(const spry_context *context, const spry_arrays *csr)
{
    length_job j = {.csr = csr};
    spryi_loop(context, spryi_threads(context, csr->rows), csr->rows, 4096, inspect_lengths, &j);
    return j.longest;
}

/* The types are constants after inlining. */
SPRYI_INLINE int falls_in(const spry_arrays *csr, spry_index_type offset_type, spry_index_type index_type,
                          int64_t first, int64_t end)
{
    const void *offsets = csr->offsets, *columns = csr->indices;
    int falls = 0;
    for (int64_t i = first; i < end; i++) {
        const int64_t last = spryi_index_at(offsets, offset_type, i + 1);
        for (int64_t k = spryi_index_at(offsets, offset_type, i) + 1; k < last; k++)
            falls |= spryi_index_at(columns, index_type, k) <= spryi_index_at(columns, index_type, k - 1);
    }
    return falls;
}

typedef struct order_job {
    spry_arrays csr;
    atomic_int falls;
} order_job;

static void find_falls(void *job, int64_t begin, int64_t end)
{
    order_job *j = job;
    const spry_arrays csr = j->csr; /* a local copy, so that writes to arrays force no reload */
    const int pair = spryi_index_pair(csr.offset_type, csr.index_type);
    if (pair == 0   ? falls_in(&csr, SPRY_I32, SPRY_I32, begin, end)
        : pair == 1 ? falls_in(&csr, SPRY_I64, SPRY_I32, begin, end)
                    : falls_in(&csr, SPRY_I64, SPRY_I64, begin, end))
        atomic_store(&j->falls, 1);
}

int spryi_rows_rise(const spry_context *context, const spry_arrays *csr)
{
    order_job j = {.csr = *csr};
    spryi_loop(context, spryi_threads(context, csr->nnz), csr->rows, 4096, find_falls, &j);
    return !j.falls;
}

/* type is a constant after inlining. */
SPRYI_INLINE int64_t count_of(const void *offsets, spry_index_type type, int64_t first, int64_t end, int64_t *rows_of,
                              int64_t most)
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

int64_t spryi_count_lengths(const spry_arrays *csr, int64_t first, int64_t end, int64_t *rows_of, int64_t most)
{
    return csr->offset_type == SPRY_I32 ? count_of(csr->offsets, SPRY_I32, first, end, rows_of, most)
                                        : count_of(csr->offsets, SPRY_I64, first, end, rows_of, most);
}

/*
 * Finds a row with many entries among rows first .. end - 1. Halves the range repeatedly and keeps the half with more
 * entries.
 */
static int64_t heaviest_row(const spry_arrays *csr, int64_t first, int64_t end)
{
    while (end - first > 1) {
        const int64_t middle = first + (end - first) / 2, at = spryi_offset_of(csr, middle);
        if (2 * at >= spryi_offset_of(csr, first) + spryi_offset_of(csr, end))
            end = middle;
        else
            first = middle;
    }
    return first;
}

int64_t spryi_long_row(const spry_arrays *csr, int64_t ranges)
{
    enum { HALVED = 4, MOST_RANGES = 256 };
    int64_t entries[MOST_RANGES], longest = 0, before = 0;
    ranges = ranges > MOST_RANGES ? MOST_RANGES : ranges > csr->rows ? csr->rows : ranges;
    for (int64_t n = 0; n < ranges; n++) {
        const int64_t end = spryi_offset_of(csr, spryi_range_of_rows(csr->rows, n + 1, ranges));
        entries[n] = end - before;
        before = end;
    }
    for (int64_t h = 0; h < HALVED && h < ranges; h++) {
        int64_t most = 0;
        for (int64_t n = 1; n < ranges; n++) most = entries[n] > entries[most] ? n : most;
        entries[most] = -1;
        const int64_t found = heaviest_row(csr, spryi_range_of_rows(csr->rows, most, ranges),
                                           spryi_range_of_rows(csr->rows, most + 1, ranges));
        if (h == 0 || spryi_row_length(csr, found) > spryi_row_length(csr, longest)) longest = found;
    }
    return longest;
}

void spryi_sort_lengths(int64_t *lengths, int64_t count)
{
    enum { BINS = 512 };
    int32_t rows_of[BINS] = {0};
    int64_t at = 0, longest = 0;
    for (int64_t n = 0; n < count; n++) {
        const int64_t length = lengths[n];
        if (length < BINS) {
            rows_of[length]++;
            longest = length > longest ? length : longest;
            continue;
        }
        int64_t to = at++; /* long rows are few and sorted by insertion */
        for (; to > 0 && lengths[to - 1] < length; to--) lengths[to] = lengths[to - 1];
        lengths[to] = length;
    }
    for (int64_t length = longest; length >= 0; length--)
        for (int32_t n = 0; n < rows_of[length]; n++) lengths[at++] = length;
}

/* ---- similarity of neighbouring rows --------------------------------------------------------------- */

enum { MOST_ENTRIES = 512 /* compared entries per row */ };

/*
 * Two consecutive rows of `length` entries: the index of the first entry of each (before, begin), and their ranges in
 * the reader.
 */
typedef struct row_pair {
    int64_t before, begin, length, before_range, range;
} row_pair;

/* Returns the distance, 0 or 1, by which all columns of the second row exceed those of the first; -1: none. */
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

/* A sample: the first `rows` + 1 rows of each of `count` equal parts of the matrix. */
typedef struct places {
    int64_t count, rows;
} places;

/* Chooses the sample. Matrices with few rows have fewer parts, so that each part has rows to compare. */
static places places_of(const spry_arrays *csr, spryi_effort effort)
{
    enum { PLACES = 128, ROWS = 64, QUICK_PLACES = 16, QUICK_ROWS = 24, QUICK_LEAST = 6, QUICK_ENTRIES = 1 << 13 };
    enum { LEAST_PART = 16 /* rows */ };
    const int64_t parts = csr->rows / LEAST_PART + 1, most = effort == SPRYI_FULL ? PLACES : QUICK_PLACES;
    const int64_t count = parts < most ? parts : most, enough = QUICK_ENTRIES * csr->rows / (count * (csr->nnz + 1));
    if (effort == SPRYI_FULL) return (places){count, ROWS};
    return (places){count, enough < QUICK_LEAST ? QUICK_LEAST : enough < QUICK_ROWS ? enough : QUICK_ROWS};
}

/*
 * Returns the first row of part p of the sample. That row is only compared with its successor. *end: the end of the
 * part's rows.
 */
static int64_t place_at(const spry_arrays *csr, places all, int64_t p, int64_t *end)
{
    const int64_t first = csr->rows * p / all.count, most = csr->rows * (p + 1) / all.count;
    *end = first + 1 + all.rows < most ? first + 1 + all.rows : most;
    return first;
}

/*
 * Numbers of entries in sampled rows.
 *
 *   seen       entries that were read
 *   adjacent   entries whose column is one more than the column of the previous entry of the row
 *   compared   entries of rows that were compared with the previous row
 *   repeated   entries of rows that have the columns of the previous row, or all these columns plus 1
 *   moved      entries of rows that have all columns of the previous row plus 1
 */
typedef struct relation_sums {
    int64_t seen, adjacent, repeated, moved, compared;
} relation_sums;

/* Compares row i with the previous row and adds the result to *sums. Reads only a part of a long row. */
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
