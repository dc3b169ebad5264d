/* Tests of plans: refusals, reported info, concurrent runs, updates, lifetime and measuring. */
#include "plan/plan.h"
#include "spry/tune.h"
#include "support.h"

#include <pthread.h>

static spry_context *context;
static sample small, pieces; /* pieces: has a row that is cut into pieces, so runs need a workspace */
static spry_matrix *A;       /* matrix of the sample small */

static void *const mark = (void *)(uintptr_t)1;

static int set_up(void **state)
{
    context = context_of(2);
    small = sample_make(40, 30);
    pieces = sample_make(3000, 100001);
    A = sample_matrix(context, &small, 0);
    return 0;
}

static int tear_down(void **state)
{
    spry_matrix_destroy(A);
    int leaked = context_bytes(context) != 0;
    spry_context_destroy(context);
    sample_free(&small);
    sample_free(&pieces);
    return leaked;
}

static spry_spmv_plan *plan_of(const spry_matrix *matrix, const char *kernel)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.kernel = kernel;
    return create_plan(context, matrix, &o);
}

/*
 * Returns the name of kernel k. Returns NULL if k is no CPU kernel for A*x, is not available, or is refused because of
 * padding.
 */
static const char *kernel_for(int k, const spry_matrix *B)
{
    spryi_storage storage = {0};
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_kernel_info kernel = kernel_info(context, k);
    if (!kernel.available || strcmp(kernel.device_kind, "cpu") != 0 || strncmp(kernel.operations, "spmv_t", 6) == 0)
        return NULL;
    o.format = kernel.format;
    assert_int_equal(spryi_predict_storage(context, &storage, B, &o, NULL), SPRY_OK);
    return storage.refused ? NULL : kernel.name;
}

/* ---- planning ----------------------------------------------------------------------------------------- */
static void refuse_plan(spry_spmv_options o, spry_status wanted, const char *argument)
{
    spry_spmv_plan *plan = mark;
    int64_t held = context_bytes(context);
    expect_error(spry_spmv_plan_create(context, &plan, A, &o, &err), wanted, argument);
    assert_int_equal(spry_spmv_plan_create(context, &plan, A, &o, NULL), wanted);
    assert_ptr_equal(plan, mark);
    assert_int_equal(context_bytes(context), held);
}

static void bad_options(void **state)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan *plan = mark;
    expect_error(spry_spmv_plan_create(NULL, &plan, A, NULL, &err), SPRY_INVALID_ARGUMENT, "context");
    expect_error(spry_spmv_plan_create(context, NULL, A, NULL, &err), SPRY_INVALID_ARGUMENT, "plan");
    expect_error(spry_spmv_plan_create(context, &plan, NULL, NULL, &err), SPRY_INVALID_ARGUMENT, "A");
    assert_ptr_equal(plan, mark);
#define REFUSE(change, status, argument)                                                                               \
    do {                                                                                                               \
        o = SPRY_INIT(spry_spmv_options);                                                                              \
        change;                                                                                                        \
        refuse_plan(o, (status), (argument));                                                                          \
    } while (0)
    REFUSE(o.struct_size = 0, SPRY_INVALID_ARGUMENT, "struct_size");
    REFUSE(o.struct_size = SIZE_MAX, SPRY_INVALID_ARGUMENT, "struct_size");
    REFUSE(o.op = (spry_op)2, SPRY_INVALID_ARGUMENT, "op");
    REFUSE(o.device = 999, SPRY_INVALID_ARGUMENT, "device");
    if (!has_gpu()) REFUSE(o.device = 1, SPRY_DEVICE_UNAVAILABLE, "device");
    REFUSE(o.device = SPRY_DEVICE_AUTO, SPRY_INVALID_ARGUMENT, "device");
    REFUSE(o.format = "nonsense", SPRY_UNKNOWN_NAME, "format");
    REFUSE(o.format = "", SPRY_UNKNOWN_NAME, "format");
    REFUSE(o.kernel = "nonsense", SPRY_UNKNOWN_NAME, "kernel");
    REFUSE(o.kernel = "csr", SPRY_UNKNOWN_NAME, "kernel");
    REFUSE(o.kernel = "csr_portable_cpu"; o.format = "coo", SPRY_INVALID_ARGUMENT, "kernel");
    REFUSE(o.ordering = "rcm2", SPRY_UNKNOWN_NAME, "ordering");
    REFUSE(o.vector_type = SPRY_PATTERN, SPRY_INVALID_ARGUMENT, "vector_type");
    REFUSE(o.vector_type = (spry_type)7, SPRY_INVALID_ARGUMENT, "vector_type");
    REFUSE(o.vector_type = SPRY_F32, SPRY_UNSUPPORTED, "vector_type");
    REFUSE(o.vector_device = 1, SPRY_UNSUPPORTED, "vector_device");
    REFUSE(o.vector_device = 77, SPRY_INVALID_ARGUMENT, "vector_device");
    REFUSE(o.expected_calls = -1, SPRY_INVALID_ARGUMENT, "expected_calls");
    REFUSE(o.memory_limit_bytes = -1, SPRY_INVALID_ARGUMENT, "memory_limit_bytes");
