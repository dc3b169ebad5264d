/*
 * csr_merge_cuda: CSR cut into equal numbers of entries, without a conversion, for any row lengths. The default kernel
 * of csr on GPUs.
 *
 * Idea: a block of threads multiplies the rows that begin in its tile, `tile` consecutive entries. It writes their
 *       products to shared memory, reading whole sectors regardless of rows. Then groups of lanes add up the rows; a
 *       whole warp adds up a row that is far longer than the others. Rows longer than 512 entries are cut into pieces,
 *       each multiplied by a block of its own in the same launch. The block that finishes last adds up the row's sums
 *       in order. If more than a quarter of the entries is in such rows, only rows longer than 1024 are cut. If these
 *       have nearly all entries, blocks without rows are left out.
 * Work: nnz / tile blocks, and one for each piece of a long row. The rows of a block are found from the offsets by one
 *       binary search when the plan is built. A block loads its columns without waiting for that result, because their
 *       position follows from the block's index. No block has more than tile + 512 entries (tile + 1024 if only rows
 *       longer than 1024 are cut).
 * Cost: bytes of CSR and 32 bytes per block. Products are written to shared memory and read from it once.
 *       Deterministic: only the matrix decides the order of additions.
 * Source: the split by entries: Merrill and Garland, Merge-based parallel SpMV, 2016; products through shared memory:
 *       CSR-Stream of Greathouse and Daga, 2014; this library.
 */
#include "formats/csr/csr_merge.cuh"

#include <stddef.h>
#include <stdlib.h>

/*
 * MANY_SHARE: the case is MANY if cut rows have more than nnz / MANY_SHARE entries together. NEARLY_ALL_SHARE: the case
 * is NEARLY_ALL if the other rows have less than nnz / NEARLY_ALL_SHARE entries together.
 * MOST_STEPS: maximum steps per lane. A whole warp adds up a longer row, while the warp's other rows wait. With a
 * maximum of 32 steps web graphs would be 9 % slower. With 8 steps, email-Enron would take 1.4 times as long as if
 * warps never added up a row.
 */
enum { MANY_SHARE = 4, NEARLY_ALL_SHARE = 8, MOST_STEPS = 64 };

/* ---- the product ----------------------------------------------------------------------------------- */

/*
 * A block may start before the previous kernel has ended. Before wait_for_previous_kernel it reads only data that
 * prepare has written. Data that the previous kernel may have written is loaded by `volatile` instructions without
 * `nc`, so that the compiler does not move loads before the wait. Columns and offsets do not change while the plan
 * exists and need no such loads.
 */
static __device__ __forceinline__ float load_value(const float *p)
{
    float v;
    asm volatile("ld.global.L1::no_allocate.f32 %0, [%1];" : "=f"(v) : "l"(p));
    return v;
}
static __device__ __forceinline__ double load_value(const double *p)
{
    double v;
    asm volatile("ld.global.L1::no_allocate.f64 %0, [%1];" : "=d"(v) : "l"(p));
    return v;
}
[[maybe_unused]] static __device__ __forceinline__ uint16_t load_value(const uint16_t *p)
{
    uint16_t v;
    asm volatile("ld.global.L1::no_allocate.u16 %0, [%1];" : "=h"(v) : "l"(p));
    return v;
}
template <typename S> static __device__ __forceinline__ float load_value(const S *p)
{
    const S v = {load_value((const uint16_t *)p)};
    return widened(v);
}
static __device__ __forceinline__ int32_t load_offset(const int32_t *p)
{
    int32_t v;
    asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
[[maybe_unused]] static __device__ __forceinline__ int64_t load_offset(const int64_t *p)
{
    int64_t v;
    asm volatile("ld.global.nc.b64 %0, [%1];" : "=l"(v) : "l"(p));
    return v;
}
static __device__ __forceinline__ float load_x(const float *p)
{
    float v;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(p));
    return v;
}
static __device__ __forceinline__ double load_x(const double *p)
{
    double v;
    asm volatile("ld.global.f64 %0, [%1];" : "=d"(v) : "l"(p));
    return v;
}

