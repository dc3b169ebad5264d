/*
 * What Conjugate Gradient makes of a matrix once: the look at its symmetry, preconditioner, plans of products, vectors.
 */
#include "solve/cg.h"

#include "core/matrix.h"
#include "spry/tools.h"

#include <float.h>
#include <math.h>

/* What was recorded has the addresses of plans and vectors. */
void spryi_cg_forget_rounds(spry_cg_plan *s)
{
    spryi_vector_forget(&s->work, &s->recorded);
}

/* ---- the preconditioner --------------------------------------------------------------------------- */

/* D of A, on the host, or a verdict. */
static spry_status make_D(spry_cg_plan *s, spry_cg_result *result, const spry_matrix *A, spry_error *err)
{
    const int room = s->o.precond == SPRY_PRECOND_BLOCK_JACOBI ? 20 : 0; /* inverses of blocks have larger entries */
    spryi_cg_forget_rounds(s);
    spry_vector_destroy(s->context, &s->D);
    spry_status status =
        spryi_cg_invert_diagonal(s->context, &s->D, &result->bad_row, &s->bad_entry, A, s->inner, room, err);
    result->verdict = result->bad_row >= 0 ? SPRY_VERDICT_BAD_DIAGONAL : SPRY_VERDICT_NONE;
    return status == SPRY_OK ? spryi_solve_move(s->context, &s->D, s->device, s->run.stream, err) : status;
}

static spry_status make_blocks(spry_cg_plan *s, spry_cg_result *result, const spry_matrix *A, spry_error *err)
{
    spryi_cg_precond *M = &s->precond;
    const int size = (int)s->o.block_size, narrow = spryi_cg_is_within(s);
    spry_type type = narrow ? SPRY_F32 : s->inner;
    spryi_cg_forget_rounds(s);
    spry_vector_destroy(s->context, &s->D); /* it has told that reciprocals exist */
    spry_vector_destroy(s->context, &M->entries);
    spry_status status = spryi_cg_invert_blocks(s->context, &M->entries, &result->bad_row, A, size, type, err);
    if (status == SPRY_OK && result->bad_row >= 0 && type != s->inner) { /* f32 does not do */
        type = s->inner;
        spry_vector_destroy(s->context, &M->entries);
        status = spryi_cg_invert_blocks(s->context, &M->entries, &result->bad_row, A, size, type, err);
    }
    if (result->bad_row >= 0) result->verdict = SPRY_VERDICT_BAD_DIAGONAL;
    if (status == SPRY_OK) status = spryi_solve_move(s->context, &M->entries, s->device, s->run.stream, err);
    M->blocks = (spryi_cg_blocks){size, type, (s->n + size - 1) / size, M->entries.data};
    return status;
}

spry_status spryi_cg_make_precond(spry_cg_plan *s, spry_cg_result *result, const spry_matrix *host, spry_error *err)
{
    switch (s->o.precond) {
    case SPRY_PRECOND_BLOCK_JACOBI: return make_blocks(s, result, host, err);
    case SPRY_PRECOND_CHEBYSHEV: s->precond.degree = (int)s->o.degree; return spryi_cg_find_interval(s, err);
    default: return SPRY_OK;
    }
}

void spryi_cg_forget_plans(spry_cg_plan *s)
{
    spryi_cg_forget_rounds(s);
    spry_spmv_plan_destroy(s->plan);
    spry_spmv_plan_destroy(s->outer);
    s->plan = s->outer = NULL;
}

void spryi_cg_forget_scaling(spry_cg_plan *s)
{
    spryi_cg_scaling *scaled = &s->scaled;
    if (scaled->A) spryi_cg_forget_plans(s); /* they multiply it */
    spry_matrix_destroy(scaled->A);
    spry_vector_destroy(s->context, &scaled->values);
    spryi_solve_fetch_clear(s->context, &scaled->host);
    scaled->A = NULL;
    scaled->a = 0;
}

