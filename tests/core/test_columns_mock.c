/*
 * Tests of products with blocks of vectors on the CPU and on the mock device. The blocks are row-major or column-major,
 * with gaps. Also tests updates of the matrix's values.
 */
#include "support.h"

#include "mock/mock.h"
#include "spry/cuda.h"

enum { COLUMNS = 3, GAP = 2 };

static spry_context *context;
static sample s;

static int set_up(void **state)
{
    context = context_of(2);
    s = sample_make(70, 40);
    return 0;
}

static int tear_down(void **state)
{
    sample_free(&s);
    spry_context_destroy(context);
    return mock.blocks != 0;
}

/* Returns the address of entry i of column c of v. */
static double *entry(const spry_vector *v, int64_t i, int64_t c)
{
    return (double *)v->data + i * v->row_stride + c * v->column_stride;
}

static spry_vector block(double *data, int64_t length, int row_major)
{
    spry_vector v = spry_vector_f64(data, length);
    v.count = COLUMNS;
    v.row_stride = row_major ? COLUMNS + GAP : 1;
    v.column_stride = row_major ? 1 : length + GAP;
    return v;
}

/*
 * Computes y = alpha*A*x + beta*y for a block x whose columns are 1, 2 and 3 times the sample's x. Gaps between columns
 * must not change.
 */
static void multiply(const spry_spmv_plan *plan, int row_major, double alpha, double beta)
{
    double x[512], y[512];
    for (int i = 0; i < 512; i++) x[i] = y[i] = 5;
    spry_vector xs = block(x, s.cols, row_major), ys = block(y, s.rows, row_major);
    for (int64_t c = 0; c < COLUMNS; c++)
        for (int64_t i = 0; i < s.cols; i++) *entry(&xs, i, c) = (double)(c + 1) * s.x[i];
    assert_int_equal(spry_spmv_plan_run(plan, ys, &alpha, spry_vector_as_const(xs), &beta, NULL, NULL), SPRY_OK);
    for (int64_t c = 0; c < COLUMNS; c++)
        for (int64_t i = 0; i < s.rows; i++) {
            assert_true(*entry(&ys, i, c) == alpha * (double)(c + 1) * s.exact[i] + beta * 5);
            *entry(&ys, i, c) = 5;
        }
    for (int i = 0; i < 512; i++) assert_true(y[i] == 5);
}

static void both_orders(void **state)
{
    static const char *const formats[] = {"csr", "sell", "coo"};
    for (int device = 0; device < 2; device++)
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
            for (int row_major = 0; row_major < 2; row_major++) {
                spry_spmv_options o = SPRY_INIT(spry_spmv_options);
                spry_matrix *A = sample_matrix(context, &s, 0);
                o.device = device == 0 ? SPRY_CPU : 1;
                o.format = formats[f];
                o.count = COLUMNS;
                o.row_major = row_major;
                spry_spmv_plan *plan = create_plan(context, A, &o);
                spry_matrix_destroy(A);
                multiply(plan, row_major, 1, 0);
                multiply(plan, row_major, 2, -1);
                multiply(plan, row_major, 0, 3);
                multiply(plan, row_major, 0, 0);
                if (row_major) multiply(plan, 0, 2, 1); /* column-major vectors also work */
                spry_spmv_plan_destroy(plan);
            }
}

static void with_an_ordering(void **state)
{
    sample square = sample_make(40, 40), rows = s;
    s = square;
    for (int device = 0; device < 2; device++) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        spry_matrix *A = sample_matrix(context, &s, 0);
        o.device = device == 0 ? SPRY_CPU : 1;
        o.ordering = "rcm";
        o.row_major = 1;
        spry_spmv_plan *plan = create_plan(context, A, &o);
        spry_matrix_destroy(A);
        multiply(plan, 1, 2, 1);
        multiply(plan, 1, 0, 1);
        spry_spmv_plan_destroy(plan);
    }
    s = rows;
    sample_free(&square);
}