/*
 * Multiplies the N entries k, k + THREADS, ..., with all loads in flight together. Calls use(entry, product) for each
 * entry up to `last`. Instead of entries beyond `last`, entry `last` is loaded again.
 */
template <int N, typename S, typename V, typename J, typename USE> static __device__ __forceinline__ void
multiply(int k, int last, const J *__restrict__ Aj, const S *__restrict__ Ax, const V *__restrict__ x, USE use)
{
    constexpr int THREADS = shape<V>::threads;
    J j[N];
    V a[N];
#pragma unroll
    for (int u = 0; u < N; u++) j[u] = load_once(Aj + min(k + u * THREADS, last));
#pragma unroll
    for (int u = 0; u < N; u++) a[u] = Ax ? V(load_value(Ax + min(k + u * THREADS, last))) : V(1);
#pragma unroll
    for (int u = 0; u < N; u++) a[u] *= load_x(x + j[u]);
#pragma unroll
    for (int u = 0; u < N; u++)
        if (k + u * THREADS <= last) use(k + u * THREADS, a[u]);
}

/*
 * Multiplies one piece of a long row. The block that finishes last adds up all of the row's sums, always in the same
 * order.
 */
template <int KIND, typename S, typename V, typename J>
static __device__ void run_piece(const merge_splits s, int64_t p, const J *__restrict__ Aj, const S *__restrict__ Ax,
                                 const V *__restrict__ x, V *y, scalar<V> alpha, scalar<V> beta, V *partial,
                                 unsigned *arrived, V *scratch)
{
    constexpr int THREADS = shape<V>::threads, ITEMS = cut<KIND>::template pieces<V>::items;
    const piece mine = s.pieces[p];
    wait_for_previous_kernel();
    Aj += mine.begin;
    if (Ax) Ax += mine.begin;
    V sum = 0;
#pragma unroll 1
    for (int k = threadIdx.x; k < mine.count; k += ITEMS * THREADS)
        multiply<ITEMS>(k, mine.count - 1, Aj, Ax, x, [&](int, V product) { sum += product; });
    sum = sum_of_block<THREADS>(sum, scratch);
    const int last = mine.parts == 1 || add_part<THREADS>(&sum, mine.part, mine.parts, partial + (p - mine.part),
                                                          arrived + mine.index, scratch);
    if (last && threadIdx.x == 0) put(y, mine.row, sum, alpha.get(), beta.get());
}

/*
 * Adds up the block's rows from the products in shared memory, LANES lanes per row. The products of the thread's first
 * row are products[begin .. end - 1]. The caller has read begin and end before the products were complete.
 */
template <int LANES, typename V, typename P>
static __device__ __forceinline__ void add_rows(const P *__restrict__ Ap, int64_t start, int rows, const V *products,
                                                V *y, V alpha, V beta, int begin, int end)
{
    constexpr int THREADS = shape<V>::threads;
    const int lane = threadIdx.x % LANES, lane_of_warp = threadIdx.x % 32;
#pragma unroll 1
    for (int r = threadIdx.x / LANES; r - (int)(threadIdx.x / LANES) < rows; r += THREADS / LANES) {
        V sum = 0;
        if (r >= THREADS / LANES) {
            begin = r < rows ? (int)(Ap[r] - start) : 0;
            end = r < rows ? (int)(Ap[r + 1] - start) : 0;
        }
        const int is_long = end - begin > MOST_STEPS * LANES;
        if (!is_long)
            for (int k = begin + lane; k < end; k += LANES) sum += products[k];
        sum = lanes_sum(sum, LANES);
        for (unsigned left = __ballot_sync(0xffffffffu, is_long && lane == 0); left; left &= left - 1) {
            const int whose = __ffs(left) - 1, last = __shfl_sync(0xffffffffu, end, whose);
            V part = 0;
            for (int k = __shfl_sync(0xffffffffu, begin, whose) + lane_of_warp; k < last; k += 32) part += products[k];
            part = __shfl_sync(0xffffffffu, lanes_sum(part, 32), 0);
            if (lane_of_warp == whose) sum = part;
        }
        if (r < rows && lane == 0) put(y, r, sum, alpha, beta);
    }
}

