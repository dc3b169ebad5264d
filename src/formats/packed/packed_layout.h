/*
 * Encoding of a slice of packed: all decisions, shared by the build on the host (packed_group.c) and on the device
 * (packed_convert.cu). Both builds give the same bits because they share this code.
 *
 * A slice is first a draft: its lanes with their lengths. The draft gets the kind with the fewest bytes
 * (choose_diagonals or choose_indices), then its location after the earlier slices (locate), then its record of 16
 * bytes.
 */
#pragma once

#include "formats/packed/packed.h"

/* Numbers of elements that slices need in each array. The sum over all earlier slices gives a slice's positions. */
typedef struct spryi_packed_counts {
    int64_t slices, indexed, slots, units, long_rows, pieces, long_nnz;
} spryi_packed_counts;

/*
 * A slice before it is stored. Lengths and columns are counted in blocks. Entry k of lane l begins at element
 * begin[l] + k*b of the CSR arrays.
 */
typedef struct spryi_packed_draft {
    int64_t row;
    int b, count;
    int64_t begin[SPRYI_PACKED_LANES];
    int32_t length[SPRYI_PACKED_LANES]; /* 0 if the row is long */
    uint32_t long_lanes;                /* lanes whose rows are long */
    int64_t entries;
    int32_t longest;
    bool even; /* 32 lanes of equal length */
    /* the choice */
    int kind, width;
    bool full, sorted, padded;
    bool shared; /* the slice uses the list of distances of an earlier slice */
    int32_t distances[SPRYI_PACKED_LANES];
    int64_t low; /* first column of OFFSETS */
} spryi_packed_draft;

/*
 * Positions of a slice's parts in the arrays of spryi_packed. `values` counts elements; `indices` (the position of
 * distances or indices) and `masks` count units of SPRYI_PACKED_INDEX_UNIT bytes.
 */
typedef struct spryi_packed_location {
    int64_t values, indices, masks;
} spryi_packed_location;

SPRYI_PACKED_INLINE int64_t spryi_packed_units(int64_t bytes)
{
    return (bytes + SPRYI_PACKED_INDEX_UNIT - 1) / SPRYI_PACKED_INDEX_UNIT;
}

/* Rounds `slots` up to the alignment of full and padded slices. */
SPRYI_PACKED_INLINE int64_t spryi_packed_align_values(int64_t slots)
{
    return (slots + SPRYI_PACKED_LANES - 1) / SPRYI_PACKED_LANES * SPRYI_PACKED_LANES;
}

/*
 * Returns the length, in blocks, above which block rows of a group are long. The group has `rows` rows with `entries`
 * entries.
 */
SPRYI_PACKED_INLINE int64_t spryi_packed_blocks_over(int64_t entries, int64_t rows)
{
    const int64_t least = SPRYI_PACKED_LONG_LEAST,
                  over = SPRYI_PACKED_LONG_MEANS * (entries / (rows > 0 ? rows : 1) + 1);
    return over > least ? over : least;
}

/* Returns the length above which rows are long if lanes are rows. */
SPRYI_PACKED_INLINE int64_t spryi_packed_rows_over(int64_t blocks_over)
{
    const int64_t most = SPRYI_PACKED_MOST_WIDTH;
    return blocks_over < most ? blocks_over : most;
}

/* Returns true if sorting reduces the slots enough for this number of slices. */
SPRYI_PACKED_INLINE bool spryi_packed_sort_pays(int64_t unsorted, int64_t sorted, int64_t slices)
{
    return unsorted - sorted >= SPRYI_PACKED_SORT_SAVES * slices;
}

/*
 * Returns the largest number of distances that the slice may have as DIAGONALS, or -1 if it cannot have that kind. Each
 * distance costs a slot, so the limit is 1.5 times the length of the longest lane, and at most 32. This permits 27
 * distances for rows of 18 entries, as on the boundary of a grid with 27 neighbours.
 */
SPRYI_PACKED_INLINE int spryi_packed_most_diagonals(const spryi_packed_draft *n)
{
    const int most = SPRYI_PACKED_LANES, worth = n->longest + n->longest / 2;
    if (n->sorted || n->long_lanes || n->longest > most) return -1;
    return worth < most ? worth : most;
}

/*
 * Returns true if DIAGONALS take the fewest bytes. count: number of distances, or -1 if there is no list. listed: the
 * list equals the last stored list, so it takes no bytes.
 */
