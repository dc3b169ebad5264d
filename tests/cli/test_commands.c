/* Tests of the commands: help, output, and mistakes of users. */
#include "spawn.h"

#include <unistd.h>

static void help_and_version(void **state)
{
    static const char *const commands[] = {"info", "devices",  "kernels", "spmv",    "bench",  "convert",
                                           "gen",  "pagerank", "solve",   "reorder", "explain"};
    expect("--help", 0, "Usage: spry COMMAND", NULL);
    expect("help", 0, "Usage: spry COMMAND", NULL);
    expect("--version", 0, "spry 0.", NULL);
    expect("", 2, NULL, "Usage: spry COMMAND");
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        char command[64], usage[64], example[64];
        snprintf(usage, sizeof usage, "Usage: spry %s ", commands[c]);
        snprintf(example, sizeof example, "Examples:\n  spry %s", commands[c]);
        for (int f = 0; f < 3; f++) {
            snprintf(command, sizeof command, f == 0 ? "%s --help" : f == 1 ? "%s -h" : "help %s", commands[c]);
            expect(command, 0, usage, NULL);
            expect(command, 0, example, NULL);
        }
        expect("--help", 0, commands[c], NULL);
    }
    expect("spmv --help", 0, "optionally with parameters (sell:c=16)", NULL);
    expect("spmv --help", 0, "csr_vector_cuda:lanes=32; 'spry kernels --long' lists parameters", NULL);
    expect("spmv --help", 0, "--device cuda --kernel csr_vector_cuda:lanes=32\n", NULL);
    expect("kernels --long --format csr", 0, "parameters: lanes=2|4|8|16|32", NULL);
}

static void unknown_words(void **state)
{
    expect("smpv x.mtx", 2, NULL, "unknown command 'smpv'; did you mean 'spmv'?");
    expect("benhc", 2, NULL, "did you mean 'bench'?");
    expect("frobnicate", 2, NULL, "unknown command 'frobnicate'\nTry 'spry --help'.");
    expect("help frobnicate", 2, NULL, "unknown command 'frobnicate'");
    expect("--frob", 2, NULL, "unknown option --frob");
    expect("''", 2, NULL, "unknown command ''");
    expect("info --jsno $D/small.mtx", 2, NULL, "spry info: unknown option --jsno; did you mean --json?");
    expect("info -z $D/small.mtx", 2, NULL, "unknown option -z");
    expect("info --help=now", 2, NULL, "--help takes no value");
    expect("bench --cold=1 $D/small.mtx", 2, NULL, "--cold takes no value");
}

static void missing_files(void **state)
{
    static const char *const commands[] = {"info %s", "spmv %s", "bench %s", "convert %s -o $D/out.mtx"};
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        static const struct {
            const char *path, *message;
        } cases[] = {{"$D/none.mtx", "none.mtx"}, {"$D", "irectory"}, {"$D/bad.mtx", "bad.mtx:4"}};
        for (size_t p = 0; p < sizeof cases / sizeof *cases; p++) {
            char command[128];
            const char *hole = strstr(commands[c], "%s");
            /* spry bench accepts a folder */
            if (strcmp(cases[p].path, "$D") == 0 && strncmp(commands[c], "bench", 5) == 0) continue;
            snprintf(command, sizeof command, "%.*s%s%s >/dev/null", (int)(hole - commands[c]), commands[c],
                     cases[p].path, hole + 2);
            expect(command, 2, NULL, cases[p].message);
        }
    }
    assert_null(read_file("out.mtx"));
    expect("info", 2, NULL, "a matrix FILE is missing");
    expect("info a b", 2, NULL, "'b' is one argument too many");
    expect("info ''", 2, NULL, "an argument is empty");
    expect("info gen:nothing", 2, NULL, "nothing");
}

