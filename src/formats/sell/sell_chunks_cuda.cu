/*
 * sell_chunks_cuda: SELL-C-sigma, a thread for each row.
 *
 * Idea: as ell_slots_cuda, chunk by chunk. A chunk has rows of about equal length, so there is little padding and lanes
 *       end together. Chunks of 32 rows, the default on a GPU, are a warp each. The warp reads all slots of the chunk,
 *       including padding, and loads 4 or 8 slots without tests before it uses the first. The row's length is tested
 *       only before x is read, so padding never multiplies x. The columns of a chunk are not
 *       read if its entries have few distances col - row (grids, bands, lattices): at most 32, rising in each row, and
 *       so few that reading them saves bytes. The plan stores the distances once per chunk, and lane d of the warp has
 *       the d-th distance. Kinds of chunks:
 *            COMMON   all rows have all distances, in order
 *            CHOSEN   a mask of 32 bits per row selects distances
 *            COLUMNS  the columns are read
 * Work: c = 32: blocks of 256 threads that load four slots at a time; if chunks are wider than WIDE slots on average,
 *       blocks of 128 threads that load eight. Other c: blocks of 256 threads, one thread per lane.
 * Cost: values and columns of the slots, x and y. COMMON and CHOSEN chunks read distances instead of columns; CHOSEN
 *       chunks also read a mask of 4 bytes per row. Each chunk has a description of 16 bytes. Lengths, 4 bytes per row,
 *       are read if the rows of a chunk differ in length, and the permutation, 2 bytes per row, if rows are sorted.
 * Source: Kreutzer, Hager, Wellein, Fehske, Bishop, A unified sparse matrix data format, 2014; Monakov and others 2010;
 *         distances: this library.
 */
#include "formats/ell/slots_cuda.cuh"
#include "formats/sell/sell_cuda.cuh"

#include <stdlib.h>

enum { THREADS = 256, LANES = 32, WIDE = 12 };
enum { COLUMNS = 0, COMMON = 1, CHOSEN = 2, KIND = 3, FULL = 4 }; /* FULL: the lengths of all rows equal the width */
static const unsigned ALL = 0xffffffffu;

/* Description of a chunk for a warp, read with one load. */
typedef struct __align__(16) sell_chunk
{
    uint32_t first; /* first slot, in units of 32 */
    int32_t width;  /* slots per lane */
    uint32_t kind;  /* kind; from bit 8 on, the number of distances */
    /* position in the table, in units of TABLE_UNIT: the chunk's rising distances, followed by its masks if CHOSEN */
    uint32_t table;
}
sell_chunk;
enum { TABLE_UNIT = 8 };

/*
 * Data that prepare builds. Pointers are device addresses. If c is 32, chunks and table are set; otherwise steps is
 * set.
 */
typedef struct sell_auxiliary {
    sell_chunk *chunks;
    int32_t *table;
    uint8_t *steps;
} sell_auxiliary;

/* ---- chunks of 32 rows: preparation ----------------------------------------------------------------- */

/*
 * Finds the distances col - row of a chunk. Lane d gets the d-th distance, in rising order. Sets *count to the number
 * of distances. Sets it to -1 if there are more than 32, or if the distances of a row do not rise or exceed 32 bits.
 */
static __device__ void find_distances(const spryi_sell &s, const int32_t *Aj, int64_t row, int length, int width,
                                      int *count, int32_t *distance)
{
    const int lane = threadIdx.x % LANES;
    int32_t mine = 0, own = 0;
    int rises = 1, found = 0;
    for (int t = 0; t < width; t++, Aj += LANES) {
        const int64_t wide = t < length ? *Aj - row : 0;
        const int32_t before = own;
        own = (int32_t)wide;
        rises = rises && (t >= length || (own == wide && (t == 0 || own > before)));
        for (unsigned left = __ballot_sync(ALL, t < length); left != 0;) {
            const int32_t one = __shfl_sync(ALL, own, __ffs((int)left) - 1);
            if (!__any_sync(ALL, lane < found && mine == one)) {
                if (found == LANES) {
                    *count = -1;
                    return;
                }
                if (lane == found) mine = one;
                found++;
            }
            left &= ~__ballot_sync(ALL, t < length && own == one);
        }
    }
    int rank = 0;
    for (int d = 0; d < found; d++) rank += __shfl_sync(ALL, mine, d) < mine;
    for (int d = 0; d < found; d++) {
        const int32_t one = __shfl_sync(ALL, mine, d);
        if (__shfl_sync(ALL, rank, d) == lane) *distance = one;
    }
    *count = __all_sync(ALL, rises) ? found : -1;
}

