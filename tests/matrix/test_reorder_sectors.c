/* Tests the number of 32-byte sectors of x per entry, before and after an ordering. */
#include "spry/matrix.h"
#include "support.h"

static spry_ordering_stats stats_of(spry_context *context, const spry_matrix *A, const char *method)
{
    spry_ordering_options o = SPRY_INIT(spry_ordering_options);
    spry_ordering_stats stats = SPRY_INIT(spry_ordering_stats);
    o.method = method;
    spry_ordering *ordering = create_ordering(context, A, &o);
    assert_int_equal(spry_ordering_get_stats(ordering, &stats, A, NULL), SPRY_OK);
    spry_ordering_destroy(ordering);
    return stats;
}

/* Counts the sectors of x for a diagonal, for rows with distant columns, and for one dense row. */
static void sectors_of_x(void **state)
{
    enum { ROWS = 70 };
    const test_form csr = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
    test_entry diagonal[ROWS], scattered[ROWS], row[ROWS];
    for (int i = 0; i < ROWS; i++) {
        diagonal[i] = (test_entry){i, i, 1};
        scattered[i] = (test_entry){i, 8 * i, 1};
        row[i] = (test_entry){3, i, 1};
    }
    const struct {
        const test_entry *entries;
        int64_t cols;
        double sectors;
    } cases[] = {{diagonal, ROWS, (8 + 8 + 2) / 70.0}, {scattered, 8 * ROWS, 1}, {row, ROWS, 18 / 70.0}};
    for (int c = 0; c < 3; c++) {
        spry_matrix *A = test_matrix(*state, ROWS, cases[c].cols, cases[c].entries, ROWS, csr);
        const spry_ordering_stats f = stats_of(*state, A, "degree");
        assert_true(f.sectors_before == cases[c].sectors);
        assert_true(c == 1 || f.sectors_after == f.sectors_before);
        spry_matrix_destroy(A);
    }
    spry_matrix *A = test_matrix(*state, 5, 5, NULL, 0, csr);
    const spry_ordering_stats f = stats_of(*state, A, "bfs");
    assert_true(f.sectors_before == 0 && f.sectors_after == 0);
    spry_matrix_destroy(A);
}

/* A breadth-first ordering of a shuffled grid places rows that share columns next to each other. */
static void bfs_shares_x(void **state)
{
    spry_matrix *A = test_generate(*state, "grid7,x=24,y=24,z=24,shuffle=1", NULL);
    const spry_ordering_stats bfs = stats_of(*state, A, "bfs");
    assert_true(bfs.sectors_before > 0.7);
    assert_true(bfs.sectors_after < 0.25);
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sectors_of_x, test_setup, close_context),
        cmocka_unit_test_setup_teardown(bfs_shares_x, test_setup, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
