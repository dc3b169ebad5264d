/*
 * scoo_shared_cuda: SCOO, with the sums of a slice in shared memory.
 *
 * Idea: a block of threads keeps the sums of a slice's rows in shared memory and adds each product by an atomic
 *       addition. It reads x in order of columns: neighbouring threads gather neighbouring x, and each sector of x is
 *       loaded once per slice instead of once per entry. In low slices a row has multiple sums (lanes), used by
 *       different threads, so that fewer additions collide. At the end they are added up, and y is written once.
 * Work: one block per slice. Slices with more than their share of the entries are cut into parts, in the order of their
 *       columns. The sums of parts are added in the workspace by atomics, and the block that finishes last writes y.
 *       The build makes as many slices as a large GPU has multiprocessors, unless y of a slice would then exceed 96 KB.
 *       A slice whose sums exceed the shared memory gets multiple blocks, one per range of rows. In slices with far
 *       more entries than others, where one row may have most of them, a warp adds up its entries of one row first.
 * Cost: bytes of SCOO, the sectors of x that each part reads, an atomic addition in shared memory per entry, two passes
 *       over height * lanes sums. Not deterministic: additions have no fixed order.
 * Source: Evtushenko 2019, SCOO (slices in shared memory, multiple lanes per row); Dang and Schmidt, The sliced COO
 *         format for sparse matrix-vector multiplication on CUDA-enabled GPUs, 2012; parts and slices by columns: this
 *         library.
 */
#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/scoo/scoo.h"
}

#include <stdlib.h>

enum {
    MOST_THREADS = 1024,
    UNROLL = 8,          /* entries per thread in flight */
    PART_ENTRIES = 4096, /* minimum entries of a part */
    SAME_ROW = 8,        /* minimum lanes of a warp with the same row for which their products are added up first */
};

typedef struct part {
    int64_t begin, end; /* entries */
    int32_t slice;
    int32_t shared;  /* index among the slices with multiple parts; -1: the part is the whole slice */
    int32_t parts;   /* parts of the slice */
    int32_t crowded; /* 1: the slice has more than twice the mean number of entries; one row may have most of them */
} part;

/* Auxiliary data of a plan. `part` is a device address. Each part has one block of threads per range of rows. */
typedef struct scoo_parts {
    int64_t part_count, shared_count;
    int ranges, range_rows, lanes, threads;
    part *part;
} scoo_parts;

/* The storage, with the types that the kernel uses. */
typedef struct scoo_view {
    const int32_t *columns;
    const uint16_t *rows;
    const void *values;
    int64_t row_count;
    int height;
} scoo_view;

/* Adds the warp's products to the sums of their rows. If many lanes have the row of lane 0, they share one addition. */
template <typename V>
static __device__ __forceinline__ void add_crowded(V *sums, int lanes, unsigned row, int valid, V product)
{
    const unsigned all = 0xffffffffu, first = __shfl_sync(all, row, 0);
    const int same = valid && row == first;
    if (__popc(__ballot_sync(all, same)) < SAME_ROW) {
        if (valid) atomicAdd(sums + row * lanes, product);
        return;
    }
    const V together = lanes_sum(same ? product : V(0), 32);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sums + first * lanes, together); /* even if lane 0's own product is not valid */
    if (valid && !same) atomicAdd(sums + row * lanes, product);
}

/*
 * Adds the products of one part to the sums in `cells`, for rows first_row .. first_row + count - 1 of the slice.
 * Threads without an entry load the part's first entry and do not use its product. All loads are then in flight
 * together.
 */
