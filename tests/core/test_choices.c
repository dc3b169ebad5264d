/*
 * Tests of the policy "measure": formats that are measured, choices that are remembered, and the matrices that share a
 * choice.
 */
#include "base/context.h"
#include "choices_support.h"
#include "choose/state.h"
#include "matrix/matrix.h"
#include "spry/matrix.h"
#include "spry/tune.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- remembered choices ----------------------------------------------------------------------------------- */

static void within_a_context(void **state)
{
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, GRID);
    const int64_t bytes = context_bytes(context);
    spry_choice_info info = SPRY_INIT(spry_choice_info);
    for (int op = 0; op < 2; op++) {
        spry_spmv_options o = measuring(PLENTY);
        o.op = op ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        const reported first = plan_with(context, A, &o), second = plan_with(context, A, &o);
        check_reported(&first, SPRY_REASON_MEASURED, " us measured, ");
        check_reported(&first, SPRY_REASON_MEASURED, " formats in ");
        check_reported(&second, SPRY_REASON_REMEMBERED, "; remembered from ");
        assert_string_equal(first.format, second.format);
        assert_string_equal(first.parameters, second.parameters);
        assert_string_equal(first.kernel, second.kernel);
        assert_int_equal(choice_count(context), op + 1);
        info = newest(context);
        assert_int_equal(info.op, o.op);
        assert_int_equal(strncmp(info.format, first.format, strlen(first.format)), 0);
        assert_string_equal(info.kernel, first.kernel);
        assert_string_equal(info.types, "f64 f64 32/32");
        assert_int_equal(strncmp(info.device, "cpu ", 4), 0);
        assert_int_equal(strlen(info.fingerprint), 16);
        assert_int_equal(strlen(info.date), 10);
        assert_true(info.rows == 3000 && info.columns == 3000 && info.nnz == spry_matrix_nnz(A) && info.calls == 0);
        assert_true(info.measured_us > 0 && info.csr_us >= info.measured_us && info.predicted_us > 0);
    }
    expect_error(spry_choice_get_info(context, &info, 2, &err), SPRY_UNKNOWN_NAME, "index");
    expect_error(spry_choice_get_info(context, &info, -1, &err), SPRY_UNKNOWN_NAME, "index");
    expect_error(spry_choice_get_info(NULL, &info, 0, &err), SPRY_INVALID_ARGUMENT, "context");
    expect_error(spry_context_set_choices(NULL, path, &err), SPRY_INVALID_ARGUMENT, "context");
    expect_error(spry_context_clear_choices(NULL, NULL, &err), SPRY_INVALID_ARGUMENT, "context");
    assert_int_equal(spry_context_clear_choices(context, NULL, NULL), SPRY_OK);
    assert_int_equal(choice_count(context), 0);
    expect_error(spry_choice_get_info(context, &info, 0, &err), SPRY_UNKNOWN_NAME, "index");
    assert_int_equal(context_bytes(context), bytes);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * Asserts that a remembered choice may have width 0, the value that plans in the format hyb report if rows have few
 * entries.
 */
static void without_width(void **state)
{
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, "uniform,rows=3000,degree=1");
    const spry_spmv_options o = measuring(PLENTY);
    (void)plan_with(context, A, &o);
    assert_int_equal(choice_count(context), 1);
    spry_choice_info *known = spryi_choose_state_of(context)->choices.known.list;
    snprintf(known->format, sizeof known->format, "hyb:width=0");
    snprintf(known->kernel, sizeof known->kernel, "hyb_portable_cpu");
    const reported t = plan_with(context, A, &o);
    check_reported(&t, SPRY_REASON_REMEMBERED, "remembered from");
    assert_string_equal(t.format, "hyb");
    assert_string_equal(t.parameters, "width=0");
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * Asserts that a refusal for memory reports the limit that csr needs, whichever format was refused first. No smaller
 * limit works.
 */
static void least_limit(void **state)
{
    static const char *const policies[] = {"measure", "tree", "tree:unpredictable", "cost"};
    static const char *const specs[] = {GRID, "grid7,x=30,y=30,z=30", "uniform,rows=3000,degree=1"};
    spry_context *context = context_of(2);
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        spry_matrix *A = generate_matrix(context, specs[s]);
        for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
            spry_spmv_options o = measuring(PLENTY);
            spry_spmv_plan *plan = NULL;
            spry_error err = SPRY_ERROR_INIT, less = SPRY_ERROR_INIT;
            o.policy = policies[p];
            o.memory_limit_bytes = 1;
            assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_TOO_LARGE);
            if (!strstr(err.message, "a plan in csr would own")) fail_msg("%s: %s", policies[p], err.message);
            o.memory_limit_bytes = err.value - 1;
            assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, &less), SPRY_TOO_LARGE);
            assert_int_equal(less.value, err.value);
            o.memory_limit_bytes = err.value;
            const reported t = plan_with(context, A, &o);
            assert_string_equal(t.format, "csr");
        }
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

