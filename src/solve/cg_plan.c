/*
 * Public functions of Conjugate Gradient: checks of options, plans, runs, and verdicts as messages. cg_setup.c sets a
 * plan up, cg.c iterates.
 */
#include "solve/cg.h"

#include "base/context.h"
#include "base/memory.h"
#include "spry/cuda.h"
#include "spry/solve.h"

#include <stdio.h>
#include <string.h>

/* ---- options ---------------------------------------------------------------------------------------- */

/*
 * Because x is rounded to its type, the residual does not fall below a few eps ||A|| ||x||. So these tolerances can be
 * reached up to a condition number of about 10^7 for f64 and 10^3 for f32.
 */
static const double TOLERANCE_F64 = 1e-8, TOLERANCE_F32 = 1e-3;

/*
 * Multiples of eps by which a_ij and a_ji may differ. Entries of G^T D G with positive D, as in finite elements, are
 * sums of k terms, whose magnitudes add up to at most sqrt(a_ii a_jj). Sums in two orders differ by at most
 * 2 (k + 2) eps sqrt(a_ii a_jj). With 10^6 positive terms, differences of 250 eps were measured (docs/solvers.md).
 */
static const double SYMMETRY_TOLERANCE = 1000;

enum { BLOCK_SIZE = 3, DEGREE = 4, MOST_DEGREE = 64, EIGENVALUE_RATIO = 100 };

/* Checks an integer option. 0 becomes the default. */
static spry_status take_number(int64_t *value, int64_t usual, int64_t most, const char *name, spry_error *err)
{
    if (*value < 0 || *value > most)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, *value, most,
                                "cg: %s is %lld, expected 1 to %lld, or 0 for %lld", name, (long long)*value,
                                (long long)most, (long long)usual);
    if (*value == 0) *value = usual;
    return SPRY_OK;
}

static spry_status check_precond(const spry_cg_options *o, bool is_operator, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_solve_check_choice((int)o->precond, SPRY_PRECOND_CALLBACK, "precond",
                                                "SPRY_PRECOND_NONE (0), SPRY_PRECOND_JACOBI (1), "
                                                "SPRY_PRECOND_BLOCK_JACOBI (2), SPRY_PRECOND_CHEBYSHEV (3) or "
                                                "SPRY_PRECOND_CALLBACK (4)",
                                                "cg", err));
    if ((o->precond == SPRY_PRECOND_CALLBACK) != (o->precondition != NULL))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "precondition",
                          o->precondition ? "cg: precondition is given, but precond is not SPRY_PRECOND_CALLBACK"
                                          : "cg: precond is SPRY_PRECOND_CALLBACK, but precondition is NULL");
    if (is_operator && o->precond != SPRY_PRECOND_NONE && o->precond != SPRY_PRECOND_CALLBACK)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "precond", o->precond, SPRY_PRECOND_CALLBACK,
                                "cg: this precond needs the entries of A, which options.products does not have, "
                                "expected SPRY_PRECOND_NONE or SPRY_PRECOND_CALLBACK");
    if (!(o->eigenvalue_ratio == 0 || (o->eigenvalue_ratio > 1 && isfinite(o->eigenvalue_ratio))))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "eigenvalue_ratio",
                          "cg: eigenvalue_ratio is %g, expected a number above 1, or 0 for %d", o->eigenvalue_ratio,
                          EIGENVALUE_RATIO);
    return SPRY_OK;
}

static spry_status check_precision(const spry_cg_plan *s, spry_error *err)
{
    const spry_cg_options *o = &s->o;
    SPRYI_OK_OR_RETURN(
        spryi_solve_check_choice((int)o->precision, SPRY_PRECISION_F32, "precision",
                                 "SPRY_PRECISION_FULL (0), SPRY_PRECISION_F32_VALUES (1) or SPRY_PRECISION_F32 (2)",
                                 "cg", err));
    if (o->precision == SPRY_PRECISION_FULL) return SPRY_OK;
    if (s->system.operator.apply)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "precision", o->precision, SPRY_PRECISION_FULL,
                                "cg: a system that is given by options.products needs SPRY_PRECISION_FULL");
    if (s->system.type != SPRY_F64)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "precision", s->system.type, SPRY_F64,
                                "cg: the system is %s, expected f64: only f64 can be solved with f32",
                                spry_type_name(s->system.type));
    return SPRY_OK;
}

