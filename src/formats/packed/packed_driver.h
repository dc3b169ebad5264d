/* Shared by the CPU kernels of packed: threads, the sums of long rows, and the transposed product. */
#pragma once

#include "formats/packed/packed_reader.h"
#include "formats/shared/run_blocks.h"

/* Runs a kernel's loops. slices: y of rows that are not long; pieces: sums of pieces of long rows, in the workspace. */
spry_status spryi_packed_drive(const spryi_run_args *args, spryi_block_fn slices, spryi_block_fn pieces);

/* The same for several columns, by functions of each row of types; pieces: of at most SPRYI_PACKED_SUMS columns. */
spry_status spryi_packed_drive_columns(const spryi_run_args *args, const spryi_block_fn slices[SPRYI_VALUE_ROWS],
                                       const spryi_block_fn pieces[SPRYI_VALUE_ROWS]);

enum { SPRYI_PACKED_SUMS = 8 }; /* of a piece */

/* The functions of packed_panels.tmpl.c. */
#define SPRYI_PACKED_PANELS_ROW(tag, s, v, c, name) panel_##name##_##tag##_32_32,
#define SPRYI_PACKED_PANELS(name)                                                                                      \
    {                                                                                                                  \
        SPRYI_PLAIN_ROWS(SPRYI_PACKED_PANELS_ROW, name) SPRYI_MIXED_ROWS(SPRYI_PACKED_PANELS_ROW, name)                \
    }

/*
 * 1: y, whose numbers have so many bytes, is written past the caches where it is not read: it would not stay there, as
 * it is large, or matrix and vectors do not fit into the last cache.
 */
int spryi_packed_streams_y(const spryi_packed *s, int64_t number_bytes);

extern const spryi_run_table spryi_packed_runs_t; /* the transposed product */

/* Bytes: sums of pieces, or the windows of the transposed product. */
int64_t spryi_packed_workspace(const void *storage, spry_type vector_type);

/* The lanes whose length is over k. */
static inline uint32_t spryi_packed_lanes_longer(const uint8_t *length, int k)
{
    uint32_t mask = 0;
    for (int l = 0; l < SPRYI_PACKED_LANES; l++) mask |= (uint32_t)(length[l] > k) << l;
    return mask;
}
