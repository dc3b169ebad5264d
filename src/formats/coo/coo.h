/*
 * COO on the CPU.
 *
 *     a . b .        rows     0 0 1 2 2
 *     . c . .        columns  0 2 1 0 3
 *     d . . e        values   a b c d e
 *
 * Sorted by row. Of a CSR matrix only the rows are made, columns and values stay the user's; a COO matrix
 * known to be sorted is used as it is; anything else is sorted into a copy.
 *
 * Entries are cut into blocks of a constant number, whatever the threads. A block whose first row began in
 * the block before keeps that row's sum apart; those sums are added in order when all blocks are done.
 * Transposed: shared/column_windows.h, in parts of as many entries.
 */
#pragma once

#include "core/kernel.h"
#include "formats/shared/column_windows.h"
#include "formats/shared/run_blocks.h"

enum { SPRYI_COO_BLOCK = 32768 };

typedef struct spryi_coo {
    spry_arrays a;      /* COO sorted by row */
    spry_matrix *owned; /* of a conversion, or NULL */
    void *rows;         /* made here beside borrowed columns and values, or NULL */
    int64_t block_count;
    spryi_windows windows; /* for the transposed product, else empty */
} spryi_coo;

extern const spryi_format spryi_format_coo;
extern const struct spryi_estimator spryi_coo_estimator; /* coo_work.c */
extern const spryi_kernel spryi_coo_portable_cpu, spryi_coo_segmented_cuda;
