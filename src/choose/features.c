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
    SORTED_PLACES = 512,    /* groups of them */
    PLACES = 64,            /* of neighbouring rows, */
    NEAR_ROWS = 128,        /* each of so many */
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

static void add_slots(slot_sums *sums, const spry_arrays *csr, int64_t first, int64_t end)
{
    int64_t sorted[SORTED], count = 0;
    for (int64_t i = first; i < end; i++, count++) {
        const int64_t length = length_of(csr, i);
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

static void find_slots(spryi_features *f, const spry_arrays *csr)
{
    const int64_t groups = (csr->rows + SORTED - 1) / SORTED, places = groups < SORTED_PLACES ? groups : SORTED_PLACES;
    slot_sums sums = {0};
    for (int64_t p = 0; p < places; p++) {
        const int64_t first = groups * p / places * SORTED;
        const int64_t end = first + SORTED < csr->rows ? first + SORTED : csr->rows;
        add_slots(&sums, csr, first, end);
    }
    f->slots = sums.entries > 0 ? sums.slots / sums.entries : 1;
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

static spry_status find_sectors(spry_context *context, spryi_features *f, const spry_arrays *csr, spry_error *err)
{
    const int64_t groups = (csr->rows + NEAR_ROWS - 1) / NEAR_ROWS, places = groups < PLACES ? groups : PLACES;
    sector_sums sums = {0};
    marked_set *set = NULL;
    spry_status status = SPRYI_NEW(context, &set, 1, "sectors of x", err);
    if (status != SPRY_OK) return status;
    memset(set, 0, sizeof *set);
    for (int64_t p = 0; p < places; p++) {
        const int64_t first = groups * p / places * NEAR_ROWS;
        const int64_t end = first + NEAR_ROWS < csr->rows ? first + NEAR_ROWS : csr->rows;
        add_place(&sums, set, csr, first, end, SECTOR / f->number_bytes);
    }
    spryi_release(context, set);
    const double entries = sums.entries > 0 ? sums.entries : 1;
    f->slot_sectors = sums.slots / entries;
    f->warp_sectors = sums.warps / entries;
    f->near_sectors = sums.near / entries;
    return SPRY_OK;
}

spry_status spryi_find_features(spry_context *context, spryi_features *f, const spry_arrays *csr, spry_type vector_type,
                                const spryi_row_profile *lengths, spry_error *err)
{
    spry_status status = SPRY_OK;
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
    find_slots(f, csr);
    SPRYI_TRY(find_sectors(context, f, csr, err));
    SPRYI_TRY(spryi_find_blocks(&with_values, context, &f->blocks, err));
    SPRYI_TRY(spryi_windowed_guess_of(context, &f->windowed, &with_values, err));
done:
    return status;
}
