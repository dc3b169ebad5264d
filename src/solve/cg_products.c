/*
 * Products of Conjugate Gradient: y = A*x and z = M*r.
 *
 * Chebyshev: M r is the polynomial in D A, of the degree asked for, that approximates the inverse best on the interval
 * of eigenvalues [largest / ratio, largest]: the iteration of that name from z = 0,
 *     z_0 = D r / theta,  z_(k+1) = z_k + keep (z_k - z_(k-1)) + add D (r - A z_k),
 * whose factors depend on the interval alone. M is symmetric and positive definite as long as no eigenvalue is above
 * largest + smallest, so the estimate of the largest one may be a little low, and is raised by MARGIN.
 * Cost: a product and 6 n numbers for each degree (5 n for the first), 3 n for z_0.
 * Source: Saad 2003, section 12.3; the estimate: the tridiagonal matrix of Lanczos in CG's factors, section 6.7.
 */
#include "solve/cg.h"

#include <math.h>
#include <string.h>

static const double MARGIN = 1.1;
enum { LOOKS = 12 /* iterations that the estimate takes */ };

static spry_status ask(const spry_cg_plan *s, spry_apply apply, void *user, const spryi_cg_product *product,
                       const char *what, spry_error *err)
{
    spry_error own = {0}, *reason = err ? err : &own;
    memset(reason, 0, sizeof *reason);
    spry_status status =
        apply(user, *product->out, spry_vector_as_const(*product->in), s->device > 0 ? product->stream : NULL, reason);
    if (status != SPRY_OK && reason->message[0] == '\0')
        return spryi_fail(err, status, what, "cg: %s has returned the status %d", what, (int)status);
    reason->status = status;
    return status;
}

spry_status spryi_cg_multiply(spry_cg_plan *s, const spryi_cg_product *product, spry_error *err)
{
    const double start = spryi_now_us();
    spry_run_options run = s->run;
    spry_status status;
    run.stream = product->stream;
    if (s->operator.apply) {
        status = ask(s, s->operator.apply, s->operator.user, product, "the operator's callback", err);
    } else {
        const spry_spmv_plan *plan = product->outer && s->outer ? s->outer : s->plan;
        const spry_const_vector in = spry_vector_as_const(*product->in);
        status = spry_spmv_plan_run(plan, *product->out, NULL, in, NULL, &run, err);
    }
    s->product_us += spryi_now_us() - start;
    s->products++;
    return status;
}

spryi_cg_vectors spryi_cg_vectors_of(const spry_cg_plan *s)
{
    return (spryi_cg_vectors){.x = s->inner_x.data ? s->inner_x.data : s->x.data,
                              .r = s->r.data,
                              .p = s->p.data,
                              .q = s->q.data,
                              .z = s->z.data,
                              .z_before = s->z_before.data,
                              .b = s->b.data,
                              .b_is_f64 = s->inner != s->type,
                              .D = s->o.precond == SPRY_PRECOND_JACOBI ? s->D.data : NULL};
}

/* ---- M ------------------------------------------------------------------------------------------ */

static spry_status apply_callback(spry_cg_plan *s, const spryi_vector_work *w, spry_error *err)
{
    const spryi_cg_vectors v = spryi_cg_vectors_of(s);
    const spry_vector r = spryi_cg_columns_of(w, &s->r), z = spryi_cg_columns_of(w, &s->z);
    const spryi_cg_product product = {.out = &z, .in = &r, .stream = w->stream};
    spry_status status =
        ask(s, s->o.precondition, s->o.precondition_user, &product, "the preconditioner's callback", err);
    if (status == SPRY_OK) status = spryi_cg_scale_z(s, w, &z, err);
    return status == SPRY_OK ? w->ops->cg->weigh(w, &v, err) : status;
}

/* *z: where z is in the end. */
static spry_status apply_polynomial(spry_cg_plan *s, const spryi_vector_work *w, void **z, spry_error *err)
{
    const spryi_cg_precond *M = &s->precond;
    const double sigma = M->theta / M->delta;
    double rho = 1 / sigma;
    spry_vector now = spryi_cg_columns_of(w, &s->z), other = spryi_cg_columns_of(w, &s->z_before);
    const spry_vector q = spryi_cg_columns_of(w, &s->q);
    spryi_cg_vectors v = spryi_cg_vectors_of(s);
    spryi_cg_polynomial_step step = {.add = 1 / M->theta, .is_last = M->degree == 0};
    v.D = s->D.data;
    v.z = NULL;
    v.z_before = now.data;
    spry_status status = w->ops->cg->polynomial(w, &v, &step, err);
    for (int k = 1; k <= M->degree && status == SPRY_OK; k++) {
        const double next = 1 / (2 * sigma - rho);
        const spryi_cg_product product = {.out = &q, .in = &now, .stream = w->stream};
        step = (spryi_cg_polynomial_step){next * rho, 2 * next / M->delta, k > 1, k == M->degree};
        v.z = now.data;
        v.z_before = other.data;
        status = spryi_cg_multiply(s, &product, err);
        if (status == SPRY_OK) status = w->ops->cg->polynomial(w, &v, &step, err);
        const spry_vector before = now;
        now = other;
        other = before;
        rho = next;
    }
    *z = now.data;
    return status;
}

