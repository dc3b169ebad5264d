/*
 * Products of COO arrays sorted by row, for the CUDA kernels of coo and hyb. `a` has device arrays: row_indices,
 * indices (both 32 bits) and values, and the sizes rows and nnz.
 */
#pragma once

#include "device/cuda/cuda_common.cuh"

/*
 * Builds the auxiliary data of coo_segmented for a matrix, in *splits. Sets *bytes to the data's size on the device.
 * spry_cuda_coo_discard frees it. every_row: 1 if products also write y of rows without entries, 0 if they change y
 * only of rows with entries.
 */
spry_status spry_cuda_coo_split(const spryi_device *device, void **splits, int64_t *bytes, const spry_arrays *a,
                                spry_type type, int every_row, spry_error *err);
void spry_cuda_coo_discard(const spryi_device *device, void *splits);
/*
 * Returns the bytes of workspace. The workspace must be filled with zeros before the first run. Each run sets the
 * counters in it to zero again.
 */
int64_t spry_cuda_coo_workspace(const void *splits);

/*
 * Computes y = alpha*A*x + beta*y by segmented sums, with the alpha, x, y, workspace and stream of args. V is float or
 * double.
 */
template <typename V> spry_status spry_cuda_coo_segments(const void *splits, const spry_arrays *a,
                                                         const spryi_run_args *args, scalar<V> beta, spry_error *err);
