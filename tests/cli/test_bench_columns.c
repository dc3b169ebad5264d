/* Tests of spry bench --op spmm and spmm_t: multi-vector products. */
#include "records.h"
#include "spawn.h"

/*
 * Numbers of rows and entries of the matrix gen:grid5,x=30,y=20. csr_bytes: bytes of its CSR arrays with 32-bit indices
 * and f64 values.
 */
static const double rows = 600, entries = 5 * 600 - 2 * 30 - 2 * 20,
                    csr_bytes = 12 * (5 * 600 - 2 * 30 - 2 * 20) + 4 * 601;

static void one_count(void **state)
{
    cJSON *records = records_of("bench gen:grid5,x=30,y=20 --op spmm --formats csr --device cpu --json --threads 1", 0);
    assert_int_equal(cJSON_GetArraySize(records), 1);
    const cJSON *r = cJSON_GetArrayItem(records, 0);
    const double time = number_of(r, "time_us");
    assert_string_equal(text_of(r, "op"), "spmm");
    assert_near(number_of(r, "count"), 8, 0);
    assert_string_equal(text_of(r, "layout"), "row");
    assert_string_equal(text_of(r, "status"), "ok");
    assert_near(number_of(r, "nnz"), entries, 0);
    assert_true(number_of(r, "runs") >= 20 && number_of(r, "runs") * number_of(r, "mean_us") >= 20000);
    assert_near(number_of(r, "gflops"), 2e-3 * entries * 8 / time, 1e-4 * number_of(r, "gflops"));
    assert_near(number_of(r, "gbps"), 1e-3 * (csr_bytes + 8 * 8 * 2 * rows) / time, 1e-4 * number_of(r, "gbps"));
    assert_near(number_of(r, "roof"), number_of(r, "gbps") / number_of(r, "copy_gbps"), 1e-4);
    assert_true(number_of(r, "max_error") >= 0 && number_of(r, "max_error") <= 1);
    cJSON_Delete(records);
    records = records_of("bench $D/small.mtx --formats csr --runs 1 --json", 0);
    r = cJSON_GetArrayItem(records, 0);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(r, "count")) && cJSON_IsNull(cJSON_GetObjectItem(r, "layout")));
    cJSON_Delete(records);
}

/* Checks counts, layouts and types. small.mtx has more columns than rows, so swapped sizes would be noticed. */
static void counts_layouts_and_types(void **state)
{
    static const int counts[] = {1, 3, 8, 17};
    static const char *const matrices[] = {"$D/small.mtx", "gen:rmat16,scale=8"};
    for (int c = 0; c < 8; c++) {
        const char *op = c & 1 ? "spmm_t" : "spmm", *layout = c & 2 ? "column" : "row", *matrix = matrices[c / 4];
        char command[200];
        snprintf(command, sizeof command,
                 "bench %s --op %s --count 1,3,8,17 --layout %s --type all --formats csr,csc,sell,csr2,auto "
                 "--device cpu --runs 1 --json",
                 matrix, op, layout);
        cJSON *records = records_of(command, 0);
        assert_int_equal(cJSON_GetArraySize(records), 2 * 4 * 5);
        for (int i = 0; i < cJSON_GetArraySize(records); i++) {
            const cJSON *r = cJSON_GetArrayItem(records, i);
            assert_string_equal(text_of(r, "status"), "ok");
            assert_string_equal(text_of(r, "op"), op);
            assert_string_equal(text_of(r, "layout"), layout);
            assert_string_equal(text_of(r, "type"), i < 20 ? "f64" : "f32");
            assert_near(number_of(r, "count"), counts[i / 5 % 4], 0);
            assert_near(number_of(r, "gflops") * number_of(r, "time_us"),
                        2e-3 * number_of(r, "nnz") * counts[i / 5 % 4], 1e-4);
        }
        cJSON_Delete(records);
    }
}

