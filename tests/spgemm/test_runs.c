/*
 * Tests runs of rows that share one order of products (row_runs.h explains runs and groups). Runs begin and end
 * anywhere. Rows are sorted or unsorted, have duplicates, or are empty. C must have the bits of kernel spgemm_smmp_cpu.
 * Also tests kernels that list columns while they count rows.
 */
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/spgemm.h"
#include "support.h"

enum { TRIALS = INSTRUMENTED ? 60 : 1500, MOST = 40 };

static int rising(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/*
 * Columns of a random matrix. Row i has a column i / identical * step + offset for each of at most `most` offsets. An
 * offset is between -spread and spread. Rows keep the offsets of the row before, until new offsets are drawn.
 */
typedef struct lay {
    int64_t identical, step, spread, most, change; /* change: mean number of rows with the same offsets */
    int sorted, distinct;
} lay;

/* Values of any magnitude, so that a different order of sums changes bits. */
static test_entries make(int64_t rows, int64_t cols, const lay *l, uint64_t *state)
{
    test_entries e = {.rows = rows, .cols = cols};
    int64_t offsets[MOST], n = 0;
    for (int64_t i = 0; i < rows && cols > 0; i++) {
        if (n == 0 || test_below(state, l->change) == 0) {
            n = test_below(state, 12) == 0 ? 0 : 1 + test_below(state, l->most);
            for (int64_t k = 0; k < n; k++) offsets[k] = test_below(state, 2 * l->spread + 1) - l->spread;
            if (l->sorted) qsort(offsets, (size_t)n, sizeof *offsets, rising);
        }
        for (int64_t k = 0; k < n; k++) {
            const int64_t j = i / l->identical * l->step + offsets[k];
            if (j < 0 || j >= cols || (l->distinct && k > 0 && offsets[k] == offsets[k - 1])) continue;
            test_add(&e, i, j, test_below(state, 9) == 0 ? 0 : (double)(test_below(state, 1 << 20) - (1 << 19)) / 977);
        }
    }
    return e;
}

static spry_matrix *multiply(spry_context *context, const spry_matrix *A, const spry_matrix *B, spry_type type,
                             const char *kernel, double alpha, int drop)
{
    spry_matrix *C = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
    const float alpha32 = (float)alpha;
    options.kernel = kernel;
    options.alpha = type == SPRY_F64 ? (const void *)&alpha : &alpha32;
    options.drop_zeros = drop;
    const spry_status status = spry_spgemm(context, &C, NULL, A, B, &options, &err);
    if (status == SPRY_DEVICE_UNAVAILABLE) return NULL;
    if (status != SPRY_OK) fail_msg("%s", err.message);
    return C;
}

/* Compares products in one pass (contexts 0 to 2) and in two phases (context 3: memory hooks disable one pass). */
static void one_trial(spry_context *const contexts[4], uint64_t seed)
{
    uint64_t state = seed;
    lay l = {.identical = test_below(&state, 3) ? 1 : 1 + test_below(&state, 9)};
    const int same = test_below(&state, 2) == 0;
    l.step = same || test_below(&state, 3) ? l.identical : 1 + test_below(&state, 3);
    l.spread = test_below(&state, 3) ? 2 + test_below(&state, 12) : 100;
    l.most = test_below(&state, 4) ? 1 + test_below(&state, 9) : MOST;
    l.change = test_below(&state, 4) ? 20 + test_below(&state, 200) : 2 + test_below(&state, 20);
    l.sorted = test_below(&state, 4) > 0;
    l.distinct = l.sorted && test_below(&state, 4) > 0;
    const int64_t rows = 100 + test_below(&state, 400), cols = same ? rows : 50 + test_below(&state, 500);
    const spry_type type = test_below(&state, 3) ? SPRY_F64 : SPRY_F32;
    const test_form form = {SPRY_CSR, type, test_below(&state, 6) ? SPRY_I32 : SPRY_I64, SPRY_I32};
    const double alpha = (double)test_below(&state, 3) - 0.75;
    const int drop = test_below(&state, 6) == 0;
    test_entries a = make(rows, cols, &l, &state);
    lay below = l;
    below.identical = 1 + (same ? l.identical - 1 : test_below(&state, 2));
    below.step = same ? l.step : 1 + test_below(&state, 2);
    test_entries b = make(cols, same ? cols : 30 + test_below(&state, 700), &below, &state);
    spry_matrix *A = test_matrix(contexts[0], &a, form), *B = test_matrix(contexts[0], &b, form);
    const spry_matrix *right = same && test_below(&state, 2) ? A : B;
    spry_matrix *expected =
        multiply(contexts[0], A, right, type, TEST_STUDY("spgemm_smmp_cpu", "spgemm_rows_cpu"), alpha, drop);
    for (int c = 0; c < 4 * (TEST_KERNELS - 1); c++) {
        const char *const kernel = test_kernels[1 + c / 4];
        spry_matrix *C = multiply(contexts[c % 4], A, right, type, kernel, alpha, drop);
        if (C && !test_same_bits(C, expected))
            fail_msg("%s, seed %llu, context %d: other bits, %lld x %lld, identical %lld, step %lld", kernel,
                     (unsigned long long)seed, c % 4, (long long)rows, (long long)cols, (long long)l.identical,
                     (long long)l.step);
        spry_matrix_destroy(C);
    }
    spry_matrix_destroy(expected);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    test_discard(&a);
    test_discard(&b);
}

static void random_runs(void **unused)
{
    test_memory memory = {0};
    spry_context *contexts[4] = {context_of(1), context_of(2), context_of(5), counted_context(&memory, 2)};
    for (int trial = 0; trial < TRIALS; trial++) one_trial(contexts, (uint64_t)trial);
    for (int c = 0; c < 4; c++) {
        assert_int_equal(context_bytes(contexts[c]), 0);
        spry_context_destroy(contexts[c]);
    }
}

/*
 * Tests typical matrices with runs: long runs, long rows, multiple unknowns per node, and a C that is larger than the
 * caches.
 */
static void grids(void **unused)
{
    static const char *const specs[] = {"gen:grid5,x=300,y=20",  "gen:grid7,x=70,y=9,z=8", "gen:grid27,x=90,y=6,z=5",
                                        "gen:fem3,x=30,y=6,z=5", "gen:grid5,x=600,y=400",  "gen:fem3,x=24,y=16,z=14"};
    test_memory memory = {0};
    spry_context *contexts[3] = {context_of(1), context_of(2), counted_context(&memory, 2)};
    for (int s = 0; s < (INSTRUMENTED ? 4 : 6); s++)
        for (int narrow = 0; narrow < 2; narrow++) {
            const spry_type type = narrow ? SPRY_F32 : SPRY_F64;
            spry_matrix *G = NULL, *A = NULL;
            spry_error err = SPRY_ERROR_INIT;
            spry_matrix_options options = SPRY_INIT(spry_matrix_options);
            options.value_type = type;
            if (spry_matrix_generate(contexts[0], &G, specs[s], NULL, &err) != SPRY_OK ||
                spry_matrix_convert(contexts[0], &A, NULL, G, &options, &err) != SPRY_OK)
                fail_msg("%s: %s", specs[s], err.message);
            spry_matrix *expected =
                multiply(contexts[0], A, A, type, TEST_STUDY("spgemm_smmp_cpu", "spgemm_rows_cpu"), 1, 0);
            for (int c = 0; c < 3; c++)
                for (int k = 2; k < TEST_KERNELS; k++) {
                    spry_matrix *C = multiply(contexts[c], A, A, type, test_kernels[k], 1, 0);
                    if (C && !test_same_bits(C, expected))
                        fail_msg("%s of %s, context %d: other bits", test_kernels[k], specs[s], c);
                    spry_matrix_destroy(C);
                }
            spry_matrix_destroy(expected);
            spry_matrix_destroy(A);
            spry_matrix_destroy(G);
        }
    for (int c = 0; c < 3; c++) spry_context_destroy(contexts[c]);
}

/*
 * Tests kernels that list the columns of C while they count the entries of each row. One thread writes the list to C's
 * array, multiple threads write it to separate memory. Columns of a row are close or distant, sorted or not, with or
 * without duplicates. Tests products and plans.
 */
static void listed_columns(void **unused)
{
    static const test_kind kinds[] = {TEST_UNIFORM, TEST_SHUFFLED, TEST_BANDED};
    uint64_t state = 23;
    spry_context *contexts[] = {context_of(1), context_of(2), context_of(5)};
    for (int k = 0; k < 3; k++)
        for (int far = 0; far < 2; far++) {
            const int64_t rows = far ? 9000 : 1500;
            const spry_index_type type = far && k % 2 ? SPRY_I64 : SPRY_I32;
            const test_form form = {SPRY_CSR, SPRY_F64, type, type};
            test_entries a = test_make(kinds[k], rows, rows, far ? 4 : 9, &state);
            spry_matrix *A = test_matrix(contexts[0], &a, form);
            spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
            options.kernel = test_kernels[0];
            spry_matrix *wanted = test_square(contexts[0], A, &options);
            for (int c = 0; c < 3; c++)
                for (int n = 1; n < 3; n++) {
                    spry_matrix *C = NULL, *D = NULL;
                    options.kernel = test_kernels[n];
                    const spry_status status = spry_spgemm(contexts[c], &C, NULL, A, A, &options, NULL);
                    if (status == SPRY_DEVICE_UNAVAILABLE) continue;
                    assert_int_equal(status, SPRY_OK);
                    spry_spgemm_plan *plan = create_spgemm_plan(contexts[c], A, A, &options);
                    assert_int_equal(spry_spgemm_plan_run(plan, NULL, NULL, NULL), SPRY_OK);
                    assert_int_equal(spry_spgemm_plan_get_result(plan, &D, NULL), SPRY_OK);
                    if (!test_same_bits(C, wanted) || !test_same_bits(D, wanted))
                        fail_msg("%s, kind %d, context %d: other bits", test_kernels[n], (int)kinds[k], c);
                    spry_spgemm_plan_destroy(plan);
                    spry_matrix_destroy(D);
                    spry_matrix_destroy(C);
                }
            spry_matrix_destroy(wanted);
            spry_matrix_destroy(A);
            test_discard(&a);
        }
    for (int c = 0; c < 3; c++) {
        assert_int_equal(context_bytes(contexts[c]), 0);
        spry_context_destroy(contexts[c]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_runs), cmocka_unit_test(grids),
                                       cmocka_unit_test(listed_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
