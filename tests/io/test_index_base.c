/*
 * Tests of the index base of a matrix: its sources, functions that keep the base, and messages whose numbers count from
 * the base.
 */
#include "files.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/solve.h"

static spry_context *context;

static int set_up(void **state)
{
    context = context_of(2);
    return 0;
}

static int tear_down(void **state)
{
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
    return 0;
}

static spry_matrix *read_as(const char *text, const char *name, int base, const char *input)
{
    spry_matrix *A = NULL;
    spry_read_options o = SPRY_INIT(spry_read_options);
    o.index_base = base;
    o.input = input;
    MUST(spry_matrix_read_memory(context, &A, text, strlen(text), name, &o, err));
    return A;
}

/* Checks the base and destroys A. */
static void expect_base(int base, spry_matrix *A)
{
    spry_source_info info = SPRY_INIT(spry_source_info);
    MUST(spry_matrix_get_source(A, &info, err));
    assert_int_equal(base, info.index_base);
    spry_matrix_destroy(A);
}

#define MTX "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 2\n2 3 3\n3 1 4\n"

/* Creates a 3 x 3 matrix whose arrays count from `base`. */
static spry_matrix *of_arrays(int base, spry_layout layout)
{
    int32_t offsets[] = {base, 1 + base, 2 + base, 3 + base}, columns[] = {1 + base, 2 + base, base};
    int32_t rows[] = {base, 1 + base, 2 + base};
    static const double values[] = {2, 3, 4};
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = layout;
    a.rows = a.columns = a.nnz = 3;
    a.offset_type = a.index_type = SPRY_I32;
    a.value_type = SPRY_F64;
    a.offsets = offsets;
    a.row_indices = rows;
    a.indices = columns;
    a.values = values;
    a.ownership = SPRY_COPY;
    a.index_base = base;
    return create_matrix(context, &a);
}

static void sources(void **state)
{
    expect_base(1, read_as(MTX, "x.mtx", 0, NULL));
    expect_base(0, read_as("0 1\n", "x.txt", 0, NULL));
    expect_base(1, read_as("1 2\n", "x.txt", 1, NULL));
    expect_base(1, read_as("1 2\n", "piped", 1, "edges"));
    spry_matrix *A = generate_matrix(context, "grid5,x=3,y=3");
    expect_base(1, A);
    for (int base = 0; base < 2; base++)
        for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++)
            expect_base(base, of_arrays(base, (spry_layout)layout));
}

/* A container stores the base in every format. */
static void containers(void **state)
{
    static const char *const formats[] = {NULL, "csr", "coo", "csc", "sell", "packed", "ell", "bsr"};
    for (int base = 0; base < 2; base++)
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
            for (int pattern = 0; pattern < 2; pattern++) {
                const char *path = temporary_path("base.spry");
                spry_matrix *A = of_arrays(base, SPRY_CSR), *B = NULL;
                spry_write_options o = SPRY_INIT(spry_write_options);
                o.format = formats[f];
                if (pattern) {
                    spry_matrix_options drop = SPRY_INIT(spry_matrix_options);
                    drop.value_type = SPRY_PATTERN;
                    B = convert_matrix(context, A, &drop);
                    spry_matrix_destroy(A);
                    A = B;
                    B = NULL;
                }
                MUST(spry_matrix_write(A, path, &o, err));
                B = read_matrix(context, path, NULL);
                spry_matrix_destroy(A);
                A = convert_matrix(context, B, NULL); /* builds CSR from the container's storage */
                expect_base(base, A);
                expect_base(base, B);
                spry_read_options narrow = SPRY_INIT(spry_read_options);
                narrow.value_type = SPRY_F32;
                B = read_matrix(context, path, &narrow);
                expect_base(base, B);
            }
}

/* Asserts that a computed matrix has the index base of its operand until another base is set. */
static void results(void **state)
{
    for (int base = 0; base < 2; base++) {
        spry_matrix *A = of_arrays(base, SPRY_CSR);
        static const int64_t perm[] = {2, 0, 1};
        spry_matrix *B = convert_matrix(context, A, NULL);
        expect_base(base, B);
        MUST(permute_matrix(context, &B, A, perm, perm, err));
        expect_base(base, B);
        B = multiply_matrices(context, A, A, NULL);
        expect_base(base, B);
        MUST(spry_matrix_set_index_base(A, !base, err));
        B = convert_matrix(context, A, NULL);
        expect_base(!base, B);
        spry_error err = SPRY_ERROR_INIT;
        assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_set_index_base(A, 2, &err));
        assert_string_equal("index_base is 2, expected 0 or 1", err.message);
        assert_int_equal(SPRY_INVALID_ARGUMENT, spry_matrix_set_index_base(NULL, 0, &err));
        expect_base(!base, A);
    }
}

/*
 * Asserts that the index base of a matrix from a container can be changed after CSR was built from the container's
 * storage.
 */
static void set_later(void **state)
{
    const char *path = temporary_path("later.spry");
    spry_matrix *A = of_arrays(1, SPRY_CSR);
    spry_write_options o = SPRY_INIT(spry_write_options);
    o.format = "sell";
    MUST(spry_matrix_write(A, path, &o, err));
    spry_matrix_destroy(A);
    A = read_matrix(context, path, NULL);
    (void)arrays_of(A);
    MUST(spry_matrix_set_index_base(A, 0, err));
    spry_matrix *B = convert_matrix(context, A, NULL);
    expect_base(0, B);
    expect_base(0, A);
}

