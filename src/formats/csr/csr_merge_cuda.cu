/*
 * csr_merge_cuda: CSR cut by entries, safe for any row lengths, without a conversion. The default.
 *
 * Idea: a block takes the rows that begin in its TILE consecutive entries. It multiplies their entries into shared memory,
 *       side by side and so in whole sectors whatever the rows, and then adds up row by row with as many lanes a row as
 *       it has. A row of more than TILE entries is cut into pieces, blocks of their own in the same launch; the piece that
 *       finishes last adds up the row's sums in order.
 * Work: nnz / TILE blocks of THREADS threads and one for each PIECE entries of a long row. Which rows a block has follows
 *       from the offsets alone, by one binary search a block when the plan is made. No block has more than 2*TILE entries.
 * Cost: bytes of CSR, one 4- or 8-byte row number a block, products once through shared memory.
 *       Deterministic: sums are added in an order that the matrix alone decides.
 * Source: the split by entries: Merrill and Garland, Merge-based parallel SpMV, 2016; products through shared memory:
 *       CSR-Stream of Greathouse and Daga, 2014 (seed 000); this library.
 */
#include "cuda/cuda_common.cuh"

extern "C" {
#include "formats/csr/csr.h"
}
#include "cuda/kernels.h"

#include <stdlib.h>

enum { THREADS = 256, TILE = 2048, PIECE = 8192 };

typedef struct long_row {
    int64_t row, first, pieces; /* its sums are partial[first .. first + pieces - 1] */
} long_row;

typedef struct piece {
    int64_t begin, end; /* entries */
    int64_t row;        /* index among the long rows */
} piece;

/* What prepare keeps; pointers are device addresses. */
typedef struct merge_splits {
    int64_t blocks, long_count, piece_count;
    int64_t *first_row; /* blocks + 1 */
    long_row *long_rows;
    piece *pieces;
} merge_splits;

/* first_row[b] = the first row whose entries begin at or after b*TILE; the last block takes trailing empty rows. */
template <typename P> static __global__ void find_rows(const P *Ap, int64_t m, int64_t blocks, int64_t *first_row)
{
    int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (b > blocks) return;
    int64_t low = 0, high = m, wanted = b * TILE;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if ((int64_t)Ap[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    first_row[b] = b == blocks ? m : low;
}

/* The last row of each block, if it is long; at most one of a block is. */
template <typename P>
static __global__ void find_long_rows(const P *Ap, int64_t blocks, const int64_t *first_row, int64_t *found)
{
    int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= blocks) return;
    int64_t last = first_row[b + 1] - 1;
    found[b] = last >= first_row[b] && (int64_t)(Ap[last + 1] - Ap[last]) > TILE ? last : -1;
}

/* ---- the product ----------------------------------------------------------------------------------- */

/* Sum over the block; thread 0 has it. scratch: THREADS / 32 numbers. */
template <typename V> static __device__ V block_sum(V sum, V *scratch)
{
#pragma unroll
    for (int width = 16; width > 0; width /= 2) sum += __shfl_down_sync(0xffffffffu, sum, width);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < THREADS / 32 ? scratch[threadIdx.x] : V(0);
#pragma unroll
        for (int width = THREADS / 64; width > 0; width /= 2) sum += __shfl_down_sync(0xffffffffu, sum, width);
    }
    return sum;
}

template <typename V, typename J>
static __device__ void run_piece(const merge_splits s, int64_t p, const J *__restrict__ Aj, const V *__restrict__ Ax,
                                 const V *__restrict__ x, V *y, V alpha, V beta, V *partial, unsigned *arrived,
                                 V *scratch)
{
    const piece mine = s.pieces[p];
    V sum = 0;
    int64_t k = mine.begin + threadIdx.x;
    for (; k + 3 * THREADS < mine.end; k += 4 * THREADS) { /* four in flight */
        J j[4];
        V a[4];
#pragma unroll
        for (int u = 0; u < 4; u++) j[u] = load_once(Aj + k + u * THREADS);
#pragma unroll
        for (int u = 0; u < 4; u++) a[u] = Ax ? load_once(Ax + k + u * THREADS) : V(1);
#pragma unroll
        for (int u = 0; u < 4; u++) sum += a[u] * x[j[u]];
    }
    for (; k < mine.end; k += THREADS) sum += (Ax ? load_once(Ax + k) : V(1)) * x[Aj[k]];
    sum = block_sum(sum, scratch);
    if (threadIdx.x != 0) return;
    const long_row row = s.long_rows[mine.row];
    partial[p] = sum;
    __threadfence();
    if (atomicAdd(&arrived[mine.row], 1u) != (unsigned)row.pieces - 1) return;
    arrived[mine.row] = 0; /* as the next run expects it */
    __threadfence();
    V total = 0;
    for (int64_t q = 0; q < row.pieces; q++) total += ((volatile V *)partial)[row.first + q];
    put(y, row.row, total, alpha, beta);
}

