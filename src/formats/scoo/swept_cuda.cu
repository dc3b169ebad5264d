/*
 * swept_barrier_cuda, swept_atomic_cuda: row blocks that sweep x (swept.h).
 *
 * Idea: a block of 1024 threads has a multiprocessor for itself and keeps the sums of a row block in its shared memory,
 *       while all multiprocessors sweep x from column to column together: neighbouring threads gather neighbouring x,
 *       and a sector of x is fetched once a task instead of once an entry. No two entries of a group share a sum, so a
 *       barrier between groups is all it takes to add them without atomics and in the same order every time.
 *       Indices and values of the batch after next and the x of the next one are on their way while one is added.
 * Work: a block of threads a task. The tasks of a row block (parts of its columns) meet in the workspace: the one that
 *       arrives last adds them up in order and writes y. So do blocks that share a row.
 * Cost: 8 bytes an entry in f32, 12 in f64, little padding; the sectors of x that each task meets; two accesses of
 *       shared memory an entry; y once, and parts * rows sums written and read where there are several parts.
 * Source: seed 000, SCOO (slices in shared memory); Dang and Schmidt, The sliced COO format for sparse matrix-vector
 *       multiplication on CUDA-enabled GPUs, 2012; groups without conflicts, parts and pieces: this library.
 */
#include "cuda/reduce.cuh"

extern "C" {
#include "formats/scoo/swept.h"
}
#include "cuda/kernels.h"

#include <stdlib.h>

enum { THREADS = SPRYI_SWEPT_THREADS, WARPS = THREADS / 32 };

/* A thread's slots of a batch, 16 bytes of values. */
template <typename V> struct batch;
template <> struct batch<float> {
    static const int slots = 4;
    unsigned index[4];
    float value[4];
    __device__ __forceinline__ void load(const unsigned *indices, const float *values)
    {
        asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(index[0]), "=r"(index[1]), "=r"(index[2]), "=r"(index[3])
            : "l"(indices));
        asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
            : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3])
            : "l"(values));
    }
};
template <> struct batch<double> {
    static const int slots = 2;
    unsigned index[2];
    double value[2];
    __device__ __forceinline__ void load(const unsigned *indices, const double *values)
    {
        asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(index[0]), "=r"(index[1]) : "l"(indices));
        asm("ld.global.nc.L1::no_allocate.v2.f64 {%0, %1}, [%2];" : "=d"(value[0]), "=d"(value[1]) : "l"(values));
    }
};

/* The storage as the kernel takes it. */
typedef struct swept_view {
    const spryi_swept_block *blocks;
    const spryi_swept_task *tasks;
    const spryi_swept_word *present;
    const spryi_swept_long *longs;
    const spryi_swept_chain *chains;
    const int64_t *bases;
    const unsigned *indices;
    const void *values;
    int parts, row_bits;
} swept_view;

/* x, read when it is asked for: the compiler is not to gather the loads of a batch at its beginning. */
static __device__ __forceinline__ float gather(const float *p)
{
    float v;
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(p));
    return v;
}
static __device__ __forceinline__ double gather(const double *p)
{
    double v;
    asm volatile("ld.global.nc.f64 %0, [%1];" : "=d"(v) : "l"(p));
    return v;
}

/*
 * A task's products into its sums. While a group waits for its sums from shared memory, x of the same group of the next
 * batch is asked for, so that gathers and additions take turns.
 */
template <int DEPTH, int ATOMIC, typename V> static __device__ __forceinline__ void
sweep(const swept_view &s, const spryi_swept_task &task, const V *__restrict__ x, V *sums)
{
    constexpr int U = batch<V>::slots;
    const unsigned padding = (1u << s.row_bits) - 1;
    const int64_t stride = THREADS * U, first = task.first_batch * stride + threadIdx.x * U;
    const unsigned *indices = s.indices + first;
    const V *values = (const V *)s.values + first;
    const int64_t *bases = s.bases + task.first_batch;
    const int last = task.batches - 1;
    if (last < 0) return;
    batch<V> now, next, after;
    V x_now[U], x_next[U];
    now.load(indices, values);
    int64_t base = bases[min(1, last)];
    next.load(indices + min(1, last) * stride, values + min(1, last) * stride);
#pragma unroll
    for (int u = 0; u < U; u++) x_now[u] = gather(x + bases[0] + (now.index[u] >> s.row_bits));
    for (int b = 0; b <= last; b++) {
        const int ahead = min(b + 2, last);
        const V *from = x + base;
        after.load(indices + ahead * stride, values + ahead * stride);
        base = bases[ahead];
#pragma unroll
        for (int g = 0; g < U; g += DEPTH) {
            V sum[DEPTH];
            if (!ATOMIC) __syncthreads();
#pragma unroll
            for (int u = 0; !ATOMIC && u < DEPTH; u++) {
                const unsigned row = now.index[g + u] & padding;
                sum[u] = row != padding ? sums[row] : V(0);
            }
#pragma unroll
            for (int u = g; u < g + DEPTH; u++) x_next[u] = gather(from + (next.index[u] >> s.row_bits));
#pragma unroll
            for (int u = 0; u < DEPTH; u++) {
                const unsigned row = now.index[g + u] & padding;
                if (row == padding) continue;
                if (ATOMIC)
                    atomicAdd(sums + row, now.value[g + u] * x_now[g + u]);
                else
                    sums[row] = sum[u] + now.value[g + u] * x_now[g + u];
            }
        }
        now = next;
        next = after;
#pragma unroll
        for (int u = 0; u < U; u++) x_now[u] = x_next[u];
    }
}

