/*
 * Tests of CSR-2 and CSR-3. Plans store group pointers and no copy of the matrix, and results are bitwise equal to
 * csr's. Also tests very long rows, and the group sizes for GPUs by the formulas of the CSR-k paper.
 */
#include "support.h"

#include "base/context.h"
#include "core/kernel.h"
#include "formats/csrk/csrk.h"
#include "plan/plan.h"
#include "spry/matrix.h"
#include "spry/tune.h"

/* Builds rows of one entry. The row in the middle has `giant` entries. */
static spry_matrix *matrix_of(spry_context *context, int32_t rows, int32_t cols, int32_t giant)
{
    int32_t nnz = rows - 1 + giant, k = 0;
    int32_t *offsets = malloc(((size_t)rows + 1) * sizeof *offsets), *columns = malloc((size_t)nnz * sizeof *columns);
    double *values = malloc((size_t)nnz * sizeof *values);
    assert_true(offsets && columns && values);
    for (int32_t i = 0; i < rows; i++) {
        offsets[i] = k;
        for (int32_t j = 0; j < (i == rows / 2 ? giant : 1); j++, k++) {
            columns[k] = giant > 1 && i == rows / 2 ? j : i % cols;
            values[k] = 1.0 / (double)(1 + k % 97);
        }
    }
    offsets[rows] = k;
    spry_arrays a = csr_arrays(rows, cols, offsets, columns, values, SPRY_F64);
    a.ownership = SPRY_COPY;
    spry_matrix *A = create_matrix(context, &a);
    free(offsets);
    free(columns);
    free(values);
    return A;
}

static void test_pointers(void **state)
{
    static const struct {
        const char *format, *parameters;
        int32_t rows;
        int64_t sr_count, ssr_count, sr[6], ssr[4];
    } cases[] = {
        {"csr2:srs=2", "srs=2", 9, 5, 0, {0, 2, 4, 6, 8, 9}, {0}},
        {"csr3:srs=2:ssrs=2", "srs=2:ssrs=2", 9, 5, 3, {0, 2, 4, 6, 8, 9}, {0, 2, 4, 5}},
        {"csr3:srs=3:ssrs=1", "srs=3:ssrs=1", 9, 3, 3, {0, 3, 6, 9}, {0, 1, 2, 3}},
        {"csr3:srs=1:ssrs=1000", "srs=1:ssrs=1000", 2, 2, 1, {0, 1, 2}, {0, 2}},
        {"csr2", "srs=96", 97, 2, 0, {0, 96, 97}, {0}},
        {"csr3", "srs=96:ssrs=8", 96, 1, 1, {0, 96}, {0, 1}},
        {"csr3:tuning=cpu", "srs=96:ssrs=8", 96, 1, 1, {0, 96}, {0, 1}},
        {"csr3:tuning=volta", "srs=10:ssrs=9:tuning=volta", 11, 2, 1, {0, 10, 11}, {0, 2}},
        {"csr3:tuning=ampere", "srs=21:ssrs=9:tuning=ampere", 40, 2, 1, {0, 21, 40}, {0, 2}},
        {"csr3:tuning=ampere:srs=4:ssrs=2", "srs=4:ssrs=2:tuning=ampere", 9, 3, 2, {0, 4, 8, 9}, {0, 2, 3}},
    };
    spry_context *context = context_of(1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_matrix *A = matrix_of(context, cases[c].rows, 7, 1);
        spry_spmv_plan *plan = plan_in(context, A, cases[c].format, NULL, SPRY_NO_TRANSPOSE);
        const spryi_csrk *s = plan->forward.stored.storage;
        spry_spmv_plan_info info = plan_info(plan);
        assert_string_equal(cases[c].parameters, info.parameters);
        assert_int_equal(cases[c].sr_count, s->sr_count);
        assert_int_equal(cases[c].ssr_count, s->ssr_count);
        assert_memory_equal(cases[c].sr, s->sr_ptr, (size_t)(s->sr_count + 1) * sizeof(int64_t));
        if (s->ssr_ptr) assert_memory_equal(cases[c].ssr, s->ssr_ptr, (size_t)(s->ssr_count + 1) * sizeof(int64_t));
        assert_true(s->csr.a.values == A->a.values && s->csr.a.offsets == A->a.offsets); /* no copy */
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(A);
    }
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* Tests groups with more rows than any block of csr. */
static void test_large_groups(void **state)
{
    static const char *const formats[] = {"csr2:srs=32768", "csr3:srs=32768:ssrs=32768"};
    spry_context *context = context_of(2);
    enum { ROWS = 300 * 300 };
    double *x = malloc(ROWS * sizeof *x), *y = malloc(ROWS * sizeof *y), *expected = malloc(ROWS * sizeof *expected);
    assert_true(x && y && expected);
    spry_matrix *A = generate_matrix(context, "grid5,x=300,y=300");
    for (int i = 0; i < ROWS; i++) x[i] = 1.0 / (1 + i % 89);
    spry_spmv_plan *csr = plan_in(context, A, "csr", NULL, SPRY_NO_TRANSPOSE);
    multiply_f64(csr, expected, ROWS, x, ROWS);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        spry_spmv_plan *plan = plan_in(context, A, formats[f], NULL, SPRY_NO_TRANSPOSE);
        multiply_f64(plan, y, ROWS, x, ROWS);
        for (int i = 0; i < ROWS; i++) assert_true(fabs(y[i] - expected[i]) < 1e-14); /* another order of summation */
        spry_spmv_plan_destroy(plan);
    }
    spry_spmv_plan_destroy(csr);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    free(x);
    free(y);
    free(expected);
}