template <int KIND, typename S, typename V, typename P, typename J>
static __global__ void __launch_bounds__(shape<V>::threads, cut<KIND>::resident / shape<V>::threads)
    csr_merge(const merge_splits s, const P *__restrict__ Ap, const J *__restrict__ Aj, const S *__restrict__ Ax,
              const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha_given, scalar<V> beta_given, V *partial,
              unsigned *arrived)
{
    constexpr int THREADS = shape<V>::threads, ITEMS = shape<V>::items, TILE = shape<V>::tile;
    constexpr int BEYOND = cut<KIND>::longest - shape<V>::slack; /* maximum entries beyond the threads' first load */
    constexpr int MORE = (BEYOND + THREADS - 1) / THREADS;
    __shared__ V products[TILE + cut<KIND>::longest];
    if ((int64_t)blockIdx.x < s.piece_count) { /* long rows first, since they take longest */
        run_piece<KIND>(s, blockIdx.x, Aj, Ax, x, y, alpha_given, beta_given, partial, arrived, products);
        return;
    }
    const int64_t block = (int64_t)blockIdx.x - s.piece_count;
    const tile_rows mine = s.tiles[block];
    const int64_t start = KIND == NEARLY_ALL ? mine.start : block * TILE;
    wait_for_previous_kernel();

    /*
     * Index 0 of products, columns and values is entry `start`. Entries with an index below `low` belong to a row of a
     * previous block.
     */
    const int t = threadIdx.x, available = (int)min((int64_t)(ITEMS * THREADS), s.nnz - start);
    J j[ITEMS];
    V a[ITEMS];
    Aj += start;
    if (Ax) Ax += start;
    if (available > 0) {
#pragma unroll
        for (int u = 0; u < ITEMS; u++) j[u] = load_once(Aj + min(t + u * THREADS, available - 1));
    }
    const int rows = mine.rows, low = (int)(mine.base - start), high = low + mine.count;
    if (rows == 0) return;
    const int mean = mine.count / rows, shift = mean <= 8 ? 0 : mean <= 16 ? 1 : mean <= 32 ? 2 : 3;
    Ap += mine.first;
    y += mine.first;
    unsigned range = 0; /* begin and end in one register */
    if (t >> shift < rows)
        range = (unsigned)(load_offset(Ap + (t >> shift)) - start) |
                (unsigned)(load_offset(Ap + (t >> shift) + 1) - start) << 16;
#pragma unroll
    for (int u = 0; u < ITEMS; u++) a[u] = Ax ? V(load_value(Ax + min(t + u * THREADS, max(high - 1, 0)))) : V(1);
#pragma unroll
    for (int u = 0; u < ITEMS; u++)
        if (t + u * THREADS >= low && t + u * THREADS < high) a[u] *= load_x(x + j[u]);
#pragma unroll
    for (int u = 0; u < ITEMS; u++) products[t + u * THREADS] = a[u];
#pragma unroll 1
    for (int k = ITEMS * THREADS; k < high; k += MORE * THREADS)
        multiply<MORE>(k + t, high - 1, Aj, Ax, x, [&](int entry, V product) { products[entry] = product; });
    __syncthreads();

    const V alpha = alpha_given.get(), beta = beta_given.get();
    const int begin = range & 0xffff, end = range >> 16;
    if (shift == 0)
        add_rows<1>(Ap, start, rows, products, y, alpha, beta, begin, end);
    else if (shift == 1)
        add_rows<2>(Ap, start, rows, products, y, alpha, beta, begin, end);
    else if (shift == 2)
        add_rows<4>(Ap, start, rows, products, y, alpha, beta, begin, end);
    else
        add_rows<8>(Ap, start, rows, products, y, alpha, beta, begin, end);
}

/* ---- preparation ------------------------------------------------------------------------------------ */

