/*
 * Conjugate Gradient: A*x = b, A symmetric positive definite; D the reciprocals of the diagonal, or ones.
 *
 * Idea: each iteration is q = A*p, then
 *     dots   pq = p.q, qq = q.Dq                                        reads p, q
 *     step   alpha = rz/pq; x += alpha p; r -= alpha q; p = D r + beta p   reads x, r, p, q, writes x, r, p
 * beta = r_new.z_new / rz is needed before r_new is there, but (r - alpha q).D(r - alpha q) = alpha^2 qq - rz since
 * z.q = p.q in exact arithmetic. The step sums the true r.z, which the next alpha takes, so the predicted one never
 * feeds on itself. Where it is a small difference of large numbers (one iteration made the residual fall by
 * PREDICTABLE) the step is done in two halves instead, with the true beta.
 * Systems whose squares underflow or overflow are scaled by powers of two (guards in iteration.h, cg_scale.c).
 * Cost: 9 times n numbers beside the product; textbook code, a call of the BLAS an operation, moves 14. On a GPU rounds
 * of an iteration are recorded once and started together, and what they left is looked at then (iteration.h).
 * Source: Hestenes and Stiefel 1952; Meurant 1987 for the predicted beta.
 */
#include "solve/cg.h"
#include "spry/solve.h"

#include "device/vector_ops.h"
#include "solve/solve.h"

#include <math.h>
#include <stdio.h>

/* Share of rz below which the predicted rz is not trusted: about the root of the rounding error. */
static const double PREDICTABLE_F64 = 1e-6, PREDICTABLE_F32 = 1e-2;

/* 2^REACH: the guards' (iteration.h). With both near it, products of f32 still have no subnormal entries. */
enum { REACH_F64 = 256, REACH_F32 = 48 };

/* An x rounded to its type leaves some eps ||A|| ||x|| of b: reached up to a condition of some 10^7 and 10^3. */
static const double TOLERANCE_F64 = 1e-8, TOLERANCE_F32 = 1e-3;

/* The system solved instead of A*x = b is (2^-a A) x' = 2^-c b. Both are 0 unless a guard stopped the iteration. */
typedef struct scaling {
    int a, c;
    int needed_by_D;      /* 1: entries of the diagonal have no reciprocals otherwise, so a is chosen at once */
    int x_exponent;       /* of the largest entry of x */
    spryi_host_copy host; /* of A in device memory */
    spry_matrix *A;       /* 2^-a A; NULL: a is 0 */
    spry_vector values;   /* its */
    int guess_kept;       /* 1: x = 0 does not replace the guess (any more), see drop_guess */
} scaling;

typedef struct solving {
    spry_context *context;
    const spry_cg_options *o;
    const spry_matrix *A; /* the caller's */
    spryi_solve_plan names;
    int device;
    spry_run_options run; /* its stream is that of all work */
    int64_t n;
    spry_spmv_plan *plan;
    spryi_vector_work work;
    void *rounds; /* of spryi_vector_ops.record, rounds_recorded of them; NULL: none */
    int64_t rounds_recorded;
    spry_vector x, b, r, p, q, D; /* on the device; D.data NULL: ones */
    spry_vector own_x, own_b;     /* copies there of the caller's; data NULL: those are there */
    spryi_cg_state state;         /* as it was when last looked at */
    spryi_cg_unequal unequal;     /* of a matrix that is not symmetric */
    double before_restart;        /* true residual of the restart before */
    double bad_entry;             /* of the diagonal */
    scaling scaled;
} solving;

/* ---- what was asked for ------------------------------------------------------------------------- */

