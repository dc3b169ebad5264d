/*
 * csr_merge_cuda: CSR cut by entries, safe for any row lengths, without a conversion. The default.
 *
 * Idea: a block takes the rows that begin in its `tile` consecutive entries. It multiplies their entries into shared
 *       memory, side by side and from the beginning of a sector on, so in whole sectors whatever the rows, and then
 *       adds up row by row with as many lanes a row as it has. A row of more than 512 entries is cut into pieces,
 *       blocks of their own in the same launch; the piece that finishes last adds up the row's sums in order.
 *       Where a quarter of the entries is in such rows, only rows of more than 1024 are cut.
 * Work: nnz / tile blocks and one for each `piece` entries of a long row. Which rows a block has follows from the
 *       offsets alone, by one binary search a block when the plan is made; a block reads it in one go and can begin to
 *       load entries. No block has more than tile + 512 (1024) entries.
 * Cost: bytes of CSR, 32 a block, products once through shared memory.
 *       Deterministic: sums are added in an order that the matrix alone decides.
 * Source: the split by entries: Merrill and Garland, Merge-based parallel SpMV, 2016; products through shared memory:
 *       CSR-Stream of Greathouse and Daga, 2014; this library.
 */
#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/csr/csr.h"
}
#include "device/cuda/kernels.h"

#include <stdlib.h>

/*
 * Measured on an H200 (docs/performance.md). Products of f64 take twice the shared memory, which the first-level cache
 * lacks then: it is where gathers of x that are on their way land, so that fewer of them can be.
 */
template <typename V> struct shape {
    static const int threads = sizeof(V) == 8 ? 256 : 128;
    static const int items = sizeof(V) == 8 ? 5 : 8; /* entries a thread has in flight */
    static const int tile = threads * items;
    static const int piece = 2 * tile;
};

/*
 * Codes by what rows of over 512 entries, which are cut into pieces, have of all entries: up to a 16th, more, over a
 * quarter. FEW multiplies pieces as other kernels do; the loop with more in flight makes boyd1_kkt 1.2 times as fast
 * and, in f32, costs grids a tenth by what it does to the code of their tiles. In MANY only rows twice as long are cut,
 * and fewer threads a multiprocessor leave the first-level cache what larger tiles take from it: 3 to 4 % faster on
 * R-MAT graphs, up to 10 % slower elsewhere.
 */
enum { FEW, SOME, MANY };
template <int KIND> struct cut {
    static const int longest = KIND == MANY ? 1024 : 512;
    static const int resident = KIND == MANY ? 1536 : 2048; /* threads a multiprocessor */
};

/* SECTOR: entries, of which columns fill a sector of 32 bytes; FEW_SHARE, MANY_SHARE: 1 / bounds of FEW and MANY. */
enum { SECTOR = 8, FEW_SHARE = 16, MANY_SHARE = 4 };

typedef struct long_row {
    int64_t row, first, pieces; /* its sums are partial[first .. first + pieces - 1] */
} long_row;

typedef struct piece {
    int64_t begin, end; /* entries */
    int64_t row;        /* index among the long rows */
} piece;

/* Rows of a block, its long row left out, and their entries. */
typedef struct __align__(16) tile_rows
{
    int64_t first, base;
    int32_t rows, count;
    int64_t unused;
}
tile_rows;

/* The arrays that prepare keeps; pointers are device addresses. */
typedef struct merge_splits {
    int tile, piece_entries, kind;
    int64_t blocks, long_count, piece_count;
    tile_rows *tiles; /* blocks */
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

/* Tiles, and the last row of each, if it is longer than `longest`; at most one of a block is. */
template <typename P> static __global__ void
describe_tiles(const P *Ap, int64_t blocks, int longest, const int64_t *first_row, tile_rows *tiles, found_row *found)
{
    int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= blocks) return;
    const int64_t first = first_row[b];
    int64_t end = first_row[b + 1];
    const int is_long = end > first && (int64_t)(Ap[end] - Ap[end - 1]) > longest;
    if (is_long) end--;
    found[b].row = is_long ? end : -1;
    found[b].begin = is_long ? (int64_t)Ap[end] : 0;
    found[b].end = is_long ? (int64_t)Ap[end + 1] : 0;
    tiles[b].first = first;
    tiles[b].base = (int64_t)Ap[first];
    tiles[b].rows = (int32_t)(end - first);
    tiles[b].count = (int32_t)(Ap[end] - Ap[first]);
    tiles[b].unused = 0;
}

