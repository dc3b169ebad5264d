/*
 * Tests of the inspection of matrices in GPU memory. The results must equal those for host arrays. Skipped if there is
 * no GPU.
 */
#include "inspection_support.h"

static void as_on_the_host(void **state)
{
    spry_context *context = context_of(0);
    for (int n = 0; n < inspected_count; n++) {
        both_places both = in_both_places(context, inspected_matrices[n].spec);
        check_same_inspection(inspected_matrices[n].spec, &both, SPRYI_QUICK, SPRY_F32);
        check_same_inspection(inspected_matrices[n].spec, &both, SPRYI_FULL, SPRY_F64);
        free_both_places(context, &both);
    }
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_on_the_host)};
    return has_gpu() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
