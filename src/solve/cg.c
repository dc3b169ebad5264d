/*
 * Conjugate Gradient: A*x = b, A symmetric positive definite; D the reciprocals of the diagonal, or ones.
 *
 * Idea: each iteration is q = A*p, then
 *     dots   pq = p.q, qq = q.Dq                                        reads p, q
 *     step   alpha = rz/pq; x += alpha p; r -= alpha q; p = D r + beta p   reads x, r, p, q, writes x, r, p
 * beta = r_new.z_new / rz is needed before r_new is there, but (r - alpha q).D(r - alpha q) = alpha^2 qq - rz since
 * z.q = p.q in exact arithmetic. The step sums the true r.z, which the next alpha takes, so the foretold one never
 * feeds on itself. Where it is a small difference of large numbers (a residual that fell by FORETELL in one iteration)
 * the step is done in two halves instead, with the true beta.
 * Cost: 9 times n numbers beside the product; textbook code, a call of the BLAS an operation, moves 14.
 * Source: Hestenes and Stiefel 1952; Meurant 1987 for the foretold beta.
 */
#include "solve/cg.h"

#include "solve/solve.h"
#include "solve/vector_ops.h"

#include <math.h>

/* Share of rz below which the foretold rz is not trusted: about the root of the rounding error. */
static const double FORETELL_F64 = 1e-6, FORETELL_F32 = 1e-2;

typedef struct solving {
    spry_context *context;
    const spry_cg_options *o;
    double tolerance;
    int64_t limit, patience, n;
    spry_plan *plan;
    spryi_vector_work work;
    spry_vector x, b, r, p, q, D; /* D.data NULL: ones */
    double b_norm, rr, rz;
    double smallest;       /* residual ... */
    int64_t smallest_at;   /* ... and the iteration that had it */
    double before_restart; /* true residual of the restart before */
    double curvature;      /* p'Ap of the latest iteration */
} solving;

/* ---- what was asked for ------------------------------------------------------------------------- */

static int64_t within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static spry_status check_options(solving *s, const spry_cg_options *o, spry_error *err)
{
    spry_status status = spryi_solve_check_struct(o->struct_size, sizeof *o, "spry_cg_options", err);
    if (status != SPRY_OK) return status;
    s->o = o;
    s->tolerance = o->tolerance == 0 ? 1e-8 : o->tolerance;
    if (!(s->tolerance > 0 && isfinite(s->tolerance)))
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, "tolerance", 0, 0,
                                "cg: tolerance is %g, expected a number above 0", s->tolerance);
    if (o->max_iterations < 0 || o->patience < 0)
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, o->max_iterations < 0 ? "max_iterations" : "patience", 0, 0,
                                "cg: max_iterations is %lld and patience %lld, expected 0 (default) or more",
                                (long long)o->max_iterations, (long long)o->patience);
    if ((unsigned)o->precond > SPRY_PRECOND_JACOBI)
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, "precond", o->precond, SPRY_PRECOND_JACOBI,
                                "cg: precond is %d, expected SPRY_PRECOND_NONE or SPRY_PRECOND_JACOBI",
                                (int)o->precond);
    return SPRY_OK;
}

static spry_status check_vectors(const solving *s, const spry_arrays *a, spry_error *err)
{
    spry_status status = spryi_solve_check_vector(&s->x, "x", a->rows, a, err);
    if (status == SPRY_OK) status = spryi_solve_check_vector(&s->b, "b", a->rows, a, err);
    if (status != SPRY_OK) return status;
    if (s->x.type != s->b.type)
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, "b", s->b.type, s->x.type, "cg: b is %s, x is %s",
                                spry_type_name(s->b.type), spry_type_name(s->x.type));
    uintptr_t x = (uintptr_t)s->x.data, b = (uintptr_t)s->b.data;
    size_t bytes = (size_t)s->n * spry_type_bytes(s->x.type);
    if (bytes > 0 && x < b + bytes && b < x + bytes)
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, "x", 0, 0, "cg: x and b overlap");
    return SPRY_OK;
}

