/*
 * packed_columns, the kernel of packed_slices_cuda for multiple vectors.
 *
 * Idea: a slice's values and indices are read once for all vectors. Row-major vectors: m.lanes lanes of a warp share a
 *       row of x, and each of them reads one or two pieces of the row, of at most 16 bytes each. A warp thus has 32 /
 *       m.lanes rows of the slice at a time, and on diagonals its reads of x are contiguous. Column-major vectors: a
 *       warp has all 32 rows of the slice, and each lane has some vectors (columns.cuh). One load of x serves all b
 *       rows of a block row.
 * Work: a warp has up to SHARES * 32 / m.lanes rows of a slice (shares_of) and one set of vectors. The warps of a slice
 *       are consecutive, so its values come from the first-level cache. A lane loads multiple slots at a time
 *       (columns_flight), and later values and indices are prefetched into the second-level cache.
 * Cost: bytes of packed, X and Y once if reads of nearby warps hit the caches. Deterministic: the entries of a row are
 *       added in the order of its slots for any number of vectors.
 * Source: this library; slices as in packed_slices.cuh.
 */
#pragma once

#include "device/cuda/columns.cuh"
#include "formats/packed/packed_device.cuh"

enum { COLUMNS_THREADS = 128, SHARES = 4, LINE = 128, MOST_AHEAD = 64 * LINE, BLOCKS_AHEAD = 2 };

/* A slice as read by a thread, and the thread's current lane of the slice. */
template <typename S> struct column_slice {
    const S *Ax; /* first value; NULL: all values are 1 */
    const uint8_t *index;
    int kind, width;
    bool whole;      /* all lanes have all slots */
    bool prefetches; /* prefetch values: true only for the first part of the slice's first warp */
    int32_t base;    /* block column to which indices are added: lane 0's (DIAGONALS), or the slice's first (OFFSETS) */
    int count;       /* number of lanes that are rows */
    int64_t row;     /* row to which the lanes' rows are added */
    /* data of the slice's lane that has the index of the thread's lane in the warp: */
    unsigned slots;   /* DIAGONALS: mask of the lane's slots; else number of its slots, or LONG_ROW */
    int place;        /* first row, relative to `row` */
    /* the current lane of the slice, and its slots: */
    int own;
    unsigned held;
};

template <int KIND> static __device__ __forceinline__ bool has_slot(unsigned held, int t)
{
    return KIND == SPRYI_PACKED_DIAGONALS ? (held >> t & 1) != 0 : t < (int)held;
}

/* Bytes of a stored index, and number of indices from one slot to the next. */
template <int KIND> static constexpr int index_bytes = KIND == SPRYI_PACKED_OFFSETS ? 2 : 4;
template <int KIND> static constexpr int index_stride = KIND == SPRYI_PACKED_DIAGONALS ? 1 : (int)LANES;

/* Returns the index at position `at`: the distance of a slot (DIAGONALS), or the index of an entry. */
template <int KIND> static __device__ __forceinline__ int32_t index_at(const uint8_t *index, int at)
{
    if (KIND == SPRYI_PACKED_OFFSETS) return __ldg((const uint16_t *)index + at);
    return __ldg((const int32_t *)index + at);
}

/*
 * Adds slots t .. t + N - 1 of the lane to sum[r][c], for rows r of its block row and pieces c of the vectors. The
 * slots must exist and have room for all lanes. To avoid branches, missing entries load from a valid address and are
 * not added. Ax and index: the lane's value (not read if s.Ax is NULL) and index in slot t. WHOLE: no entry is missing.
 */
template <int KIND, bool WHOLE, int B, int N, typename SHAPE, typename S, typename V>
static __device__ __forceinline__ void add_slots(column_piece<SHAPE::W, V> (&sum)[B][SHAPE::C],
                                                 const column_slice<S> &s, const many_columns<V> &m,
                                                 const column_place<SHAPE, V> &place, int t, const S *Ax,
                                                 const uint8_t *index)
{
    V a[N][B * B];
    int32_t j[N];
    bool has[N];
    column_piece<SHAPE::W, V> x[N][B][SHAPE::C];
#pragma unroll
    for (int u = 0; u < N; u++) {
        has[u] = WHOLE || has_slot<KIND>(s.held, t + u);
        j[u] = s.base + index_at<KIND>(index, u * index_stride<KIND>);
        if (KIND == SPRYI_PACKED_DIAGONALS) j[u] += s.own;
        if (!WHOLE) j[u] = has[u] ? j[u] : 0;
    }
#pragma unroll
    for (int u = 0; u < N; u++)
#pragma unroll
        for (int e = 0; e < B * B; e++)
            a[u][e] = s.Ax ? V(widened(Ax[(u * B * B + e) * LANES])) : V(1);
#pragma unroll
    for (int u = 0; u < N; u++)
#pragma unroll
        for (int q = 0; q < B; q++)
#pragma unroll
            for (int c = 0; c < SHAPE::C; c++) x[u][q][c] = place.load(m, c, j[u] * B + q);
#pragma unroll
    for (int u = 0; u < N; u++)
#pragma unroll
        for (int q = 0; q < B; q++)
#pragma unroll
            for (int r = 0; r < B; r++)
#pragma unroll
                for (int c = 0; c < SHAPE::C; c++)
#pragma unroll
                    for (int w = 0; w < SHAPE::W; w++)
                        if (has[u]) sum[r][c].of[w] += a[u][r * B + q] * x[u][q][c].of[w];
}

