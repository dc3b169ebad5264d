#include "spry/matrix.h"
#include "support.h"

/* Returns the report of a matrix without faults. */
static spry_matrix_report clean(void)
{
    spry_matrix_report r = SPRY_INIT(spry_matrix_report);
    r.first_decreasing = r.first_out_of_range = r.first_out_of_range_major = r.first_out_of_range_value = -1;
    r.first_unsorted = r.first_unsorted_major = r.first_duplicate = r.first_duplicate_major = -1;
    r.first_not_finite = r.first_not_finite_major = -1;
    return r;
}

static void assert_report(const spry_matrix_report *got, const spry_matrix_report *expected)
{
    static const char *const names[] = {"struct_size",
                                        "bad_ends",
                                        "falling_offsets",
                                        "first_falling",
                                        "out_of_range",
                                        "first_out_of_range",
                                        "first_out_of_range_major",
                                        "first_out_of_range_value",
                                        "unsorted",
                                        "first_unsorted",
                                        "first_unsorted_major",
                                        "duplicates",
                                        "first_duplicate",
                                        "first_duplicate_major",
                                        "not_finite",
                                        "first_not_finite",
                                        "first_not_finite_major"};
    int64_t g[TEST_COUNT(names)], e[TEST_COUNT(names)];
    _Static_assert(sizeof g == sizeof *got, "a field is missing above");
    memcpy(g, got, sizeof g);
    memcpy(e, expected, sizeof e);
    for (int f = 0; f < TEST_COUNT(names); f++)
        if (g[f] != e[f]) fail_msg("report: %s is %lld, expected %lld", names[f], (long long)g[f], (long long)e[f]);
}

/*
 * A 4 x 10 matrix with 9 entries, as CSR and COO. Creating a matrix checks the first and last offset, so the tests add
 * faults after creation.
 */
typedef struct sample {
    int32_t offsets[5], rows[9], columns[9];
    double values[9];
    spry_matrix *csr, *coo;
} sample;

static void sample_create(sample *s, spry_context *context)
{
    *s = (sample){.offsets = {0, 3, 3, 8, 9},
                  .rows = {0, 0, 0, 2, 2, 2, 2, 2, 3},
                  .columns = {0, 4, 9, 1, 2, 3, 7, 8, 5},
                  .values = {1, 2, 3, 4, 5, 6, 7, 8, 9}};
    assert_int_equal(spry_matrix_borrow_csr_f64(context, &s->csr, 4, 10, s->offsets, s->columns, s->values, NULL),
                     SPRY_OK);
    spry_arrays a = arrays_of(s->csr);
    a.layout = SPRY_COO;
    a.row_indices = s->rows;
    a.offsets = NULL;
    assert_int_equal(spry_matrix_create(context, &s->coo, &a, NULL), SPRY_OK);
}

static void sample_destroy(sample *s)
{
    spry_matrix_destroy(s->csr);
    spry_matrix_destroy(s->coo);
}

static void expect_fault(spry_matrix *A, const spry_matrix_report *expected, const char *argument, int64_t value,
                         int64_t limit, const char *message)
{
    spry_matrix_report report = SPRY_INIT(spry_matrix_report);
    spry_error err = {0};
    assert_int_equal(spry_matrix_check(A, &report, SPRY_CHECK_ALL, &err), SPRY_INVALID_MATRIX);
    assert_report(&report, expected);
    assert_string_equal(err.message, message);
    assert_string_equal(err.argument, argument);
    assert_int_equal(err.value, value);
    assert_int_equal(err.limit, limit);
    assert_int_equal(err.status, SPRY_INVALID_MATRIX);
    spry_arrays a = arrays_of(A); /* the check recorded nothing */
    assert_int_equal(a.sorted, SPRY_NOT_KNOWN);
    assert_int_equal(a.unique, SPRY_NOT_KNOWN);
    assert_int_equal(spry_matrix_check(A, NULL, SPRY_CHECK_ALL, NULL), SPRY_INVALID_MATRIX);
}