template <int CROWDED, typename V>
static __device__ __forceinline__ void add_entries(const scoo_view &s, const part &mine, int first_row, int count,
                                                   int lanes, const V *__restrict__ x, V *cells)
{
    const V *values = (const V *)s.values;
    V *sums = cells + (threadIdx.x & (lanes - 1));
    if (mine.begin == mine.end) return; /* an empty part has no entry for idle threads to load */
    /* the loop begins at a multiple of 32 entries, so that warps read whole sectors */
    for (int64_t base = mine.begin / 32 * 32; base < mine.end; base += UNROLL * (int64_t)blockDim.x) {
        int64_t k[UNROLL];
        int j[UNROLL], valid[UNROLL];
        unsigned row[UNROLL];
        V a[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int64_t wanted = base + u * (int64_t)blockDim.x + threadIdx.x;
            valid[u] = wanted >= mine.begin && wanted < mine.end;
            k[u] = valid[u] ? wanted : mine.begin;
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) j[u] = load_once(s.columns + k[u]);
#pragma unroll
        for (int u = 0; u < UNROLL; u++) a[u] = load_once(values + k[u]);
#pragma unroll
        for (int u = 0; u < UNROLL; u++) row[u] = load_once(s.rows + k[u]) - (unsigned)first_row;
#pragma unroll
        for (int u = 0; u < UNROLL; u++) a[u] *= x[j[u]];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            /* a row below the range gives a negative difference, which is large as an unsigned number */
            valid[u] = valid[u] && row[u] < (unsigned)count;
            if (CROWDED)
                add_crowded(sums, lanes, row[u], valid[u], a[u]);
            else if (valid[u])
                atomicAdd(sums + row[u] * lanes, a[u]);
        }
    }
}

/* Returns the sum of a row's cells. The first cell is chosen so that neighbouring threads use different banks. */
template <typename V> static __device__ __forceinline__ V sum_of_cells(const V *cells, int row, int lanes)
{
    const int first = row * lanes / (128 / (int)sizeof(V));
    V sum = 0;
    for (int l = 0; l < lanes; l++) sum += cells[row * lanes + ((l + first) & (lanes - 1))];
    return sum;
}

template <typename V> static __global__ void __launch_bounds__(MOST_THREADS, 1)
    scoo_shared(const scoo_view s, const scoo_parts c, const V *__restrict__ x, V *__restrict__ y,
                scalar<V> alpha_given, scalar<V> beta_given, V *partial, unsigned *arrived)
{
    extern __shared__ double memory[];
    __shared__ int is_last;
    V *cells = (V *)memory;
    const V alpha = alpha_given.get(), beta = beta_given.get();
    const part mine = c.part[blockIdx.x / c.ranges];
    const int range = blockIdx.x % c.ranges, first_row = range * c.range_rows;
    const int64_t first = (int64_t)mine.slice * s.height + first_row, left = s.row_count - first;
    int count = min(c.range_rows, s.height - first_row);
    if (left < count) count = left > 0 ? (int)left : 0;
    for (int n = threadIdx.x; n < count * c.lanes; n += blockDim.x) cells[n] = 0;
    __syncthreads();
    if (mine.crowded)
        add_entries<1>(s, mine, first_row, count, c.lanes, x, cells);
    else
        add_entries<0>(s, mine, first_row, count, c.lanes, x, cells);
    __syncthreads();
    if (mine.shared < 0) {
        for (int r = threadIdx.x; r < count; r += blockDim.x)
            put(y, first + r, sum_of_cells(cells, r, c.lanes), alpha, beta);
        return;
    }
    partial += (int64_t)mine.shared * s.height + first_row;
    arrived += mine.shared * c.ranges + range;
    for (int r = threadIdx.x; r < count; r += blockDim.x) {
        const V sum = sum_of_cells(cells, r, c.lanes);
        if (sum != 0) atomicAdd(partial + r, sum);
    }
    __threadfence(); /* makes the additions visible before the arrival */
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(arrived, 1u) == (unsigned)mine.parts - 1;
        if (is_last) *arrived = 0;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    for (int r = threadIdx.x; r < count; r += blockDim.x) {
        const V sum = __ldcg(partial + r);
        partial[r] = 0; /* the next run expects zero */
        put(y, first + r, sum, alpha, beta);
    }
}

/* ---- preparation ------------------------------------------------------------------------------------ */

