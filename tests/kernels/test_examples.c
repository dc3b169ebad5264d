/*
 * The examples printed in the tutorial and the lecture: products by every kernel of the CPU, the lecture's arrays in
 * each of its layouts, and its table of storage.
 */
#include "examples.h"
#include "formats/hyb/hyb.h"
#include "plan/plan.h"
#include "spry/matrix.h"
#include "spry/tune.h"
#include "trials.h"

static spry_context *context;

static void every_kernel_of_the_cpu(void **state)
{
    assert_true(multiply_examples(context, "cpu") >= 20);
}

/*
 * IR: the correct row indices. printed_IR, printed_JA: row and column indices as printed in the lecture. Their last
 * elements contradict the arrays that the lecture prints above them.
 */
static const int32_t IR[] = {0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4}, printed_IR[] = {0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3};
static const int32_t printed_JA[] = {0, 3, 0, 1, 3, 0, 2, 3, 4, 2, 0, 1};

static spry_matrix *coordinates(const int32_t *rows, const int32_t *columns)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_COO;
    a.rows = a.columns = lecture.rows;
    a.nnz = lecture.nnz;
    a.row_indices = rows;
    a.indices = columns;
    a.values = lecture.values;
    a.value_type = SPRY_F64;
    a.index_type = SPRY_I32;
    spry_matrix *A = create_matrix(context, &a);
    assert_int_equal(spry_matrix_check(A, NULL, SPRY_CHECK_ALL, NULL), SPRY_OK);
    return A;
}

static void multiply(const spry_matrix *A, const char *format, double *y)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = format;
    spry_spmv_plan *plan = create_plan(context, A, &options);
    multiply_f64(plan, y, lecture.rows, lecture.x, lecture.rows);
    spry_spmv_plan_destroy(plan);
}

/* COO with the correct indices equals the printed CSR. The printed COO is another matrix: rows 3 and 4 differ. */
static void coordinates_as_printed(void **state)
{
    double y[MOST_ROWS];
    spry_matrix *right = coordinates(IR, lecture.columns), *printed = coordinates(printed_IR, printed_JA);
    spry_matrix *csr = convert_matrix(context, right, NULL);
    spry_arrays a = arrays_of(csr);
    assert_memory_equal(a.offsets, lecture.offsets, 6 * sizeof(int32_t));
    assert_memory_equal(a.indices, lecture.columns, 12 * sizeof(int32_t));
    assert_memory_equal(a.values, lecture.values, 12 * sizeof(double));
    multiply(right, "coo", y);
    assert_memory_equal(y, lecture.product, sizeof y);
    multiply(printed, "coo", y);
    for (int i = 0; i < 5; i++) assert_true((y[i] == lecture.product[i]) == (i < 3));
    spry_matrix_destroy(right);
    spry_matrix_destroy(printed);
    spry_matrix_destroy(csr);
}

/* "Alternative: CSC for column ops". */
static void columns(void **state)
{
    static const int32_t offsets[] = {0, 3, 4, 6, 10, 12}, rows[] = {0, 1, 2, 1, 2, 3, 0, 1, 2, 3, 2, 4};
    static const double values[] = {1, 3, 6, 2, 8, 5, 1, 3, 9, 9, 2, 25};
    spry_matrix *A = example_matrix(context, &lecture);
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.layout = SPRY_CSC;
    spry_matrix *csc = convert_matrix(context, A, &options);
    spry_arrays a = arrays_of(csc);
    assert_memory_equal(a.offsets, offsets, sizeof offsets);
    assert_memory_equal(a.indices, rows, sizeof rows);
    assert_memory_equal(a.values, values, sizeof values);
    spry_matrix_destroy(csc);
    spry_matrix_destroy(A);
}

static spry_spmv_plan *plan_in(const spry_matrix *A, const char *format)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = format;
    return create_plan(context, A, &options);
}

