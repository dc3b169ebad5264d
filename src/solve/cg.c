/*
 * The iteration of Conjugate Gradient: A*x = b, A symmetric positive definite. D is the reciprocals of the diagonal, or
 * ones.
 *
 * Each iteration is q = A*p, followed by:
 *
 *     dots   pq = p.q, qq = q.Dq                                        reads p, q
 *     step   alpha = rz/pq; x += alpha p; r -= alpha q; p = D r + beta p   reads x, r, p, q, writes x, r, p
 *
 * The step needs beta = r_new.z_new / rz before r_new is known. beta is predicted by (r - alpha q).D(r - alpha q) =
 * alpha^2 qq - rz, since z.q = p.q in exact arithmetic. The step sums the true r.z for the next alpha, so errors of
 * predictions do not accumulate. If the predicted value is a small difference of large values, the step is done in two
 * halves with the true beta.
 *
 * A preconditioner M that is not diagonal has separate passes: dots; x += alpha p, r -= alpha q; z = M r;
 * p = z + beta p. Chebyshev: M r is the polynomial in D A that best approximates the inverse on the interval of
 * eigenvalues [largest / ratio, largest]. The iteration from z = 0 has factors that depend only on the interval:
 *
 *     z_0 = D r / theta,  z_(k+1) = z_k + keep (z_k - z_(k-1)) + add D (r - A z_k)
 *
 * Columns of b are independent systems. One product multiplies all columns; passes have a state per column. If the
 * iteration has fewer digits than x and b, the residual is replaced by b - A x in f64 after each decrease by the factor
 * REPLACE. The difference is added to p, so that p keeps its history. A round is one iteration, or half of one. On a
 * GPU, rounds are recorded once and started together. The states are read after the rounds.
 *
 * Cost: in addition to the product, an iteration reads or writes 9 n elements, 11 n with jacobi. Textbook code with
 * BLAS moves 14 n elements. Each degree of the polynomial costs a product and 6 n elements (the first degree 5 n). z_0
 * costs 3 n elements.
 * Sources: Hestenes and Stiefel 1952; Meurant 1987 for the predicted beta; van der Vorst and Ye 2000 for replacements;
 * Saad, Iterative methods for sparse linear systems, 2003, section 12.3 for the polynomial.
 */
#include "solve/cg.h"
#include "spry/cuda.h"
#include "spry/solve.h"

#include <float.h>
#include <string.h>

/* ---- vectors times powers of two -------------------------------------------------------------------- */

/* Result of scaling a vector. */
typedef struct scaled_vector {
    int exact;         /* no entry lost digits by underflow or overflow */
    spryi_exponents e; /* exponents of the entries before scaling */
} scaled_vector;

/* Sets *host to v if v is on the host, else to *copy, a host copy that the caller destroys. */
static spry_status copy_to_host(spry_context *context, spry_vector *host, spry_vector *copy, const spry_vector *v,
                                void *stream, spry_error *err)
{
    *host = *v;
    if (v->device == 0) return SPRY_OK;
    SPRYI_OK_OR_RETURN(spryi_solve_copy(context, copy, v, 0, stream, err));
    *host = *copy;
    return spry_device_synchronize(context, v->device, stream, err);
}

/* Finds the exponents of a vector on any device. */
static spry_status find_exponents(spry_context *context, spryi_exponents *e, const spry_vector *v, void *stream,
                                  spry_error *err)
{
    spry_vector host, copy = {0};
    *e = (spryi_exponents){.finite = 1};
    spry_status status = copy_to_host(context, &host, &copy, v, stream, err);
    for (int64_t i = 0; status == SPRY_OK && i < v->length; i++)
        spryi_add_exponent(e, spryi_value_at(host.data, v->type, i));
    spry_vector_destroy(context, &copy);
    return status;
}

/*
 * Returns the e for which the largest entry of 2^-e b is near 1. If small entries would lose digits, returns a smaller
 * e, for which the largest entry is still at most about 2^room.
 */
static int exponent_of_b(const spryi_exponents *b, spry_type type)
{
    const int room = type == SPRY_F32 ? 16 : 128, exact = b->low - ilogb(spryi_limits_of(type).least_normal);
    if (!b->has_values || !b->finite) return 0;
    if (exact >= b->high) return b->high;
    return exact > b->high - room ? exact : b->high - room;
}

/* Computes v *= 2^exponent on the host, for a vector on any device. */
static spry_status scale_vector(spry_context *context, const spry_vector *v, int exponent, scaled_vector *result,
                                void *stream, spry_error *err)
{
    spry_vector host, copy = {0};
    spry_status status = SPRY_OK;
    *result = (scaled_vector){.exact = 1, .e.finite = 1};
    SPRYI_TRY(copy_to_host(context, &host, &copy, v, stream, err));
    for (int64_t i = 0; i < v->length; i++) {
        const double before = spryi_value_at(host.data, v->type, i);
        spryi_add_exponent(&result->e, before);
        spryi_set_value(host.data, v->type, i, ldexp(before, exponent));
        if (ldexp(spryi_value_at(host.data, v->type, i), -exponent) != before) result->exact = 0;
    }
    if (!copy.data) goto done;
    SPRYI_TRY(spryi_solve_copy_to(context, v, &copy, stream, err));
    SPRYI_TRY(spry_device_synchronize(context, v->device, stream, err));
done:
    spry_vector_destroy(context, &copy);
    return status;
}

