/*
 * Vector passes of CG and PageRank. A pass reads its vectors once and does all work that these vectors permit. Each
 * device has a table of passes; the table of GPUs is in the CUDA plug-in. The methods do not depend on where vectors
 * are stored. All vectors of a call have w->n elements of w->type, are in the memory of the work's device, and do not
 * overlap unless stated. A pass reads its factors from the state. It stores sums, and the factors that iteration.h
 * computes from them, in the state. If the state's `stop` is set, the passes of an iteration do nothing unless stated.
 *
 * A GPU's functions only start the work in w->stream. spryi_vector_get (solve/solve.h) waits for it.
 *
 * Sums are computed in f64 over blocks whose size depends only on the length. The sums of blocks are added in a fixed
 * order. Any number of threads gives the same bits.
 */
#pragma once

#include "core/device.h"
#include "device/iteration.h"
#include "spry/solve.h"
#include "spry/spry.h"

#include <stdbool.h>

enum {
    SPRYI_MOST_SUMS = 4,
    SPRYI_STATE_BYTES = sizeof(spryi_cg_state) > sizeof(spryi_rank_state) ? sizeof(spryi_cg_state)
                                                                          : sizeof(spryi_rank_state)
};

typedef struct spryi_vector_work {
    const struct spryi_vector_ops *ops;
    spry_context *context;
    int device;   /* number of the device, as in spry_vector */
    int ordinal;  /* index within the driver */
    void *stream; /* stream of a GPU; NULL: the default stream */
    spry_type type;
    int64_t n, blocks;
    int64_t columns; /* columns per pass; each has a state and sums */
    int threads;
    spry_vector partials; /* sums of each block: f64, in device memory, SPRYI_MOST_SUMS per block */
    spry_vector state;    /* in device memory: one spryi_cg_state or spryi_rank_state per column */
} spryi_vector_work;

typedef spry_status (*spryi_start_fn)(void *user, void *stream, spry_error *err);

/* Vectors of CG. Each contains all columns of n elements, one after the other, except D, which all columns share. */
typedef struct spryi_cg_vectors {
    void *x, *r, *p, *q;
    void *z, *z_before; /* used with a separate M */
    const void *b;
    bool b_is_f64; /* b is f64 although the work's type is not; start rounds b. Only for one column */
    const void *D; /* reciprocals of the diagonal; NULL: all are 1 */
} spryi_cg_vectors;

/*
 * M as blocks on the diagonal. Each block has `size` rows; the last block may have fewer. The blocks are symmetric, and
 * only their lower triangles are stored. Entry e of block t, counted row by row in the lower triangle, is element
 * e*count + t of `entries`.
 */
typedef struct spryi_cg_blocks {
    int size;
    spry_type type; /* type of entries: the vectors' type, or f32 for the passes of `within` */
    int64_t count;
    const void *entries;
} spryi_cg_blocks;

/*
 * A step of a polynomial. It replaces z_before by z + keep*(z - z_before) + add*D*(r - q). If z is NULL, z and q count
 * as zeros.
 */
typedef struct spryi_cg_polynomial_step {
    double keep, add;
    bool has_before; /* false: z_before counts as zeros */
    bool is_last;    /* also computes r.z_before, like weigh */
} spryi_cg_polynomial_step;

/* The passes start, dots and step of spryi_cg_passes for M in blocks instead of M = D. b has the vectors' type. */
typedef struct spryi_cg_block_passes {
    int least, most; /* smallest and largest size of blocks */
    spry_status (*start)(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_blocks *M,
                         spry_error *err);
    spry_status (*dots)(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_blocks *M,
                        spry_error *err);
    spry_status (*step)(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_blocks *M,
                        spry_error *err);
} spryi_cg_block_passes;

/*
 * Passes of Conjugate Gradient. With M = D, that is z = D r, the solver begins with start. Each iteration runs dots,
 * step and, if not NULL, next_direction. With a separate M, the solver begins with start, z = M r and set_direction.
 * Each iteration runs dots, shrink, z = M r and set_direction. z = M r is the pass `blocks`, or repeated passes
 * `polynomial`, or the caller's function followed by `weigh`.
 */
typedef struct spryi_cg_passes {
    const spryi_cg_block_passes *within; /* passes with M = blocks instead of D; NULL: blocks are a separate M */
    /* Computes r = b - q (r = b if q is NULL) and p = D r. Resets `stop`. */
    spry_status (*start)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* Computes p.q and q.Dq; from them alpha and a predicted beta. */
    spry_status (*dots)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /*
     * Computes x += alpha p, r -= alpha q, p = D r + beta p. If the step is in halves, computes only r -= alpha q and
     * beta.
     */
    spry_status (*step)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* Computes the second half: x += alpha p, p = D r + beta p. NULL: step does so in the next round (iteration.h). */
    spry_status (*next_direction)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* Runs dots and step in one pass with the same bits. NULL: not available. */
    spry_status (*dots_and_step)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* Computes x += alpha p, r -= alpha q and r.r. */
    spry_status (*shrink)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* Computes r.z, and from it beta. */
    spry_status (*weigh)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* Computes z = M r and r.z, and from it beta. */
    spry_status (*blocks)(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_blocks *M,
                          spry_error *err);
    spry_status (*polynomial)(const spryi_vector_work *w, const spryi_cg_vectors *v,
                              const spryi_cg_polynomial_step *step, spry_error *err);
    /* Computes p = z + beta p. */
    spry_status (*set_direction)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    spry_status (*clear)(const spryi_vector_work *w, void *x, spry_error *err); /* x = 0 */
    /* Computes state.distance = (b - q).(b - q). */
    spry_status (*distance)(const spryi_vector_work *w, const void *b, const void *q, spry_error *err);
    /* Computes y += x, x = 0; y is f64. */
    spry_status (*collect)(const spryi_vector_work *w, void *y, void *x, spry_error *err);
    /*
     * Computes r = b - q with b and q in f64. If M = D, adds D (new r - old r) to p. Resets `stop`. Only for one
     * column.
     */
    spry_status (*replace)(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *b, const void *q,
                           spry_error *err);
} spryi_cg_passes;

