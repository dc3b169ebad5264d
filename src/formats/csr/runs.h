/*
 * Runs: neighbouring rows of a block whose columns need not all be read.
 *
 *     constant stride   rows of equal length, and each row's columns are the last row's plus one:
 *                           row i: 3 7 8    row i+1: 4 8 9    row i+2: 5 9 10
 *                       as on grids, bands and diagonals. The first row's columns tell all, and x of neighbouring rows
 *                       is loaded in vectors, not gathered.
 *     shared            groups of rows with the same columns, as where finite elements have several unknowns a node. A
 *                       group reads its columns and gathers x once.
 *     general           everything else
 *
 * Runs are found by one reading of the columns. A block that would gain little keeps one general run.
 */
#pragma once

#include "formats/csr/row_blocks.h"

typedef enum spryi_csr_run_kind { SPRYI_RUN_GENERAL, SPRYI_RUN_STRIDED, SPRYI_RUN_SHARED } spryi_csr_run_kind;

typedef struct spryi_csr_run {
    int32_t begin, end; /* rows, counted from the block's first */
    int16_t kind;
    int16_t group;       /* SHARED: rows a group, 2 to SPRYI_MAX_GROUP; end - begin is a multiple */
    int32_t least_spans; /* that a row or group has (spans.h), or 0: it has none */
    int64_t first_span;  /* row after row */
} spryi_csr_run;

enum {
    SPRYI_MAX_GROUP = 8,
    SPRYI_MIN_STRIDED = 8,     /* shorter runs are faster as general rows */
    SPRYI_MIN_RUN_ENTRIES = 16 /* a block whose runs have fewer on average keeps one general run */
};

typedef struct spryi_csr_runs {
    spryi_csr_run *list;
    int64_t count;
    double structured; /* share of the entries in strided and shared runs */
} spryi_csr_runs;

/* The runs of csr in each of its blocks, which are told where theirs are. */
spry_status spryi_csr_runs_find(spry_context *context, spryi_csr_runs *runs, spryi_csr_blocks *blocks,
                                const spry_arrays *csr, spry_error *err);

/* One general run a block, for plans that will not live long enough to profit from more. */
spry_status spryi_csr_runs_general(spry_context *context, spryi_csr_runs *runs, spryi_csr_blocks *blocks,
                                   spry_error *err);
