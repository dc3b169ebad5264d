/*
 * spry_matrix_add: merges the sorted rows of A and B. A first pass counts the entries of each row of C, a second pass
 * writes them. Rows are independent, so the result does not depend on the number of threads.
 */
#include "base/element.h"
#include "base/error.h"
#include "base/float_env.h"
#include "base/memory.h"
#include "base/pool.h"
#include "matrix/device_operation.h"
#include "matrix/operation.h"

/* One operand: sorted rows and the factor. */
typedef struct term {
    spry_arrays rows;
    double factor;
} term;

typedef struct sum_job {
    term a, b;
    spryi_compressed to;
    atomic_llong repeats; /* entries at the position of an earlier entry of the same operand */
} sum_job;

/* Types of the column indices and of the values of A, B and C. */
typedef struct sum_types {
    spry_index_type a, b, c;
    spry_type a_values, b_values, c_values;
} sum_types;

/* Returns the sum of the entries in column `column`, the first of which is entry *k. Moves *k after them. */
SPRYI_INLINE double sum_of_run(const spry_arrays *rows, spry_index_type type, spry_type values, int64_t *k, int64_t end,
                               int64_t column)
{
    double sum = spryi_value_at(rows->values, values, (*k)++);
    while (*k < end && spryi_index_at(rows->indices, type, *k) == column)
        sum += spryi_value_at(rows->values, values, (*k)++);
    return sum;
}

/* Merges rows begin .. end - 1. `types` and `fills` are constants where the function is inlined. */
SPRYI_INLINE void merge_rows(sum_job *job, int64_t begin, int64_t end, const sum_types types, const bool fills)
{
    const term a = job->a, b = job->b; /* local copies, so that writes to arrays force no reload */
    const spryi_compressed to = job->to;
    int64_t repeats = 0;
    for (int64_t i = begin; i < end; i++) {
        const int64_t k_begin = spryi_offset_of(&a.rows, i), k_end = spryi_offset_of(&a.rows, i + 1);
        const int64_t l_begin = spryi_offset_of(&b.rows, i), l_end = spryi_offset_of(&b.rows, i + 1);
        int64_t k = k_begin, l = l_begin, entries = 0, common = 0;
        while (k < k_end || l < l_end) {
            const int64_t in_a = k < k_end ? spryi_index_at(a.rows.indices, types.a, k) : INT64_MAX;
            const int64_t in_b = l < l_end ? spryi_index_at(b.rows.indices, types.b, l) : INT64_MAX;
            const int64_t column = in_a < in_b ? in_a : in_b;
            double sum = 0;
            if (in_a == column) sum = a.factor * sum_of_run(&a.rows, types.a, types.a_values, &k, k_end, column);
            if (in_b == column) {
                const double other = b.factor * sum_of_run(&b.rows, types.b, types.b_values, &l, l_end, column);
                sum = in_a == column ? sum + other : other;
                common += in_a == column;
            }
            if (fills) {
                spryi_set_index(to.indices, types.c, to.offsets[i] + entries, column);
                spryi_set_value(to.values, types.c_values, to.offsets[i] + entries, sum);
            }
            entries++;
        }
        if (!fills) to.offsets[i + 1] = entries;
        repeats += (k - k_begin) + (l - l_begin) - common - entries;
    }
    if (!fills && repeats > 0) atomic_fetch_add(&job->repeats, repeats);
}

static const sum_types all_f64 = {SPRY_I32, SPRY_I32, SPRY_I32, SPRY_F64, SPRY_F64, SPRY_F64};
static const sum_types all_f32 = {SPRY_I32, SPRY_I32, SPRY_I32, SPRY_F32, SPRY_F32, SPRY_F32};
static const sum_types counted = {SPRY_I32, SPRY_I32, SPRY_I32, SPRY_PATTERN, SPRY_PATTERN, SPRY_PATTERN};

static sum_types types_of(const sum_job *j)
{
    return (sum_types){j->a.rows.index_type, j->b.rows.index_type, j->to.index_type,
                       j->a.rows.value_type, j->b.rows.value_type, j->to.value_type};
}

static bool are_narrow(sum_types t)
{
    return t.a == SPRY_I32 && t.b == SPRY_I32 && t.c == SPRY_I32;
}

