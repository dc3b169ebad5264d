/*
 * packed_pairs, a kernel of packed_slices_cuda for matrices in which lanes are rows and all slices are DIAGONALS, with
 * few slots on average.
 *
 * Idea: a warp loads the records of its eight slices first, one per lane. While it adds a pair of slices, it loads the
 *       masks and distances of the next pair. A pair then costs one round trip to memory instead of three. Two
 *       consecutive slices with the same list are added together and share distances, addresses and branches. The list
 *       remains in registers while it does not change.
 *
 *       pair c - 1       masks, list       values, x   sum
 *       pair c                             masks, list         values, x   sum        time -->
 *       pair c + 1                                             masks, list ...
 *
 * Work: a warp has PAIRS_SLICES slices, a block PAIRS_WARPS warps.
 * Cost: bytes of packed, x and y.
 * Source: this library.
 */
#pragma once

#include "formats/packed/packed_device.cuh"

enum {
    PAIRS_FEW = 5,  /* largest width of the slices of a pair, if the mean width is at most 5 (f64: 4) */
    PAIRS_MOST = 8, /* largest width of the slices of a pair, if the mean width is greater (not f64) */
    PAIRS_WARPS = 4,
    PAIRS_SLICES = 8, /* slices per warp */
};

/*
 * blocks: CUDA blocks per multiprocessor. A larger number leaves fewer registers per thread, but gives more waiting
 * warps. Measured on an H200.
 */
template <typename V, int SLOTS> struct pairs_shape {
    static const int blocks = SLOTS == PAIRS_FEW ? 10 : sizeof(V) == 8 ? 6 : 8;
};

/* Adds W slots of two slices with adjacent values. sum[r] is the sum of the lane's row in slice r. */
template <int W, bool WHOLE, bool ONES, int SLOTS, typename S, typename V> static __device__ __forceinline__ void
add_pair(V (&sum)[2], const S *Ax, const V *x, const int32_t (&distance)[SLOTS], unsigned mask0, unsigned mask1)
{
    S a[2][W]; /* widened when all loads have been issued */
    V of_x[2][W];
#pragma unroll
    for (int u = 0; u < W; u++) {
        a[0][u] = ONES ? S() : load_once(Ax + u * LANES);
        a[1][u] = ONES ? S() : load_once(Ax + (W + u) * LANES);
    }
#pragma unroll
    for (int u = 0; u < W; u++) {
        const V *from = x + distance[u];
        of_x[0][u] = of_x[1][u] = 0;
        if (WHOLE || mask0 >> u & 1) of_x[0][u] = from[0];
        if (WHOLE || mask1 >> u & 1) of_x[1][u] = from[LANES];
    }
#pragma unroll
    for (int u = 0; u < W; u++) {
        sum[0] += (ONES ? V(1) : V(widened(a[0][u]))) * of_x[0][u];
        sum[1] += (ONES ? V(1) : V(widened(a[1][u]))) * of_x[1][u];
    }
}

template <bool WHOLE, bool ONES, int SLOTS, typename S, typename V>
static __device__ __forceinline__ void add_pair_of(V (&sum)[2], const S *Ax, const V *x,
                                                   const int32_t (&distance)[SLOTS], unsigned mask0, unsigned mask1,
                                                   int width)
{
#define ADD_PAIR(n) add_pair<(n) <= SLOTS ? (n) : 1, WHOLE, ONES>(sum, Ax, x, distance, mask0, mask1)
    switch (width) { /* width is at most SLOTS */
    case 1: ADD_PAIR(1); break;
    case 2: ADD_PAIR(2); break;
    case 3: ADD_PAIR(3); break;
    case 4: ADD_PAIR(4); break;
    case 5: ADD_PAIR(5); break;
    case 6: ADD_PAIR(6); break;
    case 7: ADD_PAIR(7); break;
    case 8: ADD_PAIR(8); break;
    default: break;
    }
#undef ADD_PAIR
}

/*
 * Returns the lane's sum in one slice whose slots have room for all lanes. Ax: the slice's first value. x: the element
 * at the lane's row.
 */
