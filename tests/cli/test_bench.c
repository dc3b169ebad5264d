/* Tests of spry bench and spry spmv: their records, the cases that options select, and wrong options. */
#include "records.h"
#include "spawn.h"

#include <sys/stat.h>
#include <unistd.h>

static void one_record(void **state)
{
    cJSON *records = records_of("bench gen:grid5,x=30,y=20 --formats csr --device cpu --json --threads 1", 0);
    assert_int_equal(cJSON_GetArraySize(records), 1);
    const cJSON *r = cJSON_GetArrayItem(records, 0);
    assert_string_equal(text_of(r, "op"), "spmv");
    assert_string_equal(text_of(r, "matrix"), "grid5,x=30,y=20");
    assert_string_equal(text_of(r, "class"), "regular");
    assert_string_equal(text_of(r, "type"), "f64");
    assert_string_equal(text_of(r, "index"), "32/32");
    assert_string_equal(text_of(r, "device"), "cpu");
    assert_string_equal(text_of(r, "ordering"), "none");
    assert_string_equal(text_of(r, "state"), "warm");
    double nnz = 5 * 600 - 2 * 30 - 2 * 20, time = number_of(r, "time_us");
    assert_near(number_of(r, "nnz"), nnz, 0);
    assert_near(number_of(r, "threads"), 1, 0);
    /* The times agree with each other. */
    assert_true(number_of(r, "runs") >= 20);
    assert_true(number_of(r, "runs") * number_of(r, "mean_us") >= 20000);
    assert_true(number_of(r, "min_us") <= time && time > 0);
    assert_near(number_of(r, "gflops"), 2e-3 * nnz / time, 1e-4 * number_of(r, "gflops"));
    double bytes = 12 * nnz + 4 * 601 + 8 * 1200;
    assert_near(number_of(r, "gbps"), 1e-3 * bytes / time, 1e-4 * number_of(r, "gbps"));
    assert_near(number_of(r, "roof"), number_of(r, "gbps") / number_of(r, "copy_gbps"), 1e-4);
    assert_true(number_of(r, "max_error") >= 0 && number_of(r, "max_error") <= 1);
    cJSON_Delete(records);
}

/* y = A*x + y is checked by y = A*x, before and after its runs. */
static void additions_to_y(void **state)
{
    static const char *const protocols[] = {"", "--runs 3", "--cold --runs 3"};
    for (int p = 0; p < 3; p++) {
        char command[128];
        snprintf(command, sizeof command, "bench gen:grid5,x=30,y=20 --op spmv_add --formats csr,coo %s --json",
                 protocols[p]);
        cJSON *records = records_of(command, 0);
        assert_int_equal(cJSON_GetArraySize(records), 2);
        for (int k = 0; k < 2; k++) {
            const cJSON *r = cJSON_GetArrayItem(records, k);
            assert_string_equal(text_of(r, "op"), "spmv_add");
            assert_string_equal(text_of(r, "status"), "ok");
            assert_true(number_of(r, "time_us") > 0 && number_of(r, "max_error") <= 1);
        }
        cJSON_Delete(records);
    }
}

static void types_and_indices(void **state)
{
    static const char *const pairs[] = {"32/32", "64/32", "64/64"};
    for (int p = 0; p < 3; p++) {
        char command[128];
        snprintf(command, sizeof command,
                 "bench $D/sym.mtx --formats csr,coo --device cpu --type all --index %s --runs 3 --json", pairs[p]);
        cJSON *records = records_of(command, 0);
        int f32 = 0, f64 = 0;
        const cJSON *r;
        cJSON_ArrayForEach(r, records)
        {
            assert_string_equal(text_of(r, "index"), pairs[p]);
            assert_true(strcmp(text_of(r, "status"), "ok") == 0 || strcmp(text_of(r, "status"), "skipped") == 0);
            f32 += strcmp(text_of(r, "type"), "f32") == 0;
            f64 += strcmp(text_of(r, "type"), "f64") == 0;
        }
        assert_int_equal(f32, 2);
        assert_int_equal(f32, f64);
        cJSON_Delete(records);
    }
}

