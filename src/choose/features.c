/* Features of a matrix for the choice of a format, from samples of its columns. Threads compute parts in parallel. */
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

enum { LENGTHS = 4096 }; /* rows with at least this many entries share the last bin */

typedef struct length_counts {
    int64_t rows[LENGTHS + 1];
    double long_mean; /* mean length of the rows in the last bin */
    int64_t last;     /* last bin that has rows */
} length_counts;

/* Returns the standard deviation of the row lengths divided by their mean, without the longest `drop` rows. */
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

/* Computes row offsets for COO or CSC. */
static spry_status make_offsets(spry_context *context, int64_t **offsets, const spry_arrays *a, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, offsets, a->rows + 1, "row offsets", err));
    memset(*offsets, 0, (size_t)(a->rows + 1) * sizeof **offsets);
    const void *rows = a->layout == SPRY_COO ? a->row_indices : a->indices;
    for (int64_t k = 0; k < a->nnz; k++) (*offsets)[spryi_index_at(rows, a->index_type, k) + 1]++;
    spryi_scan(*offsets, a->rows);
    return SPRY_OK;
}

/*
 * Counts the lengths of all rows. If there are many rows and the effort is quick, counts only the rows of some blocks.
 * Sets *longest to the index of the longest row found. Returns the number of rows counted.
 */
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
    int64_t *offsets = NULL, longest_row = 0;
    length_counts *c = NULL;
    SPRYI_TRY(SPRYI_NEW(context, &c, 1, "row length counts", err));
    memset(c, 0, sizeof *c);
    if (a.layout != SPRY_CSR) {
        SPRYI_TRY(make_offsets(context, &offsets, &a, err));
        a.offsets = offsets;
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
    spryi_release(context, offsets);
    spryi_release(context, c);
    return status;
}

bool spryi_rows_are_uniform(const spryi_row_profile *rows)
{
    return rows->body_deviation <= SPRYI_UNIFORM && rows->mean >= 1;
}

enum {
    SECTOR = 32, /* bytes */
    LANES = 32,
    SORTED = 256,    /* rows that are sorted by length together */
    NEAR_ROWS = 128, /* rows in one sample of sectors */
};

/* Sizes of the samples. */
typedef struct sample_sizes {
    int64_t sorted_places;        /* number of samples of SORTED rows each */
    int64_t places, least_places; /* largest and smallest number of samples of NEAR_ROWS rows each */
    int64_t entries;              /* approximate number of entries in all samples together */
    int64_t most_entries;         /* largest number of entries in one sample */
    int set_bits;                 /* `bits` of a number set with room for the sectors of a sample */
} sample_sizes;

static const sample_sizes *sizes_of(spryi_effort effort)
{
    static const sample_sizes quick = {16, 24, 4, 1 << 12, 1 << 10, 12}, full = {128, 64, 16, 1 << 17, 1 << 13, 14};
    return effort == SPRYI_FULL ? &full : &quick;
}

/* ---- slots -------------------------------------------------------------------------------------------- */

/* Sums over slices of LANES rows. The rows are sorted by length before they are divided into slices. */
typedef struct slot_sums {
    double entries, slots, whole; /* whole: number of slots up to the length of the shortest row of each slice */
} slot_sums;

/* Adds rows first .. end - 1, at most SORTED rows, to *sums. A row counts with at most `most` entries. */
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
 * Computes f->slots and f->ragged. Samples would miss the few long rows, unless they contain all rows. The samples
 * therefore cut rows after `most` entries, and the cut entries are counted from the lengths of all rows. The cut
 * entries fill additional slices: the long rows of a group of SORTED rows share one slice, as wide as the longest of
 * them. If a group has multiple long rows, the width is assumed to be twice the mean of their cut lengths.
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

/*
 * Sums over samples: the number of entries, and numbers of distinct sectors of x that these entries read. Each of these
 * numbers is for another order of reading the entries: see slot_sectors .. far_sectors of spryi_features.
 */
typedef struct sector_sums {
    double entries, slots, warps, near, far;
} sector_sums;

/* A sample: the entries of rows first .. end - 1 of csr that precede entry `last`. */
typedef struct place {
    const spry_arrays *csr;
    int64_t first, end, last;
    int sector_bits; /* a sector has 2^sector_bits elements */
} place;

static int64_t sector_of(const place *p, int64_t k)
{
    return spryi_minor_of(p->csr, k) >> p->sector_bits;
}

/* Returns the logarithm to base 2 of the elements of x in a sector. */
static int sector_bits_of(const spryi_features *f)
{
    return __builtin_ctz((unsigned)(SECTOR / f->number_bytes));
}

