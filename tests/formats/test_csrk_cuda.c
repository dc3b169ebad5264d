/*
 * Tests of CSR-k on a GPU, with the caller's groups and with the paper's case selected by the longest row. Skipped
 * without a GPU.
 */
#include "base/context.h"
#include "formats/csrk/csrk.h"
#include "plan/plan.h"
#include "spry/matrix.h"
#include "spry/study.h"
#include "spry/tune.h"
#include "testing.h"

enum { GPU = 1, MOST = 4096 };

/* Checks that a plan with this kernel multiplies A by x correctly. */
static void check(spry_context *context, const spry_matrix *A, spry_spmv_options options, const char *kernel, int which)
{
    static double x[MOST], y[MOST];
    const int64_t m = A->a.rows;
    spry_vector none = {0}, xv = spry_vector_f64(x, m), yv = spry_vector_f64(y, m);
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    options.device = GPU;
    assert_true(m <= MOST && A->a.columns == m);
    for (int64_t j = 0; j < m; j++) x[j] = (double)(j % 13) - 6.25;
    memset(y, 0, sizeof y);
    spry_spmv_plan *plan = create_plan(context, A, &options);
    assert_int_equal(SPRY_OK, spry_spmv_plan_run(plan, yv, NULL, spry_vector_as_const(xv), NULL, NULL, NULL));
    assert_int_equal(SPRY_OK, spry_spmv_verify(context, &v, A, SPRY_NO_TRANSPOSE, NULL, spry_vector_as_const(xv), NULL,
                                               spry_vector_as_const(none), spry_vector_as_const(yv), NULL));
    assert_int_equal(0, v.wrong_rows);
    spry_spmv_plan_info info = plan_info(plan);
    assert_string_equal(kernel, info.kernel);
    if (which > 0) assert_int_equal(which, ((const spryi_csrk *)plan->forward.stored.storage)->which);
    spry_spmv_plan_destroy(plan);
}

/* Tests the groups of figure 1 of the CSR-k paper, and uneven groups of a larger matrix. */
static void groups_of_the_caller(void **state)
{
    static const int64_t sr[] = {0, 2, 5, 7, 9}, ssr[] = {0, 2, 4};
    static const int64_t uneven[] = {0, 1, 2, 1000, 1003, 1024}, outer[] = {0, 1, 5};
    spry_context *context = *state;
    for (int f = 0; f < 2; f++) {
        spry_matrix *A = generate_matrix(context, f == 0 ? "grid5,x=3,y=3" : "grid5,x=32,y=32");
        spry_ordering *ordering = NULL;
        spry_groups g = SPRY_INIT(spry_groups);
        g.rows = f == 0 ? 9 : 1024;
        g.sr_count = f == 0 ? 4 : 5;
        g.sr_ptr = f == 0 ? sr : uneven;
        g.ssr_count = 2;
        g.ssr_ptr = f == 0 ? ssr : outer;
        assert_int_equal(SPRY_OK, create_groups(context, &ordering, &g, NULL));
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.groups = ordering;
        options.format = "csr3";
        check(context, A, options, "csr3_gpuspmv3_cuda", SPRYI_GROUP_CASE_1);
        options.format = "csr2";
        check(context, A, options, "csr2_lanes_cuda", 0);
        spry_ordering_destroy(ordering);
        spry_matrix_destroy(A);
    }
}

/*
 * Tests a matrix with rows of three entries and one dense row. The mean row length gives one thread per row, the
 * longest row gives 16 lanes per row.
 */
static void case_by_the_longest_row(void **state)
{
    spry_context *context = *state;
    spry_matrix *A = generate_matrix(context, "arrow,rows=2000,width=1"),
                *grid = generate_matrix(context, "grid5,x=20,y=20");
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = "csr3";
    check(context, A, options, "csr3_gpuspmv3_cuda", SPRYI_GROUP_CASE_1);
    options.format = "csr3:by=longest";
    check(context, A, options, "csr3_gpuspmv35_cuda", SPRYI_GROUP_CASE_4);
    check(context, grid, options, "csr3_gpuspmv3_cuda", SPRYI_GROUP_CASE_1);
    options.format = "csr3:by=longest:tuning=ampere-ssrs";
    check(context, A, options, "csr3_gpuspmv35_cuda", SPRYI_GROUP_CASE_4);
    spry_matrix_destroy(A);
    spry_matrix_destroy(grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_of_the_caller, open_context, close_context),
        cmocka_unit_test_setup_teardown(case_by_the_longest_row, open_context, close_context),
    };
    return has_gpu() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
