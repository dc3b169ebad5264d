/*
 * The scalars of CG and PageRank, and the rules that update them between passes. The scalars are in the "state", a
 * struct that is stored on the same device as the vectors. A pass reads its factors from the state and computes sums.
 * Then a function of this file computes the next factors from the sums. On the CPU the pass calls this function; on a
 * GPU the pass's last thread block calls it. If the function sets `stop`, later passes do not change the vectors. Many
 * iterations can therefore be started ahead: the vectors remain those of the iteration that stopped.
 *
 * Plain C, also compiled by nvcc.
 */
#pragma once

#include "spry/solve.h"
#include "spry/spry.h"

#include <math.h>
#include <stdbool.h>

#ifdef __CUDACC__
#define SPRYI_BOTH_SIDES static __host__ __device__ inline
#else
#define SPRYI_BOTH_SIDES static inline
#endif

enum { SPRYI_MOST_AHEAD = 32 }; /* iterations that may be started before the state is read */

typedef enum spryi_stop {
    SPRYI_GOES_ON = 0,
    SPRYI_SMALL_ENOUGH, /* the residual has reached the tolerance */
    SPRYI_AT_LIMIT,
    SPRYI_STAGNATES,
    SPRYI_NOT_FINITE,
    SPRYI_NEGATIVE_CURVATURE,
    SPRYI_B_OUT_OF_RANGE, /* CG: b is so large or so small that sums are unreliable (spryi_cg_guard) */
    SPRYI_A_OUT_OF_RANGE,
    SPRYI_REPLACE,           /* CG: the recurrent residual is to be replaced by b - A x */
    SPRYI_BAD_PRECONDITIONER /* CG: r.Mr <= 0 */
} spryi_stop;

SPRYI_BOTH_SIDES bool spryi_finite(double value)
{
    return value - value == 0;
}

/* ---- Conjugate Gradient ------------------------------------------------------------------------- */

/*
 * Guards against underflow and overflow of sums of squares, which occur long before vectors themselves underflow or
 * overflow. A guard stops the iteration if a number leaves the range 1/reach .. reach. SPRYI_GUARD_B checks the norm of
 * b. SPRYI_GUARD_A checks alpha and the quotient r.z / r.r. The caller then scales the system by powers of two, removes
 * the guard and restarts.
 */
typedef enum spryi_cg_guard { SPRYI_GUARD_B = 1, SPRYI_GUARD_A = 2 } spryi_cg_guard;

/* Parameters of an iteration, from the options. */
typedef struct spryi_cg_rules {
    double tolerance;    /* bound of the relative residual */
    double absolute;     /* bound of the residual's norm; the larger of the two bounds counts */
    double replacements; /* the residual is replaced if it is below this share of the last computed one; 0: never */
    double reach;        /* bound of the guards (spryi_cg_guard), a power of two */
    int guards;          /* active guards, a sum of spryi_cg_guard */
    double trusted;      /* a predicted rz below this fraction of the last rz is not used */
    double eps;          /* epsilon of the vectors' type: a smaller relative residual is rounding; 0: off */
    bool separate_M;     /* M is applied by a separate pass, between shrink and set_direction */
    int64_t limit, patience;
} spryi_cg_rules;

/* Residuals at which an iteration stops or changes. */
typedef struct spryi_cg_marks {
    double goal;         /* residual to reach, computed from the relative and the absolute tolerance */
    double replace_at;   /* the residual is replaced if it is below this value */
    double floor;        /* below this value the recurrent residual is unreliable, so b - A x is computed */
    double smallest;     /* smallest residual so far */
    int64_t smallest_at; /* iteration of `smallest` */
} spryi_cg_marks;

typedef struct spryi_cg_state {
    spryi_cg_rules rules;
    spryi_cg_marks marks;
    double rr, rz, b_norm, alpha, beta;
    double curvature; /* p'Ap of the last iteration */
    double residual;  /* sqrt(rr) / b_norm */
    int64_t iterations;
    double distance;                  /* result of spryi_cg_passes.distance */
    double history[SPRYI_MOST_AHEAD]; /* residual of iteration k at (k-1) % SPRYI_MOST_AHEAD */
    int stop;                         /* a spryi_stop */
    bool in_halves;                   /* the step has two halves, since beta could not be predicted */
    bool second_half;                 /* this round computes the second half of the previous step */
    bool step_unread;                 /* a GPU's step has left sums that dots must read */
    bool restarts;                    /* separate M: p restarts with beta = 0 */
    unsigned arrived;                 /* on a GPU: number of blocks that stored their sums; 0 between passes */
    unsigned meetings;                /* on a GPU: number of times that all blocks have met */
} spryi_cg_state;

/*
 * Returns whether the residual is below eps ||b||. Rounding and underflow dominate such a residual, so that it shows no
 * fault of A or M. The iteration then computes b - A x and restarts from it, or stagnates.
 */
SPRYI_BOTH_SIDES bool spryi_cg_is_rounding(const spryi_cg_state *s)
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

/* Returns whether a positive value is in 1/reach .. reach. Returns false for Inf and NaN. */
SPRYI_BOTH_SIDES bool spryi_within(double value, double reach)
{
    return value >= 1 / reach && value <= reach;
}

/* Updates the state for a residual that was computed as b - A x instead of by the recurrence. sums: r.r, r.z. */
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
    s->in_halves = s->second_half = s->step_unread = false;
}

/*
 * Updates the state after replace. sums: r.r of the new r, and with M = D also r.z. With a separate M, the passes for
 * z = M r and set_direction follow. They compute beta with the old rz.
 */