#undef REFUSE
}

static void good_options(void **state)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.device = SPRY_CPU;
    o.format = "auto";
    o.expected_calls = 5;
    o.ordering = "none";
    o.vector_type = SPRY_F64;
    o.threads = 2;
    spry_spmv_plan *plan = create_plan(context, A, &o);
    spry_spmv_plan_info info = plan_info(plan);
    assert_int_equal(info.op, SPRY_NO_TRANSPOSE);
    assert_int_equal(info.device, SPRY_CPU);
    assert_string_equal(info.device_name, "cpu");
    assert_string_equal(info.format, "csr"); /* chosen for few calls */
    assert_string_equal(info.ordering, "none");
    assert_true(strlen(info.reason) > 8);
    assert_int_equal(info.deterministic, 1);
    assert_int_equal(info.threads, 2);
    int64_t arrays = small.nnz * 12 + (small.rows + 1) * 4;
    assert_true(info.storage_bytes >= arrays && info.storage_bytes == arrays + info.owned_bytes - info.workspace_bytes);
    assert_true(info.setup_us > 0 && info.upload_us == 0);
    spry_spmv_plan_destroy(plan), spry_spmv_plan_destroy(NULL);
}

/* Asserts the documented ownership: CSR costs no copy, and plans of other layouts own their converted arrays. */
static void what_plans_cost(void **state)
{
    for (int input = 0; input < INPUTS; input++)
        for (int f = 0; f < 2; f++) {
            static const char *const formats[] = {"csr", "coo"};
            spry_matrix *B = sample_matrix(context, &pieces, input);
            int64_t held = context_bytes(context);
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.format = formats[f];
            spry_spmv_plan *plan = create_plan(context, B, &o);
            spry_spmv_plan_info info = plan_info(plan);
            assert_string_equal(info.format, formats[f]);
            int64_t owned = context_bytes(context) - held; /* includes block headers and handles */
            assert_in_range(owned, info.owned_bytes, info.owned_bytes + 4096);
            assert_true(info.workspace_bytes > 0 && info.owned_bytes >= info.workspace_bytes);
            int64_t entries = pieces.nnz * (input == 4 && f == 0 ? 4 : 12); /* csr stores no values for a pattern */
            if (input == 0 && f == 0) assert_true(info.owned_bytes < entries / 10);
            if (input == 1 && f == 1) assert_true(info.owned_bytes < entries / 10);
            if (input >= 2 && input != 4) assert_int_equal(info.owned_bytes >= entries, 1);
            assert_true(info.storage_bytes >= entries);
            spry_spmv_plan_destroy(plan);
            spry_matrix_destroy(B);
            assert_int_equal(context_bytes(context) - held < 0, 1);
        }
}

/* Asserts that a plan with expected_calls = 1 skips the analysis of A and gives the same product. */
static void expected_calls(void **state)
{
    double *y = malloc((size_t)pieces.rows * sizeof *y);
    spry_matrix *B = sample_matrix(context, &pieces, 0);
    int64_t storage[2];
    for (int many = 0; many < 2; many++) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.format = "csr", o.expected_calls = many ? 1000000 : 1;
        spry_spmv_plan *plan = create_plan(context, B, &o);
        storage[many] = plan_info(plan).storage_bytes;
        multiply_f64(plan, y, pieces.rows, pieces.x, pieces.cols);
        assert_true(is_product(&pieces, 0, y));
        spry_spmv_plan_destroy(plan);
    }
    assert_true(storage[0] <= storage[1]);
    spry_matrix_destroy(B);
    free(y);
}

