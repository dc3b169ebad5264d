/*
 * Vector work of the solvers on a GPU: the passes of vector_ops.h, each one kernel.
 *
 * Idea: a pass streams its vectors once, keeps its sums in registers and writes one partial sum a block. The block that
 * ends last adds those up and hands them to the step of the method that follows (iteration.h), which leaves alpha, beta
 * or the shift in device memory, where the next pass finds them: no number has to go to the host. Rounds of an
 * iteration, products included, are recorded as a CUDA graph (rounds.cu).
 * Work distribution: pieces of TILE entries, PER_THREAD a thread with THREADS between them; block b takes the pieces
 * b, b + grid, ... The grid depends on the length alone (at most MOST_BLOCKS), sums are added by fixed trees in which
 * it does not matter who is last: the same bits in every run and on every GPU.
 * Cost: the bytes of the vectors; CG 9 numbers a row (11 with jacobi), PageRank 4 (3 where columns sum to 1 as they
 * stand); a pass takes some 2 us besides, which counts below some 100 000 rows.
 * Source: this library; reductions in two levels: M. Harris, Optimizing Parallel Reduction in CUDA, 2007.
 */
#include "device/cuda/reduce.cuh"
#include "device/cuda/rounds.h"
#include "spry/solve.h"

extern "C" {
#include "device/vector_ops.h"
}

enum { THREADS = 256, PER_THREAD = 4, TILE = THREADS * PER_THREAD, MOST_BLOCKS = 1024 };

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
#define EACH_PIECE(piece, n) for (int64_t piece = blockIdx.x; piece * TILE < (n); piece += gridDim.x)
#define EACH_ENTRY(u) _Pragma("unroll") for (int u = 0; u < PER_THREAD; u++)

static __device__ __forceinline__ int64_t entry_of(int64_t piece, int u)
{
    return piece * TILE + u * THREADS + threadIdx.x;
}

/* This thread's entries, all loads in flight; 0 past the end. */
template <typename V>
static __device__ __forceinline__ void load(V (&to)[PER_THREAD], const V *from, int64_t piece, int64_t n)
{
    EACH_ENTRY(u) to[u] = entry_of(piece, u) < n ? from[entry_of(piece, u)] : V(0);
}

template <typename V>
static __device__ __forceinline__ void store(V *to, const V (&from)[PER_THREAD], int64_t piece, int64_t n)
{
    EACH_ENTRY(u) if (entry_of(piece, u) < n) to[entry_of(piece, u)] = from[u];
}

/* ---- sums --------------------------------------------------------------------------------------- */

static __device__ __forceinline__ double larger(double a, double b)
{
    return b > a ? b : a; /* NaN of b is passed over: it shows in another sum */
}

/* Whether sum s is no sum but a maximum. */
static __device__ __forceinline__ bool is_maximum(const spryi_cg_state *, int)
{
    return false;
}
static __device__ __forceinline__ bool is_maximum(const spryi_rank_state *state, int s)
{
    return s == 1 && state->norm == SPRY_NORM_INF;
}

/* What follows from sums: one function of iteration.h each. */
struct started {
    enum { SUMS = 3, ALL = 3 };
    typedef spryi_cg_state state;
    static __device__ void go(state *s, const double *sums)
    {
        spryi_cg_started(s, sums);
    }
};
struct dotted {
    enum { SUMS = 2, ALL = 4 };
    typedef spryi_cg_state state;
    static __device__ void go(state *s, const double *sums)
    {
        spryi_cg_both(s, sums + 2, sums);
    }
};
struct measured {
    enum { SUMS = 1, ALL = 1 };
    typedef spryi_cg_state state;
    static __device__ void go(state *s, const double *sums)
    {
        s->distance = sums[0];
    }
};
struct rank_started {
    enum { SUMS = 1, ALL = 1 };
    typedef spryi_rank_state state;
    static __device__ void go(state *s, const double *sums)
    {
        s->zero_mass = sums[0];
    }
};
struct rank_strided {
    enum { SUMS = 4, ALL = 4 };
    typedef spryi_rank_state state;
    static __device__ void go(state *s, const double *sums)
    {
        spryi_rank_strided(s, sums);
    }
};

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

