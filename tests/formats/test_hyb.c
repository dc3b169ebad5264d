/* Tests of HYB: explicit and automatic widths, predicted sizes, alpha that is not finite. */
#include "testing.h"

#include "formats/hyb/hyb.h"
#include "plan/plan.h"
#include "spry/tune.h"

/* The matrix drawn in hyb.h. */
static const int32_t Ap[] = {0, 2, 3, 5}, Aj[] = {0, 2, 1, 0, 3};
static const double Ax[] = {1, 2, 3, 4, 5};

static void widths(void **state)
{
    static const struct {
        const char *format;
        int64_t width, rest;
    } cases[] = {
        {"hyb", 2, 0},          {"hyb:width=1", 1, 2},  {"hyb:width=3", 3, 0},
        {"hyb:share=33", 1, 2}, {"hyb:share=34", 2, 0}, {"hyb:share=100", 2, 0},
    };
    spry_context *context = context_of(0);
    spry_error err = SPRY_ERROR_INIT;
    spry_matrix *A = borrow_csr(context, 3, 4, Ap, Aj, Ax);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spryi_storage storage = {0};
        options.format = cases[c].format;
        spry_spmv_plan *plan = create_plan(context, A, &options);
        assert_int_equal(spryi_predict_storage(context, &storage, A, &options, NULL), SPRY_OK);
        const spryi_hyb *s = plan->forward.stored.storage;
        assert_int_equal(s->ell.width, cases[c].width);
        assert_int_equal(s->rest, cases[c].rest);
        assert_int_equal(storage.words, 2 * 3 * cases[c].width + 3 * cases[c].rest);
        double x[] = {1, 10, 100, 1000}, y[] = {NAN, NAN, NAN};
        multiply_f64(plan, y, 3, x, 4);
        assert_true(y[0] == 201 && y[1] == 30 && y[2] == 5004);
        spry_spmv_plan_destroy(plan);
    }
    spry_spmv_plan *none = NULL;
    options.format = "hyb:width=1:share=50";
    assert_int_equal(spry_spmv_plan_create(context, &none, A, &options, &err), SPRY_INVALID_ARGUMENT);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * alpha is Inf. Row 0 gives Inf * (1*3 - 2*1) = Inf. Multiplying the ELL part and the COO part by alpha separately
 * would give Inf - Inf.
 */
static void alpha_is_infinite(void **state)
{
    spry_context *context = context_of(0);
    spry_matrix *A = borrow_csr(context, 3, 4, Ap, Aj, Ax);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = "hyb:width=1";
    spry_spmv_plan *plan = create_plan(context, A, &options);
    double alpha = INFINITY, beta = 0, x[] = {3, 1, -1, -1}, y[] = {0, 0, 0};
    assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(y, 3), &alpha, spry_const_vector_f64(x, 4), &beta, NULL,
                                        NULL),
                     SPRY_OK);
    for (int i = 0; i < 3; i++) assert_true(isinf(y[i]) && y[i] > 0);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * Asserts that the format's check finds damage to the COO part: a row or column out of range, descending rows, and a
 * wrong entry count.
 */
static void check_sees_damage(void **state)
{
    spry_context *context = context_of(0);
    spry_error err = SPRY_ERROR_INIT;
    spry_matrix *A = borrow_csr(context, 3, 4, Ap, Aj, Ax);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = "hyb:width=1";
    spry_spmv_plan *plan = create_plan(context, A, &options);
    spryi_hyb *s = plan->forward.stored.storage;
    int32_t *rows = s->rows, *columns = s->columns;
    assert_int_equal(spryi_format_hyb.check(context, s, &err), SPRY_OK);
    rows[1] = 3;
    assert_int_equal(spryi_format_hyb.check(context, s, &err), SPRY_BAD_FILE);
    rows[0] = 2, rows[1] = 0;
    assert_int_equal(spryi_format_hyb.check(context, s, &err), SPRY_BAD_FILE);
    rows[0] = 0, rows[1] = 2;
    assert_int_equal(spryi_format_hyb.check(context, s, &err), SPRY_OK);
    columns[1] = 4;
    assert_int_equal(spryi_format_hyb.check(context, s, &err), SPRY_BAD_FILE);
    columns[1] = 3;
    s->rest = 6;
    assert_int_equal(spryi_format_hyb.check(context, s, &err), SPRY_BAD_FILE);
    s->rest = 2;
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths),
        cmocka_unit_test(alpha_is_infinite),
        cmocka_unit_test(check_sees_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
