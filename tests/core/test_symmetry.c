/* Tests of matrices that are declared symmetric. Results must be right whether or not the declaration is true. */
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/solve.h"
#include "support.h"

#include <unistd.h>

static spry_context *context;

enum { MOST = 8 };

/* CSR arrays of a small matrix, and its dense copy. */
typedef struct small {
    int n, nnz;
    int32_t offsets[MOST + 1], columns[MOST * MOST];
    double values[MOST * MOST], dense[MOST][MOST];
} small;

static small small_of(int n, double dense[MOST][MOST])
{
    small s = {.n = n};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            s.dense[i][j] = dense[i][j];
            if (dense[i][j] == 0) continue;
            s.columns[s.nnz] = j;
            s.values[s.nnz++] = dense[i][j];
        }
        s.offsets[i + 1] = s.nnz;
    }
    return s;
}

static spry_matrix *matrix_of(const small *s, spry_symmetry claim, int is_pattern)
{
    spry_arrays a = csr_arrays(s->n, s->n, s->offsets, s->columns, is_pattern ? NULL : s->values,
                               is_pattern ? SPRY_PATTERN : SPRY_F64);
    a.symmetry = claim;
    return create_matrix(context, &a);
}

/*
 * Multiplies diag(r) A diag(c) and its transpose by the vector (1, 2, ...), with one plan for both directions, and
 * compares the results. r and c may be NULL.
 */
static void check_both(const small *s, const spry_matrix *A, const spry_spmv_options *options, const double *r,
                       const double *c)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    if (options) o = *options;
    o.both_directions = 1;
    o.memory_limit_bytes = INT64_MAX;
    o.row_scaling = r;
    o.column_scaling = c;
    spry_spmv_plan *plan = create_plan(context, A, &o);
    for (int t = 0; t < 2; t++) {
        double x[MOST], y[MOST];
        spry_spmv_run_options run = SPRY_INIT(spry_spmv_run_options);
        run.transpose = t;
        for (int i = 0; i < s->n; i++) x[i] = i + 1;
        assert_int_equal(spry_spmv_plan_run(plan, spry_vector_f64(y, s->n), NULL, spry_const_vector_f64(x, s->n), NULL,
                                            &run, NULL),
                         SPRY_OK);
        for (int i = 0; i < s->n; i++) {
            double sum = 0;
            for (int j = 0; j < s->n; j++) {
                const int row = t ? j : i, column = t ? i : j;
                sum += (r ? r[row] : 1) * s->dense[row][column] * (c ? c[column] : 1) * x[j];
            }
            if (fabs(y[i] - sum) > 1e-12 * (1 + fabs(sum)))
                fail_msg("transpose %d, row %d: %g, not %g", t, i, y[i], sum);
        }
    }
    spry_spmv_plan_destroy(plan);
}

static void scalings_of_symmetric(void **state)
{
    static const double r[] = {1, 10, 100}, c[] = {2, 3, 5};
    static const char *const orderings[] = {NULL, "rcm", "degree"};
    small s = small_of(3, (double[MOST][MOST]){{0, 1, 0}, {1, 0, 1}, {0, 1, 1}});
    for (int claim = 0; claim < 2; claim++) {
        spry_matrix *A = matrix_of(&s, claim ? SPRY_SYMMETRIC : SPRY_GENERAL, 1);
        for (int k = 0; k < 12; k++) {
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            o.vector_type = SPRY_F64;
            o.ordering = orderings[k / 4];
            check_both(&s, A, &o, k & 1 ? r : NULL, k & 2 ? c : NULL);
        }
        spry_matrix_destroy(A);
    }
}

/* Changes values of a matrix that was read from a file with the word "symmetric", so that A is no longer symmetric. */
static void written_values(void **state)
{
    static const char file[] = "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n"
                               "1 1 4\n2 1 1\n2 2 4\n3 2 1\n3 3 4\n";
    spry_matrix *A = NULL;
    spry_error err = SPRY_ERROR_INIT;
    void *values;
    char path[64];
    double x[3], b[3] = {1, 1, 1};
    assert_int_equal(spry_matrix_read_memory(context, &A, file, sizeof file - 1, "s.mtx", NULL, NULL), SPRY_OK);
    assert_int_equal(spry_matrix_get_values(A, &values, NULL), SPRY_OK);
    ((double *)values)[1] = 100; /* a_12 is 100, a_21 remains 1 */
    small s = small_of(3, (double[MOST][MOST]){{4, 100, 0}, {1, 4, 1}, {0, 1, 4}});
    spry_arrays a = arrays_of(A);
    assert_int_equal(a.symmetry, SPRY_GENERAL);
    assert_int_equal(spry_matrix_check(A, NULL, SPRY_CHECK_ALL, NULL), SPRY_OK);
    check_both(&s, A, NULL, NULL, NULL);
    snprintf(path, sizeof path, "/tmp/spry_symmetry_%d.mtx", (int)getpid());
    assert_int_equal(spry_matrix_write(A, path, NULL, NULL), SPRY_OK);
    spry_matrix *B = read_matrix(context, path, NULL);
    unlink(path);
    a = arrays_of(B);
    assert_true(((const double *)a.values)[1] == 100);
    assert_int_equal(spry_cg(context, spry_vector_f64(x, 3), NULL, A, spry_const_vector_f64(b, 3), NULL, &err),
                     SPRY_NOT_CONVERGED);
    assert_non_null(strstr(err.message, "not symmetric"));
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
}