static spry_status take_symmetry_tolerance(double *tolerance, spry_error *err)
{
    const double asked = *tolerance;
    if (asked == SPRY_TOLERANCE_ZERO || asked == 0) {
        *tolerance = asked == 0 ? SYMMETRY_TOLERANCE : 0;
        return SPRY_OK;
    }
    if (asked > 0 && isfinite(asked)) return SPRY_OK;
    return spryi_fail(err, SPRY_INVALID_ARGUMENT, "symmetry_tolerance",
                      "cg: symmetry_tolerance is %g, expected a number above 0, 0 for %g, or SPRY_TOLERANCE_ZERO",
                      asked, SYMMETRY_TOLERANCE);
}

/* Checks the options that a run may change, and sets defaults. */
static spry_status check_run(const spry_cg_plan *s, spry_cg_run_options *o, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_solve_tolerance(&o->tolerance, o->tolerance,
                                             s->system.type == SPRY_F32 ? TOLERANCE_F32 : TOLERANCE_F64, "cg", err));
    if (o->absolute_tolerance == SPRY_TOLERANCE_ZERO) o->absolute_tolerance = 0;
    if (!(o->absolute_tolerance >= 0 && isfinite(o->absolute_tolerance)))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "absolute_tolerance",
                          "cg: absolute_tolerance is %g, expected a number above 0, 0, or SPRY_TOLERANCE_ZERO",
                          o->absolute_tolerance);
    if (o->max_iterations < 0 || o->patience < 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, o->max_iterations < 0 ? "max_iterations" : "patience",
                          "cg: max_iterations is %lld and patience %lld, expected 0 (default) or more",
                          (long long)o->max_iterations, (long long)o->patience);
    return spryi_solve_check_start(o->start, "cg", err);
}

/* Returns the options of a run from those of the plan. */
static spry_cg_run_options run_options_of(const spry_cg_options *o)
{
    return (spry_cg_run_options){.struct_size = sizeof(spry_cg_run_options),
                                 .tolerance = o->tolerance,
                                 .absolute_tolerance = o->absolute_tolerance,
                                 .max_iterations = o->max_iterations,
                                 .patience = o->patience,
                                 .start = o->start,
                                 .observe = o->observe,
                                 .observe_user = o->observe_user,
                                 .stream = o->stream};
}

/* Copies a text of the options to memory that lives as long as the plan. */
static spry_status keep_text(char *room, size_t bytes, const char **text, const char *name, spry_error *err)
{
    if (!*text) return SPRY_OK;
    if (strlen(*text) >= bytes)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, (int64_t)strlen(*text), (int64_t)bytes - 1,
                                "cg: %s has %zu characters, expected at most %zu", name, strlen(*text), bytes - 1);
    memcpy(room, *text, strlen(*text) + 1);
    *text = room;
    return SPRY_OK;
}

/* Checks the options of the plan, and sets defaults. */
static spry_status check_options(spry_cg_plan *s, spry_error *err)
{
    spry_cg_options *o = &s->o;
    spry_cg_run_options runs = run_options_of(o);
    SPRYI_OK_OR_RETURN(check_run(s, &runs, err));
    SPRYI_OK_OR_RETURN(check_precond(o, s->system.operator.apply != NULL, err));
    SPRYI_OK_OR_RETURN(check_precision(s, err));
    SPRYI_OK_OR_RETURN(take_symmetry_tolerance(&o->symmetry_tolerance, err));
    SPRYI_OK_OR_RETURN(take_number(&o->block_size, BLOCK_SIZE, SPRYI_CG_MOST_BLOCK, "block_size", err));
    SPRYI_OK_OR_RETURN(take_number(&o->degree, DEGREE, MOST_DEGREE, "degree", err));
    SPRYI_OK_OR_RETURN(take_number(&o->count, 1, INT32_MAX, "count", err));
    SPRYI_OK_OR_RETURN(keep_text(s->format, sizeof s->format, &o->format, "format", err));
    SPRYI_OK_OR_RETURN(keep_text(s->kernel, sizeof s->kernel, &o->kernel, "kernel", err));
    if (o->eigenvalue_ratio == 0) o->eigenvalue_ratio = EIGENVALUE_RATIO;
    return SPRY_OK;
}

