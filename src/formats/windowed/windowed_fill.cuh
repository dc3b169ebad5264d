/*
 * Filling the arrays of windowed on the device, when it is known where everything goes: records and values by slices,
 * dictionaries and indices by windows.
 */
#pragma once

#include "formats/windowed/windowed_columns.cuh"

enum { WARPS = CONVERT_THREADS / LANES };

/* A slice, as the lanes of a warp see it. */
struct lane_view {
    int64_t begin;   /* of the row's entries */
    uint32_t leader; /* NO_ROW: the lane has no row */
    int length;      /* in runs */
};

template <typename P> static __device__ lane_view view_slice(const windowing<P> &w, int64_t slice, int run)
{
    const uint32_t row = w.rows[slice * LANES + lane_of_warp()];
    if (row == NO_ROW) return {0, NO_ROW, 0};
    return {(int64_t)w.a.Ap[row], w.leader[row], (int)w.a.length(row) / run};
}

/* By a warp: runs of 1; entries of a row that lie side by side are read one after the other. */
template <typename V> static __device__ int put_entries(const lane_view &lane, int width, const V *Ax, V *to)
{
    enum { AHEAD = 8 };
    int before = 0;
    for (int t = 0; t < width; t += AHEAD) {
        V value[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) value[u] = t + u < lane.length ? Ax[lane.begin + t + u] : V(0);
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            const unsigned has = __ballot_sync(FULL_WARP, t + u < lane.length);
            if (t + u < lane.length) to[before + lane_of_warp()] = value[u];
            before += __popc(has);
        }
    }
    return before;
}

/* By a warp: runs of any length. */
template <typename V>
static __device__ int put_runs(const lane_view &lane, int width, int run, int64_t stride, const V *Ax, V *to)
{
    int before = 0;
    for (int t = 0; t < width; t++) {
        const int has = __popc(__ballot_sync(FULL_WARP, t < lane.length));
        V value[SPRYI_WINDOWED_MOST_RUN];
#pragma unroll
        for (int c = 0; c < SPRYI_WINDOWED_MOST_RUN; c++)
            value[c] = t < lane.length && c < run ? Ax[lane.begin + (stride == 1 ? t * run + c : c * lane.length + t)]
                                                  : V(0);
#pragma unroll
        for (int c = 0; c < SPRYI_WINDOWED_MOST_RUN; c++)
            if (t < lane.length && c < run) to[before + c * has + lane_of_warp()] = value[c];
        before += has * run;
    }
    return before;
}

/* A warp a slice: its record, that of the window which it begins, its values. */
template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    put_slices(const windowing<P> w, const V *__restrict__ Ax, const spryi_windowed s)
{
    const int64_t slice = (int64_t)blockIdx.x * WARPS + threadIdx.x / LANES;
    if (slice >= w.slices) return;
    const window_sizes at = sizes_before(w.sizes, w.slices, slice);
    const int run = run_of(w, slice);
    const lane_view lane = view_slice(w, slice, run);
    const uint32_t before = __shfl_up_sync(FULL_WARP, lane.leader, 1);
    const unsigned firsts = __ballot_sync(FULL_WARP, lane_of_warp() == 0 || lane.leader != before);
    const int width = __shfl_sync(FULL_WARP, lane.length, 0), whole = __shfl_sync(FULL_WARP, lane.length, LANES - 1);
    if (lane_of_warp() == 0) {
        const uint8_t groups = (uint8_t)__popc(firsts);
        s.slices[slice] = {(uint32_t)at.values, (uint32_t)at.units, (uint16_t)width, (uint16_t)whole, groups, {}};
        if (w.sizes[slice] > at.windows) {
            const uint32_t columns = w.columns[slice];
            const uint8_t bits = (uint8_t)spryi_windowed_bits(run, columns);
            s.windows[at.windows] = {(uint32_t)slice,    (uint32_t)at.dictionary,
                                     (uint32_t)at.pages, (uint16_t)columns,
                                     (uint8_t)run,       bits};
        }
    }
    if (!Ax) return;
    V *to = (V *)s.values + at.values * SPRYI_WINDOWED_ALIGN;
    const int put = run == 1 ? put_entries(lane, width, Ax, to) : put_runs(lane, width, run, w.stride, Ax, to);
    if (lane_of_warp() < (SPRYI_WINDOWED_ALIGN - put % SPRYI_WINDOWED_ALIGN) % SPRYI_WINDOWED_ALIGN)
        to[put + lane_of_warp()] = V(0);
}