static void info(void **state)
{
    expect("info $D/small.mtx", 0, "4 x 5, 6 entries", NULL);
    expect("info $D/small.mtx", 0, "min 0, mean 1.500, max 3 (row 4, counted from 1)", NULL);
    expect("info $D/small.mtx", 0, "csr          17     92 B     100 %", NULL);
    expect("info $D/small.mtx", 0, "coo          18     96 B     104 %", NULL);
    expect("info --type f32 $D/small.mtx", 0, "csr          17     68 B", NULL);
    expect("info --type pattern $D/small.mtx", 0, "csr          11     44 B", NULL);
    expect("info $D/sym.mtx", 0, "3 x 3, 5 entries", NULL);
    expect("info $D/sym.mtx", 0, "symmetric, as the file says", NULL);
    expect("info - < $D/small.mtx", 0, "stdin\n", NULL);
    expect("info - < $D", 2, NULL, "standard input: is a directory, expected a file with a matrix");
    expect("info - < /dev/null", 2, NULL, "standard input: the file is empty");
    expect("info --type int $D/small.mtx", 2, NULL, "--type is 'int', expected one of: f32, f64, pattern");
    expect("info --type f32 --type f64 $D/small.mtx", 2, NULL, "--type is given twice");
    expect("info --type", 2, NULL, "--type needs a value: f32|f64|pattern");
    expect("info --type= $D/small.mtx", 2, NULL, "--type is empty");
    outcome o = spry("info --json $D/small.mtx");
    assert_int_equal(o.status, 0);
    assert_int_equal(count_lines(o.out), 1);
    cJSON *line = json_line(o.out, 0);
    assert_string_equal(cJSON_GetObjectItem(line, "matrix")->valuestring, "small");
    assert_int_equal(cJSON_GetObjectItem(line, "nnz")->valueint, 6);
    assert_int_equal(cJSON_GetObjectItem(line, "bandwidth")->valueint, 4);
    assert_int_equal(cJSON_GetObjectItem(line, "empty_rows")->valueint, 1);
    assert_string_equal(cJSON_GetObjectItem(line, "class")->valuestring, "regular");
    cJSON *histogram = cJSON_GetObjectItem(line, "histogram");
    assert_int_equal(cJSON_GetArraySize(histogram), 3); /* row lengths 0, 1 and 2 to 3 */
    assert_int_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(histogram, 2), "rows")->valueint, 2);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "picture")));
    cJSON_Delete(line);
    release(&o);
    expect("info gen:diagonal,rows=3 --json --picture 2", 0, "\"picture\":[[2,0],[0,1]]", NULL);
    expect("info gen:diagonal,rows=3 --json --picture 100", 0, "\"picture\":[[1,0,0],[0,1,0],[0,0,1]]", NULL);
    expect("info gen:empty,rows=0 --json --picture 2", 0, "\"picture\":null", NULL);
    expect("info gen:diagonal,rows=3 --json --picture 0", 2, NULL, "--picture is 0, expected 1 to 1024");
}

/* Asserts that the picture has the matrix's proportions, and uses ASCII if the locale lacks UTF-8. */
static void picture(void **state)
{
    expect("info gen:diagonal,rows=4", 0, "█", NULL);
    setenv("LC_ALL", "C", 1);
    expect("info gen:diagonal,rows=4", 0, "+----+\n  |#   |\n  | #  |\n  |  # |\n  |   #|\n  +----+\n", NULL);
    setenv("LC_ALL", "C.UTF-8", 1);
}

