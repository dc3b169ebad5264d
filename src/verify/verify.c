/*
 * Verification of products. Each product is computed again in about twice the precision (row_sum.h). The difference of
 * every element is divided by an error bound, which grows with the number of terms of the element's sum. An
 * element is correct if the ratio is at most 1.
 *
 * y = alpha op(A) x + beta y is checked row by row.
 *
 * C = alpha op(A) op(B) is checked in one of two ways. The exact way checks the structure and every value of C. Each
 * thread has memory for the sums of one row. The random way (Freivalds 1977) compares C*x with alpha*op(A)*(op(B)*x)
 * for random x, without forming the product; a wrong row passes only if its errors cancel.
 */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "core/device.h"
#include "matrix/assemble.h"
#include "spgemm/spgemm_plan.h"
#include "spry/matrix.h"
#include "spry/spgemm.h"
#include "spry/spry.h"
#include "spry/tune.h"
#include "verify/row_sum.h"

#include <math.h>
#include <string.h>

/* ---- y = alpha op(A) x + beta y -------------------------------------------------------------------------- */

typedef spryi_row_sum (*sum_row_fn)(const spry_arrays *a, const void *x, spry_type type, int64_t i);

typedef struct verify_job {
    const spry_arrays *a;
    spry_op op;
    double alpha, beta;
    spry_type type;
    const void *x, *y_before, *y;
    sum_row_fn sum_row;
    spryi_row_sum *rows; /* sums of all rows; NULL: sum_of_row computes a sum when it is needed */
    /* op(A) by rows, with duplicates added first as some formats do; NULL: not computed */
    const spry_arrays *merged;
    pthread_mutex_t joining;
    spry_spmv_verification found;
} verify_job;

static void accumulate(const verify_job *job, spryi_row_sum *s, int64_t k, int64_t j)
{
    spryi_sum_add_product(s, spryi_value_of(job->a, k), spryi_value_at(job->x, job->type, j));
    s->entries++;
}

/* Returns whether the arrays are stored by rows of op(A), so that a row's sum needs no other row. */
static bool is_by_rows(const verify_job *job)
{
    return (job->a->layout == SPRY_CSR && job->op == SPRY_NO_TRANSPOSE) ||
           (job->a->layout == SPRY_CSC && job->op == SPRY_TRANSPOSE);
}

static sum_row_fn sum_row_by(const spry_context *context)
{
#ifdef SPRY_HAVE_X86
    if (context->simd >= SPRYI_AVX2) return spryi_sum_row_avx2;
#else
    (void)context;
#endif
    return spryi_sum_row;
}

/* Returns the sum of row i: the sum in job->rows if the rows are computed, else computes it. */
static spryi_row_sum sum_of_row(const verify_job *job, int64_t i)
{
    if (job->rows) return job->rows[i];
    if (job->alpha == 0) return (spryi_row_sum){0};
    return job->sum_row(job->a, job->x, job->type, i);
}

/* Computes all sums of op(A)x entry by entry, for arrays that are not stored by rows of op(A). */
static void sum_entries(const verify_job *job)
{
    const spry_arrays *a = job->a;
    const int64_t majors = a->layout == SPRY_CSR ? a->rows : a->layout == SPRY_CSC ? a->columns : 0;
    for (int64_t i = 0; i < majors; i++) {
        int64_t end = spryi_offset_of(a, i + 1);
        for (int64_t k = spryi_offset_of(a, i); k < end; k++) accumulate(job, &job->rows[spryi_minor_of(a, k)], k, i);
    }
    for (int64_t k = 0; a->layout == SPRY_COO && k < a->nnz; k++) {
        int64_t i = spryi_row_of(a, k), j = spryi_minor_of(a, k);
        accumulate(job, &job->rows[job->op == SPRY_TRANSPOSE ? j : i], k, job->op == SPRY_TRANSPOSE ? i : j);
    }
}

/* Returns whether `got`, the value of y_i, is the infinity or NaN that alpha*sum + beta*before gives. */
static bool is_due(const verify_job *job, double sum, double before, double got)
{
    const double plain = (job->alpha == 0 ? 0 : job->alpha * sum) + (job->beta == 0 ? 0 : job->beta * before);
    return (isnan(plain) && isnan(got)) || plain == got;
}

