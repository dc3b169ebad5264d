/*
 * Spry: PageRank and Conjugate Gradient.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules at the top of spry/spry.h hold here too.
 */
#ifndef SPRY_SOLVE_H
#define SPRY_SOLVE_H

#include "spry/spry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an iteration ended. */
typedef enum spry_verdict {
    SPRY_VERDICT_NONE = 0, /* it did not begin, or an error ended it */
    SPRY_VERDICT_CONVERGED = 1,
    SPRY_VERDICT_ITERATION_LIMIT = 2,
    SPRY_VERDICT_STAGNATION = 3,         /* CG: the residual no longer falls, see spry_cg */
    SPRY_VERDICT_NOT_SYMMETRIC = 4,      /* CG: A is not, see symmetry_tolerance */
    SPRY_VERDICT_NEGATIVE_CURVATURE = 5, /* CG: p'Ap <= 0 for some p, so A is not positive definite */
    SPRY_VERDICT_BAD_DIAGONAL = 6,       /* CG, jacobi: a diagonal entry is 0, negative, missing or has no reciprocal */
    SPRY_VERDICT_ZERO_COLUMN = 7,        /* PageRank: columns without weight, which were not allowed */
    SPRY_VERDICT_NOT_FINITE = 8,         /* Inf or NaN came up: in the input, or by overflow */
    SPRY_VERDICT_STOPPED = 9,            /* the caller's observer said so */
    SPRY_VERDICT_OUT_OF_RANGE = 10,      /* CG: x has entries that its type does not hold, see spry_cg */
    SPRY_VERDICT_BAD_PRECONDITIONER = 11 /* CG: r'Mr <= 0 for some r, so M is not positive definite */
} spry_verdict;

/* Short constant text such as "negative curvature". */
SPRY_API const char *spry_verdict_text(spry_verdict verdict);

/*
 * Called after each iteration with its residual (relative to ||b|| in CG); anything but 0 stops. On a GPU iterations
 * are started ahead, up to 16, of 2^18 unknowns and more up to 4, and told of when they have ended: a stop then comes
 * after the last one started.
 */
typedef int (*spry_observer)(void *user, int64_t iteration, double residual);

typedef enum spry_norm { SPRY_NORM_1 = 0, SPRY_NORM_2 = 1, SPRY_NORM_INF = 2 } spry_norm;

/* What entry (i, j) of the matrix of a graph stands for. */
typedef enum spry_edges {
    SPRY_ROW_TO_COLUMN = 0, /* a link from i to j, as most graph files have it: B = A^T */
    SPRY_COLUMN_TO_ROW = 1  /* a link from j to i: B = A */
} spry_edges;

/* What becomes of nodes that link nowhere, columns of B without weight. */
typedef enum spry_zero_columns {
    SPRY_ZERO_TELEPORT = 0, /* their rank is spread over all nodes: a zero column counts as v, see spry_pagerank */
    SPRY_ZERO_REFUSE = 1,   /* refuse: SPRY_VERDICT_ZERO_COLUMN */
    SPRY_ZERO_DROP = 2      /* the columns stay zero: the mass that enters them is lost */
} spry_zero_columns;

/* A tolerance of 0 in options is the default; this one is 0: only a residual that is 0 will do. */
#define SPRY_TOLERANCE_ZERO (-1.0)

typedef struct spry_pagerank_options {
    size_t struct_size;
    double alpha;           /* damping, in (0, 1); 0: 0.85 */
    double tolerance;       /* stop when ||x_k - x_(k-1)|| <= tolerance; 0: 1e-8, in f32 1e-6 */
    spry_norm norm;         /* ... in this norm */
    int64_t max_iterations; /* 0: 200 */
    spry_edges edges;
    spry_zero_columns zero_columns;
    int device;                  /* as in spry_spmv_options ... */
    const char *format, *kernel; /* ... and these */
    spry_observer observe;       /* NULL: none */
    void *user;                  /* for it */
    void *stream; /* GPU: the stream that all of it runs in, after what that holds; the call ends when it has ended */
    /*
     * v of personalised PageRank: n finite entries >= 0, of x's type, which are divided by their sum (not 0). On the
     * host or on the device that does the work; read before the iteration begins. Zeros: v = e/n.
     */
    spry_const_vector personalised;
    int start_from_x; /* 1: x holds x_0, entries as of v, divided by their sum; 0: x_0 = v, x is only written */
} spry_pagerank_options;

