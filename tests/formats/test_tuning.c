/* Tests of tuning tables: their effect on plans, and the errors for bad tables. */
#include "choose/state.h"
#include "formats/csrk/csrk.h"
#include "spry/matrix.h"
#include "spry/tune.h"
#include "testing.h"

#include <unistd.h>

static char path[64];

static int make_path(void **state)
{
    snprintf(path, sizeof path, "/tmp/spry-tuning-XXXXXX");
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_path(void **state)
{
    return unlink(path);
}

static spry_status load_bytes(spry_context *context, const char *text, size_t bytes, spry_error *err)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(bytes, fwrite(text, 1, bytes, file));
    assert_int_equal(0, fclose(file));
    return spry_context_load_tuning(context, path, err);
}

static spry_status load(spry_context *context, const char *text, spry_error *err)
{
    return load_bytes(context, text, strlen(text), err);
}

static void expect_parameters(spry_context *context, const char *format, const char *parameters)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = format;
    spry_matrix *A = generate_matrix(context, "banded,rows=1000,half=1");
    spry_spmv_plan *plan = create_plan(context, A, &options);
    spry_spmv_plan_info info = plan_info(plan);
    assert_string_equal(parameters, info.parameters);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
}

static const char whole[] = "# a table\n\nspry-tuning 3 # version\r\ncpu csr2 384\n cpu\tcsr3 48 4\ncuda 9\n"
                            "cuda ssrs 7.6 1.1\ncuda srs 20 3.5\ncuda case3 2.5 3\nend 6\n# and that is all\n\n";

static void tables_are_followed(void **state)
{
    spry_context *context = context_of(0);
    spry_error err = {0};
    expect_parameters(context, "csr2", "srs=96");
    if (load(context, whole, &err) != SPRY_OK) fail_msg("%s", err.message);
    expect_parameters(context, "csr2", "srs=384");
    expect_parameters(context, "csr2:srs=5", "srs=5");
    expect_parameters(context, "csr3", "srs=48:ssrs=4");
    expect_parameters(context, "csr3:tuning=cpu", "srs=48:ssrs=4");
    expect_parameters(context, "csr3:tuning=volta", "srs=8:ssrs=8:tuning=volta");  /* not changed by the table */
    expect_parameters(context, "csr3:tuning=table", "srs=16:ssrs=6:tuning=table"); /* for ln 3: ssrs 6.39, srs 16.15 */
    spry_context_destroy(context);
}

static void formulas_have_cases(void **state)
{
    spry_context *context = context_of(0);
    spryi_group_sizes found;
    assert_int_equal(SPRY_OK, load(context, whole, NULL));
    const spryi_group_table *t = spryi_loaded_groups(context);
    assert_int_equal(9, t->gpu_major);
    static const struct {
        int64_t nnz, ssrs, srs;
    } cases[] = {
        {1000, 8, 20}, {8000, 5, 13}, {12000, 5, 11}, {20000, 10, 30}, {40000, 4, 7}, {100000000, 1, 1}, {0, 8, 20},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        found = spryi_find_group_sizes(SPRYI_GROUPS_TABLE, 3, spryi_group_case_of(1000, cases[c].nnz), 1000,
                                       cases[c].nnz, t);
        assert_int_equal(cases[c].ssrs, found.ssrs);
        assert_int_equal(cases[c].srs, found.srs);
    }
    spryi_group_table huge = *t;
    huge.ssrs.constant = 1e6;
    found = spryi_find_group_sizes(SPRYI_GROUPS_TABLE, 3, spryi_group_case_of(1000, 1000), 1000, 1000, &huge);
    assert_int_equal(SPRYI_MOST_GROUP, found.ssrs);
    spry_context_destroy(context);
}

/*
 * Asserts that sizes are multiples of the step. Halves round up, the smallest size is one step, and the largest size is
 * the limit.
 */
static void formulas_have_steps(void **state)
{
    spry_context *context = context_of(0);
    spryi_group_sizes found;
    assert_int_equal(SPRY_OK,
                     load(context, "spry-tuning 3\ncuda 9\ncuda ssrs 28 8\ncuda srs -4 -12\ncuda whole 8 24\nend 4\n",
                          NULL));
    static const struct {
        int64_t nnz, ssrs, srs;
    } cases[] = {{1000, 24, 8},
                 {3000, 16, 8},
                 {7000, 16, 16},
                 {100000, 8, 24}}; /* exact ssrs: 28, 19.2, 12.4, -8.8; exact srs: -4, 9, 19, 51 */
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        found = spryi_find_group_sizes(SPRYI_GROUPS_TABLE, 3, spryi_group_case_of(1000, cases[c].nnz), 1000,
                                       cases[c].nnz, spryi_loaded_groups(context));
        assert_int_equal(cases[c].ssrs, found.ssrs);
        assert_int_equal(cases[c].srs, found.srs);
    }
    spry_context_destroy(context);
}

