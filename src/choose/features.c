/* Features of a matrix for the choice of a format, by samples of its columns, whose parts run side by side. */
#include "choose/features.h"

#include "base/context.h"
#include "base/element.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number_set.h"
#include "catalogue/catalogue.h"
#include "matrix/assemble.h"
#include "matrix/columns.h"
#include "matrix/row_lengths.h"

#include <math.h>
#include <string.h>

/* ---- row lengths ----------------------------------------------------------------------------------------- */

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
        *longest = spryi_count_lengths(a, 0, a->rows, c->rows, LENGTHS);
        return a->rows;
    }
    *longest = spryi_long_row(a, RANGES);
    for (int64_t b = 0; b < BLOCKS; b++) {
        const int64_t first = (a->rows - BLOCK) / (BLOCKS - 1) * b;
        const int64_t found = spryi_count_lengths(a, first, first + BLOCK, c->rows, LENGTHS);
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
    return rows->body_deviation <= SPRYI_UNIFORM && rows->mean >= 1;
}

enum {
    SECTOR = 32, /* bytes */
    LANES = 32,
    SORTED = 256,    /* rows that are sorted by length */
    NEAR_ROWS = 128, /* of a place */
};

/* Sizes of the samples. */
typedef struct sample_sizes {
    int64_t sorted_places;        /* groups of SORTED rows */
    int64_t places, least_places; /* of NEAR_ROWS rows, */
    int64_t entries;              /* so that there are about so many entries in all of them */
    int64_t most_entries;         /* of a place */
    int set_bits;                 /* of the set that these entries' sectors fit in */
} sample_sizes;

static const sample_sizes *sizes_of(spryi_effort effort)
{
    static const sample_sizes quick = {16, 24, 4, 1 << 12, 1 << 10, 12}, full = {128, 64, 16, 1 << 17, 1 << 13, 14};
    return effort == SPRYI_FULL ? &full : &quick;
}

/* ---- slots -------------------------------------------------------------------------------------------- */

/* Of rows in slices of LANES sorted by length. */
typedef struct slot_sums {
    double entries, slots, whole; /* whole: slots that all rows of a slice have */
} slot_sums;

/* Of rows first .. end - 1, at most SORTED; of a row over `most` entries so many. */
static void add_slots(slot_sums *sums, const spry_arrays *csr, int64_t first, int64_t end, int64_t most)
{
    int64_t sorted[SORTED];
    const int64_t count = end - first;
    for (int64_t n = 0; n < count; n++) {
        const int64_t length = spryi_row_length(csr, first + n);
        sorted[n] = length < most ? length : most;
    }
    spryi_sort_lengths(sorted, count);
    for (int64_t n = 0; n < count; n++) sums->entries += (double)sorted[n];
    for (int64_t n = 0; n < count; n += LANES) {
        const int64_t last = n + LANES <= count ? n + LANES - 1 : count - 1;
        sums->slots += (double)(LANES * sorted[n]);
        sums->whole += (double)(LANES * sorted[last]);
    }
}

/*
 * A sample would miss a few long rows, so that they are cut there, and what they have beyond that is counted from the
 * lengths of all: it fills slices of its own. The long rows of a group have one in common, as wide as the longest of
 * them, which has twice as much as they have on average where there are several.
 */
static void find_slots(spryi_features *f, const spry_arrays *csr)
{
    const int64_t groups = (csr->rows + SORTED - 1) / SORTED, wanted = sizes_of(f->effort)->sorted_places;
    const int64_t places = groups < wanted ? groups : wanted;
    const int64_t most = places == groups ? INT64_MAX : (int64_t)ceil(SPRYI_LONG_ROW * f->lengths.mean);
    slot_sums sums = {0};
    for (int64_t p = 0; p < places; p++) {
        const int64_t first = groups * p / places * SORTED;
        const int64_t end = first + SORTED < csr->rows ? first + SORTED : csr->rows;
        add_slots(&sums, csr, first, end, most);
    }
    const double a_group = fmin(fmax(f->lengths.long_rows / (double)groups, 1), LANES);
    const double beyond = places == groups ? 0 : f->lengths.excess / (double)f->nnz;
    const double slots = sums.entries > 0 ? sums.slots / sums.entries : 1;
    f->slots = (1 - beyond) * slots + beyond * LANES * fmin(a_group, 2) / a_group;
    f->ragged = sums.slots > 0 ? 1 - sums.whole / sums.slots : 0;
}

/* ---- sectors of x -------------------------------------------------------------------------------------- */

/* Sectors of x that entries meet as kernels take them. */
typedef struct sector_sums {
    double entries, slots, warps, near, far;
} sector_sums;

