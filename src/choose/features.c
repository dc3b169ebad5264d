/* Features of a matrix for the choice of a format, by samples of its columns, whose parts run side by side. */
#include "choose/features.h"

#include "core/assemble.h"
#include "core/context.h"
#include "core/element.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/number_set.h"
#include "core/row_lengths.h"

#include <math.h>
#include <string.h>

/*
 * *guess: the blocks that a sample of rows finds; block 1 and csr's bytes where so small a share of the entries is
 * adjacent that there are none. longest: of the rows.
 */
static spry_status find_blocks(spryi_column_reader *reader, spry_context *context, spryi_bsr_guess *guess,
                               double adjacent, int64_t longest, spryi_effort effort, spry_error *err)
{
    static const double ADJACENT = 0.4; /* blocks of 2 have 0.5 and, with one place in eight empty, 0.43 */
    const spry_arrays *csr = reader->csr;
    const double entry_bytes = (double)spry_type_bytes(csr->value_type) +
                               (double)spry_index_type_bytes(csr->index_type) +
                               (double)spry_index_type_bytes(csr->offset_type) * (double)csr->rows / (double)csr->nnz;
    *guess = (spryi_bsr_guess){.block = 1, .bytes = entry_bytes * (double)csr->nnz};
    return adjacent < ADJACENT ? SPRY_OK : spryi_bsr_guess_of(context, guess, reader, longest, effort, err);
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
    const double to_column = (double)p->csr->cols / (double)p->csr->rows;
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
    if (csr->nnz < LEAST_ENTRIES || csr->cols * size < LEAST_X_BYTES) return SPRY_OK;
    const int64_t range = reader->count;
    for (int64_t t = 0; t < tiles; t++)
        (void)spryi_want_entries(reader, tile_at(csr, t, tiles), tile_at(csr, t, tiles) + TILE);
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    f->scattered = scattered_share(set, reader, range, SECTOR / size, TILE, tiles) >= SCATTERED ||
                   (by_warps && scattered_share(set, reader, range, SECTOR / size, LANES, tiles) >= SCATTERED_WARPS);
    return SPRY_OK;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* Blocks of the block row that has the longest row. */
static spry_status find_longest_blocks(spryi_features *f, spryi_number_set *set, spryi_column_reader *reader,
                                       spry_error *err)
{
    const spry_arrays *csr = reader->csr;
    const int64_t block = f->blocks.block, most = sizes_of(f->effort)->most_entries;
    const int64_t first = f->lengths.longest_row / block * block;
    const int64_t rows_end = first + block < csr->rows ? first + block : csr->rows;
    const int64_t begin = spryi_offset_of(csr, first), all = spryi_offset_of(csr, rows_end) - begin;
    const int64_t end = begin + (all < most ? all : most);
    const int64_t range = spryi_want_entries(reader, begin, end);
    SPRYI_OK_OR_RETURN(spryi_fetch_wanted(reader, err));
    spryi_number_set_empty(set);
    for (int64_t k = begin; k < end; k++)
        f->longest_blocks += spryi_number_set_add(set, spryi_column_at(reader, range, k) / block);
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

static spry_status look_at_packed(const looker *l, spryi_column_reader *reader, spry_error *err)
{
    find_slots(l->f, reader->csr);
    return spryi_packed_guess_of(&l->f->packed, reader, l->look->effort, err);
}

static spry_status look_at_blocks(const looker *l, spryi_column_reader *reader, spry_error *err)
{
    spryi_features *f = l->f;
    spryi_number_set set;
    SPRYI_OK_OR_RETURN(spryi_find_relations(&f->relations, reader, l->look->effort, err));
    SPRYI_OK_OR_RETURN(find_blocks(reader, l->context, &f->blocks, f->relations.adjacent, (int64_t)f->lengths.longest,
                                   l->look->effort, err));
    if (f->blocks.block <= 1) return SPRY_OK;
    SPRYI_OK_OR_RETURN(make_set(&set, l, err));
    const spry_status status = find_longest_blocks(f, &set, reader, err);
    spryi_release(l->context, set.slots);
    return status;
}

static spry_status look_at_windows(const looker *l, spryi_column_reader *reader, spry_error *err)
{
    return spryi_windowed_guess_of(l->context, &l->f->windowed, reader, l->look->effort, err);
}

/* The longest first. */
static const struct {
    spry_status (*look)(const looker *l, spryi_column_reader *reader, spry_error *err);
    int with_values;
} parts[] = {{look_at_windows, 1}, {look_at_sectors, 0}, {look_at_packed, 0}, {look_at_blocks, 1}, {look_at_tiles, 0}};
enum { PARTS = sizeof parts / sizeof *parts };

typedef struct parts_job {
    const looker *l;
    spryi_memory_limit *limit; /* the caller's, for all threads */
    spry_status status[PARTS];
    spry_error why[PARTS];
} parts_job;

static spry_status look_at_part(const looker *l, int p, spry_error *err)
{
    spryi_column_reader reader = spryi_reader_on(l->device, parts[p].with_values ? &l->with_values : &l->csr);
    const spry_status status = parts[p].look(l, &reader, err);
    spryi_reader_close(&reader);
    return status;
}

static void run_part(void *argument, int p)
{
    parts_job *job = argument;
    spryi_memory_limit *before = spryi_set_memory_limit(job->limit);
    job->why[p] = (spry_error)SPRY_ERROR_INIT;
    job->status[p] = look_at_part(job->l, p, &job->why[p]);
    (void)spryi_set_memory_limit(before);
}

spryi_features spryi_sizes_as_features(const spry_arrays *csr, spry_type vector_type)
{
    return (spryi_features){.rows = csr->rows,
                            .cols = csr->cols,
                            .nnz = csr->nnz,
                            .value_bytes = (int)spry_type_bytes(csr->value_type),
                            .index_bytes = (int)spry_index_type_bytes(csr->index_type),
                            .offset_bytes = (int)spry_index_type_bytes(csr->offset_type),
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
    *f = spryi_sizes_as_features(csr, look->vector_type);
    f->effort = look->effort;
    f->lengths = *lengths;
    spryi_parallel(spryi_threads(context, csr->nnz) > 1 ? &context->pool : NULL, PARTS, run_part, &job);
    for (int p = 0; p < PARTS; p++)
        if (job.status[p] != SPRY_OK) return spryi_hand_on(err, &job.why[p]);
    return SPRY_OK;
}