SPRYI_BOTH_SIDES void spryi_cg_replaced(spryi_cg_state *s, const double *sums)
{
    const double computed[2] = {sums[0], s->rules.separate_M ? s->rz : sums[1]};
    const int stop = s->stop;
    spryi_cg_computed(s, computed);
    if (stop == SPRYI_B_OUT_OF_RANGE || stop == SPRYI_A_OUT_OF_RANGE)
        s->stop = stop; /* a system that needs scaling keeps its stop */
    else if (s->residual <= s->marks.goal)
        s->stop = SPRYI_SMALL_ENOUGH;
}

/* Updates the state after start, also after a restart from the true residual. sums: r.r, r.z, b.b. */
SPRYI_BOTH_SIDES void spryi_cg_started(spryi_cg_state *s, const double *sums)
{
    s->b_norm = sqrt(sums[2]);
    s->marks.goal = s->rules.absolute > s->rules.tolerance * s->b_norm ? s->rules.absolute / s->b_norm
                                                                       : s->rules.tolerance;
    s->restarts = s->rules.separate_M;
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
 * Updates the state after dots. sums: p.q, q.Dq. The next r.z is predicted: (r - alpha q).D(r - alpha q) =
 * alpha^2 q.Dq - rz, since z.q = p.q in exact arithmetic. If the prediction is too small or not finite, the step is
 * done in halves, which compute r.z instead.
 */
SPRYI_BOTH_SIDES void spryi_cg_dotted(spryi_cg_state *s, const double *sums)
{
    s->in_halves = false;
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
        s->in_halves = !s->rules.separate_M && !(predicted > s->rules.trusted * s->rz && spryi_finite(predicted));
    }
}

/* Records the next iterate. rr: r.r of the iterate. */
SPRYI_BOTH_SIDES void spryi_cg_next(spryi_cg_state *s, double rr)
{
    s->rr = rr;
    s->residual = sqrt(s->rr) / s->b_norm;
    s->history[s->iterations % SPRYI_MOST_AHEAD] = s->residual;
    s->iterations++;
    spryi_cg_judge(s);
}

/* Updates the state after step. sums: r.r, r.z of the new r. */
SPRYI_BOTH_SIDES void spryi_cg_stepped(spryi_cg_state *s, const double *sums)
{
    if (s->stop) return;
    if (s->in_halves) s->beta = sums[1] / s->rz;
    s->second_half = s->in_halves;
    s->rz = sums[1];
    spryi_cg_next(s, sums[0]);
}

/* Updates the state after shrink, for a separate M. sums: r.r. */
SPRYI_BOTH_SIDES void spryi_cg_shrunk(spryi_cg_state *s, const double *sums)
{
    if (!s->stop) spryi_cg_next(s, sums[0]);
}

/* Updates the state after z = M r, for a separate M. sums: r.z. */
SPRYI_BOTH_SIDES void spryi_cg_weighed(spryi_cg_state *s, const double *sums)
{
    if (s->stop) return;
    s->beta = s->restarts ? 0 : sums[0] / s->rz;
    s->restarts = false;
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
 * Updates the state after a GPU's dots. First applies the sums of the previous step, r.r and r.z, then the sums of
 * dots. The product between step and dots therefore does not wait for an update of the state. If the previous step was
 * a first half, this round's step is the second half and the sums of dots are not used.
 */
SPRYI_BOTH_SIDES void spryi_cg_stepped_and_dotted(spryi_cg_state *s, const double *step, const double *dots)
{
    if (s->second_half) s->second_half = s->in_halves = false;
    if (s->step_unread) spryi_cg_stepped(s, step);
    s->step_unread = false;
    if (s->stop || s->second_half) return;
    spryi_cg_dotted(s, dots);
    s->step_unread = !s->stop && !s->rules.separate_M;
}

/* ---- PageRank ----------------------------------------------------------------------------------- */

typedef struct spryi_rank_state {
    /* set by the caller */
    double alpha, tolerance;
    double n; /* sum of v; the number of nodes if all elements of v are 1 */
    int64_t limit;
    spry_norm norm;
    bool teleports; /* the mass of zero columns is spread over all nodes in proportion to v */
    /* from spryi_rank_passes.weigh */
    double weight; /* sum of the elements of v */
    int64_t bad;   /* first element of v that is negative or not finite; INT64_MAX: none */
    /* current values; d = x_k - x_(k-1) */
    double alpha_before, shift_before; /* x_(k-1) = alpha_before y_before + shift_before v */
    double d1, residual;               /* ||d||_1, and the norm of d that the options name */
    double mass;                       /* sum of x_k */
    double dangling_mass;              /* part of mass in columns whose factor is 0 */
    int64_t iterations;
    double history[SPRYI_MOST_AHEAD]; /* as in spryi_cg_state */
    int stop;
    bool finished;    /* a pass that found `stop` set has stored x in z */
    unsigned arrived; /* as in spryi_cg_state */
} spryi_rank_state;

SPRYI_BOTH_SIDES double spryi_rank_shift(const spryi_rank_state *s)
{
    double rest = (1 - s->alpha) / s->n;
    return s->teleports ? rest + s->alpha * s->dangling_mass / s->n : rest;
}

/*
 * Updates the state after step. sums[0] is ||d||_1, sums[1] is the sum of squares or the maximum of |d|, sums[2] is the
 * sum of x_k, and sums[3] is the part of sums[2] in zero columns.
 */
SPRYI_BOTH_SIDES void spryi_rank_stepped(spryi_rank_state *s, const double *sums)
{
    if (s->stop) {
        s->finished = true;
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