/*
 * Tests --pattern: every value is 1, for peers as well. --arrays gpu builds plans from arrays in GPU memory if there is
 * a GPU.
 */
static void patterns(void **state)
{
    cJSON *records = records_of("bench $D/small.mtx --pattern --type all --formats csr,packed,auto --kernels csr_plain "
                                "--peers --runs 1 --device cpu --json 2>/dev/null",
                                0);
    int of_f32 = 0, peers = 0;
    const cJSON *r;
    cJSON_ArrayForEach(r, records)
    {
        const int peer = cJSON_IsTrue(cJSON_GetObjectItem(r, "peer")), ok = strcmp(text_of(r, "status"), "ok") == 0;
        /* peers whose module is not built are skipped */
        assert_true(ok || (peer && strcmp(text_of(r, "status"), "skipped") == 0));
        assert_int_equal(strncmp(text_of(r, "type"), "pattern:f", 9), 0);
        of_f32 += strcmp(text_of(r, "type"), "pattern:f32") == 0;
        peers += peer;
    }
    assert_int_equal(2 * of_f32, cJSON_GetArraySize(records));
    assert_int_equal(peers, 2);
    cJSON_Delete(records);
    expect("bench $D/small.mtx --arrays gpu --device cpu --runs 1 2>/dev/null", 0, "csr_", NULL);
    expect("bench $D/small.mtx --arrays device", 2, NULL, "--arrays is 'device', expected one of: host, gpu");
    expect("bench $D/small.mtx --pattern --op spgemm", 2, NULL, "--pattern is for products with a vector");
}

/*
 * Asserts that --formats all runs every CPU kernel of the operation that `spry kernels` lists, and GPU kernels if there
 * is a GPU.
 */
static void all_kernels(void **state)
{
    outcome o = spry("kernels --json");
    for (int squares = 0; squares < 2; squares++) {
        cJSON *records = records_of(squares ? "bench gen:rmat,scale=8 --op spgemm --formats all --runs 1 --json"
                                            : "bench gen:rmat,scale=11 --formats all --runs 3 --json",
                                    0);
        int expected = 0;
        for (int l = 0; l < count_lines(o.out); l++) {
            cJSON *kernel = json_line(o.out, l);
            const cJSON *r = find(records, "kernel", text_of(kernel, "name"));
            int is_listed = strcmp(text_of(kernel, "device"), "cpu") == 0 || r != NULL;
            is_listed &= (strcmp(text_of(kernel, "operations"), "spgemm") == 0) == squares;
            expected += is_listed;
            if (is_listed) assert_non_null(r);
            if (is_listed) assert_string_equal(text_of(r, "format"), text_of(kernel, "format"));
            cJSON_Delete(kernel);
        }
        assert_int_equal(cJSON_GetArraySize(records), expected);
        assert_string_equal(text_of(cJSON_GetArrayItem(records, 0), "class"), "irregular");
        cJSON_Delete(records);
    }
    release(&o);
}

/* Asserts that --device cuda runs cases on a GPU. Without a GPU, each record is skipped with a reason. */
static void cases_of_a_gpu(void **state)
{
    outcome devices = spry("devices --json");
    cJSON *gpu = json_line(devices.out, 1);
    const int available = gpu && cJSON_IsTrue(cJSON_GetObjectItem(gpu, "available"));
    cJSON *records = records_of("bench $D/small.mtx --device cuda --json 2>/dev/null", 0);
    assert_true(cJSON_GetArraySize(records) > 0);
    const cJSON *r;
    cJSON_ArrayForEach(r, records)
    {
        assert_string_equal(text_of(r, "status"), available ? "ok" : "skipped");
        assert_true(strlen(text_of(r, "reason")) > 10);
        if (available) assert_int_equal(strncmp(text_of(r, "device"), "cuda", 4), 0);
    }
    cJSON_Delete(records);
    cJSON_Delete(gpu);
    release(&devices);
}

