/*
 * The kernel of packed where all slices are stepped, lanes are rows, and the mean slice is narrow. A warp has the
 * records of all its slices from the start, a lane each, and asks for what leads to x (masks, distances) while it adds
 * up what comes before: a step costs one round trip to memory, not three one after the other.
 *
 *     step c - 1       masks, list       values, x   sum
 *     step c                             masks, list         values, x   sum        time -->
 *     step c + 1                                             masks, list ...
 *
 * A step is two neighbouring slices of one list, which stays in registers as long as it is the same.
 */
#ifndef SPRYI_PACKED_STEPS_CUH
#define SPRYI_PACKED_STEPS_CUH

#include "cuda/reduce.cuh"

extern "C" {
#include "formats/csrk/packed.h"
}

enum {
    STEPS_LANES = SPRYI_PACKED_LANES,
    STEPS_PAIR = 5, /* slots of slices that go together */
    PAIRS_WARPS = 4,
    PAIRS_SLICES = 8, /* of a warp */
    PAIRS_BLOCKS = 10,
};
static const unsigned STEPS_ALL = 0xffffffffu;

/* sum[r] of the lane's rows, W slots of two slices whose values lie one after the other. */
template <int W, bool WHOLE, bool ONES, typename V> static __device__ __forceinline__ void
add_pair(V (&sum)[2], const V *Ax, const V *x, const int32_t (&distance)[STEPS_PAIR], unsigned mask0, unsigned mask1)
{
    V a[2][W], of_x[2][W];
#pragma unroll
    for (int u = 0; u < W; u++) {
        a[0][u] = ONES ? V(1) : load_once(Ax + u * STEPS_LANES);
        a[1][u] = ONES ? V(1) : load_once(Ax + (W + u) * STEPS_LANES);
    }
#pragma unroll
    for (int u = 0; u < W; u++) {
        const V *from = x + distance[u];
        of_x[0][u] = of_x[1][u] = 0;
        if (WHOLE || mask0 >> u & 1) of_x[0][u] = from[0];
        if (WHOLE || mask1 >> u & 1) of_x[1][u] = from[STEPS_LANES];
    }
#pragma unroll
    for (int u = 0; u < W; u++) {
        sum[0] += a[0][u] * of_x[0][u];
        sum[1] += a[1][u] * of_x[1][u];
    }
}

template <bool WHOLE, bool ONES, typename V>
static __device__ __forceinline__ void add_pair_of(V (&sum)[2], const V *Ax, const V *x,
                                                   const int32_t (&distance)[STEPS_PAIR], unsigned mask0,
                                                   unsigned mask1, int width)
{
    switch (width) {
    case 1: add_pair<1, WHOLE, ONES>(sum, Ax, x, distance, mask0, mask1); break;
    case 2: add_pair<2, WHOLE, ONES>(sum, Ax, x, distance, mask0, mask1); break;
    case 3: add_pair<3, WHOLE, ONES>(sum, Ax, x, distance, mask0, mask1); break;
    case 4: add_pair<4, WHOLE, ONES>(sum, Ax, x, distance, mask0, mask1); break;
    case 5: add_pair<5, WHOLE, ONES>(sum, Ax, x, distance, mask0, mask1); break;
    default: break;
    }
}

/* Of the slots of a slice, those that the lane has. */
static __device__ __forceinline__ unsigned load_mask(const uint8_t *masks, int width, int lane)
{
    if (width <= 8) return __ldg(masks + lane);
    if (width <= 16) return __ldg((const uint16_t *)masks + lane);
    return __ldg((const unsigned *)masks + lane);
}

