/*
 * Tests of the costs that plans report: predicted times, break-even and owned bytes. Also tests memory limits, and
 * updates, which repeat the conversion.
 */
#include "plan/plan.h"
#include "spry/tune.h"
#include "support.h"

#include <pthread.h>

static spry_spmv_plan *plan_of(spry_context *context, const spry_matrix *A, spry_spmv_options o)
{
    return create_plan(context, A, &o);
}

static spry_spmv_options in_format(const char *format)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.format = format;
    o.keep_value_type = true; /* predictions are of values of the matrix's type */
    return o;
}

/* ---- predictions ------------------------------------------------------------------------------------------ */

/*
 * Must run before this process measures a bandwidth. Building a plan must not measure, nor must filling the smaller
 * info struct of an older header. If memory for the measurement is missing, spry_spmv_plan_get_info must not fail.
 */
static void only_when_asked(void **state)
{
    test_memory h = {0};
    spry_context *context = counted_context(&h, 2);
    spry_matrix *A = generate_matrix(context, "grid5,x=60,y=60");
    spry_spmv_plan *csr = plan_of(context, A, in_format("csr")), *coo = plan_of(context, A, in_format("coo"));
    const int64_t calls = h.calls, held = context_bytes(context);
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    info.struct_size = offsetof(spry_spmv_plan_info, baseline);
    assert_int_equal(spry_spmv_plan_get_info(coo, &info, NULL), SPRY_OK);
    assert_int_equal(h.calls, calls);
    fail_call(&h, 1, 1);
    info = plan_info(coo);
    assert_true(h.calls > calls);
    assert_true(info.predicted_us == 0 && info.baseline_us == 0 && info.break_even_calls == SPRY_NEVER);
    assert_string_equal(info.baseline, "csr");
    assert_int_equal(plan_info(csr).break_even_calls, 0);
    fail_call(&h, 0, 0);
    assert_true(plan_info(coo).predicted_us > 0);
    assert_int_equal(context_bytes(context), held);
    (void)plan_info(csr);
    const int64_t measured = h.calls;
    (void)plan_info(csr);
    (void)plan_info(coo);
    assert_int_equal(h.calls, measured); /* one measurement per process */
    spry_spmv_plan_destroy(csr);
    spry_spmv_plan_destroy(coo);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    assert_int_equal(h.blocks, 0);
}

static void follow_the_ranks(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "grid5,x=300,y=300");
    static const struct {
        const char *format;
        int more; /* predicted time: -1 shorter than csr's, 0 equal, 1 longer */
    } cases[] = {{"csr", 0}, {"coo", 1}, {"packed", -1}, {"scoo", 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_spmv_options o = in_format(cases[c].format);
        spry_spmv_plan *plan = plan_of(context, A, o);
        spry_spmv_plan_info info = plan_info(plan);
        const double gain = info.baseline_us - info.predicted_us;
        assert_string_equal(info.baseline, "csr");
        assert_true(info.predicted_us > 0 && info.baseline_us > 0);
        assert_int_equal((gain < 0) - (gain > 0), cases[c].more);
        const int64_t calls = cases[c].more == 0 ? 0 : gain < 0 ? SPRY_NEVER : (int64_t)ceil(info.setup_us / gain);
        assert_int_equal(info.break_even_calls, calls);
        if (info.values_in_place) {
            assert_true(info.update_us == 0);
        } else {
            assert_int_equal(spry_spmv_plan_update(plan, NULL, NULL), SPRY_OK);
            const spry_spmv_plan_info later = plan_info(plan);
            assert_true(later.update_us > 0);
        }
        spry_spmv_plan_destroy(plan);
        o.count = 3;
        plan = plan_of(context, A, o);
        const spry_spmv_plan_info wide = plan_info(plan);
        if (cases[c].more > 0) /* coo and scoo multiply one vector at a time, so 3 vectors take about 3 times as long */
            assert_true(wide.predicted_us > 1.5 * info.predicted_us && wide.predicted_us < 3.03 * info.predicted_us);
        else /* csr reads column-major vectors in place, packed first copies them to row-major */
            assert_true(wide.predicted_us > info.predicted_us &&
                        wide.predicted_us < (cases[c].more == 0 ? 2.95 : 4) * info.predicted_us);
        spry_spmv_plan_destroy(plan);
        o.count = 0;
        o.ordering = "rcm";
        plan = plan_of(context, A, o);
        const spry_spmv_plan_info ordered = plan_info(plan);
        assert_true(ordered.predicted_us > info.predicted_us);
        assert_true(ordered.break_even_calls != 0);
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

static void *ask(void *plan)
{
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    for (int n = 0; n < 50; n++)
        if (spry_spmv_plan_get_info(plan, &info, NULL) != SPRY_OK || !(info.predicted_us > 0)) return NULL;
    return plan;
}

/* Gets plan infos on four threads at the same time. The bandwidth of three threads has not been measured yet. */
static void by_multiple_threads(void **state)
{
    enum { THREADS = 4 };
    spry_context *context = context_of(3);
    spry_matrix *A = generate_matrix(context, "grid5,x=300,y=300");
    spry_spmv_options o = in_format("coo");
    spry_spmv_plan *all = plan_of(context, A, o);
    o.threads = 1;
    spry_spmv_plan *one = plan_of(context, A, o);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&threads[t], NULL, ask, t % 2 ? one : all), 0);
    for (int t = 0; t < THREADS; t++) {
        void *good = NULL;
        assert_int_equal(pthread_join(threads[t], &good), 0);
        assert_non_null(good);
    }
    spry_spmv_plan_destroy(one);
    spry_spmv_plan_destroy(all);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* ---- limits ----------------------------------------------------------------------------------------------- */

/*
 * Asserts, for every format and layout, that a limit of owned_bytes is enough and that one byte less is refused. The
 * refusal must free all memory.
 */
static void limits_are_what_plans_own(void **state)
{
    spry_context *context = context_of(2);
    sample s = sample_make(900, 300);
    for (int input = 0; input < INPUTS; input++)
        for (int f = 0; f < format_count(); f++)
            for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++) {
                spryi_storage figure = {0};
                spry_format_info format = format_info(f);
                spry_matrix *A = sample_matrix(context, &s, input);
                const int64_t held = context_bytes(context);
                spry_spmv_options o = in_format(format.name);
                spry_spmv_plan *plan = NULL;
                spry_error err = SPRY_ERROR_INIT;
                o.op = (spry_op)op;
                o.memory_limit_bytes = INT64_MAX;
                if (spry_spmv_plan_create(context, &plan, A, &o, &err) == SPRY_UNSUPPORTED) {
                    spry_matrix_destroy(A);
                    continue;
                }
                assert_non_null(plan);
                const int64_t owned = plan_info(plan).owned_bytes;
                assert_in_range(context_bytes(context) - held, owned, owned + 4096); /* block headers and handles */
                spry_spmv_plan_destroy(plan);
                plan = NULL;
                o.memory_limit_bytes = owned;
                plan = plan_of(context, A, o);
                assert_int_equal(plan_info(plan).owned_bytes, owned);
                spry_spmv_plan_destroy(plan);
                plan = NULL;
                o.memory_limit_bytes = owned - 1;
                if (owned > 1) {
                    assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_TOO_LARGE);
                    assert_string_equal(err.argument, "memory_limit_bytes");
                    assert_true(err.value >= owned && err.limit == owned - 1);
                    assert_int_equal(context_bytes(context), held);
                }
                /* predicts only the storage */
                o.memory_limit_bytes = INT64_MAX;
                assert_int_equal(spryi_predict_storage(context, &figure, A, &o, NULL), SPRY_OK);
                assert_true(figure.owned_bytes <= owned && figure.owned_bytes <= figure.bytes && !figure.refused);
                o.memory_limit_bytes = figure.owned_bytes - 1;
                if (figure.owned_bytes > 1) {
                    assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_TOO_LARGE);
                    assert_true(err.value >= owned && err.limit == figure.owned_bytes - 1);
                    assert_int_equal(spryi_predict_storage(context, &figure, A, &o, NULL), SPRY_OK);
                    assert_int_equal(figure.refused, 1);
                }
                if (input == 1 && strcmp(format.name, "coo") == 0) assert_int_equal(figure.owned_bytes, 0);
                spry_matrix_destroy(A);
            }
    sample_free(&s);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/* ---- updates ---------------------------------------------------------------------------------------------- */

