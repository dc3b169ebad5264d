/*
 * Lets allocations fail while orderings with groups are created, from the caller's groups and by Band-k with two to
 * four levels.
 */
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/study.h"
#include "support.h"

static spry_status make_groups(spry_context *context, const void *input, spry_error *err)
{
    spry_ordering *ordering = NULL;
    const spry_status status = create_groups(context, &ordering, input, err);
    if (status != SPRY_OK) assert_null(ordering);
    spry_ordering_destroy(ordering);
    return status;
}

static spry_status make_bandk(spry_context *context, const void *input, spry_error *err)
{
    const spry_ordering_options *how = input;
    spry_matrix *A = NULL;
    spry_ordering *ordering = NULL;
    spry_status status = spry_matrix_generate(context, &A, "grid5,x=20,y=10,shuffle=1", NULL, err);
    if (status == SPRY_OK) status = spry_ordering_create(context, &ordering, A, how, err);
    spry_ordering_destroy(ordering);
    spry_matrix_destroy(A);
    return status;
}

static void groups_of_the_caller(void **state)
{
    static const int64_t sr[] = {0, 2, 5, 7, 9}, ssr[] = {0, 2, 4}, sssr[] = {0, 2};
    for (int k = 2; k <= 4; k++) {
        spry_groups g = SPRY_INIT(spry_groups);
        g.rows = 9;
        g.sr_count = 4;
        g.sr_ptr = sr;
        g.ssr_count = k > 2 ? 2 : 0;
        g.ssr_ptr = k > 2 ? ssr : NULL;
        g.sssr_count = k > 3;
        g.sssr_ptr = k > 3 ? sssr : NULL;
        assert_true(fail_every_allocation(make_groups, &g, 2) > 0);
    }
}

static void groups_of_bandk(void **state)
{
    for (int k = 2; k <= 4; k++) {
        spry_ordering_options how = SPRY_INIT(spry_ordering_options);
        how.method = "bandk";
        how.k = k;
        how.srs = 5;
        how.ssrs = k > 2 ? 3 : 0;
        how.sssrs = k > 3 ? 2 : 0;
        assert_true(fail_every_allocation(make_bandk, &how, 2) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_the_caller),
        cmocka_unit_test(groups_of_bandk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
