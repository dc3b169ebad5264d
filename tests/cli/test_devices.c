/*
 * Tests of spry devices without a usable CUDA plug-in: text and JSON give the reason, and the command succeeds. Then
 * tests with the mock plug-in.
 */
#include "records.h"
#include "spawn.h"

static void expect_reason(const char *plugin, const char *reason)
{
    setenv("SPRY_CUDA_PLUGIN", plugin, 1);
    expect("devices", 0, "cuda: NVIDIA GPU\n  not available: ", NULL);
    expect("devices", 0, reason, NULL);
    outcome o = spry("devices --json");
    assert_int_equal(o.status, 0);
    cJSON *cpu = json_line(o.out, 0), *gpu = json_line(o.out, 1);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(cpu, "available")));
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(gpu, "available")));
    assert_non_null(strstr(cJSON_GetStringValue(cJSON_GetObjectItem(gpu, "reason")), reason));
    cJSON_Delete(cpu);
    cJSON_Delete(gpu);
    release(&o);
    o = spry("spmv $D/small.mtx");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, ": correct"));
    release(&o);
    expect("spmv $D/small.mtx --device cuda", 1, NULL, reason);
    expect("kernels --device cuda", 0, "csr_merge_cuda", NULL);
    unsetenv("SPRY_CUDA_PLUGIN");
}

static void plugins_that_cannot_be_used(void **state)
{
    char path[512];
    snprintf(path, sizeof path, "%s/none.so", folder());
    expect_reason(path, "no CUDA plug-in: ");
    write_file("text.so", "no shared object");
    snprintf(path, sizeof path, "%s/text.so", folder());
    expect_reason(path, "text.so: file too short");
    expect_reason("libspry-cuda.so", "expected a path with a slash in it");
    expect_reason(SPRY_TEST_PLUGINS "/other_build.so", "is of build 0.0.1-another, this library of ");
    expect_reason(SPRY_TEST_PLUGINS "/no_driver.so", "fake: no driver is installed");
    expect_reason(SPRY_TEST_PLUGINS "/stranger.so", "is not a plug-in of Spry");
}

static int count_good(const cJSON *records)
{
    int good = 0;
    const cJSON *r;
    cJSON_ArrayForEach(r, records) good += strcmp(text_of(r, "status"), "ok") == 0 && number_of(r, "time_us") > 0 &&
                                           strcmp(text_of(r, "device"), "cuda") == 0;
    return good;
}

/* Runs products, transposed products, squares and solvers on the mock GPU, which reports itself as host memory. */
static void the_mock_stands_in(void **state)
{
    static const char *const kernels[] = {"csr_scalar_cuda", "csr_vector_cuda", "hyb_segmented_cuda",
                                          "scoo_shared_cuda"};
    setenv("SPRY_CUDA_PLUGIN", SPRY_MOCK_PLUGIN, 1);
    setenv("SPRY_BENCH_COPY_BYTES", "1048576", 1);
    expect("devices", 0, "cuda: mock: host memory, no GPU", NULL);
    cJSON *records = records_of("bench $D/small.mtx --device cuda --runs 2 --kernels csr_scalar_cuda,csr_vector_cuda,"
                                "hyb_segmented_cuda,scoo_shared_cuda --json",
                                0);
    assert_int_equal(count_good(records), 4);
    for (int k = 0; k < 4; k++) assert_non_null(find(records, "kernel", kernels[k]));
    cJSON_Delete(records);
    records =
        records_of("bench gen:grid5,x=9,y=9 --device cuda --op spmv_t --runs 2 --kernels csr_scatter_cuda --json", 0);
    assert_int_equal(count_good(records), 1);
    cJSON_Delete(records);
    records = records_of("bench gen:grid5,x=9,y=9 --device cuda --op spgemm --runs 2 --formats all --json", 0);
    assert_true(count_good(records) > 0 && count_good(records) == cJSON_GetArraySize(records));
    cJSON_Delete(records);
#ifdef SPRY_STUDIES /* one kernel with default and with other parameters */
    records = records_of("bench gen:grid5,x=9,y=9 --device cuda --op spgemm --runs 2 --json --kernels "
                         "spgemm_seed_getvals_cuda,spgemm_seed_getvals_cuda:rows=4:lanes=16,"
                         "spgemm_seed_getvals_cuda:claim=0:reset=touched:sort=64",
                         0);
    assert_int_equal(cJSON_GetArraySize(records), 3);
    assert_int_equal(count_good(records), 3);
    const cJSON *seed = find(records, "kernel", "spgemm_seed_getvals_cuda:rows=4:lanes=16");
    assert_non_null(seed);
    assert_near(number_of(cJSON_GetObjectItem(seed, "stages"), "count"), 1, 0); /* reported by the mock */
    cJSON_Delete(records);
    expect("bench gen:grid5,x=9,y=9 --op spgemm --kernels spgemm_seed_getvals_cuda:rows=64", 2, NULL,
           "--kernels: kernel spgemm_seed_getvals_cuda: \"rows=64\", expected rows=NUMBER from 1 to 32");
    expect("bench gen:grid5,x=9,y=9 --op spgemm --kernels spgemm_seed_older_cuda:rows=2", 2, NULL,
           "--kernels: kernel spgemm_seed_older_cuda has no parameter \"rows\", expected none");
#endif
    expect("solve gen:laplace5,x=9,y=9 --device cuda", 0, "on mock: host memory, no GPU", NULL);
    expect("solve gen:laplace5,x=9,y=9 --device cuda --time", 0, ", 9 numbers a row at ", NULL);
    expect("pagerank gen:rmat16,scale=8 --device cuda --time", 0, ", 4 numbers a row at ", NULL);
    expect("spmv gen:rmat16,scale=8 --device cuda", 0, ": correct", NULL);
    unsetenv("SPRY_BENCH_COPY_BYTES");
    unsetenv("SPRY_CUDA_PLUGIN");
}

