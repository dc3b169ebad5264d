/*
 * The kernel of packed where lanes are rows and kinds of slices take turns, or slices step and are narrow. Such a slice
 * is three round trips to memory (record; indices and values; x) around few instructions, so what counts is how many
 * warps wait at the same time and how little each has to do: each kind has code of its own for every width, and what
 * decides about single lanes (lengths, masks) is looked at after everything has been asked for. What has to be packed
 * is left to a function that is slow and small.
 *
 *     record, extra     values, indices, lengths     x     y          time -->
 *
 * Narrow slices want warps with few registers, that take one slice or three. Wide ones bring slots enough: a block
 * takes a super-super-row, a warp eight slices of it, the next record on its way.
 */
#ifndef SPRYI_PACKED_NARROW_CUH
#define SPRYI_PACKED_NARROW_CUH

#include "formats/csrk/packed_steps.cuh"

enum {
    NARROW_FEW = 5,  /* slots of the mean slice, up to which warps are worth more than slots in flight */
    NARROW_MOST = 8, /* and up to which slices are narrow */
};

static __device__ __forceinline__ int32_t load_index(const uint16_t *p)
{
    uint16_t v;
    asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(v) : "l"(p));
    return v;
}

static __device__ __forceinline__ spryi_packed_slice load_slice(const spryi_packed_slice *p)
{
    const uint4 v = __ldg((const uint4 *)p);
    spryi_packed_slice slice;
    slice.values = v.x;
    slice.indices = v.y;
    slice.row = v.z;
    slice.info = v.w;
    return slice;
}

/*
 * Adds W slots; Ax and index: the lane's first value, the slice's first distance or index. held: of the lane.
 * TURNS: values and indices are asked for slot by slot, else values first.
 */
template <int KIND, int W, bool ONES, bool TURNS, typename V> static __device__ __forceinline__ void
add_narrow(V *sum, const V *Ax, const uint8_t *index, unsigned held, int t, const V *__restrict__ x)
{
    const int lane = threadIdx.x % STEPS_LANES;
    V a[W], of_x[W];
    int32_t j[W];
#pragma unroll
    for (int u = 0; u < W; u++)
        if (!TURNS) a[u] = ONES ? V(1) : load_once(Ax + u * STEPS_LANES);
#pragma unroll
    for (int u = 0; u < W; u++) {
        if (KIND == SPRYI_PACKED_OFFSETS) j[u] = load_index((const uint16_t *)index + lane + u * STEPS_LANES);
        if (KIND == SPRYI_PACKED_WIDE) j[u] = load_once((const int32_t *)index + lane + u * STEPS_LANES);
        if (KIND == SPRYI_PACKED_STEPPED && u % 4 == 0) {
            const int4 d = __ldg((const int4 *)index + u / 4);
            const int32_t of[4] = {d.x, d.y, d.z, d.w};
#pragma unroll
            for (int q = 0; q < 4 && u + q < W; q++) j[u + q] = of[q];
        }
        if (TURNS) a[u] = ONES ? V(1) : load_once(Ax + u * STEPS_LANES);
    }
    unsigned mask = held >> t; /* STEPPED: of its slots; else the lane's length */
    if (KIND != SPRYI_PACKED_STEPPED) {
        const int left = held == SPRYI_PACKED_OUTSIDE ? 0 : (int)held - t;
        mask = left >= W ? STEPS_ALL : left > 0 ? (1u << left) - 1 : 0;
    }
#pragma unroll
    for (int u = 0; u < W; u++) {
        of_x[u] = 0;
        if (mask >> u & 1) of_x[u] = x[j[u]];
    }
#pragma unroll
    for (int u = 0; u < W; u++) *sum += a[u] * of_x[u];
}

