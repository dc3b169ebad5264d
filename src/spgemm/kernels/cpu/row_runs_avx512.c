/*
 * Runs of rows (row_runs.tmpl.h) in vectors of 512 bits.
 *
 * Idea: consecutive rows whose columns are those of the row before plus a constant add their products in the same
 *       order. The lanes of a vector sum different rows.
 * Work: the rows of a piece, a tile at a time.
 * Cost: see row_runs.tmpl.h.
 * Source: this library; same method as on the GPU (runs_cuda.cu).
 */
#include "spgemm/kernels/cpu/value_vectors_avx512.h"

#define RUN_FUNCTIONS spryi_runs_avx512
#include "spgemm/kernels/cpu/row_runs.tmpl.h"