typedef struct spry_pagerank_result {
    size_t struct_size;
    spry_verdict verdict;
    int64_t iterations;
    double residual;             /* ||x_k - x_(k-1)|| in the norm asked for; NaN before the first iteration */
    double error_bound;          /* bound of ||x_k - x||_1: alpha/(1-alpha) * ||x_k - x_(k-1)||_1, plus rounding */
    double mass;                 /* sum of x_k; 1 unless mass was dropped, which was then 1 - mass */
    int as_it_stands;            /* 1: B was column-stochastic already, and was not divided by its column sums */
    int64_t zero_columns;        /* nodes that link nowhere ... */
    int64_t first_zero_column;   /* ... the first of them, -1: none ... */
    double zero_mass;            /* ... and their share of x_k */
    const char *format, *kernel; /* "" if the iteration did not begin */
    double setup_us;             /* column sums and plan */
    double solve_us;             /* the iterations, of which products took product_us */
    double product_us;
    double upload_us; /* of setup_us, moving A to the device */
} spry_pagerank_result;

/*
 * The PageRank of a graph: x_k = alpha*B*x_(k-1) + (1-alpha)*v from x_0 = v, where B is A^T (or A, see edges) with
 * each entry divided by its column sum; as it stands when every column sums to 1 within 8 eps. A is n x n, n >= 1,
 * sound; stored entries at one position count as their sum. x has n entries of A's value type (either type for a
 * pattern).
 *
 * v is e/n, each entry 1/n, or options->personalised divided by its sum: where rank that does not follow a link goes
 * to. That is also the rank of nodes that link nowhere, if zero columns teleport: all of it goes where v says. Nodes
 * that cannot be reached from those where v is above 0 have rank 0 in the end.
 *
 * The defaults suit a graph as most files hold it. A column-stochastic matrix B wants edges = SPRY_COLUMN_TO_ROW and
 * zero_columns = SPRY_ZERO_REFUSE.
 *
 * The scaling is applied to x, not to A: nothing is copied but what the plan does, and a matrix whose entries are all
 * 1 is multiplied as a pattern. An iteration is one product and one pass over four vectors, five if personalised.
 * Allocates three vectors, the column factors and v once. The same bits for any number of threads.
 *
 * On a GPU (options->device, or where A is) all of it stays in its memory; x and v may be there or on the host. A is
 * looked at there, too, after a copy of it if it is on the host, and transposed there if edges ask for that; with
 * coordinates, 64-bit columns or too little memory for it (some 40 bytes an entry) that is done on the host. The
 * residual and the number of iterations are those of the iteration that ended it. product_us comes from ten products
 * that are timed by themselves afterwards.
 *
 * SPRY_NOT_CONVERGED for every verdict but converged: then too result is filled, and x holds the last iterate (but
 * after SPRY_VERDICT_ZERO_COLUMN, where it is as it was). SPRY_INVALID_MATRIX: a negative entry or one that is not
 * finite. SPRY_INVALID_ARGUMENT: such an entry of v or x_0, or a sum of 0, or of Inf. result and options may be NULL.
 * Source: O. Meister, CUDA Kernels for SpMV (tutorial), 2013; the bound: the map contracts the 1-norm by alpha.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_pagerank(spry_context *context, spry_vector x, spry_pagerank_result *result,
                                                   const spry_matrix *A, const spry_pagerank_options *options,
                                                   spry_error *err);

/* ------------------------------------------------------------------------------------------------ *
 * Conjugate Gradient
 * ------------------------------------------------------------------------------------------------ */