/* Asserts that peers also get the reordered matrix, and that set-up includes the time of the ordering. */
static void orderings(void **state)
{
    static const char *const names[] = {"rcm", "bandk", "degree", "bfs"};
    for (size_t c = 0; c < sizeof names / sizeof *names; c++) {
        char command[160];
        snprintf(command, sizeof command,
                 "bench gen:grid5,x=90,y=80,shuffle=3 $D/small.mtx --device cpu --formats csr --kernels csr_plain "
                 "--peers --type all --ordering %s --runs 3 --json",
                 names[c]);
        cJSON *records = records_of(command, 0);
        assert_true(cJSON_GetArraySize(records) >= 4);
        const cJSON *r;
        cJSON_ArrayForEach(r, records)
        {
            assert_string_equal(text_of(r, "ordering"), names[c]);
            if (strcmp(text_of(r, "status"), "skipped") == 0) continue; /* a peer without a module */
            assert_string_equal(text_of(r, "status"), "ok");
            const double setup_us = cJSON_GetObjectItem(r, "setup_us")->valuedouble;
            assert_true(setup_us > 0 && setup_us < 60e6);
        }
        cJSON_Delete(records);
    }
}

/*
 * Tests orderings that only one format has. The ordering is refused if no option selects the format. If the format has
 * no kernel on the device, the record is skipped and gives the reason.
 */
static void orderings_of_one_format(void **state)
{
    static const mistake cases[] =
        {{"--formats csr --ordering bandk4", "--ordering is 'bandk4', which only csr4 has, but neither --formats"},
         {"--formats csr2,auto --ordering bandk2,bandk3", "--ordering is 'bandk3', which only csr3 has"},
         {"--kernels csr3_gpuspmv3_cuda --ordering bandk2", "neither --formats nor --kernels selects csr2: add it"},
         {"--ordering none,bandk3", "or use bandk, which works for all formats"}};
    expect_mistakes("bench $D/small.mtx", cases, sizeof cases / sizeof *cases);
    static const char *const commands[] =
        {"bench gen:grid5,x=30,y=20 --device cpu --runs 1 --formats csr,csr4 --ordering bandk4 --json",
         "bench gen:grid5,x=30,y=20 --device cpu --runs 1 --kernels " TEST_STUDY(
             "csr4_listing_cpu:srs=8", "csr4_listing_portable_cpu:srs=8") " --ordering bandk4 --json",
         "bench gen:grid5,x=30,y=20 --device cuda --runs 1 --formats all --ordering bandk4 --json"};
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        cJSON *records = records_of(commands[c], 0);
        assert_int_equal(cJSON_GetArraySize(records), 1);
        const cJSON *r = cJSON_GetArrayItem(records, 0);
        assert_string_equal(text_of(r, "format"), "csr4");
        assert_string_equal(text_of(r, "status"), c < 2 ? "ok" : "skipped");
        if (c == 2)
            assert_string_equal(text_of(r, "reason"), "bandk4 is only for csr4, of which no kernel is "
                                                      "chosen for the device");
        cJSON_Delete(records);
    }
}

static void cold(void **state)
{
    cJSON *records = records_of("bench $D/small.mtx --cold --formats csr --json", 0);
    const cJSON *r = cJSON_GetArrayItem(records, 0);
    assert_string_equal(text_of(r, "state"), "cold");
    assert_true(number_of(r, "runs") >= 20);
    cJSON_Delete(records);
}

/* Asserts that a generated matrix of a suite is measured, and a missing real matrix is skipped with the reason. */
static void matrices_of_a_suite(void **state)
{
    if (INSTRUMENTED) skip(); /* a matrix of a suite has millions of entries */
    cJSON *records = records_of("bench --suite mesh --only grid5,G3_circuit --matrices $D --runs 1 --formats csr "
                                "--device cpu --json 2>/dev/null",
                                0);
    assert_int_equal(cJSON_GetArraySize(records), 2);
    assert_string_equal(text_of(find(records, "matrix", "grid5"), "status"), "ok");
    assert_near(number_of(find(records, "matrix", "grid5"), "runs"), 1, 0);
    assert_string_equal(text_of(find(records, "matrix", "G3_circuit"), "status"), "skipped");
    assert_non_null(strstr(text_of(find(records, "matrix", "G3_circuit"), "reason"), "there is no G3_circuit.mtx.gz"));
    cJSON_Delete(records);
}

