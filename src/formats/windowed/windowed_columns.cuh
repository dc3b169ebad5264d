/*
 * By a block of threads: the distinct columns of a window on the device. Few of them are collected in a hash table in
 * shared memory; those of a window of one slice, which may be more, are sorted as they come.
 */
#pragma once

#include "formats/windowed/windowed_device.cuh"

#include <climits>

enum {
    SMALL_BITS = 13, /* of the hash table, which is at most half full but for columns that threads add at once */
    SMALL_TABLE = 1 << SMALL_BITS,
    MOST_SMALL = 4096, /* columns */
    SMALL_THREADS = 512,
    MOST_LARGE = SPRYI_WINDOWED_LANES * SPRYI_WINDOWED_LONG, /* columns */
    LARGE_THREADS = 1024,
    LARGE_BYTES = MOST_LARGE * (int)sizeof(int32_t),
    OWN_LARGE = MOST_LARGE / LARGE_THREADS, /* columns of a thread */
    NO_COLUMN = INT_MAX,
};
static_assert(MOST_SMALL >= (int)SPRYI_WINDOWED_NUMBERS && MOST_SMALL + SMALL_THREADS < SMALL_TABLE,
              "the table has room");

/* Of a slice, the first three where it begins a window; summed up, what is before. A row of each number. */
struct window_sizes {
    int64_t windows, dictionary, pages, values, units; /* dictionary and values in their units */
};
enum { SIZES = sizeof(window_sizes) / sizeof(int64_t) };

static __device__ window_sizes sizes_before(const int64_t *sizes, int64_t slices, int64_t slice)
{
    int64_t number[SIZES];
#pragma unroll
    for (int n = 0; n < SIZES; n++) {
        const int64_t at = n * slices + slice;
        number[n] = slice > 0 ? sizes[at - 1] - (n > 0 ? sizes[n * slices - 1] : 0) : 0;
    }
    return {number[0], number[1], number[2], number[3], number[4]};
}

/* The windows that are made. Of the kind made of runs first, each kind cut at multiples of `window` rows. */
template <typename P> struct windowing {
    windowed_csr<P> a;
    const uint32_t *order, *leader;
    int64_t window, count, of_runs, run, stride;
    int64_t windows_of_runs, slices_of_runs; /* before windows are cut in two */
    int64_t slices;
    uint32_t *rows;    /* of the storage */
    uint32_t *columns; /* of the window that begins with each slice */
    int64_t *sizes;    /* see window_sizes */
    uint32_t *large;   /* slices that are windows of more than MOST_SMALL columns */
    uint32_t *marks;   /* how many those are, and the most x of a window */
};

/* The run of a window's rows, by its first slice; the entry where run t of a row begins. */
template <typename P> static __device__ __forceinline__ int run_of(const windowing<P> &w, int64_t slice)
{
    return slice < w.slices_of_runs ? (int)w.run : 1;
}
template <typename P> static __device__ __forceinline__ int begin_of_run(const windowing<P> &w, int run, int t)
{
    return w.stride == 1 ? t * run : t; /* run is 1 where the window's stride is not w.stride */
}

/* By a warp, of the 2*LANES keys from `base` on, of which lanes have two: the steps of LANES and below of a size. */
template <typename K> static __device__ __forceinline__ void sort_chunk(K *low, K *high, int base, int size)
{
    const int lane = lane_of_warp();
    const bool low_rises = ((base + lane) & size) == 0, high_rises = ((base + LANES + lane) & size) == 0;
    if (size > LANES && (*low > *high) == low_rises) {
        const K swap = *low;
        *low = *high;
        *high = swap;
    }
    for (int step = size / 2 < LANES ? size / 2 : LANES / 2; step > 0; step /= 2) {
        const K other_low = __shfl_xor_sync(FULL_WARP, *low, step),
                other_high = __shfl_xor_sync(FULL_WARP, *high, step);
        const bool is_first = (lane & step) == 0;
        if ((*low > other_low) == (is_first == low_rises)) *low = other_low;
        if ((*high > other_high) == (is_first == high_rises)) *high = other_high;
    }
}

/* The same in shared memory, of all chunks: for the sizes from first to last. Ends with all threads together. */
template <typename K> static __device__ void sort_chunks(K *keys, int count, int first, int last)
{
    const int step = blockDim.x / LANES * (2 * LANES);
    for (int base = threadIdx.x / LANES * (2 * LANES); base < count; base += step) {
        K *own = keys + base + lane_of_warp(), low = own[0], high = own[LANES];
        for (int size = first; size <= last; size *= 2) sort_chunk(&low, &high, base, size);
        own[0] = low;
        own[LANES] = high;
    }
    __syncthreads();
}

