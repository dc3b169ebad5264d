/*
 * Tests of the command report, and of its use by the benchmark: refused arguments, written files and exit statuses.
 * tests/report/ tests the drawings.
 */
#include "cli/report.h"
#include "spawn.h"

#include <unistd.h>

/* Writes records of `spry bench` with a time of `csr` for each of 10 matrices, and one skipped record. */
static void write_run(const char *name, double us)
{
    static char text[8192];
    size_t length = 0;
    for (int m = 0; m < 10; m++)
        length +=
            (size_t)snprintf(text + length, sizeof text - length,
                             "{\"op\":\"spmv\",\"matrix\":\"m%d\",\"rows\":9,\"cols\":9,\"nnz\":20,\"type\":\"f64\","
                             "\"device\":\"cpu\",\"threads\":1,\"format\":\"csr\",\"kernel\":\"csr_cpu\",\"peer\":"
                             "false,\"time_us\":%g,\"spread_us\":0.1,\"runs\":20,\"copy_gbps\":10,\"status\":"
                             "\"ok\",\"reason\":\"asked for\"}\n",
                             m, us + 0.01 * (m % 3));
    snprintf(text + length, sizeof text - length,
             "{\"op\":\"spmv\",\"matrix\":\"m0\",\"kernel\":\"none_cpu\",\"status\":\"skipped\",\"reason\":\"no "
             "GPU\"}\n");
    write_file(name, text);
}

static int prepare(void **state)
{
    write_run("old.jsonl", 100);
    write_run("same.jsonl", 100);
    write_run("slow.jsonl", 120);
    return make_matrices(state);
}

/* Returns 1 if pages can be drawn, 0 with a message if Matplotlib is missing. */
static int can_draw(void)
{
    static int known = -1;
    if (known >= 0) return known;
    outcome o = spry("report $D/old.jsonl -o -");
    known = o.status == CLI_OK;
    if (!known && (o.status != CLI_USAGE || !strstr(o.err, "apt-get install python3-matplotlib")))
        fail_msg("%s", o.err);
    release(&o);
    if (!known) print_message("no Python with Matplotlib: not tested\n");
    return known;
}

static void mistakes(void **state)
{
    static const mistake all[] = {
        {"$D/old.jsonl", "spry report: expected --out OUT.html for the report, or --compare OLD\n"},
        {"-o $D/x.html", "spry report: a FILE of JSON lines is missing\n"},
        {"- --compare -", "spry report: '-' is given 2 times: standard input can be read only once\n"},
        {"- - -o $D/x.html", "spry report: '-' is given 2 times: standard input can be read only once\n"},
        {"$D/old.jsonl -o - --compare $D/old.jsonl",
         "spry report: --out - and the verdict of --compare both write to standard output: use --out FILE.html\n"},
        {"$D/old.jsonl -o - --json",
         "spry report: --out - and --json both write to standard output; use --json=FILE\n"},
        {"$D/old.jsonl -o $D/x.pdf", "x.pdf': a report is a page in HTML, expected a name that ends in .html\n"},
        {"$D/old.jsonl -o $D/none/x.html", "none/x.html: cannot be written: No such file or directory\n"},
        {"$D/old.jsonl -o $D/old.jsonl", "old.jsonl', an input file: expected another file\n"},
        {"$D/same.jsonl -o $D/old.jsonl --compare $D/old.jsonl", "old.jsonl', an input file: expected another file\n"},
        {"$D/old.jsonl --compare $D/none.jsonl", "none.jsonl: cannot be read: No such file or directory\n"},
        {"$D/small.mtx --compare $D/old.jsonl",
         "small.mtx:1: no JSON object: expected lines that spry bench --json=FILE wrote\n"},
    };
    expect_mistakes("report", all, sizeof all / sizeof *all);
    char *kept = read_file("old.jsonl");
    assert_non_null(kept);
    assert_int_equal(count_lines(kept), 11);
    free(kept);
}

/* Asserts that missing software is reported with the way to install it, before any file is read. */
static void what_is_missing(void **state)
{
    static const char *const commands[][2] = {
        {"SPRY_PYTHON=/none/python \"$SPRY\" report /none.jsonl -o -", "/none/python cannot be run: 'apt-get install "
                                                                       "python3-matplotlib'"},
        {"SPRY_REPORT_DIR=/none \"$SPRY\" report /none.jsonl -o -", "SPRY_REPORT_DIR is '/none', which has no "
                                                                    "__main__.py: expected the folder report/"},
    };
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        outcome o = shell(commands[c][0]);
        assert_int_equal(o.status, CLI_USAGE);
        assert_string_equal(o.out, "");
        assert_non_null(strstr(o.err, commands[c][1]));
        release(&o);
    }
}

/* Asks for verdicts without a page, since verdicts need no Matplotlib. */
static void verdicts(void **state)
{
    expect("report $D/same.jsonl --compare $D/old.jsonl", 0, "verdict: no regression: no case is slower", NULL);
    expect("report $D/slow.jsonl --compare $D/old.jsonl", 1, "verdict: regression: ", NULL);
    expect("report $D/old.jsonl --compare $D/slow.jsonl", 0, "10 faster", NULL);
}

