/*
 * Rows with many products or far apart columns: a block a row, and where a row of C does not fit into shared memory, a
 * block a window of its columns.
 *
 * Idea: C's columns are bits of a mask over the row's columns, from the first to the last; counts of the bits before
 *       give each its place, so that nothing is sorted and values lie packed. A row with too many values is cut into
 *       windows of neighbouring columns, in which values lie by column, with a byte each that tells which there are;
 *       windows are work of their own, so that a giant row is the work of many blocks.
 * Work: entries of A in batches, with the rows of B that they meet. Values: 1, 2, 4 or 8 groups of warps, each with
 *       values of its own where they fit, take rows of B in turn, one at a time, lanes over its entries; a barrier of
 *       the group between two of them replaces atomic addition. The groups' values are added in order.
 * Cost: B's columns twice and its values once for each entry of A; the mask; C written once.
 * Source: windows: this library.
 */
#include "spgemm/gpu_spgemm_cuda.h"

enum {
    BLOCK_THREADS = 512,
    MASK_WORDS = 49152,
    WINDOW_THREADS = 256,
    WINDOW_EACH = 2,
    AHEAD = 4 /* rows of B, or pieces of a long one, on their way */
};

/* A batch of entries of A: the rows of B, or the parts of them within the window, that are not empty. */
template <typename V> struct met_batch {
    int64_t from[BLOCK_THREADS];
    V a[BLOCK_THREADS];
    int length[BLOCK_THREADS];
    int of_warp[BLOCK_THREADS / 32];
    int met;
};

/* Sum over the block; `scratch` one number a warp, free again afterwards. */
static __device__ __forceinline__ int block_sum(int v, int *scratch)
{
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    int all = 0;
    for (unsigned w = 0; w < blockDim.x / 32; w++) all += scratch[w];
    __syncthreads();
    return all;
}

/* First position of j[0 .. length - 1] that is not below `column`. */
static __device__ __forceinline__ int64_t position_of(const int32_t *j, int64_t length, int64_t column)
{
    int64_t low = 0, high = length;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (__ldg(j + middle) < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * Entries k .. k + EACH * blockDim.x - 1 of the row of A that ends at `end`; whole: rows of B are not cut to the
 * window. EACH: entries a thread, searched for together.
 */
template <int EACH, bool VALUES, typename V> static __device__ __forceinline__ void
meet_batch(const gpu_rows &r, met_batch<V> *b, int64_t k, int64_t end, bool whole, int64_t first, int64_t last)
{
    int64_t from[EACH];
    int length[EACH];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    unsigned some[EACH];
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        const int64_t e = k + u * (int)blockDim.x + threadIdx.x;
        from[u] = length[u] = 0;
        if (e < end) {
            const int32_t j = __ldg(r.A.j + e);
            from[u] = r.B.p.get(j);
            length[u] = (int)(r.B.p.get((int64_t)j + 1) - from[u]);
        }
    }
    if (!whole) {
        int low[EACH], high[EACH], stop[EACH]; /* two searches in step: for the first and the last column */
#pragma unroll
        for (int side = 0; side < 2; side++) {
            const int64_t column = side ? last : first;
            int left = 1;
#pragma unroll
            for (int u = 0; u < EACH; u++) {
                low[u] = side ? stop[u] : 0;
                high[u] = length[u];
            }
            while (left) {
                left = 0;
#pragma unroll
                for (int u = 0; u < EACH; u++) {
                    if (low[u] < high[u]) {
                        const int middle = (low[u] + high[u]) >> 1;
                        if (__ldg(r.B.j + from[u] + middle) < column)
                            low[u] = middle + 1;
                        else
                            high[u] = middle;
                        left |= low[u] < high[u];
                    }
                }
            }
#pragma unroll
            for (int u = 0; u < EACH; u++) {
                if (side == 0) {
                    stop[u] = low[u];
                } else {
                    length[u] = low[u] - stop[u];
                    from[u] += stop[u];
                }
            }
        }
    }
    __syncthreads(); /* the batch before is done with */
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        some[u] = __ballot_sync(ALL_LANES, length[u] > 0);
        if (lane == 0) b->of_warp[u * warps + warp] = __popc(some[u]);
    }
    __syncthreads();
    int met = 0, at[EACH];
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        for (int w = 0; w < warps; w++) {
            if (w == warp) at[u] = met + __popc(some[u] & ((1u << lane) - 1));
            met += b->of_warp[u * warps + w];
        }
        if (length[u] > 0) {
            b->from[at[u]] = from[u];
            b->length[at[u]] = length[u];
            if (VALUES) b->a[at[u]] = __ldg((const V *)r.A.x + k + u * (int)blockDim.x + threadIdx.x);
        }
    }
    if (threadIdx.x == 0) b->met = met;
    __syncthreads();
}