/* Returns |y_i - reference| divided by the bound. Returns Inf if y_i is not the expected infinity or NaN. */
static double error_by_bound(const verify_job *job, const spryi_row_sum *sum, int64_t i)
{
    const spryi_limits of = spryi_limits_of(job->type); /* near zero, rounding errors are multiples of of.least */
    double before = job->beta == 0 ? 0 : spryi_value_at(job->y_before, job->type, i);
    double got = spryi_value_at(job->y, job->type, i);
    spryi_row_sum total = {0};
    if (job->alpha != 0) {
        spryi_sum_add_product(&total, job->alpha, sum->hi);
        total.lo += job->alpha * sum->lo;
    }
    if (job->beta != 0) spryi_sum_add_product(&total, job->beta, before);
    double expected = total.hi + total.lo;
    double scale = fabs(job->alpha) * (job->alpha == 0 ? 0 : sum->absolute) + fabs(job->beta * before);
    if (sum->not_finite || !isfinite(job->alpha) || !isfinite(job->beta) || !isfinite(before))
        return is_due(job, sum->plain, before, got) ||
                       (job->merged && is_due(job, job->sum_row(job->merged, job->x, job->type, i).plain, before, got))
                   ? 0
                   : INFINITY;
    if (!isfinite(scale)) return 0; /* |A||x| overflows: the result depends on the order of the sum */
    if (fabs(expected) > of.largest && isinf(got) && (got > 0) == (expected > 0)) return 0;
    if (!isfinite(got)) return INFINITY;
    double terms = (double)sum->entries + 3;
    double error = fabs((got - total.hi) - total.lo), bound = terms * of.epsilon * scale;
    if (error == 0) return 0;
    return error / (bound + terms * (1 + fabs(job->alpha)) * of.least);
}

/* Keeps the row with the largest error, and the first of rows with equal errors. */
static void take_row(spry_spmv_verification *v, double error, int64_t i)
{
    if (v->worst_row >= 0 && !isnan(error) && !(error > v->max_error) && !(error == v->max_error && i < v->worst_row))
        return;
    v->max_error = error;
    v->worst_row = i;
}

static void judge_some_rows(void *argument, int64_t begin, int64_t end)
{
    verify_job *job = argument;
    spry_spmv_verification own = SPRY_INIT(spry_spmv_verification);
    own.worst_row = -1;
    for (int64_t i = begin; i < end; i++) {
        const spryi_row_sum sum = sum_of_row(job, i);
        const double error = error_by_bound(job, &sum, i);
        if (!(error <= 1)) own.wrong_rows++;
        take_row(&own, error, i);
    }
    pthread_mutex_lock(&job->joining);
    job->found.wrong_rows += own.wrong_rows;
    if (own.worst_row >= 0) take_row(&job->found, own.max_error, own.worst_row);
    pthread_mutex_unlock(&job->joining);
}

static spry_spmv_verification judge_rows(const spry_context *context, verify_job *job, int64_t m)
{
    job->found = SPRY_INIT(spry_spmv_verification);
    job->found.worst_row = -1;
    spryi_loop(context, spryi_team(context->threads), m, 1024, judge_some_rows, job);
    return job->found;
}

/*
 * Verifies the rows again with duplicates added first, if the result or the reference of a row is infinite or NaN and
 * the two differ.
 */
static spry_status judge_merged(spry_context *context, spry_spmv_verification *v, verify_job *job, const spry_matrix *A,
                                int64_t m, spry_error *err)
{
    spry_matrix *merged = NULL;
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    if (v->wrong_rows == 0 || !isinf(v->max_error) || job->alpha == 0 || A->a.unique == SPRY_KNOWN_YES) return SPRY_OK;
    o.layout = job->op == SPRY_TRANSPOSE ? SPRY_CSC : SPRY_CSR;
    o.value_type = job->type;
    SPRYI_OK_OR_RETURN(spry_matrix_convert(context, &merged, NULL, A, &o, err));
    job->merged = &merged->a;
    if (merged->a.nnz < A->a.nnz) *v = judge_rows(context, job, m);
    job->merged = NULL;
    spry_matrix_destroy(merged);
    return SPRY_OK;
}