/* Runs with alpha, beta and the vectors in device memory. */
static void in_device_memory(void **state)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_spmv_run_options run = SPRY_INIT(spry_spmv_run_options);
    spry_matrix *A = sample_matrix(context, &s, 0);
    double x[512], y[512], scalars[] = {2, 3};
    for (int i = 0; i < 512; i++) x[i] = y[i] = 5;
    spry_vector xs = block(x, s.cols, 1), ys = block(y, s.rows, 1);
    for (int64_t c = 0; c < COLUMNS; c++)
        for (int64_t i = 0; i < s.cols; i++) *entry(&xs, i, c) = (double)(c + 1) * s.x[i];
    void *on_device[3] = {0};
    const void *on_host[] = {x, y, scalars};
    const int64_t bytes[] = {sizeof x, sizeof y, sizeof scalars};
    for (int a = 0; a < 3; a++) {
        assert_int_equal(spry_device_allocate(context, &on_device[a], 1, bytes[a], NULL), SPRY_OK);
        assert_int_equal(spry_device_copy(context, on_device[a], 1, on_host[a], 0, bytes[a], NULL, NULL), SPRY_OK);
    }
    o.device = o.vector_device = run.scalar_device = 1;
    o.row_major = 1;
    spry_spmv_plan *plan = create_plan(context, A, &o);
    xs.data = on_device[0];
    ys.data = on_device[1];
    xs.device = ys.device = 1;
    assert_int_equal(spry_spmv_plan_run(plan, ys, on_device[2], spry_vector_as_const(xs), (double *)on_device[2] + 1,
                                        &run, NULL),
                     SPRY_OK);
    assert_int_equal(spry_device_copy(context, y, SPRY_CPU, on_device[1], 1, sizeof y, NULL, NULL), SPRY_OK);
    assert_int_equal(spry_device_synchronize(context, 1, NULL, NULL), SPRY_OK);
    ys.data = y;
    for (int64_t c = 0; c < COLUMNS; c++)
        for (int64_t i = 0; i < s.rows; i++) assert_true(*entry(&ys, i, c) == 2 * (double)(c + 1) * s.exact[i] + 15);
    for (int a = 0; a < 3; a++) spry_device_free(context, 1, on_device[a]);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
}

