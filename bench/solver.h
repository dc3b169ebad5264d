/*
 * Ops cg and pagerank: whole solves, of which the time of an iteration is told.
 *
 * All cases of a matrix and type run the same method by the same rule. CG has no preconditioner, begins at x = 0 with
 * b = 1 and stops at ||r|| <= 1e-8 ||b|| (f32: 1e-3), after MOST_CG_ITERATIONS at the latest. PageRank has alpha 0.85,
 * links from rows to columns, nodes without links that count as linking everywhere, and stops at
 * ||x_k - x_(k-1)||_1 <= 1e-8 (f32: 1e-6), after MOST_RANK_ITERATIONS at the latest.
 *
 * What is checked is x alone, in f64, with the matrix as it was read (solver_check.c). Of CG it is the true residual
 * ||b - A*x|| / ||b||; of PageRank the distance ||F(x) - x||_1 that one more step F would go, which is at least
 * (1 - alpha) times the distance from the ranks that are sought. Neither may pass the larger of the tolerance and the
 * residual that the method tells, with what rounding in x's type adds; max_error is the share of that. A method that
 * ends at the limit is right where its x is as good as it says.
 *
 * A matrix that the method cannot take is skipped. The first solve is checked and not timed; then the cases take turns.
 */
#pragma once

#include "bench/internal.h"

enum { SOLVER_TURNS = 5, SOLVES_A_TURN = 10, MOST_CG_ITERATIONS = 2000, MOST_RANK_ITERATIONS = 200 };

/* How a solve went. */
typedef struct solver_outcome {
    int64_t iterations;
    double residual; /* by which the method stops */
    double us;       /* of the iterations */
} solver_outcome;

typedef struct solver_case {
    record record;
    const char *format, *kernel; /* of ours, as they were asked for; NULL: the library's choice */
    const spry_peer_solver *peer;
    void *peer_state;
    int device;    /* where it runs: 0 the CPU, 1 the first GPU */
    uint64_t hash; /* of the first x: a deterministic case must repeat it */
    double *samples;
    int sample_count;
} solver_case;

typedef struct solver_group {
    bench_session *session;
    const char *wanted; /* device: "cpu", "cuda", "all" */
    bench_factor method;
    const spry_matrix *A; /* in host memory */
    spry_matrix *pattern; /* A where values are left out; NULL: they are not */
    spry_arrays arrays;   /* with values, for peers and the check; of a pattern ones, */
    void *ones;           /* these; NULL else */
    spry_type type;       /* of vectors */
    void *x, *b;          /* b: of CG */
    double tolerance;
    int64_t limit;
    record common;
    char unsuited[512]; /* why the method cannot take the matrix; "": it can, as far as is known */
    solver_case *cases;
    int case_count;
    double children; /* seconds of peers that tell their times, which may be processes of their own */
    double others;
} solver_group;

/* What the method must be able to rely on; the reason goes to group->unsuited. */
spry_status solver_look_at_matrix(solver_group *group, spry_error *err);

/* A whole solve into group->x. 0: it did not succeed, and the record says why. */
int solver_run(solver_group *group, solver_case *c, solver_outcome *outcome);
/* The same of the library's own (solver_ours.c). The first of a case fills in what it tells of itself. */
int solver_run_ours(solver_group *group, solver_case *c, solver_outcome *outcome);

/* The first solve, and what its x is worth. */
void solver_check(solver_group *group, solver_case *c);
/* Of the last x: the same bits, or still right. */
void solver_recheck(solver_group *group, solver_case *c, const solver_outcome *last);

/* Times all cases that passed, in turn. 0: out of memory. */
int solver_measure(solver_group *group);