/* Asserts that options for products with one vector also work for multi-vector products. */
static void other_options(void **state)
{
    static const char *const options[] = {"--pattern",
                                          "--cold",
                                          "--policy tree",
                                          "--ordering rcm,plan-rcm --formats csr",
                                          "--index 64/64",
                                          "--kernels csr_portable_cpu,ell_portable_cpu",
                                          "--calls 1 --updates 2",
                                          "--formats all",
                                          "--threads 2,1"};
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        char command[200];
        snprintf(command, sizeof command,
                 "bench gen:grid5,x=30,y=20 --op spmm --count 4 %s --device cpu --runs 1 --json", options[o]);
        cJSON *records = records_of(command, 0);
        assert_true(cJSON_GetArraySize(records) > 0);
        const cJSON *r;
        cJSON_ArrayForEach(r, records)
        {
            const int may_be_skipped = strcmp(options[o], "--formats all") == 0;
            if (!may_be_skipped) assert_string_equal(text_of(r, "status"), "ok");
            assert_true(strcmp(text_of(r, "status"), "ok") == 0 || strcmp(text_of(r, "status"), "skipped") == 0);
            assert_near(number_of(r, "count"), 4, 0);
        }
        cJSON_Delete(records);
    }
}

/* Runs kernels of the mock GPU, which is host memory. */
static void on_a_gpu(void **state)
{
    char path[512];
    snprintf(path, sizeof path, "%s", SPRY_CLI);
    snprintf(strrchr(path, '/'), 64, "/tests/libspry-mock-cuda.so");
    setenv("SPRY_CUDA_PLUGIN", path, 1);
    for (int c = 0; c < 4; c++) {
        char command[200];
        snprintf(command, sizeof command, "bench $D/small.mtx --op %s --layout %s --count 5 --device cuda --runs 1 %s",
                 c & 1 ? "spmm_t" : "spmm", c & 2 ? "column" : "row", "--formats csr,sell --json");
        cJSON *records = records_of(command, 0);
        assert_int_equal(cJSON_GetArraySize(records), 2);
        assert_string_equal(text_of(cJSON_GetArrayItem(records, 0), "status"), "ok");
        assert_string_equal(text_of(cJSON_GetArrayItem(records, 1), "status"), "ok");
        assert_int_equal(strncmp(text_of(cJSON_GetArrayItem(records, 0), "device"), "cuda", 4), 0);
        cJSON_Delete(records);
    }
    unsetenv("SPRY_CUDA_PLUGIN");
}

static int count_of(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) count++;
    return count;
}

static void tables(void **state)
{
    outcome o = spry("bench gen:grid5,x=30,y=20 --op spmm_t --count 1,6 --layout column --formats csr,coo "
                     "--device cpu --runs 1");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "; spmm_t of 1 vector, column-major,"));
    assert_non_null(strstr(o.out, "; spmm_t of 6 vectors, column-major,"));
    assert_non_null(strstr(o.out, " x1 column "));
    assert_non_null(strstr(o.out, " x6 column "));
    assert_non_null(strstr(o.out, "roof: bytes of plain CSR and of all vectors over time"));
    /* Each number of columns has its own fastest kernel. */
    assert_int_equal(count_of(o.out, "  100 %  100 %  100 %  100 %\n"), 2);
    release(&o);
    expect("bench --help", 0, "--op spmv|spmv_t|spmv_add|spmm|spmm_t|spgemm", NULL);
    expect("bench --help", 0, "--count LIST", NULL);
    expect("bench --help", 0, "--layout row|column", NULL);
}

