/*
 * Reads packed slices lane by lane, for products with multiple vectors. For each lane, lists the positions of its
 * entries (or blocks) in `values` and in x. Lanes are read in order, so a counter for each slot (`rank`) gives the
 * position of the lane's entry among the slot's entries. Lists that are equal for multiple lanes are built once per
 * slice, such as the lists of lanes that have all slots of DIAGONALS.
 */
#pragma once

#include "base/element.h"
#include "formats/packed/packed_reader.h"

enum { SPRYI_PACKED_LIST = SPRYI_PACKED_MOST_WIDTH + 1 };

/*
 * A slice and its current lane. Value e of block n of the lane is element values + value[n] + e*stride[n] of the
 * storage's values.
 */
typedef struct spryi_packed_lanes {
    spryi_packed_view v;
    spry_index_type index_type;
    int64_t x_stride, block_stride; /* number of elements from one row of x to the next, and to the next block row */
    uint32_t rows;                  /* mask of the lanes that are rows of the slice */
    int32_t value_count;            /* number of values of the slice */
    /*
     * Arrays with one element per slot. slot_x: position in x relative to x_base, only for DIAGONALS. slot_value:
     * position of the slot's first value, relative to the slice's values. lanes: number of lanes that have the slot.
     * before: number of entries in earlier slots. rank: number of entries of the slot read so far.
     */
    int64_t slot_x[SPRYI_PACKED_LIST];
    int32_t slot_value[SPRYI_PACKED_LIST], lanes[SPRYI_PACKED_LIST];
    int32_t before[SPRYI_PACKED_LIST], rank[SPRYI_PACKED_LIST];
    /* lists of the current lane, if it cannot use the slots' lists */
    int64_t own_x[SPRYI_PACKED_LIST];
    int32_t own_value[SPRYI_PACKED_LIST], own_stride[SPRYI_PACKED_LIST];
    /* the current lane has `count` blocks; x_at is relative to x_base */
    int count;
    int64_t x_base, values;
    const int64_t *x_at;
    const int32_t *value, *stride;
} spryi_packed_lanes;

/* Starts reading slice k. No lane is selected yet. */
static __attribute__((noinline)) void spryi_packed_open_lanes(spryi_packed_lanes *r, const spryi_packed *s, int64_t k,
                                                              int64_t x_stride)
{
    const spryi_packed_view v = spryi_packed_view_of(s, k);
    r->v = v;
    r->index_type = s->a.index_type;
    r->x_stride = x_stride;
    r->block_stride = v.b * x_stride;
    r->rows = spryi_packed_row_mask(&v);
    int before = 0;
    for (int t = 0; t < v.width; t++) {
        const int lanes = v.dense ? SPRYI_PACKED_LANES : __builtin_popcount(spryi_packed_slot_mask(&v, t));
        r->slot_x[t] = v.distances ? v.distances[t] * r->block_stride : 0;
        r->slot_value[t] = before * v.b * v.b;
        r->lanes[t] = lanes;
        r->before[t] = before;
        r->rank[t] = 0;
        before += lanes;
    }
    r->value_count = before * v.b * v.b;
}

/* Selects lane l of a slice of DIAGONALS. Builds lists for the lane unless it has all slots of a dense slice. */
static inline void spryi_packed_lane_of_diagonals(spryi_packed_lanes *r, int l)
{
    const int bytes = spryi_packed_mask_bytes(r->v.width);
    const uint32_t all = (uint32_t)((UINT64_C(1) << r->v.width) - 1);
    uint32_t slots = r->v.full ? all : 0;
    for (int n = 0; n < bytes && !r->v.full; n++) slots |= (uint32_t)r->v.masks[l * bytes + n] << 8 * n;
    r->x_base = (r->v.row + (int64_t)l * r->v.b) * r->x_stride;
    r->count = __builtin_popcount(slots);
    if (slots == all && r->v.dense) {
        r->x_at = r->slot_x;
        r->values += l;
        return;
    }
    for (int n = 0; slots; slots &= slots - 1, n++) {
        const int t = __builtin_ctz(slots);
        r->own_x[n] = r->slot_x[t];
        r->own_value[n] = r->slot_value[t] + (r->v.dense ? l : r->rank[t]++);
        r->own_stride[n] = r->lanes[t];
    }
    r->value = r->own_value;
    r->stride = r->own_stride;
}

/* Returns the position of x for entry n of the slice, relative to x_base. */
static inline int64_t spryi_packed_x_of(const spryi_packed_lanes *r, int64_t n)
{
    if (r->v.kind == SPRYI_PACKED_OFFSETS) return ((const uint16_t *)r->v.columns)[n] * r->block_stride;
    return spryi_index_at(r->v.columns, r->index_type, n) * r->block_stride;
}

static inline void spryi_packed_lane_of_indices(spryi_packed_lanes *r, int l)
{
    const int count = r->count = r->v.full ? r->v.width : r->v.lengths[l];
    r->x_base = r->v.kind == SPRYI_PACKED_OFFSETS ? r->v.first * r->block_stride : 0;
    if (r->v.dense) {
        for (int t = 0; t < count; t++) r->own_x[t] = spryi_packed_x_of(r, t * SPRYI_PACKED_LANES + l);
        r->values += l;
        return;
    }
    for (int t = 0; t < count; t++) {
        const int32_t rank = r->rank[t]++;
        r->own_x[t] = spryi_packed_x_of(r, r->before[t] + rank);
        r->own_value[t] = r->slot_value[t] + rank;
    }
    r->value = r->own_value;
}

/*
 * Selects lane l, which must be in the mask `rows`. All earlier lanes of the mask must have been selected before, in
 * order.
 */
static __attribute__((noinline)) void spryi_packed_select_lane(spryi_packed_lanes *r, int l)
{
    r->values = r->v.values;
    r->x_at = r->own_x;
    r->value = r->slot_value;
    r->stride = r->lanes;
    if (r->v.kind == SPRYI_PACKED_DIAGONALS)
        spryi_packed_lane_of_diagonals(r, l);
    else
        spryi_packed_lane_of_indices(r, l);
}
