/* Conjugate Gradient inside: a system made ready, its preconditioner, its scaling by powers of two. */
#pragma once

#include "device/vector_ops.h"
#include "solve/solve.h"
#include "spry/solve.h"
#include "spry/spry.h"

#include "matrix/matrix.h"

#include <stdbool.h>

/* ---- scaling by powers of two (cg_magnitude.c), exact unless results underflow or overflow ---- */

/* The e for which 1 is in the middle of the entries (jacobi: of the diagonal) of 2^-e A, and 2^-e A is exact. */
spry_status spryi_cg_exponent_of_matrix(int *exponent, const spry_matrix *A, int jacobi, spry_error *err);

/*
 * *made = 2^exponent A of A's offsets and indices (A on the host must stay) and of *values, both to destroy (also when
 * it failed).
 */
spry_status spryi_cg_scale_matrix(spry_context *context, spry_matrix **made, spry_vector *values, const spry_matrix *A,
                                  int exponent, spry_error *err);

/* ---- a system ------------------------------------------------------------------------------------ */

/* The system solved instead of A*x = b is (2^-a A) x' = 2^-c b. Both are 0 unless a guard stopped an iteration. */
typedef struct spryi_cg_scaling {
    int a, c;
    int m;                /* z = 2^m M r, where M is the caller's */
    bool finds_m;         /* the next z = M r chooses m */
    bool by_run;          /* a run has replaced what the set-up made of A: the next run sets up anew */
    int needed_by_D;      /* 1: entries of the diagonal have no reciprocals otherwise, so a is chosen at once */
    int x_exponent;       /* of the largest entry of x */
    spryi_host_copy host; /* of A in device memory */
    spry_matrix *A;       /* 2^-a A; NULL: a is 0 */
    spry_vector values;   /* its */
    bool guess_is_seen;   /* the first guess was inspected */
    bool may_drop_guess;  /* the first guess is finite, so x = 0 may replace it */
} spryi_cg_scaling;

/* M, but for jacobi, which is part of the passes. */
typedef struct spryi_cg_precond {
    spry_vector entries; /* of blocks */
    spryi_cg_blocks blocks;
    int degree;          /* of the polynomial in D A */
    double largest;      /* eigenvalue of D A, estimated */
    double theta, delta; /* middle and half of the interval that the polynomial is small on */
} spryi_cg_precond;

/* How a column goes. */
typedef struct spryi_cg_column {
    spry_verdict verdict;
    int is_alone;          /* 1: a guard stopped it, it is to be solved by itself */
    double true_residual;  /* as last computed */
    double before_restart; /* that of the restart, or replacement, before */
    int64_t restarts, replacements;
    int futile; /* replacements in a row that did not lower it */
} spryi_cg_column;

struct spry_cg_plan {
    spry_context *context;
    spry_cg_options o; /* those of the plan; its texts are below */
    char format[256], kernel[64];
    spry_matrix *A; /* the caller's, retained; NULL: an operator */
    spry_operator operator;
    spryi_solve_plan names, outer_names;
    int64_t n;
    spry_type type, inner; /* of x and b; of the iteration's vectors */
    int device;
    double setup_us;

    spry_matrix *narrow;                 /* A's values in f32 */
    int narrow_is_exact;                 /* 1: they are A's own */
    spry_spmv_plan *plan, *outer;        /* products of the iteration; of b - A*x, NULL: the same */
    spryi_vector_work work;              /* of `inner` */
    spry_vector r, p, q, z, z_before, D; /* on the device, of `inner`; data NULL: not needed */
    spry_vector inner_x;                 /* f32 inside: what is to be added to x */
    spry_vector outer_q;                 /* f32 inside: A*x */
    spry_vector own_x, own_b;            /* copies of the caller's on the device; data NULL: none are kept */
    spry_vector scaled_b;                /* 2^-c b, where c is not 0 */
    spryi_cg_precond precond;
    spryi_cg_scaling scaled;
    int refreshes; /* 1: plans take new values of the same structure */
    int is_stale;  /* 1: the last update failed */

    spryi_recorded recorded; /* with these addresses: */
    const void *recorded_x;
    int64_t recorded_columns;

    /* ---- of a run ---- */
    spry_cg_options now;      /* what it was asked for */
    spry_run_options run;     /* its stream is that of all work */
    int one_run;              /* 1: there will be no other, so x may stay where it is */
    spry_vector x, b;         /* on the device, without gaps between columns */
    spryi_cg_state *states;   /* as they were when last looked at, one a column */
    spryi_cg_column *columns; /* so many */
    spryi_unequal unequal;    /* entry of A that differs from its mirror image, or is not finite; row -1: none */
    double bad_entry;         /* of the diagonal */
    double product_us;
    int64_t products;
};