static void count_rows(void *job, int64_t begin, int64_t end)
{
    sum_job *j = job;
    sum_types types = types_of(j);
    if (are_narrow(types)) {
        merge_rows(j, begin, end, counted, false);
        return;
    }
    types.a_values = types.b_values = types.c_values = SPRY_PATTERN;
    merge_rows(j, begin, end, types, false);
}

static void fill_rows(void *job, int64_t begin, int64_t end)
{
    SPRYI_DEFAULT_FLOATS;
    sum_job *j = job;
    const sum_types t = types_of(j);
    if (are_narrow(t) && t.a_values == SPRY_F64 && t.b_values == SPRY_F64 && t.c_values == SPRY_F64)
        merge_rows(j, begin, end, all_f64, true);
    else if (are_narrow(t) && t.a_values == SPRY_F32 && t.b_values == SPRY_F32 && t.c_values == SPRY_F32)
        merge_rows(j, begin, end, all_f32, true);
    else
        merge_rows(j, begin, end, t, true);
}

/* Builds j->to. */
static spry_status merge(spry_context *context, sum_job *j, spry_error *err)
{
    enum { ROWS = 1024 };
    spryi_compressed *to = &j->to;
    const int threads = spryi_threads(context, to->majors + j->a.rows.nnz + j->b.rows.nnz);
    SPRYI_OK_OR_RETURN(SPRYI_NEW(context, &to->offsets, to->majors + 1, "offsets", err));
    spryi_loop(context, threads, to->majors, ROWS, count_rows, j);
    spryi_scan(to->offsets, to->majors);
    to->nnz = to->offsets[to->majors];
    to->distinct = 1;
    SPRYI_OK_OR_RETURN(spryi_compressed_allocate(context, to, err));
    spryi_loop(context, threads, to->majors, ROWS, fill_rows, j);
    return SPRY_OK;
}

/* Returns the symmetry that C has if no operand has duplicates. */
static spry_symmetry common_symmetry(const spry_matrix *A, const spry_matrix *B)
{
    return A->a.symmetry == B->a.symmetry ? A->a.symmetry : SPRY_GENERAL;
}

static spry_status add_on_host(spry_context *context, spry_matrix **C, double alpha, const spry_matrix *A, double beta,
                               const spry_matrix *B, spry_matrix_options *o, spry_error *err)
{
    spry_status status = SPRY_OK;
    spry_matrix *a = NULL, *b = NULL, *made = NULL;
    spryi_compressed a_copy = {0}, b_copy = {0};
    sum_job j = {.a.factor = alpha, .b.factor = beta};
    SPRYI_TRY(spryi_check_result(o, A->a.rows, A->a.columns, 0, err));
    SPRYI_TRY(spryi_matrix_entries(A, &a, err));
    SPRYI_TRY(spryi_matrix_entries(B, &b, err));
    SPRYI_TRY(spryi_show_rows(context, &j.a.rows, &a_copy, a, true, err));
    if (a == b)
        j.b.rows = j.a.rows;
    else
        SPRYI_TRY(spryi_show_rows(context, &j.b.rows, &b_copy, b, true, err));
    j.to = (spryi_compressed){.majors = A->a.rows,
                              .minors = A->a.columns,
                              .index_type = o->index_type,
                              .value_type = o->value_type};
    SPRYI_TRY(merge(context, &j, err));
    const spry_symmetry symmetry = j.repeats > 0 ? SPRY_GENERAL : common_symmetry(a, b);
    const bool holds = symmetry != SPRY_GENERAL && a->symmetry_holds && b->symmetry_holds;
    SPRYI_TRY(spryi_deliver_rows(context, &made, &j.to, o, A, symmetry, err));
    made->symmetry_holds = holds;
    if (o->value_type != SPRY_PATTERN) made->field = SPRYI_REAL;
    *C = made;
done:
    spryi_matrix_release(a);
    spryi_matrix_release(b);
    spryi_compressed_clear(context, &a_copy);
    spryi_compressed_clear(context, &b_copy);
    spryi_compressed_clear(context, &j.to);
    return status;
}