/* Prefetches bytes into the second-level cache. Called by a warp. */
static __device__ __forceinline__ void prefetch(const void *from, int bytes)
{
    for (int at = threadIdx.x % LANES * LINE; at < bytes; at += LANES * LINE)
        asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)from + at));
}

template <int KIND, bool WHOLE, int B, int N, typename SHAPE, typename S, typename V>
static __device__ __forceinline__ void add_all_slots(column_piece<SHAPE::W, V> (&sum)[B][SHAPE::C],
                                                     const column_slice<S> &s, const many_columns<V> &m,
                                                     const column_place<SHAPE, V> &place)
{
    const int own = s.Ax ? s.own : 0, step = s.Ax ? N * B * B * LANES : 0;
    const S *Ax = s.Ax + own;
    const uint8_t *index = s.index + (KIND == SPRYI_PACKED_DIAGONALS ? 0 : s.own * index_bytes<KIND>);
    int t = 0;
#pragma unroll 1
    for (; t + N <= s.width; t += N, Ax += step, index += N * index_stride<KIND> * index_bytes<KIND>) {
        if (B > 1 && s.prefetches && t + BLOCKS_AHEAD * N < s.width)
            prefetch(s.Ax + (t + BLOCKS_AHEAD * N) * B * B * LANES, N * B * B * LANES * (int)sizeof(S));
        add_slots<KIND, WHOLE, B, N, SHAPE>(sum, s, m, place, t, Ax, index);
    }
#define ADD_LEFT(n)                                                                                                    \
    case n:                                                                                                            \
        if constexpr ((n) < N) add_slots<KIND, WHOLE, B, n, SHAPE>(sum, s, m, place, t, Ax, index);                    \
        break;
    switch (s.width - t) {
        ADD_LEFT(1)
        ADD_LEFT(2)
        ADD_LEFT(3)
        ADD_LEFT(4)
        ADD_LEFT(5)
        ADD_LEFT(6)
        ADD_LEFT(7)
    default: break;
    }
#undef ADD_LEFT
}

/* Adds the slots of a slice that is neither FULL nor PADDED. A slot has only the lanes with an entry. */
template <int KIND, int B, typename SHAPE, typename S, typename V>
static __device__ __forceinline__ void add_holes(column_piece<SHAPE::W, V> (&sum)[B][SHAPE::C],
                                                 const column_slice<S> &s, const many_columns<V> &m,
                                                 const column_place<SHAPE, V> &place)
{
    const unsigned lower = (1u << s.own) - 1;
    const S *Ax = s.Ax;
    int at = 0; /* number of entries in earlier slots */
#pragma unroll 1
    for (int t = 0; t < s.width; t++) {
        const unsigned slots = KIND != SPRYI_PACKED_DIAGONALS && s.slots == SPRYI_PACKED_LONG_ROW ? 0 : s.slots;
        const unsigned slot = __ballot_sync(ALL, has_slot<KIND>(slots, t));
        const int before = __popc(slot & lower), stride = __popc(slot);
        if (slot >> s.own & 1) {
            const int32_t j = s.base + (KIND == SPRYI_PACKED_DIAGONALS ? s.own : 0) +
                              index_at<KIND>(s.index, KIND == SPRYI_PACKED_DIAGONALS ? t : at + before);
#pragma unroll
            for (int q = 0; q < B; q++) {
                column_piece<SHAPE::W, V> x[SHAPE::C];
#pragma unroll
                for (int c = 0; c < SHAPE::C; c++) x[c] = place.load(m, c, j * B + q);
#pragma unroll
                for (int r = 0; r < B; r++) {
                    const V a = Ax ? V(widened(Ax[(r * B + q) * stride + before])) : V(1);
#pragma unroll
                    for (int c = 0; c < SHAPE::C; c++)
#pragma unroll
                        for (int w = 0; w < SHAPE::W; w++) sum[r][c].of[w] += a * x[c].of[w];
                }
            }
        }
        if (Ax) Ax += stride * B * B;
        at += stride;
    }
}