/* ---- verdicts as messages --------------------------------------------------------------------------- */

static spry_status report_unequal(const spry_cg_plan *s, spry_error *err)
{
    const spryi_unequal *u = &s->current.unequal;
    const int base = s->system.A->index_base;
    char mirrored[48] = "nothing stored";
    if (u->stored) (void)spryi_write(mirrored, sizeof mirrored, "%.17g", u->mirrored);
    return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", u->row, u->column,
                            "not symmetric: %.17g at (%lld, %lld), counted from %d, but %s at (%lld, %lld); conjugate "
                            "gradients need A = A^T up to %g eps: symmetry_tolerance allows larger differences, "
                            "assume_symmetric skips the check",
                            u->value, (long long)u->row + base, (long long)u->column + base, base, mirrored,
                            (long long)u->column + base, (long long)u->row + base, s->o.symmetry_tolerance);
}

/* Finds an entry of A, on the host, that is not finite. The row is -1 if there is none. */
static spry_status find_not_finite(spryi_unequal *found, const spry_matrix *A, spry_error *err)
{
    /* a tolerance of Inf permits any difference of finite entries */
    return spryi_find_unequal(found, A, &(spryi_symmetry_test){.finite = true, .tolerance = INFINITY}, err);
}

/* Names an entry of A or b that is not finite. Returns SPRY_OK if both are finite, or not on the host. */
static spry_status report_not_finite(const spry_cg_plan *s, const spry_cg_result *result, spry_error *err)
{
    spryi_unequal u = s->current.unequal;
    const int base = s->system.A ? s->system.A->index_base : 1;
    if (u.row < 0 && s->system.A && s->system.A->a.device == 0)
        SPRYI_OK_OR_RETURN(find_not_finite(&u, s->system.A, err));
    if (s->system.A && u.row >= 0)
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", u.row, u.column,
                                "not finite: the entry of A at (%lld, %lld), counted from %d, is %g",
                                (long long)u.row + base, (long long)u.column + base, base, u.value);
    for (int64_t i = 0; s->current.b.data && s->current.b.device == 0 && i < s->system.n; i++) {
        const double value = spryi_value_at(s->current.b.data, s->system.type, result->vector * s->system.n + i);
        if (isfinite(value)) continue;
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "b", i, result->vector,
                                "not finite: element %lld of b, counted from %d, is %g", (long long)i + base, base,
                                value);
    }
    return SPRY_OK;
}

static spry_status report_diagonal(const spry_cg_plan *s, int64_t row, spry_error *err)
{
    const int base = s->system.A->index_base;
    const long long shown = (long long)row + base;
    if (s->o.precond == SPRY_PRECOND_BLOCK_JACOBI)
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", row, s->o.block_size,
                                "bad block: the block of %lld rows on the diagonal that begins with row %lld, counted "
                                "from %d, is not positive definite, so it has no inverse for block jacobi",
                                (long long)s->o.block_size, shown - (long long)(row % s->o.block_size), base);
    if (!(s->current.bad_entry > 0 && isfinite(s->current.bad_entry)))
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", row, row,
                                "bad diagonal: entry (%lld, %lld), counted from %d, is %.3Lg, but jacobi divides by it "
                                "and needs a finite value above 0",
                                shown, shown, base, ldexpl(s->current.bad_entry, s->scaled.a));
    return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", row, row,
                            "bad diagonal: entry (%lld, %lld), counted from %d, is %.3Lg, which has no reciprocal in "
                            "%s",
                            shown, shown, base, ldexpl(s->current.bad_entry, s->scaled.a),
                            spry_type_name(s->system.inner));
}

/* Returns the e for which the iteration on 2^-a A uses 2^e M. M is the caller's preconditioner or that of A. */
static int exponent_of_M(const spry_cg_plan *s)
{
    if (s->o.precond == SPRY_PRECOND_CALLBACK) return s->scaled.m;
    return s->o.precond == SPRY_PRECOND_NONE ? 0 : s->scaled.a;
}

