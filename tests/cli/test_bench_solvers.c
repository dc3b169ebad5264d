/* Tests of spry bench --op cg and --op pagerank: iterations of whole solves. */
#include "records.h"
#include "spawn.h"

/* SYSTEM is a linear system. GRAPH has weights, and some of its nodes have no outgoing links. */
#define SYSTEM "gen:laplace5,x=30,y=20"
#define GRAPH "gen:rmat20,scale=9"
static const double rows = 600, entries = 5 * 600 - 2 * 30 - 2 * 20;

static int make_files(void **state)
{
    make_matrices(state);
    write_file("skewed.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 2 1\n2 1 0.5\n");
    write_file("indefinite.mtx",
               "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 1\n2 1 2\n2 2 3\n3 3 5\n");
    write_file("hollow.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 1 -3\n");
    write_file("minus.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 -1\n");
    write_file("stop.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 5\n1 2\n1 3\n2 3\n3 1\n3 4\n");
    return 0;
}

/* Returns the number of iterations in the command's only record. */
static double iterations_of(const char *command)
{
    outcome o = spry("%s", command);
    cJSON *line = json_line(o.out, 0);
    const double iterations = number_of(line, "iterations");
    assert_int_equal(o.status, 0);
    cJSON_Delete(line);
    release(&o);
    return iterations;
}

static void check_times(const cJSON *r, double bytes)
{
    const double time = number_of(r, "time_us"), nnz = number_of(r, "nnz");
    assert_string_equal(text_of(r, "status"), "ok");
    assert_true(time > 0 && number_of(r, "min_us") <= time && number_of(r, "spread_us") >= 0);
    assert_true(number_of(r, "runs") >= 5 && number_of(r, "setup_us") > 0);
    /* The first solve runs all iterations. Its time is about the number of iterations times min_us. */
    assert_true(number_of(r, "first_us") > 0.2 * number_of(r, "iterations") * number_of(r, "min_us"));
    assert_near(number_of(r, "gflops"), 2e-3 * nnz / time, 1e-5 * number_of(r, "gflops"));
    assert_near(number_of(r, "gbps"), 1e-3 * bytes / time, 1e-5 * number_of(r, "gbps"));
    assert_true(number_of(r, "max_error") >= 0 && number_of(r, "max_error") <= 1);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(r, "count")) && cJSON_IsNull(cJSON_GetObjectItem(r, "layout")));
}

static void systems(void **state)
{
    static const char *const types[] = {"f64", "f32"};
    for (int t = 0; t < 2; t++) {
        char command[160];
        snprintf(command, sizeof command, "bench " SYSTEM " --op cg --type %s --device cpu --json", types[t]);
        cJSON *records = records_of(command, 0);
        const cJSON *csr = find(records, "format", "csr"), *chosen = find(records, "format", "auto");
        const double width = t == 0 ? 8 : 4;
        assert_int_equal(cJSON_GetArraySize(records), 2);
        assert_string_equal(text_of(csr, "op"), "cg");
        assert_near(number_of(csr, "nnz"), entries, 0);
        check_times(csr, entries * (width + 4) + 4 * (rows + 1) + 11 * width * rows);
        check_times(chosen, entries * (width + 4) + 4 * (rows + 1) + 11 * width * rows);
        snprintf(command, sizeof command, "solve " SYSTEM " --type %s --format csr --json", types[t]);
        assert_near(number_of(csr, "iterations"), iterations_of(command), 0);
        snprintf(command, sizeof command, "solve " SYSTEM " --type %s --json", types[t]);
        assert_near(number_of(chosen, "iterations"), iterations_of(command), 0);
        assert_string_equal(text_of(chosen, "policy"), "cost");
        assert_int_equal(strncmp(text_of(chosen, "reason"), "auto chose ", 11), 0);
        assert_int_equal(strncmp(text_of(csr, "kernel"), "csr_", 4), 0);
        cJSON_Delete(records);
    }
}

