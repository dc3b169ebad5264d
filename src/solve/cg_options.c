/* Options of Conjugate Gradient: checks, and defaults. */
#include "solve/cg.h"

#include <math.h>
#include <string.h>

/* An x rounded to its type leaves some eps ||A|| ||x|| of b: reached up to a condition of some 10^7 and 10^3. */
static const double TOLERANCE_F64 = 1e-8, TOLERANCE_F32 = 1e-3;

/*
 * Multiples of eps that a_ij and a_ji may differ by. The entries of G^T D G with positive D, which finite elements add
 * up as well, are sums of k terms that are at most sqrt(a_ii a_jj) together. Sums of two orders thus differ by at most
 * 2 (k + 2) eps times that. With 10^6 positive terms 250 eps were measured (docs/solvers.md).
 */
static const double SYMMETRY_TOLERANCE = 1000;

enum { BLOCK_SIZE = 3, MOST_BLOCK_SIZE = 32, DEGREE = 4, MOST_DEGREE = 64, EIGENVALUE_RATIO = 100 };

/* An option of whole numbers: 0 becomes the default. */
static spry_status take_number(int64_t *value, int64_t usual, int64_t most, const char *name, spry_error *err)
{
    if (*value < 0 || *value > most)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, name, *value, most,
                                "cg: %s is %lld, expected 1 to %lld, or 0 for %lld", name, (long long)*value,
                                (long long)most, (long long)usual);
    if (*value == 0) *value = usual;
    return SPRY_OK;
}

static spry_status check_precond(const spry_cg_options *o, int is_operator, spry_error *err)
{
    if ((unsigned)o->precond > SPRY_PRECOND_CALLBACK)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "precond", o->precond, SPRY_PRECOND_CALLBACK,
                                "cg: precond is %d, expected a spry_precond, 0 to %d", (int)o->precond,
                                SPRY_PRECOND_CALLBACK);
    if ((o->precond == SPRY_PRECOND_CALLBACK) != (o->precondition != NULL))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "precondition",
                          o->precondition ? "cg: precondition is given, but precond is not SPRY_PRECOND_CALLBACK"
                                          : "cg: precond is SPRY_PRECOND_CALLBACK, but precondition is NULL");
    if (is_operator && o->precond != SPRY_PRECOND_NONE && o->precond != SPRY_PRECOND_CALLBACK)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "precond", o->precond, SPRY_PRECOND_CALLBACK,
                                "cg: this precond needs A's entries, which an operator does not have, expected "
                                "SPRY_PRECOND_NONE or SPRY_PRECOND_CALLBACK");
    if (!(o->eigenvalue_ratio == 0 || (o->eigenvalue_ratio > 1 && isfinite(o->eigenvalue_ratio))))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "eigenvalue_ratio",
                          "cg: eigenvalue_ratio is %g, expected a number above 1, or 0 for %d", o->eigenvalue_ratio,
                          EIGENVALUE_RATIO);
    return SPRY_OK;
}

static spry_status check_inside(const spry_cg_plan *s, spry_error *err)
{
    const spry_cg_options *o = &s->o;
    if ((unsigned)o->inside > SPRY_INSIDE_F32)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "inside", o->inside, SPRY_INSIDE_F32,
                                "cg: inside is %d, expected a spry_inside, 0 to %d", (int)o->inside, SPRY_INSIDE_F32);
    if (o->inside != SPRY_INSIDE_SAME && (s->operator.apply || s->type != SPRY_F64))
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "inside", s->type, SPRY_F64,
                                "cg: inside f32 is for a matrix of f64 values, not for %s",
                                s->operator.apply ? "an operator" : spry_type_name(s->type));
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

spry_status spryi_cg_check_stopping(const spry_cg_plan *s, spry_cg_options *o, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_solve_tolerance(&o->tolerance, o->tolerance,
                                             s->type == SPRY_F32 ? TOLERANCE_F32 : TOLERANCE_F64, "cg", err));
    if (!(o->absolute_tolerance >= 0 && isfinite(o->absolute_tolerance)))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, "absolute_tolerance",
                          "cg: absolute_tolerance is %g, expected a number above 0, or 0 for none",
                          o->absolute_tolerance);
    if (o->max_iterations < 0 || o->patience < 0)
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, o->max_iterations < 0 ? "max_iterations" : "patience",
                          "cg: max_iterations is %lld and patience %lld, expected 0 (default) or more",
                          (long long)o->max_iterations, (long long)o->patience);
    return SPRY_OK;
}

/* The plan's own copy of a text, which must live as long as it. */
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

spry_status spryi_cg_check_options(spry_cg_plan *s, spry_error *err)
{
    spry_cg_options *o = &s->o;
    spry_cg_options stopping = *o;
    SPRYI_OK_OR_RETURN(spryi_cg_check_stopping(s, &stopping, err));
    SPRYI_OK_OR_RETURN(check_precond(o, s->operator.apply != NULL, err));
    SPRYI_OK_OR_RETURN(check_inside(s, err));
    SPRYI_OK_OR_RETURN(take_symmetry_tolerance(&o->symmetry_tolerance, err));
    SPRYI_OK_OR_RETURN(take_number(&o->block_size, BLOCK_SIZE, MOST_BLOCK_SIZE, "block_size", err));
    SPRYI_OK_OR_RETURN(take_number(&o->degree, DEGREE, MOST_DEGREE, "degree", err));
    SPRYI_OK_OR_RETURN(take_number(&o->columns, 1, INT32_MAX, "columns", err));
    SPRYI_OK_OR_RETURN(keep_text(s->format, sizeof s->format, &o->format, "format", err));
    SPRYI_OK_OR_RETURN(keep_text(s->kernel, sizeof s->kernel, &o->kernel, "kernel", err));
    if (o->eigenvalue_ratio == 0) o->eigenvalue_ratio = EIGENVALUE_RATIO;
    return SPRY_OK;
}