/* Rows to be cut, in any order. At most one begins in a tile. */
typedef struct found_row {
    int64_t row, begin, end;
} found_row;
typedef struct found_rows {
    unsigned long long count, entries;
    unsigned long long listed; /* number of tiles with rows; counted only for NEARLY_ALL */
    found_row list[1];         /* up to `blocks` elements */
} found_rows;

enum { SPLIT_THREADS = 256, AT_FIRST = 64 /* found rows that are copied together with their count */ };

/*
 * One thread per tile. The tile's first row is the first whose entries begin at or after entry b * tile. The last tile
 * has the trailing empty rows. A block's last thread only provides the end of the preceding thread's tile. listed: 1 to
 * list only tiles with rows, in any order.
 */
template <typename P> static __global__ void describe_tiles(const P *Ap, int64_t m, int tile, int64_t blocks,
                                                            int longest, int listed, tile_rows *tiles,
                                                            found_rows *found)
{
    __shared__ int64_t first_row[SPLIT_THREADS];
    const int64_t b = (int64_t)blockIdx.x * (SPLIT_THREADS - 1) + threadIdx.x;
    int64_t low = 0, high = m, wanted = b * tile;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if ((int64_t)Ap[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    first_row[threadIdx.x] = b < blocks ? low : m;
    __syncthreads();
    if (b >= blocks || threadIdx.x == SPLIT_THREADS - 1) return;
    const int64_t first = first_row[threadIdx.x];
    int64_t end = first_row[threadIdx.x + 1];
    if (end > first && (int64_t)(Ap[end] - Ap[end - 1]) > longest) {
        end--;
        found_row *mine = found->list + atomicAdd(&found->count, 1ull);
        mine->row = end;
        mine->begin = (int64_t)Ap[end];
        mine->end = (int64_t)Ap[end + 1];
        atomicAdd(&found->entries, (unsigned long long)(Ap[end + 1] - Ap[end]));
    }
    if (listed && end == first) return;
    tile_rows *mine = tiles + (listed ? (int64_t)atomicAdd(&found->listed, 1ull) : b);
    mine->first = first;
    mine->base = (int64_t)Ap[first];
    mine->rows = (int32_t)(end - first);
    mine->count = (int32_t)(Ap[end] - Ap[first]);
    mine->start = wanted;
}

static void discard(const spryi_device *device, void *auxiliary)
{
    merge_splits *s = (merge_splits *)auxiliary;
    spry_cuda_free(device, s->tiles);
    spry_cuda_free(device, s->pieces);
    free(s);
}

static int by_row(const void *left, const void *right)
{
    const int64_t a = ((const found_row *)left)->row, b = ((const found_row *)right)->row;
    return (a > b) - (a < b);
}

/* Cuts long rows into pieces, on the host, because they are few. */
static spry_status cut_long_rows(const spryi_device *device, merge_splits *s, int piece_entries, found_row *rows,
                                 int64_t count, spry_error *err)
{
    qsort(rows, (size_t)count, sizeof *rows, by_row);
    s->long_count = count;
    for (int64_t l = 0; l < count; l++) s->piece_count += ceil_div(rows[l].end - rows[l].begin, piece_entries);
    const size_t bytes = (size_t)s->piece_count * sizeof(piece);
    piece *pieces = (piece *)calloc(1, bytes);
    if (!pieces) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %lld long rows", (long long)count);
    for (int64_t l = 0, p = 0; l < count; l++) {
        const int64_t length = rows[l].end - rows[l].begin, parts = ceil_div(length, piece_entries);
        for (int64_t q = 0; q < parts; q++, p++) {
            pieces[p].begin = rows[l].begin + length * q / parts;
            pieces[p].count = (int32_t)(length * (q + 1) / parts - length * q / parts);
            pieces[p].row = rows[l].row;
            pieces[p].part = (int32_t)q;
            pieces[p].parts = (int32_t)parts;
            pieces[p].index = (int32_t)l;
        }
    }
    spry_status status = spry_cuda_new(device, (void **)&s->pieces, (int64_t)bytes, "pieces", err);
    if (status == SPRY_OK) {
        cudaError_t code = cudaMemcpy(s->pieces, pieces, bytes, cudaMemcpyHostToDevice);
        if (code != cudaSuccess) status = spry_cuda_fail(err, code, "csr_merge_cuda: long rows");
    }
    free(pieces);
    return status;
}

/*
 * Finds the tiles and the rows that will be cut into pieces. Copies up to AT_FIRST of these rows to the host and waits
 * for the copy.
 */
template <typename P> static spry_status find_splits(const merge_splits *s, const spry_arrays *a, int tile,
                                                     found_rows *found, found_rows *on_host, spry_error *err)
{
    const int longest = s->kind == FEW ? cut<FEW>::longest : cut<MANY>::longest;
    const int64_t copied = s->blocks < AT_FIRST ? s->blocks : (int64_t)AT_FIRST;
    cudaError_t code = cudaMemsetAsync(found, 0, offsetof(found_rows, list), NULL);
    if (code == cudaSuccess) {
        describe_tiles<<<(unsigned)ceil_div(s->blocks, SPLIT_THREADS - 1), SPLIT_THREADS>>>((const P *)a->offsets,
                                                                                            a->rows, tile, s->blocks,
                                                                                            longest,
                                                                                            s->kind == NEARLY_ALL,
                                                                                            s->tiles, found);
        code = cudaGetLastError();
    }
    if (code == cudaSuccess)
        code = cudaMemcpy(on_host, found, offsetof(found_rows, list) + (size_t)copied * sizeof(found_row),
                          cudaMemcpyDeviceToHost);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "csr_merge_cuda: splits");
}

/*
 * Finds the tiles and the case FEW, MANY or NEARLY_ALL. The long rows that the first search finds determine whether
 * tiles are searched for again with the next case.
 */
static spry_status find_kind(merge_splits *s, const spry_arrays *a, int tile, found_rows *found, found_rows *on_host,
                             spry_error *err)
{
    spry_status status = SPRY_BY_TYPE(a->offset_type, P, find_splits<P>(s, a, tile, found, on_host, err));
    if (status != SPRY_OK || (int64_t)on_host->entries <= a->nnz / MANY_SHARE) return status;
    s->kind = MANY;
    status = SPRY_BY_TYPE(a->offset_type, P, find_splits<P>(s, a, tile, found, on_host, err));
    if (status != SPRY_OK || a->nnz - (int64_t)on_host->entries >= a->nnz / NEARLY_ALL_SHARE) return status;
    s->kind = NEARLY_ALL;
    status = SPRY_BY_TYPE(a->offset_type, P, find_splits<P>(s, a, tile, found, on_host, err));
    if (status == SPRY_OK) s->blocks = (int64_t)on_host->listed;
    return status;
}

template <typename V> static int piece_entries(int kind)
{
    return kind == NEARLY_ALL ? cut<NEARLY_ALL>::pieces<V>::entries : cut<FEW>::pieces<V>::entries;
}

static spry_status split(const spryi_device *device, merge_splits *s, const spry_arrays *a, spry_type type,
                         spry_error *err)
{
    const int tile = SPRY_BY_TYPE(type, V, int(shape<V>::tile));
    found_rows *found = NULL;
    found_row *rows = NULL, *all = NULL;
    union {
        found_rows head;
        char room[sizeof(found_rows) + AT_FIRST * sizeof(found_row)];
    } on_host;
    spry_status status =
        spry_cuda_new(device, (void **)&s->tiles, s->blocks * (int64_t)sizeof *s->tiles, "blocks", err);
    if (status == SPRY_OK)
        status = device->ops->allocate_in_order(device, (void **)&found,
                                                (int64_t)sizeof *found + s->blocks * (int64_t)sizeof(found_row),
                                                "long rows of blocks", err);
    if (status != SPRY_OK) return status;
    status = find_kind(s, a, tile, found, &on_host.head, err);
    const int64_t count = status == SPRY_OK ? (int64_t)on_host.head.count : 0;
    rows = on_host.head.list;
    if (count > AT_FIRST) {
        rows = all = (found_row *)malloc((size_t)count * sizeof *all);
        if (!all) {
            status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %lld long rows", (long long)count);
        } else {
            cudaError_t code = cudaMemcpy(all, found->list, (size_t)count * sizeof *all, cudaMemcpyDeviceToHost);
            if (code != cudaSuccess) status = spry_cuda_fail(err, code, "csr_merge_cuda: long rows");
        }
    }
    if (status == SPRY_OK && count > 0)
        status = cut_long_rows(device, s, SPRY_BY_TYPE(type, V, piece_entries<V>(s->kind)), rows, count, err);
    free(all);
    device->ops->release_in_order(device, found);
    return status;
}

static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)request->storage)->a;
    const int tile = SPRY_BY_TYPE(request->vector_type, V, int(shape<V>::tile));
    merge_splits *s = (merge_splits *)calloc(1, sizeof *s);
    if (!s) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: splits");
    s->kind = FEW;
    s->nnz = a->nnz;
    const int64_t tiles = a->nnz > 0 ? ceil_div(a->nnz, tile) : 1;
    s->blocks = tiles;
    spry_status status = split(request->device, s, a, request->vector_type, err);
    if (status != SPRY_OK) {
        discard(request->device, s);
        return status;
    }
    *auxiliary = s;
    *bytes = tiles * (int64_t)sizeof(tile_rows) + s->piece_count * (int64_t)sizeof(piece);
    return SPRY_OK;
}

