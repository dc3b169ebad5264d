/* Plans of both directions on a GPU. Skipped where there is none. */
#include "both_support.h"

#include <stdio.h>

enum { SKIPPED = 77 };

static int has_gpu(void)
{
    spry_context *context = make_context(NULL, 1);
    spry_device_info info = SPRY_INIT(spry_device_info);
    const int found = spry_device_get_info(context, &info, 1, NULL) == SPRY_OK && info.available;
    printf("%s: %s\n", found ? "GPU" : "skipped, no GPU", found ? info.description : info.reason);
    spry_context_destroy(context);
    return found;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_ways), cmocka_unit_test(one_storage_of_symmetric),
                                       cmocka_unit_test(other_values), cmocka_unit_test(limits_and_refusals)};
    both_device = 1;
    return has_gpu() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
