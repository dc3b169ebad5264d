/*
 * Conjugate Gradient on a GPU: the passes of spryi_cg_passes, each one kernel (passes.cuh).
 * Cost: 9 elements per row and iteration, 11 with jacobi, at memory bandwidth.
 */
#include "device/cuda/cg_passes.cuh"

enum { BLOCKS_AT_ONCE = 4 /* blocks of round_kernel per multiprocessor */ };

/* State updates that only these passes use. */
AFTER_SUMS(shrunk, spryi_cg_state, 1, 1, spryi_cg_shrunk(s, sums))
AFTER_SUMS(weighed, spryi_cg_state, 1, 1, spryi_cg_weighed(s, sums))
AFTER_SUMS(replaced, spryi_cg_state, 2, 2, spryi_cg_replaced(s, sums))
AFTER_SUMS(measured, spryi_cg_state, 1, 1, s->distance = sums[0])

template <typename V> static __device__ __forceinline__ void load_f64(double (&to)[PER<V>], const V *narrow,
                                                                      const double *wide, int64_t piece, int64_t n)
{
    V values[PER<V>];
    if (wide) {
        load(to, wide, piece, n);
        return;
    }
    load(values, narrow, piece, n);
    EACH_ENTRY(V, u) to[u] = (double)values[u];
}

template <typename V> static __global__ void start_kernel(column<V> first)
{
    begin_pass();
    const column<V> c = of_block(first);
    const V *__restrict__ b = c.b, *__restrict__ q = c.q, *__restrict__ D = c.D;
    double sums[3] = {0, 0, 0};
    EACH_PIECE(V, piece, c.n)
    {
        V qs[PER<V>], Ds[PER<V>], residuals[PER<V>], z[PER<V>];
        double bs[PER<V>];
        load_f64(bs, b, c.wide, piece, c.n);
        if (q) load(qs, q, piece, c.n);
        if (D) load(Ds, D, piece, c.n);
        EACH_ENTRY(V, u)
        {
            residuals[u] = q ? (V)bs[u] - qs[u] : (V)bs[u];
            z[u] = D ? Ds[u] * residuals[u] : residuals[u];
            sums[0] += (double)residuals[u] * (double)residuals[u];
            sums[1] += (double)residuals[u] * (double)z[u];
            sums[2] += bs[u] * bs[u];
        }
        store(c.r, residuals, piece, c.n);
        store(c.p, z, piece, c.n);
    }
    finish<started>(c.state, c.partials, sums);
}

template <typename V> static __device__ __forceinline__ void dots_pieces(const column<V> &c, double (&sums)[2])
{
    const V *__restrict__ p = c.p, *__restrict__ q = c.q, *__restrict__ D = c.D;
    EACH_PIECE(V, piece, c.n)
    {
        V ps[PER<V>], qs[PER<V>], Ds[PER<V>];
        load(ps, p, piece, c.n);
        load(qs, q, piece, c.n);
        if (D) load(Ds, D, piece, c.n);
        EACH_ENTRY(V, u)
        {
            double at = (double)qs[u];
            sums[0] += (double)ps[u] * at;
            sums[1] += D ? (double)Ds[u] * at * at : at * at;
        }
    }
}

template <typename V> static __global__ void dots_kernel(column<V> first)
{
    begin_pass();
    const column<V> c = of_block(first);
    const spryi_cg_state *state = c.state;
    if (state->stop && !state->second_half) return;
    const bool is_due = !state->stop && (state->second_half || !state->in_halves); /* p is the next direction */
    double sums[2] = {0, 0};
    if (is_due) dots_pieces(c, sums);
    finish<dotted>(c.state, c.partials, sums);
}

/* Computes the second half of a step. */
template <typename V> static __device__ void second_half_pieces(const column<V> &c, V *__restrict__ x,
                                                                V *__restrict__ p, const V *__restrict__ r,
                                                                const V *__restrict__ D)
{
    const V alpha = (V)c.state->alpha, beta = (V)c.state->beta;
    EACH_PIECE(V, piece, c.n)
    {
        V xs[PER<V>], ps[PER<V>], rs[PER<V>], Ds[PER<V>];
        load_streaming(xs, x, piece, c.n);
        load(ps, p, piece, c.n);
        load(rs, r, piece, c.n);
        if (D) load(Ds, D, piece, c.n);
        EACH_ENTRY(V, u)
        {
            xs[u] += alpha * ps[u];
            ps[u] = (D ? Ds[u] * rs[u] : rs[u]) + beta * ps[u];
        }
        store_streaming(x, xs, piece, c.n);
        store(p, ps, piece, c.n);
    }
}

