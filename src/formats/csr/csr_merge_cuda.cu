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

#include <stdlib.h>
#include <string.h>

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

/* A row to be cut: the last row that begins in its tile. */
typedef struct found_row {
    int64_t row, begin, end;
} found_row;

/* Results of a block of describe_tiles. The block writes them to host memory. */
typedef struct found_words {
    unsigned long long few_entries, many_entries; /* entries of the rows that FEW would cut, and MANY */
    unsigned long long tiles_left;                /* tiles with rows, without the rows that MANY would cut */
    int32_t count;                                /* rows that FEW would cut; the block has listed them */
} found_words;

enum { SPLIT_THREADS = 256, TILES_A_ROUND = SPLIT_THREADS - 1, MOST_SPLIT_BLOCKS = 256 };

/* Returns the first row whose entries begin at or after entry `wanted`. */
template <typename P> static __device__ int64_t first_row_of(const P *Ap, int64_t m, int64_t wanted)
{
    int64_t low = 0, high = m;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if ((int64_t)Ap[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * Describes the tiles. One thread per tile; in each round, the last thread of a block only provides the end of the
 * preceding thread's tile. The last tile has the trailing empty rows.
 *   kind    the case. In NEARLY_ALL only tiles with rows are written, in any order; *written counts them.
 *   words   NULL, or one element per block. Then row k that the block finds is list[first tile of the block + k]. The
 *           block has `rounds` rounds of consecutive tiles.
 */
template <typename P> static __global__ void __launch_bounds__(SPLIT_THREADS)
    describe_tiles(const P *Ap, int64_t m, int tile, int64_t tile_count, int rounds, int kind, tile_rows *tiles,
                   unsigned long long *written, found_words *words, found_row *list)
{
    __shared__ int64_t first_row[SPLIT_THREADS];
    __shared__ unsigned long long scratch[SPLIT_THREADS / 32];
    __shared__ int count;
    const int64_t first_tile = (int64_t)blockIdx.x * rounds * TILES_A_ROUND;
    const int longest = kind == FEW ? cut<FEW>::longest : cut<MANY>::longest;
    unsigned long long few = 0, many = 0, left = 0;
    if (threadIdx.x == 0) count = 0;
    for (int round = 0; round < rounds; round++) {
        const int64_t b = first_tile + (int64_t)round * TILES_A_ROUND + threadIdx.x;
        __syncthreads(); /* first_row may be written, and count is 0 */
        first_row[threadIdx.x] = b < tile_count ? first_row_of(Ap, m, b * tile) : m;
        __syncthreads();
        if (b >= tile_count || threadIdx.x == TILES_A_ROUND) continue;
        const int64_t first = first_row[threadIdx.x], end = first_row[threadIdx.x + 1];
        const int64_t last_begin = end > first ? (int64_t)Ap[end - 1] : 0;
        const int64_t last_length = end > first ? (int64_t)Ap[end] - last_begin : 0;
        const int64_t rows = end - first - (last_length > longest);
        left += end - first > (last_length > cut<MANY>::longest);
        if (last_length > cut<FEW>::longest) few += (unsigned long long)last_length;
        if (last_length > cut<MANY>::longest) many += (unsigned long long)last_length;
        if (words && last_length > cut<FEW>::longest)
            list[first_tile + atomicAdd(&count, 1)] = found_row{end - 1, last_begin, last_begin + last_length};
        if (kind == NEARLY_ALL && rows == 0) continue;
        tile_rows *mine = tiles + (kind == NEARLY_ALL ? (int64_t)atomicAdd(written, 1ull) : b);
        mine->first = first;
        mine->base = (int64_t)Ap[first];
        mine->rows = (int32_t)rows;
        mine->count = (int32_t)((last_length > longest ? last_begin : (int64_t)Ap[end]) - mine->base);
        mine->start = b * tile;
    }
    if (!words) return;
    few = sum_of_block<SPLIT_THREADS>(few, scratch);
    many = sum_of_block<SPLIT_THREADS>(many, scratch);
    left = sum_of_block<SPLIT_THREADS>(left, scratch);
    if (threadIdx.x == 0) words[blockIdx.x] = found_words{few, many, left, count};
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

template <typename V> static int piece_entries(int kind)
{
    return kind == NEARLY_ALL ? cut<NEARLY_ALL>::pieces<V>::entries : cut<FEW>::pieces<V>::entries;
}

/* Arguments of describe_tiles. `words` and `list` are used for the first description only. */
typedef struct description {
    const spry_arrays *a;
    int tile, blocks, rounds;
    int64_t tile_count;
    found_words *words;
    found_row *list;
    bool list_on_host;
} description;

/*
 * Starts describe_tiles for the case s->kind.
 * written: in NEARLY_ALL, a counter in device memory that is 0.   words: NULL, or d->words.
 */
template <typename P> static cudaError_t start_describing(const merge_splits *s, const description *d,
                                                          unsigned long long *written, found_words *words)
{
    describe_tiles<<<(unsigned)d->blocks, SPLIT_THREADS>>>((const P *)d->a->offsets, d->a->rows, d->tile, d->tile_count,
                                                           d->rounds, s->kind, s->tiles, written, words, d->list);
    return cudaGetLastError();
}

static cudaError_t describe(const merge_splits *s, const description *d, unsigned long long *written,
                            found_words *words)
{
    return SPRY_BY_TYPE(d->a->offset_type, P, start_describing<P>(s, d, written, words));
}

/* Returns the `count` found rows, or NULL without memory. The caller frees them. *code: the error of the copy. */
static found_row *collect_rows(const description *d, int64_t count, cudaError_t *code)
{
    const size_t bytes = (size_t)d->tile_count * sizeof(found_row);
    found_row *all = (found_row *)malloc((size_t)count * sizeof *all), *copy = NULL;
    const found_row *list = d->list;
    if (all && !d->list_on_host) {
        list = copy = (found_row *)malloc(bytes);
        if (copy) *code = cudaMemcpy(copy, d->list, bytes, cudaMemcpyDeviceToHost);
    }
    found_row *at = all;
    for (int b = 0; all && list && b < d->blocks; b++) {
        memcpy(at, list + (int64_t)b * d->rounds * TILES_A_ROUND, (size_t)d->words[b].count * sizeof *all);
        at += d->words[b].count;
    }
    if (!list) free(all);
    free(copy);
    return list ? all : NULL;
}

/*
 * Sets the case and the number of tiles from the sums of all blocks. If the case is not FEW, starts to describe the
 * tiles again, and removes rows from the list that the case does not cut. The caller of prepare waits.
 */
static cudaError_t settle_kind(merge_splits *s, const description *d, const found_words *sum, found_row *rows,
                               int64_t *count, unsigned long long *written)
{
    const int64_t nnz = s->nnz;
    int64_t left = 0;
    if ((int64_t)sum->few_entries <= nnz / MANY_SHARE) return cudaSuccess;
    s->kind = nnz - (int64_t)sum->many_entries >= nnz / NEARLY_ALL_SHARE ? MANY : NEARLY_ALL;
    if (s->kind == NEARLY_ALL) s->blocks = (int64_t)sum->tiles_left;
    for (int64_t n = 0; n < *count; n++)
        if (rows[n].end - rows[n].begin > cut<MANY>::longest) rows[left++] = rows[n];
    *count = left;
    const cudaError_t code = cudaMemsetAsync(written, 0, sizeof *written, NULL);
    return code == cudaSuccess ? describe(s, d, written, NULL) : code;
}

/*
 * Describes the tiles, waits for the results and sets the case. *rows: the rows to be cut, *count of them, which the
 * caller frees; NULL: none. The host block is locked.
 */
static spry_status find_splits(merge_splits *s, const description *d, found_row **rows, int64_t *count,
                               spry_error *err)
{
    found_words sum = {0, 0, 0, 0};
    cudaError_t code = describe(s, d, NULL, d->words);
    if (code == cudaSuccess) code = cudaStreamSynchronize(NULL);
    for (int b = 0; b < d->blocks && code == cudaSuccess; b++) {
        sum.few_entries += d->words[b].few_entries;
        sum.many_entries += d->words[b].many_entries;
        sum.tiles_left += d->words[b].tiles_left;
        sum.count += d->words[b].count;
    }
    *count = sum.count;
    if (*count > 0) *rows = collect_rows(d, *count, &code);
    if (*count > 0 && !*rows)
        return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %lld long rows", (long long)*count);
    unsigned long long *written = (unsigned long long *)(s->tiles + d->tile_count);
    if (code == cudaSuccess) code = settle_kind(s, d, &sum, *rows, count, written);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "csr_merge_cuda: splits");
}

static spry_status split(const spryi_device *device, merge_splits *s, const spry_arrays *a, spry_type type,
                         spry_error *err)
{
    description d = {a, SPRY_BY_TYPE(type, V, int(shape<V>::tile)), 0, 0, s->blocks, NULL, NULL, true};
    const int64_t list_bytes = s->blocks * (int64_t)sizeof *d.list;
    void *block = NULL, *list = NULL;
    found_row *rows = NULL;
    int64_t count = 0;
    d.rounds = (int)ceil_div(s->blocks, (int64_t)MOST_SPLIT_BLOCKS * TILES_A_ROUND);
    d.blocks = (int)ceil_div(s->blocks, (int64_t)d.rounds * TILES_A_ROUND);
    d.list_on_host = d.blocks * (int64_t)sizeof *d.words + list_bytes <= SPRY_CUDA_HOST_BLOCK_BYTES;
    /* after the tiles, a counter */
    spry_status status =
        spry_cuda_new(device, (void **)&s->tiles, (s->blocks + 1) * (int64_t)sizeof *s->tiles, "blocks", err);
    if (status == SPRY_OK && !d.list_on_host)
        status = device->ops->allocate_in_order(device, &list, list_bytes, "long rows of blocks", err);
    if (status != SPRY_OK) return status;
    const cudaError_t code = (cudaError_t)spry_cuda_lock_host_block(&block);
    if (code == cudaSuccess) {
        d.words = (found_words *)block;
        d.list = list ? (found_row *)list : (found_row *)(d.words + d.blocks);
        status = find_splits(s, &d, &rows, &count, err);
        spry_cuda_unlock_host_block();
    } else {
        status = spry_cuda_fail(err, code, "csr_merge_cuda: splits");
    }
    device->ops->release_in_order(device, list);
    if (status == SPRY_OK && count > 0)
        status = cut_long_rows(device, s, SPRY_BY_TYPE(type, V, piece_entries<V>(s->kind)), rows, count, err);
    free(rows);
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
    *bytes = (tiles + 1) * (int64_t)sizeof(tile_rows) + s->piece_count * (int64_t)sizeof(piece);
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
