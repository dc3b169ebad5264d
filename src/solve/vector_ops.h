/*
 * The vector work of the methods: passes that do at once all that the data they read allow. One table a device; the
 * methods know nothing of where vectors lie. All vectors of a call have w->n entries of w->type, lie on the table's
 * device and do not overlap unless it says so. Sums come back in f64, on the host.
 *
 * Sums are taken over blocks of SPRYI_BLOCK entries, cut by the length alone, and the blocks' sums are added in
 * order: the same bits for any number of threads.
 */
#ifndef SPRYI_VECTOR_OPS_H
#define SPRYI_VECTOR_OPS_H

#include "spry/spry.h"

enum { SPRYI_BLOCK = 2048, SPRYI_MOST_SUMS = 4 };

typedef struct spryi_vector_work {
    const struct spryi_vector_ops *ops;
    spry_context *context;
    spry_type type;
    int64_t n, blocks;
    int threads;
    spry_vector partials; /* f64, SPRYI_MOST_SUMS a block */
} spryi_vector_work;

/* What PageRank's pass tells. d = x_k - x_(k-1). */
typedef struct spryi_rank_sums {
    double d1, d;     /* ||d||_1, and in the norm asked for */
    double mass;      /* sum of x_k */
    double zero_mass; /* of it, over columns whose factor is 0 */
} spryi_rank_sums;

typedef struct spryi_vector_ops {
    const char *device; /* as in spry_spmv_options */

    /* ---- Conjugate Gradient. D NULL: ones; else the reciprocals of the diagonal. z = D r ------------- */

    /* r = b - q (q NULL: b); p = D r; sums: r.r, r.z, b.b. */
    void (*start)(const spryi_vector_work *w, void *r, void *p, const void *b, const void *q, const void *D,
                  double sums[3]);
    /* sums: p.q, q.Dq */
    void (*dots)(const spryi_vector_work *w, const void *p, const void *q, const void *D, double sums[2]);
    /* x += alpha p; r -= alpha q; p = D r + beta p. sums: r.r, r.z of the new r */
    void (*step)(const spryi_vector_work *w, void *x, void *r, void *p, const void *q, const void *D, double alpha,
                 double beta, double sums[2]);
    /* step in two halves, for when beta has to be known from the new r: r -= alpha q; sums as above ... */
    void (*shrink)(const spryi_vector_work *w, void *r, const void *q, const void *D, double alpha, double sums[2]);
    /* ... then x += alpha p; p = D r + beta p. */
    void (*turn)(const spryi_vector_work *w, void *x, void *p, const void *r, const void *D, double alpha, double beta);
    void (*clear)(const spryi_vector_work *w, void *x); /* x = 0 */
    /* (b - q).(b - q) */
    double (*distance)(const spryi_vector_work *w, const void *b, const void *q);

    /* ---- PageRank. s: column factors, 0 for a zero column, NULL: ones. x = alpha y + shift, z = s x ------ */

    /* x_0 = value: z = s x_0, y = 0. Returns the mass of zero columns. */
    double (*rank_start)(const spryi_vector_work *w, void *z, void *y, const void *s, double value);
    /* x_k from y, x_(k-1) from the y before it and its shift; z takes the place of the y before. */
    void (*rank_step)(const spryi_vector_work *w, void *before_then_z, const void *y, const void *s, spry_norm norm,
                      double alpha, double shift, double shift_before, spryi_rank_sums *sums);
    void (*rank_finish)(const spryi_vector_work *w, void *x, const void *y, double alpha, double shift);
} spryi_vector_ops;

/* The table of a device; NULL: there is none. */
const spryi_vector_ops *spryi_vector_ops_of(const char *device);

/* Settles the threads and allocates what sums need; undone by spryi_vector_work_clear, also when it failed. */
spry_status spryi_vector_work_init(spry_context *context, spryi_vector_work *w, const char *device, int64_t n,
                                   spry_type type, spry_error *err);
void spryi_vector_work_clear(spryi_vector_work *w);

extern const spryi_vector_ops spryi_vector_ops_cpu;

#endif
