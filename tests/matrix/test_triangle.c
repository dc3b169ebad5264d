/*
 * Tests of matrices that store one triangle. Every function that reads entries must use the whole matrix with the
 * current values.
 */
#include "plan/plan.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/solve.h"
#include "spry/spgemm.h"
#include "spry/tune.h"
#include "support.h"

#include <unistd.h>

enum { N = 40, MOST = N * N };

/* Two matrices with equal entries, and the matrix that owns the arrays of the triangle. */
typedef struct both {
    spry_matrix *triangle, *whole, *arrays;
    spry_arrays given;
} both;

/* Lists a diagonally dominant matrix, or a skew-symmetric one without a diagonal, in row or column order. */
static int64_t list(test_entry *entries, int by_column, spry_symmetry symmetry, spry_triangle triangle)
{
    int64_t count = 0;
    for (int64_t major = 0; major < N; major++)
        for (int64_t minor = 0; minor < N; minor++) {
            const int64_t i = by_column ? minor : major, j = by_column ? major : minor, low = i < j ? i : j;
            const int64_t high = i < j ? j : i;
            const int inside = (high * 7 + low * 3) % 11 == 0 || (i == j && symmetry == SPRY_SYMMETRIC);
            if (!inside || (i == j && symmetry == SPRY_SKEW_SYMMETRIC)) continue;
            if (triangle == SPRY_LOWER_TRIANGLE && j > i) continue;
            if (triangle == SPRY_UPPER_TRIANGLE && j < i) continue;
            double value = i == j ? 30 : 0.25 + 0.5 * (double)((high + 2 * low) % 4);
            if (symmetry == SPRY_SKEW_SYMMETRIC && j > i) value = -value;
            entries[count++] = (test_entry){i, j, value};
        }
    return count;
}

static both make(spry_context *context, test_form form, spry_symmetry symmetry, spry_triangle triangle)
{
    both b = {0};
    test_entry *entries = calloc(MOST, sizeof *entries);
    assert_non_null(entries);
    b.arrays = test_matrix(context, N, N, entries, list(entries, form.layout == SPRY_CSC, symmetry, triangle), form);
    b.given = arrays_of(b.arrays);
    b.given.ownership = SPRY_BORROW;
    b.given.symmetry = symmetry;
    b.given.triangle = triangle;
    MUST(spry_matrix_create(context, &b.triangle, &b.given, err));
    test_form csr = form;
    csr.layout = SPRY_CSR;
    if (form.layout == SPRY_COO) csr.offset_type = form.index_type;
    b.whole = test_matrix(context, N, N, entries, list(entries, 0, symmetry, SPRY_ALL_ENTRIES), csr);
    free(entries);
    return b;
}

static void clear(both *b)
{
    spry_matrix_destroy(b->triangle);
    spry_matrix_destroy(b->whole);
    spry_matrix_destroy(b->arrays);
}

static void assert_same_entries(const spry_matrix *A, const spry_matrix *B)
{
    const spry_arrays a = arrays_of(A), b = arrays_of(B);
    assert_int_equal(a.nnz, b.nnz);
    assert_int_equal(test_structure_hash(&a), test_structure_hash(&b));
    assert_int_equal(test_value_hash(&a), test_value_hash(&b));
}

/* ---- creation ---------------------------------------------------------------------------------------- */

