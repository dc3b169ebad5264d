/*
 * Products of COO arrays sorted by row, which coo's CUDA kernels and hyb's have in common. `a` names device arrays:
 * rows, nnz, row_indices, indices and values; columns of 32 bits.
 */
#pragma once

#include "device/cuda/cuda_common.cuh"

/*
 * What coo_segmented keeps of a matrix, *bytes on the device, released by spry_cuda_coo_discard. every_row: rows
 * without entries are written too; else only rows with entries are touched.
 */
spry_status spry_cuda_coo_split(const spryi_device *device, void **splits, int64_t *bytes, const spry_arrays *a,
                                spry_type type, int every_row, spry_error *err);
void spry_cuda_coo_discard(const spryi_device *device, void *splits);
int64_t spry_cuda_coo_workspace(const void *splits); /* bytes, zero before the first run and left so */

/* y = alpha*A*x + beta*y by segmented sums, with the alpha, x, y, workspace and stream of args. float and double. */
template <typename V> spry_status spry_cuda_coo_segments(const void *splits, const spry_arrays *a,
                                                         const spryi_run_args *args, scalar<V> beta, spry_error *err);

/*
 * y += alpha*A*x by atomics. gather: a warp whose entries are all of one row adds them up before, and so goes to y
 * once for 32 entries.
 */
template <typename V>
spry_status spry_cuda_coo_atomics(const spry_arrays *a, const spryi_run_args *args, int gather, spry_error *err);