/* Asserts that every kernel gives alpha*0 in an empty row, which is NaN if alpha is not finite. */
static void alpha_not_finite(void **state)
{
    static const int32_t offsets[] = {0, 1, 1}, columns[] = {0};
    static const double values[] = {2}, x[] = {3}, alphas[] = {NAN, INFINITY};
    spry_context *context = context_of(0);
    spry_matrix *A = borrow_csr(context, 2, 1, offsets, columns, values);
    for (int k = 0; k < spmv_kernel_count(); k++)
        for (int a = 0; a < 2; a++) {
            spry_kernel_info kernel = kernel_info(context, k);
            if (!kernel.available || strcmp(kernel.device_kind, "cpu") != 0) continue;
            spry_spmv_options options = SPRY_INIT(spry_spmv_options);
            options.kernel = kernel.name;
            double y[2] = {1, 1};
            spry_vector to = spry_vector_f64(y, 2);
            spry_spmv_plan *plan = create_plan(context, A, &options);
            assert_int_equal(spry_spmv_plan_run(plan, to, &alphas[a], spry_const_vector_f64(x, 1), NULL, NULL, NULL),
                             SPRY_OK);
            assert_true(a == 0 ? isnan(y[0]) : isinf(y[0]));
            assert_true(isnan(y[1]));
            spry_spmv_plan_destroy(plan);
        }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

static void bad_info(void **state)
{
    spry_spmv_plan *plan = plan_of(A, NULL);
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    info.kernel = mark;
    expect_error(spry_spmv_plan_get_info(NULL, &info, &err), SPRY_INVALID_ARGUMENT, "plan");
    expect_error(spry_spmv_plan_get_info(plan, NULL, &err), SPRY_INVALID_ARGUMENT, "info");
    info.struct_size = 8;
    expect_error(spry_spmv_plan_get_info(plan, &info, &err), SPRY_INVALID_ARGUMENT, "struct_size");
    assert_ptr_equal(info.kernel, mark);
    spry_measurement m = SPRY_INIT(spry_measurement);
    m.median_us = -77;
    expect_error(spry_spmv_plan_measure(NULL, &m, &err), SPRY_INVALID_ARGUMENT, "plan");
    expect_error(spry_spmv_plan_measure(plan, NULL, &err), SPRY_INVALID_ARGUMENT, "measurement");
    m.struct_size = 0;
    expect_error(spry_spmv_plan_measure(plan, &m, &err), SPRY_INVALID_ARGUMENT, "struct_size");
    assert_true(m.median_us == -77);
    expect_error(spry_spmv_plan_update(NULL, NULL, &err), SPRY_INVALID_ARGUMENT, "plan");
    spry_spmv_plan_destroy(plan);
}

/* ---- running ------------------------------------------------------------------------------------------ */

typedef struct attempt {
    spry_vector x, y;
    const spry_spmv_run_options *options;
} attempt;

static void bad_vectors(void **state)
{
    double x[200] = {0}, y[200];
    float x_f32[40] = {0};
    for (int i = 0; i < 200; i++) y[i] = 77;
    const int64_t m = small.rows, n = small.cols;
    spry_spmv_plan *plan = plan_of(A, NULL);
    spry_spmv_run_options o = SPRY_INIT(spry_spmv_run_options), wrong_size = {.struct_size = 1};
    attempt a;
#define REFUSE(change, status, argument)                                                                               \
    do {                                                                                                               \
        a = (attempt){spry_vector_f64(x, n), spry_vector_f64(y, m), NULL};                                             \
        change;                                                                                                        \
        expect_error(spry_spmv_plan_run(plan, a.y, NULL, spry_vector_as_const(a.x), NULL, a.options, &err), (status),  \
                     (argument));                                                                                      \
        assert_int_equal(spry_spmv_plan_run(plan, a.y, NULL, spry_vector_as_const(a.x), NULL, a.options, NULL),        \
                         (status));                                                                                    \
    } while (0)
    expect_error(spry_spmv_plan_run(NULL, spry_vector_f64(y, m), NULL, spry_const_vector_f64(x, n), NULL, NULL, &err),
                 SPRY_INVALID_ARGUMENT, "plan");
    REFUSE(a.options = &wrong_size, SPRY_INVALID_ARGUMENT, "struct_size");
    REFUSE(a.x.length = n - 1, SPRY_INVALID_SIZE, "x");
    REFUSE(a.x.length = m, SPRY_INVALID_SIZE, "x");
    REFUSE(a.x.length = -1, SPRY_INVALID_SIZE, "x");
    REFUSE(a.y.length = m + 1, SPRY_INVALID_SIZE, "y");
    REFUSE(a.y.length = 0, SPRY_INVALID_SIZE, "y");
    REFUSE(a.x.data = NULL, SPRY_INVALID_ARGUMENT, "x");
    REFUSE(a.y.data = NULL, SPRY_INVALID_ARGUMENT, "y");
    REFUSE(a.x = spry_vector_f32(x_f32, n), SPRY_INVALID_ARGUMENT, "x");
    REFUSE(a.y.type = SPRY_F32, SPRY_INVALID_ARGUMENT, "y");
    REFUSE(a.y.type = SPRY_PATTERN, SPRY_INVALID_ARGUMENT, "y");
    REFUSE(a.x.type = SPRY_TYPE_DEFAULT, SPRY_INVALID_ARGUMENT, "x");
    REFUSE(a.x.device = 1, SPRY_INVALID_ARGUMENT, "x");
    REFUSE(a.y.device = -2, SPRY_INVALID_ARGUMENT, "y");
    REFUSE(a.x.data = (char *)x + 4, SPRY_INVALID_ARGUMENT, "x");
    REFUSE(a.y.data = (char *)y + 1, SPRY_INVALID_ARGUMENT, "y");
    REFUSE(a.x.count = 2, SPRY_INVALID_SIZE, "y");
    REFUSE(a.y.count = 2, SPRY_INVALID_SIZE, "y");
    REFUSE(a.x.count = -1, SPRY_INVALID_SIZE, "x");
    REFUSE(a.x.count = a.y.count = INT64_MAX, SPRY_INVALID_SIZE, "x");
    REFUSE(a.x.data = y, SPRY_INVALID_ARGUMENT, "y");
    REFUSE(a.x.data = y + m - 1, SPRY_INVALID_ARGUMENT, "y");
    REFUSE(a.y.data = x + n - 1, SPRY_INVALID_ARGUMENT, "y");
    REFUSE(a.x.data = y + m; a.x.count = a.y.count = 2; a.x.column_stride = n, SPRY_INVALID_ARGUMENT, "y");
    for (int i = 0; i < 200; i++) assert_true(y[i] == 77 && x[i] == 0);
    /* adjacent vectors do not overlap */
    double both[80] = {0};
    assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(both + n, m), NULL, spry_const_vector_f64(both, n), NULL,
                                        &o, NULL),
                     SPRY_OK);
    assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(both, m), NULL, spry_const_vector_f64(both + m, n), NULL,
                                        &o, NULL),
                     SPRY_OK);
    spry_spmv_plan_destroy(plan);
