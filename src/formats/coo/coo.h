/*
 * COO on the CPU.
 *
 *     a . b .        rows     0 0 1 2 2
 *     . c . .        columns  0 2 1 0 3
 *     d . . e        values   a b c d e
 *
 * Entries are sorted by row. For a CSR matrix only the row indices are built, and columns and values are borrowed. A
 * COO matrix known to be sorted is borrowed. Any other matrix is sorted into a copy.
 *
 * The entries are cut into blocks of SPRYI_COO_BLOCK entries, whatever the number of threads is. The sum of a block's
 * first row goes to the workspace, because the row may have begun in the previous block. These sums are added to y in
 * order after all blocks are done. Transposed products use shared/column_windows.h, with parts of equal numbers of
 * entries.
 */
#pragma once

#include "core/kernel.h"
#include "formats/shared/column_windows.h"
#include "formats/shared/run_blocks.h"

enum { SPRYI_COO_BLOCK = 32768 };

typedef struct spryi_coo {
    spry_arrays a;      /* COO sorted by row */
    spry_matrix *owned; /* sorted or converted copy that the storage owns, or NULL */
    void *rows;         /* row indices built for borrowed columns and values, or NULL */
    int64_t block_count;
    spryi_windows windows; /* windows of y for the transposed product; empty in plans without it */
} spryi_coo;

extern const spryi_format spryi_format_coo;
extern const struct spryi_estimator spryi_coo_estimator; /* coo_work.c */
extern const spryi_kernel spryi_coo_portable_cpu, spryi_coo_segmented_cuda;