static spry_status add_on_device(spry_context *context, spry_matrix **C, double alpha, const spry_matrix *A,
                                 double beta, const spry_matrix *B, const spry_matrix_options *o, spry_type natural,
                                 spry_error *err)
{
    spry_status status = SPRY_OK;
    spryi_device_result result;
    spryi_device_term a = {.factor = alpha}, b = {.factor = beta};
    bool a_repeats = false, b_repeats = false;
    SPRYI_OK_OR_RETURN(spryi_begin_on_device(&result, context, "add", A, o, natural, err));
    SPRYI_TRY(spryi_rising_on_device(&result, 0, &a.rows, &a_repeats, result.entries[0], err));
    if (A == B) {
        b.rows = a.rows;
    } else {
        SPRYI_TRY(spryi_matrix_entries(B, &result.entries[1], err));
        SPRYI_TRY(spryi_rising_on_device(&result, 1, &b.rows, &b_repeats, result.entries[1], err));
    }
    if (!a_repeats && !b_repeats) result.symmetry = common_symmetry(A, B);
    SPRYI_TRY(result.functions->add(result.device, &result.made, &a, &b, err));
    result.rises = true;
    SPRYI_TRY(spryi_deliver_from_device(&result, C, A, o, err));
    (*C)->symmetry_holds = (*C)->a.symmetry != SPRY_GENERAL && A->symmetry_holds && B->symmetry_holds;
    if (o->value_type != SPRY_PATTERN) (*C)->field = SPRYI_REAL;
done:
    spryi_end_on_device(&result);
    return status;
}

/* Returns the type that represents the values of both operands. */
static spry_type common_type(spry_type a, spry_type b)
{
    if (a == SPRY_PATTERN || a == b) return b;
    return b == SPRY_PATTERN ? a : SPRY_F64;
}

static spry_status check_operands(const spry_matrix *A, const spry_matrix *B, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_check_arithmetic("add", "A", A->a.value_type, err));
    SPRYI_OK_OR_RETURN(spryi_check_arithmetic("add", "B", B->a.value_type, err));
    if (A->a.rows != B->a.rows || A->a.columns != B->a.columns)
        return spryi_fail_value(err, SPRY_INVALID_SIZE, "B", A->a.rows != B->a.rows ? B->a.rows : B->a.columns,
                                A->a.rows != B->a.rows ? A->a.rows : A->a.columns,
                                "add: A is %lld x %lld and B is %lld x %lld, expected equal sizes",
                                (long long)A->a.rows, (long long)A->a.columns, (long long)B->a.rows,
                                (long long)B->a.columns);
    if (A->a.device != B->a.device)
        return spryi_fail_value(err, SPRY_INVALID_ARGUMENT, "B", B->a.device, A->a.device,
                                "add: A is on device %d and B on device %d, expected one device", A->a.device,
                                B->a.device);
    return SPRY_OK;
}

static spry_status check_sum_options(const spry_matrix_options *o, const void *alpha, const void *beta, spry_error *err)
{
    SPRYI_OK_OR_RETURN(spryi_check_arithmetic("add", "value_type", o->value_type, err));
    if (o->keep_duplicates)
        return spryi_fail(err, SPRY_UNSUPPORTED, "keep_duplicates",
                          "add: keep_duplicates is true, but a sum has each position once");
    if (o->value_type == SPRY_PATTERN && (alpha || beta))
        return spryi_fail(err, SPRY_INVALID_ARGUMENT, alpha ? "alpha" : "beta",
                          "add: %s is given, but the sum is a pattern, which has no values", alpha ? "alpha" : "beta");
    return SPRY_OK;
}

spry_status spry_matrix_add(spry_context *context, spry_matrix **C, const void *alpha, const spry_matrix *A,
                            const void *beta, const spry_matrix *B, const spry_matrix_options *options, spry_error *err)
{
    SPRYI_NEEDS(context, err);
    SPRYI_NEEDS(C, err);
    SPRYI_NEEDS(A, err);
    SPRYI_NEEDS(B, err);
    spry_matrix_options o;
    const spry_matrix *widest = B->a.index_type == SPRY_I64 ? B : A;
    SPRYI_OK_OR_RETURN(spryi_take_matrix_options(&o, options, "add", widest, err));
    SPRYI_OK_OR_RETURN(check_operands(A, B, err));
    const spry_type natural = common_type(A->a.value_type, B->a.value_type);
    if (o.value_type == SPRY_TYPE_DEFAULT) o.value_type = natural;
    SPRYI_OK_OR_RETURN(check_sum_options(&o, alpha, beta, err));
    const double a = alpha ? spryi_value_at(alpha, o.value_type, 0) : 1;
    const double b = beta ? spryi_value_at(beta, o.value_type, 0) : 1;
    return A->a.device > 0 ? add_on_device(context, C, a, A, b, B, &o, natural, err)
                           : add_on_host(context, C, a, A, b, B, &o, err);
}