/* A row that other blocks have pieces of: the one that hands in last adds them up in order. */
template <typename V> static __device__ void finish_chain(const swept_view &s, int number, int piece, V sum, V *y,
                                                          V alpha, V beta, V *pieces, unsigned *arrived)
{
    const spryi_swept_chain chain = s.chains[number];
    pieces += chain.first;
    pieces[piece] = sum;
    __threadfence(); /* the sum is seen before the arrival is */
    if (atomicAdd(arrived + number, 1u) != (unsigned)chain.pieces - 1) return;
    __threadfence();
    arrived[number] = 0;
    sum = 0;
    for (int64_t p = 0; p < chain.pieces; p++) sum += __ldcg(pieces + p);
    put(y, chain.row, sum, alpha, beta);
}

/* What the workspace holds: the tasks' sums, pieces' sums, and arrivals of tasks and of pieces. */
template <typename V> struct swept_workspace {
    V *partials, *pieces;
    unsigned *arrived, *arrived_pieces;
};

/* y of the block's rows; parts 1: from `sums`, else from those that all tasks have left. */
template <typename V> static __device__ void put_rows(const swept_view &s, const spryi_swept_block &block,
                                                      const V *sums, int parts, int count, V *y, V alpha, V beta,
                                                      const swept_workspace<V> &w)
{
    const int lane = threadIdx.x % 32;
    for (int n = threadIdx.x / 32; n * 32 < block.rows; n += WARPS) {
        const spryi_swept_word word = s.present[block.first_word + n];
        const int row = n * 32 + lane, at = word.before + __popc(word.bits & ((1u << lane) - 1));
        if (row >= block.rows) continue;
        V sum = 0;
        if (word.bits >> lane & 1)
            for (int p = 0; p < parts; p++) sum += parts == 1 ? sums[at] : __ldcg(sums + (int64_t)p * count + at);
        if (row == 0 && block.head_chain >= 0)
            finish_chain(s, block.head_chain, block.head_piece, sum, y, alpha, beta, w.pieces, w.arrived_pieces);
        else if (row == block.rows - 1 && block.tail_chain >= 0)
            finish_chain(s, block.tail_chain, block.tail_piece, sum, y, alpha, beta, w.pieces, w.arrived_pieces);
        else
            put(y, block.first_row + row, sum, alpha, beta);
    }
}

template <int DEPTH, int ATOMIC, typename V> static __global__ void __launch_bounds__(THREADS, 1)
    swept(const swept_view s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha_given, scalar<V> beta_given,
          swept_workspace<V> w)
{
    extern __shared__ double memory[];
    __shared__ int is_last;
    V *sums = (V *)memory;
    const V alpha = alpha_given.get(), beta = beta_given.get();
    const int number = blockIdx.x / s.parts, part = blockIdx.x % s.parts;
    const spryi_swept_block block = s.blocks[number];
    const spryi_swept_task task = s.tasks[blockIdx.x];
    for (int n = threadIdx.x; n < task.sums; n += THREADS) sums[n] = 0;
    if (ATOMIC) __syncthreads();
    sweep<DEPTH, ATOMIC>(s, task, x, sums);
    __syncthreads();
    for (int l = threadIdx.x / 32; l < task.longs; l += WARPS) {
        const spryi_swept_long row = s.longs[task.first_long + l];
        V sum = 0;
        for (int n = threadIdx.x % 32; n < row.count; n += 32) sum += sums[row.first + n];
        sum = lanes_sum(sum, 32);
        if (threadIdx.x % 32 == 0) sums[row.sum] += sum;
    }
    if (task.longs > 0) __syncthreads();
    if (s.parts == 1) {
        put_rows(s, block, sums, 1, 0, y, alpha, beta, w);
        return;
    }
    V *partials = w.partials + block.first_partial;
    for (int n = threadIdx.x; n < block.sums; n += THREADS) partials[(int64_t)part * block.sums + n] = sums[n];
    __threadfence(); /* the sums are seen before the arrival is */
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicAdd(w.arrived + number, 1u) == (unsigned)s.parts - 1;
        if (is_last) w.arrived[number] = 0;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    put_rows(s, block, partials, s.parts, block.sums, y, alpha, beta, w);
}

