/* State of Conjugate Gradient: the plan, which cg_plan.c creates, cg_setup.c sets up and cg.c iterates on. */
#pragma once

#include "device/vector_ops.h"
#include "matrix/matrix.h"
#include "solve/solve.h"
#include "spry/solve.h"
#include "spry/spry.h"

#include <math.h>
#include <stdbool.h>

/* The smallest and the largest e with 2^e <= |v| < 2^(e+1), over finite numbers v other than 0. */
typedef struct spryi_exponents {
    int low, high;
    int any;    /* 0: there is no such number */
    int finite; /* 0: there is Inf or NaN */
} spryi_exponents;

static inline void spryi_see_exponent(spryi_exponents *e, double value)
{
    if (!isfinite(value)) e->finite = 0;
    if (!isfinite(value) || value == 0) return;
    int exponent = ilogb(value);
    if (!e->any || exponent < e->low) e->low = exponent;
    if (!e->any || exponent > e->high) e->high = exponent;
    e->any = 1;
}

/*
 * The system solved instead of A*x = b is (2^-a A) x' = 2^-c b. Both are 0 unless a guard stopped an iteration, or D
 * needs a.
 */
typedef struct spryi_cg_scaling {
    int a, c;
    int m;               /* z = 2^m M r, where M is the caller's */
    bool finds_m;        /* the next z = M r chooses m */
    bool by_run;         /* a run has replaced what the set-up made of A: the next run sets up anew */
    int needed_by_D;     /* 1: entries of the diagonal have no reciprocals otherwise, so a is chosen at once */
    int x_exponent;      /* of the largest entry of x */
    spry_matrix *host;   /* A in host memory, of whose arrays 2^-a A is a view */
    spry_matrix *A;      /* 2^-a A; NULL: a is 0 */
    spry_vector values;  /* of 2^-a A */
    bool guess_is_seen;  /* the first guess was inspected */
    bool may_drop_guess; /* the first guess is finite, so x = 0 may replace it */
} spryi_cg_scaling;

enum { SPRYI_CG_MOST_BLOCK = 32 }; /* rows of a block */

/* The preconditioner M, except jacobi, which is part of the passes. */
typedef struct spryi_cg_precond {
    spry_vector entries; /* of blocks */
    spryi_cg_blocks blocks;
    int degree;          /* of the polynomial in D A */
    double largest;      /* eigenvalue of D A, estimated */
    double theta, delta; /* middle and half of the interval that the polynomial is small on */
} spryi_cg_precond;

/* State of a column that the passes do not need. */
typedef struct spryi_cg_column {
    spry_verdict verdict;
    int is_alone;          /* 1: a guard stopped the column, which is then solved without the others */
    double true_residual;  /* as last computed */
    double before_restart; /* true residual of the restart, or replacement, before */
    int64_t restarts, replacements;
    int futile; /* consecutive replacements that did not lower the true residual */
} spryi_cg_column;

/* The system A x = b. */
typedef struct spryi_cg_system {
    spry_matrix *A; /* the caller's, retained; NULL: an operator */
    spry_operator operator;
    int64_t n;
    spry_type type, inner; /* of x and b; of the iteration's vectors */
    int device;
} spryi_cg_system;

/* Plans of the products with A. */
typedef struct spryi_cg_products {
    spry_matrix *narrow;          /* A's values in f32 */
    int narrow_is_exact;          /* 1: nothing was rounded */
    spry_spmv_plan *plan, *outer; /* of the iteration; of b - A*x, NULL: the same */
    spryi_solve_plan names, outer_names;
    double us;     /* of all products of a run */
    int64_t count; /* of products of a run */
} spryi_cg_products;

/* Vectors on the device. data NULL: not needed. */
typedef struct spryi_cg_buffers {
    spry_vector r, p, q, z, z_before, D; /* of the iteration's type */
    spry_vector inner_x;                 /* SPRY_PRECISION_F32: the part of x that is not yet added to x */
    spry_vector outer_q;                 /* SPRY_PRECISION_F32: A*x */
    spry_vector own_x, own_b;            /* copies of the caller's */
    spry_vector scaled_b;                /* 2^-c b, if c is not 0 */
} spryi_cg_buffers;

