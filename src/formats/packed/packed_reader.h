/* Reads packed slices on the host: addresses of a slice's arrays, and its entries slot by slot. */
#pragma once

#include "formats/packed/packed.h"

/* A slice with the addresses of its arrays. */
typedef struct spryi_packed_view {
    int kind, b, width, lanes;
    bool full;
    bool dense;             /* all slots have room for 32 lanes */
    int64_t row, first;     /* row of lane 0; first column of OFFSETS */
    int64_t values;         /* position of the slice's values */
    const uint8_t *lengths; /* NULL: FULL, or DIAGONALS */
    const uint16_t *rows;   /* NULL: not SORTED */
    const int32_t *distances;
    const uint8_t *masks; /* NULL: FULL, or not DIAGONALS */
    const void *columns;  /* offsets of 16 bits, or columns of the matrix's index type; NULL: DIAGONALS */
} spryi_packed_view;

static inline spryi_packed_view spryi_packed_view_of(const spryi_packed *s, int64_t k)
{
    const spryi_packed_slice *slice = &s->slices[k];
    const uint8_t *indices = s->indices + (int64_t)slice->indices * SPRYI_PACKED_INDEX_UNIT;
    spryi_packed_view v = {.kind = spryi_packed_kind_of(slice),
                           .full = (slice->info & SPRYI_PACKED_FULL) != 0,
                           .dense = (slice->info & (SPRYI_PACKED_FULL | SPRYI_PACKED_PADDED)) != 0,
                           .b = spryi_packed_b(slice),
                           .width = spryi_packed_width(slice),
                           .row = (int64_t)slice->row * SPRYI_PACKED_LANES,
                           .values = spryi_packed_values_at(slice)};
    const int64_t left = (s->a.rows - v.row) / v.b;
    v.lanes = left < SPRYI_PACKED_LANES ? (int)left : SPRYI_PACKED_LANES;
    if (v.kind == SPRYI_PACKED_DIAGONALS) {
        v.distances = (const int32_t *)(const void *)indices;
        if (!v.full) v.masks = s->indices + (int64_t)(uint32_t)s->extras[k] * SPRYI_PACKED_INDEX_UNIT;
        return v;
    }
    v.first = s->extras[k];
    if (!v.full) {
        v.lengths = indices;
        indices += SPRYI_PACKED_LANES;
    }
    if (slice->info & SPRYI_PACKED_SORTED) {
        v.rows = (const uint16_t *)(const void *)indices;
        indices += SPRYI_PACKED_LANES * sizeof *v.rows;
    }
    v.columns = indices;
    return v;
}

/* Returns the first row of lane l. */
static inline int64_t spryi_packed_row(const spryi_packed_view *v, int l)
{
    return v->rows ? v->row / SPRYI_PACKED_GROUP * SPRYI_PACKED_GROUP + v->rows[l] : v->row + (int64_t)l * v->b;
}

/*
 * Returns a mask of the lanes that are rows of the slice. Lanes past the last row and lanes of long rows are not in it.
 */
uint32_t spryi_packed_row_mask(const spryi_packed_view *v);
/* Returns a mask of the lanes that have slot k. */
uint32_t spryi_packed_slot_mask(const spryi_packed_view *v, int k);

/* Iterator over the slots of a slice, for code that need not be fast. */
typedef struct spryi_packed_reader {
    const spryi_packed *s;
    spryi_packed_view v;
    int64_t before;  /* number of entries in earlier slots */
    int slot, count; /* count: number of lanes that have the slot */
    uint32_t mask;   /* a bit for each lane, set if the lane has the slot */
    int64_t at;      /* value e of the block of lane l is values[at + e*stride + rank[l]] */
    int stride;
    int32_t rank[SPRYI_PACKED_LANES];
    int64_t column[SPRYI_PACKED_LANES]; /* block column. rank and column are set only for lanes in the mask */
} spryi_packed_reader;

/*
 * spryi_packed_open positions the reader before the first slot of a slice. spryi_packed_next reads the next slot, and
 * returns false after the last slot. s may be unchecked data from a file.
 */
void spryi_packed_open(spryi_packed_reader *reader, const spryi_packed *s, int64_t slice);
bool spryi_packed_next(spryi_packed_reader *reader);
