/*
 * Compresses B's structure for counting, if B's columns are close together. A pair is the index of a word of 32 columns
 * and a mask of the columns that a row of B has in this word.
 *
 * Idea: rows of meshes with several unknowns per node, of random geometric graphs or of web pages have many columns per
 *       word. The union of rows then needs one operation per pair instead of one per product.
 * Work: a thread processes a row, or its warp if the row is long. The pairs of a row are stored at the offset of its
 *       entries, so no scan is needed. In a long row, a word can have two pairs: every 32 entries, a new pair begins.
 * Cost: B's columns are read once. The workspace has 8 bytes per entry and 4 per row of B, and is freed before C is
 *       allocated. A sample of B's columns decides if pairs are built.
 * Source: compression of the symbolic phase: Deveci, Trott and Rajamanickam 2018 (Kokkos Kernels); pairs in place: this
 *         library.
 */
#include "spgemm/kernels/cuda/steps_cuda.cuh"

enum { PAIR_THREADS = 128, PAIR_LONG = 32, PAIR_STAGED = 1024, PAIR_SAMPLE = 2048, PAIR_SAMPLED = 1 << 20 };

/* A warp samples 32 of every PAIR_SAMPLE entries. */
static __global__ void __launch_bounds__(PAIR_THREADS) sample_columns(gpu_csr B, gpu_row_counts *found)
{
    const int64_t k = ((int64_t)blockIdx.x * PAIR_THREADS + threadIdx.x) / 32 * PAIR_SAMPLE + threadIdx.x % 32;
    const int32_t word = k < B.nnz ? __ldg(B.j + k) >> 5 : -1;
    const int32_t before = __shfl_up_sync(ALL_LANES, word, 1);
    const unsigned same = __ballot_sync(ALL_LANES, word >= 0 && word == before) & ~1u;
    if (threadIdx.x % 32 == 0 && same) atomicAdd(&found->sample_same, (unsigned)__popc(same));
}

spry_status gpu_sample_columns(gpu_work *w, spry_error *err)
{
    if (w->rows.groups || w->rows.B.nnz < PAIR_SAMPLED) return SPRY_OK;
    const int64_t blocks = ceil_div(32 * ceil_div(w->rows.B.nnz, PAIR_SAMPLE), PAIR_THREADS);
    sample_columns<<<(unsigned)blocks, PAIR_THREADS, 0, w->stream>>>(w->rows.B, w->rows.found);
    return launched(err, "spgemm: sample columns");
}

bool gpu_pairs_pay(const gpu_work *w)
{
    return 2 * (int64_t)w->found.sample_same > 31 * (w->rows.B.nnz / PAIR_SAMPLE) && w->found.sample_same > 0;
}

/* Builds the pairs of one row with the warp. Returns their number. */
static __device__ __forceinline__ int pair_long_row(const gpu_csr &B, int64_t start, int64_t end, uint2 *pairs,
                                                    unsigned *masks)
{
    const int lane = threadIdx.x % 32;
    int64_t n = 0;
    for (int64_t k = start + lane; k - lane < end; k += 32) {
        const int32_t column = k < end ? __ldg(B.j + k) : -1, word = column >> 5;
        const int32_t before = __shfl_up_sync(ALL_LANES, word, 1);
        const int first = lane == 0 || word != before;
        const unsigned firsts = __ballot_sync(ALL_LANES, column >= 0 && first);
        const int rank = __popc(firsts & ((2u << lane) - 1)) - 1;
        masks[lane] = 0;
        __syncwarp();
        if (column >= 0) atomicOr(&masks[rank], 1u << (column & 31));
        __syncwarp();
        if (column >= 0 && first) pairs[start + n + rank] = make_uint2((unsigned)word, masks[rank]);
        n += __popc(firsts);
        __syncwarp();
    }
    return (int)n;
}

/* Builds the pairs of a thread's row, whose columns begin at `from`. Returns their number. */
static __device__ __forceinline__ int pair_row(const int32_t *from, int length, uint2 *pairs)
{
    unsigned mask = 0;
    int32_t word = -1;
    int n = -1;
    for (int k = 0; k < length; k++) {
        const int32_t column = from[k];
        if (column >> 5 != word) {
            if (mask) pairs[n] = make_uint2((unsigned)word, mask);
            n++;
            word = column >> 5;
            mask = 0;
        }
        mask |= 1u << (column & 31);
    }
    if (mask) pairs[n] = make_uint2((unsigned)word, mask);
    return n + 1;
}

static __global__ void __launch_bounds__(PAIR_THREADS) build_pairs(gpu_csr B, uint2 *pairs, int32_t *counts)
{
    __shared__ int32_t columns[PAIR_THREADS / 32][PAIR_STAGED];
    __shared__ unsigned masks[PAIR_THREADS];
    const int64_t i = (int64_t)blockIdx.x * PAIR_THREADS + threadIdx.x;
    const int64_t start = B.p.get(min(i, B.rows)), end = B.p.get(min(i + 1, B.rows));
    const int64_t first = __shfl_sync(ALL_LANES, start, 0), staged = __shfl_sync(ALL_LANES, end, 31) - first;
    const int lane = threadIdx.x % 32, by_warp = end - start > PAIR_LONG;
    int32_t *staged_columns = columns[threadIdx.x / 32];
    if (staged <= PAIR_STAGED) {
#pragma unroll 4
        for (int k = lane; k < (int)staged; k += 32) staged_columns[k] = __ldg(B.j + first + k);
        __syncwarp();
    }
    if (!by_warp && i < B.rows)
        counts[i] = pair_row(staged <= PAIR_STAGED ? staged_columns + (start - first) : B.j + start, (int)(end - start),
                             pairs + start);
    for (unsigned left = __ballot_sync(ALL_LANES, by_warp); left; left &= left - 1) {
        const int owner = __ffs((int)left) - 1;
        const int64_t from = __shfl_sync(ALL_LANES, start, owner), to = __shfl_sync(ALL_LANES, end, owner);
        const int n = pair_long_row(B, from, to, pairs, masks + threadIdx.x / 32 * 32);
        if (lane == owner) counts[i] = n;
    }
}

spry_status gpu_build_pairs(gpu_work *w, spry_error *err)
{
    build_pairs<<<(unsigned)ceil_div(w->rows.B.rows, PAIR_THREADS), PAIR_THREADS, 0, w->stream>>>(w->rows.B,
                                                                                                  w->rows.pairs,
                                                                                                  w->rows.pair_counts);
    return launched(err, "spgemm: pairs of B");
}
