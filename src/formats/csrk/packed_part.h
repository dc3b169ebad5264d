/*
 * What both builds of packed share, the host's (packed_build.c and its template) and the device's (packed_convert.cu):
 * the work on one super-super-row, and every decision about it. Bits are the same because the code is.
 */
#ifndef SPRYI_PACKED_PART_H
#define SPRYI_PACKED_PART_H

#include "formats/csrk/packed.h"

/* What a super-super-row takes; scanned, where its share of each array begins. */
typedef struct spryi_packed_part {
    int64_t slices, indexed, slots, units, long_rows, pieces, long_nnz;
} spryi_packed_part;

/* A slice while it is made. Lengths and columns are in blocks; entry k of lane l begins at begin[l] + k*b. */
typedef struct spryi_packed_lanes {
    int64_t row;
    int b, count;
    int64_t begin[SPRYI_PACKED_LANES];
    int32_t length[SPRYI_PACKED_LANES]; /* 0 where the row is long */
    uint32_t outside;                   /* lanes whose rows are long */
    int64_t entries;
    int32_t longest;
    int even; /* 32 lanes of one length */
    /* what it becomes */
    int kind, full, width, shared, sorted, padded;
    int32_t distances[SPRYI_PACKED_LANES];
    int64_t low; /* FIRST */
} spryi_packed_lanes;

/* Where a slice's parts begin: slots of values, units of indices. */
typedef struct spryi_packed_place {
    int64_t values, indices, masks; /* indices: distances where it is STEPPED */
} spryi_packed_place;

SPRYI_PACKED_INLINE int64_t spryi_packed_units(int64_t bytes)
{
    return (bytes + SPRYI_PACKED_UNIT - 1) / SPRYI_PACKED_UNIT;
}

/* `slots` up to where full and padded slices may begin. */
SPRYI_PACKED_INLINE int64_t spryi_packed_align(int64_t slots)
{
    return (slots + SPRYI_PACKED_LANES - 1) / SPRYI_PACKED_LANES * SPRYI_PACKED_LANES;
}

/* Entries from which on blocks' rows of a super-super-row are long, those of a block taken as one. */
SPRYI_PACKED_INLINE int64_t spryi_packed_blocks_over(int64_t entries, int64_t rows)
{
    const int64_t least = SPRYI_PACKED_LONG, over = SPRYI_PACKED_LONG_MEANS * (entries / (rows > 0 ? rows : 1) + 1);
    return over > least ? over : least;
}

/* The same where lanes are rows. */
SPRYI_PACKED_INLINE int64_t spryi_packed_rows_over(int64_t blocks_over)
{
    const int64_t most = SPRYI_PACKED_MOST_WIDTH;
    return blocks_over < most ? blocks_over : most;
}

/* Whether sorting turns so many slots, of `slices` slices, into so few that it pays. */
SPRYI_PACKED_INLINE int spryi_packed_sort_pays(int64_t unsorted, int64_t sorted, int64_t slices)
{
    return unsorted - sorted >= SPRYI_PACKED_SORT_SPARES * slices;
}

/*
 * Distances that are worth looking for; -1: the slice cannot be STEPPED. Each is a slot to go through, so half as many
 * again as the longest lane has: a boundary of a grid with 27 neighbours keeps its 27 distances for 18 entries.
 */
SPRYI_PACKED_INLINE int spryi_packed_most_steps(const spryi_packed_lanes *n)
{
    const int most = SPRYI_PACKED_LANES, steps = n->longest + n->longest / 2;
    if (n->sorted || n->outside || n->longest > most) return -1;
    return steps < most ? steps : most;
}

/* Whether STEPPED takes the fewest bytes; steps: all its distances, -1: none; listed: the last list holds them. */
SPRYI_PACKED_INLINE int spryi_packed_steps_pay(const spryi_packed_lanes *n, int steps, int listed)
{
    const int holes = !(n->even && steps == n->longest);
    if (steps < 0) return 0;
    return (listed ? 0 : 4 * steps) + (holes ? SPRYI_PACKED_LANES * spryi_packed_mask_bytes(steps) : 0) <=
           2 * n->entries + (n->even ? 0 : SPRYI_PACKED_LANES);
}

/* Whether so few lanes lack entries that all slots may have room for all. */
SPRYI_PACKED_INLINE int spryi_packed_may_pad(const spryi_packed_lanes *n)
{
    const int64_t slots = (int64_t)n->width * SPRYI_PACKED_LANES;
    return !n->full && (slots - n->entries) * SPRYI_PACKED_HOLES <= slots && slots > 0;
}

SPRYI_PACKED_INLINE void spryi_packed_settle_stepped(spryi_packed_lanes *n, int steps, int listed)
{
    n->kind = SPRYI_PACKED_STEPPED;
    n->full = (n->even && steps == n->longest) || steps == 0;
    n->width = steps;
    n->shared = listed;
    n->low = INT64_MAX;
    n->padded = spryi_packed_may_pad(n);
}

/* low, high: columns, in blocks; high < 0: there are none. */
SPRYI_PACKED_INLINE void spryi_packed_settle_indexed(spryi_packed_lanes *n, int64_t low, int64_t high)
{
    n->low = high < 0 ? 0 : low;
    n->kind = high - n->low <= UINT16_MAX && n->low <= INT32_MAX ? SPRYI_PACKED_OFFSETS : SPRYI_PACKED_WIDE;
    n->full = n->even;
    n->width = n->longest;
    n->shared = 0;
    n->padded = spryi_packed_may_pad(n);
}

/* Entries, or blocks, that the slice has room for. */
SPRYI_PACKED_INLINE int64_t spryi_packed_room(const spryi_packed_lanes *n)
{
    return n->padded ? (int64_t)n->width * SPRYI_PACKED_LANES : n->entries;
}

