/* Tests of spry spgemm and spry bench --op spgemm on the command line. */
#include "records.h"
#include "spawn.h"

/* Writes P (2 x 3) and Q (3 x 2): P*Q = [12 0; 0 5]. The 0 in row 1 is 1*2 - 2*1; the 0 in row 2 has no products. */
static int make_factors(void **state)
{
    make_matrices(state);
    write_file("p.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1\n1 2 -2\n2 3 5\n");
    write_file("q.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 5\n1 1 2\n1 2 2\n2 1 -5\n2 2 1\n3 2 1\n");
    write_file("square.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n2 1 3\n2 2 4\n");
    return 0;
}

/*
 * Checks the reported bytes. The workspace of the symbolic phase, one bit per column, is larger than C and the
 * workspace of the numeric phase together, so the peak is not the sum of all parts.
 */
static void tells_bytes(void **state)
{
    write_file("tall.mtx", "%%MatrixMarket matrix coordinate real general\n3 1 3\n1 1 1\n2 1 2\n3 1 3\n");
    write_file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n1 100000000 1\n1 77777777 1\n");
    expect("spgemm $D/tall.mtx $D/wide.mtx --threads 1", 0, "inputs 72 B, C 52 B, workspace 12.7 MB", NULL);
    expect("spgemm $D/square.mtx --drop-zeros", 0, "inputs 48 B, C 48 B", NULL);
    expect("spgemm $D/p.mtx $D/q.mtx --drop-zeros", 0, "inputs 124 B, C 36 B", NULL);
}

static void writes_the_product(void **state)
{
    static const char head[] = "%%MatrixMarket matrix coordinate real general\n";
    char text[256];
    snprintf(text, sizeof text, "%s2 2 3\n1 1 4\n2 1 18\n2 2 16\n", head);
    expect_text("spgemm $D/square.mtx -o -", text);
    expect_text("spgemm $D/square.mtx $D/square.mtx -o -", text);
    snprintf(text, sizeof text, "%s2 2 3\n1 1 12\n1 2 0\n2 2 5\n", head);
    expect_text("spgemm $D/p.mtx $D/q.mtx -o -", text);
    snprintf(text, sizeof text, "%s2 2 2\n1 1 12\n2 2 5\n", head);
    expect_text("spgemm $D/p.mtx $D/q.mtx --drop-zeros -o -", text);
    snprintf(text, sizeof text, "%s2 2 3\n1 1 -6\n1 2 0\n2 2 -2.5\n", head);
    outcome o = spry("spgemm $D/p.mtx $D/q.mtx --alpha -0.5 --type f32 -o -");
    assert_int_equal(o.status, 0);
    assert_true(strcmp(o.out, text) == 0 || strstr(o.out, "1 2 -0\n"));
    release(&o);
    /* P*P^T: the rows of P share no column */
    snprintf(text, sizeof text, "%s2 2 2\n1 1 5\n2 2 25\n", head);
    expect_text("spgemm $D/p.mtx --transpose-b -o -", text);
    expect_text("spgemm $D/p.mtx $D/p.mtx --transpose-b -o -", text);
    snprintf(text, sizeof text, "%s2 2 3\n1 1 12\n2 1 0\n2 2 5\n", head);
    expect_text("spgemm $D/q.mtx $D/p.mtx --transpose-a --transpose-b -o -", text); /* (P*Q)^T */
    expect("spgemm $D/square.mtx -o $D/c.mtx.gz", 0, "C written to", NULL);
    expect("info $D/c.mtx.gz", 0, "2 x 2, 3 entries", NULL);
    expect("spgemm $D/square.mtx -o $D/c.spry", 0, "C written to", NULL);
    expect("spgemm $D/c.spry --verify=exact", 0, "structure and every value", NULL);
    expect("spgemm gen:empty,rows=0,cols=0", 0, "0 x 0, 0 entries", NULL);
    expect("spgemm gen:empty,rows=5,cols=0 gen:empty,rows=0,cols=7 --verify=exact", 0, "5 x 7, 0 entries", NULL);
}