static __global__ void put_ends(const spryi_windowed s)
{
    const uint32_t dictionary = (uint32_t)(s.numbers / SPRYI_WINDOWED_DICTIONARY);
    if (threadIdx.x > 0) return;
    s.windows[s.window_count] = {(uint32_t)s.slice_count, dictionary, (uint32_t)s.page_count, 0, 0, 0};
    s.slices[s.slice_count] = {(uint32_t)(s.slots / SPRYI_WINDOWED_ALIGN), (uint32_t)s.units, 0, 0, 0, 0, 0};
    s.long_first[0] = 0;
    s.pieces[s.piece_count] = s.long_nnz;
}

/* A window whose columns lie sorted in shared memory. */
struct filling {
    const int32_t *column;
    int columns;
    spryi_windowed_window at;
};

/* By the block: the dictionary, zeros behind it; its pages by the first warp. */
static __device__ void put_dictionary(const filling &f, const spryi_windowed &s)
{
    uint16_t *to = s.dictionary + (int64_t)f.at.dictionary * SPRYI_WINDOWED_DICTIONARY;
    const int room = (f.columns + SPRYI_WINDOWED_DICTIONARY - 1) / SPRYI_WINDOWED_DICTIONARY *
                     SPRYI_WINDOWED_DICTIONARY;
    for (int d = threadIdx.x; d < room; d += blockDim.x) to[d] = d < f.columns ? (uint16_t)f.column[d] : 0;
    if (threadIdx.x >= LANES) return;
    int pages = 0;
    for (int begin = 0; begin < f.columns; begin += LANES) {
        const int d = begin + threadIdx.x;
        const int32_t high = d < f.columns ? f.column[d] >> SPRYI_WINDOWED_PAGE_BITS : -1;
        const bool is_first = d < f.columns && (d == 0 || f.column[d - 1] >> SPRYI_WINDOWED_PAGE_BITS != high);
        const unsigned firsts = __ballot_sync(FULL_WARP, is_first);
        if (is_first) s.pages[f.at.page + pages + __popc(firsts & lanes_before())] = {(uint32_t)d, (uint32_t)high};
        pages += __popc(firsts);
    }
}

/* Numbers that fill whole words, and how many: what a lane makes at once. */
template <int BITS> struct number_step {
    static const int numbers = BITS == 16 ? 4 : 8, words = numbers * BITS / 32;
};

/* Numbers first, first + 1, ... of a group of `length` runs as words; a window's numbers rise like its columns. */
template <int BITS, typename P>
static __device__ __forceinline__ void make_words(const windowing<P> &w, const filling &f, int64_t begin, int length,
                                                  int first, int first_step, uint32_t *word)
{
    constexpr int NUMBERS = number_step<BITS>::numbers, WORDS = number_step<BITS>::words;
    int32_t column[NUMBERS];
    int number[NUMBERS];
#pragma unroll
    for (int u = 0; u < NUMBERS; u++) {
        column[u] = first + u < length ? w.a.Aj[begin + begin_of_run(w, f.at.run, first + u)] : -1;
        number[u] = 0; /* also where there is no column */
    }
    for (int step = first_step; step > 0; step /= 2)
#pragma unroll
        for (int u = 0; u < NUMBERS; u++)
            if (number[u] + step < f.columns && f.column[number[u] + step] <= column[u]) number[u] += step;
#pragma unroll
    for (int n = 0; n < WORDS; n++) {
        word[n] = 0;
#pragma unroll
        for (int u = 0; u < NUMBERS; u++) {
            const int bit = u * BITS - 32 * n;
            if (bit > -BITS && bit < 32) word[n] |= bit < 0 ? (uint32_t)number[u] >> -bit : (uint32_t)number[u] << bit;
        }
    }
}

/*
 * By one of `parts` warps, number `part`: the words of a slice's groups, of which the lane has one of `length` runs, word
 * by word, groups side by side. Groups with more words come first.
 */
template <int BITS, typename P> static __device__ __forceinline__ void
put_words(const windowing<P> &w, const filling &f, int64_t begin, int length, int part, int parts, uint32_t *put)
{
    constexpr int NUMBERS = number_step<BITS>::numbers, WORDS = number_step<BITS>::words;
    const int lane = lane_of_warp(), first_step = power_of_two(f.columns) / 2;
    const int own_words = (int)spryi_windowed_words(length, BITS);
    for (int step = 0;; step++) {
        int before[WORDS + 1] = {0};
        uint32_t word[WORDS];
#pragma unroll
        for (int n = 0; n < WORDS; n++)
            before[n + 1] = before[n] + __popc(__ballot_sync(FULL_WARP, own_words > step * WORDS + n));
        if (before[1] == 0) return;
        if (step % parts == part && own_words > step * WORDS) {
            make_words<BITS>(w, f, begin, length, step * NUMBERS, first_step, word);
#pragma unroll
            for (int n = 0; n < WORDS; n++)
                if (own_words > step * WORDS + n) put[before[n] + lane] = word[n];
        }
        put += before[WORDS];
    }
}