static spry_status check_vectors(const spry_matrix *A, spry_op op, const spry_const_vector *x,
                                 const spry_const_vector *before, const spry_const_vector *y, bool reads_before,
                                 spry_error *err)
{
    const int64_t m = op == SPRY_TRANSPOSE ? A->a.columns : A->a.rows,
                  n = op == SPRY_TRANSPOSE ? A->a.rows : A->a.columns;
    const struct {
        const char *name;
        const spry_const_vector *v;
        int64_t length;
    } given[] = {{"x", x, n}, {"y", y, m}, {"y_before", before, m}};
    for (int g = 0; g < (reads_before ? 3 : 2); g++) {
        const spry_const_vector *v = given[g].v;
        if (v->length != given[g].length)
            return spryi_fail_value(err, SPRY_INVALID_SIZE, given[g].name, v->length, given[g].length,
                                    "%s has %lld elements, expected %lld", given[g].name, (long long)v->length,
                                    (long long)given[g].length);
        if (spryi_value_slot(v->type) < 0 || v->type != x->type || spryi_device_number(v->device) != 0 ||
            (!v->data && v->length > 0) || v->count < 0 || v->count > 1)
            return spryi_fail(err, SPRY_INVALID_ARGUMENT, given[g].name,
                              "%s: expected one vector of f32 or f64 in host memory, of the type of x", given[g].name);
        SPRYI_OK_OR_RETURN(spryi_check_reserved(v, given[g].name, err));
        if ((uintptr_t)v->data % spry_type_bytes(v->type) != 0)
            return spryi_fail(err, SPRY_INVALID_ARGUMENT, given[g].name, "%s: data is not aligned to its type",
                              given[g].name);
        SPRYI_OK_OR_RETURN(spryi_check_stride(v->row_stride, v->length, given[g].name, "row_stride", err));
    }
    return SPRY_OK;
}

/* Sets *data to the elements of v, or to *copy if they are strided. */
static spry_status make_contiguous(spry_context *context, const void **data, void **copy, const spry_const_vector *v,
                                   spry_error *err)
{
    *data = v->data;
    if (v->row_stride <= 1 || v->length == 0) return SPRY_OK;
    const size_t size = spry_type_bytes(v->type);
    SPRYI_OK_OR_RETURN(spryi_allocate(context, copy, v->length, size, "contiguous vector", err));
    for (int64_t i = 0; i < v->length; i++)
        memcpy((char *)*copy + (size_t)i * size, (const char *)v->data + (size_t)(i * v->row_stride) * size, size);
    *data = *copy;
    return SPRY_OK;
}

spry_status spry_spmv_verify(spry_context *context, spry_spmv_verification *verification, const spry_matrix *A,
                             spry_op op, const void *alpha, spry_const_vector x, const void *beta,
                             spry_const_vector y_before, spry_const_vector y, spry_error *err)
{
    const char *missing = !context ? "context" : !A ? "A" : !verification ? "verification" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    spry_status status = SPRY_OK;
    spryi_row_sum *rows = NULL;
    spry_matrix *entries = NULL;
    void *copies[3] = {NULL, NULL, NULL};
    double b = beta ? spryi_value_at(beta, x.type, 0) : 0;
    SPRYI_TRY(SPRYI_CHECK_OUTPUT(verification, err));
    SPRYI_OK_OR_RETURN(spryi_check_range(NULL, "op", op, SPRY_NO_TRANSPOSE, SPRY_TRANSPOSE,
                                         "SPRY_NO_TRANSPOSE or SPRY_TRANSPOSE", err));
    SPRYI_TRY(check_vectors(A, op, &x, &y_before, &y, b != 0, err));
    int64_t m = y.length;
    SPRYI_TRY(spryi_matrix_host_entries(A, &entries, err));
    A = entries;
    verify_job job = {.a = &A->a, .op = op, .beta = b, .type = x.type, .sum_row = sum_row_by(context)};
    job.joining = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    job.alpha = alpha ? spryi_value_at(alpha, x.type, 0) : 1;
    SPRYI_TRY(make_contiguous(context, &job.x, &copies[0], &x, err));
    SPRYI_TRY(make_contiguous(context, &job.y, &copies[1], &y, err));
    if (b != 0) SPRYI_TRY(make_contiguous(context, &job.y_before, &copies[2], &y_before, err));
    if (!is_by_rows(&job)) {
        SPRYI_TRY(SPRYI_NEW(context, &rows, m, "reference sums", err));
        memset(rows, 0, (size_t)m * sizeof *rows);
        job.rows = rows;
        if (job.alpha != 0) sum_entries(&job);
    }
    spry_spmv_verification found = judge_rows(context, &job, m);
    SPRYI_TRY(judge_merged(context, &found, &job, A, m, err));
    SPRYI_GIVE(verification, &found);
done:
    spryi_matrix_release(entries);
    spryi_release(context, rows);
    for (int v = 0; v < 3; v++) spryi_release(context, copies[v]);
    return status;
}

