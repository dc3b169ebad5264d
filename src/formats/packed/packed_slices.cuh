/*
 * packed_diagonals, packed_mixed and packed_wide: kernels of packed_slices_cuda for lanes that are rows or block rows.
 *
 * Idea: a record of 16 bytes has all positions of a slice, so the loads of values depend on nothing else. For
 *       DIAGONALS, lane d holds the d-th distance, and x is read at the lane's row plus the distance. In a padded
 *       slice, a lane without an entry loads padding, but no x. If too many entries are missing, slots store only
 *       existing entries, and a lane finds its position by counting the earlier lanes in the slot's mask.
 * Work: packed_diagonals: all slices are DIAGONALS. A block has two warps. A warp has two consecutive slices, or one
 *       slice of block rows. It loads up to 7 slots at a time, and adds two slices together if they have the same list
 *       and width. packed_mixed: a block has eight warps, each with up to four slices, and a warp loads the next record
 *       early. packed_wide: for few and wide slices with indices. A slice has two to eight warps. Each warp has a part
 *       of the slots, and the sums of the parts are added in order.
 * Cost: bytes of packed, x and y.
 * Source: slices of rows: Monakov, Lokhmotov, Avetisyan 2010; distances, masks and packed slots: this library.
 */
#pragma once

#include "formats/packed/packed_device.cuh"

enum { MIXED_THREADS = 256, MIXED_SLICES = 4 /* most slices of a warp */ };

/* Thread blocks of packed_mixed, and blocks per multiprocessor of packed_wide. */
template <typename S, int B> struct mixed_shape {
    static const bool has_table = table_traits<S>::has_table;
    static const int blocks = B <= 3 ? 4 : 2;
    static const int threads = !has_table ? (int)MIXED_THREADS : B == 2 || B == 3 ? 768 : TABLE_THREADS;
    static const int mixed_blocks = !has_table ? blocks : B == 1 ? TABLE_BLOCKS : 1;
};

/*
 * Number of slots loaded at a time in a slice whose lanes are rows. In a matrix of blocks with values narrower than the
 * elements of the vectors, such slices are rare. Loading 2 slots instead of MOST saves code for them, since each number
 * of remaining slots needs an instance.
 */
template <typename S, typename V, int B, int MOST> struct row_slots {
    static const int at_once = B > 1 && sizeof(S) < sizeof(V) ? 2 : MOST;
};

/* ---- slices of diagonals ------------------------------------------------------------------------------- */

/*
 * WHOLE: slots have an entry of every lane. PADDED: slots have room for all lanes, but entries may be missing. HOLES:
 * slots store only existing entries.
 */
enum slot_mode { WHOLE, PADDED, HOLES };

/* State of a lane in R consecutive slices with the same list of distances and width. */
template <typename S, typename V, int R> struct diagonal_work {
    const S *Ax[R];   /* next slot's value of the lane; HOLES: of the slot's first lane */
    const V *x;       /* x at the lane's block column in the first slice */
    int32_t distance; /* distance at index `lane` of the list */
    unsigned mask[R]; /* mask of the slots that the lane has */
};

/* Adds slots t .. t + N - 1 of row i of the lane in slice r to sum[r][i]. */
template <int MODE, int B, bool ONES, int N, int R, typename S, typename V>
static __device__ __forceinline__ void add_diagonals(V (&sum)[R][B], diagonal_work<S, V, R> *w, int t)
{
    const unsigned lower = (1u << (threadIdx.x % LANES)) - 1;
    S a[R][N][B * B]; /* widened when all loads have been issued */
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
                a[r][u][e] = S();
                if (!ONES && MODE != HOLES) a[r][u][e] = load_once(w->Ax[r] + (u * B * B + e) * LANES);
                if (!ONES && MODE == HOLES && has) a[r][u][e] = load_kept(w->Ax[r] + e * stride + before);
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
                for (int i = 0; i < B; i++) sum[r][i] += (ONES ? V(1) : V(widened(a[r][u][i * B + c]))) * of_x;
            }
        }
    }
}