/* ---- the product ----------------------------------------------------------------------------------- */

/* The thread's part of the sum of `count` entries; beyond the last that one is loaded again and left out. */
template <typename V, typename J>
static __device__ __forceinline__ V multiply_piece(int count, const J *__restrict__ Aj, const V *__restrict__ Ax,
                                                   const V *__restrict__ x)
{
    constexpr int THREADS = shape<V>::threads, ITEMS = shape<V>::items;
    V sum = 0;
#pragma unroll 1
    for (int k = threadIdx.x; k < count; k += ITEMS * THREADS) {
        J j[ITEMS];
        V a[ITEMS];
#pragma unroll
        for (int u = 0; u < ITEMS; u++) j[u] = load_once(Aj + min(k + u * THREADS, count - 1));
#pragma unroll
        for (int u = 0; u < ITEMS; u++) a[u] = Ax ? load_once(Ax + min(k + u * THREADS, count - 1)) : V(1);
#pragma unroll
        for (int u = 0; u < ITEMS; u++) a[u] *= x[j[u]];
#pragma unroll
        for (int u = 0; u < ITEMS; u++)
            if (k + u * THREADS < count) sum += a[u];
    }
    return sum;
}

/* One piece of a long row; the block that arrives last adds up all of the row's sums, always in the same order. */
template <int KIND, typename V, typename J>
static __device__ void run_piece(const merge_splits s, int64_t p, const J *__restrict__ Aj, const V *__restrict__ Ax,
                                 const V *__restrict__ x, V *y, V alpha, V beta, V *partial, unsigned *arrived,
                                 V *scratch)
{
    constexpr int THREADS = shape<V>::threads;
    const piece mine = s.pieces[p];
    const long_row row = s.long_rows[mine.row];
    V sum;
    if (KIND == FEW)
        sum = strided_product<THREADS>(mine.begin + threadIdx.x, mine.end, Aj, Ax, x);
    else
        sum = multiply_piece((int)(mine.end - mine.begin), Aj + mine.begin, Ax ? Ax + mine.begin : Ax, x);
    sum = sum_of_block<THREADS>(sum, scratch);
    const int last =
        add_part<THREADS>(&sum, p - row.first, row.pieces, partial + row.first, arrived + mine.row, scratch);
    if (last && threadIdx.x == 0) put(y, row.row, sum, alpha, beta);
}

/* Rows of the block from shared products, LANES lanes a row. */
template <int LANES, typename V, typename P> static __device__ void
add_rows(const P *__restrict__ Ap, int64_t first, int rows, int64_t base, const V *products, V *y, V alpha, V beta)
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

/* Products of entries k, k + THREADS, ... N of them, all in flight at once; beyond `last` that one again. */
template <int N, typename V, typename J> static __device__ __forceinline__ void
multiply(int k, int last, const J *__restrict__ Aj, const V *__restrict__ Ax, const V *__restrict__ x, V *products)
{
    constexpr int THREADS = shape<V>::threads;
    J j[N];
    V a[N];
    const int k_last = min(k + (N - 1) * THREADS, last); /* the only one that can be */
#pragma unroll
    for (int u = 0; u < N; u++) j[u] = load_once(Aj + (u < N - 1 ? k + u * THREADS : k_last));
#pragma unroll
    for (int u = 0; u < N; u++) a[u] = Ax ? load_once(Ax + (u < N - 1 ? k + u * THREADS : k_last)) : V(1);
#pragma unroll
    for (int u = 0; u < N; u++) products[u < N - 1 ? k + u * THREADS : k_last] = a[u] * x[j[u]];
}

