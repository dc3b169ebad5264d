/*
 * windowed_staged_cuda: windowed, a block of threads per window.
 *
 * Idea: the block copies the elements of x that its window's dictionary lists into shared memory once, and its warps
 *       gather from shared memory. An element of x is thus loaded once per window, in any order of columns and for any
 *       number of entries. Values and dictionary indices are streamed.
 * Work: a warp per slice, a lane per row, loads of multiple runs in flight. Runs that all lanes have need no test. For
 *       later runs, which only the first lanes have, a ballot counts the lanes. A slice with more runs than the average
 *       warp has is cut into parts for multiple warps. The sums of the parts are added in order. Large windows start
 *       first. Loads that depend on other loads take time. Hence slice records are read together with the window's
 *       record, rows and groups are read one slice in advance, and values and indices of the next slice are prefetched
 *       if the product's bytes fill 1/3 to 15/16 of the second-level cache.
 * Cost: bytes of windowed, y, and the sectors of each window's x once per window. Deterministic.
 * Source: x of a part of the rows in shared memory: Chen, Explicit caching HYB, 2022; slices: Monakov, Lokhmotov,
 *         Avetisyan 2010; groups, runs, dictionary indices of 12 bits: this library.
 */
#include "device/cuda/reduce.cuh"
#include "formats/shared/long_rows.cuh"

#include <stdlib.h>

extern "C" {
#include "formats/windowed/windowed_layout.h"
}

enum {
    LANES = SPRYI_WINDOWED_LANES,
    WARPS = 8,       /* warps per block */
    LEAST_PART = 32, /* least number of runs of a part of a slice */
    MOST_PARTS = LANES + 2 * WARPS,
    MOST_PREFETCHED = 1 << 14, /* most bytes of a slice's values that are prefetched */
    ORDER_THREADS = 1024,
    LEVELS = 16, /* levels of window weights */
};
static const unsigned ALL = 0xffffffffu;

/*
 * The shape of thread blocks, and for runs of C columns the number of runs whose loads are in flight. Measured on an
 * H200.
 */
template <typename V, int C> struct staged_shape {
    static const int threads = WARPS * LANES;
    static const int blocks = 4; /* blocks per multiprocessor; see SPRYI_WINDOWED_AT_ONCE */
    static const int runs = C == 1 ? 8 : C <= 3 || (C == 4 && sizeof(V) == 4) ? 4 : 2;
};

