/*
 * CSC on the CPU.
 *
 *     row 0: a . b .        offsets  0 2 3 4 5      column j holds entries offsets[j] .. offsets[j+1]-1
 *     row 1: . c . .        rows     0 2 1 0 2
 *     row 2: d . . e        values   a d c b e
 *
 * CSC of A is CSR of A^T, so the storage is a spryi_csr of A^T, whose rows are the columns of A. Blocks, runs and
 * chunks (formats/csr/csr.h) are those of A^T. The kernels are csr's with the two products exchanged: y = A*x scatters
 * columns into y, and y = A^T*x gathers x and writes each y once. The format is useful for many transposed products
 * with a matrix that is given by rows: they are as fast as plain products with csr.
 *
 * A CSC matrix is borrowed. Row indices within a column may be in any order and may repeat. For other layouts the
 * storage owns a conversion. Its row indices rise within each column, and entries at the same position remain in the
 * order in which A stores them.
 */
#pragma once

#include "formats/csr/csr.h"

extern const spryi_format spryi_format_csc;
extern const spryi_kernel spryi_csc_portable_cpu, spryi_csc_avx2_cpu, spryi_csc_avx512_cpu;
extern const spryi_kernel spryi_csc_scatter_cuda, spryi_csc_vector_cuda, spryi_csc_merge_cuda;
