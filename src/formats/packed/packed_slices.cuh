/*
 * packed_diagonals and packed_mixed, kernels of packed_slices_cuda for lanes that are rows or block rows.
 *
 * Idea: a record of 16 bytes tells where a slice has everything, so that values are asked for before anything else is
 *       known. On DIAGONALS lane d holds the d-th distance, and x is read at the lane's own row plus the distance.
 *       Lanes that lack an entry load the padding beside it, but no x; where too many lack one the slot is packed, and
 *       a lane counts by the slot's mask how many come before it.
 * Work: packed_diagonals, where all slices are of that kind: blocks of two warps, a warp two neighbouring slices (of
 *       block rows: one), together where they are alike, 7 slots in flight. packed_mixed: blocks of eight warps that
 *       take four slices each, the next record on its way.
 * Cost: bytes of packed, x and y.
 * Source: slices of rows: Monakov, Lokhmotov, Avetisyan 2010; distances, masks and packed slots: this library.
 */
#ifndef SPRYI_PACKED_SLICES_CUH
#define SPRYI_PACKED_SLICES_CUH

#include "formats/packed/packed_device.cuh"

enum { MIXED_THREADS = 256, MIXED_SLICES = 4 /* of a warp */ };

/* ---- slices of diagonals ------------------------------------------------------------------------------- */

enum slot_mode {
    WHOLE,
    PADDED,
    HOLES
}; /* slots have room for all lanes, which have them all or may not; or no such room */

/* The state of a lane in R neighbouring slices of one list of distances and one width. */
template <typename V, int R> struct diagonal_work {
    const V *Ax[R];   /* of the next slot: of the lane, or HOLES: of its first lane */
    const V *x;       /* at the lane's block column in the first slice */
    int32_t distance; /* the lane-th */
    unsigned mask[R]; /* of distances that the lane has */
};

/* sum[r][i] += slots t .. t + N - 1 of row i of the lane in slice r. */
template <int MODE, int B, bool ONES, int N, int R, typename V>
static __device__ __forceinline__ void add_diagonals(V (&sum)[R][B], diagonal_work<V, R> *w, int t)
{
    const unsigned lower = (1u << (threadIdx.x % LANES)) - 1;
    V a[R][N][B * B];
#pragma unroll
    for (int r = 0; r < R; r++) {
#pragma unroll
        for (int u = 0; u < N; u++) {
            int stride = LANES, before = 0;
            bool has = true;
            if (MODE == HOLES) {
                has = (w->mask[r] >> (t + u) & 1) != 0;
                const unsigned slot = __ballot_sync(ALL, has);
                before = __popc(slot & lower);
                stride = __popc(slot);
            }
#pragma unroll
            for (int e = 0; e < B * B; e++) {
                a[r][u][e] = V(ONES ? 1 : 0);
                if (!ONES && MODE != HOLES) a[r][u][e] = load_once(w->Ax[r] + (u * B * B + e) * LANES);
                if (!ONES && MODE == HOLES && has) a[r][u][e] = __ldg(w->Ax[r] + e * stride + before);
            }
            if (!ONES && MODE == HOLES) w->Ax[r] += stride * B * B;
        }
        if (!ONES && MODE != HOLES) w->Ax[r] += N * B * B * LANES;
    }
#pragma unroll
    for (int u = 0; u < N; u++) {
        const V *x = w->x + (int64_t)__shfl_sync(ALL, w->distance, t + u) * B;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const bool has = MODE == WHOLE || (w->mask[r] >> (t + u) & 1);
#pragma unroll
            for (int c = 0; c < B; c++) {
                V of_x = V(0);
                if (has) of_x = x[r * LANES * B + c];
#pragma unroll
                for (int i = 0; i < B; i++) sum[r][i] += a[r][u][i * B + c] * of_x;
            }
        }
    }
}

