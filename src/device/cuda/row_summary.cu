/*
 * Finds the longest row and the sum of squared row lengths of arrays in device memory. On request, also checks that
 * offsets and indices are valid.
 * Work distribution: threads read entries, then rows, in a grid-stride loop. A thread block combines its results and
 * writes them to host memory. The host then combines the results of all blocks.
 * Cost: offsets once, and indices once if checked. If only offsets are read, launch and wait take longer than reading.
 * A check reports only that the arrays are invalid. The host then searches for the place and the reason.
 */
#include "device/cuda/reduce.cuh"

enum { THREADS = 512, MOST_BLOCKS = 264, MOST_CHECKING = 528 };

/* In sums of squares, longer rows count as if they had this length, so that the sums remain below 2^64. */
static const long long MOST_SQUARED = 1 << 20;

typedef struct row_words {
    unsigned long long longest, squares;
    int bad;
} row_words;

static __device__ void join_block(unsigned long long longest, unsigned long long squares, int bad, row_words *words)
{
    __shared__ unsigned long long scratch[THREADS / 32], longest_of_warp[THREADS / 32];
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const unsigned long long other = __shfl_down_sync(0xffffffffu, longest, lanes);
        longest = other > longest ? other : longest;
    }
    if (threadIdx.x % 32 == 0) longest_of_warp[threadIdx.x / 32] = longest;
    bad = __syncthreads_or(bad); /* also waits until all warps have written longest_of_warp */
    squares = sum_of_block<THREADS>(squares, scratch);
    if (threadIdx.x != 0) return;
    for (int w = 1; w < THREADS / 32; w++) longest = longest_of_warp[w] > longest ? longest_of_warp[w] : longest;
    words[blockIdx.x] = row_words{longest, squares, bad};
}

/* Four consecutive indices, which are loaded together. */
template <typename I> struct __align__(16) four_indices
{
    I at[4];
};

/* Returns whether an index is not in 0 .. cols - 1. */
template <typename I> static __device__ __forceinline__ int is_bad(I j, int64_t cols)
{
    return (unsigned long long)(long long)j >= (unsigned long long)cols;
}

/*
 * Returns whether an index that this thread reads is out of range. All threads together read all indices: four at a
 * time from the first aligned one on, then the others.
 */
template <typename I> static __device__ int has_bad(const I *__restrict__ Aj, int64_t cols, int64_t nnz, int64_t first,
                                                    int64_t step)
{
    const int64_t aligned = (int64_t)(-((uintptr_t)Aj / sizeof(I)) % 4), before = aligned < nnz ? aligned : nnz;
    const int64_t fours = (nnz - before) / 4, after = before + 4 * fours;
    const four_indices<I> *const all = (const four_indices<I> *)(Aj + before);
    int bad = 0;
#pragma unroll 4
    for (int64_t k = first; k < fours; k += step) {
        const four_indices<I> j = all[k];
        bad |= is_bad(j.at[0], cols) | is_bad(j.at[1], cols) | is_bad(j.at[2], cols) | is_bad(j.at[3], cols);
    }
    for (int64_t k = first; k < before; k += step) bad |= is_bad(Aj[k], cols);
    for (int64_t k = after + first; k < nnz; k += step) bad |= is_bad(Aj[k], cols);
    return bad;
}

/* Summarizes rows. If Aj is NULL, neither offsets nor indices are checked. */
template <typename P, typename I> static __global__ void __launch_bounds__(THREADS)
    summarize_kernel(const P *__restrict__ Ap, const I *__restrict__ Aj, int64_t rows, int64_t cols, int64_t nnz,
                     row_words *words)
{
    const int64_t step = (int64_t)gridDim.x * THREADS, first = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    unsigned long long longest = 0, squares = 0;
    int bad = Aj && first == 0 && (Ap[0] != 0 || Ap[rows] != nnz);
    if (Aj) bad |= has_bad(Aj, cols, nnz, first, step);
#pragma unroll 4
    for (int64_t i = first; i < rows; i += step) { /* offsets are read last, so that they remain in the cache */
        const long long length = (long long)(Ap[i + 1] - Ap[i]), cut = length < MOST_SQUARED ? length : MOST_SQUARED;
        bad |= length < 0;
        longest = (unsigned long long)length > longest ? (unsigned long long)length : longest;
        squares += (unsigned long long)(cut * cut);
    }
    join_block(longest, squares, bad, words);
}

template <typename P> static void start_of_offsets(const spry_arrays *a, int checked, int blocks, row_words *words)
{
    const P *const offsets = (const P *)a->offsets;
    if (a->index_type == SPRY_I32)
        summarize_kernel<<<blocks, THREADS>>>(offsets, checked ? (const int32_t *)a->indices : NULL, a->rows,
                                              a->columns, a->nnz, words);
    else
        summarize_kernel<<<blocks, THREADS>>>(offsets, checked ? (const int64_t *)a->indices : NULL, a->rows,
                                              a->columns, a->nnz, words);
}

/* Summarizes the rows. On return, words, an array in host memory, has the results of all blocks. */
static cudaError_t summarize_rows(const spry_arrays *csr, int checked, int blocks, row_words *words)
{
    if (csr->offset_type == SPRY_I32)
        start_of_offsets<int32_t>(csr, checked, blocks, words);
    else
        start_of_offsets<int64_t>(csr, checked, blocks, words);
    const cudaError_t code = cudaGetLastError();
    return code == cudaSuccess ? cudaStreamSynchronize(NULL) : code;
}

static int blocks_for(const spry_arrays *csr, int checked)
{
    const int64_t longest = checked && csr->nnz > csr->rows ? csr->nnz : csr->rows;
    const int64_t wanted = ceil_div(longest, checked ? 8 * THREADS : THREADS);
    const int64_t most = checked ? MOST_CHECKING : MOST_BLOCKS;
    return (int)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

spry_status spry_cuda_summarize_rows(const spryi_device *device, spryi_row_summary *summary, const spry_arrays *csr,
                                     int checked, spry_error *err)
{
    device_scope scope(device->ordinal);
    const int blocks = blocks_for(csr, checked);
    void *answers = NULL;
    *summary = (spryi_row_summary){0, 0, 1};
    if (scope.code != cudaSuccess) return spry_cuda_fail(err, scope.code, "device");
    cudaError_t code = (cudaError_t)spry_cuda_lock_host_block(&answers);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "lengths of rows");
    code = summarize_rows(csr, checked, blocks, (row_words *)answers);
    for (int b = 0; b < blocks && code == cudaSuccess; b++) {
        const row_words *of_block = (const row_words *)answers + b;
        summary->longest = (double)of_block->longest > summary->longest ? (double)of_block->longest : summary->longest;
        summary->squares += (double)of_block->squares;
        summary->sound &= !of_block->bad;
    }
    spry_cuda_unlock_host_block();
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "lengths of rows");
}