/* Computes v *= 2^exponent on v's device, by factors that its type can represent. */
static spry_status scale_on_device(const spry_cg_plan *s, const spry_vector *v, int exponent, void *stream,
                                   spry_error *err)
{
    const spryi_device *device = spryi_device_at(s->context, s->system.device);
    const int most = v->type == SPRY_F32 ? 120 : 1000;
    while (exponent != 0) {
        const int step = exponent > most ? most : exponent < -most ? -most : exponent;
        const double f64 = ldexp(1, step);
        const float f32 = (float)f64;
        const void *factor = v->type == SPRY_F32 ? (const void *)&f32 : &f64;
        SPRYI_OK_OR_RETURN(device->ops->scale(device, v->data, v->type, v->length, factor, stream, err));
        exponent -= step;
    }
    return SPRY_OK;
}

/* ---- A*x and M*r --------------------------------------------------------------------------------- */

/* Calls the caller's operator or preconditioner. Completes the error if the callback reports none. */
static spry_status call_back(const spry_cg_plan *s, spry_apply apply, void *user, const spryi_cg_product *product,
                             const char *what, spry_error *err)
{
    spry_error why = SPRY_ERROR_INIT;
    const spry_status status = apply(user, *product->out, spry_vector_as_const(*product->in),
                                     s->system.device > 0 ? product->stream : NULL, &why);
    if (status == SPRY_OK) return SPRY_OK;
    if (why.message[0] == '\0')
        return spryi_fail(err, status, what, "cg: %s has returned the status %d", what, (int)status);
    why.status = status;
    return spryi_hand_on(err, &why);
}

spry_status spryi_cg_multiply(spry_cg_plan *s, const spryi_cg_product *product, spry_error *err)
{
    const double start = spryi_now_us();
    const spry_spmv_plan *plan = product->outer && s->product.outer ? s->product.outer : s->product.plan;
    spry_spmv_run_options run = s->current.product;
    run.stream = product->stream;
    spry_status status =
        s->system.operator.apply
            ? call_back(s, s->system.operator.apply, s->system.operator.user, product, "apply", err)
            : spry_spmv_plan_run(plan, *product->out, NULL, spry_vector_as_const(*product->in), NULL, &run, err);
    s->product.us += spryi_now_us() - start;
    s->product.count++;
    return status;
}

/* Computes z *= 2^m. If finds_m is set, first chooses m. */
static spry_status scale_z(spry_cg_plan *s, const spryi_vector_work *w, const spry_vector *z, spry_error *err)
{
    spryi_exponents of_r, of_z;
    if (s->scaled.finds_m) {
        SPRYI_OK_OR_RETURN(find_exponents(s->context, &of_r, &s->vectors.r, w->stream, err));
        SPRYI_OK_OR_RETURN(find_exponents(s->context, &of_z, z, w->stream, err));
        s->scaled.m = of_r.has_values && of_z.has_values ? of_r.high - of_z.high : 0;
        s->scaled.finds_m = false;
    }
    return scale_on_device(s, z, s->scaled.m, w->stream, err);
}

static spry_status apply_callback(spry_cg_plan *s, const spryi_vector_work *w, spry_error *err)
{
    const spryi_cg_vectors v = spryi_cg_vectors_of(s);
    const spry_vector r = spryi_cg_columns_of(w, &s->vectors.r), z = spryi_cg_columns_of(w, &s->vectors.z);
    const spryi_cg_product product = {.out = &z, .in = &r, .stream = w->stream};
    SPRYI_OK_OR_RETURN(
        call_back(s, s->o.precondition, s->o.precondition_user, &product, "the preconditioner's callback", err));
    SPRYI_OK_OR_RETURN(scale_z(s, w, &z, err));
    return w->ops->cg->weigh(w, &v, err);
}

/* Computes z = M r by the polynomial. Sets *z to the memory that contains z. */
static spry_status apply_polynomial(spry_cg_plan *s, const spryi_vector_work *w, void **z, spry_error *err)
{
    const spryi_cg_precond *M = &s->precond;
    const double sigma = M->theta / M->delta;
    double rho = 1 / sigma;
    spry_vector now = spryi_cg_columns_of(w, &s->vectors.z), other = spryi_cg_columns_of(w, &s->vectors.z_before);
    const spry_vector q = spryi_cg_columns_of(w, &s->vectors.q);
    spryi_cg_vectors v = spryi_cg_vectors_of(s);
    spryi_cg_polynomial_step step = {.add = 1 / M->theta, .is_last = M->degree == 0};
    v.D = s->vectors.D.data;
    v.z = NULL;
    v.z_before = now.data;
    SPRYI_OK_OR_RETURN(w->ops->cg->polynomial(w, &v, &step, err));
    for (int k = 1; k <= M->degree; k++) {
        const double next = 1 / (2 * sigma - rho);
        const spryi_cg_product product = {.out = &q, .in = &now, .stream = w->stream};
        step = (spryi_cg_polynomial_step){next * rho, 2 * next / M->delta, k > 1, k == M->degree};
        v.z = now.data;
        v.z_before = other.data;
        SPRYI_OK_OR_RETURN(spryi_cg_multiply(s, &product, err));
        SPRYI_OK_OR_RETURN(w->ops->cg->polynomial(w, &v, &step, err));
        const spry_vector before = now;
        now = other;
        other = before;
        rho = next;
    }
    *z = now.data;
    return SPRY_OK;
}

