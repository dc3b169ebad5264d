/* Between packed_build.c and its template: the work on one super-super-row. */
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

/* The way along a super-super-row. */
typedef struct spryi_packed_walk {
    const spry_arrays *csr;
    spryi_packed *s; /* NULL: only counted */
    int b;
    int64_t begin, end;   /* rows */
    int64_t long_over;    /* entries from which on rows are long */
    spryi_packed_part at; /* so far */
    int sorted;           /* lanes are rows in the order: */
    uint16_t order[SPRYI_PACKED_GROUP];
    int list;        /* distances of the last list; 0: none */
    int64_t list_at; /* in units */
    int32_t distances[SPRYI_PACKED_LANES];
} spryi_packed_walk;

static inline int64_t spryi_packed_units(int64_t bytes)
{
    return (bytes + SPRYI_PACKED_UNIT - 1) / SPRYI_PACKED_UNIT;
}

#endif