static int64_t within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static spry_status check_options(solving *s, const spry_cg_options *o, spry_error *err)
{
    s->o = o;
    s->names = (spryi_solve_plan){o->device, o->format, o->kernel};
    SPRYI_OK_OR_RETURN(spryi_solve_tolerance(&s->state.tolerance, o->tolerance,
                                             s->x.type == SPRY_F32 ? TOLERANCE_F32 : TOLERANCE_F64, "cg", err));
    if (o->max_iterations < 0 || o->patience < 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, o->max_iterations < 0 ? "max_iterations" : "patience",
                          "cg: max_iterations is %lld and patience %lld, expected 0 (default) or more",
                          (long long)o->max_iterations, (long long)o->patience);
    if ((unsigned)o->precond > SPRY_PRECOND_JACOBI)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "precond", o->precond, SPRY_PRECOND_JACOBI,
                                "cg: precond is %d, expected SPRY_PRECOND_NONE or SPRY_PRECOND_JACOBI",
                                (int)o->precond);
    return SPRY_OK;
}

static spry_status check_vectors(const solving *s, const spry_arrays *a, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_solve_check_vector(&s->x, "x", a->rows, a, s->device, err));
    SPRYI_OK_OR_RETURN(spryi_solve_check_vector(&s->b, "b", a->rows, a, s->device, err));
    if (s->x.type != s->b.type)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "b", s->b.type, s->x.type, "cg: b is %s, x is %s",
                                spry_type_name(s->b.type), spry_type_name(s->x.type));
    uintptr_t x = (uintptr_t)s->x.data, b = (uintptr_t)s->b.data;
    size_t bytes = (size_t)s->n * spry_type_bytes(s->x.type);
    if (bytes > 0 && x < b + bytes && b < x + bytes)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "x", "cg: x and b overlap");
    return SPRY_OK;
}

/* ---- what iterations need ------------------------------------------------------------------------ */

/* What was recorded has the addresses of a plan and of D. */
static void forget_rounds(solving *s)
{
    if (s->rounds) s->work.ops->forget(s->rounds);
    s->rounds = NULL;
}

/* D of A, on the host, or a verdict. */
static spry_status make_D(solving *s, spry_cg_result *result, const spry_matrix *A, spry_error *err)
{
    forget_rounds(s);
    spry_vector_destroy(s->context, &s->D);
    spry_status status =
        spryi_cg_invert_diagonal(s->context, &s->D, &result->bad_row, &s->bad_entry, A, s->x.type, err);
    result->verdict = result->bad_row >= 0 ? SPRY_VERDICT_BAD_DIAGONAL : SPRY_VERDICT_NONE;
    return status == SPRY_OK ? spryi_solve_move(s->context, &s->D, s->device, s->run.stream, err) : status;
}

/* The plan of A, or of 2^-a A, which is on the host wherever A is: in the format of A's plan, or that A would get. */
static spry_status make_plan(solving *s, spry_cg_result *result, spry_error *err)
{
    const int asked = s->o->format || s->o->kernel;
    forget_rounds(s);
    if (asked) s->names.format = s->o->format; /* with its parameters */
    s->names.kernel = s->o->kernel;
    if (s->scaled.A && s->scaled.host.A && !s->names.format && !asked) s->names.format = "csr"; /* where it lies */
    if (s->scaled.A && s->names.device == SPRY_DEVICE_DEFAULT) s->names.device = s->device == 0 ? SPRY_CPU : s->device;
    spry_status status = spryi_solve_make_plan(s->context, &s->plan, s->scaled.A ? s->scaled.A : s->A, s->x.type,
                                               &s->names, s->run.stream, err);
    result->format = s->names.format;
    result->kernel = s->names.kernel;
    return status;
}

/* ---- iteration ---------------------------------------------------------------------------------- */

static spry_status product(const solving *s, spry_vector in, const spry_run_options *run, double *product_us,
                           spry_error *err)
{
    double start = spryi_now_us();
    spry_status status = spry_spmv_plan_run(s->plan, s->q, NULL, spry_vector_as_const(in), NULL, run, err);
    *product_us += spryi_now_us() - start;
    return status;
}

static void tell_state(const solving *s, spry_cg_result *result)
{
    result->iterations = s->state.iterations;
    result->residual = s->state.residual;
}

