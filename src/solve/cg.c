/*
 * The iteration of Conjugate Gradient: A*x = b, A symmetric positive definite; D the reciprocals of the diagonal, or
 * ones.
 *
 * Idea: each iteration is q = A*p, then
 *     dots   pq = p.q, qq = q.Dq                                        reads p, q
 *     step   alpha = rz/pq; x += alpha p; r -= alpha q; p = D r + beta p   reads x, r, p, q, writes x, r, p
 * beta = r_new.z_new / rz is needed before r_new is there, but (r - alpha q).D(r - alpha q) = alpha^2 qq - rz since
 * z.q = p.q in exact arithmetic. The step sums the true r.z, which the next alpha takes, so the predicted one never
 * feeds on itself. Where it is a small difference of large numbers (one iteration made the residual fall by
 * PREDICTABLE) the step is done in two halves instead, with the true beta.
 * A preconditioner M that is no diagonal is applied apart: dots; x += alpha p, r -= alpha q; z = M r; p = z + beta p
 * (cg_products.c).
 * Several right sides are as many systems side by side: a product of all columns, and passes with a state for each.
 * Other numbers inside than outside: b - A x is computed in f64 each time that the residual has fallen to REPLACE of
 * what it was then, and takes its place; p goes on, with the difference added, so that what was found stays.
 * Systems whose squares underflow or overflow are scaled by powers of two (guards in iteration.h, cg_magnitude.c).
 * Cost: 9 times n numbers beside the product, 11 with jacobi; textbook code, a call of the BLAS an operation, moves 14.
 * On a GPU rounds of an iteration are recorded once and started together, and what they left is looked at then.
 * Source: Hestenes and Stiefel 1952; Meurant 1987 for the predicted beta; van der Vorst and Ye 2000 for replacements.
 */
#include "solve/cg.h"

#include <float.h>
#include <math.h>

/* Replacements in a row that do not lower the true residual: f32 can do no more. */
enum { FUTILE = 8 };

/* Waits for what was started. */
static spry_status look(spry_cg_plan *s, spry_error *err)
{
    return spryi_vector_look(&s->work, s->states, (size_t)s->work.columns * sizeof *s->states, err);
}

/* After a beginning: what it found is seen with the first rounds, where those are recorded. */
static spry_status look_later(spry_cg_plan *s, spry_error *err)
{
    if (!s->recorded.of[0].rounds) return look(s, err);
    for (int64_t c = 0; c < s->work.columns; c++)
        if (s->columns[c].verdict == SPRY_VERDICT_NONE) s->states[c].stop = SPRYI_GOES_ON;
    return SPRY_OK;
}

/* ---- b - A*x -------------------------------------------------------------------------------------- */

/* A*x, of A itself, with all that was found so far in x: *ax, which is q or outer_q. */
static spry_status multiply_x(spry_cg_plan *s, spry_vector *ax, spry_error *err)
{
    spry_status status = SPRY_OK;
    const spry_vector x = spryi_cg_columns_of(&s->work, &s->x);
    *ax = spryi_cg_columns_of(&s->work, s->outer_q.data ? &s->outer_q : &s->q);
    if (s->inner_x.data) status = s->work.ops->cg->collect(&s->work, s->x.data, s->inner_x.data, err);
    const spryi_cg_product product = {.outer = 1, .out = ax, .in = &x, .stream = s->run.stream};
    return status == SPRY_OK ? spryi_cg_multiply(s, &product, err) : status;
}

/* true_residual of all columns, of A*x. */
static spry_status measure(spry_cg_plan *s, const spry_vector *ax, spry_error *err)
{
    spryi_vector_work w = s->work;
    w.type = s->type;
    spry_status status = w.ops->cg->distance(&w, s->b.data, ax->data, err);
    if (status == SPRY_OK) status = look(s, err);
    for (int64_t c = 0; c < w.columns && status == SPRY_OK; c++)
        s->columns[c].true_residual = sqrt(s->states[c].distance) / s->states[c].b_norm;
    return status;
}

spry_status spryi_cg_find_residuals(spry_cg_plan *s, spry_error *err)
{
    spry_vector ax;
    spry_status status = multiply_x(s, &ax, err);
    return status == SPRY_OK ? measure(s, &ax, err) : status;
}