static void test_creation(void **state)
{
    spry_context *context = context_of(0);
    both b = make(context, test_form_number(0), SPRY_SYMMETRIC, SPRY_LOWER_TRIANGLE);
    const struct {
        spry_symmetry symmetry;
        int triangle, device;
        int64_t rows;
        spry_status status;
        const char *argument;
    } cases[] = {
        {SPRY_GENERAL, SPRY_LOWER_TRIANGLE, 0, N, SPRY_INVALID_ARGUMENT, "symmetry"},
        {SPRY_SYMMETRIC, 3, 0, N, SPRY_INVALID_ARGUMENT, "triangle"},
        {SPRY_SKEW_SYMMETRIC, -1, 0, N, SPRY_INVALID_ARGUMENT, "triangle"},
        {SPRY_SYMMETRIC, SPRY_UPPER_TRIANGLE, 1, N, SPRY_INVALID_ARGUMENT, "device"},
        {SPRY_SYMMETRIC, SPRY_UPPER_TRIANGLE, 0, N - 1, SPRY_INVALID_SIZE, "symmetry"},
    };
    for (int c = 0; c < TEST_COUNT(cases); c++) {
        spry_matrix *A = NULL;
        spry_error err = SPRY_ERROR_INIT;
        spry_arrays a = b.given;
        a.symmetry = cases[c].symmetry;
        a.triangle = (spry_triangle)cases[c].triangle;
        a.device = cases[c].device;
        a.rows = cases[c].rows;
        assert_int_equal(cases[c].status, spry_matrix_create(context, &A, &a, &err));
        assert_string_equal(cases[c].argument, err.argument);
        assert_null(A);
    }
    const spry_arrays shown = arrays_of(b.triangle);
    assert_int_equal(b.given.nnz, spry_matrix_nnz(b.triangle));
    assert_int_equal(SPRY_LOWER_TRIANGLE, shown.triangle);
    assert_int_equal(SPRY_BORROW, shown.ownership);
    assert_ptr_equal(b.given.indices, shown.indices);
    assert_int_equal(b.given.nnz, shown.nnz);
    clear(&b);
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/* ---- all forms ---------------------------------------------------------------------------------------- */

typedef void (*form_work)(spry_context *context, both *b, spry_type type);

static void for_all_forms(form_work work, int step)
{
    for (int form = 0; form < TEST_FORMS; form += step)
        for (int way = 0; way < 4; way++) {
            const test_form f = test_form_number(form);
            const spry_symmetry symmetry = way & 1 ? SPRY_SKEW_SYMMETRIC : SPRY_SYMMETRIC;
            if (f.value_type == SPRY_PATTERN && symmetry == SPRY_SKEW_SYMMETRIC) continue;
            spry_context *context = context_of(2);
            both b = make(context, f, symmetry, way & 2 ? SPRY_UPPER_TRIANGLE : SPRY_LOWER_TRIANGLE);
            work(context, &b, f.value_type == SPRY_F32 ? SPRY_F32 : SPRY_F64);
            clear(&b);
            assert_int_equal(0, context_bytes(context));
            spry_context_destroy(context);
        }
}

static void convert(spry_context *context, both *b, spry_type type)
{
    for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout += SPRY_CSC - SPRY_CSR) {
        spry_matrix_options options = SPRY_INIT(spry_matrix_options);
        options.layout = (spry_layout)layout;
        spry_matrix *T = convert_matrix(context, b->triangle, &options);
        spry_matrix *W = convert_matrix(context, b->whole, &options);
        assert_same_entries(W, T);
        const spry_arrays t = arrays_of(T), w = arrays_of(W);
        assert_int_equal(SPRY_ALL_ENTRIES, t.triangle);
        assert_int_equal(b->given.symmetry, t.symmetry);
        assert_int_equal(w.index_type, t.index_type);
        assert_int_equal(SPRY_KNOWN_YES, t.sorted);
        assert_int_equal(SPRY_OK, spry_matrix_check(T, NULL, SPRY_CHECK_ALL, NULL));
        spry_matrix_destroy(T);
        spry_matrix_destroy(W);
    }
    assert_int_equal(SPRY_OK, spry_matrix_check(b->triangle, NULL, SPRY_CHECK_STRUCTURE, NULL));
    assert_int_equal(SPRY_OK, spry_matrix_check(b->triangle, NULL, SPRY_CHECK_ALL, NULL));
}

static void test_convert(void **state)
{
    for_all_forms(convert, 1);
}

/* Checks that op(A)*x of both plans is bitwise equal. */
static void assert_same_products(spry_context *context, const spry_spmv_plan *t, const spry_spmv_plan *w,
                                 spry_type type)
{
    spry_vector y[2] = {{0}, {0}};
    const spry_spmv_plan *const plans[] = {t, w};
    spry_vector x = create_vector(context, N, type, 0);
    for (int j = 0; j < N; j++) {
        const double value = 0.1 + 0.3 * (j % 7);
        if (type == SPRY_F32)
            ((float *)x.data)[j] = (float)value;
        else
            ((double *)x.data)[j] = value;
    }
    for (int p = 0; p < 2; p++) {
        MUST(spry_vector_create(context, &y[p], N, type, 0, err));
        MUST(spry_spmv_plan_run(plans[p], y[p], NULL, spry_vector_as_const(x), NULL, NULL, err));
    }
    assert_memory_equal(y[1].data, y[0].data, N * spry_type_bytes(type));
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &y[0]);
    spry_vector_destroy(context, &y[1]);
}