/* The last block that has put its sums goes on with those of all blocks, and with others that lie behind them. */
template <typename WHAT>
static __device__ __forceinline__ void finish(typename WHAT::state *state, double *partials, double (&own)[WHAT::SUMS])
{
    __shared__ double scratch[2][WHAT::ALL * THREADS / 32];
    __shared__ int is_last;
    put_sums(state, partials, 0, own, scratch[0]);
    if (threadIdx.x == 0) {
        __threadfence(); /* the sums are seen before the arrival is */
        is_last = atomicInc(&state->arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    double sums[WHAT::ALL] = {};
#pragma unroll 4
    for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS)
#pragma unroll
        for (int s = 0; s < WHAT::ALL; s++) {
            const double partial = __ldcg(partials + (int64_t)s * gridDim.x + b);
            sums[s] = is_maximum(state, s) ? larger(sums[s], partial) : sums[s] + partial;
        }
    totals_of_block(state, sums, scratch[1]);
    if (threadIdx.x == 0) WHAT::go(state, sums);
}

/* ---- launches ----------------------------------------------------------------------------------- */

static spry_status enter(const spryi_vector_work *w, int *previous, spry_error *err)
{
    cudaError_t code = cudaGetDevice(previous);
    if (code == cudaSuccess && *previous != w->ordinal) code = cudaSetDevice(w->ordinal);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "device");
}

template <typename... PARAMETERS, typename... ARGUMENTS>
static void launch_pass(const spryi_vector_work *w, void (*kernel)(PARAMETERS...), ARGUMENTS... a)
{
    spryi_run_args args = {};
    args.device = w->ordinal;
    args.stream = w->stream;
    launch_early(&args, kernel, w->blocks > 0 ? w->blocks : 1, THREADS, 0, a...);
}

/* Runs a pass for the type V of the vectors, with the work's device current. */
#define LAUNCH_TYPED(w, kernel, ...) SPRY_BY_TYPE((w)->type, V, launch_pass(w, kernel<V>, __VA_ARGS__))

static spry_status leave(int previous, const char *pass, spry_error *err)
{
    spry_status status = launched(err, pass);
    (void)cudaSetDevice(previous);
    return status;
}

static spryi_cg_state *cg_state(const spryi_vector_work *w)
{
    return (spryi_cg_state *)w->state.data;
}
static spryi_rank_state *rank_state(const spryi_vector_work *w)
{
    return (spryi_rank_state *)w->state.data;
}
static double *partials_of(const spryi_vector_work *w)
{
    return (double *)w->partials.data;
}

/* ---- Conjugate Gradient ------------------------------------------------------------------------- */

template <typename V> static __global__ void start_kernel(spryi_cg_state *state, V *__restrict__ r, V *__restrict__ p,
                                                          const V *__restrict__ b, const V *__restrict__ q,
                                                          const V *__restrict__ D, int64_t n, double *partials)
{
    begin_pass();
    double sums[3] = {0, 0, 0};
    EACH_PIECE(piece, n)
    {
        V bs[PER_THREAD], qs[PER_THREAD], Ds[PER_THREAD], residuals[PER_THREAD], z[PER_THREAD];
        load(bs, b, piece, n);
        if (q) load(qs, q, piece, n);
        if (D) load(Ds, D, piece, n);
        EACH_ENTRY(u)
        {
            residuals[u] = q ? bs[u] - qs[u] : bs[u];
            z[u] = D ? Ds[u] * residuals[u] : residuals[u];
            sums[0] += (double)residuals[u] * (double)residuals[u];
            sums[1] += (double)residuals[u] * (double)z[u];
            sums[2] += (double)bs[u] * (double)bs[u];
        }
        store(r, residuals, piece, n);
        store(p, z, piece, n);
    }
    finish<started>(state, partials, sums);
}