static void expect_sound(spry_matrix *A, const spry_matrix_report *expected)
{
    spry_matrix_report report = SPRY_INIT(spry_matrix_report);
    MUST(spry_matrix_check(A, &report, SPRY_CHECK_ALL, err));
    assert_report(&report, expected);
    spry_arrays a = arrays_of(A);
    assert_int_equal(a.sorted, expected->unsorted ? SPRY_KNOWN_NO : SPRY_KNOWN_YES);
    assert_int_equal(a.unique, expected->duplicates ? SPRY_KNOWN_NO : SPRY_KNOWN_YES);
}

static void sound_one(void **state)
{
    sample s;
    sample_create(&s, *state);
    spry_matrix_report r = clean();
    expect_sound(s.csr, &r);
    expect_sound(s.coo, &r);
    sample_destroy(&s);
}

static void bad_offsets(void **state)
{
    sample s;
    sample_create(&s, *state);
    spry_matrix_report r = clean();
    r.bad_ends = 1;
    s.offsets[0] = 1;
    expect_fault(s.csr, &r, "offsets", 1, 0, "offsets[0] is 1, expected 0");
    s.offsets[0] = -7;
    expect_fault(s.csr, &r, "offsets", -7, 0, "offsets[0] is -7, expected 0");
    s.offsets[0] = 0;

    s.offsets[4] = 8;
    expect_fault(s.csr, &r, "offsets", 8, 9, "offsets[4] is 8, expected nnz = 9");

    s.offsets[4] = 12;
    r.decreasing_offsets = 1;
    r.first_decreasing = 3;
    expect_fault(s.csr, &r, "offsets", 12, 9, "offsets[4] = 12 is past nnz = 9");
    s.offsets[4] = 9;

    r.bad_ends = 0;
    r.first_decreasing = 1;
    s.offsets[2] = 2; /* row 2 then begins within row 0, and its entries are not checked */
    expect_fault(s.csr, &r, "offsets", 2, 3, "offsets[2] = 2 is smaller than offsets[1] = 3");

    s.offsets[2] = INT32_MAX;
    r.decreasing_offsets = 2; /* offsets[2] exceeds nnz, and row 2 ends before it begins */
    expect_fault(s.csr, &r, "offsets", INT32_MAX, 9, "offsets[2] = 2147483647 is past nnz = 9");
    s.offsets[2] = 10; /* one beyond the end */
    expect_fault(s.csr, &r, "offsets", 10, 9, "offsets[2] = 10 is past nnz = 9");
    s.offsets[2] = INT32_MIN;
    r.decreasing_offsets = 1;
    expect_fault(s.csr, &r, "offsets", INT32_MIN, 3, "offsets[2] = -2147483648 is smaller than offsets[1] = 3");
    sample_destroy(&s);
}

/* Asserts that faults of entries are found in rows with valid offsets, even if other rows have invalid offsets. */
static void bad_offsets_and_entries(void **state)
{
    sample s;
    sample_create(&s, *state);
    spry_matrix_report r = clean();
    s.offsets[2] = 12; /* rows 1 and 2 have no valid range; rows 0 and 3 have */
    s.columns[1] = 10;
    s.columns[4] = 99; /* in row 2: not inspected */
    s.columns[8] = -1;
    r.decreasing_offsets = 2;
    r.first_decreasing = 1;
    r.out_of_range = 2;
    r.first_out_of_range = 1;
    r.first_out_of_range_major = 0;
    r.first_out_of_range_value = 10;
    r.unsorted = 1;
    r.first_unsorted = 2;
    r.first_unsorted_major = 0;
    s.values[4] = NAN; /* in row 2, but values of all entries are checked */
    r.not_finite = 1;
    r.first_not_finite = 4;
    expect_fault(s.csr, &r, "offsets", 12, 9, "offsets[2] = 12 is past nnz = 9");
    s.values[4] = 0;
    s.values[8] = INFINITY;
    r.first_not_finite = 8;
    r.first_not_finite_major = 3;
    expect_fault(s.csr, &r, "offsets", 12, 9, "offsets[2] = 12 is past nnz = 9");
    sample_destroy(&s);
}