/* All `width` slots, at most N at once, the rest in one go too; where N is no more, a case never comes. */
template <int MODE, int B, bool ONES, int N, int R, typename V>
static __device__ __forceinline__ void add_all_diagonals(V (&sum)[R][B], diagonal_work<V, R> w, int width)
{
    int t = 0;
#pragma unroll 1
    for (; t + N <= width; t += N) add_diagonals<MODE, B, ONES, N>(sum, &w, t);
    switch (width - t) {
    case 1: add_diagonals<MODE, B, ONES, 1>(sum, &w, t); break;
    case 2: add_diagonals<MODE, B, ONES, N <= 2 ? 1 : 2>(sum, &w, t); break;
    case 3: add_diagonals<MODE, B, ONES, N <= 3 ? 1 : 3>(sum, &w, t); break;
    case 4: add_diagonals<MODE, B, ONES, N <= 4 ? 1 : 4>(sum, &w, t); break;
    case 5: add_diagonals<MODE, B, ONES, N <= 5 ? 1 : 5>(sum, &w, t); break;
    case 6: add_diagonals<MODE, B, ONES, N <= 6 ? 1 : 6>(sum, &w, t); break;
    case 7: add_diagonals<MODE, B, ONES, N <= 7 ? 1 : 7>(sum, &w, t); break;
    case 8: add_diagonals<MODE, B, ONES, N <= 8 ? 1 : 8>(sum, &w, t); break;
    default: break;
    }
}

/* y of R neighbouring slices of one list, width and b; lane r has the r-th record. */
template <int B, bool ONES, int N, int R, typename V>
static __device__ __forceinline__ void run_diagonals(const spryi_packed &s, const spryi_packed_slice &mine,
                                                     int32_t extra, int mode, const V *x, V *y, V alpha, V beta)
{
    const int lane = threadIdx.x % LANES;
    const uint32_t info = __shfl_sync(ALL, mine.info, 0), list = __shfl_sync(ALL, mine.indices, 0);
    const int width = (int)(info >> SPRYI_PACKED_WIDTH_SHIFT & 255);
    const int64_t row = (int64_t)__shfl_sync(ALL, mine.row, 0) * LANES + lane * B;
    const int64_t at = spryi_packed_values_at(&mine);
    diagonal_work<V, R> w;
    w.distance = 0;
    if (lane < width) w.distance = __ldg((const int32_t *)(s.indices + (int64_t)list * SPRYI_PACKED_INDEX_UNIT) + lane);
    w.x = x + row;
#pragma unroll
    for (int r = 0; r < R; r++) {
        w.Ax[r] = NULL;
        if (!ONES) w.Ax[r] = (const V *)s.values + __shfl_sync(ALL, at, r) + (mode == HOLES ? 0 : lane);
        w.mask[r] = ALL;
        if (mode != WHOLE && !(__shfl_sync(ALL, mine.info, r) & SPRYI_PACKED_FULL))
            w.mask[r] = load_mask(s.indices + (int64_t)(uint32_t)__shfl_sync(ALL, extra, r) * SPRYI_PACKED_INDEX_UNIT,
                                  width, lane);
    }
    V sum[R][B] = {};
    if (mode == WHOLE)
        add_all_diagonals<WHOLE, B, ONES, N>(sum, w, width);
    else if (mode == PADDED)
        add_all_diagonals<PADDED, B, ONES, N>(sum, w, width);
    else
        add_all_diagonals<HOLES, B, ONES, N>(sum, w, width);
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int i = 0; i < B; i++)
            if (row + r * LANES * B < s.a.rows) put(y, row + r * LANES * B + i, sum[r][i], alpha, beta);
}

static __device__ __forceinline__ int mode_of(uint32_t info)
{
    return info & SPRYI_PACKED_FULL ? WHOLE : info & SPRYI_PACKED_PADDED ? PADDED : HOLES;
}

/*
 * Slices together, and slots of each in flight. Blocks are small, since warps that are done leave their part of the
 * multiprocessor idle until the block ends. Measured on an H200 (docs/results/h200-packed-2026-11-21.md).
 */
template <typename V, int B> struct diagonal_shape {
    static const int slices = B > 1 ? 1 : 2;
    static const int slots = B == 1 ? 7 : B == 2 ? 4 : B == 3 ? 3 : 1;
    static const int threads = 64;
    static const int blocks = B == 1 ? (sizeof(V) == 8 ? 12 : 16) : B == 2 || B == 3 ? 8 : 4; /* a multiprocessor */
};