template <bool ONES, typename S, typename V>
static __device__ __forceinline__ V add_one(int width, unsigned mask, const S *Ax, const int32_t *list, const V *x)
{
    enum { AT_ONCE = 5 };
    const int lane = threadIdx.x % LANES;
    V sum = 0;
#pragma unroll 1
    for (int t = 0; t < width; t += AT_ONCE) {
        S a[AT_ONCE];
        int32_t distance[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const bool has = t + u < width && mask >> (t + u) & 1;
            distance[u] = t + u < width ? __ldg(list + t + u) : 0;
            a[u] = S();
            if (!ONES && has) a[u] = load_once(Ax + (t + u) * LANES + lane);
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            V of_x = 0;
            if (t + u < width && mask >> (t + u) & 1) of_x = x[distance[u]];
            sum += (ONES ? V(1) : V(widened(a[u]))) * of_x;
        }
    }
    return sum;
}

/* Returns the lane's sum in one slice whose slots store only existing entries. Adds slot by slot. */
template <bool ONES, typename S, typename V>
static __device__ __forceinline__ V add_holes(int width, unsigned mask, const S *Ax, const int32_t *list, const V *x)
{
    const int lane = threadIdx.x % LANES;
    V sum = 0;
#pragma unroll 1
    for (int t = 0; t < width; t++) {
        const bool has = mask >> t & 1;
        const unsigned slot = __ballot_sync(ALL, has);
        V a = V(ONES ? 1 : 0), of_x = 0;
        if (has && !ONES) a = element_kept<V>(Ax + __popc(slot & ((1u << lane) - 1)));
        if (has) of_x = x[__ldg(list + t)];
        sum += a * of_x;
        Ax += ONES ? 0 : __popc(slot);
    }
    return sum;
}

/* Returns a mask of the lane's slots in a slice of a pair. Slices of pairs have at most 8 slots. */
static __device__ __forceinline__ unsigned pair_mask(const spryi_packed &s, uint32_t info, uint32_t extra)
{
    if (info & SPRYI_PACKED_FULL) return ALL;
    return __ldg(s.indices + (int64_t)extra * SPRYI_PACKED_INDEX_UNIT + threadIdx.x % LANES);
}

/* Returns true if this lane's slice and the next lane's may be added as a pair. */
template <int SLOTS> static __device__ __forceinline__ bool is_pair(const uint4 &record, int lane, int count)
{
    const uint32_t dense = SPRYI_PACKED_FULL | SPRYI_PACKED_PADDED, width = record.w >> SPRYI_PACKED_WIDTH_SHIFT & 255;
    const uint32_t next_w = __shfl_down_sync(ALL, record.w, 1), next_y = __shfl_down_sync(ALL, record.y, 1);
    return lane + 1 < count && width <= SLOTS && width == (next_w >> SPRYI_PACKED_WIDTH_SHIFT & 255) &&
           record.y == next_y && (record.w & dense) && (next_w & dense);
}

template <int SLOTS>
static __device__ __forceinline__ void load_distances(int32_t (&distance)[SLOTS], const int4 *list, int width)
{
#pragma unroll
    for (int t = 0; t < SLOTS; t += 4) {
        int4 d = make_int4(0, 0, 0, 0);
        if (width > t) d = __ldg(list + t / 4);
        const int32_t of[4] = {d.x, d.y, d.z, d.w};
#pragma unroll
        for (int q = 0; q < 4 && t + q < SLOTS; q++) distance[t + q] = of[q];
    }
}

/*
 * Returns the lane's sum in slice k of the warp, which is not part of a pair. Lane k holds the slice's record. x: the
 * element at the lane's row.
 */
template <typename S, bool ONES, typename V>
static __device__ __forceinline__ V single_sum(const spryi_packed &s, const uint4 &record, uint32_t extra, int k,
                                               const V *x)
{
    const uint32_t own = __shfl_sync(ALL, record.w, k), from = __shfl_sync(ALL, record.y, k);
    const int64_t begin = (int64_t)(own >> SPRYI_PACKED_VALUES_SHIFT) << 32 | __shfl_sync(ALL, record.x, k);
    const uint32_t masks = __shfl_sync(ALL, extra, k);
    const int width = (int)(own >> SPRYI_PACKED_WIDTH_SHIFT & 255);
    unsigned mask = ALL;
    if (!(own & SPRYI_PACKED_FULL))
        mask = load_mask(s.indices + (int64_t)masks * SPRYI_PACKED_INDEX_UNIT, width, threadIdx.x % LANES);
    const S *Ax = (const S *)s.values + begin;
    const int32_t *list = (const int32_t *)(s.indices + (int64_t)from * SPRYI_PACKED_INDEX_UNIT);
    return own & (SPRYI_PACKED_FULL | SPRYI_PACKED_PADDED) ? add_one<ONES>(width, mask, Ax, list, x)
                                                           : add_holes<ONES>(width, mask, Ax, list, x);
}