/* Return p'Ap and r'Mr for the caller's A, b and M. These values may overflow double. p scales like M b. */
static long double curvature(const spry_cg_plan *s, int64_t column)
{
    return ldexpl(s->current.states[column].curvature, 2 * s->scaled.c + s->scaled.a - 2 * exponent_of_M(s));
}
static long double weight(const spry_cg_plan *s, int64_t column)
{
    return ldexpl(s->current.states[column].rz, 2 * s->scaled.c - exponent_of_M(s));
}

static spry_status report_residual(const spry_cg_plan *s, const spry_cg_result *result, spry_error *err)
{
    const spryi_cg_state *state = &s->current.states[result->vector];
    return spryi_fail_value(err, SPRY_NOT_CONVERGED, NULL, result->iterations, state->rules.limit,
                            "%s after %lld iterations: the true relative residual is %.3g, expected at most %g",
                            spry_verdict_text(result->verdict), (long long)result->iterations, result->true_residual,
                            state->marks.goal);
}

/* Reports a verdict as an error. Returns SPRY_OK if the columns have converged. */
static spry_status report_verdict(const spry_cg_plan *s, const spry_cg_result *result, spry_error *err)
{
    const int64_t k = result->iterations;
    const spryi_cg_state *state = &s->current.states[result->vector];
    switch (result->verdict) {
    case SPRY_VERDICT_CONVERGED: return SPRY_OK;
    case SPRY_VERDICT_NOT_SYMMETRIC: return report_unequal(s, err);
    case SPRY_VERDICT_BAD_DIAGONAL: return report_diagonal(s, result->bad_row, err);
    case SPRY_VERDICT_NOT_FINITE:
        SPRYI_OK_OR_RETURN(report_not_finite(s, result, err));
        return report_residual(s, result, err);
    case SPRY_VERDICT_NEGATIVE_CURVATURE:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", k, 0,
                                "negative curvature: p'Ap is %.3Lg in iteration %lld, so the matrix is not positive "
                                "definite; relative residual %.3g",
                                curvature(s, result->vector), (long long)k + 1, result->true_residual);
    case SPRY_VERDICT_BAD_PRECONDITIONER:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "precond", k, 0,
                                "bad preconditioner: r'Mr is %.3Lg after iteration %lld, so M is not positive "
                                "definite; "
                                "relative residual %.3g",
                                weight(s, result->vector), (long long)k, result->true_residual);
    case SPRY_VERDICT_OUT_OF_RANGE:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, NULL, k, 0,
                                "out of range: the largest element of x is about %.2Lg, which %s does not hold: the "
                                "true "
                                "relative residual is %.3g, expected at most %g",
                                ldexpl(1, s->scaled.x_exponent), spry_type_name(s->system.type), result->true_residual,
                                state->marks.goal);
    case SPRY_VERDICT_STAGNATION:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, NULL, k, state->rules.limit,
                                "stagnation after %lld iterations and %lld restarts: the true relative residual "
                                "remains "
                                "%.3g, expected at most %g",
                                (long long)k, (long long)result->restarts, result->true_residual, state->marks.goal);
    default: return report_residual(s, result, err);
    }
}

/* ---- a plan ----------------------------------------------------------------------------------------- */

/* Sets up a plan whose options are checked. *found gets a verdict if the iteration cannot start. */
static spry_status set_up(spry_cg_plan *s, spry_cg_result *found, spry_error *err)
{
    spry_status status = SPRY_OK;
    const double start = spryi_now_us();
    s->current.product.struct_size = sizeof s->current.product;
    s->current.product.stream = s->system.device > 0 ? s->o.stream : NULL;
    s->system.inner = s->o.precision == SPRY_PRECISION_F32 ? SPRY_F32 : s->system.type;
    SPRYI_TRY(SPRYI_NEW(s->context, &s->current.states, s->o.count, "states of columns", err));
    SPRYI_TRY(SPRYI_NEW(s->context, &s->current.columns, s->o.count, "states of columns", err));
    if (s->system.device > 0)
        SPRYI_TRY(spry_device_synchronize(s->context, s->system.device, s->current.product.stream, err));
    SPRYI_TRY(spryi_cg_set_up(s, found, err));
done:
    s->setup_us = found->setup_us = spryi_now_us() - start;
    return status;
}