/* ELL is column-major and as wide as the longest row. Element s of row i is at i + s*rows. */
static void slots(void **state)
{
    static const double values[] = {1, 3, 6, 5, 25, 1, 2, 8, 9, 0, 0, 3, 9, 0, 0, 0, 0, 2, 0, 0};
    static const int32_t taken[] = {0, 0, 0, 2, 4, 3, 1, 2, 3, -1, -1, 3, 3, -1, -1, -1, -1, 4, -1, -1};
    spry_matrix *A = example_matrix(context, &lecture);
    spry_spmv_plan *plan = plan_in(A, "ell");
    const spryi_ell *s = plan->forward.stored.storage;
    assert_int_equal(s->width, 4);
    assert_memory_equal(s->values, values, sizeof values);
    for (int k = 0; k < 20; k++)
        if (taken[k] >= 0) assert_int_equal(((const int32_t *)s->columns)[k], taken[k]);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
}

/* The lecture: "Set ELL width to average row length, put overflow in COO". The average is 12/5, which rounds to 2. */
static void hybrid(void **state)
{
    static const double values[] = {1, 3, 6, 5, 25, 1, 2, 8, 9, 0}, rest[] = {3, 9, 2};
    static const int32_t rows[] = {1, 2, 2}, taken[] = {3, 3, 4};
    spry_matrix *A = example_matrix(context, &lecture);
    spry_spmv_plan *plan = plan_in(A, "hyb");
    const spryi_hyb *s = plan->forward.stored.storage;
    assert_int_equal(s->ell.width, 2);
    assert_int_equal(s->rest, 3);
    assert_memory_equal(s->ell.values, values, sizeof values);
    assert_memory_equal(s->rows, rows, sizeof rows);
    assert_memory_equal(s->columns, taken, sizeof taken);
    assert_memory_equal(s->values, rest, sizeof rest);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
}

static int64_t words(const spry_matrix *A, const char *format)
{
    spryi_storage storage = {0};
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = format;
    assert_int_equal(spryi_predict_storage(context, &storage, A, &options, NULL), SPRY_OK);
    return storage.words;
}

/*
 * The matrix has M = N = 5 rows and columns, a longest row of K = 4 and nnz = 12 entries. HYB with ELL width W needs
 * 2 M W + 3 rest words, if `rest` entries are in COO. The lecture states that HYB needs more than 3 nnz and less than
 * 2 M K words. This matrix needs less than 3 nnz words. With rows of equal length, both statements are false.
 */
static void words_of_the_table(void **state)
{
    spry_matrix *A = example_matrix(context, &lecture);
    assert_int_equal(words(A, "csr"), 2 * 12 + 5 + 1);
    assert_int_equal(words(A, "csc"), 2 * 12 + 5 + 1);
    assert_int_equal(words(A, "ell"), 2 * 5 * 4);
    assert_int_equal(words(A, "coo"), 3 * 12);
    assert_int_equal(words(A, "hyb"), 2 * 5 * 2 + 3 * 3);
    assert_true(words(A, "hyb") < 3 * 12);
    spry_matrix *uniform = generate_matrix(context, "diagonal,rows=64");
    assert_int_equal(words(uniform, "hyb"), 2 * 64);
    spry_matrix_destroy(uniform);
    spry_matrix_destroy(A);
}

/*
 * Lane and Booth 2022, section 2.3: with a longest row of 40 entries and a mean of 10, ELL needs 300 % more than the
 * entries.
 */
static void overhead_of_ell(void **state)
{
    static const int32_t offsets[] = {0, 40, 40, 40, 40};
    static double values[40];
    int32_t indices[40];
    for (int32_t j = 0; j < 40; j++) indices[j] = j;
    spry_matrix *A = borrow_csr(context, 4, 40, offsets, indices, values);
    assert_int_equal(words(A, "ell"), (1 + 3) * 2 * 40);
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_of_the_cpu),
        cmocka_unit_test(coordinates_as_printed),
        cmocka_unit_test(columns),
        cmocka_unit_test(slots),
        cmocka_unit_test(hybrid),
        cmocka_unit_test(words_of_the_table),
        cmocka_unit_test(overhead_of_ell),
    };
    context = context_of(2);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    const int64_t left = context_bytes(context);
    spry_context_destroy(context);
    return failed + (left != 0);
}
