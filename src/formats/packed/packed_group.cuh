/*
 * Measuring one group of rows on the device: its slices are drafted and coded in shared memory by a block of threads.
 *
 * Work: a warp a slice where lanes work together, and one warp where each slice depends on those before (shared lists,
 *       locations). Blocks of b x b: a warp a block row.
 * Source: the decisions are packed_layout.h's, the same as the host's.
 */
#pragma once

extern "C" {
#include "formats/packed/packed_layout.h"
}
#include "device/cuda/convert.cuh"
#include "device/cuda/reduce.cuh"

enum {
    LANES = SPRYI_PACKED_LANES,
    SLICES = SPRYI_PACKED_GROUP / LANES, /* of a group, at most */
    LENGTHS = SPRYI_PACKED_MOST_WIDTH + 1,
    WARPS = CONVERT_THREADS / LANES,
    LENGTHS_OF_LANE = 8, /* that a lane adds up: 256 of them in all */
};
static const unsigned ALL = 0xffffffffu;

/* CSR, and one group of it. b: of its blocks. */
template <typename P> struct packed_rows {
    const P *Ap;
    const int32_t *Aj;
    int64_t begin, end, blocks_over, rows_over;
    int b;
};

/* A group of rows in the shared memory of a block. */
struct packed_group {
    spryi_packed_draft slice[SLICES];
    spryi_packed_location location[SLICES];
    spryi_packed_counts before[SLICES]; /* at first the counts of its long rows alone */
    int64_t high[SLICES];
    int32_t diagonals[SLICES];  /* distances of each slice; -1: none, INT32_MIN: not looked for */
    uint32_t long_rows[SLICES]; /* of the rows in their order */
    int32_t at[LENGTHS + 1];    /* where rows of length MOST_WIDTH - n begin in the order */
    uint16_t order[SPRYI_PACKED_GROUP];
    int broken[SLICES]; /* units that are not of blocks */
    int count, sorted, vote;
    spryi_packed_counts sum;
};

static __device__ __forceinline__ int warp_of_block()
{
    return (int)threadIdx.x / LANES;
}

static __device__ __forceinline__ int64_t warp_sum(int64_t value)
{
    for (int mask = LANES / 2; mask > 0; mask /= 2) value += __shfl_xor_sync(ALL, value, mask);
    return value;
}

/* The sum, least or greatest of the lanes' values: one instruction from compute capability 8.0 on. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define REDUCE(reduce, combined) return reduce(ALL, value);
#else
#define REDUCE(reduce, combined)                                                                                       \
    for (int mask = LANES / 2; mask > 0; mask /= 2) {                                                                  \
        const int32_t other = __shfl_xor_sync(ALL, value, mask);                                                       \
        value = combined;                                                                                              \
    }                                                                                                                  \
    return value;
#endif
static __device__ __forceinline__ int32_t warp_sum(int32_t value)
{
    REDUCE(__reduce_add_sync, value + other)
}
static __device__ __forceinline__ int32_t warp_min(int32_t value)
{
    REDUCE(__reduce_min_sync, min(value, other))
}
static __device__ __forceinline__ int32_t warp_max(int32_t value)
{
    REDUCE(__reduce_max_sync, max(value, other))
}
#undef REDUCE

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* By a warp: 1 if rows i .. i + b - 1, none of more than `over` entries, are dense blocks; *empty: they are empty. */
template <typename P>
static __device__ bool has_blocks(const P *Ap, const int32_t *Aj, int64_t i, int b, int64_t over, bool *empty)
{
    const int64_t begin = Ap[i], length = Ap[i + 1] - begin;
    bool fits = length % b == 0 && length <= (int64_t)SPRYI_PACKED_MOST_WIDTH * b && length <= over;
    *empty = Ap[i + b] == begin;
    for (int r = 1; r < b; r++) fits = fits && Ap[i + r + 1] == begin + (r + 1) * length;
    for (int k = lane_of_warp(); fits && k < length; k += LANES) { /* lanes may part: no votes in here */
        const int32_t first = Aj[begin + k - k % b];
        fits = first % b == 0;
        for (int r = 0; r < b; r++) fits = fits && Aj[begin + r * length + k] == first + k % b;
    }
    return __all_sync(ALL, fits);
}