/* Rows of the block from shared products, LANES lanes a row. */
template <int LANES, typename V, typename P>
static __device__ void add_rows(const P *__restrict__ Ap, int64_t first, int rows, int64_t base, const V *products,
                                V *y, V alpha, V beta)
{
    int lane = threadIdx.x % LANES;
    for (int r = threadIdx.x / LANES; r - (int)(threadIdx.x / LANES) < rows; r += THREADS / LANES) {
        V sum = 0;
        if (r < rows)
            for (int k = (int)(Ap[first + r] - base) + lane, end = (int)(Ap[first + r + 1] - base); k < end; k += LANES)
                sum += products[k];
#pragma unroll
        for (int width = LANES / 2; width > 0; width /= 2) sum += __shfl_down_sync(0xffffffffu, sum, width, LANES);
        if (r < rows && lane == 0) put(y, first + r, sum, alpha, beta);
    }
}

template <typename V, typename P, typename J>
static __global__ void __launch_bounds__(THREADS)
    csr_merge(const merge_splits s, const P *__restrict__ Ap, const J *__restrict__ Aj, const V *__restrict__ Ax,
              const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha_given, scalar<V> beta_given, V *partial,
              unsigned *arrived)
{
    __shared__ V products[2 * TILE];
    const V alpha = alpha_given.get(), beta = beta_given.get();
    if ((int64_t)blockIdx.x < s.piece_count) { /* the long rows first: they last longest */
        run_piece(s, blockIdx.x, Aj, Ax, x, y, alpha, beta, partial, arrived, products);
        return;
    }
    const int64_t b = (int64_t)blockIdx.x - s.piece_count, first = s.first_row[b];
    int rows = (int)(s.first_row[b + 1] - first);
    if (rows == 0) return;
    const int64_t base = (int64_t)Ap[first];
    int64_t end = (int64_t)Ap[first + rows];
    if (s.long_count > 0 && end - (int64_t)Ap[first + rows - 1] > TILE) end = (int64_t)Ap[first + --rows];
    const int count = (int)(end - base);
    Aj += base;
    if (Ax) Ax += base;

    constexpr int UNROLL = 8;
    int k = threadIdx.x;
    for (; k + (UNROLL - 1) * THREADS < count; k += UNROLL * THREADS) {
        J j[UNROLL];
        V a[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) j[u] = load_once(Aj + k + u * THREADS);
#pragma unroll
        for (int u = 0; u < UNROLL; u++) a[u] = Ax ? load_once(Ax + k + u * THREADS) : V(1);
#pragma unroll
        for (int u = 0; u < UNROLL; u++) products[k + u * THREADS] = a[u] * x[j[u]];
    }
    for (; k < count; k += THREADS) products[k] = (Ax ? load_once(Ax + k) : V(1)) * x[load_once(Aj + k)];
    __syncthreads();

    const int mean = rows > 0 ? count / rows : 0;
    if (mean <= 8)
        add_rows<1>(Ap, first, rows, base, products, y, alpha, beta);
    else if (mean <= 16)
        add_rows<2>(Ap, first, rows, base, products, y, alpha, beta);
    else if (mean <= 32)
        add_rows<4>(Ap, first, rows, base, products, y, alpha, beta);
    else if (mean <= 64)
        add_rows<8>(Ap, first, rows, base, products, y, alpha, beta);
    else
        add_rows<32>(Ap, first, rows, base, products, y, alpha, beta);
}

/* ---- preparation ------------------------------------------------------------------------------------ */

static void discard(int device, void *auxiliary)
{
    merge_splits *s = (merge_splits *)auxiliary;
    (void)device; /* cudaFree finds it out */
    (void)cudaFree(s->first_row);
    (void)cudaFree(s->long_rows);
    (void)cudaFree(s->pieces);
    free(s);
}