#undef REFUSE
}

/*
 * Asserts that a run is refused if y overlaps either end of any array of A. The error must name y, and the array must
 * not change.
 */
static void y_in_the_matrix(void **state)
{
    static const char *const formats[] = {"csr", "sell"}; /* csr borrows the arrays, sell copies them */
    for (int input = 0; input < INPUTS; input++)
        for (int f = 0; f < 2; f++) {
            sample s = sample_make(40, 30);
            spry_arrays a = sample_arrays(&s, input);
            spry_matrix *B = sample_matrix(context, &s, input);
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            double scaling[40] = {0};
            for (int i = 0; i < 40; i++) scaling[i] = 1;
            o.format = formats[f];
            if (a.value_type == SPRY_PATTERN) o.row_scaling = scaling;
            spry_spmv_plan *plan = create_plan(context, B, &o);
            const size_t columns = (size_t)a.nnz * 4, lines = (size_t)(a.layout == SPRY_CSC ? s.cols : s.rows) + 1;
            const struct {
                const void *data;
                size_t bytes;
                const char *name;
            } of[] = {{a.values, (size_t)a.nnz * 8, "A's values"},
                      {a.indices, columns, a.layout == SPRY_CSC ? "A's row indices" : "A's columns"},
                      {a.row_indices, columns, "A's row indices"},
                      {a.offsets, a.offsets ? lines * 4 : 0, "A's offsets"},
                      {o.row_scaling, sizeof scaling, "row_scaling"}};
            for (size_t r = 0; r < sizeof of / sizeof *of; r++)
                for (int last = 0; last < 2 && of[r].data; last++) {
                    char *begin = (char *)(uintptr_t)of[r].data, before[8];
                    spry_vector y = spry_vector_f64(NULL, s.rows);
                    /* y's last element overlaps the array's first bytes, or y's first element the array's last bytes */
                    y.data = last ? begin + (of[r].bytes - 8) / 8 * 8 : begin - (s.rows - 1) * 8;
                    memcpy(before, begin, 8);
                    spry_error err = {0};
                    spry_status status =
                        spry_spmv_plan_run(plan, y, NULL, spry_const_vector_f64(s.x, s.cols), NULL, NULL, &err);
                    check_error(status, &err, SPRY_INVALID_ARGUMENT, "y", __FILE__, __LINE__);
                    assert_non_null(strstr(err.message, "and y overlap"));
                    y.data = begin; /* y starts where the array starts */
                    expect_error(spry_spmv_plan_run(plan, y, NULL, spry_const_vector_f64(s.x, s.cols), NULL, NULL,
                                                    &err),
                                 SPRY_INVALID_ARGUMENT, "y");
                    spry_error named = {0};
                    (void)!spry_spmv_plan_run(plan, y, NULL, spry_const_vector_f64(s.x, s.cols), NULL, NULL, &named);
                    assert_memory_equal(before, begin, 8);
                    if (of[r].bytes >= (size_t)s.rows * 8 && !strstr(named.message, of[r].name)) /* only this array */
                        fail_msg("\"%s\", expected %s", named.message, of[r].name);
                }
            spry_spmv_plan_destroy(plan);
            spry_matrix_destroy(B);
            sample_free(&s);
        }
}

