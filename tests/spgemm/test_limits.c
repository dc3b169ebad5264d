/*
 * Memory limits of sparse products. A call holds at most its limit, including temporary memory of conversions. A
 * refusal reports the caller's limit and a sufficient limit. Also tests the arrays that a run may write, and the rules
 * for infinities.
 */
#include "base/types.h"
#include "spry/spgemm.h"
#include "support.h"

enum { TRIALS = TEST_FULL ? 150 : 30, SLACK = 16384 /* bytes of handles and block heads, which are not counted */ };

static test_form drawn_form(spry_type type, uint64_t *state)
{
    const int wide = test_below(state, 4) == 0;
    return (test_form){.layout = (spry_layout)(1 + test_below(state, 3)),
                       .value_type = test_below(state, 4) == 0 ? SPRY_PATTERN : type,
                       .offset_type = wide ? SPRY_I64 : SPRY_I32,
                       .index_type = wide ? SPRY_I64 : SPRY_I32};
}

static int64_t bytes_of(const spry_matrix *A)
{
    spry_arrays a = arrays_of(A);
    const int64_t index = (int64_t)spryi_index_type_bytes(a.index_type) * (a.layout == SPRY_COO ? 2 : 1);
    const int64_t lines = a.layout == SPRY_COO ? 0 : (a.layout == SPRY_CSC ? a.columns : a.rows) + 1;
    return a.nnz * (index + (int64_t)spry_type_bytes(a.value_type)) +
           lines * (int64_t)(a.layout == SPRY_COO ? 0 : spryi_index_type_bytes(a.offset_type));
}

/* Runs a product, or a plan of the product. */
static spry_status multiply(spry_context *context, const spry_matrix *A, const spry_matrix *B, spry_spgemm_options *o,
                            int plans, spry_error *err)
{
    spry_matrix *C = NULL;
    spry_spgemm_plan *plan = NULL;
    spry_status status = plans ? spry_spgemm_plan_create(context, &plan, A, B, o, err)
                               : spry_spgemm(context, &C, NULL, A, B, o, err);
    if (status == SPRY_OK && plans) status = spry_spgemm_plan_run(plan, NULL, NULL, err);
    spry_spgemm_plan_destroy(plan);
    spry_matrix_destroy(C);
    return status;
}

static void limits_hold_and_suffice(void **unused)
{
    int refused = 0;
    for (uint64_t t = 0; t < TRIALS; t++) {
        uint64_t state = t + 1;
        test_memory memory = {0};
        spry_context *context = counted_context(t % 2 ? &memory : NULL, 1 + (int)(t % 3));
        const spry_type type = t % 2 ? SPRY_F64 : SPRY_F32;
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        o.op_a = (spry_op)test_below(&state, 2);
        o.op_b = (spry_op)test_below(&state, 2);
        const int64_t m = 1 + test_below(&state, 300), n = 1 + test_below(&state, t % 5 == 0 ? 50000 : 300);
        const int64_t l = 1 + test_below(&state, t % 7 == 0 ? 50000 : 300);
        test_entries a = test_make(TEST_SHUFFLED, o.op_a ? l : m, o.op_a ? m : l, 4, &state);
        test_entries b = test_make(TEST_SHUFFLED, o.op_b ? n : l, o.op_b ? l : n, 4, &state);
        spry_matrix *A = test_matrix(context, &a, drawn_form(type, &state));
        spry_matrix *B = test_matrix(context, &b, drawn_form(type, &state));
        const int64_t inputs = bytes_of(A) + bytes_of(B);
        for (int64_t limit = 1, tries = 0; tries < 4; limit = inputs + 1 + test_below(&state, inputs), tries++) {
            spry_error err = SPRY_ERROR_INIT;
            spry_status status = SPRY_OK;
            for (int again = 0; again < 2; again++) {
                const int64_t before = atomic_load(&memory.bytes);
                atomic_store(&memory.most_bytes, before);
                o.memory_limit_bytes = limit;
                status = multiply(context, A, B, &o, (int)(tries % 2), &err);
                const int64_t held = inputs + atomic_load(&memory.most_bytes) - before;
                if (limit > inputs && held > limit + SLACK)
                    fail_msg("trial %d: %lld held, limit %lld", (int)t, (long long)held, (long long)limit);
                if (status != SPRY_TOO_LARGE) break;
                refused++;
                assert_string_equal(err.argument, "memory_limit_bytes");
                assert_true(err.limit == limit && err.value > limit);
                limit = err.value;
            }
            if (status != SPRY_OK) fail_msg("trial %d, limit %lld: %s", (int)t, (long long)limit, err.message);
        }
        spry_spgemm_estimate_info predicted = SPRY_INIT(spry_spgemm_estimate_info);
        assert_int_equal(spry_spgemm_estimate(context, &predicted, A, B, &o, NULL), SPRY_OK);
        for (int less = 0; less < 2; less++) {
            o.memory_limit_bytes = predicted.least_bytes - less;
            if (multiply(context, A, B, &o, 0, NULL) != (less ? SPRY_TOO_LARGE : SPRY_OK))
                fail_msg("trial %d: least bytes %lld, limit %lld", (int)t, (long long)predicted.least_bytes,
                         (long long)o.memory_limit_bytes);
        }
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
        test_discard(&a);
        test_discard(&b);
        spry_context_destroy(context);
    }
    assert_true(refused > TRIALS);
}

