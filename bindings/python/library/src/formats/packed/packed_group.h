/*
 * One group of rows from CSR to slices on the host, the same code in two passes: first its slices are chosen and
 * counted, then, when it is known where they go, stored. The two leave a plan between them.
 */
#ifndef SPRYI_PACKED_GROUP_H
#define SPRYI_PACKED_GROUP_H

#include "formats/packed/packed_layout.h"

/* A choice of the measuring pass for a slice. b of the first slice of rows that may be blocks tells if they are. */
typedef struct spryi_packed_choice {
    int64_t low;
    uint8_t kind, full, width, shared, padded, b;
} spryi_packed_choice;

/* A group between the passes: where it begins in each array, and what was chosen. */
typedef struct spryi_packed_plan {
    spryi_packed_counts at;
    int sorted;
    spryi_packed_choice choice[SPRYI_PACKED_GROUP / SPRYI_PACKED_LANES];
} spryi_packed_plan;

/* Addresses of later entries, to be fetched; 0: none. */
typedef struct spryi_packed_fetch {
    uintptr_t values, columns;
    size_t column_bytes; /* that go with a line of values */
} spryi_packed_fetch;

/* A group of rows in one of the passes. */
typedef struct spryi_packed_group {
    const spry_arrays *csr;
    spryi_packed *s; /* where slices are stored; NULL: they are measured */
    spryi_packed_plan *plan;
    int b;
    int64_t begin, end;     /* rows */
    int stream;             /* values are written past the caches */
    int taken;              /* slices of the plan */
    int64_t long_over;      /* entries from which on rows are long */
    spryi_packed_counts at; /* so far */
    int sorted;             /* lanes are rows in the order: */
    uint16_t order[SPRYI_PACKED_GROUP];
    int list;        /* distances of the last list; 0: none */
    int64_t list_at; /* in units */
    int32_t distances[SPRYI_PACKED_LANES];
    spryi_packed_fetch ahead;
} spryi_packed_group;

/*
 * packed_blocks.c: the largest b of which nearly all block rows are made, by samples at even distances; 1: none.
 * Patterns are not looked at: without values blocks spare little, and kernels would be needed twice.
 */
struct spryi_column_reader;
spry_status spryi_packed_find_block(struct spryi_column_reader *reader, int64_t *block, spry_error *err);

/* 1 if rows from `row` on, a multiple of b, are dense blocks at multiples of b, none of over long_over entries. */
int spryi_packed_has_blocks(const spry_arrays *csr, int64_t row, int64_t rows, int b, int64_t long_over);

/* packed_group.c: the group of rows n * spryi_packed_group_rows(block) and on, to be measured. */
spryi_packed_group spryi_packed_group_of(const spry_arrays *csr, int64_t block, spryi_packed_plan *plan, int64_t n);
/* Measures or stores the slices and long rows of the group; g->at tells where it ends. */
void spryi_packed_make_slices(spryi_packed_group *g);

#endif