static void bad_workspaces(void **state)
{
    spry_matrix *B = sample_matrix(context, &pieces, 0);
    double *y = malloc((size_t)pieces.rows * sizeof *y);
    y[0] = 77;
    int tried = 0;
    for (int k = 0; k < spmv_kernel_count(); k++) {
        const char *kernel = kernel_for(k, B);
        if (!kernel) continue;
        spry_spmv_plan *plan = plan_of(B, kernel);
        int64_t needed = plan_info(plan).workspace_bytes;
        if (needed == 0) { /* no row is split, so there is no workspace to test */
            spry_spmv_plan_destroy(plan);
            continue;
        }
        tried++;
        char *block = aligned_alloc(64, (size_t)(needed + 127) / 64 * 64);
        spry_spmv_run_options o = SPRY_INIT(spry_spmv_run_options);
        spry_vector x = spry_vector_f64(pieces.x, pieces.cols), into = spry_vector_f64(y, pieces.rows);
        o.workspace = block;
        o.workspace_bytes = needed - 1;
        expect_error(spry_spmv_plan_run(plan, into, NULL, spry_vector_as_const(x), NULL, &o, &err),
                     SPRY_INVALID_ARGUMENT, "workspace");
        o.workspace_bytes = 0;
        expect_error(spry_spmv_plan_run(plan, into, NULL, spry_vector_as_const(x), NULL, &o, &err),
                     SPRY_INVALID_ARGUMENT, "workspace");
        o.workspace = NULL;
        o.workspace_bytes = -1;
        expect_error(spry_spmv_plan_run(plan, into, NULL, spry_vector_as_const(x), NULL, &o, &err),
                     SPRY_INVALID_ARGUMENT, "workspace_bytes");
        o.workspace = block + 8;
        o.workspace_bytes = needed;
        expect_error(spry_spmv_plan_run(plan, into, NULL, spry_vector_as_const(x), NULL, &o, &err),
                     SPRY_INVALID_ARGUMENT, "workspace");
        assert_true(y[0] == 77);
        o.workspace = block;
        assert_int_equal(spry_spmv_plan_run(plan, into, NULL, spry_vector_as_const(x), NULL, &o, NULL), SPRY_OK);
        assert_true(is_product(&pieces, 0, y));
        y[0] = 77;
        free(block);
        spry_spmv_plan_destroy(plan);
    }
    assert_true(tried > 0);
    free(y);
    spry_matrix_destroy(B);
}

typedef struct runner {
    const spry_spmv_plan *plan;
    const sample *s;
    int64_t workspace_bytes; /* 0: uses the plan's workspace */
    int wrong;
} runner;

static void *run_often(void *user)
{
    runner *r = user;
    double *y = malloc((size_t)r->s->rows * sizeof *y);
    void *block = aligned_alloc(64, (size_t)(r->workspace_bytes + 127) / 64 * 64);
    spry_spmv_run_options o = SPRY_INIT(spry_spmv_run_options);
    o.workspace = r->workspace_bytes > 0 ? block : NULL;
    o.workspace_bytes = r->workspace_bytes;
    for (int n = 0; n < 20; n++) {
        memset(y, 0xff, (size_t)r->s->rows * sizeof *y);
        spry_vector x = spry_vector_f64(r->s->x, r->s->cols), into = spry_vector_f64(y, r->s->rows);
        if (spry_spmv_plan_run(r->plan, into, NULL, spry_vector_as_const(x), NULL, &o, NULL) != SPRY_OK ||
            !is_product(r->s, 0, y))
            r->wrong++;
    }
    free(block);
    free(y);
    return NULL;
}

/*
 * Runs one plan on four threads with one workspace per thread, then two plans on two threads, then one plan on four
 * threads without a workspace of the caller.
 */
static void concurrent_runs(void **state)
{
    spry_matrix *B = sample_matrix(context, &pieces, 0);
    for (int own = 0; own < 3; own++) {
        enum { MOST = 4 };
        int threads = own == 1 ? 2 : MOST;
        runner runners[MOST];
        pthread_t ids[MOST];
        spry_spmv_plan *plans[MOST] = {plan_of(B, NULL), plan_of(B, own ? "coo_portable_cpu" : NULL)};
        for (int t = 0; t < threads; t++) {
            const spry_spmv_plan *plan = plans[own == 2 ? 1 : own ? t : 0];
            runners[t] = (runner){plan, &pieces, own ? 0 : plan_info(plan).workspace_bytes, 0};
            assert_int_equal(pthread_create(&ids[t], NULL, run_often, &runners[t]), 0);
        }
        for (int t = 0; t < threads; t++) {
            assert_int_equal(pthread_join(ids[t], NULL), 0);
            assert_int_equal(runners[t].wrong, 0);
        }
        spry_spmv_plan_destroy(plans[0]);
        spry_spmv_plan_destroy(plans[1]);
    }
    spry_matrix_destroy(B);
}

