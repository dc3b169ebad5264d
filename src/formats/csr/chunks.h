/*
 * Chunks: how y = A^T x is scattered without two threads adding to one y_j.
 *
 * Rows are cut into chunks, consecutive blocks (row_blocks.h) of about equal work, each scattered by one thread:
 *
 *   phases    Chunks that have no page of y in common may go at once, straight into y: they form a phase. Matrices
 *             whose rows are near their columns (grids, meshes, bands) need two to five phases: no memory beside y, and
 *             no byte that the plain product has not, but for reading y. The first chunk to touch a page sets it, so y
 *             is not cleared before.
 *   windows   Where every chunk touches everything (graphs), phases would be one chunk each. Then a few chunks scatter
 *             at once, each into its window, a private copy of the columns between its least and its largest. The
 *             windows are added in order. There are as many chunks as keep all windows within one part in
 *             SPRYI_WINDOW_SHARE of the entries' bytes.
 *
 * The matrix decides, never the number of threads, so the bits of y do not depend on it.
 */
#pragma once

#include "formats/csr/runs.h"

enum { SPRYI_MOST_CHUNKS = 256, SPRYI_MOST_PHASES = 32, SPRYI_MOST_WINDOWS = 8, SPRYI_WINDOW_SHARE = 2 };

/* Columns begin .. end - 1: a part of y. */
typedef struct spryi_csr_range {
    int64_t begin, end;
} spryi_csr_range;

/* Blocks first .. last - 1. */
typedef struct spryi_csr_chunk {
    int64_t first, last;
    int64_t ranges_begin, ranges_end; /* with phases: the columns of y that it sets before it scatters */
    spryi_csr_range window;           /* with windows: the columns that it has a copy of, ... */
    int64_t at;                       /* ... which begins in the workspace after so many numbers */
} spryi_csr_chunk;

typedef struct spryi_csr_chunks {
    spryi_csr_chunk *list;   /* phase by phase */
    spryi_csr_range *ranges; /* disjoint, together all columns */
    int64_t count, range_count;
    int64_t phase_count;                   /* 0: windows */
    int64_t phases[SPRYI_MOST_PHASES + 1]; /* phase f: chunks phases[f] .. phases[f + 1] - 1 */
    int64_t window_numbers;                /* in all windows */
} spryi_csr_chunks;

/* The chunks of csr, whose blocks have their runs, for y of vector_type. One reading of the columns. */
spry_status spryi_csr_chunks_make(spry_context *context, spryi_csr_chunks *chunks, const spry_arrays *csr,
                                  const spryi_csr_blocks *blocks, const spryi_csr_runs *runs, spry_type vector_type,
                                  spry_error *err);
void spryi_csr_chunks_release(spry_context *context, spryi_csr_chunks *chunks);