static void discard(const spryi_device *device, void *auxiliary)
{
    scoo_parts *c = (scoo_parts *)auxiliary;
    spry_cuda_free(device, c->part);
    free(c);
}

/*
 * Returns the number of parts of a slice: the slice's fraction of all entries times `wanted`, rounded. If there are
 * multiple parts, each has at least PART_ENTRIES entries.
 */
static int64_t parts_of(int64_t entries, int64_t nnz, int64_t wanted)
{
    int64_t parts = nnz > 0 ? (int64_t)((double)entries * (double)wanted / (double)nnz + 0.5) : 1;
    if (parts > entries / PART_ENTRIES) parts = entries / PART_ENTRIES;
    return parts > 0 ? parts : 1;
}

/* Cuts slices into parts. at: first entry of each slice. If parts is NULL, the function only counts them. */
static void cut(scoo_parts *c, const spryi_scoo_head *h, const int64_t *at, int64_t wanted, part *parts)
{
    c->part_count = c->shared_count = 0;
    for (int64_t b = 0; b < h->slices; b++) {
        const int64_t begin = at[b], entries = at[b + 1] - begin, count = parts_of(entries, h->nnz, wanted);
        for (int64_t p = 0; parts && p < count; p++) {
            part *item = parts + c->part_count + p;
            item->begin = begin + entries * p / count;
            item->end = begin + entries * (p + 1) / count;
            item->slice = (int32_t)b;
            item->shared = count > 1 ? (int32_t)c->shared_count : -1;
            item->parts = (int32_t)count;
            item->crowded = entries > 2 * (h->nnz / h->slices);
        }
        c->part_count += count;
        c->shared_count += count > 1;
    }
}

static spry_status build_parts(const spryi_device *device, scoo_parts *c, const spryi_scoo *s, int64_t multiprocessors,
                               spry_error *err)
{
    const spryi_scoo_head *h = &s->head;
    const int wide = h->offset_type == SPRY_I64;
    const int64_t wanted = h->slices > multiprocessors ? h->slices : multiprocessors;
    spry_status status = SPRY_OK;
    part *parts = NULL;
    cudaError_t code = cudaSuccess;
    int64_t *at = (int64_t *)malloc((size_t)(h->slices + 1) * sizeof *at);
    if (!at) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: offsets of slices");
    code = cudaMemcpy(at, s->offsets, (size_t)(h->slices + 1) * (wide ? 8 : 4), cudaMemcpyDeviceToHost);
    if (code == cudaSuccess) {
        for (int64_t b = h->slices; !wide && b >= 0; b--)
            at[b] = ((const int32_t *)at)[b]; /* widens the elements in place, the last one first */
        cut(c, h, at, wanted, NULL);
        parts = (part *)malloc((size_t)c->part_count * sizeof *parts);
        if (parts) {
            cut(c, h, at, wanted, parts);
            status = spry_cuda_new(device, (void **)&c->part, c->part_count * (int64_t)sizeof *parts, "parts of slices",
                                   err);
            if (status == SPRY_OK)
                code = cudaMemcpy(c->part, parts, (size_t)c->part_count * sizeof *parts, cudaMemcpyHostToDevice);
        } else {
            status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: parts of slices");
        }
    }
    if (code != cudaSuccess) status = spry_cuda_fail(err, code, "scoo_shared_cuda: parts of slices");
    free(parts);
    free(at);
    return status;
}

/*
 * Sets c->ranges, c->range_rows and c->lanes so that the sums of a block fit in its shared memory. Allows the kernel to
 * use all shared memory that a block can have.
 */