/* ---- lifetime and updates ----------------------------------------------------------------------------- */

static void plan_outlives_matrix(void **state)
{
    double y[40];
    for (int input = 0; input < INPUTS; input++)
        for (int ownership = SPRY_BORROW; ownership <= SPRY_COPY; ownership++) {
            sample s = sample_make(40, 30);
            spry_arrays a = sample_arrays(&s, input);
            a.ownership = (spry_ownership)ownership;
            spry_matrix *B = create_matrix(context, &a);
            spry_spmv_plan *plan = plan_of(B, NULL);
            spry_matrix_destroy(B);
            if (ownership == SPRY_COPY) { /* the matrix is a copy, so the caller may free the arrays */
                memset(s.columns, 0xff, (size_t)s.nnz * 4);
                memset(s.values, 0xff, (size_t)s.nnz * 8);
                memset(s.values_by_column, 0xff, (size_t)s.nnz * 8);
                memset(s.rows_by_column, 0xff, (size_t)s.nnz * 4);
            }
            spry_vector x = spry_vector_f64(small.x, small.cols);
            assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(y, 40), NULL, spry_vector_as_const(x), NULL, NULL,
                                                NULL),
                             SPRY_OK);
            assert_true(is_product(&small, input, y));
            spry_spmv_plan_destroy(plan);
            sample_free(&s);
        }
}

/* Asserts that products after an update use the changed values, for borrowed and for converted storage. */
static void updates(void **state)
{
    double *y = malloc((size_t)pieces.rows * sizeof *y);
    int tried = 0;
    for (int input = 0; input < 4; input++)
        for (int k = -1; k < spmv_kernel_count(); k++) { /* -1: chosen by the library */
            sample s = sample_make(300, 50000);
            spry_matrix *B = sample_matrix(context, &s, input);
            const char *kernel = k < 0 ? NULL : kernel_for(k, B);
            if (kernel && k % 4 != input && strncmp(kernel, "csr_", 4) != 0 && strncmp(kernel, "coo_", 4) != 0)
                kernel = NULL; /* kernels other than csr and coo are tested with one input each */
            spry_spmv_plan *plan = kernel || k < 0 ? plan_of(B, kernel) : NULL;
            spry_matrix_destroy(B);
            tried += plan != NULL;
            int64_t held = context_bytes(context);
            for (int change = 0; plan && change < 3; change++) {
                if (change == 1)
                    for (int64_t e = 0; e < s.nnz; e++) {
                        s.values[e] = -2 * s.values[e];
                        s.values_by_column[e] = -2 * s.values_by_column[e];
                    }
                assert_int_equal(spry_spmv_plan_update(plan, NULL, NULL), SPRY_OK);
                assert_int_equal(context_bytes(context), held);
                spry_vector x = spry_vector_f64(s.x, s.cols);
                assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(y, s.rows), NULL, spry_vector_as_const(x),
                                                    NULL, NULL, NULL),
                                 SPRY_OK);
                assert_true(is_product(&s, input, y));
            }
            spry_spmv_plan_destroy(plan);
            sample_free(&s);
        }
    assert_true(tried > format_count());
    free(y);
}

static void one_shot(void **state)
{
    double y[40];
    const double alpha = 2, beta = -1;
    spry_vector x = spry_vector_f64(small.x, small.cols), into = spry_vector_f64(y, small.rows);
    for (int input = 0; input < INPUTS; input++) {
        spry_matrix *B = sample_matrix(context, &small, input);
        assert_int_equal(spry_spmv(context, into, NULL, B, spry_vector_as_const(x), NULL, NULL), SPRY_OK);
        assert_true(is_product(&small, input, y));
        assert_int_equal(spry_spmv(context, into, &alpha, B, spry_vector_as_const(x), &beta, NULL),
                         SPRY_OK); /* 2p - p */
        assert_true(is_product(&small, input, y));
        spry_matrix_destroy(B);
    }
    y[0] = 77;
    expect_error(spry_spmv(NULL, into, NULL, A, spry_vector_as_const(x), NULL, &err), SPRY_INVALID_ARGUMENT, "context");
    expect_error(spry_spmv(context, into, NULL, NULL, spry_vector_as_const(x), NULL, &err), SPRY_INVALID_ARGUMENT, "A");
    expect_error(spry_spmv(context, x, NULL, A, spry_vector_as_const(into), NULL, &err), SPRY_INVALID_SIZE, "x");
    expect_error(spry_spmv(context, spry_vector_f64(NULL, small.rows), NULL, A, spry_vector_as_const(x), NULL, &err),
                 SPRY_INVALID_ARGUMENT, "y");
    float x_f32[30] = {0};
    expect_error(spry_spmv(context, into, NULL, A, spry_const_vector_f32(x_f32, 30), NULL, &err), SPRY_UNSUPPORTED,
                 NULL);
    assert_true(y[0] == 77);
}

