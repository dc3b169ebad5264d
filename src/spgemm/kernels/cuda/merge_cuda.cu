/*
 * Rows of A with few entries: a thread merges the rows of B that its row selects.
 *
 * Idea: the first remaining columns of the (at most 8) sorted rows of B are kept in registers. The smallest is C's next
 *       column. Every row that has this column adds its product and advances. No table, sort or atomic operation is
 *       needed. Counting is the same loop without values. A warp first copies the rows of B that its 32 rows select to
 *       shared memory, and builds the rows of C in shared memory. Consecutive rows often select consecutive rows of B,
 *       so reads are coalesced.
 * Work: a warp per 32 consecutive rows. If shared memory is too small for a warp's rows, they are processed in parts.
 * Cost: A's columns are read once, B's rows once per entry of A (from cache), and C is written once.
 * Source: merge of sorted rows: Gremse et al. 2015 (RMerge); staging: this library.
 */
#include "spgemm/kernels/cuda/network_cuda.cuh"

/* ---- extents ----------------------------------------------------------------------------------------- */

enum { CLASSIFY_THREADS = 128, MIDDLING_MOST = 96 };

struct row_extent {
    int64_t products;
    int32_t first, last; /* columns */
    int32_t longest;     /* longest selected row of B */
};

/* Extends *e by the row of B that entry k of A selects. */
static __device__ __forceinline__ void extend(row_extent *e, const gpu_rows &r, int64_t k)
{
    const int32_t j = __ldg(r.A.j + k);
    const int64_t start = r.B.p.get(j), end = r.B.p.get((int64_t)j + 1);
    e->products += end - start;
    e->longest = max(e->longest, (int32_t)(end - start));
    if (end > start) {
        e->first = min(e->first, __ldg(r.B.j + start));
        e->last = max(e->last, __ldg(r.B.j + end - 1));
    }
}

/* Returns the extent of entries [from, to) of A, computed by G adjacent lanes. */
template <int G> static __device__ __forceinline__ row_extent extent_of(const gpu_rows &r, int64_t from, int64_t to)
{
    row_extent e = {0, NO_COLUMN, -1, 0};
#pragma unroll 4
    for (int64_t k = from + threadIdx.x % G; k < to; k += G) extend(&e, r, k);
    for (int step = G / 2; step > 0; step /= 2) {
        e.products += __shfl_xor_sync(ALL_LANES, e.products, step);
        e.first = min(e.first, __shfl_xor_sync(ALL_LANES, e.first, step));
        e.last = max(e.last, __shfl_xor_sync(ALL_LANES, e.last, step));
        e.longest = max(e.longest, __shfl_xor_sync(ALL_LANES, e.longest, step));
    }
    return e;
}

static __device__ __forceinline__ row_extent extent_from(const row_extent &e, int lane)
{
    const row_extent of_lane = {__shfl_sync(ALL_LANES, e.products, lane), __shfl_sync(ALL_LANES, e.first, lane),
                                __shfl_sync(ALL_LANES, e.last, lane), __shfl_sync(ALL_LANES, e.longest, lane)};
    return of_lane;
}

/* ---- merge -------------------------------------------------------------------------------------------- */

/* Loads a row of A with `length` entries, at most MOST. */
template <int MOST>
static __device__ __forceinline__ void load_row(merge_row<MOST> *row, const gpu_rows &r, int64_t start, int length)
{
    int64_t products = 0;
#pragma unroll
    for (int u = 0; u < MOST; u++) {
        row->from[u] = 0;
        row->length[u] = 0;
        if (u < length) {
            const int32_t j = __ldg(r.A.j + start + u);
            row->from[u] = r.B.p.get(j);
            const int64_t entries = r.B.p.get((int64_t)j + 1) - row->from[u];
            products += entries;
            row->length[u] = (int)min(entries, (int64_t)NO_COLUMN);
        }
    }
    row->products = (int)min(products, (int64_t)NO_COLUMN);
}

/*
 * Returns the number of slots in shared memory for a row's products and the ends of its rows of B. The number is odd,
 * so that lanes with equal rows use different banks.
 */
template <int MOST> static __device__ __forceinline__ int slots_for(const merge_row<MOST> &row)
{
    return (row.products + MOST) | 1;
}

/*
 * Returns a mask of the lanes whose rows are staged together. The mask starts with the first lane of `left` and has as
 * many lanes of `left` as fit in the capacity. need: slots of the lane; before: slots of the lanes before it. *base:
 * slots of the lanes before the first lane of the mask.
 */