/* ---- iteration ---------------------------------------------------------------------------------- */

static spry_status product(solving *s, spry_vector in, spry_cg_result *result, spry_error *err)
{
    double start = spryi_solve_now_us();
    spry_status status = spry_plan_run(s->plan, NULL, in, NULL, s->q, NULL, err);
    result->product_us += spryi_solve_now_us() - start;
    return status;
}

/* r = b - A*x, p = D r; from x = 0 without a product. */
static spry_status begin(solving *s, int x_is_zero, spry_cg_result *result, spry_error *err)
{
    double sums[3];
    if (!x_is_zero) {
        spry_status status = product(s, s->x, result, err);
        if (status != SPRY_OK) return status;
    }
    s->work.ops->start(&s->work, s->r.data, s->p.data, s->b.data, x_is_zero ? NULL : s->q.data, s->D.data, sums);
    s->rr = sums[0];
    s->rz = sums[1];
    s->b_norm = sqrt(sums[2]);
    return SPRY_OK;
}

static spry_status find_true_residual(solving *s, spry_cg_result *result, spry_error *err)
{
    spry_status status = product(s, s->x, result, err);
    if (status == SPRY_OK)
        result->true_residual = sqrt(s->work.ops->distance(&s->work, s->b.data, s->q.data)) / s->b_norm;
    return status;
}

/* One iteration, or the reason why there is none. */
static spry_status advance(solving *s, spry_cg_result *result, spry_error *err)
{
    const spryi_vector_ops *ops = s->work.ops;
    double sums[2], share = s->x.type == SPRY_F64 ? FORETELL_F64 : FORETELL_F32;
    spry_status status = product(s, s->p, result, err);
    if (status != SPRY_OK) return status;
    ops->dots(&s->work, s->p.data, s->q.data, s->D.data, sums);
    s->curvature = sums[0];
    if (!isfinite(sums[0]) || !isfinite(sums[1])) {
        result->verdict = SPRY_VERDICT_NOT_FINITE;
        return SPRY_OK;
    }
    if (sums[0] <= 0) {
        result->verdict = SPRY_VERDICT_NEGATIVE_CURVATURE;
        return SPRY_OK;
    }
    double alpha = s->rz / sums[0], foretold = alpha * alpha * sums[1] - s->rz, before = s->rz;
    if (foretold > share * before && isfinite(foretold)) {
        ops->step(&s->work, s->x.data, s->r.data, s->p.data, s->q.data, s->D.data, alpha, foretold / before, sums);
    } else {
        ops->shrink(&s->work, s->r.data, s->q.data, s->D.data, alpha, sums);
        ops->turn(&s->work, s->x.data, s->p.data, s->r.data, s->D.data, alpha, sums[1] / before);
    }
    s->rr = sums[0];
    s->rz = sums[1];
    result->iterations++;
    result->residual = sqrt(s->rr) / s->b_norm;
    return SPRY_OK;
}

/* The carried residual says that x is good: is it? If not, go on from b - A*x, or see that this leads nowhere. */
static spry_status confirm(solving *s, spry_cg_result *result, spry_error *err)
{
    spry_status status = find_true_residual(s, result, err);
    if (status != SPRY_OK) return status;
    if (!isfinite(result->true_residual))
        result->verdict = SPRY_VERDICT_NOT_FINITE;
    else if (result->true_residual <= s->tolerance)
        result->verdict = SPRY_VERDICT_CONVERGED;
    else if (result->true_residual > 0.5 * s->before_restart)
        result->verdict = SPRY_VERDICT_STAGNATION;
    if (result->verdict != SPRY_VERDICT_NONE) return SPRY_OK;
    s->before_restart = result->true_residual;
    result->restarts++;
    status = begin(s, 0, result, err);
    result->residual = sqrt(s->rr) / s->b_norm;
    s->smallest = result->residual;
    s->smallest_at = result->iterations;
    return status;
}

static int stagnates(solving *s, const spry_cg_result *result)
{
    if (result->residual < 0.99 * s->smallest) {
        s->smallest = result->residual;
        s->smallest_at = result->iterations;
    }
    return result->iterations - s->smallest_at >= s->patience;
}