/* By one of `parts` warps, number `part`: the indices of a slice. lanes: LANES bytes of shared memory of the warp. */
template <typename P> static __device__ void put_indices(const windowing<P> &w, const filling &f,
                                                         const spryi_windowed &s, int64_t slice, int part, int parts,
                                                         uint8_t *lanes)
{
    const int lane = lane_of_warp(), run = f.at.run;
    const lane_view own = view_slice(w, slice, run);
    const uint32_t before = __shfl_up_sync(FULL_WARP, own.leader, 1);
    const bool is_first = lane == 0 || own.leader != before;
    const unsigned firsts = __ballot_sync(FULL_WARP, is_first);
    const int groups = __popc(firsts), group = __popc(firsts & lanes_before()) + is_first - 1;
    __syncwarp();
    if (is_first) lanes[group] = (uint8_t)lane;
    __syncwarp();
    const int from = lane < groups ? lanes[lane] : 0; /* lane g has group g from here on */
    const int64_t begin = __shfl_sync(FULL_WARP, own.begin, from);
    const int all = __shfl_sync(FULL_WARP, own.length, from), length = lane < groups ? all : 0;
    uint8_t *to = s.indices + (int64_t)s.slices[slice].indices * SPRYI_WINDOWED_UNIT;
    if (groups < LANES) {
        if (part == 0) to[lane] = (uint8_t)group;
        to += LANES;
    }
    if (part == 0 && lane < groups) ((uint16_t *)to)[lane] = (uint16_t)length;
    uint32_t *put = (uint32_t *)(to + (groups + 1) / 2 * 4);
    if (f.at.bits == 16)
        put_words<16>(w, f, begin, length, part, parts, put);
    else
        put_words<SPRYI_WINDOWED_SHORT_BITS>(w, f, begin, length, part, parts, put);
}

/* By the block of THREADS: dictionary and indices of a window. */
template <int THREADS, typename P>
static __device__ void fill_window(const windowing<P> &w, const filling &f, const spryi_windowed &s, int slices)
{
    enum { ALL = THREADS / LANES };
    __shared__ uint8_t lanes[ALL][LANES];
    const int warp = threadIdx.x / LANES, parts = slices < ALL ? ALL / slices : 1;
    put_dictionary(f, s);
    for (int n = warp; n < slices * parts; n += ALL)
        put_indices(w, f, s, f.at.slice + n % slices, n / slices, parts, lanes[warp]);
}

/* A block a window of few columns. */
template <typename P> static __global__ void __launch_bounds__(SMALL_THREADS)
    fill_small(const windowing<P> w, const spryi_windowed s)
{
    __shared__ column_table table;
    __shared__ uint32_t leader[SPRYI_WINDOWED_MOST_ROWS];
    const spryi_windowed_window at = s.windows[blockIdx.x];
    const int slices = (int)(s.windows[blockIdx.x + 1].slice - at.slice);
    if (at.columns > MOST_SMALL) return;
    for (int p = threadIdx.x; p < slices * LANES; p += SMALL_THREADS) {
        const uint32_t row = w.rows[(int64_t)at.slice * LANES + p];
        leader[p] = row != NO_ROW ? w.leader[row] : NO_ROW;
    }
    __syncthreads();
    const int columns = collect_columns(w, leader, 0, slices * LANES, at.run, MOST_SMALL, &table);
    sort_table(&table, columns);
    const filling f = {table.column, columns, at};
    fill_window<SMALL_THREADS>(w, f, s, slices);
}

/* A window of one slice. */
template <typename P> static __global__ void __launch_bounds__(LARGE_THREADS)
    fill_large(const windowing<P> w, const spryi_windowed s)
{
    extern __shared__ int32_t column[];
    for (uint32_t n = blockIdx.x; n < w.marks[0]; n += gridDim.x) {
        const int64_t slice = w.large[n];
        const int columns = list_columns(w, slice, column);
        const window_sizes before = sizes_before(w.sizes, w.slices, slice);
        const filling f = {column, columns, s.windows[before.windows]};
        fill_window<LARGE_THREADS>(w, f, s, 1);
        __syncthreads(); /* columns may be written again */
    }
}