static void out_of_range(void **state)
{
    sample s;
    sample_create(&s, *state);
    spry_matrix_report r = clean();
    s.columns[7] = 10;
    r.out_of_range = 1;
    r.first_out_of_range = 7;
    r.first_out_of_range_major = 2;
    r.first_out_of_range_value = 10;
    expect_fault(s.csr, &r, "indices", 10, 9, "column 10 of entry 7 (row 2) is outside 0..9 (counted from 0)");
    expect_fault(s.coo, &r, "indices", 10, 9, "column 10 of entry 7 (row 2) is outside 0..9 (counted from 0)");

    s.columns[0] = -5;
    r.out_of_range = 2;
    r.first_out_of_range = 0;
    r.first_out_of_range_major = 0;
    r.first_out_of_range_value = -5;
    expect_fault(s.csr, &r, "indices", -5, 9, "column -5 of entry 0 (row 0) is outside 0..9 (counted from 0)");

    s.rows[0] = 4; /* the row index of this entry is also wrong */
    r.out_of_range = 3;
    r.first_out_of_range_major = 4;
    r.first_out_of_range_value = 4;
    r.unsorted = 1;
    r.first_unsorted = 1;
    r.first_unsorted_major = 0;
    expect_fault(s.coo, &r, "row_indices", 4, 3, "row 4 of entry 0 is outside 0..3 (counted from 0)");
    s.columns[0] = 0;
    s.columns[7] = 8;
    s.rows[0] = -1;
    r.unsorted = 0;
    r.first_unsorted = r.first_unsorted_major = -1;
    r.out_of_range = 1;
    r.first_out_of_range_major = r.first_out_of_range_value = -1;
    expect_fault(s.coo, &r, "row_indices", -1, 3, "row -1 of entry 0 is outside 0..3 (counted from 0)");
    sample_destroy(&s);
}

static void order_duplicates_and_values(void **state)
{
    sample s;
    sample_create(&s, *state);
    spry_matrix_report r = clean();
    s.columns[4] = 8; /* row 2: 1 8 3 7 8 */
    s.values[2] = INFINITY;
    s.values[6] = NAN;
    s.values[8] = -INFINITY;
    r.unsorted = 1;
    r.first_unsorted = 5;
    r.first_unsorted_major = 2;
    r.duplicates = 1;
    r.first_duplicate = 7;
    r.first_duplicate_major = 2;
    r.not_finite = 3;
    r.first_not_finite = 2;
    r.first_not_finite_major = 0;
    expect_sound(s.csr, &r);
    expect_sound(s.coo, &r);

    s.columns[4] = 1; /* row 2: 1 1 3 7 8 */
    s.values[2] = 0;
    r.unsorted = 0;
    r.first_unsorted = r.first_unsorted_major = -1;
    r.first_duplicate = 4;
    r.not_finite = 2;
    r.first_not_finite = 6;
    r.first_not_finite_major = 2;
    expect_sound(s.csr, &r);
    expect_sound(s.coo, &r);

    s.columns[5] = s.columns[6] = s.columns[7] = 1;
    r.duplicates = 4;
    expect_sound(s.csr, &r);
    expect_sound(s.coo, &r);
    sample_destroy(&s);

    sample_create(&s, *state); /* only in COO: entry 8 repeats the position of an entry far before it */
    s.rows[8] = 0;
    s.columns[8] = 4;
    r = clean();
    r.unsorted = 1;
    r.first_unsorted = 8;
    r.first_unsorted_major = 0;
    r.duplicates = 1;
    r.first_duplicate = 8;
    r.first_duplicate_major = 0;
    expect_sound(s.coo, &r);
    sample_destroy(&s);
}