static spry_status start(const spryi_vector_work *w, void *r, void *p, const void *b, const void *q, const void *D,
                         spry_error *err)
{
    int previous;
    spry_status status = enter(w, &previous, err);
    if (status != SPRY_OK) return status;
    LAUNCH_TYPED(w, start_kernel, cg_state(w), (V *)r, (V *)p, (const V *)b, (const V *)q, (const V *)D, w->n,
                 partials_of(w));
    return leave(previous, "cg start", err);
}

template <typename V> static __global__ void dots_kernel(spryi_cg_state *state, const V *__restrict__ p,
                                                         const V *__restrict__ q, const V *__restrict__ D, int64_t n,
                                                         double *partials)
{
    begin_pass();
    if (state->stop && !state->turn) return;
    const bool is_due = !state->stop && (state->turn || !state->halves); /* p is the next direction */
    double sums[2] = {0, 0};
    if (is_due) EACH_PIECE(piece, n)
        {
            V ps[PER_THREAD], qs[PER_THREAD], Ds[PER_THREAD];
            load(ps, p, piece, n);
            load(qs, q, piece, n);
            if (D) load(Ds, D, piece, n);
            EACH_ENTRY(u)
            {
                double at = (double)qs[u];
                sums[0] += (double)ps[u] * at;
                sums[1] += D ? (double)Ds[u] * at * at : at * at;
            }
        }
    finish<dotted>(state, partials, sums);
}

static spry_status dots(const spryi_vector_work *w, const void *p, const void *q, const void *D, spry_error *err)
{
    int previous;
    spry_status status = enter(w, &previous, err);
    if (status != SPRY_OK) return status;
    LAUNCH_TYPED(w, dots_kernel, cg_state(w), (const V *)p, (const V *)q, (const V *)D, w->n, partials_of(w));
    return leave(previous, "cg dots", err);
}

/* The second half of a step that is done in halves. */
template <typename V> static __device__ void turn_pieces(const spryi_cg_state *state, V *__restrict__ x,
                                                         const V *__restrict__ r, V *__restrict__ p,
                                                         const V *__restrict__ D, int64_t n)
{
    const V alpha = (V)state->alpha, beta = (V)state->beta;
    EACH_PIECE(piece, n)
    {
        V xs[PER_THREAD], ps[PER_THREAD], rs[PER_THREAD], Ds[PER_THREAD];
        load(xs, x, piece, n);
        load(ps, p, piece, n);
        load(rs, r, piece, n);
        if (D) load(Ds, D, piece, n);
        EACH_ENTRY(u)
        {
            xs[u] += alpha * ps[u];
            ps[u] = (D ? Ds[u] * rs[u] : rs[u]) + beta * ps[u];
        }
        store(x, xs, piece, n);
        store(p, ps, piece, n);
    }
}

/* The first half of a step, or all of it. */
template <bool WHOLE, typename V>
static __device__ void step_pieces(const spryi_cg_state *state, V *__restrict__ x, V *__restrict__ r, V *__restrict__ p,
                                   const V *__restrict__ q, const V *__restrict__ D, int64_t n, double (&sums)[2])
{
    const V alpha = (V)state->alpha, beta = (V)state->beta;
    EACH_PIECE(piece, n)
    {
        V xs[PER_THREAD], rs[PER_THREAD], ps[PER_THREAD], qs[PER_THREAD], Ds[PER_THREAD];
        load(rs, r, piece, n);
        load(qs, q, piece, n);
        if (D) load(Ds, D, piece, n);
        if (WHOLE) load(xs, x, piece, n);
        if (WHOLE) load(ps, p, piece, n);
        EACH_ENTRY(u)
        {
            rs[u] -= alpha * qs[u];
            V z = D ? Ds[u] * rs[u] : rs[u];
            sums[0] += (double)rs[u] * (double)rs[u];
            sums[1] += (double)rs[u] * (double)z;
            xs[u] += alpha * ps[u];
            ps[u] = z + beta * ps[u];
        }
        store(r, rs, piece, n);
        if (WHOLE) store(x, xs, piece, n);
        if (WHOLE) store(p, ps, piece, n);
    }
}

