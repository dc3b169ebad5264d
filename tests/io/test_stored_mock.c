/* Tests of containers in a format on a device. Their arrays are copied to the device without conversion. */
#include "catalogue/catalogue.h"
#include "files.h"
#include "matrix/matrix.h"
#include "mock/mock.h"
#include "spry/io.h"

#include <unistd.h>

enum { X = 9, Y = 7, N = X * Y };

static void check_plan(spry_context *context, const spry_matrix *B, spry_op op, const char *name, int copied,
                       const double *x, const double *expected)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    double y[N];
    options.device = 1;
    options.op = op;
    const int64_t conversions = mock.conversions;
    spry_spmv_plan *plan = create_plan(context, B, &options);
    spry_spmv_plan_info info = plan_info(plan);
    if (copied) {
        assert_string_equal(name, info.format);
        assert_int_equal(SPRY_REASON_STORED, info.reason_code);
        assert_true(info.owned_bytes >= B->a.nnz * 8);
        assert_int_equal(conversions, mock.conversions);
    }
    assert_int_equal(0, info.from_file); /* runs read the device's copy */
    assert_int_equal(!copied, B->stored->csr != NULL);
    MUST(spry_spmv_plan_update(plan, NULL, err));
    multiply_f64(plan, y, N, x, N);
    assert_memory_equal(expected, y, sizeof y);
    spry_spmv_plan_destroy(plan);
}

/* Values are small integers, so sums are exact in any order. */
static void test_copies(void **state)
{
    static const char *const formats[] = {"ell", "sell:c=4:sigma=16", "hyb:width=3", "scoo:height=48", "bsr:block=2"};
    double x[N], y[N];
    for (int j = 0; j < N; j++) x[j] = j % 5;
    for (size_t f = 0; f < 2 * (sizeof formats / sizeof *formats); f++) {
        const char *format = formats[f / 2];
        const spry_op op = f % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        char name[16];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(format, ":"), format);
        spry_context *context = context_of(1);
        spry_write_options write = SPRY_INIT(spry_write_options);
        const char *path = temporary_path("device.spry");
        write.format = format;
        spry_matrix *A = generate_matrix(context, "laplace5,x=9,y=7");
        assert_int_equal(N, A->a.rows);
        MUST(spry_spmv(context, spry_vector_f64(y, N), NULL, A, spry_const_vector_f64(x, N), NULL, err));
        MUST(spry_matrix_write(A, path, &write, err));
        spry_matrix *B = read_matrix(context, path, NULL);
        mock.converts = 1;
        check_plan(context, B, op, name,
                   op == SPRY_NO_TRANSPOSE || !spryi_find_format(name)->layout.sections_lack_columns, x, y);
        mock.converts = 0;
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
        assert_int_equal(0, context_bytes(context));
        spry_context_destroy(context);
        assert_int_equal(0, mock.blocks);
    }
}

/*
 * Asserts that the memory limit counts a copy on the device, but not the file's arrays on the CPU. If the copy is too
 * large, a plan that names the format is refused, and other plans choose csr.
 */
static void test_limit(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *B = NULL;
    spry_write_options write = SPRY_INIT(spry_write_options);
    const char *path = temporary_path("limit.spry");
    write.format = "ell";
    spry_matrix *A = generate_matrix(context, "laplace5,x=9,y=7");
    MUST(spry_matrix_write(A, path, &write, err));
    for (int named = 0; named < 2; named++)
        for (int device = SPRY_CPU; device <= 1; device += 2) {
            spry_spmv_plan *plan = NULL;
            spry_spmv_options options = SPRY_INIT(spry_spmv_options);
            spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
            options.device = device;
            options.format = named ? "ell" : NULL;
            options.memory_limit_bytes = 4800; /* csr and two vectors need 4 708 bytes, ell and two vectors 5 040 */
            B = read_matrix(context, path, NULL);
            const spry_status status = spry_spmv_plan_create(context, &plan, B, &options, NULL);
            assert_int_equal(device == 1 && named ? SPRY_TOO_LARGE : SPRY_OK, status);
            if (status == SPRY_OK) {
                info = plan_info(plan);
                assert_string_equal(device == 1 ? "csr" : "ell", info.format);
                assert_int_equal(device != 1, info.from_file);
            }
            spry_spmv_plan_destroy(plan);
            spry_matrix_destroy(B);
        }
    spry_matrix_destroy(A);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* Lets each allocation on the device fail in turn. */
static void test_out_of_memory(void **state)
{
    spry_context *context = context_of(1);
    spry_write_options write = SPRY_INIT(spry_write_options);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    const char *path = temporary_path("device.spry");
    write.format = "ell";
    options.device = 1;
    spry_matrix *A = generate_matrix(context, "laplace5,x=9,y=7");
    MUST(spry_matrix_write(A, path, &write, err));
    spry_matrix *B = read_matrix(context, path, NULL);
    const int64_t bytes = context_bytes(context);
    int failures = 0;
    for (int done = 0; !done;) {
        spry_spmv_plan *plan = NULL;
        mock.fail_at = mock.allocations + failures + 1;
        spry_status status = spry_spmv_plan_create(context, &plan, B, &options, NULL);
        done = mock.allocations < mock.fail_at;
        mock.fail_at = 0;
        assert_int_equal(done ? SPRY_OK : SPRY_OUT_OF_MEMORY, status);
        failures += !done;
        spry_spmv_plan_destroy(plan);
        assert_int_equal(0, mock.blocks);
        assert_int_equal(bytes, context_bytes(context));
    }
    assert_true(failures >= 3); /* the storage of ell has at least 3 arrays */
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_limit),
                                       cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
