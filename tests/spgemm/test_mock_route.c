/*
 * Device "auto" of sparse products, tested with the mock device: when the GPU is chosen, and that the CPU computes
 * products if the chosen GPU fails.
 */
#include "base/context.h"
#include "matrix/matrix.h"
#include "mock/mock.h"
#include "spry/spgemm.h"
#include "support.h"

static const test_form plain = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};

static int setup(void **state)
{
    mock = (mock_state){0};
    return open_context(state);
}

static int teardown(void **state)
{
    return close_context(state) || mock.blocks != 0;
}

/* Returns a matrix whose square has 400 000 products and exceeds the caches. "auto" squares it on a started GPU. */
static spry_matrix *worth_a_gpu(spry_context *context, test_kind kind, test_form form)
{
    uint64_t seed = 5;
    test_entries e = test_make(kind, 1000, 1000, 20, &seed);
    spry_matrix *A = test_matrix(context, &e, form);
    test_discard(&e);
    return A;
}

static spry_spgemm_options automatic(void)
{
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.device = SPRY_DEVICE_AUTO;
    return o;
}

static spry_matrix *on_cpu(spry_context *context, const spry_matrix *A)
{
    return multiply_matrices(context, A, A, NULL);
}

/* Checks that the product ran on the expected device and equals the CPU's result. Values are integers. */
static spry_spgemm_info check(spry_context *context, const spry_matrix *A, const spry_spgemm_options *o,
                              const char *device, const char *reason)
{
    spry_matrix *expected = on_cpu(context, A);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_matrix *C = multiply_with_info(context, &info, A, A, o);
    assert_string_equal(info.device_name, device);
    if (!strstr(info.reason, reason)) fail_msg("\"%s\" has no \"%s\"", info.reason, reason);
    if (C->a.index_type == expected->a.index_type) { /* a GPU needs 32-bit columns */
        assert_true(test_same_bits(C, expected));
    } else {
        spry_spgemm_verification v = SPRY_INIT(spry_spgemm_verification);
        assert_int_equal(spry_spgemm_verify(context, &v, C, A, A, NULL, SPRY_VERIFY_EXACT, NULL), SPRY_OK);
        assert_int_equal(v.wrong_rows, 0);
    }
    spry_matrix_destroy(C);
    spry_matrix_destroy(expected);
    assert_int_equal(mock.blocks, 0);
    return info;
}

/*
 * The first work of a process starts the device. The GPU computes a single product only if it saves the time of this
 * start. For a plan, which is used many times, the start does not count.
 */
static void start_is_paid_for(void **state)
{
    spry_context *context = *state;
    spry_matrix *A = worth_a_gpu(context, TEST_UNIFORM, plain);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_options o = automatic();
    spry_spgemm_estimate_info e = SPRY_INIT(spry_spgemm_estimate_info);
    spry_spgemm_plan *plan = NULL;
    mock_driver.start_us = 1e9;
    for (int times = 0; times < 3; times++) { /* earlier products do not change the choice */
        assert_int_equal(spry_spgemm_estimate(context, &e, A, A, &o, NULL), SPRY_OK);
        assert_string_equal(e.device_name, "cpu");
        check(context, A, &o, "cpu", "longer to start");
        assert_int_equal(mock.products, 2 * times); /* a plan runs one product for its structure and one for its run */
        plan = create_spgemm_plan(context, A, A, &o);
        assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, NULL), SPRY_OK);
        assert_int_equal(spry_spgemm_plan_get_info(plan, &info, NULL), SPRY_OK);
        assert_string_equal(info.device_name, "mock");
        spry_spgemm_plan_destroy(plan);
    }
    mock_driver.start_us = 0;
    check(context, A, &o, "mock", "the faster one");
    assert_int_equal(spry_spgemm_estimate(context, &e, A, A, &o, NULL), SPRY_OK);
    assert_string_equal(e.device_name, "mock");
    spry_matrix_destroy(A);
}

/*
 * Small products are computed on the CPU, even if they run often: one thread ends before a GPU product could start, or
 * the data fit the caches.
 */
static void small_products(void **state)
{
    spry_context *context = *state;
    const int64_t sizes[] = {10, 300, 1500};
    for (int s = 0; s < 3; s++) {
        uint64_t seed = 3;
        test_entries e = test_make(TEST_UNIFORM, sizes[s], sizes[s], 2, &seed);
        spry_matrix *A = test_matrix(context, &e, plain);
        spry_spgemm_options o = automatic();
        check(context, A, &o, "cpu", "the faster one");
        spry_matrix_destroy(A);
        test_discard(&e);
    }
    assert_int_equal(mock.allocations, 0);
}

