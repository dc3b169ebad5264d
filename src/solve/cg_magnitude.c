/*
 * Conjugate Gradient on systems of extreme magnitude: a guard (iteration.h) has stopped the iteration of one column,
 * because squares of A's or b's entries underflow or overflow. The system becomes (2^-a A) x' = 2^-c b with
 * x = 2^(c-a) x', a preconditioner of the caller 2^m M, and the iteration begins anew. Powers of two are exact, so the
 * iterates are those that unlimited exponents would give. The host scales, wherever the vectors are: it is rare, and
 * costs a few passes.
 */
#include "solve/cg.h"
#include "solve/solve.h"

#include <math.h>

/* ---- scaling ------------------------------------------------------------------------------------- */

/* The smallest and the largest e of 2^e <= |v| < 2^(e+1) over the finite numbers v that are not 0. */
typedef struct exponents {
    int low, high;
    int any;    /* 0: there are none */
    int finite; /* 0: there is Inf or NaN */
} exponents;

/* exact 0: entries of a vector lost digits (or all of them) by underflow or overflow. */
typedef struct scaled_vector {
    int exact;
    exponents e; /* before */
} scaled_vector;

/* Exponents of the smallest normal number and of the largest one. */
static int least_of(spry_type type)
{
    return ilogb(spryi_limits_of(type).least_normal);
}
static int most_of(spry_type type)
{
    return ilogb(spryi_limits_of(type).largest);
}

static void look_at(exponents *e, double value)
{
    if (!isfinite(value)) e->finite = 0;
    if (!isfinite(value) || value == 0) return;
    int exponent = ilogb(value);
    if (!e->any || exponent < e->low) e->low = exponent;
    if (!e->any || exponent > e->high) e->high = exponent;
    e->any = 1;
}

/* ---- vectors ------------------------------------------------------------------------------------ */

/* *host: v, or a copy of it, which *copy is to be destroyed for. */
static spry_status bring(spry_context *context, spry_vector *host, spry_vector *copy, const spry_vector *v,
                         void *stream, spry_error *err)
{
    *host = *v;
    if (v->device == 0) return SPRY_OK;
    spry_status status = spryi_solve_copy(context, copy, v, 0, stream, err);
    if (status == SPRY_OK) status = spry_device_synchronize(context, v->device, stream, err);
    *host = *copy;
    return status;
}

/* The exponents of a vector on any device, whose stream it is. */
static spry_status look_at_vector(spry_context *context, exponents *e, const spry_vector *v, void *stream,
                                  spry_error *err)
{
    spry_vector host, copy = {0};
    *e = (exponents){.finite = 1};
    spry_status status = bring(context, &host, &copy, v, stream, err);
    for (int64_t i = 0; status == SPRY_OK && i < v->length; i++) look_at(e, spryi_value_at(host.data, v->type, i));
    spry_vector_destroy(context, &copy);
    return status;
}

/* The e for which the largest entry of 2^-e b is near 1, and, as far as the type can, no entry loses digits. */
static int exponent_of_b(const exponents *b, spry_type type)
{
    /* A largest entry of up to 2^room does as well as 1. */
    const int room = type == SPRY_F32 ? 16 : 128, exact = b->low - least_of(type);
    if (!b->any || !b->finite) return 0;
    if (exact >= b->high) return b->high;
    return exact > b->high - room ? exact : b->high - room;
}

/* v *= 2^exponent, on any device. */
static spry_status scale_vector(spry_context *context, const spry_vector *v, int exponent, scaled_vector *told,
                                void *stream, spry_error *err)
{
    spry_vector host, copy = {0};
    *told = (scaled_vector){.exact = 1, .e.finite = 1};
    spry_status status = bring(context, &host, &copy, v, stream, err);
    for (int64_t i = 0; status == SPRY_OK && i < v->length; i++) {
        const double before = spryi_value_at(host.data, v->type, i);
        look_at(&told->e, before);
        spryi_set_value(host.data, v->type, i, ldexp(before, exponent));
        if (ldexp(spryi_value_at(host.data, v->type, i), -exponent) != before) told->exact = 0;
    }
    if (status == SPRY_OK && copy.data) status = spryi_solve_copy_to(context, v, &copy, stream, err);
    if (status == SPRY_OK && copy.data) status = spry_device_synchronize(context, v->device, stream, err);
    spry_vector_destroy(context, &copy);
    return status;
}

/* ---- matrices ----------------------------------------------------------------------------------- */

static void look_at_diagonal(exponents *e, const spry_arrays *a)
{
    if (a->layout == SPRY_COO) {
        for (int64_t k = 0; k < a->nnz; k++)
            if (spryi_row_of(a, k) == spryi_minor_of(a, k)) look_at(e, spryi_value_of(a, k));
        return;
    }
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t end = spryi_offset_of(a, i + 1);
        for (int64_t k = spryi_offset_of(a, i); k < end; k++)
            if (spryi_minor_of(a, k) == i) look_at(e, spryi_value_of(a, k));
    }
}

