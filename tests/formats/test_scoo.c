/* Tests of SCOO: slices, the order of entries, slice heights, damaged storage. */
#include "support.h"

#include "formats/scoo/scoo.h"
#include "plan/plan.h"
#include "spry/matrix.h"

/* The matrix drawn in scoo.h, with one duplicate and one unsorted row. */
static const int32_t offsets[] = {0, 2, 4, 6}, columns[] = {0, 2, 1, 1, 3, 0};
static const double values[] = {1, 2, 3, 4, 5, 6};

static spry_matrix *drawn(spry_context *context)
{
    return borrow_csr(context, 3, 4, offsets, columns, values);
}

static void slices_are_as_drawn(void **state)
{
    static const int32_t slices[] = {0, 4, 6}, ordered[] = {0, 1, 1, 2, 0, 3};
    static const uint16_t rows[] = {0, 1, 1, 0, 0, 0};
    static const double stored[] = {1, 3, 4, 2, 6, 5};
    spry_context *context = context_of(2);
    spry_matrix *A = drawn(context);
    spry_spmv_plan *plan = plan_in(context, A, "scoo:height=2", NULL, SPRY_NO_TRANSPOSE);
    const spryi_scoo *s = plan->forward.stored.storage;
    assert_int_equal(s->head.slices, 2);
    assert_memory_equal(s->offsets, slices, sizeof slices);
    assert_memory_equal(s->columns, ordered, sizeof ordered);
    assert_memory_equal(s->rows, rows, sizeof rows);
    assert_memory_equal(s->values, stored, sizeof stored);
    assert_int_equal(spryi_storage_bytes(&spryi_format_scoo, s), 6 * (4 + 2 + 8) + 3 * 4);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * Compares products of storages with different slice heights. The radix sort of the columns uses one, two and three
 * digits. x has small integers, so sums are exact in any order.
 */
static void heights_give_the_same(void **state)
{
    static const char *const matrices[] = {"uni18,rows=900,degree=7", "uni18,rows=70000,degree=3",
                                           "uni18,rows=70000,degree=9"};
    static const char *const formats[] = {"scoo", "scoo:height=1", "scoo:height=999", "scoo:height=65536"};
    spry_context *context = context_of(2);
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) {
        spry_matrix *A = generate_matrix(context, matrices[m]);
        spry_matrix_options convert = SPRY_INIT(spry_matrix_options);
        convert.value_type = SPRY_PATTERN;
        spry_matrix *ones = convert_matrix(context, A, &convert);
        spry_arrays a = arrays_of(ones);
        static double x[70000], y[70000], exact[70000];
        for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++) {
            const int32_t *Ap = a.offsets, *Aj = a.indices;
            for (int64_t i = 0; i < a.rows; i++) {
                x[i] = (double)(i % 1001 - 500);
                exact[i] = 0;
            }
            for (int64_t i = 0; i < a.rows; i++)
                for (int32_t k = Ap[i]; k < Ap[i + 1]; k++) {
                    if (op == SPRY_TRANSPOSE)
                        exact[Aj[k]] += x[i];
                    else
                        exact[i] += x[Aj[k]];
                }
            for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
                if (a.rows > 1000 && f == 1) continue; /* one slice per row */
                spry_spmv_plan *plan = plan_in(context, ones, formats[f], NULL, (spry_op)op);
                assert_int_equal(spryi_format_scoo.check(context, plan->forward.stored.storage, NULL), SPRY_OK);
                multiply_f64(plan, y, a.rows, x, a.rows);
                for (int64_t i = 0; i < a.rows; i++)
                    if (y[i] != exact[i])
                        fail_msg("%s of %s, op %d: y[%lld] is %g instead of %g", formats[f], matrices[m], op,
                                 (long long)i, y[i], exact[i]);
                spry_spmv_plan_destroy(plan);
            }
        }
        spry_matrix_destroy(ones);
        spry_matrix_destroy(A);
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/* Asserts that the format's check finds every damage to a restored storage. */
static void damage_is_seen(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = drawn(context);
    spry_spmv_plan *plan = plan_in(context, A, "scoo:height=2", NULL, SPRY_NO_TRANSPOSE);
    spryi_scoo *s = plan->forward.stored.storage;
    spry_error err = SPRY_ERROR_INIT;
    assert_int_equal(spryi_format_scoo.check(context, s, &err), SPRY_OK);
#define DAMAGED(what, with)                                                                                            \
    do {                                                                                                               \
        __typeof__(what) kept_ = (what);                                                                               \
        (what) = (with);                                                                                               \
        assert_int_equal(spryi_format_scoo.check(context, s, &err), SPRY_BAD_FILE);                                    \
        (what) = kept_;                                                                                                \
    } while (0)
    DAMAGED(s->head.rows, -1);
    DAMAGED(s->head.height, 0);
    DAMAGED(s->head.height, 3);
    DAMAGED(s->head.slices, 3);
    DAMAGED(s->head.nnz, 5);
    DAMAGED(s->head.value_type, 9);
    DAMAGED(((int32_t *)s->offsets)[0], 1);
    DAMAGED(((int32_t *)s->offsets)[1], 7);
    DAMAGED(((int32_t *)s->columns)[3], 4);
    DAMAGED(((int32_t *)s->columns)[1], 3);
    DAMAGED(((uint16_t *)s->rows)[5], 1);
    assert_int_equal(spryi_format_scoo.check(context, s, &err), SPRY_OK);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Checks the slice height for a GPU and a matrix of `rows` rows with `mean` entries each. */
static void expect_gpu_height(int64_t rows, int64_t mean, spry_type type, const char *expected)
{
    spry_context *context = context_of(1);
    struct spry_matrix csr = {.a = {.rows = rows, .columns = rows, .nnz = rows * mean, .value_type = type}};
    const spryi_build_request request = {.csr = &csr, .value_type = type, .massively_parallel = 1};
    spryi_cost figure = {0};
    assert_int_equal(spryi_format_scoo.predict(context, &figure, &request, NULL), SPRY_OK);
    assert_string_equal(figure.parameters, expected);
    spry_context_destroy(context);
}

/*
 * A GPU with 132 multiprocessors gets one slice per multiprocessor. If rows have 16 entries or more on average, slices
 * are twice as high. The y of a slice takes at most 96 KB. Heights are multiples of 32.
 */
static void heights_for_gpus(void **state)
{
    expect_gpu_height(0, 0, SPRY_F64, "height=32");
    expect_gpu_height(1000, 3, SPRY_F64, "height=32");
    expect_gpu_height(1 << 18, 7, SPRY_F64, "height=2016");
    expect_gpu_height(1500000, 18, SPRY_F64, "height=11392");
    expect_gpu_height(1500000, 18, SPRY_F32, "height=22752");
    expect_gpu_height(1500000, 15, SPRY_F32, "height=11392");
    expect_gpu_height(4000000, 5, SPRY_F64, "height=7584");
    expect_gpu_height(4000000, 5, SPRY_F32, "height=15168");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_are_as_drawn),
        cmocka_unit_test(heights_for_gpus),
        cmocka_unit_test(heights_give_the_same),
        cmocka_unit_test(damage_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
