/*
 * Sequential algorithms of the paper GPU Sparse Matrix Multiplication with CUDA, for reading and comparison. All of
 * them keep entries with value zero, although the paper's listings drop these.
 *
 * dot: row times column, CSR x CSC. Every row of A is combined with every column of B, so the cost is at least
 * rows * cols.
 * dense: sums each row in an array with one element per column. The whole array is reset and searched for each row.
 * smmp: two passes. A linked list in one array holds the columns of the current row, so only these are searched and
 * reset. SMMP leaves rows unsorted; this implementation sorts each row at the end.
 */
#pragma once

#include "spgemm/kernels/spgemm.h"

/* Indices of the parameters of spgemm_seed_getvals_cuda and spgemm_seed_together_cuda. */
enum {
    SPRYI_SEED_ROWS,
    SPRYI_SEED_LANES,
    SPRYI_SEED_COUNT,
    SPRYI_SEED_BLOCKS,
    SPRYI_SEED_CLAIM,
    SPRYI_SEED_RESET,
    SPRYI_SEED_SORT
};
/* Values of the first word of the parameters lanes and count, and of sort. Each further word doubles the value. */
enum { SPRYI_SEED_LEAST_LANES = 4, SPRYI_SEED_LEAST_SORT = 32 };
