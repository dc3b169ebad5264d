/* Tests of sets of integers, and of the inspection of row lengths, which finds a long row by halving ranges of rows. */
#include "testing.h"

#include "base/number_set.h"
#include "matrix/row_lengths.h"

static spry_arrays rows_of(int64_t *offsets, int64_t rows, int64_t usual, int64_t at, int64_t longest)
{
    offsets[0] = 0;
    for (int64_t i = 0; i < rows; i++) offsets[i + 1] = offsets[i] + (i == at ? longest : usual + i % 2);
    return (spry_arrays){.layout = SPRY_CSR,
                         .rows = rows,
                         .offsets = offsets,
                         .offset_type = SPRY_I64,
                         .nnz = offsets[rows]};
}

/* Asserts that one long row among short rows is found at any position. */
static void long_row_is_found(void **state)
{
    enum { ROWS = 100000 };
    int64_t *offsets = malloc((ROWS + 1) * sizeof *offsets);
    assert_non_null(offsets);
    const int64_t places[] = {0, 1, 777, 50000, 63999, 64000, ROWS - 2, ROWS - 1};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (int64_t ranges = 1; ranges <= 1024; ranges *= 4) {
            const spry_arrays a = rows_of(offsets, ROWS, 4, places[p], 300);
            assert_int_equal(spryi_long_row(&a, ranges), places[p]);
        }
    free(offsets);
}

static void few_rows(void **state)
{
    int64_t offsets[8];
    for (int64_t rows = 1; rows <= 7; rows++)
        for (int64_t at = 0; at < rows; at++) {
            const spry_arrays a = rows_of(offsets, rows, 1, at, 9);
            assert_int_equal(spryi_long_row(&a, 64), at);
        }
    const spry_arrays empty = rows_of(offsets, 5, 0, 4, 1);
    assert_true(spryi_long_row(&empty, 64) < 5);
}

/* Ranges cover all rows without gaps, even if rows * ranges exceeds 64 bits. */
static void ranges_of_rows(void **state)
{
    const int64_t sizes[] = {1, 63, 64, 65, 1000003, INT64_MAX};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t before = spryi_range_of_rows(sizes[s], 0, 64);
        assert_int_equal(before, 0);
        for (int64_t n = 1; n <= 64; n++) {
            const int64_t next = spryi_range_of_rows(sizes[s], n, 64);
            assert_true(next >= before && next - before <= sizes[s] / 64 + 1);
            before = next;
        }
        assert_true(before == sizes[s]);
    }
}

/* A set reports an integer as new once until it is cleared. A set that is three quarters full accepts no more. */
static void sets_of_numbers(void **state)
{
    spry_context *context = context_of(0);
    spryi_number_set set;
    assert_int_equal(spryi_number_set_make(context, &set, 8, "test", NULL), SPRY_OK);
    for (int round = 0; round < 3; round++) {
        for (int64_t n = 0; n < 192; n++) assert_int_equal(spryi_number_set_add(&set, n << 32 | n), 1);
        for (int64_t n = 0; n < 192; n++) assert_int_equal(spryi_number_set_add(&set, n << 32 | n), 0);
        assert_int_equal(spryi_number_set_add(&set, 7), 0);
        assert_int_equal(set.count, 192);
        spryi_number_set_empty(&set);
    }
    spryi_release(context, set.slots);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_row_is_found),
        cmocka_unit_test(few_rows),
        cmocka_unit_test(ranges_of_rows),
        cmocka_unit_test(sets_of_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