static void of_columns(void **state)
{
    int64_t offsets[] = {0, 1, 3};
    int32_t rows[] = {2, 0, 3};
    float values[] = {1, 2, INFINITY};
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_CSC;
    a.rows = 3;
    a.columns = 2;
    a.nnz = 3;
    a.offset_type = SPRY_I64;
    a.index_type = SPRY_I32;
    a.value_type = SPRY_F32;
    a.offsets = offsets;
    a.indices = rows;
    a.values = values;
    spry_matrix *A = create_matrix(*state, &a);
    spry_matrix_report r = clean();
    r.out_of_range = 1;
    r.first_out_of_range = 2;
    r.first_out_of_range_major = 1;
    r.first_out_of_range_value = 3;
    r.not_finite = 1;
    r.first_not_finite = 2;
    r.first_not_finite_major = 1;
    expect_fault(A, &r, "indices", 3, 2, "row 3 of entry 2 (column 1) is outside 0..2 (counted from 0)");
    rows[2] = 0;
    r = clean();
    r.duplicates = 1;
    r.first_duplicate = 2;
    r.first_duplicate_major = 1;
    r.not_finite = 1;
    r.first_not_finite = 2;
    r.first_not_finite_major = 1;
    expect_sound(A, &r);
    spry_matrix_destroy(A);
}

/* ---- comparison with a simple check ------------------------------------------------------------- */

/*
 * Checks arrays with valid offsets by comparing entries in pairs. The time is quadratic in the length of a row, and for
 * COO in the number of entries.
 */
static spry_matrix_report naive(const spry_arrays *a)
{
    spry_matrix_report r = clean();
    int coo = a->layout == SPRY_COO, csc = a->layout == SPRY_CSC;
    int64_t majors = csc ? a->columns : a->rows, minors = csc ? a->rows : a->columns, major = 0;
    for (int64_t k = 0; k < a->nnz; k++) {
        while (!coo && test_offset(a, major + 1) <= k) major++;
        int64_t i = coo ? test_row(a, k) : major, j = test_index(a, k), first = coo ? 0 : test_offset(a, major);
        int bad_row = i < 0 || i >= majors, bad_column = j < 0 || j >= minors;
        if (bad_row + bad_column > 0 && r.out_of_range == 0) {
            r.first_out_of_range = k;
            r.first_out_of_range_major = i;
            r.first_out_of_range_value = bad_row ? i : j;
        }
        r.out_of_range += bad_row + bad_column;
        if (k > first) {
            int64_t before = coo ? test_row(a, k - 1) : i;
            if (i < before || (i == before && j < test_index(a, k - 1))) {
                if (r.unsorted++ == 0) {
                    r.first_unsorted = k;
                    r.first_unsorted_major = i;
                }
            }
        }
        int repeated = 0;
        for (int64_t l = first; l < k && !bad_row && !bad_column; l++)
            repeated |= test_index(a, l) == j && (!coo || test_row(a, l) == i);
        if (repeated && r.duplicates++ == 0) {
            r.first_duplicate = k;
            r.first_duplicate_major = i;
        }
        if (!isfinite(test_value(a, k)) && r.not_finite++ == 0) {
            r.first_not_finite = k;
            r.first_not_finite_major = i;
        }
    }
    return r;
}

