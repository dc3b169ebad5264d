/*
 * Converts CSR to packed slices on the device, with the same bits as on the host.
 *
 * Idea: the same code visits every group of rows twice. The first pass measures, a scan gives the positions of the
 *       group in the arrays, and the second pass fills them. Long rows are copied by pieces.
 * Work: a block for each group, a warp for each slice, a lane for each row (of at most 254 entries) or block row (of at
 *       most 254 blocks), a block for each piece of long rows. To find b, a warp for each sample.
 * Cost: columns are read two to six times, but only once from memory in each pass. Values are read once. Values of
 *       blocks are read in partial sectors, so up to three times. Slots are written once, and cleared before if there
 *       are holes. Scratch: 56 bytes per group.
 * Source: this library; the scan: CUB.
 */
extern "C" {
#include "formats/packed/packed_layout.h"
}
#include "device/cuda/convert.cuh"
#include "device/cuda/reduce.cuh"

#include <string.h>

enum {
    LANES = SPRYI_PACKED_LANES,
    SLICES = SPRYI_PACKED_GROUP / LANES, /* most slices of a group */
    LENGTHS = SPRYI_PACKED_MOST_WIDTH + 1,
    WARPS = CONVERT_THREADS / LANES,
    LENGTHS_OF_LANE = 8, /* number of lengths whose counts one lane adds; 32 lanes cover 256 lengths */
};
static const unsigned ALL = 0xffffffffu;

/* CSR, and one group of its rows. b: block size. */
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
    /* first the counts of the long rows of each slice, later the sum of the counts of all earlier slices */
    spryi_packed_counts before[SLICES];
    int64_t high[SLICES];
    int32_t diagonals[SLICES];  /* number of distances of each slice; -1: no list; INT32_MIN: not determined */
    uint32_t long_rows[SLICES]; /* mask of each slice's long rows before sorting */
    int32_t at[LENGTHS + 1];    /* at[n]: position in the order of the first row of length MOST_WIDTH - n */
    uint16_t order[SPRYI_PACKED_GROUP];
    int broken[SLICES]; /* nonzero for units of 32 block rows that do not consist of blocks */
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

/* Return the sum, minimum or maximum of the lanes' values, with one instruction from compute capability 8.0 on. */
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

/*
 * Returns true if rows i .. i + b - 1, of at most `over` entries each, are dense blocks. *empty: the rows are empty.
 * Called by a warp.
 */
template <typename P>
static __device__ bool has_blocks(const P *Ap, const int32_t *Aj, int64_t i, int b, int64_t over, bool *empty)
{
    const int64_t begin = Ap[i], length = Ap[i + 1] - begin;
    bool fits = length % b == 0 && length <= (int64_t)SPRYI_PACKED_MOST_WIDTH * b && length <= over;
    *empty = Ap[i + b] == begin;
    for (int r = 1; r < b; r++) fits = fits && Ap[i + r + 1] == begin + (r + 1) * length;
    for (int k = lane_of_warp(); fits && k < length; k += LANES) { /* lanes may diverge, so no warp votes */
        const int32_t first = Aj[begin + k - k % b];
        fits = first % b == 0;
        for (int r = 0; r < b; r++) fits = fits && Aj[begin + r * length + k] == first + k % b;
    }
    return __all_sync(ALL, fits);
}

/* votes[2*b]: number of nonempty samples of block rows. votes[2*b + 1]: number of these that are blocks. */
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

/*
 * Cuts the rows into slices. A unit of 32 block rows becomes one slice of blocks if all its rows consist of blocks.
 * Otherwise the unit becomes slices whose lanes are rows.
 */
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

/* Finds the lengths and beginnings of the lanes of slice q. Called by a warp. */
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
 * Lists the distances of all lanes in rising order. Returns the number of distances, or -1 if there are too many or if
 * the distances of a lane do not rise. The next distance of the list is the minimum of the lanes' next distances. Lanes
 * that have this distance then advance. Called by a warp.
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

/* Finds the least and greatest column of slice q. Called by a warp. */
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
 * Replaces the number of rows of each length in g->at by the position of the first such row in sorted order. Returns
 * true if sorting saves enough slots. The width of a sorted slice is the length of its first row. Called by the first
 * warp.
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

