/* Tests of peers: missing, broken, wrong, and installed next to the program. */
#include "records.h"
#include "spawn.h"

#include "bench/peers/blocks.c" /* source of a peer module, which a test cannot link */

static void test_peer_folder(char *path, size_t size)
{
    snprintf(path, size, "%s", SPRY_CLI);
    char *slash = strrchr(path, '/');
    snprintf(slash, size - (size_t)(slash - path), "/tests/peers");
}

static void missing_peers_are_skipped(void **state)
{
    setenv("SPRY_PEER_DIR", folder(), 1);
    cJSON *records = records_of("bench $D/small.mtx --peers --json", 0);
    static const char *const names[] = {"csr_plain", "csr5_authors_cpu", "kokkos_kernels_cpu",
                                        "eigen_csr", "mkl_csr",          "mkl_csr_optimized",
                                        "mkl_csc",   "mkl_coo",          "mkl_bsr",
                                        "librsb",    "librsb_tuned"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        const cJSON *r = find(records, "kernel", names[n]);
        assert_non_null(r);
        assert_string_equal(text_of(r, "status"), "skipped");
        assert_true(cJSON_IsTrue(cJSON_GetObjectItem(r, "peer")));
        assert_non_null(strstr(text_of(r, "reason"), "there is no peer module"));
    }
    cJSON_Delete(records);
    records = records_of("bench $D/small.mtx --op spmm --peers --device all --json", 0);
    static const char *const of_columns[] = {"mkl_spmm", "mkl_spmm_optimized", "eigen_spmm", "graphblas_spmm",
                                             "scipy_spmm"};
    for (size_t n = 0; n < sizeof of_columns / sizeof *of_columns; n++)
        assert_non_null(strstr(text_of(find(records, "kernel", of_columns[n]), "reason"), "there is no peer module"));
    assert_null(find(records, "kernel", "mkl_csr"));
    cJSON_Delete(records);
    records = records_of("bench $D/small.mtx --op spmm --peers --device cuda --formats csr,coo,bsr --json", 0);
    static const char *const of_gpus[] = {"csr_alg1", "csr_alg2", "csr_alg3", "coo_alg1",
                                          "coo_alg2", "coo_alg3", "coo_alg4", "bsr"};
    for (size_t n = 0; n < sizeof of_gpus / sizeof *of_gpus; n++) {
        char name[64];
        snprintf(name, sizeof name, "cusparse_spmm_%s", of_gpus[n]);
        assert_string_equal(text_of(find(records, "kernel", name), "status"), "skipped");
    }
    cJSON_Delete(records);
    expect("spmv $D/small.mtx --time 2>/dev/null", 0, "GFLOP/s", NULL); /* needs no peer */
    write_file("spry-peer-plain.so", "this is no shared object\n");
    records = records_of("bench $D/small.mtx --peers --kernels csr_plain --json", 0);
    assert_int_equal(cJSON_GetArraySize(records), 1);
    assert_non_null(strstr(text_of(cJSON_GetArrayItem(records, 0), "reason"), "cannot be loaded"));
    cJSON_Delete(records);
    unsetenv("SPRY_PEER_DIR");
}

static int program_has_gpu(void)
{
    outcome o = spry("devices --json");
    int available = 0;
    for (int line = 0; line < count_lines(o.out); line++) {
        cJSON *device = json_line(o.out, line);
        available |= strcmp(text_of(device, "name"), "cuda") == 0 &&
                     cJSON_IsTrue(cJSON_GetObjectItem(device, "available"));
        cJSON_Delete(device);
    }
    release(&o);
    return available;
}

/* Asserts that GPU peers are listed if selected by device or name, but not by default on a machine without a GPU. */
static void peers_on_a_gpu(void **state)
{
    setenv("SPRY_PEER_DIR", folder(), 1);
    cJSON *records = records_of("bench $D/small.mtx --peers --kernels cusparse_sell --json", 0);
    assert_int_equal(cJSON_GetArraySize(records), 1);
    assert_string_equal(text_of(cJSON_GetArrayItem(records, 0), "device"), "cuda");
    assert_non_null(strstr(text_of(cJSON_GetArrayItem(records, 0), "reason"), "there is no peer module"));
    cJSON_Delete(records);
    unsetenv("SPRY_PEER_DIR");
    records = records_of("bench $D/small.mtx --peers --device cuda --formats csr --json", 0);
    assert_non_null(find(records, "kernel", "cusparse_csr_alg1"));
    assert_null(find(records, "kernel", "cusparse_coo_alg1"));
    assert_null(find(records, "kernel", "csr_plain"));
    cJSON_Delete(records);
    if (program_has_gpu()) return;
    records = records_of("bench $D/small.mtx --peers --device cuda --kernels cusparse_csr_alg2 --json", 0);
    const cJSON *r = cJSON_GetArrayItem(records, 0);
    assert_string_equal(text_of(r, "status"), "skipped");
    assert_true(strstr(text_of(r, "reason"), "cuSPARSE needs a GPU: ") ||
                strstr(text_of(r, "reason"), "no peer module") || strstr(text_of(r, "reason"), "cannot be loaded"));
    cJSON_Delete(records);
    records = records_of("bench $D/small.mtx --peers --json", 0);
    assert_non_null(find(records, "kernel", "csr_plain"));
    assert_null(find(records, "device", "cuda"));
    cJSON_Delete(records);
}