/* The sum of one slice with room for all lanes; Ax: its first value, x: at the lane's row. */
template <bool ONES, typename V>
static __device__ __forceinline__ V add_one(int width, unsigned mask, const V *Ax, const int32_t *list, const V *x)
{
    const int lane = threadIdx.x % STEPS_LANES;
    V sum = 0;
#pragma unroll 1
    for (int t = 0; t < width; t += STEPS_PAIR) {
        V a[STEPS_PAIR];
        int32_t distance[STEPS_PAIR];
#pragma unroll
        for (int u = 0; u < STEPS_PAIR; u++) {
            const bool has = t + u < width && mask >> (t + u) & 1;
            distance[u] = t + u < width ? __ldg(list + t + u) : 0;
            a[u] = ONES ? V(1) : V(0);
            if (!ONES && has) a[u] = load_once(Ax + (t + u) * STEPS_LANES + lane);
        }
#pragma unroll
        for (int u = 0; u < STEPS_PAIR; u++)
            if (t + u < width && mask >> (t + u) & 1) sum += a[u] * x[distance[u]];
    }
    return sum;
}

/* And of one with HOLES, slot by slot. */
template <bool ONES, typename V>
static __device__ __forceinline__ V add_holes(int width, unsigned mask, const V *Ax, const int32_t *list, const V *x)
{
    const int lane = threadIdx.x % STEPS_LANES;
    V sum = 0;
#pragma unroll 1
    for (int t = 0; t < width; t++) {
        const bool has = mask >> t & 1;
        const unsigned slot = __ballot_sync(STEPS_ALL, has);
        if (has) sum += (ONES ? V(1) : __ldg(Ax + __popc(slot & ((1u << lane) - 1)))) * x[__ldg(list + t)];
        Ax += ONES ? 0 : __popc(slot);
    }
    return sum;
}

/* Where slices go together. */
static __device__ __forceinline__ unsigned narrow_mask(const spryi_packed &s, uint32_t info, uint32_t extra)
{
    if (info & SPRYI_PACKED_FULL) return STEPS_ALL;
    return __ldg(s.indices + (int64_t)extra * SPRYI_PACKED_UNIT + threadIdx.x % STEPS_LANES);
}

