/*
 * swept_barrier_cuda: row blocks that sweep x (swept.h).
 *
 * Idea: a block of 1024 threads occupies a multiprocessor and keeps the sums of a row block in its shared memory. All
 *       multiprocessors read x at the same time, in the order of columns. Adjacent threads gather adjacent elements of
 *       x, and a sector of x is fetched once per row block instead of once per entry. The entries of a group have
 *       distinct sums, so a barrier between groups suffices to add without atomics, always in the same order. Indices
 *       and values are loaded two batches ahead, x one batch ahead.
 * Work: a block of threads for each row block. Blocks that share a row store their partial sums (pieces), and the block
 *       that finishes last adds them in order.
 * Cost: 8 bytes per entry in f32, 12 in f64, 4 for a pattern, plus 1 to 5 % of padding; sectors of x, once per row
 *       block; two accesses of shared memory per entry; y once. The throughput of the first-level cache limits the
 *       speed. A gather takes one pass for each cache line of x that its 32 threads read. An access of shared memory
 *       takes one pass for each distinct word that its threads read in the same bank.
 * Source: SCOO (slices in shared memory): Dang and Schmidt, The sliced COO format for sparse matrix-vector
 *       multiplication on CUDA-enabled GPUs, 2012; groups without conflicts, further sums and pieces: this library.
 */
#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/swept/swept.h"
}

enum { THREADS = SPRYI_SWEPT_THREADS, WARPS = THREADS / 32 };

/* A thread's slots of a batch: indices and values as stored. */
template <typename S> struct batch;
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
    __device__ __forceinline__ float at(int u) const
    {
        return value[u];
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
    __device__ __forceinline__ double at(int u) const
    {
        return value[u];
    }
};
template <typename S> struct batch { /* 16-bit values */
    static const int slots = 4;
    unsigned index[4], pair[2];
    __device__ __forceinline__ void load(const unsigned *indices, const S *values)
    {
        asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(index[0]), "=r"(index[1]), "=r"(index[2]), "=r"(index[3])
            : "l"(indices));
        asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(pair[0]), "=r"(pair[1]) : "l"(values));
    }
    __device__ __forceinline__ float at(int u) const
    {
        const S value = {(uint16_t)(u % 2 ? pair[u / 2] >> 16 : pair[u / 2] & 0xffff)};
        return widened(value);
    }
};

/* The values of a pattern, which are all 1. */
struct ones {};
template <> struct batch<ones> {
    static const int slots = 4;
    unsigned index[4];
    __device__ __forceinline__ void load(const unsigned *indices, const ones *)
    {
        asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(index[0]), "=r"(index[1]), "=r"(index[2]), "=r"(index[3])
            : "l"(indices));
    }
    __device__ __forceinline__ float at(int) const
    {
        return 1;
    }
};

/* The storage as passed to the kernel. */
typedef struct swept_view {
    const spryi_swept_block *blocks;
    const spryi_swept_bitmap *bitmaps;
    const spryi_swept_extra *extras;
    const spryi_swept_shared_row *shared_rows;
    const int64_t *bases;
    const unsigned *indices;
    const void *values;
} swept_view;

/*
 * Adds a row block's products to its sums. The previous kernel in the stream may still run, but does not write to the
 * storage. The first two batches are therefore loaded before the wait for that kernel. Each iteration first loads x of
 * the next batch, then the indices and values two batches ahead, and adds the groups of the current batch meanwhile.
 * Products in f32 would be 5 % slower if x were gathered between the groups.
 */
