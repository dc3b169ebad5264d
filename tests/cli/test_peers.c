/* Peers: missing, broken, wrong, and beside the program. */
#include "records.h"
#include "spawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void test_peer_folder(char *path, size_t size)
{
    snprintf(path, size, "%s", SPRY_CLI);
    char *slash = strrchr(path, '/');
    snprintf(slash, size - (size_t)(slash - path), "/tests/peers");
}

static void missing_peers_are_skipped(void **state)
{
    (void)state;
    setenv("SPRY_PEER_DIR", folder(), 1);
    cJSON *records = records_of("bench $D/small.mtx --peers --json", 0);
    static const char *const names[] = {"csr_plain", "eigen_csr", "mkl_csr", "mkl_csr_optimized"};
    for (int n = 0; n < 4; n++) {
        const cJSON *r = find(records, "kernel", names[n]);
        assert_non_null(r);
        assert_string_equal(text_of(r, "status"), "skipped");
        assert_true(cJSON_IsTrue(cJSON_GetObjectItem(r, "peer")));
        assert_non_null(strstr(text_of(r, "reason"), "there is no peer module"));
    }
    cJSON_Delete(records);
    expect("spmv $D/small.mtx 2>/dev/null", 0, "csr_plain: skipped, there is no peer module", NULL);
    write_file("spry-peer-plain.so", "this is no shared object\n");
    records = records_of("bench $D/small.mtx --peers --kernels csr_plain --json", 0);
    assert_int_equal(cJSON_GetArraySize(records), 1);
    assert_non_null(strstr(text_of(cJSON_GetArrayItem(records, 0), "reason"), "cannot be loaded"));
    cJSON_Delete(records);
    unsetenv("SPRY_PEER_DIR");
}

static void wrong_peer_is_found_out(void **state)
{
    (void)state;
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
        assert_non_null(strstr(text_of(wrong, "reason"), "1 rows past the error bound, worst at row 1250"));
        assert_true(number_of(wrong, "max_error") > 1);
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(wrong, "time_us")));
        assert_non_null(lost);
        assert_string_equal(text_of(lost, "status"), "failed");
        assert_string_equal(text_of(find(records, "format", "csr"), "status"), "ok");
        cJSON_Delete(records);
    }
    expect("bench gen:grid5,x=50,y=50 --peers 2>/dev/null", 1, "csr_wrong               wrong: alpha 1, beta 0: 1 rows",
           NULL);
    expect("bench $D/small.mtx --peers 2>/dev/null", 1, "interface 2, expected 1", NULL);
    unsetenv("SPRY_PEER_DIR");
}

static void peers_beside_the_program(void **state)
{
    (void)state;
    cJSON *records = records_of("bench gen:grid7,x=9,y=8,z=7 --peers --type all --json", 0);
    const cJSON *r = find(records, "kernel", "csr_plain");
    assert_non_null(r);
    assert_string_equal(text_of(r, "status"), "ok");
    assert_near(number_of(r, "threads"), 1, 0);
    cJSON_Delete(records);
    expect("bench $D/small.mtx --peers 2>/dev/null", 0, "vs peer", NULL);
    /* A list that names peers runs those alone. */
    records = records_of("bench $D/small.mtx --peers --kernels csr_plain,csr_reference_cpu --json", 0);
    assert_int_equal(cJSON_GetArraySize(records), 2);
    cJSON_Delete(records);
    /* Peers stand beside the chosen formats. */
    records = records_of("bench $D/small.mtx --peers --formats coo --json", 0);
    assert_null(find(records, "kernel", "csr_plain"));
    cJSON_Delete(records);
    for (int p = 0; p < 2; p++) {
        records = records_of(p == 0 ? "bench $D/small.mtx --peers --index 64/32 --json"
                                    : "bench $D/small.mtx --peers --index 64/64 --json",
                             0);
        assert_string_equal(text_of(find(records, "kernel", "csr_plain"), "status"), "ok");
        assert_string_equal(text_of(find(records, "kernel", "mkl_csr"), "status"), "skipped");
        cJSON_Delete(records);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_peers_are_skipped),
        cmocka_unit_test(wrong_peer_is_found_out),
        cmocka_unit_test(peers_beside_the_program),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