static void graphs(void **state)
{
    cJSON *records = records_of("bench " GRAPH " $D/stop.mtx --op pagerank --device cpu --type all --json", 0);
    assert_int_equal(cJSON_GetArraySize(records), 8);
    const cJSON *r = cJSON_GetArrayItem(records, 0);
    const double nodes = number_of(r, "rows"), links = number_of(r, "nnz");
    assert_string_equal(text_of(r, "op"), "pagerank");
    check_times(r, links * 12 + 4 * (nodes + 1) + 6 * 8 * nodes);
    assert_near(number_of(r, "iterations"), iterations_of("pagerank " GRAPH " --format csr --json"), 0);
    cJSON_ArrayForEach(r, records) assert_string_equal(text_of(r, "status"), "ok");
    cJSON_Delete(records);
    records = records_of("bench $D/minus.mtx --op pagerank --pattern --device cpu --formats csr --json", 0);
    r = cJSON_GetArrayItem(records, 0);
    assert_string_equal(text_of(r, "type"), "pattern:f64");
    check_times(r, 2 * 4 + 4 * 3 + 6 * 8 * 2);
    cJSON_Delete(records);
}

static void kernels_and_options(void **state)
{
    cJSON *records = records_of("bench " SYSTEM " --op cg --kernels csr_portable_cpu,ell_portable_cpu --runs 3 "
                                "--threads 1 --index 64/64 --json",
                                0);
    assert_int_equal(cJSON_GetArraySize(records), 2);
    assert_string_equal(text_of(cJSON_GetArrayItem(records, 0), "kernel"), "csr_portable_cpu");
    assert_string_equal(text_of(cJSON_GetArrayItem(records, 1), "format"), "ell");
    const cJSON *r;
    cJSON_ArrayForEach(r, records)
    {
        assert_string_equal(text_of(r, "status"), "ok");
        assert_near(number_of(r, "runs"), 3, 0);
        assert_near(number_of(r, "threads"), 1, 0);
    }
    cJSON_Delete(records);
    records = records_of("bench " SYSTEM " --op cg --formats all --device cpu --runs 1 --json", 0);
    assert_true(cJSON_GetArraySize(records) > 10);
    cJSON_ArrayForEach(r, records)
        assert_true(strcmp(text_of(r, "status"), "ok") == 0 || strcmp(text_of(r, "status"), "skipped") == 0);
    cJSON_Delete(records);
    /* The solve needs 3000 iterations. Ending at the limit of 2000 is no failure, and the reason reports it. */
    records = records_of("bench gen:laplace5,x=6000,y=1,ay=1e-7 --op cg --device cpu --formats csr --runs 1 --json", 0);
    r = cJSON_GetArrayItem(records, 0);
    assert_string_equal(text_of(r, "status"), "ok");
    assert_near(number_of(r, "iterations"), 2000, 0);
    assert_non_null(strstr(text_of(r, "reason"), "iteration limit after 2000 iterations, residual "));
    assert_true(number_of(r, "max_error") <= 1);
    cJSON_Delete(records);
    /* Other operations report no iterations. */
    records = records_of("bench " SYSTEM " --formats csr --runs 1 --json", 0);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetArrayItem(records, 0), "iterations")));
    cJSON_Delete(records);
}

