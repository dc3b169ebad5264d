/* The examples printed in the tutorial and the lecture, by every kernel of a GPU. Skipped without a GPU. */
#include "cuda_support.h"
#include "examples.h"
#include "trials.h"

static void every_kernel_of_a_gpu(void **state)
{
    spry_context *context = context_of(1);
    assert_true(multiply_examples(context, "cuda") >= 20);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kernel_of_a_gpu)};
    if (!has_gpu()) return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