static __device__ __forceinline__ unsigned staged_lanes(unsigned left, int need, int before, int capacity, int *base)
{
    *base = __shfl_sync(ALL_LANES, before, __ffs(left) - 1);
    const int lane = threadIdx.x % 32;
    return __ballot_sync(ALL_LANES, (left >> lane & 1) && before + need - *base <= capacity);
}

/*
 * Counts the columns of the union of the rows of B, for lanes whose `merged` is 1. capacity: slots of the warp. *total:
 * slots that all rows of the warp would need together.
 */
template <int MOST> static __device__ __forceinline__ int
merge_count(const merge_row<MOST> &row, int merged, const gpu_rows &r, int32_t *slots, int capacity, int *total)
{
    const int lane = threadIdx.x % 32, need = merged ? slots_for(row) : 0;
    int base, n = 0;
    const int before = lanes_before(need, 32, total);
    for (unsigned left = __ballot_sync(ALL_LANES, merged), now; left; left &= ~now) {
        now = staged_lanes(left, need, before, capacity, &base);
        if (now >> lane & 1) {
            const int32_t *next[MOST];
            int32_t column[MOST], *to = slots + before - base;
#pragma unroll
            for (int u = 0; u < MOST; u++) {
                next[u] = to;
                const int32_t *from = r.B.j + row.from[u];
#pragma unroll 1
                for (int e = 0; e < row.length[u]; e++) __pipeline_memcpy_async(to++, from + e, sizeof(int32_t));
                *to++ = NO_COLUMN;
            }
            __pipeline_commit();
            __pipeline_wait_prior(0);
#pragma unroll
            for (int u = 0; u < MOST; u++) column[u] = *next[u];
            while (true) {
                int32_t least = column[0];
#pragma unroll
                for (int u = 1; u < MOST; u++) least = min(least, column[u]);
                if (least == NO_COLUMN) break;
#pragma unroll
                for (int u = 0; u < MOST; u++)
                    if (column[u] == least) column[u] = *++next[u];
                n++;
            }
        }
        __syncwarp();
    }
    return n;
}

/* The warp's shared memory: columns and values of rows of B, and of C. */
template <typename V> struct merge_room {
    V *x, *out_x;
    int32_t *j, *out_j;
    int slots, results;
};