/* Long rows into pieces, on the host: they are few. found: the long row of each block, or -1. */
static spry_status cut_long_rows(merge_splits *s, const spry_arrays *a, int64_t *found, spry_error *err)
{
    spry_status status = SPRY_OK;
    cudaError_t code = cudaSuccess;
    size_t size = spry_index_type_bytes(a->offset_type);
    long_row *rows = NULL;
    piece *pieces = NULL;
    int64_t (*ends)[2] = NULL;
    for (int64_t b = 0; b < s->blocks; b++)
        if (found[b] >= 0) found[s->long_count++] = found[b];
    if (s->long_count == 0) return SPRY_OK;
    rows = (long_row *)calloc((size_t)s->long_count, sizeof *rows);
    ends = (int64_t(*)[2])calloc((size_t)s->long_count, sizeof *ends);
    if (!rows || !ends) goto out_of_memory;
    for (int64_t l = 0; l < s->long_count; l++) {
        int32_t narrow[2];
        const char *from = (const char *)a->offsets + (size_t)found[l] * size;
        code = cudaMemcpy(size == 4 ? (void *)narrow : (void *)ends[l], from, 2 * size, cudaMemcpyDeviceToHost);
        if (code != cudaSuccess) goto failed;
        if (size == 4) ends[l][0] = narrow[0], ends[l][1] = narrow[1];
        rows[l].row = found[l];
        rows[l].first = s->piece_count;
        rows[l].pieces = ceil_div(ends[l][1] - ends[l][0], PIECE);
        s->piece_count += rows[l].pieces;
    }
    pieces = (piece *)calloc((size_t)s->piece_count, sizeof *pieces);
    if (!pieces) goto out_of_memory;
    for (int64_t l = 0; l < s->long_count; l++)
        for (int64_t q = 0; q < rows[l].pieces; q++) {
            int64_t length = ends[l][1] - ends[l][0];
            pieces[rows[l].first + q].begin = ends[l][0] + length * q / rows[l].pieces;
            pieces[rows[l].first + q].end = ends[l][0] + length * (q + 1) / rows[l].pieces;
            pieces[rows[l].first + q].row = l;
        }
    status = spry_cuda_new((void **)&s->long_rows, s->long_count * (int64_t)sizeof *rows, "long rows", err);
    if (status == SPRY_OK)
        status = spry_cuda_new((void **)&s->pieces, s->piece_count * (int64_t)sizeof *pieces, "pieces", err);
    if (status != SPRY_OK) goto done;
    code = cudaMemcpy(s->long_rows, rows, (size_t)s->long_count * sizeof *rows, cudaMemcpyHostToDevice);
    if (code == cudaSuccess)
        code = cudaMemcpy(s->pieces, pieces, (size_t)s->piece_count * sizeof *pieces, cudaMemcpyHostToDevice);
    if (code == cudaSuccess) goto done;
failed:
    status = spry_cuda_fail(err, code, "csr_merge_cuda: long rows");
    goto done;
out_of_memory:
    status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %lld long rows", (long long)s->long_count);
done:
    free(rows);
    free(ends);
    free(pieces);
    return status;
}

template <typename P> static spry_status find_splits(merge_splits *s, const spry_arrays *a, spry_error *err)
{
    const P *Ap = (const P *)a->offsets;
    int64_t *found = NULL, *on_host = NULL;
    cudaError_t code = cudaSuccess;
    spry_status status = spry_cuda_new((void **)&s->first_row, (s->blocks + 1) * 8, "rows of blocks", err);
    if (status == SPRY_OK) status = spry_cuda_new((void **)&found, s->blocks * 8, "long rows of blocks", err);
    if (status != SPRY_OK) return status;
    find_rows<<<(unsigned)ceil_div(s->blocks + 1, 256), 256>>>(Ap, a->rows, s->blocks, s->first_row);
    find_long_rows<<<(unsigned)ceil_div(s->blocks, 256), 256>>>(Ap, s->blocks, s->first_row, found);
    status = launched(err, "csr_merge_cuda: splits");
    on_host = (int64_t *)malloc((size_t)s->blocks * 8);
    if (!on_host) status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: rows of blocks");
    if (status == SPRY_OK) code = cudaMemcpy(on_host, found, (size_t)s->blocks * 8, cudaMemcpyDeviceToHost);
    if (code != cudaSuccess) status = spry_cuda_fail(err, code, "csr_merge_cuda: splits");
    if (status == SPRY_OK) status = cut_long_rows(s, a, on_host, err);
    free(on_host);
    (void)cudaFree(found);
    return status;
}

static spry_status prepare(const spryi_cuda_prepare *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)request->storage)->a;
    merge_splits *s = (merge_splits *)calloc(1, sizeof *s);
    if (!s) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: splits");
    s->blocks = a->nnz > 0 ? ceil_div(a->nnz, TILE) : 1;
    spry_status status = a->offset_type == SPRY_I32 ? find_splits<int32_t>(s, a, err) : find_splits<int64_t>(s, a, err);
    if (status != SPRY_OK) {
        discard(request->device, s);
        return status;
    }
    *auxiliary = s;
    *bytes = (s->blocks + 1) * 8 + s->long_count * (int64_t)sizeof(long_row) + s->piece_count * (int64_t)sizeof(piece);
    return SPRY_OK;
}

/* Sums of the pieces, then the counters of the long rows, which are zero between runs. */
static int64_t workspace_bytes(const spryi_cuda_prepare *request, const void *auxiliary)
{
    const merge_splits *s = (const merge_splits *)auxiliary;
    (void)request;
    return s->long_count > 0 ? s->piece_count * 8 + s->long_count * 4 : 0;
}

template <typename V, typename P, typename J>
static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const merge_splits *s = (const merge_splits *)args->auxiliary;
    if (a->rows == 0) return SPRY_OK;
    unsigned *arrived = s->long_count > 0 ? (unsigned *)((char *)args->workspace + s->piece_count * 8) : NULL;
    csr_merge<V, P, J><<<(unsigned)(s->blocks + s->piece_count), THREADS, 0, stream_of(args)>>>(
        *s, (const P *)a->offsets, (const J *)a->indices, (const V *)a->values, (const V *)args->x, (V *)args->y,
        SPRY_ALPHA(V, args), SPRY_BETA(V, args), (V *)args->workspace, arrived);
    return launched(err, "csr_merge_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_cuda_kernel spry_cuda_csr_merge = {"csr_merge_cuda", &runs, NULL, prepare, discard, workspace_bytes};