static void empty_matrices(void **state)
{
    write_file("empty.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
    write_file("blank.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 0\n");
    expect("info $D/empty.mtx", 0, "min 0, mean 0.000, max 0, variance", NULL);
    expect("info $D/blank.mtx", 0, "min 0, mean 0.000, max 0 (row 1, counted from 1), variance", NULL);
    static const char *const files[] = {"empty", "blank"};
    for (int f = 0; f < 2; f++) {
        char command[64];
        snprintf(command, sizeof command, "info $D/%s.mtx", files[f]);
        expect(command, 0, "0 entries", NULL);
        snprintf(command, sizeof command, "spmv $D/%s.mtx 2>/dev/null", files[f]);
        expect(command, 0, "correct", NULL);
        snprintf(command, sizeof command, "bench $D/%s.mtx --formats csr 2>/dev/null", files[f]);
        expect(command, 0, "0 entries", NULL);
        snprintf(command, sizeof command, "bench $D/%s.mtx --formats all --runs 1 2>/dev/null", files[f]);
        expect(command, 0, "0 entries", NULL);
    }
}

static void devices_and_kernels(void **state)
{
    expect("devices", 0, "cpu: ", NULL);
    expect("devices --threads 1 --measure 2>/dev/null", 0, "GB/s with 1 thread,", NULL);
    expect("devices now", 2, NULL, "expected no arguments, but got 'now'");
    expect("devices --threads 0", 2, NULL, "--threads is 0, expected 1 to 1024");
    expect("devices --threads two", 2, NULL, "--threads is 'two', expected a whole number");
    expect("devices --threads -3", 2, NULL, "--threads is -3, expected 1 to");
    expect("devices --threads 2x", 2, NULL, "--threads is '2x', expected a whole number");
    expect("devices --threads 99999999999999999999", 2, NULL, "expected 1 to 1024");
    expect("kernels", 0, TEST_STUDY("csr_reference_cpu", "Kernels of studies are not in this build"), NULL);
    expect("kernels --format coo", 0, "coo_portable_cpu", NULL);
    expect("kernels --long --format csr", 0, "storage: ", NULL);
    if (__builtin_cpu_supports("avx2"))
        expect("spmv gen:fem3,x=15,y=15,z=15,bits=24 --format packed", 0, ", values as f32", NULL);
    expect("kernels --format cs", 2, NULL, "--format is 'cs', expected one of: ");
    expect("kernels --device tpu", 2, NULL, "--device is 'tpu', expected one of: cpu, cuda");
    expect("kernels csr", 2, NULL, "expected no arguments");
    outcome o = spry("kernels --json");
    assert_int_equal(o.status, 0);
    assert_true(count_lines(o.out) >= 4);
    for (int l = 0; l < count_lines(o.out); l++) {
        cJSON *line = json_line(o.out, l);
        assert_true(cJSON_IsString(cJSON_GetObjectItem(line, "name")));
        assert_true(cJSON_IsBool(cJSON_GetObjectItem(line, "deterministic")));
        assert_true(cJSON_IsBool(cJSON_GetObjectItem(line, "available")));
        cJSON_Delete(line);
    }
    release(&o);
    o = spry("devices --json");
    cJSON *line = json_line(o.out, 0);
    assert_string_equal(cJSON_GetObjectItem(line, "name")->valuestring, "cpu");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "copy_gbps")));
    cJSON_Delete(line);
    release(&o);
}

/* Asserts that kernels above the SPRY_SIMD level are listed with the reason. */
static void kernels_of_another_level(void **state)
{
    setenv("SPRY_SIMD", "portable", 1);
    expect("kernels --format csr", 0, "csr_portable_cpu", NULL);
    expect("spmv --format csr $D/small.mtx 2>/dev/null", 0, "csr_portable_cpu", NULL);
#ifdef SPRY_HAVE_X86
    expect("kernels --format csr", 0, "no (1)", NULL);
    expect("bench --kernels csr_avx2_cpu $D/small.mtx 2>/dev/null", 1, "skipped  csr_avx2_cpu: ", NULL);
    expect("spmv --kernel csr_avx2_cpu $D/small.mtx 2>/dev/null >/dev/null", 1, NULL, NULL);
#endif
    unsetenv("SPRY_SIMD");
}

static int is_text_or_null(const cJSON *item)
{
    return cJSON_IsString(item) || cJSON_IsNull(item);
}

/* Checks that the JSON line has exactly the expected fields. Numbers are null for formats without a prediction. */
static void check_explanation(const char *command, const char *device)
{
    static const char *const texts[] = {"matrix", "type", "op", "policy", "device", "fitted", "format", "reason"};
    static const char *const numbers[] = {"rows", "columns", "nnz", "threads", "calls"};
    static const char *const of_each[] = {"predicted_us", "setup_us",   "total_us",    "bytes",
                                          "roof",         "break_even", "measured_us", "measured_setup_us"};
    enum { TEXTS = sizeof texts / sizeof *texts, NUMBERS = sizeof numbers / sizeof *numbers, OF_EACH = 8 };
    outcome o = spry("%s --json", command);
    assert_int_equal(o.status, 0);
    assert_int_equal(count_lines(o.out), 1);
    cJSON *line = json_line(o.out, 0);
    assert_int_equal(cJSON_GetArraySize(line),
                     TEXTS + NUMBERS + 6 +
                         2); /* 6 fields that are null, a flag or a list, and 2 that every command writes */
    assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(line, "pattern")), strstr(command, "--pattern") != NULL);
    assert_true(is_text_or_null(cJSON_GetObjectItem(line, "kernel")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "count")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(line, "layout")));
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        assert_true(cJSON_IsString(cJSON_GetObjectItem(line, texts[t])));
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        assert_true(cJSON_IsNumber(cJSON_GetObjectItem(line, numbers[n])));
    assert_string_equal(cJSON_GetObjectItem(line, "device")->valuestring, device);
    const cJSON *candidates = cJSON_GetObjectItem(line, "candidates"), *candidate, *feature;
    assert_true(cJSON_GetArraySize(candidates) >= 12);
    cJSON_ArrayForEach(candidate, candidates)
    {
        const cJSON *refused = cJSON_GetObjectItem(candidate, "refused");
        assert_true(cJSON_IsString(cJSON_GetObjectItem(candidate, "format")));
        assert_int_equal(cJSON_GetArraySize(candidate), 3 + OF_EACH);
        assert_true(is_text_or_null(refused) && is_text_or_null(cJSON_GetObjectItem(candidate, "kernel")));
        for (size_t n = 0; n < OF_EACH; n++) {
            const cJSON *item = cJSON_GetObjectItem(candidate, of_each[n]);
            assert_true(cJSON_IsNumber(item) || cJSON_IsNull(item));
            if (n < 4 && cJSON_IsNull(refused)) assert_true(item->valuedouble > 0);
        }
    }
    cJSON_ArrayForEach(feature, cJSON_GetObjectItem(line, "features")) assert_true(cJSON_IsNumber(feature));
    assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(line, "features")) > 10);
    cJSON_Delete(line);
    release(&o);
}