/* The carried residual becomes b - A*x, and the direction turns with it. */
static spry_status replace(spry_cg_plan *s, const spry_vector *ax, spry_error *err)
{
    const spryi_cg_vectors v = spryi_cg_vectors_of(s);
    spry_status status = s->work.ops->cg->replace(&s->work, &v, s->b.data, ax->data, err);
    if (status == SPRY_OK && spryi_cg_is_apart(s)) status = spryi_cg_apply(s, &s->work, err);
    if (status == SPRY_OK) status = look(s, err);
    s->columns[0].replacements++;
    return status;
}

static spry_status start(const spry_cg_plan *s, const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err)
{
    const spryi_cg_passes *passes = w->ops->cg;
    return spryi_cg_is_within(s) ? passes->within->start(w, v, &s->precond.blocks, err) : passes->start(w, v, err);
}

/* r = b - A*x, p = M r; from x = 0 without a product. All columns that have no verdict begin. */
spry_status spryi_cg_begin(spry_cg_plan *s, int x_is_zero, spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_cg_vectors v = spryi_cg_vectors_of(s);
    spry_vector ax = {0};
    const int later = s->inner_x.data && !x_is_zero; /* r of b, then that of x takes its place */
    if (s->inner_x.data) status = s->work.ops->cg->clear(&s->work, s->inner_x.data, err);
    if (!x_is_zero && status == SPRY_OK) status = multiply_x(s, &ax, err);
    v.q = later ? NULL : ax.data;
    if (status == SPRY_OK) status = start(s, &s->work, &v, err);
    if (status == SPRY_OK && spryi_cg_is_apart(s) && !later) status = spryi_cg_apply(s, &s->work, err);
    if (status == SPRY_OK && later) status = replace(s, &ax, err);
    return status == SPRY_OK ? look_later(s, err) : status;
}

/* ---- rounds ------------------------------------------------------------------------------------- */

/* One iteration, or half of one (spryi_cg_passes.step). */
static spry_status start_round(spry_cg_plan *s, const spryi_vector_work *w, spry_error *err)
{
    const spryi_cg_passes *passes = w->ops->cg;
    const spryi_cg_vectors v = spryi_cg_vectors_of(s);
    const spry_vector p = spryi_cg_columns_of(&s->work, &s->p), q = spryi_cg_columns_of(&s->work, &s->q);
    const spryi_cg_product product = {.out = &q, .in = &p, .stream = w->stream};
    const int apart = spryi_cg_is_apart(s);
    spry_status status = spryi_cg_multiply(s, &product, err);
    if (status == SPRY_OK && spryi_cg_is_within(s)) {
        status = passes->within->dots(w, &v, &s->precond.blocks, err);
        return status == SPRY_OK ? passes->within->step(w, &v, &s->precond.blocks, err) : status;
    }
    if (status == SPRY_OK && !apart && passes->dots_and_step) return passes->dots_and_step(w, &v, err);
    if (status == SPRY_OK) status = passes->dots(w, &v, err);
    if (status == SPRY_OK) status = apart ? passes->shrink(w, &v, err) : passes->step(w, &v, err);
    if (status == SPRY_OK && apart) status = spryi_cg_apply(s, w, err);
    if (status == SPRY_OK && !apart && passes->next_direction) status = passes->next_direction(w, &v, err);
    return status;
}

/* One behind the other. */
static spry_status start_rounds(void *user, int64_t count, void *stream, spry_error *err)
{
    spry_cg_plan *s = user;
    spryi_vector_work w = s->work;
    spry_status status = SPRY_OK;
    w.stream = stream;
    for (int64_t k = 0; k < count && status == SPRY_OK; k++) status = start_round(s, &w, err);
    return status;
}

/* What was recorded has the addresses of x, and works on so many columns. A caller's code cannot be recorded. */
spry_status spryi_cg_record_rounds(spry_cg_plan *s, spry_error *err)
{
    const void *x = spryi_cg_vectors_of(s).x;
    const int is_callers = s->operator.apply || s->o.precond == SPRY_PRECOND_CALLBACK;
    if (!s->work.ops->record || s->n == 0 || is_callers) return SPRY_OK;
    if (s->recorded.of[0].rounds && s->recorded_x == x && s->recorded_columns == s->work.columns) return SPRY_OK;
    spryi_cg_forget_rounds(s);
    s->recorded_x = x;
    s->recorded_columns = s->work.columns;
    return spryi_vector_record(&s->work, &s->recorded, start_rounds, s, err);
}