static void bad_tables(void **state)
{
    static const struct {
        const char *text, *message;
        int64_t line;
    } cases[] = {
        {"", "nothing is not a line of a tuning table: expected \"spry-tuning 3\" first", 0},
        {"\ncpu csr2 96\n", "cpu is not a line of a tuning table: expected \"spry-tuning 3\" first", 2},
        {"spry-tuning 4\n", "the table is of version 4, this library reads version 3", 1},
        {"spry-tuning 1\ncpu csr2 96\n", "version 1, this library reads version 3: create it with 'spry tune'", 1},
        {"spry-tuning 2\ncpu csr2 96\n", "version 2, this library reads version 3: create it with 'spry tune'", 1},
        {"spry-tuning 3", "the table is cut in this line: expected the rest of the line, then \"end N\"", 1},
        {"spry-tuning 3\n\n# nothing\n", "the table is cut: expected \"end 0\" after this line", 3},
        {"spry-tuning 3\ncpu csr2 96\n", "the table is cut: expected \"end 1\" after this line", 2},
        {"spry-tuning 3\ncpu csr2 9", "the table is cut in this line", 2},
        {"spry-tuning 3\ncpu csr2 96\nend 1", "the table is cut in this line", 3},
        {"spry-tuning 3\ncpu csr2 96\nend\n", "lines are missing: expected \"end 1\"", 3},
        {"spry-tuning 3\ncpu csr2 96\nend 2\n", "lines are missing: expected \"end 1\"", 3},
        {"spry-tuning 3\ncpu csr2 96\nend 1 1\n", "lines are missing: expected \"end 1\"", 3},
        {"spry-tuning 3\ncpu csr2 96\nend 1\n\ncpu csr2 96\n", "there is text after the end", 5},
        {"end 0\n", "end is not a line of a tuning table: expected \"spry-tuning 3\" first", 1},
        {"spry-tuning one\n", "spry-tuning is not a line", 1},
        {"spry-tuning 3\ngpu 9\n", "gpu is not a line of a tuning table: expected cpu, cuda, class", 2},
        {"spry-tuning 3\ncpu csr2\n", "expected \"cpu csr2 SRS\"", 2},
        {"spry-tuning 3\ncpu csr2 0\n", "expected \"cpu csr2 SRS\"", 2},
        {"spry-tuning 3\ncpu csr2 32769\n", "expected \"cpu csr2 SRS\"", 2},
        {"spry-tuning 3\ncpu csr2 9.5\n", "expected \"cpu csr2 SRS\"", 2},
        {"spry-tuning 3\ncpu csr3 96\n", "expected \"cpu csr2 SRS\"", 2},
        {"spry-tuning 3\ncpu csr3 96 8 8 8\n", "expected \"cpu csr2 SRS\"", 2},
        {"spry-tuning 3\ncuda 9\nend 1\n", "the table ends without \"cuda ssrs\" and \"cuda srs\"", 3},
        {"spry-tuning 3\ncuda ssrs 9 1\ncuda srs 9 1\nend 2\n", "the table ends without \"cuda MAJOR\"", 4},
        {"spry-tuning 3\ncuda ssrs nan 1\n", "expected \"cuda MAJOR\"", 2},
        {"spry-tuning 3\ncuda ssrs 9\n", "expected \"cuda MAJOR\"", 2},
        {"spry-tuning 3\ncuda case5 1 1\n", "expected \"cuda MAJOR\"", 2},
        {"spry-tuning 3\ncuda case2 0 1\n", "expected \"cuda MAJOR\"", 2},
        {"spry-tuning 3\ncuda whole 8 4\n", "\"cuda whole STEP MOST\"", 2},
        {"spry-tuning 3\ncuda whole 0 8\n", "\"cuda whole STEP MOST\"", 2},
        {"spry-tuning 3\ncuda whole 1.5 8\n", "\"cuda whole STEP MOST\"", 2},
    };
    spry_context *context = context_of(0);
    assert_int_equal(SPRY_OK, load(context, whole, NULL));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_error err = {0};
        assert_int_equal(SPRY_BAD_FILE, load(context, cases[c].text, &err));
        if (!strstr(err.message, cases[c].message)) fail_msg("%s", err.message);
        assert_int_equal(cases[c].line, err.line);
        assert_string_equal(path, err.file);
        assert_int_equal(384, spryi_loaded_groups(context)->csr2_srs); /* unchanged */
    }
    char line[600];
    snprintf(line, sizeof line, "spry-tuning 3\n#%0500d\n", 1);
    assert_int_equal(SPRY_BAD_FILE, load(context, line, NULL));
    spry_error err = {0};
    assert_int_equal(SPRY_FILE_ERROR, spry_context_load_tuning(context, "/none/such", &err));
    assert_non_null(strstr(err.message, "/none/such"));
    assert_int_equal(SPRY_FILE_ERROR, spry_context_load_tuning(context, "/", &err));
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_context_load_tuning(NULL, path, NULL));
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_context_load_tuning(context, NULL, NULL));
    spry_context_destroy(context);
}

