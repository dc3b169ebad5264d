/* Tests of patterns whose rows and columns are scaled. */
#include "spry/tune.h"
#include "support.h"

/* Scales a vector x that has no elements, so the plan needs no workspace. The result must be y = beta*y. */
static void scaling_of_nothing(void **state)
{
    spry_context *context = context_of(1);
    const int32_t offsets[4] = {0}, columns[1] = {0};
    const double scaling[1] = {1};
    for (int transposed = 0; transposed < 2; transposed++) {
        spry_arrays a = csr_arrays(transposed ? 0 : 3, transposed ? 3 : 0, offsets, columns, NULL, SPRY_PATTERN);
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.op = transposed ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        *(transposed ? &o.row_scaling : &o.column_scaling) = scaling;
        const double beta = 2;
        double y[3] = {1, 2, 3};
        spry_matrix *B = create_matrix(context, &a);
        spry_spmv_plan *plan = create_plan(context, B, &o);
        assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(y, 3), NULL, spry_const_vector_f64(NULL, 0), &beta,
                                            NULL, NULL),
                         SPRY_OK);
        for (int i = 0; i < 3; i++) assert_true(y[i] == 2 * (i + 1));
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(B);
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/* Applies row_scaling to empty rows, and column_scaling to empty columns, with factors that are not finite. */
static void scaling_by_no_number(void **state)
{
    spry_context *context = context_of(1);
    static const int32_t offsets[] = {0, 0, 1, 1, 2}, columns[] = {0, 2};
    static const double rows[] = {NAN, 2, INFINITY, 3}, cols[] = {1, NAN, 0.5}, x[] = {5, 7, 8}, zero = 0, two = 2;
    for (int f = 0; f < format_count(); f++) {
        spry_format_info format = format_info(f);
        spry_arrays a = csr_arrays(4, 3, offsets, columns, NULL, SPRY_PATTERN);
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.row_scaling = rows;
        o.column_scaling = cols;
        o.format = format.name;
        double y[] = {1, 1, 1, 1};
        spry_matrix *B = create_matrix(context, &a);
        spry_spmv_plan *plan = create_plan(context, B, &o);
        const spry_const_vector from = spry_const_vector_f64(x, 3);
        const spry_vector to = spry_vector_f64(y, 4);
        assert_int_equal(spry_spmv_plan_run(plan, to, &zero, from, &two, NULL, NULL), SPRY_OK);
        for (int i = 0; i < 4; i++) assert_true(y[i] == 2);
        assert_int_equal(spry_spmv_plan_run(plan, to, NULL, from, &two, NULL, NULL), SPRY_OK);
        assert_true(isnan(y[0]) && y[1] == 14 && isnan(y[2]) && y[3] == 16);
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(B);
    }
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scaling_of_nothing), cmocka_unit_test(scaling_by_no_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
