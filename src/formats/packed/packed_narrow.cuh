/*
 * packed_narrow, a kernel of packed_slices_cuda for lanes that are rows. The matrix has slices of different kinds, or
 * all slices are DIAGONALS with a mean of up to 8 slots.
 *
 * Idea: a slice needs three round trips to memory (for the record, for indices and values, for x) and few
 *       instructions. The time depends on the number of waiting warps and on the work of each warp. Each kind has
 *       separate code for every width. Lengths and masks of single lanes are evaluated after all loads are issued. A
 *       small, slower function handles slices without room for all lanes.
 *
 *       record, extra     values, indices, lengths     x     y          time -->
 *
 * Work: warps for narrow slices use few registers and have one or three slices. Warps for wide slices have enough loads
 *       at a time, so fewer warps suffice. If warps of eight slices fill the GPU evenly, a warp for wide slices has
 *       eight slices and loads the next record early. Otherwise the warp has one slice, since a partial last wave of
 *       warps would leave the GPU idle.
 *       If values are indices into a table, all widths use this kernel. A warp then has as many slices as one wave of
 *       blocks needs, and the class is FEW up to NARROW_FEW slots, else MANY.
 * Cost: bytes of packed, x and y.
 * Source: this library.
 */
#pragma once

#include "formats/packed/packed_device.cuh"

enum {
    NARROW_FEW = 5,  /* mean width up to which more warps are better than more loads per warp */
    NARROW_MOST = 8, /* mean width up to which slices count as narrow */
};

/*
 * Adds W slots. Ax: first value of the lane; index: first distance or index of the slice; held: for DIAGONALS the mask
 * of the lane's slots, for other kinds the number of the lane's slots. t: index of the first of the W slots. ALTERNATE:
 * loads values and indices slot by slot. Otherwise loads all values first.
 */
template <int KIND, int W, bool ONES, bool ALTERNATE, typename S, typename V> static __device__ __forceinline__ void
add_narrow(V *sum, const S *Ax, const uint8_t *index, unsigned held, int t, const V *__restrict__ x)
{
    const int lane = threadIdx.x % LANES;
    S a[W]; /* widened when all loads have been issued */
    V of_x[W];
    int32_t j[W];
#pragma unroll
    for (int u = 0; u < W; u++)
        if (!ALTERNATE) a[u] = ONES ? S() : load_once(Ax + u * LANES);
#pragma unroll
    for (int u = 0; u < W; u++) {
        if (KIND == SPRYI_PACKED_OFFSETS) j[u] = load_once((const uint16_t *)index + lane + u * LANES);
        if (KIND == SPRYI_PACKED_COLUMNS) j[u] = load_once((const int32_t *)index + lane + u * LANES);
        if (KIND == SPRYI_PACKED_DIAGONALS && u % 4 == 0) {
            const int4 d = __ldg((const int4 *)index + u / 4);
            const int32_t of[4] = {d.x, d.y, d.z, d.w};
#pragma unroll
            for (int q = 0; q < 4 && u + q < W; q++) j[u + q] = of[q];
        }
        if (ALTERNATE) a[u] = ONES ? S() : load_once(Ax + u * LANES);
    }
    unsigned mask = held >> t; /* the lane's slots from t on, one bit each; held is a mask only for DIAGONALS */
    if (KIND != SPRYI_PACKED_DIAGONALS) {
        const int left = held == SPRYI_PACKED_LONG_ROW ? 0 : (int)held - t;
        mask = left >= W ? ALL : left > 0 ? (1u << left) - 1 : 0;
    }
#pragma unroll
    for (int u = 0; u < W; u++) {
        of_x[u] = 0;
        if (mask >> u & 1) of_x[u] = x[j[u]];
    }
#pragma unroll
    for (int u = 0; u < W; u++) *sum += (ONES ? V(1) : V(widened(a[u]))) * of_x[u];
}

/*
 * Returns the lane's sum over all slots. If ALTERNATE, adds M slots at a time. Otherwise adds the largest multiple of
 * four up to M at a time, since distances are loaded four at a time. The remaining slots are added in one step.
 * ALTERNATE is for slices with indices in matrices whose mean slice has more than NARROW_MOST slots.
 */
template <int KIND, int M, bool ONES, bool ALTERNATE, typename S, typename V>
static __device__ __forceinline__ V slot_sum(const S *Ax, const uint8_t *index, unsigned held, int width, const V *x)
{
    constexpr int N = ALTERNATE ? M : M / 4 * 4, LEFT = ALTERNATE ? M - 1 : M; /* LEFT: most slots of the rest */
    V sum = 0;
    int t = 0;
#pragma unroll 1
    for (; ALTERNATE ? t + N <= width : width - t > M; t += N) {
        add_narrow<KIND, N, ONES, ALTERNATE>(&sum, Ax, index, held, t, x);
        Ax += ONES ? 0 : N * LANES;
        index += N * (KIND == SPRYI_PACKED_DIAGONALS ? 4 : KIND == SPRYI_PACKED_OFFSETS ? 2 * LANES : 4 * LANES);
    }
#define ADD_LEFT(n) add_narrow<KIND, (n) <= LEFT ? (n) : 1, ONES, ALTERNATE>(&sum, Ax, index, held, t, x)
    switch (width - t) {
    case 1: ADD_LEFT(1); break;
    case 2: ADD_LEFT(2); break;
    case 3: ADD_LEFT(3); break;
    case 4: ADD_LEFT(4); break;
    case 5: ADD_LEFT(5); break;
    case 6: ADD_LEFT(6); break;
    case 7: ADD_LEFT(7); break;
    case 8: ADD_LEFT(8); break;
    case 9:
        if (ALTERNATE) ADD_LEFT(9);
        break;
    default: break;
    }
#undef ADD_LEFT
    return sum;
}