/* ---- the host's side ---------------------------------------------------------------------------------- */

template <int DEPTH, int ATOMIC, typename V> static cudaError_t allow(int bytes)
{
    return cudaFuncSetAttribute(swept<DEPTH, ATOMIC, V>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

template <int ATOMIC>
static spry_status prepare(const spryi_cuda_prepare *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spryi_swept_head *h = &((const spryi_swept *)request->storage)->head;
    int most = 0;
    *auxiliary = NULL;
    *bytes = 0;
    cudaError_t code = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, request->device);
    const int64_t needed = h->most_sums * (h->value_type == SPRY_F64 ? 8 : 4);
    if (code == cudaSuccess && needed + SPRYI_SWEPT_OWN_BYTES > most)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, NULL, needed, most - SPRYI_SWEPT_OWN_BYTES,
                                "swept: sums of %lld bytes were cut for a GPU with more shared memory than %d bytes",
                                (long long)needed, most);
    most -= SPRYI_SWEPT_OWN_BYTES;
    if (code == cudaSuccess && h->value_type == SPRY_F64) {
        code = allow<1, ATOMIC, double>(most);
        if (code == cudaSuccess) code = allow<2, ATOMIC, double>(most);
    } else if (code == cudaSuccess) {
        code = allow<1, ATOMIC, float>(most);
        if (code == cudaSuccess) code = allow<2, ATOMIC, float>(most);
        if (code == cudaSuccess) code = allow<4, ATOMIC, float>(most);
    }
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "swept: shared memory");
}

static int64_t workspace_bytes(const spryi_cuda_prepare *request, const void *auxiliary)
{
    (void)auxiliary;
    const spryi_swept_head *h = &((const spryi_swept *)request->storage)->head;
    return (h->partials + h->pieces) * (h->value_type == SPRY_F64 ? 8 : 4) + (h->blocks + h->chains) * 4;
}

template <int ATOMIC, typename V> static spry_status launch(const spryi_run_args *args, spry_error *err)
{
    const spryi_swept *s = (const spryi_swept *)args->storage;
    const spryi_swept_head *h = &s->head;
    swept_view v = {};
    v.blocks = s->blocks;
    v.tasks = s->tasks;
    v.present = s->present;
    v.longs = s->longs;
    v.chains = s->chains;
    v.bases = s->bases;
    v.indices = s->indices;
    v.values = s->values;
    v.parts = (int)h->parts;
    v.row_bits = (int)h->row_bits;
    swept_workspace<V> w = {};
    w.partials = (V *)args->workspace;
    w.pieces = w.partials + h->partials;
    w.arrived = (unsigned *)(w.pieces + h->pieces);
    w.arrived_pieces = w.arrived + h->blocks;
    if (h->blocks == 0) return SPRY_OK;
    const V *x = (const V *)args->x;
    V *y = (V *)args->y;
    const scalar<V> alpha = SPRY_ALPHA(V, args), beta = SPRY_BETA(V, args);
    const unsigned tasks = (unsigned)(h->blocks * h->parts);
    const size_t bytes = (size_t)h->most_sums * sizeof(V);
    if (h->depth == 1)
        swept<1, ATOMIC, V><<<tasks, THREADS, bytes, stream_of(args)>>>(v, x, y, alpha, beta, w);
    else if (h->depth == 2)
        swept<2, ATOMIC, V><<<tasks, THREADS, bytes, stream_of(args)>>>(v, x, y, alpha, beta, w);
    else
        swept<batch<V>::slots, ATOMIC, V><<<tasks, THREADS, bytes, stream_of(args)>>>(v, x, y, alpha, beta, w);
    return launched(err, ATOMIC ? "swept_atomic_cuda" : "swept_barrier_cuda");
}

template <typename V, typename P, typename J>
static spry_status run_barrier(const spryi_run_args *args, spry_error *err)
{
    return launch<0, V>(args, err);
}

template <typename V, typename P, typename J> static spry_status run_atomic(const spryi_run_args *args, spry_error *err)
{
    return launch<1, V>(args, err);
}

static const spryi_run_table barrier_runs = SPRY_CUDA_TABLE(run_barrier), atomic_runs = SPRY_CUDA_TABLE(run_atomic);

const spryi_cuda_kernel spry_cuda_swept_barrier = {"swept_barrier_cuda", &barrier_runs, NULL,
                                                   prepare<0>,           NULL,          workspace_bytes};
const spryi_cuda_kernel spry_cuda_swept_atomic = {"swept_atomic_cuda", &atomic_runs, NULL,
                                                  prepare<1>,          NULL,         workspace_bytes};