/*
 * slots: number of slots that a lane loads at a time, computed from the registers that a slot needs. blocks: number of
 * CUDA blocks per multiprocessor. Measured on an H200: for matrices of b x b blocks, more slots and fewer CUDA blocks
 * are 1.2 times as fast, except with column-major f32.
 */
template <typename SHAPE, typename V, int B> struct columns_flight {
    static const int words = (int)sizeof(V) / 4;
    static const int slot = words * B * B + 1 + words * B * SHAPE::C * SHAPE::W;
    static const bool many = SHAPE::BY_ROWS || sizeof(V) == 8;
    static const int of_rows = SHAPE::BY_ROWS ? 42 : 36 - 4 * SHAPE::C, of_blocks = many ? 80 : 64 - 4 * SHAPE::C;
    static const int fitting = (B == 1 ? of_rows : of_blocks) / slot;
    static const int slots = fitting < 1 ? 1 : fitting > 8 ? 8 : fitting;
    static const int blocks = B == 1 ? (SHAPE::BY_ROWS ? 7 : 8) : B == 2 || (B == 3 && !many) ? 5 : 4;
};

template <int B, typename S> static __device__ __forceinline__ column_slice<S>
view_slice(const spryi_packed &s, const spryi_packed_slice &slice, int32_t extra)
{
    const int lane = threadIdx.x % LANES;
    column_slice<S> v;
    v.kind = spryi_packed_kind_of(&slice);
    v.whole = (slice.info & SPRYI_PACKED_FULL) != 0;
    v.width = spryi_packed_width(&slice);
    v.row = (int64_t)slice.row * LANES;
    v.count = (int)((min(v.row + LANES * B, s.a.rows) - v.row) / B);
    v.place = lane * B;
    v.index = s.indices + (int64_t)slice.indices * SPRYI_PACKED_INDEX_UNIT;
    v.Ax = s.a.value_type == SPRY_PATTERN ? NULL : (const S *)s.values + spryi_packed_values_at(&slice);
    v.slots = ALL;
    if (v.kind == SPRYI_PACKED_DIAGONALS) {
        if (!v.whole)
            v.slots = load_mask(s.indices + (int64_t)(uint32_t)extra * SPRYI_PACKED_INDEX_UNIT, v.width, lane);
        v.base = (int32_t)(v.row / B);
        return v;
    }
    v.slots = (unsigned)v.width;
    if (!v.whole) {
        v.slots = __ldg(v.index + lane);
        v.index += LANES;
    }
    if (B == 1 && (slice.info & SPRYI_PACKED_SORTED)) {
        v.row = (int64_t)(slice.row / (SPRYI_PACKED_GROUP / LANES)) * SPRYI_PACKED_GROUP;
        v.place = __ldg((const uint16_t *)v.index + lane);
        v.index += LANES * sizeof(uint16_t);
    }
    v.base = v.kind == SPRYI_PACKED_OFFSETS ? extra : 0;
    return v;
}

/* A thread's share of a slice: lanes own, own + rows, ... of the slice, and some of the vectors (`set` and `lane`). */
typedef struct slice_share {
    spryi_packed_slice slice;
    int32_t extra;
    int own, rows, parts; /* parts: number of lanes own, own + rows, ... */
    int set, lane;
    bool prefetches; /* prefetch values of blocks: true only for the first share of the slice */
} slice_share;

template <int KIND, bool HOLES, int B, typename SHAPE, typename S, typename V>
static __device__ __forceinline__ void add_kind(column_piece<SHAPE::W, V> (&sum)[B][SHAPE::C], const column_slice<S> &v,
                                                const many_columns<V> &m, const column_place<SHAPE, V> &place)
{
    constexpr int N = columns_flight<SHAPE, V, B>::slots;
    if (HOLES)
        add_holes<KIND, B, SHAPE>(sum, v, m, place);
    else if (v.whole)
        add_all_slots<KIND, true, B, N, SHAPE>(sum, v, m, place);
    else
        add_all_slots<KIND, false, B, N, SHAPE>(sum, v, m, place);
}

