/* Times of a product's stages: which a kernel tells, on the CPU, and by the mock on a device, in pieces too. */
#include "mock/mock.h"
#include "spgemm/support.h"
#include "spry/spgemm.h"

static const test_form plain = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};

/* 1: told, 0: told as none, -1: not told. */
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

static void check_stages(const spry_spgemm_info *info, const expected_stages *e)
{
    check_stage(e->kernel, "convert", info->convert_us, e->convert);
    check_stage(e->kernel, "count", info->count_us, e->count);
    check_stage(e->kernel, "scan", info->scan_us, e->scan);
    check_stage(e->kernel, "fill", info->fill_us, e->fill);
    check_stage(e->kernel, "sort", info->sort_us, e->sort);
}

/* The sequential ways tell all that they have; rows of two of them come out sorted. */
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
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        o.kernel = kernels[k].kernel;
        o.info = &info;
        C = multiply_matrices(*state, A, A, &o);
        spry_matrix_destroy(C);
        check_stages(&info, &kernels[k]);
        const double sum = info.count_us + info.scan_us + info.fill_us + (info.sort_us > 0 ? info.sort_us : 0);
        assert_true(sum <= info.setup_us + info.run_us);
        assert_true(info.convert_us <= info.setup_us + info.run_us);
    }
    spry_matrix_destroy(A);
}

/* A plan counts when it is made, and fills in each run. */
static void of_plans(void **state)
{
    static const expected_stages made = {"a plan", -1, 1, 1, -1, -1}, run = {"its run", -1, 1, 1, 1, TEST_STUDY(1, -1)};
    spry_matrix *A = some_matrix(*state);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.kernel = TEST_STUDY("spgemm_smmp_cpu", "spgemm_rows_cpu");
    spry_spgemm_plan *plan = create_spgemm_plan(*state, A, A, &o);
    assert_int_equal(spry_spgemm_plan_get_info(plan, &info, NULL), SPRY_OK);
    check_stages(&info, &made);
    assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL), SPRY_OK);
    assert_int_equal(spry_spgemm_plan_get_info(plan, &info, NULL), SPRY_OK);
    check_stages(&info, &run);
    assert_true(info.fill_us + info.sort_us <= info.run_us);
    spry_spgemm_plan_destroy(plan);
    spry_matrix_destroy(A);
}

/* On a device where they are asked for; those of chunks add up. */
static void of_a_device(void **state)
{
    static const expected_stages none = {"not asked for", -1, -1, -1, -1, -1};
    spry_matrix *A = some_matrix(*state);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.device = 1;
    o.result_device = SPRY_CPU;
    o.info = &info;
    spry_matrix *C = multiply_matrices(*state, A, A, &o);
    spry_matrix_destroy(C);
    check_stages(&info, &none);
    o.tell_stages = 1;
    for (int limited = 0; limited < 2; limited++) {
        o.memory_limit_bytes = limited ? info.peak_bytes * 2 / 3 : 0;
        C = multiply_matrices(*state, A, A, &o);
        spry_matrix_destroy(C);
        assert_true(limited ? info.chunks > 1 : info.chunks == 1);
        const double chunks = (double)info.chunks;
        assert_true(info.convert_us == 8 * chunks && info.count_us == chunks && info.fill_us == 2 * chunks);
        assert_true(info.scan_us == -1 && info.sort_us == 0);
    }
    spry_matrix_destroy(A);
}

/* A plan's runs do not add to one another. */
static void of_a_devices_plan(void **state)
{
    spry_matrix *A = some_matrix(*state);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.device = 1;
    o.tell_stages = 1;
    spry_spgemm_plan *plan = create_spgemm_plan(*state, A, A, &o);
    for (int run = 0; run < 3; run++) {
        assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL), SPRY_OK);
        assert_int_equal(spry_spgemm_plan_get_info(plan, &info, NULL), SPRY_OK);
        assert_true(info.count_us == 1 && info.fill_us == 2 && info.sort_us == 0);
    }
    spry_spgemm_plan_destroy(plan);
    spry_matrix_destroy(A);
}

static void refused(void **state)
{
    spry_matrix *A = some_matrix(*state), *C = NULL;
    spry_error err;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.tell_stages = 2;
    assert_int_equal(spry_spgemm(*state, &C, A, A, &o, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.message, "spgemm: tell_stages is 2, expected 0 or 1");
    assert_string_equal(err.argument, "tell_stages");
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
