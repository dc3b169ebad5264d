/* PageRank and Conjugate Gradient on a GPU, compared with the CPU. Skipped if the machine has no GPU. */
#include "device_tests.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cg_as_on_the_cpu),
        cmocka_unit_test(cg_verdicts),
        cmocka_unit_test(cg_stops_where_it_says),
        cmocka_unit_test(cg_guesses_and_observers),
        cmocka_unit_test(cg_of_extreme_magnitude),
        cmocka_unit_test(cg_plans_run_again),
        cmocka_unit_test(cg_columns_side_by_side),
        cmocka_unit_test(cg_with_f32_inside),
        cmocka_unit_test(cg_with_callbacks),
        cmocka_unit_test(pagerank_as_on_the_cpu),
        cmocka_unit_test(pagerank_dangling_nodes),
        cmocka_unit_test(data_in_device_memory),
        cmocka_unit_test(pagerank_personalization),
        cmocka_unit_test(pagerank_bad_weights),
        cmocka_unit_test(pagerank_links),
        cmocka_unit_test(pagerank_bad_links),
        cmocka_unit_test(pagerank_stops_where_it_says),
        cmocka_unit_test(the_same_bits_again),
        cmocka_unit_test(strided_vectors),
        cmocka_unit_test(bad_places),
    };
    if (!has_gpu()) return SKIPPED;
    tested_device = "cuda";
    tested_kernel = "csr_merge_cuda";
    return cmocka_run_group_tests(tests, open_contexts, close_contexts);
}