/* Operands in a form that the GPU cannot use are converted for the GPU. If the GPU fails, the CPU uses the original. */
static void other_operands(void **state)
{
    spry_context *context = *state;
    const test_form wide = {SPRY_CSR, SPRY_F64, SPRY_I64, SPRY_I64};
    const test_form forms[] = {wide, plain};
    for (int f = 0; f < 2; f++) {
        spry_matrix *A = worth_a_gpu(context, f == 0 ? TEST_UNIFORM : TEST_SHUFFLED, forms[f]);
        spry_spgemm_options o = automatic();
        check(context, A, &o, "mock", "the faster one");
        mock.spgemm_fails = 1;
        check(context, A, &o, "cpu", "mock: the device failed");
        mock.spgemm_fails = 0;
        spry_matrix_destroy(A);
    }
}

/*
 * If the GPU exceeds the memory limit and the CPU does not, the CPU computes the product. If both exceed the limit, the
 * message states the bytes of the CPU.
 */
static void limits(void **state)
{
    spry_context *context = *state;
    spry_matrix *A = worth_a_gpu(context, TEST_UNIFORM, plain), *C = NULL;
    spry_spgemm_estimate_info e = SPRY_INIT(spry_spgemm_estimate_info);
    assert_int_equal(spry_spgemm_estimate(context, &e, A, A, NULL, NULL), SPRY_OK);
    spry_spgemm_options o = automatic();
    spry_error err = SPRY_ERROR_INIT;
    mock.spgemm_bytes = 2 * e.least_bytes;
    o.memory_limit_bytes = e.least_bytes;
    const spry_spgemm_info info = check(context, A, &o, "cpu", "the limit is");
    assert_true(info.peak_bytes <= o.memory_limit_bytes);
    o.memory_limit_bytes = e.least_bytes - 1;
    assert_int_equal(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_TOO_LARGE);
    assert_int_equal(err.value, e.least_bytes);
    o.device = 1; /* an explicit device is not replaced */
    o.memory_limit_bytes = e.least_bytes;
    assert_int_equal(spry_spgemm(context, &C, NULL, A, A, &o, &err), SPRY_TOO_LARGE);
    assert_null(C);
    mock.spgemm_bytes = 0;
    check(context, A, &o, "mock", "asked for");
    spry_matrix_destroy(A);
}

/*
 * A plan never divides C into chunks. If the whole product exceeds the memory limit only on the GPU, the plan runs on
 * the CPU.
 */
static void plans(void **state)
{
    spry_context *context = *state;
    spry_matrix *A = worth_a_gpu(context, TEST_UNIFORM, plain), *C = NULL, *expected = on_cpu(context, A);
    spry_spgemm_estimate_info e = SPRY_INIT(spry_spgemm_estimate_info);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_options o = automatic();
    spry_spgemm_plan *plan = NULL;
    assert_int_equal(spry_spgemm_estimate(context, &e, A, A, NULL, NULL), SPRY_OK);
    for (int limited = 0; limited < 2; limited++) {
        /* With the additional bytes, the whole product exceeds the limit on the GPU. */
        mock.spgemm_bytes = limited ? e.least_bytes / 2 : 0;
        o.memory_limit_bytes = limited ? e.least_bytes : 0;
        plan = create_spgemm_plan(context, A, A, &o);
        assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, NULL), SPRY_OK);
        assert_int_equal(spry_spgemm_plan_get_result(plan, &C, NULL), SPRY_OK);
        assert_int_equal(spry_spgemm_plan_get_info(plan, &info, NULL), SPRY_OK);
        assert_string_equal(info.device_name, limited ? "cpu" : "mock");
        assert_true(test_same_bits(C, expected));
        spry_matrix_destroy(C);
        spry_spgemm_plan_destroy(plan);
        assert_int_equal(mock.blocks, 0);
    }
    if (!strstr(info.reason, "all rows together")) fail_msg("%s", info.reason);
    spry_matrix_destroy(expected);
    spry_matrix_destroy(A);
}

