/* Verification of sparse times sparse, in about twice the precision (row_sum.h). */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "matrix/assemble.h"
#include "ops/row_sum.h"
#include "ops/spgemm_plan.h"
#include "spry/tools.h"

#include <float.h>
#include <string.h>

typedef struct check {
    spry_arrays a, b, c; /* CSR; b is op(B) */
    double alpha, eps, smallest, largest;
    int drop_zeros;
    int duplicates;    /* 1: a or b may have entries at one position, which kernels may add before they multiply */
    int finite;        /* 1: all values are finite */
    double most_value; /* the largest magnitude of a value */
    spry_spgemm_verification found;
    pthread_mutex_t merging;
    spryi_row_sum *bx;   /* op(B)*x */
    spryi_row_sum *sums; /* of one row by column for each part; those with entries == 0 are cleared */
    int64_t *met;        /* lists the others, for each part */
} check;

static int64_t offset(const spry_arrays *a, int64_t i)
{
    return spryi_index_at(a->offsets, a->offset_type, i);
}

static int64_t column(const spry_arrays *a, int64_t k)
{
    return spryi_index_at(a->indices, a->index_type, k);
}

static double value(const spry_arrays *a, int64_t k)
{
    return spryi_value_at(a->values, a->value_type, k);
}

/* Returns whether the sum of entries at one position may overflow. */
static int duplicates_may_overflow(const check *v)
{
    static const double MOST_DUPLICATES = 1 << 20;
    return v->duplicates && v->most_value > v->largest / MOST_DUPLICATES;
}

/*
 * Returns |got - alpha*sum| as a share of terms * eps * |alpha| * absolute. If the sum is not finite, `got` has to be
 * the same infinity or NaN, with two exceptions: duplicates that are added first may give another one, and if all
 * values are finite, something overflowed and nothing is promised.
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
    if (!isfinite(scale)) return 0; /* the order of the sum decides */
    if (fabs(expected) > v->largest && isinf(got) && (got > 0) != (expected > 0)) return INFINITY;
    if (!isfinite(got)) return scale > v->largest || duplicates_may_overflow(v) ? 0 : INFINITY;
    const double error = fabs((got - total.hi) - total.lo);
    if (error == 0) return 0;
    return error / (terms * v->eps * scale + terms * (1 + fabs(v->alpha)) * v->smallest);
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

static void note(spry_spgemm_verification *found, int64_t i, double share, int misshapen)
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

/* ---- C*x = alpha*A*(op(B)*x) ---------------------------------------------------------------------------- */

/* Entries of x: -1 .. 1, of 24 bits, so that products with f32 are exact. */
static double random_at(int64_t j)
{
    return (double)((int64_t)(spryi_random(0, (uint64_t)j + 1) >> 40) - (1 << 23)) / (double)(1 << 23);
}

/* Row i of op(B) times x; the bound needs |op(B)||x| too. */
static spryi_row_sum row_of_b(const check *v, int64_t i)
{
    spryi_row_sum sum = {0};
    for (int64_t k = offset(&v->b, i); k < offset(&v->b, i + 1); k++)
        spryi_sum_add_product(&sum, value(&v->b, k), random_at(column(&v->b, k)));
    return sum;
}