/* Writes the values of one array, multiplied by `factor`, to another array. */
static void scale(void *to, const void *from, spry_type type, int64_t nnz, double factor)
{
    for (int64_t k = 0; k < nnz; k++)
        if (type == SPRY_F32)
            ((float *)to)[k] = (float)factor * ((const float *)from)[k];
        else
            ((double *)to)[k] = factor * ((const double *)from)[k];
}

static const struct {
    const char *format, *ordering;
} kinds[] = {{NULL, NULL},    {"csr", NULL},  {"ell", NULL},  {"csc", NULL},
             {"coo", "none"}, {"csr", "rcm"}, {"sell", "rcm"}};

/*
 * Asserts that plans of the triangle and of the whole matrix give bitwise equal products, also after the values were
 * changed in place and after updates from another array.
 */
static void plans(spry_context *context, both *b, spry_type type)
{
    for (int k = 0; k < 2 * TEST_COUNT(kinds); k++) {
        spry_spmv_options options = SPRY_INIT(spry_spmv_options);
        options.format = kinds[k / 2].format;
        options.ordering = kinds[k / 2].ordering;
        options.op = k % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        options.memory_limit_bytes = INT64_MAX;
        spry_spmv_plan *t = create_plan(context, b->triangle, &options);
        spry_spmv_plan *w = create_plan(context, b->whole, &options);
        spry_spmv_plan_info info = plan_info(t);
        static const char clause[] = "; the plan has built both triangles from one";
        assert_int_equal(1, info.expanded);
        assert_int_equal(0, info.values_in_place);
        assert_true(strlen(info.reason) > strlen(clause));
        assert_string_equal(clause, info.reason + strlen(info.reason) - strlen(clause));
        assert_string_equal(options.ordering ? options.ordering : "none", info.ordering);
        assert_same_products(context, t, w, type);
        info = plan_info(w);
        assert_int_equal(0, info.expanded);
        MUST(spry_spmv_plan_update(t, NULL, err)); /* a pattern is unchanged */
        if (b->given.value_type != SPRY_PATTERN) {
            void *mine = calloc((size_t)b->given.nnz + 1, 8), *all = calloc((size_t)MOST, 8);
            void *in_place = (void *)(uintptr_t)b->given.values;
            const spry_arrays whole = arrays_of(b->whole);
            spry_update_options update = SPRY_INIT(spry_update_options);
            assert_true(mine && all);
            scale(in_place, in_place, type, b->given.nnz, 2);
            scale(all, whole.values, type, whole.nnz, 2);
            update.values = all;
            MUST(spry_spmv_plan_update(t, NULL, err));
            MUST(spry_spmv_plan_update(w, &update, err));
            assert_same_products(context, t, w, type);
            scale(in_place, in_place, type, b->given.nnz, 0.5);
            scale(mine, in_place, type, b->given.nnz, 3);
            scale(all, whole.values, type, whole.nnz, 3);
            update.values = mine;
            MUST(spry_spmv_plan_update(t, &update, err));
            MUST(spry_spmv_plan_update(w, NULL, err));
            assert_same_products(context, t, w, type);
            spry_spmv_plan_destroy(t);
            spry_spmv_plan_destroy(w);
            free(mine);
            free(all);
        } else {
            spry_spmv_plan_destroy(t);
            spry_spmv_plan_destroy(w);
        }
    }
}

static void test_plans(void **state)
{
    for_all_forms(plans, 1);
}

/* ---- faults and duplicates ------------------------------------------------------------------------------ */

/*
 * Asserts that entries outside the stored triangle are refused: entry (1, 2) of a lower triangle, entry (2, 1) of an
 * upper one.
 */