template <typename S, typename V> static __device__ __forceinline__ void
sweep(const swept_view &s, const spryi_swept_block &block, const V *__restrict__ x, V *sums)
{
    constexpr int U = batch<S>::slots;
    const unsigned padding = (1u << block.sum_bits) - 1;
    const int64_t stride = THREADS * U, first = block.first_batch * stride + threadIdx.x * U;
    const unsigned *indices = s.indices + first;
    const S *values = (const S *)s.values + first;
    const int64_t *bases = s.bases + block.first_batch;
    const int last = block.batches - 1;
    if (last < 0) {
        wait_for_previous_kernel();
        return;
    }
    batch<S> now, next, after;
    V x_now[U], x_next[U];
    now.load(indices, values);
    int64_t base = bases[min(1, last)];
    next.load(indices + min(1, last) * stride, values + min(1, last) * stride);
    const int64_t first_base = bases[0];
    wait_for_previous_kernel();
#pragma unroll
    for (int u = 0; u < U; u++) x_now[u] = x[first_base + (now.index[u] >> block.sum_bits)];
#pragma unroll 1
    for (int b = 0; b <= last; b++) {
        const int ahead = min(b + 2, last);
#pragma unroll
        for (int u = 0; u < U; u++) x_next[u] = x[base + (next.index[u] >> block.sum_bits)];
        after.load(indices + ahead * stride, values + ahead * stride);
        base = bases[ahead];
#pragma unroll
        for (int u = 0; u < U; u++) {
            const unsigned at = now.index[u] & padding;
            __syncthreads(); /* the previous group has been added */
            const V sum = at != padding ? sums[at] : V(0);
            if (at != padding) sums[at] = sum + V(now.at(u)) * x_now[u];
        }
        now = next;
        next = after;
#pragma unroll
        for (int u = 0; u < U; u++) x_now[u] = x_next[u];
    }
}

/*
 * Stores the block's piece, its partial sum of a shared row. The block that arrives last adds all pieces in order and
 * writes y.
 */
template <typename V> static __device__ void finish_shared_row(const swept_view &s, int shared_index, int piece, V sum,
                                                               V *y, V alpha, V beta, V *pieces, unsigned *arrived)
{
    const spryi_swept_shared_row shared = s.shared_rows[shared_index];
    pieces += shared.first;
    pieces[piece] = sum;
    __threadfence(); /* other blocks must see the sum before the arrival */
    if (atomicAdd(arrived + shared_index, 1u) != (unsigned)shared.pieces - 1) return;
    __threadfence();
    arrived[shared_index] = 0;
    sum = 0;
    for (int64_t p = 0; p < shared.pieces; p++) sum += __ldcg(pieces + p);
    put(y, shared.row, sum, alpha, beta);
}

/* Writes y of the block's rows. */
template <typename V> static __device__ void put_rows(const swept_view &s, const spryi_swept_block &block,
                                                      const V *sums, V *y, V alpha, V beta, V *pieces,
                                                      unsigned *arrived)
{
    const int lane = threadIdx.x % 32;
    for (int n = threadIdx.x / 32; n * 32 < block.rows; n += WARPS) {
        const spryi_swept_bitmap word = s.bitmaps[block.first_bitmap + n];
        const int row = n * 32 + lane, at = word.before + __popc(word.bits & ((1u << lane) - 1));
        if (row >= block.rows) continue;
        const V sum = word.bits >> lane & 1 ? sums[at] : V(0);
        if (row == 0 && block.head_row >= 0)
            finish_shared_row(s, block.head_row, block.head_piece, sum, y, alpha, beta, pieces, arrived);
        else if (row == block.rows - 1 && block.tail_row >= 0)
            finish_shared_row(s, block.tail_row, block.tail_piece, sum, y, alpha, beta, pieces, arrived);
        else
            put(y, block.first_row + row, sum, alpha, beta);
    }
}

template <typename S, typename V> static __global__ void __launch_bounds__(THREADS, 1)
    swept_barrier(const swept_view s, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha_given,
                  scalar<V> beta_given, V *pieces, unsigned *arrived)
{
    extern __shared__ double memory[];
    V *sums = (V *)memory;
    const spryi_swept_block block = s.blocks[blockIdx.x];
    for (int n = threadIdx.x; n < block.all_sums; n += THREADS) sums[n] = 0;
    sweep<S>(s, block, x, sums);
    const V alpha = alpha_given.get(), beta = beta_given.get();
    __syncthreads();
    for (int l = threadIdx.x / 32; l < block.extras; l += WARPS) {
        const spryi_swept_extra row = s.extras[block.first_extra + l];
        V sum = 0;
        for (int n = threadIdx.x % 32; n < row.count; n += 32) sum += sums[row.first + n];
        sum = lanes_sum(sum, 32);
        if (threadIdx.x % 32 == 0) sums[row.sum] += sum;
    }
    if (block.extras > 0) __syncthreads();
    put_rows(s, block, sums, y, alpha, beta, pieces, arrived);
}

