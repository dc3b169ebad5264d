/*
 * Building blocks of passes over vectors on a GPU: pieces of vectors, sums, launches.
 *
 * Idea: a pass streams its vectors once, keeps its sums in registers and writes one partial sum per thread block. The
 * last block to finish adds the partial sums and calls the method's state update (iteration.h). The update stores
 * alpha, beta or the shift in device memory for the next pass, so that no value goes to the host. Rounds of an
 * iteration, including products, are recorded as a CUDA graph (vector_ops_cuda.cu).
 * Work distribution: thread blocks with blockIdx.y = c process column c. A column is divided into pieces of 8 KB. A
 * thread has PER elements of a piece, with stride THREADS. Block b processes the pieces b, b + grid, ... The grid
 * depends only on the length (at most MOST_BLOCKS). Sums are added by fixed trees, whichever block is last. Every run
 * on every GPU gives the same bits.
 * Cost: the bytes of the vectors; a pass also takes about 2 us, which matters below 100 000 rows.
 * Source: this library; reductions in two levels: M. Harris, Optimizing Parallel Reduction in CUDA, 2007.
 */
#pragma once

#include "device/cuda/reduce.cuh"

extern "C" {
#include "device/vector_ops.h"
}

/* TILE: elements per thread block. If a vector has more than MOST_BLOCKS * TILE elements, blocks have more. */
enum { THREADS = 256, TILE = 1024, MOST_BLOCKS = 528 };

/* Number of elements that a thread has in a piece: 32 bytes for every type. */
template <typename V> constexpr int PER = 32 / (int)sizeof(V);

/*
 * Starts a pass. Permits the next kernel to launch; that kernel waits for the end of this kernel. Then waits for the
 * end of the previous kernel.
 */
static __device__ __forceinline__ void begin_pass(void)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    wait_for_previous_kernel();
}

/* ---- pieces ------------------------------------------------------------------------------------- */

/* EACH_PIECE visits the pieces of this thread block, EACH_ENTRY the elements of this thread in a piece. */
#define EACH_PIECE(V, piece, n) for (int64_t piece = blockIdx.x; piece * (THREADS * PER<V>) < (n); piece += gridDim.x)
#define EACH_ENTRY(V, u) _Pragma("unroll") for (int u = 0; u < PER<V>; u++)

template <int N> static __device__ __forceinline__ int64_t entry_of(int64_t piece, int u)
{
    return piece * (THREADS * N) + u * THREADS + threadIdx.x;
}

/* Loads this thread's elements with all loads in flight. Elements past the end are 0. */
template <typename V, int N>
static __device__ __forceinline__ void load(V (&to)[N], const V *from, int64_t piece, int64_t n)
{
#pragma unroll
    for (int u = 0; u < N; u++) to[u] = entry_of<N>(piece, u) < n ? from[entry_of<N>(piece, u)] : V(0);
}

template <typename V, int N>
static __device__ __forceinline__ void store(V *to, const V (&from)[N], int64_t piece, int64_t n)
{
#pragma unroll
    for (int u = 0; u < N; u++)
        if (entry_of<N>(piece, u) < n) to[entry_of<N>(piece, u)] = from[u];
}

/* Loads and stores with streaming hints, for vectors that leave the cache before their next use. */
template <typename V, int N>
static __device__ __forceinline__ void load_streaming(V (&to)[N], const V *from, int64_t piece, int64_t n)
{
#pragma unroll
    for (int u = 0; u < N; u++) to[u] = entry_of<N>(piece, u) < n ? __ldcs(from + entry_of<N>(piece, u)) : V(0);
}

template <typename V, int N>
static __device__ __forceinline__ void store_streaming(V *to, const V (&from)[N], int64_t piece, int64_t n)
{
#pragma unroll
    for (int u = 0; u < N; u++)
        if (entry_of<N>(piece, u) < n) __stcs(to + entry_of<N>(piece, u), from[u]);
}

/* ---- sums --------------------------------------------------------------------------------------- */

static __device__ __forceinline__ double larger(double a, double b)
{
    return b > a ? b : a; /* a NaN in b is ignored, since another sum becomes NaN */
}

/* Computes N sums over a thread block; thread 0 has the results. scratch may be reused after the next barrier. */
template <int N, typename STATE>
static __device__ __forceinline__ void totals_of_block(const STATE *state, double (&sums)[N], double *scratch)
{
    constexpr int WARPS = THREADS / 32;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int lanes = 32; lanes >= WARPS; lanes /= 32 / WARPS) {
#pragma unroll
        for (int step = lanes / 2; step > 0; step /= 2)
#pragma unroll
            for (int s = 0; s < N; s++) {
                const double other = __shfl_down_sync(0xffffffffu, sums[s], step);
                sums[s] = is_maximum(state, s) ? larger(sums[s], other) : sums[s] + other;
            }
        if (lanes == WARPS) return;
#pragma unroll
        for (int s = 0; s < N; s++)
            if (lane == 0) scratch[s * WARPS + warp] = sums[s];
        __syncthreads();
#pragma unroll
        for (int s = 0; s < N; s++) sums[s] = scratch[s * WARPS + lane % WARPS];
    }
}

/* Stores this block's sum s at partials[(first + s)*grid + block]. */
template <int N, typename STATE> static __device__ __forceinline__ void
put_sums(const STATE *state, double *partials, int first, double (&sums)[N], double *scratch)
{
    totals_of_block(state, sums, scratch);
    if (threadIdx.x == 0)
#pragma unroll
        for (int s = 0; s < N; s++) partials[(int64_t)(first + s) * gridDim.x + blockIdx.x] = sums[s];
}

