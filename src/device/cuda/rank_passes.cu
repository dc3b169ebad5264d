/*
 * PageRank on a GPU: the passes of spryi_rank_passes, each one kernel (passes.cuh).
 * Cost: 4 numbers a row an iteration, 3 where columns sum to 1 as they stand, at the memory's bandwidth.
 */
#include "device/cuda/passes.cuh"
#include "spry/solve.h"

/* Whether sum s is no sum but a maximum. */
static __device__ __forceinline__ bool is_maximum(const spryi_rank_state *state, int s)
{
    return s == 1 && state->norm == SPRY_NORM_INF;
}

/* What follows from sums: one function of iteration.h each. */
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

static spryi_rank_state *rank_state(const spryi_vector_work *w)
{
    return (spryi_rank_state *)w->state.data;
}

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

extern const spryi_rank_passes spry_cuda_rank_passes;
const spryi_rank_passes spry_cuda_rank_passes = {rank_start, rank_step, rank_finish};