/* The settled slice's place behind what is *at; *list_at: the last list, which may become its own. */
SPRYI_PACKED_INLINE spryi_packed_place spryi_packed_take_place(spryi_packed_part *at, int64_t *list_at,
                                                               const spryi_packed_lanes *n, int64_t index_bytes)
{
    const int64_t room = spryi_packed_room(n);
    const int stepped = n->kind == SPRYI_PACKED_STEPPED;
    if ((n->full || n->padded) && n->width > 0) at->slots = spryi_packed_align(at->slots);
    spryi_packed_place place = {at->slots, at->units, 0};
    if (stepped && n->shared)
        place.indices = *list_at;
    else if (stepped)
        at->units += spryi_packed_units(4 * n->width);
    if (stepped) *list_at = place.indices;
    if (stepped && !n->full) {
        place.masks = at->units;
        at->units += spryi_packed_units(SPRYI_PACKED_LANES * spryi_packed_mask_bytes(n->width));
    }
    if (!stepped) {
        const int64_t head = (n->full ? 0 : SPRYI_PACKED_LANES) + (n->sorted ? 2 * SPRYI_PACKED_LANES : 0);
        at->units += spryi_packed_units(head + (n->kind == SPRYI_PACKED_OFFSETS ? 2 : index_bytes) * room);
    }
    at->slots += room * n->b * n->b;
    at->indexed += !stepped;
    at->slices++;
    return place;
}

SPRYI_PACKED_INLINE spryi_packed_slice spryi_packed_record(const spryi_packed_lanes *n, const spryi_packed_place *place)
{
    spryi_packed_slice slice;
    slice.values = (uint32_t)place->values;
    slice.indices = (uint32_t)place->indices;
    slice.row = (uint32_t)(n->row / SPRYI_PACKED_LANES);
    slice.info = (uint32_t)n->kind | (uint32_t)n->b << SPRYI_PACKED_B | (uint32_t)n->width << SPRYI_PACKED_WIDTH |
                 (uint32_t)(place->values >> 32) << SPRYI_PACKED_HIGH;
    if (n->full) slice.info |= SPRYI_PACKED_FULL;
    if (n->sorted) slice.info |= SPRYI_PACKED_SORTED;
    if (n->padded) slice.info |= SPRYI_PACKED_PADDED;
    return slice;
}

SPRYI_PACKED_INLINE int32_t spryi_packed_extra(const spryi_packed_lanes *n, const spryi_packed_place *place)
{
    if (n->kind == SPRYI_PACKED_STEPPED) return (int32_t)place->masks;
    return (int32_t)(n->low < INT32_MAX ? n->low : 0);
}

/* The record that ends the slices. */
SPRYI_PACKED_INLINE spryi_packed_slice spryi_packed_last_record(const spryi_packed *s)
{
    spryi_packed_slice slice;
    slice.values = (uint32_t)s->slots;
    slice.indices = (uint32_t)s->units;
    slice.row = (uint32_t)((s->a.rows + SPRYI_PACKED_LANES - 1) / SPRYI_PACKED_LANES);
    slice.info = (uint32_t)(s->slots >> 32) << SPRYI_PACKED_HIGH;
    return slice;
}

/* b is looked for by samples of block rows, at even distances; nearly all that are not empty must be of blocks. */
enum { SPRYI_PACKED_SAMPLES = 256, SPRYI_PACKED_SHARE = 4 /* but one in so many */ };

static inline int spryi_packed_are_blocks(int64_t seen, int64_t blocks)
{
    return seen > 0 && (seen - blocks) * SPRYI_PACKED_SHARE <= seen;
}

/* packed_figure.c */
int64_t spryi_packed_groups(const spry_arrays *a, int64_t b); /* super-super-rows */
void spryi_packed_set_sizes(spryi_packed *s, const spryi_packed_part *sum);
spry_status spryi_packed_check_sizes(const spryi_packed *s, spry_error *err);
int64_t spryi_packed_array_bytes(const spryi_packed *s);
void spryi_packed_figure(spryi_figure *figure, const spryi_packed *s);

/* What the host's survey settled of a slice; b of the first slice of rows that may be blocks tells whether they are. */
typedef struct spryi_packed_settled {
    int64_t low;
    uint8_t kind, full, width, shared, padded, b;
} spryi_packed_settled;

/* A super-super-row between survey and make: where its share of each array begins, and what was settled. */
typedef struct spryi_packed_surveyed {
    spryi_packed_part at;
    int sorted;
    spryi_packed_settled settled[SPRYI_PACKED_GROUP / SPRYI_PACKED_LANES];
} spryi_packed_surveyed;

/* Addresses that are fetched, not read; 0: none. */
typedef struct spryi_packed_ahead {
    uintptr_t values, columns;
    size_t column_bytes; /* that go with a line of values */
} spryi_packed_ahead;

/* The host's way along a super-super-row. */
typedef struct spryi_packed_walk {
    const spry_arrays *csr;
    spryi_packed *s; /* NULL: it is surveyed */
    int stream;      /* values go past the caches */
    spryi_packed_surveyed *surveyed;
    int taken; /* slices of it */
    int b;
    int64_t begin, end;   /* rows */
    int64_t long_over;    /* entries from which on rows are long */
    spryi_packed_part at; /* so far */
    int sorted;           /* lanes are rows in the order: */
    uint16_t order[SPRYI_PACKED_GROUP];
    int list;        /* distances of the last list; 0: none */
    int64_t list_at; /* in units */
    int32_t distances[SPRYI_PACKED_LANES];
    spryi_packed_ahead ahead;
} spryi_packed_walk;

#endif