/* Fills a plan with the system of a matrix. type: the vectors' type if A is a pattern. */
static spry_status plan_matrix(spry_cg_plan *s, const spry_matrix *A, spry_type type, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    s->system.A = spryi_matrix_retain(A);
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    s->system.type = a.value_type == SPRY_PATTERN ? type : a.value_type;
    s->system.n = a.rows;
    SPRYI_OK_OR_RETURN(check_options(s, err));
    SPRYI_OK_OR_RETURN(spryi_solve_check_square(&a, "cg", err));
    SPRYI_OK_OR_RETURN(spryi_solve_check_values(&a, err));
    s->product.names = s->product.outer_names = spryi_cg_names_of(s);
    s->system.device = spryi_solve_device_number(s->context, &s->product.names, &a);
    return SPRY_OK;
}

static spry_status check_operator(spry_operator *ours, const spry_operator *products, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(ours, products, err));
    if (!ours->apply) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "products", "cg: products.apply is NULL");
    if (ours->n < 0)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "products", ours->n, 0,
                                "cg: products.n is %lld, expected 0 or more", (long long)ours->n);
    if (ours->n > INT64_MAX >> 8)
        return spryi_fail_value(err, SPRY_TOO_LARGE, "products", ours->n, INT64_MAX >> 8,
                                "cg: products.n is %lld, expected at most %lld", (long long)ours->n,
                                (long long)(INT64_MAX >> 8));
    if (ours->type != SPRY_F32 && ours->type != SPRY_F64)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "products", ours->type, SPRY_F64,
                                "cg: products.type is %s, expected f32 or f64", spry_type_name(ours->type));
    return SPRY_OK;
}

/* Fills a plan with the system of options.products. */
static spry_status plan_operator(spry_cg_plan *s, spry_error *err)
{
    spry_operator *ours = &s->system.operator;
    SPRYI_OK_OR_RETURN(check_operator(ours, s->o.products, err));
    s->o.products = NULL; /* the caller's struct is not read after this call */
    s->system.type = ours->type;
    s->system.n = ours->n;
    s->system.device = spryi_device_number(ours->device);
    if (s->o.device != SPRY_DEVICE_DEFAULT && spryi_device_number(s->o.device) != s->system.device)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "device", s->o.device, s->system.device,
                                "cg: device is %d, but products.device is %d", s->o.device, s->system.device);
    if (s->o.format || s->o.kernel)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, s->o.format ? "format" : "kernel",
                          "cg: format and kernel need the entries of A, which options.products does not have");
    return check_options(s, err);
}

/* Creates a plan that is not set up. type: the vectors' type if A is a pattern. Destroy *plan also after a failure. */
static spry_status new_plan(spry_cg_plan **plan, spry_context *context, const spry_matrix *A, spry_type type,
                            const spry_cg_options *options, spry_error *err)
{
    spry_cg_options o;
    *plan = NULL;
    if (!context) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "context", "cg: context is NULL");
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&o, options, err));
    if (!A && !o.products)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "A", "cg: A is NULL, expected a matrix, or options.products");
    if (A && o.products)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "products",
                          "cg: options.products is given with a matrix, expected one of the two");
    spry_cg_plan *s = NULL;
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &s, 1, "plan of conjugate gradients", err));
    *s = (spry_cg_plan){.context = spryi_context_retain(context), .o = o};
    *plan = s;
    return A ? plan_matrix(s, A, type, err) : plan_operator(s, err);
}

static spry_cg_result no_result(void)
{
    spry_cg_result found = SPRY_INIT(spry_cg_result);
    found.residual = found.true_residual = NAN;
    found.bad_row = -1;
    found.format = found.kernel = "";
    return found;
}

/* Empties the caller's result, which may have values of an earlier call. */
static spry_status empty_result(spry_cg_result *result, spry_error *err)
{
    const spry_cg_result none = no_result();
    SPRYI_OK_OR_RETURN(SPRYI_CHECK_OUTPUT(result, err));
    if (result) SPRYI_GIVE(result, &none);
    return SPRY_OK;
}