static void refused_strides(void **state)
{
    double x[512] = {0}, y[512] = {0};
    spry_matrix *A = sample_matrix(context, &s, 0);
    spry_spmv_plan *plan = create_plan(context, A, NULL);
#define REFUSE(change, status, argument)                                                                               \
    do {                                                                                                               \
        spry_vector xs = block(x, s.cols, 0), ys = block(y, s.rows, 0);                                                \
        change;                                                                                                        \
        expect_error(spry_spmv_plan_run(plan, ys, NULL, spry_vector_as_const(xs), NULL, NULL, &err), status,           \
                     argument);                                                                                        \
    } while (0)
    REFUSE(xs = block(x, s.cols, 1), SPRY_INVALID_SIZE, "x"); /* row-major, but the plan is for column-major vectors */
    REFUSE(ys = block(y, s.rows, 1), SPRY_INVALID_SIZE, "y");
    REFUSE(xs.type = SPRY_TYPE_DEFAULT, SPRY_INVALID_ARGUMENT, "x");
    const spry_const_vector untyped = {x, s.cols, 1, 1, s.cols, SPRY_TYPE_DEFAULT, 0, {0, 0}};
    spry_error why = SPRY_ERROR_INIT;
    assert_int_equal(spry_spmv_plan_run(plan, block(y, s.rows, 0), NULL, untyped, NULL, NULL, &why),
                     SPRY_INVALID_ARGUMENT);
    assert_string_equal(why.message, "x.type is not set, expected f64");
    REFUSE(xs.row_stride = -1, SPRY_INVALID_SIZE, "x");
    REFUSE(xs.row_stride = 2, SPRY_INVALID_SIZE, "x");
    REFUSE(ys.column_stride = 1, SPRY_INVALID_SIZE, "y");
    REFUSE(ys.row_stride = INT64_MAX / 2; ys.column_stride = 1, SPRY_INVALID_SIZE, "y");
    REFUSE(xs.count = ys.count = 2; xs.column_stride = s.cols - 1, SPRY_INVALID_SIZE, "x");
    REFUSE(xs.count = ys.count = 2; ys.column_stride = -s.rows, SPRY_INVALID_SIZE, "y");
    REFUSE(xs.count = ys.count = 5; xs.column_stride = INT64_MAX / 2, SPRY_INVALID_SIZE, "x");
    REFUSE(xs.count = ys.count = 3; ys.column_stride = INT64_MAX / 8, SPRY_INVALID_SIZE, "y");
    REFUSE(ys.column_stride = -1, SPRY_INVALID_SIZE, "y");
#undef REFUSE
    spry_spmv_plan_destroy(plan);
    plan = NULL;
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.row_major = 1;
    plan = create_plan(context, A, &o);
    const spry_vector by_columns = {x, s.cols, 1, 1, s.cols, SPRY_F64, 0, {0, 0}};
    const spry_vector spread = {y, s.rows, 1, 3, 0, SPRY_F64, 0, {0, 0}}; /* with one vector, any row_stride is valid */
    assert_int_equal(spry_spmv_plan_run(plan, spread, NULL, spry_vector_as_const(by_columns), NULL, NULL, NULL),
                     SPRY_OK);
    assert_int_equal(spry_spmv(context, spread, NULL, A, spry_vector_as_const(by_columns), NULL, NULL), SPRY_OK);
    spry_spmv_plan_destroy(plan);
    plan = NULL;
    o.row_major = false;
    o.count = -1;
    expect_error(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_INVALID_ARGUMENT, "count");
    o.count = (int64_t)INT32_MAX + 1;
    expect_error(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_INVALID_ARGUMENT, "count");
    o.count = 0;
    o.expected_updates = -1;
    expect_error(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_INVALID_ARGUMENT, "expected_updates");
    o.expected_updates = 0;
    o.vector_device = -2;
    expect_error(spry_spmv_plan_create(context, &plan, A, &o, &err), SPRY_INVALID_ARGUMENT, "vector_device");
    assert_null(plan);
    spry_matrix_destroy(A);
}

static void product_is(const spry_spmv_plan *plan, double factor)
{
    double y[70];
    multiply_f64(plan, y, s.rows, s.x, s.cols);
    for (int64_t i = 0; i < s.rows; i++) assert_true(y[i] == factor * s.exact[i]);
}

/* Updates from another array, which the plan then reads. If an update fails, the plan must keep its previous values. */
static void values_in_another_array(void **state)
{
    static const char *const formats[] = {"csr", "sell", "ell", "coo"};
    double *twice = malloc((size_t)s.nnz * sizeof *twice), *thrice = malloc((size_t)s.nnz * sizeof *thrice);
    assert_true(twice && thrice);
    for (int64_t k = 0; k < s.nnz; k++) {
        twice[k] = 2 * s.values[k];
        thrice[k] = 3 * s.values[k];
    }
    for (int device = 0; device < 2; device++)
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            spry_update_options update = SPRY_INIT(spry_update_options);
            spry_matrix *A = sample_matrix(context, &s, 0);
            o.device = device == 0 ? SPRY_CPU : 1;
            o.format = formats[f];
            spry_spmv_plan *plan = create_plan(context, A, &o);
            update.values = twice;
            assert_int_equal(spry_spmv_plan_update(plan, &update, NULL), SPRY_OK);
            product_is(plan, 2);
            spry_spmv_plan_info info = plan_info(plan);
            assert_int_equal(info.values_in_place, device == 0 && (f == 0 || f == 3)); /* only csr and coo on the CPU */
            assert_true(info.update_us > 0);
            for (int64_t k = 0; k < s.nnz; k++) twice[k] *= 2;
            if (info.values_in_place) product_is(plan, 4);
            assert_int_equal(spry_spmv_plan_update(plan, NULL, NULL), SPRY_OK);
            product_is(plan, 4);
            for (int64_t k = 0; k < s.nnz; k++) twice[k] /= 2;
            update.values = thrice;
            mock.allocations = 0;
            mock.fail_at = 1;
            const spry_status status = spry_spmv_plan_update(plan, &update, NULL);
            mock.fail_at = 0;
            product_is(plan, status == SPRY_OK ? 3 : 4);
            update.values = (char *)thrice + 1;
            expect_error(spry_spmv_plan_update(plan, &update, &err), SPRY_INVALID_ARGUMENT, "values");
            spry_spmv_plan_destroy(plan);
            spry_matrix_destroy(A);
        }
    free(twice);
    free(thrice);
}