spry_status spryi_cg_exponent_of_matrix(int *exponent, const spry_matrix *A, int jacobi, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    exponents all = {.finite = 1}, diagonal = {.finite = 1};
    spry_status status = spry_matrix_get_arrays(A, &a, err);
    *exponent = 0;
    if (status != SPRY_OK || a.value_type == SPRY_PATTERN) return status;
    for (int64_t k = 0; k < a.nnz; k++) look_at(&all, spryi_value_of(&a, k));
    if (!all.any || !all.finite) return SPRY_OK;
    if (jacobi) look_at_diagonal(&diagonal, &a);
    const exponents *e = diagonal.any ? &diagonal : &all;
    const int middle = (e->low + e->high) / 2;
    const int highest = all.low - least_of(a.value_type), lowest = all.high - most_of(a.value_type);
    if (middle > 0 && highest > 0) *exponent = middle < highest ? middle : highest;
    if (middle < 0 && lowest < 0) *exponent = middle > lowest ? middle : lowest;
    return SPRY_OK;
}

spry_status spryi_cg_scale_matrix(spry_context *context, spry_matrix **made, spry_vector *values, const spry_matrix *A,
                                  int exponent, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    SPRYI_OK_OR_RETURN(spry_vector_create(context, values, a.nnz, a.value_type, 0, err));
    for (int64_t k = 0; k < a.nnz; k++)
        spryi_set_value(values->data, a.value_type, k, ldexp(spryi_value_of(&a, k), exponent));
    a.values = values->data;
    a.ownership = SPRY_BORROW;
    return spry_matrix_create(context, made, &a, err);
}

/* ---- the solver ---------------------------------------------------------------------------------- */

/* ---- x and M ------------------------------------------------------------------------------------- */

/* Inspects the first guess, before anything scales it. */
static spry_status inspect_guess(spry_cg_plan *s, spry_error *err)
{
    exponents e = {0};
    if (!s->now.start_from_x || s->scaled.guess_is_seen) return SPRY_OK;
    spry_status status = look_at_vector(s->context, &e, &s->x, s->run.stream, err);
    s->scaled.guess_is_seen = true;
    s->scaled.may_drop_guess = e.finite;
    return status;
}

spry_status spryi_cg_scale_x(spry_cg_plan *s, int exponent, spry_error *err)
{
    scaled_vector told;
    SPRYI_OK_OR_RETURN(inspect_guess(s, err));
    return scale_vector(s->context, &s->x, exponent, &told, s->run.stream, err);
}

/* Begins anew. Without the guard of A, the next result of the caller's M chooses the factor of M. */
static spry_status begin(spry_cg_plan *s, int x_is_zero, spry_error *err)
{
    s->scaled.finds_m = !(s->states[0].guards & SPRYI_GUARD_A);
    return spryi_cg_begin(s, x_is_zero, err);
}

/* x, which is the iterate or the guess, times 2^exponent; a new beginning from it without that guard. */
static spry_status begin_scaled(spry_cg_plan *s, int exponent, int guard, spry_error *err)
{
    int x_is_zero = !s->now.start_from_x && s->states[0].iterations == 0;
    spry_status status = SPRY_OK;
    if (s->inner_x.data) status = s->work.ops->cg->collect(&s->work, s->x.data, s->inner_x.data, err);
    if (exponent != 0 && !x_is_zero && status == SPRY_OK) status = spryi_cg_scale_x(s, exponent, err);
    s->states[0].guards &= ~guard;
    if (status == SPRY_OK) status = spryi_vector_put(&s->work, s->states, sizeof *s->states, err);
    return status == SPRY_OK ? begin(s, x_is_zero, err) : status;
}

spry_status spryi_cg_heed_overflow(spry_cg_plan *s, spry_error *err)
{
    spryi_vector_work w = s->work;
    if (s->states[0].iterations == 0) SPRYI_OK_OR_RETURN(inspect_guess(s, err));
    if (s->states[0].iterations > 0 || !s->scaled.may_drop_guess) {
        s->columns[0].verdict = SPRY_VERDICT_NOT_FINITE;
        return SPRY_OK;
    }
    w.type = s->type;
    s->scaled.may_drop_guess = false;
    spry_status status = w.ops->cg->clear(&w, s->x.data, err);
    return status == SPRY_OK ? begin(s, 1, err) : status;
}

/* v *= 2^exponent on v's device, by factors that its type holds. */
static spry_status scale_there(const spry_cg_plan *s, const spry_vector *v, int exponent, void *stream, spry_error *err)
{
    const spryi_device *device = spryi_device_at(s->context, s->device);
    const int most = v->type == SPRY_F32 ? 120 : 1000;
    spry_status status = SPRY_OK;
    while (exponent != 0 && status == SPRY_OK) {
        const int step = exponent > most ? most : exponent < -most ? -most : exponent;
        const double f64 = ldexp(1, step);
        const float f32 = (float)f64;
        const void *factor = v->type == SPRY_F32 ? (const void *)&f32 : &f64;
        status = device->ops->scale(device, v->data, v->type, v->length, factor, stream, err);
        exponent -= step;
    }
    return status;
}

