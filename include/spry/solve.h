/*
 * Spry: PageRank and Conjugate Gradient (CG).
 * SPDX-License-Identifier: Apache-2.0
 *
 * docs/solvers.md has the algorithms, their sources and costs, and which tolerances can be reached.
 */
#ifndef SPRY_SOLVE_H
#define SPRY_SOLVE_H

#include "spry/spry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an iteration ended. */
typedef enum spry_verdict {
    SPRY_VERDICT_NONE = 0, /* no iteration; or the call or a callback failed, and other fields are empty */
    SPRY_VERDICT_CONVERGED = 1,
    SPRY_VERDICT_ITERATION_LIMIT = 2,
    SPRY_VERDICT_STAGNATION = 3,         /* CG: the residual no longer decreases */
    SPRY_VERDICT_NOT_SYMMETRIC = 4,      /* CG: A differs from A^T, see symmetry_tolerance */
    SPRY_VERDICT_NEGATIVE_CURVATURE = 5, /* CG: p'Ap <= 0, A is not positive definite */
    SPRY_VERDICT_BAD_DIAGONAL = 6,       /* CG: jacobi needs finite positive diagonal entries */
    SPRY_VERDICT_DANGLING = 7,           /* PageRank: dangling nodes, and SPRY_DANGLING_REFUSE */
    SPRY_VERDICT_NOT_FINITE = 8,         /* an infinity or NaN in the iteration */
    SPRY_VERDICT_STOPPED = 9,            /* by the observer */
    SPRY_VERDICT_OUT_OF_RANGE = 10,      /* CG: the solution overflows the type of x */
    SPRY_VERDICT_BAD_PRECONDITIONER = 11 /* CG: r'Mr <= 0, M is not positive definite */
} spry_verdict;

/* Returns a short constant text, such as "negative curvature". */
SPRY_API const char *spry_verdict_text(spry_verdict verdict);

/*
 * Called in the calling thread after each iteration, from 1. residual: of several vectors the largest. A result other
 * than 0 stops the iteration. On a GPU, up to 16 further iterations may have been started.
 */
typedef int (*spry_observer)(void *user, int64_t iteration, double residual);

/* In options, a tolerance of 0 means the default. This constant means zero, for every tolerance. */
#define SPRY_TOLERANCE_ZERO (-1.0)

/* First iterate. */
typedef enum spry_start {
    SPRY_START_DEFAULT = 0, /* of a run: as the plan has it; else SPRY_START_ZERO */
    SPRY_START_ZERO = 1,    /* CG: zero; PageRank: v. x is only written */
    SPRY_START_X = 2        /* x, in PageRank scaled to sum 1 */
} spry_start;

/* ---- PageRank ---- */

typedef enum spry_norm { SPRY_NORM_1 = 0, SPRY_NORM_2 = 1, SPRY_NORM_INF = 2 } spry_norm;

/* Meaning of entry (i, j). */
typedef enum spry_edges {
    SPRY_ROW_TO_COLUMN = 0, /* a link from i to j */
    SPRY_COLUMN_TO_ROW = 1  /* a link from j to i */
} spry_edges;

/* Treatment of dangling nodes, whose links sum to 0; stored zeros are no links. */
typedef enum spry_dangling {
    SPRY_DANGLING_TELEPORT = 0, /* their rank is distributed as v */
    SPRY_DANGLING_REFUSE = 1,   /* SPRY_VERDICT_DANGLING */
    SPRY_DANGLING_DROP = 2      /* their rank is lost */
} spry_dangling;

typedef struct spry_pagerank_options {
    size_t struct_size;
    double alpha;     /* damping, in (0, 1); 0: 0.85 */
    double tolerance; /* limit of ||x_k - x_(k-1)|| in norm; 0: 1e-8, in f32 1e-6 */
    spry_norm norm;
    int64_t max_iterations; /* 0: 200 */
    spry_edges edges;
    spry_dangling dangling;
    int device;                        /* default: where A is */
    const char *format, *kernel;       /* as in spry_spmv_options */
    spry_observer observe;             /* residual: ||x_k - x_(k-1)|| */
    void *observe_user;                /* first argument of observe */
    void *stream;                      /* GPU */
    spry_const_vector personalization; /* v: elements >= 0 of x's type, scaled to sum 1; empty: 1/n */
    spry_start start;
} spry_pagerank_options;