/* A step, its first half, or, in the round that follows, its second. Its sums are for the next dots. */
template <typename V> static __global__ void step_kernel(const spryi_cg_state *state, V *__restrict__ x,
                                                         V *__restrict__ r, V *__restrict__ p, const V *__restrict__ q,
                                                         const V *__restrict__ D, int64_t n, double *partials)
{
    __shared__ double scratch[2 * THREADS / 32];
    double sums[2] = {0, 0};
    begin_pass();
    if (state->turn) {
        turn_pieces(state, x, r, p, D, n);
        return;
    }
    if (state->stop) return;
    if (state->halves)
        step_pieces<false>(state, x, r, p, q, D, n, sums);
    else
        step_pieces<true>(state, x, r, p, q, D, n, sums);
    put_sums(state, partials, 2, sums, scratch);
}

static spry_status step(const spryi_vector_work *w, void *x, void *r, void *p, const void *q, const void *D,
                        spry_error *err)
{
    int previous;
    spry_status status = enter(w, &previous, err);
    if (status != SPRY_OK) return status;
    LAUNCH_TYPED(w, step_kernel, cg_state(w), (V *)x, (V *)r, (V *)p, (const V *)q, (const V *)D, w->n, partials_of(w));
    return leave(previous, "cg step", err);
}

static spry_status clear(const spryi_vector_work *w, void *x, spry_error *err)
{
    int previous;
    spry_status status = enter(w, &previous, err);
    if (status != SPRY_OK) return status;
    const size_t bytes = (size_t)w->n * spry_type_bytes(w->type);
    cudaError_t code = bytes == 0 ? cudaSuccess : cudaMemsetAsync(x, 0, bytes, (cudaStream_t)w->stream);
    if (code != cudaSuccess) status = spry_cuda_fail(err, code, "clear");
    (void)cudaSetDevice(previous);
    return status;
}

template <typename V> static __global__ void distance_kernel(spryi_cg_state *state, const V *__restrict__ b,
                                                             const V *__restrict__ q, int64_t n, double *partials)
{
    begin_pass();
    double sums[1] = {0};
    EACH_PIECE(piece, n)
    {
        V bs[PER_THREAD], qs[PER_THREAD];
        load(bs, b, piece, n);
        load(qs, q, piece, n);
        EACH_ENTRY(u)
        {
            double d = (double)bs[u] - (double)qs[u];
            sums[0] += d * d;
        }
    }
    finish<measured>(state, partials, sums);
}

static spry_status distance(const spryi_vector_work *w, const void *b, const void *q, spry_error *err)
{
    int previous;
    spry_status status = enter(w, &previous, err);
    if (status != SPRY_OK) return status;
    LAUNCH_TYPED(w, distance_kernel, cg_state(w), (const V *)b, (const V *)q, w->n, partials_of(w));
    return leave(previous, "cg distance", err);
}

/* ---- PageRank ----------------------------------------------------------------------------------- */

template <typename V> static __global__ void rank_start_kernel(spryi_rank_state *state, V *__restrict__ z,
                                                               V *__restrict__ y, const V *__restrict__ s, int64_t n,
                                                               double *partials)
{
    begin_pass();
    const V x = (V)state->shift_before;
    double sums[1] = {0};
    EACH_PIECE(piece, n)
    {
        V factors[PER_THREAD], none[PER_THREAD], zs[PER_THREAD];
        if (s) load(factors, s, piece, n);
        EACH_ENTRY(u)
        {
            none[u] = 0;
            zs[u] = s ? factors[u] * x : x;
            if (s && factors[u] == 0 && entry_of(piece, u) < n) sums[0] += (double)x;
        }
        store(y, none, piece, n);
        store(z, zs, piece, n);
    }
    finish<rank_started>(state, partials, sums);
}

static spry_status rank_start(const spryi_vector_work *w, void *z, void *y, const void *s, spry_error *err)
{
    int previous;
    spry_status status = enter(w, &previous, err);
    if (status != SPRY_OK) return status;
    LAUNCH_TYPED(w, rank_start_kernel, rank_state(w), (V *)z, (V *)y, (const V *)s, w->n, partials_of(w));
    return leave(previous, "pagerank start", err);
}

