/* Parts shared by the CPU kernels of packed: threads, sums of long rows, and the transposed product. */
#pragma once

#include "formats/packed/packed_reader.h"
#include "formats/shared/run_blocks.h"

/*
 * Runs a kernel. slices: writes y of rows that are not long. pieces: writes the sums of pieces of long rows to the
 * workspace.
 */
spry_status spryi_packed_drive(const spryi_run_args *args, spryi_block_fn slices, spryi_block_fn pieces);

/*
 * Runs a kernel for multiple vectors. slices and pieces have a function for each combination of types. A call of a
 * function of `pieces` handles at most SPRYI_PACKED_SUMS vectors.
 */
spry_status spryi_packed_drive_columns(const spryi_run_args *args, const spryi_block_fn slices[SPRYI_VALUE_ROWS],
                                       const spryi_block_fn pieces[SPRYI_VALUE_ROWS]);

enum { SPRYI_PACKED_SUMS = 8 }; /* most sums of a piece of a long row, one per vector */

/* Tables of the functions of packed_panels.tmpl.c. */
#define SPRYI_PACKED_PANELS_ROW(tag, s, v, c, name) panel_##name##_##tag##_32_32,
#define SPRYI_PACKED_PANELS(name)                                                                                      \
    {                                                                                                                  \
        SPRYI_PLAIN_ROWS(SPRYI_PACKED_PANELS_ROW, name) SPRYI_MIXED_ROWS(SPRYI_PACKED_PANELS_ROW, name)                \
    }

/*
 * Returns true if y, with elements of element_bytes, is to be written with non-temporal stores. Such a y is large, or
 * the matrix and the vectors exceed the last-level cache.
 */
bool spryi_packed_streams_y(const spryi_packed *s, int64_t element_bytes);

extern const spryi_run_table spryi_packed_runs_t; /* the transposed product */

/* Returns the bytes of the sums of pieces of long rows, or of the windows of the transposed product. */
int64_t spryi_packed_workspace(const void *storage, spry_type vector_type);

/* Returns a mask of the lanes whose length is greater than k. */
static inline uint32_t spryi_packed_lanes_longer(const uint8_t *length, int k)
{
    uint32_t mask = 0;
    for (int l = 0; l < SPRYI_PACKED_LANES; l++) mask |= (uint32_t)(length[l] > k) << l;
    return mask;
}