/* Computes z = M*r and p = z + beta*p. */
static spry_status apply(spry_cg_plan *s, const spryi_vector_work *w, spry_error *err)
{
    spryi_cg_vectors v = spryi_cg_vectors_of(s);
    SPRYI_OK_OR_RETURN(s->o.precond == SPRY_PRECOND_BLOCK_JACOBI ? w->ops->cg->blocks(w, &v, &s->precond.blocks, err)
                       : s->o.precond == SPRY_PRECOND_CHEBYSHEV  ? apply_polynomial(s, w, &v.z, err)
                                                                 : apply_callback(s, w, err));
    return w->ops->cg->set_direction(w, &v, err);
}

/* ---- b - A*x -------------------------------------------------------------------------------------- */

/* Waits for all started work, and copies the states from the device. */
static spry_status read_states(spry_cg_plan *s, spry_error *err)
{
    return spryi_vector_get(&s->work, s->current.states, (size_t)s->work.columns * sizeof *s->current.states, err);
}

/* Computes *ax = A*x with the caller's A and all of x found so far. *ax is in q or outer_q. */
static spry_status multiply_x(spry_cg_plan *s, spry_vector *ax, spry_error *err)
{
    const spry_vector x = spryi_cg_columns_of(&s->work, &s->current.x);
    *ax = spryi_cg_columns_of(&s->work, s->vectors.outer_q.data ? &s->vectors.outer_q : &s->vectors.q);
    if (s->vectors.inner_x.data)
        SPRYI_OK_OR_RETURN(s->work.ops->cg->collect(&s->work, s->current.x.data, s->vectors.inner_x.data, err));
    return spryi_cg_multiply(s,
                             &(spryi_cg_product){.outer = 1, .out = ax, .in = &x, .stream = s->current.product.stream},
                             err);
}

/* Computes true_residual of all columns from A*x. */
static spry_status measure(spry_cg_plan *s, const spry_vector *ax, spry_error *err)
{
    spryi_vector_work w = s->work;
    w.type = s->system.type;
    SPRYI_OK_OR_RETURN(w.ops->cg->distance(&w, s->current.b.data, ax->data, err));
    SPRYI_OK_OR_RETURN(read_states(s, err));
    for (int64_t c = 0; c < w.columns; c++)
        s->current.columns[c].true_residual = sqrt(s->current.states[c].distance) / s->current.states[c].b_norm;
    return SPRY_OK;
}

static spry_status find_residuals(spry_cg_plan *s, spry_error *err)
{
    spry_vector ax;
    SPRYI_OK_OR_RETURN(multiply_x(s, &ax, err));
    return measure(s, &ax, err);
}

/* Replaces the recurrent residual by b - A*x, and adds the difference to the direction. */
static spry_status replace(spry_cg_plan *s, const spry_vector *ax, spry_error *err)
{
    const spryi_cg_vectors v = spryi_cg_vectors_of(s);
    s->current.columns[0].replacements++;
    SPRYI_OK_OR_RETURN(s->work.ops->cg->replace(&s->work, &v, s->current.b.data, ax->data, err));
    if (spryi_cg_has_separate_M(s)) SPRYI_OK_OR_RETURN(apply(s, &s->work, err));
    return read_states(s, err);
}

static spry_status start(const spry_cg_plan *s, const spryi_vector_work *w, const spryi_cg_vectors *v, spry_error *err)
{
    const spryi_cg_passes *passes = w->ops->cg;
    return spryi_cg_is_within(s) ? passes->within->start(w, v, &s->precond.blocks, err) : passes->start(w, v, err);
}

/* Computes r = b - A*x and p = M r, without a product if x = 0. Starts all columns that have no verdict. */
static spry_status begin(spry_cg_plan *s, bool x_is_zero, spry_error *err)
{
    spryi_cg_vectors v = spryi_cg_vectors_of(s);
    spry_vector ax = {0};
    const bool later = s->vectors.inner_x.data && !x_is_zero; /* start with r = b, then replace it by b - A*x */
    if (s->vectors.inner_x.data) SPRYI_OK_OR_RETURN(s->work.ops->cg->clear(&s->work, s->vectors.inner_x.data, err));
    if (!x_is_zero) SPRYI_OK_OR_RETURN(multiply_x(s, &ax, err));
    v.q = later ? NULL : ax.data;
    SPRYI_OK_OR_RETURN(start(s, &s->work, &v, err));
    if (spryi_cg_has_separate_M(s) && !later) SPRYI_OK_OR_RETURN(apply(s, &s->work, err));
    if (later) SPRYI_OK_OR_RETURN(replace(s, &ax, err));
    if (!s->recording.recorded.of[0].rounds) return read_states(s, err);
    for (int64_t c = 0; c < s->work.columns; c++) /* the states are read after the first recorded rounds */
        if (s->current.columns[c].verdict == SPRY_VERDICT_NONE) s->current.states[c].stop = SPRYI_GOES_ON;
    return SPRY_OK;
}

/* ---- rounds ------------------------------------------------------------------------------------- */

/* Starts one iteration, or a half of one (spryi_cg_passes.step). */
static spry_status start_round(spry_cg_plan *s, const spryi_vector_work *w, spry_error *err)
{
    const spryi_cg_passes *passes = w->ops->cg;
    const spryi_cg_vectors v = spryi_cg_vectors_of(s);
    const spry_vector p = spryi_cg_columns_of(&s->work, &s->vectors.p),
                      q = spryi_cg_columns_of(&s->work, &s->vectors.q);
    const spryi_cg_product product = {.out = &q, .in = &p, .stream = w->stream};
    SPRYI_OK_OR_RETURN(spryi_cg_multiply(s, &product, err));
    if (spryi_cg_is_within(s)) {
        SPRYI_OK_OR_RETURN(passes->within->dots(w, &v, &s->precond.blocks, err));
        return passes->within->step(w, &v, &s->precond.blocks, err);
    }
    if (spryi_cg_has_separate_M(s)) {
        SPRYI_OK_OR_RETURN(passes->dots(w, &v, err));
        SPRYI_OK_OR_RETURN(passes->shrink(w, &v, err));
        return apply(s, w, err);
    }
    if (passes->dots_and_step) return passes->dots_and_step(w, &v, err);
    SPRYI_OK_OR_RETURN(passes->dots(w, &v, err));
    SPRYI_OK_OR_RETURN(passes->step(w, &v, err));
    return passes->next_direction ? passes->next_direction(w, &v, err) : SPRY_OK;
}