/* ---- C = alpha op(A) op(B) ------------------------------------------------------------------------------- */

typedef struct check {
    spry_arrays a, b, c; /* CSR; b is op(B) */
    double alpha;
    spryi_limits of; /* of C's type */
    bool drop_zeros;
    bool duplicates;   /* a or b may have multiple entries at one position; kernels may add them first */
    bool finite;       /* all values are finite */
    double most_value; /* the largest magnitude of a value */
    spry_spgemm_verification found;
    pthread_mutex_t merging;
    spryi_row_sum *bx;   /* op(B)*x */
    spryi_row_sum *sums; /* for each thread: sums of one row of C, by column; a sum is unused if its entries == 0 */
    int64_t *met;        /* for each thread: columns that have sums in the row */
} check;

/* Returns whether a sum of duplicates may overflow. */
static bool duplicates_may_overflow(const check *v)
{
    static const double MOST_DUPLICATES = 1 << 20;
    return v->duplicates && v->most_value > v->of.largest / MOST_DUPLICATES;
}

/*
 * Returns |got - alpha*sum| divided by terms * eps * |alpha| * absolute. If the sum is not finite, `got` must be the
 * same infinity or NaN, with two exceptions. If A or B may have duplicates, `got` may be another infinity or NaN,
 * because kernels may add duplicates first. If all values and alpha are finite, a product or sum overflowed, and any
 * result is accepted.
 */
static double share_of_bound(const check *v, double got, const spryi_row_sum *sum, double absolute, double terms)
{
    spryi_row_sum total = {0};
    if (v->alpha != 0) spryi_sum_add_product(&total, v->alpha, sum->hi);
    total.lo += v->alpha * sum->lo;
    if (sum->not_finite || !isfinite(sum->plain) || !isfinite(v->alpha)) {
        const double plain = v->alpha * sum->plain;
        if ((isnan(plain) && isnan(got)) || plain == got) return 0;
        if (v->finite && isfinite(v->alpha)) return 0;
        return v->duplicates && !isfinite(got) ? 0 : INFINITY;
    }
    const double expected = total.hi + total.lo, scale = fabs(v->alpha) * absolute;
    if (!isfinite(scale)) return 0; /* the result depends on the order of the sum */
    if (fabs(expected) > v->of.largest && isinf(got) && (got > 0) != (expected > 0)) return INFINITY;
    if (!isfinite(got)) return scale > v->of.largest || duplicates_may_overflow(v) ? 0 : INFINITY;
    const double error = fabs((got - total.hi) - total.lo);
    if (error == 0) return 0;
    return error / (terms * v->of.epsilon * scale + terms * (1 + fabs(v->alpha)) * v->of.least);
}

static void merge(check *v, const spry_spgemm_verification *part)
{
    spry_spgemm_verification *all = &v->found;
    pthread_mutex_lock(&v->merging);
    all->wrong_rows += part->wrong_rows;
    if (part->worst_row >= 0 && (all->worst_row < 0 || part->max_error > all->max_error ||
                                 (part->max_error == all->max_error && part->worst_row < all->worst_row))) {
        all->max_error = part->max_error;
        all->worst_row = part->worst_row;
    }
    if (part->first_misshapen >= 0 && (all->first_misshapen < 0 || part->first_misshapen < all->first_misshapen))
        all->first_misshapen = part->first_misshapen;
    pthread_mutex_unlock(&v->merging);
}