/*
 * Passes of PageRank. s: factors of the columns, 0 for a zero column; NULL: all are 1. v: weights by which 1 - alpha is
 * distributed; NULL: all are 1. x_k = alpha y + shift v, z = s x.
 */
typedef struct spryi_rank_passes {
    /* Computes state.weight, the sum of v's elements, and state.bad, the first invalid element. */
    spry_status (*weigh)(const spryi_vector_work *w, const void *v, spry_error *err);
    /* Computes v /= state.weight. */
    spry_status (*divide)(const spryi_vector_work *w, void *v, spry_error *err);
    /*
     * Computes z = s x_0 and the mass of zero columns. If x is NULL, x_0 = shift_before v and y = 0. Else x_0 = x /
     * state.weight and y = x_0, with alpha_before = 1 and shift_before = 0. x may be z.
     */
    spry_status (*start)(const spryi_vector_work *w, void *z, void *y, const void *x, const void *s, const void *v,
                         spry_error *err);
    /*
     * Computes x_k from y, x_(k-1) from y_before, and z from x_k. norm equals the state's norm. z may be y_before,
     * which is no longer needed. After `stop` is set, the next pass stores in z the final x_k, which it computes from
     * y_before. Products that were already started only read z.
     */
    spry_status (*step)(const spryi_vector_work *w, void *z, void *y_before, const void *y, const void *s,
                        const void *v, spry_norm norm, spry_error *err);
    /* Computes x = alpha y + shift_before v. x may be y. */
    spry_status (*finish)(const spryi_vector_work *w, void *x, const void *y, const void *v, spry_error *err);
} spryi_rank_passes;

/* Properties of a matrix's values. */
typedef struct spryi_entry_facts {
    int64_t bad; /* first entry that is negative or not finite; -1: none */
    double bad_value;
    int all_ones;
} spryi_entry_facts;

/* Properties of the sums of columns. The factors are the reciprocals of the sums, 0 for a sum of 0. */
typedef struct spryi_sum_facts {
    int sums_are_one;          /* 1 if every sum is 1 within `slack` */
    int64_t zeros, first_zero; /* number of sums that are 0; index of the first, or -1 */
    int64_t bad;               /* first sum whose factor is below `least` or above `largest`; -1: none */
    double bad_sum;
    double slack, least, largest; /* set by the caller */
} spryi_sum_facts;

/*
 * Set-up passes of PageRank for CSR in device memory with 32-bit columns and values that are f32, f64 or a pattern. All
 * arrays are in device memory. Each function waits until its work is done. Every run gives the same bits.
 */
typedef struct spryi_links_passes {
    spry_status (*inspect)(const spryi_device *device, spryi_entry_facts *facts, const spry_arrays *csr,
                           spry_error *err);
    /* Computes the sums of the rows in f64. A sum of a pattern is the length of the row. */
    spry_status (*add)(const spryi_device *device, double *sums, const spry_arrays *csr, spry_error *err);
    spry_status (*invert)(const spryi_device *device, spryi_sum_facts *facts, void *factors, spry_type type,
                          const double *sums, int64_t n, spry_error *err);
    /*
     * Computes CSR of the transpose. Entries of its rows are in the order of A's rows. Returns SPRY_UNSUPPORTED if
     * there are too many entries.
     */
    spry_status (*transpose)(const spryi_device *device, void *offsets, void *indices, void *values,
                             const spry_arrays *csr, spry_error *err);
} spryi_links_passes;

typedef struct spryi_vector_ops {
    int64_t block, most_blocks; /* elements per block, and most blocks; longer vectors have larger blocks */
    int ahead;                  /* largest number of iterations that are started before the state is read */
    const spryi_cg_passes *cg;
    const spryi_rank_passes *rank;

    /* ---- recorded rounds ---------------------------------------------------------------------------------- */

    /*
     * record stores in *rounds the work that `start` starts in its stream. replay starts this work in w->stream, and
     * then starts a copy of the state to the host. see waits for the oldest copy that it has not returned yet, and
     * copies it to *state. At most two copies may be pending. forget frees rounds; NULL is allowed. All four functions
     * are NULL if a device cannot record. The solver then starts the work of each iteration anew.
     */
    spry_status (*record)(const spryi_vector_work *w, spryi_start_fn start, void *user, void **rounds, spry_error *err);
    spry_status (*replay)(const spryi_vector_work *w, void *rounds, spry_error *err);
    spry_status (*see)(void *rounds, void *state, size_t bytes, spry_error *err);
    void (*forget)(void *rounds);

    const spryi_links_passes *links; /* NULL: entries are inspected on the host */
} spryi_vector_ops;

extern const spryi_vector_ops spryi_vector_ops_cpu, spryi_vector_ops_avx2;
