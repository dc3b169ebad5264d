/* Tests of plans for both directions on a GPU. Skipped if there is no GPU. */
#include "both_support.h"

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_ways), cmocka_unit_test(one_storage_of_symmetric),
                                       cmocka_unit_test(other_values), cmocka_unit_test(limits_and_refusals)};
    both_device = 1;
    return has_gpu() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
