/* Tests of spry spmv --x FILE with one or multiple columns. */
#include "records.h"
#include "spawn.h"

/* A 4 x 5 matrix and vectors with integers, so that all kernels give the same result. */
static const char matrix[] = "%%MatrixMarket matrix coordinate real general\n4 5 6\n"
                             "1 1 1\n1 2 2\n2 3 3\n4 1 4\n4 4 5\n4 5 -1\n";
static const char x[] = "%%MatrixMarket matrix array real general\n5 2\n1\n2\n3\n4\n5\n-1\n0\n0.5\n2\n1\n";
static const char y[] = "%%MatrixMarket matrix array real general\n4 2\n5\n9\n0\n19\n-1\n1.5\n0\n5\n";
static const char scaled[] = "%%MatrixMarket matrix array real general\n4 2\n11\n19\n1\n39\n-1\n4\n1\n11\n";
static const char x_t[] = "%%MatrixMarket matrix coordinate real general\n4 3 6\n1 1 1\n2 1 2\n3 1 3\n4 1 4\n1 2 1\n"
                          "4 3 1\n";
static const char y_t[] =
    "%%MatrixMarket matrix array real general\n5 3\n17\n2\n6\n20\n-4\n1\n2\n0\n0\n0\n4\n0\n0\n5\n-1\n";

/* Multiplies in both directions, for every format, type and ordering of a plan. */
static void multiple_columns(void **state)
{
    static const char *const options[] = {"",
                                          "--format sell",
                                          "--format csc",
                                          "--format csr3",
                                          "--kernel csr_portable_cpu",
                                          "--type f32",
                                          "--index 64/64 --threads 2",
                                          "--policy measure --budget 10ms"};
    write_file("a.mtx", matrix);
    write_file("x.mtx", x);
    write_file("xt.mtx", x_t);
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        char command[200];
        snprintf(command, sizeof command, "spmv $D/a.mtx --x $D/x.mtx -o - %s", options[o]);
        expect_text(command, y);
        snprintf(command, sizeof command, "spmv $D/a.mtx --x $D/x.mtx --alpha 2 --beta 1 -o - %s", options[o]);
        expect_text(command, scaled);
        snprintf(command, sizeof command, "spmv $D/a.mtx -t --x $D/xt.mtx -o - %s", options[o]);
        expect_text(command, y_t);
    }
    write_file("square.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 2 2\n2 2 3\n");
    write_file("two.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n");
    expect_text("spmv $D/square.mtx --x $D/two.mtx --ordering rcm -o -",
                "%%MatrixMarket matrix array real general\n2 2\n5\n6\n11\n12\n");
}

/* Uses a result as the next x. */
static void round_trip(void **state)
{
    expect("spmv $D/a.mtx --x $D/x.mtx -o $D/y.mtx 2>/dev/null", 0, "y = A x, 2 vectors, f64", NULL);
    char *written = read_file("y.mtx");
    assert_non_null(written);
    assert_string_equal(written, y);
    free(written);
    expect("spmv $D/a.mtx -t --x $D/y.mtx 2>/dev/null", 0, "y = A^T x, 2 vectors, f64", NULL);
    outcome o = spry_with_input(x, "spmv $D/a.mtx --x - -o -");
    assert_string_equal(o.out, y);
    release(&o);
}

static void records(void **state)
{
    cJSON *all = records_of("spmv $D/a.mtx --x $D/x.mtx --json", 0);
    const cJSON *r = cJSON_GetArrayItem(all, 0);
    assert_string_equal(text_of(r, "op"), "spmm");
    assert_near(number_of(r, "count"), 2, 0);
    assert_string_equal(text_of(r, "layout"), "row");
    assert_true(number_of(r, "max_error") <= 1);
    cJSON_Delete(all);
    all = records_of("spmv $D/a.mtx -t --x $D/xt.mtx --json", 0);
    assert_string_equal(text_of(cJSON_GetArrayItem(all, 0), "op"), "spmm_t");
    cJSON_Delete(all);
    write_file("one.mtx", "%%MatrixMarket matrix array real general\n5 1\n1\n2\n3\n4\n5\n");
    all = records_of("spmv $D/a.mtx --x $D/one.mtx --json", 0);
    r = cJSON_GetArrayItem(all, 0);
    assert_string_equal(text_of(r, "op"), "spmv");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(r, "count")) && cJSON_IsNull(cJSON_GetObjectItem(r, "layout")));
    cJSON_Delete(all);
    expect("spmv $D/a.mtx --x $D/one.mtx -o - 2>/dev/null", 0, "real general\n4 1\n5\n9\n0\n19\n", NULL);
    expect("spmv $D/a.mtx --x $D/one.mtx --time 2>/dev/null", 0, "GFLOP/s", NULL);
}

static void mistakes(void **state)
{
    write_file("short.mtx", "%%MatrixMarket matrix array real general\n4 2\n1\n2\n3\n");
    static const mistake cases[] =
        {{"--x $D/xt.mtx", "xt.mtx: the array is 4 x 3, expected 5 rows, the number of the matrix's columns"},
         {"-t --x $D/x.mtx", "x.mtx: the array is 5 x 2, expected 4 rows, the number of the matrix's rows"},
         {"--x zeros", "zeros: cannot be opened: No such file"},
         {"--x $D/short.mtx", "short.mtx:2: the size line announces 8 entries"},
         {"--x $D/sym.mtx", "sym.mtx:2: the matrix is 3 x 3 and symmetric, expected a vector"},
         {"--x $D/x.mtx --time", "--time measures a product with one vector"},
         {"--x $D/x.mtx -o $D/x.mtx", "x.mtx', the input matrix: expected another file"},
         {"--x", "--x needs a value: ones|random|FILE"}};
    expect_mistakes("spmv $D/a.mtx", cases, sizeof cases / sizeof *cases);
    expect("spmv - --x -", 2, NULL, "the matrix and --x are both '-': expected a file for one of them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiple_columns),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(records),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