/* Computes a whole step if WHOLE is true, else its first half. */
template <bool WHOLE, typename V>
static __device__ void step_pieces(const column<V> &c, V *__restrict__ x, V *__restrict__ r, V *__restrict__ p,
                                   const V *__restrict__ q, const V *__restrict__ D, double (&sums)[2])
{
    const V alpha = (V)c.state->alpha, beta = (V)c.state->beta;
    EACH_PIECE(V, piece, c.n)
    {
        V xs[PER<V>], rs[PER<V>], ps[PER<V>], qs[PER<V>], Ds[PER<V>];
        load(rs, r, piece, c.n);
        load(qs, q, piece, c.n);
        if (D) load(Ds, D, piece, c.n);
        if (WHOLE) load_streaming(xs, x, piece, c.n);
        if (WHOLE) load(ps, p, piece, c.n);
        EACH_ENTRY(V, u)
        {
            rs[u] -= alpha * qs[u];
            V z = D ? Ds[u] * rs[u] : rs[u];
            sums[0] += (double)rs[u] * (double)rs[u];
            sums[1] += (double)rs[u] * (double)z;
            xs[u] += alpha * ps[u];
            ps[u] = z + beta * ps[u];
        }
        store(r, rs, piece, c.n);
        if (WHOLE) store_streaming(x, xs, piece, c.n);
        if (WHOLE) store(p, ps, piece, c.n);
    }
}

/*
 * Computes a step or its first half. In the round after a first half, computes the second half. The next dots read the
 * sums.
 */
template <typename V> static __device__ __forceinline__ void step_of(const column<V> &c, double *scratch)
{
    double sums[2] = {0, 0};
    if (c.state->second_half) {
        second_half_pieces(c, c.x, c.p, c.r, c.D);
        return;
    }
    if (c.state->stop) return;
    if (c.state->in_halves)
        step_pieces<false>(c, c.x, c.r, c.p, c.q, c.D, sums);
    else
        step_pieces<true>(c, c.x, c.r, c.p, c.q, c.D, sums);
    put_sums(c.state, c.partials, 2, sums, scratch);
}

template <typename V> static __global__ void step_kernel(column<V> first)
{
    __shared__ double scratch[2 * THREADS / 32];
    begin_pass();
    step_of(of_block(first), scratch);
}

/* ---- dots and step in one ------------------------------------------------------------------------ */

/*
 * Waits until all blocks of this column have arrived. Earlier writes of these blocks are visible afterwards. All blocks
 * must be running.
 */
static __device__ __forceinline__ void meet(spryi_cg_state *state)
{
    if (threadIdx.x == 0) {
        volatile unsigned *meetings = &state->meetings;
        const unsigned before = *meetings;
        __threadfence();
        if (atomicInc(&state->arrived, gridDim.x - 1) == gridDim.x - 1)
            atomicAdd(&state->meetings, 1u);
        else
            while (*meetings == before) {
            }
        __threadfence();
    }
    __syncthreads();
}

/*
 * Runs dots and step in one kernel. Blocks meet between them. Each block then computes alpha and beta from the sums, in
 * the same order as finish. Compared with two kernels, this saves a launch, and no block waits for a last block that
 * updates the state.
 */
