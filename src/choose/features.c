/* Features of a matrix for the choice of a format, by samples of its columns. */
#include "choose/features.h"

#include "choose/blocks.h"
#include "core/element.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <string.h>

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

static const sample_sizes sizes_of[] =
    {[SPRYI_QUICK] = {24, 32, 6, 1 << 13, 1 << 11, 12}, [SPRYI_FULL] = {128, 64, 16, 1 << 17, 1 << 13, 14}};

/* A set of numbers below 2^40 that is emptied in no time: a slot has the set's mark above its number, or is free. */
typedef struct marked_set {
    uint64_t *slots, own; /* own: the mark, 1 and up */
    int bits;
} marked_set;

enum { MARK_SHIFT = 40 };

static spry_status make_set(spry_context *context, marked_set *set, int bits, spry_error *err)
{
    *set = (marked_set){.own = 1, .bits = bits};
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &set->slots, INT64_C(1) << bits, "sectors of x", err));
    memset(set->slots, 0, sizeof *set->slots << bits);
    return SPRY_OK;
}

/* Marks are used up after 2^24 emptyings, of which a look has a hundredth. */
static inline void empty(marked_set *set)
{
    set->own++;
}

/* 1: it was not in the set. */
static inline int add(marked_set *set, int64_t number)
{
    const uint64_t wanted = set->own << MARK_SHIFT | (uint64_t)number, mask = (UINT64_C(1) << set->bits) - 1;
    uint64_t at = (uint64_t)number * 0x9E3779B97F4A7C15u >> (64 - set->bits);
    while (set->slots[at] >> MARK_SHIFT == set->own && set->slots[at] != wanted) at = (at + 1) & mask;
    if (set->slots[at] == wanted) return 0;
    set->slots[at] = wanted;
    return 1;
}

/* ---- slots -------------------------------------------------------------------------------------------- */

/* Of rows in slices of LANES sorted by length. */
typedef struct slot_sums {
    double entries, slots, whole; /* whole: slots that all rows of a slice have */
} slot_sums;

/* Lengths of rows first .. end - 1, at most SORTED, none over `most`, into sorted, the longest first. */
static int64_t sort_lengths(int64_t *sorted, const spry_arrays *csr, int64_t first, int64_t end, int64_t most)
{
    enum { BINS = 512 };
    int16_t rows_of[BINS] = {0};
    int64_t count = 0, longest = 0;
    for (int64_t i = first; i < end; i++) {
        const int64_t all = spryi_row_length(csr, i), length = all < most ? all : most;
        if (length < BINS) {
            rows_of[length]++;
            longest = length > longest ? length : longest;
            continue;
        }
        int64_t at = count++; /* few: by insertion */
        for (; at > 0 && sorted[at - 1] < length; at--) sorted[at] = sorted[at - 1];
        sorted[at] = length;
    }
    for (int64_t length = longest; length >= 0; length--)
        for (int n = 0; n < rows_of[length]; n++) sorted[count++] = length;
    return count;
}

