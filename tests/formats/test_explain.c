/* Tests of spry_spmv_explain: candidates, features and refusals, also for devices that this machine lacks. */
#include "plan/plan.h"
#include "spry/tune.h"
#include "testing.h"

static spry_explanation *explained(spry_context *context, const spry_matrix *A, const char *device,
                                   const spry_spmv_options *spmv)
{
    spry_explanation *e = NULL;
    spry_explain_options o = SPRY_INIT(spry_explain_options);
    o.device_class = device;
    o.spmv = spmv;
    MUST(spry_spmv_explain(context, &e, A, &o, err));
    return e;
}

static spry_explanation_info info_of(const spry_explanation *e)
{
    spry_explanation_info info = SPRY_INIT(spry_explanation_info);
    assert_int_equal(spry_explanation_get_info(e, &info, NULL), SPRY_OK);
    return info;
}

static spry_candidate candidate_of(const spry_explanation *e, const char *format)
{
    spry_candidate c = SPRY_INIT(spry_candidate);
    for (int k = 0; k < info_of(e).candidates; k++) {
        assert_int_equal(spry_explanation_get_candidate(e, &c, k, NULL), SPRY_OK);
        if (strcmp(c.format, format) == 0) return c;
    }
    fail_msg("no candidate %s", format);
    return c;
}

static double feature_of(const spry_explanation *e, const char *name)
{
    spry_feature f = SPRY_INIT(spry_feature);
    for (int k = 0; k < info_of(e).features; k++) {
        assert_int_equal(spry_explanation_get_feature(e, &f, k, NULL), SPRY_OK);
        assert_true(f.text[0] && isfinite(f.value));
        if (strcmp(f.name, name) == 0) return f.value;
    }
    fail_msg("no feature %s", name);
    return 0;
}

/* The bytes of a product in coo are those of x, of y, and of the value, row and column of each entry. */
static void bytes_of_coo(void **state)
{
    spry_matrix *A = generate_matrix(*state, "grid7,x=20,y=20,z=20");
    spry_explanation *e = explained(*state, A, "avx512", NULL);
    const double nnz = 7 * 8000 - 6 * 400, rows = 8000;
    assert_true(candidate_of(e, "coo").bytes == nnz * (8 + 4 + 4) + 2 * rows * 8);
    spry_explanation_destroy(e);
    spry_matrix_destroy(A);
}

/*
 * Asserts that an explanation lists every format once: first the allowed formats by time, then the refused formats with
 * the reason. The choice must have the least total time.
 */
static void candidates_are_ranked(void **state)
{
    static const char *const specs[] = {"grid7,x=30,y=30,z=30", "rmat,scale=13", "fem3,x=12,y=12,z=12", "arrow,rows=9"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (int n = 0; n < device_class_count(); n++)
            for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++) {
                spry_device_class_info class = SPRY_INIT(spry_device_class_info);
                assert_int_equal(spry_device_class_get_info(&class, n, NULL), SPRY_OK);
                assert_true(class.title[0] && class.fitted[0]);
                spry_spmv_options o = SPRY_INIT(spry_spmv_options);
                o.op = (spry_op)op;
                spry_matrix *A = generate_matrix(*state, specs[s]);
                spry_explanation *e = explained(*state, A, class.name, &o);
                const spry_explanation_info info = info_of(e);
                assert_string_equal(info.device_class, class.name);
                assert_true(info.candidates >= format_count()); /* kernels of csr are ranked separately */
                assert_int_equal(info.calls, 10000);
                assert_int_equal(info.threads > 0, strcmp(class.device_kind, "cpu") == 0);
                double before = 0, least = INFINITY;
                const char *taken = "";
                int refused = 0, base = 0;
                for (int k = 0; k < info.candidates; k++) {
                    spry_candidate c = SPRY_INIT(spry_candidate);
                    assert_int_equal(spry_explanation_get_candidate(e, &c, k, NULL), SPRY_OK);
                    if (c.refused[0]) refused = 1;
                    assert_int_equal(c.refused[0] != 0, refused);
                    assert_true(refused || (c.predicted_us >= before && c.setup_us >= 0 && c.bytes > 0));
                    if (refused) continue;
                    before = c.predicted_us;
                    base |= strcmp(c.format, "csr") == 0 && c.break_even_calls == 0;
                    if (c.total_us < least) taken = c.format;
                    least = fmin(least, c.total_us);
                }
                assert_true(base);
                if (info.reason_code == SPRY_REASON_LEAST_TIME) assert_string_equal(info.format, taken);
                assert_true(strstr(info.reason, info.format) == info.reason);
                spry_explanation_destroy(e);
                spry_matrix_destroy(A);
            }
}

