/*
 * The scalars of the methods, and what becomes of them from pass to pass. They lie where the vectors do: a pass reads
 * its factors from the state and leaves its sums there, and one of the functions here, called by the pass itself on the
 * CPU and by one thread behind it on a GPU, makes the next factors of them. When it sets `stop`, all passes that
 * follow leave the vectors alone. So passes can be started ahead, many iterations at once, and what is found when
 * someone looks is exactly what the iteration left that stopped.
 *
 * Plain C, also compiled by nvcc.
 */
#pragma once

#include "spry/solve.h"
#include "spry/spry.h"

#include <math.h>

#ifdef __CUDACC__
#define SPRYI_BOTH_SIDES static __host__ __device__ inline
#else
#define SPRYI_BOTH_SIDES static inline
#endif

enum { SPRYI_MOST_AHEAD = 32 }; /* iterations that may be started before someone looks */

typedef enum spryi_stop {
    SPRYI_GOES_ON = 0,
    SPRYI_SMALL_ENOUGH, /* the residual has reached the tolerance */
    SPRYI_AT_LIMIT,
    SPRYI_STAGNATES,
    SPRYI_NOT_FINITE,
    SPRYI_NEGATIVE_CURVATURE,
    SPRYI_B_OUT_OF_RANGE, /* CG: b, or A, is so large or small that sums cannot be relied on: see spryi_cg_guard */
    SPRYI_A_OUT_OF_RANGE,
    SPRYI_REPLACE,           /* CG: the carried residual is to be replaced by b - A x */
    SPRYI_BAD_PRECONDITIONER /* CG: r.Mr <= 0 */
} spryi_stop;

SPRYI_BOTH_SIDES int spryi_finite(double value)
{
    return value - value == 0;
}

/* ---- Conjugate Gradient ------------------------------------------------------------------------- */

/*
 * Sums of squares underflow and overflow long before the numbers do. A guard stops the iteration where that is near:
 * B where the size of b, A where that of A (1/alpha, or the mean of 1/D) is outside 1/reach .. reach. Whoever looks
 * scales the system by powers of two, takes the guard away and begins anew.
 */
typedef enum spryi_cg_guard { SPRYI_GUARD_B = 1, SPRYI_GUARD_A = 2 } spryi_cg_guard;

/* Rules of an iteration, from the options. */
typedef struct spryi_cg_rules {
    double tolerance;    /* of the relative residual */
    double absolute;     /* of its norm; the larger of both counts */
    double replacements; /* share to which the residual falls before it is replaced; 0: it is not */
    double reach;        /* of the guards: a power of two */
    int guards;          /* that remain: spryi_cg_guard */
    double trusted;      /* fraction of rz below which the predicted rz is not trusted */
    double eps;          /* of the vectors' type: a smaller residual proves nothing about A or M; 0: all do */
    int apart;           /* 1: M is applied by a pass of its own, between shrink and turn */
    int64_t limit, patience;
} spryi_cg_rules;

/* Residuals at which an iteration stops or is changed. */
typedef struct spryi_cg_marks {
    double goal;         /* from tolerance and absolute */
    double replace_at;   /* the residual is replaced */
    double floor;        /* b - A x is computed, since the carried residual has lost touch with it */
    double smallest;     /* so far */
    int64_t smallest_at; /* iteration of the smallest */
} spryi_cg_marks;

typedef struct spryi_cg_state {
    spryi_cg_rules rules;
    spryi_cg_marks marks;
    double rr, rz, b_norm, alpha, beta;
    double curvature; /* p'Ap of the latest iteration */
    double residual;  /* sqrt(rr) / b_norm */
    int64_t iterations;
    double distance;                  /* of spryi_cg_passes.distance */
    double history[SPRYI_MOST_AHEAD]; /* residual of iteration k at (k-1) % SPRYI_MOST_AHEAD */
    int stop;                         /* a spryi_stop */
    int halves;                       /* 1: the step has two parts, since beta could not be predicted */
    int turn;                         /* 1: the second part is due, or was, in this round */
    int owed;                         /* 1: a GPU's step has left sums that nobody has read yet */
    int fresh;                        /* apart: 1: p begins anew, with beta = 0 */
    unsigned arrived;                 /* of a GPU's passes: blocks that have left their sums; 0 between passes */
    unsigned meetings;                /* of a GPU's passes: times that all blocks have met */
} spryi_cg_state;

/*
 * Returns whether the residual is below eps ||b||. Rounding and underflow dominate such a residual, so it proves no
 * fault of A or M. The iteration then computes b - A x and begins anew from there, or stagnates.
 */
SPRYI_BOTH_SIDES int spryi_cg_is_rounding(const spryi_cg_state *s)
{
    return s->residual < s->rules.eps;
}