template <int KIND, typename V, typename P, typename J>
static __global__ void __launch_bounds__(shape<V>::threads, cut<KIND>::resident / shape<V>::threads)
    csr_merge(const merge_splits s, const P *__restrict__ Ap, const J *__restrict__ Aj, const V *__restrict__ Ax,
              const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha_given, scalar<V> beta_given, V *partial,
              unsigned *arrived)
{
    constexpr int THREADS = shape<V>::threads, ITEMS = shape<V>::items;
    __shared__ V products[shape<V>::tile + cut<KIND>::longest + SECTOR];
    const V alpha = alpha_given.get(), beta = beta_given.get();
    if ((int64_t)blockIdx.x < s.piece_count) { /* the long rows first: they last longest */
        run_piece<KIND>(s, blockIdx.x, Aj, Ax, x, y, alpha, beta, partial, arrived, products);
        return;
    }
    const tile_rows mine = s.tiles[(int64_t)blockIdx.x - s.piece_count];
    const int64_t first = mine.first, base = mine.base / SECTOR * SECTOR; /* products before mine.base are nobody's */
    const int rows = mine.rows, count = mine.count + (int)(mine.base - base);
    if (rows == 0) return;
    Aj += base;
    if (Ax) Ax += base;

    const int t = threadIdx.x;
    int k = 0;
#pragma unroll 1
    for (; k + ITEMS * THREADS <= count; k += ITEMS * THREADS) multiply<ITEMS>(k + t, count - 1, Aj, Ax, x, products);
    switch ((count - k + THREADS - 1) / THREADS) { /* what is left, at once too */
    case 1: multiply<1>(k + t, count - 1, Aj, Ax, x, products); break;
    case 2: multiply<2>(k + t, count - 1, Aj, Ax, x, products); break;
    case 3: multiply<3>(k + t, count - 1, Aj, Ax, x, products); break;
    case 4: multiply<4>(k + t, count - 1, Aj, Ax, x, products); break;
    case 5: multiply < ITEMS<5 ? 1 : 5>(k + t, count - 1, Aj, Ax, x, products); break;
    case 6: multiply < ITEMS<5 ? 1 : 6>(k + t, count - 1, Aj, Ax, x, products); break;
    case 7: multiply < ITEMS<5 ? 1 : 7>(k + t, count - 1, Aj, Ax, x, products); break;
    case 8: multiply < ITEMS<5 ? 1 : 8>(k + t, count - 1, Aj, Ax, x, products); break;
    default: break;
    }
    __syncthreads();

    const int mean = mine.count / rows;
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

static void discard(const spryi_device *device, void *auxiliary)
{
    merge_splits *s = (merge_splits *)auxiliary;
    spry_cuda_free(device, s->tiles);
    spry_cuda_free(device, s->long_rows);
    spry_cuda_free(device, s->pieces);
    free(s);
}

/* Long rows into pieces, on the host: they are few. found[b]: that of block b. */
static spry_status cut_long_rows(const spryi_device *device, merge_splits *s, const found_row *found, spry_error *err)
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
    status = spry_cuda_new(device, (void **)&s->long_rows, s->long_count * (int64_t)sizeof *rows, "long rows", err);
    if (status == SPRY_OK)
        status = spry_cuda_new(device, (void **)&s->pieces, s->piece_count * (int64_t)sizeof *pieces, "pieces", err);
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

static int kind_of(const found_row *found, int64_t blocks, int64_t nnz)
{
    int64_t entries = 0;
    for (int64_t b = 0; b < blocks; b++) entries += found[b].end - found[b].begin;
    return entries > nnz / MANY_SHARE ? MANY : entries > nnz / FEW_SHARE ? SOME : FEW;
}

template <typename P>
static spry_status find_splits(const spryi_device *device, merge_splits *s, const spry_arrays *a, spry_error *err)
{
    const P *Ap = (const P *)a->offsets;
    const size_t bytes = (size_t)s->blocks * sizeof(found_row);
    found_row *found = NULL, *on_host = NULL;
    int64_t *first_row = NULL;
    cudaError_t code = cudaSuccess;
    spry_status status =
        spry_cuda_new(device, (void **)&s->tiles, s->blocks * (int64_t)sizeof *s->tiles, "blocks", err);
    if (status == SPRY_OK)
        status = spry_cuda_new(device, (void **)&first_row, (s->blocks + 1) * 8, "rows of blocks", err);
    if (status == SPRY_OK) status = spry_cuda_new(device, (void **)&found, (int64_t)bytes, "long rows of blocks", err);
    if (status != SPRY_OK) {
        spry_cuda_free(device, first_row);
        return status;
    }
    find_rows<<<(unsigned)ceil_div(s->blocks + 1, 256), 256>>>(Ap, a->rows, s->tile, s->blocks, first_row);
    on_host = (found_row *)malloc(bytes);
    if (!on_host) status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: rows of blocks");
    for (int attempt = 0; status == SPRY_OK && attempt < 2; attempt++) {
        const int longest = attempt == 0 ? cut<SOME>::longest : cut<MANY>::longest;
        describe_tiles<<<(unsigned)ceil_div(s->blocks, 256), 256>>>(Ap, s->blocks, longest, first_row, s->tiles, found);
        status = launched(err, "csr_merge_cuda: splits");
        if (status == SPRY_OK) code = cudaMemcpy(on_host, found, bytes, cudaMemcpyDeviceToHost);
        if (code != cudaSuccess) status = spry_cuda_fail(err, code, "csr_merge_cuda: splits");
        if (attempt == 0 && status == SPRY_OK) s->kind = kind_of(on_host, s->blocks, a->nnz);
        if (s->kind != MANY) break;
    }
    if (status == SPRY_OK) status = cut_long_rows(device, s, on_host, err);
    free(on_host);
    spry_cuda_free(device, found);
    spry_cuda_free(device, first_row);
    return status;
}

static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)request->storage)->a;
    merge_splits *s = (merge_splits *)calloc(1, sizeof *s);
    if (!s) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: splits");
    s->tile = SPRY_BY_TYPE(request->vector_type, V, int(shape<V>::tile));
    s->piece_entries = SPRY_BY_TYPE(request->vector_type, V, int(shape<V>::piece));
    s->blocks = a->nnz > 0 ? ceil_div(a->nnz, s->tile) : 1;
    spry_status status = SPRY_BY_TYPE(a->offset_type, P, find_splits<P>(request->device, s, a, err));
    if (status != SPRY_OK) {
        discard(request->device, s);
        return status;
    }
    *auxiliary = s;
    *bytes = s->blocks * (int64_t)sizeof(tile_rows) + s->long_count * (int64_t)sizeof(long_row) +
             s->piece_count * (int64_t)sizeof(piece);
    return SPRY_OK;
}

