/*
 * Tests of groups of CSR-k on the CPU and on a device: the caller's groups, including figure 1 of the paper, CSR-4, and
 * the kernels of the paper's listings. In these kernels a block is a super-row, and threads have equal shares of the
 * groups.
 */
#include "base/context.h"
#include "core/kernel.h"
#include "formats/csrk/csrk.h"
#include "plan/plan.h"
#include "spry/matrix.h"
#include "spry/study.h"
#include "spry/tune.h"
#include "testing.h"

enum { MOCK = 1 }; /* the device's index */

/* Creates a plan with one format or one kernel, and checks the product of A and x. */
static spry_spmv_plan *checked_plan(spry_context *context, const spry_matrix *A, spry_spmv_options options)
{
    enum { MOST = 4096 };
    static double x[MOST], y[MOST];
    const int64_t m = A->a.rows;
    spry_vector none = {0}, xv = spry_vector_f64(x, m), yv = spry_vector_f64(y, m);
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    assert_true(m <= MOST && A->a.columns == m);
    for (int64_t j = 0; j < m; j++) x[j] = (double)(j % 13) - 6.25;
    options.threads = context_threads(context); /* for any size */
    spry_spmv_plan *plan = create_plan(context, A, &options);
    assert_int_equal(SPRY_OK, spry_spmv_plan_run(plan, yv, NULL, spry_vector_as_const(xv), NULL, NULL, NULL));
    assert_int_equal(SPRY_OK, spry_spmv_verify(context, &v, A, SPRY_NO_TRANSPOSE, NULL, spry_vector_as_const(xv), NULL,
                                               spry_vector_as_const(none), spry_vector_as_const(yv), NULL));
    assert_int_equal(0, v.wrong_rows);
    return plan;
}

/* ---- figure 1 --------------------------------------------------------------------------------------- */

static const int64_t figure_sr[] = {0, 2, 5, 7, 9}, figure_ssr[] = {0, 2, 4};

static spry_groups figure_1(void)
{
    spry_groups g = SPRY_INIT(spry_groups);
    g.rows = 9;
    g.sr_count = 4;
    g.sr_ptr = figure_sr;
    g.ssr_count = 2;
    g.ssr_ptr = figure_ssr;
    return g;
}

static void test_figure_1(void **state)
{
    static const char *const formats[] = {"csr2", "csr3"};
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, "grid9,x=3,y=3");
    spry_ordering *ordering = NULL;
    spry_ordering_info info = SPRY_INIT(spry_ordering_info);
    int64_t sr[5], ssr[3];
    memcpy(sr, figure_sr, sizeof sr);
    memcpy(ssr, figure_ssr, sizeof ssr);
    spry_groups g = figure_1();
    g.sr_ptr = sr;
    g.ssr_ptr = ssr;
    assert_int_equal(SPRY_OK, create_groups(context, &ordering, &g, NULL));
    memset(sr, 0, sizeof sr); /* the plan has copied them */
    memset(ssr, 0, sizeof ssr);
    assert_int_equal(SPRY_OK, spry_ordering_get_info(ordering, &info, NULL));
    assert_string_equal("groups", info.method);
    assert_int_equal(9, info.rows);
    for (int i = 0; i < 9; i++) assert_int_equal(i, info.row_perm[i]);
    assert_true(info.groups->sr_count == 4 && info.groups->ssr_count == 2 && info.groups->sssr_count == 0 &&
                !info.groups->sssr_ptr);
    assert_true(info.groups->srs == 3 && info.groups->ssrs == 2 &&
                info.groups->sssrs == 0); /* 9 rows in 4 super-rows, which are in 2 groups */
    for (int f = 0; f < 4; f++) {
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.format = formats[f % 2];
        options.device = f < 2 ? SPRY_CPU : MOCK;
        options.groups = ordering;
        spry_spmv_plan *plan = checked_plan(context, A, options);
        if (f < 2) {
            const spryi_csrk *s = plan->forward.stored.storage;
            assert_int_equal(4, s->sr_count);
            assert_memory_equal(figure_sr, s->sr_ptr, sizeof figure_sr);
            assert_int_equal(f == 0 ? 0 : 2, s->ssr_count);
            if (f == 1) assert_memory_equal(figure_ssr, s->ssr_ptr, sizeof figure_ssr);
            assert_true(s->csr.a.values == A->a.values); /* no copy */
        }
        spry_spmv_plan_destroy(plan);
    }
    spry_ordering_destroy(ordering);
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/*
 * Asserts that by=longest also selects the paper's case by the longest row (case 4) on a device. The mean row length
 * selects case 1.
 */