/* Waits for what was started. */
static spry_status look(solving *s, spry_cg_result *result, spry_error *err)
{
    spry_status status = spryi_vector_look(&s->work, &s->state, sizeof s->state, err);
    tell_state(s, result);
    return status;
}

/* r = b - A*x, p = D r; from x = 0 without a product. */
static spry_status begin(solving *s, int x_is_zero, spry_cg_result *result, spry_error *err)
{
    spry_status status = x_is_zero ? SPRY_OK : product(s, s->x, &s->run, &result->product_us, err);
    if (status == SPRY_OK)
        status = s->work.ops->cg->start(&s->work, s->r.data, s->p.data, s->b.data, x_is_zero ? NULL : s->q.data,
                                        s->D.data, err);
    return status == SPRY_OK ? look(s, result, err) : status;
}

static spry_status find_true_residual(solving *s, spry_cg_result *result, spry_error *err)
{
    spry_status status = product(s, s->x, &s->run, &result->product_us, err);
    if (status == SPRY_OK) status = s->work.ops->cg->distance(&s->work, s->b.data, s->q.data, err);
    if (status == SPRY_OK) status = look(s, result, err);
    if (status == SPRY_OK) result->true_residual = sqrt(s->state.distance) / s->state.b_norm;
    return status;
}

/* One iteration, or half of one (spryi_cg_passes.step). */
static spry_status start_round(solving *s, const spryi_vector_work *w, const spry_run_options *run, double *product_us,
                               spry_error *err)
{
    const spryi_cg_passes *passes = w->ops->cg;
    void *x = s->x.data, *r = s->r.data, *p = s->p.data;
    const void *q = s->q.data, *D = s->D.data;
    spry_status status = product(s, s->p, run, product_us, err);
    if (status == SPRY_OK) status = passes->dots(w, p, q, D, err);
    if (status == SPRY_OK) status = passes->step(w, x, r, p, q, D, err);
    if (status == SPRY_OK && passes->next_direction) status = passes->next_direction(w, x, p, r, D, err);
    return status;
}

/* As many as are recorded. */
static spry_status start_rounds(void *user, void *stream, spry_error *err)
{
    solving *s = user;
    spryi_vector_work w = s->work;
    spry_run_options run = s->run;
    spry_status status = SPRY_OK;
    double nothing = 0;
    w.stream = run.stream = stream;
    for (int64_t k = 0; k < s->rounds_recorded && status == SPRY_OK; k++)
        status = start_round(s, &w, &run, &nothing, err);
    return status;
}

static spry_status record_rounds(solving *s, spry_error *err)
{
    if (s->rounds || !s->work.ops->record || s->n == 0) return SPRY_OK;
    s->rounds_recorded = spryi_vector_rounds(s->n);
    return s->work.ops->record(&s->work, start_rounds, s, &s->rounds, err);
}

/* Starts some rounds and looks what became of those, or of others that were started before. */
static spry_status advance(solving *s, spry_cg_result *result, spry_error *err)
{
    const int64_t left = s->state.limit - s->state.iterations;
    const int64_t ahead = spryi_vector_ahead(&s->work, s->state.iterations);
    spry_status status = record_rounds(s, err);
    if (status == SPRY_OK && s->rounds) {
        status = spryi_vector_advance(&s->work, s->rounds, &s->state, sizeof s->state, &s->state.stop, err);
        tell_state(s, result);
        return status;
    }
    for (int64_t k = 0; k < ahead && k < left && status == SPRY_OK; k++)
        status = start_round(s, &s->work, &s->run, &result->product_us, err);
    return status == SPRY_OK ? look(s, result, err) : status;
}

/* 1: the observer wants no more. `from`: iterations that it was told of. */
static int tell(const solving *s, int64_t from)
{
    int enough = 0;
    for (int64_t k = from; k < s->state.iterations && s->o->observe; k++)
        enough |= s->o->observe(s->o->user, k + 1, s->state.history[k % SPRYI_MOST_AHEAD]) != 0;
    return enough;
}