/* Checks the arrays that a plan on a device writes: on the host or on the device, its own array or the caller's. */
static void structure_and_values(void **state)
{
    spry_context *context = *state;
    const spryi_device *device = spryi_device_at(context, 1);
    spry_matrix *A = worth_a_gpu(context, TEST_UNIFORM, plain), *expected = on_cpu(context, A), *C = NULL;
    const size_t bytes = (size_t)expected->a.nnz * sizeof(double);
    double *values = malloc(bytes), *on_device = NULL;
    assert_int_equal(device->ops->allocate(device, (void **)&on_device, (int64_t)bytes, "values", NULL), SPRY_OK);
    for (int stays = 0; stays < 2; stays++) {
        const int64_t blocks = mock.blocks, waits = mock.stream_waits;
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        spry_arrays s = SPRY_INIT(spry_arrays);
        o.device = 1;
        o.stream = &o;
        o.result_device = stays;
        spry_spgemm_plan *plan = create_spgemm_plan(context, A, A, &o);
        assert_int_equal(mock.stream_waits, waits + 1);
        assert_int_equal(spry_spgemm_plan_get_structure(plan, &s, NULL), SPRY_OK);
        assert_int_equal(s.device, stays);
        assert_int_equal(s.nnz, expected->a.nnz);
        assert_null(s.values);
        if (stays) mock_open_memory();
        assert_memory_equal(s.offsets, expected->a.offsets, (size_t)(s.rows + 1) * 4);
        assert_memory_equal(s.indices, expected->a.indices, (size_t)s.nnz * 4);
        if (stays) mock_close_memory();
        const int64_t held = mock.blocks, allocations = mock.allocations;
        spry_spgemm_run_options run = SPRY_INIT(spry_spgemm_run_options);
        void *const into = stays ? on_device : values;
        run.stream = &run;
        for (int times = 0; times < 2; times++) {
            memset(values, 0, bytes);
            assert_int_equal(spry_spgemm_plan_run(plan, into, &run, NULL), SPRY_OK);
            assert_int_equal(mock.stream_waits, waits + 2 + times);
            if (stays) mock_open_memory();
            assert_memory_equal(into, expected->a.values, bytes);
            if (stays) mock_close_memory();
            assert_int_equal(spry_spgemm_plan_get_result(plan, &C, NULL), SPRY_INVALID_ARGUMENT);
        }
        assert_int_equal(mock.blocks, held - stays); /* if C is on the device, the plan has freed its own values */
        assert_int_equal(mock.allocations, allocations);
        assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, NULL), SPRY_OK);
        assert_int_equal(spry_spgemm_plan_get_result(plan, &C, NULL), SPRY_OK);
        spry_spgemm_plan_destroy(plan);
        if (stays) mock_open_memory();
        assert_true(test_same_bits(C, expected));
        if (stays) mock_close_memory();
        spry_matrix_destroy(C);
        assert_int_equal(mock.blocks, blocks);
    }
    device->ops->release(device, on_device);
    free(values);
    spry_matrix_destroy(expected);
    spry_matrix_destroy(A);
}

/* op(A)*op(B) with operands that the host transposes gives the CPU's bits, in products and in plans with new values. */
static void transposed(void **state)
{
    spry_context *context = *state;
    for (int ops = 0; ops < 4; ops++) {
        spry_matrix *A = worth_a_gpu(context, TEST_UNIFORM, plain), *D = NULL;
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options), here = SPRY_INIT(spry_spgemm_options);
        o.op_a = here.op_a = ops % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        o.op_b = here.op_b = ops / 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        o.device = 1;
        spry_spgemm_plan *plan = create_spgemm_plan(context, A, A, &o);
        for (int64_t k = 0; k < A->a.nnz; k += 3) ((double *)(uintptr_t)A->a.values)[k] += 2;
        spry_matrix *C = multiply_matrices(context, A, A, &here);
        for (int from_plan = 0; from_plan < 2; from_plan++) {
            if (from_plan) assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, NULL), SPRY_OK);
            assert_int_equal(from_plan ? spry_spgemm_plan_get_result(plan, &D, NULL)
                                       : spry_spgemm(context, &D, NULL, A, A, &o, NULL),
                             SPRY_OK);
            if (!test_same_bits(C, D)) fail_msg("ops %d, from a plan: %d", ops, from_plan);
            spry_matrix_destroy(D);
        }
        spry_spgemm_plan_destroy(plan);
        spry_matrix_destroy(C);
        spry_matrix_destroy(A);
    }
}

/* Fails each device allocation in turn. The product succeeds, and all device memory is released. */
static void device_memory_runs_out(void **state)
{
    spry_context *context = *state;
    spry_matrix *A = worth_a_gpu(context, TEST_UNIFORM, plain), *C = NULL;
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_options o = automatic();
    int on_cpu_instead = 0, on_gpu = 0;
    for (int64_t fail_at = 1; on_gpu < 3; fail_at++) {
        mock.allocations = 0;
        mock.fail_at = fail_at;
        C = multiply_with_info(context, &info, A, A, &o);
        const int to_cpu = info.device == SPRY_CPU;
        if (to_cpu && !strstr(info.reason, "out of device memory")) fail_msg("%s", info.reason);
        on_cpu_instead += to_cpu;
        on_gpu += !to_cpu && mock.allocations < fail_at; /* no allocation failed */
        assert_int_equal(C->a.nnz, info.nnz);
        spry_matrix_destroy(C);
        assert_int_equal(mock.blocks, 0);
    }
    /* the CPU replaces a GPU that cannot hold the operands; after later failures, the GPU first retries in chunks */
    assert_true(on_cpu_instead >= 3);
    mock.fail_at = 0;
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(start_is_paid_for, setup, teardown),
                                       cmocka_unit_test_setup_teardown(small_products, setup, teardown),
                                       cmocka_unit_test_setup_teardown(other_operands, setup, teardown),
                                       cmocka_unit_test_setup_teardown(limits, setup, teardown),
                                       cmocka_unit_test_setup_teardown(plans, setup, teardown),
                                       cmocka_unit_test_setup_teardown(structure_and_values, setup, teardown),
                                       cmocka_unit_test_setup_teardown(transposed, setup, teardown),
                                       cmocka_unit_test_setup_teardown(device_memory_runs_out, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