/* Loads data that is read once. If two unaligned loads share a sector, the first-level cache serves the second load. */
static __device__ __forceinline__ float stream(const float *p)
{
    float v;
    asm("ld.global.nc.L1::evict_first.f32 %0, [%1];" : "=f"(v) : "l"(p));
    return v;
}
static __device__ __forceinline__ double stream(const double *p)
{
    double v;
    asm("ld.global.nc.L1::evict_first.f64 %0, [%1];" : "=d"(v) : "l"(p));
    return v;
}
static __device__ __forceinline__ uint32_t stream(const uint32_t *p)
{
    uint32_t v;
    asm("ld.global.nc.L1::evict_first.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
template <typename S> static __device__ __forceinline__ S stream(const S *p)
{
    static_assert(sizeof(S) == sizeof(uint16_t), "other types have a function of their own");
    S v;
    asm("ld.global.nc.L1::evict_first.u16 %0, [%1];" : "=h"(v.bits) : "l"(p));
    return v;
}

/* Data of a plan in addition to the storage. */
typedef struct windowed_plan {
    uint32_t *order; /* order of windows, on the device; NULL: the storage's order */
    bool ahead;      /* prefetch slices */
} windowed_plan;

/* ---- order of windows --------------------------------------------------------------------------------- */

/* Returns the weight of a window, an estimate of its time: its entries plus the elements of x that it stages. */
static __device__ __forceinline__ uint32_t weight_of(const spryi_windowed &s, int64_t w)
{
    const spryi_windowed_window own = s.windows[w], next = s.windows[w + 1];
    const uint32_t entries = (s.slices[next.slice].values - s.slices[own.slice].values) * SPRYI_WINDOWED_ALIGN;
    return entries + own.columns * own.run;
}

/*
 * Orders the windows by decreasing weight, in LEVELS levels; windows of a level keep their order. Windows that were cut
 * in two are light, so they come last and fill the gaps. order[window_count] is set to 1 if the order pays: the mean
 * weight is less than 3/4 of the largest. Otherwise products would be 2 % slower with the order. Measured on an H200.
 * Runs in one block; each thread handles consecutive windows.
 */
static __global__ void __launch_bounds__(ORDER_THREADS) order_windows(const spryi_windowed s, uint32_t *order)
{
    __shared__ uint32_t most;
    __shared__ unsigned long long total;
    const int64_t begin = s.window_count * threadIdx.x / ORDER_THREADS;
    const int64_t end = s.window_count * (threadIdx.x + 1) / ORDER_THREADS;
    unsigned long long weight = 0;
    if (threadIdx.x == 0) most = 1, total = 0;
    __syncthreads();
    for (int64_t w = begin; w < end; w++) {
        weight += weight_of(s, w);
        atomicMax(&most, weight_of(s, w));
    }
    atomicAdd(&total, weight);
    __syncthreads();
    if (threadIdx.x == 0) order[s.window_count] = 4 * total < 3 * most * (unsigned long long)s.window_count;
    int64_t at = 0;
    for (uint32_t level = LEVELS; level-- > 0;) {
        int own = 0, all;
        for (int64_t w = begin; w < end; w++) own += (uint64_t)weight_of(s, w) * (LEVELS - 1) / most == level;
        int64_t to = at + sum_before(own, &all);
        for (int64_t w = begin; w < end; w++)
            if ((uint64_t)weight_of(s, w) * (LEVELS - 1) / most == level) order[to++] = (uint32_t)w;
        at += all;
    }
}

/* Sets plan->order and its bytes if the order pays. The order does not pay if all windows run concurrently. */
static spry_status find_order(const spryi_prepare_request *request, windowed_plan *plan, int64_t *bytes,
                              spry_error *err)
{
    const spryi_windowed *s = (const spryi_windowed *)request->storage;
    const int64_t order_bytes = (s->window_count + 1) * (int64_t)sizeof(uint32_t);
    uint32_t *order = NULL, pays = 0;
    if (s->window_count <= SPRYI_WINDOWED_AT_ONCE) return SPRY_OK;
    spry_status status = spry_cuda_new(request->device, (void **)&order, order_bytes, "order of windows", err);
    if (status != SPRY_OK) return status;
    order_windows<<<1, ORDER_THREADS>>>(*s, order);
    status = launched(err, "windowed_staged_cuda: order");
    const cudaError_t code = cudaMemcpy(&pays, order + s->window_count, sizeof pays, cudaMemcpyDeviceToHost);
    if (status == SPRY_OK && code != cudaSuccess) status = spry_cuda_fail(err, code, "windowed_staged_cuda: order");
    if (status != SPRY_OK || !pays) {
        spry_cuda_free(request->device, order);
        return status;
    }
    plan->order = order;
    *bytes = order_bytes;
    return SPRY_OK;
}

/* ---- slices ahead ------------------------------------------------------------------------------------- */

/*
 * Returns true if a product's bytes are between 1/3 and 15/16 of the second-level cache. Prefetched data then arrives
 * in time, which makes products up to 20 % faster. Smaller products are fast without prefetching. Larger products read
 * memory; prefetching makes them up to a third slower. Measured on an H200.
 */
static bool pays_ahead(const spryi_prepare_request *request)
{
    const spryi_windowed *s = (const spryi_windowed *)request->storage;
    const int64_t of_value = s->a.value_type == SPRY_PATTERN ? 0 : (int64_t)spry_type_bytes(s->a.value_type);
    const int64_t of_lane = LANES * (int64_t)sizeof *s->rows;
    const int64_t stored = s->slots * of_value + s->units * SPRYI_WINDOWED_UNIT + s->slice_count * of_lane +
                           s->numbers * (int64_t)sizeof *s->dictionary;
    const int64_t vectors = (s->a.rows + s->a.columns) * (int64_t)spry_type_bytes(request->vector_type);
    const int64_t cache = request->device->cache_bytes;
    return stored + vectors >= cache / 3 && stored + vectors <= cache / 16 * 15;
}

static void discard(const spryi_device *device, void *auxiliary)
{
    windowed_plan *plan = (windowed_plan *)auxiliary;
    if (!plan) return;
    spry_cuda_free(device, plan->order);
    free(plan);
}

static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    *auxiliary = NULL;
    *bytes = 0;
    windowed_plan *plan = (windowed_plan *)calloc(1, sizeof *plan);
    if (!plan) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: plan of windows");
    plan->ahead = pays_ahead(request);
    const spry_status status = find_order(request, plan, bytes, err);
    if (status == SPRY_OK)
        *auxiliary = plan;
    else
        discard(request->device, plan);
    return status;
}

/* ---- staging ----------------------------------------------------------------------------------------- */

/* The record of a window. Lane l of a warp also holds page l and the record of slice l, if they exist. */
struct staged_window {
    int slice, slices, columns, run, bits, page_count;
    const uint16_t *dictionary;
    const spryi_windowed_page *pages;
    spryi_windowed_page page;
    uint4 own; /* the lane's slice record */
};

static __device__ __forceinline__ staged_window window_of(const spryi_windowed &s, unsigned w)
{
    const uint4 own = __ldg((const uint4 *)(s.windows + w)), next = __ldg((const uint4 *)(s.windows + w + 1));
    const int lane = threadIdx.x % LANES;
    staged_window window;
    window.slice = (int)own.x;
    window.slices = (int)(next.x - own.x);
    window.dictionary = s.dictionary + (int64_t)own.y * SPRYI_WINDOWED_DICTIONARY;
    window.pages = s.pages + own.z;
    window.page_count = (int)(next.z - own.z);
    window.columns = (int)(own.w & 0xffff);
    window.run = (int)(own.w >> 16 & 0xff);
    window.bits = (int)(own.w >> 24);
    window.page = {UINT32_MAX, 0};
    if (lane < window.page_count) window.page = window.pages[lane];
    window.own = make_uint4(0, 0, 0, 0);
    if (lane < window.slices) window.own = __ldg((const uint4 *)(s.slices + window.slice + lane));
    return window;
}

/* Returns page p. Called by all lanes of a warp. */
static __device__ __forceinline__ spryi_windowed_page page_at(const staged_window &w, int p)
{
    if (w.page_count > LANES) return w.pages[p];
    return {__shfl_sync(ALL, w.page.first, p), __shfl_sync(ALL, w.page.high, p)};
}

/* Returns the last page that begins at or before dictionary index d. Called by all lanes of a warp. */
static __device__ __forceinline__ int page_of(const staged_window &w, uint32_t d)
{
    if (w.page_count <= LANES) return __popc(__ballot_sync(ALL, w.page.first <= d)) - 1;
    int low = 0, high = w.page_count;
    while (low + 1 < high) {
        const int middle = (low + high) / 2;
        if (w.pages[middle].first <= d)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/*
 * Copies the elements of x that the dictionary lists to xs. A run has C columns. Each warp copies an equal part. Each
 * lane has BATCH loads of x in flight.
 */
template <typename V, int C>
static __device__ __forceinline__ void stage(const staged_window &w, int64_t stride, const V *__restrict__ x, V *xs)
{
    enum { BATCH = 8 };
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, warps = (int)WARPS;
    const int begin = w.columns * warp / warps, end = w.columns * (warp + 1) / warps;
    if (begin == end) return;
    int page = page_of(w, (uint32_t)begin);
#pragma unroll 1
    for (int first = begin * C; first < end * C; first += BATCH * LANES) {
        const int last = (first + BATCH * LANES < end * C ? first + BATCH * LANES : end * C) - 1;
        uint32_t column[BATCH], high = page_at(w, page).high;
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            const int i = first + u * LANES + lane;
            column[u] = high << SPRYI_WINDOWED_PAGE_BITS | __ldg(w.dictionary + (i < last ? i : last) / C);
        }
        while (page + 1 < w.page_count) {
            const spryi_windowed_page next = page_at(w, page + 1);
            if (next.first > (uint32_t)(last / C)) break;
            const uint32_t change = (high ^ next.high) << SPRYI_WINDOWED_PAGE_BITS;
#pragma unroll
            for (int u = 0; u < BATCH; u++)
                if ((uint32_t)((first + u * LANES + lane) / C) >= next.first) column[u] ^= change;
            high = next.high;
            page++;
        }
        V own[BATCH];
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            const int i = first + u * LANES + lane;
            if (i <= last) own[u] = __ldg(x + column[u] + i % C * stride);
        }
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            const int i = first + u * LANES + lane;
            if (i <= last) xs[i] = own[u];
        }
    }
}

