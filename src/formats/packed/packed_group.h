/*
 * Conversion of one group of CSR rows to slices on the host. spryi_packed_measure returns the sizes of a group. A scan
 * of the sizes gives the positions at which spryi_packed_write stores the group.
 */
#pragma once

#include "formats/packed/packed_layout.h"

#include <stdbool.h>

/* A slice as chosen by the measurement. b is 1 or the block size. */
typedef struct spryi_packed_choice {
    int64_t low;
    uint8_t kind, full, width, shared, padded, b;
} spryi_packed_choice;

typedef struct spryi_packed_choices {
    bool sorted;
    spryi_packed_choice slice[SPRYI_PACKED_GROUP / SPRYI_PACKED_LANES];
} spryi_packed_choices;

/* A group: rows begin .. end - 1. b: size of the blocks that the rows may consist of; 1: no blocks. */
typedef struct spryi_packed_group {
    const spry_arrays *csr;
    int b;
    int64_t begin, end;
} spryi_packed_group;

/*
 * Sets *block to the largest b for which at least three of four sampled block rows with entries consist of b x b
 * blocks, or to 1 if no such b exists. For a pattern, *block is 1: without values, blocks save few bytes, and kernels
 * would need more instances.
 */
struct spryi_column_reader;
spry_status spryi_packed_find_block(struct spryi_column_reader *reader, int64_t *block, spry_error *err);

/* Returns group n. Groups have spryi_packed_group_rows(block) rows; the last group may have fewer. */
spryi_packed_group spryi_packed_group_of(const spry_arrays *csr, int64_t block, int64_t n);

/* Chooses the kind of each slice of the group. Returns the sizes. */
spryi_packed_counts spryi_packed_measure(const spryi_packed_group *g, spryi_packed_choices *choices);

/*
 * Writes the slices and long rows of a measured group to s, at the positions *at. stream: use non-temporal stores for
 * values. share: slices may share values. Returns the number of elements of s->values used.
 */
int64_t spryi_packed_write(const spryi_packed_group *g, const spryi_packed_choices *choices, spryi_packed *s,
                           const spryi_packed_counts *at, bool stream, bool share);
