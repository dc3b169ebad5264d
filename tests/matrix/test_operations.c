/*
 * Tests of transposing, adding, extracting, scaling and the diagonal in host memory. Results are compared with dense
 * matrices.
 */
#include "operations.h"

enum { ALPHA = 2, BETA = -3 };

/*
 * Returns options for the result. Different numbers give all forms (layout and types), so that each form is tested with
 * some operands.
 */
static spry_matrix_options form_of(int number, bool keep_duplicates)
{
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    o.keep_duplicates = keep_duplicates;
    if (number % 4 == 0) return o; /* the defaults */
    const test_form f = test_form_number(number % TEST_FORMS);
    o.layout = f.layout;
    o.index_type = f.index_type;
    if (number % 4 == 2) o.offset_type = f.offset_type;
    if (number % 4 == 3) o.value_type = f.value_type;
    if (number % 4 == 1) o.index_type = SPRY_INDEX_DEFAULT;
    if (o.offset_type == SPRY_I32) o.index_type = SPRY_I32;
    return o;
}

static const char *text_of(const sample *s, const char *operation)
{
    static char text[200];
    snprintf(text, sizeof text, "%s: layout %d, %s, %d/%d, kind %d, base %d, %s, %s", operation, s->form.layout,
             spry_type_name(s->form.value_type), s->form.offset_type, s->form.index_type, s->kind, s->index_base,
             s->duplicates ? "duplicates" : "unique", s->sorted ? "sorted" : "in any order");
    return text;
}

/* Replaces the value type if it is a pattern, which cannot store the operation's values. */
static void no_pattern(spry_matrix_options *o)
{
    if (o->value_type == SPRY_PATTERN) o->value_type = SPRY_F64;
}

static sample sample_number(int number)
{
    const int form = number % TEST_FORMS, kind = number / TEST_FORMS % SAMPLE_KINDS;
    sample s = {.kind = (sample_kind)kind,
                .rows = 9,
                .columns = kind == SAMPLE_GENERAL ? 12 : 9,
                .entries = number % 7 == 3 ? 1 : 40,
                .form = test_form_number(form),
                .index_base = number % 2,
                .duplicates = number / (TEST_FORMS * SAMPLE_KINDS) % 2 == 0,
                .sorted = number / (TEST_FORMS * SAMPLE_KINDS) / 2 % 2 == 0,
                .seed = (uint64_t)(number + 1)};
    return s;
}

enum { SAMPLES = TEST_FORMS * SAMPLE_KINDS * 4 };

/* ---- each operation ------------------------------------------------------------------------------------ */

static void transposes(void **state)
{
    for (int n = 0; n < SAMPLES; n++) {
        const sample s = sample_number(n);
        const spry_matrix_options o = form_of(n * 5 + n / 16, n % 3 == 0);
        spry_matrix *A = sample_matrix(*state, &s), *B = NULL;
        dense a = dense_of(A), expected = dense_transpose(&a);
        MUST(spry_matrix_transpose(*state, &B, A, n % 4 ? &o : NULL, err));
        assert_int_equal(s.index_base, B->index_base);
        if (!s.duplicates && o.value_type != SPRY_PATTERN) assert_int_equal(A->a.symmetry, B->a.symmetry);
        expect_matrix(B, &expected, n % 4 ? &o : NULL, text_of(&s, "transpose"));
        dense_free(&a);
        spry_matrix_destroy(A);
    }
}