/* Rows first .. end - 1 of csr, and where their entries end that are looked at. */
typedef struct place {
    const spry_arrays *csr;
    int64_t first, end, last, per_sector;
} place;

static place place_at(const spry_arrays *csr, int64_t first, int64_t most, int64_t per_sector)
{
    int64_t end = first + NEAR_ROWS < csr->rows ? first + NEAR_ROWS : csr->rows;
    const int64_t begin = spryi_offset_of(csr, first);
    while (end > first + 1 && spryi_offset_of(csr, end) - begin > most) end--;
    const int64_t all = spryi_offset_of(csr, end);
    return (place){csr, first, end, all - begin > most ? begin + most : all, per_sector};
}

static void add_near(sector_sums *sums, spryi_number_set *set, const place *p)
{
    enum { FAR_BYTES = 1 << 19 }; /* what a processor's own cache holds beside the matrix */
    const int64_t far = FAR_BYTES / SECTOR;
    const double to_column = (double)p->csr->columns / (double)p->csr->rows;
    spryi_number_set_empty(set);
    for (int64_t i = p->first; i < p->end; i++) {
        const int64_t middle = (int64_t)((double)i * to_column) / p->per_sector, end = spryi_offset_of(p->csr, i + 1);
        for (int64_t k = spryi_offset_of(p->csr, i); k < end && k < p->last; k++) {
            const int64_t sector = spryi_minor_of(p->csr, k) / p->per_sector;
            if (!spryi_number_set_add(set, sector)) continue;
            sums->near++;
            sums->far += sector > middle + far || sector < middle - far;
        }
    }
}

static void add_warps(sector_sums *sums, spryi_number_set *set, const place *p)
{
    const int64_t begin = spryi_offset_of(p->csr, p->first);
    for (int64_t k = begin; k < p->last; k++) {
        if ((k - begin) % LANES == 0) spryi_number_set_empty(set);
        sums->warps += spryi_number_set_add(set, spryi_minor_of(p->csr, k) / p->per_sector);
    }
}

static void add_slot_sectors(sector_sums *sums, spryi_number_set *set, const place *p)
{
    for (int64_t slice = p->first; slice < p->end; slice += LANES) {
        const int64_t rows = slice + LANES < p->end ? slice + LANES : p->end;
        int64_t left = rows - slice;
        for (int64_t n = 0; left > 0; n++) {
            left = 0;
            spryi_number_set_empty(set);
            for (int64_t i = slice; i < rows; i++) {
                const int64_t k = spryi_offset_of(p->csr, i) + n;
                if (k >= spryi_offset_of(p->csr, i + 1) || k >= p->last) continue;
                sums->slots += spryi_number_set_add(set, spryi_minor_of(p->csr, k) / p->per_sector);
                left++;
            }
        }
    }
}

static spry_status find_sectors(spryi_features *f, spryi_number_set *set, spryi_column_reader *reader, int on_gpu,
                                spry_error *err)
{
    const spry_arrays *csr = reader->csr;
    const sample_sizes *sizes = sizes_of(f->effort);
    const int64_t groups = (csr->rows + NEAR_ROWS - 1) / NEAR_ROWS;
    const double most = (double)sizes->entries / (NEAR_ROWS * fmax(f->lengths.mean, 1));
    const double wanted = fmin(fmax(most, (double)sizes->least_places), (double)sizes->places);
    const int64_t places = (int64_t)fmin(wanted, (double)groups), per_sector = SECTOR / f->number_bytes;
    sector_sums sums = {0};
    const int64_t range = reader->count;
    for (int64_t p = 0; p < places; p++) {
        const place at = place_at(csr, groups * p / places * NEAR_ROWS, sizes->most_entries, per_sector);
        (void)spryi_want_entries(reader, spryi_offset_of(csr, at.first), at.last);
    }
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    for (int64_t p = 0; p < places; p++) {
        const spry_arrays view = spryi_range_at(reader, range + p);
        const place at = place_at(&view, groups * p / places * NEAR_ROWS, sizes->most_entries, per_sector);
        add_near(&sums, set, &at);
        if (on_gpu) add_warps(&sums, set, &at);
        add_slot_sectors(&sums, set, &at);
        sums.entries += (double)(at.last - spryi_offset_of(csr, at.first));
    }
    const double entries = sums.entries > 0 ? sums.entries : 1;
    f->slot_sectors = sums.slots / entries;
    f->warp_sectors = sums.warps / entries;
    f->near_sectors = sums.near / entries;
    f->far_sectors = sums.far / entries;
    return SPRY_OK;
}

/* ---- scattered columns ----------------------------------------------------------------------------- */

