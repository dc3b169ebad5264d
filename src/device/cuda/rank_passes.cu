/*
 * PageRank on a GPU: the passes of spryi_rank_passes, each one kernel (passes.cuh).
 *
 * The step has instances for the 1-norm and the other norms, with and without v. Each reads and adds only what it
 * needs. A thread block starts the loads of its first piece before those of the state, so that both are in flight
 * together.
 * Cost: 4 elements per row and iteration, 3 without the factors s, and one more with v, at memory bandwidth.
 */
#include "device/cuda/passes.cuh"
#include "spry/solve.h"

/* No sum is a maximum, except the fourth sum of a step in the maximum norm. */
static __device__ __forceinline__ bool is_maximum(const spryi_rank_state *, int)
{
    return false;
}

/* The state in a step. ONE: the norm is the 1-norm, so that there is no fourth sum. */
template <bool ONE> struct state_of_step : spryi_rank_state {
};
template <bool ONE> static __device__ __forceinline__ bool is_maximum(const state_of_step<ONE> *state, int s)
{
    return !ONE && s == 3 && state->norm == SPRY_NORM_INF;
}

/* State updates. */
AFTER_SUMS(rank_weighed, spryi_rank_state, 1, 1, s->weight = sums[0])
AFTER_SUMS(rank_started, spryi_rank_state, 1, 1, s->dangling_mass = sums[0])
/*
 * Update after step. sums[0] is ||d||_1, sums[1] is the sum of x, sums[2] is its part in zero columns, and sums[3] is
 * the sum or maximum of another norm.
 */
template <bool ONE> struct rank_stepped {
    enum { OTHER = ONE ? 0 : 3, SUMS = ONE ? 3 : 4, ALL = SUMS };
    typedef state_of_step<ONE> state;
    static __device__ void go(state *s, const double *sums)
    {
        const double all[4] = {sums[0], ONE ? 0 : sums[OTHER], sums[1], sums[2]};
        spryi_rank_stepped(s, all);
    }
};

static spryi_rank_state *rank_state(const spryi_vector_work *w)
{
    return (spryi_rank_state *)w->state.data;
}

/* ---- weights ------------------------------------------------------------------------------------ */

template <typename V>
static __global__ void rank_weigh_kernel(spryi_rank_state *state, const V *__restrict__ v, int64_t n, double *partials)
{
    begin_pass();
    double sums[1] = {0};
    int64_t bad = INT64_MAX;
    EACH_PIECE(V, piece, n)
    {
        V vs[PER<V>];
        load(vs, v, piece, n);
        EACH_ENTRY(V, u)
        {
            sums[0] += (double)vs[u];
            if (!(vs[u] >= 0 && vs[u] - vs[u] == 0) && entry_of<PER<V>>(piece, u) < bad)
                bad = entry_of<PER<V>>(piece, u);
        }
    }
    if (bad != INT64_MAX) atomicMin((long long *)&state->bad, (long long)bad);
    finish<rank_weighed>(state, partials, sums);
}

static spry_status rank_weigh(const spryi_vector_work *w, const void *v, spry_error *err)
{
    PASS(w, "pagerank weights", LAUNCH_TYPED(w, rank_weigh_kernel, rank_state(w), (const V *)v, w->n, partials_of(w)));
}

template <typename V> static __global__ void rank_divide_kernel(const spryi_rank_state *state, V *v, int64_t n)
{
    begin_pass();
    const double weight = state->weight;
    EACH_PIECE(V, piece, n)
    {
        V vs[PER<V>];
        load(vs, v, piece, n);
        EACH_ENTRY(V, u) vs[u] = (V)((double)vs[u] / weight);
        store(v, vs, piece, n);
    }
}

static spry_status rank_divide(const spryi_vector_work *w, void *v, spry_error *err)
{
    PASS(w, "pagerank weights", LAUNCH_TYPED(w, rank_divide_kernel, rank_state(w), (V *)v, w->n));
}

/* ---- iteration ---------------------------------------------------------------------------------- */

/* z may be x, so neither pointer is __restrict__ */
template <typename V> static __global__ void rank_start_kernel(spryi_rank_state *state, V *z, V *__restrict__ y,
                                                               const V *x, const V *__restrict__ s,
                                                               const V *__restrict__ v, int64_t n, double *partials)
{
    begin_pass();
    const V shift = (V)state->shift_before;
    const double weight = state->weight;
    double sums[1] = {0};
    EACH_PIECE(V, piece, n)
    {
        V given[PER<V>], factors[PER<V>], vs[PER<V>], ys[PER<V>], zs[PER<V>];
        if (x) load(given, x, piece, n);
        if (s) load(factors, s, piece, n);
        if (v) load(vs, v, piece, n);
        EACH_ENTRY(V, u)
        {
            const V at = x ? (V)((double)given[u] / weight) : v ? shift * vs[u] : shift;
            ys[u] = x ? at : V(0);
            zs[u] = s ? factors[u] * at : at;
            if (s && factors[u] == 0 && entry_of<PER<V>>(piece, u) < n) sums[0] += (double)at;
        }
        store(y, ys, piece, n);
        store(z, zs, piece, n);
    }
    finish<rank_started>(state, partials, sums);
}

static spry_status rank_start(const spryi_vector_work *w, void *z, void *y, const void *x, const void *s, const void *v,
                              spry_error *err)
{
    PASS(w, "pagerank start",
         LAUNCH_TYPED(w, rank_start_kernel, rank_state(w), (V *)z, (V *)y, (const V *)x, (const V *)s, (const V *)v,
                      w->n, partials_of(w)));
}

