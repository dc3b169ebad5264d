/* What the verdicts of Conjugate Gradient mean, in a sentence. */
#include "solve/cg.h"

#include <math.h>
#include <stdio.h>

static spry_status tell_unequal(const spryi_cg_unequal *u, int base, spry_error *err)
{
    char mirrored[48] = "nothing stored";
    if (u->row < 0) /* only before its duplicates were summed and rounded */
        return spryi_fail(err, SPRY_NOT_CONVERGED, "A",
                          "not symmetric: the matrix differs from its transposed, conjugate gradients need A = A^T");
    if (u->stored) (void)spryi_write(mirrored, sizeof mirrored, "%.17g", u->mirrored);
    return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", u->row, u->column,
                            "not symmetric: %.17g at (%lld, %lld), counted from %d, but %s at (%lld, %lld); conjugate "
                            "gradients need A = A^T",
                            u->value, (long long)u->row + base, (long long)u->column + base, base, mirrored,
                            (long long)u->column + base, (long long)u->row + base);
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

/* p'Ap of the caller's A and b, which double may not hold: p is near b, with a preconditioner near D b. */
static long double curvature(const spry_cg_plan *s, int64_t column)
{
    int a = s->o.precond != SPRY_PRECOND_NONE ? -s->scaled.a : s->scaled.a;
    return ldexpl(s->states[column].curvature, 2 * s->scaled.c + a);
}

spry_status spryi_cg_tell(const spry_cg_plan *s, const spry_cg_result *result, spry_error *err)
{
    const char *text = spry_verdict_text(result->verdict);
    const int64_t k = result->iterations;
    const spryi_cg_state *state = &s->states[result->column];
    switch (result->verdict) {
    case SPRY_VERDICT_CONVERGED: return SPRY_OK;
    case SPRY_VERDICT_NOT_SYMMETRIC: return tell_unequal(&s->unequal, spry_matrix_index_base(s->A), err);
    case SPRY_VERDICT_BAD_DIAGONAL: return tell_diagonal(s, result->bad_row, err);
    case SPRY_VERDICT_NEGATIVE_CURVATURE:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "A", k, 0,
                                "negative curvature: p'Ap is %.3Lg in iteration %lld, so the matrix is not positive "
                                "definite; relative residual %.3g",
                                curvature(s, result->column), (long long)k + 1, result->true_residual);
    case SPRY_VERDICT_BAD_PRECONDITIONER:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, "precond", k, 0,
                                "bad preconditioner: r'Mr is %.3g after iteration %lld, so M is not positive definite; "
                                "relative residual %.3g",
                                state->rz, (long long)k, result->true_residual);
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
    default:
        return spryi_fail_value(err, SPRY_NOT_CONVERGED, NULL, k, state->limit,
                                "%s after %lld iterations: the true relative residual is %.3g, expected at most %g",
                                text, (long long)k, result->true_residual, state->goal);
    }
}
