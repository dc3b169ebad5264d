/*
 * The vector work of the methods: passes that do at once all that the data they read allow. One table a device, the
 * GPU's from the CUDA plug-in; the methods know nothing of where vectors lie. All vectors of a call have w->n entries
 * of w->type, lie on the work's device and do not overlap unless it says so. Factors come from the state, sums and
 * what follows from them go there (iteration.h); passes do nothing once the state says stop.
 *
 * A GPU's functions only start the work, in the work's stream; spryi_vector_look (solve/solve.h) waits for it.
 *
 * Sums are taken in f64 over blocks that are cut by the length alone, and the blocks' sums are added in a fixed order:
 * the same bits for any number of threads.
 */
#pragma once

#include "core/device.h"
#include "device/iteration.h"
#include "spry/solve.h"
#include "spry/spry.h"

enum {
    SPRYI_MOST_SUMS = 4,
    SPRYI_STATE_BYTES = sizeof(spryi_cg_state) > sizeof(spryi_rank_state) ? sizeof(spryi_cg_state)
                                                                          : sizeof(spryi_rank_state)
};

typedef struct spryi_vector_work {
    const struct spryi_vector_ops *ops;
    spry_context *context;
    int device;   /* as in spry_vector */
    int ordinal;  /* the driver's own number of it */
    void *stream; /* of a GPU; NULL: the default one */
    spry_type type;
    int64_t n, blocks;
    int64_t columns; /* that a pass works on: each with a state, and sums */
    int threads;
    spry_vector partials; /* f64 on the device, SPRYI_MOST_SUMS a block */
    spry_vector state;    /* on the device: a spryi_cg_state or spryi_rank_state each, side by side */
} spryi_vector_work;

typedef spry_status (*spryi_start_fn)(void *user, void *stream, spry_error *err);

/* What iterations of CG work on: column after column of n entries, but D, which all have in common. */
typedef struct spryi_cg_vectors {
    void *x, *r, *p, *q;
    void *z, *z_before; /* M apart */
    const void *b;
    int b_is_f64;  /* 1: b is of f64, of whatever type the others are: start rounds it. One column */
    const void *D; /* the reciprocals of the diagonal; NULL: ones */
} spryi_cg_vectors;

/* M, blocks on the diagonal: `size` rows each, the last may have less. Its symmetric blocks' lower triangles, one
   behind the other by rows, entry e of block t at e*count + t. */
typedef struct spryi_cg_blocks {
    int size;
    spry_type type; /* of entries: the vectors', or within start, dots and step f32 */
    int64_t count;
    const void *entries;
} spryi_cg_blocks;

/* A step of a polynomial: z_before = z + keep*(z - z_before) + add*D*(r - q). z NULL: zeros, and q is not read. */
typedef struct spryi_cg_polynomial_step {
    double keep, add;
    int has_before; /* 0: z_before counts as zeros */
    int is_last;    /* 1: also r.z_before, as weigh */
} spryi_cg_polynomial_step;

/* start, dots and step with M = blocks: b of the vectors' type. */
typedef struct spryi_cg_block_passes {
    int least, most; /* sizes of blocks */
    spry_status (*start)(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_blocks *M,
                         spry_error *err);
    spry_status (*dots)(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_blocks *M,
                        spry_error *err);
    spry_status (*step)(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_blocks *M,
                        spry_error *err);
} spryi_cg_block_passes;

/*
 * Conjugate Gradient. With M = D, z = D r: start, then dots, step (and next_direction) an iteration. M apart: start,
 * then z = M r and turn; dots, shrink, z = M r and turn an iteration, where z = M r is blocks, or polynomial many
 * times, or the caller's and weigh.
 */
typedef struct spryi_cg_passes {
    const spryi_cg_block_passes *within; /* M = blocks in place of D; NULL: they are applied apart */
    /* r = b - q (q NULL: b); p = D r. Sets `stop` anew. */
    spry_status (*start)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* p.q, q.Dq: alpha and, predicted, beta */
    spry_status (*dots)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* x += alpha p; r -= alpha q; p = D r + beta p. Where the step is done in halves: r -= alpha q, and beta ... */
    spry_status (*step)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* ... then x += alpha p; p = D r + beta p. NULL: step does that in the round that follows (spryi_cg_both). */
    spry_status (*next_direction)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* dots and step in one pass over what they have in common, to the same bits. NULL: there is none */
    spry_status (*dots_and_step)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* x += alpha p; r -= alpha q; r.r */
    spry_status (*shrink)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* r.z: beta */
    spry_status (*weigh)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    /* z = M r and r.z: beta */
    spry_status (*blocks)(const spryi_vector_work *w, const spryi_cg_vectors *v, const spryi_cg_blocks *M,
                          spry_error *err);
    spry_status (*polynomial)(const spryi_vector_work *w, const spryi_cg_vectors *v,
                              const spryi_cg_polynomial_step *step, spry_error *err);
    /* p = z + beta p */
    spry_status (*turn)(const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err);
    spry_status (*clear)(const spryi_vector_work *w, void *x, spry_error *err); /* x = 0 */
    /* state.distance = (b - q).(b - q) */
    spry_status (*distance)(const spryi_vector_work *w, const void *b, const void *q, spry_error *err);
    /* y += x, x = 0; y of f64 */
    spry_status (*collect)(const spryi_vector_work *w, void *y, void *x, spry_error *err);
    /* r = b - q, b and q of f64; M = D: p += D (new r - old r). Sets `stop` anew. One column. */
    spry_status (*replace)(const spryi_vector_work *w, const spryi_cg_vectors *v, const void *b, const void *q,
                           spry_error *err);
} spryi_cg_passes;