/* All slots, at most M at once; what is left behind fours, or eights, in one go too. */
template <int KIND, int M, bool ONES, typename V>
static __device__ __forceinline__ V narrow_sum(const V *Ax, const uint8_t *index, unsigned held, int width, const V *x)
{
    constexpr int N = M / 4 * 4; /* distances are read four at once */
    V sum = 0;
    int t = 0;
#pragma unroll 1
    for (; width - t > M; t += N) {
        add_narrow<KIND, N, ONES, false>(&sum, Ax, index, held, t, x);
        Ax += ONES ? 0 : N * STEPS_LANES;
        index += N * (KIND == SPRYI_PACKED_STEPPED   ? 4
                      : KIND == SPRYI_PACKED_OFFSETS ? 2 * STEPS_LANES
                                                     : 4 * STEPS_LANES);
    }
    switch (width - t) {
    case 1: add_narrow<KIND, 1, ONES, false>(&sum, Ax, index, held, t, x); break;
    case 2: add_narrow<KIND, 2, ONES, false>(&sum, Ax, index, held, t, x); break;
    case 3: add_narrow<KIND, 3, ONES, false>(&sum, Ax, index, held, t, x); break;
    case 4: add_narrow<KIND, 4, ONES, false>(&sum, Ax, index, held, t, x); break;
    case 5: add_narrow<KIND, 5, ONES, false>(&sum, Ax, index, held, t, x); break;
    case 6: add_narrow<KIND, 6, ONES, false>(&sum, Ax, index, held, t, x); break;
    case 7: add_narrow < KIND, M<7 ? 1 : 7, ONES, false>(&sum, Ax, index, held, t, x); break; /* M < 7: never */
    case 8: add_narrow < KIND, M<8 ? 1 : 8, ONES, false>(&sum, Ax, index, held, t, x); break;
    default: break;
    }
    return sum;
}

/* The same of indices, where most slices have more than M slots. */
template <int KIND, int M, bool ONES, typename V>
static __device__ __forceinline__ V wide_sum(const V *Ax, const uint8_t *index, unsigned held, int width, const V *x)
{
    V sum = 0;
    int t = 0;
#pragma unroll 1
    for (; t + M <= width; t += M) {
        add_narrow<KIND, M, ONES, true>(&sum, Ax, index, held, t, x);
        Ax += ONES ? 0 : M * STEPS_LANES;
        index += M * STEPS_LANES * (KIND == SPRYI_PACKED_OFFSETS ? 2 : 4);
    }
    switch (width - t) {
    case 1: add_narrow<KIND, 1, ONES, true>(&sum, Ax, index, held, t, x); break;
    case 2: add_narrow<KIND, 2, ONES, true>(&sum, Ax, index, held, t, x); break;
    case 3: add_narrow<KIND, 3, ONES, true>(&sum, Ax, index, held, t, x); break;
    case 4: add_narrow<KIND, 4, ONES, true>(&sum, Ax, index, held, t, x); break;
    case 5: add_narrow<KIND, 5, ONES, true>(&sum, Ax, index, held, t, x); break;
    case 6: add_narrow<KIND, 6, ONES, true>(&sum, Ax, index, held, t, x); break;
    case 7: add_narrow < KIND, M<8 ? 1 : 7, ONES, true>(&sum, Ax, index, held, t, x); break; /* M < 8: never */
    case 8: add_narrow < KIND, M<9 ? 1 : 8, ONES, true>(&sum, Ax, index, held, t, x); break;
    case 9: add_narrow < KIND, M<10 ? 1 : 9, ONES, true>(&sum, Ax, index, held, t, x); break;
    default: break;
    }
    return sum;
}

/* y of one row; SIMPLE: beta is 0 and alpha is not. */
template <bool SIMPLE, typename V>
static __device__ __forceinline__ void put_narrow(V *y, uint32_t row, V sum, V alpha, V beta)
{
    if (SIMPLE)
        y[row] = alpha * sum;
    else
        put(y, row, sum, alpha, beta);
}