static void suites(void **state)
{
    expect("bench $D/small.mtx --kernels csr_portable_cpu --device cuda", 2, NULL, "none of --kernels runs");
    expect("bench --suite mash", 2, NULL,
           "--suite is 'mash', expected one of: mesh, scattered, shuffled, products, values, unstructured");
    static const char *const studies[][2] = {{"seed000", "000"}, {"csrk64", "001"}, {"spgemm002", "002"}};
    for (int s = 0; s < 3; s++) {
        char command[64], message[64];
        snprintf(command, sizeof command, "bench --suite %s", studies[s][0]);
        snprintf(message, sizeof message, "is a study: study/run %s measures its matrices", studies[s][1]);
        expect(command, 2, NULL, message);
    }
    expect("bench --suite products --op spmv", 2, NULL, "--suite products squares matrices, --op is spmv");
    expect("bench --suite mesh --matrices $D/none", 2, NULL, "none', expected a folder that exists");
    expect("bench $D/small.mtx --matrices $D", 2, NULL, "--matrices goes with --suite");
}

/* Asserts that standard output contains the text. Standard error is ignored, since a busy machine adds notes. */
static void expect_output(const char *command, const char *expected)
{
    outcome o = spry("%s", command);
    if (o.status != 0 || !strstr(o.out, expected))
        fail_msg("spry %s: %d\n%.2000s\n%.500s", command, o.status, o.out, o.err);
    release(&o);
}

/* Prepares three matrices at the same time (--at-once 3), and runs with two threads, then with one. */
static void short_runs(void **state)
{
    expect_output("bench $D/small.mtx gen:grid5,x=40,y=40 gen:banded,rows=900 --at-once 3 --threads 2,1 --runs 3 "
                  "--formats csr --device cpu",
                  "threads  spread\n");
    expect_output("bench gen:grid5,x=40,y=40 --ordering rcm --threads 2,1 --runs 3 --formats csr --device cpu --json",
                  "\"threads\":1,");
    expect("bench $D/small.mtx --threads 1,2,1", 2, NULL, "--threads has '1' twice");
    expect("bench $D/small.mtx --runs 0", 2, NULL, "--runs is 0, expected 1 to 10000");
    expect("bench $D/small.mtx --at-once 65", 2, NULL, "--at-once is 65, expected 1 to 64");
}

/* Runs every N-th matrix (--part), and named matrices (--only). */
static void parts_of_suites(void **state)
{
    outcome o =
        spry("bench gen:grid5,x=9,y=9 gen:banded,rows=90 $D/small.mtx gen:grid5,x=8,y=8 --part 2/2 --formats csr "
             "--device cpu --runs 1");
    if (o.status != 0 || !strstr(o.out, "banded,rows=90:") || !strstr(o.out, "grid5,x=8,y=8:"))
        fail_msg("%d\n%s", o.status, o.out);
    if (strstr(o.out, "grid5,x=9,y=9:") || strstr(o.out, "small:")) fail_msg("of another part:\n%s", o.out);
    release(&o);
    o = spry("bench gen:grid5,x=9,y=9 $D/small.mtx --only small --formats csr --device cpu --runs 1");
    if (o.status != 0 || !strstr(o.out, "small:") || strstr(o.out, "grid5")) fail_msg("%d\n%s", o.status, o.out);
    release(&o);
    /* names of generated matrices contain commas */
    cJSON *records = records_of("bench gen:grid5,x=9,y=9 gen:grid5,x=9 gen:grid5,x=9,y=8 gen:grid5 --only "
                                "grid5,x=9,y=8,grid5,x=9 --formats csr --device cpu --runs 1 --json",
                                0);
    assert_int_equal(cJSON_GetArraySize(records), 2);
    assert_non_null(find(records, "matrix", "grid5,x=9"));
    assert_non_null(find(records, "matrix", "grid5,x=9,y=8"));
    cJSON_Delete(records);
    expect("bench gen:grid5,x=9,y=9 --only grid5,x=9,y=9,z=9", 2, NULL, "--only: there is no matrix 'z=9' among");
    expect("bench $D/small.mtx --only smaller", 2, NULL, "--only: there is no matrix 'smaller' among those to measure");
    expect("bench $D/small.mtx --part 3", 2, NULL, "--part is '3', expected I/N, such as 1/4 to 4/4");
    expect("bench $D/small.mtx --part 2/2 --device cpu", 0, NULL, "note: --part 2/2 is empty");
    expect("bench $D/small.mtx --part 3/2", 2, NULL, "--part (before the slash) is 3, expected 1 to 2");
    expect("bench $D/small.mtx --part /2", 2, NULL, "--part is '/2', expected I/N");
}

