/* Tests of spry explain --count K --layout L: choices for multi-vector products. */
#include "records.h"
#include "spawn.h"

/*
 * grid7 of 60 x 60 x 60. csr_bytes: CSR with 32-bit indices and f64 values. vectors: bytes of one column of x and one
 * column of y.
 */
#define GRID "gen:grid7,x=60,y=60,z=60"
static const double csr_bytes = 12 * (7 * 216000 - 6 * 3600) + 4 * 216001, vectors = 16 * 216000;

/* Returns the JSON line of spry explain for the matrix and options. */
static cJSON *explained(const char *matrix, const char *options)
{
    outcome o = spry("explain %s %s --json", matrix, options);
    if (o.status != 0) fail_msg("spry explain %s %s: %d\n%s", matrix, options, o.status, o.err);
    assert_int_equal(count_lines(o.out), 1);
    cJSON *line = json_line(o.out, 0);
    release(&o);
    return line;
}

static const cJSON *candidate_of(const cJSON *line, const char *format)
{
    const cJSON *c = find(cJSON_GetObjectItem(line, "candidates"), "format", format);
    if (!c) fail_msg("no candidate %s", format);
    return c;
}

static double of(const cJSON *line, const char *format, const char *name)
{
    return number_of(candidate_of(line, format), name);
}

/* Asserts that the line has the same fields as the benchmark's records. */
static void fields(void **state)
{
    static const struct {
        const char *options, *op, *layout;
        int columns;
    } cases[] = {{"", "spmv", NULL, 0},
                 {"--transpose", "spmv_t", NULL, 0},
                 {"--count 1", "spmm", "row", 1},
                 {"--count 8", "spmm", "row", 8},
                 {"--count 4096 --layout row", "spmm", "row", 4096},
                 {"--count 3 --layout column -t", "spmm_t", "column", 3}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        cJSON *line = explained("$D/small.mtx", cases[c].options);
        const cJSON *columns = cJSON_GetObjectItem(line, "count"), *layout = cJSON_GetObjectItem(line, "layout");
        assert_string_equal(text_of(line, "op"), cases[c].op);
        assert_non_null(columns);
        assert_non_null(layout);
        assert_int_equal(cJSON_IsNull(columns), cases[c].columns == 0);
        assert_int_equal(cJSON_IsNull(layout), cases[c].columns == 0);
        if (cases[c].columns > 0) assert_near(columns->valuedouble, cases[c].columns, 0);
        if (cases[c].columns > 0) assert_string_equal(layout->valuestring, cases[c].layout);
        cJSON_Delete(line);
    }
}

/*
 * Tests row-major blocks of vectors. csr reads the matrix once for all columns, so it is chosen for eight columns. For
 * one vector, packed is chosen.
 */
static void rows_of_columns(void **state)
{
    cJSON *one = explained(GRID, "--device avx512"), *eight = explained(GRID, "--device avx512 --count 8");
    assert_string_equal(text_of(one, "format"), "packed");
    assert_string_equal(text_of(eight, "format"), "csr");
    const double us = of(one, "csr", "predicted_us"), us_of_8 = of(eight, "csr", "predicted_us");
    assert_true(us_of_8 > us && us_of_8 < 8 * us);
    assert_near(of(eight, "csr", "bytes") - of(one, "csr", "bytes"), 7 * vectors, 1e-6 * vectors);
    assert_near(of(eight, "csr", "total_us"), of(eight, "csr", "setup_us") + 10000 * us_of_8, 1e-5 * 10000 * us_of_8);
    /* hyb multiplies one column at a time. It copies each column from x and to y, because they are row-major. */
    assert_true(of(eight, "hyb", "predicted_us") > 8 * of(one, "hyb", "predicted_us"));
    assert_true(of(eight, "hyb", "bytes") > 8 * of(one, "hyb", "bytes"));
    cJSON_Delete(one);
    cJSON_Delete(eight);
}

/* Asserts that roof * predicted_us is proportional to the bytes of plain CSR and of all columns of x and y. */
static void roof(void **state)
{
    static const char *const options[] = {"--device h200 --count 8", "--device h200 --count 8 --layout column"};
    cJSON *one = explained(GRID, "--device h200");
    const double us = of(one, "sell", "roof") * of(one, "sell", "predicted_us");
    for (size_t n = 0; n < sizeof options / sizeof *options; n++) {
        cJSON *eight = explained(GRID, options[n]);
        const double us_of_8 = of(eight, "sell", "roof") * of(eight, "sell", "predicted_us");
        assert_near(us_of_8 / us, (csr_bytes + 8 * vectors) / (csr_bytes + vectors), 1e-4);
        /* A format refused without a prediction has no time. */
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(candidate_of(eight, "bsr"), "predicted_us")));
        cJSON_Delete(eight);
    }
    cJSON_Delete(one);
}