/*
 * Asserts that an explanation equals the plan's choice on a present device, and does not change when it is repeated. In
 * the cases with a limit of 64 KB, only csr fits.
 */
static void the_plan_agrees(void **state)
{
    spry_matrix *A = generate_matrix(*state, "rgg20,scale=15");
    for (int c = 0; c < 8; c++) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.expected_calls = c % 2 ? 1000000 : 3;
        if (c == 6) o.expected_calls = 1000; /* set-up is divided by these calls */
        o.op = c / 2 == 1 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        if (c == 4 || c == 5) o.memory_limit_bytes = 65536;
        if (c >= 6) o.count = 8;
        if (c == 7) o.row_major = 1;
        if (c == 5) o.policy = "tree:unpredictable";
        spry_explanation *e = explained(*state, A, NULL, &o), *again = explained(*state, A, NULL, &o);
        spry_spmv_plan *plan = create_plan(*state, A, &o);
        spry_spmv_plan_info info = plan_info(plan);
        assert_string_equal(info.format, info_of(e).format);
        assert_string_equal(info.reason, info_of(e).reason);
        assert_string_equal(info_of(again).reason, info_of(e).reason);
        if (c >= 6) assert_non_null(strstr(info.reason, " product of 8 vectors"));
        if (c == 5) assert_non_null(strstr(info.reason, "csr: hyb would take more memory"));
        spry_spmv_plan_destroy(plan);
        spry_explanation_destroy(e);
        spry_explanation_destroy(again);
    }
    spry_matrix_destroy(A);
}

/*
 * Asserts that explain fails with the plan's error if not even csr fits in the memory limit. The same holds for devices
 * that are not present.
 */
static void nothing_fits(void **state)
{
    static const char *const specs[] = {"rmat16,scale=8", "grid5,x=60,y=50", "empty,rows=90,cols=90"};
    int failed = 0;
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (int op = SPRY_NO_TRANSPOSE; op <= SPRY_TRANSPOSE; op++)
            for (int64_t limit = 1; limit < 100000; limit *= 3) {
                spry_matrix *A = generate_matrix(*state, specs[s]);
                spry_spmv_options o = SPRY_INIT(spry_spmv_options);
                spry_explain_options asked = SPRY_INIT(spry_explain_options);
                spry_error err = SPRY_ERROR_INIT, why = SPRY_ERROR_INIT;
                spry_explanation *e = NULL;
                spry_spmv_plan *plan = NULL;
                o.op = (spry_op)op;
                o.memory_limit_bytes = limit;
                asked.spmv = &o;
                const spry_status status = spry_spmv_plan_create(*state, &plan, A, &o, &why);
                assert_int_equal(spry_spmv_explain(*state, &e, A, &asked, &err), status);
                assert_int_equal(e != NULL, status == SPRY_OK);
                if (status != SPRY_OK) {
                    assert_int_equal(status, SPRY_TOO_LARGE);
                    assert_string_equal(err.argument, "memory_limit_bytes");
                    assert_string_equal(err.message, why.message);
                    assert_true(err.value == why.value && err.limit == limit);
                    failed++;
                }
                spry_explanation_destroy(e);
                spry_spmv_plan_destroy(plan);
                spry_matrix_destroy(A);
            }
    assert_true(failed > 0);
    spry_matrix *A = generate_matrix(*state, "grid5,x=60,y=50");
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spryi_storage storage = {0};
    o.format = "csr";
    assert_int_equal(spryi_predict_storage(*state, &storage, A, &o, NULL), SPRY_OK);
    for (int c = 0; c < 4; c++) { /* a GPU's plan owns its whole storage, and copies of both vectors */
        const int64_t vectors = 2 * 8 * 3000, all = storage.bytes + vectors;
        spry_explain_options asked = SPRY_INIT(spry_explain_options);
        spry_error err = SPRY_ERROR_INIT;
        spry_explanation *e = NULL;
        asked.spmv = &o;
        asked.device_class = "h200";
        o.memory_limit_bytes = c == 0 ? 1 : c == 1 ? storage.bytes : c == 2 ? all - 1 : all;
        const spry_status status = spry_spmv_explain(*state, &e, A, &asked, &err);
        assert_int_equal(status, c < 3 ? SPRY_TOO_LARGE : SPRY_OK);
        if (c < 3) assert_true(err.value == all && err.limit == o.memory_limit_bytes);
        if (c == 3) assert_string_equal(info_of(e).format, "csr");
        spry_explanation_destroy(e);
    }
    spry_matrix_destroy(A);
}