/* The workspace has the sums of the pieces, and then the counters of the long rows, which are zero between runs. */
static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    const merge_splits *s = (const merge_splits *)auxiliary;
    (void)request;
    return s->long_count > 0 ? s->piece_count * PANEL_COLUMNS * 8 + s->long_count * 4 : 0;
}

template <int KIND, typename S, typename V, typename P, typename J>
static spry_status launch(const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const merge_splits *s = (const merge_splits *)args->auxiliary;
    launch_early(args, csr_merge<KIND, S, V, P, J>, s->blocks + s->piece_count, shape<V>::threads, 0, *s,
                 (const P *)a->offsets, (const J *)a->indices, s->nnz > 0 ? (const S *)a->values : (const S *)NULL,
                 (const V *)args->x, (V *)args->y, SPRY_ALPHA(V, args), SPRY_BETA(V, args), (V *)args->workspace,
                 arrivals_of(s, args->workspace));
    return launched(err, "csr_merge_cuda");
}

template <typename S, typename V, typename P, typename J>
spry_status spry_cuda_csr_merge_run(const spryi_run_args *args, spry_error *err)
{
    const merge_splits *s = (const merge_splits *)args->auxiliary;
    if (((const spryi_csr *)args->storage)->a.rows == 0) return SPRY_OK;
    if (args->columns > 1) return spry_cuda_csr_panel<S, V, P, J>(args, err);
    if (s->kind == FEW) return launch<FEW, S, V, P, J>(args, err);
    return s->kind == MANY ? launch<MANY, S, V, P, J>(args, err) : launch<NEARLY_ALL, S, V, P, J>(args, err);
}
#define INSTANCE(tag, s, v, c, P)                                                                                      \
    SPRY_CUDA_SELDOM template spry_status spry_cuda_csr_merge_run<spryi_##s, spryi_##v, P, int32_t>(                   \
        const spryi_run_args *, spry_error *);
SPRYI_MIXED_ROWS(INSTANCE, int32_t)
SPRYI_MIXED_ROWS(INSTANCE, int64_t)
SPRYI_PLAIN_ROWS(INSTANCE, int64_t)
#ifndef SPRY_SELDOM_MODULE

static const spryi_run_table runs = SPRY_CUDA_MIXED_TABLE(spry_cuda_csr_merge_run);

const spryi_kernel_functions spry_cuda_csr_merge = {"csr_merge_cuda", &runs,           NULL, prepare,
                                                    discard,          workspace_bytes, NULL, SPRYI_OP_SPMV};
#endif