/* votes[2*b]: samples of block rows that are not empty; votes[2*b + 1]: those of them that are blocks. */
template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    sample_blocks(const P *__restrict__ Ap, const int32_t *__restrict__ Aj, int64_t m, int32_t *votes)
{
    const int warp = (int)blockIdx.x * WARPS + warp_of_block(), n = warp % SPRYI_PACKED_SAMPLES;
    const int b = 2 + warp / SPRYI_PACKED_SAMPLES;
    const int64_t rows = m / b, samples = rows < SPRYI_PACKED_SAMPLES ? rows : SPRYI_PACKED_SAMPLES;
    bool empty;
    if (b > SPRYI_PACKED_MOST_BLOCK || n >= samples) return;
    const bool blocks = has_blocks(Ap, Aj, rows * n / samples * b, b, INT64_MAX, &empty);
    if (empty || lane_of_warp() > 0) return;
    atomicAdd(votes + 2 * b, 1);
    if (blocks) atomicAdd(votes + 2 * b + 1, 1);
}

/* ---- slices -------------------------------------------------------------------------------------------- */

/* Cuts the rows: units of 32 block rows into one slice of blocks or slices of rows. */
template <typename P> static __device__ void cut_slices(packed_group *g, const packed_rows<P> &a)
{
    const int64_t unit = (int64_t)LANES * a.b;
    const int block_rows = (int)((a.end - a.begin) / a.b);
    if (threadIdx.x < SLICES) g->broken[threadIdx.x] = a.b == 1;
    __syncthreads();
    for (int r = warp_of_block(); a.b > 1 && r < block_rows; r += WARPS) {
        bool empty;
        if (!has_blocks(a.Ap, a.Aj, a.begin + (int64_t)r * a.b, a.b, a.blocks_over, &empty) && lane_of_warp() == 0)
            g->broken[r / LANES] = 1;
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    int count = 0, u = 0;
    for (int64_t row = a.begin; row < a.end; row += unit, u++) {
        const int64_t end = row + unit < a.end ? row + unit : a.end;
        const int b = g->broken[u] || (end - row) % a.b != 0 ? 1 : a.b;
        for (int64_t i = row; i < end; i += (int64_t)LANES * b, count++) {
            g->slice[count].row = i;
            g->slice[count].b = b;
            g->slice[count].count = (int)(end - i < (int64_t)LANES * b ? (end - i) / b : LANES);
        }
    }
    g->count = count;
    g->sorted = 0;
}

/* By a warp: lengths and beginnings of the lanes of slice q. */
template <typename P> static __device__ void draft_lanes(packed_group *g, const packed_rows<P> &a, int q)
{
    spryi_packed_draft *n = &g->slice[q];
    const int lane = lane_of_warp(), b = n->b, count = n->count;
    int64_t begin = 0, length = 0;
    if (lane < count) {
        const int64_t i = g->sorted ? a.begin + g->order[n->row - a.begin + lane] : n->row + (int64_t)lane * b;
        begin = a.Ap[i];
        length = a.Ap[i + 1] - begin;
    }
    const bool is_long = b == 1 && length > a.rows_over;
    const int32_t own = is_long ? 0 : (int32_t)length / b;
    const unsigned long_lanes = __ballot_sync(ALL, is_long);
    const int32_t entries = warp_sum(own), longest = warp_max(own);
    const bool alike = __all_sync(ALL, own == longest);
    n->begin[lane] = begin;
    n->length[lane] = own;
    if (lane == 0) {
        n->long_lanes = long_lanes;
        n->entries = entries;
        n->longest = longest;
        n->even = count == LANES && alike && !long_lanes;
        n->sorted = g->sorted;
    }
    __syncwarp();
}

template <typename P>
static __device__ __forceinline__ int32_t column_of(const packed_rows<P> &a, const spryi_packed_draft *n, int l, int k)
{
    return n->b == 1 ? a.Aj[n->begin[l] + k] : a.Aj[n->begin[l] + (int64_t)k * n->b] / n->b;
}

/*
 * By a warp: the distances of all lanes, rising; -1 where they are too many or those of a lane do not rise. The least
 * of the lanes' next ones is the next of the list, and the lanes that have it go on.
 */
template <typename P> static __device__ int find_distances(packed_group *g, const packed_rows<P> &a, int q)
{
    spryi_packed_draft *n = &g->slice[q];
    const int lane = lane_of_warp(), most = spryi_packed_most_diagonals(n), length = n->length[lane];
    const int b = n->b;
    const int64_t own = n->row / b + lane;
    const int32_t *Aj = a.Aj + n->begin[lane];
    int64_t next = length > 0 ? Aj[0] / b - own : 0;
    int k = 0, found = 0;
    bool fails = most < 0 || next != (int32_t)next;
    while (!__any_sync(ALL, fails)) {
        if (!__any_sync(ALL, k < length)) return found;
        const int32_t least = warp_min(k < length ? (int32_t)next : INT32_MAX);
        if (found == most) return -1;
        if (lane == 0) n->distances[found] = least;
        found++;
        if (k == length || next != least) continue;
        if (++k < length) next = (b == 1 ? Aj[k] : Aj[(int64_t)k * b] / b) - own;
        fails = k < length && (next <= least || next != (int32_t)next);
    }
    return -1;
}

/* By a warp: the least and the greatest column of slice q. */
template <typename P> static __device__ void find_span(packed_group *g, const packed_rows<P> &a, int q)
{
    spryi_packed_draft *n = &g->slice[q];
    const int lane = lane_of_warp(), length = n->length[lane];
    int32_t low = INT32_MAX, high = -1;
#pragma unroll 4
    for (int k = 0; k < length; k++) {
        const int32_t j = column_of(a, n, lane, k);
        low = j < low ? j : low;
        high = j > high ? j : high;
    }
    low = warp_min(low);
    high = warp_max(high);
    if (lane == 0) n->low = low;
    if (lane == 0) g->high[q] = high;
}

/* ---- sorting ------------------------------------------------------------------------------------------- */

/*
 * By the first warp: at[] from the numbers of rows of each length, and whether the order that they make saves slots
 * enough: the slots are the lengths of each 32nd row of it.
 */
static __device__ bool order_pays(packed_group *g, int32_t unsorted)
{
    const int lane = lane_of_warp(), first = lane * LENGTHS_OF_LANE;
    int32_t own = 0, slots = 0;
    for (int n = first; n < first + LENGTHS_OF_LANE && n < LENGTHS; n++) own += g->at[n];
    int32_t at = warp_scan(own) - own;
    for (int n = first; n < first + LENGTHS_OF_LANE && n < LENGTHS; n++) {
        const int32_t end = at + g->at[n], slices = (end + LANES - 1) / LANES - (at + LANES - 1) / LANES;
        slots += slices * (SPRYI_PACKED_MOST_WIDTH - n);
        g->at[n] = at;
        at = end;
    }
    return spryi_packed_sort_pays(unsorted, warp_sum(slots), g->count);
}

/* By the first warp: the order of the rows. */
static __device__ void order_rows(packed_group *g, int rows)
{
    const int lane = lane_of_warp();
    for (int i = lane; i - lane < rows; i += LANES) {
        const int n = i < rows ? SPRYI_PACKED_MOST_WIDTH - g->slice[i / LANES].length[lane] : LENGTHS;
        const unsigned peers = __match_any_sync(ALL, n);
        if (i < rows) g->order[g->at[n] + __popc(peers & ((1u << lane) - 1))] = (uint16_t)i;
        __syncwarp();
        if (i < rows && (peers >> lane) == 1u) g->at[n] += __popc(peers); /* the last of them */
        __syncwarp();
    }
}

/* By the first warp: slots of rows in their order; 0 where no order can pay, as entries fill at most 32 lanes. */
static __device__ int32_t slots_unsorted(const packed_group *g)
{
    const int lane = lane_of_warp(), there = lane < g->count;
    const int32_t unsorted = warp_sum(there ? g->slice[lane].longest : 0);
    const int32_t entries = warp_sum(there ? (int32_t)g->slice[lane].entries : 0);
    return spryi_packed_sort_pays(unsorted, entries / LANES, g->count) ? unsorted : 0;
}

/* Sorts the rows where that pays and fewer than half of the slices, rows in their order, are of DIAGONALS. */
template <typename P> static __device__ void sort_rows(packed_group *g, const packed_rows<P> &a)
{
    const int rows = (int)(a.end - a.begin), first_warp = warp_of_block() == 0;
    if (first_warp) {
        const int32_t slots = slots_unsorted(g);
        if (threadIdx.x == 0) g->vote = slots;
    }
    __syncthreads();
    const int32_t unsorted = g->vote;
    if (unsorted == 0) return;
    for (int n = threadIdx.x; n < LENGTHS; n += CONVERT_THREADS) g->at[n] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < rows; i += CONVERT_THREADS)
        atomicAdd(&g->at[SPRYI_PACKED_MOST_WIDTH - g->slice[i / LANES].length[i % LANES]], 1);
    __syncthreads();
    if (first_warp) {
        const bool pays = order_pays(g, unsorted);
        if (threadIdx.x == 0) g->vote = pays;
    }
    __syncthreads();
    if (!g->vote) return;
    for (int q = warp_of_block(); q < g->count; q += WARPS) {
        const int count = find_distances(g, a, q);
        if (lane_of_warp() == 0) g->diagonals[q] = count;
    }
    __syncthreads();
    if (first_warp) {
        const int q = lane_of_warp();
        const bool diagonals = q < g->count &&
                               spryi_packed_diagonals_pay(&g->slice[q], g->diagonals[q], g->diagonals[q] == 0);
        const bool mostly = 2 * __popc(__ballot_sync(ALL, diagonals)) >= g->count;
        if (!mostly) order_rows(g, rows);
        if (threadIdx.x == 0) g->sorted = !mostly;
    }
    __syncthreads();
    for (int q = warp_of_block(); g->sorted && q < g->count; q += WARPS) draft_lanes(g, a, q);
}

