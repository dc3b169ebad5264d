/* Sparse products, compared with a triple loop: each kernel of this machine, many shapes, all forms of the operands. */
#include "spry/spgemm.h"
#include "spry/tune.h"
#include "support.h"

enum { TRIALS = INSTRUMENTED ? 80 : 1000, THREADS = 3 };

/* Returns a form with a random layout and a random pair of index types. */
static test_form form_number(uint64_t *state, spry_type type)
{
    static const spry_layout layouts[] = {SPRY_CSR, SPRY_CSR, SPRY_CSR, SPRY_COO, SPRY_CSC};
    test_form f = {layouts[test_below(state, 5)], type, SPRY_I32, SPRY_I32};
    const int64_t pair = test_below(state, 4);
    if (pair > 1) f.offset_type = SPRY_I64;
    if (pair > 2) f.index_type = SPRY_I64;
    return f;
}

static int64_t some_size(uint64_t *state)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 5, 8, 17, 33, 64, 65, 130, 200};
    return sizes[test_below(state, 12)];
}

/* Compares one product of random operands with the triple loop. */
static void one_trial(spry_context *context, const char *kernel, uint64_t seed)
{
    uint64_t state = seed;
    const spry_op op = test_below(&state, 3) == 0 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    const int64_t m = some_size(&state), l = some_size(&state), n = some_size(&state);
    const double mean = (double)test_below(&state, 12);
    const test_kind a_kind = (test_kind)test_below(&state, TEST_KINDS);
    const test_kind b_kind = (test_kind)test_below(&state, TEST_KINDS);
    test_entries a = test_make(a_kind, m, l, mean, &state);
    test_entries b = op == SPRY_TRANSPOSE ? test_make(b_kind, n, l, mean, &state)
                                          : test_make(b_kind, l, n, mean, &state);
    const spry_type type = test_below(&state, 2) ? SPRY_F64 : SPRY_F32;
    const int a_pattern = test_below(&state, 8) == 0, b_pattern = test_below(&state, 8) == 0;
    const spry_op op_a = seed % 3 == 1 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    const test_entries given = op_a == SPRY_TRANSPOSE ? test_transposed(&a) : a;
    spry_matrix *A = test_matrix(context, &given, form_number(&state, a_pattern ? SPRY_PATTERN : type));
    spry_matrix *B = test_matrix(context, &b, form_number(&state, b_pattern ? SPRY_PATTERN : type));
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    const double alpha = (double)(test_below(&state, 3) + 1);
    const float alpha32 = (float)alpha;
    options.kernel = kernel;
    options.op_a = op_a;
    options.op_b = op;
    options.value_type = a_pattern && b_pattern ? type : SPRY_TYPE_DEFAULT;
    options.alpha = type == SPRY_F64 ? (const void *)&alpha : &alpha32;
    options.drop_zeros = test_below(&state, 6) == 0;
    char what[160];
    snprintf(what, sizeof what, "seed %llu, %s, %lld x %lld x %lld, kinds %d %d", (unsigned long long)seed, kernel,
             (long long)m, (long long)l, (long long)n, (int)a_kind, (int)b_kind);
    test_dense d = test_multiply(&a, &b, op, alpha, a_pattern, b_pattern);
    spry_matrix *C = multiply_with_info(context, &info, A, B, &options);
    test_equal(C, &d, options.drop_zeros, what);
    assert_int_equal(info.products, d.products);
    assert_int_equal(info.rows, m);
    assert_int_equal(info.columns, n);
    if (!options.drop_zeros) assert_int_equal(info.nnz, d.nnz);
    assert_string_equal(info.kernel, kernel);
    assert_true(info.peak_bytes >= info.workspace_bytes);
    spry_matrix_destroy(C);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    test_dense_free(&d);
    test_discard(&a);
    test_discard(&b);
}

static void random_products(void **state)
{
    spry_context *context = context_of(THREADS);
    for (int k = 0; k < spgemm_kernel_count(); k++) {
        spry_kernel_info info = SPRY_INIT(spry_kernel_info);
        assert_int_equal(get_spgemm_kernel(context, &info, k, NULL), SPRY_OK);
        assert_string_equal(info.operations, "spgemm");
        if (!info.available || strcmp(info.device_kind, "cpu") != 0) continue;
        for (int trial = 0; trial < TRIALS; trial++) one_trial(context, info.name, (uint64_t)trial);
    }
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/* Checks that the comparison above detects a wrong value. */
static void comparison_rejects(void **unused)
{
    spry_context *context = context_of(1);
    uint64_t state = 3;
    test_entries a = test_make(TEST_UNIFORM, 40, 40, 6, &state);
    const test_form form = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
    spry_matrix *A = test_matrix(context, &a, form);
    spry_matrix *C = multiply_matrices(context, A, A, NULL);
    spry_matrix *D = multiply_matrices(context, A, A, NULL);
    assert_true(test_same_bits(C, D));
    spry_arrays d = arrays_of(D);
    double *values = (double *)(uintptr_t)d.values;
    values[d.nnz / 2] += 1;
    assert_false(test_same_bits(C, D));
    spry_matrix_destroy(D);
    spry_matrix_destroy(C);
    spry_matrix_destroy(A);
    test_discard(&a);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_products), cmocka_unit_test(comparison_rejects)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
