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
    SORTED = 256,           /* rows that are sorted by length */
    SORTED_PLACES = 128,    /* groups of them */
    PLACES = 64,            /* of neighbouring rows, or fewer, */
    LEAST_PLACES = 16,      /* so that there are about */
    ENTRIES = 1 << 17,      /* in all of them */
    NEAR_ROWS = 128,        /* of a place */
    MOST_ENTRIES = 1 << 13, /* of a place */
    SET_BITS = 14,
};

/* A set of numbers that is emptied in no time: those of other marks are not in it. */
typedef struct marked_set {
    int64_t number[1 << SET_BITS];
    uint32_t mark[1 << SET_BITS], own;
} marked_set;

/* 1: it was not in the set. */
static int add(marked_set *set, int64_t number)
{
    uint64_t at = (uint64_t)number * 0x9E3779B97F4A7C15u >> (64 - SET_BITS);
    while (set->mark[at] == set->own && set->number[at] != number) at = (at + 1) % (1 << SET_BITS);
    if (set->mark[at] == set->own) return 0;
    set->mark[at] = set->own;
    set->number[at] = number;
    return 1;
}

static int64_t length_of(const spry_arrays *csr, int64_t i)
{
    return spryi_offset_of(csr, i + 1) - spryi_offset_of(csr, i);
}

/* ---- slots -------------------------------------------------------------------------------------------- */

/* Of rows in slices of LANES sorted by length. */
typedef struct slot_sums {
    double entries, slots, whole; /* whole: slots that all rows of a slice have */
} slot_sums;