SPRYI_BOTH_SIDES void spryi_cg_judge(spryi_cg_state *s)
{
    if (!spryi_finite(s->residual)) {
        s->stop = SPRYI_NOT_FINITE;
    } else if (s->residual <= s->marks.goal || s->residual <= s->marks.floor) {
        s->stop = SPRYI_SMALL_ENOUGH;
    } else if (s->iterations >= s->rules.limit) {
        s->stop = SPRYI_AT_LIMIT;
    } else if (s->residual <= s->marks.replace_at) {
        s->stop = SPRYI_REPLACE;
    } else {
        if (s->residual < 0.99 * s->marks.smallest) {
            s->marks.smallest = s->residual;
            s->marks.smallest_at = s->iterations;
        }
        if (s->iterations - s->marks.smallest_at >= s->rules.patience) s->stop = SPRYI_STAGNATES;
    }
}

/* 1: a number above 0 is in 1/reach .. reach; 0 where it is Inf or NaN. */
SPRYI_BOTH_SIDES int spryi_within(double value, double reach)
{
    return value >= 1 / reach && value <= reach;
}

/* A residual that was computed, not carried along: r.r, r.z. */
SPRYI_BOTH_SIDES void spryi_cg_computed(spryi_cg_state *s, const double *sums)
{
    s->rr = sums[0];
    s->rz = sums[1];
    s->residual = sqrt(s->rr) / s->b_norm;
    s->marks.replace_at = s->rules.replacements * s->residual;
    s->marks.floor = s->rules.eps / 1024 * s->residual;
    s->marks.smallest = s->residual;
    s->marks.smallest_at = s->iterations;
    s->stop = SPRYI_GOES_ON;
    s->halves = s->turn = s->owed = 0;
}

/* After replace: r.r, and of M = D r.z, of the new r; M apart: z = M r and turn follow, with the beta of the old rz. */
SPRYI_BOTH_SIDES void spryi_cg_replaced(spryi_cg_state *s, const double *sums)
{
    const double computed[2] = {sums[0], s->rules.apart ? s->rz : sums[1]};
    const int stop = s->stop;
    spryi_cg_computed(s, computed);
    if (stop == SPRYI_B_OUT_OF_RANGE || stop == SPRYI_A_OUT_OF_RANGE)
        s->stop = stop; /* what is to be scaled stays so */
    else if (s->residual <= s->marks.goal)
        s->stop = SPRYI_SMALL_ENOUGH;
}

/* After start: r.r, r.z, b.b. Also a beginning anew from the true residual. */
SPRYI_BOTH_SIDES void spryi_cg_started(spryi_cg_state *s, const double *sums)
{
    s->b_norm = sqrt(sums[2]);
    s->marks.goal = s->rules.absolute > s->rules.tolerance * s->b_norm ? s->rules.absolute / s->b_norm
                                                                       : s->rules.tolerance;
    s->fresh = s->rules.apart;
    spryi_cg_computed(s, sums);
    if ((s->rules.guards & SPRYI_GUARD_B) && !spryi_within(sums[2], s->rules.reach * s->rules.reach))
        s->stop = SPRYI_B_OUT_OF_RANGE;
    else if ((s->rules.guards & SPRYI_GUARD_A) && !spryi_cg_is_rounding(s) &&
             !spryi_within(s->rz / s->rr, s->rules.reach))
        s->stop = SPRYI_A_OUT_OF_RANGE;
    else
        spryi_cg_judge(s);
}

/*
 * After dots: p.q, q.Dq. (r - alpha q).D(r - alpha q) = alpha^2 qq - rz, since z.q = p.q in exact arithmetic. Where qq
 * underflows or overflows the step is done in halves, which need no qq.
 */
SPRYI_BOTH_SIDES void spryi_cg_dotted(spryi_cg_state *s, const double *sums)
{
    s->halves = 0;
    if (s->stop) return;
    s->curvature = sums[0];
    const int outside = (s->rules.guards & SPRYI_GUARD_A) && !spryi_within(s->rz / fabs(sums[0]), s->rules.reach);
    if (spryi_cg_is_rounding(s) && (outside || !(sums[0] > 0) || !spryi_finite(s->rz / sums[0]))) {
        s->stop = SPRYI_SMALL_ENOUGH;
    } else if (outside) {
        s->stop = SPRYI_A_OUT_OF_RANGE;
    } else if (!spryi_finite(sums[0])) {
        s->stop = SPRYI_NOT_FINITE;
    } else if (sums[0] <= 0) {
        s->stop = SPRYI_NEGATIVE_CURVATURE;
    } else {
        double alpha = s->rz / sums[0], predicted = alpha * alpha * sums[1] - s->rz;
        s->alpha = alpha;
        s->beta = predicted / s->rz;
        s->halves = !s->rules.apart && !(predicted > s->rules.trusted * s->rz && spryi_finite(predicted));
    }
}