static void mistakes(void **state)
{
    static const mistake cases[] = {
        {"", "nothing to measure: name a matrix FILE or a --suite"},
        {"$D/small.mtx --op gemm", "--op is 'gemm', expected one of: spmv, spmv_t, spmv_add, spmm, spmm_t, spgemm"},
        {"$D/small.mtx --formats csr,crs", "--formats: there is no format 'crs'; did you mean 'csr'?"},
        {"$D/small.mtx --formats sell:c=0", "--formats: format sell: \"c=0\", expected c=NUMBER from 1"},
        {"$D/small.mtx --formats csr,sell:d=4", "--formats: format sell has no parameter \"d\""},
        {"$D/small.mtx --formats csr,,coo", "a name in the list is empty"},
        {"$D/small.mtx --formats ,", "a name in the list is empty"},
        {"$D/small.mtx --formats csr,csr", "--formats has 'csr' twice"},
        {"$D/small.mtx --formats csr,all", "'all' cannot be combined"},
        {"$D/small.mtx --formats=", "--formats is empty"},
        {"$D/small.mtx --kernels csr_avx1024_cpu", "--kernels: there is no kernel 'csr_avx1024_cpu'; did you mean"},
        {"$D/small.mtx --kernels mkl_csr", "'mkl_csr' is a peer's kernel; add --peers"},
        {"$D/small.mtx --ordering metis",
         "--ordering is 'metis', expected one of: none, rcm, bandk, degree, bfs, plan-rcm"},
        {"$D/small.mtx --ordering none,rcm,none", "--ordering has 'none' twice"},
        {"$D/small.mtx --device gqu", "--device is 'gqu', expected one of: cpu, cuda, all"},
        {"$D/small.mtx --type f16", "--type is 'f16', expected one of: f64, f32, f32:f64, bf16:f32, f16:f32, all"},
        {"$D/small.mtx --type f64,bf16:f32 --pattern", "--type bf16:f32 cannot be used with --pattern"},
        {"$D/small.mtx --index 32/64", "--index is '32/64', expected one of: 32/32, 64/32, 64/64"},
        {"$D/small.mtx --threads 0", "--threads is 0, expected 1 to 1024"},
        {"$D/small.mtx --threads ' 2'", "--threads is ' 2', expected a whole number"},
        {"$D/small.mtx --calls 1e6", "--calls is '1e6', expected a whole number"},
        {"$D/small.mtx --calls -1", "--calls is -1, expected 1 to"},
        {"$D/small.mtx --threads", "--threads needs a value: N"},
        {"$D/small.mtx --fromats csr", "unknown option --fromats; did you mean --formats?"},
        {"$D/small.mtx $D/none.mtx", "none.mtx: cannot be read: No such file"},
    };
    expect_mistakes("bench", cases, sizeof cases / sizeof *cases);
}

/* Asserts that a bad matrix does not stop the run, and that the status reports the failure. */
static void bad_matrix_among_good_ones(void **state)
{
    cJSON *records =
        records_of("bench $D/small.mtx $D/bad.mtx $D/sym.mtx --formats csr --device cpu --json 2>$D/err", 2);
    assert_int_equal(cJSON_GetArraySize(records), 3);
    assert_string_equal(text_of(cJSON_GetArrayItem(records, 0), "status"), "ok");
    assert_string_equal(text_of(cJSON_GetArrayItem(records, 1), "status"), "failed");
    assert_non_null(strstr(text_of(cJSON_GetArrayItem(records, 1), "reason"), "bad.mtx:4"));
    assert_string_equal(text_of(cJSON_GetArrayItem(records, 2), "matrix"), "sym");
    assert_string_equal(text_of(cJSON_GetArrayItem(records, 2), "status"), "ok");
    char *err = read_file("err");
    if (!err) fail();
    assert_non_null(strstr(err, "spry bench: "));
    assert_non_null(strstr(err, "bad.mtx:4"));
    free(err);
    cJSON_Delete(records);
}