static spry_reason reason_with(spry_context *context, const spry_matrix *A, int64_t calls, int64_t updates)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.expected_calls = calls;
    o.expected_updates = updates;
    spry_spmv_plan *plan = plan_of(context, A, o);
    const spry_reason code = plan_info(plan).reason_code;
    spry_spmv_plan_destroy(plan);
    return code;
}

static void updates_repeat_conversions(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "grid7,x=20,y=20,z=20");
    const spry_reason many = reason_with(context, A, 0, 0);
    assert_true(many != SPRY_REASON_FEW_CALLS);
    assert_int_equal(reason_with(context, A, 7, 0), SPRY_REASON_FEW_CALLS);
    assert_int_equal(reason_with(context, A, 100000, 0), many);
    assert_int_equal(reason_with(context, A, 100000, 9), many);                      /* 10000 calls per conversion */
    assert_int_equal(reason_with(context, A, 100000, 19999), SPRY_REASON_FEW_CALLS); /* 5 calls per conversion */
    assert_int_equal(reason_with(context, A, 100000, INT64_MAX), SPRY_REASON_FEW_CALLS);
    assert_int_equal(reason_with(context, A, INT64_MAX, 1), many);
    assert_int_equal(reason_with(context, A, 0, 1000), many); /* many calls follow each update */
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Asserts that baseline_us of a matrix that stores one triangle is the predicted time of csr with both triangles. */
static void of_both_triangles(void **state)
{
    static const int32_t offsets[] = {0, 1, 3, 5, 7}, columns[] = {0, 0, 1, 1, 2, 2, 3};
    static const double values[] = {4, -1, 4, -1, 4, -1, 4};
    spry_context *context = context_of(1);
    spry_arrays a = csr_arrays(4, 4, offsets, columns, values, SPRY_F64);
    a.symmetry = SPRY_SYMMETRIC;
    a.triangle = SPRY_LOWER_TRIANGLE;
    spry_matrix *A = create_matrix(context, &a);
    spry_spmv_plan *plan = plan_of(context, A, in_format("csr"));
    const spry_spmv_plan_info info = plan_info(plan);
    assert_int_equal(info.expanded, 1);
    assert_int_equal(info.break_even_calls, 0);
    assert_true(info.predicted_us > 0 && info.predicted_us == info.baseline_us);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_when_asked),
        cmocka_unit_test(follow_the_ranks),
        cmocka_unit_test(by_multiple_threads),
        cmocka_unit_test(limits_are_what_plans_own),
        cmocka_unit_test(updates_repeat_conversions),
        cmocka_unit_test(of_both_triangles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