/*
 * PageRank. s: column factors, 0 for a zero column, NULL: ones. v: how (1-alpha) is spread, NULL: ones.
 * x_k = alpha y + shift v, z = s x
 */
typedef struct spryi_rank_passes {
    /* state.weight = the sum of the entries of v, state.bad = its first bad one. */
    spry_status (*weigh)(const spryi_vector_work *w, const void *v, spry_error *err);
    /* v /= state.weight */
    spry_status (*divide)(const spryi_vector_work *w, void *v, spry_error *err);
    /*
     * z = s x_0, and the mass of zero columns. x NULL: x_0 = shift_before v, y = 0; else x_0 = x / state.weight,
     * y = x_0 (alpha_before is 1, shift_before 0). x may be z.
     */
    spry_status (*start)(const spryi_vector_work *w, void *z, void *y, const void *x, const void *s, const void *v,
                         spry_error *err);
    /*
     * x_k from y, x_(k-1) from the y before it, z from x_k; norm is the state's. z may be y_before, which is done with
     * then. The first pass after the one that stopped makes z = x_k of y_before instead: products that are still to
     * come only read z.
     */
    spry_status (*step)(const spryi_vector_work *w, void *z, void *y_before, const void *y, const void *s,
                        const void *v, spry_norm norm, spry_error *err);
    /* x = alpha y + shift_before v; x may be y */
    spry_status (*finish)(const spryi_vector_work *w, void *x, const void *y, const void *v, spry_error *err);
} spryi_rank_passes;

/* What is found of a matrix's values. */
typedef struct spryi_entry_facts {
    int64_t bad; /* the first entry that is negative or not finite, -1: none */
    double bad_value;
    int all_ones;
} spryi_entry_facts;

/* What is found of sums, of which factors are the reciprocals, 0 of a 0. */
typedef struct spryi_sum_facts {
    int as_they_stand;         /* 1: every sum is 1 but for `slack` */
    int64_t zeros, first_zero; /* sums of 0, and the first of them, -1: none */
    int64_t bad;               /* the first whose factor is below `least` or above `largest`, -1: none */
    double bad_sum;
    double slack, least, largest; /* handed in */
} spryi_sum_facts;

/*
 * PageRank's set-up of CSR in the device's memory, which has 32-bit columns, f32 or f64 values or none. Each returns
 * when its work is done; all arrays lie there. The same bits in every run.
 */
typedef struct spryi_links_passes {
    spry_status (*look)(const spryi_device *device, spryi_entry_facts *facts, const spry_arrays *csr, spry_error *err);
    /* Sums of the rows, in f64; of a pattern their lengths. */
    spry_status (*add)(const spryi_device *device, double *sums, const spry_arrays *csr, spry_error *err);
    spry_status (*invert)(const spryi_device *device, spryi_sum_facts *facts, void *factors, spry_type type,
                          const double *sums, int64_t n, spry_error *err);
    /* CSR of the transposed, in the order of A's rows. SPRY_UNSUPPORTED: there are too many entries. */
    spry_status (*transpose)(const spryi_device *device, void *offsets, void *indices, void *values,
                             const spry_arrays *csr, spry_error *err);
} spryi_links_passes;

typedef struct spryi_vector_ops {
    int64_t block, most_blocks; /* entries a block, and how many there are at most: then blocks take several pieces */
    int ahead;                  /* most iterations that are started before the state is looked at */
    const spryi_cg_passes *cg;
    const spryi_rank_passes *rank;

    /* ---- what is started many times ------------------------------------------------------------------ */

    /*
     * What `start` starts in the stream that it is given becomes *rounds. replay starts it in the work's stream, and
     * then a copy of the state; see waits for the oldest copy that was not seen, of which there may be two. NULL, all
     * of them: each time is started anew. forget takes NULL, too.
     */
    spry_status (*record)(const spryi_vector_work *w, spryi_start_fn start, void *user, void **rounds, spry_error *err);
    spry_status (*replay)(const spryi_vector_work *w, void *rounds, spry_error *err);
    spry_status (*see)(void *rounds, void *state, size_t bytes, spry_error *err);
    void (*forget)(void *rounds);

    const spryi_links_passes *links; /* NULL: entries are looked at on the host */
} spryi_vector_ops;

extern const spryi_vector_ops spryi_vector_ops_cpu, spryi_vector_ops_avx2;