static spry_status resolve(scoo_parts *c, const spryi_scoo_head *h, int device, int64_t lanes_word,
                           int64_t *multiprocessors, spry_error *err)
{
    /* bytes of a block's shared memory that are kept for the kernel's static variables and have no sums */
    enum { RESERVED = 1024 };
    const spry_type type = (spry_type)h->value_type;
    const int64_t size = (int64_t)spry_type_bytes(type);
    int most = 0, count = 0;
    cudaError_t code = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (code == cudaSuccess) code = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    most -= RESERVED;
    if (code == cudaSuccess) code = SPRY_BY_TYPE(type, V, allow_shared_memory(scoo_shared<V>, most));
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "scoo_shared_cuda: shared memory");
    *multiprocessors = count;
    c->ranges = (int)ceil_div(h->height * size, most / size * size);
    c->range_rows = (int)ceil_div(h->height, c->ranges);
    const int64_t room = most < SPRYI_SCOO_GPU_SLICE_BYTES ? most : SPRYI_SCOO_GPU_SLICE_BYTES;
    const int64_t mean = h->rows > 0 ? h->nnz / h->rows : 0;
    c->lanes = lanes_word > 0 ? 1 << (lanes_word - 1) : 1;
    if (c->lanes * c->range_rows * size > most)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, "kernel", c->lanes * c->range_rows * size, most,
                                "scoo_shared_cuda: %d lanes of %d rows take %lld bytes of shared memory, a block has "
                                "%d; expected lower slices or fewer lanes",
                                c->lanes, c->range_rows, (long long)(c->lanes * c->range_rows * size), most);
    while (lanes_word == 0 && c->lanes < 32 && 4 * c->lanes <= mean && 2 * c->lanes * c->range_rows * size <= room)
        c->lanes *= 2;
    return SPRY_OK;
}

static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spryi_scoo *s = (const spryi_scoo *)request->storage;
    int64_t multiprocessors = 1;
    scoo_parts *c = (scoo_parts *)calloc(1, sizeof *c);
    if (!c) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: parts");
    spry_status status = resolve(c, &s->head, request->device->ordinal, request->kernel_parameters[SPRYI_SCOO_LANES],
                                 &multiprocessors, err);
    if (status == SPRY_OK && s->head.slices > 0) status = build_parts(request->device, c, s, multiprocessors, err);
    if (status != SPRY_OK) {
        discard(request->device, c);
        return status;
    }
    /* if each block has a multiprocessor of its own, blocks have MOST_THREADS; otherwise two share a multiprocessor */
    c->threads = c->part_count * c->ranges <= multiprocessors ? MOST_THREADS : MOST_THREADS / 2;
    *auxiliary = c;
    *bytes = c->part_count * (int64_t)sizeof(part);
    return SPRY_OK;
}

/*
 * Returns the bytes of the sums of slices with multiple parts. In the workspace, the counters of these slices follow.
 * Sums and counters are zero between runs.
 */
static int64_t sum_bytes(const spryi_scoo_head *h, const scoo_parts *c)
{
    return c->shared_count * h->height * 8;
}

static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    const scoo_parts *c = (const scoo_parts *)auxiliary;
    return sum_bytes(&((const spryi_scoo *)request->storage)->head, c) + c->shared_count * c->ranges * 4;
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_scoo *s = (const spryi_scoo *)args->storage;
    const spryi_scoo_head *h = &s->head;
    const scoo_parts *c = (const scoo_parts *)args->auxiliary;
    scoo_view v = {};
    v.columns = (const int32_t *)s->columns;
    v.rows = (const uint16_t *)s->rows;
    v.values = s->values;
    v.row_count = h->rows;
    v.height = (int)h->height;
    if (h->rows == 0) return SPRY_OK;
    unsigned *arrived = (unsigned *)((char *)args->workspace + sum_bytes(h, c));
    scoo_shared<V><<<(unsigned)(c->part_count * c->ranges), c->threads, (size_t)c->range_rows * c->lanes * sizeof(V),
                     stream_of(args)>>>(v, *c, (const V *)args->x, (V *)args->y, SPRY_ALPHA(V, args),
                                        SPRY_BETA(V, args), (V *)args->workspace, c->shared_count > 0 ? arrived : NULL);
    return launched(err, "scoo_shared_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_scoo_shared = {"scoo_shared_cuda", &runs, NULL, prepare, discard,
                                                      workspace_bytes};
