/* One group of rows from CSR to slices on the host: measured, then written where a scan of the sizes says. */
#pragma once

#include "formats/packed/packed_layout.h"

/* What measuring chose for a slice. b is 1 or the size of the slice's blocks. */
typedef struct spryi_packed_choice {
    int64_t low;
    uint8_t kind, full, width, shared, padded, b;
} spryi_packed_choice;

typedef struct spryi_packed_choices {
    int sorted;
    spryi_packed_choice slice[SPRYI_PACKED_GROUP / SPRYI_PACKED_LANES];
} spryi_packed_choices;

/* Rows begin .. end - 1, which may have b x b blocks. */
typedef struct spryi_packed_group {
    const spry_arrays *csr;
    int b;
    int64_t begin, end;
} spryi_packed_group;

/*
 * Sets *block to the largest b such that nearly all block rows, by samples, are made of b x b blocks; 1 if there is
 * none. Patterns have none: without values blocks save little, and kernels would need second instances.
 */
struct spryi_column_reader;
spry_status spryi_packed_find_block(struct spryi_column_reader *reader, int64_t *block, spry_error *err);

/* Returns group n of spryi_packed_group_rows(block) rows. */
spryi_packed_group spryi_packed_group_of(const spry_arrays *csr, int64_t block, int64_t n);

/* Chooses the slices of the group, and returns their sizes. */
spryi_packed_counts spryi_packed_measure(const spryi_packed_group *g, spryi_packed_choices *choices);

/*
 * Writes the slices and long rows of a measured group to s, from the positions *at on. stream: write values past the
 * caches. share: slices may share values. Returns the elements of s->values that the group takes.
 */
int64_t spryi_packed_write(const spryi_packed_group *g, const spryi_packed_choices *choices, spryi_packed *s,
                           const spryi_packed_counts *at, int stream, int share);