static int have_stopped(const void *states, int64_t columns)
{
    const spryi_cg_state *of = states;
    for (int64_t c = 0; c < columns; c++)
        if (of[c].stop == SPRYI_GOES_ON) return 0;
    return 1;
}

/* Of the column that has made most. */
static int64_t iterations_made(const spry_cg_plan *s)
{
    int64_t made = 0;
    for (int64_t c = 0; c < s->work.columns; c++)
        if (s->states[c].iterations > made) made = s->states[c].iterations;
    return made;
}

/* Iterations that are likely to be left, of the column that needs most. */
static int64_t iterations_left(const spry_cg_plan *s)
{
    enum { LATE = 24 /* the residual rises and falls on the way */, SMALL = 1 << 16 };
    int64_t most = s->n < SMALL && iterations_made(s) == 0 ? SPRYI_MANY_ROUNDS : 1; /* a look takes longer than these */
    for (int64_t c = 0; c < s->work.columns; c++) {
        const spryi_cg_state *t = &s->states[c];
        const int64_t back = t->iterations - 1 < LATE ? t->iterations - 1 : LATE;
        const double before = back > 0 ? t->history[(t->iterations - 1 - back) % SPRYI_MOST_AHEAD] : 0;
        const double goal = t->goal > t->replace_at ? t->goal : t->replace_at;
        const int64_t left = spryi_vector_left(t->residual, before, back, goal, t->limit - t->iterations);
        if (t->stop == SPRYI_GOES_ON && left > most) most = left;
    }
    return most;
}

/* Starts some rounds and looks what became of those, or of others that were started before. */
static spry_status advance(spry_cg_plan *s, spry_error *err)
{
    const int64_t left = iterations_left(s), usual = spryi_vector_ahead(&s->work, iterations_made(s));
    const int64_t ahead = usual < left ? usual : left;
    spry_status status = spryi_cg_record_rounds(s, err);
    if (status == SPRY_OK && s->recorded.of[0].rounds)
        return spryi_vector_advance(&s->work, &s->recorded, left, s->states,
                                    (size_t)s->work.columns * sizeof *s->states, have_stopped, err);
    for (int64_t k = 0; k < ahead && status == SPRY_OK; k++) status = start_round(s, &s->work, err);
    return status == SPRY_OK ? look(s, err) : status;
}

/* Of several columns the observer is told the largest residual of those that made the iteration. 1: it wants no more.
   `from`: iterations that it was told of. */
static int tell(const spry_cg_plan *s, int64_t from)
{
    const int64_t made = iterations_made(s);
    int enough = 0;
    for (int64_t k = from; k < made && s->now.observe; k++) {
        double residual = 0;
        for (int64_t c = 0; c < s->work.columns; c++) {
            const spryi_cg_state *state = &s->states[c];
            if (state->iterations > k) residual = fmax(residual, state->history[k % SPRYI_MOST_AHEAD]);
        }
        enough |= s->now.observe(s->now.user, k + 1, residual) != 0;
    }
    return enough;
}

/* ---- to the end ---------------------------------------------------------------------------------- */

/* Returns true if a residual is nothing but rounding. */
static bool is_rounding(const spry_cg_plan *s, double residual)
{
    return residual < (s->type == SPRY_F32 ? FLT_EPSILON : DBL_EPSILON);
}

/* At the limit that the caller gave, or at the default, where more iterations may be of no use. */
static spry_verdict at_limit(const spry_cg_plan *s, double residual)
{
    return s->now.max_iterations == 0 && is_rounding(s, residual) ? SPRY_VERDICT_STAGNATION
                                                                  : SPRY_VERDICT_ITERATION_LIMIT;
}

static spry_verdict verdict_of(const spry_cg_plan *s, const spryi_cg_state *state)
{
    switch (state->stop) {
    case SPRYI_AT_LIMIT: return at_limit(s, state->residual);
    case SPRYI_STAGNATES: return SPRY_VERDICT_STAGNATION;
    case SPRYI_NOT_FINITE: return SPRY_VERDICT_NOT_FINITE;
    case SPRYI_NEGATIVE_CURVATURE: return SPRY_VERDICT_NEGATIVE_CURVATURE;
    case SPRYI_BAD_PRECONDITIONER: return SPRY_VERDICT_BAD_PRECONDITIONER;
    default: return SPRY_VERDICT_NONE;
    }
}

