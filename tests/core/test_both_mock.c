/*
 * Tests of plans for both directions on a mock device. The matrix must be copied to the device only once, and all
 * memory must be freed.
 */
#include "both_support.h"

#include "mock/mock.h"
#include "spry/io.h"

#include <unistd.h>

/* Lets each device allocation fail in turn. The plan must then return an error and free all memory. */
static void without_memory(void **state)
{
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "rmat,scale=9");
    const int64_t blocks = mock.blocks, held = context_bytes(context);
    int made = 0, refused = 0;
    for (int fail_at = 1; !made; fail_at++) {
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        spry_spmv_plan *plan = NULL;
        spry_error err = SPRY_ERROR_INIT;
        o.device = 1;
        o.format = "csr";
        o.both_directions = 1;
        mock.fail_at = mock.allocations + fail_at;
        const spry_status status = spry_spmv_plan_create(context, &plan, A, &o, &err);
        mock.fail_at = 0;
        made = status == SPRY_OK;
        refused += !made;
        if (!made) assert_int_equal(status, SPRY_OUT_OF_MEMORY);
        spry_spmv_plan_destroy(plan);
        assert_int_equal(mock.blocks, blocks);
        assert_int_equal(context_bytes(context), held);
    }
    assert_true(refused > 3);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
}

/*
 * Updates a plan whose matrix is a container. The update uses the CSR arrays that the plan created when it was built.
 */
static void update_of_a_container(void **state)
{
    char path[] = "/tmp/spry-both-XXXXXX.spry";
    const int file = mkstemps(path, 5);
    spry_context *context = context_of(1);
    spry_matrix *A = generate_matrix(context, "rmat,scale=9");
    spry_write_options write_options = SPRY_INIT(spry_write_options);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    assert_true(file >= 0);
    close(file);
    write_options.format = "sell";
    assert_int_equal(spry_matrix_write(A, path, &write_options, NULL), SPRY_OK);
    spry_matrix *B = read_matrix(context, path, NULL);
    o.device = 1;
    o.format = "csr";
    o.both_directions = 1;
    spry_spmv_plan *plan = create_plan(context, B, &o);
    MUST(spry_spmv_plan_update(plan, NULL, err));
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_context_destroy(context);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_ways),      cmocka_unit_test(one_storage_of_symmetric),
                                       cmocka_unit_test(other_values),   cmocka_unit_test(limits_and_refusals),
                                       cmocka_unit_test(without_memory), cmocka_unit_test(update_of_a_container)};
    both_device = 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