/* The carried residual says that x is good: is it? If not, go on from b - A*x, or see that this leads nowhere. */
static spry_status confirm(solving *s, spry_cg_result *result, spry_error *err)
{
    SPRYI_OK_OR_RETURN(find_true_residual(s, result, err));
    if (!isfinite(result->true_residual))
        result->verdict = SPRY_VERDICT_NOT_FINITE;
    else if (result->true_residual <= s->state.tolerance)
        result->verdict = SPRY_VERDICT_CONVERGED;
    else if (result->true_residual > 0.5 * s->before_restart)
        result->verdict = SPRY_VERDICT_STAGNATION;
    if (result->verdict != SPRY_VERDICT_NONE) return SPRY_OK;
    s->before_restart = result->true_residual;
    result->restarts++;
    return begin(s, 0, result, err);
}

/* ---- systems of extreme magnitude: powers of two (cg_scale.c) -------------------------------------- */

/* x, which is the iterate or the guess, times 2^exponent; a new beginning from it without that guard. */
static spry_status begin_scaled(solving *s, int exponent, int guard, spry_cg_result *result, spry_error *err)
{
    int x_is_zero = !s->o->start_from_x && s->state.iterations == 0;
    spryi_cg_scaled told;
    spry_status status = SPRY_OK;
    if (exponent != 0 && !x_is_zero) {
        status = spryi_cg_scale_vector(s->context, &s->x, exponent, &told, s->run.stream, err);
        if (!told.e.finite) s->scaled.guess_kept = 1;
    }
    s->state.guards &= ~guard;
    if (status == SPRY_OK) status = spryi_vector_put(&s->work, &s->state, sizeof s->state, err);
    return status == SPRY_OK ? begin(s, x_is_zero, result, err) : status;
}

static spry_status scale_b(solving *s, spry_cg_result *result, spry_error *err)
{
    spryi_cg_exponents e;
    spryi_cg_scaled told;
    spry_status status = spryi_cg_look_at_vector(s->context, &e, &s->b, s->run.stream, err);
    if (status != SPRY_OK) return status;
    if (!e.any && e.finite) { /* b = 0: x = 0, whatever the guess */
        result->residual = result->true_residual = 0;
        result->verdict = SPRY_VERDICT_CONVERGED;
        return s->work.ops->cg->clear(&s->work, s->x.data, err);
    }
    int exponent = spryi_cg_exponent_of_b(&e, s->b.type);
    if (exponent != 0) {
        if (!s->own_b.data) status = spryi_solve_copy(s->context, &s->own_b, &s->b, s->device, s->run.stream, err);
        s->b = s->own_b;
        if (status == SPRY_OK) status = spryi_cg_scale_vector(s->context, &s->b, -exponent, &told, s->run.stream, err);
        s->scaled.c = exponent;
    }
    return status == SPRY_OK ? begin_scaled(s, -exponent, SPRYI_GUARD_B, result, err) : status;
}

/* 2^-a A and, with jacobi, D of it; a verdict where D does not exist for any a. */
static spry_status make_scaled(solving *s, spry_cg_result *result, spry_error *err)
{
    scaling *scaled = &s->scaled;
    const int jacobi = s->o->precond == SPRY_PRECOND_JACOBI;
    spry_status status = spryi_solve_fetch(s->context, &scaled->host, s->A, s->run.stream, err);
    const spry_matrix *host = scaled->host.A ? scaled->host.A : s->A;
    if (status == SPRY_OK) status = spryi_cg_exponent_of_matrix(&scaled->a, host, jacobi, err);
    if (status != SPRY_OK) return status;
    if (scaled->a != 0) status = spryi_cg_scale_matrix(s->context, &scaled->A, &scaled->values, host, -scaled->a, err);
    if (status == SPRY_OK && jacobi && (scaled->a != 0 || scaled->needed_by_D))
        status = make_D(s, result, scaled->A ? scaled->A : host, err);
    return status;
}