/* Sorts the rows by length. Called by the first warp. */
static __device__ void order_rows(packed_group *g, int rows)
{
    const int lane = lane_of_warp();
    for (int i = lane; i - lane < rows; i += LANES) {
        const int n = i < rows ? SPRYI_PACKED_MOST_WIDTH - g->slice[i / LANES].length[lane] : LENGTHS;
        const unsigned peers = __match_any_sync(ALL, n);
        if (i < rows) g->order[g->at[n] + __popc(peers & ((1u << lane) - 1))] = (uint16_t)i;
        __syncwarp();
        if (i < rows && (peers >> lane) == 1u) g->at[n] += __popc(peers); /* only the last lane with this length */
        __syncwarp();
    }
}

/*
 * Returns the number of slots of slices in natural order, or 0 if sorting would not pay even if every sorted slot had
 * 32 entries. Called by the first warp.
 */
static __device__ int32_t slots_unsorted(const packed_group *g)
{
    const int lane = lane_of_warp(), has_slice = lane < g->count;
    const int32_t unsorted = warp_sum(has_slice ? g->slice[lane].longest : 0);
    const int32_t entries = warp_sum(has_slice ? (int32_t)g->slice[lane].entries : 0);
    return spryi_packed_sort_pays(unsorted, entries / LANES, g->count) ? unsorted : 0;
}

/* Sorts the rows if sorting pays and fewer than half of the slices in natural order have DIAGONALS. */
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

/* Sets g->before[q] to the counts of slice q's long rows, in natural order. Called by a warp. */
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

/*
 * Locates the slices in order. g->sum: on entry the counts before the group, on return the counts after it. Called by
 * the first warp.
 */
static __device__ void locate_slices(packed_group *g)
{
    const int lane = lane_of_warp();
    spryi_packed_counts at = g->sum;
    int64_t list_at = at.units;
    int list = 0;
    int32_t distance = 0; /* distance at index `lane` of the list */
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

/*
 * Measures all slices of group blockIdx.x and finds their locations. *at: counts of all earlier groups, or zero. Sets
 * g->sum to the counts after the group. Called by all threads of the block.
 */
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
        if (lane_of_warp() == 0) g->diagonals[q] = INT32_MIN; /* not determined */
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

/* ---- groups -------------------------------------------------------------------------------------------- */

enum { SIZES = sizeof(spryi_packed_counts) / sizeof(int64_t) }; /* number of counts of a group */
static_assert(sizeof(spryi_packed_counts) == SIZES * sizeof(int64_t) && SIZES == 7, "SIZES is the number of counts");

/*
 * Returns the counts before group g. counts[n*groups + g] is the inclusive prefix sum, over all n and g, of count n of
 * group g.
 */
static __device__ spryi_packed_counts counts_before(const int64_t *counts, int64_t groups, int64_t g)
{
    int64_t sizes[SIZES];
#pragma unroll
    for (int n = 0; n < SIZES; n++) {
        const int64_t at = n * groups + g;
        sizes[n] = g > 0 ? counts[at - 1] - (n > 0 ? counts[n * groups - 1] : 0) : 0;
    }
    const spryi_packed_counts before = {sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6]};
    return before;
}

template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    count_groups(packed_rows<P> a, int64_t m, int64_t *__restrict__ counts)
{
    __shared__ packed_group g;
    const spryi_packed_counts none = {};
    measure_group(&g, &a, m, &none);
    if (threadIdx.x > 0) return;
    const int64_t counted[] = {g.sum.slices,    g.sum.indexed, g.sum.slots,   g.sum.units,
                               g.sum.long_rows, g.sum.pieces,  g.sum.long_nnz};
    for (int n = 0; n < SIZES; n++) counts[n * (int64_t)gridDim.x + blockIdx.x] = counted[n];
}

/* ---- filling ------------------------------------------------------------------------------------------- */

/* Addresses for the slice of a warp: source of the values, destinations of values and indices. */
template <typename V> struct target {
    const V *Ax;      /* NULL: a pattern */
    V *Vx;            /* the slice's values */
    uint8_t *indices; /* after lengths and rows */
};

/*
 * Fills a full slice of rows. A lane reads UNROLL adjacent entries of its row together, since they share sectors.
 * Called by a warp.
 */
template <typename V, typename P>
static __device__ void fill_full(const packed_rows<P> &a, const spryi_packed_draft *n, const target<V> &to)
{
    enum { UNROLL = 8 };
    const int lane = lane_of_warp(), width = n->width, kind = n->kind;
    const int64_t begin = n->begin[lane];
    const int32_t low = kind == SPRYI_PACKED_OFFSETS ? (int32_t)n->low : 0;
    for (int t = 0; t < width; t += UNROLL) {
        V value[UNROLL];
        int32_t j[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            value[u] = to.Ax && t + u < width ? to.Ax[begin + t + u] : V(0);
            j[u] = kind != SPRYI_PACKED_DIAGONALS && t + u < width ? a.Aj[begin + t + u] : 0;
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int at = (t + u) * LANES + lane;
            if (t + u >= width) break;
            if (to.Ax) to.Vx[at] = value[u];
            if (kind == SPRYI_PACKED_OFFSETS) ((uint16_t *)to.indices)[at] = (uint16_t)(j[u] - low);
            if (kind == SPRYI_PACKED_COLUMNS) ((int32_t *)to.indices)[at] = j[u];
        }
    }
}

