/* State of Conjugate Gradient: the plan. cg_plan.c creates the plan, cg_setup.c sets it up, cg.c iterates. */
#pragma once

#include "device/vector_ops.h"
#include "matrix/matrix.h"
#include "solve/solve.h"
#include "spry/solve.h"
#include "spry/spry.h"

#include <math.h>
#include <stdbool.h>

/* The smallest and the largest e with 2^e <= |v| < 2^(e+1), over finite values v other than 0. */
typedef struct spryi_exponents {
    int low, high;
    bool has_values; /* some value is finite and not 0 */
    bool finite;     /* no value is Inf or NaN */
} spryi_exponents;

static inline void spryi_add_exponent(spryi_exponents *e, double value)
{
    if (!isfinite(value)) e->finite = false;
    if (!isfinite(value) || value == 0) return;
    int exponent = ilogb(value);
    if (!e->has_values || exponent < e->low) e->low = exponent;
    if (!e->has_values || exponent > e->high) e->high = exponent;
    e->has_values = true;
}

/*
 * The system solved instead of A*x = b is (2^-a A) x' = 2^-c b. a and c are 0 unless a guard stopped an iteration. a is
 * also not 0 if entries of D, the reciprocals of A's diagonal, would be out of range.
 */
typedef struct spryi_cg_scaling {
    int a, c;
    int m;                /* z = 2^m M r, where M is the caller's */
    bool finds_m;         /* the next z = M r chooses m */
    bool by_run;          /* a run has replaced the set-up of A: the next run sets up again */
    bool needed_by_D;     /* the set-up chooses a, because diagonal entries of A lack reciprocals */
    int x_exponent;       /* exponent of the largest entry of x */
    spry_matrix *host;    /* A in host memory; 2^-a A borrows its arrays */
    spry_matrix *A;       /* 2^-a A; NULL if a is 0 */
    spry_vector values;   /* values of 2^-a A */
    bool inspected_guess; /* the first guess was inspected */
    bool may_drop_guess;  /* the first guess is finite, so x = 0 may replace it */
} spryi_cg_scaling;

enum { SPRYI_CG_MOST_BLOCK = 32 }; /* maximal rows of a block of block Jacobi */

/* The preconditioner M, except jacobi, which is part of the passes. */
typedef struct spryi_cg_precond {
    spry_vector entries; /* entries of the blocks of M */
    spryi_cg_blocks blocks;
    int degree;          /* degree of the polynomial in D A */
    double largest;      /* estimate of the largest eigenvalue of D A */
    double theta, delta; /* middle and half length of the interval on which the polynomial approximates the inverse */
} spryi_cg_precond;

/* State of a column that the host keeps, in addition to the passes' spryi_cg_state. */
typedef struct spryi_cg_column {
    spry_verdict verdict;
    bool is_alone;         /* a guard stopped the column; it is solved separately from other columns */
    double true_residual;  /* true residual, as last computed */
    double before_restart; /* true residual of the previous restart or replacement */
    int64_t restarts, replacements;
    int futile; /* consecutive replacements that lowered the true residual by less than a tenth */
} spryi_cg_column;

/* The system A x = b. */
typedef struct spryi_cg_system {
    spry_matrix *A; /* the caller's matrix, retained; NULL: `operator` is used */
    spry_operator operator;
    int64_t n;
    spry_type type, inner; /* type of x and b; type of the iteration's vectors */
    int device;
} spryi_cg_system;

/* Plans of the products with A. */
typedef struct spryi_cg_products {
    spry_matrix *narrow;          /* A, or 2^-a A, with values in f32 */
    bool narrow_is_exact;         /* no value was rounded */
    spry_spmv_plan *plan, *outer; /* plan: for iterations; outer: for b - A*x, NULL if `plan` computes both */
    spryi_solve_plan names, outer_names;
    double us;     /* time of all products of a run */
    int64_t count; /* number of products of a run */
} spryi_cg_products;

/* Vectors on the device. data NULL: not needed. */
typedef struct spryi_cg_buffers {
    spry_vector r, p, q, z, z_before, D; /* vectors of the iteration's type */
    spry_vector inner_x;                 /* SPRY_PRECISION_F32: the part of the solution that is not yet added to x */
    spry_vector outer_q;                 /* SPRY_PRECISION_F32: A*x */
    spry_vector own_x, own_b;            /* copies of the caller's x and b */
    spry_vector scaled_b;                /* 2^-c b, if c is not 0 */
} spryi_cg_buffers;

/* A recorded iteration, with the addresses that the recording uses. */
typedef struct spryi_cg_recording {
    spryi_recorded recorded;
    const void *x;
    int64_t columns;
} spryi_cg_recording;