static void random_one(spry_context *context, int form_number, int64_t rows, int64_t cols, int64_t nnz, uint64_t seed)
{
    test_form form = test_form_number(form_number);
    test_entry *entries = calloc((size_t)nnz + 1, sizeof *entries);
    int64_t step = nnz / rows + 1;
    for (int64_t k = 0; k < nnz; k++) {
        int64_t i = k / step, j = (int64_t)(test_random(&seed) % (uint64_t)cols);
        if (seed % 3 == 0) j = (k % step) * cols / step; /* often sorted */
        if (form.layout == SPRY_COO && test_random(&seed) % 8 == 0) i = (int64_t)(test_random(&seed) % (uint64_t)rows);
        if (test_random(&seed) % 4096 == 0) j = cols;
        entries[k] = form.layout == SPRY_CSC ? (test_entry){j, i, 1} : (test_entry){i, j, 1};
        if (test_random(&seed) % 512 == 0) entries[k].value = NAN;
    }
    spry_matrix *A = form.layout == SPRY_CSC ? test_matrix(context, cols, rows, entries, nnz, form)
                                             : test_matrix(context, rows, cols, entries, nnz, form);
    spry_arrays a = arrays_of(A);
    spry_matrix_report expected = naive(&a), got = SPRY_INIT(spry_matrix_report);
    spry_status status = spry_matrix_check(A, &got, SPRY_CHECK_ALL, NULL);
    assert_int_equal(status, expected.out_of_range ? SPRY_INVALID_MATRIX : SPRY_OK);
    assert_report(&got, &expected);
    spry_matrix_destroy(A);
    free(entries);
}

static void random_ones(void **state)
{
    for (int f = 0; f < TEST_FORMS; f++) {
        for (uint64_t s = 1; s < 20; s++) random_one(*state, f, 5 + (int64_t)s, 30, 60, s * 977 + (uint64_t)f);
        if (test_form_number(f).layout != SPRY_COO) random_one(*state, f, 900, 500, 40000, 4321); /* uses threads */
    }
}

/*
 * Checks matrices whose arrays are random bytes. The check must not access memory outside the arrays, which sanitizers
 * detect, and must be fast.
 */
static void garbage(void **state)
{
    uint64_t seed = 31;
    for (int round = 0; round < 400; round++) {
        enum { ROWS = 30, NNZ = 100 };
        int64_t *offsets = malloc((ROWS + 1) * sizeof *offsets), *columns = malloc(NNZ * sizeof *columns);
        double *values = malloc(NNZ * sizeof *values);
        for (int i = 0; i <= ROWS; i++) offsets[i] = i * NNZ / ROWS;
        for (int k = 0; k < NNZ; k++) {
            columns[k] = (int64_t)(test_random(&seed) % 50) - 2;
            values[k] = k;
        }
        spry_arrays a = SPRY_INIT(spry_arrays);
        a.layout = SPRY_CSR;
        a.rows = ROWS;
        a.columns = 45;
        a.nnz = NNZ;
        a.offset_type = a.index_type = SPRY_I64;
        a.value_type = SPRY_F64;
        a.offsets = offsets;
        a.indices = columns;
        a.values = values;
        spry_matrix *A = create_matrix(*state, &a);
        for (int spoiled = 0; spoiled <= round % 40; spoiled++) {
            int64_t where = (int64_t)(test_random(&seed) % (ROWS + 1));
            switch (test_random(&seed) % 4) {
            case 0: offsets[where] = (int64_t)(test_random(&seed) << 17); break;
            case 1: offsets[where] = -(int64_t)test_random(&seed); break;
            case 2: offsets[where] = (int64_t)(test_random(&seed) % (NNZ + 3)); break;
            default: columns[where] = INT64_MIN; break;
            }
        }
        spry_matrix_report report = SPRY_INIT(spry_matrix_report);
        assert_int_equal(spry_matrix_check(A, &report, SPRY_CHECK_ALL, NULL), SPRY_INVALID_MATRIX);
        assert_true(report.out_of_range + report.decreasing_offsets + report.bad_ends > 0);
        spry_matrix_destroy(A);
        free(offsets);
        free(columns);
        free(values);
    }
}