static void adds(void **state)
{
    for (int n = 0; n < SAMPLES; n++) {
        const sample s = sample_number(n);
        sample t = sample_number(n * 7 + 13);
        t.kind = s.kind == SAMPLE_GENERAL ? SAMPLE_GENERAL : (sample_kind)(1 + n / 2 % (SAMPLE_KINDS - 1));
        t.columns = s.columns;
        spry_matrix_options o = form_of(n * 11 + n / 16, false);
        no_pattern(&o);
        spry_matrix *A = sample_matrix(*state, &s), *B = n % 9 ? sample_matrix(*state, &t) : A, *C = NULL;
        const bool pattern = !o.value_type && A->a.value_type == SPRY_PATTERN && B->a.value_type == SPRY_PATTERN;
        const bool f32 = o.value_type ? o.value_type == SPRY_F32
                                      : A->a.value_type != SPRY_F64 && B->a.value_type != SPRY_F64;
        const double alpha64 = ALPHA, beta64 = BETA;
        const float alpha32 = ALPHA, beta32 = BETA;
        const bool scaled = n % 5 && !pattern;
        dense a = dense_of(A), b = dense_of(B);
        dense expected = dense_add(scaled ? ALPHA : 1, &a, scaled ? BETA : 1, &b);
        MUST(spry_matrix_add(*state, &C,
                             !scaled ? NULL
                             : f32   ? (const void *)&alpha32
                                     : &alpha64,
                             A,
                             !scaled ? NULL
                             : f32   ? (const void *)&beta32
                                     : &beta64,
                             B, &o, err));
        if (!o.value_type) assert_int_equal(pattern ? SPRY_PATTERN : f32 ? SPRY_F32 : SPRY_F64, C->a.value_type);
        if (!o.index_type)
            assert_int_equal(A->a.index_type == SPRY_I64 || B->a.index_type == SPRY_I64 ? SPRY_I64 : SPRY_I32,
                             C->a.index_type);
        if (!s.duplicates && (!t.duplicates || A == B) && A->a.symmetry == B->a.symmetry && !pattern)
            assert_int_equal(A->a.symmetry, C->a.symmetry);
        expect_matrix(C, &expected, &o, text_of(&s, "add"));
        dense_free(&a);
        dense_free(&b);
        if (B != A) spry_matrix_destroy(B);
        spry_matrix_destroy(A);
    }
}

/* Selections of rows or columns of a 9 x 9 or 9 x 12 matrix. */
static const int64_t reversed[] = {8, 7, 6, 5, 4, 3, 2, 1, 0}, some[] = {3, 0, 7}, repeated[] = {5, 1, 5, 5, 0, 8, 1},
                     rising[] = {1, 2, 6, 7}, following[] = {4, 5, 6, 7, 8};
static const struct {
    const int64_t *list;
    int64_t count, first, range; /* count: selected rows; first, range: start and length */
    bool listed;
} selections[] = {{reversed, 9, 0, 0, true},   {some, 3, 0, 0, true}, {repeated, 7, 0, 0, true},
                  {rising, 4, 0, 0, true},     {some, 0, 0, 0, true}, {following, 5, 4, 5, false},
                  {following, 1, 4, 1, false}, {NULL, 0, 0, 0, false}};
enum { SELECTIONS = sizeof selections / sizeof *selections, ALL = SELECTIONS - 1 };

static spry_selection selection_number(int n)
{
    spry_selection s = SPRY_INIT(spry_selection);
    if (selections[n].listed) s.list = selections[n].list;
    s.first = selections[n].first;
    s.count = selections[n].listed ? selections[n].count : selections[n].range;
    return s;
}

static void extracts(void **state)
{
    for (int n = 0; n < SAMPLES * 2; n++) {
        const sample s = sample_number(n % SAMPLES);
        const int r = n * 5 / 3 % SELECTIONS, c = n % 3 ? (n / 2) % SELECTIONS : r;
        const spry_selection rows = selection_number(r), columns = selection_number(c);
        const spry_matrix_options o = form_of(n * 5 + n / 16, n % 4 == 1);
        spry_matrix *A = sample_matrix(*state, &s), *B = NULL;
        dense a = dense_of(A);
        dense expected =
            dense_extract(&a, selections[r].list, selections[r].count, selections[c].list, selections[c].count);
        MUST(spry_matrix_extract(*state, &B, A, r == ALL ? NULL : &rows, c == ALL ? NULL : &columns, &o, err));
        if (!s.duplicates && o.value_type != SPRY_PATTERN)
            assert_int_equal(r == c ? A->a.symmetry : SPRY_GENERAL, B->a.symmetry);
        expect_matrix(B, &expected, &o, text_of(&s, "extract"));
        dense_free(&a);
        spry_matrix_destroy(A);
    }
}