/*
 * Describes one chunk per warp. fill = 0: sets chunks[c], with the chunk's number of table units as `table`. fill = 1:
 * writes the chunk's part of the table at chunks[c].table.
 */
static __global__ void describe_chunks(const spryi_sell s, sell_chunk *chunks, int32_t *table, int fill)
{
    const int64_t c = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES, l = c * LANES + threadIdx.x % LANES;
    const int lane = threadIdx.x % LANES;
    if (c >= s.chunk_count || (fill && (chunks[c].kind & KIND) == COLUMNS)) return;
    const int64_t begin = s.offsets[c], row = l < s.a.rows ? row_of(s, l) : 0;
    const int32_t *Aj = (const int32_t *)s.columns + begin + lane;
    const int width = (int)((s.offsets[c + 1] - begin) / LANES), length = s.lengths[l];
    const int full = __all_sync(ALL, length == width);
    int count = -1;
    int32_t distance = 0;
    if (width > 0 && width <= LANES) find_distances(s, Aj, row, length, width, &count, &distance);
    if (!fill) {
        unsigned kind = COLUMNS, units = 0;
        if (full && count == width)
            kind = COMMON;
        else if (count > 0 &&
                 count + LANES <= width * (LANES / 2)) /* the table has at most half the bytes of columns */
            kind = CHOSEN;
        if (kind != COLUMNS) units = (unsigned)(count + TABLE_UNIT - 1) / TABLE_UNIT;
        if (kind == CHOSEN) units += LANES / TABLE_UNIT;
        if (lane > 0) return;
        chunks[c].first = (uint32_t)(begin / LANES);
        chunks[c].width = width;
        chunks[c].kind = kind | (full ? FULL : 0) | (kind != COLUMNS ? (unsigned)count << 8 : 0);
        chunks[c].table = units;
        return;
    }
    table += (int64_t)chunks[c].table * TABLE_UNIT;
    if (lane < count) table[lane] = distance;
    if ((chunks[c].kind & KIND) == COMMON) return;
    unsigned mask = 0;
    for (int t = 0; t < width; t++, Aj += LANES)
        for (int d = 0; d < count; d++) {
            const int32_t one = __shfl_sync(ALL, distance, d);
            if (t < length && *Aj - row == one) mask |= 1u << d;
        }
    table[(count + TABLE_UNIT - 1) / TABLE_UNIT * TABLE_UNIT + lane] = (int32_t)mask;
}

/* Replaces the number of table units of each chunk by the chunk's position in the table. */
static spry_status place_tables(const spryi_sell *s, sell_chunk *chunks, int64_t *units, spry_error *err)
{
    const size_t bytes = (size_t)s->chunk_count * sizeof *chunks;
    sell_chunk *on_host = (sell_chunk *)malloc(bytes);
    if (!on_host) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: chunks");
    cudaError_t code = cudaMemcpy(on_host, chunks, bytes, cudaMemcpyDeviceToHost);
    *units = 0;
    for (int64_t c = 0; code == cudaSuccess && c < s->chunk_count; c++) {
        const uint32_t own = on_host[c].table;
        if (*units + own > UINT32_MAX) on_host[c].kind &= FULL; /* becomes COLUMNS: no position left */
        on_host[c].table = (uint32_t)*units;
        if ((on_host[c].kind & KIND) != COLUMNS) *units += own;
    }
    if (code == cudaSuccess) code = cudaMemcpy(chunks, on_host, bytes, cudaMemcpyHostToDevice);
    free(on_host);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "sell_chunks_cuda: chunks");
}

