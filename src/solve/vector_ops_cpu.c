/*
 * Vector work on the CPU. Each pass streams its vectors once: its cost is their bytes at the memory's bandwidth.
 * Threads take runs of blocks, as many each. The pass that follows another over the same vectors goes through them
 * the other way, so that what the first left in the cache is read from there (dots backwards, step forwards).
 * Within a block, LANES sums side by side, added up in order, are what compilers turn into vector instructions
 * without being allowed to reorder anything.
 */
#include "solve/vector_ops.h"

#include <math.h>
#include <omp.h>

enum { LANES = 8, RANK_LANES = 4 /* of four sums: as many as registers hold */ };

typedef struct block_range {
    int64_t first, end;
} block_range;

/* Blocks of this thread of the team. */
static block_range own_blocks(const spryi_vector_work *w)
{
    int64_t t = omp_get_thread_num(), team = omp_get_num_threads();
    return (block_range){w->blocks * t / team, w->blocks * (t + 1) / team};
}

static inline int64_t length_of(const spryi_vector_work *w, int64_t block)
{
    int64_t left = w->n - block * SPRYI_BLOCK;
    return left < SPRYI_BLOCK ? left : SPRYI_BLOCK;
}

static inline double add_lanes(const double *lanes)
{
    double sum = 0;
    for (int l = 0; l < LANES; l++) sum += lanes[l];
    return sum;
}

/* sums[s] = the blocks' s-th sums, `count` a block, in the blocks' order. */
static void add_blocks(const spryi_vector_work *w, int count, double *sums)
{
    const double *partials = w->partials.data;
    for (int s = 0; s < count; s++) sums[s] = 0;
    for (int64_t b = 0; b < w->blocks; b++)
        for (int s = 0; s < count; s++) sums[s] += partials[b * SPRYI_MOST_SUMS + s];
}

#define V float
#define FN(name) name##_f32
#include "solve/vector_ops_cpu.tmpl.c"
#undef V
#undef FN
#define V double
#define FN(name) name##_f64
#include "solve/vector_ops_cpu.tmpl.c"
#undef V
#undef FN

/* ---- the table: by type ------------------------------------------------------------------------- */

static void start(const spryi_vector_work *w, void *r, void *p, const void *b, const void *q, const void *D,
                  double sums[3])
{
    (w->type == SPRY_F64 ? start_f64 : start_f32)(w, r, p, b, q, D);
    add_blocks(w, 3, sums);
}

static void dots(const spryi_vector_work *w, const void *p, const void *q, const void *D, double sums[2])
{
    (w->type == SPRY_F64 ? dots_f64 : dots_f32)(w, p, q, D);
    add_blocks(w, 2, sums);
}

static void step(const spryi_vector_work *w, void *x, void *r, void *p, const void *q, const void *D, double alpha,
                 double beta, double sums[2])
{
    (w->type == SPRY_F64 ? step_f64 : step_f32)(w, x, r, p, q, D, alpha, beta);
    add_blocks(w, 2, sums);
}

static void shrink(const spryi_vector_work *w, void *r, const void *q, const void *D, double alpha, double sums[2])
{
    (w->type == SPRY_F64 ? shrink_f64 : shrink_f32)(w, r, q, D, alpha);
    add_blocks(w, 2, sums);
}

static void turn(const spryi_vector_work *w, void *x, void *p, const void *r, const void *D, double alpha, double beta)
{
    (w->type == SPRY_F64 ? turn_f64 : turn_f32)(w, x, p, r, D, alpha, beta);
}

static void clear(const spryi_vector_work *w, void *x)
{
    (w->type == SPRY_F64 ? clear_f64 : clear_f32)(w, x);
}

static double distance(const spryi_vector_work *w, const void *b, const void *q)
{
    double sum;
    (w->type == SPRY_F64 ? distance_f64 : distance_f32)(w, b, q);
    add_blocks(w, 1, &sum);
    return sum;
}

static double rank_start(const spryi_vector_work *w, void *z, void *y, const void *s, double value)
{
    double sum;
    (w->type == SPRY_F64 ? rank_start_f64 : rank_start_f32)(w, z, y, s, value);
    add_blocks(w, 1, &sum);
    return sum;
}

static void rank_step(const spryi_vector_work *w, void *before_then_z, const void *y, const void *s, spry_norm norm,
                      double alpha, double shift, double shift_before, spryi_rank_sums *sums)
{
    const double *partials = w->partials.data;
    double added[4], most = 0;
    (w->type == SPRY_F64 ? rank_step_f64 : rank_step_f32)(w, before_then_z, y, s, norm, alpha, shift, shift_before);
    add_blocks(w, 4, added);
    for (int64_t b = 0; b < w->blocks; b++)
        if (partials[b * SPRYI_MOST_SUMS + 1] > most) most = partials[b * SPRYI_MOST_SUMS + 1];
    *sums = (spryi_rank_sums){added[0], 0, added[2], added[3]};
    sums->d = norm == SPRY_NORM_1 ? added[0] : norm == SPRY_NORM_2 ? sqrt(added[1]) : most;
}

static void rank_finish(const spryi_vector_work *w, void *x, const void *y, double alpha, double shift)
{
    (w->type == SPRY_F64 ? rank_finish_f64 : rank_finish_f32)(w, x, y, alpha, shift);
}

const spryi_vector_ops spryi_vector_ops_cpu = {
    .device = "cpu",
    .start = start,
    .dots = dots,
    .step = step,
    .shrink = shrink,
    .turn = turn,
    .clear = clear,
    .distance = distance,
    .rank_start = rank_start,
    .rank_step = rank_step,
    .rank_finish = rank_finish,
};