/* Extracts from row 4 to the end, and an empty range of columns. */
static void ranges_end_with_the_matrix(void **state)
{
    const sample s = sample_number(1);
    spry_matrix *A = sample_matrix(*state, &s), *B = NULL;
    spry_selection rows = SPRY_INIT(spry_selection), columns = SPRY_INIT(spry_selection);
    rows.first = 4;
    columns.first = s.columns;
    MUST(spry_matrix_extract(*state, &B, A, &rows, NULL, NULL, err));
    assert_int_equal(5, spry_matrix_rows(B));
    spry_matrix_destroy(B);
    MUST(spry_matrix_extract(*state, &B, A, &rows, &columns, NULL, err));
    assert_true(B->a.rows == 5 && B->a.columns == 0 && B->a.nnz == 0);
    spry_matrix_destroy(B);
    spry_matrix_destroy(A);
}

static void scales(void **state)
{
    for (int n = 0; n < SAMPLES; n++) {
        const sample s = sample_number(n);
        spry_matrix_options o = form_of(n * 5 + n / 16, n % 4 == 1);
        if (n % 6) no_pattern(&o);
        const bool both = n % 5 < 2, same = both && s.rows == s.columns && n % 2, strided = n % 4 == 3;
        const bool has_rows = both || n % 5 == 2, has_columns = both || n % 5 == 3;
        const spry_type type = n % 3 ? SPRY_F64 : SPRY_F32;
        double r64[24], c64[24], r[12], c[12];
        float r32[24], c32[24];
        for (int i = 0; i < 24; i++) {
            r64[i] = r32[i] = (float)(i % 5 - 2);
            c64[i] = c32[i] = same ? r32[i] : (float)(i % 3 + 1);
        }
        for (int i = 0; i < 12; i++) {
            r[i] = r64[strided ? 2 * i : i];
            c[i] = c64[strided ? 2 * i : i];
        }
        spry_const_vector rows = {0}, columns = {0};
        rows.type = columns.type = type;
        rows.length = s.rows;
        columns.length = s.columns;
        rows.row_stride = columns.row_stride = strided ? 2 : 0;
        if (has_rows) rows.data = type == SPRY_F64 ? (const void *)r64 : r32;
        if (has_columns) columns.data = type == SPRY_F64 ? (const void *)c64 : c32;
        if (same) columns.data = rows.data;
        spry_matrix *A = sample_matrix(*state, &s), *B = NULL;
        dense a = dense_of(A), expected = dense_scale(&a, has_rows ? r : NULL, has_columns ? c : NULL);
        MUST(spry_matrix_scale(*state, &B, A, rows, columns, &o, err));
        if (!o.value_type)
            assert_int_equal(A->a.value_type == SPRY_PATTERN && (has_rows || has_columns) ? type : A->a.value_type,
                             B->a.value_type);
        if (!s.duplicates && (same || (!has_rows && !has_columns)) && o.value_type != SPRY_PATTERN)
            assert_int_equal(A->a.symmetry, B->a.symmetry);
        if (has_rows != has_columns || (both && !same)) assert_int_equal(SPRY_GENERAL, B->a.symmetry);
        expect_matrix(B, &expected, &o, text_of(&s, "scale"));
        dense_free(&a);
        spry_matrix_destroy(A);
    }
}

