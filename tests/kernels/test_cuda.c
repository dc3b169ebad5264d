/* Runs the tests of the CPU's kernels on the GPU's kernels, plain and transposed. Skipped without a GPU. */
#include "cuda_support.h"
#include "kernel_tests.h"
#include "trials.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_on_every_family),
        cmocka_unit_test(large_y),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(unused_x_does_not_matter),
        cmocka_unit_test(multiple_columns),
        cmocka_unit_test(values_of_another_type),
    };
    if (!has_gpu()) return SKIPPED;
    tested_device = "cuda";
    tested_op = SPRY_NO_TRANSPOSE;
    int failed = cmocka_run_group_tests_name("plain", tests, NULL, NULL);
    tested_op = SPRY_TRANSPOSE;
    return failed + cmocka_run_group_tests_name("transposed", tests, NULL, NULL);
}