static void reads_standard_input(void **state)
{
    outcome o = spry_with_input("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n",
                                "spgemm - $D/square.mtx -o -");
    assert_int_equal(o.status, 0);
    assert_string_equal(o.out, "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 3\n1 2 4\n2 1 2\n");
    release(&o);
}

static void says_what_it_did(void **state)
{
    expect("spgemm gen:grid5,x=20,y=20", 0, "C = A*A, f64, indices 32/32", NULL);
    expect("spgemm gen:grid5,x=20,y=20 --type f32 --index 64/64", 0, "C = A*A, f32, indices 64/64", NULL);
    expect("spgemm gen:grid5,x=20,y=20 --alpha 3 --transpose-b", 0, "C = 3 A*A^T, f64", NULL);
    expect("spgemm gen:grid5,x=20,y=20 --alpha 3 --transpose-a --verify=exact", 0, "C = 3 A^T*A, f64", NULL);
    expect("spgemm gen:grid5,x=20,y=20 --device cpu --threads 3", 0, "same bits every run)", NULL);
    expect("spgemm gen:grid5,x=20,y=20 --verify", 0, "C*x against A*(B*x), error", NULL);
    expect("spgemm gen:grid5,x=20,y=20 gen:random,rows=400,cols=30,density=0.1 --verify=exact --type f32", 0,
           "in the worst row: correct", NULL);
    expect("spgemm --help", 0, "spry spgemm gen:rmat16 --estimate", NULL);
    expect("spgemm --help", 0, "a kernel of 'spry kernels' with operation spgemm", NULL);
    expect("spgemm --help", 0, "--device cuda --kernel spgemm_rows_cuda\n", NULL);
    expect("--help", 0, "spgemm    multiply two sparse matrices", NULL);
}

/* Runs each CPU kernel by its name, which the output must contain. */
static void kernels_by_name(void **state)
{
    outcome o = spry("kernels --json");
    int found = 0;
    assert_int_equal(o.status, 0);
    for (int l = 0; l < count_lines(o.out); l++) {
        cJSON *kernel = json_line(o.out, l);
        char command[200];
        snprintf(command, sizeof command, "spgemm gen:rmat,scale=7 --kernel %s --verify=exact",
                 text_of(kernel, "name"));
        if (strcmp(text_of(kernel, "operations"), "spgemm") == 0 && strcmp(text_of(kernel, "device"), "cpu") == 0 &&
            cJSON_IsTrue(cJSON_GetObjectItem(kernel, "available"))) {
            expect(command, 0, text_of(kernel, "name"), NULL);
            found++;
        }
        cJSON_Delete(kernel);
    }
    release(&o);
    assert_true(found >= 1);
}

static cJSON *json_of(const char *command, int status)
{
    outcome o = spry("%s", command);
    if (o.status != status) print_error("%s: status %d\n%s%s", command, o.status, o.out, o.err);
    assert_int_equal(o.status, status);
    assert_int_equal(count_lines(o.out), 1);
    cJSON *record = json_line(o.out, 0);
    release(&o);
    return record;
}

static void estimates(void **state)
{
    expect("spgemm gen:grid5,x=10,y=10 --estimate", 0, "least limit", NULL);
    cJSON *e = json_of("spgemm gen:grid5,x=10,y=10 --device cpu --estimate --json", 0);
    cJSON *c = json_of("spgemm gen:grid5,x=10,y=10 --device cpu --json", 0);
    static const char *const same[] = {"rows",  "columns",     "nnz",   "nnz_b",     "products",
                                       "nnz_c", "compression", "bytes", "peak_bytes"};
    for (size_t f = 0; f < sizeof same / sizeof *same; f++)
        assert_near(number_of(e, same[f]), number_of(c, same[f]), 0);
    assert_near(number_of(c, "products"), 2148, 0); /* sum of squared row lengths: 64 rows of 5, 32 of 4, 4 of 3 */
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(e, "exact")));
    assert_near(number_of(e, "bytes"), number_of(c, "nnz_c") * 12 + 101 * 4, 0);
    assert_near(number_of(e, "input_bytes"), 460 * 12 + 101 * 4, 0);
    assert_true(number_of(e, "least_bytes") <= number_of(e, "peak_bytes"));
    cJSON_Delete(e);
    cJSON_Delete(c);
}

