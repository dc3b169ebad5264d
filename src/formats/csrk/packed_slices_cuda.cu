/*
 * packed_slices_cuda: packed CSR-k, a lane a row or block row.
 *
 * Idea: a warp takes a slice: one record of 16 bytes tells it where everything is, so that its values are asked for
 *       before anything else is known. Where the slice is stepped, lane d holds the d-th distance, and x is read at
 *       the lane's own place plus the distance: there are no columns. What not all lanes have is packed: a lane counts
 *       by the slot's mask, of the slice or voted from lengths, how many lanes before it have the slot, and neither
 *       loads a value nor an x that is not its own. The next record is on its way while a slice is added up.
 * Work: blocks of WARPS warps; a block has RUN slices a warp, one after the other, its warps neighbouring ones.
 *       Nine entries in flight a lane (of blocks b x b about as many values). Long rows in pieces, a warp each, and a
 *       third launch that adds the pieces up in order; both are left out where there are none.
 * Cost: bytes of packed, x and y. Deterministic.
 * Source: slices of rows: Monakov, Lokhmotov, Avetisyan 2010; super-rows: Lane and Booth 2022 (seed 001); distances,
 *         masks and packed slots: this library.
 */
#include "cuda/reduce.cuh"

extern "C" {
#include "formats/csrk/packed.h"
}
#include "cuda/kernels.h"

enum { LANES = 32, WARPS = 8, RUN = 8, LINE = 128, SUM_THREADS = 128 };
static const unsigned ALL = 0xffffffffu;

/* What a lane knows of its slice while it adds up. */
template <typename V> struct lane_work {
    const V *Ax;             /* of the next slot; lanes side by side */
    const V *x;              /* stepped: at the lane's own block column; offsets: at FIRST */
    const uint16_t *offsets; /* of the next slot */
    const int32_t *columns;
    int length;       /* of the lane, where it decides */
    int32_t distance; /* the lane-th of the slice */
    unsigned mask;    /* of the lane-th slot */
};

static __device__ __forceinline__ int32_t load_index(const uint16_t *p)
{
    uint16_t v;
    asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(v) : "l"(p));
    return v;
}

static __device__ __forceinline__ void prefetch(const void *p)
{
    asm volatile("prefetch.global.L2 [%0];" : : "l"(p));
}

/* Entries in flight a lane, of slots that all lanes have and of others, by the size of blocks. */
template <int B, bool NARROW> struct in_flight {
    static const int full = B == 1 ? (NARROW ? 7 : 9) : B == 2 ? 4 : B == 3 ? 2 : 1;
    static const int packed = B == 1 ? (NARROW ? 4 : 8) : B == 2 ? 2 : 1;
};

/* sum += N slots that all lanes have, from slot t on. */
template <int KIND, int B, bool ONES, int N, typename V>
static __device__ __forceinline__ void add_full(V (&sum)[B], lane_work<V> *w, int t)
{
    V a[N][B * B], b[N][B];
    int32_t j[N];
#pragma unroll
    for (int u = 0; u < N; u++) {
        if (KIND == SPRYI_PACKED_OFFSETS) j[u] = load_index(w->offsets + u * LANES);
        if (KIND == SPRYI_PACKED_WIDE) j[u] = load_once(w->columns + u * LANES);
    }
#pragma unroll
    for (int u = 0; u < N; u++)
#pragma unroll
        for (int e = 0; e < B * B; e++) a[u][e] = ONES ? V(1) : load_once(w->Ax + (u * B * B + e) * LANES);
    w->Ax += ONES ? 0 : N * B * B * LANES;
    w->offsets += KIND == SPRYI_PACKED_OFFSETS ? N * LANES : 0;
    w->columns += KIND == SPRYI_PACKED_WIDE ? N * LANES : 0;
#pragma unroll
    for (int u = 0; u < N; u++) {
        const int32_t at = KIND == SPRYI_PACKED_STEPPED ? __shfl_sync(ALL, w->distance, t + u) : j[u];
#pragma unroll
        for (int c = 0; c < B; c++) b[u][c] = w->x[(int64_t)at * B + c];
    }
#pragma unroll
    for (int u = 0; u < N; u++)
#pragma unroll
        for (int r = 0; r < B; r++)
#pragma unroll
            for (int c = 0; c < B; c++) sum[r] += a[u][r * B + c] * b[u][c];
}

