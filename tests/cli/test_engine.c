/*
 * Tests of functions of the benchmark: statistics of times, names of matrices, suites, records, break-even, and the
 * sizes of the arrays that are copied to measure the bandwidth.
 */
#include "bench/internal.h"
#include "cli/bench_sources.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "common/copy_bandwidth.h"

#include "testing.h"

#include <float.h>
#include <unistd.h>

static void statistics(void **state)
{
    double one[] = {7}, two[] = {3, 1}, five[] = {5, 1, 4, 2, 100};
    bench_summary s = bench_summarise(one, 1);
    assert_true(s.median == 7 && s.mean == 7 && s.min == 7 && s.spread == 0);
    s = bench_summarise(two, 2);
    assert_true(s.median == 2 && s.mean == 2 && s.min == 1 && s.spread == 1);
    s = bench_summarise(five, 5);
    assert_true(s.median == 4 && s.mean == 22.4 && s.min == 1 && s.spread == 3);
    double before = now_us();
    assert_true(now_us() >= before);
}

static void names(void **state)
{
    static const struct {
        const char *path, *name;
    } cases[] = {{"/a/b/G3_circuit.mtx.gz", "G3_circuit"},
                 {"cnr-2000.mtx", "cnr-2000"},
                 {"gen:grid7", "grid7"},
                 {"gen:grid7,x=3,y=4", "grid7,x=3,y=4"},
                 {"-", "stdin"},
                 {"a.b/c", "c"},
                 {".mtx", ".mtx"},
                 {"x.mtx.mtx", "x.mtx"},
                 {"dir/", "dir/"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char name[64];
        matrix_name(name, sizeof name, cases[c].path);
        assert_string_equal(name, cases[c].name);
    }
    char small[4];
    matrix_name(small, sizeof small, "gen:grid7");
    assert_string_equal(small, "gri");
}

static void distinct_names(void **state)
{
    enum { MOST = 4 };
    static const struct {
        const char *paths[MOST], *names[MOST];
    } cases[] = {{{"Newman/football.mtx.gz", "Pajek/football.mtx.gz", "c/other.mtx"},
                  {"Newman/football", "Pajek/football", "other"}},
                 {{"football.mtx", "Pajek/football.mtx"}, {"football", "Pajek/football"}},
                 {{"/a/x/m.mtx", "/b/x/m.mtx", "/b/y/m.mtx"}, {"a/x/m", "b/x/m", "y/m"}},
                 {{"a/m.mtx", "a/m.npz", "a/k.mtx"}, {"m.mtx", "m.npz", "k"}},
                 {{"a/m.mtx", "a/m.npz", "b/m.mtx", "b/n.mtx"}, {"m.mtx", "m.npz", "m", "n"}},
                 {{"gen:grid5", "grid5.mtx", "a/grid5.mtx"}, {"grid5", "grid5.mtx", "a/grid5"}},
                 {{"a/m.mtx", "a/m.mtx", "-", "stdin"}, {"m", "m", "stdin", "stdin"}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char names[MOST][64];
        named_matrix m[MOST];
        int count = 0;
        for (; count < MOST && cases[c].paths[count]; count++) {
            m[count] = (named_matrix){names[count], sizeof names[count], cases[c].paths[count]};
            matrix_name(names[count], sizeof names[count], cases[c].paths[count]);
        }
        assert_true(make_names_distinct(m, count));
        for (int i = 0; i < count; i++) assert_string_equal(names[i], cases[c].names[i]);
    }
}

/* Asserts that names, which may contain any bytes, become valid UTF-8 in JSON. */
static void json_text(void **state)
{
#define BAD "\xef\xbf\xbd"
    static const struct {
        const char *text, *expected;
    } cases[] = {{"plain", "plain"},
                 {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
                 {"a\xff z", "a" BAD " z"},
                 {"\xe9t\xe9", BAD "t" BAD},
                 {"cut \xe2\x82", "cut " BAD BAD},
                 {"\xc0\xaf", BAD BAD},                 /* overlong encoding of '/' */
                 {"\xed\xa0\x80", BAD BAD BAD},         /* surrogate */
                 {"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* past the last character */
                 {"\xf0\x8f\xbf\xbf", BAD BAD BAD BAD}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        cJSON *o = cJSON_CreateObject();
        assert_int_equal(cli_json_text(o, "name", cases[c].text), 1);
        assert_string_equal(cJSON_GetObjectItem(o, "name")->valuestring, cases[c].expected);
        cJSON_Delete(o);
    }
#undef BAD
}

static void suites(void **state)
{
    cli_sources s = {.count = 0};
    assert_int_equal(cli_add_suite(&s, "mesh", "/nowhere"), CLI_USAGE); /* the folder does not exist */
    assert_int_equal(cli_add_suite(&s, "mesh", "/proc/self/fdinfo"), CLI_GO_ON);
    assert_int_equal(s.count, 7);
    assert_string_equal(s.items[0].path, "gen:grid5");
    assert_string_equal(s.items[6].name, "G3_circuit");
    assert_string_equal(s.items[6].path, "");
    assert_non_null(strstr(s.items[6].reason, "there is no G3_circuit.mtx.gz"));
    unsetenv("SPRY_MATRIX_DIR");
    assert_int_equal(cli_add_suite(&s, "scattered", NULL), CLI_GO_ON);
    assert_int_equal(s.count, 13);
    assert_non_null(strstr(s.items[12].reason, "--matrices or SPRY_MATRIX_DIR"));
    assert_int_equal(cli_add_suite(&s, "products", NULL), CLI_GO_ON);
    assert_int_equal(s.count, 13 + 14);
    assert_int_equal(cli_add_suite(&s, "shuffled", NULL), CLI_GO_ON);
    assert_int_equal(s.count, 13 + 14 + 2);
    assert_int_equal(cli_add_suite(&s, "sea", NULL), CLI_USAGE);
    assert_int_equal(s.count, 13 + 14 + 2);
    free(s.items);
}

/* Asserts that the suite has the matrices of its list, in the same order, followed by five real matrices. */
static void unstructured(void **state)
{
    cli_sources s = {.count = 0};
    char line[512];
    int count = 0;
    unsetenv("SPRY_MATRIX_DIR");
    FILE *list = fopen(SPRY_TEST_ROOT "/bench/unstructured/suite.tsv", "r");
    assert_non_null(list);
    assert_int_equal(cli_add_suite(&s, "unstructured", NULL), CLI_GO_ON);
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\t\n")] = 0;
        if (line[0] == '#' || strcmp(line, "name") == 0) continue;
        assert_true(count < s.count);
        assert_string_equal(s.items[count].name, line);
        assert_string_equal(s.items[count++].path, "");
    }
    fclose(list);
    assert_int_equal(s.count, count + 5);
    assert_true(count >= 40);
    assert_non_null(strstr(s.items[0].reason, "bench/unstructured/matrices.py TABLES DIR p1_ball generates it"));
    assert_non_null(strstr(s.items[count].reason, "is a real matrix"));
    free(s.items);
}

static void files_of_unstructured(void **state)
{
    cli_sources s = {.count = 0};
    char folder[] = "/tmp/spry-suite-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/p1_ball.spry", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    int status = cli_add_suite(&s, "unstructured", folder);
    remove(path);
    rmdir(folder);
    assert_int_equal(status, CLI_GO_ON);
    assert_string_equal(s.items[0].path, path);
    assert_string_equal(s.items[1].path, "");
    snprintf(path, sizeof path, "TABLES %s p1_drilled generates it", folder);
    assert_non_null(strstr(s.items[1].reason, path));
    free(s.items);
}

static void records(void **state)
{
    record r;
    record_init(&r);
    cJSON *o = cJSON_CreateObject();
    assert_true(cli_json_record(o, &r));
    assert_int_equal(cJSON_GetArraySize(o), 44);
    const cJSON *item;
    cJSON_ArrayForEach(item, o)
    {
        if (strcmp(item->string, "status") != 0) assert_true(cJSON_IsNull(item));
    }
    cJSON_Delete(o);
    o = cJSON_CreateObject();
    assert_true(cli_json_number(o, "inf", INFINITY) && cli_json_number(o, "third", 1.0 / 3) &&
                cli_json_integer(o, "large", INT64_MAX));
    char *text = cJSON_PrintUnformatted(o);
    assert_string_equal(text, "{\"inf\":1.7976931348623157e+308,\"third\":0.3333333,\"large\":9223372036854775807}");
    cJSON_free(text);
    cJSON_Delete(o);
}

static void break_even(void **state)
{
    record base, r;
    record_init(&base);
    r = base;
    assert_int_equal(record_break_even(&r, &base), -2);
    base.time.median_us = 10, base.cost.setup_us = 1;
    r.time.median_us = 8, r.cost.setup_us = 100;
    assert_int_equal(record_break_even(&r, &base), 50); /* 99 us more set-up, 2 us less per product */
    assert_int_equal(record_break_even(&base, &base), 0);
    r.time.median_us = 12;
    assert_int_equal(record_break_even(&r, &base), -1);
    r.cost.setup_us = 0.5, r.time.median_us = 9;
    assert_int_equal(record_break_even(&r, &base), 0);
}

static void random_vectors(void **state)
{
    enum { N = 1000 };
    double x[N], other[N];
    fill_random(x, N, SPRY_F64, 1, 1);
    fill_random(other, N, SPRY_F64, 2, 1);
    int negative = 0;
    for (int i = 0; i < N; i++) {
        assert_true(fabs(x[i]) >= 0.25 && fabs(x[i]) < 1 && x[i] != other[i]);
        negative += x[i] < 0;
        for (int j = 0; j < i; j++) assert_true(x[i] != x[j]);
    }
    assert_true(negative > N / 3 && negative < 2 * N / 3);
    enum { LONG = 70001, UNTOUCHED = 7 }; /* long enough for multiple threads */
    float *by_one = calloc(LONG + 1, sizeof *by_one), *by_three = calloc(LONG + 1, sizeof *by_three);
    assert_true(by_one && by_three);
    by_one[LONG] = by_three[LONG] = UNTOUCHED;
    fill_random(by_one, LONG, SPRY_F32, 3, 1);
    fill_random(by_three, LONG, SPRY_F32, 3, 3);
    assert_memory_equal(by_one, by_three, (LONG + 1) * sizeof *by_one);
    assert_true(by_one[0] != 0 && by_one[LONG - 1] != 0 && by_one[LONG] == UNTOUCHED);
    free(by_three);
    free(by_one);
}

static void bandwidth(void **state)
{
    spry_context *context = context_of(0);
    setenv("SPRY_BENCH_COPY_BYTES", "1048576", 1);
    const copy_bandwidth copy = measure_copy_bandwidth(context, 0);
    assert_true(copy.gbps > 0.1);
    assert_non_null(strstr(copy.note, "1 MiB"));
    assert_int_equal(cache_flush_bytes(context), 524288);
    spry_context_destroy(context);
}

/*
 * Asserts that each of the two arrays has four times the size of the cache. Both arrays together have at most 1 GB and
 * at most half of the available memory.
 */
static void copy_arrays(void **state)
{
    static const int64_t mib = 1 << 20, plenty = INT64_C(1) << 40;
    assert_int_equal(copy_array_bytes(32 * mib, plenty, 0), 128 * mib);
    assert_int_equal(copy_array_bytes(1 * mib, plenty, 0), 64 * mib);
    assert_int_equal(copy_array_bytes(0, plenty, 0), 256 * mib); /* unknown cache size */
    assert_int_equal(copy_array_bytes(503 * mib, plenty, 0), 500000000 / 4096 * 4096);
    assert_int_equal(copy_array_bytes(32 * mib, plenty, 1), 128 * mib);
    assert_int_equal(copy_array_bytes(64 * mib, plenty, 1), 128 * mib);
    assert_int_equal(copy_array_bytes(32 * mib, 256 * mib, 0), 64 * mib);
    assert_int_equal(copy_array_bytes(32 * mib, 20001, 0), 4096);
    assert_int_equal(copy_array_bytes(32 * mib, 16383, 0), 0);
    assert_int_equal(copy_array_bytes(32 * mib, 0, 1), 0);
}

/* ---- orderings ---------------------------------------------------------------------------------- */

typedef struct seen {
    char text[2048];
    int groups;
} seen;

static int see(void *user, const record *records, int count)
{
    seen *s = user;
    size_t used = strlen(s->text);
    used += (size_t)snprintf(s->text + used, sizeof s->text - used, "%s", s->groups++ ? "| " : "");
    for (int i = 0; i < count; i++) {
        const record *r = &records[i];
        assert_int_equal(r->status, RECORD_OK);
        if (strcmp(r->method.ordering, "none") != 0) assert_true(r->cost.setup_us > 0);
        used += (size_t)snprintf(s->text + used, sizeof s->text - used, "%s %.4s %s, ", r->input.type, r->method.format,
                                 r->method.ordering);
    }
    return 0;
}

static void ignore_text(const char *text)
{
}

static void never(void *user, const spry_error *err, int reading)
{
    fail_msg("%s", err->message);
}

/*
 * Asserts which orderings each format runs with. by-format follows the CSR-k study: only csr runs with RCM, csr2 and
 * csr3 with Band-k, csr4 with bandk4.
 */
static void numberings(void **state)
{
    static char *all[] = {"csr", "csr2", "csr3:srs=16:ssrs=4", "csr4"};
    static const struct {
        char *orderings[3];
        int numberings, formats;
        const char *seen;
    } cases[] = {
        {{"by-format"},
         1,
         3,
         "f64 csr none, f64 csr2 none, f64 csr3 none, | f64 csr rcm, | f64 csr2 bandk, f64 csr3 bandk, | "
         "f32 csr none, f32 csr2 none, f32 csr3 none, | f32 csr rcm, | f32 csr2 bandk, f32 csr3 bandk, "},
        {{"by-format"}, 1, 1, "f64 csr none, | f64 csr rcm, | f32 csr none, | f32 csr rcm, "},
        {{"by-format"},
         1,
         4,
         "f64 csr none, f64 csr2 none, f64 csr3 none, f64 csr4 none, | f64 csr rcm, | f64 csr2 bandk, f64 csr3 bandk, "
         "| f64 csr4 bandk4, | f32 csr none, f32 csr2 none, f32 csr3 none, f32 csr4 none, | f32 csr rcm, | f32 csr2 "
         "bandk, f32 csr3 bandk, | f32 csr4 bandk4, "},
        {{"by-k"},
         1,
         3,
         "f64 csr none, f64 csr2 none, f64 csr3 none, | f64 csr rcm, | f64 csr2 bandk2, | f64 csr3 bandk3, | "
         "f32 csr none, f32 csr2 none, f32 csr3 none, | f32 csr rcm, | f32 csr2 bandk2, | f32 csr3 bandk3, "},
        {{"bandk2", "bandk4"}, 2, 4, "f64 csr2 bandk2, | f64 csr4 bandk4, | f32 csr2 bandk2, | f32 csr4 bandk4, "},
        {{"bandk"}, 1, 2, "f64 csr bandk, f64 csr2 bandk, | f32 csr bandk, f32 csr2 bandk, "},
        {{"plan-rcm", "none", "degree"},
         3,
         1,
         "f64 csr plan-rcm, | f64 csr none, | f64 csr degree, | f32 csr plan-rcm, | f32 csr none, | f32 csr degree, "},
    };
    const bench_source source = {.name = "grid", .path = "gen:grid5,x=60,y=50,shuffle=3"};
    spry_context *context = context_of(0);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        seen s = {0};
        spry_error err = {0};
        char *orderings[3] = {cases[c].orderings[0], cases[c].orderings[1], cases[c].orderings[2]};
        bench_options options = {.input.sources = &source,
                                 .input.source_count = 1,
                                 .candidates.formats = {all, cases[c].formats},
                                 .candidates.orderings = {orderings, cases[c].numberings},
                                 .candidates.device = "cpu",
                                 .operation.types = bench_all_types, /* f64 and f32 */
                                 .operation.type_count = 2,
                                 .input.index = {SPRY_I32, SPRY_I32},
                                 .operation.op = "spmv",
                                 .protocol.runs = 2,
                                 .protocol.skip_bandwidth = 1,
                                 .context = context,
                                 .receiver.emit = see,
                                 .receiver.progress = ignore_text,
                                 .receiver.note = ignore_text,
                                 .receiver.complain = never,
                                 .receiver.user = &s};
        if (bench_run(&options, &err) != SPRY_OK) fail_msg("%s", err.message);
        assert_string_equal(s.text, cases[c].seen);
    }
    spry_context_destroy(context);
}

int main(void)
{
    setenv("XDG_CACHE_HOME", "/dev/null/none", 1); /* fetched matrices must not be found */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics),
        cmocka_unit_test(names),
        cmocka_unit_test(distinct_names),
        cmocka_unit_test(json_text),
        cmocka_unit_test(suites),
        cmocka_unit_test(unstructured),
        cmocka_unit_test(files_of_unstructured),
        cmocka_unit_test(records),
        cmocka_unit_test(break_even),
        cmocka_unit_test(random_vectors),
        cmocka_unit_test(bandwidth),
        cmocka_unit_test(numberings),
        cmocka_unit_test(copy_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