/* ---- the mask ----------------------------------------------------------------------------------------- */

static __device__ __forceinline__ void add_bit(unsigned *mask, int64_t bit)
{
    const int w = (int)(bit >> 5);
    const unsigned one = 1u << (bit & 31);
    if (!(((volatile unsigned *)mask)[w] & one)) atomicOr(&mask[w], one);
}

/* Bits of the products' columns within [first, last), first a multiple of 32; the mask is clear before. */
template <typename V> static __device__ __forceinline__ void fill_mask(const gpu_rows &r, met_batch<V> *b,
                                                                       int64_t start, int64_t end, bool whole,
                                                                       int64_t first, int64_t last, unsigned *mask)
{
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int64_t k = start; k < end; k += blockDim.x) {
        meet_batch<1, false, V>(r, b, k, end, whole, first, last);
        for (int t = threadIdx.x / 32; t < b->met; t += warps) {
            const int32_t *j = r.B.j + b->from[t];
            const int length = b->length[t];
            for (int e = lane; e < length; e += 128) {
                int32_t column[4];
#pragma unroll
                for (int u = 0; u < 4; u++) column[u] = e + 32 * u < length ? __ldg(j + e + 32 * u) : -1;
#pragma unroll
                for (int u = 0; u < 4; u++)
                    if (column[u] >= 0) add_bit(mask, column[u] - first);
            }
        }
    }
    __syncthreads();
}

/* Places of the columns in `words` words, from 0 on, to `before`, the columns to j, each where not NULL. How many. */
static __device__ __forceinline__ int number_words(const unsigned *mask, uint16_t *before, int words, int64_t first,
                                                   int32_t *j, int *scratch)
{
    const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int each = ((words + warps - 1) / warps + 31) / 32 * 32, from = warp * each, to = min(words, from + each);
    int mine = 0;
    for (int w = from + lane; w < to; w += 32) mine += __popc(mask[w]);
    mine = warp_sum(mine);
    if (lane == 0) scratch[warp] = mine;
    __syncthreads();
    int at = 0, total = 0;
    for (int w = 0; w < warps; w++) {
        if (w < warp) at += scratch[w];
        total += scratch[w];
    }
    for (int s = from; s < to; s += 32) {
        const int w = s + lane;
        unsigned bits = w < to ? mask[w] : 0;
        int here;
        int place = at + lanes_before(__popc(bits), 32, &here);
        at += here;
        if (before && w < to) before[w] = (uint16_t)place;
        if (j) {
            for (; bits; bits &= bits - 1) j[place++] = (int32_t)(first + (int64_t)w * 32 + __ffs(bits) - 1);
        }
    }
    __syncthreads();
    return total;
}

static __device__ __forceinline__ int count_bits(const unsigned *mask, int words, int *scratch)
{
    int mine = 0;
    for (int w = threadIdx.x; w < words; w += blockDim.x) mine += __popc(mask[w]);
    return block_sum(mine, scratch);
}

/*
 * Counts rows of the list; table: instead, the entries of each window of `window` words from the row's first on,
 * `windows` numbers a row.
 */
