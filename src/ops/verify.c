/*
 * Verification: the product again, in about twice the precision, and the componentwise bound.
 */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "core/device.h"
#include "ops/row_sum.h"
#include "spry/spry.h"
#include "spry/tools.h"

#include <math.h>
#include <string.h>

typedef struct verify_job {
    const spry_arrays *a;
    spry_op op;
    double alpha, beta;
    spry_type type;
    const void *x, *y_before, *y;
    spryi_sum_row_fn sum_row;
    spryi_row_sum *rows; /* NULL: made row by row as they are judged */
    /* Rows of op(A) with entries at one position added up, as some formats do; NULL: not made */
    const spry_arrays *merged;
    pthread_mutex_t joining;
    spry_spmv_verification found;
} verify_job;

static void accumulate(const verify_job *job, spryi_row_sum *s, int64_t k, int64_t j)
{
    spryi_sum_add_product(s, spryi_value_at(job->a->values, job->a->value_type, k),
                          spryi_value_at(job->x, job->type, j));
    s->entries++;
}

/* 1: the arrays run over rows of op(A), and a row's sum is complete when its entries are through. */
static int runs_over_rows(const verify_job *job)
{
    return (job->a->layout == SPRY_CSR && job->op == SPRY_NO_TRANSPOSE) ||
           (job->a->layout == SPRY_CSC && job->op == SPRY_TRANSPOSE);
}

static spryi_row_sum sum_row(const spry_arrays *a, const void *x, spry_type type, int64_t i)
{
    return spryi_sum_row(a, x, type, i);
}

static spryi_sum_row_fn sum_row_by(const spry_context *context)
{
#ifdef SPRY_HAVE_X86
    if (context->simd >= SPRYI_AVX2) return spryi_sum_row_avx2;
#else
    (void)context;
#endif
    return sum_row;
}

/* The sum of row i: made before, or made now where the arrays run over rows. */
static spryi_row_sum sum_of_row(const verify_job *job, int64_t i)
{
    if (job->rows) return job->rows[i];
    if (job->alpha == 0) return (spryi_row_sum){0};
    return job->sum_row(job->a, job->x, job->type, i);
}

/* Sums of op(A)x where the arrays do not run over rows: one entry after the other. */
static void sum_entries(const verify_job *job)
{
    const spry_arrays *a = job->a;
    const int64_t majors = a->layout == SPRY_CSR ? a->rows : a->layout == SPRY_CSC ? a->cols : 0;
    for (int64_t i = 0; i < majors; i++) {
        int64_t end = spryi_offset_of(a, i + 1);
        for (int64_t k = spryi_offset_of(a, i); k < end; k++) accumulate(job, &job->rows[spryi_minor_of(a, k)], k, i);
    }
    for (int64_t k = 0; a->layout == SPRY_COO && k < a->nnz; k++) {
        int64_t i = spryi_row_of(a, k), j = spryi_minor_of(a, k);
        accumulate(job, &job->rows[job->op == SPRY_TRANSPOSE ? j : i], k, job->op == SPRY_TRANSPOSE ? i : j);
    }
}

/* 1: y_i is the infinity or NaN of this sum of products. */
static int is_due(const verify_job *job, double sum, double before, double got)
{
    const double plain = (job->alpha == 0 ? 0 : job->alpha * sum) + (job->beta == 0 ? 0 : job->beta * before);
    return (isnan(plain) && isnan(got)) || plain == got;
}

/* |y_i - reference| divided by the bound; infinite where one is not finite and the other is no equal. */
static double error_by_bound(const verify_job *job, const spryi_row_sum *sum, int64_t i)
{
    const spryi_limits of = spryi_limits_of(job->type); /* rounding near zero is absolute: by the least number */
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
    if (!isfinite(scale)) return 0; /* |A||x| overflows: the order of the sum decides, and nothing can be told */
    if (fabs(expected) > of.largest && isinf(got) && (got > 0) == (expected > 0)) return 0;
    if (!isfinite(got)) return INFINITY;
    double terms = (double)sum->entries + 3;
    double error = fabs((got - total.hi) - total.lo), bound = terms * of.epsilon * scale;
    if (error == 0) return 0;
    return error / (bound + terms * (1 + fabs(job->alpha)) * of.least);
}