/*
 * Adds all `width` slots, N at a time. The remaining slots are added in one step. In the switch, cases of N and more
 * never occur. They name an instance that exists for another case, so that the compiler creates no further instance.
 */
template <int MODE, int B, bool ONES, int N, int R, typename S, typename V>
static __device__ __forceinline__ void add_all_diagonals(V (&sum)[R][B], diagonal_work<S, V, R> w, int width)
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

/* Computes y of R consecutive slices with the same list, width and b. mine: in lane r, the record of the r-th slice. */
template <typename S, int B, bool ONES, int N, int R, typename V>
static __device__ __forceinline__ void run_diagonals(const spryi_packed &s, const spryi_packed_slice &mine,
                                                     int32_t extra, int mode, const V *x, V *y, V alpha, V beta)
{
    const int lane = threadIdx.x % LANES;
    const uint32_t info = __shfl_sync(ALL, mine.info, 0), list = __shfl_sync(ALL, mine.indices, 0);
    const int width = (int)(info >> SPRYI_PACKED_WIDTH_SHIFT & 255);
    const int64_t row = (int64_t)__shfl_sync(ALL, mine.row, 0) * LANES + lane * B;
    const int64_t at = spryi_packed_values_at(&mine);
    diagonal_work<S, V, R> w;
    w.distance = 0;
    if (lane < width) w.distance = __ldg((const int32_t *)(s.indices + (int64_t)list * SPRYI_PACKED_INDEX_UNIT) + lane);
    w.x = x + row;
#pragma unroll
    for (int r = 0; r < R; r++) {
        w.Ax[r] = NULL;
        if (!ONES) w.Ax[r] = (const S *)s.values + __shfl_sync(ALL, at, r) + (mode == HOLES ? 0 : lane);
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
 * slices: number of slices that a warp adds together. slots: number of slots of each slice that the warp loads at a
 * time. Blocks are small, since finished warps leave their part of the multiprocessor idle until the block ends.
 * Measured on an H200.
 */
template <typename V, int B> struct diagonal_shape {
    static const int slices = B > 1 ? 1 : 2;
    static const int slots = B == 1 ? 7 : B == 2 ? 4 : B == 3 ? 3 : 1;
    static const int threads = 64;
    static const int blocks = B == 1 ? (sizeof(V) == 8 ? 12 : 16) : B == 2 || B == 3 ? 8 : 4; /* per multiprocessor */
};

template <typename S, typename V, int B, bool ONES>
static __global__ void __launch_bounds__(diagonal_shape<V, B>::threads, diagonal_shape<V, B>::blocks)
    packed_diagonals(const spryi_packed s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    constexpr int R = diagonal_shape<V, B>::slices, N = diagonal_shape<V, B>::slots;
    const int lane = threadIdx.x % LANES;
    const int64_t first = ((int64_t)blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES) * R;
    wait_for_previous_kernel();
    if (first >= s.slice_count) return;
    const int64_t left = s.slice_count - first;
    const int own = lane < R && lane < left ? lane : 0;
    spryi_packed_slice slice = load_slice(s.slices + first + own);
    int32_t extra = __ldg(s.extras + first + own);
    const V a = alpha.get(), b = beta.get();
    const int mode = mode_of(slice.info);
    if (B > 1) {
        if (spryi_packed_b(&slice) > 1)
            run_diagonals<S, B, ONES, N, 1>(s, slice, extra, mode, x, y, a, b);
        else
            run_diagonals<S, 1, ONES, row_slots<S, V, B, diagonal_shape<V, 1>::slots>::at_once, 1>(s, slice, extra,
                                                                                                   mode, x, y, a, b);
        return;
    }
    const uint32_t same = 255u << SPRYI_PACKED_WIDTH_SHIFT; /* bits of info that must agree */
    const uint32_t list = __shfl_sync(ALL, slice.indices, 0), info = __shfl_sync(ALL, slice.info, 0);
    const bool alike = slice.indices == list && ((slice.info ^ info) & same) == 0;
    const bool dense = mode != HOLES;
    if (left >= R && __all_sync(ALL, alike && dense)) {
        run_diagonals<S, 1, ONES, N, R>(s, slice, extra, __all_sync(ALL, mode == WHOLE) ? WHOLE : PADDED, x, y, a, b);
    } else if (left >= R && __all_sync(ALL, alike && !dense)) {
        run_diagonals<S, 1, ONES, N, R>(s, slice, extra, HOLES, x, y, a, b);
    } else {
#pragma unroll 1
        for (int r = 0; r < R && r < left; r++) {
            run_diagonals<S, 1, ONES, N, 1>(s, slice, extra, mode_of(__shfl_sync(ALL, slice.info, 0)), x, y, a, b);
            if (r + 1 < left && r + 1 < R) {
                slice = load_slice(s.slices + first + r + 1);
                extra = __ldg(s.extras + first + r + 1);
            }
        }
    }
}

/* ---- slices with indices ------------------------------------------------------------------------------ */

/* State of a lane in a slice with indices. */
template <typename S, typename V> struct indexed_work {
    const S *Ax;             /* next slot's value of the lane; HOLES: of the slot's first lane */
    const V *x;              /* x at the first column of OFFSETS, or at column 0 */
    const uint16_t *offsets; /* index of the next slot */
    const int32_t *columns;
    int length; /* number of the lane's slots */
};

/* Adds slots t .. t + N - 1 of row i of the lane to sum[i]. */
template <int KIND, int MODE, int B, bool ONES, int N, typename S, typename V>
static __device__ __forceinline__ void add_indexed(V (&sum)[B], indexed_work<S, V> *w, int t)
{
    const unsigned lower = (1u << (threadIdx.x % LANES)) - 1;
    S a[N][B * B];
    int32_t j[N];
    bool has[N];
#pragma unroll
    for (int u = 0; u < N; u++) {
        has[u] = MODE == WHOLE || w->length > t + u;
        j[u] = 0;
        if (MODE != HOLES) {
            if (KIND == SPRYI_PACKED_OFFSETS) j[u] = load_once(w->offsets + u * LANES);
            if (KIND == SPRYI_PACKED_COLUMNS) j[u] = load_once(w->columns + u * LANES);
#pragma unroll
            for (int e = 0; e < B * B; e++) a[u][e] = ONES ? S() : load_once(w->Ax + (u * B * B + e) * LANES);
            continue;
        }
        const unsigned slot = __ballot_sync(ALL, has[u]);
        const int before = __popc(slot & lower), stride = __popc(slot);
        if (has[u]) j[u] = KIND == SPRYI_PACKED_OFFSETS ? __ldg(w->offsets + before) : __ldg(w->columns + before);
#pragma unroll
        for (int e = 0; e < B * B; e++) {
            a[u][e] = S();
            if (!ONES && has[u]) a[u][e] = load_kept(w->Ax + e * stride + before);
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
            for (int i = 0; i < B; i++) sum[i] += (ONES ? V(1) : V(widened(a[u][i * B + c]))) * of_x;
        }
}

template <int KIND, int MODE, int B, bool ONES, int N, typename S, typename V>
static __device__ __forceinline__ void add_all_indexed(V (&sum)[B], indexed_work<S, V> w, int width)
{
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

template <int KIND, int B, bool ONES, int N, typename S, typename V>
static __device__ __forceinline__ void add_by_mode(V (&sum)[B], const indexed_work<S, V> &w, int mode, int width)
{
    if (mode == WHOLE)
        add_all_indexed<KIND, WHOLE, B, ONES, N>(sum, w, width);
    else if (mode == PADDED)
        add_all_indexed<KIND, PADDED, B, ONES, N>(sum, w, width);
    else
        add_all_indexed<KIND, HOLES, B, ONES, N>(sum, w, width);
}

/* A slice with indices as read by a lane. */
template <typename S, typename V> struct indexed_slice {
    indexed_work<S, V> work;
    int64_t row; /* row: first row of the lane; has_rows: the lane has rows that are not long */
    bool has_rows;
    int kind, mode, width;
};

template <typename S, int B, bool ONES, typename V> static __device__ __forceinline__ indexed_slice<S, V>
view_indexed(const spryi_packed &s, const spryi_packed_slice &slice, int32_t extra, const V *x)
{
    const int lane = threadIdx.x % LANES, kind = spryi_packed_kind_of(&slice), width = spryi_packed_width(&slice);
    const bool full = (slice.info & SPRYI_PACKED_FULL) != 0;
    const uint8_t *indices = s.indices + (int64_t)slice.indices * SPRYI_PACKED_INDEX_UNIT;
    const int64_t first_row = (int64_t)slice.row * LANES + lane * B;
    const int mode = mode_of(slice.info), own = mode == HOLES ? 0 : lane;
    indexed_slice<S, V> v = {{}, first_row, first_row < s.a.rows, kind, mode, width};
    if (!ONES) v.work.Ax = (const S *)s.values + spryi_packed_values_at(&slice) + own;
    v.work.length = width;
    if (!full) {
        v.work.length = __ldg(indices + lane);
        if (v.work.length == SPRYI_PACKED_LONG_ROW) v.has_rows = false, v.work.length = 0;
        indices += LANES;
    }
    if (B == 1 && (slice.info & SPRYI_PACKED_SORTED)) {
        v.row = (int64_t)(slice.row / (SPRYI_PACKED_GROUP / LANES)) * SPRYI_PACKED_GROUP +
                __ldg((const uint16_t *)indices + lane);
        indices += LANES * sizeof(uint16_t);
    }
    v.work.x = x + (kind == SPRYI_PACKED_OFFSETS ? (int64_t)extra * B : 0);
    v.work.offsets = (const uint16_t *)indices + own;
    v.work.columns = (const int32_t *)indices + own;
    return v;
}

/* Sets sum[r] to the sum of row r of the lane over all slots of v, N slots at a time. */
template <int B, bool ONES, int N, typename S, typename V>
static __device__ __forceinline__ void sum_indexed(V (&sum)[B], const indexed_slice<S, V> &v)
{
    if (v.kind == SPRYI_PACKED_OFFSETS)
        add_by_mode<SPRYI_PACKED_OFFSETS, B, ONES, N>(sum, v.work, v.mode, v.width);
    else
        add_by_mode<SPRYI_PACKED_COLUMNS, B, ONES, N>(sum, v.work, v.mode, v.width);
}

/* Number of slots that a lane loads at a time if it is a block row of B rows. OF: largest B of the kernel. */
template <typename S, typename V, int B, int OF> struct indexed_slots {
    static const int at_once = B == 1 ? row_slots<S, V, OF, 8>::at_once : B <= 3 ? 2 : 1;
};

template <typename S, int B, int OF, bool ONES, typename V> static __device__ __forceinline__ void
run_indexed(const spryi_packed &s, const spryi_packed_slice &slice, int32_t extra, const V *x, V *y, V alpha, V beta)
{
    const indexed_slice<S, V> v = view_indexed<S, B, ONES>(s, slice, extra, x);
    V sum[B] = {};
    sum_indexed<B, ONES, indexed_slots<S, V, B, OF>::at_once>(sum, v);
    if (!v.has_rows) return;
#pragma unroll
    for (int r = 0; r < B; r++) put(y, v.row + r, sum[r], alpha, beta);
}

template <typename S, int B, int OF, bool ONES, typename V> static __device__ __forceinline__ void
run_any(const spryi_packed &s, const spryi_packed_slice &slice, int32_t extra, const V *x, V *y, V alpha, V beta)
{
    if (spryi_packed_kind_of(&slice) == SPRYI_PACKED_DIAGONALS)
        run_diagonals<S, B, ONES,
                      B == 1   ? row_slots<S, V, OF, 5>::at_once
                      : B == 2 ? 4
                      : B == 3 ? 2
                               : 1,
                      1>(s, slice, extra, mode_of(slice.info), x, y, alpha, beta);
    else
        run_indexed<S, B, OF, ONES>(s, slice, extra, x, y, alpha, beta);
}

/* Multiplies slices of any kind. A warp has up to `run` slices and loads the next record early. */
template <typename S, typename V, int B, bool ONES>
static __global__ void __launch_bounds__(mixed_shape<S, B>::threads, mixed_shape<S, B>::mixed_blocks)
    packed_mixed(const spryi_packed s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta,
                 int run)
{
    constexpr int WARPS = mixed_shape<S, B>::threads / LANES;
    const int64_t first = (int64_t)blockIdx.x * (WARPS * run), last = first + WARPS * run;
    const int64_t end = last < s.slice_count ? last : s.slice_count;
    int64_t k = first + threadIdx.x / LANES;
    open_table<S>(s);
    wait_for_previous_kernel();
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
            run_any<S, B, B, ONES>(s, slice, extra, x, y, a, b);
        else
            run_any<S, 1, B, ONES>(s, slice, extra, x, y, a, b);
        if (next >= end) return;
        k = next;
        slice = next_slice;
        extra = next_extra;
    }
}

/* ---- few wide slices ---------------------------------------------------------------------------------- */

/* Restricts v to slots first .. end - 1. */
template <int B, bool ONES, typename S, typename V>
static __device__ __forceinline__ void restrict_slots(indexed_slice<S, V> *v, int first, int end)
{
    indexed_work<S, V> *w = &v->work;
    int before = first * LANES;
    if (v->mode == HOLES) before = __shfl_sync(ALL, lanes_sum(w->length < first ? w->length : first, LANES), 0);
    if (!ONES) w->Ax += before * B * B;
    w->offsets += before;
    w->columns += before;
    w->length -= first;
    v->width = end - first;
}

/*
 * Divides the slots of a slice into `parts` parts, and sets sum to the lane's sums over part `part`. Sets *row to the
 * lane's first row. Returns the number of the lane's rows: B, or 0 if the lane has no row.
 */
template <typename S, int B, bool ONES, typename V>
static __device__ __forceinline__ int sum_part(V *sum, int64_t *row, const spryi_packed &s,
                                               const spryi_packed_slice &slice, int32_t extra, int part, int parts,
                                               const V *x)
{
    indexed_slice<S, V> v = view_indexed<S, B, ONES>(s, slice, extra, x);
    const int width = v.width;
    V own[B] = {};
    restrict_slots<B, ONES>(&v, width * part / parts, width * (part + 1) / parts);
    sum_indexed<B, ONES, indexed_slots<S, V, B, B>::at_once>(own, v);
#pragma unroll
    for (int r = 0; r < B; r++) sum[r] = own[r];
    *row = v.row;
    return v.has_rows ? B : 0;
}

/* Multiplies slices of any kind with `parts` warps each. A slice of diagonals is multiplied only by its first warp. */
template <typename S, typename V, int B, bool ONES>
static __global__ void __launch_bounds__(MIXED_THREADS, mixed_shape<S, B>::blocks)
    packed_wide(const spryi_packed s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta,
                int parts)
{
    constexpr int WARPS = MIXED_THREADS / LANES;
    __shared__ V sums[WARPS][B][LANES];
    const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, part = warp % parts;
    const int64_t k = (int64_t)blockIdx.x * (WARPS / parts) + warp / parts;
    const bool has_slice = k < s.slice_count;
    open_table<S>(s);
    wait_for_previous_kernel();
    const spryi_packed_slice slice = load_slice(s.slices + (has_slice ? k : 0));
    const int32_t extra = __ldg(s.extras + (has_slice ? k : 0));
    const V a = alpha.get(), b = beta.get();
    const bool diagonals = spryi_packed_kind_of(&slice) == SPRYI_PACKED_DIAGONALS;
    const bool blocks = B > 1 && spryi_packed_b(&slice) > 1;
    V sum[B] = {};
    int64_t row = 0;
    int rows = 0;
    if (has_slice && diagonals && part == 0) {
        if (blocks)
            run_any<S, B, B, ONES>(s, slice, extra, x, y, a, b);
        else
            run_any<S, 1, B, ONES>(s, slice, extra, x, y, a, b);
    } else if (has_slice && !diagonals) {
        if (blocks)
            rows = sum_part<S, B, ONES>(sum, &row, s, slice, extra, part, parts, x);
        else
            rows = sum_part<S, 1, ONES>(sum, &row, s, slice, extra, part, parts, x);
    }
#pragma unroll
    for (int r = 0; r < B; r++) sums[warp][r][lane] = sum[r];
    __syncthreads();
    if (part > 0) return;
#pragma unroll
    for (int r = 0; r < B; r++) {
        for (int p = 1; p < parts; p++) sum[r] += sums[warp + p][r][lane];
        if (r < rows) put(y, row + r, sum[r], a, b);
    }
}

/* ---- launch ------------------------------------------------------------------------------------------ */

/*
 * WIDE_WARPS: number of warps that keep a GPU busy. WIDE_ELEMENTS: the number of warps of a slice is doubled only if,
 * before the doubling, each warp has at least this number of elements per lane. Measured on an H200.
 */
enum { WIDE_WARPS = 1 << 15, WIDE_ELEMENTS = 36 };

/*
 * Returns the number of warps for each slice: 1, 2, 4 or 8. It depends only on the matrix, since it determines the
 * order of the sums.
 */
static inline int parts_of_slice(const spryi_packed *s)
{
    const int64_t elements = s->slots / (s->slice_count * LANES);
    int parts = 1;
    while (parts < MIXED_THREADS / LANES && parts * s->slice_count < WIDE_WARPS && parts * WIDE_ELEMENTS <= elements)
        parts *= 2;
    return parts;
}

/*
 * Returns the number of slices for each warp on a GPU that runs `at_once` warps. Returns `most` if that fills the GPU
 * nearly evenly, else 1, to avoid a long partial wave at the end.
 */
static inline int slices_of_warp(const spryi_packed *s, int most, int64_t at_once)
{
    const int64_t warps = ceil_div(s->slice_count, most), rounds = ceil_div(warps, at_once);
    return 20 * warps >= 19 * rounds * at_once ? most : 1;
}

template <typename S, typename V, bool ONES, int B> static void launch_slices(const spryi_run_args *args)
{
    typedef diagonal_shape<V, B> shape;
    constexpr bool has_table = table_traits<S>::has_table;
    constexpr int WARPS = mixed_shape<S, B>::threads / LANES;
    const spryi_packed *s = (const spryi_packed *)args->storage;
    const V *x = (const V *)args->x;
    V *y = (V *)args->y;
    const scalar<V> alpha = SPRY_ALPHA(V, args), beta = SPRY_BETA(V, args);
    const int64_t at_once = UNITS * mixed_shape<S, B>::mixed_blocks * WARPS;
    const int parts = parts_of_slice(s);
    const int run = has_table ? (int)ceil_div(s->slice_count, at_once) : slices_of_warp(s, MIXED_SLICES, at_once);
    const int64_t pairs = ceil_div(s->slice_count, shape::threads / LANES * shape::slices);
    const int64_t runs = ceil_div(s->slice_count, WARPS * run);
    const int64_t wide = ceil_div(s->slice_count, MIXED_THREADS / LANES / parts);
    if constexpr (!has_table) {
        if (s->indexed == 0) {
            launch_early(args, packed_diagonals<S, V, B, ONES>, pairs, shape::threads, 0, *s, x, y, alpha, beta);
            return;
        }
    }
    if (s->indexed > 0 && parts > 1)
        launch_early(args, packed_wide<cached_of<S>, V, B, ONES>, wide, MIXED_THREADS, 0, *s, x, y, alpha, beta, parts);
    else
        launch_early(args, packed_mixed<S, V, B, ONES>, runs, mixed_shape<S, B>::threads, 0, *s, x, y, alpha, beta,
                     run);
}

/* Multiplies slices in which a lane is a row or B rows of B x B blocks. Each module defines the instances of one B. */
template <typename S, typename V, int B> void spry_cuda_packed_blocks(const spryi_run_args *args)
{
    launch_slices<S, V, false, B>(args);
}