/* M, which stands for the inverse of A: an iteration works on M*A. */
typedef enum spry_precond {
    SPRY_PRECOND_NONE = 0,
    SPRY_PRECOND_JACOBI = 1,       /* D, the reciprocals of A's diagonal */
    SPRY_PRECOND_BLOCK_JACOBI = 2, /* inverses of blocks on A's diagonal, of block_size rows each */
    SPRY_PRECOND_CHEBYSHEV = 3,    /* a Chebyshev polynomial in D*A: `degree` products more an iteration */
    SPRY_PRECOND_CALLBACK = 4      /* the caller's `precondition` */
} spry_precond;

/* What iterations work with. Systems of f64 alone have a choice. */
typedef enum spry_precision {
    SPRY_PRECISION_FULL = 0,
    SPRY_PRECISION_F32_VALUES = 1, /* A's values in f32, vectors in f64 */
    SPRY_PRECISION_F32 = 2         /* A's values and the iteration's vectors in f32; x, b and b - A*x in f64 */
} spry_precision;

/*
 * y = A*x, or z = M*r, by the caller's code. Vectors have the system's length, its type (with `inside` f32 that one:
 * see x.type), row_stride 1 and as many columns as are solved for at once, and lie on the device that the work is done
 * on; what y holds before is not to be read. On a GPU the work is to be started in `stream`, which holds what comes
 * before it and takes what comes after. Anything but SPRY_OK ends the solution with that status; err, never NULL, takes
 * its reason.
 */
typedef spry_status (*spry_apply)(void *user, spry_vector y, spry_const_vector x, void *stream, spry_error *err);

/* A symmetric positive definite n x n matrix that is known by its products alone. */
typedef struct spry_operator {
    size_t struct_size;
    int64_t n;
    spry_type type; /* of vectors: SPRY_F32 or SPRY_F64 */
    int device;     /* where `apply` takes vectors: 0 or SPRY_CPU for host memory, or a GPU */
    spry_apply apply;
    void *user; /* for it */
} spry_operator;

typedef struct spry_cg_options {
    size_t struct_size;
    spry_precond precond;
    /*
     * Stops when ||b - A*x||_2 <= tolerance * ||b||_2, or <= absolute_tolerance (below), whichever is the larger.
     * 0: 1e-8, in f32 1e-3, see spry_cg; SPRY_TOLERANCE_ZERO leaves absolute_tolerance alone.
     */
    double tolerance;
    int64_t max_iterations; /* 0: 10*n, but at least 10 000 and at most 100 000 */
    int64_t patience;       /* iterations without a new smallest residual that count as stagnation; 0: see spry_cg */
    int start_from_x;       /* 1: x holds a first guess, see Magnitudes; 0: start from zero, x is only written */
    int device;             /* as in spry_spmv_options ... */
    const char *format, *kernel; /* ... and these */
    spry_observer observe;       /* NULL: none */
    void *user;                  /* for it */
    void *stream; /* GPU: the stream that all of it runs in, after what that holds; the call ends when it has ended */
    double absolute_tolerance; /* of ||b - A*x||_2; 0: none */
    int64_t block_size;        /* block jacobi: rows of a block, 1 to 32; 0: 3 */
    int64_t degree;            /* chebyshev: of the polynomial, 1 to 64; 0: 4 */
    double eigenvalue_ratio;   /* chebyshev: largest eigenvalue of D*A over the smallest it aims at; 0: 100 */
    spry_apply precondition;   /* SPRY_PRECOND_CALLBACK: z = M*r, M symmetric positive definite, always the same */
    void *precondition_user;   /* for it */
    spry_precision inside;     /* what iterations work with */
    int64_t count;             /* of a plan: the most right sides that a run has; 0: 1 */
    /*
     * A is symmetric if |a_ij - a_ji| <= symmetry_tolerance * eps * max(|a_ij|, |a_ji|, sqrt(|a_ii a_jj|)) for all i
     * and j. A missing entry counts as 0, and eps is that of A's value type. 0: 1000, which allows the rounding of
     * assembled finite elements and of products such as G^T D G. SPRY_TOLERANCE_ZERO: no difference is allowed.
     */
    double symmetry_tolerance;
    int assume_symmetric; /* nonzero: A counts as symmetric without a check */
} spry_cg_options;