/* Whether M is blocks within start, dots and step. */
static inline int spryi_cg_is_within(const spry_cg_plan *s)
{
    const spryi_cg_block_passes *within = s->work.ops ? s->work.ops->cg->within : NULL;
    return s->o.precond == SPRY_PRECOND_BLOCK_JACOBI && s->o.inside == SPRY_INSIDE_SAME && within &&
           s->o.block_size >= within->least && s->o.block_size <= within->most;
}
/* Whether M is applied by passes of its own. */
static inline int spryi_cg_is_apart(const spry_cg_plan *s)
{
    return s->o.precond > SPRY_PRECOND_JACOBI && !spryi_cg_is_within(s);
}
static inline int spryi_cg_needs_diagonal(const spry_cg_plan *s)
{
    return s->o.precond != SPRY_PRECOND_NONE && s->o.precond != SPRY_PRECOND_CALLBACK;
}

/* Whether b - A*x takes the carried residual's place on the way: where the iteration has another A, or less digits. */
static inline int spryi_cg_replaces(const spry_cg_plan *s)
{
    return s->o.inside == SPRY_INSIDE_F32 || (s->o.inside == SPRY_INSIDE_F32_VALUES && !s->narrow_is_exact);
}

/* Checks the plan's options, and puts defaults in the place of zeros; the same for those of a run. */
spry_status spryi_cg_check_options(spry_cg_plan *s, spry_error *err);
spry_status spryi_cg_check_stopping(const spry_cg_plan *s, spry_cg_options *o, spry_error *err);

/* cg_setup.c: what iterations need of A, or of 2^-a A. A verdict goes to *result. */
spry_status spryi_cg_set_up(spry_cg_plan *s, spry_cg_result *result, spry_error *err);
spry_status spryi_cg_make_plans(spry_cg_plan *s, spry_error *err);
spry_status spryi_cg_make_precond(spry_cg_plan *s, spry_cg_result *result, const spry_matrix *host, spry_error *err);
spry_status spryi_cg_make_scaled(spry_cg_plan *s, spry_cg_result *result, spry_error *err);
void spryi_cg_forget_rounds(spry_cg_plan *s);
void spryi_cg_forget_plans(spry_cg_plan *s);
void spryi_cg_forget_scaling(spry_cg_plan *s);

/* cg_products.c: y = A*x by the plan, or by the caller; z = M*r; columns of `in`, which the work `w` has. */
typedef struct spryi_cg_product {
    int outer; /* 1: of A itself, where the iteration has another */
    const spry_vector *out, *in;
    void *stream;
} spryi_cg_product;
spry_status spryi_cg_multiply(spry_cg_plan *s, const spryi_cg_product *product, spry_error *err);
/* v, which has room for more, with as many columns as the work. */
static inline spry_vector spryi_cg_columns_of(const spryi_vector_work *w, const spry_vector *v)
{
    spry_vector of = *v;
    of.columns = w->columns;
    return of;
}
/* The vectors that passes take. */
spryi_cg_vectors spryi_cg_vectors_of(const spry_cg_plan *s);
/* z = M*r and p = z + beta*p. */
spry_status spryi_cg_apply(spry_cg_plan *s, const spryi_vector_work *w, spry_error *err);
/* The interval of the polynomial, by some iterations of jacobi from a vector of random numbers. */
spry_status spryi_cg_find_interval(spry_cg_plan *s, spry_error *err);

/* cg.c: iterations that are started many times; x is that of the run, of work.columns columns. Again: nothing new. */
spry_status spryi_cg_record_rounds(spry_cg_plan *s, spry_error *err);
/* x, b and states of s are those of the run, of `columns` columns. Verdicts go to s->columns. */
spry_status spryi_cg_iterate(spry_cg_plan *s, int64_t columns, spry_error *err);
/* b - A*x of all columns: their true residuals. */
spry_status spryi_cg_find_residuals(spry_cg_plan *s, spry_error *err);
spry_status spryi_cg_begin(spry_cg_plan *s, int x_is_zero, spry_error *err);

/* cg_magnitude.c: one column that a guard, or overflow, has stopped. */
spry_status spryi_cg_scale_b(spry_cg_plan *s, spry_error *err);
spry_status spryi_cg_scale_A(spry_cg_plan *s, spry_error *err);
spry_status spryi_cg_scale_back(spry_cg_plan *s, spry_error *err);
/* x *= 2^exponent, where x is the iterate or the first guess. */
spry_status spryi_cg_scale_x(spry_cg_plan *s, int exponent, spry_error *err);
/* Replaces a first guess whose residual overflows by x = 0. Else the verdict is "not finite". */
spry_status spryi_cg_heed_overflow(spry_cg_plan *s, spry_error *err);
/* z *= 2^m in the work's stream; chooses m if that is due. */
spry_status spryi_cg_scale_z(spry_cg_plan *s, const spryi_vector_work *w, const spry_vector *z, spry_error *err);

/* cg_verdict.c: what a verdict means, as an error; SPRY_OK where it is converged. */
spry_status spryi_cg_tell(const spry_cg_plan *s, const spry_cg_result *result, spry_error *err);