typedef struct spry_pagerank_result {
    size_t struct_size;
    spry_verdict verdict;
    int64_t iterations;
    double residual;    /* ||x_k - x_(k-1)|| in the norm of the options; NaN before the first iteration */
    double error_bound; /* bound of ||x_k - x||_1 */
    double mass;        /* sum of x_k */
    bool is_stochastic; /* the links of every node already summed to 1 */
    int64_t dangling_nodes;
    int64_t first_dangling_node; /* -1: none */
    double dangling_mass;        /* their share of x_k */
    const char *format, *kernel;
    double setup_us;   /* column sums and plan */
    double upload_us;  /* part of setup_us: copies to the device */
    double solve_us;   /* iterations */
    double product_us; /* part of solve_us: products */
} spry_pagerank_result;

/*
 * Computes PageRank: x_k = alpha*B*x_(k-1) + (1-alpha)*v. B is A^T (A, if edges is SPRY_COLUMN_TO_ROW) with each column
 * divided by its sum. A is n x n with finite entries >= 0, else SPRY_INVALID_MATRIX. x: n elements of A's value type
 * (f32 or f64 for a pattern), in host memory or on the device. result: may be NULL.
 * SPRY_NOT_CONVERGED for every verdict except converged: x has the last iterate, and result is filled. x is unchanged
 * after SPRY_VERDICT_DANGLING.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_pagerank(spry_context *context, spry_vector x, spry_pagerank_result *result,
                                                   const spry_matrix *A, const spry_pagerank_options *options,
                                                   spry_error *err);

/* ---- Conjugate Gradient ---- */

/* Preconditioner M, an approximation of the inverse of A. */
typedef enum spry_precond {
    SPRY_PRECOND_NONE = 0,
    SPRY_PRECOND_JACOBI = 1,       /* inverse of the diagonal */
    SPRY_PRECOND_BLOCK_JACOBI = 2, /* inverses of diagonal blocks of block_size rows */
    SPRY_PRECOND_CHEBYSHEV = 3,    /* polynomial of a degree, with jacobi: degree products more per iteration */
    SPRY_PRECOND_CALLBACK = 4      /* the caller's function */
} spry_precond;

/* Types in the iteration, for f64 systems. True residuals are in f64 with A's values. */
typedef enum spry_precision {
    SPRY_PRECISION_FULL = 0,
    SPRY_PRECISION_F32_VALUES = 1, /* values of A in f32, vectors in f64 */
    SPRY_PRECISION_F32 = 2         /* values of A and vectors in f32 */
} spry_precision;

/*
 * Computes y = A*x or z = M*r in the caller's code and thread; it may call the library. Vectors are column-major, on
 * the device of the work, as many as are solved for together, with all strides set. y is only written. On a GPU the
 * work must be started in `stream`. A status other than SPRY_OK ends the solver with this status and the verdict NONE.
 * err is not NULL and may be left empty; its status is ignored.
 */
typedef spry_status (*spry_apply)(void *user, spry_vector y, spry_const_vector x, void *stream, spry_error *err);

/* A symmetric positive definite n x n matrix that is given by its products. */
typedef struct spry_operator {
    size_t struct_size;
    int64_t n;
    spry_type type; /* of vectors: SPRY_F32 or SPRY_F64 */
    int device;     /* memory of vectors; default: host */
    spry_apply apply;
    void *user; /* first argument of apply */
} spry_operator;

