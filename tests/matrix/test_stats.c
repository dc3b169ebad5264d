#include "spry/matrix.h"
#include "support.h"

static spry_matrix_stats stats_of(const spry_matrix *A)
{
    spry_matrix_stats s = SPRY_INIT(spry_matrix_stats);
    MUST(spry_matrix_get_stats(A, &s, err));
    return s;
}

static void by_hand(void **state)
{
    /*  x . . .       row lengths 1 0 4 2, mean 7/4
        . . . .
        x x x x
        . x x .  */
    static const test_entry entries[] = {{0, 0, 1}, {2, 0, 1}, {2, 1, 1}, {2, 2, 1}, {2, 3, 1}, {3, 1, 1}, {3, 2, 1}};
    for (int f = 0; f < TEST_FORMS; f++) {
        test_form form = test_form_number(f);
        test_entry ordered[7];
        memcpy(ordered, entries, sizeof entries);
        if (form.layout == SPRY_CSC) { /* in column order */
            static const int order[] = {0, 1, 2, 5, 3, 6, 4};
            for (int k = 0; k < 7; k++) ordered[k] = entries[order[k]];
        }
        spry_matrix *A = test_matrix(*state, 4, 4, ordered, 7, form);
        spry_matrix_stats s = stats_of(A);
        assert_int_equal(s.rows, 4);
        assert_int_equal(s.columns, 4);
        assert_int_equal(s.nnz, 7);
        assert_int_equal(s.min_row, 0);
        assert_int_equal(s.max_row, 4);
        assert_int_equal(s.empty_rows, 1);
        assert_int_equal(s.longest_row, 2);
        assert_true(s.mean_row == 1.75);
        assert_true(s.variance_row == (0.75 * 0.75 + 1.75 * 1.75 + 2.25 * 2.25 + 0.25 * 0.25) / 4);
        assert_int_equal(s.bandwidth, 2);
        assert_int_equal(s.profile, 0 + 0 + 2 + 2);
        assert_int_equal(s.diagonal_entries, 2);
        assert_int_equal(s.pattern_symmetric, SPRY_KNOWN_NO);
        assert_int_equal(s.value_symmetric, SPRY_KNOWN_NO);
        int64_t histogram[SPRY_HISTOGRAM_BINS] = {1, 1, 1, 1};
        assert_memory_equal(s.histogram, histogram, sizeof histogram);
        spry_matrix_destroy(A);
    }
}

/* ---- symmetry ----------------------------------------------------------------------------------- */

typedef struct symmetry_case {
    const char *entries; /* "i j value, ..." */
    spry_known pattern, value;
} symmetry_case;

static int64_t parse_entries(test_entry *entries, const char *text)
{
    int64_t count = 0;
    for (int used; *text; text += used, count++) {
        long long i, j;
        assert_int_equal(sscanf(text, "%lld %lld %lf%n", &i, &j, &entries[count].value, &used), 3);
        entries[count].i = i;
        entries[count].j = j;
        if (text[used] == ',') used++;
    }
    return count;
}

static int is_stored(const test_entry *entries, int64_t count, int64_t i, int64_t j)
{
    for (int64_t k = 0; k < count; k++)
        if (entries[k].i == i && entries[k].j == j) return 1;
    return 0;
}

/* Returns the share of stored off-diagonal positions whose mirror image is also stored. */
static double mirrored(const test_entry *entries, int64_t nnz)
{
    int positions = 0, pairs = 0;
    for (int64_t k = 0; k < nnz; k++) {
        if (entries[k].i == entries[k].j || is_stored(entries, k, entries[k].i, entries[k].j)) continue;
        positions++;
        pairs += is_stored(entries, nnz, entries[k].j, entries[k].i);
    }
    return positions > 0 ? (double)pairs / positions : 1;
}