/* Computes y of a share. HOLES: the slice is neither FULL nor PADDED. */
template <typename S, bool HOLES, int B, typename SHAPE, typename V> static __device__ __forceinline__ void
run_share(const spryi_packed &s, const slice_share &share, const many_columns<V> &m, V alpha, V beta)
{
    const column_place<SHAPE, V> place(m, share.set, share.lane);
    column_slice<S> v = view_slice<B, S>(s, share.slice, share.extra);
#pragma unroll 1
    for (int part = 0; part < share.parts; part++) {
        column_piece<SHAPE::W, V> sum[B][SHAPE::C] = {};
        v.own = share.own + part * share.rows;
        v.prefetches = share.prefetches && v.Ax && part == 0;
        v.held = __shfl_sync(ALL, v.slots, v.own);
        const int64_t row = v.row + __shfl_sync(ALL, v.place, v.own);
        bool has_row = v.own < v.count;
        if (v.kind == SPRYI_PACKED_DIAGONALS) {
            add_kind<SPRYI_PACKED_DIAGONALS, HOLES, B, SHAPE>(sum, v, m, place);
        } else {
            if (v.held == SPRYI_PACKED_LONG_ROW) has_row = false, v.held = 0;
            if (v.kind == SPRYI_PACKED_OFFSETS)
                add_kind<SPRYI_PACKED_OFFSETS, HOLES, B, SHAPE>(sum, v, m, place);
            else
                add_kind<SPRYI_PACKED_COLUMNS, HOLES, B, SHAPE>(sum, v, m, place);
        }
        if (!has_row) continue;
#pragma unroll
        for (int r = 0; r < B; r++) put_columns(m, place, row + r, sum[r], alpha, beta);
    }
}

/* Computes y of a share with HOLES. This is a separate function to save registers in its caller. */
template <typename S, int B, typename SHAPE, typename V> static __device__ __noinline__ void
run_holes(const spryi_packed *s, const slice_share share, const many_columns<V> *m, V alpha, V beta)
{
    run_share<S, true, B, SHAPE>(*s, share, *m, alpha, beta);
}

template <typename S, int B, typename SHAPE, typename V> static __device__ __forceinline__ void
run_columns(const spryi_packed &s, const slice_share &share, const many_columns<V> &m, V alpha, V beta)
{
    if (share.slice.info & (SPRYI_PACKED_FULL | SPRYI_PACKED_PADDED))
        run_share<S, false, B, SHAPE>(s, share, m, alpha, beta);
    else
        run_holes<S, B, SHAPE>(&s, share, &m, alpha, beta);
}

/* Prefetches the values of a slice of rows, and its 16-bit indices. */
template <typename S>
static __device__ __forceinline__ void prefetch_slice(const spryi_packed &s, const spryi_packed_slice &slice)
{
    const int slots = spryi_packed_width(&slice) * LANES;
    if (s.a.value_type != SPRY_PATTERN)
        prefetch((const S *)s.values + spryi_packed_values_at(&slice), min(slots * (int)sizeof(S), (int)MOST_AHEAD));
    if (spryi_packed_kind_of(&slice) == SPRYI_PACKED_OFFSETS)
        prefetch(s.indices + (int64_t)slice.indices * SPRYI_PACKED_INDEX_UNIT, min(slots * 2, (int)MOST_AHEAD));
}

/* shares: number of warps that share one slice and one set of vectors. */
template <typename S, typename V, int B, typename SHAPE>
static __global__ void __launch_bounds__(COLUMNS_THREADS, columns_flight<SHAPE, V, B>::blocks)
    packed_columns(const __grid_constant__ spryi_packed s, const __grid_constant__ many_columns<V> m, int shares,
                   scalar<V> alpha, scalar<V> beta)
{
    const int lane = threadIdx.x % LANES;
    const int64_t warp = (int64_t)blockIdx.x * (COLUMNS_THREADS / LANES) + threadIdx.x / LANES;
    const int lane_bits = __ffs(m.lanes) - 1, share_bits = __ffs(shares) - 1; /* both are powers of two */
    const int64_t set = warp >> share_bits, k = m.sets == 1 ? set : set / m.sets;
    open_table<S>(s); /* S is cached_of<the stored type> */
    wait_for_previous_kernel();
    if (k >= s.slice_count) return;
    slice_share share;
    share.slice = load_slice(s.slices + k);
    share.extra = __ldg(s.extras + k);
    share.rows = LANES >> lane_bits;
    share.parts = m.lanes >> share_bits;
    share.own = (int)(warp - set * shares) * share.parts * share.rows + (lane >> lane_bits);
    share.set = (int)(set - k * m.sets);
    share.lane = lane & (m.lanes - 1);
    const bool is_first = warp == k * m.sets * shares;
    const bool has_room = (share.slice.info & (SPRYI_PACKED_FULL | SPRYI_PACKED_PADDED)) != 0;
    share.prefetches = is_first && (SHAPE::BY_ROWS ? m.lanes >= 8 : SHAPE::C > 2);
    if (is_first && has_room && spryi_packed_b(&share.slice) == 1) prefetch_slice<S>(s, share.slice);
    const V a = alpha.get(), b = beta.get();
    if (B > 1 && spryi_packed_b(&share.slice) > 1)
        run_columns<S, B, SHAPE>(s, share, m, a, b);
    else
        run_columns<S, 1, SHAPE>(s, share, m, a, b);
}

