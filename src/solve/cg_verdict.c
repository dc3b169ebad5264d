/* What the verdicts of Conjugate Gradient mean, in a sentence. */
#include "solve/cg.h"

#include <math.h>
#include <stdio.h>

static spry_status tell_unequal(const spry_cg_plan *s, spry_error *err)
{
    const spryi_unequal *u = &s->unequal;
    const int base = spry_matrix_index_base(s->A);
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
    /* Every other pair of entries passes: a tolerance of Inf allows any difference. */
    return spryi_find_unequal(found, A, &(spryi_symmetry_test){.finite = true, .tolerance = INFINITY}, err);
}

/* Names an entry of A or b that is not finite. Returns SPRY_OK if both are finite, or not on the host. */
static spry_status tell_not_finite(const spry_cg_plan *s, const spry_cg_result *result, spry_error *err)
{
    spryi_unequal u = s->unequal;
    const int base = s->A ? spry_matrix_index_base(s->A) : 1;
    if (u.row < 0 && s->A && s->A->a.device == 0) SPRYI_OK_OR_RETURN(find_not_finite(&u, s->A, err));
    if (s->A && u.row >= 0)
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", u.row, u.column,
                                "not finite: the entry of A at (%lld, %lld), counted from %d, is %g",
                                (long long)u.row + base, (long long)u.column + base, base, u.value);
    for (int64_t i = 0; s->b.data && s->b.device == 0 && i < s->n; i++) {
        const double value = spryi_value_at(s->b.data, s->type, result->column * s->n + i);
        if (isfinite(value)) continue;
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "b", i, result->column,
                                "not finite: entry %lld of b, counted from %d, is %g", (long long)i + base, base,
                                value);
    }
    return SPRY_OK;
}

static spry_status tell_diagonal(const spry_cg_plan *s, int64_t row, spry_error *err)
{
    const int base = spry_matrix_index_base(s->A);
    const long long shown = (long long)row + base;
    if (s->o.precond == SPRY_PRECOND_BLOCK_JACOBI)
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", row, s->o.block_size,
                                "bad block: the block of %lld rows on the diagonal that begins with row %lld, counted "
                                "from %d, is not positive definite, so it has no inverse for block jacobi",
                                (long long)s->o.block_size, shown - (long long)(row % s->o.block_size), base);
    if (!(s->bad_entry > 0 && isfinite(s->bad_entry)))
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", row, 0,
                                "zero diagonal: entry (%lld, %lld), counted from %d, is not above 0, which jacobi "
                                "divides by",
                                shown, shown, base);
    return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", row, 0,
                            "bad diagonal: entry (%lld, %lld), counted from %d, is %.3Lg, which has no reciprocal in "
                            "%s",
                            shown, shown, base, ldexpl(s->bad_entry, s->scaled.a), spry_type_name(s->inner));
}

/* The e of 2^e M, the scaled preconditioner: of 2^-a A, or the caller's. */
static int exponent_of_M(const spry_cg_plan *s)
{
    if (s->o.precond == SPRY_PRECOND_CALLBACK) return s->scaled.m;
    return s->o.precond == SPRY_PRECOND_NONE ? 0 : s->scaled.a;
}

/* p'Ap and r'Mr of the caller's A, b and M, which double may not hold: p is near M b. */
static long double curvature(const spry_cg_plan *s, int64_t column)
{
    return ldexpl(s->states[column].curvature, 2 * s->scaled.c + s->scaled.a - 2 * exponent_of_M(s));
}
static long double weight(const spry_cg_plan *s, int64_t column)
{
    return ldexpl(s->states[column].rz, 2 * s->scaled.c - exponent_of_M(s));
}

static spry_status tell_other(const spry_cg_plan *s, const spry_cg_result *result, spry_error *err)
{
    const spryi_cg_state *state = &s->states[result->column];
    return spryi_fail_value(err, SPRY_NOT_CONVERGED, NULL, result->iterations, state->limit,
                            "%s after %lld iterations: the true relative residual is %.3g, expected at most %g",
                            spry_verdict_text(result->verdict), (long long)result->iterations, result->true_residual,
                            state->goal);
}

spry_status spryi_cg_tell(const spry_cg_plan *s, const spry_cg_result *result, spry_error *err)
{
    const int64_t k = result->iterations;
    const spryi_cg_state *state = &s->states[result->column];
    switch (result->verdict) {
    case SPRY_VERDICT_CONVERGED: return SPRY_OK;
    case SPRY_VERDICT_NOT_SYMMETRIC: return tell_unequal(s, err);
    case SPRY_VERDICT_BAD_DIAGONAL: return tell_diagonal(s, result->bad_row, err);
    case SPRY_VERDICT_NOT_FINITE:
        SPRYI_OK_OR_RETURN(tell_not_finite(s, result, err));
        return tell_other(s, result, err);
    case SPRY_VERDICT_NEGATIVE_CURVATURE:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", k, 0,
                                "negative curvature: p'Ap is %.3Lg in iteration %lld, so the matrix is not positive "
                                "definite; relative residual %.3g",
                                curvature(s, result->column), (long long)k + 1, result->true_residual);
    case SPRY_VERDICT_BAD_PRECONDITIONER:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "precond", k, 0,
                                "bad preconditioner: r'Mr is %.3Lg after iteration %lld, so M is not positive "
                                "definite; "
                                "relative residual %.3g",
                                weight(s, result->column), (long long)k, result->true_residual);
    case SPRY_VERDICT_OUT_OF_RANGE:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, NULL, k, 0,
                                "out of range: the largest entry of x is about %.2Lg, which %s does not hold: the true "
                                "relative residual is %.3g, expected at most %g",
                                ldexpl(1, s->scaled.x_exponent), spry_type_name(s->type), result->true_residual,
                                state->goal);
    case SPRY_VERDICT_STAGNATION:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, NULL, k, state->limit,
                                "stagnation after %lld iterations and %lld restarts: the true relative residual stays "
                                "at %.3g, expected at most %g",
                                (long long)k, (long long)result->restarts, result->true_residual, state->goal);
    default: return tell_other(s, result, err);
    }
}
