/*
 * The sequential ways of the paper GPU Sparse Matrix Multiplication with CUDA, kept to be read and to be measured
 * against. All keep the structure, numerical zeros included, though the paper's listings drop them.
 *
 * dot: row times column on CSR x CSC; every row of A meets every column of B, so products cost rows * cols and more.
 * dense: row by row into an array of all columns, which is reset and looked through for each row.
 * smmp: two passes; a linked list threads the columns of the row through one array, so that nothing is looked through
 * or reset but what was met. SMMP leaves rows unsorted; here each is sorted at the end.
 */
#pragma once

#include "spgemm/kernels/spgemm.h"

/* Parameters of spgemm_seed_getvals_cuda and spgemm_seed_together_cuda, in their order. Words begin with the least. */
enum {
    SPRYI_SEED_ROWS,
    SPRYI_SEED_LANES,
    SPRYI_SEED_COUNT,
    SPRYI_SEED_BLOCKS,
    SPRYI_SEED_CLAIM,
    SPRYI_SEED_RESET,
    SPRYI_SEED_SORT
};
enum { SPRYI_SEED_LEAST_LANES = 4, SPRYI_SEED_LEAST_SORT = 32 };