static void expect_message(spry_status status, const spry_error *err, const char *text)
{
    assert_int_not_equal(SPRY_OK, status);
    if (!strstr(err->message, text)) fail_msg("'%s' lacks '%s'", err->message, text);
}

/* Messages about faults in the caller's arrays use the caller's base. */
static void unsound_arrays(void **state)
{
    static const char *const outside[] = {"column 3 of entry 1 (row 1) is outside 0..2 (counted from 0)",
                                          "column 4 of entry 2 (row 2) is outside 1..3 (counted from 1)"};
    static const char *const falls[] = {"offsets[2] = 0 is smaller than offsets[1] = 1",
                                        "offsets[2] = 1 is smaller than offsets[1] = 2"};
    for (int base = 0; base < 2; base++) {
        int32_t offsets[] = {base, 1 + base, 2 + base, 3 + base}, columns[] = {1 + base, 3 + base, base};
        static const double values[] = {2, 3, 4};
        spry_error err = SPRY_ERROR_INIT;
        spry_arrays a = csr_arrays(3, 3, offsets, columns, values, SPRY_F64);
        a.nnz = 3;
        a.index_base = base;
        spry_matrix *A = create_matrix(context, &a);
        expect_message(spry_matrix_check(A, NULL, SPRY_CHECK_STRUCTURE, &err), &err, outside[base]);
        assert_int_equal(err.value, 3); /* the fields of err count from 0 */
        expect_message(spry_matrix_check(A, NULL, SPRY_CHECK_ALL, &err), &err, outside[base]);
        spry_matrix_destroy(A);
        offsets[2] = base;
        A = create_matrix(context, &a);
        expect_message(spry_matrix_check(A, NULL, SPRY_CHECK_STRUCTURE, &err), &err, falls[base]);
        spry_matrix_destroy(A);
    }
}

static void solvers(void **state)
{
    static const char *const texts[2][4] = {{"counted from 0", "entry (1, 2) (counted from 0)",
                                             "the first is 3 (counted from 0)",
                                             "element 2 of personalization (counted from 0)"},
                                            {"counted from 1", "entry (2, 3) (counted from 1)",
                                             "the first is 4 (counted from 1)",
                                             "element 3 of personalization (counted from 1)"}};
    const char *const lists[2][2] = {{"0 0 4\n0 1 1\n1 1 4\n", "0 1 1\n1 2 -1\n0 3 1\n"},
                                     {"1 1 4\n1 2 1\n2 2 4\n", "1 2 1\n2 3 -1\n1 4 1\n"}};
    for (int base = 0; base < 2; base++) {
        double x[4] = {0}, b[4] = {1, 1, 1, 1}, weights[4] = {1, 1, -1, 1};
        spry_error err = SPRY_ERROR_INIT;
        spry_matrix *A = read_as(lists[base][0], "x.txt", base, NULL);
        expect_message(spry_cg(context, spry_vector_f64(x, 2), NULL, A, spry_const_vector_f64(b, 2), NULL, &err), &err,
                       texts[base][0]);
        spry_matrix_destroy(A);
        A = read_as(lists[base][1], "x.txt", base, NULL);
        expect_message(spry_pagerank(context, spry_vector_f64(x, 4), NULL, A, NULL, &err), &err, texts[base][1]);
        spry_matrix_destroy(A);
        A = read_as(base ? "1 2\n2 1\n1 3\n3 1\n1 4" : "0 1\n1 0\n0 2\n2 0\n0 3\n", "x.txt", base, NULL);
        spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
        o.dangling = SPRY_DANGLING_REFUSE;
        expect_message(spry_pagerank(context, spry_vector_f64(x, 4), NULL, A, &o, &err), &err, texts[base][2]);
        o.dangling = SPRY_DANGLING_TELEPORT;
        o.personalization = spry_const_vector_f64(weights, 4);
        expect_message(spry_pagerank(context, spry_vector_f64(x, 4), NULL, A, &o, &err), &err, texts[base][3]);
        spry_matrix_destroy(A);
    }
}

/*
 * Asserts that the option input = "edges" reads text as an edge list, whatever the file's name is, and refuses other
 * kinds of files.
 */
static void stated_edges(void **state)
{
    spry_read_options o = SPRY_INIT(spry_read_options);
    spry_error err = SPRY_ERROR_INIT;
    spry_matrix *A = read_as("0 1\n1 2\n", "links", 0, "edges");
    assert_int_equal(3, spry_matrix_rows(A));
    spry_matrix_destroy(A);
    o.input = "edges";
    expect_message(spry_matrix_read_memory(context, &A, MTX, sizeof MTX - 1, "links", &o, &err), &err,
                   "input is 'edges', but this is a Matrix Market file");
    assert_string_equal("input", err.argument);
    expect_message(spry_matrix_generate(context, &A, "grid5,x=3,y=3", &o, &err), &err, "input is for files");
    o.input = "edge";
    expect_message(spry_matrix_read_memory(context, &A, "0 1", 3, "links", &o, &err), &err,
                   "input is 'edge', expected 'edges'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources),      cmocka_unit_test(containers),     cmocka_unit_test(results),
        cmocka_unit_test(set_later),    cmocka_unit_test(unsound_arrays), cmocka_unit_test(solvers),
        cmocka_unit_test(stated_edges),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