/* ---- slices ------------------------------------------------------------------------------------------ */

/* A lane of a slice. Pointers are at the lane's next value and its group's next word. S: stored type. */
template <typename S> struct staged_lane {
    const S *Ax;
    const uint32_t *words;
    int group, groups, width, whole, length;
};

/* The row of y and the group of a lane. They are read one slice in advance. */
struct lane_ahead {
    uint32_t row;
    int group;
};

/*
 * Prefetches the values and indices of the runs that all lanes of a slice have into the second-level cache. columns:
 * number of columns of a run; bits: number of bits of an index. Called by all lanes of a warp.
 */
template <typename S, bool ONES>
static __device__ __forceinline__ void prefetch_slice(const spryi_windowed &s, uint4 own, int columns, int bits)
{
#if __CUDA_ARCH__ >= 900
    const int lane = threadIdx.x % LANES, whole = (int)(own.z >> 16), groups = (int)(own.w & 0xff);
    const uint8_t *from = (const uint8_t *)((const S *)s.values + (int64_t)own.x * SPRYI_WINDOWED_ALIGN);
    if (sizeof(S) * SPRYI_WINDOWED_ALIGN < 16) from = (const uint8_t *)((uintptr_t)from & ~(uintptr_t)15);
    int bytes = ONES ? 0 : whole * columns * LANES * (int)sizeof(S), most = MOST_PREFETCHED;
    if (lane == 1) {
        from = s.indices + (int64_t)own.y * SPRYI_WINDOWED_UNIT;
        bytes = (groups < LANES ? LANES : 0) + 2 * groups + whole * bits / 32 * 4 * groups;
        most /= 2;
    }
    bytes = (bytes < most ? bytes : most) / 16 * 16;
    if (lane < 2 && bytes > 0)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
#endif
}

