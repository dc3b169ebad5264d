/* C = P^T*A*P on a device with its own memory: operands on the host and on the device, new values, limits, failures. */
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

typedef struct problem {
    spry_matrix *A, *P;
} problem;

static problem make_problem(spry_context *context, test_form form)
{
    uint64_t state = 11;
    test_entries a = test_make(TEST_UNIFORM, 60, 60, 5, &state), p = test_make(TEST_UNIFORM, 60, 25, 3, &state);
    const problem x = {test_matrix(context, &a, form), test_matrix(context, &p, form)};
    test_discard(&a);
    test_discard(&p);
    return x;
}

static void discard_problem(const problem *x)
{
    spry_matrix_destroy(x->A);
    spry_matrix_destroy(x->P);
}

/* Returns a copy of a matrix in the device's memory, or the matrix itself. */
static spry_matrix *put(spry_context *context, const spry_matrix *A, bool on_device)
{
    const spryi_device *device = spryi_device_at(context, 1);
    spry_arrays a = A->a;
    if (!on_device) return spryi_matrix_retain(A);
    const void **const arrays[] = {&a.offsets, &a.indices, &a.values};
    const int64_t bytes[] = {(a.rows + 1) * (int64_t)spryi_index_type_bytes(a.offset_type), a.nnz * 4,
                             a.nnz * (int64_t)spry_type_bytes(a.value_type)};
    for (int n = 0; n < 3; n++) {
        void *made = NULL;
        MUST(device->ops->allocate(device, &made, bytes[n], "test", err));
        MUST(device->ops->copy(device, made, *arrays[n], bytes[n], SPRYI_TO_DEVICE, NULL, err));
        *arrays[n] = made;
    }
    MUST(device->ops->synchronize(device, NULL, err));
    a.device = 1;
    spry_matrix *made = NULL;
    MUST(spryi_matrix_adopt(context, &made, &a, SPRYI_REAL, err));
    return made;
}

/* Computes C on the device and returns it in host memory. */
static spry_matrix *on_host(spry_context *context, const problem *x, const void *alpha)
{
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_matrix *C = NULL;
    o.alpha = alpha;
    MUST(spry_spgemm_triple(context, &C, NULL, x->A, x->P, &o, err));
    return C;
}

static void check(const spry_matrix *C, const spry_matrix *expected)
{
    if (C->a.device > 0) mock_open_memory();
    assert_int_equal(C->a.nnz, expected->a.nnz);
    for (int64_t k = 0; k < C->a.nnz; k++)
        assert_int_equal(test_index(C->a.indices, C->a.index_type, k),
                         test_index(expected->a.indices, expected->a.index_type, k));
    assert_memory_equal(C->a.values, expected->a.values, (size_t)C->a.nnz * spry_type_bytes(C->a.value_type));
    for (int64_t i = 0; i <= C->a.rows; i++)
        assert_int_equal(test_index(C->a.offsets, C->a.offset_type, i),
                         test_index(expected->a.offsets, expected->a.offset_type, i));
    if (C->a.device > 0) mock_close_memory();
}

/* Sets new values in a matrix on the host and in its device copy. */
static void change_values(spry_matrix *A, spry_matrix *copy)
{
    for (int64_t k = 0; k < A->a.nnz; k += 3)
        spryi_set_value((void *)(uintptr_t)A->a.values, A->a.value_type, k,
                        spryi_value_at(A->a.values, A->a.value_type, k) + 2);
    if (copy == A) return;
    mock_open_memory();
    memcpy((void *)(uintptr_t)copy->a.values, A->a.values, (size_t)A->a.nnz * spry_type_bytes(A->a.value_type));
    mock_close_memory();
}

static void one_place(spry_context *context, test_form form, bool a_on_device, bool p_on_device, int result_device)
{
    const problem x = make_problem(context, form);
    spry_matrix *A = put(context, x.A, a_on_device), *P = put(context, x.P, p_on_device), *C = NULL, *again = NULL;
    const double two = 2;
    const float two_f32 = 2;
    spry_spgemm_plan *plan = NULL;
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.device = 1;
    o.result_device = result_device;
    o.alpha = form.value_type == SPRY_F64 ? (const void *)&two : &two_f32;
    MUST(spry_spgemm_triple(context, &C, NULL, A, P, &o, err));
    spry_matrix *expected = on_host(context, &x, o.alpha);
    assert_int_equal(C->a.device, result_device > 0);
    check(C, expected);
    spry_matrix_destroy(C);
    MUST(spry_spgemm_triple(context, &C, &plan, A, P, &o, err));
    check(C, expected);
    spry_matrix_destroy(expected);
    change_values(x.A, A);
    change_values(x.P, P);
    expected = on_host(context, &x, o.alpha);
    const int64_t allocations = mock.allocations;
    for (int times = 0; times < 2; times++) MUST(spry_spgemm_plan_run(plan, NULL, NULL, err));
    assert_int_equal(mock.allocations, allocations);
    MUST(spry_spgemm_plan_get_result(plan, &again, err));
    check(again, expected);
    MUST(spry_spgemm_plan_get_info(plan, &info, err));
    assert_string_equal(info.device_name, "mock");
    assert_string_equal(info.kernel, "spgemm_rows_mock");
    if (!strstr(info.reason, "then P^T*(A*P)")) fail_msg("%s", info.reason);
    spry_spgemm_plan_destroy(plan);
    spry_matrix_destroy(again);
    spry_matrix_destroy(C);
    spry_matrix_destroy(expected);
    spry_matrix_destroy(A);
    spry_matrix_destroy(P);
    discard_problem(&x);
    assert_int_equal(mock.blocks, 0);
}