static void add_slots(slot_sums *sums, const spry_arrays *csr, int64_t first, int64_t end, int64_t most)
{
    int64_t sorted[SORTED], count = 0;
    for (int64_t i = first; i < end; i++, count++) {
        const int64_t length = length_of(csr, i) < most ? length_of(csr, i) : most;
        int64_t at = count;
        for (; at > 0 && sorted[at - 1] < length; at--) sorted[at] = sorted[at - 1];
        sorted[at] = length;
        sums->entries += (double)length;
    }
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
    const int64_t groups = (csr->rows + SORTED - 1) / SORTED, places = groups < SORTED_PLACES ? groups : SORTED_PLACES;
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

/* Of rows first .. end - 1, at most MOST_ENTRIES: sectors of x that entries meet as kernels take them. */
typedef struct sector_sums {
    double entries, slots, warps, near;
} sector_sums;

static void add_place(sector_sums *sums, marked_set *set, const spry_arrays *csr, int64_t first, int64_t end,
                      int64_t per_sector)
{
    const int64_t begin = spryi_offset_of(csr, first);
    while (end > first + 1 && spryi_offset_of(csr, end) - begin > MOST_ENTRIES) end--;
    const int64_t last = spryi_offset_of(csr, end) - begin > MOST_ENTRIES ? begin + MOST_ENTRIES
                                                                          : spryi_offset_of(csr, end);
    set->own++;
    for (int64_t k = begin; k < last; k++) sums->near += add(set, spryi_minor_of(csr, k) / per_sector);
    for (int64_t k = begin; k < last; k++) {
        if ((k - begin) % LANES == 0) set->own++;
        sums->warps += add(set, spryi_minor_of(csr, k) / per_sector);
    }
    for (int64_t slice = first; slice < end; slice += LANES) {
        const int64_t rows = slice + LANES < end ? slice + LANES : end;
        int64_t left = rows - slice;
        for (int64_t n = 0; left > 0; n++) {
            left = 0;
            set->own++;
            for (int64_t i = slice; i < rows; i++) {
                const int64_t k = spryi_offset_of(csr, i) + n;
                if (k >= spryi_offset_of(csr, i + 1) || k >= last) continue;
                sums->slots += add(set, spryi_minor_of(csr, k) / per_sector);
                left++;
            }
        }
    }
    sums->entries += (double)(last - begin);
}

static void find_sectors(spryi_features *f, marked_set *set, const spry_arrays *csr)
{
    const int64_t groups = (csr->rows + NEAR_ROWS - 1) / NEAR_ROWS;
    const double most = ENTRIES / (NEAR_ROWS * fmax(f->lengths.mean, 1));
    const int64_t places = (int64_t)fmin(fmin(fmax(most, LEAST_PLACES), PLACES), (double)groups);
    sector_sums sums = {0};
    for (int64_t p = 0; p < places; p++) {
        const int64_t first = groups * p / places * NEAR_ROWS;
        const int64_t end = first + NEAR_ROWS < csr->rows ? first + NEAR_ROWS : csr->rows;
        add_place(&sums, set, csr, first, end, SECTOR / f->number_bytes);
    }
    const double entries = sums.entries > 0 ? sums.entries : 1;
    f->slot_sectors = sums.slots / entries;
    f->warp_sectors = sums.warps / entries;
    f->near_sectors = sums.near / entries;
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
    TILE = 2048,              /* entries */
    LEAST_ENTRIES = 3 << 19,  /* fewer leave multiprocessors without a batch or two */
    LEAST_BY_WARPS = 1 << 23, /* entries */
    LEAST_X_BYTES = 1 << 19,  /* what first-level caches hold for long is not scattered */
};

/* Share of distinct sectors of x among `entries` consecutive entries, by the sample. */
static double scattered_share(marked_set *set, const spry_arrays *csr, int64_t per_sector, int64_t entries)
{
    int64_t distinct = 0;
    if (csr->nnz < TILE) return 0;
    for (int64_t t = 0; t < TILES; t++) {
        const int64_t tile = (csr->nnz - TILE) / (TILES - 1) * t;
        for (int64_t k = tile; k < tile + TILE; k++) {
            if ((k - tile) % entries == 0) set->own++;
            distinct += add(set, spryi_minor_of(csr, k) / per_sector);
        }
    }
    return (double)distinct / ((double)TILES * TILE);
}

static void find_scattered(spryi_features *f, marked_set *set, const spry_arrays *csr)
{
    const int64_t size = f->number_bytes;
    const int long_rows = f->lengths.longest > MOST_LONGEST * f->lengths.mean;
    const int by_warps = size == 4 && long_rows && csr->nnz >= LEAST_BY_WARPS;
    if (csr->nnz < LEAST_ENTRIES || csr->cols * size < LEAST_X_BYTES) return;
    f->scattered = scattered_share(set, csr, SECTOR / size, TILE) >= SCATTERED ||
                   (by_warps && scattered_share(set, csr, SECTOR / size, LANES) >= SCATTERED_WARPS);
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* Blocks of the block row that has the longest row. */
static void find_longest_blocks(spryi_features *f, marked_set *set, const spry_arrays *csr)
{
    const int64_t block = f->blocks.block;
    int64_t longest = 0, entries = 0;
    if (block <= 1) return;
    for (int64_t i = 1; i < csr->rows; i++)
        if (length_of(csr, i) > length_of(csr, longest)) longest = i;
    const int64_t first = longest / block * block, end = first + block < csr->rows ? first + block : csr->rows;
    set->own++;
    for (int64_t k = spryi_offset_of(csr, first); k < spryi_offset_of(csr, end) && entries < MOST_ENTRIES;
         k++, entries++)
        f->longest_blocks += add(set, spryi_minor_of(csr, k) / block);
}

spry_status spryi_find_features(spry_context *context, spryi_features *f, const spry_arrays *csr, spry_type vector_type,
                                const spryi_row_profile *lengths, spry_error *err)
{
    spry_status status = SPRY_OK;
    marked_set *set = NULL;
    spry_arrays with_values = *csr; /* as formats store it that have no patterns */
    with_values.value_type = vector_type;
    *f = (spryi_features){.rows = csr->rows,
                          .cols = csr->cols,
                          .nnz = csr->nnz,
                          .value_bytes = (int)spry_type_bytes(csr->value_type),
                          .index_bytes = (int)spry_index_type_bytes(csr->index_type),
                          .offset_bytes = (int)spry_index_type_bytes(csr->offset_type),
                          .number_bytes = (int)spry_type_bytes(vector_type),
                          .adjacent = spryi_adjacent_share(csr),
                          .repeated = spryi_unread_share(csr, 0),
                          .moved = spryi_unread_share(csr, 1),
                          .lengths = *lengths,
                          .packed = spryi_packed_guess_of(csr)};
    SPRYI_TRY(SPRYI_NEW(context, &set, 1, "sectors of x", err));
    memset(set, 0, sizeof *set);
    find_slots(f, csr);
    find_sectors(f, set, csr);
    SPRYI_TRY(spryi_find_blocks(&with_values, context, &f->blocks, err));
    find_longest_blocks(f, set, csr);
    find_scattered(f, set, csr);
    SPRYI_TRY(spryi_windowed_guess_of(context, &f->windowed, &with_values, err));
done:
    spryi_release(context, set);
    return status;
}