/* Asserts that a plan in `format` (NULL: the library's choice) has the predicted times of this format's candidate. */
static void expect_prediction(spry_context *context, const spry_matrix *A, const spry_explanation *e, const char *spec,
                              spry_spmv_options o, const char *format)
{
    spry_spmv_plan *plan = NULL;
    o.format = format;
    const spry_status status = spry_spmv_plan_create(context, &plan, A, &o, NULL);
    if (status == SPRY_TOO_LARGE || status == SPRY_UNSUPPORTED) return;
    assert_int_equal(status, SPRY_OK);
    spry_spmv_plan_info info = plan_info(plan);
    const spry_candidate own = candidate_of(e, info.format), csr = candidate_of(e, "csr");
    if (own.predicted_us > 0 && !(fabs(info.predicted_us / own.predicted_us - 1) < 1e-9))
        fail_msg("%s, %s: a plan predicts %g us, an explanation %g", spec, info.format, info.predicted_us,
                 own.predicted_us);
    if (!(fabs(info.baseline_us / csr.predicted_us - 1) < 1e-9))
        fail_msg("%s, %s: csr: a plan predicts %g us, an explanation %g", spec, info.format, info.baseline_us,
                 csr.predicted_us);
    assert_int_equal(info.break_even_calls < 0, info.break_even_calls != 0 && info.predicted_us >= info.baseline_us);
    assert_int_equal(spry_spmv_plan_update(plan, NULL, NULL), SPRY_OK);
    spry_spmv_plan_info later = plan_info(plan);
    assert_true(later.predicted_us == info.predicted_us);
    spry_spmv_plan_destroy(plan);
}

