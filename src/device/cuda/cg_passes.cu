/*
 * Conjugate Gradient on a GPU: the passes of spryi_cg_passes, each one kernel (passes.cuh).
 * Cost: 9 numbers a row an iteration, 11 with jacobi, at the memory's bandwidth.
 */
#include "device/cuda/passes.cuh"

/* No sum is a maximum. */
static __device__ __forceinline__ bool is_maximum(const spryi_cg_state *, int)
{
    return false;
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

static spryi_cg_state *cg_state(const spryi_vector_work *w)
{
    return (spryi_cg_state *)w->state.data;
}

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

/* In the order of the struct: C++17 has no names here. */
extern const spryi_cg_passes spry_cuda_cg_passes;
const spryi_cg_passes spry_cuda_cg_passes = {start, dots, step, NULL, clear, distance};