/* 2^-a A and D of it; a verdict where D does not exist for any a. */
spry_status spryi_cg_make_scaled(spry_cg_plan *s, spry_cg_result *result, spry_error *err)
{
    spryi_cg_scaling *scaled = &s->scaled;
    const int diagonal = s->o.precond != SPRY_PRECOND_NONE;
    spryi_cg_forget_scaling(s);
    spry_status status = spryi_solve_fetch(s->context, &scaled->host, s->A, s->run.stream, err);
    const spry_matrix *host = scaled->host.A ? scaled->host.A : s->A;
    if (status == SPRY_OK) status = spryi_cg_exponent_of_matrix(&scaled->a, host, diagonal, err);
    if (status != SPRY_OK) return status;
    if (scaled->a != 0) status = spryi_cg_scale_matrix(s->context, &scaled->A, &scaled->values, host, -scaled->a, err);
    if (status == SPRY_OK && spryi_cg_needs_diagonal(s) && (scaled->a != 0 || scaled->needed_by_D))
        status = make_D(s, result, scaled->A ? scaled->A : host, err);
    return status;
}

/* ---- plans of products ---------------------------------------------------------------------------- */

/* A plan of B, whose vectors are of `type`, in the format of the plan before, or that B would get. */
static spry_status make_plan(spry_cg_plan *s, spry_spmv_plan **plan, spryi_solve_plan *names, const spry_matrix *B,
                             spry_type type, spry_error *err)
{
    const int asked = s->o.format || s->o.kernel;
    if (*plan && s->refreshes && B == s->A) return spry_spmv_plan_update(*plan, NULL, err);
    if (asked) names->format = s->o.format; /* with its parameters */
    names->kernel = s->o.kernel;
    names->columns = s->o.columns;
    if (s->scaled.A && s->scaled.host.A && !names->format && !asked) names->format = "csr"; /* where it lies */
    if (B != s->A && names->device == SPRY_DEVICE_DEFAULT) names->device = s->device == 0 ? SPRY_CPU : s->device;
    spry_spmv_plan_destroy(*plan);
    *plan = NULL;
    return spryi_solve_make_plan(s->context, plan, B, type, names, s->run.stream, err);
}

/* `narrow` is B with its values in f32: nothing was rounded. Entries at one position, which it has as one, may be. */
static int is_exact(const spry_matrix *B, const spry_matrix *narrow)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    if (spry_matrix_get_arrays(B, &a, NULL) != SPRY_OK || a.nnz != spry_matrix_nnz(narrow)) return 0;
    for (int64_t k = 0; k < a.nnz; k++) {
        const double value = spryi_value_of(&a, k);
        if ((double)(float)value != value) return 0;
    }
    return 1;
}

/* B's values in f32. B in device memory comes to the host for it. */
static spry_status make_narrow(spry_cg_plan *s, const spry_matrix *B, spry_error *err)
{
    spryi_host_copy copy = {0};
    spry_convert_options to_f32 = SPRY_INIT(spry_convert_options);
    to_f32.value_type = SPRY_F32;
    spry_matrix_destroy(s->narrow);
    s->narrow = NULL;
    spry_status status = spryi_solve_fetch(s->context, &copy, B, s->run.stream, err);
    const spry_matrix *host = copy.A ? copy.A : B;
    if (status == SPRY_OK) status = spry_matrix_convert(s->context, &s->narrow, host, &to_f32, err);
    if (status == SPRY_OK) s->narrow_is_exact = is_exact(host, s->narrow);
    spryi_solve_fetch_clear(s->context, &copy);
    return status;
}

spry_status spryi_cg_make_plans(spry_cg_plan *s, spry_error *err)
{
    const spry_matrix *B = s->scaled.A ? s->scaled.A : s->A;
    spryi_cg_forget_rounds(s);
    if (s->o.inside == SPRY_INSIDE_SAME) return make_plan(s, &s->plan, &s->names, B, s->type, err);
    spry_status status = make_narrow(s, B, err);
    if (status == SPRY_OK) status = make_plan(s, &s->plan, &s->names, s->narrow, s->inner, err);
    if (status == SPRY_OK && spryi_cg_replaces(s)) return make_plan(s, &s->outer, &s->outer_names, B, s->type, err);
    spry_spmv_plan_destroy(s->outer);
    s->outer = NULL;
    return status;
}

/* ---- vectors -------------------------------------------------------------------------------------- */

static spry_status make_vector(spry_cg_plan *s, spry_vector *v, spry_type type, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spry_vector_create(s->context, v, s->n * s->o.columns, type, s->device, err));
    v->length = v->column_stride = s->n;
    v->columns = s->o.columns;
    return SPRY_OK;
}