/* Reads the row that the lane computes in slice k, and the lane's group of indices. `own` is the slice's record. */
static __device__ __forceinline__ lane_ahead read_ahead(const spryi_windowed &s, int64_t k, uint4 own)
{
    const int lane = threadIdx.x % LANES;
    lane_ahead ahead = {__ldg(s.rows + k * LANES + lane), lane};
    if ((own.w & 0xff) < LANES) ahead.group = __ldg(s.indices + (int64_t)own.y * SPRYI_WINDOWED_UNIT + lane);
    return ahead;
}

/* Reads the lane's row and group in the warp's first slice, assuming that no slice is cut into parts. */
template <typename S, bool ONES>
static __device__ __forceinline__ lane_ahead first_ahead(const spryi_windowed &s, const staged_window &w, bool ahead)
{
    const int warp = threadIdx.x / LANES;
    uint4 own;
    own.x = __shfl_sync(ALL, w.own.x, warp);
    own.y = __shfl_sync(ALL, w.own.y, warp);
    own.z = __shfl_sync(ALL, w.own.z, warp);
    own.w = __shfl_sync(ALL, w.own.w, warp);
    if (ahead && warp < w.slices) prefetch_slice<S, ONES>(s, own, w.run, w.bits);
    return read_ahead(s, w.slice + (warp < w.slices ? warp : 0), own);
}

