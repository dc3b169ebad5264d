/*
 * GetNNZ and GetVals of seed 002 (Rose, GPU Sparse Matrix Multiplication with CUDA, 2013, sections 4.1 and 4.2),
 * statement by statement. spgemm_seed_getvals_cuda runs them with reset=printed and reset=repaired.
 *
 * Differences of GetNNZ from the listing:
 *   The listing has 128 threads per block, but strides by 32 and adds up 32 counts. Its further threads would mark
 *   columns whose counts are lost, if a row of B has over 32 entries. Here only the first 32 threads mark columns. All
 *   128 threads clear the table, as listed, so each element is cleared up to four times.
 *   Each block also updates the longest row by atomicMax, for which the paper calls Thrust.
 * Differences of GetVals from the listing:
 *   The listing clears the table with ++i, so each thread clears nearly all elements. reset=printed has this fault.
 *   With reset=repaired, i increases by 32, the only difference between the two settings.
 *   The loop over rows does not end after the first barrier, where the listing has a brace. `blockIdx` is
 *   `blockIdx.x`, and `valB` is declared at its use.
 *   The listing adds to C.val without clearing C.val. Here C's values are cleared before the kernel.
 *   __any_sync replaces __any, which newer GPUs lack. A warp barrier after each row of B replaces the assumption that a
 *   warp runs in lockstep.
 * Differences of both: positions have 64 bits, and values may be double. The paper runs "as many blocks as the system
 * will allow". Here a multiprocessor has 16 blocks (parameter blocks), and each block has one table.
 */
#pragma once

#include "study/kernels/seeds_cuda.cuh"

enum { LISTED_NNZ_THREADS = 128, LISTED_VALS_THREADS = 32 };

static __global__ void __launch_bounds__(LISTED_NNZ_THREADS)
    listed_nnz(seed_rows r, int32_t *working_set, int32_t *counts, unsigned *longest)
{
    __shared__ int nz_count[LISTED_NNZ_THREADS];
    const int lane = threadIdx.x;
    int32_t *nonzeros = working_set + blockIdx.x * r.B.cols;
    for (int row = blockIdx.x; row < r.rows; row += gridDim.x) {
        const int64_t a_begin = r.A.p.get(r.first + row), a_end = r.A.p.get(r.first + row + 1);
        if (a_begin == a_end) {
            if (lane == 0) counts[row] = 0;
            __syncthreads();
            continue;
        }
        nz_count[lane] = 0;
        for (int64_t i = lane; i < r.B.cols; i += 32) nonzeros[i] = 0;
        __syncthreads();
        for (int64_t i = a_begin; i < a_end; ++i) {
            const int64_t b_begin = r.B.p.get(r.A.j[i]), b_end = r.B.p.get(r.A.j[i] + 1);
            for (int64_t j = b_begin + lane; lane < 32 && j < b_end; j += 32) {
                const int32_t column = r.B.j[j];
                nz_count[lane] += nonzeros[column] == 0;
                nonzeros[column] = 1;
            }
            __syncthreads();
        }
        if (lane == 0) {
            int nnz = nz_count[0];
            for (int i = 1; i < 32; ++i) nnz += nz_count[i];
            counts[row] = nnz;
            atomicMax(longest, (unsigned)nnz);
        }
        __syncthreads();
    }
}

template <typename V, bool REPAIRED> static __global__ void __launch_bounds__(LISTED_VALS_THREADS)
    listed_vals(seed_rows r, int32_t *tables, const int64_t *Cp, int32_t *Cj, V *Cx)
{
    __shared__ unsigned back;
    const int lane = threadIdx.x;
    int32_t *index_table = tables + blockIdx.x * r.B.cols;
    const V *Ax = (const V *)r.A.x, *Bx = (const V *)r.B.x;
    if (lane == 0) back = 0;
    for (int row = blockIdx.x; row < r.rows; row += gridDim.x) {
        const int64_t a_begin = r.A.p.get(r.first + row), a_end = r.A.p.get(r.first + row + 1);
        for (int64_t i = lane; i < r.B.cols; i += REPAIRED ? 32 : 1) index_table[i] = -1;
        __syncthreads();
        const unsigned entries = (unsigned)(Cp[row + 1] - Cp[row]);
        int32_t *columns = Cj + Cp[row]; /* the listing's gColHashTable */
        V *values = Cx + Cp[row];        /* its gValHashTable */
        for (int64_t i = a_begin; i < a_end; ++i) {
            V a = Ax[i];
            const int64_t b_begin = r.B.p.get(r.A.j[i]), b_end = r.B.p.get(r.A.j[i] + 1);
            for (int64_t j = b_begin + lane; __any_sync(0xffffffffu, j < b_end); j += 32) {
                int32_t column = j < b_end ? r.B.j[j] : -1;
                const int32_t current = column == -1 ? -1 : index_table[column];
                int32_t hash = column != -1 && current == -1 ? (int32_t)atomicInc(&back, entries - 1) : current;
                int32_t *store = hash == -1 ? &hash : &index_table[column];
                *store = hash;
                store = hash == -1 ? &column : &columns[hash];
                *store = column;
                const V b = column == -1 ? 1 : Bx[j];
                V *sum = hash == -1 ? &a : &values[hash];
                *sum += b * a;
            }
            __syncwarp();
        }
    }
}