/* Where the iteration has an end of its own, that is its verdict. */
static int heeds_observer(int stop)
{
    return stop != SPRYI_SMALL_ENOUGH && stop != SPRYI_NOT_FINITE && stop != SPRYI_NEGATIVE_CURVATURE &&
           stop != SPRYI_BAD_PRECONDITIONER;
}

static spry_verdict judge_residual(const spry_cg_plan *s, int64_t c)
{
    const double residual = s->columns[c].true_residual;
    if (!isfinite(residual)) return SPRY_VERDICT_NOT_FINITE;
    return residual <= s->states[c].goal ? SPRY_VERDICT_CONVERGED : SPRY_VERDICT_NONE;
}

/* Of one column: the true residual was computed anew, and is no solution's. Does that still lead on? */
static void judge_replacement(spry_cg_plan *s, double residual)
{
    spryi_cg_column *column = s->columns;
    const spryi_cg_state *state = s->states;
    column->futile = residual > 0.9 * column->before_restart ? column->futile + 1 : 0;
    if (!(residual > column->before_restart)) column->before_restart = residual;
    if (column->futile == FUTILE || is_rounding(s, residual))
        column->verdict = SPRY_VERDICT_STAGNATION;
    else if (state->iterations >= state->limit)
        column->verdict = at_limit(s, residual);
}

/* A column begins anew, or not at all: start works on all columns, and a column that has a verdict stays as it is. */
static spry_status begin_anew(spry_cg_plan *s, const spry_vector *ax, spry_error *err)
{
    const int64_t columns = s->work.columns;
    spry_status status = SPRY_OK;
    for (int64_t c = 0; c < columns && status == SPRY_OK; c++) {
        spryi_vector_work one = s->work;
        spryi_cg_vectors v = spryi_cg_vectors_of(s);
        if (s->columns[c].verdict != SPRY_VERDICT_NONE) continue;
        const size_t at = (size_t)(c * s->n) * spry_type_bytes(s->inner);
        one.columns = 1;
        one.state.data = (spryi_cg_state *)s->work.state.data + c;
        one.partials.data = (double *)s->work.partials.data + c * s->work.blocks * SPRYI_MOST_SUMS;
        v.r = (char *)v.r + at;
        v.p = (char *)v.p + at;
        v.b = (const char *)v.b + at;
        v.q = (char *)ax->data + at;
        status = start(s, &one, &v, err);
    }
    if (status == SPRY_OK && spryi_cg_is_apart(s)) status = spryi_cg_apply(s, &s->work, err);
    return status == SPRY_OK ? look(s, err) : status;
}

/* The carried residuals say that x is good: is it? If not, go on from b - A*x, or see that this leads nowhere. */
static spry_status confirm(spry_cg_plan *s, spry_error *err)
{
    spry_vector ax;
    int again = 0;
    SPRYI_OK_OR_RETURN(multiply_x(s, &ax, err));
    SPRYI_OK_OR_RETURN(measure(s, &ax, err));
    for (int64_t c = 0; c < s->work.columns; c++) {
        spryi_cg_column *column = &s->columns[c];
        if (column->verdict != SPRY_VERDICT_NONE || s->states[c].stop != SPRYI_SMALL_ENOUGH) continue;
        column->verdict = judge_residual(s, c);
        if (column->verdict != SPRY_VERDICT_NONE) continue;
        if (spryi_cg_replaces(s)) {
            judge_replacement(s, column->true_residual);
        } else {
            if (column->true_residual > 0.5 * column->before_restart) column->verdict = SPRY_VERDICT_STAGNATION;
            column->before_restart = column->true_residual;
        }
        column->restarts += !spryi_cg_replaces(s);
        again |= column->verdict == SPRY_VERDICT_NONE;
    }
    if (!again) return SPRY_OK;
    return spryi_cg_replaces(s) ? replace(s, &ax, err) : begin_anew(s, &ax, err);
}

/* A residual of f32 has fallen far enough for the next look at the true one. */
static spry_status refresh(spry_cg_plan *s, spry_error *err)
{
    spry_vector ax;
    SPRYI_OK_OR_RETURN(multiply_x(s, &ax, err));
    SPRYI_OK_OR_RETURN(replace(s, &ax, err));
    judge_replacement(s, s->states[0].residual);
    return SPRY_OK;
}