/* The first of the worst rows, whoever finds it. */
static void take_row(spry_spmv_verification *v, double error, int64_t i)
{
    if (v->worst_row >= 0 && !isnan(error) && !(error > v->max_error) && !(error == v->max_error && i < v->worst_row))
        return;
    v->max_error = error;
    v->worst_row = i;
}

/* Each row's sum is made as it is judged, or was made before. */
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
    spryi_loop(context, spry_context_threads(context), m, 1024, judge_some_rows, job);
    return job->found;
}

/* Rows that are wrong because another infinity or NaN is due: once more, with entries at one position added up. */
static spry_status judge_merged(spry_context *context, spry_spmv_verification *v, verify_job *job, const spry_matrix *A,
                                int64_t m, spry_error *err)
{
    spry_matrix *merged = NULL;
    spry_convert_options o = SPRY_INIT(spry_convert_options);
    if (v->wrong_rows == 0 || !isinf(v->max_error) || job->alpha == 0 || A->a.unique == SPRY_KNOWN_YES) return SPRY_OK;
    o.layout = job->op == SPRY_TRANSPOSE ? SPRY_CSC : SPRY_CSR;
    o.value_type = job->type;
    SPRYI_OK_OR_RETURN(spry_matrix_convert(context, &merged, A, &o, err));
    job->merged = &merged->a;
    if (merged->a.nnz < A->a.nnz) *v = judge_rows(context, job, m);
    job->merged = NULL;
    spry_matrix_destroy(merged);
    return SPRY_OK;
}

static spry_status check_vectors(const spry_matrix *A, spry_op op, const spry_const_vector *x,
                                 const spry_const_vector *before, const spry_const_vector *y, int reads_before,
                                 spry_error *err)
{
    const int64_t m = op == SPRY_TRANSPOSE ? A->a.cols : A->a.rows, n = op == SPRY_TRANSPOSE ? A->a.rows : A->a.cols;
    const struct {
        const char *name;
        const spry_const_vector *v;
        int64_t length;
    } given[] = {{"x", x, n}, {"y", y, m}, {"y_before", before, m}};
    for (int g = 0; g < (reads_before ? 3 : 2); g++) {
        const spry_const_vector *v = given[g].v;
        if (v->length != given[g].length)
            return spryi_fail_value(err, SPRY_INVALID_SIZE, given[g].name, v->length, given[g].length,
                                    "%s has %lld entries, expected %lld", given[g].name, (long long)v->length,
                                    (long long)given[g].length);
        if (spryi_value_slot(v->type) < 0 || v->type != x->type || spryi_device_number(v->device) != 0 ||
            v->row_stride > 1 || (!v->data && v->length > 0) || v->columns < 0 || v->columns > 1)
            return spryi_fail(err, SPRY_INVALID_ARGUMENT, given[g].name,
                              "%s: expected one column of f32 or f64 in host memory, of the type of x", given[g].name);
    }
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
    double b = beta ? spryi_value_at(beta, x.type, 0) : 0;
    SPRYI_TRY(SPRYI_CHECK_OUTPUT(verification, err));
    if (op != SPRY_NO_TRANSPOSE && op != SPRY_TRANSPOSE)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "op", op, SPRY_TRANSPOSE,
                                "op is %d, expected SPRY_NO_TRANSPOSE or SPRY_TRANSPOSE", (int)op);
    SPRYI_TRY(check_vectors(A, op, &x, &y_before, &y, b != 0, err));
    int64_t m = y.length;
    SPRYI_TRY(spryi_matrix_entries(A, &entries, err));
    A = entries;
    verify_job job = {.a = &A->a, .op = op, .beta = b, .type = x.type, .sum_row = sum_row_by(context)};
    job.joining = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    job.alpha = alpha ? spryi_value_at(alpha, x.type, 0) : 1;
    job.x = x.data;
    job.y = y.data;
    job.y_before = y_before.data;
    if (!runs_over_rows(&job)) {
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
    return status;
}