/*
 * Sets m->lanes, the number of lanes that share a row of x. It is 1 for column-major vectors, else the smallest power
 * of two that suffices for all vectors, at most 32. Sets m->sets, the number of sets of vectors.
 */
template <typename SHAPE, typename V> static void deal_columns(many_columns<V> *m)
{
    m->lanes = 1;
    while (SHAPE::BY_ROWS && m->lanes < LANES && m->lanes * SHAPE::W * SHAPE::C < m->count) m->lanes *= 2;
    m->sets = (int)ceil_div(m->count, m->lanes * SHAPE::W * SHAPE::C);
}

/*
 * Returns the number of warps that share a slice and a set of vectors, a power of two, at most m.lanes. More warps read
 * the slice's values more often. If there are few slices, m.lanes warps are up to 1.6 times as fast, except in f32 with
 * blocks. Measured on an H200.
 */
template <int B, typename V> static int shares_of(const spryi_packed *s, const many_columns<V> &m)
{
    enum { MOST_WARPS = 60000 };
    if ((B == 1 || sizeof(V) == 8) && s->slice_count * m.sets * m.lanes <= MOST_WARPS) return m.lanes;
    return m.lanes < SHARES ? 1 : m.lanes / SHARES;
}

template <typename S, typename V, int B, typename SHAPE> static void launch_columns(const spryi_run_args *args)
{
    const spryi_packed *s = (const spryi_packed *)args->storage;
    many_columns<V> m = columns_of<V>(args);
    deal_columns<SHAPE>(&m);
    const int shares = shares_of<B>(s, m);
    launch_early(args, packed_columns<cached_of<S>, V, B, SHAPE>,
                 ceil_div(s->slice_count * m.sets * shares, COLUMNS_THREADS / LANES), COLUMNS_THREADS, 0, *s, m, shares,
                 SPRY_ALPHA(V, args), SPRY_BETA(V, args));
}

/*
 * Row-major vectors: uses the widest loads, of at most 16 bytes, for which all rows of x and y are aligned. A lane may
 * have two such loads if there are many vectors.
 */
template <typename S, typename V, int B> void spry_cuda_packed_columns(const spryi_run_args *args)
{
    constexpr int WIDE = 16 / (int)sizeof(V), MORE = B == 1 || (B <= 3 && sizeof(V) == 8) ? 2 : 1;
    const int64_t columns = args->columns;
    if constexpr (B > 1 && sizeof(S) < sizeof(V)) { /* less code for narrow stored values */
        if (args->x_column_stride != 1)
            launch_columns<S, V, B, column_shape<false, 1, 4>>(args);
        else if (columns_fit(args, WIDE, sizeof(V)))
            launch_columns<S, V, B, column_shape<true, WIDE, 1>>(args);
        else
            launch_columns<S, V, B, column_shape<true, 1, 1>>(args);
    } else if (args->x_column_stride != 1) {
        if (columns <= 2)
            launch_columns<S, V, B, column_shape<false, 1, 2>>(args);
        else if (columns <= 4 || B > 2)
            launch_columns<S, V, B, column_shape<false, 1, 4>>(args);
        else
            launch_columns<S, V, B, column_shape<false, 1, B <= 2 ? 8 : 4>>(args);
    } else if (columns_fit(args, WIDE, sizeof(V))) {
        if (columns >= 2 * WIDE)
            launch_columns<S, V, B, column_shape<true, WIDE, MORE>>(args);
        else
            launch_columns<S, V, B, column_shape<true, WIDE, 1>>(args);
    } else if (WIDE > 2 && columns_fit(args, 2, sizeof(V))) {
        launch_columns<S, V, B, column_shape<true, 2, 1>>(args);
    } else {
        launch_columns<S, V, B, column_shape<true, 1, B == 1 ? 3 : 1>>(args);
    }
}