template <typename V, int B, bool ONES>
static __global__ void __launch_bounds__(diagonal_shape<V, B>::threads, diagonal_shape<V, B>::blocks)
    packed_diagonals(const spryi_packed s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    constexpr int R = diagonal_shape<V, B>::slices, N = diagonal_shape<V, B>::slots;
    const int lane = threadIdx.x % LANES;
    const int64_t first = ((int64_t)blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES) * R;
    if (first >= s.slice_count) return;
    const int64_t left = s.slice_count - first;
    const int own = lane < R && lane < left ? lane : 0;
    spryi_packed_slice slice = load_slice(s.slices + first + own);
    int32_t extra = __ldg(s.extras + first + own);
    const V a = alpha.get(), b = beta.get();
    const int mode = mode_of(slice.info);
    if (B > 1) {
        if (spryi_packed_b(&slice) > 1)
            run_diagonals<B, ONES, N, 1>(s, slice, extra, mode, x, y, a, b);
        else
            run_diagonals<1, ONES, diagonal_shape<V, 1>::slots, 1>(s, slice, extra, mode, x, y, a, b);
        return;
    }
    const uint32_t same = 255u << SPRYI_PACKED_WIDTH_SHIFT; /* bits of info */
    const uint32_t list = __shfl_sync(ALL, slice.indices, 0), info = __shfl_sync(ALL, slice.info, 0);
    const bool alike = slice.indices == list && ((slice.info ^ info) & same) == 0;
    const bool dense = mode != HOLES;
    if (left >= R && __all_sync(ALL, alike && dense)) {
        run_diagonals<1, ONES, N, R>(s, slice, extra, __all_sync(ALL, mode == WHOLE) ? WHOLE : PADDED, x, y, a, b);
    } else if (left >= R && __all_sync(ALL, alike && !dense)) {
        run_diagonals<1, ONES, N, R>(s, slice, extra, HOLES, x, y, a, b);
    } else {
#pragma unroll 1
        for (int r = 0; r < R && r < left; r++) {
            run_diagonals<1, ONES, N, 1>(s, slice, extra, mode_of(__shfl_sync(ALL, slice.info, 0)), x, y, a, b);
            if (r + 1 < left && r + 1 < R) {
                slice = load_slice(s.slices + first + r + 1);
                extra = __ldg(s.extras + first + r + 1);
            }
        }
    }
}

/* ---- slices with indices ------------------------------------------------------------------------------ */

/* The state of a lane while it adds up a slice with indices. */
template <typename V> struct indexed_work {
    const V *Ax;             /* of the next slot; lanes side by side */
    const V *x;              /* at the first column of OFFSETS, or at column 0 */
    const uint16_t *offsets; /* of the next slot */
    const int32_t *columns;
    int length; /* of the lane */
};

/* sum[i] += slots t .. t + N - 1 of row i of the lane. */
template <int KIND, int MODE, int B, bool ONES, int N, typename V>
static __device__ __forceinline__ void add_indexed(V (&sum)[B], indexed_work<V> *w, int t)
{
    const unsigned lower = (1u << (threadIdx.x % LANES)) - 1;
    V a[N][B * B];
    int32_t j[N];
    bool has[N];
#pragma unroll
    for (int u = 0; u < N; u++) {
        has[u] = MODE == WHOLE || w->length > t + u;
        j[u] = 0;
        if (MODE != HOLES) {
            if (KIND == SPRYI_PACKED_OFFSETS) j[u] = load_index(w->offsets + u * LANES);
            if (KIND == SPRYI_PACKED_COLUMNS) j[u] = load_once(w->columns + u * LANES);
#pragma unroll
            for (int e = 0; e < B * B; e++) a[u][e] = ONES ? V(1) : load_once(w->Ax + (u * B * B + e) * LANES);
            continue;
        }
        const unsigned slot = __ballot_sync(ALL, has[u]);
        const int before = __popc(slot & lower), stride = __popc(slot);
        if (has[u]) j[u] = KIND == SPRYI_PACKED_OFFSETS ? __ldg(w->offsets + before) : __ldg(w->columns + before);
#pragma unroll
        for (int e = 0; e < B * B; e++) {
            a[u][e] = V(ONES ? 1 : 0);
            if (!ONES && has[u]) a[u][e] = __ldg(w->Ax + e * stride + before);
        }
        w->Ax += ONES ? 0 : stride * B * B;
        w->offsets += KIND == SPRYI_PACKED_OFFSETS ? stride : 0;
        w->columns += KIND == SPRYI_PACKED_COLUMNS ? stride : 0;
    }
    if (MODE != HOLES) {
        w->Ax += ONES ? 0 : N * LANES * B * B;
        w->offsets += KIND == SPRYI_PACKED_OFFSETS ? N * LANES : 0;
        w->columns += KIND == SPRYI_PACKED_COLUMNS ? N * LANES : 0;
    }
#pragma unroll
    for (int u = 0; u < N; u++)
#pragma unroll
        for (int c = 0; c < B; c++) {
            V of_x = V(0);
            if (has[u]) of_x = w->x[(int64_t)j[u] * B + c];
#pragma unroll
            for (int i = 0; i < B; i++) sum[i] += a[u][i * B + c] * of_x;
        }
}

