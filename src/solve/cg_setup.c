/*
 * Set-up of Conjugate Gradient: checks of symmetry and diagonal, the preconditioner M, 2^-a A, plans of products,
 * vectors.
 *
 * The polynomial of M approximates the inverse on an interval that ends with the largest eigenvalue of D A. That
 * eigenvalue is estimated by some iterations of CG with jacobi, whose factors alpha and beta give Lanczos' tridiagonal
 * matrix. M remains positive definite if no eigenvalue exceeds the sum of both ends of the interval, so the estimate
 * may be a little low. MARGIN raises it. Source: Saad, Iterative methods for sparse linear systems, 2003, section 6.7.
 */
#include "solve/cg.h"

#include "spry/cuda.h"
#include "spry/matrix.h"
#include "spry/solve.h"

#include <float.h>
#include <string.h>

/* ---- the diagonal ----------------------------------------------------------------------------------- */

static bool needs_diagonal(const spry_cg_plan *s)
{
    return s->o.precond != SPRY_PRECOND_NONE && s->o.precond != SPRY_PRECOND_CALLBACK;
}

/*
 * Creates D, the reciprocals of the diagonal. *bad_row is the first row whose diagonal entry is missing, is not above
 * 0, or has no reciprocal in range; -1 if there is no such row. The range is that of the type, reduced by a factor of
 * 2^room at both ends. *bad_entry is that diagonal entry. Destroy D also after a failure.
 */