typedef struct spry_cg_result {
    size_t struct_size;
    spry_verdict verdict;
    int64_t iterations;
    double residual; /* relative to ||b||, as carried along by the iteration; NaN when it did not begin */
    /*
     * ||b - A*x|| / ||b||, computed at the end in the type of x. Below eps * || |A| |x| || / ||b|| it is rounding
     * alone, so that a system whose entries differ by many orders of magnitude may be called converged by it.
     */
    double true_residual;
    int64_t restarts; /* times it went on from b - A*x, because the carried residual had lost touch with it */
    int64_t bad_row;  /* SPRY_VERDICT_BAD_DIAGONAL: the row; -1: none */
    const char *format, *kernel; /* "" for an operator, after an error and if A was refused; never NULL */
    double setup_us;             /* symmetry, preconditioner and plan; of a run of a plan 0 */
    double solve_us;             /* the iterations, of which products took product_us */
    double product_us;
    int64_t replacements; /* `inside` f32: times the carried residual was replaced by b - A*x on the way */
    int64_t products;     /* that an iteration takes: 1, with chebyshev 1 + degree */
    /* That the passes over vectors of an iteration read or write for each row at the least; NaN with callbacks. */
    double numbers;
    /* Of several right sides: the one told of, from 0 (the first that failed, or that took most iterations), ... */
    int64_t column;
    int64_t columns_converged; /* ... and how many came to their end */
    double largest_eigenvalue; /* chebyshev: of D*A, an estimate that is a little high; else 0 */
} spry_cg_result;

/*
 * Solves A*x = b by the method of Conjugate Gradients for symmetric positive definite A, n x n, sound. x and b have n
 * entries of A's value type (either type for a pattern) and do not overlap. On a GPU as spry_pagerank: vectors may be
 * on the device or on the host. A in device memory is copied to the host once if its symmetry has to be checked or
 * there is a preconditioner. Vectors of several columns (row_stride 1, at any column_stride) are as many systems,
 * solved side by side by products with all of them.
 *
 * Symmetry is checked up to rounding (symmetry_tolerance), even if the creator of A or a container claims it. It is not
 * checked of one triangle, nor of a matrix that the library itself has made symmetric, as from a symmetric file. The
 * message names the first entry that differs from its mirror image, or is Inf or NaN.
 *
 * An iteration is one product and two passes over vectors, nine times n numbers read or written in all (eleven with
 * jacobi); dots are summed in f64 whatever the type. Other preconditioners need more (result.numbers). Allocates three
 * vectors (four with jacobi, more with others) once. The same bits for any number of threads.
 *
 * b - A*x is computed when the carried residual reaches the tolerance, or eps/1024 of its value at the last
 * computation. If b - A*x is within the tolerance, the iteration has converged; else it begins anew from b - A*x.
 * Stagnation: a restart whose true residual is over half that of the restart before, or `patience` iterations (0: n,
 * but 200 to 50 000) without the carried residual falling 1 % below its smallest.
 *
 * What can be reached: an x rounded to its type leaves about eps ||A|| ||x|| / ||b|| of b (eps 1.2e-7 in f32, 2.2e-16
 * in f64), which is up to eps times the condition of A. 1e-3 in f32 is reached up to a condition of some thousands, as
 * 1e-8 in f64 is up to some 10^7; well-conditioned systems reach 1e-6 in f32. A tolerance that is given holds as it is.
 * A tolerance that cannot be reached ends in stagnation, or at the limit of iterations if that comes first, as it may
 * for a badly scaled A. With `inside` f32, b - A*x is computed in f64 with A's own values each time that the residual
 * has fallen by a factor of ten, and takes the place of the carried one, while the direction stays: tolerances of f64
 * are reached with the bytes of f32, in more iterations where A is ill-conditioned.
 *
 * Magnitudes: where squares of A's or b's entries underflow or overflow, the system is scaled by powers of two, which
 * changes no other bit (b, and where A is extreme its values, are then copied, through host memory). Residuals are
 * relative, so they are the caller's. The results of `precondition` are scaled too, but its vectors' type (with
 * `inside` f32 that is f32) has to hold M*r for an r whose largest entry is near 1. Products of an operator are not
 * scaled. If the squares of a finite first guess's residual overflow, the iteration starts from zero instead.
 * SPRY_VERDICT_OUT_OF_RANGE: x itself has entries that its type does not hold, and what x becomes then, with infinities
 * or zeros, is no solution.
 *
 * Every verdict except converged returns SPRY_NOT_CONVERGED. result is filled then, and x holds the last iterate; if
 * the check of symmetry or of the diagonal ended the call, the iteration did not begin (result.kernel is "") and x is
 * unchanged. After any other error the verdict is SPRY_VERDICT_NONE. An error of a callback is such an error, even if
 * its status is SPRY_NOT_CONVERGED, and leaves x undefined. b = 0 gives x = 0. result and options may be NULL.
 * Source: M. R. Hestenes, E. Stiefel, Methods of Conjugate Gradients for Solving Linear Systems, 1952; both dots in one
 * pass: G. Meurant, Multitasking the Conjugate Gradient Method on the CRAY X-MP/48, 1987; chebyshev: Y. Saad, Iterative
 * Methods for Sparse Linear Systems, 2003, section 12.3; the residual's replacement: H. van der Vorst, Q. Ye, Residual
 * Replacement Strategies for Krylov Subspace Iterative Methods, 2000.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_cg(spry_context *context, spry_vector x, spry_cg_result *result,
                                             const spry_matrix *A, spry_const_vector b, const spry_cg_options *options,
                                             spry_error *err);

/* The same for a matrix that is known by its products: without jacobi, block jacobi, chebyshev and `inside`. */
SPRY_MUST_CHECK SPRY_API spry_status spry_cg_operator(spry_context *context, spry_vector x, spry_cg_result *result,
                                                      const spry_operator *A, spry_const_vector b,
                                                      const spry_cg_options *options, spry_error *err);