spry_status spryi_cg_apply(spry_cg_plan *s, const spryi_vector_work *w, spry_error *err)
{
    spryi_cg_vectors v = spryi_cg_vectors_of(s);
    spry_status status = SPRY_OK;
    if (s->o.precond == SPRY_PRECOND_BLOCK_JACOBI)
        status = w->ops->cg->blocks(w, &v, &s->precond.blocks, err);
    else if (s->o.precond == SPRY_PRECOND_CHEBYSHEV)
        status = apply_polynomial(s, w, &v.z, err);
    else
        status = apply_callback(s, w, err);
    return status == SPRY_OK ? w->ops->cg->turn(w, &v, err) : status;
}

/* ---- the interval of the polynomial --------------------------------------------------------------- */

/* How many eigenvalues of a symmetric tridiagonal matrix, of squares beside the diagonal, are below `at`. */
static int count_below(const double *diagonal, const double *squares, int count, double at)
{
    int below = 0;
    double pivot = 1;
    for (int k = 0; k < count; k++) {
        pivot = diagonal[k] - at - (k > 0 ? squares[k - 1] / pivot : 0);
        if (pivot == 0) pivot = -1e-300;
        below += pivot < 0;
    }
    return below;
}

/* The largest eigenvalue of Lanczos' matrix after `count` iterations with these alpha and beta. */
static double largest_of(const double *alpha, const double *beta, int count)
{
    double diagonal[LOOKS], squares[LOOKS], low = 0, high = 0;
    for (int k = 0; k < count; k++) {
        diagonal[k] = 1 / alpha[k] + (k > 0 ? beta[k - 1] / alpha[k - 1] : 0);
        squares[k] = beta[k] / (alpha[k] * alpha[k]);
        high = fmax(high, diagonal[k] + 2 * sqrt(squares[k]) + (k > 0 ? 2 * sqrt(squares[k - 1]) : 0));
    }
    for (int k = 0; k < 60; k++) {
        const double middle = (low + high) / 2;
        *(count_below(diagonal, squares, count, middle) == count ? &high : &low) = middle;
    }
    return high;
}

/* The same numbers in (0, 1) on every machine. */
static spry_status put_random(spry_cg_plan *s, const spry_vector *to, spry_error *err)
{
    spry_vector host = {0};
    uint64_t state = 1;
    SPRYI_OK_OR_RETURN(spry_vector_create(s->context, &host, s->n, s->inner, 0, err));
    for (int64_t i = 0; i < s->n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        spryi_set_value(host.data, s->inner, i, (double)((state >> 33) + 1) / 2147483650.0);
    }
    spry_status status = spryi_solve_copy_to(s->context, to, &host, s->run.stream, err);
    if (status == SPRY_OK && s->device > 0) status = spry_device_synchronize(s->context, s->device, s->run.stream, err);
    spry_vector_destroy(s->context, &host);
    return status;
}

/* An iteration of jacobi, for its factors. 0: there is none any more. */
static spry_status iterate_once(spry_cg_plan *s, const spryi_vector_work *w, const spryi_cg_vectors *v,
                                spryi_cg_state *state, spry_error *err)
{
    const spry_vector p = spryi_cg_columns_of(w, &s->p), q = spryi_cg_columns_of(w, &s->q);
    const spryi_cg_product product = {.out = &q, .in = &p, .stream = w->stream};
    SPRYI_OK_OR_RETURN(spryi_cg_multiply(s, &product, err));
    SPRYI_OK_OR_RETURN(w->ops->cg->dots(w, v, err));
    SPRYI_OK_OR_RETURN(spryi_vector_look(w, state, sizeof *state, err));
    return w->ops->cg->step(w, v, err);
}

spry_status spryi_cg_find_interval(spry_cg_plan *s, spry_error *err)
{
    spryi_cg_precond *M = &s->precond;
    spryi_cg_state state = {.limit = INT64_MAX, .patience = INT64_MAX, .reach = 1};
    double alpha[LOOKS], beta[LOOKS], largest = 1;
    int count = 0;
    spryi_vector_work w = s->work;
    spryi_cg_vectors v = spryi_cg_vectors_of(s);
    w.columns = 1;
    v.b = s->z.data;
    v.x = s->z_before.data;
    v.q = NULL;
    v.b_is_f64 = 0;
    v.D = s->D.data;
    spry_status status = put_random(s, &s->z, err);
    if (status == SPRY_OK) status = w.ops->cg->clear(&w, v.x, err);
    if (status == SPRY_OK) status = spryi_vector_put(&w, &state, sizeof state, err);
    if (status == SPRY_OK) status = w.ops->cg->start(&w, &v, err);
    v.q = s->q.data;
    while (status == SPRY_OK && count < LOOKS) {
        status = iterate_once(s, &w, &v, &state, err);
        if (status != SPRY_OK || state.stop || !(state.alpha > 0)) break;
        alpha[count] = state.alpha;
        beta[count++] = state.halves || !(state.beta > 0) ? 0 : state.beta;
        if (beta[count - 1] == 0) break;
    }
    if (count > 0) largest = largest_of(alpha, beta, count);
    M->largest = MARGIN * largest;
    const double smallest = M->largest / s->o.eigenvalue_ratio;
    M->theta = (M->largest + smallest) / 2;
    M->delta = (M->largest - smallest) / 2;
    s->product_us = 0;
    s->products = 0;
    return status;
}