template <typename S>
static __device__ __forceinline__ staged_lane<S> lane_of(const spryi_windowed &s, uint4 own, int group)
{
    staged_lane<S> z;
    z.width = (int)(own.z & 0xffff);
    z.whole = (int)(own.z >> 16);
    z.groups = (int)(own.w & 0xff);
    z.group = group;
    z.Ax = (const S *)s.values + (int64_t)own.x * SPRYI_WINDOWED_ALIGN + threadIdx.x % LANES;
    const uint8_t *head = s.indices + (int64_t)own.y * SPRYI_WINDOWED_UNIT + (z.groups < LANES ? LANES : 0);
    z.length = __ldg((const uint16_t *)head + group);
    z.words = (const uint32_t *)(head + (z.groups + 1) / 2 * 4) + group;
    return z;
}

/* Returns dictionary index u of `words`. */
template <int BITS, int WORDS>
static __device__ __forceinline__ uint32_t number_of(const uint32_t (&words)[WORDS], int u)
{
    const int bit = u * BITS, q = bit / 32, shift = bit % 32;
    const uint32_t mask = (1u << BITS) - 1;
    if (shift + BITS <= 32) return words[q] >> shift & mask;
    return __funnelshift_r(words[q], words[q + 1 < WORDS ? q + 1 : q], shift) & mask;
}

/*
 * Loads the words that hold the indices of run t and later runs of the lane's group. The groups and lanes that have a
 * word come first.
 */
template <int BITS, int WORDS, typename S>
static __device__ __forceinline__ void load_words(staged_lane<S> *z, int t, uint32_t (&words)[WORDS])
{
#pragma unroll
    for (int q = 0; q < WORDS; q++) {
        const bool has = z->length * BITS > t * BITS + q * 32;
        const int lanes = __popc(__ballot_sync(ALL, has));
        words[q] = 0;
        if (has) words[q] = stream(z->words);
        int groups = lanes;
        if (z->groups < LANES && lanes > 0) groups = __shfl_sync(ALL, z->group, lanes - 1) + 1;
        z->words += groups;
    }
}

/* Adds the next U runs, which all lanes have. Values are widened when all loads have been issued. */
template <int C, int BITS, int U, bool ONES, typename S, typename V>
static __device__ __forceinline__ void add_whole(staged_lane<S> *z, const V *xs, V (&sum)[2])
{
    constexpr int WORDS = U * BITS / 32;
    uint32_t words[WORDS];
    S a[U * C];
#pragma unroll
    for (int q = 0; q < WORDS; q++) words[q] = stream(z->words + q * z->groups);
    z->words += WORDS * z->groups;
#pragma unroll
    for (int e = 0; e < U * C; e++) a[e] = ONES ? S() : stream(z->Ax + e * LANES);
    z->Ax += ONES ? 0 : U * C * LANES;
#pragma unroll
    for (int u = 0; u < U; u++) {
        const uint32_t at = number_of<BITS, WORDS>(words, u) * C;
#pragma unroll
        for (int c = 0; c < C; c++) sum[(u * C + c) % 2] += (ONES ? V(1) : V(widened(a[u * C + c]))) * xs[at + c];
    }
}

/* Adds the last `count` runs, at most U, which all lanes have. */
template <int BITS, int U, bool ONES, typename S, typename V>
static __device__ __forceinline__ void add_last(const staged_lane<S> &z, int count, const V *xs, V (&sum)[2])
{
    constexpr int WORDS = U * BITS / 32;
    uint32_t words[WORDS];
    S a[U];
#pragma unroll
    for (int q = 0; q < WORDS; q++) {
        words[q] = 0;
        if (q * 32 < count * BITS) words[q] = stream(z.words + q * z.groups);
    }
#pragma unroll
    for (int u = 0; u < U; u++) {
        a[u] = S();
        if (!ONES && u < count) a[u] = stream(z.Ax + u * LANES);
    }
#pragma unroll
    for (int u = 0; u < U; u++) {
        if (u >= count) break;
        sum[u % 2] += (ONES ? V(1) : V(widened(a[u]))) * xs[number_of<BITS, WORDS>(words, u)];
    }
}

