/*
 * Tests of ELL: the layout drawn in ell.h, the number of stored values and indices (words), padding, and damaged
 * storages. In a strided run, the columns of each row are those of the row before plus 1.
 */
#include "testing.h"

#include "formats/ell/ell.h"
#include "plan/plan.h"
#include "spry/tune.h"

/* The matrix drawn in ell.h. */
static const int32_t Ap[] = {0, 2, 3, 5}, Aj[] = {0, 2, 1, 0, 3};
static const double Ax[] = {1, 2, 3, 4, 5};

static spry_spmv_plan *plan_of(spry_context *context, spry_matrix **A, const char *format, const char *kernel)
{
    spry_error err = SPRY_ERROR_INIT;
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = format;
    options.kernel = kernel;
    if (!*A) assert_int_equal(spry_matrix_borrow_csr_f64(context, A, 3, 4, Ap, Aj, Ax, &err), SPRY_OK);
    return create_plan(context, *A, &options);
}

static void layout(void **state)
{
    static const double values[] = {1, 3, 4, 2, 0, 5};
    static const int32_t columns[] = {0, 1, 0, 2, 1, 3}, lengths[] = {2, 1, 2};
    spry_context *context = context_of(0);
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = plan_of(context, &A, "ell", NULL);
    const spryi_ell *s = plan->forward.stored.storage;
    assert_int_equal(s->width, 2);
    assert_memory_equal(s->values, values, sizeof values);
    assert_memory_equal(s->columns, columns, sizeof columns);
    assert_memory_equal(s->lengths, lengths, sizeof lengths);
    spryi_storage storage = {0};
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = "ell";
    assert_int_equal(spryi_predict_storage(context, &storage, A, &options, NULL), SPRY_OK);
    assert_int_equal(storage.words, 2 * 3 * 2);
    assert_int_equal(storage.padding, 1);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * Row 1 has one entry and one padding slot, both in column 1. An infinite x[1] must be multiplied only by the entry,
 * since 0*Inf of the padding would be NaN.
 */
static void padding_is_not_multiplied(void **state)
{
    spry_context *context = context_of(0);
    spry_matrix *A = NULL;
    for (int k = 0; k < 2; k++) {
        spry_spmv_plan *plan = plan_of(context, &A, "ell", k < 1 ? "ell_portable_cpu" : NULL);
        double x[] = {1, INFINITY, 1, 1}, y[3];
        multiply_f64(plan, y, 3, x, 4);
        assert_true(y[0] == 3 && isinf(y[1]) && y[1] > 0 && y[2] == 9);
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * Asserts that the format's check finds damage to a storage. One damage is a changed column in rows that the storage
 * states to be a strided run.
 */
static void check_sees_damage(void **state)
{
    spry_context *context = context_of(0);
    spry_matrix *A = generate_matrix(context, "grid5,x=100,y=20");
    spry_spmv_plan *plan = plan_of(context, &A, "ell", NULL);
    spryi_ell *s = plan->forward.stored.storage;
    int64_t strided = -1;
    for (int64_t q = 0; q < s->a.rows / SPRYI_ELL_SLICE && strided < 0; q++)
        if (s->runs[q] > 1) strided = q;
    assert_true(strided >= 0);
    spry_error err = SPRY_ERROR_INIT;
    assert_int_equal(spryi_format_ell.check(context, s, &err), SPRY_OK);
#define REFUSE(place, value)                                                                                           \
    do {                                                                                                               \
        __typeof__(place) kept = (place);                                                                              \
        (place) = (value);                                                                                             \
        assert_int_equal(spryi_format_ell.check(context, s, &err), SPRY_BAD_FILE);                                     \
        (place) = kept;                                                                                                \
        assert_int_equal(spryi_format_ell.check(context, s, &err), SPRY_OK);                                           \
    } while (0)
    REFUSE(s->lengths[0], (int32_t)s->width + 1);
    REFUSE(s->lengths[0], -1);
    REFUSE(s->lengths[0], s->lengths[0] - 1);
    REFUSE(((int32_t *)s->columns)[7], (int32_t)s->a.columns);
    REFUSE(((int32_t *)s->columns)[7], -1);
    REFUSE(((int32_t *)s->columns)[strided * SPRYI_ELL_SLICE + 3], 0);
    REFUSE(s->runs[0], 200);
    REFUSE(s->width, -1);
    REFUSE(s->width, INT64_MAX);
    REFUSE(s->block_rows, 8);
    REFUSE(s->block_count, s->block_count + 1);
    REFUSE(s->a.rows, -5);
    REFUSE(s->a.nnz, s->a.nnz + 1);
    REFUSE(s->a.index_type, (spry_index_type)7);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout),
        cmocka_unit_test(padding_is_not_multiplied),
        cmocka_unit_test(check_sees_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