template <int KIND, int MODE, int B, bool ONES, typename V>
static __device__ __forceinline__ void add_all_indexed(V (&sum)[B], indexed_work<V> w, int width)
{
    constexpr int N = B == 1 ? 8 : B <= 3 ? 2 : 1;
    int t = 0;
#pragma unroll 1
    for (; t + N <= width; t += N) add_indexed<KIND, MODE, B, ONES, N>(sum, &w, t);
    switch (width - t) {
    case 1: add_indexed<KIND, MODE, B, ONES, 1>(sum, &w, t); break;
    case 2: add_indexed<KIND, MODE, B, ONES, N <= 2 ? 1 : 2>(sum, &w, t); break;
    case 3: add_indexed<KIND, MODE, B, ONES, N <= 3 ? 1 : 3>(sum, &w, t); break;
    case 4: add_indexed<KIND, MODE, B, ONES, N <= 4 ? 1 : 4>(sum, &w, t); break;
    case 5: add_indexed<KIND, MODE, B, ONES, N <= 5 ? 1 : 5>(sum, &w, t); break;
    case 6: add_indexed<KIND, MODE, B, ONES, N <= 6 ? 1 : 6>(sum, &w, t); break;
    case 7: add_indexed<KIND, MODE, B, ONES, N <= 7 ? 1 : 7>(sum, &w, t); break;
    default: break;
    }
}

template <int KIND, int B, bool ONES, typename V>
static __device__ __forceinline__ void add_by_mode(V (&sum)[B], const indexed_work<V> &w, int mode, int width)
{
    if (mode == WHOLE)
        add_all_indexed<KIND, WHOLE, B, ONES>(sum, w, width);
    else if (mode == PADDED)
        add_all_indexed<KIND, PADDED, B, ONES>(sum, w, width);
    else
        add_all_indexed<KIND, HOLES, B, ONES>(sum, w, width);
}

template <int B, bool ONES, typename V> static __device__ __forceinline__ void
run_indexed(const spryi_packed &s, const spryi_packed_slice &slice, int32_t extra, const V *x, V *y, V alpha, V beta)
{
    const int lane = threadIdx.x % LANES, kind = spryi_packed_kind_of(&slice), width = spryi_packed_width(&slice);
    const bool full = (slice.info & SPRYI_PACKED_FULL) != 0;
    const uint8_t *indices = s.indices + (int64_t)slice.indices * SPRYI_PACKED_INDEX_UNIT;
    int64_t row = (int64_t)slice.row * LANES + lane * B;
    bool is_there = row < s.a.rows;
    indexed_work<V> w = {};
    const int mode = mode_of(slice.info), own = mode == HOLES ? 0 : lane;
    if (!ONES) w.Ax = (const V *)s.values + spryi_packed_values_at(&slice) + own;
    w.length = width;
    if (!full) {
        w.length = __ldg(indices + lane);
        if (w.length == SPRYI_PACKED_LONG_ROW) is_there = false, w.length = 0;
        indices += LANES;
    }
    if (B == 1 && (slice.info & SPRYI_PACKED_SORTED)) {
        row = (int64_t)(slice.row / (SPRYI_PACKED_GROUP / LANES)) * SPRYI_PACKED_GROUP +
              __ldg((const uint16_t *)indices + lane);
        indices += LANES * sizeof(uint16_t);
    }
    w.x = x + (kind == SPRYI_PACKED_OFFSETS ? (int64_t)extra * B : 0);
    w.offsets = (const uint16_t *)indices + own;
    w.columns = (const int32_t *)indices + own;
    V sum[B] = {};
    if (kind == SPRYI_PACKED_OFFSETS)
        add_by_mode<SPRYI_PACKED_OFFSETS, B, ONES>(sum, w, mode, width);
    else
        add_by_mode<SPRYI_PACKED_COLUMNS, B, ONES>(sum, w, mode, width);
    if (!is_there) return;
#pragma unroll
    for (int r = 0; r < B; r++) put(y, row + r, sum[r], alpha, beta);
}