/* r.r of the next iterate. */
SPRYI_BOTH_SIDES void spryi_cg_next(spryi_cg_state *s, double rr)
{
    s->rr = rr;
    s->residual = sqrt(s->rr) / s->b_norm;
    s->history[s->iterations % SPRYI_MOST_AHEAD] = s->residual;
    s->iterations++;
    spryi_cg_judge(s);
}

/* After step: r.r, r.z of the new r. */
SPRYI_BOTH_SIDES void spryi_cg_strided(spryi_cg_state *s, const double *sums)
{
    if (s->stop) return;
    if (s->halves) s->beta = sums[1] / s->rz;
    s->turn = s->halves;
    s->rz = sums[1];
    spryi_cg_next(s, sums[0]);
}

/* M apart, after shrink: r.r. */
SPRYI_BOTH_SIDES void spryi_cg_shrunk(spryi_cg_state *s, const double *sums)
{
    if (!s->stop) spryi_cg_next(s, sums[0]);
}

/* M apart, when z = M r is there: r.z. */
SPRYI_BOTH_SIDES void spryi_cg_weighed(spryi_cg_state *s, const double *sums)
{
    if (s->stop) return;
    s->beta = s->fresh ? 0 : sums[0] / s->rz;
    s->fresh = 0;
    s->rz = sums[0];
    const int outside = (s->rules.guards & SPRYI_GUARD_A) && !spryi_within(fabs(s->rz) / s->rr, s->rules.reach);
    if (spryi_cg_is_rounding(s) && (outside || !(s->rz > 0) || !spryi_finite(s->rz)))
        s->stop = SPRYI_SMALL_ENOUGH;
    else if (outside)
        s->stop = SPRYI_A_OUT_OF_RANGE;
    else if (!spryi_finite(s->rz))
        s->stop = SPRYI_NOT_FINITE;
    else if (s->rz <= 0)
        s->stop = SPRYI_BAD_PRECONDITIONER;
}

/*
 * A GPU's dots look first at what the step before left, r.r and r.z, then at their own sums: the product between them
 * waits for neither. Where that step was the first half of one, the step of this round is the second, and dots have
 * nothing to say.
 */
SPRYI_BOTH_SIDES void spryi_cg_both(spryi_cg_state *s, const double *step, const double *dots)
{
    if (s->turn) s->turn = s->halves = 0;
    if (s->owed) spryi_cg_strided(s, step);
    s->owed = 0;
    if (s->stop || s->turn) return;
    spryi_cg_dotted(s, dots);
    s->owed = !s->stop && !s->rules.apart;
}

/* ---- PageRank ----------------------------------------------------------------------------------- */

typedef struct spryi_rank_state {
    /* asked for */
    double alpha, tolerance;
    double n; /* sum of v: where that is ones, their number */
    int64_t limit;
    spry_norm norm;
    int teleports; /* the mass of zero columns is spread over all nodes, as v says */
    /* of spryi_rank_passes.weigh */
    double weight; /* sum of the entries */
    int64_t bad;   /* the first entry that is negative or not finite; INT64_MAX: none */
    /* as it goes; d = x_k - x_(k-1) */
    double alpha_before, shift_before; /* x_(k-1) = alpha_before y_before + shift_before v */
    double d1, residual;               /* ||d||_1, and in the norm asked for */
    double mass;                       /* sum of x_k */
    double dangling_mass;              /* of it, over columns whose factor is 0 */
    int64_t iterations;
    double history[SPRYI_MOST_AHEAD]; /* as above */
    int stop;
    int finished;     /* 1: a pass that found `stop` set has put x where z was */
    unsigned arrived; /* as above */
} spryi_rank_state;

SPRYI_BOTH_SIDES double spryi_rank_shift(const spryi_rank_state *s)
{
    double rest = (1 - s->alpha) / s->n;
    return s->teleports ? rest + s->alpha * s->dangling_mass / s->n : rest;
}

/* After rank_step: ||d||_1, the sum of squares or the largest of |d|, sum of x_k, of it over zero columns. */
SPRYI_BOTH_SIDES void spryi_rank_strided(spryi_rank_state *s, const double *sums)
{
    if (s->stop) {
        s->finished = 1;
        return;
    }
    s->shift_before = spryi_rank_shift(s);
    s->alpha_before = s->alpha;
    s->d1 = sums[0];
    s->residual = s->norm == SPRY_NORM_1 ? sums[0] : s->norm == SPRY_NORM_2 ? sqrt(sums[1]) : sums[1];
    s->mass = sums[2];
    s->dangling_mass = sums[3];
    s->history[s->iterations % SPRYI_MOST_AHEAD] = s->residual;
    s->iterations++;
    if (!spryi_finite(s->mass) || !spryi_finite(s->d1))
        s->stop = SPRYI_NOT_FINITE;
    else if (s->residual <= s->tolerance)
        s->stop = SPRYI_SMALL_ENOUGH;
    else if (s->iterations >= s->limit)
        s->stop = SPRYI_AT_LIMIT;
}