static __global__ void __launch_bounds__(BLOCK_THREADS)
    count_block_rows(gpu_rows r, const int32_t *list, int mask_words, int window, int windows, int32_t *table)
{
    extern __shared__ uint4 block_shared[];
    __shared__ met_batch<float> batch;
    unsigned *mask = (unsigned *)block_shared;
    const int i = list[blockIdx.x], words = r.words[i];
    const int64_t start = r.A.p.get(r.first + i), end = r.A.p.get(r.first + i + 1);
    int total = 0;
    for (int at = 0; at < words; at += mask_words) {
        const int here = min(mask_words, words - at);
        for (int w = threadIdx.x; w < here; w += blockDim.x) mask[w] = 0;
        const int64_t first = ((int64_t)r.low[i] + at) * 32;
        __syncthreads();
        fill_mask(r, &batch, start, end, words <= mask_words, first, first + (int64_t)here * 32, mask);
        if (table) {
            for (int v = threadIdx.x / 32; v * window < here; v += blockDim.x / 32) {
                int sum = 0;
                for (int w = v * window + threadIdx.x % 32; w < min(here, (v + 1) * window); w += 32)
                    sum += __popc(mask[w]);
                sum = warp_sum(sum);
                if (threadIdx.x % 32 == 0) table[(int64_t)blockIdx.x * windows + at / window + v] = sum;
            }
            __syncthreads();
        } else {
            total += count_bits(mask, here, batch.of_warp);
        }
    }
    if (table) return;
    __shared__ unsigned kept;
    if (threadIdx.x == 0) {
        kept = (unsigned)r.columns_room;
        if (words <= mask_words && *(volatile unsigned *)&r.found->columns_kept < (unsigned)r.columns_room)
            kept = atomicAdd(&r.found->columns_kept, (unsigned)total);
        r.counts[i] = total;
        r.kept[i] = (int64_t)kept + total <= r.columns_room ? (int)kept : -1;
    }
    __syncthreads();
    if ((int64_t)kept + total <= r.columns_room)
        (void)number_words(mask, NULL, words, (int64_t)r.low[i] * 32, r.columns + kept, batch.of_warp);
}

/* ---- values, packed ----------------------------------------------------------------------------------- */

/* Among the `lanes` threads of a group: a warp or more. */
static __device__ __forceinline__ void group_barrier(int group, int lanes)
{
    if (lanes == 32)
        __syncwarp();
    else if (lanes == (int)blockDim.x)
        __syncthreads();
    else
        asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(lanes) : "memory");
}

/* Where a column's value lies. */
struct packed_places {
    const unsigned *mask;
    const uint16_t *before;
    int64_t first;
    __device__ __forceinline__ int of(int32_t column) const
    {
        const int64_t bit = column - first;
        const int w = (int)(bit >> 5);
        return before[w] + __popc(mask[w] & ((1u << (bit & 31)) - 1));
    }
    __device__ __forceinline__ void touch(int) const
    {
    }
};
struct window_places {
    uint8_t *touched;
    int64_t first;
    __device__ __forceinline__ int of(int32_t column) const
    {
        return (int)(column - first);
    }
    __device__ __forceinline__ void touch(int place) const
    {
        touched[place] = 1;
    }
};

/* The first entries of AHEAD rows of B of the batch, from the t-th on. */
template <typename V> static __device__ __forceinline__ void fetch_rows(const gpu_rows &r, const met_batch<V> *b, int t,
                                                                        int groups, int lane, int met,
                                                                        int32_t (&j)[AHEAD], V (&x)[AHEAD])
{
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
        const int row = t + u * groups;
        j[u] = -1;
        x[u] = 0;
        if (row < met && lane < b->length[row]) {
            j[u] = __ldg(r.B.j + b->from[row] + lane);
            x[u] = __ldg((const V *)r.B.x + b->from[row] + lane);
        }
    }
}

/*
 * values[place of the column] += a*b over the batch, each group its rows of B in order. The next rows are on their way
 * while these are added.
 */
template <typename V, typename PLACES> static __device__ __forceinline__ void
add_batch(const gpu_rows &r, const met_batch<V> *b, const PLACES &places, V *values, int group, int groups, int lanes)
{
    const int lane = threadIdx.x % lanes, met = b->met;
    int32_t next_j[AHEAD];
    V next_x[AHEAD];
    fetch_rows(r, b, group, groups, lane, met, next_j, next_x);
    for (int t = group; t < met; t += AHEAD * groups) {
        int32_t j[AHEAD];
        V x[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            j[u] = next_j[u];
            x[u] = next_x[u];
        }
        fetch_rows(r, b, t + AHEAD * groups, groups, lane, met, next_j, next_x);
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            const int row = t + u * groups;
            if (row >= met) break;
            const V a = b->a[row];
            if (j[u] >= 0) {
                const int place = places.of(j[u]);
                add_product(&values[place], a, x[u]);
                places.touch(place);
            }
            const int length = b->length[row];
            const int32_t *Bj = r.B.j + b->from[row];
            const V *Bx = (const V *)r.B.x + b->from[row];
            for (int e = lane + lanes; e < length; e += AHEAD * lanes) {
                int32_t more_j[AHEAD];
                V more_x[AHEAD];
#pragma unroll
                for (int v = 0; v < AHEAD; v++) {
                    more_j[v] = e + v * lanes < length ? __ldg(Bj + e + v * lanes) : -1;
                    more_x[v] = e + v * lanes < length ? __ldg(Bx + e + v * lanes) : V(0);
                }
#pragma unroll
                for (int v = 0; v < AHEAD; v++) {
                    if (more_j[v] >= 0) {
                        const int place = places.of(more_j[v]);
                        add_product(&values[place], a, more_x[v]);
                        places.touch(place);
                    }
                }
            }
            group_barrier(group, lanes);
        }
    }
}