static void note(spry_spgemm_verification *found, int64_t i, double share, bool misshapen)
{
    if (isnan(share)) share = INFINITY;
    if (!(share <= 1) || misshapen) found->wrong_rows++;
    if (found->worst_row < 0 || share > found->max_error) {
        found->max_error = share;
        found->worst_row = i;
    }
    if (misshapen && found->first_misshapen < 0) found->first_misshapen = i;
}

static const spry_spgemm_verification nothing_found = {sizeof(spry_spgemm_verification), 0, -1, 0, -1};

/* ---- C times a random vector ------------------------------------------------------------------------- */

/* Returns element j of x: a number from -1 to 1 with 24 bits, so that products with f32 values are exact in f64. */
static double random_at(int64_t j)
{
    return (double)((int64_t)(spryi_random(0, (uint64_t)j + 1) >> 40) - (1 << 23)) / (double)(1 << 23);
}

static spryi_row_sum row_of_b(const check *v, int64_t i)
{
    spryi_row_sum sum = {0};
    for (int64_t k = spryi_offset_of(&v->b, i); k < spryi_offset_of(&v->b, i + 1); k++)
        spryi_sum_add_product(&sum, spryi_value_of(&v->b, k), random_at(spryi_minor_of(&v->b, k)));
    return sum;
}

static void check_random_row(const check *v, int64_t i, spry_spgemm_verification *found)
{
    spryi_row_sum exact = {0}, got = {0};
    double absolute = 0;
    bool has_products = false;
    const int64_t begin = spryi_offset_of(&v->a, i), end = spryi_offset_of(&v->a, i + 1);
    for (int64_t k = begin; k < end; k++) {
        const int64_t row = spryi_minor_of(&v->a, k);
        const spryi_row_sum *z = &v->bx[row];
        const double a = spryi_value_of(&v->a, k);
        if (spryi_offset_of(&v->b, row) == spryi_offset_of(&v->b, row + 1))
            continue; /* no products, so Inf in A gives no NaN */
        has_products = true;
        spryi_sum_add_product(&exact, a, z->hi);
        exact.lo += a * z->lo;
        exact.not_finite |= z->not_finite;
        absolute += fabs(a) * z->absolute;
    }
    for (int64_t k = spryi_offset_of(&v->c, i); k < spryi_offset_of(&v->c, i + 1); k++)
        spryi_sum_add_product(&got, spryi_value_of(&v->c, k), random_at(spryi_minor_of(&v->c, k)));
    const double sum = got.not_finite ? got.plain : got.hi + got.lo;
    if (exact.not_finite || !isfinite(exact.plain) || !isfinite(v->alpha)) {
        if (v->finite && isfinite(v->alpha)) { /* an intermediate result overflowed */
            note(found, i, 0, false);
            return;
        }
        /* the expected infinity depends on the order of the sum */
        note(found, i, (has_products ? isfinite(sum) : sum != 0) ? INFINITY : 0, false);
        return;
    }
    note(found, i, share_of_bound(v, sum, &exact, absolute, (double)(end - begin) + 3), false);
}

static void multiply_by_x(void *job, int64_t begin, int64_t end)
{
    const check *v = job;
    for (int64_t i = begin; i < end; i++) v->bx[i] = row_of_b(v, i);
}

static void check_random_rows(void *job, int64_t begin, int64_t end)
{
    spry_spgemm_verification found = nothing_found;
    for (int64_t i = begin; i < end; i++) check_random_row(job, i, &found);
    merge(job, &found);
}

static spry_status check_random(spry_context *context, check *v, spry_error *err)
{
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &v->bx, v->b.rows, "op(B)*x", err));
    spryi_loop(context, spryi_threads(context, v->b.nnz), v->b.rows, 1024, multiply_by_x, v);
    spryi_loop(context, spryi_threads(context, v->c.nnz + v->a.nnz), v->a.rows, 64, check_random_rows, v);
    spryi_release(context, v->bx);
    return SPRY_OK;
}

/* ---- C: structure and every value ------------------------------------------------------------------------ */