static spry_status scale_A(solving *s, spry_cg_result *result, spry_error *err)
{
    spry_status status = make_scaled(s, result, err);
    if (result->verdict != SPRY_VERDICT_NONE) return status;
    if (status == SPRY_OK && s->scaled.A) {
        spry_spmv_plan_destroy(s->plan);
        s->plan = NULL;
        status = make_plan(s, result, err);
    }
    return status == SPRY_OK ? begin_scaled(s, s->scaled.a, SPRYI_GUARD_A, result, err) : status;
}

/*
 * x = 2^(c-a) x', of what was a system for x'. Where the type cannot hold that, it is judged by what it leaves of b
 * whether it is a solution.
 */
static spry_status scale_back(solving *s, spry_cg_result *result, spry_error *err)
{
    const int exponent = s->scaled.c - s->scaled.a;
    spryi_cg_scaled told, again;
    if (exponent == 0) return SPRY_OK;
    spry_status status = spryi_cg_scale_vector(s->context, &s->x, exponent, &told, s->run.stream, err);
    if (status != SPRY_OK || told.exact || result->verdict != SPRY_VERDICT_CONVERGED) return status;
    s->scaled.x_exponent = told.e.high + exponent;
    status = spryi_cg_scale_vector(s->context, &s->x, -exponent, &again, s->run.stream, err);
    if (status == SPRY_OK) status = find_true_residual(s, result, err);
    if (status == SPRY_OK) status = spryi_cg_scale_vector(s->context, &s->x, exponent, &again, s->run.stream, err);
    if (!again.e.finite) result->true_residual = INFINITY;
    if (!(result->true_residual <= s->state.tolerance)) result->verdict = SPRY_VERDICT_OUT_OF_RANGE;
    return status;
}

/* ---- to the end ---------------------------------------------------------------------------------- */

static spry_verdict verdict_of(int stop)
{
    switch (stop) {
    case SPRYI_AT_LIMIT: return SPRY_VERDICT_ITERATION_LIMIT;
    case SPRYI_STAGNATES: return SPRY_VERDICT_STAGNATION;
    case SPRYI_NOT_FINITE: return SPRY_VERDICT_NOT_FINITE;
    case SPRYI_NEGATIVE_CURVATURE: return SPRY_VERDICT_NEGATIVE_CURVATURE;
    default: return SPRY_VERDICT_NONE;
    }
}

/* Where the iteration has an end of its own, that is its verdict. */
static int heeds_observer(int stop)
{
    return stop != SPRYI_SMALL_ENOUGH && stop != SPRYI_NOT_FINITE && stop != SPRYI_NEGATIVE_CURVATURE;
}

/* A guess so far from a tiny b that, scaled with it, it or its residual has no square. */
static int guess_overflows(const solving *s)
{
    return s->o->start_from_x && s->state.iterations == 0 && s->scaled.c != 0 && !s->scaled.guess_kept;
}

static spry_status drop_guess(solving *s, spry_cg_result *result, spry_error *err)
{
    s->scaled.guess_kept = 1;
    spry_status status = s->work.ops->cg->clear(&s->work, s->x.data, err);
    return status == SPRY_OK ? begin(s, 1, result, err) : status;
}

static spry_status iterate(solving *s, spry_cg_result *result, spry_error *err)
{
    spry_status status = begin(s, !s->o->start_from_x, result, err);
    s->before_restart = INFINITY;
    while (status == SPRY_OK && result->verdict == SPRY_VERDICT_NONE) {
        int64_t told = s->state.iterations;
        int stop = s->state.stop;
        if (stop == SPRYI_SMALL_ENOUGH) {
            status = confirm(s, result, err);
        } else if (stop == SPRYI_B_OUT_OF_RANGE) {
            status = scale_b(s, result, err);
        } else if (stop == SPRYI_A_OUT_OF_RANGE) {
            status = scale_A(s, result, err);
        } else if (stop == SPRYI_NOT_FINITE && guess_overflows(s)) {
            status = drop_guess(s, result, err);
        } else if (stop != SPRYI_GOES_ON) {
            result->verdict = verdict_of(stop);
        } else {
            status = advance(s, result, err);
            if (status == SPRY_OK && tell(s, told) && heeds_observer(s->state.stop))
                result->verdict = SPRY_VERDICT_STOPPED;
        }
    }
    return status;
}