/* Asserts that every GPU kernel that supports the product runs on the mock, with right results. */
static void the_mock_serves_every_kernel(void **state)
{
    const cJSON *r;
    int served = 0;
    setenv("SPRY_CUDA_PLUGIN", SPRY_MOCK_PLUGIN, 1);
    setenv("SPRY_BENCH_COPY_BYTES", "1048576", 1);
    cJSON *records = records_of("bench gen:grid5,x=12,y=9 --device cuda --runs 1 --formats all --json", 0);
    cJSON_ArrayForEach(r, records)
    {
        const int skipped = strcmp(text_of(r, "status"), "skipped") == 0;
        if (skipped && !strstr(text_of(r, "reason"), "has no product"))
            fail_msg("%s: %s", text_of(r, "kernel"), text_of(r, "reason"));
        served += !skipped;
    }
    assert_true(served >= TEST_STUDY(20, 10));
    cJSON_Delete(records);
    unsetenv("SPRY_BENCH_COPY_BYTES");
    unsetenv("SPRY_CUDA_PLUGIN");
}

/* Asserts that --policy tree chooses formats of its tree on a GPU, with kernels that use no atomics. */
static void the_tree_on_a_gpu(void **state)
{
    static const char *const cases[][2] = {
        {"gen:grid7,x=20,y=20,z=20 --policy tree", "ell_slots_cuda (format ell, "},
        {"gen:arrow,rows=4000 --policy tree", "hyb_segmented_cuda (format hyb, "},
        {"gen:rmat,scale=12,edges=1 --policy tree", "coo_segmented_cuda (format coo, "},
        {"gen:rmat16,scale=10 --policy tree", "csr_merge_cuda (format csr, "},
        {"gen:rmat16,scale=10 --policy tree:unpredictable", "hyb_segmented_cuda (format hyb, "},
        {"gen:grid7,x=20,y=20,z=20 --policy tree:memory", "csr_merge_cuda (format csr, "},
        {"gen:grid7,x=20,y=20,z=20 --policy tree --transpose", "(format csc, "},
    };
    setenv("SPRY_CUDA_PLUGIN", SPRY_MOCK_PLUGIN, 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char command[128];
        snprintf(command, sizeof command, "spmv %s --device cuda", cases[c][0]);
        expect(command, 0, cases[c][1], NULL);
        expect(command, 0, "same bits every run", NULL);
    }
    unsetenv("SPRY_CUDA_PLUGIN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plugins_that_cannot_be_used),
        cmocka_unit_test(the_mock_stands_in),
        cmocka_unit_test(the_mock_serves_every_kernel),
        cmocka_unit_test(the_tree_on_a_gpu),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