/* Writes y of one row. SIMPLE: beta is 0 and alpha is not 0. */
template <bool SIMPLE, typename V>
static __device__ __forceinline__ void put_narrow(V *y, uint32_t row, V sum, V alpha, V beta)
{
    if (SIMPLE)
        y[row] = alpha * sum;
    else
        put(y, row, sum, alpha, beta);
}

/* Computes y of a slice of any kind whose slots store only existing entries. Adds U slots at a time. */
template <typename S, bool ONES, int U, typename V> static __device__ __noinline__ void
run_holes(const spryi_packed *s, spryi_packed_slice slice, int32_t extra, const V *x, V *y, V alpha, V beta)
{
    const int lane = threadIdx.x % LANES, kind = spryi_packed_kind_of(&slice);
    const int width = spryi_packed_width(&slice);
    const uint8_t *index = s->indices + (int64_t)slice.indices * SPRYI_PACKED_INDEX_UNIT;
    const S *Ax = (const S *)s->values + spryi_packed_values_at(&slice);
    const uint16_t *offsets = NULL;
    const int32_t *columns = NULL;
    int64_t row = (int64_t)slice.row * LANES + lane;
    bool has_row = row < s->a.rows;
    unsigned held;
    if (kind == SPRYI_PACKED_DIAGONALS) {
        held = load_mask(s->indices + (int64_t)(uint32_t)extra * SPRYI_PACKED_INDEX_UNIT, width, lane);
        columns = (const int32_t *)index;
        x += row;
    } else {
        held = __ldg(index + lane);
        if (held == SPRYI_PACKED_LONG_ROW) has_row = false, held = 0;
        index += LANES;
        if (slice.info & SPRYI_PACKED_SORTED) {
            row = (int64_t)(slice.row / (SPRYI_PACKED_GROUP / LANES)) * SPRYI_PACKED_GROUP +
                  __ldg((const uint16_t *)index + lane);
            index += LANES * sizeof(uint16_t);
        }
        offsets = (const uint16_t *)index;
        columns = (const int32_t *)index;
        if (kind == SPRYI_PACKED_OFFSETS) x += extra;
    }
    V sum = 0;
#pragma unroll 1
    for (int t = 0; t < width; t += U) {
        S a[U];
        V of_x[U];
#pragma unroll
        for (int u = 0; u < U; u++) {
            const bool has = t + u < width &&
                             (kind == SPRYI_PACKED_DIAGONALS ? held >> (t + u) & 1 : t + u < (int)held);
            const unsigned slot = __ballot_sync(ALL, has);
            const int before = __popc(slot & ((1u << lane) - 1)), all = __popc(slot);
            a[u] = S();
            of_x[u] = 0;
            if (has) {
                const int32_t j = kind == SPRYI_PACKED_DIAGONALS ? __ldg(columns + t + u)
                                  : kind == SPRYI_PACKED_OFFSETS ? __ldg(offsets + before)
                                                                 : __ldg(columns + before);
                if (!ONES) a[u] = load_kept(Ax + before);
                of_x[u] = x[j];
            }
            Ax += ONES ? 0 : all;
            if (kind == SPRYI_PACKED_OFFSETS) offsets += all;
            if (kind == SPRYI_PACKED_COLUMNS) columns += all;
        }
#pragma unroll
        for (int u = 0; u < U; u++) sum += (ONES ? V(1) : V(widened(a[u]))) * of_x[u];
    }
    if (has_row) put(y, row, sum, alpha, beta);
}