static void one_prediction(void **state)
{
    static const char *const specs[] = {"laplace5,x=200,y=100", "grid7,x=40,y=40,z=40", "road,side=90",
                                        "fem3,x=9,y=9,z=9",     "rmat,scale=12",        "grid5,x=9,y=9"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (int way = 0; way < 6; way++) {
            if (SAMPLED && (way + (int)s) % 3 != 0) continue;
            spry_matrix *A = generate_matrix(*state, specs[s]);
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.op = way == 1 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
            o.count = way == 2 || way == 3 ? 8 : 0;
            o.row_major = way == 3;
            o.threads = way == 4;
            o.expected_calls = way == 5 ? 3 : 0;
            spry_explanation *e = explained(*state, A, NULL, &o);
            expect_prediction(*state, A, e, specs[s], o, NULL);
            for (int f = 0; f < format_count(); f++) {
                spry_format_info format = format_info(f);
                if (strcmp(format.name, "csc") != 0 || way == 1)
                    expect_prediction(*state, A, e, specs[s], o, format.name);
            }
            spry_explanation_destroy(e);
            spry_matrix_destroy(A);
        }
}

/*
 * Asserts that, if csr is chosen because few calls are expected, its set-up does not make its total time longer than
 * another candidate's.
 */
static void few_calls(void **state)
{
    static const char *const specs[] = {"grid5,x=120,y=120", "rgg,scale=13", "uniform,rows=9000,degree=9"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        spry_matrix *A = generate_matrix(*state, specs[s]);
        spry_explanation *many = explained(*state, A, "avx512", NULL);
        for (int calls = 1; calls < 8; calls++) {
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.expected_calls = calls;
            spry_explanation *e = explained(*state, A, "avx512", &o);
            const spry_candidate csr = candidate_of(e, "csr");
            assert_int_equal(info_of(e).reason_code, SPRY_REASON_FEW_CALLS);
            assert_string_equal(info_of(e).format, "csr");
            if (calls < 3) assert_true(csr.setup_us == 0 && csr.total_us == calls * csr.predicted_us);
            assert_true(csr.setup_us <= csr.predicted_us / 2);
            assert_true(csr.setup_us <= candidate_of(many, "csr").setup_us);
            assert_int_equal(csr.break_even_calls, 0);
            for (int k = 0; calls < 3 && k < info_of(e).candidates; k++) {
                spry_candidate c = SPRY_INIT(spry_candidate);
                assert_int_equal(spry_explanation_get_candidate(e, &c, k, NULL), SPRY_OK);
                if (c.predicted_us > 0 && c.total_us < csr.total_us) fail_msg("%s: %s", specs[s], c.format);
            }
            spry_explanation_destroy(e);
        }
        spry_explanation_destroy(many);
        spry_matrix_destroy(A);
    }
}

/* On GPUs the transposed product of csr may differ in every run. The choice is csc unless nondeterminism is allowed. */
static void few_transposed_calls(void **state)
{
    spry_matrix *A = generate_matrix(*state, "grid5,x=120,y=120");
    for (int n = 0; n < device_class_count(); n++)
        for (int any = 0; any < 2; any++) {
            spry_device_class_info class = SPRY_INIT(spry_device_class_info);
            assert_int_equal(spry_device_class_get_info(&class, n, NULL), SPRY_OK);
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.op = SPRY_TRANSPOSE;
            o.expected_calls = 3;
            o.allow_nondeterministic = any;
            spry_explanation *e = explained(*state, A, class.name, &o);
            const int gpu = strcmp(class.device_kind, "cpu") != 0;
            assert_string_equal(info_of(e).format, gpu && !any ? "csc" : "csr");
            spry_explanation_destroy(e);
        }
    spry_matrix_destroy(A);
}

/*
 * Tests the features of matrices whose features are known, and the effect of the feature "repeated" on the time of csr.
 */
static void features_are_known(void **state)
{
    enum { N = 50000, LENGTH = 3 };
    static int32_t offsets[N + 1], columns[N * LENGTH];
    static double values[N * LENGTH];
    double csr_us[2];
    for (int step = 1; step <= 7; step += 6) {
        for (int i = 0; i < N; i++) {
            for (int e = 0; e < LENGTH; e++) columns[i * LENGTH + e] = (int32_t)((int64_t)i * step % (N - LENGTH) + e);
            offsets[i + 1] = (i + 1) * LENGTH;
        }
        spry_matrix *A = borrow_csr(*state, N, N, offsets, columns, values);
        spry_explanation *e = explained(*state, A, "avx512", NULL);
        assert_true(feature_of(e, "mean_row") == LENGTH && feature_of(e, "longest_row") == LENGTH);
        assert_true(feature_of(e, "deviation") == 0 && feature_of(e, "empty_rows") == 0 && feature_of(e, "slots") == 1);
        assert_true(fabs(feature_of(e, "adjacent") - 2.0 / 3) < 0.01);
        if (step == 1)
            assert_true(feature_of(e, "repeated") > 0.99); /* a band */
        else
            assert_true(feature_of(e, "repeated") < 0.01);
        csr_us[step > 1] = candidate_of(e, "csr").predicted_us;
        spry_explanation_destroy(e);
        spry_matrix_destroy(A);
    }
    assert_true(csr_us[0] < csr_us[1]); /* csr does not read the columns of a band */
}

/*
 * Asserts that the feature "repeated" is found even in matrices with few rows, if rows have at most MOST_COMPARED
 * entries. A search for blocks must succeed where shapes[].block > 1.
 */
static void few_rows_are_compared(void **state)
{
    static const struct {
        int64_t rows, cols, block;
    } shapes[] = {{2, 3, 1}, {17, 40, 8}, {80, 80, 8}, {30, 30000, 8}, {8, 40000, 1}};
    enum { MOST_COMPARED = 512 /* entries of a row */ };
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++) {
        char spec[64];
        snprintf(spec, sizeof spec, "dense,rows=%d,cols=%d", (int)shapes[n].rows, (int)shapes[n].cols);
        spry_matrix *A = generate_matrix(*state, spec);
        spry_explanation *e = explained(*state, A, "avx512", NULL);
        assert_true(feature_of(e, "repeated") == (shapes[n].cols <= MOST_COMPARED));
        assert_true(feature_of(e, "adjacent") > 0.6);
        assert_int_equal(feature_of(e, "block") > 1, shapes[n].block > 1);
        spry_explanation_destroy(e);
        spry_matrix_destroy(A);
    }
}