/* Adds runs t .. t + U - 1, up to the slice's width. The lanes that have a run are the first lanes. */
template <int C, int BITS, int U, bool ONES, typename S, typename V>
static __device__ __forceinline__ void add_rest(staged_lane<S> *z, int t, const V *xs, V (&sum)[2])
{
    constexpr int WORDS = U * BITS / 32;
    uint32_t words[WORDS];
    S a[U * C];
    load_words<BITS, WORDS>(z, t, words);
#pragma unroll
    for (int u = 0; u < U; u++) {
        int stride = LANES;
        bool has = true;
        if (t + u >= z->whole) {
            has = z->length > t + u;
            stride = __popc(__ballot_sync(ALL, has));
        }
#pragma unroll
        for (int c = 0; c < C; c++) {
            a[u * C + c] = S();
            if (!ONES && has) a[u * C + c] = stream(z->Ax + c * stride);
        }
        z->Ax += ONES ? 0 : C * stride;
    }
#pragma unroll
    for (int u = 0; u < U; u++) {
        if (t + u >= z->width) continue;
        const uint32_t at = number_of<BITS, WORDS>(words, u) * C;
#pragma unroll
        for (int c = 0; c < C; c++) {
            V b = xs[at + c];
            if (z->length <= t + u) b = 0;
            sum[(u * C + c) % 2] += (ONES ? V(1) : V(widened(a[u * C + c]))) * b;
        }
    }
}

/* ---- what each warp does ------------------------------------------------------------------------------ */

/*
 * The division of a window's slices into parts of up to `most` runs. Lane l has slice l. Multiple warps share a slice
 * that is much wider than average. `most` is at least the average number of runs per warp. Hence fewer than `warps`
 * slices are cut, into fewer than 2*warps parts in total.
 */
struct slice_parts {
    int width, count;       /* number of runs and of parts of the lane's slice */
    int before, cut_before; /* number of parts of the preceding slices, and of the cut slices among them */
    int total, cut_total, most;
};

/* Returns the sum over the preceding lanes. *total: sum over the warp. */
static __device__ __forceinline__ int sum_of_lanes_before(int own, int *total)
{
    const int sum = warp_scan(own);
    *total = __shfl_sync(ALL, sum, LANES - 1);
    return sum - own;
}

static __device__ __forceinline__ slice_parts parts_of(uint4 own)
{
    const int warps = (int)WARPS;
    const bool has = own.w & 0xff; /* lanes without a slice have a zero record */
    slice_parts p = {};
    int sum;
    p.width = (int)(own.z & 0xffff);
    (void)sum_of_lanes_before(p.width, &sum);
    p.most = (sum + warps - 1) / warps;
    p.most = p.most > LEAST_PART ? (p.most + 7) / 8 * 8 : LEAST_PART;
    if (has) p.count = p.width <= p.most ? 1 : (p.width + p.most - 1) / p.most;
    p.before = sum_of_lanes_before(p.count, &p.total);
    p.cut_before = sum_of_lanes_before(p.count > 1 ? p.count : 0, &p.cut_total);
    return p;
}

/* A part of a slice. part: index among the slice's `count` parts. cut: index among the parts of all cut slices. */
struct __align__(4) part_of_slice
{
    uint8_t slice, part, count, cut;
};

/* Shared memory of a block: slices and parts of its window. */
struct window_table {
    uint4 slices[LANES];
    part_of_slice parts[MOST_PARTS];
    int total, cut_total, most;
};

/* Writes the table. Called by one warp. */
static __device__ __forceinline__ void put_table(const staged_window &w, window_table *table)
{
    const int lane = threadIdx.x % LANES;
    const slice_parts p = parts_of(w.own);
    table->slices[lane] = w.own;
    for (int n = 0; n < p.count; n++)
        table->parts[p.before + n] = {(uint8_t)lane, (uint8_t)n, (uint8_t)p.count, (uint8_t)(p.cut_before + n)};
    if (lane > 0) return;
    table->total = p.total;
    table->cut_total = p.cut_total;
    table->most = p.most;
}

static __device__ __forceinline__ int warp_sum(int own)
{
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) own += __shfl_xor_sync(ALL, own, step);
    return own;
}

/* Advances from the start of the slice to run t, a multiple of 8. */
template <int C, int BITS, bool ONES, typename S>
static __device__ __forceinline__ void skip_runs(staged_lane<S> *z, int t)
{
    const int before = __shfl_up_sync(ALL, z->group, 1), q = t * BITS / 32;
    const int words = (z->length * BITS + 31) / 32;
    const bool is_first = (int)threadIdx.x % LANES == 0 || before != z->group;
    z->words += warp_sum(is_first ? words < q ? words : q : 0);
    if (!ONES) z->Ax += C * warp_sum(z->length < t ? z->length : t);
}

