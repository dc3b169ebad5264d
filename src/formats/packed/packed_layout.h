/*
 * How a slice of packed is coded: every decision about it, for the host's build (packed_group.c) and the device's
 * (packed_convert.cu). Both give the same bits because this code is the same.
 *
 * A slice is drafted: its lanes with their lengths, then the kind of the fewest bytes (choose_diagonals, or else
 * choose_indices), then its location behind the slices before (locate), then its record of 16 bytes.
 */
#pragma once

#include "formats/packed/packed.h"

/* The parts of each array that slices take; summed up over the slices before, where they begin. */
typedef struct spryi_packed_counts {
    int64_t slices, indexed, slots, units, long_rows, pieces, long_nnz;
} spryi_packed_counts;

/* A slice before it is stored. Lengths and columns are in blocks; entry k of lane l begins at begin[l] + k*b. */
typedef struct spryi_packed_draft {
    int64_t row;
    int b, count;
    int64_t begin[SPRYI_PACKED_LANES];
    int32_t length[SPRYI_PACKED_LANES]; /* 0 where the row is long */
    uint32_t long_lanes;                /* lanes whose rows are long */
    int64_t entries;
    int32_t longest;
    int even; /* 32 lanes of one length */
    /* what it becomes */
    int kind, full, width, sorted, padded;
    int shared; /* its list of distances is that of a slice before */
    int32_t distances[SPRYI_PACKED_LANES];
    int64_t low; /* first column of OFFSETS */
} spryi_packed_draft;

/* Where a slice begins in the values; in units of the indices, where its distances or indices and its masks begin. */
typedef struct spryi_packed_location {
    int64_t values, indices, masks;
} spryi_packed_location;

SPRYI_PACKED_INLINE int64_t spryi_packed_units(int64_t bytes)
{
    return (bytes + SPRYI_PACKED_INDEX_UNIT - 1) / SPRYI_PACKED_INDEX_UNIT;
}

/* `slots` up to where full and padded slices may begin. */
SPRYI_PACKED_INLINE int64_t spryi_packed_align_values(int64_t slots)
{
    return (slots + SPRYI_PACKED_LANES - 1) / SPRYI_PACKED_LANES * SPRYI_PACKED_LANES;
}

/* Entries from which on the block rows of a group are long; the entries of a block count as one. */
SPRYI_PACKED_INLINE int64_t spryi_packed_blocks_over(int64_t entries, int64_t rows)
{
    const int64_t least = SPRYI_PACKED_LONG_LEAST,
                  over = SPRYI_PACKED_LONG_MEANS * (entries / (rows > 0 ? rows : 1) + 1);
    return over > least ? over : least;
}

/* The same where lanes are rows. */
SPRYI_PACKED_INLINE int64_t spryi_packed_rows_over(int64_t blocks_over)
{
    const int64_t most = SPRYI_PACKED_MOST_WIDTH;
    return blocks_over < most ? blocks_over : most;
}

/* Sorting pays where it turns `unsorted` slots of so many slices into that few. */
SPRYI_PACKED_INLINE int spryi_packed_sort_pays(int64_t unsorted, int64_t sorted, int64_t slices)
{
    return unsorted - sorted >= SPRYI_PACKED_SORT_SAVES * slices;
}

/*
 * The most distances that DIAGONALS may have; -1: the slice cannot be of that kind. Each is a slot to go through, so
 * half as many again as the longest lane has: a boundary of a grid with 27 neighbours keeps 27 for 18 entries.
 */
SPRYI_PACKED_INLINE int spryi_packed_most_diagonals(const spryi_packed_draft *n)
{
    const int most = SPRYI_PACKED_LANES, worth = n->longest + n->longest / 2;
    if (n->sorted || n->long_lanes || n->longest > most) return -1;
    return worth < most ? worth : most;
}

/* 1 where DIAGONALS take the fewest bytes; count: distances, -1: none; listed: the last list holds them. */
SPRYI_PACKED_INLINE int spryi_packed_diagonals_pay(const spryi_packed_draft *n, int count, int listed)
{
    const int holes = !(n->even && count == n->longest);
    if (count < 0) return 0;
    return (listed ? 0 : 4 * count) + (holes ? SPRYI_PACKED_LANES * spryi_packed_mask_bytes(count) : 0) <=
           2 * n->entries + (n->even ? 0 : SPRYI_PACKED_LANES);
}

/* 1 where so few lanes lack entries that all slots may have room for all. */
SPRYI_PACKED_INLINE int spryi_packed_may_pad(const spryi_packed_draft *n)
{
    const int64_t slots = (int64_t)n->width * SPRYI_PACKED_LANES;
    return !n->full && (slots - n->entries) * SPRYI_PACKED_PADDING_LIMIT <= slots && slots > 0;
}

SPRYI_PACKED_INLINE void spryi_packed_choose_diagonals(spryi_packed_draft *n, int count, int listed)
{
    n->kind = SPRYI_PACKED_DIAGONALS;
    n->full = (n->even && count == n->longest) || count == 0;
    n->width = count;
    n->shared = listed;
    n->low = INT64_MAX;
    n->padded = spryi_packed_may_pad(n);
}