static void symmetry(void **state)
{
    static const symmetry_case cases[] = {
        {"", SPRY_KNOWN_YES, SPRY_KNOWN_YES},
        {"1 1 5", SPRY_KNOWN_YES, SPRY_KNOWN_YES},
        {"0 1 5", SPRY_KNOWN_NO, SPRY_KNOWN_NO},
        {"1 0 5", SPRY_KNOWN_NO, SPRY_KNOWN_NO},
        {"0 1 5, 1 0 5", SPRY_KNOWN_YES, SPRY_KNOWN_YES},
        {"0 1 5, 1 0 -5", SPRY_KNOWN_YES, SPRY_KNOWN_NO},
        {"0 1 5, 1 2 5", SPRY_KNOWN_NO, SPRY_KNOWN_NO},
        /* Half of the entries outside the diagonal have a mirror image. */
        {"0 0 1, 0 1 5, 0 2 1, 1 0 5, 1 2 3", SPRY_KNOWN_NO, SPRY_KNOWN_NO},
        {"0 2 5, 1 0 1, 1 2 5, 2 0 5, 2 1 3", SPRY_KNOWN_NO, SPRY_KNOWN_NO},
        {"0 1 1, 0 2 2, 1 0 1, 1 2 3, 2 0 2, 2 1 3", SPRY_KNOWN_YES, SPRY_KNOWN_YES},
        {"0 1 1, 0 2 2, 1 0 1, 1 2 3, 2 0 2, 2 1 4", SPRY_KNOWN_YES, SPRY_KNOWN_NO},
        {"0 1 1, 0 2 2, 1 0 1, 1 2 3, 2 0 2", SPRY_KNOWN_NO, SPRY_KNOWN_NO},
        {"0 1 1, 1 0 1, 1 2 3, 2 0 2, 2 1 3", SPRY_KNOWN_NO, SPRY_KNOWN_NO},
        {"0 2 1, 1 2 1, 2 1 1", SPRY_KNOWN_NO, SPRY_KNOWN_NO},
        /* sums of entries: 2 + 3 against 5 */
        {"0 1 2, 0 1 3, 1 0 5", SPRY_KNOWN_YES, SPRY_KNOWN_YES},
        {"0 1 2, 0 1 3, 1 0 4", SPRY_KNOWN_YES, SPRY_KNOWN_NO},
        /* unsorted */
        {"0 2 7, 0 1 6, 1 0 6, 2 0 7", SPRY_KNOWN_YES, SPRY_KNOWN_YES},
        {"0 2 7, 0 1 6, 1 0 7, 2 0 6", SPRY_KNOWN_YES, SPRY_KNOWN_NO},
        {"0 0 0, 1 1 -0", SPRY_KNOWN_YES, SPRY_KNOWN_YES},
        {"0 1 0, 1 0 -0", SPRY_KNOWN_YES, SPRY_KNOWN_YES},
        {"0 0 nan", SPRY_KNOWN_YES, SPRY_KNOWN_YES}, /* its own mirror image */
        {"0 1 nan, 1 0 nan", SPRY_KNOWN_YES, SPRY_KNOWN_NO},
        {"0 1 inf, 1 0 inf", SPRY_KNOWN_YES, SPRY_KNOWN_YES},
    };
    for (int c = 0; c < TEST_COUNT(cases); c++)
        for (int f = 0; f < TEST_FORMS; f++) {
            test_form form = test_form_number(f);
            test_entry entries[16];
            int64_t nnz = parse_entries(entries, cases[c].entries);
            /* CSC needs entries in column order, so the entries are transposed. */
            for (int64_t k = 0; k < nnz && form.layout == SPRY_CSC; k++) {
                int64_t i = entries[k].i;
                entries[k].i = entries[k].j;
                entries[k].j = i;
            }
            spry_matrix *A = test_matrix(*state, 3, 3, entries, nnz, form);
            spry_matrix_stats s = stats_of(A);
            if (s.pattern_symmetric != cases[c].pattern) fail_msg("%s (form %d): pattern", cases[c].entries, f);
            if (s.pattern_symmetry != mirrored(entries, nnz)) fail_msg("%s (form %d): share", cases[c].entries, f);
            if (form.value_type == SPRY_PATTERN) {
                /* In a pattern every entry counts as 1, so the two entries at (0, 1) have the sum 2. */
                const int is_two = strstr(cases[c].entries, "0 1 2, 0 1 3") != NULL;
                assert_int_equal(s.value_symmetric, is_two ? SPRY_KNOWN_NO : cases[c].pattern);
            } else if (s.value_symmetric != cases[c].value) {
                fail_msg("%s (form %d): values", cases[c].entries, f);
            }
            spry_matrix_destroy(A);
        }
}

/*
 * Asserts that value_symmetric changes if one value of a large symmetric matrix changes, and pattern_symmetric if one
 * column index changes.
 */