template <typename V> static __global__ void __launch_bounds__(THREADS, BLOCKS_AT_ONCE) round_kernel(column<V> first)
{
    __shared__ double scratch[2][4 * THREADS / 32];
    __shared__ spryi_cg_state state;
    begin_pass();
    column<V> c = of_block(first);
    spryi_cg_state *const shared_state = c.state;
    double sums[2] = {0, 0}, all[4] = {0, 0, 0, 0}, of_step[2] = {0, 0};
    load_state(&state, shared_state);
    add_partials(shared_state, c.partials, 2, of_step);
    __syncthreads();
    c.state = &state;
    if (state.stop && !state.second_half) return;
    if (!state.stop && (state.second_half || !state.in_halves)) dots_pieces(c, sums);
    put_sums(shared_state, c.partials, 0, sums, scratch[0]);
    meet(shared_state);
    sums[0] = sums[1] = 0;
    add_partials(shared_state, c.partials, 0, sums);
    all[0] = sums[0];
    all[1] = sums[1];
    all[2] = of_step[0];
    all[3] = of_step[1];
    totals_of_block(shared_state, all, scratch[1]);
    if (threadIdx.x == 0) spryi_cg_stepped_and_dotted(&state, all + 2, all);
    __syncthreads();
    if (blockIdx.x == 0) store_state(shared_state, &state);
    step_of(c, scratch[0]);
}

/* ---- separate M --------------------------------------------------------------------------------- */

template <typename V> static __global__ void shrink_kernel(column<V> first)
{
    begin_pass();
    const column<V> c = of_block(first);
    if (c.state->stop) return;
    V *__restrict__ x = c.x, *__restrict__ r = c.r;
    const V *__restrict__ p = c.p, *__restrict__ q = c.q;
    const V alpha = (V)c.state->alpha;
    double sums[1] = {0};
    EACH_PIECE(V, piece, c.n)
    {
        V xs[PER<V>], rs[PER<V>], ps[PER<V>], qs[PER<V>];
        load_streaming(xs, x, piece, c.n);
        load(rs, r, piece, c.n);
        load(ps, p, piece, c.n);
        load(qs, q, piece, c.n);
        EACH_ENTRY(V, u)
        {
            xs[u] += alpha * ps[u];
            rs[u] -= alpha * qs[u];
            sums[0] += (double)rs[u] * (double)rs[u];
        }
        store_streaming(x, xs, piece, c.n);
        store(r, rs, piece, c.n);
    }
    finish<shrunk>(c.state, c.partials, sums);
}

template <typename V> static __global__ void weigh_kernel(column<V> first)
{
    begin_pass();
    const column<V> c = of_block(first);
    if (c.state->stop) return;
    double sums[1] = {0};
    EACH_PIECE(V, piece, c.n)
    {
        V rs[PER<V>], zs[PER<V>];
        load(rs, c.r, piece, c.n);
        load(zs, c.z, piece, c.n);
        EACH_ENTRY(V, u) sums[0] += (double)rs[u] * (double)zs[u];
    }
    finish<weighed>(c.state, c.partials, sums);
}

/* A thread computes one row of z. Threads whose rows are in the same block of M read its entries together. */
template <typename V> static __global__ void blocks_kernel(column<V> first, spryi_cg_blocks M)
{
    begin_pass();
    const column<V> c = of_block(first);
    if (c.state->stop) return;
    const V *__restrict__ entries = (const V *)M.entries, *__restrict__ r = c.r;
    double sums[1] = {0};
    EACH_PIECE(V, piece, c.n) EACH_ENTRY(V, u)
    {
        const int64_t at = entry_of<PER<V>>(piece, u);
        if (at >= c.n) continue;
        const int64_t t = c.n <= INT32_MAX ? (int64_t)((unsigned)at / (unsigned)M.size) : at / M.size;
        const int64_t from = t * M.size, left = c.n - from;
        const int i = (int)(at - from), rows = left < M.size ? (int)left : M.size;
        int64_t e = (int64_t)i * (i + 1) / 2;
        V z = 0;
        for (int j = 0; j < rows; j++) {
            z += entries[e * M.count + t] * r[from + j];
            e += j < i ? 1 : j + 1; /* continues along row i of the lower triangle, then down column i */
        }
        c.z[at] = z;
        sums[0] += (double)r[at] * (double)z;
    }
    finish<weighed>(c.state, c.partials, sums);
}