/* Asserts that the reported limit is enough and one byte less is refused. A refused product leaves no file. */
static void keeps_a_memory_limit(void **state)
{
    cJSON *e = json_of("spgemm gen:rmat,scale=9 --device cpu --estimate --json", 0);
    const long long least = (long long)number_of(e, "least_bytes");
    char command[200], needed[100];
    cJSON_Delete(e);
    const int files = count_files();
    snprintf(command, sizeof command, "spgemm gen:rmat,scale=9 --device cpu --memory-limit %lld -o $D/over.mtx",
             least - 1);
    snprintf(needed, sizeof needed, "spry spgemm: inputs, result and workspace need %lld bytes, the limit is %lld",
             least, least - 1);
    expect(command, 1, NULL, needed);
    assert_int_equal(count_files(), files);
    snprintf(command, sizeof command, "spgemm gen:rmat,scale=9 --device cpu --memory-limit %lld --json --verify=exact",
             least);
    cJSON *c = json_of(command, 0);
    assert_true(number_of(c, "peak_bytes") <= (double)least);
    assert_string_equal(text_of(c, "class"), "irregular");
    assert_near(number_of(c, "memory_limit"), (double)least, 0);
    assert_string_equal(text_of(c, "verified"), "exact");
    cJSON_Delete(c);
    c = json_of("spgemm gen:rmat,scale=9 --memory-limit 1k --json 2>/dev/null", 1);
    assert_string_equal(text_of(c, "status"), "failed");
    assert_non_null(strstr(text_of(c, "reason"), "the limit is 1024"));
    cJSON_Delete(c);
    /* K, M and G are powers of 1024 */
    static const struct {
        const char *text;
        double bytes;
    } limits[] = {{"4G", 4294967296}, {"1.5M", 1572864}, {"900K", 921600}, {"900k", 921600}, {"2000000", 2000000}};
    for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
        snprintf(command, sizeof command, "spgemm gen:grid5,x=9,y=9 --memory-limit %s --json", limits[l].text);
        c = json_of(command, 0);
        assert_near(number_of(c, "memory_limit"), limits[l].bytes, 0);
        cJSON_Delete(c);
    }
}