/* A run of the plan. */
typedef struct spryi_cg_run {
    spry_cg_run_options options;   /* the run's options; zeros are replaced by the plan's */
    spry_spmv_run_options product; /* options of products; all work of the run uses product.stream */
    bool is_only;                  /* the plan has no other run, so the iteration may use the caller's x */
    spry_vector x, b;              /* on the device, without gaps between columns */
    spryi_cg_state *states;        /* host copies of the device's states, one per column */
    spryi_cg_column *columns;      /* one per column */
    spryi_unequal unequal;         /* entry of A that differs from its mirror image or is not finite; row -1: none */
    double bad_entry;              /* diagonal entry that causes SPRY_VERDICT_BAD_DIAGONAL */
} spryi_cg_run;

struct spry_cg_plan {
    spry_context *context;
    spry_cg_options o; /* the plan's options; o.format and o.kernel point to the next two arrays, or are NULL */
    char format[256], kernel[64];
    double setup_us;
    spryi_cg_system system;
    spryi_cg_products product;
    spryi_vector_work work; /* passes over vectors of type system.inner */
    spryi_cg_buffers vectors;
    spryi_cg_precond precond;
    spryi_cg_scaling scaled;
    bool refreshes; /* true during spry_cg_plan_update: plans of products are updated, not created */
    bool is_stale;  /* the last update failed */
    spryi_cg_recording recording;
    spryi_cg_run current;
    spryi_dependent of_matrix; /* element of A's list of plans */
};

/* Returns whether the iteration starts from the x that the caller gives. */
static inline bool spryi_cg_starts_from_x(const spry_cg_plan *s)
{
    return s->current.options.start == SPRY_START_X;
}

/* Returns device, format and kernel as the options name them. */
static inline spryi_solve_plan spryi_cg_names_of(const spry_cg_plan *s)
{
    return (spryi_solve_plan){s->o.device, s->o.format, s->o.kernel, s->o.count};
}

/* Returns whether M is block Jacobi with blocks of a size that the passes start, dots and step apply themselves. */
static inline bool spryi_cg_is_within(const spry_cg_plan *s)
{
    const spryi_cg_block_passes *within = s->work.ops ? s->work.ops->cg->within : NULL;
    return s->o.precond == SPRY_PRECOND_BLOCK_JACOBI && s->o.precision == SPRY_PRECISION_FULL && within &&
           s->o.block_size >= within->least && s->o.block_size <= within->most;
}

/* Returns whether separate passes apply M. */
static inline bool spryi_cg_has_separate_M(const spry_cg_plan *s)
{
    return s->o.precond > SPRY_PRECOND_JACOBI && !spryi_cg_is_within(s);
}

/* Returns whether b - A*x replaces the recurrent residual, because the iteration has fewer digits or another A. */
static inline bool spryi_cg_replaces(const spry_cg_plan *s)
{
    return s->o.precision == SPRY_PRECISION_F32 ||
           (s->o.precision == SPRY_PRECISION_F32_VALUES && !s->product.narrow_is_exact);
}

/* Returns v with w->columns columns. v has memory for at least as many columns. */
static inline spry_vector spryi_cg_columns_of(const spryi_vector_work *w, const spry_vector *v)
{
    spry_vector of = *v;
    of.count = w->columns;
    return of;
}

/* Returns the vectors that the passes use. */
static inline spryi_cg_vectors spryi_cg_vectors_of(const spry_cg_plan *s)
{
    return (spryi_cg_vectors){.x = s->vectors.inner_x.data ? s->vectors.inner_x.data : s->current.x.data,
                              .r = s->vectors.r.data,
                              .p = s->vectors.p.data,
                              .q = s->vectors.q.data,
                              .z = s->vectors.z.data,
                              .z_before = s->vectors.z_before.data,
                              .b = s->current.b.data,
                              .b_is_f64 = s->system.inner != s->system.type,
                              .D = s->o.precond == SPRY_PRECOND_JACOBI ? s->vectors.D.data : NULL};
}

/* ---- cg_setup.c --------------------------------------------------------------------------------- */

/*
 * Creates or updates the objects that iterations need for A, and the vectors. *result gets a verdict if the iteration
 * cannot start. If a run has scaled A, chooses format and kernel again, as for a new plan.
 */
spry_status spryi_cg_set_up(spry_cg_plan *s, spry_cg_result *result, spry_error *err);
/* Replaces A by 2^-a A in plans and preconditioner, for a single column that a guard has stopped. */
spry_status spryi_cg_set_up_scaled(spry_cg_plan *s, spry_cg_result *result, spry_error *err);
/* Frees the objects that the set-up created. */
void spryi_cg_tear_down(spry_cg_plan *s);

/* ---- cg.c --------------------------------------------------------------------------------------- */

/* One product y = A*x by the plan or by the caller's operator. */
typedef struct spryi_cg_product {
    bool outer; /* multiplies by A itself, if the iteration uses another matrix */
    const spry_vector *out, *in;
    void *stream;
} spryi_cg_product;
spry_status spryi_cg_multiply(spry_cg_plan *s, const spryi_cg_product *product, spry_error *err);

/*
 * Solves for all columns of s->current.x and s->current.b. Stores verdict, residuals, counts and the time in *result.
 */
spry_status spryi_cg_solve(spry_cg_plan *s, spry_cg_result *result, spry_error *err);