static void measuring(void **state)
{
    for (int n = 0; n < 2; n++) {
        const sample *s = n ? &pieces : &small;
        spry_matrix *B = sample_matrix(context, s, n);
        spry_spmv_plan *plan = plan_of(B, NULL);
        int64_t held = context_bytes(context);
        spry_measurement m = SPRY_INIT(spry_measurement);
        assert_int_equal(spry_spmv_plan_measure(plan, &m, NULL), SPRY_OK);
        assert_int_equal(m.struct_size, sizeof m);
        assert_true(m.first_us > 0 && m.min_us > 0 && m.min_us <= m.median_us && m.min_us <= m.mean_us);
        assert_true(m.spread_us >= 0 && m.runs >= 20 && isfinite(m.mean_us));
        double gflops = 2e-3 * (double)s->nnz / m.median_us;
        double gbps = 1e-3 * (double)(s->nnz * 12 + (s->rows + 1) * 4 + (s->rows + s->cols) * 8) / m.median_us;
        assert_true(fabs(m.gflops - gflops) <= 1e-9 * gflops);
        assert_true(fabs(m.gbps - gbps) <= 1e-9 * gbps);
        assert_true((double)m.runs * m.mean_us > 19000); /* microseconds: 20 batches take about 1 ms each */
        assert_int_equal(context_bytes(context), held);
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(B);
    }
}

/* Asserts that measuring works for an empty matrix. */
static void measuring_nothing(void **state)
{
    const int32_t offsets[] = {0};
    spry_matrix *B = borrow_csr(context, 0, 0, offsets, NULL, NULL);
    spry_spmv_plan *plan = plan_of(B, NULL);
    spry_measurement m = SPRY_INIT(spry_measurement);
    multiply_f64(plan, NULL, 0, NULL, 0);
    assert_int_equal(spry_spmv_plan_measure(plan, &m, NULL), SPRY_OK);
    assert_true(m.median_us > 0 && m.gflops == 0);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(B);
}

/* ---- strides, reserved fields, changes of values ------------------------------------------------------- */

/*
 * Asserts that vectors with strides give the same bits as contiguous vectors, even if the plan was built for contiguous
 * vectors.
 */
static void any_stride(void **state)
{
    double x[40], y[40], spread_x[120], spread_y[160];
    const double alpha = 1.5, beta = -0.5;
    for (int j = 0; j < 40; j++) spread_x[3 * j] = x[j] = 0.1 * j;
    for (int i = 0; i < 40; i++) spread_y[4 * i] = y[i] = 1.0 / (i + 1);
    for (int ordered = 0; ordered < 2; ordered++) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.format = "sell";
        o.ordering = ordered ? "rcm" : NULL;
        spry_spmv_plan *plan = create_plan(context, A, &o);
        const spry_const_vector in = {.data = spread_x, .length = small.cols, .row_stride = 3, .type = SPRY_F64};
        const spry_vector out = {.data = spread_y, .length = small.rows, .row_stride = 4, .type = SPRY_F64};
        const spry_vector both =
            {.data = spread_y, .length = small.rows, .count = 2, .row_stride = 2, .column_stride = 1, .type = SPRY_F64};
        assert_int_equal(spry_spmv_plan_run(plan, out, &alpha, in, &beta, NULL, NULL), SPRY_OK);
        assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(y, small.rows), &alpha,
                                            spry_const_vector_f64(x, small.cols), &beta, NULL, NULL),
                         SPRY_OK);
        for (int i = 0; i < small.rows; i++) assert_memory_equal(&spread_y[4 * i], &y[i], sizeof *y);
        spry_const_vector two = in;
        two.count = 2;
        two.row_stride = 2;
        two.column_stride = 1;
        expect_error(spry_spmv_plan_run(plan, both, NULL, two, NULL, NULL, &err), SPRY_INVALID_SIZE, "x");
        spry_spmv_plan_destroy(plan);
    }
}

/* The error of a product without a plan names x if A's values do not support x's type. */
static void types_of_x(void **state)
{
    float x[40] = {0}, y[40];
    expect_error(spry_spmv(context, spry_vector_f32(y, small.rows), NULL, A, spry_const_vector_f32(x, small.cols), NULL,
                           &err),
                 SPRY_UNSUPPORTED, "x");
}