static void test_parameters(void **state)
{
    static const char *const wrong[] = {"csr2:srs=0",
                                        "csr2:ssrs=4",
                                        "csr3:srs=-1",
                                        "csr3:ssrs=",
                                        "csr3:srs=9999999",
                                        "csr2:tuning=volta",
                                        "csr3:tuning",
                                        "csr3:tuning=",
                                        "csr3:tuning=volt",
                                        "csr3:tuning=voltage",
                                        "csr3:tuning=1",
                                        "csr3:volta",
                                        "csr3:tuning=volta:tuning=ampere"};
    spry_context *context = context_of(1);
    spry_matrix *A = matrix_of(context, 5, 5, 1);
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        spry_spmv_plan *plan = NULL;
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.format = wrong[w];
        assert_int_not_equal(SPRY_OK, spry_spmv_plan_create(context, &plan, A, &options, NULL));
        assert_null(plan);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Tests the group sizes by the paper's formulas, also at the borders between the paper's cases. */
static void test_formulas(void **state)
{
    static const struct {
        int64_t rows, nnz, volta_ssrs, volta_srs, ampere_ssrs, ampere_srs;
        int which;
    } cases[] = {
        {1000, 3000, 8, 8, 8, 17, 1},     {1000, 7000, 6, 7, 7, 14, 1},
        {1000, 12000, 9, 12, 6, 48, 2},   {1000, 20000, 20, 10, 13, 39, 3},
        {1000, 40000, 20, 10, 8, 16, 4},  {1000, 17685000, 5, 2, 2, 4, 4},
        {1000, 8000, 6, 7, 6, 13, 1},     {1000, 8001, 9, 14, 6, 52, 2},
        {1000, 16000, 8, 12, 6, 44, 2},                                     /* Volta ssrs: 1.5 * 5 = 7.5, rounded up */
        {1000, 16001, 20, 10, 15, 45, 3}, {1000, 32000, 20, 10, 13, 39, 3}, /* Ampere ssrs: 12.5, rounded up */
        {1000, 32001, 25, 12, 10, 20, 4}, {1000, 1000, 9, 10, 9, 21, 1},    /* Ampere srs: 20.5, rounded up */
        {1000, 0, 9, 10, 9, 21, 1},       {0, 0, 9, 10, 9, 21, 1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spryi_group_sizes found;
        assert_int_equal(cases[c].which, spryi_group_case_of(cases[c].rows, cases[c].nnz));
        found = spryi_find_group_sizes(SPRYI_GROUPS_VOLTA, 3, spryi_group_case_of(cases[c].rows, cases[c].nnz),
                                       cases[c].rows, cases[c].nnz, NULL);
        assert_int_equal(cases[c].volta_ssrs, found.ssrs);
        assert_int_equal(cases[c].volta_srs, found.srs);
        found = spryi_find_group_sizes(SPRYI_GROUPS_AMPERE, 3, spryi_group_case_of(cases[c].rows, cases[c].nnz),
                                       cases[c].rows, cases[c].nnz, NULL);
        assert_int_equal(cases[c].ampere_ssrs, found.ssrs);
        assert_int_equal(cases[c].ampere_srs, found.srs);
    }
}

/* Tests the group sizes if the paper's undefined name "SRSS" means SSRS instead of SRS. Only sizes of case 2 differ. */
static void test_other_reading(void **state)
{
    static const struct {
        int64_t nnz, volta_ssrs, volta_srs, ampere_ssrs, ampere_srs;
    } cases[] = {
        {7000, 6, 7, 7, 14},   {12000, 9, 18, 6, 24}, /* Volta: srs = 2 * ssrs; Ampere: srs = 4 * ssrs */
        {16000, 8, 16, 6, 24}, {20000, 20, 10, 13, 39}, {40000, 20, 10, 8, 16},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const spryi_group_case which = spryi_group_case_of(1000, cases[c].nnz);
        spryi_group_sizes found;
        found = spryi_find_group_sizes(SPRYI_GROUPS_VOLTA_SSRS, 3, which, 1000, cases[c].nnz, NULL);
        assert_int_equal(cases[c].volta_ssrs, found.ssrs);
        assert_int_equal(cases[c].volta_srs, found.srs);
        found = spryi_find_group_sizes(SPRYI_GROUPS_AMPERE_SSRS, 3, which, 1000, cases[c].nnz, NULL);
        assert_int_equal(cases[c].ampere_ssrs, found.ssrs);
        assert_int_equal(cases[c].ampere_srs, found.srs);
    }
}

/* Tests the group sizes for Hopper GPUs. srs and ssrs are multiples of 8 and at most 32. */
static void test_hopper(void **state)
{
    static const struct {
        int64_t rows, nnz, ssrs, srs;
    } cases[] = {
        {0, 0, 32, 8},           {1000, 0, 32, 8},      {1000, 1000, 32, 8},   {1000, 3000, 32, 8},
        {1000, 5000, 32, 8},     {1000, 7000, 32, 8},   {1000, 9000, 24, 16},  {1000, 12500, 24, 16},
        {1000, 20000, 24, 24},   {1000, 26000, 16, 24}, {1000, 40000, 16, 32}, {1000, 76000, 8, 32},
        {1000, 17685000, 8, 32},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spryi_group_sizes found;
        found = spryi_find_group_sizes(SPRYI_GROUPS_HOPPER, 3, spryi_group_case_of(cases[c].rows, cases[c].nnz),
                                       cases[c].rows, cases[c].nnz, NULL);
        assert_int_equal(cases[c].ssrs, found.ssrs);
        assert_int_equal(cases[c].srs, found.srs);
    }
}

/*
 * Builds storages for a GPU, without a GPU. The group sizes depend on the GPU's compute capability, and the storage has
 * only the arrays for the device.
 */
static void test_for_gpu(void **state)
{
    static const struct {
        const spryi_format *format;
        int major, sections;
        int64_t sr_count, ssr_count;
        const char *parameters;
    } cases[] = {
        {&spryi_format_csr3, 7, 5, 30, 4, "srs=10:ssrs=9:tuning=volta"},
        {&spryi_format_csr3, 8, 5, 15, 2, "srs=21:ssrs=9:tuning=ampere"},
        {&spryi_format_csr3, 9, 5, 38, 2, "srs=8:ssrs=32:tuning=hopper"},
        {&spryi_format_csr3, 12, 5, 38, 2, "srs=8:ssrs=32:tuning=hopper"},
        {&spryi_format_csr3, 0, 5, 15, 2, "srs=21:ssrs=9:tuning=ampere"},
        {&spryi_format_csr2, 9, 4, 3, 0, "srs=128"}, /* 128 rows: 256 threads, two per row */
    };
    spry_context *context = context_of(1);
    spry_matrix *A = matrix_of(context, 300, 7, 1);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.vector_type = SPRY_F64;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const spryi_build_request request = {.A = A,
                                             .csr = A,
                                             .options = &options,
                                             .value_type = SPRY_F64,
                                             .massively_parallel = 1,
                                             .compute_major = cases[c].major};
        spryi_cost cost = {0};
        void *storage = NULL;
        spryi_section sections[SPRYI_MOST_SECTIONS];
        assert_int_equal(SPRY_OK, cases[c].format->predict(context, &cost, &request, NULL));
        assert_string_equal(cases[c].parameters, cost.parameters);
        assert_int_equal(SPRY_OK, spryi_storage_build(context, cases[c].format, &storage, &request, NULL));
        const spryi_csrk *s = storage;
        assert_int_equal(cases[c].sr_count, s->sr_count);
        assert_int_equal(cases[c].ssr_count, s->ssr_count);
        assert_int_equal(300, s->sr_ptr[s->sr_count]);
        assert_true(!s->csr.blocks.list && !s->csr.runs.list);
        assert_int_equal(cases[c].sections, cases[c].format->layout.device_sections(storage, sections));
        int64_t bytes = 0;
        for (int n = 0; n < cases[c].sections; n++) {
            assert_non_null(*sections[n].array);
            bytes += sections[n].count * sections[n].item_bytes;
        }
        assert_int_equal(cost.bytes, bytes);
        assert_int_equal(cost.bytes, spryi_storage_bytes(cases[c].format, storage));
        assert_int_equal(cost.bytes, spryi_storage_owned_bytes(cases[c].format, storage)); /* the GPU's copy */
        spryi_storage_destroy(context, cases[c].format, storage);
    }
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* Tests the choice between the two kernels of csr3 on a GPU. A matrix with 8 entries per row still uses GPUSpMV-3. */
static void test_choice_of_kernel(void **state)
{
    static const int64_t mean[SPRYI_PARAMETERS];
    spry_context *context = context_of(1);
    spry_matrix *A = matrix_of(context, 10, 100, 71), *B = matrix_of(context, 10, 100, 72);
    assert_int_equal(80, A->a.nnz);
    assert_string_equal("csr3_gpuspmv3_cuda", spryi_format_csr3.choice.gpu_kernel(A, mean));
    assert_string_equal("csr3_gpuspmv35_cuda", spryi_format_csr3.choice.gpu_kernel(B, mean));
    assert_null(spryi_format_csr2.choice.gpu_kernel);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_context_destroy(context);
}

/*
 * Tests by=longest on nine rows of one entry and one long row. The longest row selects the paper's case. The logarithm
 * in the formulas uses the mean row length.
 */
static void test_by_longest(void **state)
{
    static const struct {
        int32_t longest;
        int which;
        const char *kernel, *parameters;
    } cases[] = {
        {8, 1, "csr3_gpuspmv3_cuda", "srs=9:ssrs=8:tuning=volta:by=longest"}, /* ln 1.7 = 0.53: srs 9.35, ssrs 8.24 */
        {9, 2, "csr3_gpuspmv35_cuda", "srs=18:ssrs=12:tuning=volta:by=longest"},
        {17, 3, "csr3_gpuspmv35_cuda", "srs=16:ssrs=32:tuning=volta:by=longest"},
        {33, 4, "csr3_gpuspmv35_cuda", "srs=17:ssrs=35:tuning=volta:by=longest"}, /* ln 4.2 = 1.44: ssrs 7 * 5 */
    };
    const int64_t by[SPRYI_PARAMETERS] = {[SPRYI_CSR3_BY] = SPRYI_CSRK_BY_LONGEST};
    spry_context *context = context_of(1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_matrix *A = matrix_of(context, 10, 100, cases[c].longest);
        spryi_group_case which;
        assert_int_equal(SPRY_OK, spryi_csrk_find_case(&which, SPRYI_CSRK_BY_LONGEST, &A->a, NULL));
        assert_int_equal(cases[c].which, which);
        assert_string_equal(cases[c].kernel, spryi_format_csr3.choice.gpu_kernel(A, by));
        spry_spmv_plan *plan = plan_in(context, A, "csr3:tuning=volta:by=longest", NULL, SPRY_NO_TRANSPOSE);
        spry_spmv_plan_info info = plan_info(plan);
        assert_string_equal(cases[c].parameters, info.parameters);
        assert_int_equal(cases[c].which, ((const spryi_csrk *)plan->forward.stored.storage)->which);
        spry_spmv_plan_destroy(plan);
        spry_arrays far = A->a;
        far.device = 1;
        assert_int_equal(SPRY_UNSUPPORTED, spryi_csrk_find_case(&which, SPRYI_CSRK_BY_LONGEST, &far, NULL));
        spry_matrix_destroy(A);
    }
    spry_context_destroy(context);
}

/* Tests the number of lanes per row, the largest power of two up to the mean row length, from 2 to 32. */
static void test_lanes(void **state)
{
    static const int64_t nnz[] = {0, 39, 40, 79, 80, 159, 160, 319, 320, 100000};
    static const int lanes[] = {2, 2, 4, 4, 8, 8, 16, 16, 32, 32};
    for (int n = 0; n < 10; n++) assert_int_equal(lanes[n], spryi_csr2_lanes(10, nnz[n]));
    assert_int_equal(2, spryi_csr2_lanes(0, 0));
}

/*
 * Multiplies a matrix in which one row has more entries than all other rows together. The product must be correct and
 * bitwise equal for all thread counts and group sizes.
 */
static void test_giant_row(void **state)
{
    enum { M = 2000, N = 50000 };
    static const char *const formats[] = {"csr2", "csr2:srs=1", "csr3", "csr3:srs=7:ssrs=3", "csr3:srs=4096"};
    static double x[N], y[M], first[5][M];
    for (int j = 0; j < N; j++) x[j] = (double)(j % 13) - 6.25;
    for (int threads = 1; threads <= 5; threads += 2) {
        spry_context *context = context_of(threads);
        spry_matrix *A = matrix_of(context, M, N, N);
        for (int f = 0; f < 5; f++) {
            spry_spmv_plan *plan = plan_in(context, A, formats[f], NULL, SPRY_NO_TRANSPOSE);
            spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
            spry_vector none = {0}, xv = spry_vector_f64(x, N), yv = spry_vector_f64(y, M);
            assert_int_equal(SPRY_OK, spry_spmv_plan_run(plan, yv, NULL, spry_vector_as_const(xv), NULL, NULL, NULL));
            assert_int_equal(SPRY_OK,
                             spry_spmv_verify(context, &v, A, SPRY_NO_TRANSPOSE, NULL, spry_vector_as_const(xv), NULL,
                                              spry_vector_as_const(none), spry_vector_as_const(yv), NULL));
            assert_int_equal(0, v.wrong_rows);
            if (threads == 1) memcpy(first[f], y, sizeof y);
            assert_memory_equal(first[f], y, sizeof y);
            assert_true(first[0][M / 2] == y[M / 2]); /* the sum of one row does not depend on the groups */
            spry_spmv_plan_destroy(plan);
        }
        spry_matrix_destroy(A);
        spry_context_destroy(context);
    }
}

/*
 * Asserts that an update is correct if the plan has a copy of the values (A is COO), even after the caller has
 * destroyed the ordering that gave the groups.
 */
static void test_kept_groups(void **state)
{
    enum { N = 400 };
    static double x[N], y[N], expected[N];
    for (int j = 0; j < N; j++) x[j] = (double)(j % 13) - 6.25;
    spry_context *context = context_of(1);
    spry_matrix *ordered = NULL;
    spry_ordering_info info = SPRY_INIT(spry_ordering_info);
    spry_ordering_options bandk = SPRY_INIT(spry_ordering_options);
    spry_matrix_options coo = SPRY_INIT(spry_matrix_options);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    bandk.method = "bandk";
    coo.layout = SPRY_COO;
    spry_matrix *grid = generate_matrix(context, "laplace5,x=20,y=20");
    spry_ordering *ordering = create_ordering(context, grid, &bandk);
    assert_int_equal(SPRY_OK, spry_ordering_get_info(ordering, &info, NULL));
    assert_int_equal(SPRY_OK, permute_matrix(context, &ordered, grid, info.row_perm, info.column_perm, NULL));
    spry_matrix *A = convert_matrix(context, ordered, &coo);
    options.format = "csr3";
    options.groups = ordering;
    spry_spmv_plan *plan = create_plan(context, A, &options);
    spry_ordering_destroy(ordering);
    assert_int_equal(SPRY_OK, spry_spmv_plan_update(plan, NULL, NULL));
    multiply_f64(plan, y, N, x, N);
    assert_int_equal(SPRY_OK, spry_spmv(context, spry_vector_f64(expected, N), NULL, ordered,
                                        spry_const_vector_f64(x, N), NULL, NULL));
    assert_memory_equal(expected, y, sizeof y);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_matrix_destroy(ordered);
    spry_matrix_destroy(grid);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/*
 * Tests rows whose columns are close together. AVX-512 kernels load x by spans, as in csr, and results are bitwise
 * equal to csr's.
 */
static void test_spans(void **state)
{
    enum { M = 960, LENGTH = 10, N = 3 * M + LENGTH + 1 };
    static const char *const formats[] = {"csr", "csr2", "csr3", "csr2"};
    static int32_t offsets[M + 1], columns[M * LENGTH];
    static float values[M * LENGTH], x[N], y[M], first[M];
    spry_context *context = context_of(2);
    if (context->simd < SPRYI_AVX512) {
        spry_context_destroy(context);
        skip();
    }
    for (int i = 0; i < M; i++) offsets[i + 1] = (i + 1) * LENGTH;
    for (int k = 0; k < M * LENGTH; k++) {
        columns[k] = k / LENGTH * 3 + k % LENGTH + (k % LENGTH > 4); /* a gap in the middle */
        values[k] = 1.0F / (float)(1 + k % 97);
    }
    for (int j = 0; j < N; j++) x[j] = (float)(j % 13) - 6.25F;
    spry_matrix *A = NULL;
    assert_int_equal(SPRY_OK, spry_matrix_borrow_csr_f32(context, &A, M, N, offsets, columns, values, NULL));
    for (int f = 0; f < 4; f++) {
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.format = formats[f];
        options.expected_calls = f == 3 ? 5 : 0;
        spry_spmv_plan *plan = create_plan(context, A, &options);
        const spryi_csr *s = plan->forward.stored.storage; /* the first member of csr2 and csr3 */
        for (int64_t r = 0; r < s->runs.count; r++) assert_true((s->runs.list[r].least_spans > 0) == (f < 3));
        assert_int_equal(SPRY_OK, spry_spmv_plan_run(plan, spry_vector_f32(y, M), NULL, spry_const_vector_f32(x, N),
                                                     NULL, NULL, NULL));
        if (f == 0) memcpy(first, y, sizeof y);
        if (f < 3) assert_memory_equal(first, y, sizeof y);
        spry_spmv_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointers),         cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_formulas),         cmocka_unit_test(test_for_gpu),
        cmocka_unit_test(test_choice_of_kernel), cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_giant_row),        cmocka_unit_test(test_large_groups),
        cmocka_unit_test(test_hopper),           cmocka_unit_test(test_spans),
        cmocka_unit_test(test_kept_groups),      cmocka_unit_test(test_other_reading),
        cmocka_unit_test(test_by_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