template <int B, bool ONES, typename V> static __device__ __forceinline__ void
run_any(const spryi_packed &s, const spryi_packed_slice &slice, int32_t extra, const V *x, V *y, V alpha, V beta)
{
    if (spryi_packed_kind_of(&slice) == SPRYI_PACKED_DIAGONALS)
        run_diagonals<B, ONES,
                      B == 1   ? 5
                      : B == 2 ? 4
                      : B == 3 ? 2
                               : 1,
                      1>(s, slice, extra, mode_of(slice.info), x, y, alpha, beta);
    else
        run_indexed<B, ONES>(s, slice, extra, x, y, alpha, beta);
}

/* Slices of any kind: a warp takes `run` of them, the next record on its way. */
template <typename V, int B, bool ONES> static __global__ void __launch_bounds__(MIXED_THREADS, B <= 3 ? 4 : 2)
    packed_mixed(const spryi_packed s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta,
                 int run)
{
    constexpr int WARPS = MIXED_THREADS / LANES;
    const int64_t first = (int64_t)blockIdx.x * (WARPS * run), last = first + WARPS * run;
    const int64_t end = last < s.slice_count ? last : s.slice_count;
    int64_t k = first + threadIdx.x / LANES;
    if (k >= end) return;
    spryi_packed_slice slice = load_slice(s.slices + k);
    int32_t extra = __ldg(s.extras + k);
    const V a = alpha.get(), b = beta.get();
    for (;;) {
        const int64_t next = k + WARPS;
        spryi_packed_slice next_slice = {};
        int32_t next_extra = 0;
        if (next < end) {
            next_slice = load_slice(s.slices + next);
            next_extra = __ldg(s.extras + next);
        }
        if (B > 1 && spryi_packed_b(&slice) > 1)
            run_any<B, ONES>(s, slice, extra, x, y, a, b);
        else
            run_any<1, ONES>(s, slice, extra, x, y, a, b);
        if (next >= end) return;
        k = next;
        slice = next_slice;
        extra = next_extra;
    }
}

/* ---- launch ------------------------------------------------------------------------------------------ */

template <typename V, bool ONES, int B> static void launch_slices(const spryi_run_args *args)
{
    typedef diagonal_shape<V, B> shape;
    const spryi_packed *s = (const spryi_packed *)args->storage;
    const V *x = (const V *)args->x;
    V *y = (V *)args->y;
    const scalar<V> alpha = SPRY_ALPHA(V, args), beta = SPRY_BETA(V, args);
    const unsigned pairs = (unsigned)ceil_div(s->slice_count, shape::threads / LANES * shape::slices);
    const unsigned runs = (unsigned)ceil_div(s->slice_count, MIXED_THREADS / LANES * MIXED_SLICES);
    if (s->indexed == 0)
        packed_diagonals<V, B, ONES><<<pairs, shape::threads, 0, stream_of(args)>>>(*s, x, y, alpha, beta);
    else
        packed_mixed<V, B, ONES><<<runs, MIXED_THREADS, 0, stream_of(args)>>>(*s, x, y, alpha, beta, MIXED_SLICES);
}

/* Slices whose lanes may be rows of blocks of B x B; a module defines the instances of one size. */
template <typename V, int B> void spry_cuda_packed_blocks(const spryi_run_args *args)
{
    launch_slices<V, false, B>(args);
}

#endif