static spry_status iterate(solving *s, spry_cg_result *result, spry_error *err)
{
    spry_status status = begin(s, !s->o->start_from_x, result, err);
    if (status != SPRY_OK) return status;
    if (s->b_norm == 0) { /* whatever the guess */
        s->work.ops->clear(&s->work, s->x.data);
        result->residual = result->true_residual = 0;
        result->verdict = SPRY_VERDICT_CONVERGED;
        return SPRY_OK;
    }
    result->residual = sqrt(s->rr) / s->b_norm;
    s->smallest = s->before_restart = INFINITY;
    while (status == SPRY_OK && result->verdict == SPRY_VERDICT_NONE) {
        if (!isfinite(result->residual)) {
            result->verdict = SPRY_VERDICT_NOT_FINITE;
        } else if (result->residual <= s->tolerance) {
            status = confirm(s, result, err);
        } else if (result->iterations >= s->limit) {
            result->verdict = SPRY_VERDICT_ITERATION_LIMIT;
        } else if (stagnates(s, result)) {
            result->verdict = SPRY_VERDICT_STAGNATION;
        } else {
            status = advance(s, result, err);
            if (status == SPRY_OK && result->verdict == SPRY_VERDICT_NONE && s->o->observe &&
                s->o->observe(s->o->user, result->iterations, result->residual) != 0 && result->residual > s->tolerance)
                result->verdict = SPRY_VERDICT_STOPPED;
        }
    }
    return status;
}

/* ---- the call ----------------------------------------------------------------------------------- */

static spry_status judge(const solving *s, const spry_cg_result *result, spry_error *err)
{
    const char *text = spry_verdict_text(result->verdict);
    int64_t k = result->iterations;
    switch (result->verdict) {
    case SPRY_VERDICT_CONVERGED: return SPRY_OK;
    case SPRY_VERDICT_NOT_SYMMETRIC:
        return spryi_solve_fail(err, SPRY_NOT_CONVERGED, "A", 0, 0,
                                "not symmetric: the matrix differs from its transposed, conjugate gradients need A = "
                                "A^T");
    case SPRY_VERDICT_BAD_DIAGONAL:
        return spryi_solve_fail(err, SPRY_NOT_CONVERGED, "A", result->bad_row, 0,
                                "zero diagonal: entry (%lld, %lld), counted from 1, is not above 0, which jacobi "
                                "divides "
                                "by",
                                (long long)result->bad_row + 1, (long long)result->bad_row + 1);
    case SPRY_VERDICT_NEGATIVE_CURVATURE:
        return spryi_solve_fail(err, SPRY_NOT_CONVERGED, "A", k, 0,
                                "negative curvature: p'Ap is %.3g in iteration %lld, so the matrix is not positive "
                                "definite; relative residual %.3g",
                                s->curvature, (long long)k + 1, result->true_residual);
    case SPRY_VERDICT_STAGNATION:
        return spryi_solve_fail(err, SPRY_NOT_CONVERGED, NULL, k, s->limit,
                                "stagnation after %lld iterations and %lld restarts: the true relative residual stays "
                                "at "
                                "%.3g, expected at most %g",
                                (long long)k, (long long)result->restarts, result->true_residual, s->tolerance);
    default:
        return spryi_solve_fail(err, SPRY_NOT_CONVERGED, NULL, k, s->limit,
                                "%s after %lld iterations: the true relative residual is %.3g, expected at most %g",
                                text, (long long)k, result->true_residual, s->tolerance);
    }
}

static spry_status make_vectors(solving *s, spry_error *err)
{
    spry_vector *vectors[] = {&s->r, &s->p, &s->q};
    for (int v = 0; v < 3; v++) {
        spry_status status = spry_vector_create(s->context, vectors[v], s->n, s->x.type, 0, err);
        if (status != SPRY_OK) return status;
    }
    return SPRY_OK;
}