/*
 * Asserts that, without memory for the vectors of a trial, "measure" builds the same plan as the policy "cost", which
 * needs no vectors.
 */
static void no_vectors(void **state)
{
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, FEW_ENTRIES);
    const spry_spmv_options plenty = measuring(PLENTY);
    spry_spmv_options o = measuring(1e12);
    o.count = 1000000000; /* x and y need 24 TB each; a product takes about 3e9 us, and the budget is longer */
    const reported t = plan_with(context, A, &o);
    if (t.code == SPRY_REASON_MEASURED || !strstr(t.reason, "; not measured, since there is no memory for vectors"))
        fail_msg("%d, %s", t.code, t.reason);
    assert_int_equal(choice_count(context), 0);
    o.policy = "cost";
    const reported same = plan_with(context, A, &o);
    assert_string_equal(t.format, same.format);
    assert_string_equal(t.parameters, same.parameters);
    assert_true(strncmp(t.reason, same.reason, strlen(same.reason)) == 0);
    spry_spmv_options most = measuring(PLENTY);
    most.count = INT32_MAX; /* the predicted time of all vectors exceeds the budget */
    const reported none = plan_with(context, A, &most);
    if (none.code == SPRY_REASON_MEASURED || !strstr(none.reason, "not measured, since the budget of 20000 ms"))
        fail_msg("%d, %s", none.code, none.reason);
    assert_int_equal(choice_count(context), 0);
    const reported after = plan_with(context, A, &plenty);
    assert_int_equal(after.code, SPRY_REASON_MEASURED);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* The vector x would need 16 GB, but the process is limited to 2 GB. */