/* ---- spmv --------------------------------------------------------------------------------------- */

static void spmv(void **state)
{
    expect("spmv $D/small.mtx 2>/dev/null", 0, "small: 4 x 5, 6 entries, regular", NULL);
    expect("spmv $D/small.mtx --type f32 --index 64/64 2>/dev/null", 0, "f32, indices 64/64", NULL);
    expect("spmv $D/small.mtx --kernel csr_portable_cpu 2>/dev/null", 0, "kernel          csr_portable_cpu", NULL);
    expect("spmv $D/small.mtx --format coo 2>/dev/null", 0, "(format coo", NULL);
    expect("spmv $D/small.mtx --threads 1 2>/dev/null", 0, ", 1 thread,", NULL);
    expect("spmv $D/small.mtx --format csr 2>/dev/null", 0, "; set-up pays from the first", NULL);
    expect("spmv gen:dense,rows=300,cols=300 --format coo 2>/dev/null", 0, "; set-up pays never", NULL);
    cJSON *records = records_of("spmv gen:banded,rows=100 --alpha 2.5 --beta -1 --json", 0);
    assert_int_equal(cJSON_GetArraySize(records), 1);
    const cJSON *r = cJSON_GetArrayItem(records, 0);
    assert_near(number_of(r, "alpha"), 2.5, 0);
    assert_near(number_of(r, "beta"), -1, 0);
    assert_true(number_of(r, "read_us") > 0 && number_of(r, "first_us") > 0 && number_of(r, "setup_us") >= 0);
    assert_true(number_of(r, "max_error") >= 0 && number_of(r, "max_error") <= 1);
    assert_true(number_of(r, "predicted_us") > 0 && number_of(r, "baseline_us") > 0);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(r, "update_us"))); /* only --time measures an update */
    cJSON_Delete(records);
    records = records_of("spmv gen:dense,rows=300,cols=300 --format coo --json", 0);
    r = cJSON_GetArrayItem(records, 0);
    assert_true(number_of(r, "predicted_us") > number_of(r, "baseline_us"));
    /* coo is predicted to be slower than csr, so it never breaks even */
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(r, "break_even")));
    cJSON_Delete(records);
    /* Nothing is measured without --time, and no note mentions the copy bandwidth. */
    outcome o = spry("spmv $D/small.mtx");
    assert_null(strstr(o.out, "GFLOP/s"));
    assert_string_equal(o.err, "");
    release(&o);
    expect("spmv $D/small.mtx --time 2>/dev/null", 0, "GFLOP/s", NULL);
    records = records_of("spmv gen:banded,rows=100 --time --json 2>/dev/null", 0);
    r = cJSON_GetArrayItem(records, 0);
    assert_true(number_of(r, "runs") >= 20 && number_of(r, "min_us") <= number_of(r, "time_us"));
    assert_near(number_of(r, "roof"), number_of(r, "gbps") / number_of(r, "copy_gbps"), 1e-4);
    cJSON_Delete(records);
    static const mistake cases[] = {{"--alpha one", "--alpha is 'one', expected a finite number"},
                                    {"--alpha inf", "--alpha is 'inf', expected a finite number"},
                                    {"--beta 1,5", "--beta is '1,5', expected a finite number"},
                                    {"--x zeros", "zeros: cannot be opened: No such file"},
                                    {"--type pattern", "--type is 'pattern', expected one of: f32, f64"},
                                    {"--kernel csr_nothing", "csr_nothing"},
                                    {"--format nothing", "nothing"},
                                    {"--threads 0x2", "--threads is '0x2', expected a whole number"}};
    expect_mistakes("spmv $D/small.mtx", cases, sizeof cases / sizeof *cases);
}

