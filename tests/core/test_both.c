/* Plans of both directions on the CPU. */
#include "both_support.h"

/* A kernel by name, a pattern with scalings, an ordering: each direction has them. */
static void other_options(void **state)
{
    (void)state;
    spry_context *context = make_context(NULL, 1);
    spry_matrix *A = matrix(context, "rmat,scale=9");
    static const char *const kernels[] = {"csr_portable_cpu", "packed_portable_cpu", "ell_portable_cpu"};
    for (int k = 0; k < 4; k++) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        spry_spmv_plan *plan = NULL;
        spry_error err = SPRY_ERROR_INIT;
        o.both_directions = 1;
        o.memory_limit_bytes = INT64_MAX; /* in place of the padding guard */
        if (k < 3) o.kernel = kernels[k];
        if (k == 3) o.ordering = "rcm";
        if (spry_spmv_plan_create(context, &plan, A, &o, &err) != SPRY_OK) fail_msg("%s", err.message);
        double x[512], y[512], alpha = 2;
        for (int i = 0; i < 512; i++) x[i] = 1.0 / (i + 1);
        for (int t = 0; t < 2; t++) {
            spry_run_options run = SPRY_INIT(spry_run_options);
            spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
            run.transpose = t;
            assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(y, 512), &alpha, spry_const_vector_f64(x, 512),
                                                NULL, &run, NULL),
                             SPRY_OK);
            assert_int_equal(spry_spmv_verify(context, &v, A, t ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE, &alpha,
                                              spry_const_vector_f64(x, 512), NULL, (spry_const_vector){0},
                                              spry_const_vector_f64(y, 512), NULL),
                             SPRY_OK);
            assert_int_equal(v.wrong_rows, 0);
        }
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_ways), cmocka_unit_test(one_storage_of_symmetric),
                                       cmocka_unit_test(other_values), cmocka_unit_test(limits_and_refusals),
                                       cmocka_unit_test(other_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