static void wrong_peer_is_found_out(void **state)
{
    char path[512];
    test_peer_folder(path, sizeof path);
    setenv("SPRY_PEER_DIR", path, 1);
    static const char *const types[] = {"f32", "f64"};
    for (int t = 0; t < 2; t++) {
        char command[160];
        snprintf(command, sizeof command, "bench gen:grid5,x=50,y=50 --peers --type %s --json", types[t]);
        cJSON *records = records_of(command, 1);
        const cJSON *wrong = find(records, "kernel", "csr_wrong"), *lost = find(records, "kernel", "csr_lost");
        assert_non_null(wrong);
        assert_string_equal(text_of(wrong, "status"), "wrong");
        assert_non_null(
            strstr(text_of(wrong, "reason"), "1 rows exceed the error bound, the worst is row 1251 (counted from 1)"));
        assert_true(number_of(wrong, "max_error") > 1);
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(wrong, "time_us")));
        assert_non_null(lost);
        assert_string_equal(text_of(lost, "status"), "failed");
        assert_string_equal(text_of(find(records, "format", "csr"), "status"), "ok");
        cJSON_Delete(records);
    }
    expect("bench gen:grid5,x=50,y=50 --peers 2>/dev/null", 1, "wrong  csr_wrong: alpha 1, beta 0: 1 rows", NULL);
    expect("bench $D/small.mtx --peers 2>/dev/null", 1, "interface 7, expected 6", NULL);
    unsetenv("SPRY_PEER_DIR");
}

static void peers_next_to_the_program(void **state)
{
    cJSON *records = records_of("bench gen:grid7,x=9,y=8,z=7 --peers --type all --runs 3 --json", 0);
    const cJSON *r = find(records, "kernel", "csr_plain");
    assert_non_null(r);
    assert_string_equal(text_of(r, "status"), "ok");
    assert_near(number_of(r, "threads"), 1, 0);
    cJSON_Delete(records);
    expect("bench $D/small.mtx --peers 2>/dev/null", 0, "csr_plain", NULL);
    /* A list of kernels with peers runs only these peers. */
    records = records_of("bench $D/small.mtx --peers --kernels csr_plain,csr_portable_cpu --json", 0);
    assert_int_equal(cJSON_GetArraySize(records), 2);
    cJSON_Delete(records);
    /* Peers run in addition to the chosen formats. */
    records = records_of("bench $D/small.mtx --peers --formats coo --runs 3 --json", 0);
    assert_null(find(records, "kernel", "csr_plain"));
    cJSON_Delete(records);
    for (int p = 0; p < 2; p++) {
        records = records_of(p == 0 ? "bench $D/small.mtx --peers --index 64/32 --runs 3 --json"
                                    : "bench $D/small.mtx --peers --index 64/64 --runs 3 --json",
                             0);
        assert_string_equal(text_of(find(records, "kernel", "csr_plain"), "status"), "ok");
        static const char *const narrow[] = {"mkl_csr", "mkl_csr_optimized", "mkl_csc", "mkl_coo", "mkl_bsr",
                                             "librsb",  "librsb_tuned"};
        for (size_t n = 0; n < sizeof narrow / sizeof *narrow; n++)
            assert_string_equal(text_of(find(records, "kernel", narrow[n]), "status"), "skipped");
        cJSON_Delete(records);
    }
}

static int is_missing(const cJSON *record)
{
    return strstr(text_of(record, "reason"), "there is no peer module") != NULL;
}

/*
 * Runs A*x and A^T*x with every built peer. The matrices have empty rows, more columns than rows, 3 x 3 blocks, or long
 * rows. No result may be wrong. Only mkl_bsr, cuSPARSE, and what CSR5 lacks may be skipped.
 */