static void too_many_columns(void **state)
{
    enum { ROWS = 3000, EACH = 8 };
    static int32_t offsets[ROWS + 1], columns[ROWS * EACH];
    static double values[ROWS * EACH];
    if (INSTRUMENTED) skip(); /* sanitizers need the address space */
    const spry_spmv_options o = measuring(PLENTY);
    spry_context *context = context_of(2);
    spry_spmv_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    struct rlimit before, few;
    for (int i = 0; i < ROWS; i++) {
        offsets[i + 1] = (i + 1) * EACH;
        for (int k = 0; k < EACH; k++) columns[i * EACH + k] = i + 17 * k;
    }
    spry_matrix *A = borrow_csr(context, ROWS, INT32_MAX, offsets, columns, values);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    few = before;
    few.rlim_cur = (rlim_t)2 << 30;
    assert_int_equal(setrlimit(RLIMIT_AS, &few), 0);
    const spry_status status = spry_spmv_plan_create(context, &plan, A, &o, &err);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    if (status != SPRY_OK) fail_msg("%s", err.message);
    spry_spmv_plan_info info = plan_info(plan);
    if (!strstr(info.reason, "there is no memory for vectors of 2147483647 and 3000 elements"))
        fail_msg("%s", info.reason);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Builds a plan for A and returns the newest choice, which has A's fingerprint. */
static spry_choice_info asked(spry_context *context, const spry_matrix *A, const spry_spmv_options *o)
{
    const reported t = plan_with(context, A, o);
    if (t.code != SPRY_REASON_MEASURED && t.code != SPRY_REASON_REMEMBERED) fail_msg("%d, %s", t.code, t.reason);
    return newest(context);
}

static spry_matrix *converted(const spry_matrix *A, spry_layout layout, spry_index_type index)
{
    spry_context *context = A->context;
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    o.layout = layout;
    o.offset_type = o.index_type = index;
    return convert_matrix(context, A, &o);
}

static void fingerprints(void **state)
{
    if (RACES_ALONE) skip();
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, GRID);
    spry_spmv_options o = measuring(PLENTY);
    const spry_choice_info first = asked(context, A, &o);
    for (int layout = 0; layout < 2; layout++) { /* same entries in another layout */
        spry_matrix *B = converted(A, layout ? SPRY_COO : SPRY_CSC, SPRY_I32);
        const reported same = plan_with(context, B, &o);
        check_reported(&same, SPRY_REASON_REMEMBERED, same.format);
        spry_matrix_destroy(B);
    }
    ((double *)(uintptr_t)A->a.values)[7] = 3; /* the fingerprint does not depend on values */
    o.expected_updates = 0;
    const reported values = plan_with(context, A, &o);
    check_reported(&values, SPRY_REASON_REMEMBERED, values.format);
    assert_int_equal(choice_count(context), 1);
    int32_t *columns = (int32_t *)(uintptr_t)A->a.indices;
    assert_true(columns[0] == 0 && columns[1] == 1);
    columns[1] = 2; /* one entry moves to another column */
    const spry_choice_info moved = asked(context, A, &o);
    assert_string_not_equal(moved.fingerprint, first.fingerprint);
    assert_true(moved.nnz == first.nnz && choice_count(context) == 2);
    columns[1] = 1;
    spry_matrix *few = generate_matrix(context, FEW_ENTRIES);
    plan_with(context, few, &o);
    for (int c = 0; c < 6; c++) {
        spry_matrix *B = c == 0 ? converted(A, SPRY_CSR, SPRY_I64) : NULL;
        o = measuring(PLENTY);
        if (c == 1) o.op = SPRY_TRANSPOSE;
        if (c == 2) o.threads = 1;
        if (c == 3) o.expected_calls = 1000000;
        if (c == 4) o.allow_nondeterministic = 1;
        if (c == 5) o.count = 4;
        const reported another = plan_with(context, c == 5 ? few : B ? B : A, &o);
        check_reported(&another, SPRY_REASON_MEASURED, c == 3 ? "set-up counted over 1000000" : another.format);
        assert_int_equal(choice_count(context), 4 + c);
        assert_int_equal(newest(context).calls, c == 3 ? 1000000 : 0);
        spry_matrix_destroy(B);
    }
    o = measuring(PLENTY);
    o.expected_calls = 900000; /* choices do not distinguish 900000 calls from a million */
    const reported alike = plan_with(context, A, &o);
    check_reported(&alike, SPRY_REASON_REMEMBERED, alike.format);
    spry_matrix_destroy(few);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* ---- without a trial, or with little time ------------------------------------------------------------------ */

/* Creates a matrix with one row, which has an entry in every second column. */
static spry_matrix *one_row(spry_context *context)
{
    enum { ENTRIES = 300 };
    static int32_t offsets[2] = {0, ENTRIES}, columns[ENTRIES];
    static double values[ENTRIES];
    for (int k = 0; k < ENTRIES; k++) {
        columns[k] = 2 * k;
        values[k] = 1 + k;
    }
    return borrow_csr(context, 1, 2 * ENTRIES, offsets, columns, values);
}

static void little_time(void **state)
{
    if (RACES_ALONE) skip();
    static const char *const specs[] = {"dense,rows=40", "diagonal,rows=1", GRID, "rmat,scale=9", "arrow,rows=3000"};
    enum { SPECS = sizeof specs / sizeof *specs };
    spry_context *context = context_of(2);
    for (int c = 0; c <= SPECS; c++) {
        spry_matrix *A = c < SPECS ? generate_matrix(context, specs[c]) : one_row(context);
        for (int op = 0; op < 2; op++) {
            spry_spmv_options o = measuring(1), plenty = measuring(PLENTY);
            o.op = plenty.op = op ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
            const int before = choice_count(context);
            const reported t = plan_with(context, A, &o);
            check_reported(&t, SPRY_REASON_LEAST_TIME, "not measured, since ");
            assert_int_equal(choice_count(context), before);
            const reported measured = plan_with(context, A, &plenty);
            assert_true(measured.code == SPRY_REASON_MEASURED || strstr(measured.reason, "no other is near"));
        }
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

static void nothing_to_measure(void **state)
{
    static const int32_t offsets[4] = {0}, columns[1];
    static const double values[1];
    spry_context *context = context_of(2);
    spry_matrix *B = generate_matrix(context, GRID);
    spry_spmv_plan *plan = NULL;
    spry_spmv_options o = measuring(0);
    spry_matrix *A = borrow_csr(context, 3, 4, offsets, columns, values);
    const reported empty = plan_with(context, A, &o);
    check_reported(&empty, SPRY_REASON_EMPTY, "no entries");
    o.expected_calls = 3;
    const reported few = plan_with(context, B, &o);
    check_reported(&few, SPRY_REASON_FEW_CALLS, "too few calls");
    o = measuring(0);
    o.format = "sell";
    const reported named = plan_with(context, B, &o);
    assert_int_equal(named.code, SPRY_REASON_NAMED);
    assert_int_equal(choice_count(context), 0);
    static const double wrong[] = {-1, 1e13};
    for (int n = 0; n < 3; n++) {
        o = measuring(n < 2 ? wrong[n] : 0.0 / *(volatile double *)&(double){0});
        expect_error(spry_spmv_plan_create(context, &plan, B, &o, &err), SPRY_INVALID_ARGUMENT, "measure_budget_us");
    }
    /* options struct of an older header, which ends before measure_budget_us */
    o = measuring(PLENTY);
    o.struct_size = offsetof(spry_spmv_options, measure_budget_us);
    const reported earlier = plan_with(context, B, &o);
    assert_true(earlier.code == SPRY_REASON_MEASURED || earlier.code == SPRY_REASON_LEAST_TIME);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_context_destroy(context);
}

/* Asserts that the plan uses the choice of the policy "cost" if the remembered format is refused. */
static void refused(void **state)
{
    static const char *const formats[] = {"hyb:width=none", "nosuch", "ell", "sell:c=16", "bsr:block=9999999"};
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, "arrow,rows=3000");
    spry_spmv_options o = measuring(PLENTY), cost = SPRY_INIT(spry_spmv_options);
    cost.expected_calls = 100000000; /* enough calls to pay for an inspection */
    (void)plan_with(context, A, &o);
    if (choice_count(context) == 0) { /* no other format had a time near csr's, so no choice was measured */
        spry_matrix_destroy(A);
        A = generate_matrix(context, GRID);
        (void)plan_with(context, A, &o);
    }
    assert_int_equal(choice_count(context), 1);
    const reported by_cost = plan_with(context, A, &cost);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        spry_choice_info *known = &spryi_choose_state_of(context)->choices.known.list[0];
        snprintf(known->format, sizeof known->format, "%s", formats[f]);
        const reported t = plan_with(context, A, &o); /* plan_with checks the product in every case */
        if (t.code == SPRY_REASON_REMEMBERED) continue;
        check_reported(&t, SPRY_REASON_LEAST_TIME, "; the remembered format ");
        assert_non_null(strstr(t.reason, formats[f]));
        assert_string_equal(t.format, by_cost.format);
    }
    snprintf(spryi_choose_state_of(context)->choices.known.list[0].kernel, 64, "no_such_kernel");
    snprintf(spryi_choose_state_of(context)->choices.known.list[0].format, 96, "sell");
    const reported other_kernel = plan_with(context, A, &o);
    assert_true(other_kernel.code == SPRY_REASON_REMEMBERED || other_kernel.code == SPRY_REASON_LEAST_TIME);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* ---- memory and threads ------------------------------------------------------------------------------------ */

/*
 * Refuses each allocation in turn. Either the plan must be right or the status SPRY_OUT_OF_MEMORY. All memory must be
 * freed.
 */
static void refused_memory(void **state)
{
    spry_context *other = context_of(1);
    spry_matrix *A = generate_matrix(other, "grid5,x=12,y=10");
    for (int onwards = 0; onwards < 2; onwards++)
        for (int64_t n = 1, more = 1; more; n++) {
            test_memory h = {0};
            spry_context *context = counted_context(&h, 1);
            spry_spmv_options o = measuring(INSTRUMENTED ? 40000 : 4000);
            spry_spmv_plan *mark = (spry_spmv_plan *)(uintptr_t)1, *plan = mark;
            spry_error err = SPRY_ERROR_INIT;
            o.op = n % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
            fail_call(&h, n, onwards);
            spry_status status = spry_context_set_choices(context, path, &err);
            if (status == SPRY_OK) status = spry_spmv_plan_create(context, &plan, A, &o, &err);
            more = call_failed(&h);
            fail_call(&h, 0, 0);
            if (status == SPRY_OK) {
                check_product(other, plan, A, o.op);
                spry_spmv_plan_destroy(plan);
            } else {
                check_error(status, &err, SPRY_OUT_OF_MEMORY, NULL, __FILE__, __LINE__);
                assert_ptr_equal(plan, mark);
            }
            assert_int_equal(spry_context_clear_choices(context, NULL, NULL), SPRY_OK);
            assert_int_equal(spry_context_set_choices(context, NULL, NULL), SPRY_OK);
            assert_int_equal(context_bytes(context), 0);
            spry_context_destroy(context);
            assert_true(h.blocks == 0 && h.bytes == 0 && h.faults == 0);
        }
    spry_matrix_destroy(A);
    spry_context_destroy(other);
}

typedef struct planner {
    spry_context *context;
    spry_matrix *const *A;
    int measured, remembered;
} planner;

enum { MATRICES = 2, PLANNERS = 3 };

static void *plan_all(void *argument)
{
    planner *p = argument;
    for (int n = 0; n < 2 * MATRICES; n++) {
        spry_spmv_plan *plan = NULL;
        spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
        const spry_spmv_options o = measuring(PLENTY);
        if (spry_spmv_plan_create(p->context, &plan, p->A[n % MATRICES], &o, NULL) != SPRY_OK) return NULL;
        if (spry_spmv_plan_get_info(plan, &info, NULL) != SPRY_OK) return NULL;
        p->measured += info.reason_code == SPRY_REASON_MEASURED;
        p->remembered += info.reason_code == SPRY_REASON_REMEMBERED;
        spry_spmv_plan_destroy(plan);
        (void)choice_count(p->context);
    }
    return p;
}

/* Builds plans on multiple threads at the same time. Each matrix must be measured only once. */
static void at_once(void **state)
{
    spry_context *context = context_of(2);
    spry_matrix *const A[MATRICES] = {generate_matrix(context, GRID), generate_matrix(context, "grid5,x=50,y=60")};
    planner p[PLANNERS];
    pthread_t threads[PLANNERS];
    int measured = 0, remembered = 0;
    (void)unlink(path);
    set_file(context);
    for (int t = 0; t < PLANNERS; t++) {
        p[t] = (planner){.context = context, .A = A};
        assert_int_equal(pthread_create(&threads[t], NULL, plan_all, &p[t]), 0);
    }
    for (int t = 0; t < PLANNERS; t++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[t], &result), 0);
        assert_ptr_equal(result, &p[t]);
        measured += p[t].measured;
        remembered += p[t].remembered;
    }
    assert_int_equal(measured, MATRICES);
    assert_int_equal(remembered, (2 * PLANNERS - 1) * MATRICES);
    assert_int_equal(choice_count(context), MATRICES);
    for (int n = 0; n < MATRICES; n++) spry_matrix_destroy(A[n]);
    spry_context_destroy(context);
}