/*
 * A system made ready to be solved for many right sides: the look at A, the preconditioner, the plan of products,
 * vectors and, on a GPU, recorded iterations are made once. The matrix handle may go first; its arrays, if borrowed,
 * may not. SPRY_NOT_CONVERGED where A cannot be solved with (not symmetric, bad diagonal): result, which may be NULL,
 * tells which.
 */
typedef struct spry_cg_plan spry_cg_plan;
SPRY_MUST_CHECK SPRY_API spry_status spry_cg_plan_create(spry_context *context, spry_cg_plan **plan,
                                                         spry_cg_result *result, const spry_matrix *A,
                                                         const spry_cg_options *options, spry_error *err);
SPRY_MUST_CHECK SPRY_API spry_status spry_cg_plan_create_operator(spry_context *context, spry_cg_plan **plan,
                                                                  const spry_operator *A,
                                                                  const spry_cg_options *options, spry_error *err);

/*
 * Solves for one b as spry_cg does, with the same bits in every run, whatever earlier runs ended with. `options` may be
 * NULL. Only these of its fields are read: tolerance, absolute_tolerance, max_iterations, patience, start_from_x,
 * observe with user, and stream; a field that is 0 or NULL has the plan's value. After a run that had to scale A
 * (Magnitudes, above) the next run sets A up anew, with the verdicts of creation. Exclusive use of the plan: one run at
 * a time.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_cg_plan_run(spry_cg_plan *plan, spry_vector x, spry_cg_result *result,
                                                      spry_const_vector b, const spry_cg_options *options,
                                                      spry_error *err);

/*
 * Takes new values in the same structure, changed in place: checks symmetry again and rebuilds the preconditioner and
 * the plan of products. After a failure the plan can only be destroyed or updated again. result as at creation.
 */
SPRY_MUST_CHECK SPRY_API spry_status spry_cg_plan_update(spry_cg_plan *plan, spry_cg_result *result, spry_error *err);

/* NULL is fine. */
SPRY_API void spry_cg_plan_destroy(spry_cg_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