static void check_exact_row(const check *v, int part, int64_t i, spry_spgemm_verification *found)
{
    spryi_row_sum *sums = v->sums + v->c.columns * part;
    int64_t *list = v->met + v->c.columns * part, met = 0, before = -1;
    double worst = 0;
    bool misshapen = false;
    for (int64_t k = spryi_offset_of(&v->a, i); k < spryi_offset_of(&v->a, i + 1); k++) {
        const int64_t row = spryi_minor_of(&v->a, k);
        const double a = spryi_value_of(&v->a, k);
        for (int64_t t = spryi_offset_of(&v->b, row); t < spryi_offset_of(&v->b, row + 1); t++) {
            spryi_row_sum *sum = &sums[spryi_minor_of(&v->b, t)];
            if (sum->entries++ == 0) list[met++] = spryi_minor_of(&v->b, t);
            spryi_sum_add_product(sum, a, spryi_value_of(&v->b, t));
        }
    }
    for (int64_t k = spryi_offset_of(&v->c, i); k < spryi_offset_of(&v->c, i + 1); k++) {
        const int64_t j = spryi_minor_of(&v->c, k);
        const bool known = j > before && j < v->c.columns && sums[j].entries > 0;
        misshapen |= !known;
        before = j;
        if (!known) continue;
        spryi_row_sum *sum = &sums[j];
        const double share = share_of_bound(v, spryi_value_of(&v->c, k), sum, sum->absolute, (double)sum->entries + 3);
        worst = share > worst || isnan(share) ? share : worst;
        sum->entries = -sum->entries; /* seen */
    }
    for (int64_t n = 0; n < met; n++) {
        spryi_row_sum *sum = &sums[list[n]];
        if (sum->entries > 0) /* the entry is not in C: correct only if C drops zeros and 0 is within the bound */
            misshapen |= !v->drop_zeros || !(share_of_bound(v, 0, sum, sum->absolute, (double)sum->entries + 3) <= 1);
        *sum = (spryi_row_sum){0};
    }
    note(found, i, worst, misshapen);
}

static void clear_sums(void *job, int64_t begin, int64_t end)
{
    const check *v = job;
    for (int64_t n = begin; n < end; n++) v->sums[n] = (spryi_row_sum){0};
}

static void check_exact_rows(void *job, int64_t begin, int64_t end, int part)
{
    spry_spgemm_verification found = nothing_found;
    for (int64_t i = begin; i < end; i++) check_exact_row(job, part, i, &found);
    merge(job, &found);
}

static spry_status check_exact(spry_context *context, check *v, spry_error *err)
{
    spry_status status = SPRY_OK;
    const int threads = spryi_threads(context, v->c.nnz + v->a.nnz);
    const int64_t n = v->c.columns * threads;
    SPRYI_TRY(SPRYI_NEW(context, &v->sums, n, "reference sums", err));
    SPRYI_TRY(SPRYI_NEW(context, &v->met, n, "reference columns", err));
    spryi_loop(context, threads, n, 0, clear_sums, v);
    spryi_loop_in_parts(context, threads, v->a.rows, 64, check_exact_rows, v);
done:
    spryi_release(context, v->met);
    spryi_release(context, v->sums);
    return status;
}

typedef struct magnitude_job {
    const spry_arrays *a;
    /* Bits of the largest magnitude. As integers, bits have the same order as magnitudes; Inf and NaN are largest. */
    atomic_llong most;
} magnitude_job;

static void find_most(void *job, int64_t begin, int64_t end)
{
    magnitude_job *j = job;
    int64_t most = 0;
    for (int64_t k = begin; k < end; k++) {
        const double magnitude = fabs(spryi_value_of(j->a, k));
        int64_t bits;
        memcpy(&bits, &magnitude, sizeof bits);
        if (bits > most) most = bits;
    }
    spryi_raise(&j->most, most);
}

/* Inspects the operands' values and order. */
static void inspect(const spry_context *context, check *v)
{
    const spry_arrays *const operands[] = {&v->a, &v->b};
    v->finite = true;
    for (int m = 0; m < 2; m++) {
        magnitude_job j = {.a = operands[m]};
        v->duplicates |= !spryi_spgemm_rises(context, j.a);
        spryi_loop(context, spryi_threads(context, j.a->nnz), j.a->nnz, 0, find_most, &j);
        const int64_t bits = j.most;
        double most;
        memcpy(&most, &bits, sizeof most);
        if (!isfinite(most)) v->finite = false;
        v->most_value = fmax(v->most_value, isfinite(most) ? most : INFINITY);
    }
}

