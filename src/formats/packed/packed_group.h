/*
 * One group of rows from CSR to slices on the host, the same code in two passes: first its slices are chosen and
 * counted, then, when it is known where they go, stored. The two leave a plan between them.
 */
#pragma once

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
    int64_t numbers; /* that its stored slices take of the values: fewer than planned where slices share them */
    spryi_packed_choice choice[SPRYI_PACKED_GROUP / SPRYI_PACKED_LANES];
} spryi_packed_plan;

/* Addresses of later entries, to be fetched; 0: none. */
typedef struct spryi_packed_fetch {
    uintptr_t values, columns;
    size_t column_bytes; /* that go with a line of values */
} spryi_packed_fetch;

/* Values of a slice that another may have too: where they begin, how many, bits of the slice's first entry. */
enum { SPRYI_PACKED_KEPT = 8 };
typedef struct spryi_packed_kept {
    int64_t at, count;
    uint64_t first;
} spryi_packed_kept;

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
    int share;                                 /* slices may have values together: */
    spryi_packed_kept kept[SPRYI_PACKED_KEPT]; /* the last ones */
    int kept_count;                            /* since the group began */
    int shared, alone;                         /* slices whose values were found, that were looked for in vain */
    uint64_t holes[SPRYI_PACKED_MOST_WIDTH];   /* bits of the last value of each slot, for holes after it */
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

/*
 * packed_share.c: keeps the values of the slice, to be stored at `at`, in mind. 1 if they may turn out to be needless:
 * values before have the same first entry, and to compare others has led to something.
 */
int spryi_packed_may_share(spryi_packed_group *g, const spryi_packed_draft *n, const spryi_packed_location *at);
/* Then, when they are stored: whether they are needless, and *at where they are found. */
int spryi_packed_share_values(spryi_packed_group *g, const spryi_packed_draft *n, spryi_packed_location *at);
/*
 * When all groups are stored: where that halves the values at least, they move together, into an array of their size.
 * Without memory for it everything stays where it is.
 */
void spryi_packed_close_gaps(spry_context *context, spryi_packed *s, const spryi_packed_plan *plans, int64_t groups);

/* Of pairs of rows that follow each other, those with the same values. Pairs of two lengths tell only where they do. */
typedef struct spryi_packed_pairs {
    int64_t same, seen;
} spryi_packed_pairs;

/* Adds rows begin .. end - 1 of csr, whose values are in host memory. */
void spryi_packed_count_pairs(const spry_arrays *csr, int64_t begin, int64_t end, spryi_packed_pairs *pairs);
/* The share of the slices that have another's values: all of their rows have the same. */
double spryi_packed_shared_slices(const spryi_packed_pairs *pairs);