/*
 * Fills a slice of any kind, slot by slot. Called by a warp. Returns a mask for DIAGONALS: bit k is set if the lane's
 * row has an entry in slot k.
 */
template <typename V, typename P>
static __device__ uint32_t fill_slots(const packed_rows<P> &a, const spryi_packed_draft *n, target<V> to)
{
    const int lane = lane_of_warp(), b = n->b, kind = n->kind, width = n->width, length = n->length[lane];
    const bool masked = kind == SPRYI_PACKED_DIAGONALS && !n->full, padded = n->padded;
    const bool needs_column = masked || kind != SPRYI_PACKED_DIAGONALS;
    const int64_t begin = n->begin[lane], own = n->row / b + lane;
    uint32_t mask = 0;
    int next = 0;
    int64_t before = 0;
    for (int k = 0; k < width; k++) {
        const int32_t j = needs_column && next < length ? column_of(a, n, lane, next) : 0;
        const bool has = next < length && (!masked || j - own == n->distances[k]);
        const unsigned slot = __ballot_sync(ALL, has);
        const int rank = __popc(slot & ((1u << lane) - 1)), stride = padded ? LANES : __popc(slot);
        const int position = padded ? lane : rank;
        if (has) {
            if (to.Ax)
                for (int r = 0; r < b; r++)
                    for (int c = 0; c < b; c++)
                        to.Vx[(r * b + c) * stride + position] = to.Ax[begin + ((int64_t)r * length + next) * b + c];
            if (kind == SPRYI_PACKED_OFFSETS)
                ((uint16_t *)to.indices)[before + position] = (uint16_t)(j - (int32_t)n->low);
            else if (kind == SPRYI_PACKED_COLUMNS)
                ((int32_t *)to.indices)[before + position] = j;
            mask |= 1u << (k % 32);
            next++;
        }
        if (to.Ax) to.Vx += b * b * stride;
        before += stride;
    }
    return mask;
}

/* Stores slice q: its record and its parts of the arrays. Called by a warp. */
template <typename V, typename P> static __device__ void store_slice(const packed_group *g, const packed_rows<P> &a,
                                                                     int q, const spryi_packed &s, const V *Ax)
{
    const spryi_packed_draft *n = &g->slice[q];
    const spryi_packed_location at = g->location[q];
    const int lane = lane_of_warp();
    const bool diagonals = n->kind == SPRYI_PACKED_DIAGONALS;
    target<V> to = {Ax, Ax ? (V *)s.values + at.values : NULL, s.indices + at.indices * SPRYI_PACKED_INDEX_UNIT};
    if (lane == 0) {
        s.slices[g->before[q].slices] = spryi_packed_record(n, &at);
        s.extras[g->before[q].slices] = spryi_packed_extra(n, &at);
    }
    if (diagonals && !n->shared && lane < n->width) ((int32_t *)to.indices)[lane] = n->distances[lane];
    if (!diagonals && !n->full) {
        to.indices[lane] = (uint8_t)(n->long_lanes >> lane & 1 ? SPRYI_PACKED_LONG_ROW : n->length[lane]);
        to.indices += LANES;
    }
    if (n->sorted) {
        if (lane < n->count) ((uint16_t *)to.indices)[lane] = g->order[n->row - a.begin + lane];
        to.indices += LANES * sizeof(uint16_t);
    }
    if (n->full && n->b == 1) {
        fill_full(a, n, to);
        return;
    }
    const uint32_t mask = fill_slots(a, n, to);
    if (!diagonals || n->full) return;
    uint8_t *masks = s.indices + at.masks * SPRYI_PACKED_INDEX_UNIT;
    switch (spryi_packed_mask_bytes(n->width)) {
    case 1: masks[lane] = (uint8_t)mask; break;
    case 2: ((uint16_t *)masks)[lane] = (uint16_t)mask; break;
    default: ((uint32_t *)masks)[lane] = mask; break;
    }
}