typedef struct spry_cg_options {
    size_t struct_size;
    double tolerance;          /* limit of ||b - A*x||_2 / ||b||_2; 0: 1e-8, in f32 1e-3 */
    double absolute_tolerance; /* or of ||b - A*x||_2: the easier goal counts; 0: none */
    int64_t max_iterations;    /* 0: 10*n, at least 10 000, at most 100 000 */
    int64_t patience;          /* iterations without progress until stagnation; 0: n, 200 to 50 000 */
    spry_start start;
    spry_precond precond;
    int64_t block_size;      /* block jacobi: 1 to 32; 0: 3 */
    int64_t degree;          /* chebyshev: 1 to 64; 0: 4 */
    double eigenvalue_ratio; /* chebyshev: largest over smallest eigenvalue in the interval; 0: 100 */
    spry_apply precondition; /* callback, else NULL: z = M*r, M symmetric positive definite and constant */
    void *precondition_user; /* first argument of precondition */
    spry_precision precision;
    int64_t count;                 /* of a plan: most vectors b per run; 0: 1 */
    double symmetry_tolerance;     /* allowed |a_ij - a_ji|, relative, in eps; 0: 1000 */
    bool assume_symmetric;         /* A is not checked */
    int device;                    /* default: where A is */
    const char *format, *kernel;   /* as in spry_spmv_options */
    spry_observer observe;         /* residual: relative to ||b|| */
    void *observe_user;            /* first argument of observe */
    void *stream;                  /* GPU */
    const spry_operator *products; /* A by its products, with the argument A NULL; precond NONE or CALLBACK */
} spry_cg_options;

typedef struct spry_cg_result {
    size_t struct_size;
    spry_verdict verdict;
    int64_t iterations;
    double residual;      /* ||b - A*x|| / ||b|| as updated by the iteration; NaN: none */
    double true_residual; /* the same, computed from x at the end */
    int64_t restarts;     /* from a computed residual */
    int64_t replacements; /* of the residual by a computed one (SPRY_PRECISION_F32) */
    int64_t bad_row;      /* SPRY_VERDICT_BAD_DIAGONAL; -1: none */
    const char *format, *kernel;
    double setup_us;           /* check, preconditioner and plan; 0 for a run of a plan */
    double solve_us;           /* iterations */
    double product_us;         /* part of solve_us: products */
    double largest_eigenvalue; /* chebyshev: estimate, of A scaled by jacobi; else 0 */
    int64_t vector;            /* described vector: the first that failed, else the slowest */
    int64_t converged;         /* vectors that converged */
} spry_cg_result;

/*
 * Solves A*x = b for symmetric positive definite A, n x n; x = 0 for b = 0. x and b: n elements of A's value type (f32
 * or f64 for a pattern), in host memory or on the device; one vector, or column-major vectors solved together. x must
 * not overlap b or A. result: may be NULL.
 * SPRY_NOT_CONVERGED for every verdict except converged and none: x has the last iterate, and result is filled. x is
 * unchanged if A is refused by its check, and undefined after an error of a callback.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_cg(spry_context *context, spry_vector x, spry_cg_result *result,
                                             const spry_matrix *A, spry_const_vector b, const spry_cg_options *options,
                                             spry_error *err);

/* A system prepared for many b. */
typedef struct spry_cg_plan spry_cg_plan;

/* Checks A and builds the preconditioner and the plan of products. SPRY_NOT_CONVERGED: A is refused by its check. */
SPRY_MUST_CHECK SPRY_API spry_status spry_cg_plan_create(spry_context *context, spry_cg_plan **plan,
                                                         spry_cg_result *result, const spry_matrix *A,
                                                         const spry_cg_options *options, spry_error *err);

typedef struct spry_cg_run_options {
    size_t struct_size;
    double tolerance, absolute_tolerance;
    int64_t max_iterations, patience;
    spry_start start;
    spry_observer observe; /* NULL: the plan's, with its observe_user */
    void *observe_user;
    void *stream;
} spry_cg_run_options;

/* Solves for b as spry_cg does. Exclusive use of the plan. */
SPRY_MUST_CHECK SPRY_API spry_status spry_cg_plan_run(spry_cg_plan *plan, spry_vector x, spry_cg_result *result,
                                                      spry_const_vector b, const spry_cg_run_options *options,
                                                      spry_error *err);

/*
 * Takes over values of A that changed in place: checks A and rebuilds the preconditioner. Operators need no update.
 * Exclusive use of the plan.
 * After a failure the plan can only be updated again or destroyed.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_cg_plan_update(spry_cg_plan *plan, spry_cg_result *result, spry_error *err);

SPRY_API void spry_cg_plan_destroy(spry_cg_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
