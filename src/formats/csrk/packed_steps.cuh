/*
 * The kernels of packed where all slices are stepped, lanes are rows, and the mean slice is narrow. A warp has the
 * records of all its slices from the start, a lane each, and asks for what leads to x (masks, distances) while it adds
 * up what comes before: a step costs one round trip to memory, not three one after the other.
 *
 *     step c - 1       masks, list       values, x   sum
 *     step c                             masks, list         values, x   sum        time -->
 *     step c + 1                                             masks, list ...
 *
 * packed_steps: a step is two neighbouring slices of one list, which stays in registers as long as it is the same.
 * packed_chunks: a step is up to 8 slots of one slice. Slower where neighbours are alike, faster where they are not.
 */
#ifndef SPRYI_PACKED_STEPS_CUH
#define SPRYI_PACKED_STEPS_CUH

#include "cuda/reduce.cuh"

extern "C" {
#include "formats/csrk/packed.h"
}

enum {
    STEPS_LANES = SPRYI_PACKED_LANES,
    STEPS_MOST = 8, /* slots of a chunk */
    STEPS_PAIR = 5, /* and of slices that go together */
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

/* ---- chunks ------------------------------------------------------------------------------------------- */

/* A slice of which chunks are taken; all lanes have the same, but for the mask and the row. */
struct steps_slice {
    uint32_t row, info;
    int width;
    int64_t values;
    const uint8_t *list;
    uint32_t first; /* the lane's row */
    unsigned mask;  /* of slots that the lane has */
};

static __device__ __forceinline__ void begin_chunks(steps_slice *n, const spryi_packed &s,
                                                    const spryi_packed_slice &record, int32_t extra, int from)
{
    const int lane = threadIdx.x % STEPS_LANES;
    const uint32_t low = __shfl_sync(STEPS_ALL, record.values, from), at = __shfl_sync(STEPS_ALL, record.indices, from);
    n->info = __shfl_sync(STEPS_ALL, record.info, from);
    n->row = __shfl_sync(STEPS_ALL, record.row, from);
    extra = __shfl_sync(STEPS_ALL, extra, from);
    n->width = (int)(n->info >> SPRYI_PACKED_WIDTH & 255);
    n->values = (int64_t)(n->info >> SPRYI_PACKED_HIGH) << 32 | low;
    n->list = s.indices + (int64_t)at * SPRYI_PACKED_UNIT;
    const uint8_t *masks = s.indices + (int64_t)(uint32_t)extra * SPRYI_PACKED_UNIT;
    n->first = n->row * STEPS_LANES + lane;
    n->mask = n->width >= 32 ? STEPS_ALL : (1u << n->width) - 1;
    if (!(n->info & SPRYI_PACKED_FULL)) n->mask = load_mask(masks, n->width, lane);
}

/* Where the distances of slots t .. t + 7 are on their way. */
struct steps_chunk {
    int t;
    int32_t distance[STEPS_MOST];
};

static __device__ __forceinline__ void ask_list(steps_chunk *c, const steps_slice *n)
{
    const int4 *list = (const int4 *)n->list + c->t / 4;
    const int left = n->width - c->t;
    int4 d = make_int4(0, 0, 0, 0);
    if (left > 0) d = __ldg(list);
    c->distance[0] = d.x, c->distance[1] = d.y, c->distance[2] = d.z, c->distance[3] = d.w;
    if (left > 4) d = __ldg(list + 1);
    c->distance[4] = d.x, c->distance[5] = d.y, c->distance[6] = d.z, c->distance[7] = d.w;
}

/* Measured on an H200 (docs/results/h200-packed-2026-11-21.md). */
template <typename V> struct chunks_shape {
    static const int warps = sizeof(V) == 8 ? 4 : 2, slices = sizeof(V) == 8 ? 8 : 4; /* of a warp; at most as lanes */
    static const int blocks = sizeof(V) == 8 ? 8 : 20;
};

/* A block takes slices that follow each other, its warps neighbouring ones. */
template <typename V, bool ONES>
static __global__ void __launch_bounds__(chunks_shape<V>::warps *STEPS_LANES, chunks_shape<V>::blocks)
    packed_chunks(const spryi_packed s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    constexpr int WARPS = chunks_shape<V>::warps, SLICES = chunks_shape<V>::slices;
    const int lane = threadIdx.x % STEPS_LANES, warp = threadIdx.x / STEPS_LANES;
    const int64_t first = (int64_t)blockIdx.x * (WARPS * SLICES);
    const int left = (int)min((int64_t)(WARPS * SLICES), s.slice_count - first);
    const int mine = lane < SLICES ? lane * WARPS + warp : left;
    const int count = __popc(__ballot_sync(STEPS_ALL, mine < left));
    if (count == 0) return;
    spryi_packed_slice record = {};
    int32_t extra = 0;
    if (mine < left) {
        const uint4 v = __ldg((const uint4 *)(s.slices + first + mine));
        record.values = v.x, record.indices = v.y, record.row = v.z, record.info = v.w;
        extra = __ldg(s.extras + first + mine);
    }
    const V a = alpha.get(), b = beta.get();
    steps_slice now, next;
    steps_chunk chunk;
    begin_chunks(&next, s, record, extra, 0);
    chunk.t = 0;
    ask_list(&chunk, &next);
    V sum = 0;
    int i = 0;
#pragma unroll 1
    for (;;) {
        now = next;
        const int t = chunk.t;
        const bool holes = !(now.info & (SPRYI_PACKED_FULL | SPRYI_PACKED_PADDED));
        const unsigned has = holes ? 0 : now.mask >> t;
        const bool ends = holes || t + STEPS_MOST >= now.width;
        const V *Ax = (const V *)s.values + now.values + t * STEPS_LANES + lane;
        V value[STEPS_MOST], of_x[STEPS_MOST];
#pragma unroll
        for (int u = 0; u < STEPS_MOST; u++) {
            value[u] = 0;
            if (has >> u & 1) value[u] = ONES ? V(1) : load_once(Ax + u * STEPS_LANES);
        }
        const V *from = x + now.first;
#pragma unroll
        for (int u = 0; u < STEPS_MOST; u++) {
            of_x[u] = 0;
            if (has >> u & 1) of_x[u] = from[chunk.distance[u]];
        }
        chunk.t += STEPS_MOST;
        if (ends) {
            i++;
            chunk.t = 0;
            if (i < count) begin_chunks(&next, s, record, extra, i);
        }
        if (!ends || i < count) ask_list(&chunk, &next);
#pragma unroll
        for (int u = 0; u < STEPS_MOST; u++) sum += value[u] * of_x[u];
        if (!ends) continue;
        if (holes)
            sum =
                add_holes<ONES>(now.width, now.mask, (const V *)s.values + now.values, (const int32_t *)now.list, from);
        const int64_t row = (int64_t)now.row * STEPS_LANES + lane;
        if (row < s.a.rows) put(y, row, sum, a, b);
        sum = 0;
        if (i >= count) return;
    }
}

#endif