/* Truncated tables are refused unless only comments are missing. A NUL byte is refused anywhere. */
static void damaged_tables(void **state)
{
    spry_context *context = context_of(0);
    const size_t end = (size_t)(strstr(whole, "end 6\n") - whole) + strlen("end 6\n");
    for (size_t n = 0; n <= strlen(whole); n++) {
        spry_error err = {0};
        const int comments = n >= end && (n == end || whole[n - 1] == '\n');
        if ((load_bytes(context, whole, n, &err) == SPRY_OK) != comments) fail_msg("cut to %zu: %s", n, err.message);
        if (!comments) assert_int_equal(SPRY_BAD_FILE, err.status);
    }
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        char text[sizeof whole];
        spry_error err = {0};
        memcpy(text, whole, sizeof whole);
        text[n] = '\0';
        assert_int_equal(SPRY_BAD_FILE, load_bytes(context, text, sizeof whole - 1, &err));
        if (!strstr(err.message, "the line has a NUL byte")) fail_msg("%zu: %s", n, err.message);
    }
    spry_context_destroy(context);
}

/* Checks the nominal group sizes that spry_ordering_create reports. */
static void expect_sizes(spry_context *context, int k, const char *tuning, int64_t srs, int64_t ssrs)
{
    spry_ordering_info info = SPRY_INIT(spry_ordering_info);
    spry_ordering_options options = SPRY_INIT(spry_ordering_options);
    options.method = "bandk";
    options.k = k;
    options.tuning = tuning;
    spry_matrix *A = generate_matrix(context, "banded,rows=1000,half=1");
    spry_ordering *ordering = create_ordering(context, A, &options);
    assert_int_equal(SPRY_OK, spry_ordering_get_info(ordering, &info, NULL));
    assert_int_equal(srs, info.groups->srs);
    assert_int_equal(ssrs, info.groups->ssrs);
    spry_ordering_destroy(ordering);
    spry_matrix_destroy(A);
}

static void orderings_follow_tables(void **state)
{
    spry_context *context = context_of(0);
    spry_error err = {0};
    spry_ordering *ordering = NULL;
    spry_ordering_options options = SPRY_INIT(spry_ordering_options);
    expect_sizes(context, 2, NULL, 96, 0);
    expect_sizes(context, 3, "cpu", 96, 8);
    options.method = "bandk";
    options.tuning = "table";
    spry_matrix *A = generate_matrix(context, "diagonal,rows=10");
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_ordering_create(context, &ordering, A, &options, &err));
    assert_string_equal("tuning", err.argument);
    assert_non_null(strstr(err.message, "spry_context_load_tuning"));
    spry_matrix_destroy(A);
    assert_int_equal(SPRY_OK, load(context, whole, NULL));
    expect_sizes(context, 2, NULL, 384, 0);
    expect_sizes(context, 3, "cpu", 48, 4);
    expect_sizes(context, 3, "volta", 8, 8);
    expect_sizes(context, 3, "table", 16, 6);
    expect_sizes(context, 2, "table", 16, 0);
    spry_context_destroy(context);
}

/* tuning=table needs a table with formulas. */
static void no_table(void **state)
{
    spry_context *context = context_of(0);
    spry_spmv_plan *plan = NULL;
    spry_error err = {0};
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = "csr3:tuning=table";
    spry_matrix *A = generate_matrix(context, "diagonal,rows=10");
    assert_int_equal(SPRY_INVALID_ARGUMENT, spry_spmv_plan_create(context, &plan, A, &options, &err));
    assert_non_null(strstr(err.message, "spry_context_load_tuning"));
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_followed),     cmocka_unit_test(formulas_have_cases),
        cmocka_unit_test(formulas_have_steps),     cmocka_unit_test(bad_tables),
        cmocka_unit_test(damaged_tables),          cmocka_unit_test(no_table),
        cmocka_unit_test(orderings_follow_tables),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
