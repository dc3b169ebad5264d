/*
 * Conjugate Gradient on a GPU with M = blocks on the diagonal: the passes start, dots and step as in cg_passes.cu, but
 * with z = M r instead of z = D r.
 * Idea: a thread has a block of M and its rows, so that z remains in registers. beta can be predicted as with M = D:
 * (r - alpha q).M(r - alpha q) = alpha^2 q.Mq - rz, since z.q = p.q.
 * Work distribution: consecutive threads have consecutive blocks of M, in a grid-stride loop. A thread's rows are
 * consecutive, so a warp's loads of row j of its blocks have a stride of the block size. The loads of the other rows
 * find the same sectors in the L1 cache. Entries of M are stored by their position in the block, so that a warp's loads
 * are coalesced.
 * Cost: 9 elements per row, and the entries of M twice: 2*(size + 1)/2 entries per row.
 */
#include "device/cuda/cg_passes.cuh"

enum { MOST_SIZE = 4 };

/* Loads the elements of `from` in the B rows of block t. Elements past the end are 0. */
template <int B, typename V>
static __device__ __forceinline__ void load_rows(V (&to)[B], const V *from, int64_t t, int64_t n)
{
#pragma unroll
    for (int j = 0; j < B; j++) to[j] = t * B + j < n ? from[t * B + j] : V(0);
}

template <int B, typename V>
static __device__ __forceinline__ void store_rows(V *to, const V (&from)[B], int64_t t, int64_t n)
{
#pragma unroll
    for (int j = 0; j < B; j++)
        if (t * B + j < n) to[t * B + j] = from[j];
}

/* A block of M, as its lower triangle. */
template <typename E, int B> struct block {
    E entries[B * (B + 1) / 2];
    __device__ __forceinline__ void load_from(const spryi_cg_blocks &M, int64_t t)
    {
#pragma unroll
        for (int e = 0; e < B * (B + 1) / 2; e++) entries[e] = __ldg((const E *)M.entries + e * M.count + t);
    }
    template <typename V> __device__ __forceinline__ void multiply(V (&z)[B], const V (&r)[B]) const
    {
#pragma unroll
        for (int i = 0; i < B; i++) {
            V sum = 0;
#pragma unroll
            for (int j = 0; j < B; j++) sum += (V)entries[i > j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i] * r[j];
            z[i] = sum;
        }
    }
};

#define EACH_BLOCK(t, M)                                                                                               \
    for (int64_t t = blockIdx.x * (int64_t)THREADS + threadIdx.x; t < (M).count; t += gridDim.x * (int64_t)THREADS)

template <typename V, typename E, int B> static __global__ void start_blocks_kernel(column<V> first, spryi_cg_blocks M)
{
    begin_pass();
    const column<V> c = of_block(first);
    double sums[3] = {0, 0, 0};
    EACH_BLOCK(t, M)
    {
        block<E, B> m;
        V b[B], q[B] = {}, r[B], z[B];
        m.load_from(M, t);
        load_rows<B>(b, c.b, t, c.n);
        if (c.q) load_rows<B>(q, (const V *)c.q, t, c.n);
#pragma unroll
        for (int j = 0; j < B; j++) r[j] = b[j] - q[j];
        m.multiply(z, r);
#pragma unroll
        for (int j = 0; j < B; j++) {
            sums[0] += (double)r[j] * (double)r[j];
            sums[1] += (double)r[j] * (double)z[j];
            sums[2] += (double)b[j] * (double)b[j];
        }
        store_rows<B>(c.r, r, t, c.n);
        store_rows<B>(c.p, z, t, c.n);
    }
    finish<started>(c.state, c.partials, sums);
}

template <typename V, typename E, int B> static __global__ void dots_blocks_kernel(column<V> first, spryi_cg_blocks M)
{
    begin_pass();
    const column<V> c = of_block(first);
    const spryi_cg_state *state = c.state;
    if (state->stop && !state->second_half) return;
    const bool is_due = !state->stop && (state->second_half || !state->in_halves); /* p is the next direction */
    double sums[2] = {0, 0};
    if (is_due) EACH_BLOCK(t, M)
        {
            block<E, B> m;
            V p[B], q[B], z[B];
            m.load_from(M, t);
            load_rows<B>(p, (const V *)c.p, t, c.n);
            load_rows<B>(q, (const V *)c.q, t, c.n);
            m.multiply(z, q);
#pragma unroll
            for (int j = 0; j < B; j++) {
                sums[0] += (double)p[j] * (double)q[j];
                sums[1] += (double)q[j] * (double)z[j];
            }
        }
    finish<dotted>(c.state, c.partials, sums);
}