SPRYI_PACKED_INLINE bool spryi_packed_diagonals_pay(const spryi_packed_draft *n, int count, bool listed)
{
    const bool holes = !(n->even && count == n->longest);
    if (count < 0) return false;
    return (listed ? 0 : 4 * count) + (holes ? SPRYI_PACKED_LANES * spryi_packed_mask_bytes(count) : 0) <=
           2 * n->entries + (n->even ? 0 : SPRYI_PACKED_LANES);
}

/* Returns true if so few entries are missing that all slots may have room for all lanes. */
SPRYI_PACKED_INLINE bool spryi_packed_may_pad(const spryi_packed_draft *n)
{
    const int64_t slots = (int64_t)n->width * SPRYI_PACKED_LANES;
    return !n->full && (slots - n->entries) * SPRYI_PACKED_PADDING_LIMIT <= slots && slots > 0;
}

SPRYI_PACKED_INLINE void spryi_packed_choose_diagonals(spryi_packed_draft *n, int count, bool listed)
{
    n->kind = SPRYI_PACKED_DIAGONALS;
    n->full = (n->even && count == n->longest) || count == 0;
    n->width = count;
    n->shared = listed;
    n->low = INT64_MAX;
    n->padded = spryi_packed_may_pad(n);
}

/* Chooses OFFSETS or COLUMNS. low, high: first and last column, in blocks; high < 0 if the slice has no entries. */
SPRYI_PACKED_INLINE void spryi_packed_choose_indices(spryi_packed_draft *n, int64_t low, int64_t high)
{
    n->low = high < 0 ? 0 : low;
    n->kind = high - n->low <= UINT16_MAX && n->low <= INT32_MAX ? SPRYI_PACKED_OFFSETS : SPRYI_PACKED_COLUMNS;
    n->full = n->even;
    n->width = n->longest;
    n->shared = false;
    n->padded = spryi_packed_may_pad(n);
}

/* Returns the number of entries, or blocks, that the slice has room for. */
SPRYI_PACKED_INLINE int64_t spryi_packed_room(const spryi_packed_draft *n)
{
    return n->padded ? (int64_t)n->width * SPRYI_PACKED_LANES : n->entries;
}

/*
 * Returns the location of the slice after the slices in *at. Adds the slice to *at. *list_at: position of the last
 * stored list of distances. If the slice has a list, *list_at becomes the position of this list.
 */
SPRYI_PACKED_INLINE spryi_packed_location spryi_packed_locate(spryi_packed_counts *at, int64_t *list_at,
                                                              const spryi_packed_draft *n, int64_t index_bytes)
{
    const int64_t room = spryi_packed_room(n);
    const bool diagonals = n->kind == SPRYI_PACKED_DIAGONALS;
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

/* Returns the record that follows the last slice. */
SPRYI_PACKED_INLINE spryi_packed_slice spryi_packed_end_record(const spryi_packed *s)
{
    spryi_packed_slice slice;
    slice.values = (uint32_t)s->slots;
    slice.indices = (uint32_t)s->units;
    slice.row = (uint32_t)((s->a.rows + SPRYI_PACKED_LANES - 1) / SPRYI_PACKED_LANES);
    slice.info = (uint32_t)(s->slots >> 32) << SPRYI_PACKED_VALUES_SHIFT;
    return slice;
}

/*
 * The block size b is determined from block rows sampled at equal distances. A b is accepted if at most one in
 * EXCEPTIONS nonempty samples does not consist of dense b x b blocks.
 */
enum { SPRYI_PACKED_SAMPLES = 256, SPRYI_PACKED_EXCEPTIONS = 4 };

static inline bool spryi_packed_mostly_blocks(int64_t seen, int64_t blocks)
{
    return seen > 0 && (seen - blocks) * SPRYI_PACKED_EXCEPTIONS <= seen;
}

/* Returns the number of groups of rows for blocks of b x b. */
int64_t spryi_packed_group_count(const spry_arrays *a, int64_t b);
/* Sets the sizes of s to the counts *sum. Returns SPRY_TOO_LARGE if they exceed the counters of a record. */
spry_status spryi_packed_set_sizes(spryi_packed *s, const spryi_packed_counts *sum, spry_error *err);
/* Lists the arrays of a storage whose sizes are set. Returns the number of arrays. */
enum { SPRYI_PACKED_ARRAYS = 10 };
int spryi_packed_arrays(void *storage, spryi_section *list);
void spryi_packed_cost(spryi_cost *cost, const spryi_packed *s);