template <typename V> static __global__ void polynomial_kernel(column<V> first, int begins, spryi_cg_polynomial_step s)
{
    begin_pass();
    const column<V> c = of_block(first);
    if (c.state->stop) return;
    const V keep = (V)s.keep, add = (V)s.add;
    double sums[1] = {0};
    EACH_PIECE(V, piece, c.n)
    {
        V rs[PER<V>], Ds[PER<V>], qs[PER<V>], zs[PER<V>], before[PER<V>];
        load(rs, c.r, piece, c.n);
        load(Ds, c.D, piece, c.n);
        if (!begins) load(qs, c.q, piece, c.n);
        if (!begins) load(zs, c.z, piece, c.n);
        if (s.has_before) load(before, c.z_before, piece, c.n);
        EACH_ENTRY(V, u)
        {
            if (begins)
                before[u] = add * Ds[u] * rs[u];
            else
                before[u] = zs[u] + keep * (s.has_before ? zs[u] - before[u] : zs[u]) + add * Ds[u] * (rs[u] - qs[u]);
            sums[0] += (double)rs[u] * (double)before[u];
        }
        store(c.z_before, before, piece, c.n);
    }
    if (s.is_last) finish<weighed>(c.state, c.partials, sums);
}

template <typename V> static __global__ void set_direction_kernel(column<V> first)
{
    begin_pass();
    const column<V> c = of_block(first);
    if (c.state->stop) return;
    const V beta = (V)c.state->beta;
    EACH_PIECE(V, piece, c.n)
    {
        V ps[PER<V>], zs[PER<V>];
        load(ps, c.p, piece, c.n);
        load(zs, c.z, piece, c.n);
        EACH_ENTRY(V, u) ps[u] = zs[u] + beta * ps[u];
        store(c.p, ps, piece, c.n);
    }
}

/* ---- true residuals ------------------------------------------------------------------------------- */

template <typename V> static __global__ void distance_kernel(column<V> first)
{
    begin_pass();
    const column<V> c = of_block(first);
    double sums[1] = {0};
    EACH_PIECE(V, piece, c.n)
    {
        V bs[PER<V>], qs[PER<V>];
        load(bs, c.b, piece, c.n);
        load(qs, (const V *)c.q, piece, c.n);
        EACH_ENTRY(V, u)
        {
            double d = (double)bs[u] - (double)qs[u];
            sums[0] += d * d;
        }
    }
    finish<measured>(c.state, c.partials, sums);
}

template <typename V> static __global__ void collect_kernel(double *__restrict__ y, V *__restrict__ x, int64_t n)
{
    begin_pass();
    EACH_PIECE(V, piece, n)
    {
        V xs[PER<V>];
        double ys[PER<V>];
        load_streaming(xs, x, piece, n);
        load(ys, y, piece, n);
        EACH_ENTRY(V, u) ys[u] += (double)xs[u];
        EACH_ENTRY(V, u) xs[u] = 0;
        store(y, ys, piece, n);
        store_streaming(x, xs, piece, n);
    }
}

template <typename V> static __global__ void replace_kernel(column<V> c, const double *b, const double *q)
{
    begin_pass();
    const bool updates_p = !c.state->rules.separate_M;
    double sums[2] = {0, 0};
    EACH_PIECE(V, piece, c.n)
    {
        V rs[PER<V>], ps[PER<V>], Ds[PER<V>];
        double bs[PER<V>], qs[PER<V>];
        load(rs, c.r, piece, c.n);
        load(bs, b, piece, c.n);
        load(qs, q, piece, c.n);
        if (updates_p) load(ps, c.p, piece, c.n);
        if (c.D) load(Ds, c.D, piece, c.n);
        EACH_ENTRY(V, u)
        {
            const V residual = (V)(bs[u] - qs[u]), z = c.D ? Ds[u] * residual : residual;
            if (updates_p) ps[u] += z - (c.D ? Ds[u] * rs[u] : rs[u]);
            rs[u] = residual;
            sums[0] += (double)residual * (double)residual;
            sums[1] += (double)residual * (double)z;
        }
        store(c.r, rs, piece, c.n);
        if (updates_p) store(c.p, ps, piece, c.n);
    }
    finish<replaced>(c.state, c.partials, sums);
}

/* ---- launches ----------------------------------------------------------------------------------- */