/*
 * Whether a matrix is scattered: neighbouring entries gather x from all over, so that each takes a sector of its own
 * from the second-level cache, and kernels by rows are bound by that. Then row blocks that sweep x are faster, whatever
 * the lengths of the rows. Judged by a sample: tiles of consecutive entries, as a block of threads takes them, and the
 * share of distinct sectors of x among their entries. On the lists of bench/README.md it is 0.86 and more for
 * R-MAT, random and shuffled matrices, 0.35 and less for all others. Where only the entries that a warp takes at once
 * gather so, row blocks are still ahead of csr for large matrices of f32, half of whose bytes are columns.
 */
static const double SCATTERED = 0.5, SCATTERED_WARPS = 0.65;
static const double MOST_LONGEST = 8; /* times the mean row: rows are not cut, but for swept */
enum {
    TILES = 64,
    QUICK_TILES = 8,
    TILE = 2048,              /* entries */
    LEAST_ENTRIES = 3 << 19,  /* fewer leave multiprocessors without a batch or two */
    LEAST_BY_WARPS = 1 << 23, /* entries */
    LEAST_X_BYTES = 1 << 19,  /* what first-level caches hold for long is not scattered */
};

static int64_t tile_at(const spry_arrays *csr, int64_t t, int64_t tiles)
{
    return (csr->nnz - TILE) / (tiles - 1) * t;
}

/* Share of distinct sectors of x among `entries` consecutive entries, by the sample; range: of the first tile. */
static double scattered_share(spryi_number_set *set, const spryi_column_reader *reader, int64_t range,
                              int64_t per_sector, int64_t entries, int64_t tiles)
{
    int64_t distinct = 0;
    for (int64_t t = 0; t < tiles; t++) {
        const int64_t tile = tile_at(reader->csr, t, tiles);
        const spry_arrays view = spryi_range_at(reader, range + t);
        for (int64_t k = tile; k < tile + TILE; k++) {
            if ((k - tile) % entries == 0) spryi_number_set_empty(set);
            distinct += spryi_number_set_add(set, spryi_minor_of(&view, k) / per_sector);
        }
    }
    return (double)distinct / ((double)tiles * TILE);
}

static spry_status find_scattered(spryi_features *f, spryi_number_set *set, spryi_column_reader *reader,
                                  spry_error *err)
{
    const spry_arrays *csr = reader->csr;
    const int64_t size = f->number_bytes, tiles = f->effort == SPRYI_FULL ? TILES : QUICK_TILES;
    const int long_rows = f->lengths.longest > MOST_LONGEST * f->lengths.mean;
    const int by_warps = size == 4 && long_rows && csr->nnz >= LEAST_BY_WARPS;
    if (csr->nnz < LEAST_ENTRIES || csr->columns * size < LEAST_X_BYTES) return SPRY_OK;
    const int64_t range = reader->count;
    for (int64_t t = 0; t < tiles; t++)
        (void)spryi_want_entries(reader, tile_at(csr, t, tiles), tile_at(csr, t, tiles) + TILE);
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    f->scattered = scattered_share(set, reader, range, SECTOR / size, TILE, tiles) >= SCATTERED ||
                   (by_warps && scattered_share(set, reader, range, SECTOR / size, LANES, tiles) >= SCATTERED_WARPS);
    return SPRY_OK;
}

/* ---- all of them ----------------------------------------------------------------------------------------- */

/* What the parts of a look share; each writes members of f of its own. */
typedef struct looker {
    spry_context *context;
    spryi_features *f;
    spry_arrays csr, with_values;      /* as it is, and as formats store it that have no patterns */
    const struct spryi_device *device; /* where the columns lie; NULL: in host memory */
    const spryi_look *look;
} looker;

static spry_status make_set(spryi_number_set *set, const looker *l, spry_error *err)
{
    return spryi_number_set_make(l->context, set, sizes_of(l->look->effort)->set_bits, "a sample of columns", err);
}

static spry_status look_at_sectors(const looker *l, spryi_column_reader *reader, spry_error *err)
{
    spryi_number_set set;
    SPRYI_OK_OR_RETURN(make_set(&set, l, err));
    const spry_status status = find_sectors(l->f, &set, reader, l->look->on_gpu, err);
    spryi_release(l->context, set.slots);
    return status;
}

static spry_status look_at_tiles(const looker *l, spryi_column_reader *reader, spry_error *err)
{
    spryi_number_set set;
    if (!l->look->on_gpu) return SPRY_OK;
    SPRYI_OK_OR_RETURN(make_set(&set, l, err));
    const spry_status status = find_scattered(l->f, &set, reader, err);
    spryi_release(l->context, set.slots);
    return status;
}