/* Ends a set-up: returns the result, and reports a verdict as an error. */
static spry_status end_setup(const spry_cg_plan *s, spry_status status, spry_cg_result *result,
                             const spry_cg_result *found, spry_error *err)
{
    if (status == SPRY_OK && found->verdict != SPRY_VERDICT_NONE) status = report_verdict(s, found, err);
    if (result && (status == SPRY_OK || status == SPRY_NOT_CONVERGED)) SPRYI_GIVE(result, found);
    return status;
}

/* Updates the plan that contains *self. */
static spry_status update_dependent(spryi_dependent *self, const spry_update_options *options, spry_error *err)
{
    spry_cg_plan *plan = (spry_cg_plan *)((char *)self - offsetof(spry_cg_plan, of_matrix));
    if (options->stream)
        SPRYI_OK_OR_RETURN(spry_device_synchronize(plan->context, plan->system.device, options->stream, err));
    return spry_cg_plan_update(plan, NULL, err);
}

spry_status spry_cg_plan_create(spry_context *context, spry_cg_plan **plan, spry_cg_result *result,
                                const spry_matrix *A, const spry_cg_options *options, spry_error *err)
{
    spry_cg_plan *s = NULL;
    spry_cg_result found = no_result();
    SPRYI_OK_OR_RETURN(empty_result(result, err));
    if (!plan) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan", "cg: plan is NULL");
    spry_status status = new_plan(&s, context, A, SPRY_F64, options, err);
    if (status == SPRY_OK) status = set_up(s, &found, err);
    if (s) status = end_setup(s, status, result, &found, err);
    if (status == SPRY_OK) {
        s->of_matrix.update = update_dependent;
        if (A) spryi_add_dependent(A, &s->of_matrix);
        *plan = s;
    } else {
        spry_cg_plan_destroy(s);
    }
    return status;
}

spry_status spry_cg_plan_update(spry_cg_plan *plan, spry_cg_result *result, spry_error *err)
{
    spry_cg_result found = no_result();
    SPRYI_OK_OR_RETURN(empty_result(result, err));
    if (!plan) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan", "cg: plan is NULL");
    if (!plan->system.A) return SPRY_OK;
    const double start = spryi_now_us();
    plan->refreshes = true;
    spry_status status = spryi_cg_set_up(plan, &found, err);
    plan->refreshes = false;
    plan->is_stale = status != SPRY_OK || found.verdict != SPRY_VERDICT_NONE;
    plan->setup_us = found.setup_us = spryi_now_us() - start;
    spryi_note_update(&plan->of_matrix);
    return end_setup(plan, status, result, &found, err);
}

void spry_cg_plan_destroy(spry_cg_plan *s)
{
    if (!s) return;
    spry_context *context = s->context;
    spryi_remove_dependent(&s->of_matrix);
    spryi_cg_tear_down(s);
    spry_matrix_destroy(s->system.A);
    spryi_release(context, s->current.states);
    spryi_release(context, s->current.columns);
    spryi_release(context, s);
    spryi_context_release(context);
}

/* ---- a run ------------------------------------------------------------------------------------------ */

static int64_t count_of(const spry_vector *v)
{
    return v->count > 1 ? v->count : 1;
}
static int64_t stride_of(const spry_vector *v)
{
    return count_of(v) == 1 || v->column_stride == 0 ? v->length : v->column_stride;
}

static spry_status check_vectors(const spry_cg_plan *s, const spry_vector *x, const spry_vector *b, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_solve_check_columns(x, "x", s->system.n, s->system.type, s->system.device, err));
    SPRYI_OK_OR_RETURN(spryi_solve_check_columns(b, "b", s->system.n, s->system.type, s->system.device, err));
    if (count_of(x) != count_of(b))
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "b", count_of(b), count_of(x),
                                "cg: b has %lld vectors, x has %lld", (long long)count_of(b), (long long)count_of(x));
    if (count_of(x) > s->o.count)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "x", count_of(x), s->o.count,
                                "cg: x has %lld vectors, the plan was made for at most %lld (options.count)",
                                (long long)count_of(x), (long long)s->o.count);
    if (spryi_overlap(x->data, spryi_solve_span(x), b->data, spryi_solve_span(b)))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "x", "cg: x and b overlap");
    return spryi_solve_check_result(x, s->system.A, "cg", err);
}