/* low, high: columns, in blocks; high < 0: there are none. */
SPRYI_PACKED_INLINE void spryi_packed_choose_indices(spryi_packed_draft *n, int64_t low, int64_t high)
{
    n->low = high < 0 ? 0 : low;
    n->kind = high - n->low <= UINT16_MAX && n->low <= INT32_MAX ? SPRYI_PACKED_OFFSETS : SPRYI_PACKED_COLUMNS;
    n->full = n->even;
    n->width = n->longest;
    n->shared = 0;
    n->padded = spryi_packed_may_pad(n);
}

/* Entries, or blocks, that the slice has room for. */
SPRYI_PACKED_INLINE int64_t spryi_packed_room(const spryi_packed_draft *n)
{
    return n->padded ? (int64_t)n->width * SPRYI_PACKED_LANES : n->entries;
}

/* Where the slice lies behind those of *at, to which it is added; *list_at: the last list, maybe its own then. */
SPRYI_PACKED_INLINE spryi_packed_location spryi_packed_locate(spryi_packed_counts *at, int64_t *list_at,
                                                              const spryi_packed_draft *n, int64_t index_bytes)
{
    const int64_t room = spryi_packed_room(n);
    const int diagonals = n->kind == SPRYI_PACKED_DIAGONALS;
    if ((n->full || n->padded) && n->width > 0) at->slots = spryi_packed_align_values(at->slots);
    spryi_packed_location location = {at->slots, at->units, 0};
    if (diagonals && n->shared)
        location.indices = *list_at;
    else if (diagonals)
        at->units += spryi_packed_units(4 * n->width);
    if (diagonals) *list_at = location.indices;
    if (diagonals && !n->full) {
        location.masks = at->units;
        at->units += spryi_packed_units(SPRYI_PACKED_LANES * spryi_packed_mask_bytes(n->width));
    }
    if (!diagonals) {
        const int64_t head = (n->full ? 0 : SPRYI_PACKED_LANES) + (n->sorted ? 2 * SPRYI_PACKED_LANES : 0);
        at->units += spryi_packed_units(head + (n->kind == SPRYI_PACKED_OFFSETS ? 2 : index_bytes) * room);
    }
    at->slots += room * n->b * n->b;
    at->indexed += !diagonals;
    at->slices++;
    return location;
}

SPRYI_PACKED_INLINE spryi_packed_slice spryi_packed_record(const spryi_packed_draft *n,
                                                           const spryi_packed_location *location)
{
    spryi_packed_slice slice;
    slice.values = (uint32_t)location->values;
    slice.indices = (uint32_t)location->indices;
    slice.row = (uint32_t)(n->row / SPRYI_PACKED_LANES);
    slice.info = (uint32_t)n->kind | (uint32_t)n->b << SPRYI_PACKED_BLOCK_SHIFT |
                 (uint32_t)n->width << SPRYI_PACKED_WIDTH_SHIFT |
                 (uint32_t)(location->values >> 32) << SPRYI_PACKED_VALUES_SHIFT;
    if (n->full) slice.info |= SPRYI_PACKED_FULL;
    if (n->sorted) slice.info |= SPRYI_PACKED_SORTED;
    if (n->padded) slice.info |= SPRYI_PACKED_PADDED;
    return slice;
}

SPRYI_PACKED_INLINE int32_t spryi_packed_extra(const spryi_packed_draft *n, const spryi_packed_location *location)
{
    if (n->kind == SPRYI_PACKED_DIAGONALS) return (int32_t)location->masks;
    return (int32_t)(n->low < INT32_MAX ? n->low : 0);
}

/* The record that ends the slices. */
SPRYI_PACKED_INLINE spryi_packed_slice spryi_packed_end_record(const spryi_packed *s)
{
    spryi_packed_slice slice;
    slice.values = (uint32_t)s->slots;
    slice.indices = (uint32_t)s->units;
    slice.row = (uint32_t)((s->a.rows + SPRYI_PACKED_LANES - 1) / SPRYI_PACKED_LANES);
    slice.info = (uint32_t)(s->slots >> 32) << SPRYI_PACKED_VALUES_SHIFT;
    return slice;
}

/* b is looked for by samples of block rows, at even distances; of those not empty, 1 in OTHERS may be no blocks. */
enum { SPRYI_PACKED_SAMPLES = 256, SPRYI_PACKED_OTHERS = 4 };

static inline int spryi_packed_mostly_blocks(int64_t seen, int64_t blocks)
{
    return seen > 0 && (seen - blocks) * SPRYI_PACKED_OTHERS <= seen;
}

/* Groups of rows, where blocks are b x b. */
int64_t spryi_packed_group_count(const spry_arrays *a, int64_t b);
/* The sizes of s; SPRY_TOO_LARGE. */
spry_status spryi_packed_set_sizes(spryi_packed *s, const spryi_packed_counts *sum, spry_error *err);
/* Lists the arrays of s, whose sizes are known; returns how many there are. */
enum { SPRYI_PACKED_ARRAYS = 9 };
int spryi_packed_arrays(void *storage, spryi_section *list);
void spryi_packed_cost(spryi_cost *cost, const spryi_packed *s);
