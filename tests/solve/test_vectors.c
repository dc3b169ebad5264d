/* Tests of vectors in files. Values that are written and read again have the same bits, and errors name the line. */
#include "spry/io.h"
#include "support.h"

#include <unistd.h>

static char path[] = "/tmp/spry-vector-XXXXXX";

static void put(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static const spry_write_options *with_comment(const char *comment)
{
    static spry_write_options o;
    o = SPRY_INIT(spry_write_options);
    o.comment = comment;
    return &o;
}

static void round_trip(void **state)
{
    const int64_t lengths[] = {0, 1, 2, 9000};
    for (int l = 0; l < 4; l++)
        for (int type = SPRY_F32; type <= SPRY_F64; type++) {
            spry_vector back = {0};
            uint64_t seed = 5;
            spry_vector v = create_vector(context, lengths[l], (spry_type)type, 0);
            for (int64_t i = 0; i < v.length; i++) {
                double value = (uniform(&seed) - 0.5) * pow(10, (double)(i % 40) - 20);
                if (type == SPRY_F32)
                    ((float *)v.data)[i] = (float)value;
                else
                    ((double *)v.data)[i] = i == 1 ? -INFINITY : value;
            }
            assert_int_equal(spry_vector_write(context, spry_vector_as_const(v), path, with_comment("first\nsecond"),
                                               NULL),
                             SPRY_OK);
            assert_int_equal(spry_vector_read(context, &back, path, (spry_type)type, NULL), SPRY_OK);
            assert_true(back.length == v.length && back.type == v.type && back.count == 1 && back.device == 0);
            assert_memory_equal(back.data, v.data, (size_t)v.length * spry_type_bytes(v.type));
            spry_vector_destroy(context, &v);
            spry_vector_destroy(context, &back);
            assert_null(v.data);
            spry_vector_destroy(context, &v);
        }
}

static void what_is_written(void **state)
{
    const double values[] = {1, -0.5, 1e300};
    assert_int_equal(spry_vector_write(context, spry_const_vector_f64(values, 3), path, with_comment("one\ntwo"), NULL),
                     SPRY_OK);
    char text[256] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_true(length < sizeof text - 1);
    assert_string_equal(text, "%%MatrixMarket matrix array real general\n%one\n%two\n3 1\n1\n-0.5\n1e+300\n");
}

static void expect_table(spry_const_vector v, const char *row, const char *value, int base, const char *expected)
{
    char text[256] = "", table[300];
    snprintf(table, sizeof table, "%s.csv", path);
    spry_write_options o = SPRY_INIT(spry_write_options);
    o.row_name = row;
    o.value_name = value;
    o.index_base = base;
    assert_int_equal(spry_vector_write(context, v, table, &o, NULL), SPRY_OK);
    FILE *file = fopen(table, "r");
    assert_non_null(file);
    (void)fread(text, 1, sizeof text - 1, file);
    fclose(file);
    remove(table);
    assert_string_equal(text, expected);
}

static void tables(void **state)
{
    static const double values[] = {1, -0.5, 1e300, 0.1};
    spry_const_vector v = spry_const_vector_f64(values, 4);
    expect_table(v, NULL, NULL, 0, "row,value\n0,1\n1,-0.5\n2,1e+300\n3,0.1\n");
    expect_table(v, "node", "rank", 1, "node,rank\n1,1\n2,-0.5\n3,1e+300\n4,0.1\n");
    v.length = 2;
    v.count = 2;
    v.column_stride = 2;
    expect_table(v, NULL, NULL, 0, "row,value1,value2\n0,1,1e+300\n1,-0.5,0.1\n");
}

/* Writes a table that is longer than the writer's buffer. */
static void long_table(void **state)
{
    enum { ROWS = 20000 };
    char table[300];
    double *values = malloc(ROWS * sizeof *values);
    assert_non_null(values);
    for (int i = 0; i < ROWS; i++) values[i] = i + 0.5;
    snprintf(table, sizeof table, "%s.csv", path);
    assert_int_equal(spry_vector_write(context, spry_const_vector_f64(values, ROWS), table, NULL, NULL), SPRY_OK);
    FILE *file = fopen(table, "r");
    assert_non_null(file);
    char line[80];
    assert_non_null(fgets(line, sizeof line, file));
    for (int i = 0; i < ROWS; i++) {
        char expected[80];
        snprintf(expected, sizeof expected, "%d,%d.5\n", i, i);
        assert_non_null(fgets(line, sizeof line, file));
        assert_string_equal(line, expected);
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
    remove(table);
    free(values);
}

static void what_is_read(void **state)
{
    static const struct {
        const char *text, *fault; /* fault: part of the message; NULL: the text is the vector (1, 0, -2.5) */
        spry_status status;
    } cases[] = {
        {"%%MatrixMarket matrix array real general\n3 1\n1\n0\n-2.5\n", NULL, SPRY_OK},
        {"%%MatrixMarket matrix coordinate real general\n3 1 3\n3 1 -3\n1 1 1\n3 1 0.5\n", NULL, SPRY_OK},
        {"%%MatrixMarket matrix array real symmetric\n2 2\n1\n0\n2\n",
         ":2: the matrix is 2 x 2 and symmetric, expected a vector", SPRY_BAD_FILE},
        {"%%MatrixMarket matrix array real general\n3 0\n", ":2: the matrix is 3 x 0, expected a vector",
         SPRY_BAD_FILE},
        {"%%MatrixMarket matrix coordinate real general\n4000000000 4000000000 1\n1 1 1\n",
         ":2: 4000000000 x 4000000000 entries overflow", SPRY_TOO_LARGE},
        {"%%MatrixMarket matrix array real general\n3 1\n1\n0\n", ":2: the size line announces 3 entries",
         SPRY_BAD_FILE},
        {"%%MatrixMarket matrix array real general\n3 1\n1\nzwei\n3\n", ":4: ", SPRY_BAD_FILE},
        {"%%MatrixMarket matrix coordinate real general\n3 1 1\n4 1 1\n", ":3: ", SPRY_BAD_FILE},
        {"hello\n", ":1: ", SPRY_BAD_FILE},
        {"", "", SPRY_BAD_FILE},
        {"%%MatrixMarket matrix array complex general\n1 1\n1 2\n", "complex", SPRY_UNSUPPORTED},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        put(cases[c].text);
        spry_error err = {0};
        spry_vector v = {0};
        expect_status(spry_vector_read(context, &v, path, SPRY_TYPE_DEFAULT, &err), &err, cases[c].status,
                      cases[c].fault ? cases[c].fault : "");
        if (cases[c].status != SPRY_OK) {
            assert_null(v.data);
            continue;
        }
        const double expected[] = {1, 0, -2.5};
        assert_int_equal(v.length, 3);
        assert_memory_equal(v.data, expected, sizeof expected);
        spry_vector_destroy(context, &v);
    }
}

/* Columns are written one after another for any order in memory. Reading returns contiguous columns. */
static void multiple_columns(void **state)
{
    double by_columns[] = {1, 2, 3, 0, 99, 4, 5.5, 0, -6, 99}, by_rows[] = {1, 4, 99, 2, 5.5, 99, 3, 0, 99, 0, -6, 99};
    const double expected[] = {1, 2, 3, 0, 4, 5.5, 0, -6};
    const spry_vector vectors[] =
        {{.data = by_columns, .length = 4, .count = 2, .row_stride = 1, .column_stride = 5, .type = SPRY_F64},
         {.data = by_rows, .length = 4, .count = 2, .row_stride = 3, .column_stride = 1, .type = SPRY_F64}};
    for (int c = 0; c < 3; c++) {
        spry_vector back = {0};
        if (c < 2)
            assert_int_equal(spry_vector_write(context, spry_vector_as_const(vectors[c]), path, NULL, NULL), SPRY_OK);
        else
            put("%%MatrixMarket matrix coordinate real general\n4 2 8\n"
                "2 2 5\n1 1 1\n2 1 2\n1 2 4\n3 1 3\n4 2 -6\n2 2 0.5\n4 1 0\n");
        assert_int_equal(spry_vector_read(context, &back, path, SPRY_F64, NULL), SPRY_OK);
        assert_true(back.length == 4 && back.count == 2 && back.row_stride == 1 && back.column_stride == 4);
        assert_memory_equal(back.data, expected, sizeof expected);
        spry_vector_destroy(context, &back);
    }
}

/* Callback that computes y = A*x for A = 2*I. The solver must pass vectors of stride 1. */
static spry_status twice(void *user, spry_vector y, spry_const_vector x, void *stream, spry_error *err)
{
    (void)user, (void)stream, (void)err;
    if (x.row_stride != 1 || y.row_stride != 1 || x.count != 1 || x.column_stride < x.length) return SPRY_INTERNAL;
    for (int64_t i = 0; i < x.length; i++) ((double *)y.data)[i] = 2 * ((const double *)x.data)[i];
    return SPRY_OK;
}

/* Solvers and verification accept a single vector of any stride. */
static void strides(void **state)
{
    spry_matrix *A = NULL;
    spry_error err = {0};
    double x[9] = {0}, b[12], y[7];
    for (int i = 0; i < 12; i++) b[i] = i;
    spry_vector xs = {.data = x, .length = 3, .row_stride = 4, .type = SPRY_F64};
    spry_const_vector bs = {.data = b, .length = 3, .row_stride = 5, .type = SPRY_F64};
    spry_operator products = SPRY_INIT(spry_operator);
    products.n = 3;
    products.type = SPRY_F64;
    products.apply = twice;
    assert_int_equal(solve_by_products(context, xs, NULL, &products, bs, NULL, &err), SPRY_OK);
    for (int i = 0; i < 9; i++) assert_true(x[i] == (i % 4 == 0 ? i / 4 * 5 / 2.0 : 0));
    assert_int_equal(spry_matrix_generate(context, &A, "laplace5,x=3,y=1", NULL, &err), SPRY_OK);
    const spry_vector ys = {.data = y, .length = 3, .row_stride = 3, .type = SPRY_F64};
    assert_int_equal(spry_spmv(context, ys, NULL, A, bs, NULL, &err), SPRY_OK);
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    const spry_const_vector none = {0};
    assert_int_equal(spry_spmv_verify(context, &v, A, SPRY_NO_TRANSPOSE, NULL, bs, NULL, none, spry_vector_as_const(ys),
                                      &err),
                     SPRY_OK);
    assert_int_equal(v.wrong_rows, 0);
    y[3] += 1;
    assert_int_equal(spry_spmv_verify(context, &v, A, SPRY_NO_TRANSPOSE, NULL, bs, NULL, none, spry_vector_as_const(ys),
                                      &err),
                     SPRY_OK);
    assert_int_equal(v.wrong_rows, 1);
    xs.count = 2;
    expect_status(spry_cg(context, xs, NULL, A, bs, NULL, &err), &err, SPRY_INVALID_SIZE,
                  "x has 2 vectors with row_stride 4, expected column-major vectors (row_stride 1)");
    xs.count = 1;
    xs.row_stride = -1;
    expect_status(spry_cg(context, xs, NULL, A, bs, NULL, &err), &err, SPRY_INVALID_SIZE, "row_stride is -1");
    spry_matrix_destroy(A);
}

/* A solver refuses an x that overlaps an array of A. */
static void solutions_over_A(void **state)
{
    int32_t offsets[] = {0, 1, 2, 3, 4, 5, 6}, columns[] = {0, 1, 2, 3, 4, 5};
    double values[6] = {1, 2, 3, 4, 5, 6}, ones[6] = {1, 1, 1, 1, 1, 1};
    spry_error err = {0};
    spry_matrix *A = NULL;
    void *const arrays[] = {values, offsets, columns};
    static const char *const names[] = {"values", "offsets", "indices"};
    assert_int_equal(spry_matrix_borrow_csr_f64(context, &A, 6, 6, offsets, columns, values, &err), SPRY_OK);
    for (int n = 0; n < 3; n++) {
        char text[80];
        const spry_vector x = spry_vector_f64((void *)((uintptr_t)arrays[n] & ~(uintptr_t)7), 6);
        const spry_const_vector b = spry_const_vector_f64(ones, 6);
        snprintf(text, sizeof text, "x and the %s of A overlap", names[n]);
        expect_status(spry_cg(context, x, NULL, A, b, NULL, &err), &err, SPRY_INVALID_ARGUMENT, text);
        expect_status(spry_pagerank(context, x, NULL, A, NULL, &err), &err, SPRY_INVALID_ARGUMENT, text);
    }
    spry_matrix_destroy(A);
}

/* Every function that takes a vector refuses reserved fields that are not 0. */
static void reserved_fields(void **state)
{
    spry_matrix *A = NULL;
    spry_error err = {0};
    double data[3] = {1, 1, 1}, ones[3] = {1, 1, 1};
    spry_vector x = spry_vector_f64(data, 3);
    spry_const_vector b = spry_const_vector_f64(ones, 3);
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    assert_int_equal(spry_matrix_generate(context, &A, "laplace5,x=3,y=1", NULL, &err), SPRY_OK);
    b.reserved[1] = 7;
    expect_status(spry_cg(context, x, NULL, A, b, NULL, &err), &err, SPRY_INVALID_ARGUMENT, "b.reserved has 7");
    expect_status(spry_vector_write(context, b, path, NULL, &err), &err, SPRY_INVALID_ARGUMENT, "v.reserved has 7");
    o.personalization = b;
    expect_status(spry_pagerank(context, x, NULL, A, &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "personalization.reserved has 7");
    b.reserved[1] = 0;
    x.reserved[0] = -1;
    expect_status(spry_cg(context, x, NULL, A, b, NULL, &err), &err, SPRY_INVALID_ARGUMENT, "x.reserved has -1");
    expect_status(spry_pagerank(context, x, NULL, A, NULL, &err), &err, SPRY_INVALID_ARGUMENT, "x.reserved has -1");
    spry_matrix_destroy(A);
}

static void bad_arguments(void **state)
{
    spry_vector v = {0};
    spry_error err = {0};
    double data[2] = {0};
    expect_status(spry_vector_create(NULL, &v, 1, SPRY_F64, 0, &err), &err, SPRY_INVALID_ARGUMENT, "context is NULL");
    expect_status(spry_vector_create(context, &v, -1, SPRY_F64, 0, &err), &err, SPRY_INVALID_SIZE, "length is -1");
    expect_status(spry_vector_create(context, &v, 1, SPRY_PATTERN, 0, &err), &err, SPRY_INVALID_ARGUMENT, "type is 3");
    spry_status far = spry_vector_create(context, &v, 1, SPRY_F64, 99, &err); /* device 99 does not exist */
    assert_true((far == SPRY_DEVICE_UNAVAILABLE || far == SPRY_INVALID_ARGUMENT) && strstr(err.message, "99"));
    expect_status(spry_vector_create(context, &v, INT64_MAX, SPRY_F64, 0, &err), &err, SPRY_TOO_LARGE, "overflow");
    expect_status(spry_vector_read(context, NULL, path, SPRY_F64, &err), &err, SPRY_INVALID_ARGUMENT, "v is NULL");
    expect_status(spry_vector_read(context, &v, path, SPRY_PATTERN, &err), &err, SPRY_INVALID_ARGUMENT, "type is 3");
    expect_status(spry_vector_read(context, &v, "/nowhere/at/all", SPRY_F64, &err), &err, SPRY_FILE_ERROR, "/nowhere");
    v = spry_vector_f64(data, 2);
    expect_status(spry_vector_write(context, spry_vector_as_const(v), "/nowhere/at/all", NULL, &err), &err,
                  SPRY_FILE_ERROR, "/nowhere");
    static const char *const names[] = {"x.mtx.gz", "x.csv.gz", "x.spry"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        expect_status(spry_vector_write(context, spry_vector_as_const(v), names[n], NULL, &err), &err,
                      SPRY_INVALID_ARGUMENT, "expected a name that ends in .mtx or .csv");
    expect_status(spry_vector_write(context, spry_vector_as_const(v), "x.txt", NULL, &err), &err, SPRY_INVALID_ARGUMENT,
                  "unknown ending");
    expect_status(spry_vector_write(context, spry_vector_as_const(v), "x.csv", with_comment("a comment"), &err), &err,
                  SPRY_INVALID_ARGUMENT, "comment is an option of Matrix Market files, which x.csv is not");
    spry_write_options o = SPRY_INIT(spry_write_options);
    o.index_base = 2;
    expect_status(spry_vector_write(context, spry_vector_as_const(v), "x.csv", &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "index_base is 2");
    expect_status(spry_vector_write(context, spry_vector_as_const(v), "x.mtx", &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "index_base is an option of CSV files of vectors, which x.mtx is not");
    o.index_base = 0;
    o.row_name = "node";
    expect_status(spry_vector_write(context, spry_vector_as_const(v), "x.mtx", &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "row_name is an option of CSV files of vectors, which x.mtx is not");
    o.row_name = NULL;
    o.full = true;
    expect_status(spry_vector_write(context, spry_vector_as_const(v), "x.mtx", &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "full is an option of Matrix Market files of matrices, which x.mtx is not");
    v.count = -1;
    expect_status(spry_vector_write(context, spry_vector_as_const(v), path, NULL, &err), &err, SPRY_INVALID_ARGUMENT,
                  "count and strides of 0 or more");
    v.count = 2;
    v.column_stride = INT64_MAX / 4;
    expect_status(spry_vector_write(context, spry_vector_as_const(v), path, NULL, &err), &err, SPRY_INVALID_SIZE,
                  "v: column_stride is 2305843009213693951, expected 1 or more, within memory");
}

static spry_status read_or_write(spry_context *own, const void *writing, spry_error *err)
{
    double data[3] = {1, 2, 3};
    spry_vector v = {0};
    put("%%MatrixMarket matrix coordinate real general\n3 1 1\n3 1 -3\n");
    spry_status status = *(const int *)writing ? spry_vector_write(own, spry_const_vector_f64(data, 3), path, NULL, err)
                                               : spry_vector_read(own, &v, path, SPRY_F64, err);
    spry_vector_destroy(own, &v);
    return status;
}

static void every_allocation_refused(void **state)
{
    for (int writing = 0; writing < 2; writing++) assert_true(fail_every_allocation(read_or_write, &writing, 1) > 0);
}

static int make_file(void **state)
{
    int file = mkstemp(path);
    if (file < 0) return -1;
    close(file);
    return set_up(state);
}

static int remove_file(void **state)
{
    return unlink(path) | tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),       cmocka_unit_test(what_is_written),
        cmocka_unit_test(tables),           cmocka_unit_test(long_table),
        cmocka_unit_test(what_is_read),     cmocka_unit_test(strides),
        cmocka_unit_test(solutions_over_A), cmocka_unit_test(reserved_fields),
        cmocka_unit_test(bad_arguments),    cmocka_unit_test(every_allocation_refused),
        cmocka_unit_test(multiple_columns),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