/* Checks offsets that alternate between 0 and nnz. The time of the check must not be proportional to rows times nnz. */
static void swinging_offsets_take_no_time(void **state)
{
    enum { ROWS = 400001, NNZ = 400000 };
    int32_t *offsets = calloc(ROWS + 1, sizeof *offsets), *columns = calloc(NNZ, sizeof *columns);
    float *values = calloc(NNZ, sizeof *values);
    offsets[ROWS] = NNZ;
    spry_matrix *A = NULL;
    assert_int_equal(spry_matrix_borrow_csr_f32(*state, &A, ROWS, 1, offsets, columns, values, NULL), SPRY_OK);
    for (int i = 1; i < ROWS; i += 2) offsets[i] = NNZ;
    spry_matrix_report report = SPRY_INIT(spry_matrix_report);
    assert_int_equal(spry_matrix_check(A, &report, SPRY_CHECK_ALL, NULL), SPRY_INVALID_MATRIX);
    assert_int_equal(report.decreasing_offsets, ROWS / 2);
    assert_int_equal(report.duplicates, NNZ - 1); /* only of row 0 */
    spry_matrix_destroy(A);
    free(offsets);
    free(columns);
    free(values);
}

static void empty_ones(void **state)
{
    static const int64_t sizes[][2] = {{0, 0}, {0, 4}, {4, 0}, {2, 2}};
    for (int f = 0; f < TEST_FORMS; f++)
        for (int s = 0; s < TEST_COUNT(sizes); s++) {
            spry_matrix *A = test_matrix(*state, sizes[s][0], sizes[s][1], NULL, 0, test_form_number(f));
            spry_matrix_report r = clean();
            expect_sound(A, &r);
            spry_matrix_destroy(A);
        }
}

static void bad_arguments(void **state)
{
    sample s;
    sample_create(&s, *state);
    spry_error err = {0};
    assert_int_equal(spry_matrix_check(NULL, NULL, SPRY_CHECK_ALL, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.argument, "A");
    spry_matrix_report report = {0};
    assert_int_equal(spry_matrix_check(s.csr, &report, SPRY_CHECK_ALL, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.argument, "struct_size");
    assert_int_equal(spry_matrix_check(s.csr, NULL, SPRY_CHECK_ALL, &err), SPRY_OK);
    sample_destroy(&s);
}

static spry_status check_unsorted(spry_context *context, const void *input, spry_error *err)
{
    test_form form = test_form_number(*(const int *)input);
    test_entry entries[100];
    for (int k = 0; k < 100; k++) entries[k] = (test_entry){1, 99 - k, 1};
    if (form.layout == SPRY_CSC)
        for (int k = 0; k < 100; k++) entries[k] = (test_entry){99 - k, 1, 1};
    spry_context *quiet = context_of(0);
    spry_matrix *made = test_matrix(quiet, 100, 100, entries, 100, form), *A = NULL;
    spry_arrays a = arrays_of(made);
    a.ownership = SPRY_BORROW;
    spry_status status = spry_matrix_create(context, &A, &a, err);
    spry_matrix_report report = SPRY_INIT(spry_matrix_report);
    report.unsorted = 12345;
    if (status == SPRY_OK) {
        status = spry_matrix_check(A, &report, SPRY_CHECK_ALL, err);
        assert_int_equal(report.unsorted, status == SPRY_OK ? 99 : 12345);
        assert_int_equal(arrays_of(A).sorted, status == SPRY_OK ? SPRY_KNOWN_NO : SPRY_NOT_KNOWN);
    }
    spry_matrix_destroy(A);
    spry_matrix_destroy(made);
    spry_context_destroy(quiet);
    return status;
}

static void every_allocation_fails(void **state)
{
    for (int f = 0; f < TEST_FORMS; f++) assert_true(fail_every_allocation(check_unsorted, &f, 2) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_one),
        cmocka_unit_test(bad_offsets),
        cmocka_unit_test(bad_offsets_and_entries),
        cmocka_unit_test(out_of_range),
        cmocka_unit_test(order_duplicates_and_values),
        cmocka_unit_test(of_columns),
        cmocka_unit_test(random_ones),
        cmocka_unit_test(garbage),
        cmocka_unit_test(swinging_offsets_take_no_time),
        cmocka_unit_test(empty_ones),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, test_setup, close_context);
}