/* Adds this thread's share of the partial sums of all blocks, starting with sum `first`. */
template <int N, typename STATE> static __device__ __forceinline__ void
add_partials(const STATE *state, const double *partials, int first, double (&sums)[N])
{
#pragma unroll 4
    for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS)
#pragma unroll
        for (int s = 0; s < N; s++) {
            const double partial = __ldcg(partials + (int64_t)(first + s) * gridDim.x + b);
            sums[s] = is_maximum(state, first + s) ? larger(sums[s], partial) : sums[s] + partial;
        }
}

/*
 * load_state copies a state to shared memory. store_state copies it back, except the counters of blocks. All threads of
 * a block must call these functions.
 */
template <typename STATE> static __device__ __forceinline__ void load_state(STATE *copy, const STATE *state)
{
    enum { WORDS = sizeof(STATE) / sizeof(double) };
    static_assert(sizeof(STATE) % sizeof(double) == 0, "copied in words");
    for (int k = threadIdx.x; k < WORDS; k += THREADS) ((double *)copy)[k] = __ldcg((const double *)state + k);
}
template <typename STATE> static __device__ __forceinline__ void store_state(STATE *state, const STATE *copy)
{
    enum { FIRST = offsetof(STATE, arrived) / sizeof(int), WORDS = sizeof(STATE) / sizeof(int) };
    for (int k = threadIdx.x; k < WORDS; k += THREADS)
        if (k < FIRST || k > FIRST + 1) ((int *)state)[k] = ((const int *)copy)[k];
}

/*
 * Defines a state update. OWN: number of sums that the pass computes. EVERY: number of sums that the update reads,
 * including stored sums of an earlier pass.
 */
#define AFTER_SUMS(name, STATE, OWN, EVERY, ...)                                                                       \
    struct name {                                                                                                      \
        enum { SUMS = OWN, ALL = EVERY };                                                                              \
        typedef STATE state;                                                                                           \
        static __device__ void go(state *s, const double *sums)                                                        \
        {                                                                                                              \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    };

/*
 * Stores this block's sums. The last block to do so adds the sums of all blocks and updates the state. The update works
 * on a copy in shared memory, since reading the fields one by one would add up their latencies.
 */
template <typename WHAT>
static __device__ __forceinline__ void finish(typename WHAT::state *state, double *partials, double (&own)[WHAT::SUMS])
{
    __shared__ double scratch[2][WHAT::ALL * THREADS / 32];
    __shared__ typename WHAT::state copy;
    __shared__ int is_last;
    put_sums(state, partials, 0, own, scratch[0]);
    if (threadIdx.x == 0) {
        __threadfence(); /* the sums become visible before the arrival */
        /* the counter only finds the last block; sums are added in a fixed order, so bits repeat */
        is_last = atomicInc(&state->arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    load_state(&copy, state);
    double sums[WHAT::ALL] = {};
    add_partials(state, partials, 0, sums);
    totals_of_block(state, sums, scratch[1]);
    if (threadIdx.x == 0) WHAT::go(&copy, sums);
    __syncthreads();
    store_state(state, &copy);
}

/* ---- launches ----------------------------------------------------------------------------------- */

static inline spry_status enter(const spryi_vector_work *w, int *previous, spry_error *err)
{
    cudaError_t code = cudaGetDevice(previous);
    if (code == cudaSuccess && *previous != w->ordinal) code = cudaSetDevice(w->ordinal);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "device");
}

/*
 * Launches w->blocks thread blocks for each column, early like launch_early. together: the launch is cooperative, so
 * that all blocks run at the same time.
 */
template <typename... PARAMETERS, typename... ARGUMENTS>
static void launch_blocks(const spryi_vector_work *w, bool together, void (*kernel)(PARAMETERS...), ARGUMENTS... a)
{
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = early_launch(attributes, w->blocks > 0 ? w->blocks : 1, THREADS, 0, w->stream);
    config.gridDim.y = (unsigned)w->columns;
    config.numAttrs = spry_cuda_launches_early(w->ordinal) ? 1 : 0;
    if (together) {
        attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
        attributes[config.numAttrs++].val.cooperative = 1;
    }
    (void)cudaLaunchKernelEx(&config, kernel, PARAMETERS(a)...);
}

template <typename... PARAMETERS, typename... ARGUMENTS>
static void launch_pass(const spryi_vector_work *w, void (*kernel)(PARAMETERS...), ARGUMENTS... a)
{
    launch_blocks(w, false, kernel, a...);
}

/* Launches a pass for the vectors' type V. */
#define LAUNCH_TYPED(w, kernel, ...) SPRY_BY_TYPE((w)->type, V, launch_pass(w, kernel<V>, __VA_ARGS__))

static inline spry_status leave(int previous, const char *pass, spry_error *err)
{
    spry_status status = launched(err, pass);
    (void)cudaSetDevice(previous);
    return status;
}

/* The body of a function that launches a pass with the work's device current. */
#define PASS(w, name, ...)                                                                                             \
    do {                                                                                                               \
        int previous_;                                                                                                 \
        SPRYI_OK_OR_RETURN(enter(w, &previous_, err));                                                                 \
        __VA_ARGS__;                                                                                                   \
        return leave(previous_, name, err);                                                                            \
    } while (0)

static inline double *partials_of(const spryi_vector_work *w)
{
    return (double *)w->partials.data;
}