static spry_status start_rounds(void *user, int64_t count, void *stream, spry_error *err)
{
    spry_cg_plan *s = user;
    spryi_vector_work w = s->work;
    w.stream = stream;
    for (int64_t k = 0; k < count; k++) SPRYI_OK_OR_RETURN(start_round(s, &w, err));
    return SPRY_OK;
}

/* Records rounds, unless a recording with this x and number of columns exists. Callbacks cannot be recorded. */
static spry_status record_rounds(spry_cg_plan *s, spry_error *err)
{
    const void *x = spryi_cg_vectors_of(s).x;
    const bool is_callers = s->system.operator.apply || s->o.precond == SPRY_PRECOND_CALLBACK;
    if (!s->work.ops->record || s->system.n == 0 || is_callers) return SPRY_OK;
    if (s->recording.recorded.of[0].rounds && s->recording.x == x && s->recording.columns == s->work.columns)
        return SPRY_OK;
    spryi_vector_forget(&s->work, &s->recording.recorded);
    s->recording.x = x;
    s->recording.columns = s->work.columns;
    return spryi_vector_record(&s->work, &s->recording.recorded, start_rounds, s, err);
}

static bool have_stopped(const void *states, int64_t columns)
{
    const spryi_cg_state *of = states;
    for (int64_t c = 0; c < columns; c++)
        if (of[c].stop == SPRYI_GOES_ON) return false;
    return true;
}

/* Returns the iterations of the column that has iterated most. */
static int64_t iterations_made(const spry_cg_plan *s)
{
    int64_t made = 0;
    for (int64_t c = 0; c < s->work.columns; c++)
        if (s->current.states[c].iterations > made) made = s->current.states[c].iterations;
    return made;
}

/* Returns the estimated iterations that are left for the column that needs most. */
static int64_t iterations_left(const spry_cg_plan *s)
{
    /* LATE: iterations over which the decrease is measured, since single iterations may increase the residual */
    enum { LATE = 24, SMALL = 1 << 16 };
    /* in a small system, reading the states takes longer than many rounds */
    int64_t most = s->system.n < SMALL && iterations_made(s) == 0 ? SPRYI_MANY_ROUNDS : 1;
    for (int64_t c = 0; c < s->work.columns; c++) {
        const spryi_cg_state *t = &s->current.states[c];
        const int64_t back = t->iterations - 1 < LATE ? t->iterations - 1 : LATE;
        const double before = back > 0 ? t->history[(t->iterations - 1 - back) % SPRYI_MOST_AHEAD] : 0;
        const double goal = t->marks.goal > t->marks.replace_at ? t->marks.goal : t->marks.replace_at;
        const int64_t left = spryi_vector_left(t->residual, before, back, goal, t->rules.limit - t->iterations);
        if (t->stop == SPRYI_GOES_ON && left > most) most = left;
    }
    return most;
}

/* Starts some rounds, and reads the states that the oldest started rounds have left. */
static spry_status advance(spry_cg_plan *s, spry_error *err)
{
    const int64_t left = iterations_left(s), usual = spryi_vector_ahead(&s->work, iterations_made(s));
    const int64_t ahead = usual < left ? usual : left;
    SPRYI_OK_OR_RETURN(record_rounds(s, err));
    if (s->recording.recorded.of[0].rounds)
        return spryi_vector_advance(&s->work, &s->recording.recorded, left, s->current.states,
                                    (size_t)s->work.columns * sizeof *s->current.states, have_stopped, err);
    for (int64_t k = 0; k < ahead; k++) SPRYI_OK_OR_RETURN(start_round(s, &s->work, err));
    return read_states(s, err);
}

/*
 * Reports each iteration after `from` to the observer, with the largest residual among the columns that ran the
 * iteration. Returns whether the observer wants to stop.
 */
static bool report(const spry_cg_plan *s, int64_t from)
{
    const int64_t made = iterations_made(s);
    bool enough = false;
    for (int64_t k = from; k < made && s->current.options.observe; k++) {
        double residual = 0;
        for (int64_t c = 0; c < s->work.columns; c++) {
            const spryi_cg_state *state = &s->current.states[c];
            if (state->iterations > k) residual = fmax(residual, state->history[k % SPRYI_MOST_AHEAD]);
        }
        if (s->current.options.observe(s->current.options.observe_user, k + 1, residual) != 0) enough = true;
    }
    return enough;
}

/* ---- systems of extreme magnitude ------------------------------------------------------------------- */

/*
 * A guard (iteration.h) has stopped the iteration of one column, because squares of entries of A or b underflow or
 * overflow. The system becomes (2^-a A) x' = 2^-c b with x = 2^(c-a) x', the caller's preconditioner becomes 2^m M, and
 * the iteration restarts. Powers of two are exact, so the iterates are those of unlimited exponents. The host scales
 * vectors on any device: scaling is rare and costs a few passes.
 */