static spry_status invert_diagonal(spry_context *context, spry_vector *D, int64_t *bad_row, double *bad_entry,
                                   const spry_matrix *A, spry_type type, int room, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_vector d = {0};
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    SPRYI_OK_OR_RETURN(spry_vector_create(context, &d, a.rows, SPRY_F64, 0, err));
    spry_status status = spry_matrix_diagonal(A, d, err);
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

/* Creates D from A, which is in host memory. Sets a verdict if D does not exist. */
static spry_status create_D(spry_cg_plan *s, spry_cg_result *result, const spry_matrix *A, spry_error *err)
{
    const int room = s->o.precond == SPRY_PRECOND_BLOCK_JACOBI ? 20 : 0; /* inverses of blocks have larger entries */
    spryi_vector_forget(&s->work, &s->recording.recorded);
    spry_vector_destroy(s->context, &s->vectors.D);
    spry_status status = invert_diagonal(s->context, &s->vectors.D, &result->bad_row, &s->current.bad_entry, A,
                                         s->system.inner, room, err);
    result->verdict = result->bad_row >= 0 ? SPRY_VERDICT_BAD_DIAGONAL : SPRY_VERDICT_NONE;
    return status == SPRY_OK
               ? spryi_solve_move(s->context, &s->vectors.D, s->system.device, s->current.product.stream, err)
               : status;
}

/* ---- blocks on the diagonal ------------------------------------------------------------------------- */

/* Copies the block of rows from .. from + rows - 1 to a full square. Adds duplicates. */
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

/* Inverts a block by its Cholesky factorization L L^T. Returns false if the block is not positive definite. */
static bool invert_block(double *block, int rows)
{
    double inverse[SPRYI_CG_MOST_BLOCK * SPRYI_CG_MOST_BLOCK] = {0};
    for (int j = 0; j < rows; j++) {
        double pivot = block[j * rows + j];
        for (int k = 0; k < j; k++) pivot -= block[j * rows + k] * block[j * rows + k];
        if (!(pivot > 0 && isfinite(pivot))) return false;
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
    return true;
}

/* Inverts all blocks. Returns the first row of the first block that is not positive definite, or -1. */
static int64_t invert_all(const spry_arrays *a, int size, spry_vector *entries)
{
    const int64_t count = (a->rows + size - 1) / size;
    const double most = spryi_limits_of(entries->type).largest;
    double block[SPRYI_CG_MOST_BLOCK * SPRYI_CG_MOST_BLOCK];
    for (int64_t t = 0; t < count; t++) {
        const int64_t from = t * size, left = a->rows - from;
        const int rows = left < size ? (int)left : size;
        fetch_block(a, from, rows, block);
        bool good = invert_block(block, rows);
        for (int i = 0, e = 0; i < size && good; i++)
            for (int j = 0; j <= i; j++, e++) {
                const double entry = i < rows ? block[i * rows + j] : 0;
                good = good && fabs(entry) <= most;
                spryi_set_value(entries->data, entries->type, e * count + t, entry);
                if (i < rows)
                    block[i * rows + j] = block[j * rows + i] =
                        spryi_value_at(entries->data, entries->type, e * count + t);
            }
        if (good && entries->type == SPRY_F32)
            good = invert_block(block, rows); /* the rounded inverse must also be positive definite */
        if (!good) return from;
    }
    return -1;
}

/*
 * Creates the inverses of the blocks of `size` rows on A's diagonal (spryi_cg_blocks). *bad_row is the first row of the
 * first block that is not positive definite; -1: none. Destroy the vector also after a failure.
 */
static spry_status invert_blocks(spry_context *context, spry_vector *entries, int64_t *bad_row, const spry_matrix *A,
                                 int size, spry_type type, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix *csr = NULL;
    *bad_row = -1;
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    spry_status status = SPRY_OK;
    if (a.layout == SPRY_COO || spryi_is_compact(&a)) { /* CSC of a symmetric matrix equals its CSR */
        status = spry_matrix_convert(context, &csr, NULL, A, NULL, err);
        if (status == SPRY_OK) status = spry_matrix_get_arrays(csr, &a, err);
    }
    const int64_t count = (a.rows + size - 1) / size;
    if (status == SPRY_OK) status = spry_vector_create(context, entries, count * size * (size + 1) / 2, type, 0, err);
    if (status == SPRY_OK) *bad_row = invert_all(&a, size, entries);
    spry_matrix_destroy(csr);
    return status;
}

static spry_status create_blocks(spry_cg_plan *s, spry_cg_result *result, const spry_matrix *A, spry_error *err)
{
    spryi_cg_precond *M = &s->precond;
    const int size = (int)s->o.block_size, is_within = spryi_cg_is_within(s);
    spry_type type = is_within ? SPRY_F32 : s->system.inner;
    spryi_vector_forget(&s->work, &s->recording.recorded);
    spry_vector_destroy(s->context, &s->vectors.D); /* D was created only to check that reciprocals exist */
    spry_vector_destroy(s->context, &M->entries);
    spry_status status = invert_blocks(s->context, &M->entries, &result->bad_row, A, size, type, err);
    if (status == SPRY_OK && result->bad_row >= 0 &&
        type != s->system.inner) { /* not definite in f32: tries again in the iteration's type */
        type = s->system.inner;
        spry_vector_destroy(s->context, &M->entries);
        status = invert_blocks(s->context, &M->entries, &result->bad_row, A, size, type, err);
    }
    if (result->bad_row >= 0) result->verdict = SPRY_VERDICT_BAD_DIAGONAL;
    if (status == SPRY_OK)
        status = spryi_solve_move(s->context, &M->entries, s->system.device, s->current.product.stream, err);
    M->blocks = (spryi_cg_blocks){size, type, (s->system.n + size - 1) / size, M->entries.data};
    return status;
}

/* ---- the interval of the polynomial ----------------------------------------------------------------- */

static const double MARGIN = 1.1;
enum { ITERATIONS = 12 /* iterations of the estimate */ };

/*
 * Returns the number of eigenvalues below `at` of a symmetric tridiagonal matrix. squares: squares of the off-diagonal
 * entries.
 */
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

/* Returns the largest eigenvalue of Lanczos' matrix from the factors alpha and beta of `count` iterations. */
static double largest_of(const double *alpha, const double *beta, int count)
{
    double diagonal[ITERATIONS], squares[ITERATIONS], low = 0, high = 0;
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

/* Fills a vector with random numbers in (0, 1), the same on every machine. */
static spry_status put_random(spry_cg_plan *s, const spry_vector *to, spry_error *err)
{
    spry_vector host = {0};
    uint64_t state = 1;
    SPRYI_OK_OR_RETURN(spry_vector_create(s->context, &host, s->system.n, s->system.inner, 0, err));
    for (int64_t i = 0; i < s->system.n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        spryi_set_value(host.data, s->system.inner, i, (double)((state >> 33) + 1) / 2147483650.0);
    }
    spry_status status = spryi_solve_copy_to(s->context, to, &host, s->current.product.stream, err);
    if (status == SPRY_OK && s->system.device > 0)
        status = spry_device_synchronize(s->context, s->system.device, s->current.product.stream, err);
    spry_vector_destroy(s->context, &host);
    return status;
}

/* Runs one iteration of CG with jacobi, for its factors. */
static spry_status iterate_once(spry_cg_plan *s, const spryi_vector_work *w, const spryi_cg_vectors *v,
                                spryi_cg_state *state, spry_error *err)
{
    const spry_vector p = spryi_cg_columns_of(w, &s->vectors.p), q = spryi_cg_columns_of(w, &s->vectors.q);
    const spryi_cg_product product = {.out = &q, .in = &p, .stream = w->stream};
    SPRYI_OK_OR_RETURN(spryi_cg_multiply(s, &product, err));
    SPRYI_OK_OR_RETURN(w->ops->cg->dots(w, v, err));
    SPRYI_OK_OR_RETURN(spryi_vector_get(w, state, sizeof *state, err));
    return w->ops->cg->step(w, v, err);
}

/* Estimates the interval of the polynomial by iterations from a random vector. */
static spry_status find_interval(spry_cg_plan *s, spry_error *err)
{
    spryi_cg_precond *M = &s->precond;
    spryi_cg_state state = {.rules.limit = INT64_MAX, .rules.patience = INT64_MAX, .rules.reach = 1};
    double alpha[ITERATIONS], beta[ITERATIONS], largest = 1;
    int count = 0;
    spryi_vector_work w = s->work;
    spryi_cg_vectors v = spryi_cg_vectors_of(s);
    w.columns = 1;
    v.b = s->vectors.z.data;
    v.x = s->vectors.z_before.data;
    v.q = NULL;
    v.b_is_f64 = false;
    v.D = s->vectors.D.data;
    spry_status status = put_random(s, &s->vectors.z, err);
    if (status == SPRY_OK) status = w.ops->cg->clear(&w, v.x, err);
    if (status == SPRY_OK) status = spryi_vector_put(&w, &state, sizeof state, err);
    if (status == SPRY_OK) status = w.ops->cg->start(&w, &v, err);
    v.q = s->vectors.q.data;
    while (status == SPRY_OK && count < ITERATIONS) {
        status = iterate_once(s, &w, &v, &state, err);
        if (status != SPRY_OK || state.stop || !(state.alpha > 0)) break;
        alpha[count] = state.alpha;
        beta[count++] = state.in_halves || !(state.beta > 0) ? 0 : state.beta;
        if (beta[count - 1] == 0) break;
    }
    if (count > 0) largest = largest_of(alpha, beta, count);
    M->largest = MARGIN * largest;
    const double smallest = M->largest / s->o.eigenvalue_ratio;
    M->theta = (M->largest + smallest) / 2;
    M->delta = (M->largest - smallest) / 2;
    s->product.us = 0;
    s->product.count = 0;
    return status;
}

static spry_status create_precond(spry_cg_plan *s, spry_cg_result *result, const spry_matrix *host, spry_error *err)
{
    switch (s->o.precond) {
    case SPRY_PRECOND_BLOCK_JACOBI: return create_blocks(s, result, host, err);
    case SPRY_PRECOND_CHEBYSHEV: s->precond.degree = (int)s->o.degree; return find_interval(s, err);
    default: return SPRY_OK;
    }
}

/* ---- plans of products ------------------------------------------------------------------------------ */

/* Creates a plan of B for vectors of `type`, in the previous plan's format or a format chosen for B. */
static spry_status create_plan(spry_cg_plan *s, spry_spmv_plan **plan, spryi_solve_plan *names, const spry_matrix *B,
                               spry_type type, spry_error *err)
{
    const bool asked = s->o.format || s->o.kernel;
    if (*plan && s->refreshes && B == s->system.A) {
        spry_error why = SPRY_ERROR_INIT;
        const spry_status status = spry_spmv_plan_update(*plan, NULL, &why);
        /* SPRY_UNSUPPORTED: recorded rounds read narrow values, but the new values are wide */
        if (status != SPRY_UNSUPPORTED) return status == SPRY_OK ? SPRY_OK : spryi_hand_on(err, &why);
    }
    if (asked) names->format = s->o.format; /* includes the parameters */
    names->kernel = s->o.kernel;
    names->columns = s->o.count;
    /* like a plan of A itself, whose device arrays csr uses in place */
    if (s->scaled.A && s->system.A->a.device > 0 && !names->format && !asked) names->format = "csr";
    if (B != s->system.A && names->device == SPRY_DEVICE_DEFAULT)
        names->device = s->system.device == 0 ? SPRY_CPU : s->system.device;
    spry_spmv_plan_destroy(*plan);
    *plan = NULL;
    return spryi_solve_create_plan(s->context, plan, B, type, names, s->current.product.stream, err);
}

/* Returns whether `narrow`, B with f32 values, is exact. Returns false if duplicates of B were added. */
static bool is_exact(const spry_matrix *B, const spry_matrix *narrow)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    if (spry_matrix_get_arrays(B, &a, NULL) != SPRY_OK || a.nnz != spry_matrix_nnz(narrow)) return false;
    for (int64_t k = 0; k < a.nnz; k++) {
        const double value = spryi_value_of(&a, k);
        if ((double)(float)value != value) return false;
    }
    return true;
}

/* Creates product.narrow, B with f32 values. Copies B to the host if needed. */
static spry_status create_narrow(spry_cg_plan *s, const spry_matrix *B, spry_error *err)
{
    spry_matrix *host = NULL;
    spry_matrix_options to_f32 = SPRY_INIT(spry_matrix_options);
    to_f32.value_type = SPRY_F32;
    spry_matrix_destroy(s->product.narrow);
    s->product.narrow = NULL;
    SPRYI_OK_OR_RETURN(spryi_solve_fetch(s->context, &host, B, s->current.product.stream, err));
    const spry_status status = spry_matrix_convert(s->context, &s->product.narrow, NULL, host, &to_f32, err);
    if (status == SPRY_OK) s->product.narrow_is_exact = is_exact(host, s->product.narrow);
    spryi_matrix_release(host);
    return status;
}

static spry_status create_plans(spry_cg_plan *s, spry_error *err)
{
    const spry_matrix *B = s->scaled.A ? s->scaled.A : s->system.A;
    spryi_vector_forget(&s->work, &s->recording.recorded);
    if (s->o.precision == SPRY_PRECISION_FULL)
        return create_plan(s, &s->product.plan, &s->product.names, B, s->system.type, err);
    SPRYI_OK_OR_RETURN(create_narrow(s, B, err));
    SPRYI_OK_OR_RETURN(create_plan(s, &s->product.plan, &s->product.names, s->product.narrow, s->system.inner, err));
    if (spryi_cg_replaces(s)) return create_plan(s, &s->product.outer, &s->product.outer_names, B, s->system.type, err);
    spry_spmv_plan_destroy(s->product.outer);
    s->product.outer = NULL;
    return SPRY_OK;
}

static void forget_plans(spry_cg_plan *s)
{
    spryi_vector_forget(&s->work, &s->recording.recorded);
    spry_spmv_plan_destroy(s->product.plan);
    spry_spmv_plan_destroy(s->product.outer);
    s->product.plan = s->product.outer = NULL;
}

/* ---- 2^-a A ----------------------------------------------------------------------------------------- */

/*
 * Extends the range *e by the exponents of the diagonal of A, which is BSR. Diagonal elements of a block have the same
 * index in both storage orders.
 */
static void add_diagonal_of_blocks(spryi_exponents *e, const spry_arrays *a)
{
    const int64_t b = a->block_size;
    for (int64_t I = 0; I < a->rows / b; I++) {
        const int64_t end = spryi_offset_of(a, I + 1);
        for (int64_t k = spryi_offset_of(a, I); k < end; k++)
            for (int64_t r = 0; r < b && spryi_minor_of(a, k) == I; r++)
                spryi_add_exponent(e, spryi_value_of(a, (k * b + r) * b + r));
    }
}

static void add_diagonal(spryi_exponents *e, const spry_arrays *a)
{
    if (a->layout == SPRY_BSR) {
        add_diagonal_of_blocks(e, a);
        return;
    }
    if (a->layout == SPRY_COO) {
        for (int64_t k = 0; k < a->nnz; k++)
            if (spryi_row_of(a, k) == spryi_minor_of(a, k)) spryi_add_exponent(e, spryi_value_of(a, k));
        return;
    }
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t end = spryi_offset_of(a, i + 1);
        for (int64_t k = spryi_offset_of(a, i); k < end; k++)
            if (spryi_minor_of(a, k) == i) spryi_add_exponent(e, spryi_value_of(a, k));
    }
}

/*
 * Finds an exponent e for which 2^-e A is exact. If possible, its smallest and largest entries differ from 1 by about
 * the same factor. by_diagonal: considers only diagonal entries for this factor, because M needs the diagonal.
 */
static spry_status find_exponent(int *exponent, const spry_matrix *A, bool by_diagonal, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spryi_exponents all = {.finite = 1}, diagonal = {.finite = 1};
    spry_status status = spry_matrix_get_arrays(A, &a, err);
    *exponent = 0;
    if (status != SPRY_OK || a.value_type == SPRY_PATTERN) return status;
    for (int64_t k = 0; k < a.nnz; k++) spryi_add_exponent(&all, spryi_value_of(&a, k));
    if (!all.has_values || !all.finite) return SPRY_OK;
    if (by_diagonal) add_diagonal(&diagonal, &a);
    const spryi_exponents *e = diagonal.has_values ? &diagonal : &all;
    const spryi_limits of = spryi_limits_of(a.value_type);
    const int middle = (e->low + e->high) / 2;
    const int highest = all.low - ilogb(of.least_normal), lowest = all.high - ilogb(of.largest);
    if (middle > 0 && highest > 0) *exponent = middle < highest ? middle : highest;
    if (middle < 0 && lowest < 0) *exponent = middle > lowest ? middle : lowest;
    return SPRY_OK;
}

/*
 * Creates *made = 2^exponent A, with new values and with A's offsets and indices, which must outlive *made. Destroy
 * *made and *values also after a failure.
 */
static spry_status scale_matrix(spry_context *context, spry_matrix **made, spry_vector *values, const spry_matrix *A,
                                int exponent, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    SPRYI_OK_OR_RETURN(spry_matrix_get_arrays(A, &a, err));
    SPRYI_OK_OR_RETURN(spry_vector_create(context, values, a.nnz, a.value_type, 0, err));
    for (int64_t k = 0; k < a.nnz; k++)
        spryi_set_value(values->data, a.value_type, k, ldexp(spryi_value_of(&a, k), exponent));
    a.values = values->data;
    a.ownership = SPRY_BORROW;
    return spry_matrix_create(context, made, &a, err);
}

static void forget_scaling(spry_cg_plan *s)
{
    spryi_cg_scaling *scaled = &s->scaled;
    if (scaled->A) forget_plans(s); /* the plans multiply scaled->A */
    spry_matrix_destroy(scaled->A);
    spry_vector_destroy(s->context, &scaled->values);
    spryi_matrix_release(scaled->host);
    scaled->A = scaled->host = NULL;
    scaled->a = 0;
}

/* Creates 2^-a A and its D. Sets a verdict if D does not exist for any a. */
static spry_status create_scaled(spry_cg_plan *s, spry_cg_result *result, spry_error *err)
{
    spryi_cg_scaling *scaled = &s->scaled;
    forget_scaling(s);
    SPRYI_OK_OR_RETURN(spryi_solve_fetch(s->context, &scaled->host, s->system.A, s->current.product.stream, err));
    SPRYI_OK_OR_RETURN(find_exponent(&scaled->a, scaled->host, s->o.precond != SPRY_PRECOND_NONE, err));
    if (scaled->a != 0)
        SPRYI_OK_OR_RETURN(scale_matrix(s->context, &scaled->A, &scaled->values, scaled->host, -scaled->a, err));
    if (!needs_diagonal(s) || (scaled->a == 0 && !scaled->needed_by_D)) return SPRY_OK;
    return create_D(s, result, scaled->A ? scaled->A : scaled->host, err);
}

spry_status spryi_cg_set_up_scaled(spry_cg_plan *s, spry_cg_result *result, spry_error *err)
{
    s->scaled.by_run = true;
    SPRYI_OK_OR_RETURN(create_scaled(s, result, err));
    if (result->verdict != SPRY_VERDICT_NONE) return SPRY_OK;
    if (s->scaled.A) SPRYI_OK_OR_RETURN(create_plans(s, err));
    return create_precond(s, result, s->scaled.A ? s->scaled.A : s->scaled.host, err);
}

/* ---- vectors -------------------------------------------------------------------------------------- */

static spry_status create_vectors(spry_cg_plan *s, spry_error *err)
{
    const bool narrow = s->system.inner != s->system.type, chebyshev = s->o.precond == SPRY_PRECOND_CHEBYSHEV;
    spry_vector *vectors[] = {&s->vectors.r,        &s->vectors.p,       &s->vectors.q,       &s->vectors.z,
                              &s->vectors.z_before, &s->vectors.inner_x, &s->vectors.outer_q, &s->vectors.own_x};
    const bool needed[] = {true,      true,   true,   spryi_cg_has_separate_M(s),
                           chebyshev, narrow, narrow, s->system.device > 0 && !s->current.is_only};
    for (int v = 0; v < 8; v++) {
        if (!needed[v] || vectors[v]->data) continue;
        const spry_type type = v < 6 ? s->system.inner : s->system.type;
        SPRYI_OK_OR_RETURN(
            spry_vector_create(s->context, vectors[v], s->system.n * s->o.count, type, s->system.device, err));
        vectors[v]->length = vectors[v]->column_stride = s->system.n;
        vectors[v]->count = s->o.count;
    }
    return SPRY_OK;
}

/* ---- the whole set-up ----------------------------------------------------------------------------- */

/* Returns whether the symmetry of A must be checked. */
static bool needs_check(const spry_cg_plan *s)
{
    const spry_arrays *a = &s->system.A->a;
    const bool known = s->system.A->symmetry_holds || a->triangle != SPRY_ALL_ENTRIES;
    return !s->o.assume_symmetric && !(a->symmetry == SPRY_SYMMETRIC && known);
}

/* Checks symmetry up to rounding. Sets a verdict if A is not symmetric or not finite. */
static spry_status check_symmetry(spry_cg_plan *s, spry_cg_result *result, const spry_matrix *host, spry_error *err)
{
    const double eps = s->system.A->a.value_type == SPRY_F32 ? FLT_EPSILON : DBL_EPSILON;
    const spryi_symmetry_test test = {.finite = true, .tolerance = s->o.symmetry_tolerance * eps};
    SPRYI_OK_OR_RETURN(spryi_find_unequal(&s->current.unequal, host, &test, err));
    if (s->current.unequal.row >= 0)
        result->verdict = isfinite(s->current.unequal.value) ? SPRY_VERDICT_NOT_SYMMETRIC : SPRY_VERDICT_NOT_FINITE;
    return SPRY_OK;
}

/* Checks symmetry and diagonal. Sets a verdict if the iteration cannot start. */
static spry_status inspect(spry_cg_plan *s, spry_cg_result *result, const spry_matrix *host, spry_error *err)
{
    s->current.unequal.row = -1;
    if (needs_check(s)) SPRYI_OK_OR_RETURN(check_symmetry(s, result, host, err));
    if (result->verdict != SPRY_VERDICT_NONE || !needs_diagonal(s)) return SPRY_OK;
    const spry_status status = create_D(s, result, host, err);
    s->scaled.needed_by_D = result->bad_row >= 0 && s->current.bad_entry > 0 && isfinite(s->current.bad_entry);
    return status == SPRY_OK && s->scaled.needed_by_D ? create_scaled(s, result, err) : status;
}

static spry_status set_up_matrix(spry_cg_plan *s, spry_cg_result *result, spry_error *err)
{
    spry_matrix *host = NULL;
    spry_status status = SPRY_OK;
    if (s->o.precond != SPRY_PRECOND_NONE || needs_check(s))
        SPRYI_TRY(spryi_solve_fetch(s->context, &host, s->system.A, s->current.product.stream, err));
    SPRYI_TRY(inspect(s, result, host, err));
    if (result->verdict != SPRY_VERDICT_NONE) goto done;
    SPRYI_TRY(create_plans(s, err));
    SPRYI_TRY(create_vectors(s, err));
    SPRYI_TRY(create_precond(s, result, s->scaled.A ? s->scaled.A : host, err));
    if (result->verdict != SPRY_VERDICT_NONE) goto done;
    s->scaled.by_run = false;
    result->format = s->product.names.format; /* the set-up has replaced the caller's names by constants */
    result->kernel = s->product.names.kernel;
done:
    spryi_matrix_release(host);
    return status;
}

spry_status spryi_cg_set_up(spry_cg_plan *s, spry_cg_result *result, spry_error *err)
{
    forget_scaling(s);
    if (s->scaled.by_run) {
        forget_plans(s);
        s->product.names = s->product.outer_names = spryi_cg_names_of(s);
    }
    if (!s->work.ops)
        SPRYI_OK_OR_RETURN(spryi_vector_work_init(s->context, &s->work, s->system.device, s->current.product.stream,
                                                  s->system.n, s->o.count, s->system.inner, err));
    s->work.stream = s->current.product.stream;
    return s->system.A ? set_up_matrix(s, result, err) : create_vectors(s, err);
}

void spryi_cg_tear_down(spry_cg_plan *s)
{
    spry_vector *vectors[] = {&s->vectors.r,        &s->vectors.p,     &s->vectors.q,        &s->vectors.z,
                              &s->vectors.z_before, &s->vectors.D,     &s->vectors.inner_x,  &s->vectors.outer_q,
                              &s->vectors.own_x,    &s->vectors.own_b, &s->vectors.scaled_b, &s->precond.entries};
    forget_plans(s);
    forget_scaling(s);
    for (int v = 0; v < 12; v++) spry_vector_destroy(s->context, vectors[v]);
    if (s->work.context) spryi_vector_work_clear(&s->work);
    spry_matrix_destroy(s->product.narrow);
}