/* ---- C: the call ----------------------------------------------------------------------------------------- */

static spry_status check_arguments(const spry_matrix *C, const spry_matrix *A, const spry_matrix *B,
                                   const spry_spgemm_options *o, spry_thoroughness how, spry_error *err)
{
    const bool a_transposed = o->op_a == SPRY_TRANSPOSE, b_transposed = o->op_b == SPRY_TRANSPOSE;
    const int64_t m = a_transposed ? A->a.columns : A->a.rows, columns = a_transposed ? A->a.rows : A->a.columns;
    const int64_t inner = b_transposed ? B->a.columns : B->a.rows, n = b_transposed ? B->a.rows : B->a.columns;
    SPRYI_OK_OR_RETURN(spryi_check_range(NULL, "how", how, SPRY_VERIFY_RANDOM, SPRY_VERIFY_EXACT,
                                         "SPRY_VERIFY_RANDOM or SPRY_VERIFY_EXACT", err));
    SPRYI_OK_OR_RETURN(spryi_check_ops(o, err));
    if (columns != inner || C->a.rows != m || C->a.columns != n)
        return spryi_fail(err, SPRY_INVALID_SIZE, columns != inner ? "B" : "C",
                          "the sizes do not fit: C is %lld x %lld, %s %lld x %lld, %s %lld x %lld",
                          (long long)C->a.rows, (long long)C->a.columns, a_transposed ? "the transpose of A" : "A",
                          (long long)m, (long long)columns, b_transposed ? "the transpose of B" : "B", (long long)inner,
                          (long long)n);
    if (A->a.device > 0 || B->a.device > 0 || C->a.device > 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "C", "A, B and C must be in host memory for a verification");
    if (C->a.layout != SPRY_CSR || spryi_value_slot(C->a.value_type) < 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "C",
                          "C is not CSR with f32 or f64 values, which a verification needs");
    return SPRY_OK;
}

spry_status spry_spgemm_verify(spry_context *context, spry_spgemm_verification *verification, const spry_matrix *C,
                               const spry_matrix *A, const spry_matrix *B, const spry_spgemm_options *options,
                               spry_thoroughness how, spry_error *err)
{
    const char *missing = !context ? "context" : !verification ? "verification" : !C ? "C" : !A ? "A" : !B ? "B" : NULL;
    if (missing) return spryi_fail_missing(err, missing);
    spry_status status = SPRY_OK;
    spry_matrix *entries = NULL;
    spry_spgemm_plan operands = {.context = context,
                                 .device = spryi_device_at(context, 0),
                                 .single_run = 1,
                                 .job.type = C->a.value_type};
    SPRYI_TRY(SPRYI_CHECK_OUTPUT(verification, err));
    SPRYI_TRY(SPRYI_TAKE(&operands.options, options, err));
    operands.options.memory_limit_bytes = 0; /* the limit is for the product */
    SPRYI_TRY(check_arguments(C, A, B, &operands.options, how, err));
    SPRYI_TRY(spryi_matrix_entries(C, &entries, err));
    C = entries;
    operands.a.given = spryi_matrix_retain(A);
    operands.b.given = spryi_matrix_retain(B);
    SPRYI_TRY(spryi_build_operands(&operands, err));
    check v = {.a = operands.job.a,
               .b = operands.job.b,
               .c = C->a,
               .alpha = operands.options.alpha ? spryi_value_at(operands.options.alpha, C->a.value_type, 0) : 1,
               .of = spryi_limits_of(C->a.value_type),
               .drop_zeros = operands.options.drop_zeros,
               .found = nothing_found,
               .merging = PTHREAD_MUTEX_INITIALIZER};
    inspect(context, &v);
    SPRYI_TRY(how == SPRY_VERIFY_EXACT ? check_exact(context, &v, err) : check_random(context, &v, err));
    SPRYI_GIVE(verification, &v.found);
done:
    spryi_matrix_release(entries);
    spryi_drop_operands(&operands);
    return status;
}