/* Tests contiguous columns. Formats other than csr run one product for each column. */
static void separate_columns(void **state)
{
    cJSON *one = explained(GRID, "--device avx512"),
          *eight = explained(GRID, "--device avx512 --count 8 --layout column"),
          *by_rows = explained(GRID, "--device avx512 --count 8 --layout row");
    assert_near(of(eight, "hyb", "predicted_us") / of(one, "hyb", "predicted_us"), 8, 1e-4);
    assert_near(of(eight, "hyb", "bytes") / of(one, "hyb", "bytes"), 8, 1e-4);
    assert_true(of(eight, "hyb", "predicted_us") < of(by_rows, "hyb", "predicted_us"));
    assert_true(of(eight, "csr", "predicted_us") > of(by_rows, "csr", "predicted_us"));
    cJSON_Delete(one);
    cJSON_Delete(eight);
    cJSON_Delete(by_rows);
}

/* Asserts that the benchmark's plan uses the same format, op, layout and count. */
static void as_the_benchmark(void **state)
{
    static const char *const options[] = {"--count 2", "--count 8 --layout column", "--count 8 --layout row",
                                          "--count 32 --calls 20"};
    for (size_t n = 0; n < sizeof options / sizeof *options; n++) {
        char command[200];
        snprintf(command, sizeof command, "bench gen:grid5,x=200,y=200 --op spmm %s --formats auto %s", options[n],
                 "--device cpu --runs 1 --threads 1 --json");
        cJSON *records = records_of(command, 0), *line = explained("gen:grid5,x=200,y=200 --threads 1", options[n]);
        const cJSON *r = find(records, "status", "ok");
        assert_non_null(r);
        assert_true(strncmp(text_of(r, "kernel"), text_of(line, "format"), strlen(text_of(line, "format"))) == 0);
        assert_string_equal(text_of(r, "op"), text_of(line, "op"));
        assert_string_equal(text_of(r, "layout"), text_of(line, "layout"));
        assert_near(number_of(r, "count"), number_of(line, "count"), 0);
        cJSON_Delete(records);
        cJSON_Delete(line);
    }
}

/* Asserts that the list marks a refused format whose prediction is faster. */
static void refused_in_the_list(void **state)
{
    outcome o = spry("explain gen:grid5,x=100,y=100 --device h100");
    const char *packed = o.out ? strstr(o.out, "\n  packed ") : NULL;
    assert_int_equal(o.status, 0);
    assert_non_null(packed);
    const char *mark = strstr(packed, " refused\n");
    assert_true(mark && mark < strchr(packed + 1, '\n'));
    release(&o);
}

static void words(void **state)
{
    const char *const on = " --device avx512 --threads 2";
    outcome o = spry("explain %s%s --count 8", GRID, on);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "  takes           csr: "));
    assert_non_null(strstr(o.out, " product of 8 vectors"));
    assert_non_null(strstr(o.out, "  for             10 000 products of 8 vectors, row by row, on avx512 (fitted to "));
    release(&o);
    o = spry("explain %s%s --count 2 --layout column --calls 1", GRID, on);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "  for             1 product of 2 vectors, column by column, on avx512 (fitted to "));
    release(&o);
    o = spry("explain %s%s --count 1", GRID, on);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "  for             10 000 products of 1 vector on avx512 (fitted to "));
    assert_null(strstr(o.out, " a product of "));
    release(&o);
    expect("explain " GRID " --device avx512", 0, "  for             10 000 products on avx512 (fitted to ", NULL);
    expect("explain --help", 0, "--count K", NULL);
    expect("explain --help", 0, "--layout row|column", NULL);
}

static void mistakes(void **state)
{
    static const mistake cases[] = {
        {"--layout row", "--layout requires --count"},
        {"--count 0", "--count is 0, expected 1 to 4096"},
        {"--count -3", "--count is -3, expected 1 to 4096"},
        {"--count 4097", "--count is 4097, expected 1 to 4096"},
        {"--count 99999999999999999999", "--count is 99999999999999999999, expected 1 to 4096"},
        {"--count two", "--count is 'two', expected a whole number"},
        {"--count 1,8", "--count is '1,8', expected a whole number"},
        {"--count=", "--count is empty, expected K"},
        {"--count 8 --count 9", "--count is given twice"},
        {"--count 8 --layout rows", "--layout is 'rows', expected one of: row, column"},
    };
    expect_mistakes("explain $D/small.mtx", cases, sizeof cases / sizeof *cases);
    expect("explain $D/small.mtx --count", 2, NULL, "--count needs a value: K");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields), cmocka_unit_test(rows_of_columns),  cmocka_unit_test(separate_columns),
        cmocka_unit_test(roof),   cmocka_unit_test(as_the_benchmark), cmocka_unit_test(refused_in_the_list),
        cmocka_unit_test(words),  cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