static void mistakes(void **state)
{
    static const struct {
        const char *command, *message;
    } cases[] = {
        {"spgemm", "matrix FILEs, A and B is missing"},
        {"spgemm a b c", "'c' is one argument too many"},
        {"spgemm $D/none.mtx", "none.mtx"},
        {"spgemm $D/square.mtx $D/none.mtx", "none.mtx"},
        {"spgemm $D/bad.mtx", "bad.mtx:4"},
        {"spgemm $D/small.mtx", "the matrix is 4 x 5, expected a square matrix; give B"},
        {"spgemm $D/p.mtx $D/square.mtx", "the matrix has 2 rows, expected 3, the number of"},
        {"spgemm $D/p.mtx $D/q.mtx --transpose-b", "the matrix has 2 columns, expected 3, the number of"},
        {"spgemm $D/p.mtx $D/q.mtx --transpose-a", "the matrix has 3 rows, expected 2, the number of"},
        {"spgemm - -", "A and B are both '-'"},
        {"spgemm $D/square.mtx --memory-limit", "--memory-limit needs a value: BYTES"},
        {"spgemm $D/square.mtx --memory-limit 4TB",
         "--memory-limit is '4TB', expected a number of bytes, or one with a unit: kB, MB, GB (powers of 1000), KiB"},
        {"spgemm $D/square.mtx --memory-limit G", "--memory-limit is 'G'"},
        {"spgemm $D/square.mtx --memory-limit 1..5M", "--memory-limit is '1..5M'"},
        {"spgemm $D/square.mtx --memory-limit -1", "--memory-limit is '-1'"},
        {"spgemm $D/square.mtx --memory-limit 0", "--memory-limit is 0, expected 1 byte"},
        {"spgemm $D/square.mtx --memory-limit 9999999999G", "expected 1 byte to 2^62"},
        {"spgemm $D/square.mtx --device gqu", "--device is 'gqu', expected one of: auto, cpu, cuda"},
        {"spgemm $D/square.mtx --verify=all", "--verify is 'all', expected one of: random, exact"},
        {"spgemm $D/square.mtx --kernel spgemm_nothing_cpu", "spgemm_nothing_cpu"},
        {"spgemm $D/square.mtx --kernel csr_plain_cpu", "csr_plain_cpu"},
        {"spgemm $D/square.mtx --alpha two", "--alpha is 'two', expected a finite number"},
        {"spgemm $D/square.mtx --alpha 1e60 --type f32", "--alpha is 1e+60, out of the range of f32"},
        {"spgemm $D/square.mtx --type f16", "--type"},
        {"spgemm $D/square.mtx --estimate -o $D/c.mtx", "--estimate does not compute C: it excludes --out"},
        {"spgemm $D/square.mtx --estimate --verify", "it excludes --verify"},
        {"spgemm $D/square.mtx -o - --json", "--out - and --json both write to standard output"},
        {"spgemm $D/square.mtx -o $D/square.mtx", "expected another file"},
        {"spgemm gen:grid5,x=2,y=1 $D/square.mtx -o $D/square.mtx", "expected another file"},
        {"spgemm $D/square.mtx -o $D/none/c.mtx", "none/c.mtx: cannot be written: No such file"},
        {"spgemm $D/absent.mtx -o $D/none/c.mtx", "none/c.mtx: cannot be written"}, /* absent.mtx is not read */
        {"spgemm $D/square.mtx --beta 1", "--beta"},
        {"bench $D/square.mtx --op spgemm --kernels csr_portable_cpu", "multiplies with a vector"},
        {"bench $D/square.mtx --kernels mkl_sp2m --peers", "add --op spgemm"},
        {"bench $D/square.mtx --op spgemm --formats ell", "expected auto or all"},
        {"bench $D/square.mtx --op spgemm --ordering none,plan-rcm", "--ordering is 'plan-rcm'"},
        {"bench --suite products --op spmv_t", "--suite products squares matrices, --op is spmv_t: expected spgemm"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) expect(cases[c].command, 2, NULL, cases[c].message);
}

/* ---- bench --op spgemm -------------------------------------------------------------------------- */

static void benchmark_records(void **state)
{
    cJSON *records = records_of("bench gen:grid5,x=10,y=10 --op spgemm --device cpu --type all --json", 0);
    const cJSON *r;
    assert_int_equal(cJSON_GetArraySize(records), 2);
    cJSON_ArrayForEach(r, records)
    {
        assert_string_equal(text_of(r, "status"), "ok");
        assert_string_equal(text_of(r, "op"), "spgemm");
        assert_near(number_of(r, "products"), 2148, 0);
        assert_near(number_of(r, "compression"), 2148 / number_of(r, "nnz_c"), 1e-6);
        assert_near(number_of(r, "gflops"), 2e-3 * 2148 / number_of(r, "time_us"), 1e-5);
        assert_true(number_of(r, "peak_bytes") >= number_of(r, "bytes"));
        assert_true(number_of(r, "runs") >= 5);
    }
    cJSON_Delete(records);
    /* A plan's record measures the numeric phase, with the symbolic phase as set-up. */
    records = records_of("bench gen:grid5,x=10,y=10 --op spgemm --device cpu --calls 10 --json", 0);
    assert_int_equal(cJSON_GetArraySize(records), 2);
    r = find(records, "format", "plan");
    assert_non_null(r);
    assert_true(number_of(r, "setup_us") > 0);
    cJSON_Delete(records);
    /* Other operations have no such fields. */
    records = records_of("bench gen:grid5,x=10,y=10 --device cpu --formats csr --json", 0);
    assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(records, 0), "products"));
    assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(records, 0), "stages"));
    cJSON_Delete(records);
    expect("bench gen:grid5,x=10,y=10 --op spgemm --device cpu 2>/dev/null", 0, "2 148 products", NULL);
    expect("bench gen:grid5,x=10,y=10 --op spgemm --cold --ordering rcm 2>/dev/null", 0, "cold", NULL);
}