/* ---- host functions ------------------------------------------------------------------------------------ */

/* Permits the kernel for these types to use `bytes` of shared memory. */
static cudaError_t allow_all(spry_type stored, spry_type vectors, int bytes)
{
#define ALLOW_ONES(tag, s, v, c, argument)                                                                             \
    if (stored == SPRY_PATTERN && (int)vectors == (int)spryi_type_##v)                                                 \
        return allow_shared_memory(swept_barrier<ones, spryi_##v>, bytes);
#define ALLOW(tag, s, v, c, argument)                                                                                  \
    if ((int)stored == (int)spryi_type_##s && (int)vectors == (int)spryi_type_##v)                                     \
        return allow_shared_memory(swept_barrier<spryi_##s, spryi_##v>, bytes);
    SPRYI_PLAIN_ROWS(ALLOW, 0)
    SPRYI_MIXED_ROWS(ALLOW, 0)
    SPRYI_PLAIN_ROWS(ALLOW_ONES, 0)
#undef ALLOW
#undef ALLOW_ONES
    return cudaErrorInvalidValue;
}

static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spryi_swept_sizes *h = &((const spryi_swept *)request->storage)->sizes;
    const spry_type type = request->vector_type;
    const int64_t needed = h->most_sums * (int64_t)spry_type_bytes(type);
    int most = 0;
    *auxiliary = NULL;
    *bytes = 0;
    cudaError_t code = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, request->device->ordinal);
    if (code == cudaSuccess && needed + SPRYI_SWEPT_OWN_BYTES > most)
        return spryi_fail_value(err, SPRY_UNSUPPORTED, NULL, needed, most - SPRYI_SWEPT_OWN_BYTES,
                                "swept: the sums of a row block need %lld bytes, but this GPU's shared memory has %d "
                                "for them",
                                (long long)needed, most - SPRYI_SWEPT_OWN_BYTES);
    most -= SPRYI_SWEPT_OWN_BYTES;
    if (code == cudaSuccess) code = allow_all((spry_type)h->value_type, type, most);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "swept_barrier_cuda: shared memory");
}

/* Returns the bytes of the sums of pieces and of the arrival counters of shared rows, which are zero between runs. */
static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    (void)auxiliary;
    const spryi_swept_sizes *h = &((const spryi_swept *)request->storage)->sizes;
    return h->pieces * (int64_t)spry_type_bytes(request->vector_type) + h->shared_rows * 4;
}

template <typename S, typename V>
static spry_status start(const spryi_swept *s, const spryi_run_args *args, spry_error *err)
{
    const spryi_swept_sizes *h = &s->sizes;
    const swept_view v = {s->blocks, s->bitmaps, s->extras, s->shared_rows, s->bases, s->indices, s->values};
    const scalar<V> alpha = SPRY_ALPHA(V, args), beta = SPRY_BETA(V, args);
    V *y = (V *)args->y, *pieces = (V *)args->workspace;
    unsigned *arrived = (unsigned *)(pieces + h->pieces);
    const size_t shared_bytes = (size_t)h->most_sums * sizeof(V);
    launch_early(args, swept_barrier<S, V>, h->blocks, THREADS, (int64_t)shared_bytes, v, (const V *)args->x, y, alpha,
                 beta, pieces, arrived);
    return launched(err, "swept_barrier_cuda");
}

template <typename S, typename V, typename P, typename J>
static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_swept *s = (const spryi_swept *)args->storage;
    if (s->sizes.blocks == 0) return SPRY_OK;
    if (s->sizes.value_type == SPRY_PATTERN) return start<ones, V>(s, args, err);
    return start<S, V>(s, args, err);
}

static const spryi_run_table runs = SPRY_CUDA_MIXED_TABLE(run);

const spryi_kernel_functions spry_cuda_swept_barrier = {"swept_barrier_cuda", &runs, NULL, prepare, NULL,
                                                        workspace_bytes};