/* ---- explanations ------------------------------------------------------------------------------------------- */

static void explained(void **state)
{
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, GRID);
    spry_spmv_options spmv = measuring(PLENTY);
    spry_explain_options o = SPRY_INIT(spry_explain_options);
    spry_explanation *e = NULL;
    spry_explanation_info info = SPRY_INIT(spry_explanation_info);
    o.spmv = &spmv;
    for (int again = 0; again < 2; again++) {
        double least = 0;
        int measured = 0;
        assert_int_equal(spry_spmv_explain(context, &e, A, &o, NULL), SPRY_OK);
        assert_int_equal(spry_explanation_get_info(e, &info, NULL), SPRY_OK);
        assert_int_equal(info.reason_code, SPRY_REASON_MEASURED); /* explain measures again */
        for (int k = 0; k < info.candidates; k++) {
            spry_candidate c = SPRY_INIT(spry_candidate);
            assert_int_equal(spry_explanation_get_candidate(e, &c, k, NULL), SPRY_OK);
            assert_int_equal(c.measured_us > 0, c.measured_setup_us > 0);
            measured += c.measured_us > 0;
            if (c.measured_us > 0 && (least == 0 || c.measured_us < least)) least = c.measured_us;
            if (strcmp(c.format, info.format) == 0) assert_true(c.measured_us > 0);
        }
        assert_true(measured >= 2 && measured <= 4);
        assert_true(least == newest(context).measured_us);
        spry_explanation_destroy(e);
    }
    o.device_class = "h200";
    expect_error(spry_spmv_explain(context, &e, A, &o, &err), SPRY_UNSUPPORTED, "device_class");
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_a_context), cmocka_unit_test(without_width),
        cmocka_unit_test(least_limit),      cmocka_unit_test(no_vectors),
        cmocka_unit_test(too_many_columns), cmocka_unit_test(fingerprints),
        cmocka_unit_test(little_time),      cmocka_unit_test(nothing_to_measure),
        cmocka_unit_test(refused),          cmocka_unit_test(refused_memory),
        cmocka_unit_test(at_once),          cmocka_unit_test(explained),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