#ifdef SPRY_STUDIES
static double stage_of(const cJSON *record, const char *name)
{
    const cJSON *stage = cJSON_GetObjectItem(cJSON_GetObjectItem(record, "stages"), name);
    if (!cJSON_IsNumber(stage) && !cJSON_IsNull(stage)) fail_msg("%s is no stage", name);
    return cJSON_IsNumber(stage) ? stage->valuedouble : -1;
}

/*
 * Asserts that records report the time to read the file. The time of a conversion is reported even if the product is
 * skipped.
 */
static void stages_of_records(void **state)
{
    cJSON *records = records_of("bench $D/square.mtx --op spgemm --device cpu --runs 2 --json --kernels "
                                "spgemm_smmp_cpu,spgemm_seed_dot_cpu",
                                0);
    const cJSON *smmp = find(records, "kernel", "spgemm_smmp_cpu"),
                *dot = find(records, "kernel", "spgemm_seed_dot_cpu");
    assert_true(stage_of(smmp, "read") > 0 && stage_of(dot, "read") == stage_of(smmp, "read"));
    assert_true(stage_of(smmp, "convert") == -1 && stage_of(dot, "convert") > 0);
    assert_true(stage_of(smmp, "count") >= 0 && stage_of(smmp, "scan") >= 0 && stage_of(smmp, "fill") >= 0);
    assert_true(stage_of(smmp, "sort") >= 0 && stage_of(dot, "sort") == 0);
    cJSON_Delete(records);
    records =
        records_of("bench gen:random,rows=30000,cols=30000,density=1e-4 --op spgemm --device cpu --json --kernels "
                   "spgemm_seed_dot_cpu",
                   0);
    dot = find(records, "kernel", "spgemm_seed_dot_cpu");
    assert_string_equal(text_of(dot, "status"), "skipped");
    assert_true(stage_of(dot, "convert") > 0 && stage_of(dot, "read") == -1 && stage_of(dot, "fill") == -1);
    cJSON_Delete(records);
    cJSON *r = json_of("spgemm $D/square.mtx --kernel spgemm_smmp_cpu --json", 0);
    assert_true(stage_of(r, "read") > 0 && stage_of(r, "fill") >= 0);
    cJSON_Delete(r);
    expect("spgemm gen:grid5,x=30,y=30 --kernel spgemm_smmp_cpu", 0, "stages          count", NULL);
}
#endif

static void wrong_peers_are_found_out(void **state)
{
    char path[512];
    snprintf(path, sizeof path, "%s", SPRY_CLI);
    char *slash = strrchr(path, '/');
    snprintf(slash, sizeof path - (size_t)(slash - path), "/tests/peers");
    setenv("SPRY_PEER_DIR", path, 1);
    static const struct {
        const char *kernel, *status, *reason;
    } peers[] = {{"spgemm_right", "ok", "on purpose, version 1"},
                 {"spgemm_wrong", "wrong", "1 rows of C exceed the error bound, the worst is row 51 (counted from 1)"},
                 {"spgemm_misplaced", "wrong", "1 rows of C are wrong, row 51 (counted from 1) in its positions"},
                 {"spgemm_unsorted", "ok", "rows of C are left unsorted"},
                 {"spgemm_short", "wrong", "entries, expected"},
                 {"spgemm_lost", "failed", "failed on purpose"}};
    for (int t = 0; t < 2; t++) {
        cJSON *records = records_of(t ? "bench gen:grid5,x=10,y=10 --op spgemm --peers --type f32 --json"
                                      : "bench gen:grid5,x=10,y=10 --op spgemm --peers --json",
                                    1);
        for (size_t p = 0; p < sizeof peers / sizeof *peers; p++) {
            const cJSON *r = find(records, "kernel", peers[p].kernel);
            assert_non_null(r);
            assert_string_equal(text_of(r, "status"), peers[p].status);
            if (!strstr(text_of(r, "reason"), peers[p].reason))
                assert_string_equal(text_of(r, "reason"), peers[p].reason);
        }
        static const char *const missing[] = {"mkl_sp2m", "eigen_spgemm", "graphblas_mxm", "scipy_smmp", "octave"};
        for (size_t m = 0; m < sizeof missing / sizeof *missing; m++)
            assert_non_null(strstr(text_of(find(records, "kernel", missing[m]), "reason"), "there is no peer module"));
        assert_null(find(records, "kernel", "csr_wrong"));
        cJSON_Delete(records);
    }
    expect("bench gen:grid5,x=10,y=10 --op spgemm --peers 2>/dev/null", 1, "spgemm_unsorted, unsorted", NULL);
    unsetenv("SPRY_PEER_DIR");
}

