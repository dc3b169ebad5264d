/*
 * Tests of the check SPRY_CHECK_STRUCTURE. It must find faults of offsets and indices in host and device memory, and
 * ignore faults of values.
 */
#include "matrix/matrix.h"
#include "mock/mock.h"
#include "spry/cuda.h"
#include "spry/matrix.h"
#include "support.h"

/* Copies an array to the mock's memory. */
static const void *on_device(spry_context *context, const void *array, int64_t bytes)
{
    void *placed = NULL;
    MUST(spry_device_allocate(context, &placed, 1, bytes, err));
    MUST(spry_device_copy(context, placed, 1, array, 0, bytes, NULL, err));
    MUST(spry_device_synchronize(context, 1, NULL, err));
    return placed;
}

/* Checks the arrays in device memory, if they are CSR, and expects the host's message. */
static void check_on_device(spry_context *context, const spry_arrays *a, spry_status status, const char *message)
{
    if (a->layout != SPRY_CSR) return;
    spry_arrays placed = *a;
    spry_error err = SPRY_ERROR_INIT;
    placed.device = 1;
    placed.offsets = on_device(context, a->offsets, (a->rows + 1) * (int64_t)spryi_index_type_bytes(a->offset_type));
    placed.indices = on_device(context, a->indices, a->nnz * (int64_t)spryi_index_type_bytes(a->index_type));
    if (a->values) placed.values = on_device(context, a->values, a->nnz * (int64_t)spry_type_bytes(a->value_type));
    spry_matrix *A = create_matrix(context, &placed);
    assert_int_equal(status, spry_matrix_check(A, NULL, SPRY_CHECK_STRUCTURE, &err));
    if (message) assert_string_equal(message, err.message);
    spry_matrix_destroy(A);
    spry_device_free(context, 1, (void *)(uintptr_t)placed.offsets);
    spry_device_free(context, 1, (void *)(uintptr_t)placed.indices);
    spry_device_free(context, 1, (void *)(uintptr_t)placed.values);
}

/* Checks only the structure. SPRY_CHECK_ALL must give the same status and message. */
static void check(spry_context *context, const spry_arrays *a, spry_status expected)
{
    spry_error structure = SPRY_ERROR_INIT, all = SPRY_ERROR_INIT;
    spry_matrix *A = create_matrix(context, a);
    const spry_status status = spry_matrix_check(A, NULL, SPRY_CHECK_STRUCTURE, &structure);
    assert_int_equal(SPRY_NOT_KNOWN, A->a.sorted); /* the check records nothing */
    assert_int_equal(SPRY_NOT_KNOWN, A->a.unique);
    assert_int_equal(expected, status);
    assert_int_equal(expected, spry_matrix_check(A, NULL, SPRY_CHECK_ALL, &all));
    assert_string_equal(all.message, structure.message);
    assert_string_equal(all.argument, structure.argument);
    check_on_device(context, a, expected, expected == SPRY_OK ? NULL : structure.message);
    spry_matrix_destroy(A);
}

/*
 * Tests a 6 x 5 matrix, or its transpose in CSC. It is unsorted and has a repeated entry and a NaN, all of which are
 * valid.
 */
