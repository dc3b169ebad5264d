/*
 * Runs the tests of the CPU's kernels on the mock device, plain and transposed, with storages built on the host and on
 * the device.
 */
#include "kernel_tests.h"
#include "mock/mock.h"
#include "trials.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_on_every_family),
        cmocka_unit_test(unused_x_does_not_matter),
        cmocka_unit_test(multiple_columns),
    };
    int failed = 0;
    tested_device = "mock";
    tested_briefly = 1; /* the mock device serves to test the calls of kernels; its kernels are simple loops */
    for (mock.converts = 0; mock.converts < 2; mock.converts++)
        for (int transposed = 0; transposed < 2; transposed++) {
            if (INSTRUMENTED && transposed == mock.converts) continue; /* runs two of the four combinations */
            tested_op = transposed ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
            failed += cmocka_run_group_tests_name(transposed ? "transposed" : "plain", tests, NULL, NULL);
        }
    return failed + (mock.conversions == 0);
}
