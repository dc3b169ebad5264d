/* Tests of csr's spans. A span describes one register load of x by AVX-512 kernels. */
#include "testing.h"

#include "base/context.h"
#include "formats/csr/csr.h"
#include "plan/plan.h"

enum { ROWS = 96, MOST = 32 };

/*
 * Builds a plan for ROWS rows. Entry e of row i has the column columns[e] + i / group * step, so each group of `group`
 * rows has equal columns.
 */
static spry_spmv_plan *plan_of(spry_context *context, const int32_t *columns, int length, int step, int group,
                               int calls)
{
    static int32_t offsets[ROWS + 1], Aj[ROWS * MOST];
    static float Ax[ROWS * MOST];
    spry_error err = SPRY_ERROR_INIT;
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    for (int i = 0; i < ROWS; i++) {
        for (int e = 0; e < length; e++) Aj[i * length + e] = columns[e] + i / group * step;
        offsets[i + 1] = (i + 1) * length;
    }
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = "csr";
    options.vector_type = SPRY_F32;
    options.expected_calls = calls;
    if (spry_matrix_borrow_csr_f32(context, &A, ROWS, 2000, offsets, Aj, Ax, &err) != SPRY_OK ||
        spry_spmv_plan_create(context, &plan, A, &options, &err) != SPRY_OK)
        fail_msg("%s", err.message);
    spry_matrix_destroy(A);
    return plan;
}

static void check_span(const spryi_csr_span *w, int column, int lanes, int count)
{
    assert_int_equal(w->column, column);
    assert_int_equal(w->lanes, lanes);
    assert_int_equal(w->count, count);
}

static spry_context *context_with_avx512(void)
{
    spry_context *context = context_of(0);
    if (context->simd < SPRYI_AVX512) {
        spry_context_destroy(context);
        skip();
    }
    return context;
}

/*
 * A span has at most sixteen neighbouring columns. A column that does not exceed the column before it starts a new
 * span.
 */
static void test_spans_of_rows(void **state)
{
    const int32_t columns[] = {5, 7, 20, 21, 22, 22, 23, 24, 25, 26, 27, 28, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    spry_context *context = context_with_avx512();
    spry_spmv_plan *plan = plan_of(context, columns, 21, 3, 1, 0);
    const spryi_csr *s = plan->forward.stored.storage;
    assert_true(s->runs.list[0].kind == SPRYI_RUN_GENERAL && s->runs.list[0].least_spans > 0);
    for (int i = 0; i < ROWS; i++) {
        const spryi_csr_span *w = s->spans.list + s->runs.list[0].first_span + 4 * (int64_t)i;
        check_span(w, 5 + 3 * i, 0x8005, 3);
        check_span(w + 1, 21 + 3 * i, 0x3, 2);
        check_span(w + 2, 22 + 3 * i, 0x7f, 7);
        check_span(w + 3, 9 + 3 * i, 0x1ff, 9);
    }
    spry_spmv_plan_destroy(plan);
    spry_context_destroy(context);
}

/* Each group of rows with equal columns has one list of spans. These spans have no gaps. */
static void test_spans_of_groups(void **state)
{
    int32_t columns[MOST];
    for (int e = 0; e < 20; e++) columns[e] = 100 + e;
    for (int e = 20; e < 26; e++) columns[e] = 101 + e;
    spry_context *context = context_with_avx512();
    spry_spmv_plan *plan = plan_of(context, columns, 26, 11, 3, 0);
    const spryi_csr *s = plan->forward.stored.storage;
    assert_true(s->runs.list[0].kind == SPRYI_RUN_SHARED && s->runs.list[0].least_spans > 0);
    for (int g = 0; g < ROWS / 3; g++) {
        const spryi_csr_span *w = s->spans.list + s->runs.list[0].first_span + 3 * (int64_t)g;
        check_span(w, 100 + 11 * g, 0xffff, 16);
        check_span(w + 1, 116 + 11 * g, 0xf, 4);
        check_span(w + 2, 121 + 11 * g, 0x3f, 6);
    }
    spry_spmv_plan_destroy(plan);
    spry_context_destroy(context);
}

/* A plan has no spans if columns are far from each other or if few calls are expected. */
static void test_no_spans(void **state)
{
    const int32_t distant[] = {5, 25, 45, 65, 85, 105}, close[] = {5, 6, 7, 8, 9, 10};
    spry_context *context = context_with_avx512();
    spry_spmv_plan *far = plan_of(context, distant, 6, 3, 1, 0), *rare = plan_of(context, close, 6, 3, 1, 5);
    assert_true(((const spryi_csr *)far->forward.stored.storage)->spans.list == NULL);
    assert_true(((const spryi_csr *)rare->forward.stored.storage)->spans.list == NULL);
    spry_spmv_plan_destroy(far);
    spry_spmv_plan_destroy(rare);
    spry_context_destroy(context);
}

/*
 * The cost model chooses ell for narrow bands. With the rates of some processors it chooses hyb, whose COO part is then
 * empty, or packed, whose diagonal slices store no columns. The tree chooses ell for rows of equal length.
 */
static void test_auto_on_bands(void **state)
{
    enum { N = 50000, LENGTH = 3 };
    static int32_t offsets[N + 1], columns[N * LENGTH];
    static double values[N * LENGTH];
    for (int step = 1; step <= 7; step += 6) {
        spry_context *context = context_of(0);
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        for (int i = 0; i < N; i++) {
            for (int e = 0; e < LENGTH; e++) columns[i * LENGTH + e] = (i * step) % (N - LENGTH) + e;
            offsets[i + 1] = (i + 1) * LENGTH;
        }
        spry_matrix *A = borrow_csr(context, N, N, offsets, columns, values);
        options.policy = step == 1 ? "cost" : "tree";
        spry_spmv_plan *plan = create_plan(context, A, &options);
        spry_spmv_plan_info info = plan_info(plan);
        const int is_other = strcmp(info.format, "packed") == 0 || strcmp(info.format, "hyb") == 0;
        assert_true(strcmp(info.format, "ell") == 0 || (step == 1 && is_other));
        assert_int_equal(info.reason_code == SPRY_REASON_LEAST_TIME, step == 1);
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(A);
        spry_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans_of_rows),
        cmocka_unit_test(test_spans_of_groups),
        cmocka_unit_test(test_no_spans),
        cmocka_unit_test(test_auto_on_bands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