/* Inspects the first guess, before it is scaled. */
static spry_status inspect_guess(spry_cg_plan *s, spry_error *err)
{
    spryi_exponents e = {0};
    if (!spryi_cg_starts_from_x(s) || s->scaled.inspected_guess) return SPRY_OK;
    SPRYI_OK_OR_RETURN(find_exponents(s->context, &e, &s->current.x, s->current.product.stream, err));
    s->scaled.inspected_guess = true;
    s->scaled.may_drop_guess = e.finite;
    return SPRY_OK;
}

/* Computes x *= 2^exponent, where x is the iterate or the first guess. */
static spry_status scale_x(spry_cg_plan *s, int exponent, spry_error *err)
{
    scaled_vector result;
    SPRYI_OK_OR_RETURN(inspect_guess(s, err));
    return scale_vector(s->context, &s->current.x, exponent, &result, s->current.product.stream, err);
}

/* Restarts from x. If the guard of A has been removed, the next z = M r of the caller's M chooses the factor 2^m. */
static spry_status restart_from_x(spry_cg_plan *s, bool x_is_zero, spry_error *err)
{
    s->scaled.finds_m = !(s->current.states[0].rules.guards & SPRYI_GUARD_A);
    return begin(s, x_is_zero, err);
}

/* Multiplies x by 2^exponent, removes the given guard, and restarts from this x. */
static spry_status begin_scaled(spry_cg_plan *s, int exponent, int guard, spry_error *err)
{
    const bool x_is_zero = !spryi_cg_starts_from_x(s) && s->current.states[0].iterations == 0;
    if (s->vectors.inner_x.data)
        SPRYI_OK_OR_RETURN(s->work.ops->cg->collect(&s->work, s->current.x.data, s->vectors.inner_x.data, err));
    if (exponent != 0 && !x_is_zero) SPRYI_OK_OR_RETURN(scale_x(s, exponent, err));
    s->current.states[0].rules.guards &= ~guard;
    SPRYI_OK_OR_RETURN(spryi_vector_put(&s->work, s->current.states, sizeof *s->current.states, err));
    return restart_from_x(s, x_is_zero, err);
}

/* Sets x = 0. x has the caller's type. */
static spry_status clear_x(const spry_cg_plan *s, spry_error *err)
{
    spryi_vector_work w = s->work;
    w.type = s->system.type;
    return w.ops->cg->clear(&w, s->current.x.data, err);
}

/*
 * If the residual of the first guess overflows, replaces the guess by x = 0. Otherwise sets the verdict "not finite".
 */
static spry_status act_on_overflow(spry_cg_plan *s, spry_error *err)
{
    if (s->current.states[0].iterations == 0) SPRYI_OK_OR_RETURN(inspect_guess(s, err));
    if (s->current.states[0].iterations > 0 || !s->scaled.may_drop_guess) {
        s->current.columns[0].verdict = SPRY_VERDICT_NOT_FINITE;
        return SPRY_OK;
    }
    s->scaled.may_drop_guess = false;
    SPRYI_OK_OR_RETURN(clear_x(s, err));
    return restart_from_x(s, true, err);
}

static spry_status scale_b(spry_cg_plan *s, spry_error *err)
{
    spryi_exponents e;
    scaled_vector result;
    SPRYI_OK_OR_RETURN(find_exponents(s->context, &e, &s->current.b, s->current.product.stream, err));
    if (!e.has_values && e.finite) { /* b = 0: the solution is x = 0 */
        s->current.states[0].residual = s->current.columns[0].true_residual = 0;
        s->current.columns[0].verdict = SPRY_VERDICT_CONVERGED;
        return clear_x(s, err);
    }
    if (!e.finite) { /* no scaling helps */
        s->current.columns[0].verdict = SPRY_VERDICT_NOT_FINITE;
        return SPRY_OK;
    }
    const int exponent = exponent_of_b(&e, s->system.inner);
    if (exponent != 0) {
        spry_vector_destroy(s->context, &s->vectors.scaled_b);
        SPRYI_OK_OR_RETURN(spryi_solve_copy(s->context, &s->vectors.scaled_b, &s->current.b, s->system.device,
                                            s->current.product.stream, err));
        s->current.b = s->vectors.scaled_b;
        SPRYI_OK_OR_RETURN(scale_vector(s->context, &s->current.b, -exponent, &result, s->current.product.stream, err));
        s->scaled.c = exponent;
        s->current.states[0].rules.absolute = ldexp(s->current.states[0].rules.absolute, -exponent);
    }
    return begin_scaled(s, -exponent, SPRYI_GUARD_B, err);
}

static spry_status scale_A(spry_cg_plan *s, spry_error *err)
{
    spry_cg_result result = {.bad_row = -1};
    if (!s->system.A)
        return begin_scaled(s, 0, SPRYI_GUARD_A, err); /* no matrix to scale: continues until values overflow */
    SPRYI_OK_OR_RETURN(spryi_cg_set_up_scaled(s, &result, err));
    s->current.columns[0].verdict = result.verdict;
    return result.verdict == SPRY_VERDICT_NONE ? begin_scaled(s, s->scaled.a, SPRYI_GUARD_A, err) : SPRY_OK;
}

/*
 * Computes x = 2^(c-a) x' if the system was scaled. If the type cannot represent x, the true residual decides whether x
 * is a solution.
 */