/* Asserts that all built peers give correct results. Matrices have empty, dense or long rows. No Python is found. */
static void peers_multiply_matrices(void **state)
{
    static const char *const matrices[] = {"gen:rmat,scale=7", "gen:fem3,x=3,y=3,z=3", "gen:arrow,rows=50",
                                           "gen:empty,rows=9,cols=9"};
    setenv("SPRY_PYTHON", "/nowhere/python", 1);
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++) {
        char command[160];
        snprintf(command, sizeof command, "bench %s --op spgemm --device cpu --type %s --peers --json", matrices[m],
                 m % 2 ? "f32" : "f64");
        cJSON *records = records_of(command, 0);
        const cJSON *r;
        cJSON_ArrayForEach(r, records)
        {
            if (strcmp(text_of(r, "status"), "ok") == 0 || strstr(text_of(r, "reason"), "there is no")) continue;
            if (strcmp(text_of(r, "kernel"), "octave") == 0 && m % 2) continue;
            fail_msg("%s: %s %s, %s", command, text_of(r, "kernel"), text_of(r, "status"), text_of(r, "reason"));
        }
        assert_non_null(strstr(text_of(find(records, "kernel", "scipy_smmp"), "reason"), "there is no"));
        cJSON_Delete(records);
    }
    unsetenv("SPRY_PYTHON");
}

/* Squares a star graph, whose square is full. */
static void large_results_are_refused(void **state)
{
    if (INSTRUMENTED) skip(); /* shadow memory reserves terabytes */
    static const char star[] =
        "awk 'BEGIN { for (i = 1; i < 4000; i++) print \"0,\" i \"\\n\" i \",0\" }' >\"$D/star.csv\"; "
        "ulimit -v 350000; \"$SPRY\" spgemm \"$D/star.csv\" --threads 1 %s";
    static const struct {
        const char *options, *out, *err;
        int status;
    } cases[] = {{"", NULL, "half of the", 2},
                 {"--json", "\"status\":\"failed\"", "--memory-limit BYTES", 2},
                 {"--transpose-a", NULL, "15 992 002 entries", 2},
                 {"--estimate", "least limit", NULL, 0},
                 {"--memory-limit 1M", NULL, "the limit is", 1},
                 {"--memory-limit 900M", "15 992 002", NULL, 0},
                 {"--yes", "time", NULL, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char command[512];
        snprintf(command, sizeof command, star, cases[c].options);
        outcome o = shell(command);
        if (o.status != cases[c].status) print_error("%s\n%s%s", command, o.out, o.err);
        assert_int_equal(o.status, cases[c].status);
        if (cases[c].out) assert_non_null(strstr(o.out, cases[c].out));
        if (cases[c].err) assert_non_null(strstr(o.err, cases[c].err));
        release(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_results_are_refused),
        cmocka_unit_test(writes_the_product),
        cmocka_unit_test(reads_standard_input),
        cmocka_unit_test(says_what_it_did),
        cmocka_unit_test(kernels_by_name),
        cmocka_unit_test(tells_bytes),
        cmocka_unit_test(estimates),
        cmocka_unit_test(keeps_a_memory_limit),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(benchmark_records),
#ifdef SPRY_STUDIES
        cmocka_unit_test(stages_of_records),
#endif
        cmocka_unit_test(wrong_peers_are_found_out),
        cmocka_unit_test(peers_multiply_matrices),
    };
    return cmocka_run_group_tests(tests, make_factors, remove_folder);
}
