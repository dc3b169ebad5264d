/* CSR-2 and CSR-3: pointers as the seed draws them, no copy of the matrix, the same bits as csr, giant rows. */
#include "core/kernel.h"
#include "formats/csrk/csrk.h"
#include "ops/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static spry_context *context_of(int threads)
{
    spry_context_options options = SPRY_INIT(spry_context_options);
    options.threads = threads;
    spry_context *context = NULL;
    assert_int_equal(SPRY_OK, spry_context_create(&context, &options, NULL));
    return context;
}

static spry_plan *plan_of(spry_context *context, const spry_matrix *A, const char *format)
{
    spry_plan *plan = NULL;
    spry_error err = {0};
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = format;
    if (spry_plan_spmv(context, &plan, A, &options, &err) != SPRY_OK) fail_msg("%s: %s", format, err.message);
    return plan;
}

/* Rows of one entry each, but for one of `giant` entries in the middle. */
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
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix *A = NULL;
    a.layout = SPRY_CSR;
    a.rows = rows;
    a.cols = cols;
    a.nnz = nnz;
    a.offset_type = a.index_type = SPRY_I32;
    a.value_type = SPRY_F64;
    a.offsets = offsets;
    a.indices = columns;
    a.values = values;
    a.ownership = SPRY_COPY;
    assert_int_equal(SPRY_OK, spry_matrix_create(context, &A, &a, NULL));
    free(offsets);
    free(columns);
    free(values);
    return A;
}

static void test_pointers(void **state)
{
    (void)state;
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
    };
    spry_context *context = context_of(1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_matrix *A = matrix_of(context, cases[c].rows, 7, 1);
        spry_plan *plan = plan_of(context, A, cases[c].format);
        const spryi_csrk *s = plan->storage;
        spry_plan_info info = SPRY_INIT(spry_plan_info);
        assert_int_equal(SPRY_OK, spry_plan_get_info(plan, &info, NULL));
        assert_string_equal(cases[c].parameters, info.parameters);
        assert_int_equal(cases[c].sr_count, s->sr_count);
        assert_int_equal(cases[c].ssr_count, s->ssr_count);
        assert_memory_equal(cases[c].sr, s->sr_ptr, (size_t)(s->sr_count + 1) * sizeof(int64_t));
        if (s->ssr_ptr) assert_memory_equal(cases[c].ssr, s->ssr_ptr, (size_t)(s->ssr_count + 1) * sizeof(int64_t));
        assert_true(s->csr.a.values == A->a.values && s->csr.a.offsets == A->a.offsets); /* no copy */
        spry_plan_destroy(plan);
        spry_matrix_destroy(A);
    }
    assert_int_equal(0, spry_context_bytes(context));
    spry_context_destroy(context);
}

static void test_parameters(void **state)
{
    (void)state;
    static const char *const wrong[] = {"csr2:srs=0", "csr2:ssrs=4", "csr3:srs=-1", "csr3:ssrs=", "csr3:srs=9999999"};
    spry_context *context = context_of(1);
    spry_matrix *A = matrix_of(context, 5, 5, 1);
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        spry_plan *plan = NULL;
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.format = wrong[w];
        assert_int_not_equal(SPRY_OK, spry_plan_spmv(context, &plan, A, &options, NULL));
        assert_null(plan);
    }
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* A row of many super-rows' work: right, and the same bits for any number of threads and any sizes of groups. */
static void test_giant_row(void **state)
{
    (void)state;
    enum { M = 2000, N = 50000 };
    static const char *const formats[] = {"csr2", "csr2:srs=1", "csr3", "csr3:srs=7:ssrs=3", "csr3:srs=4096"};
    static double x[N], y[M], first[5][M];
    for (int j = 0; j < N; j++) x[j] = (double)(j % 13) - 6.25;
    for (int threads = 1; threads <= 5; threads += 2) {
        spry_context *context = context_of(threads);
        spry_matrix *A = matrix_of(context, M, N, N);
        for (int f = 0; f < 5; f++) {
            spry_plan *plan = plan_of(context, A, formats[f]);
            spry_verification v = SPRY_INIT(spry_verification);
            spry_vector none = {0}, xv = spry_vector_f64(x, N), yv = spry_vector_f64(y, M);
            assert_int_equal(SPRY_OK, spry_plan_run(plan, NULL, xv, NULL, yv, NULL, NULL));
            assert_int_equal(SPRY_OK,
                             spry_verify_spmv(context, &v, A, SPRY_NO_TRANSPOSE, NULL, xv, NULL, none, yv, NULL));
            assert_int_equal(0, v.wrong_rows);
            if (threads == 1) memcpy(first[f], y, sizeof y);
            assert_memory_equal(first[f], y, sizeof y);
            assert_true(first[0][M / 2] == y[M / 2]); /* one row's sum does not depend on the groups */
            spry_plan_destroy(plan);
        }
        spry_matrix_destroy(A);
        spry_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_giant_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