/* The same of slots that lanes may lack. PREFIX: the lanes that have one come first. */
template <int KIND, int B, bool ONES, bool PREFIX, int N, typename V>
static __device__ __forceinline__ void add_packed(V (&sum)[B], lane_work<V> *w, int t)
{
    const int lane = threadIdx.x % LANES;
    const unsigned own = 1u << lane;
    V a[N][B * B], b[N][B];
    int32_t j[N];
    bool has[N];
#pragma unroll
    for (int u = 0; u < N; u++) {
        const unsigned mask = KIND == SPRYI_PACKED_STEPPED ? __shfl_sync(ALL, w->mask, t + u)
                                                           : __ballot_sync(ALL, w->length > t + u);
        const int before = PREFIX ? lane : __popc(mask & (own - 1)), count = __popc(mask);
        has[u] = KIND == SPRYI_PACKED_STEPPED ? (mask & own) != 0 : w->length > t + u;
        j[u] = 0;
        if (KIND == SPRYI_PACKED_OFFSETS && has[u]) j[u] = __ldg(w->offsets + before);
        if (KIND == SPRYI_PACKED_WIDE && has[u]) j[u] = __ldg(w->columns + before);
#pragma unroll
        for (int e = 0; e < B * B; e++) {
            a[u][e] = V(ONES ? 1 : 0);
            if (!ONES && has[u]) a[u][e] = __ldg(w->Ax + e * count + before);
        }
        w->Ax += ONES ? 0 : count * B * B;
        w->offsets += KIND == SPRYI_PACKED_OFFSETS ? count : 0;
        w->columns += KIND == SPRYI_PACKED_WIDE ? count : 0;
    }
#pragma unroll
    for (int u = 0; u < N; u++) {
        const int32_t at = KIND == SPRYI_PACKED_STEPPED ? __shfl_sync(ALL, w->distance, t + u) : j[u];
#pragma unroll
        for (int c = 0; c < B; c++) {
            b[u][c] = V(0);
            if (has[u]) b[u][c] = w->x[(int64_t)at * B + c];
        }
    }
#pragma unroll
    for (int u = 0; u < N; u++)
#pragma unroll
        for (int r = 0; r < B; r++)
#pragma unroll
            for (int c = 0; c < B; c++) sum[r] += a[u][r * B + c] * b[u][c];
}

/* All slots, so many at once as may be in flight, the rest in one go too; where N is no more, a case never comes. */
#define ADD_ALL(ADD, MOST)                                                                                             \
    constexpr int N = MOST;                                                                                            \
    int t = 0;                                                                                                         \
    _Pragma("unroll 1") for (; t + N <= width; t += N) ADD(N);                                                         \
    switch (width - t) {                                                                                               \
    case 1: ADD(1); break;                                                                                             \
    case 2: ADD((N <= 2 ? 1 : 2)); break;                                                                              \
    case 3: ADD((N <= 3 ? 1 : 3)); break;                                                                              \
    case 4: ADD((N <= 4 ? 1 : 4)); break;                                                                              \
    case 5: ADD((N <= 5 ? 1 : 5)); break;                                                                              \
    case 6: ADD((N <= 6 ? 1 : 6)); break;                                                                              \
    case 7: ADD((N <= 7 ? 1 : 7)); break;                                                                              \
    case 8: ADD((N <= 8 ? 1 : 8)); break;                                                                              \
    default: break;                                                                                                    \
    }