template <typename S, typename V, bool ONES, int SLOTS>
static __global__ void __launch_bounds__(PAIRS_WARPS *LANES, pairs_shape<V, SLOTS>::blocks)
    packed_pairs(const spryi_packed s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    const int lane = threadIdx.x % LANES;
    const int64_t first = ((int64_t)blockIdx.x * PAIRS_WARPS + threadIdx.x / LANES) * PAIRS_SLICES;
    const int count = (int)min((int64_t)PAIRS_SLICES, s.slice_count - first);
    wait_for_previous_kernel();
    if (count <= 0) return;
    uint4 record = make_uint4(0, 0, 0, 0);
    uint32_t extra = 0;
    if (lane < count) {
        record = __ldg((const uint4 *)(s.slices + first + lane));
        extra = __ldg((const uint32_t *)s.extras + first + lane);
    }
    const unsigned pairs = __ballot_sync(ALL, is_pair<SLOTS>(record, lane, count));
    const unsigned full = __ballot_sync(ALL, record.w & SPRYI_PACKED_FULL);
    const V a = alpha.get(), b = beta.get();
    const S *values = (const S *)s.values + lane;
    const int64_t row = first * LANES + lane;
    uint32_t list = 0;
    int list_width = 0; /* width of the list. An empty slice has width 0, and may have the position of the next list */
    int32_t distance[SLOTS] = {};
    unsigned mask0 = ALL, mask1 = ALL;
    if (pairs & 1) {
        mask0 = pair_mask(s, __shfl_sync(ALL, record.w, 0), __shfl_sync(ALL, extra, 0));
        mask1 = pair_mask(s, __shfl_sync(ALL, record.w, 1), __shfl_sync(ALL, extra, 1));
    }
#pragma unroll 1
    for (int k = 0; k < count; k += 2) {
        const uint32_t info = __shfl_sync(ALL, record.w, k), at = __shfl_sync(ALL, record.y, k);
        const uint32_t low = __shfl_sync(ALL, record.x, k);
        const int width = (int)(info >> SPRYI_PACKED_WIDTH_SHIFT & 255);
        const S *Ax = values + ((int64_t)(info >> SPRYI_PACKED_VALUES_SHIFT) << 32 | low);
        const V *of_lane = x + row + k * LANES;
        unsigned next0 = ALL, next1 = ALL;
        if (k + 2 < PAIRS_SLICES && pairs >> (k + 2) & 1) {
            next0 = pair_mask(s, __shfl_sync(ALL, record.w, k + 2), __shfl_sync(ALL, extra, k + 2));
            next1 = pair_mask(s, __shfl_sync(ALL, record.w, k + 3), __shfl_sync(ALL, extra, k + 3));
        }
        V sum[2] = {};
        if (pairs >> k & 1) {
            if (at != list || width != list_width) {
                load_distances(distance, (const int4 *)(s.indices + (int64_t)at * SPRYI_PACKED_INDEX_UNIT), width);
                list = at;
                list_width = width;
            }
            if ((full >> k & 3) == 3)
                add_pair_of<true, ONES>(sum, Ax, of_lane, distance, ALL, ALL, width);
            else
                add_pair_of<false, ONES>(sum, Ax, of_lane, distance, mask0, mask1, width);
        } else {
#pragma unroll 1
            for (int r = 0; r < 2 && k + r < count; r++) {
                const V one = single_sum<S, ONES>(s, record, extra, k + r, of_lane + r * LANES);
                if (r == 0)
                    sum[0] = one;
                else
                    sum[1] = one;
            }
        }
        mask0 = next0, mask1 = next1;
        const int64_t i = row + k * LANES;
        if (i < s.a.rows) put(y, i, sum[0], a, b);
        if (k + 1 < count && i + LANES < s.a.rows) put(y, i + LANES, sum[1], a, b);
    }
}