/* Copies columns between vectors of any strides. */
static spry_status copy_columns(const spry_cg_plan *s, const spry_vector *to, const spry_vector *from, spry_error *err)
{
    spry_status status = SPRY_OK;
    for (int64_t c = 0; c < count_of(from) && status == SPRY_OK; c++) {
        spry_vector of = *from, into = *to;
        of.data = (char *)of.data + (size_t)(c * stride_of(from)) * spry_type_bytes(from->type);
        into.data = (char *)into.data + (size_t)(c * stride_of(to)) * spry_type_bytes(to->type);
        status = spryi_solve_copy_to(s->context, &into, &of, s->current.product.stream, err);
    }
    return status;
}

/* Returns whether the iteration can use v in place. */
static bool serves(const spry_cg_plan *s, const spry_vector *v)
{
    return v->device == s->system.device && v->row_stride == 1 && (count_of(v) == 1 || stride_of(v) == s->system.n);
}

/* Sets *taken to the caller's vector, or to *own, which is allocated on first use. */
static spry_status take_vector(spry_cg_plan *s, spry_vector *taken, spry_vector *own, const spry_vector *given,
                               bool keeps_own, bool copies, spry_error *err)
{
    *taken = *given;
    taken->count = count_of(given);
    taken->column_stride = s->system.n;
    if (serves(s, given) && !keeps_own) return SPRY_OK;
    spry_status status = SPRY_OK;
    if (!own->data)
        status = spry_vector_create(s->context, own, s->system.n * s->o.count, s->system.type, s->system.device, err);
    own->length = s->system.n;
    own->count = taken->count;
    own->column_stride = s->system.n;
    *taken = *own;
    return status == SPRY_OK && copies ? copy_columns(s, taken, given, err) : status;
}

/* Sets product_us. Products in a GPU's iterations cannot be timed, so additional products are run and timed. */
static spry_status time_products(spry_cg_plan *s, spry_cg_result *found, spry_error *err)
{
    double one = 0;
    found->product_us = s->product.us;
    if (s->system.device == 0 || s->system.n == 0 || !s->product.plan) return SPRY_OK;
    const spry_vector p = spryi_cg_columns_of(&s->work, &s->vectors.p),
                      q = spryi_cg_columns_of(&s->work, &s->vectors.q);
    SPRYI_OK_OR_RETURN(
        spryi_solve_time_product(s->context, s->product.plan, p, q, s->current.product.stream, &one, err));
    const int64_t products = s->o.precond == SPRY_PRECOND_CHEBYSHEV ? 1 + s->o.degree : 1; /* per iteration */
    found->product_us = one * (double)(found->iterations * products);
    return SPRY_OK;
}

/* Solves, and fills in *found. After an error, also of a callback, the verdict is SPRY_VERDICT_NONE. */
static spry_status run(spry_cg_plan *s, const spry_vector *x, const spry_vector *b, spry_cg_result *found,
                       spry_error *err)
{
    spry_status status = SPRY_OK;
    const bool keeps_x = s->system.device > 0 && !s->current.is_only && s->system.inner == s->system.type;
    s->work.stream = s->current.product.stream;
    s->work.columns = count_of(x);
    if (s->scaled.by_run) SPRYI_TRY(spryi_cg_set_up(s, found, err)); /* the run gives the same bits as a new plan */
    if (found->verdict != SPRY_VERDICT_NONE) return report_verdict(s, found, err);
    s->product.us = 0;
    SPRYI_TRY(take_vector(s, &s->current.x, &s->vectors.own_x, x, keeps_x, spryi_cg_starts_from_x(s), err));
    SPRYI_TRY(take_vector(s, &s->current.b, &s->vectors.own_b, b, false, true, err));
    SPRYI_TRY(spryi_cg_solve(s, found, err));
    found->largest_eigenvalue = s->precond.largest;
    if (s->product.plan) {
        found->format = s->product.names.format;
        found->kernel = s->product.names.kernel;
    }
    if (s->current.x.data != x->data) SPRYI_TRY(copy_columns(s, x, &s->current.x, err));
    SPRYI_TRY(time_products(s, found, err));
    if (s->system.device > 0)
        SPRYI_TRY(spry_device_synchronize(s->context, s->system.device, s->current.product.stream, err));
    return report_verdict(s, found, err);
done:
    found->verdict = SPRY_VERDICT_NONE;
    return status;
}