/* Slices with HOLES, of any kind, U slots at once. */
template <bool ONES, int U, typename V> static __device__ __noinline__ void
run_holes(const spryi_packed *s, spryi_packed_slice slice, int32_t extra, const V *x, V *y, V alpha, V beta)
{
    const int lane = threadIdx.x % STEPS_LANES, kind = spryi_packed_kind_of(&slice);
    const int width = spryi_packed_width(&slice);
    const uint8_t *index = s->indices + (int64_t)slice.indices * SPRYI_PACKED_UNIT;
    const V *Ax = (const V *)s->values + spryi_packed_values_at(&slice);
    const uint16_t *offsets = NULL;
    const int32_t *columns = NULL;
    int64_t row = (int64_t)slice.row * STEPS_LANES + lane;
    bool is_there = row < s->a.rows;
    unsigned held;
    if (kind == SPRYI_PACKED_STEPPED) {
        held = load_mask(s->indices + (int64_t)(uint32_t)extra * SPRYI_PACKED_UNIT, width, lane);
        columns = (const int32_t *)index;
        x += row;
    } else {
        held = __ldg(index + lane);
        if (held == SPRYI_PACKED_OUTSIDE) is_there = false, held = 0;
        index += STEPS_LANES;
        if (slice.info & SPRYI_PACKED_SORTED) {
            row = (int64_t)(slice.row / (SPRYI_PACKED_GROUP / STEPS_LANES)) * SPRYI_PACKED_GROUP +
                  __ldg((const uint16_t *)index + lane);
            index += STEPS_LANES * sizeof(uint16_t);
        }
        offsets = (const uint16_t *)index;
        columns = (const int32_t *)index;
        if (kind == SPRYI_PACKED_OFFSETS) x += extra;
    }
    V sum = 0;
#pragma unroll 1
    for (int t = 0; t < width; t += U) {
        V a[U], of_x[U];
#pragma unroll
        for (int u = 0; u < U; u++) {
            const bool has = t + u < width && (kind == SPRYI_PACKED_STEPPED ? held >> (t + u) & 1 : t + u < (int)held);
            const unsigned slot = __ballot_sync(STEPS_ALL, has);
            const int before = __popc(slot & ((1u << lane) - 1)), all = __popc(slot);
            a[u] = of_x[u] = 0;
            if (has) {
                const int32_t j = kind == SPRYI_PACKED_STEPPED   ? __ldg(columns + t + u)
                                  : kind == SPRYI_PACKED_OFFSETS ? __ldg(offsets + before)
                                                                 : __ldg(columns + before);
                a[u] = ONES ? V(1) : __ldg(Ax + before);
                of_x[u] = x[j];
            }
            Ax += ONES ? 0 : all;
            if (kind == SPRYI_PACKED_OFFSETS) offsets += all;
            if (kind == SPRYI_PACKED_WIDE) columns += all;
        }
#pragma unroll
        for (int u = 0; u < U; u++) sum += a[u] * of_x[u];
    }
    if (is_there) put(y, row, sum, alpha, beta);
}

/* MANY: slots of the mean slice, more than NARROW_MOST. */
template <bool SIMPLE, int M, bool MANY, bool ONES, typename V> static __device__ __forceinline__ void
run_narrow(const spryi_packed &s, const spryi_packed_slice &slice, int32_t extra, const V *x, V *y, V alpha, V beta)
{
    const int lane = threadIdx.x % STEPS_LANES, kind = spryi_packed_kind_of(&slice);
    const int width = spryi_packed_width(&slice);
    const bool full = (slice.info & SPRYI_PACKED_FULL) != 0, sorted = (slice.info & SPRYI_PACKED_SORTED) != 0;
    if (!full && !(slice.info & SPRYI_PACKED_PADDED)) {
        run_holes<ONES, MANY ? 4 : 1>(&s, slice, extra, x, y, alpha, beta);
        return;
    }
    const uint8_t *index = s.indices + (int64_t)slice.indices * SPRYI_PACKED_UNIT;
    const V *Ax = ONES ? NULL : (const V *)s.values + spryi_packed_values_at(&slice) + lane;
    uint32_t row = slice.row * STEPS_LANES + lane;
    const bool is_there = row < (uint32_t)s.a.rows; /* by its place: lanes past the last have no row of the order */
    if (kind == SPRYI_PACKED_STEPPED) {
        unsigned held = STEPS_ALL;
        if (!full) held = load_mask(s.indices + (int64_t)(uint32_t)extra * SPRYI_PACKED_UNIT, width, lane);
        constexpr int MOST = M > NARROW_MOST ? NARROW_MOST : M;
        const V sum = narrow_sum<SPRYI_PACKED_STEPPED, MOST, ONES>(Ax, index, held, width, x + row);
        if (is_there) put_narrow<SIMPLE>(y, row, sum, alpha, beta);
        return;
    }
    unsigned held = (unsigned)width, of_group = 0;
    if (!full) {
        held = __ldg(index + lane);
        index += STEPS_LANES;
    }
    if (sorted) {
        of_group = __ldg((const uint16_t *)index + lane);
        index += STEPS_LANES * sizeof(uint16_t);
    }
    V sum;
    if (kind == SPRYI_PACKED_OFFSETS)
        sum = MANY ? wide_sum<SPRYI_PACKED_OFFSETS, M, ONES>(Ax, index, held, width, x + extra)
                   : narrow_sum<SPRYI_PACKED_OFFSETS, M, ONES>(Ax, index, held, width, x + extra);
    else
        sum = MANY ? wide_sum<SPRYI_PACKED_WIDE, M, ONES>(Ax, index, held, width, x)
                   : narrow_sum<SPRYI_PACKED_WIDE, M, ONES>(Ax, index, held, width, x);
    if (sorted) row = slice.row / (SPRYI_PACKED_GROUP / STEPS_LANES) * SPRYI_PACKED_GROUP + of_group;
    if (is_there && (full || held != SPRYI_PACKED_OUTSIDE)) put_narrow<SIMPLE>(y, row, sum, alpha, beta);
}