/* Asserts that every case, also of peers, is skipped with a reason if the matrix does not suit the method. */
static void unsuited_matrices(void **state)
{
    static const struct {
        const char *input, *reason;
    } cases[] = {
        {"$D/small.mtx --op cg", "the matrix is 4 x 5, expected a square matrix"},
        {"$D/skewed.mtx --op cg", "the matrix is not symmetric"},
        {"$D/hollow.mtx --op cg", "the matrix is not positive definite: entry 2 of its diagonal (counted from 1) is 0"},
        {"$D/indefinite.mtx --op cg", "not positive definite"},
        {"gen:empty,rows=0,cols=0 --op cg", "the matrix has no rows"},
        {"$D/small.mtx --op pagerank", "the matrix is 4 x 5, expected a square matrix"},
        {"$D/minus.mtx --op pagerank", "entry (2, 1) (counted from 1) is -1; --pattern drops the values"},
    };
    char path[512];
    snprintf(path, sizeof path, "%s", SPRY_CLI);
    snprintf(strrchr(path, '/'), 64, "/tests/peers");
    setenv("SPRY_PEER_DIR", path, 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char command[160];
        snprintf(command, sizeof command, "bench %s --device cpu --peers --json", cases[c].input);
        cJSON *records = records_of(command, 0);
        const cJSON *r;
        int peers = 0;
        cJSON_ArrayForEach(r, records)
        {
            if (strcmp(text_of(r, "status"), "skipped") != 0 || !strstr(text_of(r, "reason"), cases[c].reason))
                fail_msg("%s: %s %s: %s", cases[c].input, text_of(r, "kernel"), text_of(r, "status"),
                         text_of(r, "reason"));
            peers += cJSON_IsTrue(cJSON_GetObjectItem(r, "peer"));
        }
        assert_true(peers >= 5 && cJSON_GetArraySize(records) == peers + 2);
        cJSON_Delete(records);
    }
    unsetenv("SPRY_PEER_DIR");
}

static void wrong_solutions_are_found_out(void **state)
{
    static const struct {
        const char *op, *kernel, *status, *reason;
    } cases[] = {
        {"cg", "cg_right", "ok", "on purpose, version 1"},
        {"cg", "cg_wrong", "wrong", "first solve: the residual of x is "},
        {"cg", "cg_early", "failed", "it ended after 2 iterations with residual "},
        {"cg", "cg_liar", "wrong", "first solve: the residual of x is "},
        {"cg", "cg_limited", "ok", "on purpose, version 1"},
        {"cg", "cg_changing", "wrong", "declared deterministic, but the bits changed between solves"},
        {"cg", "cg_lost", "failed", "failed on purpose"},
        {"pagerank", "rank_right", "ok", "on purpose, version 1"},
        {"pagerank", "rank_wrong", "wrong", "first solve: the residual of x is "},
        {"pagerank", "rank_early", "failed", "it ended after 2 iterations with residual "},
        {"pagerank", "rank_liar", "wrong", "first solve: the residual of x is "},
        {"pagerank", "rank_lost", "failed", "failed on purpose"},
    };
    char path[512], command[200];
    snprintf(path, sizeof path, "%s", SPRY_CLI);
    snprintf(strrchr(path, '/'), 64, "/tests/peers");
    setenv("SPRY_PEER_DIR", path, 1);
    for (int t = 0; t < 2; t++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            const int is_cg = strcmp(cases[c].op, "cg") == 0, good = strcmp(cases[c].status, "ok") == 0;
            if (t == 1 && (strcmp(cases[c].kernel, "cg_changing") == 0 || strstr(cases[c].kernel, "_wrong")))
                continue; /* f32 rounds these changes away */
            snprintf(command, sizeof command, "bench %s --op %s --type %s --peers --kernels %s --runs 2 --json",
                     is_cg ? SYSTEM : GRAPH, cases[c].op, t ? "f32" : "f64", cases[c].kernel);
            cJSON *records = records_of(command, !good);
            const cJSON *r = cJSON_GetArrayItem(records, 0);
            assert_int_equal(cJSON_GetArraySize(records), 1);
            if (strcmp(text_of(r, "status"), cases[c].status) != 0 || !strstr(text_of(r, "reason"), cases[c].reason))
                fail_msg("%s: %s: %s", command, text_of(r, "status"), text_of(r, "reason"));
            assert_int_equal(cJSON_IsNull(cJSON_GetObjectItem(r, "time_us")), !good);
            if (strcmp(cases[c].status, "wrong") == 0 && strcmp(cases[c].kernel, "cg_changing") != 0)
                assert_true(number_of(r, "max_error") > 1);
            cJSON_Delete(records);
        }
    unsetenv("SPRY_PEER_DIR");
}