/* keys[0 .. count - 1] rise, count a power of two; there is room for 2*LANES. By all threads of the block. */
template <typename K> static __device__ void sort_block(K *keys, int count)
{
    enum { CHUNK = 2 * LANES };
    if (count < CHUNK) {
        for (int n = count + threadIdx.x; n < CHUNK; n += blockDim.x) keys[n] = keys[count - 1];
        __syncthreads();
    }
    sort_chunks(keys, count, 2, count < CHUNK ? count : (int)CHUNK);
    for (int size = 2 * CHUNK; size <= count; size *= 2) {
        for (int step = size / 2; step >= CHUNK; step /= 2) {
            for (int n = threadIdx.x; n < count / 2; n += blockDim.x) {
                const int low = 2 * n - (n & (step - 1)), high = low + step;
                const K a = keys[low], b = keys[high];
                if ((a > b) == ((low & size) == 0)) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
            __syncthreads();
        }
        sort_chunks(keys, count, size, size);
    }
}

static __device__ __forceinline__ int power_of_two(int count)
{
    int size = 1;
    while (size < count) size *= 2;
    return size;
}

/* ---- few columns ----------------------------------------------------------------------------------------- */

struct column_table {
    int32_t column[SMALL_TABLE];
    int count;
};

/* false: there are over `most` columns. */
static __device__ __forceinline__ bool add_column(column_table *t, int32_t column, int most)
{
    if (*(volatile int *)&t->count > most) return false;
    unsigned slot = (uint32_t)column * 0x9E3779B1u >> (32 - SMALL_BITS);
    for (;;) {
        int32_t there = *(volatile int32_t *)&t->column[slot];
        if (there == NO_COLUMN) there = atomicCAS(&t->column[slot], NO_COLUMN, column);
        if (there == NO_COLUMN) atomicAdd(&t->count, 1);
        if (there == NO_COLUMN || there == column) return true;
        slot = (slot + 1) % SMALL_TABLE;
    }
}

/* Returns the columns of rows begin .. end - 1, of which the leaders are known; counting ends soon after `most`. */
template <typename P> static __device__ int collect_columns(const windowing<P> &w, const uint32_t *leader, int begin,
                                                            int end, int run, int most, column_table *t)
{
    enum { AHEAD = 4 };
    for (int n = threadIdx.x; n < SMALL_TABLE; n += blockDim.x) t->column[n] = NO_COLUMN;
    if (threadIdx.x == 0) t->count = 0;
    __syncthreads();
    /* All lanes of a warp go through the same steps, or its rows would come one after the other. */
    const int lane = threadIdx.x % ROW_LANES, step = blockDim.x / ROW_LANES;
    bool goes_on = true;
    for (int base = begin + threadIdx.x / LANES * (LANES / ROW_LANES); base < end; base += step) {
        const int p = base + lane_of_warp() / ROW_LANES;
        const uint32_t own = p < end ? leader[p] : NO_ROW;
        const bool is_first = own != NO_ROW && (p == begin || leader[p - 1] != own);
        const int32_t *Aj = w.a.Aj + (is_first ? (int64_t)w.a.Ap[own] : 0);
        const int runs = is_first ? (int)w.a.length(own) / run : 0;
        for (int r = lane; __any_sync(FULL_WARP, r - lane < runs); r += AHEAD * ROW_LANES) {
            int32_t j[AHEAD];
#pragma unroll
            for (int u = 0; u < AHEAD; u++)
                j[u] = r + u * ROW_LANES < runs ? Aj[begin_of_run(w, run, r + u * ROW_LANES)] : NO_COLUMN;
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                if (goes_on && j[u] != NO_COLUMN) goes_on = add_column(t, j[u], most);
                __syncwarp();
            }
        }
        if (!__any_sync(FULL_WARP, goes_on)) break;
    }
    __syncthreads();
    const int count = t->count;
    __syncthreads(); /* the table may be cleared again */
    return count;
}

/* Of a table of up to MOST_SMALL columns: they take its first slots, rising. */
static __device__ void sort_table(column_table *t, int count)
{
    enum { OWN = SMALL_TABLE / SMALL_THREADS };
    const int size = power_of_two(count);
    int32_t own[OWN];
#pragma unroll
    for (int n = 0; n < OWN; n++) own[n] = t->column[n * SMALL_THREADS + threadIdx.x];
    if (threadIdx.x == 0) t->count = 0;
    __syncthreads();
#pragma unroll
    for (int n = 0; n < OWN; n++)
        if (own[n] != NO_COLUMN) t->column[atomicAdd(&t->count, 1)] = own[n];
    for (int n = count + threadIdx.x; n < size; n += SMALL_THREADS) t->column[n] = NO_COLUMN;
    __syncthreads();
    sort_block(t->column, size);
}

/* ---- many columns ---------------------------------------------------------------------------------------- */

/* By LARGE_THREADS threads, a warp a row: the columns of a window of one slice, rising in column[0 .. ], their count. */
template <typename P> static __device__ int list_columns(const windowing<P> &w, int64_t slice, int32_t *column)
{
    static_assert(LARGE_THREADS == LANES * SPRYI_WINDOWED_LANES, "a warp a row");
    const int run = run_of(w, slice), warp = threadIdx.x / LANES;
    const uint32_t row = w.rows[slice * LANES + warp], own = row != NO_ROW ? w.leader[row] : NO_ROW;
    const uint32_t row_before = warp > 0 ? w.rows[slice * LANES + warp - 1] : NO_ROW;
    const bool has = own != NO_ROW && (row_before == NO_ROW || w.leader[row_before] != own);
    const int runs = has ? (int)w.a.length(own) / run : 0;
    int all = 0, sum = 0;
    const int at = __shfl_sync(FULL_WARP, sum_before(lane_of_warp() == 0 ? runs : 0, &all), 0);
    for (int r = lane_of_warp(); r < runs; r += LANES) column[at + r] = w.a.Aj[w.a.Ap[own] + begin_of_run(w, run, r)];
    const int size = power_of_two(all);
    for (int n = all + threadIdx.x; n < size; n += LARGE_THREADS) column[n] = NO_COLUMN;
    __syncthreads();
    sort_block(column, size);
    int32_t mine[OWN_LARGE], count = 0; /* the columns from OWN_LARGE*threadIdx.x on that are not those before them */
    for (int u = 0; u < OWN_LARGE; u++) {
        const int n = OWN_LARGE * threadIdx.x + u;
        if (n < all && (n == 0 || column[n - 1] != column[n])) mine[count++] = column[n];
    }
    const int to = sum_before(count, &sum); /* all have read: it waits for all threads */
    for (int u = 0; u < count; u++) column[to + u] = mine[u];
    __syncthreads();
    return sum;
}