static void test_faults(void **state)
{
    static const test_entry entries[] = {{0, 3, 1}, {0, 1, NAN}, {0, 1, 2}, {2, 0, 3}, {3, 4, 4}, {5, 2, 5}, {5, 0, 6}};
    enum { COUNT = sizeof entries / sizeof *entries };
    spry_context *context = context_of(0);
    for (int form = 0; form < TEST_FORMS; form++) {
        const test_form f = test_form_number(form);
        const int64_t rows = f.layout == SPRY_CSC ? 5 : 6, cols = f.layout == SPRY_CSC ? 6 : 5;
        test_entry turned[COUNT];
        for (int k = 0; k < COUNT; k++) {
            turned[k] = entries[k];
            if (f.layout == SPRY_CSC) turned[k] = (test_entry){entries[k].j, entries[k].i, entries[k].value};
        }
        spry_matrix *held = test_matrix(context, rows, cols, turned, COUNT, f);
        spry_arrays a = arrays_of(held);
        a.ownership = SPRY_BORROW;
        a.sorted = a.unique = SPRY_NOT_KNOWN;
        check(context, &a, SPRY_OK);
        static const int64_t columns[] = {-1, 5, INT32_MAX, INT32_MIN};
        for (int c = 0; c < TEST_COUNT(columns); c++)
            for (int64_t k = 0; k < COUNT; k += 3) {
                const int64_t before = test_index(&a, k);
                test_set_index((void *)(uintptr_t)a.indices, f.index_type, k, columns[c]);
                check(context, &a, SPRY_INVALID_MATRIX);
                test_set_index((void *)(uintptr_t)a.indices, f.index_type, k, before);
            }
        if (f.layout == SPRY_COO) {
            test_set_index((void *)(uintptr_t)a.row_indices, f.index_type, 6, 6);
            check(context, &a, SPRY_INVALID_MATRIX);
            test_set_index((void *)(uintptr_t)a.row_indices, f.index_type, 6, -1);
            check(context, &a, SPRY_INVALID_MATRIX);
        } else {
            test_set_index((void *)(uintptr_t)a.offsets, f.offset_type, 2, 2); /* less than offsets[1], which is 3 */
            check(context, &a, SPRY_INVALID_MATRIX);
            test_set_index((void *)(uintptr_t)a.offsets, f.offset_type, 2, COUNT + 1);
            check(context, &a, SPRY_INVALID_MATRIX);
        }
        spry_matrix_destroy(held);
    }
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_check(NULL, NULL, SPRY_CHECK_STRUCTURE, NULL));
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* Asserts that the first fault is reported, whichever thread finds a fault first. */
static void test_first(void **state)
{
    spry_context *context = context_of(3);
    spry_matrix *A = test_generate(context, "grid5,x=300,y=200", NULL);
    spry_arrays a = arrays_of(A);
    a.ownership = SPRY_BORROW;
    a.sorted = a.unique = SPRY_NOT_KNOWN;
    check(context, &a, SPRY_OK);
    test_set_index((void *)(uintptr_t)a.indices, a.index_type, 250000, 60000);
    test_set_index((void *)(uintptr_t)a.indices, a.index_type, 50000, -7);
    spry_error err = SPRY_ERROR_INIT;
    assert_int_equal(SPRY_INVALID_MATRIX, spry_matrix_check(A, NULL, SPRY_CHECK_STRUCTURE, &err));
    assert_int_equal(-7, err.value);
    assert_string_equal("indices", err.argument);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

static const spry_arrays *failing;

static spry_status check_copied(spry_context *context, const void *input, spry_error *err)
{
    spry_matrix *A = NULL;
    spry_status status = spry_matrix_create(context, &A, failing, err);
    if (status == SPRY_OK) status = spry_matrix_check(A, NULL, SPRY_CHECK_STRUCTURE, err);
    spry_matrix_destroy(A);
    return status;
}

/* Asserts that host copies of device arrays are freed if an allocation fails. */
static void test_out_of_memory(void **state)
{
    static const int32_t offsets[] = {0, 1, 2}, columns[] = {1, 0};
    spry_context *context = context_of(0);
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_CSR;
    a.rows = a.columns = a.nnz = 2;
    a.offset_type = a.index_type = SPRY_I32;
    a.value_type = SPRY_PATTERN;
    a.device = 1;
    a.offsets = on_device(context, offsets, sizeof offsets);
    a.indices = on_device(context, columns, sizeof columns);
    failing = &a;
    assert_true(fail_every_allocation(check_copied, NULL, 2) > 0);
    spry_device_free(context, 1, (void *)(uintptr_t)a.offsets);
    spry_device_free(context, 1, (void *)(uintptr_t)a.indices);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