/* Returns the lane's sum over runs begin .. end - 1 of a slice. */
template <int C, int BITS, int U, bool ONES, typename S, typename V>
static __device__ __forceinline__ V part_sum(staged_lane<S> z, int begin, int end, const V *xs)
{
    V sum[2] = {};
    if (begin > 0) skip_runs<C, BITS, ONES>(&z, begin);
    if (end < z.width) {
        z.width = end;
        z.whole = z.whole < end ? z.whole : end;
    }
    int t = begin;
#pragma unroll 1
    for (; t + U <= z.whole; t += U) add_whole<C, BITS, U, ONES>(&z, xs, sum);
    if (C == 1 && z.whole == z.width) {
        if (t < z.width) add_last<BITS, U, ONES>(z, z.width - t, xs, sum);
        return sum[0] + sum[1];
    }
#pragma unroll 1
    for (; t < z.width; t += U) add_rest<C, BITS, U, ONES>(&z, t, xs, sum);
    return sum[0] + sum[1];
}

/*
 * Computes y for the window's slices, with C columns per run. cut: sums of the parts of cut slices. Called by all
 * threads of the block.
 */
template <typename S, int C, int BITS, int U, bool ONES, typename V>
static __device__ __forceinline__ void run_slices(const spryi_windowed &s, int64_t slice, const window_table &table,
                                                  lane_ahead next, const V *xs, V (*cut)[LANES], V *__restrict__ y,
                                                  V alpha, V beta, bool ahead)
{
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, warps = (int)WARPS;
    if (warp < table.total && table.parts[warp].slice != warp)
        next = read_ahead(s, slice + table.parts[warp].slice, table.slices[table.parts[warp].slice]);
#pragma unroll 1
    for (int n = warp; n < table.total; n += warps) {
        const part_of_slice part = table.parts[n];
        const lane_ahead own = next;
        const staged_lane<S> z = lane_of<S>(s, table.slices[part.slice], own.group);
        if (n + warps < table.total) {
            const int k = table.parts[n + warps].slice;
            next = read_ahead(s, slice + k, table.slices[k]);
            if (ahead && table.parts[n + warps].count == 1) prefetch_slice<S, ONES>(s, table.slices[k], C, BITS);
        }
        const int end = part.count > 1 ? (part.part + 1) * table.most : z.width;
        const V sum = part_sum<C, BITS, U, ONES>(z, part.part * table.most, end, xs);
        if (part.count > 1)
            cut[part.cut][lane] = sum;
        else if (own.row != SPRYI_WINDOWED_NO_ROW)
            put(y, own.row, sum, alpha, beta);
    }
    if (table.cut_total == 0) return;
    __syncthreads();
    const slice_parts p = parts_of(table.slices[lane]);
    unsigned slices = __ballot_sync(ALL, p.count > 1);
    for (int n = 0; slices; slices &= slices - 1, n++) {
        if (n % warps != warp) continue;
        const int of = __ffs((int)slices) - 1, count = __shfl_sync(ALL, p.count, of);
        const int first = __shfl_sync(ALL, p.cut_before, of);
        const uint32_t row = __ldg(s.rows + (slice + of) * LANES + lane);
        V sum = 0;
        for (int part = 0; part < count; part++) sum += cut[first + part][lane];
        if (row != SPRYI_WINDOWED_NO_ROW) put(y, row, sum, alpha, beta);
    }
}