/* An iteration that was recorded, with these addresses. */
typedef struct spryi_cg_recording {
    spryi_recorded recorded;
    const void *x;
    int64_t columns;
} spryi_cg_recording;

/* A run of the plan. */
typedef struct spryi_cg_run {
    spry_cg_run_options options;   /* of the run, with the plan's in place of zeros */
    spry_spmv_run_options product; /* of products; its stream is that of all work */
    int is_only;                   /* 1: the plan has no other run, so x may stay where it is */
    spry_vector x, b;              /* on the device, without gaps between columns */
    spryi_cg_state *states;        /* copies of the device's, one per column */
    spryi_cg_column *columns;      /* one per column */
    spryi_unequal unequal;         /* entry of A that differs from its mirror image, or is not finite; row -1: none */
    double bad_entry;              /* of the diagonal */
} spryi_cg_run;

struct spry_cg_plan {
    spry_context *context;
    spry_cg_options o; /* of the plan; its texts are format and kernel */
    char format[256], kernel[64];
    double setup_us;
    spryi_cg_system system;
    spryi_cg_products product;
    spryi_vector_work work; /* of system.inner */
    spryi_cg_buffers vectors;
    spryi_cg_precond precond;
    spryi_cg_scaling scaled;
    int refreshes; /* 1: plans take new values of the same structure */
    int is_stale;  /* 1: the last update failed */
    spryi_cg_recording recording;
    spryi_cg_run current;
    spryi_dependent of_matrix; /* in A's list of plans */
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

/* Returns whether M is blocks that the passes start, dots and step apply. */
static inline int spryi_cg_is_within(const spry_cg_plan *s)
{
    const spryi_cg_block_passes *within = s->work.ops ? s->work.ops->cg->within : NULL;
    return s->o.precond == SPRY_PRECOND_BLOCK_JACOBI && s->o.precision == SPRY_PRECISION_FULL && within &&
           s->o.block_size >= within->least && s->o.block_size <= within->most;
}

/* Returns whether M is applied by passes of its own. */
static inline int spryi_cg_is_apart(const spry_cg_plan *s)
{
    return s->o.precond > SPRY_PRECOND_JACOBI && !spryi_cg_is_within(s);
}

/* Returns whether b - A*x replaces the carried residual: the iteration has fewer digits, or another A. */
static inline int spryi_cg_replaces(const spry_cg_plan *s)
{
    return s->o.precision == SPRY_PRECISION_F32 ||
           (s->o.precision == SPRY_PRECISION_F32_VALUES && !s->product.narrow_is_exact);
}

/* Returns v, which has room for more columns, with as many columns as the work. */
static inline spry_vector spryi_cg_columns_of(const spryi_vector_work *w, const spry_vector *v)
{
    spry_vector of = *v;
    of.count = w->columns;
    return of;
}

/* Returns the vectors of the passes. */
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
 * Makes, or makes again, what iterations need of A, and the vectors. *result gets a verdict if the iteration cannot
 * begin. If a run has scaled A, format and kernel are chosen anew, as for a new plan.
 */
spry_status spryi_cg_set_up(spry_cg_plan *s, spry_cg_result *result, spry_error *err);
/* Replaces A by 2^-a A in plans and preconditioner, for one column that a guard has stopped. */
spry_status spryi_cg_set_up_scaled(spry_cg_plan *s, spry_cg_result *result, spry_error *err);
/* Frees what was made for iterations. */
void spryi_cg_tear_down(spry_cg_plan *s);

/* ---- cg.c --------------------------------------------------------------------------------------- */

/* One product y = A*x by the plan or by the caller's operator. */
typedef struct spryi_cg_product {
    int outer; /* 1: of A itself, where the iteration has another */
    const spry_vector *out, *in;
    void *stream;
} spryi_cg_product;
spry_status spryi_cg_multiply(spry_cg_plan *s, const spryi_cg_product *product, spry_error *err);

/* Solves for s->x and s->b, all columns of s->work. Adds verdict, residuals and counts to *result. */
spry_status spryi_cg_solve(spry_cg_plan *s, spry_cg_result *result, spry_error *err);