/* x may be equal to y, so neither pointer is __restrict__ */
template <typename V>
static __device__ void finish_pieces(const spryi_rank_state *state, V *x, const V *y, const V *v, int64_t n)
{
    const V alpha = (V)state->alpha_before, shift = (V)state->shift_before;
    EACH_PIECE(V, piece, n)
    {
        V ys[PER<V>], vs[PER<V>];
        load(ys, y, piece, n);
        if (v) load(vs, v, piece, n);
        EACH_ENTRY(V, u) ys[u] = alpha * ys[u] + (v ? shift * vs[u] : shift);
        store(x, ys, piece, n);
    }
}

/* Vectors of a step. */
template <typename V> struct step_vectors {
    V *z;
    const V *y_before, *y, *s, *v;
    int64_t n;
};

/* A piece of the vectors of a step. */
template <typename V, bool PERSONAL> struct step_piece {
    V y[PER<V>], before[PER<V>], s[PER<V>], v[PER<V>];

    /* Loads a piece with all loads in flight. Without s, factors are 1. */
    __device__ __forceinline__ void load_from(const step_vectors<V> &from, int64_t piece)
    {
        load(y, from.y, piece, from.n);
        load(before, from.y_before, piece, from.n);
        if (from.s)
            load(s, from.s, piece, from.n);
        else
            EACH_ENTRY(V, u) s[u] = 1;
        if (PERSONAL) load(v, from.v, piece, from.n);
    }
};

template <typename V, bool ONE, bool PERSONAL>
static __global__ void rank_step_kernel(spryi_rank_state *state, step_vectors<V> at, double *partials)
{
    typedef rank_stepped<ONE> strided;
    double sums[strided::SUMS] = {};
    step_piece<V, PERSONAL> now;
    int64_t piece = blockIdx.x;
    begin_pass();
    now.load_from(at, piece);
    const int finished = state->finished, stop = state->stop;
    const V alpha = (V)state->alpha, shift = (V)spryi_rank_shift(state);
    const V alpha_before = (V)state->alpha_before, shift_before = (V)state->shift_before;
    const bool squares = !ONE && state->norm == SPRY_NORM_2;
    if (finished) return;
    if (stop) {
        finish_pieces(state, at.z, at.y_before, at.v, at.n);
        finish<strided>((typename strided::state *)state, partials, sums);
        return;
    }
    for (;;) {
        V z[PER<V>];
        EACH_ENTRY(V, u)
        {
            const V shifted = PERSONAL ? shift * now.v[u] : shift;
            const V shifted_before = PERSONAL ? shift_before * now.v[u] : shift_before;
            const V x = alpha * now.y[u] + shifted, x_before = alpha_before * now.before[u] + shifted_before;
            const double d = fabs((double)x - (double)x_before);
            double *of_norm = &sums[strided::OTHER];
            z[u] = now.s[u] * x;                              /* without factors, s is 1 and changes no bit */
            if (entry_of<PER<V>>(piece, u) >= at.n) continue; /* past the end, x is the shift, which must not count */
            sums[0] += d;
            sums[1] += (double)x;
            if (now.s[u] == 0) sums[2] += (double)x;
            if (!ONE) *of_norm = squares ? *of_norm + d * d : larger(*of_norm, d);
        }
        store(at.z, z, piece, at.n);
        piece += gridDim.x;
        if (piece * (THREADS * PER<V>) >= at.n) break;
        now.load_from(at, piece);
    }
    finish<strided>((typename strided::state *)state, partials, sums);
}

template <typename V> static void launch_step(const spryi_vector_work *w, const step_vectors<V> &at, spry_norm norm)
{
    void (*const kernels[])(spryi_rank_state *, step_vectors<V>,
                            double *) = {rank_step_kernel<V, false, false>, rank_step_kernel<V, false, true>,
                                         rank_step_kernel<V, true, false>, rank_step_kernel<V, true, true>};
    launch_pass(w, kernels[2 * (norm == SPRY_NORM_1) + (at.v != NULL)], rank_state(w), at, partials_of(w));
}

static spry_status rank_step(const spryi_vector_work *w, void *z, void *y_before, const void *y, const void *s,
                             const void *v, spry_norm norm, spry_error *err)
{
    PASS(w, "pagerank step",
         SPRY_BY_TYPE(w->type, V,
                      launch_step(w,
                                  step_vectors<V>{(V *)z, (const V *)y_before, (const V *)y, (const V *)s, (const V *)v,
                                                  w->n},
                                  norm)));
}

template <typename V>
static __global__ void rank_finish_kernel(const spryi_rank_state *state, V *x, const V *y, const V *v, int64_t n)
{
    begin_pass();
    finish_pieces(state, x, y, v, n);
}

static spry_status rank_finish(const spryi_vector_work *w, void *x, const void *y, const void *v, spry_error *err)
{
    PASS(w, "pagerank finish",
         LAUNCH_TYPED(w, rank_finish_kernel, rank_state(w), (V *)x, (const V *)y, (const V *)v, w->n));
}

extern const spryi_rank_passes spry_cuda_rank_passes;
const spryi_rank_passes spry_cuda_rank_passes = {rank_weigh, rank_divide, rank_start, rank_step, rank_finish};