/*
 * Tests a block x of vectors with one element each. Row-major and column-major order of x are equal. The columns of y
 * are contiguous.
 */
static void one_entry_a_column(void **state)
{
    enum { ROWS = 4 };
    static const char *const formats[] = {"csr", "sell", "bsr", "packed", "coo", NULL};
    const int32_t offsets[ROWS + 1] = {0, 1, 2, 3, 4}, columns[ROWS] = {0};
    const double values[ROWS] = {1, 2, 3, 4}, x[COLUMNS] = {1, 10, 100};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int row_major = 0; row_major < 2; row_major++) {
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            double y[COLUMNS * ROWS];
            for (int i = 0; i < COLUMNS * ROWS; i++) y[i] = -7;
            o.format = formats[f];
            o.count = COLUMNS;
            o.row_major = row_major;
            spry_matrix *A = borrow_csr(context, ROWS, 1, offsets, columns, values);
            spry_spmv_plan *plan = create_plan(context, A, &o);
            spry_const_vector xs = spry_const_vector_f64(x, 1);
            spry_vector ys = spry_vector_f64(y, ROWS);
            xs.count = ys.count = COLUMNS;
            xs.column_stride = 1;
            ys.column_stride = ROWS;
            assert_int_equal(spry_spmv_plan_run(plan, ys, NULL, xs, NULL, NULL, NULL), SPRY_OK);
            for (int c = 0; c < COLUMNS; c++)
                for (int i = 0; i < ROWS; i++) assert_true(y[c * ROWS + i] == values[i] * x[c]);
            spry_spmv_plan_destroy(plan);
            spry_matrix_destroy(A);
        }
}

/* Asserts that a run with alpha = 0 reads neither A, x nor the scalings, for every layout of y. */
static void nothing_of_a_scaled_pattern(void **state)
{
    enum { N = 2 };
    const int32_t offsets[N + 1] = {0, 1, 2}, columns[N] = {0, 1};
    const double scaling[N] = {NAN, -2}, alpha = 0;
    spry_arrays a = csr_arrays(N, N, (void *)offsets, (void *)columns, NULL, SPRY_PATTERN);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.vector_type = SPRY_F64;
    o.row_scaling = scaling;
    o.row_major = 1;
    o.count = N;
    spry_matrix *A = create_matrix(context, &a);
    spry_spmv_plan *plan = create_plan(context, A, &o);
    for (int beta_of = 0; beta_of < 2; beta_of++) {
        const double x[N * N] = {1, 2, 3, 4}, beta = beta_of;
        double y[N * N] = {5, 6, 7, 8};
        spry_const_vector xs = spry_const_vector_f64(x, N);
        spry_vector ys = spry_vector_f64(y, N);
        xs.count = ys.count = xs.row_stride = ys.row_stride = N;
        xs.column_stride = ys.column_stride = 1;
        assert_int_equal(spry_spmv_plan_run(plan, ys, &alpha, xs, &beta, NULL, NULL), SPRY_OK);
        for (int i = 0; i < N * N; i++) assert_true(y[i] == beta * (5 + i) && !signbit(y[i]));
    }
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_orders),
        cmocka_unit_test(with_an_ordering),
        cmocka_unit_test(in_device_memory),
        cmocka_unit_test(refused_strides),
        cmocka_unit_test(values_in_another_array),
        cmocka_unit_test(one_entry_a_column),
        cmocka_unit_test(nothing_of_a_scaled_pattern),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