template <typename S, typename V, int C, bool ONES>
static __global__ void __launch_bounds__(staged_shape<V, C>::threads, staged_shape<V, C>::blocks)
    windowed_staged(const __grid_constant__ spryi_windowed s, const uint32_t *__restrict__ order,
                    const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta, bool ahead)
{
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ window_table table;
    __shared__ V cut[2 * staged_shape<V, C>::threads / LANES][LANES];
    V *xs = (V *)shared;
    wait_for_previous_kernel();
    const staged_window w = window_of(s, order ? __ldg(order + blockIdx.x) : blockIdx.x);
    const lane_ahead next = first_ahead<S, ONES>(s, w, ahead);
    if (C == 1 || w.run == 1)
        stage<V, 1>(w, 1, x, xs);
    else
        stage<V, C>(w, s.stride, x, xs);
    if (threadIdx.x < LANES) put_table(w, &table);
    __syncthreads();
    const V a = alpha.get(), b = beta.get();
    constexpr int U = staged_shape<V, C>::runs;
    if (C > 1 && w.run > 1)
        run_slices<S, C, 16, U, ONES>(s, w.slice, table, next, xs, cut, y, a, b, ahead);
    else if (w.bits == SPRYI_WINDOWED_SHORT_BITS)
        run_slices<S, 1, SPRYI_WINDOWED_SHORT_BITS, 8, ONES>(s, w.slice, table, next, xs, cut, y, a, b, ahead);
    else
        run_slices<S, 1, 16, 8, ONES>(s, w.slice, table, next, xs, cut, y, a, b, ahead);
}

/* ---- launches ---------------------------------------------------------------------------------------- */

static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    (void)auxiliary;
    return long_rows_workspace((const spryi_windowed *)request->storage, request->vector_type);
}

template <typename S, typename V, int C, bool ONES> static cudaError_t launch_windows(const spryi_run_args *args)
{
    const spryi_windowed *s = (const spryi_windowed *)args->storage;
    const int bytes = (int)(s->staged * (int64_t)sizeof(V));
    if (bytes > 48 << 10) {
        const cudaError_t code = allow_shared_memory(windowed_staged<S, V, C, ONES>, bytes);
        if (code != cudaSuccess) return code;
    }
    const windowed_plan *plan = (const windowed_plan *)args->auxiliary;
    const V *x = (const V *)args->x;
    const scalar<V> alpha = SPRY_ALPHA(V, args), beta = SPRY_BETA(V, args);
    launch_early(args, windowed_staged<S, V, C, ONES>, s->window_count, staged_shape<V, C>::threads, bytes, *s,
                 (const uint32_t *)plan->order, x, (V *)args->y, alpha, beta, plan->ahead);
    return cudaSuccess;
}

template <typename S, typename V, bool ONES> cudaError_t spry_cuda_windowed_launch(const spryi_run_args *args)
{
    switch (((const spryi_windowed *)args->storage)->run) {
    case 1: return launch_windows<S, V, 1, ONES>(args);
    case 2: return launch_windows<S, V, 2, ONES>(args);
    case 3: return launch_windows<S, V, 3, ONES>(args);
    case 4: return launch_windows<S, V, 4, ONES>(args);
    default: return launch_windows<S, V, SPRYI_WINDOWED_MOST_RUN, ONES>(args);
    }
}

#define INSTANCE(tag, s, v, c, ones)                                                                                   \
    SPRY_CUDA_SELDOM template cudaError_t spry_cuda_windowed_launch<spryi_##s, spryi_##v, ones>(const spryi_run_args *);
SPRYI_MIXED_ROWS(INSTANCE, false)
SPRYI_PLAIN_ROWS(INSTANCE, true)
#ifndef SPRY_SELDOM_MODULE

template <typename S, typename V, typename P, typename J>
static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_windowed *s = (const spryi_windowed *)args->storage;
    const bool ones = s->a.value_type == SPRY_PATTERN;
    cudaError_t code = cudaSuccess;
    if (s->window_count > 0) code = ones ? spry_cuda_windowed_launch<V, V, true>(args)
                                          : spry_cuda_windowed_launch<S, V, false>(args);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "windowed_staged_cuda: shared memory");
    if (ones)
        launch_long_rows<spryi_windowed, V, V, true>(args);
    else
        launch_long_rows<spryi_windowed, S, V, false>(args);
    return launched(err, "windowed_staged_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_MIXED_TABLE(run);

const spryi_kernel_functions spry_cuda_windowed_staged = {"windowed_staged_cuda", &runs, NULL, prepare, discard,
                                                          workspace_bytes};
#endif