static void diagonals(void **state)
{
    for (int n = 0; n < SAMPLES; n++) {
        const sample s = sample_number(n);
        spry_matrix *A = sample_matrix(*state, &s);
        dense a = dense_of(A);
        double d[9], strided[27];
        float narrow[9];
        MUST(spry_matrix_diagonal(A, spry_vector_f64(d, 9), err));
        MUST(spry_matrix_diagonal(A, spry_vector_f32(narrow, 9), err));
        for (int i = 0; i < 27; i++) strided[i] = 77;
        spry_vector spread = spry_vector_f64(strided, 9);
        spread.row_stride = 3;
        MUST(spry_matrix_diagonal(A, spread, err));
        for (int i = 0; i < 9; i++) {
            const double expected = a.value[i * a.columns + i];
            assert_true(d[i] == expected && narrow[i] == expected && strided[3 * i] == expected);
            assert_true(strided[3 * i + 1] == 77 && strided[3 * i + 2] == 77);
        }
        dense_free(&a);
        spry_matrix_destroy(A);
    }
}

/* ---- other values and sizes ------------------------------------------------------------------------------ */

/* Asserts that operations that only move values keep all bits of 16-bit values. */
static void moves_narrow_values(void **state)
{
    sample s = sample_number(3);
    for (int n = 0; n < 18; n++) {
        const spry_type type = n % 2 ? SPRY_BF16 : SPRY_F16;
        s.form = test_form_number(n % TEST_FORMS);
        s.form.value_type = type;
        s.duplicates = n % 3 == 0;
        spry_selection rows = selection_number(2), columns = selection_number(0);
        spry_matrix *A = sample_matrix(*state, &s), *B = NULL;
        dense a = dense_of(A), expected = dense_transpose(&a);
        MUST(spry_matrix_transpose(*state, &B, A, NULL, err));
        assert_int_equal(type, B->a.value_type);
        expect_matrix(B, &expected, NULL, text_of(&s, "transpose"));
        expected = dense_extract(&a, repeated, 7, reversed, 9);
        MUST(spry_matrix_extract(*state, &B, A, &rows, &columns, NULL, err));
        assert_int_equal(type, B->a.value_type);
        expect_matrix(B, &expected, NULL, text_of(&s, "extract"));
        double d[9];
        MUST(spry_matrix_diagonal(A, spry_vector_f64(d, 9), err));
        for (int i = 0; i < 9; i++) assert_true(d[i] == a.value[i * a.columns + i]);
        expect_error(spry_matrix_add(*state, &B, NULL, A, NULL, A, NULL, &err), SPRY_UNSUPPORTED, "A");
        expect_error(spry_matrix_scale(*state, &B, A, spry_const_vector_f64(d, 9), (spry_const_vector){0}, NULL, &err),
                     SPRY_UNSUPPORTED, "A");
        dense_free(&a);
        spry_matrix_destroy(A);
    }
}

static void empty_ones(void **state)
{
    static const int64_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {3, 3}};
    double ones[5] = {1, 1, 1, 1, 1};
    for (int n = 0; n < TEST_FORMS * 4; n++) {
        const int64_t rows = sizes[n % 4][0], columns = sizes[n % 4][1];
        spry_matrix *A = test_matrix(*state, rows, columns, NULL, 0, test_form_number(n / 4)), *B = NULL;
        const spry_matrix_options o = form_of(n * 5, false);
        dense expected = dense_new(columns, rows);
        MUST(spry_matrix_transpose(*state, &B, A, &o, err));
        expect_matrix(B, &expected, &o, "transpose");
        expected = dense_new(rows, columns);
        MUST(spry_matrix_extract(*state, &B, A, NULL, NULL, &o, err));
        expect_matrix(B, &expected, &o, "extract");
        expected = dense_new(rows, columns);
        MUST(spry_matrix_add(*state, &B, NULL, A, NULL, A, &o, err));
        expect_matrix(B, &expected, &o, "add");
        expected = dense_new(rows, columns);
        MUST(spry_matrix_scale(*state, &B, A, spry_const_vector_f64(ones, rows), spry_const_vector_f64(ones, columns),
                               &o, err));
        expect_matrix(B, &expected, &o, "scale");
        const int64_t length = rows < columns ? rows : columns;
        MUST(spry_matrix_diagonal(A, spry_vector_f64(ones, length), err));
        for (int64_t i = 0; i < length; i++) assert_true(ones[i] == 0);
        for (int i = 0; i < 5; i++) ones[i] = 1;
        spry_matrix_destroy(A);
    }
}

