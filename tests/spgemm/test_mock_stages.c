/* Stage times of a product: the stages that a kernel reports, on the CPU and on the mock device, also in chunks. */
#include "mock/mock.h"
#include "spgemm/support.h"
#include "spry/spgemm.h"
#include "spry/study.h"

static const test_form plain = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};

/* Expected time of each stage. 1: the time is positive, 0: it is zero, -1: it is not reported. */
typedef struct expected_stages {
    const char *kernel;
    int convert, count, scan, fill, sort;
} expected_stages;

static int setup(void **state)
{
    mock = (mock_state){0};
    *state = context_of(2);
    return *state == NULL;
}

static int teardown(void **state)
{
    spry_context_destroy(*state);
    return mock.blocks != 0;
}

static spry_matrix *some_matrix(spry_context *context)
{
    uint64_t seed = 7;
    test_entries e = test_make(TEST_UNIFORM, 300, 300, 8, &seed);
    spry_matrix *A = test_matrix(context, &e, plain);
    test_discard(&e);
    return A;
}

static void check_stage(const char *kernel, const char *stage, double us, int expected)
{
    const int found = us > 0 ? 1 : us == 0 ? 0 : -1;
    if (found != expected || (us < 0 && us != -1)) fail_msg("%s, %s: %g us, expected %d", kernel, stage, us, expected);
}

static void check_stages(const spry_spgemm_stages *found, const expected_stages *e)
{
    check_stage(e->kernel, "convert", found->convert_us, e->convert);
    check_stage(e->kernel, "count", found->count_us, e->count);
    check_stage(e->kernel, "scan", found->scan_us, e->scan);
    check_stage(e->kernel, "fill", found->fill_us, e->fill);
    check_stage(e->kernel, "sort", found->sort_us, e->sort);
}

/* Checks the stages of CPU kernels. The two seed kernels produce sorted rows, so their sorting takes no time. */
static void of_the_cpu(void **state)
{
    static const expected_stages kernels[] = {
#ifdef SPRY_STUDIES
        {"spgemm_seed_dot_cpu", 1, 1, 1, 1, 0},
        {"spgemm_seed_dense_cpu", -1, 1, 1, 1, 0},
        {"spgemm_smmp_cpu", -1, 1, 1, 1, 1},
#endif
        {"spgemm_rows_cpu", -1, 1, 1, 1, -1},
    };
    spry_matrix *A = some_matrix(*state), *C = NULL;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
        spry_spgemm_stages stages = SPRY_INIT(spry_spgemm_stages);
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        o.kernel = kernels[k].kernel;
        o.stages = &stages;
        C = multiply_with_info(*state, &info, A, A, &o);
        spry_matrix_destroy(C);
        check_stages(&stages, &kernels[k]);
        const double sum = stages.count_us + stages.scan_us + stages.fill_us +
                           (stages.sort_us > 0 ? stages.sort_us : 0);
        assert_true(sum <= info.setup_us + info.run_us);
        assert_true(stages.convert_us <= info.setup_us + info.run_us);
    }
    spry_matrix_destroy(A);
}

/* The stage "count" belongs to the creation of a plan, the stage "fill" to each run. */
static void of_plans(void **state)
{
    static const expected_stages made = {"a plan", -1, 1, 1, -1, -1}, run = {"its run", -1, 1, 1, 1, TEST_STUDY(1, -1)};
    spry_matrix *A = some_matrix(*state);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_stages stages = SPRY_INIT(spry_spgemm_stages);
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.stages = &stages;
    o.kernel = TEST_STUDY("spgemm_smmp_cpu", "spgemm_rows_cpu");
    spry_spgemm_plan *plan = create_spgemm_plan(*state, A, A, &o);
    check_stages(&stages, &made);
    assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, NULL), SPRY_OK);
    assert_int_equal(spry_spgemm_plan_get_info(plan, &info, NULL), SPRY_OK);
    check_stages(&stages, &run);
    assert_true(stages.fill_us + stages.sort_us <= info.run_us);
    spry_spgemm_plan_destroy(plan);
    spry_matrix_destroy(A);
}

/* A device reports stages on request. Times of chunks are summed. */
static void of_a_device(void **state)
{
    spry_matrix *A = some_matrix(*state);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_stages stages = SPRY_INIT(spry_spgemm_stages);
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.device = 1;
    o.result_device = SPRY_CPU;
    o.stages = &stages;
    for (int limited = 0; limited < 2; limited++) {
        o.memory_limit_bytes = limited ? info.peak_bytes * 2 / 3 : 0;
        spry_matrix *C = multiply_with_info(*state, &info, A, A, &o);
        spry_matrix_destroy(C);
        assert_true(limited ? info.chunks > 1 : info.chunks == 1);
        const double chunks = (double)info.chunks;
        assert_true(stages.convert_us == 8 * chunks && stages.count_us == chunks && stages.fill_us == 2 * chunks);
        assert_true(stages.scan_us == -1 && stages.sort_us == 0);
    }
    spry_matrix_destroy(A);
}

/* A plan reports the times of its latest run, not the sum of its runs. */
static void of_a_devices_plan(void **state)
{
    spry_matrix *A = some_matrix(*state);
    spry_spgemm_stages stages = SPRY_INIT(spry_spgemm_stages);
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.device = 1;
    o.stages = &stages;
    spry_spgemm_plan *plan = create_spgemm_plan(*state, A, A, &o);
    for (int run = 0; run < 3; run++) {
        assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, NULL), SPRY_OK);
        assert_true(stages.count_us == 1 && stages.fill_us == 2 && stages.sort_us == 0);
    }
    spry_spgemm_plan_destroy(plan);
    spry_matrix_destroy(A);
}

static void refused(void **state)
{
    spry_matrix *A = some_matrix(*state), *C = NULL;
    spry_error err;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_spgemm_stages stages = {0};
    o.stages = &stages;
    assert_int_equal(spry_spgemm(*state, &C, NULL, A, A, &o, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.argument, "struct_size");
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(of_the_cpu, setup, teardown),
                                       cmocka_unit_test_setup_teardown(of_plans, setup, teardown),
                                       cmocka_unit_test_setup_teardown(of_a_device, setup, teardown),
                                       cmocka_unit_test_setup_teardown(of_a_devices_plan, setup, teardown),
                                       cmocka_unit_test_setup_teardown(refused, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