/* ---- the call ----------------------------------------------------------------------------------- */

static spry_status tell_unequal(const spryi_cg_unequal *u, spry_error *err)
{
    char mirrored[48] = "nothing stored";
    if (u->row < 0) /* only before its duplicates were summed and rounded */
        return spryi_fail(err, SPRY_NOT_CONVERGED, "A",
                          "not symmetric: the matrix differs from its transposed, conjugate gradients need A = A^T");
    if (u->stored) (void)spryi_write(mirrored, sizeof mirrored, "%.17g", u->mirrored);
    return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", u->row, u->column,
                            "not symmetric: %.17g at (%lld, %lld), counted from 1, but %s at (%lld, %lld); conjugate "
                            "gradients need A = A^T",
                            u->value, (long long)u->row + 1, (long long)u->column + 1, mirrored,
                            (long long)u->column + 1, (long long)u->row + 1);
}

static spry_status tell_diagonal(const solving *s, int64_t row, spry_error *err)
{
    if (!(s->bad_entry > 0 && isfinite(s->bad_entry)))
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", row, 0,
                                "zero diagonal: entry (%lld, %lld), counted from 1, is not above 0, which jacobi "
                                "divides by",
                                (long long)row + 1, (long long)row + 1);
    return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", row, 0,
                            "bad diagonal: entry (%lld, %lld), counted from 1, is %.3Lg, which has no reciprocal in %s",
                            (long long)row + 1, (long long)row + 1, ldexpl(s->bad_entry, s->scaled.a),
                            spry_type_name(s->x.type));
}

/* p'Ap of the caller's A and b, which double may not hold: p is near b, with jacobi near D b. */
static long double curvature(const solving *s)
{
    int a = s->o->precond == SPRY_PRECOND_JACOBI ? -s->scaled.a : s->scaled.a;
    return ldexpl(s->state.curvature, 2 * s->scaled.c + a);
}

static spry_status judge(const solving *s, const spry_cg_result *result, spry_error *err)
{
    const char *text = spry_verdict_text(result->verdict);
    int64_t k = result->iterations;
    switch (result->verdict) {
    case SPRY_VERDICT_CONVERGED: return SPRY_OK;
    case SPRY_VERDICT_NOT_SYMMETRIC: return tell_unequal(&s->unequal, err);
    case SPRY_VERDICT_BAD_DIAGONAL: return tell_diagonal(s, result->bad_row, err);
    case SPRY_VERDICT_NEGATIVE_CURVATURE:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", k, 0,
                                "negative curvature: p'Ap is %.3Lg in iteration %lld, so the matrix is not positive "
                                "definite; relative residual %.3g",
                                curvature(s), (long long)k + 1, result->true_residual);
    case SPRY_VERDICT_OUT_OF_RANGE:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, NULL, k, 0,
                                "out of range: the largest entry of x is about %.2Lg, which %s does not hold: the true "
                                "relative residual is %.3g, expected at most %g",
                                ldexpl(1, s->scaled.x_exponent), spry_type_name(s->x.type), result->true_residual,
                                s->state.tolerance);
    case SPRY_VERDICT_STAGNATION:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, NULL, k, s->state.limit,
                                "stagnation after %lld iterations and %lld restarts: the true relative residual stays "
                                "at %.3g, expected at most %g",
                                (long long)k, (long long)result->restarts, result->true_residual, s->state.tolerance);
    default:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, NULL, k, s->state.limit,
                                "%s after %lld iterations: the true relative residual is %.3g, expected at most %g",
                                text, (long long)k, result->true_residual, s->state.tolerance);
    }
}

