/*
 * csr_merge_cuda: CSR cut by entries, safe for any row lengths, without a conversion. The default.
 *
 * Idea: a block takes the rows that begin in its `tile` consecutive entries. It multiplies their entries into shared
 *       memory, side by side and so in whole sectors whatever the rows, and then adds up row by row with as many lanes
 *       a row as it has. A row of more than LONG entries is cut into pieces, blocks of their own in the same launch;
 *       the piece that finishes last adds up the row's sums in order.
 * Work: nnz / tile blocks and one for each `piece` entries of a long row. Which rows a block has
 *       follows from the offsets alone, by one binary search a block when the plan is made. No block has more than
 *       tile + LONG entries.
 * Cost: bytes of CSR, one 4- or 8-byte row number a block, products once through shared memory.
 *       Deterministic: sums are added in an order that the matrix alone decides.
 * Source: the split by entries: Merrill and Garland, Merge-based parallel SpMV, 2016; products through shared memory:
 *       CSR-Stream of Greathouse and Daga, 2014 (seed 000); this library.
 */
#include "cuda/reduce.cuh"

extern "C" {
#include "formats/csr/csr.h"
}
#include "cuda/kernels.h"

#include <stdlib.h>

/*
 * Measured on an H200 (docs/performance.md): products of f64 take twice the shared memory, which the first-level cache
 * lacks then, and fewer, larger blocks keep their second halves busier; f32 does better with small blocks.
 */
template <typename V> struct shape {
    static const int threads = sizeof(V) == 8 ? 256 : 128;
    static const int items = 8; /* entries a thread has in flight */
    static const int tile = threads * items;
    static const int piece = threads * 16;
};

/*
 * LONG: a longer row is cut into pieces; DIRECT: from this mean row on, where none is over twice
 * as long, lanes read their row's entries straight from
 * memory, which keeps as many in flight and saves the way through shared memory.
 */
enum { LONG = 512, DIRECT = 64 };

typedef struct long_row {
    int64_t row, first, pieces; /* its sums are partial[first .. first + pieces - 1] */
} long_row;

typedef struct piece {
    int64_t begin, end; /* entries */
    int64_t row;        /* index among the long rows */
} piece;

/* What prepare keeps; pointers are device addresses. */
typedef struct merge_splits {
    int tile, piece_entries;
    int64_t blocks, long_count, piece_count;
    int64_t *first_row; /* blocks + 1 */
    long_row *long_rows;
    piece *pieces;
} merge_splits;

/* The long row of a block, row -1 where it has none. */
typedef struct found_row {
    int64_t row, begin, end;
} found_row;

/* first_row[b] = the first row whose entries begin at or after b*tile; the last block takes trailing empty rows. */
template <typename P>
static __global__ void find_rows(const P *Ap, int64_t m, int tile, int64_t blocks, int64_t *first_row)
{
    int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (b > blocks) return;
    int64_t low = 0, high = m, wanted = b * tile;
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
static __global__ void find_long_rows(const P *Ap, int64_t blocks, const int64_t *first_row, found_row *found)
{
    int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= blocks) return;
    int64_t last = first_row[b + 1] - 1;
    int is_long = last >= first_row[b] && (int64_t)(Ap[last + 1] - Ap[last]) > LONG;
    found[b].row = is_long ? last : -1;
    found[b].begin = is_long ? (int64_t)Ap[last] : 0;
    found[b].end = is_long ? (int64_t)Ap[last + 1] : 0;
}

/* ---- the product ----------------------------------------------------------------------------------- */

/* One piece of a long row; the block that arrives last adds up all of the row's sums, always in the same order. */
template <typename V, typename J>
static __device__ void run_piece(const merge_splits s, int64_t p, const J *__restrict__ Aj, const V *__restrict__ Ax,
                                 const V *__restrict__ x, V *y, V alpha, V beta, V *partial, unsigned *arrived,
                                 V *scratch)
{
    constexpr int THREADS = shape<V>::threads;
    const piece mine = s.pieces[p];
    const long_row row = s.long_rows[mine.row];
    V sum = strided_product<THREADS>(mine.begin + threadIdx.x, mine.end, Aj, Ax, x);
    sum = sum_of_block<THREADS>(sum, scratch);
    const int last =
        add_part<THREADS>(&sum, p - row.first, row.pieces, partial + row.first, arrived + mine.row, scratch);
    if (last && threadIdx.x == 0) put(y, row.row, sum, alpha, beta);
}