static place place_at(const spry_arrays *csr, int64_t first, int64_t most, int sector_bits)
{
    int64_t end = first + NEAR_ROWS < csr->rows ? first + NEAR_ROWS : csr->rows;
    const int64_t begin = spryi_offset_of(csr, first);
    while (end > first + 1 && spryi_offset_of(csr, end) - begin > most) end--;
    const int64_t all = spryi_offset_of(csr, end);
    return (place){csr, first, end, all - begin > most ? begin + most : all, sector_bits};
}

static void add_near(sector_sums *sums, spryi_number_set *set, const place *p)
{
    enum { FAR_BYTES = 1 << 19 }; /* bytes of x that a processor's own cache can hold in addition to the matrix */
    const int64_t far = FAR_BYTES / SECTOR;
    const double to_column = (double)p->csr->columns / (double)p->csr->rows;
    spryi_number_set_empty(set);
    for (int64_t i = p->first; i < p->end; i++) {
        const int64_t middle = (int64_t)((double)i * to_column) >> p->sector_bits, end = spryi_offset_of(p->csr, i + 1);
        for (int64_t k = spryi_offset_of(p->csr, i); k < end && k < p->last; k++) {
            const int64_t sector = sector_of(p, k);
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
        sums->warps += spryi_number_set_add(set, sector_of(p, k));
    }
}

/* The n-th entries of the rows of a slice are a slot. Rows that have no further entries leave the list. */
static void add_slot_sectors(sector_sums *sums, spryi_number_set *set, const place *p)
{
    for (int64_t slice = p->first; slice < p->end; slice += LANES) {
        const int64_t rows = slice + LANES < p->end ? slice + LANES : p->end;
        int64_t next[LANES], end[LANES];
        int left = 0;
        for (int64_t i = slice; i < rows; i++) {
            const int64_t row_end = spryi_offset_of(p->csr, i + 1);
            next[left] = spryi_offset_of(p->csr, i);
            end[left] = row_end < p->last ? row_end : p->last;
            left += next[left] < end[left];
        }
        while (left > 0) {
            int kept = 0;
            spryi_number_set_empty(set);
            for (int n = 0; n < left; n++) {
                sums->slots += spryi_number_set_add(set, sector_of(p, next[n]));
                next[kept] = next[n] + 1;
                end[kept] = end[n];
                kept += next[kept] < end[kept];
            }
            left = kept;
        }
    }
}

/* few: a set with room for LANES sectors, which remains in the first-level cache. */
static spry_status find_sectors(spryi_features *f, spryi_number_set *set, spryi_number_set *few,
                                spryi_column_reader *reader, bool on_gpu, spry_error *err)
{
    const spry_arrays *csr = reader->csr;
    const sample_sizes *sizes = sizes_of(f->effort);
    const int64_t groups = (csr->rows + NEAR_ROWS - 1) / NEAR_ROWS;
    const double most = (double)sizes->entries / (NEAR_ROWS * fmax(f->lengths.mean, 1));
    const double wanted = fmin(fmax(most, (double)sizes->least_places), (double)sizes->places);
    const int64_t places = (int64_t)fmin(wanted, (double)groups);
    const int sector_bits = sector_bits_of(f);
    sector_sums sums = {0};
    const int64_t range = reader->count;
    for (int64_t p = 0; p < places; p++) {
        const place at = place_at(csr, groups * p / places * NEAR_ROWS, sizes->most_entries, sector_bits);
        (void)spryi_want_entries(reader, spryi_offset_of(csr, at.first), at.last);
    }
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    for (int64_t p = 0; p < places; p++) {
        const spry_arrays view = spryi_range_at(reader, range + p);
        const place at = place_at(&view, groups * p / places * NEAR_ROWS, sizes->most_entries, sector_bits);
        add_near(&sums, set, &at);
        if (on_gpu) add_warps(&sums, few, &at);
        add_slot_sectors(&sums, few, &at);
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
 * A matrix is scattered if neighbouring entries read x at distant positions. Each entry then reads its own sector from
 * the second-level cache, which limits the speed of kernels that process the matrix row by row. The format swept, whose
 * blocks of rows read x from left to right together, is then faster for any row lengths.
 *
 * The test samples tiles of consecutive entries, as a block of threads reads them. It divides the number of distinct
 * sectors of x by the number of entries. For the matrices in bench/README.md, the quotient is at least 0.86 for R-MAT,
 * random and shuffled matrices, and at most 0.35 for all others. If the quotient is large only among 32 consecutive
 * entries, which a warp reads together, swept is still faster than csr for large f32 matrices with long rows. Half of
 * the bytes of such matrices are columns.
 */
static const double SCATTERED = 0.5, SCATTERED_WARPS = 0.65;
static const double MOST_LONGEST = 8; /* rows over this many times the mean length are long; only swept cuts them */
enum {
    TILES = 16,
    TILE = 2048,              /* entries */
    LEAST_ENTRIES = 3 << 19,  /* smaller matrices do not count as scattered: they occupy too few multiprocessors */
    LEAST_BY_WARPS = 1 << 23, /* entries */
    LEAST_X_BYTES = 1 << 19,  /* matrices with a smaller x do not count as scattered: first-level caches hold x */
};

static int64_t tile_at(const spry_arrays *csr, int64_t t)
{
    return (csr->nnz - TILE) / (TILES - 1) * t;
}

/*
 * Divides the sampled tiles into runs of `entries` consecutive entries and counts the distinct sectors of x in each
 * run. Returns the sum of the counts divided by the number of entries. range: index of the first tile's range in the
 * reader.
 */
static double scattered_share(spryi_number_set *set, const spryi_column_reader *reader, int64_t range, int sector_bits,
                              int64_t entries)
{
    int64_t distinct = 0;
    for (int64_t t = 0; t < TILES; t++) {
        const int64_t tile = tile_at(reader->csr, t);
        const spry_arrays view = spryi_range_at(reader, range + t);
        for (int64_t k = tile; k < tile + TILE; k++) {
            if ((k - tile) % entries == 0) spryi_number_set_empty(set);
            distinct += spryi_number_set_add(set, spryi_minor_of(&view, k) >> sector_bits);
        }
    }
    return (double)distinct / ((double)TILES * TILE);
}

static spry_status find_scattered(spryi_features *f, spryi_number_set *set, spryi_column_reader *reader,
                                  spry_error *err)
{
    const spry_arrays *csr = reader->csr;
    const int64_t size = f->number_bytes;
    const bool long_rows = f->lengths.longest > MOST_LONGEST * f->lengths.mean;
    const int bits = sector_bits_of(f);
    const bool by_warps = size == 4 && long_rows && csr->nnz >= LEAST_BY_WARPS;
    if (csr->nnz < LEAST_ENTRIES || csr->columns * size < LEAST_X_BYTES) return SPRY_OK;
    const int64_t range = reader->count;
    for (int64_t t = 0; t < TILES; t++) (void)spryi_want_entries(reader, tile_at(csr, t), tile_at(csr, t) + TILE);
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    f->scattered = scattered_share(set, reader, range, bits, TILE) >= SCATTERED ||
                   (by_warps && scattered_share(set, reader, range, bits, LANES) >= SCATTERED_WARPS);
    return SPRY_OK;
}

/* ---- all features ----------------------------------------------------------------------------------------- */

/* Arguments of all parts of an inspection. Each part writes its own members of f. */
typedef struct inspection_job {
    spry_context *context;
    spryi_features *f;
    spry_arrays csr, with_values;      /* the matrix; in with_values, a pattern has the vectors' type, for formats that
                                        * store values of 1 */
    const struct spryi_device *device; /* device whose memory contains the columns; NULL: host memory */
    const spryi_inspection *inspection;
} inspection_job;

static spry_status inspect_sectors(const inspection_job *l, spryi_column_reader *reader, spry_error *err)
{
    enum { FEW_BITS = 7 };
    spryi_number_set set = {0}, few = {0};
    spry_status status = SPRY_OK;
    const int bits = sizes_of(l->inspection->effort)->set_bits;
    SPRYI_TRY(spryi_number_set_make(l->context, &set, bits, "a sample of sectors", err));
    SPRYI_TRY(spryi_number_set_make(l->context, &few, FEW_BITS, "a sample of sectors", err));
    status = find_sectors(l->f, &set, &few, reader, l->inspection->on_gpu, err);
done:
    spryi_release(l->context, set.slots);
    spryi_release(l->context, few.slots);
    return status;
}

static spry_status inspect_tiles(const inspection_job *l, spryi_column_reader *reader, spry_error *err)
{
    spryi_number_set set;
    if (!l->inspection->on_gpu) return SPRY_OK;
    const int bits = sizes_of(l->inspection->effort)->set_bits;
    SPRYI_OK_OR_RETURN(spryi_number_set_make(l->context, &set, bits, "tiles of columns", err));
    const spry_status status = find_scattered(l->f, &set, reader, err);
    spryi_release(l->context, set.slots);
    return status;
}

static spry_status inspect_slots(const inspection_job *l, spryi_column_reader *reader, spry_error *err)
{
    (void)err;
    find_slots(l->f, reader->csr);
    return SPRY_OK;
}

static spry_status inspect_relations(const inspection_job *l, spryi_column_reader *reader, spry_error *err)
{
    return spryi_find_relations(&l->f->relations, reader, l->inspection->effort, err);
}

static spry_status guess(const inspection_job *l, int index, spry_error *err)
{
    const spryi_estimator *e = spryi_estimated_at(index)->choice.estimator;
    spryi_column_reader reader = spryi_reader_on(l->device, e->guess_stores_ones ? &l->with_values : &l->csr);
    const spry_status status = e->guess(l->context, &l->f->guesses[index], l->f, &reader, err);
    spryi_reader_close(&reader);
    return status;
}

/*
 * Parts of an inspection. Each part is a task for the threads. Tasks for the guesses of formats follow the parts. The
 * longest task is first, since other threads start 50 to 100 us after the caller's.
 */
static const struct {
    spry_status (*inspect)(const inspection_job *l, spryi_column_reader *reader, spry_error *err);
    bool guesses_follow; /* the guesses that need relations run after this part */
} parts[] = {{inspect_relations, true}, {inspect_sectors, false}, {inspect_tiles, false}, {inspect_slots, false}};
enum { PARTS = sizeof parts / sizeof *parts, MOST_TASKS = PARTS + SPRYI_MOST_ESTIMATED };

typedef struct parts_job {
    const inspection_job *l;
    spryi_memory_limit *limit;         /* the caller's limit, for all threads */
    int guesses[SPRYI_MOST_ESTIMATED]; /* indices of formats whose guesses are tasks */
    int guess_count;
    spry_status status[MOST_TASKS];
    spry_error why[MOST_TASKS];
} parts_job;

static spry_status inspect_part(const inspection_job *l, int p, spry_error *err)
{
    spryi_column_reader reader = spryi_reader_on(l->device, &l->csr);
    spry_status status = parts[p].inspect(l, &reader, err);
    spryi_reader_close(&reader);
    for (int n = 0; parts[p].guesses_follow && status == SPRY_OK && spryi_estimated_at(n); n++)
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
    job->status[t] = t < PARTS ? inspect_part(job->l, t, &job->why[t])
                               : guess(job->l, job->guesses[t - PARTS], &job->why[t]);
    (void)spryi_set_memory_limit(before);
}

spryi_features spryi_sizes_as_features(const spry_arrays *csr, spry_type vector_type)
{
    return (spryi_features){.simd = SPRYI_AVX2,
                            .rows = csr->rows,
                            .cols = csr->columns,
                            .nnz = csr->nnz,
                            .value_bytes = (int)spry_type_bytes(csr->value_type),
                            .narrow = {(int)spry_type_bytes(csr->value_type), (int)spry_type_bytes(csr->value_type)},
                            .index_bytes = (int)spryi_index_type_bytes(csr->index_type),
                            .offset_bytes = (int)spryi_index_type_bytes(csr->offset_type),
                            .number_bytes = (int)spry_type_bytes(vector_type)};
}

void spryi_find_narrow_bytes(spryi_features *f, const spry_arrays *a, const struct spryi_device *device,
                             spry_type vector_type)
{
    spryi_value_sample sample;
    spryi_sample_values(&sample, device, a);
    const spry_type narrow = spryi_narrow_type(&sample, vector_type, false, 0);
    const spry_type any = spryi_narrow_type(&sample, vector_type, true, 0);
    if (narrow) f->narrow.floats = (int)spry_type_bytes(narrow);
    if (any) f->narrow.tables = (int)spry_type_bytes(any);
}

spry_status spryi_find_features(spry_context *context, spryi_features *f, const spry_arrays *csr,
                                const struct spryi_device *device, const spryi_row_profile *lengths,
                                const spryi_inspection *inspection, spry_error *err)
{
    inspection_job l =
        {.context = context, .f = f, .csr = *csr, .with_values = *csr, .device = device, .inspection = inspection};
    parts_job job = {.l = &l, .limit = spryi_get_memory_limit()};
    if (csr->value_type == SPRY_PATTERN) l.with_values.value_type = inspection->vector_type;
    spryi_guess *guesses = f->guesses;
    *f = spryi_sizes_as_features(csr, inspection->vector_type);
    f->guesses = guesses;
    f->effort = inspection->effort;
    f->simd = context->simd;
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