/* Asserts that a selected peer without a module gives one skipped record. */
static void missing_peers_are_skipped(void **state)
{
    static const char *const names[] = {"eigen_cg",    "petsc_cg",       "cusparse_cublas_cg", "cupy_cg",
                                        "gap_pr_spmv", "scipy_pagerank", "cusparse_pagerank"};
    setenv("SPRY_PEER_DIR", folder(), 1);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        char command[160];
        snprintf(command, sizeof command, "bench %s --op %s --peers --kernels %s --json", SYSTEM,
                 n < 4 ? "cg" : "pagerank", names[n]);
        if (n >= 4)
            snprintf(command, sizeof command, "bench " GRAPH " --op pagerank --peers --kernels %s --json", names[n]);
        cJSON *records = records_of(command, 0);
        assert_int_equal(cJSON_GetArraySize(records), 1);
        const cJSON *r = cJSON_GetArrayItem(records, 0);
        assert_string_equal(text_of(r, "status"), "skipped");
        assert_true(cJSON_IsTrue(cJSON_GetObjectItem(r, "peer")));
        assert_non_null(strstr(text_of(r, "reason"), "there is no peer module"));
        cJSON_Delete(records);
    }
    unsetenv("SPRY_PEER_DIR");
}

/*
 * Asserts that every built peer solves its inputs. A peer may be skipped if a library, GPU, type or index type is
 * missing.
 */
static void peers_solve(void **state)
{
    static const char *const inputs[] = {SYSTEM " --op cg", "gen:laplace7,x=9,y=8,z=7 --op cg", GRAPH " --op pagerank",
                                         "$D/stop.mtx --op pagerank", GRAPH " --op pagerank --pattern"};
    for (int c = 0; c < 10; c++) {
        char command[200];
        snprintf(command, sizeof command,
                 "bench %s --type all --index %s --device cpu --formats csr --peers --runs 2 --json", inputs[c / 2],
                 c % 2 ? "64/64" : "32/32");
        cJSON *records = records_of(command, 0);
        const cJSON *r;
        int good = 0;
        cJSON_ArrayForEach(r, records)
        {
            const int ok = strcmp(text_of(r, "status"), "ok") == 0;
            if (!ok && strcmp(text_of(r, "status"), "skipped") != 0)
                fail_msg("%s: %s %s: %s", command, text_of(r, "kernel"), text_of(r, "status"), text_of(r, "reason"));
            good += ok && cJSON_IsTrue(cJSON_GetObjectItem(r, "peer"));
        }
        assert_true(c < 4 || good >= 2); /* PageRank: GAP's loop, always built, runs in both types */
        cJSON_Delete(records);
    }
}

/* Runs on the mock GPU, which is host memory. */
static void on_a_gpu(void **state)
{
    setenv("SPRY_CUDA_PLUGIN", SPRY_MOCK_PLUGIN, 1);
    for (int c = 0; c < 2; c++) {
        cJSON *records = records_of(c ? "bench " GRAPH " --op pagerank --formats csr,auto --runs 2 --json"
                                      : "bench " SYSTEM " --op cg --formats csr,auto --runs 2 --json",
                                    0);
        assert_int_equal(cJSON_GetArraySize(records), 4); /* two cases on each of two devices */
        for (int i = 0; i < 4; i++) {
            const cJSON *r = cJSON_GetArrayItem(records, i);
            assert_string_equal(text_of(r, "status"), "ok");
            assert_int_equal(strncmp(text_of(r, "device"), i % 2 ? "cuda" : "cpu", 3), 0);
        }
        cJSON_Delete(records);
    }
    unsetenv("SPRY_CUDA_PLUGIN");
}

