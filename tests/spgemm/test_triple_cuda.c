/*
 * C = P^T*A*P on a GPU, compared with the CPU. Tests operands on the host and on the GPU, plans with new values, f32
 * and f64.
 */
#include "spry/cuda.h"
#include "spry/spgemm.h"
#include "support.h"

#include "matrix/matrix.h"

/* Copies the CSR matrix to the GPU's memory. The caller frees `arrays` with spry_device_free. */
static spry_matrix *put(spry_context *context, const spry_matrix *A, void *arrays[3])
{
    spry_arrays a = arrays_of(A);
    const void **const from[] = {&a.offsets, &a.indices, &a.values};
    const int64_t bytes[] = {(a.rows + 1) * (int64_t)spryi_index_type_bytes(a.offset_type),
                             a.nnz * (int64_t)spryi_index_type_bytes(a.index_type),
                             a.nnz * (int64_t)spry_type_bytes(a.value_type)};
    for (int n = 0; n < 3; n++) {
        MUST(spry_device_allocate(context, &arrays[n], 1, bytes[n], err));
        MUST(spry_device_copy(context, arrays[n], 1, *from[n], 0, bytes[n], NULL, err));
        *from[n] = arrays[n];
    }
    MUST(spry_device_synchronize(context, 1, NULL, err));
    a.device = 1;
    a.ownership = SPRY_BORROW;
    return create_matrix(context, &a);
}

static void put_values(spry_context *context, const spry_matrix *A, void *values)
{
    const spry_arrays a = arrays_of(A);
    MUST(spry_device_copy(context, values, 1, a.values, 0, a.nnz * (int64_t)spry_type_bytes(a.value_type), NULL, err));
    MUST(spry_device_synchronize(context, 1, NULL, err));
}

static void change_values(spry_matrix *A, uint64_t *state)
{
    for (int64_t k = 0; k < A->a.nnz; k++)
        spryi_set_value((void *)(uintptr_t)A->a.values, A->a.value_type, k, (double)(test_below(state, 7) - 3));
}

static spry_matrix *on_cpu(spry_context *context, const spry_matrix *A, const spry_matrix *P)
{
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_matrix *C = NULL;
    o.device = SPRY_CPU;
    MUST(spry_spgemm_triple(context, &C, NULL, A, P, &o, err));
    return C;
}

/* Sums of small integers are exact, so the CPU's bits are expected. C is in host memory. */
static void one_trial(spry_context *context, int trial)
{
    uint64_t state = (uint64_t)trial * 13 + 5;
    const int64_t n = 200 + test_below(&state, 3000), m = 1 + n / (1 + test_below(&state, 8));
    static const test_kind kinds[] = {TEST_UNIFORM, TEST_STENCIL, TEST_GROUPED, TEST_ONE_ROW};
    const test_form form = {SPRY_CSR, trial % 3 ? SPRY_F64 : SPRY_F32, trial % 5 == 4 ? SPRY_I64 : SPRY_I32, SPRY_I32};
    test_entries a = test_make(kinds[trial % 4], n, n, 8, &state), p = test_make(TEST_UNIFORM, n, m, 3, &state);
    spry_matrix *A = test_matrix(context, &a, form), *P = test_matrix(context, &p, form);
    void *a_arrays[3] = {NULL}, *p_arrays[3] = {NULL};
    spry_matrix *a_on_device = trial % 2 ? put(context, A, a_arrays) : NULL;
    spry_matrix *p_on_device = trial / 2 % 2 ? put(context, P, p_arrays) : NULL;
    const spry_matrix *left = a_on_device ? a_on_device : A, *right = p_on_device ? p_on_device : P;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_spgemm_plan *plan = NULL;
    spry_matrix *C = NULL, *D = NULL;
    o.device = 1;
    o.result_device = SPRY_CPU;
    MUST(spry_spgemm_triple(context, &C, NULL, left, right, &o, err));
    spry_matrix *expected = on_cpu(context, A, P);
    if (!test_same_bits(C, expected)) fail_msg("trial %d: one product", trial);
    spry_matrix_destroy(C);
    MUST(spry_spgemm_triple(context, &C, &plan, left, right, &o, err));
    if (!test_same_bits(C, expected)) fail_msg("trial %d: a plan", trial);
    for (int run = 0; run < 2; run++) {
        change_values(A, &state);
        change_values(P, &state);
        if (a_on_device) put_values(context, A, a_arrays[2]);
        if (p_on_device) put_values(context, P, p_arrays[2]);
        spry_matrix_destroy(expected);
        expected = on_cpu(context, A, P);
        MUST(spry_spgemm_plan_run(plan, NULL, NULL, err));
        MUST(spry_spgemm_plan_get_result(plan, &D, err));
        if (!test_same_bits(D, expected)) fail_msg("trial %d: run %d", trial, run);
        spry_matrix_destroy(D);
    }
    spry_spgemm_plan_destroy(plan);
    spry_matrix *const all[] = {C, expected, a_on_device, p_on_device, A, P};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) spry_matrix_destroy(all[k]);
    for (int k = 0; k < 3; k++) {
        spry_device_free(context, 1, a_arrays[k]);
        spry_device_free(context, 1, p_arrays[k]);
    }
    test_discard(&a);
    test_discard(&p);
}

static void products(void **state)
{
    for (int trial = 0; trial < 24; trial++) one_trial(*state, trial);
}

/* With C on the GPU, a plan's runs repeat its bits, and the plan's peak suffices as a limit. */
static void result_on_gpu(void **state)
{
    spry_context *context = *state;
    spry_matrix *A = generate_matrix(context, "gen:laplace5,x=300,y=300"), *C = NULL, *again = NULL;
    uint64_t seed = 3;
    test_entries p = test_make(TEST_UNIFORM, 90000, 20000, 2, &seed);
    spry_matrix *P = test_matrix(context, &p, (test_form){SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32});
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_plan *plan = NULL;
    o.device = o.result_device = 1;
    for (int limited = 0; limited < 2; limited++) {
        MUST(spry_spgemm_triple(context, &C, &plan, A, P, &o, err));
        MUST(spry_spgemm_plan_get_info(plan, &info, err));
        assert_true(arrays_of(C).device == 1 && (!limited || info.peak_bytes <= o.memory_limit_bytes));
        const spry_arrays c = arrays_of(C);
        const size_t bytes = (size_t)c.nnz * sizeof(double);
        double *first = malloc(bytes), *second = malloc(bytes);
        MUST(spry_device_copy(context, first, 0, c.values, 1, (int64_t)bytes, NULL, err));
        MUST(spry_spgemm_plan_run(plan, NULL, NULL, err));
        MUST(spry_spgemm_plan_get_result(plan, &again, err));
        MUST(spry_device_copy(context, second, 0, arrays_of(again).values, 1, (int64_t)bytes, NULL, err));
        MUST(spry_device_synchronize(context, 1, NULL, err));
        assert_memory_equal(first, second, bytes);
        free(first);
        free(second);
        spry_matrix_destroy(again);
        spry_matrix_destroy(C);
        spry_spgemm_plan_destroy(plan);
        o.memory_limit_bytes = info.peak_bytes;
    }
    spry_matrix_destroy(A);
    spry_matrix_destroy(P);
    test_discard(&p);
}

int main(void)
{
    if (!has_gpu()) return SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(products, open_context, close_context),
                                       cmocka_unit_test_setup_teardown(result_on_gpu, open_context, close_context)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
