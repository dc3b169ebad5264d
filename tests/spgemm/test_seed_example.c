/*
 * The matrix that seed 002 prints in COO, CSR and CSC (section 2.1): reads each layout and squares it by each kernel.
 */
#include "spgemm/support.h"

#include "matrix/matrix.h"
#include "spry/matrix.h"
#include "spry/spgemm.h"
#include "spry/tune.h"

static const int32_t rows[] = {0, 1, 1, 3, 3, 3}, cols[] = {1, 0, 3, 0, 1, 3}, csr[] = {0, 1, 3, 3, 6};
static const int32_t csc_rows[] = {1, 3, 0, 3, 1, 3}, csc[] = {0, 2, 4, 4, 6};
static const double values[] = {0.1, 1.0, 1.4, 4.0, 4.1, 4.4}, by_columns[] = {1.0, 4.0, 0.1, 4.1, 1.4, 4.4};

static spry_matrix *as_coo(spry_context *context)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_COO;
    a.rows = a.columns = 4;
    a.nnz = 6;
    a.row_indices = rows;
    a.indices = cols;
    a.values = values;
    a.index_type = SPRY_I32;
    a.value_type = SPRY_F64;
    return create_matrix(context, &a);
}

static void converted(spry_context *context, spry_layout layout, const int32_t *offsets, const int32_t *indices,
                      const double *expected)
{
    spry_matrix *A = as_coo(context);
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    o.layout = layout;
    o.offset_type = o.index_type = SPRY_I32;
    spry_matrix *B = convert_matrix(context, A, &o);
    assert_memory_equal(B->a.offsets, offsets, 5 * sizeof *offsets);
    assert_memory_equal(B->a.indices, indices, 6 * sizeof *indices);
    assert_memory_equal(B->a.values, expected, 6 * sizeof *expected);
    spry_matrix_destroy(B);
    spry_matrix_destroy(A);
}

static void as_printed(void **state)
{
    spry_context *context = context_of(1);
    converted(context, SPRY_CSR, csr, cols, values);
    converted(context, SPRY_CSC, csc, csc_rows, by_columns);
    spry_context_destroy(context);
}

/* Row 1 of A is (1, 0, 0, 1.4): row 1 of A*A is row 0 and 1.4 times row 3. Row 2 is empty. */
static void squared(void **state)
{
    static const int32_t offsets[] = {0, 2, 5, 5, 8}, columns[] = {0, 3, 0, 1, 3, 0, 1, 3};
    static const double expected[] = {0.1, 0.14, 5.6, 5.84, 6.16, 21.7, 18.44, 25.1};
    spry_context *context = context_of(2);
    spry_matrix *A = as_coo(context);
    int kernels = 0;
    for (int k = 0; k < spgemm_kernel_count(); k++) {
        spry_kernel_info info = SPRY_INIT(spry_kernel_info);
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        assert_int_equal(get_spgemm_kernel(context, &info, k, NULL), SPRY_OK);
        if (!info.available) continue;
        o.kernel = info.name;
        o.result_device = SPRY_CPU;
        o.offset_type = SPRY_I32;
        spry_matrix *C = multiply_matrices(context, A, A, &o);
        assert_int_equal(C->a.nnz, 8);
        assert_memory_equal(C->a.offsets, offsets, sizeof offsets);
        assert_memory_equal(C->a.indices, columns, sizeof columns);
        for (int e = 0; e < 8; e++) {
            const double off = ((const double *)C->a.values)[e] - expected[e];
            if (off > 1e-14 || off < -1e-14) fail_msg("%s: entry %d is off by %g", info.name, e, off);
        }
        spry_matrix_destroy(C);
        kernels++;
    }
    assert_true(kernels >= TEST_STUDY(4, 1));
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_printed), cmocka_unit_test(squared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