/* The caller's x and b, or copies of them on the device; r, p and q. */
static spry_status make_vectors(solving *s, spry_error *err)
{
    spry_vector *vectors[] = {&s->r, &s->p, &s->q};
    spry_status status = SPRY_OK;
    if (s->b.device != s->device) {
        status = spryi_solve_copy(s->context, &s->own_b, &s->b, s->device, s->run.stream, err);
        s->b = s->own_b;
    }
    if (s->x.device != s->device && status == SPRY_OK) {
        status = s->o->start_from_x ? spryi_solve_copy(s->context, &s->own_x, &s->x, s->device, s->run.stream, err)
                                    : spry_vector_create(s->context, &s->own_x, s->n, s->x.type, s->device, err);
        s->x = s->own_x;
    }
    for (int v = 0; v < 3 && status == SPRY_OK; v++)
        status = spry_vector_create(s->context, vectors[v], s->n, s->x.type, s->device, err);
    return status;
}

/* Symmetry and diagonal; a verdict where the iteration cannot begin. */
static spry_status inspect(solving *s, spry_cg_result *result, spry_error *err)
{
    const spry_matrix *A = s->A;
    spry_arrays a = SPRY_INIT(spry_arrays);
    spryi_host_copy copy = {0};
    int symmetric = 0, jacobi = s->o->precond == SPRY_PRECOND_JACOBI;
    spry_status status = spry_matrix_get_arrays(A, &a, err);
    if (status == SPRY_OK && (jacobi || a.symmetry != SPRY_SYMMETRIC))
        status = spryi_solve_fetch(s->context, &copy, A, s->run.stream, err);
    const spry_matrix *host = copy.A ? copy.A : A;
    if (status == SPRY_OK) status = spryi_cg_is_symmetric(host, &symmetric, err);
    if (status == SPRY_OK && !symmetric) {
        result->verdict = SPRY_VERDICT_NOT_SYMMETRIC;
        status = spryi_cg_find_unequal(s->context, &s->unequal, host, err);
    }
    if (status == SPRY_OK && symmetric && jacobi) {
        status = make_D(s, result, host, err);
        s->scaled.needed_by_D = result->bad_row >= 0 && s->bad_entry > 0 && isfinite(s->bad_entry);
        if (status == SPRY_OK && s->scaled.needed_by_D) status = make_scaled(s, result, err);
        if (s->scaled.needed_by_D) s->state.guards &= ~SPRYI_GUARD_A;
    }
    spryi_solve_fetch_clear(s->context, &copy);
    return status;
}

static spry_status set_up(solving *s, spry_cg_result *result, spry_error *err)
{
    spry_status status = inspect(s, result, err);
    if (status != SPRY_OK || result->verdict != SPRY_VERDICT_NONE) return status;
    status = make_plan(s, result, err);
    if (status == SPRY_OK)
        status = spryi_vector_work_init(s->context, &s->work, s->device, s->run.stream, s->n, s->x.type, err);
    if (status == SPRY_OK) status = make_vectors(s, err);
    if (status == SPRY_OK) status = spryi_vector_put(&s->work, &s->state, sizeof s->state, err);
    if (status != SPRY_OK) return status;
    SPRYI_OK_OR_RETURN(record_rounds(s, err));
    if (!s->o->start_from_x) return s->work.ops->cg->clear(&s->work, s->x.data, err);
    if (s->scaled.a == 0) return SPRY_OK;
    return spryi_cg_scale_vector(s->context, &s->x, s->scaled.a, &(spryi_cg_scaled){0}, s->run.stream, err);
}

/* Finds the residual of x, if it is no solution, and the time of the products, if it could not be taken. */
static spry_status look_back(solving *s, spry_cg_result *result, spry_error *err)
{
    double product_us = result->product_us, one = 0;
    spry_status status = SPRY_OK;
    if (result->verdict != SPRY_VERDICT_CONVERGED) status = find_true_residual(s, result, err);
    if (status == SPRY_OK && s->device > 0 && s->n > 0) {
        status = spryi_solve_time_product(s->context, s->plan, s->x, s->q, s->run.stream, &one, err);
        product_us = one * (double)result->iterations;
    }
    result->product_us = product_us;
    return status;
}

