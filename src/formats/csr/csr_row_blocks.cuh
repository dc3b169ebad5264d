/*
 * The row blocks of CSR-Adaptive (Evtushenko 2019; Greathouse and Daga 2014), which csr_scatter uses too.
 *
 *     rows of 2, 3, 1, 9, 0 and 4 entries; NNZ_PER_WG = 6, parts of 4:
 *
 *     (row, part)   0,0   3,0   3,1   3,2   4,0   6,0 (end)
 *     entries       2+3+1   4     4     1   0+4
 *
 * A block of threads for each: as many rows as have NNZ_PER_WG entries together, and as many rows at most; a row with
 * more than that has several blocks, one a part. An array of rows alone could not say so.
 */
#pragma once

#include "device/cuda/cuda_common.cuh"

/* NNZ_PER_WG entries and products of them in shared memory: eight a thread, all in flight at once; or as asked for. */
template <typename V, int NNZ = 0> struct row_block_shape {
    static const int threads = NNZ > 0 || sizeof(V) == 8 ? 256 : 128;
    static const int items = NNZ > 0 ? NNZ / 256 : 8;
    static const int nnz_per_wg = threads * items;
    static const int part = 2 * nnz_per_wg; /* entries of a part of a long row */
};

/*
 * Entries whose columns fill a sector of 32 bytes: blocks of several rows are read from the beginning of one on, and
 * have so much less of NNZ_PER_WG.
 */
enum { CSR_SECTOR = 8 };

typedef struct __align__(16) csr_row_block
{
    int64_t row;
    int32_t part;
    int32_t long_row; /* index among the long rows, -1 for blocks of whole rows */
}
csr_row_block;

typedef struct csr_long_row {
    int64_t row, first, parts; /* the sums of its parts are slots first .. first + parts - 1 */
} csr_long_row;

/* Pointers are device addresses. */
typedef struct csr_row_blocks {
    int64_t blocks, long_count, part_count;
    csr_row_block *block; /* blocks + 1 */
    csr_long_row *long_rows;
} csr_row_blocks;

/*
 * Functions of a kernel's descriptor: csr_row_blocks of the spryi_csr in the request; NNZ_PER_WG, and of a row alone in
 * its block the entries up to which it is not in parts, by the parameters of CSR-Adaptive's kernels.
 */
spry_status spry_cuda_row_blocks_prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes,
                                         spry_error *err);
void spry_cuda_row_blocks_discard(const spryi_device *device, void *auxiliary);

/* Lanes a row when THREADS lanes share `rows` rows: a power of two up to a warp. */
template <int THREADS> static __device__ __forceinline__ int lanes_for(int rows)
{
    int lanes = 32;
    while (lanes > 1 && lanes * rows > THREADS) lanes /= 2;
    return lanes;
}
