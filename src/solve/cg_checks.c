/* Checks of Conjugate Gradient: of its options, with defaults, and of the matrix. */
#include "solve/cg.h"
#include "spry/tools.h"

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

/* ---- matrix -------------------------------------------------------------------------------------- */

spry_status spryi_cg_find_not_finite(spryi_unequal *found, const spry_matrix *A, spry_error *err)
{
    /* Every other pair of entries passes: a tolerance of Inf allows any difference. */
    return spryi_find_unequal(found, A, &(spryi_symmetry_test){.finite = true, .tolerance = INFINITY}, err);
}

spry_status spryi_cg_invert_diagonal(spry_context *context, spry_vector *D, int64_t *bad_row, double *bad_entry,
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

enum { MOST_SIZE = 32 };

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
    double inverse[MOST_SIZE * MOST_SIZE] = {0};
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
    double block[MOST_SIZE * MOST_SIZE];
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

spry_status spryi_cg_invert_blocks(spry_context *context, spry_vector *entries, int64_t *bad_row, const spry_matrix *A,
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
