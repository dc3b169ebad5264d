/*
 * How long rows are, of offsets that lie on the device: the longest, and the sum of the squares, by one pass. A thread
 * takes rows in turns; a block adds up its threads' in registers and shared memory and the device's in two words, both
 * of whole numbers, so that the order does not matter. It moves the offsets once; the launch and the copy of the words
 * back take longer.
 */
#include "device/cuda/kernels.h"
#include "device/cuda/reduce.cuh"

enum { THREADS = 256, MOST_BLOCKS = 1024 };

/* Of longer rows the square counts as if they were so long: sums stay below 2^64. */
static const long long MOST_SQUARED = 1 << 20;

typedef struct row_words {
    unsigned long long longest, squares;
} row_words;

template <typename P> static __global__ void __launch_bounds__(THREADS)
    sum_rows_kernel(const P *__restrict__ Ap, int64_t rows, row_words *words)
{
    __shared__ unsigned long long scratch[THREADS / 32];
    const int64_t step = (int64_t)gridDim.x * THREADS;
    unsigned long long longest = 0, squares = 0;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < rows; i += step) {
        const long long length = (long long)(Ap[i + 1] - Ap[i]), cut = length < MOST_SQUARED ? length : MOST_SQUARED;
        longest = (unsigned long long)length > longest ? (unsigned long long)length : longest;
        squares += (unsigned long long)(cut * cut);
    }
    squares = sum_of_block<THREADS>(squares, scratch);
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const unsigned long long other = __shfl_down_sync(0xffffffffu, longest, lanes);
        longest = other > longest ? other : longest;
    }
    if (threadIdx.x % 32 == 0) atomicMax(&words->longest, longest);
    if (threadIdx.x == 0) atomicAdd(&words->squares, squares);
}

template <typename P> static void start(const spry_arrays *csr, row_words *words)
{
    const int64_t blocks = ceil_div(csr->rows, THREADS);
    sum_rows_kernel<<<(unsigned)(blocks < MOST_BLOCKS ? blocks : (int64_t)MOST_BLOCKS), THREADS>>>((const P *)
                                                                                                       csr->offsets,
                                                                                                   csr->rows, words);
}

spry_status spry_cuda_sum_rows(const spryi_device *device, spryi_row_sums *sums, const spry_arrays *csr,
                               spry_error *err)
{
    device_scope scope(device->ordinal);
    row_words *words = NULL, here = {0, 0};
    if (scope.code != cudaSuccess) return spry_cuda_fail(err, scope.code, "device");
    spry_status status = spry_cuda_allocate_in_order(device, (void **)&words, sizeof *words, "sums of rows", err);
    if (status != SPRY_OK) return status;
    cudaError_t code = cudaMemsetAsync(words, 0, sizeof *words, 0);
    if (code == cudaSuccess && csr->rows > 0) {
        if (csr->offset_type == SPRY_I32)
            start<int32_t>(csr, words);
        else
            start<int64_t>(csr, words);
        code = cudaGetLastError();
    }
    if (code == cudaSuccess) code = cudaMemcpy(&here, words, sizeof here, cudaMemcpyDeviceToHost);
    spry_cuda_release_in_order(device, words);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "sums of rows");
    *sums = (spryi_row_sums){(double)here.longest, (double)here.squares};
    return SPRY_OK;
}