static void peers_multiply_both_ways(void **state)
{
    static const char *const matrices[] = {"$D/wide.mtx", "gen:fem3,x=4,y=4,z=3", "gen:rmat20,scale=9"};
    write_file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 7 3\n2 7 2\n2 1 3\n2 4 -1\n");
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++)
        for (int t = 0; t < 2; t++) {
            char command[160];
            snprintf(command, sizeof command, "bench %s --op %s --type %s --peers --runs 3 --json", matrices[m],
                     t ? "spmv_t" : "spmv", (m + (size_t)t) % 2 ? "f32" : "f64");
            cJSON *records = records_of(command, 0);
            const cJSON *r;
            int peers = 0;
            cJSON_ArrayForEach(r, records)
            {
                if (!cJSON_IsTrue(cJSON_GetObjectItem(r, "peer")) || is_missing(r)) continue;
                peers++;
                if (strcmp(text_of(r, "kernel"), "mkl_bsr") == 0 && m != 1) continue;
                if ((strncmp(text_of(r, "kernel"), "cusparse_", 9) == 0 ||
                     strncmp(text_of(r, "kernel"), "csr5_", 5) == 0) &&
                    strcmp(text_of(r, "status"), "skipped") == 0)
                    continue;
                if (strcmp(text_of(r, "status"), "ok") == 0) continue;
                print_error("%s: %s %s, %s\n", command, text_of(r, "kernel"), text_of(r, "status"),
                            text_of(r, "reason"));
                fail();
            }
            assert_true(peers >= 1); /* at least the plain loop */
            cJSON_Delete(records);
        }
}

/*
 * Returns 1 if the record is ok, or skipped for an allowed reason: a missing library or module, or an unsupported case.
 */
static int may_be(const cJSON *record, int narrow)
{
    const char *kernel = text_of(record, "kernel");
    if (strcmp(text_of(record, "status"), "ok") == 0) return 1;
    if (strcmp(text_of(record, "status"), "skipped") != 0) return 0;
    return is_missing(record) || strncmp(kernel, "cusparse_", 9) == 0 || (strncmp(kernel, "mkl_", 4) == 0 && !narrow) ||
           (strcmp(kernel, "scipy_spmm") == 0 && strstr(text_of(record, "reason"), "No module named") != NULL);
}

/* Runs multi-vector products in both layouts and directions with every built peer. */
static void peers_multiply_columns(void **state)
{
    static const char *const matrices[] = {"$D/wide.mtx", "gen:fem3,x=4,y=4,z=3", "gen:rmat20,scale=9"};
    write_file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 7 3\n2 7 2\n2 1 3\n2 4 -1\n");
    for (int c = 0; c < 12; c++) {
        const int narrow = c % 3 < 2;
        char command[200];
        snprintf(command, sizeof command,
                 "bench %s --op %s --layout %s --count 1,5 --type %s --index %s --formats csr,coo,bsr --peers "
                 "--runs 3 --json",
                 matrices[c % 3], c & 1 ? "spmm_t" : "spmm", c & 2 ? "column" : "row", c & 4 ? "f32" : "f64",
                 narrow ? "32/32" : "64/64");
        cJSON *records = records_of(command, 0);
        const cJSON *r;
        int peers = 0;
        cJSON_ArrayForEach(r, records)
        {
            if (!cJSON_IsTrue(cJSON_GetObjectItem(r, "peer"))) continue;
            peers++;
            if (!may_be(r, narrow))
                fail_msg("%s: %s %s, %s", command, text_of(r, "kernel"), text_of(r, "status"), text_of(r, "reason"));
        }
        assert_true(peers >= 2 * 5); /* at least five peers, each with 1 and with 5 columns */
        cJSON_Delete(records);
    }
}

/* Asserts that 3 x 3 blocks are found and stored as blocks. The matrix of a grid has no blocks. */
static void blocks_in_mkl(void **state)
{
    cJSON *records = records_of("bench gen:fem3,x=4,y=4,z=3 --peers --kernels mkl_bsr --json", 0);
    const cJSON *r = find(records, "kernel", "mkl_bsr");
    if (!is_missing(r)) {
        double nnz = number_of(r, "nnz"), rows = number_of(r, "rows");
        assert_near(number_of(r, "bytes"), nnz * 8 + nnz / 9 * 4 + (rows / 3 + 1) * 4, 0);
    }
    cJSON_Delete(records);
    records = records_of("bench gen:grid7,x=8,y=8,z=8 --peers --kernels mkl_bsr --json", 0);
    r = find(records, "kernel", "mkl_bsr");
    assert_string_equal(text_of(r, "status"), "skipped");
    if (!is_missing(r)) assert_non_null(strstr(text_of(r, "reason"), "the matrix has no blocks"));
    cJSON_Delete(records);
}

/* ---- block detection, which needs no library of a peer ------------------------------------------- */