static void test_other_triangle(void **state)
{
    spry_context *context = context_of(0);
    for (int form = 0; form < TEST_FORMS; form++)
        for (int upper = 0; upper < 2; upper++) {
            const test_form f = test_form_number(form);
            const test_entry lower[] = {{0, 0, 1}, {1, 2, 2}, {3, 3, 4}}, higher[] = {{0, 0, 1}, {2, 1, 2}, {3, 3, 4}};
            spry_matrix *held = test_matrix(context, 4, 4, upper ? higher : lower, 3, f), *B = NULL;
            spry_arrays a = arrays_of(held);
            spry_spmv_plan *plan = NULL;
            a.ownership = SPRY_BORROW;
            a.symmetry = SPRY_SYMMETRIC;
            a.triangle = upper ? SPRY_UPPER_TRIANGLE : SPRY_LOWER_TRIANGLE;
            spry_matrix *A = create_matrix(context, &a);
            for (int call = 0; call < 4; call++) {
                spry_error err = SPRY_ERROR_INIT;
                assert_int_equal(SPRY_INVALID_MATRIX,
                                 call == 0   ? spry_spmv_plan_create(context, &plan, A, NULL, &err)
                                 : call == 1 ? spry_matrix_convert(context, &B, NULL, A, NULL, &err)
                                 : call == 2 ? spry_matrix_check(A, NULL, SPRY_CHECK_ALL, &err)
                                             : spry_matrix_check(A, NULL, SPRY_CHECK_STRUCTURE, &err));
                assert_string_equal("triangle", err.argument);
                assert_string_equal(upper ? "entry 1, in row 2 and column 1, is below the diagonal, but the upper "
                                            "triangle alone was said to be stored (counted from 0)"
                                          : "entry 1, in row 1 and column 2, is above the diagonal, but the lower "
                                            "triangle alone was said to be stored (counted from 0)",
                                    err.message);
            }
            spry_matrix_destroy(A);
            spry_matrix_destroy(held);
        }
    assert_int_equal(0, context_bytes(context));
    spry_context_destroy(context);
}

/*
 * Tests a repeated entry in arrays with index base 1. A nonzero diagonal of a skew-symmetric matrix is kept, and the
 * check reports it.
 */
static void test_duplicates(void **state)
{
    static const int64_t rows[] = {3, 1, 3, 2}, columns[] = {1, 1, 1, 1};
    static const double values[] = {5, 2, 7, 3}, symmetric[] = {2, 3, 5, 7, 3, 5, 7}, skew[] = {2, -3, -5, -7, 3, 5, 7};
    static const int64_t image_rows[] = {0, 0, 0, 0, 1, 2, 2}, image_columns[] = {0, 1, 2, 2, 0, 0, 0};
    spry_context *context = context_of(0);
    for (int kind = SPRY_SYMMETRIC; kind <= SPRY_SKEW_SYMMETRIC; kind++) {
        spry_arrays a = SPRY_INIT(spry_arrays);
        spry_matrix_options keep = SPRY_INIT(spry_matrix_options);
        a.layout = SPRY_COO;
        a.rows = a.columns = 3;
        a.nnz = 4;
        a.index_type = SPRY_I64;
        a.value_type = SPRY_F64;
        a.row_indices = rows;
        a.indices = columns;
        a.values = values;
        a.index_base = 1;
        a.symmetry = (spry_symmetry)kind;
        a.triangle = SPRY_LOWER_TRIANGLE;
        spry_matrix *A = create_matrix(context, &a);
        keep.keep_duplicates = 1;
        spry_matrix *B = convert_matrix(context, A, &keep);
        const spry_arrays b = arrays_of(B);
        assert_int_equal(7, b.nnz);
        for (int64_t k = 0; k < 7; k++) {
            assert_int_equal(image_columns[k], test_index(&b, k));
            assert_true(test_value(&b, k) == (kind == SPRY_SYMMETRIC ? symmetric : skew)[k]);
            assert_true(test_offset(&b, image_rows[k]) <= k && k < test_offset(&b, image_rows[k] + 1));
        }
        spry_error err = SPRY_ERROR_INIT;
        spry_matrix_report report = SPRY_INIT(spry_matrix_report);
        assert_int_equal(kind == SPRY_SYMMETRIC ? SPRY_OK : SPRY_INVALID_MATRIX,
                         spry_matrix_check(A, &report, SPRY_CHECK_ALL, &err));
        assert_int_equal(1, report.duplicates);
        if (kind == SPRY_SKEW_SYMMETRIC) assert_string_equal("symmetry", err.argument);
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
    }
    spry_context_destroy(context);
}

/* ---- functions -------------------------------------------------------------------------------------------- */

static void checks_and_statistics(spry_context *context, both *b)
{
    spry_matrix_stats s[2] = {SPRY_INIT(spry_matrix_stats), SPRY_INIT(spry_matrix_stats)};
    spryi_storage storage[2] = {0};
    double diagonal[2][N];
    const spry_matrix *const A[] = {b->triangle, b->whole};
    for (int m = 0; m < 2; m++) {
        spry_spmv_options ell = SPRY_INIT(spry_spmv_options);
        ell.format = "ell";
        MUST(spry_matrix_get_stats(A[m], &s[m], err));
        MUST(spry_matrix_diagonal(A[m], spry_vector_f64(diagonal[m], N), err));
        MUST(spryi_predict_storage(context, &storage[m], A[m], &ell, err));
    }
    assert_memory_equal(&s[1], &s[0], sizeof *s);
    assert_memory_equal(diagonal[1], diagonal[0], sizeof *diagonal);
    assert_int_equal(storage[1].bytes, storage[0].bytes);
}