/* Sums of the pieces, then the counters of the long rows, which are zero between runs. */
static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    const merge_splits *s = (const merge_splits *)auxiliary;
    (void)request;
    return s->long_count > 0 ? s->piece_count * 8 + s->long_count * 4 : 0;
}

template <int KIND, typename V, typename P, typename J>
static spry_status launch(const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const merge_splits *s = (const merge_splits *)args->auxiliary;
    unsigned *arrived = s->long_count > 0 ? (unsigned *)((char *)args->workspace + s->piece_count * 8) : NULL;
    csr_merge<KIND, V, P, J>
        <<<(unsigned)(s->blocks + s->piece_count), shape<V>::threads, 0, stream_of(args)>>>(*s, (const P *)a->offsets,
                                                                                            (const J *)a->indices,
                                                                                            (const V *)a->values,
                                                                                            (const V *)args->x,
                                                                                            (V *)args->y,
                                                                                            SPRY_ALPHA(V, args),
                                                                                            SPRY_BETA(V, args),
                                                                                            (V *)args->workspace,
                                                                                            arrived);
    return launched(err, "csr_merge_cuda");
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const merge_splits *s = (const merge_splits *)args->auxiliary;
    if (((const spryi_csr *)args->storage)->a.rows == 0) return SPRY_OK;
    if (s->kind == MANY) return launch<MANY, V, P, J>(args, err);
    if (s->kind == SOME || sizeof(V) == 8) return launch<SOME, V, P, J>(args, err);
    return launch < sizeof(V) == 8 ? SOME : FEW, V, P, J > (args, err);
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_csr_merge = {"csr_merge_cuda", &runs, NULL, prepare, discard, workspace_bytes};