/* Rows of the block from shared products, LANES lanes a row. */
template <int LANES, typename V, typename P>
static __device__ void add_rows(const P *__restrict__ Ap, int64_t first, int rows, int64_t base, const V *products,
                                V *y, V alpha, V beta)
{
    constexpr int THREADS = shape<V>::threads;
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

/* Every warp finds it for itself: where it is asked, rows are few. */
template <typename P> static __device__ int longest_row(const P *__restrict__ Ap, int64_t first, int rows)
{
    int longest = 0;
    for (int r = threadIdx.x % 32; r < rows; r += 32) {
        int length = (int)(Ap[first + r + 1] - Ap[first + r]);
        if (length > longest) longest = length;
    }
#pragma unroll
    for (int width = 16; width > 0; width /= 2) {
        int other = __shfl_xor_sync(0xffffffffu, longest, width);
        if (other > longest) longest = other;
    }
    return longest;
}

/* Longer rows straight from memory, LANES lanes a row, four entries a lane in flight. */
template <int LANES, typename V, typename P, typename J>
static __device__ void add_direct(const P *__restrict__ Ap, int64_t first, int rows, const J *__restrict__ Aj,
                                  const V *__restrict__ Ax, const V *__restrict__ x, V *y, V alpha, V beta)
{
    constexpr int THREADS = shape<V>::threads;
    int lane = threadIdx.x % LANES;
    for (int r = threadIdx.x / LANES; r - (int)(threadIdx.x / LANES) < rows; r += THREADS / LANES) {
        V sum = 0;
        if (r < rows) {
            P k = Ap[first + r] + lane, end = Ap[first + r + 1];
            for (; k + 3 * LANES < end; k += 4 * LANES) {
                J j[4];
                V a[4];
#pragma unroll
                for (int u = 0; u < 4; u++) j[u] = load_once(Aj + k + u * LANES);
#pragma unroll
                for (int u = 0; u < 4; u++) a[u] = Ax ? load_once(Ax + k + u * LANES) : V(1);
#pragma unroll
                for (int u = 0; u < 4; u++) sum += a[u] * x[j[u]];
            }
            for (; k < end; k += LANES) sum += (Ax ? load_once(Ax + k) : V(1)) * x[load_once(Aj + k)];
        }
#pragma unroll
        for (int width = LANES / 2; width > 0; width /= 2) sum += __shfl_down_sync(0xffffffffu, sum, width, LANES);
        if (r < rows && lane == 0) put(y, first + r, sum, alpha, beta);
    }
}

template <typename V, typename P, typename J>
static __global__ void __launch_bounds__(shape<V>::threads)
    csr_merge(const merge_splits s, const P *__restrict__ Ap, const J *__restrict__ Aj, const V *__restrict__ Ax,
              const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha_given, scalar<V> beta_given, V *partial,
              unsigned *arrived)
{
    constexpr int THREADS = shape<V>::threads, UNROLL = shape<V>::items;
    __shared__ V products[shape<V>::tile + LONG];
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
    if (s.long_count > 0 && end - (int64_t)Ap[first + rows - 1] > LONG) end = (int64_t)Ap[first + --rows];
    const int count = (int)(end - base);
    if (rows > 0 && count / rows >= DIRECT && longest_row(Ap, first, rows) <= 2 * (count / rows)) {
        if (count / rows < 96)
            add_direct<16>(Ap, first, rows, Aj, Ax, x, y, alpha, beta);
        else
            add_direct<32>(Ap, first, rows, Aj, Ax, x, y, alpha, beta);
        return;
    }
    Aj += base;
    if (Ax) Ax += base;

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
    else
        add_rows<8>(Ap, first, rows, base, products, y, alpha, beta);
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

/* Long rows into pieces, on the host: they are few. found[b]: that of block b. */
static spry_status cut_long_rows(merge_splits *s, const found_row *found, spry_error *err)
{
    spry_status status = SPRY_OK;
    cudaError_t code = cudaSuccess;
    long_row *rows = NULL;
    piece *pieces = NULL;
    int64_t l = 0;
    for (int64_t b = 0; b < s->blocks; b++)
        if (found[b].row >= 0) {
            s->long_count++;
            s->piece_count += ceil_div(found[b].end - found[b].begin, s->piece_entries);
        }
    if (s->long_count == 0) return SPRY_OK;
    rows = (long_row *)calloc((size_t)s->long_count, sizeof *rows);
    pieces = (piece *)calloc((size_t)s->piece_count, sizeof *pieces);
    if (!rows || !pieces) {
        status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %lld long rows", (long long)s->long_count);
        goto done;
    }
    for (int64_t b = 0, p = 0; b < s->blocks; b++) {
        int64_t length = found[b].end - found[b].begin;
        if (found[b].row < 0) continue;
        rows[l].row = found[b].row;
        rows[l].first = p;
        rows[l].pieces = ceil_div(length, s->piece_entries);
        for (int64_t q = 0; q < rows[l].pieces; q++, p++) {
            pieces[p].begin = found[b].begin + length * q / rows[l].pieces;
            pieces[p].end = found[b].begin + length * (q + 1) / rows[l].pieces;
            pieces[p].row = l;
        }
        l++;
    }
    status = spry_cuda_new((void **)&s->long_rows, s->long_count * (int64_t)sizeof *rows, "long rows", err);
    if (status == SPRY_OK)
        status = spry_cuda_new((void **)&s->pieces, s->piece_count * (int64_t)sizeof *pieces, "pieces", err);
    if (status != SPRY_OK) goto done;
    code = cudaMemcpy(s->long_rows, rows, (size_t)s->long_count * sizeof *rows, cudaMemcpyHostToDevice);
    if (code == cudaSuccess)
        code = cudaMemcpy(s->pieces, pieces, (size_t)s->piece_count * sizeof *pieces, cudaMemcpyHostToDevice);
    if (code != cudaSuccess) status = spry_cuda_fail(err, code, "csr_merge_cuda: long rows");
done:
    free(rows);
    free(pieces);
    return status;
}

template <typename P> static spry_status find_splits(merge_splits *s, const spry_arrays *a, spry_error *err)
{
    const P *Ap = (const P *)a->offsets;
    const size_t bytes = (size_t)s->blocks * sizeof(found_row);
    found_row *found = NULL, *on_host = NULL;
    cudaError_t code = cudaSuccess;
    spry_status status = spry_cuda_new((void **)&s->first_row, (s->blocks + 1) * 8, "rows of blocks", err);
    if (status == SPRY_OK) status = spry_cuda_new((void **)&found, (int64_t)bytes, "long rows of blocks", err);
    if (status != SPRY_OK) return status;
    find_rows<<<(unsigned)ceil_div(s->blocks + 1, 256), 256>>>(Ap, a->rows, s->tile, s->blocks, s->first_row);
    find_long_rows<<<(unsigned)ceil_div(s->blocks, 256), 256>>>(Ap, s->blocks, s->first_row, found);
    status = launched(err, "csr_merge_cuda: splits");
    on_host = (found_row *)malloc(bytes);
    if (!on_host) status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: rows of blocks");
    if (status == SPRY_OK) code = cudaMemcpy(on_host, found, bytes, cudaMemcpyDeviceToHost);
    if (code != cudaSuccess) status = spry_cuda_fail(err, code, "csr_merge_cuda: splits");
    if (status == SPRY_OK) status = cut_long_rows(s, on_host, err);
    free(on_host);
    (void)cudaFree(found);
    return status;
}

static spry_status prepare(const spryi_cuda_prepare *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)request->storage)->a;
    merge_splits *s = (merge_splits *)calloc(1, sizeof *s);
    if (!s) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: splits");
    int f64 = request->vector_type == SPRY_F64;
    s->tile = f64 ? shape<double>::tile : shape<float>::tile;
    s->piece_entries = f64 ? shape<double>::piece : shape<float>::piece;
    s->blocks = a->nnz > 0 ? ceil_div(a->nnz, s->tile) : 1;
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
    csr_merge<V, P, J><<<(unsigned)(s->blocks + s->piece_count), shape<V>::threads, 0, stream_of(args)>>>(
        *s, (const P *)a->offsets, (const J *)a->indices, (const V *)a->values, (const V *)args->x, (V *)args->y,
        SPRY_ALPHA(V, args), SPRY_BETA(V, args), (V *)args->workspace, arrived);
    return launched(err, "csr_merge_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_cuda_kernel spry_cuda_csr_merge = {"csr_merge_cuda", &runs, NULL, prepare, discard, workspace_bytes};