static void orders(spry_context *context, both *b)
{
    const spry_matrix *const A[] = {b->triangle, b->whole};
    spry_ordering *ordering[2] = {NULL, NULL};
    const int64_t *perm[2];
    spry_ordering_stats stats[2] = {SPRY_INIT(spry_ordering_stats), SPRY_INIT(spry_ordering_stats)};
    spry_matrix *permuted[2] = {NULL, NULL};
    for (int m = 0; m < 2; m++) {
        spry_ordering_options rcm = SPRY_INIT(spry_ordering_options);
        rcm.method = "rcm";
        MUST(spry_ordering_create(context, &ordering[m], A[m], &rcm, err));
        spry_ordering_info info = SPRY_INIT(spry_ordering_info);
        MUST(spry_ordering_get_info(ordering[m], &info, err));
        perm[m] = info.row_perm;
        MUST(spry_ordering_get_stats(ordering[m], &stats[m], A[m], err));
        MUST(permute_matrix(context, &permuted[m], A[m], perm[m], perm[m], err));
    }
    assert_memory_equal(perm[1], perm[0], N * sizeof *perm[0]);
    assert_memory_equal(&stats[1], &stats[0], sizeof *stats);
    assert_same_entries(permuted[1], permuted[0]);
    for (int m = 0; m < 2; m++) {
        spry_ordering_destroy(ordering[m]);
        spry_matrix_destroy(permuted[m]);
    }
}

/* Tests sparse products of the triangle, their verification, and plans, which must use new values of the triangle. */
static void sparse_products(spry_context *context, both *b)
{
    for (int op = 0; op < 2; op++) {
        spry_spgemm_options options = SPRY_INIT(spry_spgemm_options);
        spry_spgemm_verification v = SPRY_INIT(spry_spgemm_verification);
        spry_spgemm_estimate_info predicted = SPRY_INIT(spry_spgemm_estimate_info);
        options.op_a = op ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
        spry_matrix *T = multiply_matrices(context, b->triangle, b->triangle, &options);
        spry_matrix *W = multiply_matrices(context, b->whole, b->whole, &options);
        assert_same_entries(W, T);
        MUST(spry_spgemm_verify(context, &v, T, b->triangle, b->whole, &options, SPRY_VERIFY_EXACT, err));
        assert_int_equal(0, v.wrong_rows);
        MUST(spry_spgemm_estimate(context, &predicted, b->triangle, b->triangle, &options, err));
        assert_int_equal(arrays_of(W).nnz, predicted.nnz);
        spry_matrix_destroy(T);
        spry_spgemm_plan *plan = create_spgemm_plan(context, b->triangle, b->triangle, &options);
        void *values = (void *)(uintptr_t)b->given.values;
        for (int round = 0; round < 2; round++) {
            scale(values, values, b->given.value_type, b->given.nnz, round ? 0.5 : 2);
            const spry_arrays w = arrays_of(W);
            spry_arrays scaled = w;
            double *of_w = calloc((size_t)w.nnz + 1, sizeof *of_w);
            scale(of_w, w.values, w.value_type, w.nnz, round ? 1 : 4);
            scaled.values = of_w;
            scaled.ownership = SPRY_BORROW;
            spry_matrix *expected = create_matrix(context, &scaled);
            MUST(spry_spgemm_plan_run(plan, NULL, NULL, err));
            MUST(spry_spgemm_plan_get_result(plan, &T, err));
            assert_same_entries(expected, T);
            spry_matrix_destroy(T);
            spry_matrix_destroy(expected);
            free(of_w);
        }
        spry_spgemm_plan_destroy(plan);
        spry_matrix_destroy(W);
    }
}