/* alpha and beta may be elements of y. */
static void scalars_in_y(void **state)
{
    static const char *const formats[] = {"csr",  "coo",  "csc",      "ell",    "hyb",
                                          "sell", "scoo", "windowed", "packed", "bsr"};
    double x[40], y[40], expected[40];
    const double two = 2;
    for (int i = 0; i < 40; i++) x[i] = 1 + i % 7;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int which = 0; which < 2; which++) {
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.format = formats[f];
            spry_spmv_plan *plan = create_plan(context, A, &o);
            const spry_const_vector in = spry_const_vector_f64(x, small.cols);
            for (int i = 0; i < 40; i++) y[i] = expected[i] = 2;
            MUST(spry_spmv_plan_run(plan, spry_vector_f64(expected, small.rows), &two, in, &two, NULL, err));
            MUST(spry_spmv_plan_run(plan, spry_vector_f64(y, small.rows), which ? &two : &y[0], in,
                                    which ? &y[0] : &two, NULL, err));
            assert_memory_equal(y, expected, (size_t)small.rows * sizeof *y);
            spry_spmv_plan_destroy(plan);
        }
}

static void reserved_fields(void **state)
{
    double x[40] = {0}, y[40];
    spry_spmv_plan *plan = create_plan(context, A, NULL);
    spry_const_vector in = spry_const_vector_f64(x, small.cols);
    spry_vector out = spry_vector_f64(y, small.rows);
    in.reserved[0] = 5;
    expect_error(spry_spmv_plan_run(plan, out, NULL, in, NULL, NULL, &err), SPRY_INVALID_ARGUMENT, "x");
    in.reserved[0] = 0;
    out.reserved[1] = -1;
    expect_error(spry_spmv_plan_run(plan, out, NULL, in, NULL, NULL, &err), SPRY_INVALID_ARGUMENT, "y");
    spry_spmv_plan_destroy(plan);
}

/* Asserts that one call updates all existing plans of a matrix. Destroys plans and matrix in any order. */
static void one_update_for_all(void **state)
{
    enum { PLANS = 4, N = 30 };
    static const char *const formats[PLANS] = {"csr", "sell", "packed", "bsr"};
    double values[N], x[N], y[N];
    int32_t offsets[N + 1], columns[N];
    spry_spmv_plan *plans[PLANS];
    spry_update_options update = SPRY_INIT(spry_update_options);
    for (int i = 0; i < N; i++) {
        offsets[i + 1] = i + 1;
        columns[i] = i;
        values[i] = 1;
        x[i] = i;
    }
    offsets[0] = 0;
    spry_matrix *D = borrow_csr(context, N, N, offsets, columns, values);
    for (int p = 0; p < PLANS; p++) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        o.format = formats[p];
        o.both_directions = p == 1;
        plans[p] = create_plan(context, D, &o);
    }
    spry_spmv_plan_destroy(plans[2]);
    for (int change = 2; change < 4; change++) {
        for (int i = 0; i < N; i++) values[i] = change;
        assert_int_equal(spry_matrix_values_changed(D, NULL, NULL), SPRY_OK);
        for (int p = 0; p < PLANS; p++) {
            if (p == 2) continue;
            multiply_f64(plans[p], y, N, x, N);
            for (int i = 0; i < N; i++)
                if (y[i] != change * i) fail_msg("%s, change %d: y[%d] = %g", formats[p], change, i, y[i]);
        }
    }
    update.values = values;
    expect_error(spry_matrix_values_changed(D, &update, &err), SPRY_INVALID_ARGUMENT, "values");
    expect_error(spry_matrix_values_changed(NULL, NULL, &err), SPRY_INVALID_ARGUMENT, "A");
    spry_spmv_plan_destroy(plans[0]);
    spry_matrix_destroy(D);
    spry_spmv_plan_destroy(plans[1]);
    spry_spmv_plan_destroy(plans[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options),       cmocka_unit_test(good_options),

        cmocka_unit_test(what_plans_cost),   cmocka_unit_test(expected_calls),
        cmocka_unit_test(bad_info),          cmocka_unit_test(bad_vectors),
        cmocka_unit_test(alpha_not_finite),  cmocka_unit_test(y_in_the_matrix),
        cmocka_unit_test(bad_workspaces),    cmocka_unit_test(concurrent_runs),
        cmocka_unit_test(updates),           cmocka_unit_test(plan_outlives_matrix),
        cmocka_unit_test(one_shot),          cmocka_unit_test(measuring),
        cmocka_unit_test(measuring_nothing), cmocka_unit_test(any_stride),
        cmocka_unit_test(reserved_fields),   cmocka_unit_test(scalars_in_y),
        cmocka_unit_test(types_of_x),        cmocka_unit_test(one_update_for_all),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