static void one_changed_entry_is_seen(void **state)
{
    spry_matrix *A = generate_matrix(*state, "laplace7,x=15,y=16,z=17,shuffle=4");
    spry_matrix_stats s = stats_of(A);
    assert_int_equal(s.pattern_symmetric, SPRY_KNOWN_YES);
    assert_int_equal(s.value_symmetric, SPRY_KNOWN_YES);
    spry_arrays a = arrays_of(A);
    double *values = (double *)(uintptr_t)a.values;
    int32_t *columns = (int32_t *)(uintptr_t)a.indices;
    for (int64_t i = 1; i < a.rows; i += 97) {
        int64_t k = test_offset(&a, i);
        if (columns[k] == i) continue; /* on the diagonal */
        values[k] += 1;
        s = stats_of(A);
        assert_int_equal(s.pattern_symmetric, SPRY_KNOWN_YES);
        assert_int_equal(s.value_symmetric, SPRY_KNOWN_NO);
        values[k] -= 1;
        int32_t kept = columns[k];
        columns[k] = kept > 0 ? kept - 1 : columns[k + 1] - 1; /* another column, still sorted */
        if (columns[k] != kept) assert_int_equal(stats_of(A).pattern_symmetric, SPRY_KNOWN_NO);
        columns[k] = kept;
    }
    assert_int_equal(stats_of(A).value_symmetric, SPRY_KNOWN_YES);
    spry_matrix_destroy(A);
}

#ifdef SPRY_STUDIES
/* Asserts that matrices of the generator "twin" have the requested symmetry. A matrix that is not square has none. */
static void share_of_twins(void **state)
{
    static const char *const specs[] = {"twin,rows=4000,entries=30000,longest=40,kind=web,symmetry=100",
                                        "twin,rows=4000,entries=30000,longest=40,kind=web,symmetry=40",
                                        "twin,rows=4000,entries=30000,longest=40,kind=web,symmetry=0"};
    static const double least[] = {1, 0.3, 0}, most[] = {1, 0.5, 0.1};
    for (int s = 0; s < TEST_COUNT(specs); s++) {
        spry_matrix *A = test_generate(*state, specs[s], NULL);
        const double share = stats_of(A).pattern_symmetry;
        if (!(share >= least[s] && share <= most[s])) fail_msg("%s: %g", specs[s], share);
        spry_matrix_destroy(A);
    }
    spry_matrix *A = test_generate(*state, "dense,rows=3,cols=4", NULL);
    assert_true(stats_of(A).pattern_symmetry == 0);
    spry_matrix_destroy(A);
}
#endif

/* ---- comparison with a simple count -------------------------------------------------------------- */

static void random_ones(void **state)
{
    uint64_t seed = 12;
    for (int round = 0; round < 270; round++) {
        test_form form = test_form_number(round % TEST_FORMS);
        enum { MOST = 20 };
        int64_t rows = 1 + (int64_t)(test_random(&seed) % MOST), cols = 1 + (int64_t)(test_random(&seed) % MOST);
        if (round % 2) cols = rows;
        int64_t lengths[MOST] = {0}, bins[SPRY_HISTOGRAM_BINS] = {0}, nnz = 0;
        double dense[MOST][MOST] = {{0}};
        int stored[MOST][MOST] = {{0}};
        test_entry entries[MOST * MOST];
        int64_t outer = form.layout == SPRY_CSC ? cols : rows, inner = form.layout == SPRY_CSC ? rows : cols;
        for (int64_t p = 0; p < outer; p++)
            for (int64_t q = 0; q < inner; q++) {
                if (test_random(&seed) % 4 == 0) continue;
                int64_t i = form.layout == SPRY_CSC ? q : p, j = form.layout == SPRY_CSC ? p : q;
                entries[nnz++] = (test_entry){i, j, 1};
                lengths[i]++;
                dense[i][j] += 1;
                stored[i][j] = 1;
            }
        int64_t bandwidth = 0, profile = 0, diagonal = 0, longest = 0, empty = 0, shortest = nnz;
        int pattern = rows == cols, value = rows == cols;
        double squares = 0;
        for (int64_t i = 0; i < rows; i++) {
            int64_t left = i;
            for (int64_t j = 0; j < cols; j++) {
                if (rows == cols && stored[i][j] != stored[j][i]) pattern = 0;
                if (rows == cols && (dense[i][j] < dense[j][i] || dense[i][j] > dense[j][i])) value = 0;
                if (!stored[i][j]) continue;
                if (llabs(i - j) > bandwidth) bandwidth = llabs(i - j);
                if (j < left) left = j;
                diagonal += i == j;
            }
            profile += i - left;
            if (lengths[i] > lengths[longest]) longest = i;
            if (lengths[i] < shortest) shortest = lengths[i];
            empty += lengths[i] == 0;
            double away = (double)lengths[i] - (double)nnz / (double)rows;
            squares += away * away;
            int bin = 0;
            while (lengths[i] >= 1 << bin) bin++;
            bins[bin]++;
        }
        spry_matrix *A = test_matrix(*state, rows, cols, entries, nnz, form);
        spry_matrix_stats s = stats_of(A);
        assert_int_equal(s.bandwidth, bandwidth);
        assert_int_equal(s.profile, profile);
        assert_int_equal(s.diagonal_entries, diagonal);
        assert_int_equal(s.longest_row, longest);
        assert_int_equal(s.max_row, lengths[longest]);
        assert_int_equal(s.min_row, shortest);
        assert_int_equal(s.empty_rows, empty);
        assert_true(fabs(s.variance_row - squares / (double)rows) < 1e-12);
        assert_memory_equal(s.histogram, bins, sizeof bins);
        assert_int_equal(s.pattern_symmetric, pattern ? SPRY_KNOWN_YES : SPRY_KNOWN_NO);
        assert_int_equal(s.value_symmetric, pattern && value ? SPRY_KNOWN_YES : SPRY_KNOWN_NO);
        spry_matrix_destroy(A);
    }
}