static void solvers(spry_context *context, both *b)
{
    double x[2][N], ones[N], y[N];
    const spry_matrix *const A[] = {b->triangle, b->whole};
    for (int i = 0; i < N; i++) ones[i] = 1;
    memset(x, 0, sizeof x);
    for (int m = 0; m < 2; m++) {
        spry_cg_result result = SPRY_INIT(spry_cg_result);
        MUST(spry_cg(context, spry_vector_f64(x[m], N), &result, A[m], spry_const_vector_f64(ones, N), NULL, err));
        assert_int_equal(SPRY_VERDICT_CONVERGED, result.verdict);
    }
    assert_memory_equal(x[1], x[0], sizeof *x);
    for (int m = 0; m < 2; m++) {
        spry_pagerank_result result = SPRY_INIT(spry_pagerank_result);
        MUST(spry_pagerank(context, spry_vector_f64(x[m], N), &result, A[m], NULL, err));
    }
    assert_memory_equal(x[1], x[0], sizeof *x);
    spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
    MUST(spry_spmv(context, spry_vector_f64(y, N), NULL, b->whole, spry_const_vector_f64(ones, N), NULL, err));
    MUST(spry_spmv_verify(context, &v, b->triangle, SPRY_TRANSPOSE, NULL, spry_const_vector_f64(ones, N), NULL,
                          (spry_const_vector){0}, spry_const_vector_f64(y, N), err));
    assert_int_equal(0, v.wrong_rows);
}

/* Asserts that text files and containers written from a triangle equal those written from the whole matrix. */
static void files(spry_context *context, both *b)
{
    static const char *const names[] = {"mtx", "spry"};
    char path[] = "/tmp/spry-triangle-XXXXXX";
    assert_non_null(mkdtemp(path));
    for (int n = 0; n < 2; n++) {
        char name[64];
        snprintf(name, sizeof name, "%s/t.%s", path, names[n]);
        MUST(spry_matrix_write(b->triangle, name, NULL, err));
        spry_matrix *read = read_matrix(context, name, NULL);
        assert_int_equal(b->given.symmetry, arrays_of(read).symmetry);
        assert_same_entries(b->whole, read);
        spry_matrix_destroy(read);
        unlink(name);
    }
    rmdir(path);
}

static void test_functions(void **state)
{
    for (int way = 0; way < 4; way++) {
        const spry_symmetry symmetry = way & 1 ? SPRY_SKEW_SYMMETRIC : SPRY_SYMMETRIC;
        spry_context *context = context_of(0);
        const test_form form = {way & 2 ? SPRY_COO : SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};
        both b = make(context, form, symmetry, way & 2 ? SPRY_UPPER_TRIANGLE : SPRY_LOWER_TRIANGLE);
        checks_and_statistics(context, &b);
        orders(context, &b);
        sparse_products(context, &b);
        files(context, &b);
        if (symmetry == SPRY_SYMMETRIC) solvers(context, &b);
        clear(&b);
        assert_int_equal(0, context_bytes(context));
        spry_context_destroy(context);
    }
}

/* ---- out of memory ------------------------------------------------------------------------------------------ */

/* Creates a plan of borrowed arrays, with or without an ordering, and updates it. */
static spry_status plan_and_update(spry_context *context, const void *input, spry_error *err)
{
    static const int32_t offsets[] = {0, 1, 3, 5}, columns[] = {0, 0, 1, 0, 2};
    static const double values[] = {4, 1, 5, 2, 6};
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    const spry_arrays a = test_lower_triangle(3, offsets, columns, values);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.format = "ell";
    options.ordering = input;
    spry_status status = spry_matrix_create(context, &A, &a, err);
    if (status == SPRY_OK) status = spry_spmv_plan_create(context, &plan, A, &options, err);
    if (status == SPRY_OK) status = spry_spmv_plan_update(plan, NULL, err);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    return status;
}

static spry_status multiply_sparse(spry_context *context, const void *input, spry_error *err)
{
    static const int32_t offsets[] = {0, 1, 3}, columns[] = {0, 0, 1};
    static const double values[] = {4, 1, 5};
    spry_matrix *A = NULL;
    spry_spgemm_plan *plan = NULL;
    const spry_arrays a = test_lower_triangle(2, offsets, columns, values);
    spry_status status = spry_matrix_create(context, &A, &a, err);
    if (status == SPRY_OK) status = spry_spgemm_plan_create(context, &plan, A, A, NULL, err);
    spry_spgemm_plan_destroy(plan);
    spry_matrix_destroy(A);
    return status;
}

static void test_out_of_memory(void **state)
{
    assert_true(fail_every_allocation(plan_and_update, NULL, 2) > 0);
    assert_true(fail_every_allocation(plan_and_update, "rcm", 2) > 0);
    assert_true(fail_every_allocation(multiply_sparse, NULL, 2) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_creation),       cmocka_unit_test(test_convert),    cmocka_unit_test(test_plans),
        cmocka_unit_test(test_other_triangle), cmocka_unit_test(test_duplicates), cmocka_unit_test(test_functions),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
