/*
 * Sequential algorithms of the paper GPU Sparse Matrix Multiplication with CUDA, for reading and comparison.
 *
 * dot: row times column, CSR x CSC (listing of section 2.2). Every row of A is combined with every column of B, so the
 * cost is at least rows * cols.
 * dense: sums each row in an array with one element per column (listing of section 3.3). The whole array is reset and
 * searched for each row.
 * smmp: two passes. A linked list in one array holds the columns of the current row, so only these are searched and
 * reset. SMMP leaves rows unsorted; this implementation sorts each row at the end.
 *
 * Differences of all three from the paper: A is read where the listings read C (`C.ir`), and entries with value zero
 * are kept, which the listings drop. Values may be double. The listings append to C. Here a pass with equal loops first
 * counts C's entries, and then C is allocated.
 * dot: duplicates of an entry of B are added, too.
 * dense: `B.ir[i]` is `B.ir[A.jc[i]]`, the array has the type of the values (the listing: int), and `val` is its
 * element. The scan that copies a row also clears the array, and an array of bytes marks its used elements.
 * smmp: the paper cites the package and has no listing. The package links the columns once, into an array of its
 * caller. This implementation links the columns twice.
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