/* A warp takes PAIRS_SLICES slices, a block PAIRS_WARPS times as many. */
template <typename V, bool ONES> static __global__ void __launch_bounds__(PAIRS_WARPS *STEPS_LANES, PAIRS_BLOCKS)
    packed_steps(const spryi_packed s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    const int lane = threadIdx.x % STEPS_LANES;
    const int64_t first = ((int64_t)blockIdx.x * PAIRS_WARPS + threadIdx.x / STEPS_LANES) * PAIRS_SLICES;
    const int count = (int)min((int64_t)PAIRS_SLICES, s.slice_count - first);
    if (count <= 0) return;
    uint4 record = make_uint4(0, 0, 0, 0);
    uint32_t extra = 0;
    if (lane < count) {
        record = __ldg((const uint4 *)(s.slices + first + lane));
        extra = __ldg((const uint32_t *)s.extras + first + lane);
    }
    /* may this lane's slice go together with the next lane's? */
    const uint32_t dense = SPRYI_PACKED_FULL | SPRYI_PACKED_PADDED, lane_width = record.w >> SPRYI_PACKED_WIDTH & 255;
    const uint32_t next_w = __shfl_down_sync(STEPS_ALL, record.w, 1), next_y = __shfl_down_sync(STEPS_ALL, record.y, 1);
    const bool may = lane + 1 < count && lane_width <= STEPS_PAIR &&
                     lane_width == (next_w >> SPRYI_PACKED_WIDTH & 255) && record.y == next_y && (record.w & dense) &&
                     (next_w & dense);
    const unsigned pairs = __ballot_sync(STEPS_ALL, may), full = __ballot_sync(STEPS_ALL, record.w & SPRYI_PACKED_FULL);
    const V a = alpha.get(), b = beta.get();
    const V *values = (const V *)s.values + lane;
    const int64_t row = first * STEPS_LANES + lane;
    uint32_t list = 0;
    int list_width = 0; /* of empty slices: what follows may begin at the same place */
    int32_t distance[STEPS_PAIR] = {};
    unsigned mask0 = STEPS_ALL, mask1 = STEPS_ALL;
    if (pairs & 1) {
        mask0 = narrow_mask(s, __shfl_sync(STEPS_ALL, record.w, 0), __shfl_sync(STEPS_ALL, extra, 0));
        mask1 = narrow_mask(s, __shfl_sync(STEPS_ALL, record.w, 1), __shfl_sync(STEPS_ALL, extra, 1));
    }
#pragma unroll 1
    for (int k = 0; k < count; k += 2) {
        const uint32_t info = __shfl_sync(STEPS_ALL, record.w, k), at = __shfl_sync(STEPS_ALL, record.y, k);
        const uint32_t low = __shfl_sync(STEPS_ALL, record.x, k);
        const int width = (int)(info >> SPRYI_PACKED_WIDTH & 255);
        const V *Ax = values + ((int64_t)(info >> SPRYI_PACKED_HIGH) << 32 | low);
        const V *of_lane = x + row + k * STEPS_LANES;
        unsigned next0 = STEPS_ALL, next1 = STEPS_ALL;
        if (k + 2 < PAIRS_SLICES && pairs >> (k + 2) & 1) {
            next0 = narrow_mask(s, __shfl_sync(STEPS_ALL, record.w, k + 2), __shfl_sync(STEPS_ALL, extra, k + 2));
            next1 = narrow_mask(s, __shfl_sync(STEPS_ALL, record.w, k + 3), __shfl_sync(STEPS_ALL, extra, k + 3));
        }
        V sum[2] = {};
        if (pairs >> k & 1) {
            if (at != list || width != list_width) {
                const int4 *from = (const int4 *)(s.indices + (int64_t)at * SPRYI_PACKED_UNIT);
                int4 d = make_int4(0, 0, 0, 0);
                if (width > 0) d = __ldg(from);
                distance[0] = d.x, distance[1] = d.y, distance[2] = d.z, distance[3] = d.w;
                if (width > 4) distance[4] = __ldg((const int32_t *)(from + 1));
                list = at;
                list_width = width;
            }
            if ((full >> k & 3) == 3)
                add_pair_of<true, ONES>(sum, Ax, of_lane, distance, STEPS_ALL, STEPS_ALL, width);
            else
                add_pair_of<false, ONES>(sum, Ax, of_lane, distance, mask0, mask1, width);
        } else {
#pragma unroll 1
            for (int r = 0; r < 2 && k + r < count; r++) {
                const uint32_t own = __shfl_sync(STEPS_ALL, record.w, k + r),
                               from = __shfl_sync(STEPS_ALL, record.y, k + r);
                const int64_t begin = (int64_t)(own >> SPRYI_PACKED_HIGH) << 32 |
                                      __shfl_sync(STEPS_ALL, record.x, k + r);
                const uint32_t masks = __shfl_sync(STEPS_ALL, extra, k + r);
                const int own_width = (int)(own >> SPRYI_PACKED_WIDTH & 255);
                unsigned mask = STEPS_ALL;
                if (!(own & SPRYI_PACKED_FULL))
                    mask = load_mask(s.indices + (int64_t)masks * SPRYI_PACKED_UNIT, own_width, lane);
                const V *of_slice = (const V *)s.values + begin, *of_row = of_lane + r * STEPS_LANES;
                const int32_t *own_list = (const int32_t *)(s.indices + (int64_t)from * SPRYI_PACKED_UNIT);
                const V one = own & dense ? add_one<ONES>(own_width, mask, of_slice, own_list, of_row)
                                          : add_holes<ONES>(own_width, mask, of_slice, own_list, of_row);
                if (r == 0)
                    sum[0] = one;
                else
                    sum[1] = one;
            }
        }
        mask0 = next0, mask1 = next1;
        const int64_t i = row + k * STEPS_LANES;
        if (i < s.a.rows) put(y, i, sum[0], a, b);
        if (k + 1 < count && i + STEPS_LANES < s.a.rows) put(y, i + STEPS_LANES, sum[1], a, b);
    }
}

#endif
