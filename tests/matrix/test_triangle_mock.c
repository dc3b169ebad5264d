/*
 * Tests of plans on a device for a matrix that stores one triangle. After an update, products must use the new values
 * in host memory.
 */
#include "mock/mock.h"
#include "support.h"

enum { N = 4 };

/* The lower triangle of a symmetric 4 x 4 matrix: values[0] to [5] at (0,0) (1,0) (2,2) (3,0) (3,1) (3,3). */
static const int32_t offsets[] = {0, 1, 2, 3, 6}, columns[] = {0, 0, 2, 0, 1, 3};

static void expect(const spry_spmv_plan *plan, const double *v)
{
    const double x[N] = {1, 2, 3, 4},
                 y[N] = {v[0] + 2 * v[1] + 4 * v[3], v[1] + 4 * v[4], 3 * v[2], v[3] + 2 * v[4] + 4 * v[5]};
    double got[N];
    multiply_f64(plan, got, N, x, N);
    assert_memory_equal(y, got, sizeof y);
}

static void test_plans(void **state)
{
    static const struct {
        const char *format, *ordering;
        int row_major, converts;
    } cases[] = {{"csr", NULL, 0, 0}, {"csr", NULL, 1, 0},  {"ell", NULL, 0, 0},
                 {"ell", NULL, 0, 1}, {"csr", "rcm", 0, 0}, {"ell", "rcm", 0, 1}};
    for (int c = 0; c < TEST_COUNT(cases); c++) {
        double values[] = {1, 2, 3, 4, 5, 6}, others[] = {6, 7, 8, 9, 10, 11};
        spry_context *context = context_of(0);
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        spry_update_options update = SPRY_INIT(spry_update_options);
        const spry_arrays a = test_lower_triangle(N, offsets, columns, values);
        options.device = 1;
        options.format = cases[c].format;
        options.ordering = cases[c].ordering;
        options.row_major = cases[c].row_major;
        mock.converts = cases[c].converts;
        spry_matrix *A = create_matrix(context, &a);
        spry_spmv_plan *plan = create_plan(context, A, &options);
        spry_spmv_plan_info info = plan_info(plan);
        assert_int_equal(1, info.expanded);
        expect(plan, values);
        values[1] = 20;
        MUST(spry_spmv_plan_update(plan, NULL, err));
        expect(plan, values);
        update.values = others;
        MUST(spry_spmv_plan_update(plan, &update, err));
        expect(plan, others);
        spry_matrix_destroy(A);
        spry_spmv_plan_destroy(plan);
        mock.converts = 0;
        assert_int_equal(0, context_bytes(context));
        spry_context_destroy(context);
        assert_int_equal(0, mock.blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
