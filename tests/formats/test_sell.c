/* Tests of SELL-C-sigma: the order drawn in sell.h, parameters, chunks of every size, patterns, damaged storages. */
#include "testing.h"

#include "catalogue/catalogue.h"
#include "formats/sell/sell.h"
#include "plan/plan.h"
#include "spry/io.h"
#include "spry/matrix.h"

#include <unistd.h>

/* The matrix drawn in sell.h. */
static const int32_t Ap[] = {0, 2, 3, 5, 6}, Aj[] = {0, 2, 1, 0, 3, 1};
static const double Ax[] = {1, 2, 3, 4, 5, 6};

static void layout(void **state)
{
    static const uint16_t order[] = {0, 2, 1, 3};
    static const int64_t offsets[] = {0, 4, 6};
    static const double values[] = {1, 4, 2, 5, 3, 6};
    static const int32_t columns[] = {0, 0, 2, 3, 1, 1};
    spry_context *context = context_of(0);
    spry_matrix *A = borrow_csr(context, 4, 4, Ap, Aj, Ax);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.keep_value_type = true;
    options.format = "sell:c=2:sigma=3"; /* sigma is rounded up to a multiple of c */
    spry_spmv_plan *plan = create_plan(context, A, &options);
    spry_spmv_plan_info info = plan_info(plan);
    assert_string_equal(info.parameters, "c=2:sigma=4");
    spryi_sell *s = plan->forward.stored.storage;
    assert_memory_equal(s->permutation, order, sizeof order);
    assert_memory_equal(s->offsets, offsets, sizeof offsets);
    assert_memory_equal(s->values, values, sizeof values);
    assert_memory_equal(s->columns, columns, sizeof columns);
    spry_error err = SPRY_ERROR_INIT;
#define REFUSE(place, value)                                                                                           \
    do {                                                                                                               \
        __typeof__(place) kept = (place);                                                                              \
        assert_int_equal(spryi_format_sell.check(context, s, &err), SPRY_OK);                                          \
        (place) = (value);                                                                                             \
        assert_int_equal(spryi_format_sell.check(context, s, &err), SPRY_BAD_FILE);                                    \
        (place) = kept;                                                                                                \
    } while (0)
    REFUSE(s->permutation[1], 1);
    REFUSE(s->permutation[1], 4);
    REFUSE(s->offsets[1], 3);
    REFUSE(s->offsets[0], 1);
    REFUSE(s->lengths[0], 3);
    REFUSE(s->lengths[0], 1);
    REFUSE(s->kinds[0], SPRYI_SELL_IN_ORDER);
    REFUSE(s->kinds[1], 2);
    REFUSE(((int32_t *)s->columns)[5], 4);
    REFUSE(s->c, 3);
    REFUSE(s->sigma, 0);
    REFUSE(s->chunk_count, 1);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/* Compares y with CSR for every c and sigma. Values and x are small integers, so y is exact. */
static void every_chunk(void **state)
{
    static const int chunks[] = {1, 2, 3, 5, 7, 8, 12, 16, 17, 24, 32, 48, 100, 256}, sigmas[] = {1, 40, 256, 65536};
    static const char *const matrices[] = {"rmat20,scale=9", "grid5,x=64,y=40"};
    static const char *const kernels[] = {"sell_portable_cpu", "sell_avx2_cpu", "sell_avx512_cpu"};
    spry_context *context = context_of(0);
    for (int m = 0; m < 2; m++)
        for (int pattern = 0; pattern < 2; pattern++) {
            spry_error err = SPRY_ERROR_INIT;
            spry_matrix_options as = SPRY_INIT(spry_matrix_options);
            as.value_type = pattern ? SPRY_PATTERN : SPRY_F64;
            spry_matrix *made = generate_matrix(context, matrices[m]);
            spry_matrix *A = convert_matrix(context, made, &as);
            const int64_t n = A->a.rows;
            double *x = malloc((size_t)n * 8), *y = malloc((size_t)n * 8), *wanted = calloc((size_t)n, 8);
            for (int64_t j = 0; j < n; j++) x[j] = (double)(j % 7 - 3);
            double *values = (double *)(uintptr_t)A->a.values;
            for (int64_t k = 0; values && k < A->a.nnz; k++) values[k] = (double)(k % 5 - 2);
            for (int64_t i = 0; i < n; i++)
                for (int64_t k = spryi_index_at(A->a.offsets, A->a.offset_type, i);
                     k < spryi_index_at(A->a.offsets, A->a.offset_type, i + 1); k++)
                    wanted[i] += (values ? values[k] : 1) * x[spryi_index_at(A->a.indices, A->a.index_type, k)];
            for (int c = 0; c < 14; c++)
                for (int g = 0; g < 4; g++)
                    for (int k = 0; k < 3; k++) {
                        char format[64];
                        const spryi_kernel *kernel = spryi_find_kernel(kernels[k]);
                        const char *reason;
                        if (!kernel || !spryi_kernel_available(context, kernel, &reason)) continue;
                        snprintf(format, sizeof format, "sell:c=%d:sigma=%d", chunks[c], sigmas[g]);
                        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
                        options.keep_value_type = true;
                        options.format = format;
                        options.kernel = kernels[k];
                        options.memory_limit_bytes = (int64_t)1 << 30;
                        spry_spmv_plan *plan = create_plan(context, A, &options);
                        const spryi_sell *s = plan->forward.stored.storage;
                        assert_true((s->values == NULL) == pattern);
                        if (spryi_format_sell.check(context, s, &err) != SPRY_OK)
                            fail_msg("%s: %s", format, err.message);
                        multiply_f64(plan, y, n, x, n);
                        for (int64_t i = 0; i < n; i++)
                            if (y[i] != wanted[i])
                                fail_msg("%s with %s on %s: row %lld", kernels[k], format, matrices[m], (long long)i);
                        spry_spmv_plan_destroy(plan);
                    }
            free(x);
            free(y);
            free(wanted);
            spry_matrix_destroy(A);
            spry_matrix_destroy(made);
        }
    spry_context_destroy(context);
}

/*
 * Checks the parameters on a GPU for 64 rows. Even rows have `even` entries, odd rows have `odd` entries. sigma 0: not
 * given.
 */
static void check_for_gpu(int odd, int even, int64_t sigma, const char *expected)
{
    enum { ROWS = 64 };
    int32_t offsets[ROWS + 1] = {0}, columns[ROWS * ROWS];
    double values[ROWS * ROWS] = {0};
    spry_context *context = context_of(0);
    spryi_cost figure = {0};
    for (int i = 0; i < ROWS; i++) {
        offsets[i + 1] = offsets[i] + (i % 2 ? odd : even);
        for (int k = offsets[i]; k < offsets[i + 1]; k++) columns[k] = k - offsets[i];
    }
    spry_matrix *A = borrow_csr(context, ROWS, ROWS, offsets, columns, values);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.keep_value_type = true;
    spryi_build_request request = {.A = A,
                                   .csr = A,
                                   .options = &options,
                                   .value_type = SPRY_F64,
                                   .massively_parallel = 1};
    request.parameters[1] = sigma;
    assert_int_equal(spryi_format_sell.predict(context, &figure, &request, NULL), SPRY_OK);
    assert_string_equal(figure.parameters, expected);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

static void sorted_for_a_gpu(void **state)
{
    check_for_gpu(9, 1, 0, "c=32:sigma=512"); /* saves four slots per row */
    check_for_gpu(9, 6, 0, "c=32:sigma=1");   /* saves 1.5 slots per row */
    check_for_gpu(5, 5, 0, "c=32:sigma=1");
    check_for_gpu(1, 0, 0, "c=32:sigma=512"); /* saves half a slot per row, as many slots as entries */
    check_for_gpu(9, 1, 1, "c=32:sigma=1");
    check_for_gpu(5, 5, 64, "c=32:sigma=64");
}

/* Tests containers without some arrays. Unsorted rows have no permutation, and patterns have no values. */
static void containers_without_all_arrays(void **state)
{
    static const char *const formats[] = {"sell:c=4:sigma=1", "sell:c=4:sigma=8"};
    char path[] = "/tmp/spry-sell-XXXXXX.spry";
    const int file = mkstemps(path, 5);
    assert_true(file >= 0);
    spry_context *context = context_of(0);
    for (int c = 0; c < 4; c++) {
        spry_write_options write = SPRY_INIT(spry_write_options);
        spry_matrix_options convert = SPRY_INIT(spry_matrix_options);
        write.format = formats[c / 2];
        convert.value_type = c % 2 ? SPRY_PATTERN : SPRY_F64;
        spry_matrix *A = generate_matrix(context, "gen:grid5,x=9,y=7");
        spry_matrix *B = convert_matrix(context, A, &convert);
        MUST(spry_matrix_write(B, path, &write, err));
        spry_matrix *C = read_matrix(context, path, NULL);
        assert_int_equal(C->a.nnz, A->a.nnz);
        assert_int_equal(C->a.value_type, convert.value_type);
        spry_arrays read = arrays_of(C);
        assert_memory_equal(read.indices, A->a.indices, (size_t)A->a.nnz * sizeof(int32_t));
        if (c % 2 == 0) assert_memory_equal(read.values, A->a.values, (size_t)A->a.nnz * sizeof(double));
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
        spry_matrix_destroy(C);
    }
    spry_context_destroy(context);
    close(file);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout),
        cmocka_unit_test(every_chunk),
        cmocka_unit_test(sorted_for_a_gpu),
        cmocka_unit_test(containers_without_all_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