static void test_by_longest(void **state)
{
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, "arrow,rows=200,width=1");
    for (int by = 0; by < 2; by++) {
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.format = by == 0 ? "csr3:tuning=ampere" : "csr3:tuning=ampere:by=longest";
        options.device = MOCK;
        spry_spmv_plan *plan = checked_plan(context, A, options);
        spry_spmv_plan_info info = plan_info(plan);
        assert_int_equal(by == 0 ? SPRYI_GROUP_CASE_1 : SPRYI_GROUP_CASE_4,
                         ((spryi_csrk *)plan->forward.stored.storage)->which);
        assert_true((strstr(info.parameters, "by=longest") != NULL) == by);
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* Each case has one wrong field in figure 1's groups. */
static void test_refusals(void **state)
{
    static const int64_t begins[] = {1, 2, 5, 7, 9}, falls[] = {0, 5, 5, 7, 9}, ends[] = {0, 2, 5, 7, 8},
                         all[] = {0, 2}, past[] = {0, 1, 0};
    const struct {
        int64_t rows, sr_count, ssr_count, sssr_count;
        const int64_t *sr, *ssr, *sssr;
        spry_status status;
        const char *argument, *message;
    } cases[] = {
        {-1, 4, 2, 0, figure_sr, figure_ssr, NULL, SPRY_INVALID_SIZE, "rows", "rows is -1, expected 0 or more"},
        {9, 4, 2, 0, NULL, figure_ssr, NULL, SPRY_INVALID_ARGUMENT, "sr_ptr", "sr_ptr is NULL"},
        {9, -1, 2, 0, figure_sr, figure_ssr, NULL, SPRY_INVALID_SIZE, "sr_ptr", "-1 groups, expected 0 to 9"},
        {3, 4, 2, 0, figure_sr, figure_ssr, NULL, SPRY_INVALID_SIZE, "sr_ptr", "4 groups, expected 0 to 3"},
        {9, 4, 2, 0, begins, figure_ssr, NULL, SPRY_INVALID_ARGUMENT, "sr_ptr", "sr_ptr[0] is 1, expected 0"},
        {9, 4, 2, 0, falls, figure_ssr, NULL, SPRY_INVALID_ARGUMENT, "sr_ptr", "sr_ptr[2] is 5, expected more than 5"},
        {9, 4, 2, 0, ends, figure_ssr, NULL, SPRY_INVALID_SIZE, "sr_ptr",
         "sr_ptr[4], the last, is 8, expected 9, the number of rows"},
        {9, 4, 1, 0, figure_sr, all, NULL, SPRY_INVALID_SIZE, "ssr_ptr",
         "ssr_ptr[1], the last, is 2, expected 4, the number of super-rows"},
        {9, 4, 2, 0, figure_sr, NULL, NULL, SPRY_INVALID_ARGUMENT, "ssr_ptr", "ssr_ptr is NULL"},
        {9, 4, 0, 1, figure_sr, NULL, all, SPRY_INVALID_ARGUMENT, "ssr_ptr", "but ssr_ptr is NULL"},
        {9, 4, 2, 2, figure_sr, figure_ssr, past, SPRY_INVALID_ARGUMENT, "sssr_ptr", "sssr_ptr[2] is 0, expected more"},
        {9, 4, 2, 3, figure_sr, figure_ssr, all, SPRY_INVALID_SIZE, "sssr_ptr", "3 groups, expected 0 to 2"},
    };
    spry_context *context = context_of(1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_ordering *none = NULL;
        spry_error err = {0};
        spry_groups g = figure_1();
        g.rows = cases[c].rows;
        g.sr_count = cases[c].sr_count;
        g.sr_ptr = cases[c].sr;
        g.ssr_count = cases[c].ssr_count;
        g.ssr_ptr = cases[c].ssr;
        g.sssr_count = cases[c].sssr_count;
        g.sssr_ptr = cases[c].sssr;
        assert_int_equal(cases[c].status, create_groups(context, &none, &g, &err));
        assert_string_equal(cases[c].argument, err.argument);
        if (!strstr(err.message, cases[c].message)) fail_msg("'%s' in: %s", cases[c].message, err.message);
        assert_null(none);
    }
    spry_groups g = figure_1(), unsized = {0};
    spry_ordering *made = NULL;
    assert_int_equal(SPRY_INVALID_ARGUMENT, create_groups(NULL, &made, &g, NULL));
    assert_int_equal(SPRY_INVALID_ARGUMENT, create_groups(context, NULL, &g, NULL));
    assert_int_equal(SPRY_INVALID_ARGUMENT, create_groups(context, &made, NULL, NULL));
    assert_int_equal(SPRY_INVALID_ARGUMENT, create_groups(context, &made, &unsized, NULL));
    static const int64_t none[] = {0};
    g.rows = g.sr_count = g.ssr_count = 0;
    g.sr_ptr = g.ssr_ptr = none;
    assert_int_equal(SPRY_OK, create_groups(context, &made, &g, NULL));
    spry_ordering_destroy(made);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* ---- CSR-4 ------------------------------------------------------------------------------------------ */

static void test_csr4(void **state)
{
    static const struct {
        const char *format, *parameters;
        int64_t sr_count, ssr_count, sssr_count, sssr[4];
    } cases[] = {
        {"csr4:srs=2:ssrs=2:sssrs=2", "srs=2:ssrs=2:sssrs=2", 13, 7, 4, {0, 2, 4, 6}},
        {"csr4:srs=3:ssrs=1:sssrs=5", "srs=3:ssrs=1:sssrs=5", 9, 9, 2, {0, 5, 9}},
        {"csr4", "srs=96:ssrs=8:sssrs=8", 1, 1, 1, {0, 1}},
    };
    spry_context *context = context_of(3);
    spry_matrix *A = generate_matrix(context, "grid5,x=5,y=5");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        spryi_storage predicted = {0};
        options.format = cases[c].format;
        spry_spmv_plan *plan = checked_plan(context, A, options);
        const spryi_csrk *s = plan->forward.stored.storage;
        spry_spmv_plan_info info = plan_info(plan);
        assert_string_equal(cases[c].parameters, info.parameters);
        assert_true(s->sr_count == cases[c].sr_count && s->ssr_count == cases[c].ssr_count);
        assert_int_equal(cases[c].sssr_count, s->sssr_count);
        for (int64_t g = 0; g < s->sssr_count && g < 4; g++) assert_int_equal(cases[c].sssr[g], s->sssr_ptr[g]);
        assert_int_equal(s->ssr_count, s->sssr_ptr[s->sssr_count]);
        assert_int_equal(SPRY_OK, spryi_predict_storage(context, &predicted, A, &options, NULL));
        assert_int_equal(A->a.nnz * 12 + 26 * 4 + 8 * (s->sr_count + s->ssr_count + s->sssr_count + 3),
                         predicted.bytes);
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/*
 * Checks that the groups cover 0 to `total`. Each group has at most 1.5 times its nominal size, and there are about
 * twice total / size groups at most.
 */
static void check_groups(const int64_t *ptr, int64_t count, int64_t total, int64_t size)
{
    assert_non_null(ptr);
    assert_true(ptr[0] == 0 && ptr[count] == total && count <= 2 * total / size + 8);
    for (int64_t g = 0; g < count; g++) assert_in_range(ptr[g + 1] - ptr[g], 1, size + size / 2);
}

/* Tests Band-k with four levels, as an ordering and in a plan with csr4, which uses the ordering's groups. */
static void test_bandk_4(void **state)
{
    spry_context *context = context_of(2);
    spry_matrix *A = generate_matrix(context, "rgg20,scale=12,shuffle=5"), *B = NULL;
    spry_ordering_options how = SPRY_INIT(spry_ordering_options);
    spry_ordering_info info = SPRY_INIT(spry_ordering_info);
    how.method = "bandk";
    how.k = 4;
    how.srs = 7;
    how.ssrs = 5;
    how.sssrs = 3;
    spry_ordering *ordering = create_ordering(context, A, &how);
    assert_int_equal(SPRY_OK, spry_ordering_get_info(ordering, &info, NULL));
    check_groups(info.groups->sr_ptr, info.groups->sr_count, A->a.rows, 7);
    check_groups(info.groups->ssr_ptr, info.groups->ssr_count, info.groups->sr_count, 5);
    check_groups(info.groups->sssr_ptr, info.groups->sssr_count, info.groups->ssr_count, 3);
    assert_true(info.groups->srs == 7 && info.groups->ssrs == 5 && info.groups->sssrs == 3);
    assert_int_equal(SPRY_OK, permute_matrix(context, &B, A, info.row_perm, info.column_perm, NULL));
    static const char *const kernels[] = {"csr4_listing_portable_cpu",
                                          TEST_STUDY("csr4_listing_cpu", "csr4_listing_portable_cpu"), NULL};
    for (int n = 0; n < 3; n++) {
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.kernel = kernels[n];
        options.format = "csr4";
        options.groups = ordering;
        spry_spmv_plan *plan = checked_plan(context, B, options);
        const spryi_csrk *s = plan->forward.stored.storage;
        assert_int_equal(info.groups->sssr_count, s->sssr_count);
        assert_memory_equal(info.groups->sssr_ptr, s->sssr_ptr, (size_t)(s->sssr_count + 1) * sizeof(int64_t));
        spry_spmv_plan_destroy(plan);
    }
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = "csr4:srs=7:ssrs=5:sssrs=3";
    options.ordering = "bandk";
    spry_spmv_plan *plan = checked_plan(context, A, options);
    assert_int_equal(info.groups->sssr_count, ((const spryi_csrk *)plan->forward.stored.storage)->sssr_count);
    spry_spmv_plan_destroy(plan);
    spry_ordering_destroy(ordering);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* ---- listings --------------------------------------------------------------------------------------- */

/*
 * Asserts that the kernels of the paper's listings use each super-row as a block. A thread gets whole groups of the
 * highest level.
 */
static void test_units(void **state)
{
    static const struct {
        const char *format, *kernel;
        int64_t units, blocks;
    } cases[] = {
        {"csr2:srs=8", "csr2_listing_avx2_cpu", 128, 128},
        {"csr2:srs=96", "csr2_listing_avx2_cpu", 11, 11},
        {"csr3:srs=8:ssrs=4", "csr3_listing_avx2_cpu", 32, 128},
        {"csr4:srs=8:ssrs=4:sssrs=3", "csr4_listing_avx2_cpu", 11, 128},
        {NULL, "csr3_listing_avx2_cpu:srs=16:ssrs=2", 32, 64},
        {"csr2:srs=8", "csr2_listing_avx2_cpu:srs=16", 128, 128}, /* the format's parameters take precedence */
    };
    for (int threads = 1; threads <= 5; threads += 2) {
        spry_context *context = context_of(threads);
        if (context->simd < SPRYI_AVX2) {
            spry_context_destroy(context);
            skip();
        }
        spry_matrix *A = generate_matrix(context, "grid5,x=32,y=32");
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            spry_spmv_options options = SPRY_INIT(spry_spmv_options);
            options.format = cases[c].format;
            options.kernel = cases[c].kernel;
            spry_spmv_plan *plan = checked_plan(context, A, options);
            const spryi_csr_blocks *blocks = &((const spryi_csrk *)plan->forward.stored.storage)->csr.blocks;
            assert_int_equal(cases[c].units, blocks->units);
            assert_int_equal(cases[c].blocks, blocks->count);
            spry_spmv_plan_destroy(plan);
        }
        spry_matrix_destroy(A);
        spry_context_destroy(context);
    }
}

/*
 * Runs every listing kernel with any number of threads on the caller's super-rows, one of which has most of the rows.
 */
static void test_uneven_groups(void **state)
{
    static const int64_t sr[] = {0, 1, 2, 1000, 1003, 1024}, ssr[] = {0, 1, 5}, sssr[] = {0, 2};
    static const char *const kernels[] = {TEST_STUDY("csr2_listing_cpu", "csr2_listing_portable_cpu"),
                                          TEST_STUDY("csr3_listing_cpu", "csr3_listing_portable_cpu"),
                                          TEST_STUDY("csr4_listing_cpu", "csr4_listing_portable_cpu"),
                                          "csr2_listing_avx512_cpu",
                                          "csr3_listing_avx512_cpu",
                                          "csr4_listing_avx512_cpu"};
    spry_groups g = SPRY_INIT(spry_groups);
    g.rows = 1024;
    g.sr_count = 5;
    g.sr_ptr = sr;
    g.ssr_count = 2;
    g.ssr_ptr = ssr;
    g.sssr_count = 1;
    g.sssr_ptr = sssr;
    for (int threads = 1; threads <= 5; threads += 2) {
        spry_context *context = context_of(threads);
        spry_matrix *A = generate_matrix(context, "grid5,x=32,y=32");
        spry_ordering *ordering = NULL;
        assert_int_equal(SPRY_OK, create_groups(context, &ordering, &g, NULL));
        for (int n = 0; n < (context->simd < SPRYI_AVX512 ? 3 : 6); n++) {
            spry_spmv_options options = SPRY_INIT(spry_spmv_options);
            options.kernel = kernels[n];
            options.groups = ordering;
            spry_spmv_plan_destroy(checked_plan(context, A, options));
        }
        spry_ordering_destroy(ordering);
        spry_matrix_destroy(A);
        spry_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure_1),   cmocka_unit_test(test_refusals), cmocka_unit_test(test_csr4),
        cmocka_unit_test(test_bandk_4),    cmocka_unit_test(test_units),    cmocka_unit_test(test_uneven_groups),
        cmocka_unit_test(test_by_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