template <int KIND, int B, bool ONES, bool NARROW, typename V>
static __device__ __forceinline__ void add_full_slice(V (&sum)[B], lane_work<V> w, int width)
{
#define ADD_FULL(n) add_full<KIND, B, ONES, n>(sum, &w, t)
    ADD_ALL(ADD_FULL, (in_flight<B, NARROW>::full))
}

template <int KIND, int B, bool ONES, bool NARROW, bool PREFIX, typename V>
static __device__ __forceinline__ void add_packed_slice(V (&sum)[B], lane_work<V> w, int width)
{
#define ADD_PACKED(n) add_packed<KIND, B, ONES, PREFIX, n>(sum, &w, t)
    ADD_ALL(ADD_PACKED, (in_flight<B, NARROW>::packed))
}

/* Slices that are not stepped; the lane's row where it is not the next one, *is_long: y is not its. */
template <int KIND, int B, bool ONES, bool NARROW, typename V>
static __device__ __forceinline__ void add_indexed_slice(V (&sum)[B], lane_work<V> w, uint32_t info, int width)
{
    if (info & SPRYI_PACKED_FULL)
        add_full_slice<KIND, B, ONES, NARROW>(sum, w, width);
    else if (B == 1 && (info & SPRYI_PACKED_SORTED))
        add_packed_slice<KIND, B, ONES, NARROW, true>(sum, w, width);
    else
        add_packed_slice<KIND, B, ONES, NARROW, false>(sum, w, width);
}

