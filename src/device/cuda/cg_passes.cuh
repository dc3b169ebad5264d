/* Shared parts of the passes of Conjugate Gradient on a GPU: the vectors of a column, and state updates. */
#pragma once

#include "device/cuda/passes.cuh"

/* No sum is a maximum. */
static __device__ __forceinline__ bool is_maximum(const spryi_cg_state *, int)
{
    return false;
}

/* State updates by the functions of iteration.h. */
AFTER_SUMS(started, spryi_cg_state, 3, 3, spryi_cg_started(s, sums))
AFTER_SUMS(dotted, spryi_cg_state, 2, 4, spryi_cg_stepped_and_dotted(s, sums + 2, sums))
/* State, sums and vectors of a column. */
template <typename V> struct column {
    spryi_cg_state *state;
    double *partials;
    V *x, *r, *p, *q, *z, *z_before;
    const V *b, *D;
    const double *wide; /* b if it is f64; else NULL */
    int64_t n;
};

/* Returns the first column, with addresses that the host passes to kernels. */
template <typename V> static column<V> first_column(const spryi_vector_work *w, const spryi_cg_vectors *v)
{
    return {(spryi_cg_state *)w->state.data,
            (double *)w->partials.data,
            (V *)v->x,
            (V *)v->r,
            (V *)v->p,
            (V *)v->q,
            (V *)v->z,
            (V *)v->z_before,
            (const V *)v->b,
            (const V *)v->D,
            v->b_is_f64 ? (const double *)v->b : NULL,
            w->n};
}

/*
 * Moves the first column's addresses to the column of this thread block. Vectors that a pass does not use may be NULL.
 */
template <typename V> static __device__ __forceinline__ column<V> of_block(column<V> c)
{
    const int64_t at = blockIdx.y * c.n;
    c.state += blockIdx.y;
    c.partials += (int64_t)blockIdx.y * gridDim.x * SPRYI_MOST_SUMS;
    c.x += at;
    c.r += at;
    c.p += at;
    c.z += at;
    c.z_before += at;
    c.b += at;
    if (c.q) c.q += at;
    return c;
}
