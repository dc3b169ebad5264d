/* Patterns with factors for rows and columns. */
#include "support.h"

/* x is scaled and has no elements, so that the plan needs no workspace: y = beta*y all the same. */
static void scaling_of_nothing(void **state)
{
    (void)state;
    spry_context *context = make_context(NULL, 1);
    const int32_t offsets[4] = {0}, columns[1] = {0};
    const double scaling[1] = {1};
    for (int transposed = 0; transposed < 2; transposed++) {
        spry_arrays a = SPRY_INIT(spry_arrays);
        a.rows = transposed ? 0 : 3;
        a.cols = transposed ? 3 : 0;
        a.layout = SPRY_CSR;
        a.value_type = SPRY_PATTERN;
        a.index_type = a.offset_type = SPRY_I32;
        a.offsets = offsets;
        a.indices = columns;
        spry_matrix *B = NULL;
        spry_spmv_plan *plan = NULL;
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.op = transposed ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        *(transposed ? &o.row_scaling : &o.column_scaling) = scaling;
        const double beta = 2;
        double y[3] = {1, 2, 3};
        assert_int_equal(spry_matrix_create(context, &B, &a, NULL), SPRY_OK);
        assert_int_equal(spry_spmv_plan_create(context, &plan, B, &o, NULL), SPRY_OK);
        assert_int_equal(spry_spmv_plan_run(plan, NULL, spry_vector_f64(NULL, 0), &beta, spry_vector_f64(y, 3), NULL, NULL),
                         SPRY_OK);
        for (int i = 0; i < 3; i++) assert_true(y[i] == 2 * (i + 1));
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(B);
    }
    assert_int_equal(spry_context_bytes(context), 0);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scaling_of_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