static void explain(void **state)
{
    check_explanation("explain gen:grid5,x=200,y=200 --device h200", "h200");
    check_explanation("explain gen:grid5,x=200,y=200 --device cuda --type f32 --transpose", "h200");
    check_explanation("explain gen:grid5,x=200,y=200 --device avx512 --threads 2", "avx512");
    check_explanation("explain gen:grid5,x=200,y=200 --device h200 --pattern", "h200");
    expect("explain gen:rmat,scale=15 --device h200 --pattern", 0, "swept", NULL);
    expect("explain $D/small.mtx", 0, "takes           csr: ", NULL);
    expect("explain gen:fem3,x=26,y=26,z=26 --device h200 --type f32", 0, "bsr: ", NULL);
    expect("explain gen:grid5,x=300,y=300 --device h200 --calls 3", 0, "csr: too few calls expected", NULL);
    expect("explain gen:grid5,x=300,y=300 --device h200 --policy tree", 0, "ell: rows are uniform", NULL);
    expect("explain $D/small.mtx --device abacus", 2, NULL, "--device is 'abacus', expected one of: cpu, cuda, h200");
    expect("explain $D/small.mtx --device cuda:1", 2, NULL, "--device is 'cuda:1', expected one of: cpu, cuda, h200");
    expect("explain gen:grid5,x=120,y=120 --calls 1", 0, "  for             1 product on ", NULL);
    expect("explain gen:grid5,x=120,y=120 --calls 2", 0, "  for             2 products on ", NULL);
    expect("explain $D/small.mtx --policy dice", 2, NULL, "no policy \"dice\", expected cost, measure, tree");
    expect("explain $D/small.mtx --calls 0", 2, NULL, "--calls is 0, expected 1 to");
    expect("explain $D/none.mtx", 2, NULL, "none.mtx");
    expect("explain", 2, NULL, "FILE");
}

/* Asserts that an unknown name is reported before the matrix is read: the file does not exist. */
static void names_first(void **state)
{
    expect("spmv $D/none.mtx --kernel nope", 2, NULL,
           "no kernel \"nope\" is known, expected one of csr_portable_cpu, ");
    expect("spmv $D/none.mtx --format nope", 2, NULL, "no format \"nope\" is known, expected one of auto, ");
    expect("spmv $D/none.mtx --format CSR", 2, NULL, "lower case: \"csr\"");
    expect("spmv $D/none.mtx --format coo --kernel csr_portable_cpu", 2, NULL,
           "works on format csr, but format is coo");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    expect("spmv $D/none.mtx --device cuda", 1, NULL, "cuda");
    unsetenv("CUDA_VISIBLE_DEVICES");
    expect("spmv $D/none.mtx --ordering amd", 2, NULL,
           "--ordering is 'amd', expected one of: none, rcm, bandk, degree, bfs");
    expect("spmv gen:grid7,x=4,y=5,z=3 --ordering rcm --format csr 2>/dev/null", 0, "rcm, by the plan", NULL);
    expect("spmv $D/none.mtx --device tpu", 2, NULL, "--device is 'tpu', expected one of: cpu, cuda");
    expect("spmv $D/none.mtx --kernel csr_portable_cpu --format auto -t", 2, NULL, "none.mtx: cannot be opened");
}

