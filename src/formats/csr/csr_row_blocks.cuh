/*
 * The row blocks of CSR-Adaptive (Evtushenko 2019; Greathouse and Daga 2014). csr_scatter uses them as well.
 *
 *     rows of 2, 3, 1, 9, 0 and 4 entries; NNZ_PER_WG = 6, parts of 4:
 *
 *     (row, part)   0,0   3,0   3,1   3,2   4,0   6,0 (end)
 *     entries       2+3+1   4     4     1   0+4
 *
 * Each row block is multiplied by one block of threads. A row block has rows with at most NNZ_PER_WG entries together,
 * and at most NNZ_PER_WG rows. A row with more entries has one row block per part, so a row block is a pair (row,
 * part).
 */
#pragma once

#include "device/cuda/cuda_common.cuh"

/*
 * Entries and threads of a row block. The products of the row block are in shared memory. By default a thread has eight
 * entries, all loaded before the first is used. If NNZ is not 0, nnz_per_wg is NNZ.
 */
template <typename V, int NNZ = 0> struct row_block_shape {
    static const int threads = NNZ > 0 || sizeof(V) == 8 ? 256 : 128;
    static const int items = NNZ > 0 ? NNZ / 256 : 8;
    static const int nnz_per_wg = threads * items;
    static const int part = 2 * nnz_per_wg; /* entries of a part */
};

/*
 * Column indices per sector of 32 bytes. A block with multiple rows reads its entries from the start of a sector, so
 * that it also reads the sector's entries before its first row. Including these, a block reads at most NNZ_PER_WG
 * entries.
 */
enum { CSR_SECTOR = 8 };

typedef struct __align__(16) csr_row_block
{
    int64_t row;
    int32_t part;
    int32_t long_row; /* index in long_rows; -1: the block has whole rows */
}
csr_row_block;

typedef struct csr_long_row {
    int64_t row, first, parts; /* the sums of the parts are in slots first .. first + parts - 1 */
} csr_long_row;

/* Auxiliary data of a plan. Pointers are device addresses. */
typedef struct csr_row_blocks {
    int64_t blocks, long_count, part_count;
    csr_row_block *block; /* blocks + 1 elements; the last one has the row after the last block */
    csr_long_row *long_rows;
} csr_row_blocks;

/*
 * Functions of a kernel's descriptor: build and free the csr_row_blocks of the spryi_csr in the request. The parameters
 * of CSR-Adaptive's kernels set NNZ_PER_WG and the length above which a row that is alone in its block is cut into
 * parts.
 */
spry_status spry_cuda_row_blocks_prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes,
                                         spry_error *err);
void spry_cuda_row_blocks_discard(const spryi_device *device, void *auxiliary);

/* Returns the lanes per row if THREADS lanes share `rows` rows: a power of two, at most a warp. */
template <int THREADS> static __device__ __forceinline__ int lanes_for(int rows)
{
    int lanes = 32;
    while (lanes > 1 && lanes * rows > THREADS) lanes /= 2;
    return lanes;
}