static spry_status look_at_slots(const looker *l, spryi_column_reader *reader, spry_error *err)
{
    (void)err;
    find_slots(l->f, reader->csr);
    return SPRY_OK;
}

static spry_status look_at_relations(const looker *l, spryi_column_reader *reader, spry_error *err)
{
    return spryi_find_relations(&l->f->relations, reader, l->look->effort, err);
}

static spry_status guess(const looker *l, int index, spry_error *err)
{
    const spryi_estimator *e = spryi_estimated_at(index)->choice.estimator;
    spryi_column_reader reader = spryi_reader_on(l->device, e->guess_stores_ones ? &l->with_values : &l->csr);
    const spry_status status = e->guess(l->context, &l->f->guesses[index], l->f, &reader, err);
    spryi_reader_close(&reader);
    return status;
}

/* Parts of an inspection, which threads process in parallel: first guesses of formats, then these. */
static const struct {
    spry_status (*look)(const looker *l, spryi_column_reader *reader, spry_error *err);
    bool then_guesses; /* guesses that need relations follow */
} parts[] = {{look_at_sectors, false}, {look_at_relations, true}, {look_at_slots, false}, {look_at_tiles, false}};
enum { PARTS = sizeof parts / sizeof *parts, MOST_TASKS = PARTS + SPRYI_MOST_ESTIMATED };

typedef struct parts_job {
    const looker *l;
    spryi_memory_limit *limit;         /* the caller's, for all threads */
    int guesses[SPRYI_MOST_ESTIMATED]; /* indices of formats whose guesses are tasks */
    int guess_count;
    spry_status status[MOST_TASKS];
    spry_error why[MOST_TASKS];
} parts_job;

static spry_status look_at_part(const looker *l, int p, spry_error *err)
{
    spryi_column_reader reader = spryi_reader_on(l->device, &l->csr);
    spry_status status = parts[p].look(l, &reader, err);
    spryi_reader_close(&reader);
    for (int n = 0; parts[p].then_guesses && status == SPRY_OK && spryi_estimated_at(n); n++)
        if (spryi_estimated_at(n)->choice.estimator->guess &&
            spryi_estimated_at(n)->choice.estimator->guess_needs_relations)
            status = guess(l, n, err);
    return status;
}

static void run_task(void *argument, int t)
{
    parts_job *job = argument;
    spryi_memory_limit *before = spryi_set_memory_limit(job->limit);
    job->why[t] = (spry_error)SPRY_ERROR_INIT;
    job->status[t] = t < job->guess_count ? guess(job->l, job->guesses[t], &job->why[t])
                                          : look_at_part(job->l, t - job->guess_count, &job->why[t]);
    (void)spryi_set_memory_limit(before);
}

spryi_features spryi_sizes_as_features(const spry_arrays *csr, spry_type vector_type)
{
    return (spryi_features){.rows = csr->rows,
                            .cols = csr->columns,
                            .nnz = csr->nnz,
                            .value_bytes = (int)spry_type_bytes(csr->value_type),
                            .index_bytes = (int)spryi_index_type_bytes(csr->index_type),
                            .offset_bytes = (int)spryi_index_type_bytes(csr->offset_type),
                            .number_bytes = (int)spry_type_bytes(vector_type),
                            .stored_bytes =
                                (int)spry_type_bytes(csr->value_type == SPRY_PATTERN ? vector_type : csr->value_type)};
}

spry_status spryi_find_features(spry_context *context, spryi_features *f, const spry_arrays *csr,
                                const struct spryi_device *device, const spryi_row_profile *lengths,
                                const spryi_look *look, spry_error *err)
{
    looker l = {.context = context, .f = f, .csr = *csr, .with_values = *csr, .device = device, .look = look};
    parts_job job = {.l = &l, .limit = spryi_get_memory_limit()};
    if (csr->value_type == SPRY_PATTERN) l.with_values.value_type = look->vector_type;
    spryi_guess *guesses = f->guesses;
    *f = spryi_sizes_as_features(csr, look->vector_type);
    f->guesses = guesses;
    f->effort = look->effort;
    f->lengths = *lengths;
    for (int n = 0; spryi_estimated_at(n); n++)
        if (spryi_estimated_at(n)->choice.estimator->guess &&
            !spryi_estimated_at(n)->choice.estimator->guess_needs_relations)
            job.guesses[job.guess_count++] = n;
    const int tasks = job.guess_count + PARTS;
    spryi_parallel(spryi_threads(context, csr->nnz) > 1 ? &context->pool : NULL, tasks, run_task, &job);
    for (int t = 0; t < tasks; t++)
        if (job.status[t] != SPRY_OK) return spryi_hand_on(err, &job.why[t]);
    return SPRY_OK;
}