static spry_status prepare_lanes(const spryi_device *device, const spryi_sell *s, sell_auxiliary *prepared,
                                 int64_t *bytes, spry_error *err)
{
    const unsigned blocks = (unsigned)ceil_div(s->chunk_count * LANES, THREADS);
    int64_t units = 0;
    spry_status status = spry_cuda_new(device, (void **)&prepared->chunks,
                                       s->chunk_count * (int64_t)sizeof *prepared->chunks, "chunks", err);
    if (status != SPRY_OK) return status;
    describe_chunks<<<blocks, THREADS>>>(*s, prepared->chunks, NULL, 0);
    status = launched(err, "sell_chunks_cuda: chunks");
    if (status == SPRY_OK) status = place_tables(s, prepared->chunks, &units, err);
    if (status == SPRY_OK)
        status = spry_cuda_new(device, (void **)&prepared->table, units * TABLE_UNIT * (int64_t)sizeof *prepared->table,
                               "distances", err);
    if (status != SPRY_OK) return status;
    describe_chunks<<<blocks, THREADS>>>(*s, prepared->chunks, prepared->table, 1);
    *bytes = s->chunk_count * (int64_t)sizeof *prepared->chunks + units * TABLE_UNIT * (int64_t)sizeof *prepared->table;
    return launched(err, "sell_chunks_cuda: distances");
}

/* ---- chunks of 32 rows: the product ----------------------------------------------------------------- */

/* A lane's entries. The column of slot t is Aj[32*t], and its value is Ax[32*t]. */
template <typename S, typename V> struct lane_work {
    const int32_t *Aj;
    const S *Ax;
    const V *x; /* x, or x + row if distances are used */
    int length;
    int32_t distance; /* the chunk's distance at index `lane` */
    unsigned mask;    /* CHOSEN: the row's remaining distances */
};

/* Adds the products of slots t .. t + N - 1 to *sum. Padding is loaded, but no x for it. */
template <int KIND_OF, int N, bool ONES, typename S, typename V>
static __device__ __forceinline__ void add_slots(V *sum, lane_work<S, V> *w, int t)
{
    int32_t j[N];
    V a[N], b[N];
    if (KIND_OF == COLUMNS) {
#pragma unroll
        for (int u = 0; u < N; u++) j[u] = load_once(w->Aj + u * LANES);
        w->Aj += N * LANES;
    }
#pragma unroll
    for (int u = 0; u < N; u++) a[u] = ONES ? V(1) : element_at<V>(w->Ax + u * LANES);
    w->Ax += ONES ? 0 : N * LANES;
#pragma unroll
    for (int u = 0; u < N; u++) {
        if (KIND_OF == COLUMNS) {
            b[u] = t + u < w->length ? w->x[j[u]] : V(0);
        } else if (KIND_OF == COMMON) {
            b[u] = w->x[__shfl_sync(ALL, w->distance, t + u)];
        } else {
            const int32_t d = __shfl_sync(ALL, w->distance, __ffs((int)w->mask) - 1);
            b[u] = w->mask ? w->x[d] : V(0);
            w->mask &= w->mask - 1;
        }
    }
#pragma unroll
    for (int u = 0; u < N; u++) *sum += a[u] * b[u];
}

