/*
 * Tests of the inspection of matrices in device memory. The results must equal those for host arrays, and only a part
 * of the column indices may be fetched.
 */
#include "base/context.h"
#include "base/memory.h"
#include "inspection_support.h"
#include "matrix/matrix.h"
#include "mock/mock.h"

enum { MOST_GATHERS = 60 }; /* limit; matrices other than the chain of inspection_support.c need 9 to 36 */

/* Asserts that the fetched share is at most the matrix's limit, and that all memory is freed. */
static void inspect(spry_context *context, const inspected *l)
{
    both_places both = in_both_places(context, l->spec);
    const int64_t held = context_bytes(context), blocks = mock.blocks;
    const double pieces = 4.0 * (double)both.on_host->a.nnz / SPRYI_PIECE_BYTES + 1;
    spryi_value_sample sample;
    spryi_sample_values(&sample, NULL, &both.on_host->a);
    const int64_t of_values = sample.count > 0 ? SPRYI_SAMPLE_BYTES / SPRYI_PIECE_BYTES : 0;
    for (int full = 0; full < 2; full++) { /* a full inspection copies all columns */
        const int64_t before = mock.gathered, calls = mock.gathers;
        check_same_inspection(l->spec, &both, full ? SPRYI_FULL : SPRYI_QUICK, full ? SPRY_F64 : SPRY_F32);
        const double share = (double)(mock.gathered - before - of_values) / pieces;
        if (mock.gathers - calls > MOST_GATHERS) fail_msg("%s: %d gathers", l->spec, (int)(mock.gathers - calls));
        if (share > l->share || (share == 0) != full) fail_msg("%s: %g of the columns fetched", l->spec, share);
    }
    assert_int_equal(context_bytes(context), held);
    assert_int_equal(mock.blocks, blocks);
    free_both_places(context, &both);
}

static void as_on_the_host(void **state)
{
    for (int n = 0; n < inspected_count; n++) {
        spry_context *context = context_of(1 + 2 * (n % 2));
        inspect(context, &inspected_matrices[n]);
        spry_context_destroy(context);
    }
}

/* Asserts that a small column array is copied whole, since a gather takes longer. */
static void small_ones_are_copied(void **state)
{
    spry_context *context = context_of(1);
    both_places both = in_both_places(context, "grid5,x=100,y=100");
    const int64_t calls = mock.gathers;
    check_same_inspection("grid5", &both, SPRYI_QUICK, SPRY_F64);
    assert_int_equal(mock.gathers, calls);
    free_both_places(context, &both);
    spry_context_destroy(context);
}

/*
 * Runs the inspection with a memory limit that grows until the inspection succeeds. A refused inspection must return
 * SPRY_OUT_OF_MEMORY and free all memory.
 */
static void without_memory(void **state)
{
    spry_context *context = context_of(1);
    both_places both = in_both_places(context, "grid5,x=400,y=400");
    const int64_t held = context_bytes(context);
    int refused = 0, done = 0;
    for (int64_t most = 64; !done; most = most * 3 / 2) {
        spryi_ranking r;
        spryi_memory_limit limit;
        spry_error err = SPRY_ERROR_INIT;
        spryi_begin_memory_limit(&limit, most);
        const spry_status status = rank_for_h100(&r, both.on_device, SPRYI_QUICK, SPRY_F64, &err);
        done = spryi_end_memory_limit(&limit, status, &err) == SPRY_OK;
        if (!done) assert_int_equal(status, SPRY_OUT_OF_MEMORY);
        refused += !done;
        assert_int_equal(context_bytes(context), held);
    }
    assert_true(refused > 10);
    free_both_places(context, &both);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_on_the_host), cmocka_unit_test(small_ones_are_copied),
                                       cmocka_unit_test(without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