static void check_random_row(const check *v, int64_t i, spry_spgemm_verification *found)
{
    spryi_row_sum exact = {0}, got = {0};
    double absolute = 0;
    int has_products = 0;
    const int64_t begin = offset(&v->a, i), end = offset(&v->a, i + 1);
    for (int64_t k = begin; k < end; k++) {
        const int64_t row = column(&v->a, k);
        const spryi_row_sum *z = &v->bx[row];
        const double a = value(&v->a, k);
        if (offset(&v->b, row) == offset(&v->b, row + 1)) continue; /* no product: Inf times nothing is no NaN */
        has_products = 1;
        spryi_sum_add_product(&exact, a, z->hi);
        exact.lo += a * z->lo;
        exact.not_finite |= z->not_finite;
        absolute += fabs(a) * z->absolute;
    }
    for (int64_t k = offset(&v->c, i); k < offset(&v->c, i + 1); k++)
        spryi_sum_add_product(&got, value(&v->c, k), random_at(column(&v->c, k)));
    const double sum = got.not_finite ? got.plain : got.hi + got.lo;
    if (exact.not_finite || !isfinite(exact.plain) || !isfinite(v->alpha)) {
        if (v->finite && isfinite(v->alpha)) { /* something overflowed */
            note(found, i, 0, 0);
            return;
        }
        /* which infinity depends on what meets what */
        note(found, i, (has_products ? isfinite(sum) : sum != 0) ? INFINITY : 0, 0);
        return;
    }
    note(found, i, share_of_bound(v, sum, &exact, absolute, (double)(end - begin) + 3), 0);
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

/* ---- structure and every value ------------------------------------------------------------------------- */

static void check_exact_row(const check *v, int part, int64_t i, spry_spgemm_verification *found)
{
    spryi_row_sum *sums = v->sums + v->c.cols * part;
    int64_t *list = v->met + v->c.cols * part, met = 0, before = -1;
    double worst = 0;
    int misshapen = 0;
    for (int64_t k = offset(&v->a, i); k < offset(&v->a, i + 1); k++) {
        const int64_t row = column(&v->a, k);
        const double a = value(&v->a, k);
        for (int64_t t = offset(&v->b, row); t < offset(&v->b, row + 1); t++) {
            spryi_row_sum *sum = &sums[column(&v->b, t)];
            if (sum->entries++ == 0) list[met++] = column(&v->b, t);
            spryi_sum_add_product(sum, a, value(&v->b, t));
        }
    }
    for (int64_t k = offset(&v->c, i); k < offset(&v->c, i + 1); k++) {
        const int64_t j = column(&v->c, k);
        const int known = j > before && j < v->c.cols && sums[j].entries > 0;
        misshapen |= !known;
        before = j;
        if (!known) continue;
        spryi_row_sum *sum = &sums[j];
        const double share = share_of_bound(v, value(&v->c, k), sum, sum->absolute, (double)sum->entries + 3);
        worst = share > worst || isnan(share) ? share : worst;
        sum->entries = -sum->entries; /* seen */
    }
    for (int64_t n = 0; n < met; n++) {
        spryi_row_sum *sum = &sums[list[n]];
        if (sum->entries > 0) /* not in C: right only where zeros are dropped and 0 is within the bound */
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
    const int64_t n = v->c.cols * threads;
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
    atomic_llong most; /* bits of the largest magnitude, which compare as magnitudes do: Inf and NaN are the largest */
} magnitude_job;

static void find_most(void *job, int64_t begin, int64_t end)
{
    magnitude_job *j = job;
    int64_t most = 0;
    for (int64_t k = begin; k < end; k++) {
        const double magnitude = fabs(value(j->a, k));
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
    v->finite = 1;
    for (int m = 0; m < 2; m++) {
        magnitude_job j = {.a = operands[m]};
        v->duplicates |= !spryi_spgemm_rises(context, j.a);
        spryi_loop(context, spryi_threads(context, j.a->nnz), j.a->nnz, 0, find_most, &j);
        const int64_t bits = j.most;
        double most;
        memcpy(&most, &bits, sizeof most);
        if (!isfinite(most)) v->finite = 0;
        v->most_value = fmax(v->most_value, isfinite(most) ? most : INFINITY);
    }
}

/* ---- the call ------------------------------------------------------------------------------------------ */

static spry_status check_arguments(const spry_matrix *C, const spry_matrix *A, const spry_matrix *B,
                                   const spry_spgemm_options *o, spry_thoroughness how, spry_error *err)
{
    const int a_transposed = o->op_a == SPRY_TRANSPOSE, b_transposed = o->op_b == SPRY_TRANSPOSE;
    const int64_t m = a_transposed ? A->a.cols : A->a.rows, columns = a_transposed ? A->a.rows : A->a.cols;
    const int64_t inner = b_transposed ? B->a.cols : B->a.rows, n = b_transposed ? B->a.rows : B->a.cols;
    if (how != SPRY_VERIFY_RANDOM && how != SPRY_VERIFY_EXACT)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "how", how, SPRY_VERIFY_EXACT,
                                "how is %d, expected SPRY_VERIFY_RANDOM or SPRY_VERIFY_EXACT", (int)how);
    SPRYI_OK_OR_RETURN(spryi_check_ops(o, err));
    if (columns != inner || C->a.rows != m || C->a.cols != n)
        return spryi_fail(err, SPRY_INVALID_SIZE, columns != inner ? "B" : "C",
                          "the sizes do not fit: C is %lld x %lld, %s %lld x %lld, %s %lld x %lld",
                          (long long)C->a.rows, (long long)C->a.cols, a_transposed ? "the transpose of A" : "A",
                          (long long)m, (long long)columns, b_transposed ? "the transpose of B" : "B", (long long)inner,
                          (long long)n);
    if (A->a.device > 0 || B->a.device > 0 || C->a.device > 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "C", "A, B and C have to be in host memory to be compared");
    if (C->a.layout != SPRY_CSR || spryi_value_slot(C->a.value_type) < 0)
        return spryi_fail(err, SPRY_UNSUPPORTED, "C", "C has to be CSR with values to be compared");
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
    operands.options.memory_limit_bytes = 0; /* the product's, not of its verification */
    SPRYI_TRY(check_arguments(C, A, B, &operands.options, how, err));
    SPRYI_TRY(spryi_matrix_entries(C, &entries, err));
    C = entries;
    SPRYI_TRY(spryi_matrix_entries(A, &operands.a.given, err));
    SPRYI_TRY(spryi_matrix_entries(B, &operands.b.given, err));
    SPRYI_TRY(spryi_make_operands(&operands, err));
    const int f64 = C->a.value_type == SPRY_F64;
    check v = {.a = operands.job.a,
               .b = operands.job.b,
               .c = C->a,
               .alpha = operands.options.alpha ? spryi_value_at(operands.options.alpha, C->a.value_type, 0) : 1,
               .eps = f64 ? DBL_EPSILON : FLT_EPSILON,
               .smallest = f64 ? 0x1p-1074 : 0x1p-149,
               .largest = f64 ? DBL_MAX : FLT_MAX,
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
