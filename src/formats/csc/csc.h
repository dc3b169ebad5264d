/*
 * CSC on the CPU.
 *
 *     row 0: a . b .        offsets  0 2 3 4 5      column j holds entries offsets[j] .. offsets[j+1]-1
 *     row 1: . c . .        rows     0 2 1 0 2
 *     row 2: d . . e        values   a d c b e
 *
 * The arrays of A in CSC are those of A^T in CSR, so the storage is a spryi_csr that holds A^T: its rows are A's
 * columns. Blocks, runs and chunks (formats/csr/csr.h) are of A^T, and the kernels are csr's with the products
 * exchanged: y = A*x scatters columns into y, y = A^T*x gathers x and writes each y once. That is what the format is
 * for: many transposed products with a matrix that came in rows, at the speed of plain CSR.
 *
 * A CSC matrix is used where it lies; rows within a column may come in any order and repeat. Of other layouts the
 * storage owns a conversion, whose columns are in the order of the rows (entries at one position in stored order).
 */
#pragma once

#include "formats/csr/csr.h"

extern const spryi_format spryi_format_csc;
extern const spryi_kernel spryi_csc_portable_cpu, spryi_csc_avx2_cpu, spryi_csc_avx512_cpu;
extern const spryi_kernel spryi_csc_scatter_cuda, spryi_csc_vector_cuda, spryi_csc_merge_cuda;