/* Asserts that one wrong entry in the last column is reported. */
static void wrong_column_is_found_out(void **state)
{
    char path[512];
    snprintf(path, sizeof path, "%s", SPRY_CLI);
    snprintf(strrchr(path, '/'), 64, "/tests/peers");
    setenv("SPRY_PEER_DIR", path, 1);
    static const char *const layouts[] = {"row", "column"};
    for (int l = 0; l < 2; l++) {
        char command[200];
        snprintf(command, sizeof command,
                 "bench gen:grid5,x=50,y=50 --op spmm --count 1,6 --layout %s --peers --formats csr --runs 1 --json",
                 layouts[l]);
        cJSON *records = records_of(command, 1);
        int wrong = 0;
        const cJSON *r;
        cJSON_ArrayForEach(r, records)
        {
            if (strcmp(text_of(r, "kernel"), "spmm_wrong") != 0) continue;
            assert_string_equal(text_of(r, "status"), "wrong");
            assert_non_null(strstr(text_of(r, "reason"), wrong++ == 0
                                                             ? "alpha 1, beta 0: 1 rows exceed the error bound"
                                                             : "alpha 1, beta 0, vector 5: 1 rows exceed the"));
            assert_non_null(strstr(text_of(r, "reason"), "the worst is row 1251 (counted from 1)"));
        }
        assert_int_equal(wrong, 2);
        assert_null(find(records, "kernel", "csr_wrong"));
        assert_null(find(records, "kernel", "spgemm_wrong"));
        cJSON_Delete(records);
    }
    expect("bench $D/small.mtx --op spmm --peers --kernels csr_wrong", 2, NULL,
           "--kernels: 'csr_wrong' multiplies with a vector, which --op spmm does not");
    expect("bench $D/small.mtx --peers --kernels spmm_wrong", 2, NULL,
           "--kernels: 'spmm_wrong' multiplies with multiple vectors; add --op spmm");
    expect("bench $D/small.mtx --op spmm --peers --kernels spgemm_wrong", 2, NULL,
           "--kernels: 'spgemm_wrong' multiplies two sparse matrices; add --op spgemm");
    unsetenv("SPRY_PEER_DIR");
}

static void mistakes(void **state)
{
    static const mistake cases[] = {
        {"--count 8", "--count is for products with multiple vectors, but --op is spmv: expected spmm or spmm_t"},
        {"--op spmv_t --count 8", "--count is for products with multiple vectors, but --op is spmv_t: expected spmm"},
        {"--op spgemm --count 8", "--count is for products with multiple vectors, but --op is spgemm: expected spmm"},
        {"--layout row", "--layout is for products with multiple vectors, but --op is spmv: expected spmm or spmm_t"},
        {"--op spgemm --layout row",
         "--layout is for products with multiple vectors, but --op is spgemm: expected spmm"},
        {"--op spmm --count 0", "--count is 0, expected 1 to 4096"},
        {"--op spmm --count 8,4097", "--count is 4097, expected 1 to 4096"},
        {"--op spmm --count 8,8", "--count has '8' twice"},
        {"--op spmm --count two", "--count is 'two', expected a whole number"},
        {"--op spmm --count=", "--count is empty"},
        {"--op spmm --count 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "--count has 17 numbers, expected at most 16"},
        {"--op spmm --layout rows", "--layout is 'rows', expected one of: row, column"},
        {"--op spmm --regret", "--regret is for products with a vector, but --op is spmm: expected spmv or spmv_t"},
        {"--op spmm --suite products", "--suite products squares matrices, --op is spmm: expected spgemm"},
        {"--op spmm --kernels spgemm_rows_cpu", "multiplies two sparse matrices; add --op spgemm"},
    };
    expect_mistakes("bench $D/small.mtx", cases, sizeof cases / sizeof *cases);
}

/* Asks for 4096 columns of 10^9 rows, more memory than any test machine has. */
static void too_many_columns(void **state)
{
    write_file("long.mtx", "%%MatrixMarket matrix coordinate real general\n2 1000000000 2\n1 1 1\n2 1000000000 1\n");
    expect("bench $D/long.mtx --op spmm --count 4096 --formats csr --device cpu --runs 1 2>/dev/null", 1, "  failed  ",
           NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_count),     cmocka_unit_test(counts_layouts_and_types),
        cmocka_unit_test(other_options), cmocka_unit_test(on_a_gpu),
        cmocka_unit_test(tables),        cmocka_unit_test(wrong_column_is_found_out),
        cmocka_unit_test(mistakes),      cmocka_unit_test(too_many_columns),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