/* A row of the list. most_words: that the mask may have; bytes: of it and the values. */
template <typename V> static __global__ void __launch_bounds__(BLOCK_THREADS, 2)
    compute_block_rows(gpu_rows r, const int32_t *list, int bytes, int most_words, int32_t *Cj, const int32_t *known,
                       V *Cx, row_offsets Cp, V alpha)
{
    extern __shared__ uint4 block_shared[];
    __shared__ met_batch<V> batch;
    const int i = list[blockIdx.x], words = r.words[i], entries = r.counts[i];
    const int64_t start = r.A.p.get(r.first + i), end = r.A.p.get(r.first + i + 1), at = Cp.get(i);
    const int index_words = min(words, most_words), threads = (int)blockDim.x;
    unsigned *mask = (unsigned *)block_shared;
    const int index_bytes = (index_words * 6 + 15) & ~7;
    uint16_t *before = (uint16_t *)(mask + index_words);
    V *values = (V *)((char *)block_shared + index_bytes);
    int groups = gpu_groups_wanted(r.products[i], end - start, threads);
    while (groups > 1 && index_bytes + (int64_t)groups * entries * (int)sizeof(V) > bytes) groups /= 2;
    const int lanes = threads / groups, group = threadIdx.x / lanes;
    int done = 0; /* entries of windows before */
    const int kept = Cj ? r.kept[i] : -1;
    const int32_t *columns = kept >= 0 ? r.columns + kept : Cj ? NULL : known + at;
    for (int w0 = 0; w0 < words; w0 += index_words) {
        const int here = min(index_words, words - w0);
        const int64_t first = ((int64_t)r.low[i] + w0) * 32, last = first + (int64_t)here * 32;
        const bool whole = words == index_words;
        for (int w = threadIdx.x; w < here; w += threads) mask[w] = 0;
        __syncthreads();
        int found;
        if (columns) {
            const int from = whole ? 0 : (int)position_of(columns, entries, first);
            found = (whole ? entries : (int)position_of(columns, entries, last)) - from;
            for (int e = from + threadIdx.x; e < from + found; e += threads) {
                const int32_t column = columns[e];
                const int w = (int)((column - first) >> 5);
                add_bit(mask, column - first);
                if (e == from || (columns[e - 1] - first) >> 5 != w) before[w] = (uint16_t)(e - from);
                if (Cj) Cj[at + e] = column;
            }
            __syncthreads();
        } else {
            fill_mask(r, &batch, start, end, whole, first, last, mask);
            found = number_words(mask, before, here, first, Cj + at + done, batch.of_warp);
        }
        for (int e = threadIdx.x; e < groups * found; e += threads) values[e] = 0;
        __syncthreads();
        const packed_places places = {mask, before, first};
        for (int64_t k = start; k < end; k += threads) {
            meet_batch<1, true, V>(r, &batch, k, end, whole, first, last);
            add_batch(r, &batch, places, values + (int64_t)group * found, group, groups, lanes);
        }
        __syncthreads();
        for (int e = threadIdx.x; e < found; e += threads) {
            V sum = values[e];
            for (int g = 1; g < groups; g++) sum += values[(int64_t)g * found + e];
            Cx[at + done + e] = alpha * sum;
        }
        __syncthreads();
        done += found;
    }
}

/* ---- values of giant rows, by windows of columns ------------------------------------------------------ */