/* Writes A to a container in a format (NULL: the current format) and reads the container back. */
static spry_matrix *through_container(const spry_matrix *A, const char *format)
{
    spry_write_options w = SPRY_INIT(spry_write_options);
    spry_error err = SPRY_ERROR_INIT;
    char path[64];
    w.format = format;
    snprintf(path, sizeof path, "/tmp/spry_symmetry_%d.spry", (int)getpid());
    if (spry_matrix_write(A, path, &w, &err) != SPRY_OK) fail_msg("%s: %s", format, err.message);
    spry_matrix *B = read_matrix(context, path, NULL);
    unlink(path);
    return B;
}

/* Tests an unsymmetric matrix that the caller declares symmetric, its copy in a container and its converted copy. */
static void false_claims(void **state)
{
    small s = small_of(3, (double[MOST][MOST]){{4, 100, 0}, {1, 4, 1}, {0, 1, 4}});
    spry_matrix *A[3] = {matrix_of(&s, SPRY_SYMMETRIC, 0)};
    A[1] = through_container(A[0], NULL);
    assert_int_equal(spry_matrix_convert(context, &A[2], NULL, A[0], NULL, NULL), SPRY_OK);
    for (int k = 0; k < 3; k++) {
        double x[3], ranks[3], right[3], b[3] = {1, 1, 1};
        spry_error err = SPRY_ERROR_INIT;
        char path[64];
        check_both(&s, A[k], NULL, NULL, NULL);
        snprintf(path, sizeof path, "/tmp/spry_symmetry_%d.mtx", (int)getpid());
        assert_int_equal(spry_matrix_write(A[k], path, NULL, NULL), SPRY_INVALID_MATRIX);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(spry_cg(context, spry_vector_f64(x, 3), NULL, A[k], spry_const_vector_f64(b, 3), NULL, &err),
                         SPRY_NOT_CONVERGED);
        assert_non_null(strstr(err.message, "not symmetric"));
        spry_matrix *G = matrix_of(&s, SPRY_GENERAL, 0);
        assert_int_equal(spry_pagerank(context, spry_vector_f64(ranks, 3), NULL, A[k], NULL, NULL), SPRY_OK);
        assert_int_equal(spry_pagerank(context, spry_vector_f64(right, 3), NULL, G, NULL, NULL), SPRY_OK);
        for (int i = 0; i < 3; i++) assert_true(fabs(ranks[i] - right[i]) < 1e-7);
        spry_matrix_destroy(G);
        spry_matrix_destroy(A[k]);
    }
}

/*
 * Multiplies in both directions with matrices from containers in all formats. The plan must create the CSR arrays that
 * the container lacks.
 */
static void containers_in_formats(void **state)
{
    static const char *const formats[] = {"bsr", "ell", "hyb", "scoo", "sell", "packed", "coo", "csc", "csr"};
    small matrices[] = {small_of(3, (double[MOST][MOST]){{0, 1, 0}, {-1, 0, 2}, {0, -2, 0}}),
                        small_of(3, (double[MOST][MOST]){{2, 1, 0}, {1, 0, 7}, {0, 7, 0}}),
                        small_of(3, (double[MOST][MOST]){{2, 1, 5}, {3, 0, 7}, {0, 7, 0}})};
    static const spry_symmetry claims[] = {SPRY_SKEW_SYMMETRIC, SPRY_SYMMETRIC, SPRY_GENERAL};
    for (int f = 0; f < 9; f++)
        for (int k = 0; k < 24; k++) {
            char kernel[40];
            spry_spmv_options o = SPRY_INIT(spry_spmv_options);
            spry_matrix *A = matrix_of(&matrices[k % 3], claims[k % 3], 0), *B = through_container(A, formats[f]);
            snprintf(kernel, sizeof kernel, "%s_portable_cpu", formats[k / 12 ? f : (f + 1) % 8]);
            if (k / 3 % 2 && strncmp(kernel, "csc", 3) != 0) o.kernel = kernel;
            o.op = k / 6 % 2 ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
            small s = matrices[k % 3];
            for (int e = 0; e < MOST * MOST && o.op == SPRY_TRANSPOSE; e++)
                s.dense[e / MOST][e % MOST] = matrices[k % 3].dense[e % MOST][e / MOST];
            check_both(&s, B, &o, NULL, NULL);
            spry_matrix_destroy(A);
            spry_matrix_destroy(B);
        }
}

/*
 * Asserts that an update to unsymmetric values is refused if both directions share one storage. Because values_in_place
 * is 0, runs use new values only after an update.
 */