/* Asserts that a factor outside the range of f32 is refused, not rounded to infinity or zero. */
static void factors(void **state)
{
    expect("spmv $D/small.mtx --type f32 --alpha 1e39", 2, NULL,
           "--alpha is 1e+39, out of the range of f32: expected 0, a magnitude of 1.4013e-45 to 3.40282e+38, or --type "
           "f64");
    expect("spmv $D/small.mtx --beta -1e39 --type f32", 2, NULL, "--beta is -1e+39, out of the range of f32");
    expect("spmv $D/small.mtx --beta 1e-60 --type f32", 2, NULL, "--beta is 1e-60, out of the range of f32");
    expect("spmv $D/small.mtx --type f32 --alpha 3e38 --beta 0 2>/dev/null -o - --x ones", 0, "4 1\n", NULL);
    expect("spmv $D/small.mtx --alpha 1e39 --beta 1e-60 -o - --x ones 2>/dev/null", 0, "1.5e+39\n", NULL);
}

static void convert(void **state)
{
    expect("convert $D/small.mtx -o -", 0, "%%MatrixMarket matrix coordinate real general\n4 5 6\n1 1 2.5\n", NULL);
    expect("convert $D/sym.mtx -o -", 0, "symmetric\n3 3 4\n1 1 4\n2 1 -1\n", NULL);
    expect("convert $D/sym.mtx --full -o -", 0, "general\n3 3 5\n1 1 4\n1 2 -1\n2 1 -1\n", NULL);
    expect("convert $D/small.mtx --type pattern -o -", 0, "pattern general\n4 5 6\n1 1\n1 5\n", NULL);
    expect("convert - -o $D/copy.mtx < $D/small.mtx", 0, "copy.mtx: 4 x 5, 6 entries, Matrix Market, ", NULL);
    char *copy = read_file("copy.mtx");
    if (!copy) fail();
    assert_non_null(strstr(copy, "4 4 100\n"));
    free(copy);
    expect("convert $D/small.mtx -o $D/copy.mtx.gz", 0, "4 x 5, 6 entries, Matrix Market, gzip, ", NULL);
    expect("info $D/copy.mtx.gz", 0, "4 x 5, 6 entries", NULL);
    expect("convert $D/small.mtx", 2, NULL, "-o OUT is missing");
    expect("convert -o $D/copy.mtx", 2, NULL, "a matrix FILE is missing");
    expect("convert $D/small.mtx -o $D/none/copy.mtx", 2, NULL, "none/copy.mtx");
    expect("convert $D/small.mtx -o $D", 2, NULL, "irectory");
    expect("convert $D/small.mtx -o", 2, NULL, "--out needs a value: OUT");
    static const char *const strange[] = {"convert $D/small.mtx", "gen grid5,x=2,y=2", "reorder $D/small.mtx",
                                          "spgemm gen:grid5,x=2,y=2"};
    for (size_t c = 0; c < sizeof strange / sizeof *strange; c++) {
        char command[80];
        snprintf(command, sizeof command, "%s -o $D/copy.foo", strange[c]);
        expect(command, 2, NULL, "copy.foo': expected a name that ends in .mtx, .mtx.gz, .csv, .csv.gz or .spry");
    }
    expect("convert $D/small.mtx -o $D/copy.csv", 0, "copy.csv: 4 x 5, 6 entries, CSV, nodes counted from 1", NULL);
    copy = read_file("copy.csv");
    if (!copy) fail();
    assert_int_equal(strncmp(copy, "source,target,weight\n1,1,2.5\n", 29), 0);
    free(copy);
    expect("convert $D/small.mtx -o $D/copy.txt.gz", 2, NULL, "copy.txt.gz': expected a name that ends in .mtx");
    expect("convert $D/small.mtx -o $D/.mtx", 0, "4 x 5", NULL);
    expect("convert $D/small.mtx -o /dev/null", 0, NULL, NULL);
    assert_null(read_file("copy.foo"));
}