/* Block (v, g): window v of the g-th row of the list. */
template <typename V> static __global__ void __launch_bounds__(WINDOW_THREADS)
    compute_windows(gpu_rows r, const int32_t *list, int window, int windows, const int32_t *table, int32_t *Cj,
                    const int32_t *known, V *Cx, row_offsets Cp, V alpha)
{
    extern __shared__ uint4 block_shared[];
    __shared__ met_batch<V> batch;
    const int i = list[blockIdx.x / windows], v = blockIdx.x % windows, width = window * 32;
    if (v * window >= r.words[i]) return;
    const int64_t first = ((int64_t)r.low[i] + (int64_t)v * window) * 32, last = first + width;
    const int64_t start = r.A.p.get(r.first + i), end = r.A.p.get(r.first + i + 1);
    int64_t at = Cp.get(i);
    int count;
    const int32_t *columns = Cj ? NULL : known + at;
    if (columns) {
        const int64_t from = position_of(columns, r.counts[i], first);
        count = (int)(position_of(columns, r.counts[i], last) - from);
        at += from;
        columns += from;
    } else {
        const int32_t *row = table + (int64_t)(blockIdx.x / windows) * windows;
        int before = 0;
        for (int u = threadIdx.x; u < v; u += blockDim.x) before += row[u];
        at += block_sum(before, batch.of_warp);
        count = row[v];
    }
    if (count == 0) return;
    V *values = (V *)block_shared;
    const window_places places = {(uint8_t *)(values + width), first};
    for (int e = threadIdx.x; e < width; e += blockDim.x) values[e] = 0;
    for (int e = threadIdx.x; e < width / 4; e += blockDim.x) ((unsigned *)places.touched)[e] = 0;
    __syncthreads();
    for (int64_t k = start; k < end; k += WINDOW_EACH * WINDOW_THREADS) {
        meet_batch<WINDOW_EACH, true, V>(r, &batch, k, end, false, first, last);
        add_batch(r, &batch, places, values, 0, 1, (int)blockDim.x);
    }
    __syncthreads();
    if (columns) {
        for (int e = threadIdx.x; e < count; e += blockDim.x) Cx[at + e] = alpha * values[columns[e] - first];
        return;
    }
    const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int each = (window + warps - 1) / warps * 32, from = warp * each, to = min(width, from + each);
    int mine = 0;
    for (int e = from / 4 + lane; e < to / 4; e += 32) mine += __popc(((unsigned *)places.touched)[e]);
    mine = warp_sum(mine);
    if (lane == 0) batch.of_warp[warp] = mine;
    __syncthreads();
    for (int w = 0; w < warp; w++) at += batch.of_warp[w];
    for (int e = from; e < to; e += 32) {
        const bool there = places.touched[e + lane] != 0;
        const unsigned all = __ballot_sync(ALL_LANES, there);
        if (there) {
            const int64_t place = at + __popc(all & ((1u << lane) - 1));
            Cj[place] = (int32_t)(first + e + lane);
            Cx[place] = alpha * values[e + lane];
        }
        at += __popc(all);
    }
}

/* ---- launches ----------------------------------------------------------------------------------------- */

static int column_words(const gpu_rows *r)
{
    return (int)ceil_div(r->B.cols, 32);
}

/* Words of a window of a giant row: two blocks a multiprocessor. */
static int window_words(const gpu_limits *limits, int value_bytes)
{
    const int bytes = limits->shared_bytes / 2 - 2048 - (int)sizeof(met_batch<double>);
    return bytes / (32 * (value_bytes + 1));
}

static spry_status count_blocks(const gpu_rows *r, const int32_t *list, int count, const gpu_limits *limits, int window,
                                int32_t *table, int windows, cudaStream_t stream, spry_error *err)
{
    int most = (limits->shared_bytes - 1024 - (int)sizeof(met_batch<float>)) / 4;
    if (most > MASK_WORDS) most = MASK_WORDS;
    if (window > 0) most = most / window * window;
    const int words = column_words(r) + 1 < most ? column_words(r) + 1 : most;
    cudaError_t code = cudaFuncSetAttribute(count_block_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, words * 4);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "spgemm: count rows by blocks");
    count_block_rows<<<(unsigned)count, BLOCK_THREADS, words * 4, stream>>>(*r, list, words, window, windows, table);
    return launched(err, "spgemm: count rows by blocks");
}

spry_status gpu_block_count(const gpu_rows *r, const gpu_row_counts *found, const gpu_limits *limits,
                            cudaStream_t stream, spry_error *err)
{
    const int count = (int)found->rows[ROW_BLOCK];
    const int32_t *list = r->list;
    for (int c = ROW_SPAN_LOW; c < ROW_BLOCK; c++) list += found->rows[c];
    return count == 0 ? SPRY_OK : count_blocks(r, list, count, limits, 0, NULL, 0, stream, err);
}