/* Sets the options of a run: the plan's, unless the run replaces them. */
static spry_status take_run_options(spry_cg_plan *s, const spry_cg_run_options *options, spry_error *err)
{
    spry_cg_run_options given, *now = &s->current.options;
    SPRYI_OK_OR_RETURN(SPRYI_TAKE(&given, options, err));
    *now = run_options_of(&s->o);
    if (given.tolerance != 0) now->tolerance = given.tolerance;
    if (given.absolute_tolerance != 0) now->absolute_tolerance = given.absolute_tolerance;
    if (given.max_iterations != 0) now->max_iterations = given.max_iterations;
    if (given.patience != 0) now->patience = given.patience;
    if (given.start != SPRY_START_DEFAULT) now->start = given.start;
    if (given.stream) now->stream = given.stream;
    if (given.observe) {
        now->observe = given.observe;
        now->observe_user = given.observe_user;
    }
    s->current.product.stream = s->system.device > 0 ? s->current.options.stream : NULL;
    return check_run(s, &s->current.options, err);
}

spry_status spry_cg_plan_run(spry_cg_plan *plan, spry_vector x, spry_cg_result *result, spry_const_vector b,
                             const spry_cg_run_options *options, spry_error *err)
{
    spry_cg_result found = no_result();
    spry_vector right = spryi_solve_vector(b);
    x = spryi_solve_vector(spry_vector_as_const(x));
    SPRYI_OK_OR_RETURN(empty_result(result, err));
    if (!plan) return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan", "cg: plan is NULL");
    if (plan->is_stale)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "plan",
                          "cg: the last update of the plan failed; update the plan again before the next run");
    SPRYI_OK_OR_RETURN(take_run_options(plan, options, err));
    SPRYI_OK_OR_RETURN(check_vectors(plan, &x, &right, err));
    spry_status status = run(plan, &x, &right, &found, err);
    if (result && found.verdict != SPRY_VERDICT_NONE) SPRYI_GIVE(result, &found);
    return status;
}

/* ---- one call ------------------------------------------------------------------------------------- */

/* Sets up and runs a new plan. */
static spry_status run_once(spry_cg_plan *s, spry_vector *x, spry_cg_result *result, const spry_vector *b,
                            spry_error *err)
{
    spry_cg_result found = no_result();
    s->o.count = count_of(x);
    SPRYI_OK_OR_RETURN(take_run_options(s, NULL, err));
    SPRYI_OK_OR_RETURN(check_vectors(s, x, b, err));
    s->current.is_only = true;
    s->product.names.columns = s->product.outer_names.columns = s->o.count;
    SPRYI_OK_OR_RETURN(set_up(s, &found, err));
    const spry_status status = found.verdict != SPRY_VERDICT_NONE ? report_verdict(s, &found, err)
                                                                  : run(s, x, b, &found, err);
    found.setup_us = s->setup_us;
    if (result && found.verdict != SPRY_VERDICT_NONE) SPRYI_GIVE(result, &found);
    return status;
}

spry_status spry_cg(spry_context *context, spry_vector x, spry_cg_result *result, const spry_matrix *A,
                    spry_const_vector b, const spry_cg_options *options, spry_error *err)
{
    spry_cg_plan *s = NULL;
    const spry_vector right = spryi_solve_vector(b);
    SPRYI_OK_OR_RETURN(empty_result(result, err));
    spry_status status = new_plan(&s, context, A, x.type, options, err);
    x = spryi_solve_vector(spry_vector_as_const(x));
    if (status == SPRY_OK) status = run_once(s, &x, result, &right, err);
    spry_cg_plan_destroy(s);
    return status;
}