/*
 * Asserts that an inspection allocates no memory per column, for a matrix with 10^12 columns of which few have entries.
 */
static void wide_matrices_take_no_memory(void **state)
{
    enum { ROWS = 100, LENGTH = 40 };
    static int64_t offsets[ROWS + 1], columns[ROWS * LENGTH];
    static double values[ROWS * LENGTH];
    spry_arrays a = SPRY_INIT(spry_arrays);
    for (int k = 0; k < ROWS * LENGTH; k++) columns[k] = k % LENGTH;
    for (int i = 0; i <= ROWS; i++) offsets[i] = (int64_t)i * LENGTH;
    a.layout = SPRY_CSR;
    a.rows = ROWS;
    a.columns = INT64_C(1000000000000);
    a.nnz = ROWS * LENGTH;
    a.offsets = offsets;
    a.indices = columns;
    a.values = values;
    a.offset_type = a.index_type = SPRY_I64;
    a.value_type = SPRY_F64;
    a.ownership = SPRY_BORROW;
    spry_matrix *A = create_matrix(*state, &a);
    spry_explanation *e = explained(*state, A, "avx512", NULL);
    assert_true(feature_of(e, "block") == 1 && feature_of(e, "repeated") == 1);
    spry_explanation_destroy(e);
    e = explained(*state, A, "h100", NULL);
    assert_true(feature_of(e, "block") == 1);
    spry_explanation_destroy(e);
    spry_matrix_destroy(A);
}

static void refusals_have_reasons(void **state)
{
    spry_matrix *A = generate_matrix(*state, "grid7,x=30,y=30,z=30");
    spry_explanation *e = explained(*state, A, "h200", NULL);
    assert_non_null(strstr(candidate_of(e, "bsr").refused, "no blocks"));
    assert_non_null(strstr(candidate_of(e, "packed").refused, "too few slices"));
    assert_non_null(strstr(candidate_of(e, "swept").refused, "too few blocks"));
    assert_non_null(strstr(candidate_of(e, "csc").refused, "transposed"));
    assert_true(candidate_of(e, "scoo").predicted_us == 0 && candidate_of(e, "scoo").refused[0]);
    spry_explanation_destroy(e);
    spry_matrix_destroy(A);
    A = generate_matrix(*state, "fem3,x=12,y=12,z=12");
    e = explained(*state, A, "h200", NULL);
    assert_string_equal(candidate_of(e, "bsr").refused, "");
    assert_true(feature_of(e, "block") == 3);
    spry_explanation_destroy(e);
    spry_matrix_destroy(A);
    A = generate_matrix(*state, "empty,rows=4,cols=4");
    e = explained(*state, A, "h200", NULL);
    assert_string_equal(info_of(e).format, "csr");
    assert_int_equal(info_of(e).reason_code, SPRY_REASON_EMPTY);
    assert_int_equal(info_of(e).features, 0);
    spry_explanation_destroy(e);
    spry_matrix_destroy(A);
}