/* z may be y_before: no __restrict__ for either. */
template <typename V> static __device__ void finish_pieces(const spryi_rank_state *state, V *x, const V *y, int64_t n)
{
    const V alpha = (V)state->alpha, shift = (V)state->shift_before;
    EACH_PIECE(piece, n)
    {
        V ys[PER_THREAD];
        load(ys, y, piece, n);
        EACH_ENTRY(u) ys[u] = alpha * ys[u] + shift;
        store(x, ys, piece, n);
    }
}

template <typename V> static __global__ void rank_step_kernel(spryi_rank_state *state, V *z, const V *y_before,
                                                              const V *__restrict__ y, const V *__restrict__ s,
                                                              int64_t n, double *partials)
{
    double sums[4] = {0, 0, 0, 0};
    begin_pass();
    if (state->finished) return;
    if (state->stop) {
        finish_pieces(state, z, y_before, n);
        finish<rank_strided>(state, partials, sums);
        return;
    }
    const V alpha = (V)state->alpha, shift = (V)spryi_rank_shift(state), shift_before = (V)state->shift_before;
    const spry_norm norm = state->norm;
    EACH_PIECE(piece, n)
    {
        V ys[PER_THREAD], before[PER_THREAD], factors[PER_THREAD];
        load(ys, y, piece, n);
        load(before, y_before, piece, n);
        if (s) load(factors, s, piece, n);
        EACH_ENTRY(u)
        {
            V x = alpha * ys[u] + shift, x_before = alpha * before[u] + shift_before;
            double d = fabs((double)x - (double)x_before), at = (double)x;
            before[u] = s ? factors[u] * x : x;
            if (entry_of(piece, u) >= n) continue; /* the shifts alone are no entry */
            sums[0] += d;
            if (norm == SPRY_NORM_2) sums[1] += d * d;
            if (norm == SPRY_NORM_INF) sums[1] = larger(sums[1], d);
            sums[2] += at;
            if (s && factors[u] == 0) sums[3] += at;
        }
        store(z, before, piece, n);
    }
    finish<rank_strided>(state, partials, sums);
}

static spry_status rank_step(const spryi_vector_work *w, void *z, void *y_before, const void *y, const void *s,
                             spry_error *err)
{
    int previous;
    spry_status status = enter(w, &previous, err);
    if (status != SPRY_OK) return status;
    LAUNCH_TYPED(w, rank_step_kernel, rank_state(w), (V *)z, (const V *)y_before, (const V *)y, (const V *)s, w->n,
                 partials_of(w));
    return leave(previous, "pagerank step", err);
}

template <typename V>
static __global__ void rank_finish_kernel(const spryi_rank_state *state, V *x, const V *y, int64_t n)
{
    begin_pass();
    finish_pieces(state, x, y, n);
}

static spry_status rank_finish(const spryi_vector_work *w, void *x, const void *y, spry_error *err)
{
    int previous;
    spry_status status = enter(w, &previous, err);
    if (status != SPRY_OK) return status;
    LAUNCH_TYPED(w, rank_finish_kernel, rank_state(w), (V *)x, (const V *)y, w->n);
    return leave(previous, "pagerank finish", err);
}

/* In the order of the struct: C++17 has no names here. */
extern const spryi_vector_ops spry_cuda_vector_ops;
const spryi_vector_ops spry_cuda_vector_ops = {TILE,
                                               MOST_BLOCKS,
                                               SPRYI_MOST_AHEAD,
                                               start,
                                               dots,
                                               step,
                                               NULL,
                                               clear,
                                               distance,
                                               rank_start,
                                               rank_step,
                                               rank_finish,
                                               spry_cuda_record_rounds,
                                               spry_cuda_replay_rounds,
                                               spry_cuda_unseen_rounds,
                                               spry_cuda_see_rounds,
                                               spry_cuda_forget_rounds};
