/*
 * What the passes over vectors on a GPU are made of: pieces of vectors, sums, launches.
 *
 * Idea: a pass streams its vectors once, keeps its sums in registers and writes one partial sum a block. The block that
 * ends last adds those up and hands them to the step of the method that follows (iteration.h), which leaves alpha, beta
 * or the shift in device memory, where the next pass finds them: no number has to go to the host. Rounds of an
 * iteration, products included, are recorded as a CUDA graph (vector_ops_cuda.cu).
 * Work distribution: column c of vectors is the work of the blocks with blockIdx.y = c. A column is cut into pieces of
 * some 8 KB, PER a thread with THREADS between them; block b takes the pieces b, b + grid, ... The grid
 * depends on the length alone (at most MOST_BLOCKS), sums are added by fixed trees in which it does not matter who is
 * last: the same bits in every run and on every GPU.
 * Cost: the bytes of the vectors; a pass takes some 2 us besides, which counts below some 100 000 rows.
 * Source: this library; reductions in two levels: M. Harris, Optimizing Parallel Reduction in CUDA, 2007.
 */
#pragma once

#include "device/cuda/reduce.cuh"

extern "C" {
#include "device/vector_ops.h"
}

enum { THREADS = 256, TILE = 1024 /* entries for which there is a block */, MOST_BLOCKS = 528 };

/* Entries of a piece that a thread has: as many bytes of every type. */
template <typename V> constexpr int PER = 32 / (int)sizeof(V);

/* The kernel that follows may take its place beside this one, and waits there until this one has ended. */
static __device__ __forceinline__ void begin_pass(void)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    wait_for_kernel_before();
}

/* ---- pieces ------------------------------------------------------------------------------------- */

/* Pieces `piece` of this block, and of one the entry u of this thread. */
#define EACH_PIECE(V, piece, n) for (int64_t piece = blockIdx.x; piece * (THREADS * PER<V>) < (n); piece += gridDim.x)
#define EACH_ENTRY(V, u) _Pragma("unroll") for (int u = 0; u < PER<V>; u++)

template <int N> static __device__ __forceinline__ int64_t entry_of(int64_t piece, int u)
{
    return piece * (THREADS * N) + u * THREADS + threadIdx.x;
}

/* This thread's entries, all loads in flight; 0 past the end. */
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

/* Of vectors that are not needed again before others have taken their place in the cache. */
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
    return b > a ? b : a; /* NaN of b is passed over: it shows in another sum */
}

/* Each of N sums over a block; thread 0 has them. scratch is free again after the next barrier. */
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

/* Sum s of every block, side by side: partials[(first + s)*grid + block]. */
template <int N, typename STATE> static __device__ __forceinline__ void
put_sums(const STATE *state, double *partials, int first, double (&sums)[N], double *scratch)
{
    totals_of_block(state, sums, scratch);
    if (threadIdx.x == 0)
#pragma unroll
        for (int s = 0; s < N; s++) partials[(int64_t)(first + s) * gridDim.x + blockIdx.x] = sums[s];
}

/* This thread's share of the sums of all blocks, from `first` on. */
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

/* All threads of a block: a copy of a state in shared memory, and back, but for the counters of blocks. */
template <typename STATE> static __device__ __forceinline__ void take_state(STATE *copy, const STATE *state)
{
    enum { WORDS = sizeof(STATE) / sizeof(double) };
    static_assert(sizeof(STATE) % sizeof(double) == 0, "copied in words");
    for (int k = threadIdx.x; k < WORDS; k += THREADS) ((double *)copy)[k] = __ldcg((const double *)state + k);
}
template <typename STATE> static __device__ __forceinline__ void give_state(STATE *state, const STATE *copy)
{
    enum { FIRST = offsetof(STATE, arrived) / sizeof(int), WORDS = sizeof(STATE) / sizeof(int) };
    for (int k = threadIdx.x; k < WORDS; k += THREADS)
        if (k < FIRST || k > FIRST + 1) ((int *)state)[k] = ((const int *)copy)[k];
}

/* What follows from OWN sums of a pass, and from those that lie behind them, EVERY sum together. */
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
 * The last block that has put its sums goes on with those of all blocks, and with others that lie behind them. It works
 * on a copy of the state: field by field from memory would be one latency after the other.
 */
template <typename WHAT>
static __device__ __forceinline__ void finish(typename WHAT::state *state, double *partials, double (&own)[WHAT::SUMS])
{
    __shared__ double scratch[2][WHAT::ALL * THREADS / 32];
    __shared__ typename WHAT::state copy;
    __shared__ int is_last;
    put_sums(state, partials, 0, own, scratch[0]);
    if (threadIdx.x == 0) {
        __threadfence(); /* the sums are seen before the arrival is */
        /* counts blocks; sums are added in a fixed order afterwards, so bits repeat */
        is_last = atomicInc(&state->arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    take_state(&copy, state);
    double sums[WHAT::ALL] = {};
    add_partials(state, partials, 0, sums);
    totals_of_block(state, sums, scratch[1]);
    if (threadIdx.x == 0) WHAT::go(&copy, sums);
    __syncthreads();
    give_state(state, &copy);
}

/* ---- launches ----------------------------------------------------------------------------------- */

static inline spry_status enter(const spryi_vector_work *w, int *previous, spry_error *err)
{
    cudaError_t code = cudaGetDevice(previous);
    if (code == cudaSuccess && *previous != w->ordinal) code = cudaSetDevice(w->ordinal);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "device");
}

/* A row of blocks for each column; as launch_early, and, if `together`, all of them at once or not at all. */
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

/* Runs a pass for the type V of the vectors. */
#define LAUNCH_TYPED(w, kernel, ...) SPRY_BY_TYPE((w)->type, V, launch_pass(w, kernel<V>, __VA_ARGS__))

static inline spry_status leave(int previous, const char *pass, spry_error *err)
{
    spry_status status = launched(err, pass);
    (void)cudaSetDevice(previous);
    return status;
}

/* The body of a function that starts a pass, with the work's device current. */
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
