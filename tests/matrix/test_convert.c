#include "support.h"

#include "matrix/matrix.h"
#include "spry/matrix.h"

/* ---- simple conversion -------------------------------------------------------------------------- */

typedef struct placed {
    int64_t major, minor, number;
    double value;
} placed;

static int by_place(const void *left, const void *right)
{
    const placed *a = left, *b = right;
    if (a->major != b->major) return a->major < b->major ? -1 : 1;
    if (a->minor != b->minor) return a->minor < b->minor ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Rounds the value to the type. Values of a pattern are 1. */
static double rounded(double value, spry_type type)
{
    return type == SPRY_PATTERN ? 1 : type == SPRY_F32 ? (double)(float)value : value;
}

/* Lists the sorted entries that the result must have. Returns the number of entries. */
static int64_t expect(placed *list, const test_entry *entries, int64_t nnz, spry_type from, spry_type to, int by_column,
                      int keep_duplicates)
{
    for (int64_t k = 0; k < nnz; k++)
        list[k] = (placed){by_column ? entries[k].j : entries[k].i, by_column ? entries[k].i : entries[k].j, k,
                           rounded(entries[k].value, from)};
    qsort(list, (size_t)nnz, sizeof *list, by_place);
    int64_t count = 0;
    for (int64_t k = 0; k < nnz; k++) {
        if (!keep_duplicates && count > 0 && list[count - 1].major == list[k].major &&
            list[count - 1].minor == list[k].minor)
            list[count - 1].value += list[k].value;
        else
            list[count++] = list[k];
    }
    for (int64_t k = 0; k < count; k++) list[k].value = rounded(list[k].value, to);
    return count;
}

/* Returns 1 if B equals the list. */
static int holds(const spry_arrays *b, const placed *list, int64_t count)
{
    if (b->nnz != count || b->sorted != SPRY_KNOWN_YES) return 0;
    int64_t majors = b->layout == SPRY_CSC ? b->columns : b->rows, major = 0;
    if (b->layout != SPRY_COO && (test_offset(b, 0) != 0 || test_offset(b, majors) != count)) return 0;
    for (int64_t k = 0; k < count; k++) {
        if (b->layout == SPRY_COO) {
            if (test_row(b, k) != list[k].major) return 0;
        } else {
            while (major < majors && test_offset(b, major + 1) <= k) major++;
            if (major != list[k].major) return 0;
        }
        if (test_index(b, k) != list[k].minor || test_value(b, k) != list[k].value) return 0;
    }
    return 1;
}

static int by_row(const void *left, const void *right)
{
    const test_entry *a = left, *b = right;
    return a->i < b->i ? -1 : a->i > b->i;
}
static int by_column(const void *left, const void *right)
{
    const test_entry *a = left, *b = right;
    return a->j < b->j ? -1 : a->j > b->j;
}

/* Draws random entries with some repeated positions, in the order that the layout requires. */
static void random_entries(test_entry *entries, int64_t rows, int64_t cols, int64_t nnz, spry_layout layout,
                           uint64_t *state)
{
    for (int64_t k = 0; k < nnz; k++) {
        if (k > 0 && test_random(state) % 4 == 0) {
            entries[k] = entries[(int64_t)(test_random(state) % (uint64_t)k)];
        } else {
            entries[k].i = (int64_t)(test_random(state) % (uint64_t)rows);
            entries[k].j = (int64_t)(test_random(state) % (uint64_t)cols);
            if (test_random(state) % 3 == 0) entries[k].i = rows / 2; /* a long row */
        }
        entries[k].value = (double)(int64_t)(test_random(state) % 2001) / 7 - 100;
    }
    if (layout == SPRY_CSR) qsort(entries, (size_t)nnz, sizeof *entries, by_row);
    if (layout == SPRY_CSC) qsort(entries, (size_t)nnz, sizeof *entries, by_column);
}

static void check_conversion(spry_context *context, int64_t rows, int64_t cols, int64_t nnz, test_form from,
                             test_form to, int keep_duplicates, uint64_t seed)
{
    test_entry *entries = calloc((size_t)nnz + 1, sizeof *entries);
    placed *list = calloc((size_t)nnz + 1, sizeof *list);
    random_entries(entries, rows, cols, nnz, from.layout, &seed);
    spry_matrix *A = test_matrix(context, rows, cols, entries, nnz, from);
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.layout = to.layout;
    options.value_type = to.value_type;
    options.offset_type = to.offset_type;
    options.index_type = to.index_type;
    options.keep_duplicates = keep_duplicates;
    spry_matrix *B = convert_matrix(context, A, &options);
    spry_arrays b = arrays_of(B);
    assert_int_equal(b.layout, to.layout);
    assert_int_equal(b.value_type, to.value_type);
    assert_int_equal(b.index_type, to.index_type);
    assert_int_equal(b.offset_type, to.layout == SPRY_COO ? SPRY_INDEX_DEFAULT : to.offset_type);
    assert_int_equal(b.rows, rows);
    assert_int_equal(b.columns, cols);
    int64_t count = expect(list, entries, nnz, from.value_type, to.value_type, to.layout == SPRY_CSC, keep_duplicates);
    assert_true(holds(&b, list, count));
    spry_matrix_report report = SPRY_INIT(spry_matrix_report);
    assert_int_equal(spry_matrix_check(B, &report, SPRY_CHECK_ALL, NULL), SPRY_OK);
    assert_int_equal(b.unique, report.duplicates > 0 ? SPRY_KNOWN_NO : SPRY_KNOWN_YES);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    free(entries);
    free(list);
}

/* ---- tests ------------------------------------------------------------------------------------- */

static void by_hand(void **state)
{
    /*  . 5 . 1      entries out of order, (0,1) given as 2 + 3
        . . . .
        7 . 4 .  */
    static const test_entry entries[] = {{2, 2, 4}, {0, 1, 2}, {0, 3, 1}, {2, 0, 7}, {0, 1, 3}};
    test_form form = {SPRY_COO, SPRY_F64, SPRY_I32, SPRY_I32};
    spry_matrix *A = test_matrix(*state, 3, 4, entries, 5, form);
    spry_matrix *B = convert_matrix(*state, A, NULL);
    spry_arrays b = arrays_of(B);
    assert_int_equal(b.layout, SPRY_CSR);
    assert_int_equal(b.nnz, 4);
    assert_int_equal(b.offset_type, SPRY_I32);
    assert_memory_equal(b.offsets, ((int32_t[]){0, 2, 2, 4}), 16);
    assert_memory_equal(b.indices, ((int32_t[]){1, 3, 0, 2}), 16);
    assert_memory_equal(b.values, ((double[]){5, 1, 7, 4}), 32);
    assert_int_equal(b.sorted, SPRY_KNOWN_YES);
    assert_int_equal(b.unique, SPRY_KNOWN_YES);
    assert_int_equal(b.ownership, SPRY_COPY);
    spry_matrix_destroy(B);

    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.layout = SPRY_CSC;
    options.value_type = SPRY_F32;
    options.keep_duplicates = 1;
    B = convert_matrix(*state, A, &options);
    b = arrays_of(B);
    assert_int_equal(b.nnz, 5);
    assert_memory_equal(b.offsets, ((int32_t[]){0, 1, 3, 4, 5}), 20);
    assert_memory_equal(b.indices, ((int32_t[]){2, 0, 0, 2, 0}), 20);
    assert_memory_equal(b.values, ((float[]){7, 2, 3, 4, 1}), 20);
    assert_int_equal(b.unique, SPRY_KNOWN_NO);

    spry_matrix *C = NULL; /* converts CSC to COO with 64-bit indices */
    options.layout = SPRY_COO;
    options.index_type = SPRY_I64;
    options.keep_duplicates = 0;
    C = convert_matrix(*state, B, &options);
    spry_arrays c = arrays_of(C);
    assert_memory_equal(c.row_indices, ((int64_t[]){0, 0, 2, 2}), 32);
    assert_memory_equal(c.indices, ((int64_t[]){1, 3, 0, 2}), 32);
    assert_memory_equal(c.values, ((float[]){5, 1, 7, 4}), 16);
    assert_null(c.offsets);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_matrix_destroy(C);
}

static void comparison_rejects_one_changed_entry(void **state)
{
    static const test_entry entries[] = {{0, 1, 2}, {0, 3, 1}, {2, 0, 7}, {2, 2, 4}};
    spry_matrix *A = test_matrix(*state, 3, 4, entries, 4, (test_form){SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32});
    placed list[4];
    spry_matrix *B = convert_matrix(*state, A, NULL);
    spry_arrays b = arrays_of(B);
    int64_t count = expect(list, entries, 4, SPRY_F64, SPRY_F64, 0, 0);
    assert_true(holds(&b, list, count));
    for (int k = 0; k < 4; k++) {
        list[k].value += 1e-15;
        list[k].value = nextafter(list[k].value, 100);
        assert_false(holds(&b, list, count));
        count = expect(list, entries, 4, SPRY_F64, SPRY_F64, 0, 0);
        list[k].minor ^= 1;
        assert_false(holds(&b, list, count));
        count = expect(list, entries, 4, SPRY_F64, SPRY_F64, 0, 0);
        list[k].major ^= 1;
        assert_false(holds(&b, list, count));
        count = expect(list, entries, 4, SPRY_F64, SPRY_F64, 0, 0);
    }
    assert_true(holds(&b, list, count));
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
}

static void *allocate_little(void *user, size_t bytes, size_t alignment)
{
    return bytes > 4 << 20 ? NULL : aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release_little(void *user, void *pointer, size_t bytes)
{
    free(pointer);
}

/* Sanitizers are slow, so they test every second pair of forms. */
enum { SOME = INSTRUMENTED ? 2 : 1 };

/* Asserts that a conversion to COO with a billion rows and few entries needs memory only for the entries. */
static void few_entries_in_many_rows(void **state)
{
    static const int64_t counts[] = {0, 1, 2, 700, 30000};
    static const int64_t rows = INT64_C(1000000000), cols = 60;
    spry_context *context = NULL;
    spry_context_options options = SPRY_INIT(spry_context_options);
    options.allocate = allocate_little;
    options.release = release_little;
    options.threads = 2;
    assert_int_equal(spry_context_create(&context, &options, NULL), SPRY_OK);
    for (int from = 0; from < TEST_FORMS; from++)
        for (int to = from % SOME; to < TEST_FORMS; to += SOME) {
            test_form a = test_form_number(from), b = test_form_number(to);
            for (int c = SAMPLED ? (from + to / SOME) % 3 : 0;
                 c < TEST_COUNT(counts) && a.layout != SPRY_CSR && b.layout == SPRY_COO; c += SAMPLED ? 3 : 1)
                check_conversion(context, rows, cols, counts[c], a, b, c % 2, (uint64_t)(7 + from));
        }
    static const test_entry entries[] = {{999999999, 2, 4}, {0, 1, 2}, {500, 3, 1}, {0, 0, 7}};
    spry_matrix *A = test_matrix(context, rows, cols, entries, 4, (test_form){SPRY_COO, SPRY_F64, SPRY_I32, SPRY_I32});
    spry_spmv_options plan_options = SPRY_INIT(spry_spmv_options);
    plan_options.format = "coo";
    spry_spmv_plan *plan = create_plan(context, A, &plan_options);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    assert_int_equal(context_bytes(context), 0);
    spry_context_destroy(context);
}

/* Converts small matrices of every form to every other form. */
static void every_pair_of_forms(void **state)
{
    static const int64_t sizes[][3] = {{6, 7, 20}, {1, 9, 60}, {9, 1, 60}, {40, 3, 5}, {3000, 5, 50}};
    for (int from = 0; from < TEST_FORMS; from++)
        for (int to = 0; to < TEST_FORMS; to++)
            for (int s = 0; s < TEST_COUNT(sizes); s++)
                check_conversion(*state, sizes[s][0], sizes[s][1], sizes[s][2], test_form_number(from),
                                 test_form_number(to), (from + to + s) % 2, (uint64_t)(1 + from * 100 + to * 7 + s));
}

/* Converts matrices that are large enough for multiple threads, many buckets and radix sorting. */
static void large(void **state)
{
    for (int from = 0; from < TEST_FORMS; from += 2 * SOME)
        for (int layout = 0; layout < 3; layout++) {
            test_form target = test_form_number((from * 5 + 3 * layout) % TEST_FORMS / 3 * 3 + layout);
            check_conversion(*state, 3000, 100000, 30000, test_form_number(from), target, from % 4 == 0,
                             (uint64_t)(77 + from));
            check_conversion(*state, 70000, 300, 40000, test_form_number(from), target, from % 4 == 2,
                             (uint64_t)(99 + from));
        }
}

static void empty_ones(void **state)
{
    static const int64_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {3, 3}};
    for (int from = 0; from < TEST_FORMS; from++)
        for (int s = 0; s < TEST_COUNT(sizes); s++) {
            spry_matrix *A = test_matrix(*state, sizes[s][0], sizes[s][1], NULL, 0, test_form_number(from));
            for (int to = 0; to < 3; to++) {
                spry_matrix_options options = SPRY_INIT(spry_matrix_options);
                options.layout = test_form_number(to).layout;
                spry_matrix *B = convert_matrix(*state, A, &options);
                spry_arrays b = arrays_of(B);
                assert_true(b.rows == sizes[s][0] && b.columns == sizes[s][1] && b.nnz == 0);
                spry_matrix_destroy(B);
            }
            spry_matrix_destroy(A);
        }
}

/* Asserts that duplicates are summed in f64 and rounded once to f32. Summed in f32, 1 + 2^-24 + 2^-24 would be 1. */
static void sums_are_rounded_once(void **state)
{
    static const test_entry entries[] = {{0, 0, 1}, {0, 0, 0x1p-24}, {0, 0, 0x1p-24}};
    spry_matrix *A = test_matrix(*state, 1, 1, entries, 3, (test_form){SPRY_COO, SPRY_F32, SPRY_I64, SPRY_I32});
    spry_matrix *B = convert_matrix(*state, A, NULL);
    spry_arrays b = arrays_of(B);
    assert_int_equal(b.value_type, SPRY_F32);
    assert_true(test_value(&b, 0) == 1 + 0x1p-23);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
}

static void patterns(void **state)
{
    static const test_entry entries[] = {{0, 0, 1}, {0, 0, 1}, {1, 0, 1}};
    spry_matrix *A = test_matrix(*state, 2, 1, entries, 3, (test_form){SPRY_COO, SPRY_PATTERN, SPRY_I64, SPRY_I32});
    spry_matrix *B = convert_matrix(*state, A, NULL);
    assert_int_equal(arrays_of(B).nnz, 2);
    assert_int_equal(B->field, SPRYI_FIELD_PATTERN);
    spry_matrix_destroy(B);
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.value_type = SPRY_F64;
    B = convert_matrix(*state, A, &options);
    spry_arrays b = arrays_of(B);
    assert_true(test_value(&b, 0) == 2 && test_value(&b, 1) == 1); /* each counts as 1 */
    assert_int_equal(B->field, SPRYI_INTEGER);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
}

static void claims_of_symmetry(void **state)
{
    static const double values[] = {1, 2, 3};
    static const int32_t rows[] = {0, 1, 1}, twice[] = {1, 0, 0}, once[] = {1, 0, 1};
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_COO;
    a.rows = a.columns = 2;
    a.nnz = 3;
    a.index_type = SPRY_I32;
    a.value_type = SPRY_F64;
    a.row_indices = rows;
    a.values = values;
    a.symmetry = SPRY_SYMMETRIC; /* a false claim */
    const struct {
        const int32_t *columns;
        spry_type to;
        int keep;
        spry_symmetry expected;
    } cases[] = {{once, SPRY_F64, 0, SPRY_SYMMETRIC},
                 {twice, SPRY_F64, 1, SPRY_SYMMETRIC},
                 {twice, SPRY_F64, 0, SPRY_GENERAL},
                 {twice, SPRY_PATTERN, 0, SPRY_SYMMETRIC}};
    for (int c = 0; c < TEST_COUNT(cases); c++) {
        a.indices = cases[c].columns;
        spry_matrix *A = create_matrix(*state, &a);
        spry_matrix_options options = SPRY_INIT(spry_matrix_options);
        options.value_type = cases[c].to;
        options.keep_duplicates = cases[c].keep;
        spry_matrix *B = convert_matrix(*state, A, &options);
        assert_int_equal(arrays_of(B).symmetry, cases[c].expected);
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
    }
}

static void source_is_left_alone(void **state)
{
    int32_t offsets[] = {0, 60, 61}, columns[61];
    double values[61];
    for (int k = 0; k < 61; k++) {
        columns[k] = k < 60 ? 59 - k : 0;
        values[k] = k;
    }
    spry_matrix *A = borrow_csr(*state, 2, 60, offsets, columns, values);
    spry_matrix *B = convert_matrix(*state, A, NULL);
    for (int k = 0; k < 60; k++) assert_true(columns[k] == 59 - k && values[k] == k);
    spry_arrays b = arrays_of(B);
    for (int k = 0; k < 60; k++) assert_true(test_index(&b, k) == k && test_value(&b, k) == 59 - k);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
}

static void same_bits_for_any_thread_count(void **state)
{
    enum { ROWS = 5000, COLS = 7000, NNZ = 100000 };
    test_entry *entries = calloc(NNZ, sizeof *entries);
    uint64_t seed = 5;
    random_entries(entries, ROWS, COLS, NNZ, SPRY_COO, &seed);
    for (int k = 0; k < NNZ; k++) entries[k].value = 1.0 / (k + 1); /* sums depend on the order */
    uint64_t structure = 0, values = 0;
    static const int threads[] = {1, 2, 5};
    for (int t = 0; t < TEST_COUNT(threads); t++) {
        test_memory memory = {0};
        spry_context *context = counted_context(&memory, threads[t]);
        spry_matrix *A =
            test_matrix(context, ROWS, COLS, entries, NNZ, (test_form){SPRY_COO, SPRY_F64, SPRY_I64, SPRY_I32});
        spry_matrix *B = convert_matrix(context, A, NULL);
        spry_arrays b = arrays_of(B);
        if (t > 0) {
            assert_int_equal(test_structure_hash(&b), structure);
            assert_int_equal(test_value_hash(&b), values);
        }
        structure = test_structure_hash(&b);
        values = test_value_hash(&b);
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
        spry_context_destroy(context);
        assert_int_equal(memory.blocks, 0);
    }
    free(entries);
}

/* ---- refusals ---------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    test_memory memory = {0};
    spry_context *context = counted_context(&memory, 2);
    static const test_entry entries[] = {{0, 2999999999, 1}};
    spry_matrix *A = test_matrix(context, 2, 3000000000, entries, 1, (test_form){SPRY_COO, SPRY_F64, 0, SPRY_I64});
    spry_matrix *B = NULL;
    int64_t calls = memory.calls;
    spry_error err = {0};
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.index_type = SPRY_I32;
    assert_int_equal(spry_matrix_convert(context, &B, NULL, A, &options, &err), SPRY_TOO_LARGE);
    assert_string_equal(err.argument, "index_type");
    assert_true(err.value == 3000000000 && err.limit == INT32_MAX);

    options = SPRY_INIT(spry_matrix_options);
    options.offset_type = SPRY_I32;
    assert_int_equal(spry_matrix_convert(context, &B, NULL, A, &options, &err), SPRY_INVALID_ARGUMENT); /* 32/64 */
    options.offset_type = (spry_index_type)3;
    assert_int_equal(spry_matrix_convert(context, &B, NULL, A, &options, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.message, "convert: offset_type is 3, expected SPRY_I32 or SPRY_I64");
    options = SPRY_INIT(spry_matrix_options);
    options.layout = (spry_layout)4;
    assert_int_equal(spry_matrix_convert(context, &B, NULL, A, &options, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.message, "convert: layout is 4, expected SPRY_CSR, SPRY_COO or SPRY_CSC");
    options = SPRY_INIT(spry_matrix_options);
    options.value_type = (spry_type)6;
    assert_int_equal(spry_matrix_convert(context, &B, NULL, A, &options, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.argument, "value_type");
    options = (spry_matrix_options){0};
    assert_int_equal(spry_matrix_convert(context, &B, NULL, A, &options, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.argument, "struct_size");
    assert_int_equal(spry_matrix_convert(NULL, &B, NULL, A, NULL, &err), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_matrix_convert(context, NULL, NULL, A, NULL, &err), SPRY_INVALID_ARGUMENT);
    assert_int_equal(spry_matrix_convert(context, &B, NULL, NULL, NULL, &err), SPRY_INVALID_ARGUMENT);
    assert_string_equal(err.argument, "A");
    assert_null(B);
    assert_int_equal(memory.calls, calls); /* the call failed before any allocation */

    B = convert_matrix(context, A, NULL);
    spry_arrays b = arrays_of(B);
    assert_int_equal(test_index(&b, 0), 2999999999);
    assert_int_equal(b.offset_type, SPRY_I64);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_context_destroy(context);
    assert_int_equal(memory.blocks, 0);
}

typedef struct oom_case {
    test_form from, to;
    int keep_duplicates;
    int64_t rows;
} oom_case;

static spry_status convert_and_drop(spry_context *context, const void *input, spry_error *err)
{
    const oom_case *c = input;
    /* The source is in its own context, so only allocations of the conversion fail. */
    spry_context *quiet = context_of(0);
    enum { NNZ = 600 };
    test_entry *entries = calloc(NNZ, sizeof *entries);
    uint64_t seed = 3;
    random_entries(entries, c->rows, 400, NNZ, c->from.layout, &seed);
    spry_matrix *A = test_matrix(quiet, c->rows, 400, entries, NNZ, c->from), *B = NULL;
    free(entries);
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    options.layout = c->to.layout;
    options.value_type = c->to.value_type;
    options.offset_type = c->to.offset_type;
    options.index_type = c->to.index_type;
    options.keep_duplicates = c->keep_duplicates;
    spry_status status = spry_matrix_convert(context, &B, NULL, A, &options, err);
    if (status != SPRY_OK) assert_null(B);
    spry_matrix_destroy(B);
    spry_matrix_destroy(A);
    spry_context_destroy(quiet);
    return status;
}

static void every_allocation_fails(void **state)
{
    if (RACES_ALONE) skip(); /* refused calls have no races */
    for (int from = 0; from < TEST_FORMS; from += 4)
        for (int to = from % SOME; to < TEST_FORMS; to += 5 * SOME)
            for (int keep = 0; keep < 2; keep++) {
                oom_case c = {test_form_number(from), test_form_number(to), keep, 300};
                assert_true(fail_every_allocation(convert_and_drop, &c, 2) > 0);
                if (SAMPLED && keep != from / 4 % 2) continue;
                c.rows = 90000; /* far more than entries */
                assert_true(fail_every_allocation(convert_and_drop, &c, 2) > 0);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(comparison_rejects_one_changed_entry),
        cmocka_unit_test(few_entries_in_many_rows),
        cmocka_unit_test(every_pair_of_forms),
        cmocka_unit_test(large),
        cmocka_unit_test(empty_ones),
        cmocka_unit_test(sums_are_rounded_once),
        cmocka_unit_test(patterns),
        cmocka_unit_test(claims_of_symmetry),
        cmocka_unit_test(source_is_left_alone),
        cmocka_unit_test(same_bits_for_any_thread_count),
        cmocka_unit_test(refusals),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, test_setup, close_context);
}