/* Launches a pass over all columns. The variable arguments follow the column in the kernel's parameters. */
#define PASS_OF(w, v, name, kernel, ...)                                                                               \
    PASS(w, name, SPRY_BY_TYPE((w)->type, V, launch_pass(w, kernel<V>, first_column<V>(w, v), ##__VA_ARGS__)))
#define COLUMN_PASS(name, kernel, what)                                                                                \
    static spry_status name(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err)                    \
    {                                                                                                                  \
        PASS_OF(w, v, what, kernel);                                                                                   \
    }
COLUMN_PASS(start, start_kernel, "cg start")
COLUMN_PASS(dots, dots_kernel, "cg dots")
COLUMN_PASS(step, step_kernel, "cg step")
COLUMN_PASS(shrink, shrink_kernel, "cg shrink")
COLUMN_PASS(weigh, weigh_kernel, "cg weigh")
COLUMN_PASS(set_direction, set_direction_kernel, "cg set_direction")

/*
 * Returns whether all blocks of round_kernel can run at the same time and no block has more than one piece of a vector.
 * If blocks have more pieces, separate kernels hide more latency.
 */
template <typename V> static bool can_meet(const spryi_vector_work *w)
{
    int each = 0, processors = 0, cooperates = 0;
    if (w->n > (int64_t)MOST_BLOCKS * TILE) return false;
    cudaError_t code = cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, w->ordinal);
    if (code == cudaSuccess) code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, w->ordinal);
    if (code == cudaSuccess) code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, round_kernel<V>, THREADS, 0);
    return code == cudaSuccess && cooperates && (int64_t)each * processors >= w->blocks * w->columns;
}

static spry_status dots_and_step(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err)
{
    int previous;
    bool meets = false;
    SPRYI_OK_OR_RETURN(enter(w, &previous, err));
    SPRY_BY_TYPE(w->type, V, meets = can_meet<V>(w));
    if (meets) SPRY_BY_TYPE(w->type, V, launch_blocks(w, true, round_kernel<V>, first_column<V>(w, v)));
    SPRYI_OK_OR_RETURN(leave(previous, "cg dots and step", err));
    if (meets) return SPRY_OK;
    SPRYI_OK_OR_RETURN(dots(w, v, err));
    return step(w, v, err);
}

static spry_status blocks(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_blocks *M,
                          spry_error *err)
{
    PASS_OF(w, v, "cg blocks", blocks_kernel, *M);
}

static spry_status polynomial(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_polynomial_step *s,
                              spry_error *err)
{
    PASS_OF(w, v, "cg polynomial", polynomial_kernel, v->z ? 0 : 1, *s);
}

static spry_status distance(const spryi_vector_work *w, const void *b, const void *q, spry_error *err)
{
    spryi_cg_vectors v = {};
    v.b = b;
    v.q = (void *)q;
    PASS_OF(w, &v, "cg distance", distance_kernel);
}

static spry_status replace(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *b, const void *q,
                           spry_error *err)
{
    PASS_OF(w, v, "cg replacement", replace_kernel, (const double *)b, (const double *)q);
}

static spry_status collect(const spryi_vector_work *w, void *y, void *x, spry_error *err)
{
    PASS(w, "cg collect", SPRY_BY_TYPE(w->type, V, launch_pass(w, collect_kernel<V>, (double *)y, (V *)x, w->n)));
}

static spry_status clear(const spryi_vector_work *w, void *x, spry_error *err)
{
    int previous;
    spry_status status = enter(w, &previous, err);
    if (status != SPRY_OK) return status;
    const size_t bytes = (size_t)(w->n * w->columns) * spry_type_bytes(w->type);
    cudaError_t code = bytes == 0 ? cudaSuccess : cudaMemsetAsync(x, 0, bytes, (cudaStream_t)w->stream);
    if (code != cudaSuccess) status = spry_cuda_fail(err, code, "clear");
    (void)cudaSetDevice(previous);
    return status;
}

/* The functions are in the order of the struct's fields. next_direction is NULL, because step includes it. */
extern const spryi_cg_block_passes spry_cuda_cg_block_passes;
extern const spryi_cg_passes spry_cuda_cg_passes;
const spryi_cg_passes spry_cuda_cg_passes = {&spry_cuda_cg_block_passes,
                                             start,
                                             dots,
                                             step,
                                             NULL,
                                             dots_and_step,
                                             shrink,
                                             weigh,
                                             blocks,
                                             polynomial,
                                             set_direction,
                                             clear,
                                             distance,
                                             collect,
                                             replace};