/*
 * Asserts that scaling rows and columns of a symmetric matrix by the same d gives an exactly symmetric matrix, although
 * the products are rounded.
 */
static void scaling_keeps_symmetry_to_the_bit(void **state)
{
    spry_matrix *A = generate_matrix(*state, "laplace5,x=30,y=30"), *B = NULL;
    double d[900];
    uint64_t random = 5;
    for (int i = 0; i < 900; i++) d[i] = 1 + (double)(test_random(&random) % 1000) / 999;
    const spry_const_vector v = spry_const_vector_f64(d, 900);
    MUST(spry_matrix_scale(*state, &B, A, v, v, NULL, err));
    assert_int_equal(SPRY_SYMMETRIC, B->a.symmetry);
    B->symmetry_holds = false;
    MUST(spry_matrix_check(B, NULL, SPRY_CHECK_ALL, err));
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
}

/* Asserts that duplicates of f32 are summed without rounding in between. In f32, 1 + 2^-24 + 2^-24 would be 1. */
static void sums_are_rounded_once(void **state)
{
    static const float values[] = {1, 0x1p-24F, 0x1p-24F};
    static const int32_t offsets[] = {0, 3}, columns[] = {0, 0, 0}, one[] = {0, 1};
    spry_arrays a = csr_arrays(1, 1, offsets, columns, values, SPRY_F32);
    spry_arrays b = csr_arrays(1, 1, one, columns, values + 1, SPRY_F32);
    spry_matrix *A = create_matrix(*state, &a), *B = create_matrix(*state, &b), *C = NULL;
    float d;
    MUST(spry_matrix_transpose(*state, &C, A, NULL, err));
    assert_true(*(const float *)C->a.values == 1 + 0x1p-23F);
    spry_matrix_destroy(C);
    const float minus = -1;
    MUST(spry_matrix_add(*state, &C, NULL, A, &minus, B, NULL, err)); /* 1 + 2^-24 */
    assert_true(*(const float *)C->a.values == 1);
    MUST(spry_matrix_diagonal(A, spry_vector_f32(&d, 1), err));
    assert_true(d == 1 + 0x1p-23F);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_matrix_destroy(C);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static spry_matrix *operate(spry_context *context, int operation, const spry_matrix *A, const spry_matrix *B,
                            spry_layout layout)
{
    static double d[700];
    static int64_t list[650];
    const double alpha = 0.3, beta = 0.7;
    spry_matrix *C = NULL;
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    spry_selection selected = SPRY_INIT(spry_selection);
    for (int i = 0; i < 700; i++) d[i] = 1 / (1.0 + i);
    for (int i = 0; i < 650; i++) list[i] = (i * 37) % 600;
    selected.list = list;
    selected.count = 650;
    o.layout = layout;
    switch (operation) {
    case 0: MUST(spry_matrix_transpose(context, &C, A, &o, err)); break;
    case 1: MUST(spry_matrix_add(context, &C, &alpha, A, &beta, B, &o, err)); break;
    case 2: MUST(spry_matrix_extract(context, &C, A, &selected, &selected, &o, err)); break;
    default: {
        const spry_const_vector r = spry_const_vector_f64(d, A->a.rows), c = spry_const_vector_f64(d, A->a.columns);
        MUST(spry_matrix_scale(context, &C, A, r, c, &o, err));
    }
    }
    return C;
}

static void assert_same(const spry_arrays *a, const spry_arrays *b)
{
    spryi_array as[SPRYI_ARRAYS], bs[SPRYI_ARRAYS];
    spryi_list_arrays(as, a);
    spryi_list_arrays(bs, b);
    for (int n = 0; n < SPRYI_ARRAYS; n++) {
        assert_int_equal(as[n].bytes, bs[n].bytes);
        if (as[n].bytes > 0) assert_memory_equal(as[n].data, bs[n].data, (size_t)as[n].bytes);
    }
}

/*
 * Asserts that results are equal for one and for multiple threads. The matrices are large, and their values are not
 * integers.
 */
static void any_number_of_threads(void **state)
{
    spry_context *one = context_of(1), *more = context_of(3);
    for (int n = 0; n < 3 * 4 * 2; n++) {
        sample s =
            {.rows = 700, .columns = 600, .entries = 50000, .duplicates = n % 2, .sorted = n % 3 == 0, .seed = 9};
        s.form = test_form_number(n % 3);
        spry_matrix *A = sample_matrix(one, &s);
        s.seed++;
        spry_matrix *B = sample_matrix(one, &s);
        for (int64_t k = 0; k < A->a.nnz; k++) ((double *)A->owned[3])[k] /= 7;
        const spry_layout layout = (spry_layout)(SPRY_CSR + n / 3 % 3);
        spry_matrix *C = operate(one, n / 6, A, B, layout), *D = operate(more, n / 6, A, B, layout);
        assert_same(&C->a, &D->a);
        MUST(spry_matrix_check(C, NULL, SPRY_CHECK_ALL, err));
        spry_matrix_destroy(C);
        spry_matrix_destroy(D);
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
    }
    spry_context_destroy(one);
    spry_context_destroy(more);
}

/* ---- failures ------------------------------------------------------------------------------------------- */

typedef struct failing {
    sample s;
    int operation;
} failing;

static spry_status run_operation(spry_context *context, const void *input, spry_error *err)
{
    const failing *f = input;
    spry_context *other = context_of(1);
    spry_matrix *A = sample_matrix(other, &f->s), *B = NULL;
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    o.layout = f->operation % 2 ? SPRY_CSC : SPRY_CSR;
    const spry_selection r = selection_number(2), c = selection_number(0);
    double d[9] = {0};
    const spry_const_vector v = spry_const_vector_f64(d, 9);
    spry_status status = SPRY_OK;
    switch (f->operation / 2) {
    case 0: status = spry_matrix_transpose(context, &B, A, &o, err); break;
    case 1: status = spry_matrix_add(context, &B, NULL, A, NULL, A, &o, err); break;
    case 2: status = spry_matrix_extract(context, &B, A, &r, &c, &o, err); break;
    default: status = spry_matrix_scale(context, &B, A, v, v, &o, err); break;
    }
    if (status != SPRY_OK) assert_null(B);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_context_destroy(other);
    return status;
}

static void nothing_leaks(void **state)
{
    for (int n = 0; n < 8 * 3 * 2; n++) {
        failing f = {sample_number(n % 3 + (n / 24 ? 0 : TEST_FORMS * SAMPLE_LOWER)), n / 3 % 8};
        f.s.columns = 9;
        assert_true(fail_every_allocation(run_operation, &f, 2) > 0);
    }
}

/* Asserts that scaled entries at one position are summed in f64 and rounded once. */
static void scaled_duplicates(void **state)
{
    static const int32_t offsets[] = {0, 2}, columns[] = {0, 0};
    static const float values[] = {1.0f + 0x1p-23f, -1.0f}, factor[] = {1.0f + 0x1p-23f};
    const spry_arrays a = csr_arrays(1, 1, offsets, columns, values, SPRY_F32);
    spry_matrix *A = create_matrix(*state, &a), *B = NULL;
    MUST(spry_matrix_scale(*state, &B, A, spry_const_vector_f32(factor, 1), (spry_const_vector){0}, NULL, err));
    const double exact = (double)factor[0] * ((double)values[0] + (double)values[1]);
    assert_true(((const float *)arrays_of(B).values)[0] == (float)exact);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
}

static void refusals(void **state)
{
    spry_context *c = *state;
    const sample general = sample_number(0);
    sample square = general;
    square.columns = 9;
    spry_matrix *A = sample_matrix(c, &general), *S = sample_matrix(c, &square), *B = NULL;
    spry_matrix_options o = SPRY_INIT(spry_matrix_options);
    double d[12] = {0};
    float f[12] = {0};
    const spry_const_vector none = {0}, r = spry_const_vector_f64(d, 9), n = spry_const_vector_f32(f, 12);
    REFUSED(spry_matrix_transpose(NULL, &B, A, NULL, &err), SPRY_INVALID_ARGUMENT, "context",
            "context is NULL, expected a pointer");
    REFUSED(spry_matrix_transpose(c, NULL, A, NULL, &err), SPRY_INVALID_ARGUMENT, "B", "B is NULL, expected a pointer");
    REFUSED(spry_matrix_add(c, &B, NULL, A, NULL, NULL, NULL, &err), SPRY_INVALID_ARGUMENT, "B",
            "B is NULL, expected a pointer");
    o.layout = (spry_layout)7;
    REFUSED(spry_matrix_transpose(c, &B, A, &o, &err), SPRY_INVALID_ARGUMENT, "layout",
            "transpose: layout is 7, expected SPRY_CSR, SPRY_COO or SPRY_CSC");
    o.layout = SPRY_CSR;
    o.offset_type = SPRY_I32;
    o.index_type = SPRY_I64;
    REFUSED(spry_matrix_transpose(c, &B, A, &o, &err), SPRY_INVALID_ARGUMENT, "index_type",
            "32-bit offsets with 64-bit indices: the legal pairs are 32/32, 64/32 and 64/64");
    o = SPRY_INIT(spry_matrix_options);
    REFUSED(spry_matrix_add(c, &B, NULL, A, NULL, S, &o, &err), SPRY_INVALID_SIZE, "B",
            "add: A is 9 x 12 and B is 9 x 9, expected equal sizes");
    o.keep_duplicates = true;
    REFUSED(spry_matrix_add(c, &B, NULL, A, NULL, A, &o, &err), SPRY_UNSUPPORTED, "keep_duplicates",
            "add: keep_duplicates is true, but a sum has each position once");
    o = SPRY_INIT(spry_matrix_options);
    o.value_type = SPRY_PATTERN;
    REFUSED(spry_matrix_add(c, &B, NULL, A, d, A, &o, &err), SPRY_INVALID_ARGUMENT, "beta",
            "add: beta is given, but the sum is a pattern, which has no values");
    o.value_type = SPRY_BF16;
    REFUSED(spry_matrix_add(c, &B, NULL, A, NULL, A, &o, &err), SPRY_UNSUPPORTED, "value_type",
            "add: values of value_type are bf16, expected f32, f64 or a pattern: convert them first");
    REFUSED(spry_matrix_scale(c, &B, A, n, none, NULL, &err), SPRY_INVALID_SIZE, "row_scaling",
            "scale: row_scaling has 12 elements, expected 9");
    REFUSED(spry_matrix_scale(c, &B, A, r, n, NULL, &err), SPRY_INVALID_ARGUMENT, "column_scaling",
            "scale: row_scaling is f64 and column_scaling is f32, expected one type");
    REFUSED(spry_matrix_diagonal(A, spry_vector_f64(d, 12), &err), SPRY_INVALID_SIZE, "diagonal",
            "diagonal: diagonal has 12 elements, expected 9");
    REFUSED(spry_matrix_diagonal(A, spry_vector_f64(NULL, 9), &err), SPRY_INVALID_ARGUMENT, "diagonal",
            "diagonal: diagonal has no data");
    spry_vector v = spry_vector_f64(d, 9);
    v.row_stride = -1;
    REFUSED(spry_matrix_diagonal(A, v, &err), SPRY_INVALID_SIZE, "diagonal",
            "diagonal: row_stride of diagonal is -1, expected 1 or more, within memory");
    v = spry_vector_f64(d, 9);
    v.type = SPRY_BF16;
    REFUSED(spry_matrix_diagonal(A, v, &err), SPRY_INVALID_ARGUMENT, "diagonal",
            "diagonal: diagonal has type 4, expected SPRY_F32 or SPRY_F64");
    v = spry_vector_f64(d, 9);
    v.device = 3;
    REFUSED(spry_matrix_diagonal(A, v, &err), SPRY_INVALID_ARGUMENT, "diagonal",
            "diagonal: diagonal is on device 3 and the matrix on device 0, expected one device");
    spry_matrix_destroy(A);
    spry_matrix_destroy(S);
}

static void refused_selections(void **state)
{
    const sample s = sample_number(0);
    spry_matrix *A = sample_matrix(*state, &s), *B = NULL;
    static const int64_t wrong[] = {0, 3, 12, -1};
    static const struct {
        int64_t first, count;
        const int64_t *list;
        const char *message;
    } cases[] = {{-1, 0, NULL, "extract: rows.first is -1, expected 0 to 9"},
                 {10, 0, NULL, "extract: rows.first is 10, expected 0 to 9"},
                 {4, 6, NULL, "extract: rows.count is 6, expected 0 to 5"},
                 {4, -2, NULL, "extract: rows.count is -2, expected 0 to 5"},
                 {1, 2, wrong, "extract: rows.first is 1, expected with a list 0"},
                 {0, 3, wrong, "extract: rows.list[2] is 12, expected 0 to 8"},
                 {0, 1, wrong + 3, "extract: rows.list[0] is -1, expected 0 to 8"}};
    for (int n = 0; n < TEST_COUNT(cases); n++) {
        spry_selection rows = SPRY_INIT(spry_selection);
        rows.first = cases[n].first;
        rows.count = cases[n].count;
        rows.list = cases[n].list;
        REFUSED(spry_matrix_extract(*state, &B, A, &rows, NULL, NULL, &err), SPRY_INVALID_ARGUMENT, "rows",
                cases[n].message);
    }
    spry_matrix_destroy(A);
}

/* Asserts that the comparison of these tests, fault_of, finds wrong results. */
static void comparison_rejects_faults(void **state)
{
    sample s = sample_number(0);
    s.duplicates = false;
    spry_matrix *A = sample_matrix(*state, &s), *B = NULL;
    dense a = dense_of(A);
    MUST(spry_matrix_extract(*state, &B, A, NULL, NULL, NULL, err));
    assert_null(fault_of(B, &a, NULL));
    for (int64_t n = 0; n < a.rows * a.columns; n++) {
        if (!a.stored[n]) continue;
        a.value[n]++;
        assert_non_null(fault_of(B, &a, NULL));
        a.value[n]--;
        a.stored[n] = 0;
        assert_non_null(fault_of(B, &a, NULL));
        a.stored[n] = 1;
    }
    B->a.symmetry = SPRY_SYMMETRIC;
    assert_non_null(fault_of(B, &a, NULL));
    dense_free(&a);
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposes),
        cmocka_unit_test(adds),
        cmocka_unit_test(extracts),
        cmocka_unit_test(ranges_end_with_the_matrix),
        cmocka_unit_test(scales),
        cmocka_unit_test(diagonals),
        cmocka_unit_test(moves_narrow_values),
        cmocka_unit_test(empty_ones),
        cmocka_unit_test(scaling_keeps_symmetry_to_the_bit),
        cmocka_unit_test(sums_are_rounded_once),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(nothing_leaks),
        cmocka_unit_test(scaled_duplicates),
        cmocka_unit_test(refusals),
        cmocka_unit_test(refused_selections),
        cmocka_unit_test(comparison_rejects_faults),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