static void add_slots(slot_sums *sums, const spry_arrays *csr, int64_t first, int64_t end, int64_t most)
{
    int64_t sorted[SORTED];
    const int64_t count = sort_lengths(sorted, csr, first, end, most);
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
    const int64_t groups = (csr->rows + SORTED - 1) / SORTED, wanted = sizes_of[f->effort].sorted_places;
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

static void add_near(sector_sums *sums, marked_set *set, const place *p)
{
    enum { FAR_BYTES = 1 << 19 }; /* what a processor's own cache holds beside the matrix */
    const int64_t far = FAR_BYTES / SECTOR;
    const double to_column = (double)p->csr->cols / (double)p->csr->rows;
    empty(set);
    for (int64_t i = p->first; i < p->end; i++) {
        const int64_t middle = (int64_t)((double)i * to_column) / p->per_sector, end = spryi_offset_of(p->csr, i + 1);
        for (int64_t k = spryi_offset_of(p->csr, i); k < end && k < p->last; k++) {
            const int64_t sector = spryi_minor_of(p->csr, k) / p->per_sector;
            if (!add(set, sector)) continue;
            sums->near++;
            sums->far += sector > middle + far || sector < middle - far;
        }
    }
}

static void add_warps(sector_sums *sums, marked_set *set, const place *p)
{
    const int64_t begin = spryi_offset_of(p->csr, p->first);
    for (int64_t k = begin; k < p->last; k++) {
        if ((k - begin) % LANES == 0) empty(set);
        sums->warps += add(set, spryi_minor_of(p->csr, k) / p->per_sector);
    }
}

static void add_slot_sectors(sector_sums *sums, marked_set *set, const place *p)
{
    for (int64_t slice = p->first; slice < p->end; slice += LANES) {
        const int64_t rows = slice + LANES < p->end ? slice + LANES : p->end;
        int64_t left = rows - slice;
        for (int64_t n = 0; left > 0; n++) {
            left = 0;
            empty(set);
            for (int64_t i = slice; i < rows; i++) {
                const int64_t k = spryi_offset_of(p->csr, i) + n;
                if (k >= spryi_offset_of(p->csr, i + 1) || k >= p->last) continue;
                sums->slots += add(set, spryi_minor_of(p->csr, k) / p->per_sector);
                left++;
            }
        }
    }
}

static void find_sectors(spryi_features *f, marked_set *set, const spry_arrays *csr, int on_gpu)
{
    const sample_sizes *sizes = &sizes_of[f->effort];
    const int64_t groups = (csr->rows + NEAR_ROWS - 1) / NEAR_ROWS;
    const double most = (double)sizes->entries / (NEAR_ROWS * fmax(f->lengths.mean, 1));
    const double wanted = fmin(fmax(most, (double)sizes->least_places), (double)sizes->places);
    const int64_t places = (int64_t)fmin(wanted, (double)groups);
    sector_sums sums = {0};
    for (int64_t p = 0; p < places; p++) {
        const place at = place_at(csr, groups * p / places * NEAR_ROWS, sizes->most_entries, SECTOR / f->number_bytes);
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
}

/* ---- scattered columns ----------------------------------------------------------------------------- */

/*
 * Whether a matrix is scattered: neighbouring entries gather x from all over, so that each takes a sector of its own
 * from the second-level cache, and kernels by rows are bound by that. Then row blocks that sweep x are faster, whatever
 * the lengths of the rows. Judged by a sample: tiles of consecutive entries, as a block of threads takes them, and the
 * share of distinct sectors of x among their entries. On the lists of docs/performance.md it is 0.86 and more for
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

/* Share of distinct sectors of x among `entries` consecutive entries, by the sample. */
static double scattered_share(marked_set *set, const spry_arrays *csr, int64_t per_sector, int64_t entries,
                              int64_t tiles)
{
    int64_t distinct = 0;
    if (csr->nnz < TILE) return 0;
    for (int64_t t = 0; t < tiles; t++) {
        const int64_t tile = (csr->nnz - TILE) / (tiles - 1) * t;
        for (int64_t k = tile; k < tile + TILE; k++) {
            if ((k - tile) % entries == 0) empty(set);
            distinct += add(set, spryi_minor_of(csr, k) / per_sector);
        }
    }
    return (double)distinct / ((double)tiles * TILE);
}

static void find_scattered(spryi_features *f, marked_set *set, const spry_arrays *csr)
{
    const int64_t size = f->number_bytes, tiles = f->effort == SPRYI_QUICK ? QUICK_TILES : TILES;
    const int long_rows = f->lengths.longest > MOST_LONGEST * f->lengths.mean;
    const int by_warps = size == 4 && long_rows && csr->nnz >= LEAST_BY_WARPS;
    if (csr->nnz < LEAST_ENTRIES || csr->cols * size < LEAST_X_BYTES) return;
    f->scattered = scattered_share(set, csr, SECTOR / size, TILE, tiles) >= SCATTERED ||
                   (by_warps && scattered_share(set, csr, SECTOR / size, LANES, tiles) >= SCATTERED_WARPS);
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* Blocks of the block row that has the longest row. */
static void find_longest_blocks(spryi_features *f, marked_set *set, const spry_arrays *csr)
{
    const int64_t block = f->blocks.block, most = sizes_of[f->effort].most_entries;
    const int64_t longest = f->lengths.longest_row;
    int64_t entries = 0;
    if (block <= 1) return;
    const int64_t first = longest / block * block, end = first + block < csr->rows ? first + block : csr->rows;
    empty(set);
    for (int64_t k = spryi_offset_of(csr, first); k < spryi_offset_of(csr, end) && entries < most; k++, entries++)
        f->longest_blocks += add(set, spryi_minor_of(csr, k) / block);
}

static spryi_features begin(const spry_arrays *csr, const spryi_row_profile *lengths, const spryi_look *look)
{
    return (spryi_features){.effort = look->effort,
                            .rows = csr->rows,
                            .cols = csr->cols,
                            .nnz = csr->nnz,
                            .value_bytes = (int)spry_type_bytes(csr->value_type),
                            .index_bytes = (int)spry_index_type_bytes(csr->index_type),
                            .offset_bytes = (int)spry_index_type_bytes(csr->offset_type),
                            .number_bytes = (int)spry_type_bytes(look->vector_type),
                            .lengths = *lengths};
}

spry_status spryi_find_features(spry_context *context, spryi_features *f, const spry_arrays *csr,
                                const spryi_row_profile *lengths, const spryi_look *look, spry_error *err)
{
    spry_status status = SPRY_OK;
    marked_set set = {0};
    spry_arrays with_values = *csr; /* as formats store it that have no patterns */
    with_values.value_type = look->vector_type;
    *f = begin(csr, lengths, look);
    SPRYI_TRY(make_set(context, &set, sizes_of[look->effort].set_bits, err));
    find_slots(f, csr);
    find_sectors(f, &set, csr, look->on_gpu);
    f->relations = spryi_find_relations(csr, look->effort);
    f->packed = spryi_packed_guess_of(csr, look->effort);
    SPRYI_TRY(spryi_find_blocks(&with_values, context, &f->blocks, f->relations.adjacent, (int64_t)lengths->longest,
                                look->effort, err));
    find_longest_blocks(f, &set, csr);
    if (look->on_gpu) find_scattered(f, &set, csr);
    if (look->effort == SPRYI_FULL) SPRYI_TRY(spryi_windowed_guess_of(context, &f->windowed, &with_values, err));
done:
    spryi_release(context, set.slots);
    return status;
}