static void errors_are_reported(void **state)
{
    spry_matrix *A = generate_matrix(*state, "grid5,x=9,y=9");
    spry_explanation *e = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_explain_options o = SPRY_INIT(spry_explain_options);
    spry_spmv_options spmv = SPRY_INIT(spry_spmv_options);
    spry_candidate c = SPRY_INIT(spry_candidate);
    spry_feature f = SPRY_INIT(spry_feature);
    spry_device_class_info class = SPRY_INIT(spry_device_class_info);
    o.device_class = "abacus";
    assert_int_equal(spry_spmv_explain(*state, &e, A, &o, &err), SPRY_UNKNOWN_NAME);
    assert_string_equal(err.argument, "device_class");
    assert_non_null(strstr(err.message, "h200, h100, avx512, avx2"));
    o.device_class = NULL;
    o.spmv = &spmv;
    spmv.policy = "dice";
    assert_int_equal(spry_spmv_explain(*state, &e, A, &o, &err), SPRY_UNKNOWN_NAME);
    spmv.policy = NULL;
    spmv.device = 77;
    assert_int_equal(spry_spmv_explain(*state, &e, A, &o, &err), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_spmv_explain(*state, &e, NULL, NULL, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.argument, "A");
    assert_null(e);
    assert_int_equal(spry_spmv_explain(*state, &e, A, NULL, &err), SPRY_OK);
    assert_int_equal(spry_explanation_get_candidate(e, &c, -1, &err), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_explanation_get_candidate(e, &c, info_of(e).candidates, &err), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_explanation_get_feature(e, &f, info_of(e).features, &err), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_explanation_get_info(NULL, NULL, &err), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_device_class_get_info(&class, device_class_count(), &err), SPRY_UNKNOWN_NAME);
    assert_int_equal(spry_device_class_get_info(NULL, 0, &err), SPRY_INVALID_ARGUMENT);
    spry_explanation_destroy(e);
    spry_explanation_destroy(NULL);
    spry_matrix_destroy(A);
}

/*
 * A plan for A^T*x chooses the format by inspecting A, and once more by inspecting the A^T that it has built. Both
 * choices must agree with the explanation.
 */
static void transposed_as_planned(void **state)
{
    static const char *const specs[] = {"random,rows=40000,cols=20,density=0.05",
                                        "random,rows=20,cols=40000,density=0.05", "grid5,x=60,y=60", "rmat,scale=10"};
    static const int64_t calls[] = {0, 30, 100, 300, 1000, 10000};
    spry_context *context = context_of(0);
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            spry_matrix *A = generate_matrix(context, specs[s]);
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.op = SPRY_TRANSPOSE;
            o.expected_calls = calls[c];
            spry_explanation *e = explained(context, A, NULL, &o);
            spry_spmv_plan *plan = create_plan(context, A, &o);
            spry_spmv_plan_info info = plan_info(plan);
            assert_string_equal(info.format, info_of(e).format);
            assert_true(!strstr(info.reason, "too few") || !strstr(info.reason, "transposed matrix"));
            spry_spmv_plan_destroy(plan);
            spry_explanation_destroy(e);
            spry_matrix_destroy(A);
        }
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_of_coo, open_context, close_context),
        cmocka_unit_test_setup_teardown(candidates_are_ranked, open_context, close_context),
        cmocka_unit_test_setup_teardown(the_plan_agrees, open_context, close_context),
        cmocka_unit_test_setup_teardown(nothing_fits, open_context, close_context),
        cmocka_unit_test_setup_teardown(one_prediction, open_context, close_context),
        cmocka_unit_test_setup_teardown(few_calls, open_context, close_context),
        cmocka_unit_test_setup_teardown(few_transposed_calls, open_context, close_context),
        cmocka_unit_test_setup_teardown(features_are_known, open_context, close_context),
        cmocka_unit_test_setup_teardown(few_rows_are_compared, open_context, close_context),
        cmocka_unit_test_setup_teardown(wide_matrices_take_no_memory, open_context, close_context),
        cmocka_unit_test_setup_teardown(refusals_have_reasons, open_context, close_context),
        cmocka_unit_test(transposed_as_planned),
        cmocka_unit_test_setup_teardown(errors_are_reported, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