static void as_json(void **state)
{
    outcome o = spry("report $D/slow.jsonl --compare $D/old.jsonl --json");
    assert_int_equal(o.status, CLI_UNSUCCESSFUL);
    assert_int_equal(count_lines(o.out), 1);
    cJSON *line = json_line(o.out, 0);
    assert_string_equal(cJSON_GetObjectItem(line, "command")->valuestring, "report");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "matrix")));
    assert_string_equal(cJSON_GetObjectItem(line, "status")->valuestring, "failed");
    assert_string_equal(cJSON_GetObjectItem(line, "verdict")->valuestring, "regression");
    assert_int_equal(cJSON_GetObjectItem(line, "cases")->valueint, 11);
    assert_int_equal(cJSON_GetObjectItem(line, "slower")->valueint, 10);
    assert_int_equal(cJSON_GetObjectItem(line, "skipped")->valueint, 1);
    cJSON_Delete(line);
    release(&o);
}

static void pages(void **state)
{
    if (!can_draw()) skip();
    const int before = count_files();
    expect("report $D/old.jsonl -o $D/page.html", 0, "page.html: 11 cases of 10 matrices, 1 of them skipped, 0 wrong",
           "");
    assert_int_equal(count_files(), before + 1);
    char *page = read_file("page.html");
    assert_non_null(page);
    assert_int_equal(strncmp(page, "<!DOCTYPE html>\n", 16), 0);
    outcome o = shell("\"$SPRY\" report - -o - <\"$D/old.jsonl\"");
    if (o.status != CLI_OK || strncmp(o.out, "<!DOCTYPE html>\n", 16) != 0) fail_msg("%s", o.err);
    release(&o);

    /* A page with a regression is written. An unreadable file leaves the page unchanged. */
    expect("report $D/slow.jsonl -o $D/slow.html --compare $D/old.jsonl", 1, "verdict: regression", "");
    char *slow = read_file("slow.html");
    assert_non_null(strstr(slow, "Compared with the earlier run"));
    expect("report $D/none.jsonl -o $D/page.html", 2, NULL, "none.jsonl: cannot be read");
    char *again = read_file("page.html");
    assert_string_equal(page, again);
    assert_int_equal(count_files(), before + 2);
    free(page);
    free(slow);
    free(again);
}

/* Asserts that a matrix in the folder is drawn, and that a different matrix of the same name is reported. */
static void pictures(void **state)
{
    if (!can_draw()) skip();
    outcome bench = spry("bench $D/sym.mtx gen:grid5,x=9,y=9 --runs 3 --json=$D/bench.jsonl");
    assert_int_equal(bench.status, CLI_OK);
    release(&bench);
    expect("report $D/bench.jsonl -o $D/bench.html --matrices $D", 0, "of 2 matrices", "");
    char *page = read_file("bench.html");
    assert_non_null(page);
    assert_non_null(strstr(page, "<title>Structure of sym</title>"));
    assert_non_null(strstr(page, "<title>Structure of grid5,x=9,y=9</title>"));
    free(page);
    write_file("sym.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n");
    expect("report $D/bench.jsonl -o $D/bench.html --matrices $D", 0, "of 2 matrices", "");
    page = read_file("bench.html");
    assert_non_null(page);
    assert_non_null(strstr(page, "A different matrix of this name was found: rows is 2, the record has 3"));
    free(page);
    make_matrices(state);
}

/* Calls the benchmark's functions. SPRY_REPORT_DIR is set, since this program is in another folder. */
static void for_the_benchmark(void **state)
{
    char html[512], records[512], none[512];
    snprintf(html, sizeof html, "%s/called.html", folder());
    snprintf(records, sizeof records, "%s/old.jsonl", folder());
    snprintf(none, sizeof none, "%s/none/called.html", folder());
    cli_set_command("bench");
    if (!can_draw()) skip();
    setenv("SPRY_REPORT_DIR", SPRY_TEST_ROOT "/report", 1);
    assert_int_equal(cli_report_check(html), CLI_GO_ON);
    assert_int_equal(access(html, F_OK), -1);
    assert_int_equal(cli_report_check(none), CLI_USAGE);
    setenv("SPRY_PYTHON", "/none/python", 1);
    assert_int_equal(cli_report_check(html), CLI_USAGE);
    unsetenv("SPRY_PYTHON");

    assert_int_equal(cli_report_write(html, records, NULL), CLI_OK);
    char *page = read_file("called.html"), *text = read_file("old.jsonl");
    assert_non_null(strstr(page, "<code>this run</code>"));
    unlink(html);
    assert_int_equal(cli_report_write_text(html, text, NULL), CLI_OK);
    char *again = read_file("called.html");
    assert_string_equal(page, again);
    assert_int_equal(cli_report_write_text(html, "{\n", NULL), CLI_USAGE);
    free(page);
    free(text);
    free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes),          cmocka_unit_test(what_is_missing), cmocka_unit_test(verdicts),
        cmocka_unit_test(as_json),           cmocka_unit_test(pages),           cmocka_unit_test(pictures),
        cmocka_unit_test(for_the_benchmark),
    };
    return cmocka_run_group_tests(tests, prepare, remove_folder);
}