static spry_status scale_back(spry_cg_plan *s, spry_error *err)
{
    const int exponent = s->scaled.c - s->scaled.a;
    spryi_cg_column *column = s->current.columns;
    scaled_vector result, again;
    if (exponent == 0) return SPRY_OK;
    SPRYI_OK_OR_RETURN(scale_vector(s->context, &s->current.x, exponent, &result, s->current.product.stream, err));
    if (result.exact || column->verdict != SPRY_VERDICT_CONVERGED) return SPRY_OK;
    s->scaled.x_exponent = result.e.high + exponent;
    SPRYI_OK_OR_RETURN(scale_vector(s->context, &s->current.x, -exponent, &again, s->current.product.stream, err));
    SPRYI_OK_OR_RETURN(find_residuals(s, err));
    SPRYI_OK_OR_RETURN(scale_vector(s->context, &s->current.x, exponent, &again, s->current.product.stream, err));
    if (!again.e.finite) column->true_residual = INFINITY;
    if (!(column->true_residual <= s->current.states[0].marks.goal)) column->verdict = SPRY_VERDICT_OUT_OF_RANGE;
    return SPRY_OK;
}

/* ---- the stopping test ------------------------------------------------------------------------------ */

/* Returns whether a residual consists only of rounding errors. */
static bool is_rounding(const spry_cg_plan *s, double residual)
{
    return residual < (s->system.type == SPRY_F32 ? FLT_EPSILON : DBL_EPSILON);
}

/*
 * Returns the verdict at the iteration limit. At the default limit, the verdict is stagnation if the residual consists
 * only of rounding errors, because more iterations would not help.
 */