/* A run refuses caller's values that overlap its inputs. */
static void separate_values(void **unused)
{
    spry_context *context = context_of(1);
    spry_arrays c = SPRY_INIT(spry_arrays);
    double own[5 * 20];
    spry_matrix *A = generate_matrix(context, "banded,rows=20,half=1");
    spry_spgemm_plan *plan = create_spgemm_plan(context, A, A, NULL);
    spry_arrays a = arrays_of(A);
    assert_int_equal(spry_spgemm_plan_get_structure(plan, &c, NULL), SPRY_OK);
    const void *const read[] = {a.values, a.indices, (const double *)a.values + a.nnz - 1, c.indices};
    for (size_t n = 0; n < sizeof read / sizeof *read; n++) {
        spry_error err = SPRY_ERROR_INIT;
        void *values = (void *)(uintptr_t)read[n];
        assert_int_equal(spry_spgemm_plan_run(plan, values, NULL, &err), SPRY_INVALID_ARGUMENT);
        assert_string_equal(err.argument, "values");
        if (!strstr(err.message, "overlap")) fail_msg("%s", err.message);
    }
    assert_true(c.nnz <= 5 * 20);
    assert_int_equal(spry_spgemm_plan_run(plan, own, NULL, NULL), SPRY_OK);
    spry_spgemm_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Returns 1 if verification accepts C = c for A with two entries `values` at (0, 0) and B with one entry `factor`. */
static int accepts(spry_context *context, const double *values, const double *factor, double c)
{
    static const int32_t offsets[] = {0, 2}, columns[] = {0, 0}, one[] = {0, 1}, zero[] = {0};
    spry_spgemm_verification found = SPRY_INIT(spry_spgemm_verification);
    spry_matrix *A = borrow_csr(context, 1, 1, offsets, columns, values);
    spry_matrix *B = borrow_csr(context, 1, 1, one, zero, factor);
    spry_matrix *C = borrow_csr(context, 1, 1, one, zero, &c);
    assert_int_equal(spry_spgemm_verify(context, &found, C, A, B, NULL, SPRY_VERIFY_EXACT, NULL), SPRY_OK);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_matrix_destroy(C);
    return found.wrong_rows == 0;
}

static void infinite_duplicates(void **unused)
{
    spry_context *context = context_of(1);
    static const double signs[] = {2, -1}, large[] = {1e308, 1e308}, infinite = INFINITY, half = 0.5, two = 2;
    assert_true(accepts(context, signs, &infinite, NAN) && accepts(context, signs, &infinite, INFINITY));
    assert_false(accepts(context, signs, &infinite, 3));
    assert_true(accepts(context, large, &half, 1e308) && accepts(context, large, &half, INFINITY));
    assert_false(accepts(context, large, &half, 1));
    assert_true(accepts(context, signs, &two, 2));
    assert_false(accepts(context, signs, &two, INFINITY));
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits_hold_and_suffice), cmocka_unit_test(separate_values),
                                       cmocka_unit_test(infinite_duplicates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
