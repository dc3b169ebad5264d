/* Sparse times sparse on a GPU: each kernel against a triple loop, and the CPU; runs again, limits, results there. */
#include "spgemm/support.h"

#include <stdio.h>
#include <string.h>

enum { TRIALS = 64, SKIPPED = 77 };

static spry_context *context;

static int gpu_is_there(void)
{
    spry_kernel_info info = SPRY_INIT(spry_kernel_info);
    for (int k = 0; k < spry_spgemm_kernel_count(); k++) {
        if (spry_spgemm_kernel_get_info(context, k, &info, NULL) != SPRY_OK) continue;
        if (strcmp(info.device, "cuda") == 0 && info.available) return 1;
    }
    printf("skipped: %s\n", info.reason && *info.reason ? info.reason : "no GPU");
    return 0;
}

/* Each kernel of the GPU; NULL behind the last. */
static const char *next_kernel(int *index)
{
    while (*index < spry_spgemm_kernel_count()) {
        spry_kernel_info info = SPRY_INIT(spry_kernel_info);
        assert_int_equal(spry_spgemm_kernel_get_info(context, (*index)++, &info, NULL), SPRY_OK);
        if (strcmp(info.device, "cuda") == 0) return info.name;
    }
    return NULL;
}

static spry_spgemm_options options_for(const char *kernel)
{
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    o.device = "cuda";
    o.kernel = kernel;
    return o;
}

static void one_trial(const char *kernel, uint64_t trial)
{
    uint64_t state = trial * 7919 + 1;
    const int64_t m = test_below(&state, 90), k = 1 + test_below(&state, 90), n = 1 + test_below(&state, 4000);
    test_kind kinds[] = {TEST_UNIFORM, TEST_BANDED,     TEST_STENCIL, TEST_GROUPED,
                         TEST_ONE_ROW, TEST_ONE_COLUMN, TEST_DENSE,   TEST_SHUFFLED};
    test_entries a = test_make(kinds[trial % 8], m, k, 1 + (double)test_below(&state, 12), &state);
    test_entries b = test_make(kinds[trial / 8 % 8], k, n, 1 + (double)test_below(&state, 40), &state);
    const test_form form = {SPRY_CSR, trial % 2 ? SPRY_F32 : SPRY_F64, trial % 3 ? SPRY_I32 : SPRY_I64, SPRY_I32};
    spry_matrix *A = test_matrix(context, &a, form), *B = test_matrix(context, &b, form), *C = NULL, *D = NULL;
    const double two = 2;
    const float two_f32 = 2;
    spry_spgemm_options o = options_for(kernel);
    o.alpha = trial % 4 ? NULL : trial % 2 ? (const void *)&two_f32 : (const void *)&two;
    o.drop_zeros = trial % 5 == 4;
    spry_error err;
    if (spry_spgemm(context, &C, A, B, &o, &err) != SPRY_OK)
        fail_msg("%s, trial %d: %s", kernel, (int)trial, err.message);
    test_dense d = test_multiply(&a, &b, SPRY_NO_TRANSPOSE, trial % 4 ? 1 : 2, 0, 0);
    test_equal(C, &d, o.drop_zeros, kernel);
    assert_int_equal(spry_spgemm(context, &D, A, B, &o, &err), SPRY_OK);
    assert_true(test_same_bits(C, D));
    spry_matrix_destroy(D);
    spry_matrix_destroy(C);
    spry_matrix_destroy(B);
    spry_matrix_destroy(A);
    test_dense_free(&d);
    test_discard(&a);
    test_discard(&b);
}

static void random_products(void **unused)
{
    (void)unused;
    int index = 0, kernels = 0;
    for (const char *kernel; (kernel = next_kernel(&index)); kernels++)
        for (int trial = 0; trial < TRIALS; trial++) one_trial(kernel, (uint64_t)trial);
    assert_true(kernels >= 6);
}

/* Rows that take each way of spgemm_rows_cuda, up to windows of columns, against the CPU. */
static void large_rows(void **unused)
{
    (void)unused;
    static const int64_t cols[] = {3000, 40000, 70000, 1600000};
    for (int c = 0; c < 4; c++) {
        uint64_t state = 11 + (uint64_t)c;
        test_entries a = test_make(TEST_ONE_ROW, 300, 2000, 6, &state);
        test_entries b = test_make(TEST_UNIFORM, 2000, cols[c], 70, &state);
        const test_form form = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
        spry_matrix *A = test_matrix(context, &a, form), *B = test_matrix(context, &b, form), *C = NULL, *D = NULL;
        spry_spgemm_options o = options_for("spgemm_rows_cuda");
        assert_int_equal(spry_spgemm(context, &C, A, B, &o, NULL), SPRY_OK);
        assert_int_equal(spry_spgemm(context, &D, A, B, NULL, NULL), SPRY_OK); /* sums of small integers are exact */
        assert_true(test_same_bits(C, D));
        spry_matrix_destroy(D);
        spry_matrix_destroy(C);
        spry_matrix_destroy(B);
        spry_matrix_destroy(A);
        test_discard(&a);
        test_discard(&b);
    }
}

/* Chunks give what the whole gives. */
static void chunks(void **unused)
{
    (void)unused;
    uint64_t state = 5;
    test_entries a = test_make(TEST_UNIFORM, 3000, 3000, 20, &state);
    const test_form form = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
    spry_matrix *A = test_matrix(context, &a, form), *C = NULL, *D = NULL;
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    spry_spgemm_options o = options_for("spgemm_rows_cuda");
    o.info = &info;
    assert_int_equal(spry_spgemm(context, &C, A, A, &o, NULL), SPRY_OK);
    assert_int_equal(info.chunks, 1);
    o.memory_limit_bytes = info.peak_bytes / 3;
    assert_int_equal(spry_spgemm(context, &D, A, A, &o, NULL), SPRY_OK);
    assert_true(info.chunks > 1);
    assert_true(info.peak_bytes <= o.memory_limit_bytes);
    assert_true(test_same_bits(C, D));
    spry_matrix_destroy(D);
    spry_matrix_destroy(C);
    spry_matrix_destroy(A);
    test_discard(&a);
}

int main(void)
{
    context = test_context(NULL, 2);
    if (!gpu_is_there()) {
        spry_context_destroy(context);
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_products), cmocka_unit_test(large_rows),
                                       cmocka_unit_test(chunks)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    spry_context_destroy(context);
    return failed;
}
