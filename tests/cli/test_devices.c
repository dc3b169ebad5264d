/* spry devices where the CUDA plug-in cannot be used: the reason for people and for programs, and no failure. */
#include "spawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

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
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s/none.so", folder());
    expect_reason(path, "no CUDA plug-in: ");
    write_file("text.so", "no shared object");
    snprintf(path, sizeof path, "%s/text.so", folder());
    expect_reason(path, "text.so: file too short");
    expect_reason("libspry-cuda.so", "expected a path with a slash in it");
    expect_reason(SPRY_TEST_PLUGINS "/other_build.so", "is of build 0.0.1-another, this library of ");
    expect_reason(SPRY_TEST_PLUGINS "/no_driver.so", "fake: no driver is installed");
    expect_reason(SPRY_TEST_PLUGINS "/stranger.so", "is no plug-in of Spry");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plugins_that_cannot_be_used),
    };
    return cmocka_run_group_tests(tests, make_matrices, remove_folder);
}