/* Computes the second half of a step. */
template <typename E, int B, typename V>
static __device__ void second_half_blocks(const column<V> &c, const spryi_cg_blocks &M)
{
    const V alpha = (V)c.state->alpha, beta = (V)c.state->beta;
    EACH_BLOCK(t, M)
    {
        block<E, B> m;
        V x[B], p[B], r[B], z[B];
        m.load_from(M, t);
        load_rows<B>(x, (const V *)c.x, t, c.n);
        load_rows<B>(p, (const V *)c.p, t, c.n);
        load_rows<B>(r, (const V *)c.r, t, c.n);
        m.multiply(z, r);
#pragma unroll
        for (int j = 0; j < B; j++) {
            x[j] += alpha * p[j];
            p[j] = z[j] + beta * p[j];
        }
        store_rows<B>(c.x, x, t, c.n);
        store_rows<B>(c.p, p, t, c.n);
    }
}

/* Computes a step, or its first half, which does not change x and p. */
template <typename E, int B, typename V>
static __device__ void step_blocks(const column<V> &c, const spryi_cg_blocks &M, bool is_whole, double (&sums)[2])
{
    const V alpha = (V)c.state->alpha, beta = (V)c.state->beta;
    EACH_BLOCK(t, M)
    {
        block<E, B> m;
        V x[B] = {}, p[B] = {}, r[B], q[B], z[B];
        m.load_from(M, t);
        load_rows<B>(r, (const V *)c.r, t, c.n);
        load_rows<B>(q, (const V *)c.q, t, c.n);
        if (is_whole) load_rows<B>(x, (const V *)c.x, t, c.n);
        if (is_whole) load_rows<B>(p, (const V *)c.p, t, c.n);
#pragma unroll
        for (int j = 0; j < B; j++) r[j] -= alpha * q[j];
        m.multiply(z, r);
#pragma unroll
        for (int j = 0; j < B; j++) {
            sums[0] += (double)r[j] * (double)r[j];
            sums[1] += (double)r[j] * (double)z[j];
            x[j] += alpha * p[j];
            p[j] = z[j] + beta * p[j];
        }
        store_rows<B>(c.r, r, t, c.n);
        if (is_whole) store_rows<B>(c.x, x, t, c.n);
        if (is_whole) store_rows<B>(c.p, p, t, c.n);
    }
}

template <typename V, typename E, int B> static __global__ void step_blocks_kernel(column<V> first, spryi_cg_blocks M)
{
    __shared__ double scratch[2 * THREADS / 32];
    double sums[2] = {0, 0};
    begin_pass();
    const column<V> c = of_block(first);
    if (c.state->second_half) {
        second_half_blocks<E, B>(c, M);
        return;
    }
    if (c.state->stop) return;
    step_blocks<E, B>(c, M, !c.state->in_halves, sums);
    put_sums(c.state, c.partials, 2, sums, scratch);
}

/* ---- launches ----------------------------------------------------------------------------------- */

/* Launches the instance for V (type of vectors), E (type of M's entries) and the size of M's blocks. */
#define LAUNCH_OF_SIZE(w, v, M, kernel, V, E)                                                                          \
    switch ((M)->size) {                                                                                               \
    case 2: launch_pass(w, kernel<V, E, 2>, first_column<V>(w, v), *(M)); break;                                       \
    case 3: launch_pass(w, kernel<V, E, 3>, first_column<V>(w, v), *(M)); break;                                       \
    default: launch_pass(w, kernel<V, E, MOST_SIZE>, first_column<V>(w, v), *(M));                                     \
    }

#define PASS_OF_BLOCKS(name, kernel, what)                                                                             \
    static spry_status name(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_blocks *M,           \
                            spry_error *err)                                                                           \
    {                                                                                                                  \
        int previous;                                                                                                  \
        SPRYI_OK_OR_RETURN(enter(w, &previous, err));                                                                  \
        if (w->type == SPRY_F32)                                                                                       \
            LAUNCH_OF_SIZE(w, v, M, kernel, float, float)                                                              \
        else if (M->type == SPRY_F32)                                                                                  \
            LAUNCH_OF_SIZE(w, v, M, kernel, double, float)                                                             \
        else                                                                                                           \
            LAUNCH_OF_SIZE(w, v, M, kernel, double, double)                                                            \
        return leave(previous, what, err);                                                                             \
    }
PASS_OF_BLOCKS(start, start_blocks_kernel, "cg start, blocks")
PASS_OF_BLOCKS(dots, dots_blocks_kernel, "cg dots, blocks")
PASS_OF_BLOCKS(step, step_blocks_kernel, "cg step, blocks")

extern const spryi_cg_block_passes spry_cuda_cg_block_passes;
const spryi_cg_block_passes spry_cuda_cg_block_passes = {2, MOST_SIZE, start, dots, step};
