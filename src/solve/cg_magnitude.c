/*
 * Conjugate Gradient on systems of extreme magnitude: a guard (iteration.h) has stopped the iteration of one column.
 * The system becomes (2^-a A) x' = 2^-c b, a preconditioner of the caller 2^m M, and the iteration begins anew.
 */
#include "solve/cg.h"

#include <math.h>

/* ---- x and M ------------------------------------------------------------------------------------- */

/* Inspects the first guess, before anything scales it. */
static spry_status inspect_guess(spry_cg_plan *s, spry_error *err)
{
    spryi_cg_exponents e = {0};
    if (!s->now.start_from_x || s->scaled.guess_is_seen) return SPRY_OK;
    spry_status status = spryi_cg_look_at_vector(s->context, &e, &s->x, s->run.stream, err);
    s->scaled.guess_is_seen = true;
    s->scaled.may_drop_guess = e.finite;
    return status;
}

spry_status spryi_cg_scale_x(spry_cg_plan *s, int exponent, spry_error *err)
{
    spryi_cg_scaled told;
    SPRYI_OK_OR_RETURN(inspect_guess(s, err));
    return spryi_cg_scale_vector(s->context, &s->x, exponent, &told, s->run.stream, err);
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
    spryi_cg_exponents of_r, of_z;
    spry_status status = SPRY_OK;
    if (s->scaled.finds_m) {
        status = spryi_cg_look_at_vector(s->context, &of_r, &s->r, w->stream, err);
        if (status == SPRY_OK) status = spryi_cg_look_at_vector(s->context, &of_z, z, w->stream, err);
        if (status == SPRY_OK) s->scaled.m = of_r.any && of_z.any ? of_r.high - of_z.high : 0;
        s->scaled.finds_m = false;
    }
    return status == SPRY_OK ? scale_there(s, z, s->scaled.m, w->stream, err) : status;
}

/* ---- b and A ------------------------------------------------------------------------------------- */

spry_status spryi_cg_scale_b(spry_cg_plan *s, spry_error *err)
{
    spryi_cg_exponents e;
    spryi_cg_scaled told;
    spry_status status = spryi_cg_look_at_vector(s->context, &e, &s->b, s->run.stream, err);
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
    int exponent = spryi_cg_exponent_of_b(&e, s->inner);
    if (exponent != 0) {
        spry_vector_destroy(s->context, &s->scaled_b);
        status = spryi_solve_copy(s->context, &s->scaled_b, &s->b, s->device, s->run.stream, err);
        s->b = s->scaled_b;
        if (status == SPRY_OK) status = spryi_cg_scale_vector(s->context, &s->b, -exponent, &told, s->run.stream, err);
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
    spryi_cg_scaled told, again;
    if (exponent == 0) return SPRY_OK;
    spry_status status = spryi_cg_scale_vector(s->context, &s->x, exponent, &told, s->run.stream, err);
    if (status != SPRY_OK || told.exact || column->verdict != SPRY_VERDICT_CONVERGED) return status;
    s->scaled.x_exponent = told.e.high + exponent;
    status = spryi_cg_scale_vector(s->context, &s->x, -exponent, &again, s->run.stream, err);
    if (status == SPRY_OK) status = spryi_cg_find_residuals(s, err);
    if (status == SPRY_OK) status = spryi_cg_scale_vector(s->context, &s->x, exponent, &again, s->run.stream, err);
    if (!again.e.finite) column->true_residual = INFINITY;
    if (!(column->true_residual <= s->states[0].goal)) column->verdict = SPRY_VERDICT_OUT_OF_RANGE;
    return status;
}