/* Returns the sum of all slots of the lane, U slots at a time. The remaining slots are one step. */
template <int KIND_OF, int U, bool ONES, typename S, typename V>
static __device__ __forceinline__ V add_lane(lane_work<S, V> w, int width)
{
    V sum = 0;
    int t = 0;
#pragma unroll 1
    for (; t + U <= width; t += U) add_slots<KIND_OF, U, ONES>(&sum, &w, t);
    switch (width - t) {
    case 1: add_slots<KIND_OF, 1, ONES>(&sum, &w, t); break;
    case 2: add_slots<KIND_OF, 2, ONES>(&sum, &w, t); break;
    case 3: add_slots<KIND_OF, 3, ONES>(&sum, &w, t); break;
    case 4: add_slots<KIND_OF, U <= 4 ? 1 : 4, ONES>(&sum, &w, t); break; /* does not occur with U = 4 */
    case 5: add_slots<KIND_OF, U <= 4 ? 1 : 5, ONES>(&sum, &w, t); break;
    case 6: add_slots<KIND_OF, U <= 4 ? 1 : 6, ONES>(&sum, &w, t); break;
    case 7: add_slots<KIND_OF, U <= 4 ? 1 : 7, ONES>(&sum, &w, t); break;
    default: break;
    }
    return sum;
}

template <typename S, typename V, int U, int BLOCK, bool ONES> static __global__ void __launch_bounds__(BLOCK)
    sell_lanes(const spryi_sell s, const sell_chunk *__restrict__ chunks, const int32_t *__restrict__ table,
               const S *__restrict__ Ax, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    const int64_t l = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    const int lane = threadIdx.x % LANES;
    wait_for_previous_kernel();
    if (l - lane >= s.a.rows) return;
    const int4 loaded = __ldg((const int4 *)(chunks + l / LANES));
    const int width = loaded.y, kind = loaded.z & KIND, count = loaded.z >> 8;
    const int64_t at = (int64_t)(uint32_t)loaded.x * LANES + lane, row = l < s.a.rows ? row_of(s, l) : 0;
    table += (int64_t)(uint32_t)loaded.w * TABLE_UNIT;
    lane_work<S, V> w = {(const int32_t *)s.columns + at, ONES ? NULL : Ax + at, x, width, 0, 0};
    V sum;
    if (kind == COLUMNS) {
        if (!(loaded.z & FULL)) w.length = s.lengths[l];
        sum = add_lane<COLUMNS, U, ONES>(w, width);
    } else {
        w.x += row;
        if (lane < count) w.distance = __ldg(table + lane);
        if (kind == COMMON) {
            sum = add_lane<COMMON, U, ONES>(w, width);
        } else {
            w.mask = (unsigned)__ldg(table + (count + TABLE_UNIT - 1) / TABLE_UNIT * TABLE_UNIT + lane);
            sum = add_lane<CHOSEN, U, ONES>(w, width);
        }
    }
    if (l < s.a.rows) put(y, row, sum, alpha.get(), beta.get());
}

/* ---- chunks of other sizes ---------------------------------------------------------------------------- */

/* Finds chunks with strided columns: each lane's columns are the previous lane's plus one. */
template <typename J> static __global__ void find_steps(spryi_sell s, const J *Aj, uint8_t *steps)
{
    int64_t chunk = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (chunk >= s.chunk_count) return;
    int whole = (chunk + 1) * s.c <= s.a.rows;
    steps[chunk] = whole && slice_steps(Aj, s.lengths, chunk * s.c, s.offsets[chunk], s.c, (int)s.c);
}

template <typename S, typename V, typename J> static __global__ void __launch_bounds__(THREADS)
    sell_chunks(const spryi_sell s, const J *__restrict__ Aj, const S *__restrict__ Ax,
                const uint8_t *__restrict__ steps, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha,
                scalar<V> beta)
{
    int64_t l = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (l >= s.a.rows) return;
    int64_t chunk = l / s.c, lane = l - chunk * s.c;
    V sum = sum_slots(Aj, Ax, x, s.offsets[chunk] + lane, s.c, s.lengths[l], steps[chunk], (int)lane);
    put(y, row_of(s, l), sum, alpha.get(), beta.get());
}

static spry_status prepare_steps(const spryi_device *device, const spryi_sell *s, sell_auxiliary *prepared,
                                 int64_t *bytes, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spry_cuda_new(device, (void **)&prepared->steps, s->chunk_count, "strided chunks", err));
    *bytes = s->chunk_count;
    find_steps<<<(unsigned)ceil_div(s->chunk_count, 128), 128>>>(*s, (const int32_t *)s->columns, prepared->steps);
    return launched(err, "sell_chunks_cuda: chunks");
}