/* Merges a row, staging it from slot `at` on. Stores columns and sums in out_j and out_x, from index `out` on. */
template <int MOST, typename V>
static __device__ __forceinline__ void merge_values(const merge_row<MOST> &row, const V *a, const int32_t *Bj,
                                                    const V *Bx, int at, V alpha, const merge_room<V> &room, int out)
{
    int next[MOST];
    int32_t column[MOST];
#pragma unroll
    for (int u = 0; u < MOST; u++) {
        next[u] = at;
#pragma unroll 1
        for (int e = 0; e < row.length[u]; e++, at++) {
            __pipeline_memcpy_async(&room.j[at], Bj + row.from[u] + e, sizeof(int32_t));
            __pipeline_memcpy_async(&room.x[at], Bx + row.from[u] + e, sizeof(V));
        }
        room.j[at++] = NO_COLUMN;
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
#pragma unroll
    for (int u = 0; u < MOST; u++) column[u] = room.j[next[u]];
    while (true) {
        int32_t least = column[0];
#pragma unroll
        for (int u = 1; u < MOST; u++) least = min(least, column[u]);
        if (least == NO_COLUMN) break;
        V sum = 0;
#pragma unroll
        for (int u = 0; u < MOST; u++) {
            if (column[u] == least) {
                add_product(&sum, a[u], room.x[next[u]]);
                column[u] = room.j[++next[u]];
            }
        }
        room.out_j[out] = least;
        room.out_x[out++] = alpha * sum;
    }
}

/* Destination of the results of a warp's rows. */
template <typename V> struct merge_target {
    row_offsets p;
    int32_t *j;
    V *x;
    V alpha;
};

/*
 * Copies the results of the lanes in `now` to C. A lane's results begin at `out` and are copied to C from entry `mine`
 * on. Results of lanes that are contiguous in C are copied together.
 */
template <typename V> static __device__ __forceinline__ void store_results(unsigned now, int64_t mine, int out,
                                                                           int count, const int32_t *out_j,
                                                                           const V *out_x, const merge_target<V> &C)
{
    const int lane = threadIdx.x % 32;
    for (unsigned rest = now; rest;) {
        const int head = __ffs((int)rest) - 1;
        const int64_t shift = __shfl_sync(ALL_LANES, mine - out, head);
        const unsigned different = rest & ~__ballot_sync(ALL_LANES, mine - out == shift);
        const unsigned together = different ? rest & ((1u << (__ffs((int)different) - 1)) - 1) : rest;
        const int end = __shfl_sync(ALL_LANES, out + count, 31 - __clz((int)together));
        for (int e = __shfl_sync(ALL_LANES, out, head) + lane; e < end; e += 32) {
            if (C.j) C.j[shift + e] = out_j[e];
            C.x[shift + e] = out_x[e];
        }
        rest &= ~together;
    }
}

/* Computes a warp's rows by the network (network_cuda.cuh). at: the warp's shared memory. */
template <typename V> static __device__ __forceinline__ void net_warp(const gpu_rows &r, int64_t i, int64_t start,
                                                                      int length, int count, V *at, int results,
                                                                      const merge_target<V> &C)
{
    const int lane = threadIdx.x % 32;
    V *out_x = at + NET_VALUES;
    int32_t *out_j = (int32_t *)(out_x + results);
    merge_row<NET_MOST> row;
    unsigned key[NET_KEYS];
    load_row(&row, r, start, length);
    net_fetch(row, (const V *)r.A.x + start, length, (const V *)r.B.x, at);
    const int64_t mine = count > 0 ? C.p.get(i) : 0;
    net_keys(row, r.B.j, key);
    int total, base;
    const int before = lanes_before(count, 32, &total);
    __pipeline_wait_prior(0);
    for (unsigned left = __ballot_sync(ALL_LANES, count > 0), now; left; left &= ~now) {
        now = staged_lanes(left, count, before, results, &base);
        if (now >> lane & 1) net_sums(key, at, C.alpha, out_j + (before - base), out_x + (before - base));
        __syncwarp();
        store_results(now, mine, before - base, count, out_j, out_x, C);
        __syncwarp();
    }
}

/* Computes a warp's 32 rows. Rows with `count` > 0 are merged. MOST: maximal entries of A in these rows. */
template <int MOST, typename V>
static __device__ __forceinline__ void merge_warp(const gpu_rows &r, int64_t i, int64_t start, int length, int count,
                                                  const merge_room<V> &room, const merge_target<V> &C)
{
    const int lane = threadIdx.x % 32;
    merge_row<MOST> row;
    V a[MOST];
    load_row(&row, r, start, length);
#pragma unroll
    for (int u = 0; u < MOST; u++) a[u] = u < length ? __ldg((const V *)r.A.x + start + u) : V(0);
    const int64_t mine = count > 0 ? C.p.get(i) : 0;
    const int need = count > 0 ? slots_for(row) : 0;
    int total, base, out_base;
    const int before = lanes_before(need, 32, &total), out_before = lanes_before(count, 32, &total);
    for (unsigned left = __ballot_sync(ALL_LANES, count > 0), now; left; left &= ~now) {
        now = staged_lanes(left, need, before, room.slots, &base) &
              staged_lanes(left, count, out_before, room.results, &out_base);
        const int out = out_before - out_base;
        if (now >> lane & 1) merge_values<MOST>(row, a, r.B.j, (const V *)r.B.x, before - base, C.alpha, room, out);
        __syncwarp();
        store_results(now, mine, out, count, room.out_j, room.out_x, C);
        __syncwarp();
    }
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

/* Results of a block, combined from its warps. */
struct block_found {
    unsigned rows[ROW_CLASSES];
    unsigned slots, results, most_products, merges; /* merges: 1 if some warps use the loop, not the network */
    unsigned long long products, least_entries;
};

/* Counts by the network if all rows are short enough, else by merge_count. *by_net: the network was used. */
static __device__ __forceinline__ int count_merged(const merge_row<NET_MOST> &row, int merged, const gpu_rows &r,
                                                   int32_t *slots, int capacity, int *total, bool *by_net)
{
    *by_net = by_network(r, row, merged);
    if (!*by_net) return merge_count(row, merged, r, slots, capacity, total);
    *total = warp_sum(merged ? slots_for(row) : 0); /* what merge_count would need: other warps may use it */
    return merged ? net_count(row, r.B.j) : 0;
}
template <int MOST> static __device__ __forceinline__ int count_merged(const merge_row<MOST> &row, int merged,
                                                                       const gpu_rows &r, int32_t *slots, int capacity,
                                                                       int *total, bool *by_net)
{
    *by_net = false;
    return merge_count(row, merged, r, slots, capacity, total);
}

/*
 * Counts rows of up to MERGE_MOST entries and MERGE_PRODUCTS products. Returns 1 if classify_long must process the
 * lane's row.
 */
template <int MOST> static __device__ __forceinline__ int
count_short(const gpu_rows &r, int64_t i, int64_t start, int length, int32_t *slots, int capacity, block_found *found)
{
    const int lane = threadIdx.x % 32;
    merge_row<MOST> row;
    int by_warp = length > MERGE_MOST;
    load_row(&row, r, start, by_warp ? 0 : length);
    by_warp |= row.products > MERGE_PRODUCTS;
    /* if few of a warp's rows can be merged, no row of the warp is merged */
    const unsigned long_ones = __ballot_sync(ALL_LANES, by_warp);
    unsigned merged = __ballot_sync(ALL_LANES, !by_warp && row.products > 0);
    if (long_ones && 4 * __popc(merged) <= __popc(merged | long_ones)) {
        by_warp |= row.products > 0;
        merged = 0;
    }
    if (!by_warp && i < r.rows) r.words[i] = 0;
    if (merged == 0) {
        if (!by_warp && i < r.rows) r.counts[i] = 0;
        return by_warp;
    }
    const int mine = merged >> lane & 1;
    int total;
    bool by_net;
    const int n = count_merged(row, mine, r, slots, capacity, &total, &by_net);
    if (!by_warp && i < r.rows) r.counts[i] = n;
    const int products = warp_sum(mine ? row.products : 0), results = warp_sum(n);
    const int most = warp_max(mine ? row.products : 0);
    if (lane == 0) {
        atomicAdd(&found->rows[ROW_MERGE], (unsigned)__popc(merged));
        atomicAdd(&found->products, (unsigned long long)products);
        atomicMax(&found->slots, (unsigned)total);
        if (!by_net) found->merges = 1;
        atomicMax(&found->results, (unsigned)results);
        atomicMax(&found->most_products, (unsigned)most);
    }
    return by_warp;
}

/* Computes products, columns and class of the rows of lanes with by_warp. */
static __device__ __forceinline__ void classify_long(const gpu_rows &r, int64_t i, int64_t start, int64_t end,
                                                     int by_warp, block_found *found)
{
    const int lane = threadIdx.x % 32;
    row_extent mine = {0, NO_COLUMN, -1, 0};
    /* medium rows are processed eight at a time, by 4 lanes each; long rows one at a time, by all lanes */
    const int middling = by_warp && end - start <= MIDDLING_MOST;
    if (__any_sync(ALL_LANES, middling)) {
        for (int base = 0; base < 32; base += 8) {
            const int owner = base + lane / 4;
            const int64_t from = __shfl_sync(ALL_LANES, start, owner), to = __shfl_sync(ALL_LANES, end, owner);
            const int is_middling = __shfl_sync(ALL_LANES, middling, owner);
            const row_extent e = extent_of<4>(r, from, is_middling ? to : from);
            const row_extent of_row = extent_from(e, lane % 8 * 4);
            if (lane / 8 * 8 == base && middling) mine = of_row;
        }
    }
    for (unsigned left = __ballot_sync(ALL_LANES, by_warp && !middling); left; left &= left - 1) {
        const int owner = __ffs(left) - 1;
        const int64_t from = __shfl_sync(ALL_LANES, start, owner), to = __shfl_sync(ALL_LANES, end, owner);
        const row_extent e = extent_of<32>(r, from, to);
        if (lane == owner) mine = e;
    }
    int class_now = ROW_EMPTY;
    if (by_warp) {
        const int words = mine.products > 0 ? mine.last / 32 - mine.first / 32 + 1 : 0;
        if (mine.products > 0) class_now = gpu_class_of(mine.products, words, end - start);
        r.low[i] = mine.first / 32;
        r.products[i] = (int32_t)min(mine.products, (int64_t)NO_COLUMN);
        r.words[i] = words;
        r.counts[i] = 0;
        atomicMax(&found->most_products, (unsigned)min(mine.products, (int64_t)0xffffffff));
    }
    int64_t all = mine.products, least = mine.longest;
    for (int step = 16; step > 0; step /= 2) {
        all += __shfl_xor_sync(ALL_LANES, all, step);
        least += __shfl_xor_sync(ALL_LANES, least, step);
    }
    for (int c = ROW_SPAN_LOW; c < ROW_CLASSES; c++) {
        const unsigned of_class = __ballot_sync(ALL_LANES, class_now == c);
        if (lane == 0 && of_class) atomicAdd(&found->rows[c], (unsigned)__popc(of_class));
    }
    if (lane != 0) return;
    atomicAdd(&found->products, (unsigned long long)all);
    atomicAdd(&found->least_entries, (unsigned long long)least);
}

/*
 * Classifies 32 rows, one per lane. A thread counts a row of up to MERGE_MOST entries; the warp classifies longer rows.
 */
static __device__ __forceinline__ void classify_group(const gpu_rows &r, int64_t i, int32_t *slots, int capacity,
                                                      block_found *found)
{
    int64_t start = 0, end = 0;
    if (i < r.rows) {
        start = r.A.p.get(r.first + i);
        end = r.A.p.get(r.first + i + 1);
        if (i == r.rows - 1) r.counts[r.rows] = 0;
    }
    const int length = (int)min(end - start, (int64_t)MERGE_MOST + 1);
    const int longest = warp_max(length <= MERGE_MOST ? length : 0);
    int by_warp;
    if (longest <= 4)
        by_warp = count_short<4>(r, i, start, length, slots, capacity, found);
    else if (longest <= 6)
        by_warp = count_short<6>(r, i, start, length, slots, capacity, found);
    else
        by_warp = count_short<8>(r, i, start, length, slots, capacity, found);
    if (__any_sync(ALL_LANES, by_warp)) classify_long(r, i, start, end, by_warp, found);
}

/* Classifies the rows outside of runs, or all rows if runs are not searched. A warp processes 32 rows at a time. */
static __global__ void __launch_bounds__(CLASSIFY_THREADS) classify_rows(gpu_rows r, int capacity)
{
    extern __shared__ double2 merge_shared[];
    __shared__ block_found found;
    if (threadIdx.x < ROW_CLASSES) found.rows[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        found.slots = found.results = found.most_products = found.merges = 0;
        found.products = found.least_entries = 0;
    }
    __syncthreads();
    const int64_t rows = r.groups ? (int64_t)r.found->odd : r.rows, step = (int64_t)gridDim.x * CLASSIFY_THREADS;
    int32_t *slots = (int32_t *)merge_shared + (threadIdx.x / 32) * capacity;
    const int64_t first = (int64_t)blockIdx.x * CLASSIFY_THREADS + threadIdx.x, lane = threadIdx.x % 32;
    for (int64_t at = first; at - lane < rows; at += step)
        classify_group(r, at >= rows ? r.rows : rows < r.rows ? __ldg(r.odd + at) : at, slots, capacity, &found);
    __syncthreads();
    if (threadIdx.x < ROW_CLASSES && found.rows[threadIdx.x])
        atomicAdd(&r.found->rows[threadIdx.x], found.rows[threadIdx.x]);
    if (threadIdx.x == 0) {
        if (found.products) atomicAdd(&r.found->products, found.products);
        if (found.least_entries) atomicAdd(&r.found->least_entries, found.least_entries);
        /* read first: most blocks do not raise the maximum */
        if (found.slots > r.found->merge_slots) atomicMax(&r.found->merge_slots, found.slots);
        if (found.merges) r.found->merges = 1;
        if (found.results > r.found->merge_results) atomicMax(&r.found->merge_results, found.results);
        if (found.most_products > r.found->most_products) atomicMax(&r.found->most_products, found.most_products);
    }
}

enum { MERGE_WARPS = 2, MERGE_THREADS = 32 * MERGE_WARPS };

/* Computes merged rows. SHORT: all warps use the network. */
template <int SHORT, typename V> static __global__ void __launch_bounds__(MERGE_THREADS, SHORT ? 16 : 12)
    merge_rows(gpu_rows r, int64_t rows, int slots, int results, int bytes_of_warp, merge_target<V> C)
{
    extern __shared__ double2 merge_shared[];
    const int64_t at = (int64_t)blockIdx.x * MERGE_THREADS + threadIdx.x;
    const int64_t i = at >= rows ? r.rows : rows < r.rows ? __ldg(r.odd + at) : at;
    int64_t start = 0;
    int length = 0, count = 0;
    if (i < r.rows && r.words[i] == 0) count = r.counts[i];
    if (count > 0) {
        start = r.A.p.get(r.first + i);
        length = (int)(r.A.p.get(r.first + i + 1) - start);
    }
    merge_room<V> room;
    room.slots = slots;
    room.results = results;
    room.x = (V *)((char *)merge_shared + (threadIdx.x / 32) * bytes_of_warp);
    room.out_x = room.x + slots;
    room.j = (int32_t *)(room.out_x + results);
    room.out_j = room.j + slots;
    const int longest = warp_max(length);
    if (longest == 0) return;
    if (SHORT)
        net_warp(r, i, start, length, count, room.x, results, C);
    else if (longest <= 4)
        merge_warp<4>(r, i, start, length, count, room, C);
    else if (longest <= 6)
        merge_warp<6>(r, i, start, length, count, room, C);
    else
        merge_warp<8>(r, i, start, length, count, room, C);
}

/* ---- launches ----------------------------------------------------------------------------------------- */

/* The mean length of A's rows determines the slots of a warp. One lane may need SLOTS_OF_LANE slots. */
enum { SLOTS_OF_LANE = MERGE_PRODUCTS + MERGE_MOST + 1 };
spry_status gpu_classify_rows(gpu_work *w, spry_error *err)
{
    if (w->rows.rows == 0) return SPRY_OK;
    const double mean = w->rows.A.rows > 0 ? (double)w->rows.A.nnz / (double)w->rows.A.rows : 0;
    const int each = mean > MERGE_MOST ? 16 : (int)((mean + 1) * (mean + 2)) + 1;
    const int capacity = 32 * (each < 8 ? 8 : each > SLOTS_OF_LANE ? SLOTS_OF_LANE : each);
    const int bytes = capacity * (int)sizeof(int32_t) * (CLASSIFY_THREADS / 32);
    cudaError_t code = cudaFuncSetAttribute(classify_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "spgemm: classify rows");
    int64_t blocks = ceil_div(w->rows.rows, CLASSIFY_THREADS);
    /* few rows may be outside of runs: more blocks could be idle */
    if (w->rows.groups && blocks > 16 * w->multiprocessors) blocks = 16 * w->multiprocessors;
    classify_rows<<<(unsigned)blocks, CLASSIFY_THREADS, bytes, w->stream>>>(w->rows, capacity);
    return launched(err, "spgemm: classify rows");
}

/*
 * Returns the number of entries for which a warp has shared memory: `needed`, but at most `limit`, so that enough warps
 * fit on a multiprocessor, and at least the entries of one lane.
 */
static int staged_entries(unsigned needed, int limit)
{
    const int n = needed < (unsigned)limit ? (int)needed : limit;
    return n < SLOTS_OF_LANE ? (SLOTS_OF_LANE + 3) & ~3 : (n + 3) & ~3;
}

template <typename V> static spry_status run_merge(gpu_work *w, const gpu_result *C, spry_error *err)
{
    const merge_target<V> to = {C->p, C->j, (V *)C->x, *(const V *)C->alpha};
    const int only_short = !w->found.merges, results = staged_entries(w->found.merge_results, 640);
    const int slots = only_short ? 0 : staged_entries(w->found.merge_slots, 1280), value = (int)sizeof(V);
    const int of_slots = only_short ? NET_VALUES * value : slots * (value + (int)sizeof(int32_t));
    const int of_warp = (of_slots + results * (value + (int)sizeof(int32_t)) + 15) & ~15;
    const auto kernel = only_short ? merge_rows<1, V> : merge_rows<0, V>;
    cudaError_t code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, of_warp * MERGE_WARPS);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "spgemm: merge rows");
    const int64_t rows = w->rows.groups ? (int64_t)w->found.odd : w->rows.rows;
    kernel<<<(unsigned)ceil_div(rows, MERGE_THREADS), MERGE_THREADS, of_warp * MERGE_WARPS, w->stream>>>(w->rows, rows,
                                                                                                         slots, results,
                                                                                                         of_warp, to);
    return launched(err, "spgemm: merge rows");
}

spry_status gpu_merge_values(gpu_work *w, const gpu_result *C, spry_error *err)
{
    if (w->found.rows[ROW_MERGE] == w->found.run_rows) return SPRY_OK;
    if (C->type == SPRY_F64) return run_merge<double>(w, C, err);
    return run_merge<float>(w, C, err);
}
