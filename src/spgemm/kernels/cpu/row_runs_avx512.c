/*
 * Runs of rows (row_runs.tmpl.h) in vectors of 512 bits.
 *
 * Idea: rows that are each the one before moved add the same products in the same order: they are lanes of a vector.
 * Work: a piece's rows, a tile at a time.
 * Cost: see there.
 * Source: this library; as on the GPU (runs_cuda.cu).
 */
#include "spgemm/kernels/cpu/value_vectors_avx512.h"

#define RUN_FUNCTIONS spryi_runs_avx512
#include "spgemm/kernels/cpu/row_runs.tmpl.h"