/* By the slots of the mean slice: up to NARROW_FEW, up to NARROW_MOST, more. */
enum narrow_class { FEW, SOME, MANY };

/*
 * More warps need fewer registers: 32 do for 6 slots at once, unless beta and alpha are looked at in f64.
 * Measured on an H200 (docs/results/h200-packed-2026-11-21.md).
 */
template <typename V, int CLASS, bool SIMPLE> struct narrow_shape {
    static const bool is_double = sizeof(V) == 8;
    static const int threads = 128, many = is_double ? 7 : 10;
    static const int slots = CLASS == FEW ? NARROW_FEW + 1 : CLASS == SOME ? NARROW_MOST : many; /* at once */
    static const int slices = CLASS == MANY ? 8 : CLASS == SOME && is_double ? 3 : 1;            /* of a warp */
    static const int wide_blocks = CLASS == SOME && !is_double ? 12 : 8;
    static const int blocks = CLASS == FEW ? (SIMPLE || !is_double ? 16 : 12) : wide_blocks;
};

/* The rows are counted in 32 bits. A warp's next slice is a block's warps further, and its record on its way. */
template <typename V, int CLASS, bool ONES, bool SIMPLE> static __global__ void
__launch_bounds__(narrow_shape<V, CLASS, SIMPLE>::threads, narrow_shape<V, CLASS, SIMPLE>::blocks)
    packed_narrow(const __grid_constant__ spryi_packed s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha,
                  scalar<V> beta)
{
    typedef narrow_shape<V, CLASS, SIMPLE> shape;
    constexpr int WARPS = shape::threads / STEPS_LANES, SLICES = shape::slices;
    const int count = (int)s.slice_count;
    int k = (int)blockIdx.x * (WARPS * SLICES) + (int)threadIdx.x / STEPS_LANES;
    if (k >= count) return;
    spryi_packed_slice slice = load_slice(s.slices + k);
    int32_t extra = __ldg(s.extras + k);
    const V a = SIMPLE ? alpha.value : alpha.get(), b = SIMPLE ? V(0) : beta.get();
#pragma unroll 1
    for (int left = SLICES;;) {
        spryi_packed_slice next = slice;
        int32_t next_extra = extra;
        k += WARPS;
        const bool more = --left > 0 && k < count;
        if (more) {
            next = load_slice(s.slices + k);
            next_extra = __ldg(s.extras + k);
        }
        run_narrow<SIMPLE, shape::slots, CLASS == MANY, ONES>(s, slice, extra, x, y, a, b);
        if (!more) return;
        slice = next;
        extra = next_extra;
    }
}

#endif