/* ---- locations -------------------------------------------------------------------------------------------- */

/* By a warp: g->before[q] = the long rows of slice q, in their order. */
template <typename P> static __device__ void count_long_rows(packed_group *g, const packed_rows<P> &a, int q)
{
    const spryi_packed_draft *n = &g->slice[q];
    const int lane = lane_of_warp();
    int64_t length = 0;
    if (n->long_lanes >> lane & 1) length = a.Ap[n->row + lane + 1] - a.Ap[n->row + lane];
    const int64_t pieces = n->long_lanes ? warp_sum((length + SPRYI_PACKED_PIECE - 1) / SPRYI_PACKED_PIECE) : 0;
    const int64_t entries = n->long_lanes ? warp_sum(length) : 0;
    if (lane > 0) return;
    g->long_rows[q] = n->long_lanes;
    g->before[q].long_rows = __popc(n->long_lanes);
    g->before[q].pieces = pieces;
    g->before[q].long_nnz = entries;
}

/* By the first warp: slices one after the other; g->sum grows from what is before the group. */
static __device__ void locate_slices(packed_group *g)
{
    const int lane = lane_of_warp();
    spryi_packed_counts at = g->sum;
    int64_t list_at = at.units;
    int list = 0;
    int32_t distance = 0; /* this lane's of the list */
    for (int q = 0; q < g->count; q++) {
        spryi_packed_draft *n = &g->slice[q];
        const int count = g->diagonals[q];
        const int listed = __all_sync(ALL, count == list && (lane >= count || n->distances[lane] == distance));
        if (lane == 0) {
            const spryi_packed_counts longs = g->before[q];
            if (spryi_packed_diagonals_pay(n, count, listed))
                spryi_packed_choose_diagonals(n, count, listed);
            else
                spryi_packed_choose_indices(n, n->low, g->high[q]);
            g->before[q] = at;
            g->location[q] = spryi_packed_locate(&at, &list_at, n, (int64_t)sizeof(int32_t));
            at.long_rows += longs.long_rows;
            at.pieces += longs.pieces;
            at.long_nnz += longs.long_nnz;
        }
        __syncwarp();
        if (n->kind == SPRYI_PACKED_DIAGONALS && !n->shared) {
            list = count;
            distance = lane < count ? n->distances[lane] : 0;
        }
    }
    if (lane > 0) return;
    at.slots = spryi_packed_align_values(at.slots);
    g->sum = at;
}