spry_status spryi_cg_scale_z(spry_cg_plan *s, const spryi_vector_work *w, const spry_vector *z, spry_error *err)
{
    exponents of_r, of_z;
    spry_status status = SPRY_OK;
    if (s->scaled.finds_m) {
        status = look_at_vector(s->context, &of_r, &s->r, w->stream, err);
        if (status == SPRY_OK) status = look_at_vector(s->context, &of_z, z, w->stream, err);
        if (status == SPRY_OK) s->scaled.m = of_r.any && of_z.any ? of_r.high - of_z.high : 0;
        s->scaled.finds_m = false;
    }
    return status == SPRY_OK ? scale_there(s, z, s->scaled.m, w->stream, err) : status;
}

/* ---- b and A ------------------------------------------------------------------------------------- */

spry_status spryi_cg_scale_b(spry_cg_plan *s, spry_error *err)
{
    exponents e;
    scaled_vector told;
    spry_status status = look_at_vector(s->context, &e, &s->b, s->run.stream, err);
    if (status != SPRY_OK) return status;
    if (!e.any && e.finite) { /* b = 0: x = 0, whatever the guess */
        spryi_vector_work w = s->work;
        w.type = s->type;
        s->states[0].residual = s->columns[0].true_residual = 0;
        s->columns[0].verdict = SPRY_VERDICT_CONVERGED;
        return w.ops->cg->clear(&w, s->x.data, err);
    }
    if (!e.finite) { /* no scaling helps */
        s->columns[0].verdict = SPRY_VERDICT_NOT_FINITE;
        return SPRY_OK;
    }
    int exponent = exponent_of_b(&e, s->inner);
    if (exponent != 0) {
        spry_vector_destroy(s->context, &s->scaled_b);
        status = spryi_solve_copy(s->context, &s->scaled_b, &s->b, s->device, s->run.stream, err);
        s->b = s->scaled_b;
        if (status == SPRY_OK) status = scale_vector(s->context, &s->b, -exponent, &told, s->run.stream, err);
        s->scaled.c = exponent;
        s->states[0].absolute = ldexp(s->states[0].absolute, -exponent);
    }
    return status == SPRY_OK ? begin_scaled(s, -exponent, SPRYI_GUARD_B, err) : status;
}

spry_status spryi_cg_scale_A(spry_cg_plan *s, spry_error *err)
{
    spry_cg_result told = {.bad_row = -1};
    if (!s->A) { /* nothing to scale: go on as far as numbers reach */
        return begin_scaled(s, 0, SPRYI_GUARD_A, err);
    }
    s->scaled.by_run = true;
    spry_status status = spryi_cg_make_scaled(s, &told, err);
    s->columns[0].verdict = told.verdict;
    if (told.verdict != SPRY_VERDICT_NONE) return status;
    if (status == SPRY_OK && s->scaled.A) status = spryi_cg_make_plans(s, err);
    if (status == SPRY_OK && s->o.precond > SPRY_PRECOND_JACOBI) {
        const spry_matrix *host = s->scaled.A ? s->scaled.A : s->scaled.host.A ? s->scaled.host.A : s->A;
        status = spryi_cg_make_precond(s, &told, host, err);
        s->columns[0].verdict = told.verdict;
        if (told.verdict != SPRY_VERDICT_NONE) return status;
    }
    return status == SPRY_OK ? begin_scaled(s, s->scaled.a, SPRYI_GUARD_A, err) : status;
}

/*
 * x = 2^(c-a) x', of what was a system for x'. Where the type cannot hold that, it is judged by what it leaves of b
 * whether it is a solution.
 */
spry_status spryi_cg_scale_back(spry_cg_plan *s, spry_error *err)
{
    const int exponent = s->scaled.c - s->scaled.a;
    spryi_cg_column *column = s->columns;
    scaled_vector told, again;
    if (exponent == 0) return SPRY_OK;
    spry_status status = scale_vector(s->context, &s->x, exponent, &told, s->run.stream, err);
    if (status != SPRY_OK || told.exact || column->verdict != SPRY_VERDICT_CONVERGED) return status;
    s->scaled.x_exponent = told.e.high + exponent;
    status = scale_vector(s->context, &s->x, -exponent, &again, s->run.stream, err);
    if (status == SPRY_OK) status = spryi_cg_find_residuals(s, err);
    if (status == SPRY_OK) status = scale_vector(s->context, &s->x, exponent, &again, s->run.stream, err);
    if (!again.e.finite) column->true_residual = INFINITY;
    if (!(column->true_residual <= s->states[0].goal)) column->verdict = SPRY_VERDICT_OUT_OF_RANGE;
    return status;
}