static void long_rows_have_a_bin(void **state)
{
    spry_matrix *A = generate_matrix(*state, "arrow,rows=70000");
    spry_matrix_stats s = stats_of(A);
    assert_int_equal(s.histogram[17], 1); /* 65536 .. 131071 */
    assert_int_equal(s.histogram[2], 69999);
    assert_int_equal(s.max_row, 70000);
    assert_int_equal(s.longest_row, 0);
    assert_int_equal(s.bandwidth, 69999);
    assert_int_equal(s.diagonal_entries, 70000);
    assert_int_equal(s.pattern_symmetric, SPRY_KNOWN_YES);
    spry_matrix_destroy(A);
}

static void empty_ones(void **state)
{
    for (int f = 0; f < TEST_FORMS; f++) {
        spry_matrix *A = test_matrix(*state, 0, 0, NULL, 0, test_form_number(f));
        spry_matrix_stats s = stats_of(A);
        assert_true(s.nnz == 0 && s.longest_row == -1 && s.max_row == 0 && s.min_row == 0);
        assert_true(s.mean_row == 0 && s.variance_row == 0);
        spry_matrix_destroy(A);
        A = test_matrix(*state, 3, 0, NULL, 0, test_form_number(f));
        s = stats_of(A);
        assert_true(s.empty_rows == 3 && s.longest_row == 0 && s.histogram[0] == 3);
        assert_int_equal(s.pattern_symmetric, SPRY_KNOWN_NO);
        spry_matrix_destroy(A);
    }
}

static void bad_arguments(void **state)
{
    spry_error err = {0};
    spry_matrix *A = test_matrix(*state, 2, 2, NULL, 0, test_form_number(0));
    spry_matrix_stats stats = {0};
    assert_int_equal(spry_matrix_get_stats(A, &stats, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.argument, "struct_size");
    assert_int_equal(spry_matrix_get_stats(NULL, &stats, &err), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_matrix_get_stats(A, NULL, &err), SPRY_INVALID_ARGUMENT);
    spry_matrix_destroy(A);
}

static spry_status get_stats(spry_context *context, const void *input, spry_error *err)
{
    test_form form = test_form_number(*(const int *)input);
    test_entry entries[100];
    for (int k = 0; k < 100; k++)
        entries[k] = form.layout == SPRY_CSC ? (test_entry){(99 - k) % 60, 1, 1} : (test_entry){1, (99 - k) % 60, 1};
    spry_context *quiet = context_of(0);
    spry_matrix *made = test_matrix(quiet, 100, 100, entries, 100, form), *A = NULL;
    spry_arrays a = arrays_of(made);
    a.ownership = SPRY_BORROW;
    spry_status status = spry_matrix_create(context, &A, &a, err);
    spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
    if (status == SPRY_OK) {
        status = spry_matrix_get_stats(A, &stats, err);
        assert_int_equal(stats.nnz, status == SPRY_OK ? 100 : 0);
    }
    spry_matrix_destroy(A);
    spry_matrix_destroy(made);
    spry_context_destroy(quiet);
    return status;
}

static void every_allocation_fails(void **state)
{
    for (int f = 0; f < TEST_FORMS; f++) assert_true(fail_every_allocation(get_stats, &f, 2) > 0);
    spry_matrix *A = generate_matrix(*state, "diagonal,rows=20000");
    spry_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(symmetry),
        cmocka_unit_test(one_changed_entry_is_seen),
#ifdef SPRY_STUDIES
        cmocka_unit_test(share_of_twins),
#endif
        cmocka_unit_test(random_ones),
        cmocka_unit_test(long_rows_have_a_bin),
        cmocka_unit_test(empty_ones),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, test_setup, close_context);
}