/* Computes y of a slice. MANY: the class is MANY. */
template <typename S, bool SIMPLE, int M, bool MANY, bool ONES, typename V> static __device__ __forceinline__ void
run_narrow(const spryi_packed &s, const spryi_packed_slice &slice, int32_t extra, const V *x, V *y, V alpha, V beta)
{
    const int lane = threadIdx.x % LANES, kind = spryi_packed_kind_of(&slice);
    const int width = spryi_packed_width(&slice);
    const bool full = (slice.info & SPRYI_PACKED_FULL) != 0, sorted = (slice.info & SPRYI_PACKED_SORTED) != 0;
    if (!full && !(slice.info & SPRYI_PACKED_PADDED)) {
        run_holes<S, ONES, MANY ? 4 : 1>(&s, slice, extra, x, y, alpha, beta);
        return;
    }
    const uint8_t *index = s.indices + (int64_t)slice.indices * SPRYI_PACKED_INDEX_UNIT;
    const S *Ax = ONES ? NULL : (const S *)s.values + spryi_packed_values_at(&slice) + lane;
    uint32_t row = slice.row * LANES + lane;
    const bool has_row = row < (uint32_t)s.a.rows; /* also if rows are sorted: only the last lanes lack rows */
    if (kind == SPRYI_PACKED_DIAGONALS) {
        unsigned held = ALL;
        if (!full) held = load_mask(s.indices + (int64_t)(uint32_t)extra * SPRYI_PACKED_INDEX_UNIT, width, lane);
        constexpr int MOST = M > NARROW_MOST ? NARROW_MOST : M;
        const V sum = slot_sum<SPRYI_PACKED_DIAGONALS, MOST, ONES, false>(Ax, index, held, width, x + row);
        if (has_row) put_narrow<SIMPLE>(y, row, sum, alpha, beta);
        return;
    }
    unsigned held = (unsigned)width, of_group = 0;
    if (!full) {
        held = __ldg(index + lane);
        index += LANES;
    }
    if (sorted) {
        of_group = __ldg((const uint16_t *)index + lane);
        index += LANES * sizeof(uint16_t);
    }
    V sum;
    if (kind == SPRYI_PACKED_OFFSETS)
        sum = slot_sum<SPRYI_PACKED_OFFSETS, M, ONES, MANY>(Ax, index, held, width, x + extra);
    else
        sum = slot_sum<SPRYI_PACKED_COLUMNS, M, ONES, MANY>(Ax, index, held, width, x);
    if (sorted) row = slice.row / (SPRYI_PACKED_GROUP / LANES) * SPRYI_PACKED_GROUP + of_group;
    if (has_row && (full || held != SPRYI_PACKED_LONG_ROW)) put_narrow<SIMPLE>(y, row, sum, alpha, beta);
}

/* Mean width of the slices. FEW: up to NARROW_FEW slots. SOME: up to NARROW_MOST. MANY: more. */
enum narrow_class { FEW, SOME, MANY };

/*
 * Launch shapes. More warps per multiprocessor leave fewer registers for each thread: 32 registers suffice for 6 slots
 * at a time, unless alpha and beta are tested in f64. Measured on an H200.
 */
template <typename S, typename V, int CLASS, bool SIMPLE> struct narrow_shape {
    static const bool is_double = sizeof(V) == 8, has_table = table_traits<S>::has_table;
    static const int threads = has_table ? TABLE_THREADS : 128, many = has_table ? 8 : is_double ? 7 : 10;
    /* slots added at a time */
    static const int slots = CLASS == FEW ? NARROW_FEW + 1 : CLASS == SOME ? NARROW_MOST : many;
    /* most slices of a warp */
    static const int slices = has_table ? INT32_MAX : CLASS == MANY ? 8 : CLASS == SOME && is_double ? 3 : 1;
    static const int wide_blocks = CLASS == SOME && !is_double ? 12 : 8;
    static const int blocks = has_table     ? TABLE_BLOCKS
                              : CLASS == FEW ? (SIMPLE || !is_double ? 16 : 12)
                                             : wide_blocks;
};

/*
 * Multiplies matrices of at most INT32_MAX rows. The indices of a warp's consecutive slices differ by WARPS. The next
 * slice's record is loaded before the current slice is multiplied.
 */
template <typename S, typename V, int CLASS, bool ONES, bool SIMPLE> static __global__ void
__launch_bounds__(narrow_shape<S, V, CLASS, SIMPLE>::threads, narrow_shape<S, V, CLASS, SIMPLE>::blocks)
    packed_narrow(const __grid_constant__ spryi_packed s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha,
                  scalar<V> beta, int most)
{
    typedef narrow_shape<S, V, CLASS, SIMPLE> shape;
    constexpr int WARPS = shape::threads / LANES;
    const int count = (int)s.slice_count, slices = shape::slices == 1 ? 1 : most; /* slices: per warp */
    int k = (int)blockIdx.x * (WARPS * slices) + (int)threadIdx.x / LANES;
    open_table<S>(s);
    wait_for_previous_kernel();
    if (k >= count) return;
    spryi_packed_slice slice = load_slice(s.slices + k);
    int32_t extra = __ldg(s.extras + k);
    const V a = SIMPLE ? alpha.value : alpha.get(), b = SIMPLE ? V(0) : beta.get();
#pragma unroll 1
    for (int left = slices;;) {
        spryi_packed_slice next = slice;
        int32_t next_extra = extra;
        k += WARPS;
        const bool more = --left > 0 && k < count;
        if (more) {
            next = load_slice(s.slices + k);
            next_extra = __ldg(s.extras + k);
        }
        run_narrow<S, SIMPLE, shape::slots, CLASS == MANY, ONES>(s, slice, extra, x, y, a, b);
        if (!more) return;
        slice = next;
        extra = next_extra;
    }
}
