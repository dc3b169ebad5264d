#include "choose/features.h"

#include "base/error.h"
#include "base/memory.h"
#include "matrix/assemble.h"
#include "matrix/row_lengths.h"

#include <math.h>
#include <string.h>

static const double UNIFORM = SPRYI_UNIFORM;

enum { LENGTHS = 4096 }; /* longer rows share a bin */

typedef struct length_counts {
    int64_t rows[LENGTHS + 1];
    double long_mean; /* of the lengths in the last bin */
    int64_t last;     /* bin that has rows */
} length_counts;

/* Mean and deviation of what is left when the longest `drop` rows are gone. */
static double deviation_without(const length_counts *c, int64_t drop)
{
    double rows = 0, sum = 0, squares = 0;
    for (int64_t bin = c->last; bin >= 0; bin--) {
        int64_t dropped = c->rows[bin] < drop ? c->rows[bin] : drop;
        double kept = (double)(c->rows[bin] - dropped);
        double length = bin < LENGTHS ? (double)bin : c->long_mean;
        drop -= dropped;
        rows += kept;
        sum += kept * length;
        squares += kept * length * length;
    }
    if (sum == 0) return 0;
    double mean = sum / rows, variance = squares / rows - mean * mean;
    return variance > 0 ? sqrt(variance) / mean : 0;
}

static void find_long_rows(spryi_row_profile *p, const length_counts *c)
{
    const double most = SPRYI_LONG_ROW * p->mean;
    for (int64_t bin = 0; bin <= c->last; bin++) {
        const double length = bin < LENGTHS ? (double)bin : c->long_mean;
        if (length <= most) continue;
        p->long_rows += (double)c->rows[bin];
        p->excess += (double)c->rows[bin] * (length - most);
    }
}

static double beyond(const length_counts *c, double most)
{
    double entries = 0;
    for (int64_t bin = 0; bin <= c->last; bin++)
        entries += (double)c->rows[bin] * fmax((bin < LENGTHS ? (double)bin : c->long_mean) - most, 0);
    return entries;
}

static void find_quantiles(double *quantiles, const length_counts *c, double rows)
{
    static const double SHARES[] = {0.5, 0.9, 0.99};
    double below = 0;
    int n = 0;
    for (int64_t bin = 0; bin <= c->last && n < 3; bin++) {
        below += (double)c->rows[bin];
        for (; n < 3 && below >= SHARES[n] * rows; n++) quantiles[n] = bin < LENGTHS ? (double)bin : c->long_mean;
    }
}

/* Row offsets of a layout whose own do not run over rows. */
static spry_status make_offsets(spry_context *context, int64_t **offsets, const spry_arrays *a, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, offsets, a->rows + 1, "row offsets", err));
    memset(*offsets, 0, (size_t)(a->rows + 1) * sizeof **offsets);
    const void *rows = a->layout == SPRY_COO ? a->row_indices : a->indices;
    for (int64_t k = 0; k < a->nnz; k++) (*offsets)[spryi_index_at(rows, a->index_type, k) + 1]++;
    spryi_scan(*offsets, a->rows);
    return SPRY_OK;
}

/* Counts all rows, or blocks of them where there are many and the look is quick; *longest: the longest. How many. */
static int64_t count_rows(length_counts *c, const spry_arrays *a, spryi_effort effort, int64_t *longest)
{
    enum { BLOCK = 512, BLOCKS = 32, RANGES = 256 };
    *longest = 0;
    if (a->rows == 0) return 0;
    if (effort == SPRYI_FULL || a->rows <= 2 * BLOCK * BLOCKS) {
        *longest = spryi_count_some_lengths(a, 0, a->rows, c->rows, LENGTHS);
        return a->rows;
    }
    *longest = spryi_long_row(a, RANGES);
    for (int64_t b = 0; b < BLOCKS; b++) {
        const int64_t first = (a->rows - BLOCK) / (BLOCKS - 1) * b;
        const int64_t found = spryi_count_some_lengths(a, first, first + BLOCK, c->rows, LENGTHS);
        if (spryi_row_length(a, found) > spryi_row_length(a, *longest)) *longest = found;
    }
    return BLOCK * BLOCKS;
}

spry_status spryi_find_row_profile(spryi_row_profile *profile, spry_context *context, const spry_arrays *A,
                                   spryi_effort effort, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_arrays a = *A;
    int64_t *made = NULL, longest_row = 0;
    length_counts *c = NULL;
    SPRYI_TRY(SPRYI_NEW(context, &c, 1, "row length counts", err));
    memset(c, 0, sizeof *c);
    if (a.layout != SPRY_CSR) {
        SPRYI_TRY(make_offsets(context, &made, &a, err));
        a.offsets = made;
        a.offset_type = SPRY_I64;
    }
    const int64_t counted = count_rows(c, &a, effort, &longest_row);
    const int64_t longest = a.rows > 0 ? spryi_row_length(&a, longest_row) : 0;
    const double rows = a.rows > 0 ? (double)a.rows : 1, share = counted > 0 ? rows / (double)counted : 1;
    double in_long = (double)a.nnz / share;
    c->last = longest < LENGTHS ? longest : LENGTHS;
    for (int64_t bin = 0; bin <= c->last && bin < LENGTHS; bin++) in_long -= (double)(bin * c->rows[bin]);
    if (c->rows[LENGTHS] > 0) c->long_mean = fmin(fmax(in_long / (double)c->rows[LENGTHS], LENGTHS), (double)longest);
    *profile = (spryi_row_profile){.mean = (double)a.nnz / rows,
                                   .longest = (double)longest,
                                   .longest_row = longest_row,
                                   .deviation = deviation_without(c, 0),
                                   .body_deviation = deviation_without(c, (counted + 99) / 100),
                                   .empty = (double)c->rows[0] * share / rows};
    find_long_rows(profile, c);
    profile->long_rows *= share;
    profile->excess *= share;
    profile->variance = profile->deviation * profile->deviation * profile->mean * profile->mean;
    find_quantiles(profile->quantiles, c, rows / share);
    profile->beyond_mean = share * beyond(c, floor(profile->mean + 0.5));
done:
    spryi_release(context, made);
    spryi_release(context, c);
    return status;
}

int spryi_rows_are_uniform(const spryi_row_profile *rows)
{
    return rows->body_deviation <= UNIFORM && rows->mean >= 1;
}