/* By a block: all slices of group blockIdx.x and their locations behind *at; g->sum is what is behind them. */
template <typename P>
static __device__ void measure_group(packed_group *g, packed_rows<P> *a, int64_t m, const spryi_packed_counts *at)
{
    const int64_t rows = spryi_packed_group_rows(a->b);
    a->begin = (int64_t)blockIdx.x * rows;
    a->end = a->begin + rows < m ? a->begin + rows : m;
    a->blocks_over = spryi_packed_blocks_over(a->Ap[a->end] - a->Ap[a->begin], a->end - a->begin);
    a->rows_over = spryi_packed_rows_over(a->blocks_over);
    a->blocks_over *= a->b;
    if (threadIdx.x == 0) g->sum = *at;
    cut_slices(g, *a);
    __syncthreads();
    for (int q = warp_of_block(); q < g->count; q += WARPS) {
        draft_lanes(g, *a, q);
        count_long_rows(g, *a, q);
        if (lane_of_warp() == 0) g->diagonals[q] = INT32_MIN; /* not looked for */
    }
    __syncthreads();
    if (a->b == 1) sort_rows(g, *a);
    for (int q = warp_of_block(); q < g->count; q += WARPS) {
        int count = g->diagonals[q];
        __syncwarp();
        if (g->sorted || count == INT32_MIN) count = find_distances(g, *a, q);
        if (!spryi_packed_diagonals_pay(&g->slice[q], count, 0)) find_span(g, *a, q);
        if (lane_of_warp() == 0) g->diagonals[q] = count;
    }
    __syncthreads();
    if (warp_of_block() == 0) locate_slices(g);
    __syncthreads();
}