/* Stores slice q's long rows in natural order, and the position of each row's first piece. Called by a warp. */
template <typename P>
static __device__ void store_long_rows(const packed_group *g, const packed_rows<P> &a, int q, const spryi_packed &s)
{
    const int lane = lane_of_warp();
    const uint32_t rows = g->long_rows[q];
    if (rows == 0) return;
    const int64_t i = g->slice[q].row + lane, length = rows >> lane & 1 ? a.Ap[i + 1] - a.Ap[i] : 0;
    const int64_t own = (length + SPRYI_PACKED_PIECE - 1) / SPRYI_PACKED_PIECE;
    const int64_t pieces = warp_scan(own), entries = warp_scan(length);
    if (length == 0) return;
    const int64_t at = g->before[q].long_rows + __popc(rows & ((1u << lane) - 1));
    s.long_rows.rows[at] = i;
    s.long_rows.first[at] = g->before[q].pieces + pieces - own;
    s.long_rows.pieces[s.long_rows.first[at]] = g->before[q].long_nnz + entries - length;
}

template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    fill_groups(packed_rows<P> a, const V *__restrict__ Ax, const spryi_packed s, const int64_t *__restrict__ counts)
{
    __shared__ packed_group g;
    const spryi_packed_counts at = counts_before(counts, gridDim.x, blockIdx.x);
    measure_group(&g, &a, s.a.rows, &at);
    for (int q = warp_of_block(); q < g.count; q += WARPS) {
        store_slice(&g, a, q, s, Ax);
        store_long_rows(&g, a, q, s);
    }
}

/* Copies one piece of a long row. The position of each row's first piece is already set. Called by a block. */
template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    copy_pieces(const P *__restrict__ Ap, const int32_t *__restrict__ Aj, const V *__restrict__ Ax,
                const spryi_packed s)
{
    const int64_t p = blockIdx.x, n = owner_of(s.long_rows.first, 0, s.long_rows.count, p), i = s.long_rows.rows[n];
    const int64_t first = s.long_rows.first[n], to = s.long_rows.pieces[first], from = Ap[i], length = Ap[i + 1] - from;
    const int64_t begin = (p - first) * SPRYI_PACKED_PIECE;
    const int64_t end = begin + SPRYI_PACKED_PIECE < length ? begin + SPRYI_PACKED_PIECE : length;
    if (p > first && threadIdx.x == 0) s.long_rows.pieces[p] = to + begin;
    for (int64_t k = begin + threadIdx.x; k < end; k += CONVERT_THREADS) {
        ((int32_t *)s.long_rows.columns)[to + k] = Aj[from + k];
        if (Ax) ((V *)s.long_rows.values)[to + k] = Ax[from + k];
    }
}

static __global__ void finish(const spryi_packed s)
{
    if (threadIdx.x > 0) return;
    s.slices[s.slice_count] = spryi_packed_end_record(&s);
    s.long_rows.first[s.long_rows.count] = s.long_rows.piece_count;
    s.long_rows.pieces[s.long_rows.piece_count] = s.long_rows.nnz;
}

/* ---- host functions ------------------------------------------------------------------------------------ */

template <typename P>
static spry_status find_block(const spryi_device *device, const spry_arrays *a, int64_t *block, spry_error *err)
{
    enum { VOTES = 2 * (SPRYI_PACKED_MOST_BLOCK + 1), SAMPLED = SPRYI_PACKED_MOST_BLOCK - 1 };
    int32_t votes[VOTES];
    scratch space;
    *block = 1;
    if (a->value_type == SPRY_PATTERN || a->rows < 2) return SPRY_OK;
    SPRY_CUDA_TRY(space.make(device, sizeof votes, "packed: samples", err));
    SPRY_CUDA_CHECK(cudaMemsetAsync(space.at, 0, sizeof votes), "packed: samples", err);
    sample_blocks<<<SAMPLED * SPRYI_PACKED_SAMPLES / WARPS, CONVERT_THREADS>>>((const P *)a->offsets,
                                                                               (const int32_t *)a->indices, a->rows,
                                                                               (int32_t *)space.at);
    SPRY_CUDA_TRY(launched(err, "packed: samples"));
    SPRY_CUDA_CHECK(cudaMemcpy(votes, space.at, sizeof votes, cudaMemcpyDeviceToHost), "packed: samples", err);
    for (int b = SPRYI_PACKED_MOST_BLOCK; b > 1 && *block == 1; b--)
        if (spryi_packed_mostly_blocks(votes[2 * b], votes[2 * b + 1])) *block = b;
    return SPRY_OK;
}