/* Tests --memory-limit, which replaces the padding guard. The longest of the 256 rows has 131 entries. */
static void memory_limits(void **state)
{
    expect("spmv gen:rmat16,scale=8 --format ell", 1, NULL, "refused by the padding guard");
    expect("spmv gen:rmat16,scale=8 --format ell --memory-limit 300K", 1, NULL, "over the limit of 307200");
    expect("spmv gen:rmat16,scale=8 --format ell --memory-limit 500k", 0, "(format ell", NULL);
    expect("spmv gen:rmat16,scale=8 --policy tree:unpredictable", 0, "(format hyb", NULL);
    expect("explain gen:rmat16,scale=8 --device h200 --policy tree:unpredictable", 0, "hyb: rows are unpredictable",
           NULL);
    expect("explain gen:rmat16,scale=8 --device h200 --policy tree:unpredictable --memory-limit 36K", 0,
           "csr: hyb would take more memory than is allowed", NULL);
    /* on the CPU, csr's bytes depend on the processor, so messages are not compared beyond "would own" */
    static const char *const commands[] = {"spmv", "explain"};
    for (int c = 0; c < 2; c++) {
        char command[160];
        snprintf(command, sizeof command, "%s gen:rmat16,scale=8 --memory-limit 1", commands[c]);
        expect(command, 1, NULL, "a plan in csr would own ");
        snprintf(command, sizeof command, "%s gen:rmat16,scale=8 --policy tree:unpredictable --memory-limit 1K",
                 commands[c]);
        expect(command, 0, "csr: hyb would take more memory than is allowed", NULL);
    }
    /* on the GPU, csr needs 31 580 bytes, and x and y need 2048 bytes each */
    expect("explain gen:rmat16,scale=8 --device h200 --memory-limit 30K", 1, NULL,
           "a plan in csr would own 35676 bytes, over the limit of 30720\n");
    expect("explain gen:rmat16,scale=8 --device h200 --memory-limit 34K", 1, NULL,
           "a plan in csr would own 35676 bytes, over the limit of 34816\n");
    expect("explain gen:fem3,x=12,y=12,z=12 --device h200 --memory-limit 1K --json", 1, NULL,
           "a plan in csr would own 4348516 bytes, over the limit of 1024; the smallest, in bsr, has 3076964\n");
    const char *const command = "bench gen:rmat16,scale=8 --formats csr,ell --runs 1 --device cpu --json";
    char limited[256];
    for (int limit = 0; limit < 3; limit++) {
        snprintf(limited, sizeof limited, "%s%s", command,
                 limit == 0   ? ""
                 : limit == 1 ? " --memory-limit 0.3M"
                              : " --memory-limit 403472");
        cJSON *records = records_of(limited, 0);
        assert_string_equal(text_of(find(records, "format", "csr"), "status"), "ok");
        const cJSON *ell = find(records, "format", "ell");
        assert_string_equal(text_of(ell, "status"), limit == 2 ? "ok" : "skipped");
        if (limit == 2) assert_true(number_of(ell, "bytes") == 403472);
        cJSON_Delete(records);
    }
    static const mistake cases[] = {{"--memory-limit much", "--memory-limit is 'much', expected a number of bytes"},
                                    {"--memory-limit 0", "--memory-limit is 0, expected 1 byte to 2^62"}};
    expect_mistakes("spmv $D/small.mtx", cases, sizeof cases / sizeof *cases);
    expect_mistakes("bench $D/small.mtx", cases, sizeof cases / sizeof *cases);
    expect("bench $D/small.mtx --op spgemm --memory-limit 1G", 2, NULL, "--memory-limit is for products with a vector");
    expect("bench $D/small.mtx --regret --memory-limit 1G", 2, NULL, "--memory-limit cannot be used with --regret");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_record),
        cmocka_unit_test(additions_to_y),
        cmocka_unit_test(types_and_indices),
        cmocka_unit_test(patterns),
        cmocka_unit_test(all_kernels),
        cmocka_unit_test(cases_of_a_gpu),
        cmocka_unit_test(orderings),
        cmocka_unit_test(orderings_of_one_format),
        cmocka_unit_test(cold),
        cmocka_unit_test(matrices_of_a_suite),
        cmocka_unit_test(suites),
        cmocka_unit_test(short_runs),
        cmocka_unit_test(parts_of_suites),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(bad_matrix_among_good_ones),
        cmocka_unit_test(spmv),
        cmocka_unit_test(memory_limits),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
