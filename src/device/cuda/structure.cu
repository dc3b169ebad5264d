/*
 * Whether offsets and indices of CSR in the device's memory are those of a matrix, by one pass over both. Threads take
 * entries of the two arrays in turns; a block joins what its threads have found and writes one word to host memory. It
 * moves offsets and indices once. Where and what is wrong is not told: the host looks for that.
 */
#include "device/cuda/kernels.h"
#include "device/cuda/reduce.cuh"

enum { THREADS = 512, MOST_BLOCKS = 1056 };

template <typename P, typename I> static __global__ void __launch_bounds__(THREADS)
    find_faults_kernel(const P *__restrict__ Ap, const I *__restrict__ Aj, int64_t rows, int64_t cols, int64_t nnz,
                       int *faults)
{
    const int64_t step = (int64_t)gridDim.x * THREADS, first = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    int bad = first == 0 && (Ap[0] != 0 || Ap[rows] != nnz);
#pragma unroll 4
    for (int64_t i = first; i < rows; i += step) bad |= Ap[i + 1] < Ap[i];
#pragma unroll 4
    for (int64_t k = first; k < nnz; k += step) bad |= Aj[k] < 0 || Aj[k] >= cols;
    bad = __syncthreads_or(bad);
    if (threadIdx.x == 0) faults[blockIdx.x] = bad;
}

template <typename P> static void start_of_offsets(const spry_arrays *a, int blocks, int *faults)
{
    const P *const offsets = (const P *)a->offsets;
    if (a->index_type == SPRY_I32)
        find_faults_kernel<<<blocks, THREADS>>>(offsets, (const int32_t *)a->indices, a->rows, a->cols, a->nnz, faults);
    else
        find_faults_kernel<<<blocks, THREADS>>>(offsets, (const int64_t *)a->indices, a->rows, a->cols, a->nnz, faults);
}

/* The words of blocks are in faults, in host memory, when it returns. */
static cudaError_t find_faults(const spry_arrays *csr, int blocks, int *faults)
{
    if (csr->offset_type == SPRY_I32)
        start_of_offsets<int32_t>(csr, blocks, faults);
    else
        start_of_offsets<int64_t>(csr, blocks, faults);
    const cudaError_t code = cudaGetLastError();
    return code == cudaSuccess ? cudaStreamSynchronize(NULL) : code;
}

spry_status spry_cuda_look_at_structure(const spryi_device *device, int *sound, const spry_arrays *csr,
                                        spry_error *err)
{
    device_scope scope(device->ordinal);
    const int64_t longest = csr->rows > csr->nnz ? csr->rows : csr->nnz, wanted = ceil_div(longest, 4 * THREADS);
    const int blocks = wanted < 1 ? 1 : wanted < MOST_BLOCKS ? (int)wanted : (int)MOST_BLOCKS;
    void *faults = NULL;
    if (scope.code != cudaSuccess) return spry_cuda_fail(err, scope.code, "device");
    cudaError_t code = (cudaError_t)spry_cuda_take_host_block(&faults);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "check of the structure");
    code = find_faults(csr, blocks, (int *)faults);
    *sound = 1;
    for (int b = 0; b < blocks && code == cudaSuccess; b++) *sound &= !((const int *)faults)[b];
    spry_cuda_give_host_block();
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "check of the structure");
}