int64_t gpu_giant_table(const gpu_rows *r, const gpu_row_counts *found, const gpu_limits *limits, int value_bytes,
                        int64_t most)
{
    const int64_t row = 4 * (ceil_div(column_words(r), window_words(limits, value_bytes)) + 1);
    const int64_t all = row * found->list[LIST_GIANT];
    return all < most ? all : most > row ? most : row;
}

template <typename V> static spry_status compute_giants(const gpu_rows *r, const int32_t *list, int count,
                                                        const gpu_limits *limits, const gpu_result *C, int32_t *table,
                                                        int64_t table_bytes, cudaStream_t stream, spry_error *err)
{
    const int window = window_words(limits, (int)sizeof(V)), windows = (int)ceil_div(column_words(r), window) + 1;
    const int bytes = window * 32 * (int)(sizeof(V) + 1);
    int64_t at_once = table_bytes / 4 / windows, most_blocks = 0x7fffffff / windows;
    if (at_once > most_blocks) at_once = most_blocks;
    if (at_once < 1) at_once = 1;
    cudaError_t code = cudaFuncSetAttribute(compute_windows<V>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "spgemm: compute windows");
    for (int done = 0; done < count;) {
        const int now = count - done < at_once ? count - done : (int)at_once;
        if (C->j) {
            spry_status status = count_blocks(r, list + done, now, limits, window, table, windows, stream, err);
            if (status != SPRY_OK) return status;
        }
        compute_windows<V><<<(unsigned)(now * windows), WINDOW_THREADS, bytes, stream>>>(*r, list + done, window,
                                                                                         windows, table, C->j,
                                                                                         C->j ? NULL : C->known,
                                                                                         (V *)C->x, C->p, (V)C->alpha);
        spry_status status = launched(err, "spgemm: compute windows");
        if (status != SPRY_OK) return status;
        done += now;
    }
    return SPRY_OK;
}

template <typename V> static spry_status compute_blocks(const gpu_rows *r, const gpu_row_counts *found,
                                                        const gpu_limits *limits, const gpu_result *C, int32_t *table,
                                                        int64_t table_bytes, cudaStream_t stream, spry_error *err)
{
    static const int threads[3] = {256, 512, 512};
    const int32_t *list = r->list;
    for (int c = 0; c < LIST_BLOCK; c++) list += found->list[c];
    cudaError_t code = cudaFuncSetAttribute(compute_block_rows<V>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            gpu_block_bytes(2, limits->shared_bytes));
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "spgemm: compute rows by blocks");
    if (found->list[LIST_GIANT] > 0) {
        const int32_t *giants = list;
        for (int c = LIST_BLOCK; c < LIST_GIANT; c++) giants += found->list[c];
        spry_status status =
            compute_giants<V>(r, giants, (int)found->list[LIST_GIANT], limits, C, table, table_bytes, stream, err);
        if (status != SPRY_OK) return status;
    }
    for (int c = LIST_GIANT - 1; c >= LIST_BLOCK; c--) {
        const int count = (int)found->list[c], s = c - LIST_BLOCK, bytes = gpu_block_bytes(s, limits->shared_bytes);
        if (count == 0) continue;
        int before = 0;
        for (int d = LIST_BLOCK; d < c; d++) before += (int)found->list[d];
        compute_block_rows<V>
            <<<(unsigned)count, threads[s], bytes, stream>>>(*r, list + before, bytes, gpu_block_words(bytes), C->j,
                                                             C->j ? NULL : C->known, (V *)C->x, C->p, (V)C->alpha);
        spry_status status = launched(err, "spgemm: compute rows by blocks");
        if (status != SPRY_OK) return status;
    }
    return SPRY_OK;
}

spry_status gpu_block_values(const gpu_rows *r, const gpu_row_counts *found, const gpu_limits *limits,
                             const gpu_result *C, int32_t *table, int64_t table_bytes, cudaStream_t stream,
                             spry_error *err)
{
    unsigned rows = 0;
    for (int c = LIST_BLOCK; c < LISTS; c++) rows += found->list[c];
    if (rows == 0) return SPRY_OK;
    if (C->type == SPRY_F64) return compute_blocks<double>(r, found, limits, C, table, table_bytes, stream, err);
    return compute_blocks<float>(r, found, limits, C, table, table_bytes, stream, err);
}