static spry_status run(solving *s, spry_vector x, spry_cg_result *result, spry_error *err)
{
    double start = spryi_now_us();
    spry_status status = set_up(s, result, err);
    result->setup_us = spryi_now_us() - start;
    if (status != SPRY_OK) return status;
    if (result->verdict == SPRY_VERDICT_NONE) {
        start = spryi_now_us();
        status = iterate(s, result, err);
        result->solve_us = spryi_now_us() - start;
        if (status == SPRY_OK) status = look_back(s, result, err);
        if (status == SPRY_OK) status = scale_back(s, result, err);
        if (status == SPRY_OK && s->own_x.data) status = spryi_solve_copy_to(s->context, &x, &s->x, s->run.stream, err);
        if (status == SPRY_OK && s->device > 0)
            status = spry_device_synchronize(s->context, s->device, s->run.stream, err);
    }
    return status == SPRY_OK ? judge(s, result, err) : status;
}

spry_status spry_cg(spry_context *context, spry_vector x, spry_cg_result *result, const spry_matrix *A,
                    spry_const_vector b, const spry_cg_options *options, spry_error *err)
{
    if (!context || !A)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "A", "cg: %s is NULL",
                          !context ? "context" : "A");
    spry_cg_options o;
    x.device = spryi_device_number(x.device);
    solving s = {.context = context, .A = A, .x = x, .b = spryi_solve_vector(b), .run = SPRY_INIT(spry_run_options)};
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_cg_result told = SPRY_INIT(spry_cg_result);
    told.residual = told.true_residual = NAN;
    told.bad_row = -1;
    spry_status status = SPRYI_TAKE(&o, options, err);
    if (status == SPRY_OK) status = check_options(&s, &o, err);
    if (status == SPRY_OK) status = SPRYI_CHECK_OUTPUT(result, err);
    if (status == SPRY_OK) status = spry_matrix_get_arrays(A, &a, err);
    if (status == SPRY_OK) status = spryi_solve_check_square(&a, "cg", err);
    s.n = a.rows;
    s.device = spryi_solve_device_number(context, &s.names, &a);
    if (status == SPRY_OK) status = check_vectors(&s, &a, err);
    s.run.stream = s.device > 0 ? o.stream : NULL;
    if (status == SPRY_OK && s.device > 0) status = spry_device_synchronize(context, s.device, s.run.stream, err);
    if (status != SPRY_OK) return status;

    spryi_cg_state *t = &s.state;
    t->limit = s.o->max_iterations > 0 ? s.o->max_iterations : within(s.n > 10000 ? 100000 : 10 * s.n, 100, 100000);
    t->patience = s.o->patience > 0 ? s.o->patience : within(s.n, 200, 50000);
    t->guards = SPRYI_GUARD_B | SPRYI_GUARD_A;
    t->reach = ldexp(1, x.type == SPRY_F64 ? REACH_F64 : REACH_F32);
    t->trusted = x.type == SPRY_F64 ? PREDICTABLE_F64 : PREDICTABLE_F32;
    status = run(&s, x, &told, err);
    if (result && (status == SPRY_OK || status == SPRY_NOT_CONVERGED)) SPRYI_GIVE(result, &told);
    spry_vector *vectors[] = {&s.r, &s.p, &s.q, &s.D, &s.own_x, &s.own_b, &s.scaled.values};
    forget_rounds(&s);
    for (int v = 0; v < 7; v++) spry_vector_destroy(context, vectors[v]);
    spryi_vector_work_clear(&s.work);
    spry_spmv_plan_destroy(s.plan);
    spry_matrix_destroy(s.scaled.A);
    spryi_solve_fetch_clear(context, &s.scaled.host);
    return status;
}
