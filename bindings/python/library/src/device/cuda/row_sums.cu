/*
 * How long rows are, of offsets that lie on the device: the longest, and the sum of the squares, by one pass. A thread
 * takes rows in turns; a block adds up its threads' in registers and shared memory and writes its sums, of whole
 * numbers, to host memory, where they are added up. It moves the offsets once; the launch and the wait take longer.
 */
#include "device/cuda/kernels.h"
#include "device/cuda/reduce.cuh"

enum { THREADS = 512, MOST_BLOCKS = 264 };

/* Of longer rows the square counts as if they were so long: sums stay below 2^64. */
static const long long MOST_SQUARED = 1 << 20;

typedef struct row_words {
    unsigned long long longest, squares;
} row_words;

template <typename P> static __global__ void __launch_bounds__(THREADS)
    sum_rows_kernel(const P *__restrict__ Ap, int64_t rows, row_words *words)
{
    __shared__ unsigned long long scratch[THREADS / 32], longest_of_warp[THREADS / 32];
    const int64_t step = (int64_t)gridDim.x * THREADS;
    unsigned long long longest = 0, squares = 0;
#pragma unroll 4
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < rows; i += step) {
        const long long length = (long long)(Ap[i + 1] - Ap[i]), cut = length < MOST_SQUARED ? length : MOST_SQUARED;
        longest = (unsigned long long)length > longest ? (unsigned long long)length : longest;
        squares += (unsigned long long)(cut * cut);
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const unsigned long long other = __shfl_down_sync(0xffffffffu, longest, lanes);
        longest = other > longest ? other : longest;
    }
    if (threadIdx.x % 32 == 0) longest_of_warp[threadIdx.x / 32] = longest;
    squares = sum_of_block<THREADS>(squares, scratch); /* all warps have written before it returns */
    if (threadIdx.x != 0) return;
    for (int w = 1; w < THREADS / 32; w++) longest = longest_of_warp[w] > longest ? longest_of_warp[w] : longest;
    words[blockIdx.x].longest = longest;
    words[blockIdx.x].squares = squares;
}

/* The sums of blocks are in answers, in host memory, when it returns. */
static cudaError_t sum_rows(const spry_arrays *csr, int blocks, row_words *answers)
{
    if (csr->offset_type == SPRY_I32)
        sum_rows_kernel<<<blocks, THREADS>>>((const int32_t *)csr->offsets, csr->rows, answers);
    else
        sum_rows_kernel<<<blocks, THREADS>>>((const int64_t *)csr->offsets, csr->rows, answers);
    const cudaError_t code = cudaGetLastError();
    return code == cudaSuccess ? cudaStreamSynchronize(NULL) : code;
}

spry_status spry_cuda_sum_rows(const spryi_device *device, spryi_row_sums *sums, const spry_arrays *csr,
                               spry_error *err)
{
    device_scope scope(device->ordinal);
    const int64_t wanted = ceil_div(csr->rows, THREADS);
    const int blocks = wanted < MOST_BLOCKS ? (int)wanted : (int)MOST_BLOCKS;
    void *answers = NULL;
    *sums = (spryi_row_sums){0, 0};
    if (scope.code != cudaSuccess) return spry_cuda_fail(err, scope.code, "device");
    if (blocks == 0) return SPRY_OK;
    cudaError_t code = (cudaError_t)spry_cuda_take_host_block(&answers);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "sums of rows");
    code = sum_rows(csr, blocks, (row_words *)answers);
    for (int b = 0; b < blocks && code == cudaSuccess; b++) {
        const row_words *of_block = (const row_words *)answers + b;
        sums->longest = (double)of_block->longest > sums->longest ? (double)of_block->longest : sums->longest;
        sums->squares += (double)of_block->squares;
    }
    spry_cuda_give_host_block();
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "sums of rows");
}