/* A slice of lanes of B rows: y of those that are not long. */
template <int B, bool ONES, bool NARROW, typename V>
static __device__ __forceinline__ void run_slice(const spryi_packed &s, const spryi_packed_slice &slice, int32_t extra,
                                                 const V *x, V *y, V alpha, V beta)
{
    const int lane = threadIdx.x % LANES, kind = spryi_packed_kind_of(&slice), width = spryi_packed_width(&slice);
    const bool full = (slice.info & SPRYI_PACKED_FULL) != 0;
    const uint8_t *indices = s.indices + (int64_t)slice.indices * SPRYI_PACKED_UNIT;
    int64_t row = (int64_t)slice.row * LANES + lane * B;
    V sum[B] = {};
    bool is_there = row < s.a.rows;
    lane_work<V> w = {};
    if (!ONES) w.Ax = (const V *)s.values + spryi_packed_values_at(&slice) + (full ? lane : 0);
    if (kind == SPRYI_PACKED_STEPPED) {
        w.x = x + row;
        if (lane < width) w.distance = __ldg((const int32_t *)indices + lane);
        if (full) {
            add_full_slice<SPRYI_PACKED_STEPPED, B, ONES, NARROW>(sum, w, width);
        } else {
            const uint8_t *masks = s.indices + (int64_t)(uint32_t)extra * SPRYI_PACKED_UNIT;
            if (lane < width) w.mask = __ldg((const uint32_t *)masks + lane);
            add_packed_slice<SPRYI_PACKED_STEPPED, B, ONES, NARROW, false>(sum, w, width);
        }
    } else {
        w.length = width;
        if (!full) {
            w.length = __ldg(indices + lane);
            if (w.length == SPRYI_PACKED_OUTSIDE) is_there = false, w.length = 0;
            indices += LANES;
        }
        if (B == 1 && (slice.info & SPRYI_PACKED_SORTED)) {
            row = (int64_t)(slice.row / (SPRYI_PACKED_GROUP / LANES)) * SPRYI_PACKED_GROUP +
                  __ldg((const uint16_t *)indices + lane);
            indices += LANES * sizeof(uint16_t);
        }
        w.x = x + (kind == SPRYI_PACKED_OFFSETS ? (int64_t)extra * B : 0);
        w.offsets = (const uint16_t *)indices + (full ? lane : 0);
        w.columns = (const int32_t *)indices + (full ? lane : 0);
        if (kind == SPRYI_PACKED_OFFSETS)
            add_indexed_slice<SPRYI_PACKED_OFFSETS, B, ONES, NARROW>(sum, w, slice.info, width);
        else
            add_indexed_slice<SPRYI_PACKED_WIDE, B, ONES, NARROW>(sum, w, slice.info, width);
    }
    if (!is_there) return;
#pragma unroll
    for (int r = 0; r < B; r++) put(y, row + r, sum[r], alpha, beta);
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

/* Asks for the values of a slice and for what it has of indices: they are on their way to the second-level cache. */
template <typename V, bool ONES>
static __device__ __forceinline__ void prefetch_slice(const spryi_packed &s, const spryi_packed_slice &slice,
                                                      int32_t extra)
{
    const int lane = threadIdx.x % LANES, kind = spryi_packed_kind_of(&slice), b = spryi_packed_b(&slice);
    const int slots = spryi_packed_width(&slice) * LANES;
    const unsigned lines = (unsigned)(slots * b * b * (int)sizeof(V)) / LINE;
    const char *values = (const char *)((const V *)s.values + spryi_packed_values_at(&slice));
    if (!ONES && lane < lines && values + lane * LINE < (const char *)((const V *)s.values + s.slots))
        prefetch(values + lane * LINE);
    const bool stepped = kind == SPRYI_PACKED_STEPPED;
    if (stepped && (slice.info & SPRYI_PACKED_FULL)) return;
    const int64_t unit = stepped ? (uint32_t)extra : slice.indices;
    const char *indices = (const char *)s.indices + unit * SPRYI_PACKED_UNIT;
    const unsigned bytes = stepped ? 4 : (unsigned)slots * (kind == SPRYI_PACKED_OFFSETS ? 2 : 4);
    if (lane * LINE < bytes && indices + lane * LINE < (const char *)s.indices + s.units * SPRYI_PACKED_UNIT)
        prefetch(indices + lane * LINE);
}

template <typename V, int B, bool ONES, bool NARROW, int MINB, bool AHEAD>
static __global__ void __launch_bounds__(WARPS *LANES, MINB)
    packed_slices(const spryi_packed s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta,
                  int run)
{
    const int64_t first = (int64_t)blockIdx.x * (WARPS * run), last = first + WARPS * run;
    const int64_t end = last < s.slice_count ? last : s.slice_count;
    int64_t k = first + threadIdx.x / LANES;
    if (k >= end) return;
    spryi_packed_slice slice = load_slice(s.slices + k), next = {};
    int32_t extra = __ldg(s.extras + k), next_extra = 0;
    if (k + WARPS < end) {
        next = load_slice(s.slices + k + WARPS);
        next_extra = __ldg(s.extras + k + WARPS);
    }
    const V a = alpha.get(), b = beta.get();
    for (;;) {
        spryi_packed_slice third = {};
        int32_t third_extra = 0;
        if (AHEAD && k + 2 * WARPS < end) {
            third = load_slice(s.slices + k + 2 * WARPS);
            third_extra = __ldg(s.extras + k + 2 * WARPS);
        }
        if (AHEAD && k + WARPS < end) prefetch_slice<V, ONES>(s, next, next_extra);
        if (B > 1 && spryi_packed_b(&slice) > 1)
            run_slice<B, ONES, NARROW>(s, slice, extra, x, y, a, b);
        else
            run_slice<1, ONES, NARROW>(s, slice, extra, x, y, a, b);
        k += WARPS;
        if (k >= end) return;
        slice = next;
        extra = next_extra;
        if (AHEAD) {
            next = third;
            next_extra = third_extra;
        } else if (k + WARPS < end) {
            next = load_slice(s.slices + k + WARPS);
            next_extra = __ldg(s.extras + k + WARPS);
        }
    }
}

/* ---- long rows -------------------------------------------------------------------------------------- */

/* A warp a piece. */
template <typename V, bool ONES>
static __global__ void __launch_bounds__(SUM_THREADS)
    packed_pieces(const spryi_packed s, const V *__restrict__ x, V *sums)
{
    const int64_t p = ((int64_t)blockIdx.x * SUM_THREADS + threadIdx.x) / LANES;
    if (p >= s.piece_count) return;
    const int32_t *Aj = (const int32_t *)s.long_columns;
    const V *Ax = (const V *)s.long_values;
    const int64_t end = s.pieces[p + 1];
    V sum = 0;
#pragma unroll 4
    for (int64_t e = s.pieces[p] + threadIdx.x % LANES; e < end; e += LANES)
        sum += (ONES ? V(1) : load_once(Ax + e)) * x[load_once(Aj + e)];
    sum = lanes_sum(sum, LANES);
    if (threadIdx.x % LANES == 0) sums[p] = sum;
}

/* A warp a row; the sums are left zero, as the next run expects them. */
template <typename V> static __global__ void __launch_bounds__(SUM_THREADS)
    packed_long_rows(const spryi_packed s, V *sums, V *y, scalar<V> alpha, scalar<V> beta)
{
    const int64_t n = ((int64_t)blockIdx.x * SUM_THREADS + threadIdx.x) / LANES;
    if (n >= s.long_count) return;
    const int64_t end = s.long_first[n + 1];
    V sum = 0;
    for (int64_t p = s.long_first[n] + threadIdx.x % LANES; p < end; p += LANES) {
        sum += sums[p];
        sums[p] = 0;
    }
    sum = lanes_sum(sum, LANES);
    if (threadIdx.x % LANES == 0) put(y, s.long_rows[n], sum, alpha.get(), beta.get());
}

/* ---- launches --------------------------------------------------------------------------------------- */

static int64_t workspace_bytes(const spryi_cuda_prepare *request, const void *auxiliary)
{
    (void)auxiliary;
    return ((const spryi_packed *)request->storage)->piece_count * (int64_t)spry_type_bytes(request->vector_type);
}

template <typename V, bool ONES, int B> static void launch_slices(const spryi_run_args *args, int run)
{
    const spryi_packed *s = (const spryi_packed *)args->storage;
    packed_slices<V, B, ONES, false, 4, true><<<(unsigned)ceil_div(s->slice_count, WARPS * run), WARPS * LANES, 0, stream_of(args)>>>(
        *s, (const V *)args->x, (V *)args->y, SPRY_ALPHA(V, args), SPRY_BETA(V, args), run);
}

template <typename V, bool ONES> static void launch(const spryi_run_args *args)
{
    const spryi_packed *s = (const spryi_packed *)args->storage;
    V *sums = (V *)args->workspace;
    switch (s->block) {
    case 1: launch_slices<V, ONES, 1>(args, RUN); break;
    case 2: launch_slices<V, ONES, 2>(args, RUN); break;
    case 3: launch_slices<V, ONES, 3>(args, RUN); break;
    case 4: launch_slices<V, ONES, 4>(args, RUN); break;
    case 5: launch_slices<V, ONES, 5>(args, RUN); break;
    case 6: launch_slices<V, ONES, 6>(args, RUN); break;
    case 7: launch_slices<V, ONES, 7>(args, RUN); break;
    default: launch_slices<V, ONES, 8>(args, RUN); break;
    }
    if (s->long_count == 0) return;
    packed_pieces<V, ONES><<<(unsigned)ceil_div(s->piece_count * LANES, SUM_THREADS), SUM_THREADS, 0,
                             stream_of(args)>>>(*s, (const V *)args->x, sums);
    packed_long_rows<V><<<(unsigned)ceil_div(s->long_count * LANES, SUM_THREADS), SUM_THREADS, 0, stream_of(args)>>>(
        *s, sums, (V *)args->y, SPRY_ALPHA(V, args), SPRY_BETA(V, args));
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_packed *s = (const spryi_packed *)args->storage;
    if (s->slice_count == 0) return SPRY_OK;
    if (s->a.value_type == SPRY_PATTERN)
        launch<V, true>(args);
    else
        launch<V, false>(args);
    return launched(err, "packed_slices_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_cuda_kernel spry_cuda_packed_slices = {"packed_slices_cuda", &runs, NULL, NULL, NULL, workspace_bytes};
