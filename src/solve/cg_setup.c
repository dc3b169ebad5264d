/*
 * What Conjugate Gradient makes of a matrix once: the look at its symmetry, preconditioner, plans of products, vectors.
 */
#include "solve/cg.h"

#include "matrix/matrix.h"
#include "spry/tools.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- checks of options --------------------------------------------------------------------------------- */

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

/* ---- matrix -------------------------------------------------------------------------------------- */

/*
 * D = reciprocals of the diagonal, a vector to destroy (also when it failed). *bad_row: the first row whose entry,
 * *bad_entry, is missing, not above 0, or has no reciprocal of that type, with `room` binary digits of it to spare; -1:
 * none.
 */
static spry_status invert_diagonal(spry_context *context, spry_vector *D, int64_t *bad_row, double *bad_entry,
                                   const spry_matrix *A, spry_type type, int room, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_vector d = {0};
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    SPRYI_OK_OR_RETURN(spry_vector_create(context, &d, a.rows, SPRY_F64, 0, err));
    spry_status status = spry_matrix_get_diagonal(A, d.data, err);
    if (status == SPRY_OK) status = spry_vector_create(context, D, a.rows, type, 0, err);
    const double most = ldexp(spryi_limits_of(type).largest, -room);
    const double least = room > 0 ? ldexp(spryi_limits_of(type).least_normal, room) : 0;
    *bad_row = -1;
    for (int64_t i = 0; status == SPRY_OK && i < a.rows; i++) {
        double entry = ((double *)d.data)[i], inverse = 1 / entry;
        if (!(entry > 0 && inverse > least && inverse <= most)) {
            *bad_row = i;
            *bad_entry = entry;
            break;
        }
        spryi_set_value(D->data, type, i, inverse);
    }
    spry_vector_destroy(context, &d);
    return status;
}

/* ---- blocks on the diagonal ---------------------------------------------------------------------- */

/* The block's entries, of rows from .. from + rows, into its full square. Duplicates add up. */
static void fetch_block(const spry_arrays *a, int64_t from, int rows, double *block)
{
    for (int e = 0; e < rows * rows; e++) block[e] = 0;
    for (int i = 0; i < rows; i++) {
        const int64_t end = spryi_offset_of(a, from + i + 1);
        for (int64_t k = spryi_offset_of(a, from + i); k < end; k++) {
            const int64_t j = spryi_minor_of(a, k) - from;
            if (j >= 0 && j < rows) block[i * rows + j] += spryi_value_of(a, k);
        }
    }
}

/* block = its inverse, by Cholesky's factors L of block = L L^T. 0: it is not positive definite. */
static int invert_block(double *block, int rows)
{
    double inverse[MOST_BLOCK_SIZE * MOST_BLOCK_SIZE] = {0};
    for (int j = 0; j < rows; j++) {
        double pivot = block[j * rows + j];
        for (int k = 0; k < j; k++) pivot -= block[j * rows + k] * block[j * rows + k];
        if (!(pivot > 0 && isfinite(pivot))) return 0;
        block[j * rows + j] = sqrt(pivot);
        for (int i = j + 1; i < rows; i++) {
            double sum = block[i * rows + j];
            for (int k = 0; k < j; k++) sum -= block[i * rows + k] * block[j * rows + k];
            block[i * rows + j] = sum / block[j * rows + j];
        }
    }
    for (int c = 0; c < rows; c++) /* column c of L^-1 */
        for (int i = c; i < rows; i++) {
            double sum = i == c;
            for (int k = c; k < i; k++) sum -= block[i * rows + k] * inverse[k * rows + c];
            inverse[i * rows + c] = sum / block[i * rows + i];
        }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = i; k < rows; k++) sum += inverse[k * rows + i] * inverse[k * rows + j];
            block[i * rows + j] = block[j * rows + i] = sum;
        }
    return 1;
}

static int invert_all(const spry_arrays *a, int size, spry_vector *entries, int64_t *bad_row)
{
    const int64_t count = (a->rows + size - 1) / size;
    const double most = spryi_limits_of(entries->type).largest;
    double block[MOST_BLOCK_SIZE * MOST_BLOCK_SIZE];
    for (int64_t t = 0; t < count; t++) {
        const int64_t from = t * size, left = a->rows - from;
        const int rows = left < size ? (int)left : size;
        fetch_block(a, from, rows, block);
        int good = invert_block(block, rows);
        for (int i = 0, e = 0; i < size && good; i++)
            for (int j = 0; j <= i; j++, e++) {
                const double entry = i < rows ? block[i * rows + j] : 0;
                good &= fabs(entry) <= most;
                spryi_set_value(entries->data, entries->type, e * count + t, entry);
                if (i < rows)
                    block[i * rows + j] = block[j * rows + i] =
                        spryi_value_at(entries->data, entries->type, e * count + t);
            }
        if (good && entries->type == SPRY_F32) good = invert_block(block, rows); /* rounded, it still is definite */
        if (good) continue;
        *bad_row = from;
        return 0;
    }
    return 1;
}

/*
 * The inverses of the blocks of `size` rows on A's diagonal (spryi_cg_blocks), a vector to destroy (also when it
 * failed). *bad_row: the first row of the first block that is not positive definite, -1: none.
 */
static spry_status invert_blocks(spry_context *context, spry_vector *entries, int64_t *bad_row, const spry_matrix *A,
                                 int size, spry_type type, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix *csr = NULL;
    *bad_row = -1;
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    spry_status status = SPRY_OK;
    if (a.layout == SPRY_COO || a.triangle != SPRY_ALL_ENTRIES) { /* CSC of a symmetric matrix is its CSR */
        status = spry_matrix_convert(context, &csr, A, NULL, err);
        if (status == SPRY_OK) status = spry_matrix_get_arrays(csr, &a, err);
    }
    const int64_t count = (a.rows + size - 1) / size;
    if (status == SPRY_OK) status = spry_vector_create(context, entries, count * size * (size + 1) / 2, type, 0, err);
    if (status == SPRY_OK) (void)invert_all(&a, size, entries, bad_row);
    spry_matrix_destroy(csr);
    return status;
}

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
    spry_status status = invert_diagonal(s->context, &s->D, &result->bad_row, &s->bad_entry, A, s->inner, room, err);
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
    spry_status status = invert_blocks(s->context, &M->entries, &result->bad_row, A, size, type, err);
    if (status == SPRY_OK && result->bad_row >= 0 && type != s->inner) { /* f32 does not do */
        type = s->inner;
        spry_vector_destroy(s->context, &M->entries);
        status = invert_blocks(s->context, &M->entries, &result->bad_row, A, size, type, err);
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