static void tables(void **state)
{
    char path[512];
    snprintf(path, sizeof path, "%s", SPRY_CLI);
    snprintf(strrchr(path, '/'), 64, "/tests/peers");
    setenv("SPRY_PEER_DIR", path, 1);
    outcome o = spry("bench " SYSTEM " --op cg --device cpu --formats csr --peers --kernels cg_right --runs 2");
    assert_int_equal(o.status, 0);
    assert_non_null(
        strstr(o.out, "600 x 600, 2 900 entries with 2 distinct values, regular; cg, indices 32/32 bits, f64\n"));
    assert_non_null(strstr(o.out, "time us  vs peer  iterations"));
    assert_non_null(strstr(o.out, "\n  * "));
    assert_non_null(strstr(o.out, "time: of an iteration, the mean over a solve"));
    release(&o);
    unsetenv("SPRY_PEER_DIR");
}

static void mistakes(void **state)
{
    static const mistake cases[] = {
        {"--op cg --count 8", "--count is for products with multiple vectors, but --op is cg: expected spmm or spmm_t"},
        {"--op pagerank --layout row", "--layout is for products with multiple vectors, but --op is pagerank"},
        {"--op cg --regret", "--regret is for products with a vector, but --op is cg: expected spmv or spmv_t"},
        {"--op cg --ordering rcm", "--ordering is 'rcm', but --op cg uses the matrix as given: expected none"},
        {"--op pagerank --ordering none,plan-rcm", "--ordering is 'plan-rcm', but --op pagerank uses the matrix"},
        {"--op cg --calls 10", "--calls is for products, not for --op cg"},
        {"--op cg --updates 10", "--updates is for products, not for --op cg"},
        {"--op pagerank --policy cost", "--policy is for products, not for --op pagerank"},
        {"--op cg --memory-limit 1G", "--memory-limit is for products, not for --op cg"},
        {"--op cg --arrays gpu", "--arrays is for products, not for --op cg"},
        {"--op cg --cold", "--cold is for products, not for --op cg"},
        {"--op cg --threads 1,2", "--threads is a list, --op cg expects one number"},
        {"--op cg --pattern", "--pattern is not for --op cg"},
        {"--op cg --type f32:f64", "--type f32:f64 cannot be used with --op cg: expected f32, f64 or all"},
        {"--op cg --suite products", "--suite products squares matrices, --op is cg: expected spgemm"},
        {"--op cg --formats nonsense", "--formats: there is no format 'nonsense'"},
        {"--op pagerank --kernels eigen_cg --peers", "--kernels: 'eigen_cg' solves by CG; add --op cg"},
        {"--op cg --kernels gap_pr_spmv --peers", "--kernels: 'gap_pr_spmv' ranks nodes; add --op pagerank"},
        {"--kernels gap_pr_spmv --peers", "--kernels: 'gap_pr_spmv' ranks nodes; add --op pagerank"},
        {"--op cg --kernels csr_plain --peers", "'csr_plain' is a peer's product, which --op cg does not time"},
        {"--op cg --kernels spgemm_rows_cpu", "multiplies two sparse matrices; add --op spgemm"},
        {"--op cg --kernels eigen_cg", "'eigen_cg' is a peer's kernel; add --peers"},
    };
    expect_mistakes("bench $D/small.mtx", cases, sizeof cases / sizeof *cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems),
        cmocka_unit_test(graphs),
        cmocka_unit_test(kernels_and_options),
        cmocka_unit_test(unsuited_matrices),
        cmocka_unit_test(wrong_solutions_are_found_out),
        cmocka_unit_test(missing_peers_are_skipped),
        cmocka_unit_test(peers_solve),
        cmocka_unit_test(on_a_gpu),
        cmocka_unit_test(tables),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, make_files, remove_folder);
}
