/* Tests of pictures of the positions of entries. */
#include "common/density.h"

#include "testing.h"

enum { HEIGHT = 7, WIDTH = 5 };

static void any_layout(void **state)
{
    static const spry_layout layouts[] = {SPRY_CSR, SPRY_COO, SPRY_CSC};
    spry_matrix *A = generate_matrix(*state, "rmat,scale=9");
    const spry_arrays a = arrays_of(A);
    const int32_t *offsets = a.offsets, *columns = a.indices;
    int64_t expected[HEIGHT * WIDTH] = {0};
    for (int64_t i = 0; i < a.rows; i++)
        for (int32_t k = offsets[i]; k < offsets[i + 1]; k++)
            expected[i * HEIGHT / a.rows * WIDTH + columns[k] * WIDTH / a.columns]++;
    for (int l = 0; l < 3; l++)
        for (int wide = 0; wide < 2; wide++) {
            spry_matrix_options o = SPRY_INIT(spry_matrix_options);
            spry_matrix *B = NULL;
            int64_t counts[HEIGHT * WIDTH];
            o.layout = layouts[l];
            o.offset_type = o.index_type = wide ? SPRY_I64 : SPRY_I32;
            assert_int_equal(spry_matrix_convert(*state, &B, NULL, A, &o, NULL), SPRY_OK);
            assert_int_equal(count_density(B, counts, HEIGHT, WIDTH, NULL), SPRY_OK);
            assert_memory_equal(counts, expected, sizeof counts);
            spry_matrix_destroy(B);
        }
    spry_matrix_destroy(A);
}

/* Tests a symmetric matrix stored as one triangle, with indices for which index * height exceeds 2^63. */
static void large_indices(void **state)
{
    const int64_t n = (int64_t)1 << 56, rows[] = {n - 1, n / 2, n - 1}, columns[] = {0, n / 2 - 1, n - 1};
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix *A = NULL;
    int64_t counts[4];
    a.layout = SPRY_COO;
    a.rows = a.columns = n;
    a.nnz = 3;
    a.index_type = SPRY_I64;
    a.value_type = SPRY_PATTERN;
    a.row_indices = rows;
    a.indices = columns;
    a.symmetry = SPRY_SYMMETRIC;
    a.triangle = SPRY_LOWER_TRIANGLE;
    assert_int_equal(spry_matrix_create(*state, &A, &a, NULL), SPRY_OK);
    assert_int_equal(count_density(A, counts, 2, 2, NULL), SPRY_OK);
    assert_true(counts[0] == 0 && counts[1] == 2 && counts[2] == 2 && counts[3] == 1);
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_layout, open_context, close_context),
        cmocka_unit_test_setup_teardown(large_indices, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