/* Symmetry, diagonal, plan, vectors; a verdict where the iteration cannot begin. */
static spry_status set_up(solving *s, spry_cg_result *result, const spry_matrix *A, spry_error *err)
{
    spryi_solve_plan names = {s->o->device, s->o->format, s->o->kernel};
    int symmetric = 0;
    spry_status status = spryi_cg_is_symmetric(A, &symmetric, err);
    if (status != SPRY_OK) return status;
    if (!symmetric) {
        result->verdict = SPRY_VERDICT_NOT_SYMMETRIC;
        return SPRY_OK;
    }
    if (s->o->precond == SPRY_PRECOND_JACOBI) {
        status = spryi_cg_invert_diagonal(s->context, &s->D, &result->bad_row, A, s->x.type, err);
        if (status != SPRY_OK) return status;
        if (result->bad_row >= 0) {
            result->verdict = SPRY_VERDICT_BAD_DIAGONAL;
            return SPRY_OK;
        }
    }
    status = spryi_solve_make_plan(s->context, &s->plan, A, s->x.type, &names, err);
    if (status == SPRY_OK) status = spryi_vector_work_init(s->context, &s->work, names.device, s->n, s->x.type, err);
    if (status == SPRY_OK) status = make_vectors(s, err);
    result->format = names.format;
    result->kernel = names.kernel;
    return status;
}

static spry_status run(solving *s, spry_cg_result *result, const spry_matrix *A, spry_error *err)
{
    double start = spryi_solve_now_us();
    spry_status status = set_up(s, result, A, err);
    result->setup_us = spryi_solve_now_us() - start;
    if (status != SPRY_OK) return status;
    if (result->verdict == SPRY_VERDICT_NONE) {
        if (!s->o->start_from_x) s->work.ops->clear(&s->work, s->x.data);
        start = spryi_solve_now_us();
        status = iterate(s, result, err);
        result->solve_us = spryi_solve_now_us() - start;
        double product_us = result->product_us;
        if (status == SPRY_OK && result->verdict != SPRY_VERDICT_CONVERGED) status = find_true_residual(s, result, err);
        result->product_us = product_us;
    }
    return status == SPRY_OK ? judge(s, result, err) : status;
}

spry_status spry_cg(spry_context *context, spry_vector x, spry_cg_result *result, const spry_matrix *A, spry_vector b,
                    const spry_cg_options *options, spry_error *err)
{
    if (!context || !A)
        return spryi_solve_fail(err, SPRY_INVALID_ARGUMENT, !context ? "context" : "A", 0, 0, "cg: %s is NULL",
                                !context ? "context" : "A");
    const spry_cg_options defaults = SPRY_INIT(spry_cg_options);
    solving s = {.context = context, .x = x, .b = b};
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_cg_result told = SPRY_INIT(spry_cg_result);
    told.residual = told.true_residual = NAN;
    told.bad_row = -1;
    spry_status status = check_options(&s, options ? options : &defaults, err);
    if (status == SPRY_OK && result)
        status = spryi_solve_check_struct(result->struct_size, sizeof *result, "spry_cg_result", err);
    if (status == SPRY_OK) status = spry_matrix_get_arrays(A, &a, err);
    if (status == SPRY_OK) status = spryi_solve_check_square(&a, "cg", err);
    s.n = a.rows;
    if (status == SPRY_OK) status = check_vectors(&s, &a, err);
    if (status != SPRY_OK) return status;

    s.limit = s.o->max_iterations > 0 ? s.o->max_iterations : within(s.n > 10000 ? 100000 : 10 * s.n, 100, 100000);
    s.patience = s.o->patience > 0 ? s.o->patience : within(s.n, 200, 50000);
    status = run(&s, &told, A, err);
    if (result && (status == SPRY_OK || status == SPRY_NOT_CONVERGED)) *result = told;
    spry_vector *vectors[] = {&s.r, &s.p, &s.q, &s.D};
    for (int v = 0; v < 4; v++) spry_vector_destroy(context, vectors[v]);
    spryi_vector_work_clear(&s.work);
    spry_plan_destroy(s.plan);
    return status;
}
