/* Transposed products. */
#include "kernel_tests.h"

int main(void)
{
    tested_op = SPRY_TRANSPOSE;
    const struct CMUnitTest races[] = {
        cmocka_unit_test(every_kernel_on_every_family),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(columns_row_by_row),
        cmocka_unit_test(values_of_another_type),
    };
    if (RACES_ALONE) return cmocka_run_group_tests(races, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_on_every_family),
        cmocka_unit_test(large_y),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(unused_x_does_not_matter),
        cmocka_unit_test(alpha_that_is_not_finite),
        cmocka_unit_test(multiple_columns),
        cmocka_unit_test(columns_row_by_row),
        cmocka_unit_test(values_of_another_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