static spry_verdict at_limit(const spry_cg_plan *s, double residual)
{
    return s->current.options.max_iterations == 0 && is_rounding(s, residual) ? SPRY_VERDICT_STAGNATION
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

/*
 * Judges a replacement of the first column's residual, which is above its goal. Sets a verdict if replacements no
 * longer lower the residual, or at the iteration limit.
 */
static void judge_replacement(spry_cg_plan *s, double residual)
{
    /* consecutive replacements that each lower the residual by less than 10 %, after which the verdict is stagnation */
    enum { FUTILE = 8 };
    spryi_cg_column *column = s->current.columns;
    const spryi_cg_state *state = s->current.states;
    column->futile = residual > 0.9 * column->before_restart ? column->futile + 1 : 0;
    if (!(residual > column->before_restart)) column->before_restart = residual;
    if (column->futile == FUTILE || is_rounding(s, residual))
        column->verdict = SPRY_VERDICT_STAGNATION;
    else if (state->iterations >= state->rules.limit)
        column->verdict = at_limit(s, residual);
}

/*
 * Restarts each column that has no verdict, from ax = A*x. Each column needs its own pass, because a pass restarts all
 * of its columns.
 */
static spry_status restart(spry_cg_plan *s, const spry_vector *ax, spry_error *err)
{
    for (int64_t c = 0; c < s->work.columns; c++) {
        spryi_vector_work one = s->work;
        spryi_cg_vectors v = spryi_cg_vectors_of(s);
        if (s->current.columns[c].verdict != SPRY_VERDICT_NONE) continue;
        const size_t at = (size_t)(c * s->system.n) * spry_type_bytes(s->system.inner);
        one.columns = 1;
        one.state.data = (spryi_cg_state *)s->work.state.data + c;
        one.partials.data = (double *)s->work.partials.data + c * s->work.blocks * SPRYI_MOST_SUMS;
        v.r = (char *)v.r + at;
        v.p = (char *)v.p + at;
        v.b = (const char *)v.b + at;
        v.q = (char *)ax->data + at;
        SPRYI_OK_OR_RETURN(start(s, &one, &v, err));
    }
    if (spryi_cg_has_separate_M(s)) SPRYI_OK_OR_RETURN(apply(s, &s->work, err));
    return read_states(s, err);
}

/*
 * Compares the true residuals with the goals that the recurrent residuals have reached. Columns that are above their
 * goal continue from b - A*x, unless they stagnate.
 */
static spry_status confirm(spry_cg_plan *s, spry_error *err)
{
    const bool replaces = spryi_cg_replaces(s);
    spry_vector ax;
    bool again = false;
    SPRYI_OK_OR_RETURN(multiply_x(s, &ax, err));
    SPRYI_OK_OR_RETURN(measure(s, &ax, err));
    for (int64_t c = 0; c < s->work.columns; c++) {
        spryi_cg_column *column = &s->current.columns[c];
        const double residual = column->true_residual;
        if (column->verdict != SPRY_VERDICT_NONE || s->current.states[c].stop != SPRYI_SMALL_ENOUGH) continue;
        if (!isfinite(residual)) {
            column->verdict = SPRY_VERDICT_NOT_FINITE;
        } else if (residual <= s->current.states[c].marks.goal) {
            column->verdict = SPRY_VERDICT_CONVERGED;
        } else if (replaces) {
            judge_replacement(s, residual);
        } else {
            if (residual > 0.5 * column->before_restart) column->verdict = SPRY_VERDICT_STAGNATION;
            column->before_restart = residual;
            column->restarts++;
        }
        again |= column->verdict == SPRY_VERDICT_NONE;
    }
    if (!again) return SPRY_OK;
    return replaces ? replace(s, &ax, err) : restart(s, &ax, err);
}

/* Replaces the recurrent residual by the true residual, after a residual in f32 has decreased enough. */
static spry_status refresh(spry_cg_plan *s, spry_error *err)
{
    spry_vector ax;
    SPRYI_OK_OR_RETURN(multiply_x(s, &ax, err));
    SPRYI_OK_OR_RETURN(replace(s, &ax, err));
    judge_replacement(s, s->current.states[0].residual);
    return SPRY_OK;
}

/*
 * Returns the reason that stopped the only column. If the caller's M may be out of range at the scale of b, returns
 * SPRYI_B_OUT_OF_RANGE, so that b is scaled first.
 */
static int reason_of(const spry_cg_plan *s)
{
    const spryi_cg_state *state = &s->current.states[0];
    const bool by_M = state->stop == SPRYI_A_OUT_OF_RANGE || state->stop == SPRYI_NOT_FINITE ||
                      state->stop == SPRYI_BAD_PRECONDITIONER;
    const bool scales_b = by_M && s->o.precond == SPRY_PRECOND_CALLBACK && (state->rules.guards & SPRYI_GUARD_B);
    return scales_b ? SPRYI_B_OUT_OF_RANGE : state->stop;
}

/* Acts on the stop of the only column. */
static spry_status act_on_stop(spry_cg_plan *s, spry_error *err)
{
    switch (reason_of(s)) {
    case SPRYI_SMALL_ENOUGH: return confirm(s, err);
    case SPRYI_REPLACE: return refresh(s, err);
    case SPRYI_B_OUT_OF_RANGE: return scale_b(s, err);
    case SPRYI_A_OUT_OF_RANGE: return scale_A(s, err);
    case SPRYI_NOT_FINITE: return act_on_overflow(s, err);
    default: break;
    }
    s->current.columns[0].verdict = verdict_of(s, &s->current.states[0]);
    return SPRY_OK;
}

/* Returns whether a column must be solved separately: a guard, or the residual of its first guess, has stopped it. */
static bool must_be_separate(const spry_cg_plan *s, const spryi_cg_state *state)
{
    return state->stop == SPRYI_B_OUT_OF_RANGE || state->stop == SPRYI_A_OUT_OF_RANGE ||
           (state->stop == SPRYI_NOT_FINITE && spryi_cg_starts_from_x(s) && state->iterations == 0);
}

/* Acts on the stop of all columns. Columns of extreme scale are solved separately later. */
static spry_status act_on_stops(spry_cg_plan *s, spry_error *err)
{
    bool confirms = false;
    for (int64_t c = 0; c < s->work.columns; c++) {
        spryi_cg_column *column = &s->current.columns[c];
        if (column->verdict != SPRY_VERDICT_NONE) continue;
        if (s->current.states[c].stop == SPRYI_SMALL_ENOUGH) {
            confirms = true;
        } else {
            column->is_alone = must_be_separate(s, &s->current.states[c]);
            column->verdict = column->is_alone ? SPRY_VERDICT_STOPPED : verdict_of(s, &s->current.states[c]);
        }
    }
    return confirms ? confirm(s, err) : SPRY_OK;
}

static bool is_done(const spry_cg_plan *s)
{
    for (int64_t c = 0; c < s->work.columns; c++)
        if (s->current.columns[c].verdict == SPRY_VERDICT_NONE) return false;
    return true;
}

/* Stops all columns because the observer wants to stop, except columns whose iteration has ended with a verdict. */
static void stop_all(spry_cg_plan *s)
{
    for (int64_t c = 0; c < s->work.columns; c++) {
        const int stop = s->current.states[c].stop;
        const bool has_ended = stop == SPRYI_SMALL_ENOUGH || stop == SPRYI_NOT_FINITE ||
                               stop == SPRYI_NEGATIVE_CURVATURE || stop == SPRYI_BAD_PRECONDITIONER;
        if (s->current.columns[c].verdict == SPRY_VERDICT_NONE && !has_ended)
            s->current.columns[c].verdict = SPRY_VERDICT_STOPPED;
    }
}

/* Iterates until all columns have a verdict. */
static spry_status iterate(spry_cg_plan *s, int64_t columns, spry_error *err)
{
    s->work.columns = columns;
    for (int64_t c = 0; c < columns; c++)
        s->current.columns[c] = (spryi_cg_column){.true_residual = NAN, .before_restart = INFINITY};
    /* waits for rounds that an observer's stop has left running; their states are not needed */
    SPRYI_OK_OR_RETURN(spryi_vector_drain(&s->work, &s->recording.recorded, s->current.columns, 0, err));
    SPRYI_OK_OR_RETURN(spryi_vector_put(&s->work, s->current.states, (size_t)columns * sizeof *s->current.states, err));
    if (!spryi_cg_starts_from_x(s)) SPRYI_OK_OR_RETURN(clear_x(s, err));
    SPRYI_OK_OR_RETURN(begin(s, !spryi_cg_starts_from_x(s), err));
    while (!is_done(s)) {
        const int64_t reported = iterations_made(s);
        if (have_stopped(s->current.states, columns)) {
            SPRYI_OK_OR_RETURN(columns == 1 ? act_on_stop(s, err) : act_on_stops(s, err));
        } else {
            SPRYI_OK_OR_RETURN(advance(s, err));
            if (report(s, reported)) stop_all(s);
        }
    }
    return SPRY_OK;
}

/* ---- all columns ------------------------------------------------------------------------------------ */

/* Fraction of rz below which the predicted rz is not used: about the square root of the rounding error. */
static const double PREDICTABLE_F64 = 1e-6, PREDICTABLE_F32 = 1e-2;

/*
 * Exponents of `reach`, a power of two. A guard stops the iteration if a number leaves the range 1/reach to reach
 * (iteration.h). If the entries of A and b are near 1/reach, products in f32 still have no subnormal elements.
 */
enum { REACH_F64 = 256, REACH_F32 = 48 };

/* Decrease of an f32 residual after which b - A*x replaces it. */
static const double REPLACE = 0.1;

static int64_t within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static void prepare_states(spry_cg_plan *s, int64_t columns)
{
    const spry_cg_run_options *o = &s->current.options;
    const bool is_f64 = s->system.inner == SPRY_F64;
    for (int64_t c = 0; c < columns; c++)
        s->current.states[c] = (spryi_cg_state){
            .rules.tolerance = o->tolerance,
            .rules.absolute = o->absolute_tolerance,
            .rules.limit = o->max_iterations > 0 ? o->max_iterations : 10 * within(s->system.n, 1000, 10000),
            .rules.patience = o->patience > 0 ? o->patience : within(s->system.n, 200, 50000),
            .rules.guards = SPRYI_GUARD_B | (s->scaled.needed_by_D || s->scaled.A ? 0 : SPRYI_GUARD_A),
            .rules.reach = ldexp(1, is_f64 && s->o.precision == SPRY_PRECISION_FULL ? REACH_F64 : REACH_F32),
            .rules.eps = is_f64 ? DBL_EPSILON : FLT_EPSILON,
            .rules.trusted = is_f64 ? PREDICTABLE_F64 : PREDICTABLE_F32,
            .rules.separate_M = spryi_cg_has_separate_M(s),
            .rules.replacements = spryi_cg_replaces(s) ? REPLACE : 0,
        };
}

/*
 * Updates the result for column c. The result describes the first column that failed, or else the column with the most
 * iterations.
 */
static void add_column(const spry_cg_plan *s, spry_cg_result *result, int64_t c, int64_t number)
{
    const spryi_cg_column *column = &s->current.columns[c];
    const spryi_cg_state *state = &s->current.states[c];
    const bool is_good = column->verdict == SPRY_VERDICT_CONVERGED;
    const bool was_good = result->verdict == SPRY_VERDICT_CONVERGED || result->verdict == SPRY_VERDICT_NONE;
    result->converged += is_good;
    result->restarts += column->restarts;
    result->replacements += column->replacements;
    if (result->verdict != SPRY_VERDICT_NONE && (!was_good || (is_good && state->iterations <= result->iterations)))
        return;
    result->verdict = column->verdict;
    result->vector = number;
    result->iterations = state->iterations;
    result->residual = state->residual;
    result->true_residual = column->true_residual;
}

/* Solves for the first `columns` columns of s->current.x and s->current.b. */
static spry_status solve(spry_cg_plan *s, int64_t columns, spry_error *err)
{
    bool residuals = false;
    s->scaled.c = s->scaled.m = 0;
    s->scaled.inspected_guess = s->scaled.may_drop_guess = false;
    s->scaled.finds_m = s->scaled.A != NULL;
    prepare_states(s, columns);
    if (columns == 1 && spryi_cg_starts_from_x(s) && s->scaled.a != 0) SPRYI_OK_OR_RETURN(scale_x(s, s->scaled.a, err));
    SPRYI_OK_OR_RETURN(iterate(s, columns, err));
    for (int64_t c = 0; c < columns; c++)
        residuals |= s->current.columns[c].verdict != SPRY_VERDICT_CONVERGED && !s->current.columns[c].is_alone;
    if (residuals) SPRYI_OK_OR_RETURN(find_residuals(s, err));
    return columns == 1 ? scale_back(s, err) : SPRY_OK;
}

/* Solves only for column c. Its state and verdict are stored in column 0. */
static spry_status solve_separately(spry_cg_plan *s, int64_t c, spry_error *err)
{
    const spry_vector x = s->current.x, b = s->current.b;
    const size_t at = (size_t)(c * s->system.n) * spry_type_bytes(s->system.type);
    s->current.x.data = (char *)x.data + at;
    s->current.b.data = (char *)b.data + at;
    s->current.x.count = s->current.b.count = 1;
    spry_status status = solve(s, 1, err);
    s->current.x = x;
    s->current.b = b;
    return status;
}

/*
 * Solves for all columns together if all work has the type of x and nothing is scaled. Otherwise solves for one column
 * after another.
 */
static spry_status solve_all(spry_cg_plan *s, spry_cg_result *result, spry_error *err)
{
    const int64_t columns = s->current.x.count;
    const bool separate = columns > 1 && (s->o.precision != SPRY_PRECISION_FULL || s->scaled.a != 0);
    for (int64_t c = 0; c < columns; c++) s->current.columns[c].is_alone = separate;
    if (!separate) SPRYI_OK_OR_RETURN(solve(s, columns, err));
    for (int64_t c = 0; c < columns; c++)
        if (!s->current.columns[c].is_alone) add_column(s, result, c, c);
    const spryi_cg_column first = s->current.columns[0];
    const spryi_cg_state of_first = s->current.states[0];
    for (int64_t c = columns - 1; c >= 0; c--) { /* each column is solved in the place of column 0 */
        if (c == 0) s->current.columns[0] = first;
        if (c == 0 && !first.is_alone) s->current.states[0] = of_first;
        if (!s->current.columns[c].is_alone) continue;
        SPRYI_OK_OR_RETURN(solve_separately(s, c, err));
        s->current.columns[c] = s->current.columns[0];
        s->current.states[c] = s->current.states[0];
        add_column(s, result, c, c);
    }
    return SPRY_OK;
}

spry_status spryi_cg_solve(spry_cg_plan *s, spry_cg_result *result, spry_error *err)
{
    SPRYI_OK_OR_RETURN(record_rounds(s, err));
    const double start = spryi_now_us();
    const spry_status status = solve_all(s, result, err);
    result->solve_us = spryi_now_us() - start;
    return status;
}