/* ---- all chunks --------------------------------------------------------------------------------------- */

static void discard(const spryi_device *device, void *auxiliary)
{
    sell_auxiliary *prepared = (sell_auxiliary *)auxiliary;
    spry_cuda_free(device, prepared->chunks);
    spry_cuda_free(device, prepared->table);
    spry_cuda_free(device, prepared->steps);
    free(prepared);
}

static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spryi_sell *s = (const spryi_sell *)request->storage;
    sell_auxiliary *prepared = (sell_auxiliary *)calloc(1, sizeof *prepared);
    if (!prepared) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: chunks");
    spry_status status = SPRY_OK;
    *bytes = 0;
    if (s->chunk_count > 0)
        status = s->c == LANES ? prepare_lanes(request->device, s, prepared, bytes, err)
                               : prepare_steps(request->device, s, prepared, bytes, err);
    if (status != SPRY_OK) {
        discard(request->device, prepared);
        return status;
    }
    *auxiliary = prepared;
    return SPRY_OK;
}

template <typename S, typename V, int U, int BLOCK, bool ONES> static void launch_lanes(const spryi_run_args *args)
{
    const spryi_sell *s = (const spryi_sell *)args->storage;
    const sell_auxiliary *prepared = (const sell_auxiliary *)args->auxiliary;
    const int64_t blocks = ceil_div(s->a.rows, BLOCK);
    launch_early(args, sell_lanes<S, V, U, BLOCK, ONES>, blocks, BLOCK, 0, *s, prepared->chunks, prepared->table,
                 ONES ? NULL : (const S *)s->values, (const V *)args->x, (V *)args->y, SPRY_ALPHA(V, args),
                 SPRY_BETA(V, args));
}

/* Multiplies one vector. */
template <typename S, typename V, typename J, bool ONES> void spry_cuda_sell_launch(const spryi_run_args *args)
{
    const spryi_sell *s = (const spryi_sell *)args->storage;
    const sell_auxiliary *prepared = (const sell_auxiliary *)args->auxiliary;
    const int64_t blocks = ceil_div(s->a.rows, THREADS);
    if (s->c != LANES)
        sell_chunks<S, V, J><<<(unsigned)blocks, THREADS, 0, stream_of(args)>>>(
            *s, (const J *)s->columns, ONES ? NULL : (const S *)s->values, prepared->steps, (const V *)args->x,
            (V *)args->y, SPRY_ALPHA(V, args), SPRY_BETA(V, args));
    else if (s->slots > WIDE * LANES * s->chunk_count)
        launch_lanes<S, V, 8, 128, ONES>(args);
    else
        launch_lanes<S, V, 4, 256, ONES>(args);
}
#define INSTANCE(tag, s, v, c, ones)                                                                                   \
    SPRY_CUDA_SELDOM template void spry_cuda_sell_launch<spryi_##s, spryi_##v, int32_t, ones>(const spryi_run_args *);
SPRYI_MIXED_ROWS(INSTANCE, false)
SPRYI_PLAIN_ROWS(INSTANCE, true)
#ifndef SPRY_SELDOM_MODULE

template <typename S, typename V, typename P, typename J>
static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_sell *s = (const spryi_sell *)args->storage;
    const bool ones = s->a.value_type == SPRY_PATTERN;
    if (s->a.rows == 0) return SPRY_OK;
    if (args->columns > 1)
        ones ? spry_cuda_sell_columns<V, V>(args) : spry_cuda_sell_columns<S, V>(args);
    else
        ones ? spry_cuda_sell_launch<V, V, J, true>(args) : spry_cuda_sell_launch<S, V, J, false>(args);
    return launched(err, "sell_chunks_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_MIXED_TABLE(run);

const spryi_kernel_functions spry_cuda_sell_chunks = {"sell_chunks_cuda", &runs, NULL, prepare, discard, NULL, NULL,
                                                      SPRYI_OP_SPMV};
#endif