static spry_status make_vectors(spry_cg_plan *s, spry_error *err)
{
    const int narrow = s->inner != s->type, chebyshev = s->o.precond == SPRY_PRECOND_CHEBYSHEV;
    spry_vector *vectors[] = {&s->r, &s->p, &s->q, &s->z, &s->z_before, &s->inner_x, &s->outer_q, &s->own_x};
    const int needed[] = {1, 1, 1, spryi_cg_is_apart(s), chebyshev, narrow, narrow, s->device > 0 && !s->one_run};
    spry_status status = SPRY_OK;
    for (int v = 0; v < 8 && status == SPRY_OK; v++)
        if (needed[v] && !vectors[v]->data) status = make_vector(s, vectors[v], v < 6 ? s->inner : s->type, err);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------------ */

/* Returns true if the symmetry of A has to be checked. */
static bool needs_check(const spry_cg_plan *s)
{
    const spry_arrays *a = &s->A->a;
    const bool known = s->A->symmetry_holds || a->triangle != SPRY_ALL_ENTRIES;
    return !s->o.assume_symmetric && !(a->symmetry == SPRY_SYMMETRIC && known);
}

/* Checks symmetry up to rounding; a verdict if A is not symmetric or not finite. */
static spry_status check_symmetry(spry_cg_plan *s, spry_cg_result *result, const spry_matrix *host, spry_error *err)
{
    const double eps = s->A->a.value_type == SPRY_F32 ? FLT_EPSILON : DBL_EPSILON;
    const spryi_symmetry_test test = {.finite = true, .tolerance = s->o.symmetry_tolerance * eps};
    SPRYI_OK_OR_RETURN(spryi_find_unequal(&s->unequal, host, &test, err));
    if (s->unequal.row >= 0)
        result->verdict = isfinite(s->unequal.value) ? SPRY_VERDICT_NOT_SYMMETRIC : SPRY_VERDICT_NOT_FINITE;
    return SPRY_OK;
}

/* Symmetry and diagonal; a verdict where the iteration cannot begin. */
static spry_status inspect(spry_cg_plan *s, spry_cg_result *result, const spry_matrix *host, spry_error *err)
{
    spry_status status = SPRY_OK;
    s->unequal.row = -1;
    if (needs_check(s)) status = check_symmetry(s, result, host, err);
    if (status != SPRY_OK || result->verdict != SPRY_VERDICT_NONE || !spryi_cg_needs_diagonal(s)) return status;
    status = make_D(s, result, host, err);
    s->scaled.needed_by_D = result->bad_row >= 0 && s->bad_entry > 0 && isfinite(s->bad_entry);
    if (status == SPRY_OK && s->scaled.needed_by_D) status = spryi_cg_make_scaled(s, result, err);
    return status;
}

static spry_status set_up_matrix(spry_cg_plan *s, spry_cg_result *result, spry_error *err)
{
    spryi_host_copy copy = {0};
    spry_status status = SPRY_OK;
    if (s->o.precond != SPRY_PRECOND_NONE || needs_check(s))
        status = spryi_solve_fetch(s->context, &copy, s->A, s->run.stream, err);
    const spry_matrix *host = copy.A ? copy.A : s->A;
    if (status == SPRY_OK) status = inspect(s, result, host, err);
    if (status == SPRY_OK && result->verdict == SPRY_VERDICT_NONE) status = spryi_cg_make_plans(s, err);
    if (status == SPRY_OK && result->verdict == SPRY_VERDICT_NONE) status = make_vectors(s, err);
    if (status == SPRY_OK && result->verdict == SPRY_VERDICT_NONE)
        status = spryi_cg_make_precond(s, result, s->scaled.A ? s->scaled.A : host, err);
    spryi_solve_fetch_clear(s->context, &copy);
    if (status == SPRY_OK && result->verdict == SPRY_VERDICT_NONE) s->scaled.by_run = false;
    return status;
}

spry_status spryi_cg_set_up(spry_cg_plan *s, spry_cg_result *result, spry_error *err)
{
    spry_status status = SPRY_OK;
    if (!s->work.ops)
        status =
            spryi_vector_work_init(s->context, &s->work, s->device, s->run.stream, s->n, s->o.columns, s->inner, err);
    s->work.stream = s->run.stream;
    if (status == SPRY_OK) status = s->A ? set_up_matrix(s, result, err) : make_vectors(s, err);
    if (status == SPRY_OK && result->verdict == SPRY_VERDICT_NONE && s->plan) {
        result->format = s->names.format; /* constants from then on */
        result->kernel = s->names.kernel;
    }
    return status;
}