/* What has stopped one column. The caller's M may underflow or overflow at the scale of b, which is scaled first. */
static int reason_of(const spry_cg_plan *s)
{
    const spryi_cg_state *state = &s->states[0];
    const bool by_M = state->stop == SPRYI_A_OUT_OF_RANGE || state->stop == SPRYI_NOT_FINITE ||
                      state->stop == SPRYI_BAD_PRECONDITIONER;
    const bool scales_b = by_M && s->o.precond == SPRY_PRECOND_CALLBACK && (state->guards & SPRYI_GUARD_B);
    return scales_b ? SPRYI_B_OUT_OF_RANGE : state->stop;
}

/* One column has stopped: what now? */
static spry_status heed(spry_cg_plan *s, spry_error *err)
{
    switch (reason_of(s)) {
    case SPRYI_SMALL_ENOUGH: return confirm(s, err);
    case SPRYI_REPLACE: return refresh(s, err);
    case SPRYI_B_OUT_OF_RANGE: return spryi_cg_scale_b(s, err);
    case SPRYI_A_OUT_OF_RANGE: return spryi_cg_scale_A(s, err);
    case SPRYI_NOT_FINITE: return spryi_cg_heed_overflow(s, err);
    default: break;
    }
    s->columns[0].verdict = verdict_of(s, &s->states[0]);
    return SPRY_OK;
}

/* Returns true if a column is to be solved by itself: a guard, or the residual of its first guess, has stopped it. */
static bool goes_alone(const spry_cg_plan *s, const spryi_cg_state *state)
{
    return state->stop == SPRYI_B_OUT_OF_RANGE || state->stop == SPRYI_A_OUT_OF_RANGE ||
           (state->stop == SPRYI_NOT_FINITE && s->now.start_from_x && state->iterations == 0);
}

/* All columns have stopped: those whose scale is extreme are left for later. */
static spry_status heed_all(spry_cg_plan *s, spry_error *err)
{
    int confirms = 0;
    for (int64_t c = 0; c < s->work.columns; c++) {
        spryi_cg_column *column = &s->columns[c];
        if (column->verdict != SPRY_VERDICT_NONE) continue;
        if (s->states[c].stop == SPRYI_SMALL_ENOUGH) {
            confirms = 1;
        } else {
            column->is_alone = goes_alone(s, &s->states[c]);
            column->verdict = column->is_alone ? SPRY_VERDICT_STOPPED : verdict_of(s, &s->states[c]);
        }
    }
    return confirms ? confirm(s, err) : SPRY_OK;
}

static int is_done(const spry_cg_plan *s)
{
    for (int64_t c = 0; c < s->work.columns; c++)
        if (s->columns[c].verdict == SPRY_VERDICT_NONE) return 0;
    return 1;
}

static void stop_all(spry_cg_plan *s)
{
    for (int64_t c = 0; c < s->work.columns; c++)
        if (s->columns[c].verdict == SPRY_VERDICT_NONE && heeds_observer(s->states[c].stop))
            s->columns[c].verdict = SPRY_VERDICT_STOPPED;
}

spry_status spryi_cg_iterate(spry_cg_plan *s, int64_t columns, spry_error *err)
{
    s->work.columns = columns;
    for (int64_t c = 0; c < columns; c++)
        s->columns[c] = (spryi_cg_column){.true_residual = NAN, .before_restart = INFINITY};
    const size_t bytes = (size_t)columns * sizeof *s->states;
    /* what an observer's stop has left on its way: the states that are seen there are no longer wanted */
    spry_status status = spryi_vector_drain(&s->work, &s->recorded, s->columns, 0, err);
    if (status == SPRY_OK) status = spryi_vector_put(&s->work, s->states, bytes, err);
    if (status == SPRY_OK && !s->now.start_from_x) {
        spryi_vector_work w = s->work;
        w.type = s->type;
        status = w.ops->cg->clear(&w, s->x.data, err);
    }
    if (status == SPRY_OK) status = spryi_cg_begin(s, !s->now.start_from_x, err);
    while (status == SPRY_OK && !is_done(s)) {
        const int64_t told = iterations_made(s);
        if (have_stopped(s->states, columns)) {
            status = columns == 1 ? heed(s, err) : heed_all(s, err);
        } else {
            status = advance(s, err);
            if (status == SPRY_OK && tell(s, told)) stop_all(s);
        }
    }
    return status;
}