static void gen(void **state)
{
    expect("gen --list", 0, "grid7", NULL);
    expect("gen grid5,x=2,y=2 -o - --full", 0, "\n4 4 12\n", NULL);
    expect("gen gen:grid5,x=2,y=2 -o $D/grid.mtx", 0, "grid.mtx: 4 x 4, 12 entries", NULL);
    expect("info $D/grid.mtx", 0, "4 x 4, 12 entries", NULL);
    expect("gen -o $D/x.mtx", 2, NULL, "NAME of a generator is missing");
    expect("gen grid5", 2, NULL, "-o OUT is missing");
    expect("gen gird5 -o $D/x.mtx", 2, NULL, "gird5");
    expect("gen grid5,q=2 -o $D/x.mtx", 2, NULL, "q");
    expect("gen grid5,x=many -o $D/x.mtx", 2, NULL, "many");
    expect("gen --list grid5", 2, NULL, "--list takes no NAME");
    expect("gen grid5,x=2,y=2 --json -o $D/x.mtx", 0, "\"command\":\"gen\",\"matrix\":\"grid5,x=2,y=2\"", NULL);
    expect("convert $D/small.mtx --json -o $D/x.mtx", 0, "\"command\":\"convert\",\"matrix\":\"small\"", NULL);
    expect("convert $D/small.mtx --json -o -", 2, NULL, "--out - and --json both write to standard output");
    char made[300];
    snprintf(made, sizeof made, "%s/x.mtx", folder());
    assert_int_equal(unlink(made), 0);
    outcome o = spry("gen --list --json");
    assert_true(count_lines(o.out) > 10);
    cJSON *line = json_line(o.out, 3);
    assert_true(cJSON_IsString(cJSON_GetObjectItem(line, "description")));
    cJSON_Delete(line);
    release(&o);
}

/* Asserts that messages name the program's options, where the library would name struct fields. */
static void options_are_named(void **state)
{
    write_file("index_base.csv", "0,1\n");
    expect("info $D/index_base.csv --base 1", 2, NULL,
           "index_base.csv:1: source node 0 is below 1, the first number; if the first number is 0, read with --base "
           "0\n");
    expect("spmv gen:grid5,x=9,y=9 --memory-limit -5", 2, NULL, "--memory-limit");
    /* the record of a refusal has the reason, and no field of a measurement */
    outcome o = spry("bench --formats none --json 2>/dev/null");
    assert_int_equal(o.status, 2);
    assert_null(strstr(o.out, "time_us"));
    assert_non_null(strstr(o.out, "\"status\":\"failed\",\"reason\":\"--formats: there is no format 'none'"));
    release(&o);
}

/* Asserts that evenly spread entries are grey, and that dense places are dark. */
static void shades(void **state)
{
    outcome o =
        shell("awk 'BEGIN { for (i = 0; i < 40000; i++) print i % 1000, (i * 7919 + int(i / 1000) * 13) % 1000 }' "
              ">\"$D/even.txt\"; \"$SPRY\" info \"$D/even.txt\" | sed -n '/where entries/,/blank/p' | sed '$d'");
    assert_non_null(strstr(o.out, "▒▒▒▒▒"));
    assert_null(strstr(o.out, "██"));
    release(&o);
    expect("info gen:grid5,x=100,y=100", 0, "███", NULL);
}

/*
 * Asserts that no value of OMP_NUM_THREADS, and no missing memory for thread stacks, ends the program or changes its
 * result.
 */
static void numbers_of_threads(void **state)
{
    outcome o =
        shell("for n in 99999 0 -1 4,2 garbage 99999999999999999999 '' 64; do "
              "export OMP_NUM_THREADS=\"$n\"; \"$SPRY\" spmv gen:grid5,x=300,y=300 2>&1 | grep -c correct; done");
    if (strcmp(o.out, "1\n1\n1\n1\n1\n1\n1\n1\n") != 0) fail_msg("%s%s", o.out, o.err);
    release(&o);
    expect("spmv gen:grid5 --threads 99999", 2, NULL, "--threads is 99999, expected 1 to 1024");
    if (INSTRUMENTED) return; /* a sanitizer uses the whole address space */
    o = shell("\"$SPRY\" gen grid5,x=700,y=700 -o \"$D/many.mtx\" && ulimit -v 400000 && OMP_NUM_THREADS=64 && "
              "export OMP_NUM_THREADS && \"$SPRY\" spmv \"$D/many.mtx\"");
    if (o.status != 0 || !strstr(o.out, "correct")) fail_msg("%s%s", o.out, o.err);
    release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_and_version),
        cmocka_unit_test(unknown_words),
        cmocka_unit_test(missing_files),
        cmocka_unit_test(info),
        cmocka_unit_test(picture),
        cmocka_unit_test(empty_matrices),
        cmocka_unit_test(devices_and_kernels),
        cmocka_unit_test(kernels_of_another_level),
        cmocka_unit_test(explain),
        cmocka_unit_test(names_first),
        cmocka_unit_test(factors),
        cmocka_unit_test(convert),
        cmocka_unit_test(gen),
        cmocka_unit_test(options_are_named),
        cmocka_unit_test(shades),
        cmocka_unit_test(numbers_of_threads),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