static int find_blocks(peer_blocks *blocks, int64_t rows, int64_t cols, const int32_t *offsets, const int32_t *columns)
{
    spry_peer_error error = {""};
    spry_peer_matrix a = {rows, cols, offsets[rows], 8, 4, 4, offsets, columns, NULL};
    int result = peer_blocks_find(blocks, &a, &error);
    assert_int_equal(error.text[0] == '\0', result == SPRY_PEER_OK);
    return result;
}

static void blocks_are_found(void **state)
{
    peer_blocks blocks;
    /* Two dense 2 x 2 blocks in a 4 x 4 matrix. One block of size 4 would store twice as many values. */
    static const int32_t pairs[] = {0, 2, 4, 6, 8}, pair_columns[] = {0, 1, 0, 1, 2, 3, 2, 3};
    assert_int_equal(find_blocks(&blocks, 4, 4, pairs, pair_columns), SPRY_PEER_OK);
    assert_int_equal(blocks.size, 2);
    assert_int_equal(blocks.count, 2);
    /* A dense 6 x 6 matrix. One block of size 6 needs fewer bytes than blocks of size 2 or 3. */
    int32_t offsets[7], columns[36];
    for (int k = 0; k < 36; k++) columns[k] = k % 6;
    for (int i = 0; i <= 6; i++) offsets[i] = 6 * i;
    assert_int_equal(find_blocks(&blocks, 6, 6, offsets, columns), SPRY_PEER_OK);
    assert_int_equal(blocks.size, 6);
    assert_int_equal(blocks.count, 1);
    /* Three entries in a 2 x 2 block: 4/3 stored values per entry are accepted. Two entries: 2 values are refused. */
    static const int32_t three[] = {0, 2, 3}, three_columns[] = {0, 1, 1}, two[] = {0, 1, 2}, two_columns[] = {0, 1};
    assert_int_equal(find_blocks(&blocks, 2, 2, three, three_columns), SPRY_PEER_OK);
    assert_int_equal(blocks.size, 2);
    assert_int_equal(find_blocks(&blocks, 2, 2, two, two_columns), SPRY_PEER_UNSUPPORTED);
    /* A dense row whose length is no multiple of a block size, and a matrix without entries. */
    static const int32_t odd[] = {0, 11}, empty[] = {0, 0, 0};
    static const int32_t odd_columns[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    assert_int_equal(find_blocks(&blocks, 1, 11, odd, odd_columns), SPRY_PEER_UNSUPPORTED);
    assert_int_equal(find_blocks(&blocks, 2, 2, empty, empty), SPRY_PEER_UNSUPPORTED);
}

/*
 * Checks the modules of scripts/rivals.sh, if they are built: long rows, empty rows, rows that begin where a tile of
 * CSR5 begins, incomplete tiles, and fewer tiles than threads. CSR5 by its authors has no f32 and needs entries.
 */
static void rivals_are_right(void **state)
{
    static const char *const matrices[] = {"gen:arrow,rows=3000",
                                           "gen:random,rows=5000,cols=4000,density=0.0004",
                                           "gen:random,rows=300,cols=300,density=0.9",
                                           "gen:banded,rows=4096,half=8",
                                           "gen:diagonal,rows=1023",
                                           "gen:dense,rows=1,cols=5000",
                                           "gen:dense,rows=64,cols=128",
                                           "gen:empty,rows=9,cols=9",
                                           "gen:rmat,scale=12"};
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++)
        for (int threads = 1; threads <= 5; threads += 2) {
            char command[200];
            snprintf(command, sizeof command,
                     "bench %s --peers --kernels csr5_authors_cpu,kokkos_kernels_cpu --type all --threads %d --runs 20 "
                     "--json",
                     matrices[m], threads);
            cJSON *records = records_of(command, 0);
            const cJSON *r;
            assert_int_equal(cJSON_GetArraySize(records), 4);
            cJSON_ArrayForEach(r, records)
            {
                const bool lacks = strcmp(text_of(r, "kernel"), "csr5_authors_cpu") == 0 &&
                                   (strcmp(text_of(r, "type"), "f32") == 0 || number_of(r, "nnz") == 0);
                const char *expected = lacks || is_missing(r) ? "skipped" : "ok";
                if (strcmp(text_of(r, "status"), expected) != 0)
                    fail_msg("%s: %s %s, %s", command, text_of(r, "kernel"), text_of(r, "status"),
                             text_of(r, "reason"));
            }
            cJSON_Delete(records);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_peers_are_skipped),
        cmocka_unit_test(rivals_are_right),
        cmocka_unit_test(peers_on_a_gpu),
        cmocka_unit_test(wrong_peer_is_found_out),
        cmocka_unit_test(peers_next_to_the_program),
        cmocka_unit_test(peers_multiply_both_ways),
        cmocka_unit_test(peers_multiply_columns),
        cmocka_unit_test(blocks_in_mkl),
        cmocka_unit_test(blocks_are_found),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