static void places(void **state)
{
    for (int trial = 0; trial < 16; trial++) {
        const test_form form = {SPRY_CSR, trial / 8 ? SPRY_F32 : SPRY_F64, SPRY_I32, SPRY_I32};
        one_place(*state, form, trial % 2 > 0, trial / 2 % 2 > 0, trial / 4 % 2 ? 1 : SPRY_CPU);
    }
    one_place(*state, (test_form){SPRY_CSR, SPRY_F64, SPRY_I64, SPRY_I32}, true, true, 1); /* A*P has 32-bit offsets */
    one_place(*state, (test_form){SPRY_COO, SPRY_F64, SPRY_I32, SPRY_I32}, false, false, 1);
    one_place(*state, (test_form){SPRY_CSC, SPRY_F64, SPRY_I64, SPRY_I64}, false, false, SPRY_CPU);
}

/*
 * The limit applies to A*P and P^T*(A*P) together. The peak is at most the limit. A smaller limit is refused, and all
 * memory is released.
 */
static void limits(void **state)
{
    spry_context *context = *state;
    const problem x = make_problem(context, plain);
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_plan *plan = NULL;
    spry_matrix *C = NULL;
    o.device = 1;
    MUST(spry_spgemm_triple(context, &C, &plan, x.A, x.P, &o, err));
    MUST(spry_spgemm_plan_get_info(plan, &info, err));
    spry_matrix_destroy(C);
    spry_spgemm_plan_destroy(plan);
    for (int part = 0; part <= 10; part++) {
        spry_error err = SPRY_ERROR_INIT;
        o.memory_limit_bytes = 1 + info.peak_bytes * part / 10;
        plan = NULL;
        C = NULL;
        const spry_status status = spry_spgemm_triple(context, &C, &plan, x.A, x.P, &o, &err);
        if (part == 10) assert_int_equal(status, SPRY_OK);
        if (part < 5) assert_int_equal(status, SPRY_TOO_LARGE);
        if (status != SPRY_OK) {
            assert_string_equal(err.argument, "memory_limit_bytes");
            assert_true(!C && !plan && mock.blocks == 0);
            continue;
        }
        MUST(spry_spgemm_plan_get_info(plan, &info, err));
        assert_true(info.peak_bytes <= o.memory_limit_bytes);
        spry_matrix_destroy(C);
        spry_spgemm_plan_destroy(plan);
    }
    discard_problem(&x);
}

/* Fails each device allocation in turn. The call fails, and all memory is released. */
static void device_memory_runs_out(void **state)
{
    spry_context *context = *state;
    const problem x = make_problem(context, plain);
    spry_matrix *A = put(context, x.A, true), *P = put(context, x.P, true);
    const int64_t blocks = mock.blocks;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    for (int kept = 0; kept < 2; kept++) {
        int failures = 0;
        for (int64_t fail_at = 1;; fail_at++) {
            spry_matrix *C = NULL;
            spry_spgemm_plan *plan = NULL;
            spry_error err = SPRY_ERROR_INIT;
            mock.allocations = 0;
            mock.fail_at = fail_at;
            const spry_status status = spry_spgemm_triple(context, &C, kept ? &plan : NULL, A, P, &o, &err);
            const bool failed = mock.allocations >= fail_at;
            if (status != SPRY_OK) assert_true(failed && !C && !plan && err.message[0]);
            failures += status != SPRY_OK;
            spry_matrix_destroy(C);
            spry_spgemm_plan_destroy(plan);
            assert_int_equal(mock.blocks, blocks);
            if (!failed) break;
        }
        assert_true(failures > 8);
        mock.fail_at = 0;
    }
    mock.spgemm_fails = 1;
    spry_matrix *C = NULL;
    assert_int_equal(spry_spgemm_triple(context, &C, NULL, A, P, &o, NULL), SPRY_DEVICE_FAILED);
    assert_int_equal(mock.blocks, blocks);
    spry_matrix_destroy(A);
    spry_matrix_destroy(P);
    discard_problem(&x);
}

/* Device "auto" chooses a GPU that is predicted to be faster, and the CPU if the GPU fails. */
static void automatic(void **state)
{
    spry_context *context = *state;
    uint64_t seed = 5;
    test_entries a = test_make(TEST_UNIFORM, 1000, 1000, 20, &seed);
    const problem x = {test_matrix(context, &a, plain), test_matrix(context, &a, plain)};
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_matrix *expected = on_host(context, &x, NULL);
    o.device = SPRY_DEVICE_AUTO;
    for (int fails = 0; fails < 2; fails++) {
        spry_matrix *C = NULL;
        spry_spgemm_plan *plan = NULL;
        spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
        mock.spgemm_fails = fails;
        MUST(spry_spgemm_triple(context, &C, &plan, x.A, x.P, &o, err));
        MUST(spry_spgemm_plan_get_info(plan, &info, err));
        assert_string_equal(info.device_name, fails ? "cpu" : "mock");
        if (fails && !strstr(info.reason, "mock: the device failed")) fail_msg("%s", info.reason);
        check(C, expected);
        spry_matrix_destroy(C);
        spry_spgemm_plan_destroy(plan);
    }
    spry_matrix_destroy(expected);
    discard_problem(&x);
    test_discard(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(places, setup, teardown),
                                       cmocka_unit_test_setup_teardown(limits, setup, teardown),
                                       cmocka_unit_test_setup_teardown(device_memory_runs_out, setup, teardown),
                                       cmocka_unit_test_setup_teardown(automatic, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