/* Sets the sizes of s. Stores the prefix sums of the groups' counts in *counts. */
template <typename P> static spry_status count(const spryi_device *device, const spry_arrays *a, spryi_packed *s,
                                               const packed_rows<P> &rows, int64_t groups, scratch *counts,
                                               spry_error *err)
{
    int64_t ends[SIZES], sums[SIZES] = {0};
    if (groups > INT32_MAX)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "packed: more blocks than a CUDA launch permits");
    if (groups > 0) {
        SPRY_CUDA_TRY(counts->make(device, SIZES * groups * (int64_t)sizeof(int64_t), "packed: groups", err));
        int64_t *counted = (int64_t *)counts->at;
        count_groups<<<(unsigned)groups, CONVERT_THREADS>>>(rows, a->rows, counted);
        SPRY_CUDA_TRY(launched(err, "packed: counting"));
        SPRY_CUDA_TRY(spry_cuda_scan(device, counted, SIZES * groups, err));
        SPRY_CUDA_CHECK(cudaMemcpy2D(ends, sizeof *ends, counted + groups - 1, (size_t)groups * sizeof *counted,
                                     sizeof *ends, SIZES, cudaMemcpyDeviceToHost),
                        "packed: sizes", err);
        for (int n = 0; n < SIZES; n++) sums[n] = ends[n] - (n > 0 ? ends[n - 1] : 0);
    }
    spryi_packed_counts sum;
    memcpy(&sum, sums, sizeof sum);
    if (sum.pieces > INT32_MAX)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "packed: more blocks than a CUDA launch permits");
    return spryi_packed_set_sizes(s, &sum, err);
}

/* Fills the storage. Values are copied as bits: V is an unsigned type of their size. */
template <typename V, typename P> static spry_status fill(const spry_arrays *a, const spryi_packed *s,
                                                          const packed_rows<P> &rows, int64_t groups,
                                                          const int64_t *counts, spry_error *err)
{
    const V *Ax = (const V *)a->values;
    const size_t index_bytes = (size_t)s->units * SPRYI_PACKED_INDEX_UNIT, value_bytes = (size_t)s->slots * sizeof(V);
    if (index_bytes > 0) SPRY_CUDA_CHECK(cudaMemsetAsync(s->indices, 0, index_bytes), "packed indices", err);
    if (s->values && s->slots > a->nnz - s->long_rows.nnz)
        SPRY_CUDA_CHECK(cudaMemsetAsync(s->values, 0, value_bytes), "packed values", err);
    if (groups > 0) fill_groups<<<(unsigned)groups, CONVERT_THREADS>>>(rows, Ax, *s, counts);
    SPRY_CUDA_TRY(launched(err, "packed: slices"));
    if (s->long_rows.piece_count > 0)
        copy_pieces<<<(unsigned)s->long_rows.piece_count, CONVERT_THREADS>>>(rows.Ap, rows.Aj, Ax, *s);
    SPRY_CUDA_TRY(launched(err, "packed: long rows"));
    finish<<<1, LANES>>>(*s);
    return launched(err, "packed: ends");
}

template <typename P> static spry_status build(spryi_conversion *c, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_packed *s = (spryi_packed *)c->storage;
    scratch counts;
    SPRY_CUDA_TRY(find_block<P>(c->device, a, &s->block, err));
    const int64_t groups = spryi_packed_group_count(a, s->block);
    packed_rows<P> rows = {};
    rows.Ap = (const P *)a->offsets;
    rows.Aj = (const int32_t *)a->indices;
    rows.b = (int)s->block;
    SPRY_CUDA_TRY(count(c->device, a, s, rows, groups, &counts, err));
    spryi_packed_cost(&c->cost, s);
    SPRY_CUDA_TRY(c->guard(c->request, "packed", &c->cost, err));
    SPRY_CUDA_TRY(spry_cuda_allocate_arrays(c, spryi_packed_arrays, err));
    const int64_t *counted = (const int64_t *)counts.at;
    SPRY_CUDA_TRY(SPRY_BY_BYTES(a->value_type, B, fill<B>(a, s, rows, groups, counted, err)));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "packed", err); /* before scratch is freed */
    return SPRY_OK;
}

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    if (c->request->options->op == SPRY_TRANSPOSE)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "packed: windows of a transposed product are built on the host");
    ((spryi_packed *)c->storage)->a = shape_of(&c->csr);
    ((spryi_packed *)c->storage)->table = c->table;
    return SPRY_BY_TYPE(c->csr.offset_type, P, build<P>(c, err));
}

const spryi_converter spry_cuda_to_packed = {"packed", convert};