static void updates_of_symmetric(void **state)
{
    for (int f = 0; f < 2; f++) {
        small s = small_of(3, (double[MOST][MOST]){{4, 2, 0}, {2, 4, 1}, {0, 1, 4}});
        spry_matrix *A = matrix_of(&s, SPRY_SYMMETRIC, 0);
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        double others[7];
        o.both_directions = 1;
        o.format = f ? "csr" : "sell";
        spry_spmv_plan *plan = create_plan(context, A, &o);
        spry_spmv_plan_info info = plan_info(plan);
        assert_int_equal(info.values_in_place, 0);
        memcpy(others, s.values, sizeof others);
        spry_update_options u = SPRY_INIT(spry_update_options);
        u.values = others;
        for (int k = 0; k < 2; k++) {
            double *values = k ? others : s.values;
            values[1] = 100;
            expect_error(spry_spmv_plan_update(plan, k ? &u : NULL, &err), SPRY_INVALID_MATRIX, "values");
            values[2] = 100;
            assert_int_equal(spry_spmv_plan_update(plan, k ? &u : NULL, NULL), SPRY_OK);
        }
        spry_spmv_plan_destroy(plan);
        spry_matrix_destroy(A);
    }
}

/*
 * Tests a matrix with duplicates, whose sums are symmetric. The sums are not symmetric if each entry is first rounded
 * to f32, or counts as 1 in a pattern.
 */
static void converted_duplicates(void **state)
{
    static const int32_t offsets[] = {0, 3, 5}, columns[] = {0, 1, 1, 0, 1};
    static const double values[] = {4, 16777217, -16777216, 1, 4};
    small sums[] = {small_of(2, (double[MOST][MOST]){{4, 1}, {1, 4}}),
                    small_of(2, (double[MOST][MOST]){{4, 0}, {1, 4}}),
                    small_of(2, (double[MOST][MOST]){{1, 2}, {1, 1}})};
    static const spry_type types[] = {SPRY_F64, SPRY_F32, SPRY_PATTERN};
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix *B = NULL;
    a.layout = SPRY_CSR;
    a.rows = a.columns = 2;
    a.nnz = 5;
    a.offset_type = a.index_type = SPRY_I32;
    a.value_type = SPRY_F64;
    a.offsets = offsets;
    a.indices = columns;
    a.values = values;
    a.ownership = SPRY_COPY;
    a.symmetry = SPRY_SYMMETRIC;
    spry_matrix *A = create_matrix(context, &a);
    assert_int_equal(spry_matrix_check(A, NULL, SPRY_CHECK_ALL, NULL), SPRY_OK);
    for (int k = 0; k < 3; k++) {
        spry_matrix_options c = SPRY_INIT(spry_matrix_options);
        spry_spmv_options o = SPRY_INIT(spry_spmv_options);
        c.keep_duplicates = 1;
        c.value_type = types[k];
        o.vector_type = SPRY_F64;
        B = convert_matrix(context, A, &c);
        a = arrays_of(B);
        assert_int_equal(a.symmetry, k == 0 ? SPRY_SYMMETRIC : SPRY_GENERAL);
        assert_int_equal(spry_matrix_check(B, NULL, SPRY_CHECK_ALL, NULL), SPRY_OK);
        check_both(&sums[k], B, &o, NULL, NULL);
        spry_matrix_destroy(B);
    }
    spry_matrix_destroy(A);
}

/* Asserts that a skew-symmetric file that is read as a pattern has the value 1 in both triangles. */
static void skew_as_pattern(void **state)
{
    static const char file[] = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 5\n";
    small s = small_of(2, (double[MOST][MOST]){{0, 1}, {1, 0}});
    spry_read_options r = SPRY_INIT(spry_read_options);
    spry_matrix_options c = SPRY_INIT(spry_matrix_options);
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix *A[3] = {NULL};
    char path[64];
    r.value_type = SPRY_PATTERN;
    c.value_type = o.vector_type = SPRY_F64;
    snprintf(path, sizeof path, "/tmp/spry_symmetry_%d.mtx", (int)getpid());
    assert_int_equal(spry_matrix_read_memory(context, &A[0], file, sizeof file - 1, "s.mtx", &r, NULL), SPRY_OK);
    assert_int_equal(spry_matrix_convert(context, &A[1], NULL, A[0], &c, NULL), SPRY_OK);
    assert_int_equal(spry_matrix_write(A[1], path, NULL, NULL), SPRY_OK);
    assert_int_equal(spry_matrix_read(context, &A[2], path, NULL, NULL), SPRY_OK);
    unlink(path);
    for (int k = 0; k < 3; k++) {
        a = arrays_of(A[k]);
        assert_int_equal(a.symmetry, SPRY_SYMMETRIC);
        check_both(&s, A[k], &o, NULL, NULL);
        spry_matrix_destroy(A[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scalings_of_symmetric), cmocka_unit_test(written_values),
                                       cmocka_unit_test(false_claims),          cmocka_unit_test(containers_in_formats),
                                       cmocka_unit_test(updates_of_symmetric),  cmocka_unit_test(converted_duplicates),
                                       cmocka_unit_test(skew_as_pattern)};
    context = context_of(2);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    spry_context_destroy(context);
    return failed;
}
