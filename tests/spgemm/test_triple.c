/*
 * C = P^T*A*P on the CPU, compared with dense sums and with two products. Tests each method, new values, limits,
 * refusals and failures.
 */
#include "spry/spgemm.h"
#include "support.h"

#include "matrix/matrix.h"
#include "spgemm/triple.h"

#include <math.h>

#define ROWS "spgemm_triple_rows_cpu"
#define RUNS "spgemm_triple_runs_cpu"
static const char *const ways[] = {NULL, ROWS, RUNS, "spgemm_rows_cpu"};
enum { WAYS = 4, TRIALS = INSTRUMENTED ? 12 : 120 };

static const test_form plain = {SPRY_CSR, SPRY_F64, SPRY_I32, SPRY_I32};

/*
 * Returns groups of `alike` rows with the same `length` columns. If alike is 1, consecutive rows differ. Values are
 * small integers.
 */
static test_entries interpolation(int64_t rows, int64_t cols, int64_t alike, int64_t length, uint64_t *state)
{
    test_entries e = {.rows = rows, .cols = cols};
    for (int64_t i = 0; i < rows && cols > 0; i++) {
        const int64_t first = i / alike * cols / (rows / alike + 1) + (alike == 1 ? i % 2 : 0);
        for (int64_t k = 0; k < length && k < cols; k++)
            test_add(&e, i, (first + k * 3) % cols, (double)(test_below(state, 5) - 2));
    }
    return e;
}

/* Returns the entries of a dense matrix, including zeros of its structure. */
static test_entries entries_of(const test_dense *d)
{
    test_entries e = {.rows = d->rows, .cols = d->cols};
    for (int64_t i = 0; i < d->rows; i++)
        for (int64_t j = 0; j < d->cols; j++)
            if (d->structure[i * d->cols + j]) test_add(&e, i, j, d->value[i * d->cols + j]);
    return e;
}

static test_dense dense_triple(const test_entries *a, const test_entries *p, double alpha)
{
    test_dense middle = test_multiply(a, p, SPRY_NO_TRANSPOSE, 1, 0, 0);
    test_entries m = entries_of(&middle), t = test_transposed(p);
    test_dense d = test_multiply(&t, &m, SPRY_NO_TRANSPOSE, alpha, 0, 0);
    test_dense_free(&middle);
    test_discard(&m);
    return d;
}

static spry_matrix *two_products(spry_context *context, const spry_matrix *A, const spry_matrix *P, const void *alpha)
{
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_matrix *M = multiply_matrices(context, A, P, NULL);
    o.op_a = SPRY_TRANSPOSE;
    o.alpha = alpha;
    spry_matrix *C = multiply_matrices(context, P, M, &o);
    spry_matrix_destroy(M);
    return C;
}

static spry_matrix *triple(spry_context *context, spry_spgemm_plan **plan, const spry_matrix *A, const spry_matrix *P,
                           const spry_spgemm_options *o)
{
    spry_matrix *C = NULL;
    MUST(spry_spgemm_triple(context, &C, plan, A, P, o, err));
    return C;
}

static spry_spgemm_info info_of(const spry_spgemm_plan *plan)
{
    spry_spgemm_info info = SPRY_INIT(spry_spgemm_info);
    MUST(spry_spgemm_plan_get_info(plan, &info, err));
    return info;
}

static void change_values(spry_matrix *A, uint64_t *state)
{
    for (int64_t k = 0; k < A->a.nnz; k++)
        spryi_set_value((void *)(uintptr_t)A->a.values, A->a.value_type, k, (double)(test_below(state, 7) - 3));
}

/* A plan gives the bits of two products after values change, in its own array and in the caller's. */
static void check_plan(spry_context *context, spry_spgemm_plan *plan, spry_matrix *A, spry_matrix *P, const void *alpha,
                       uint64_t *state)
{
    spry_arrays s = SPRY_INIT(spry_arrays);
    MUST(spry_spgemm_plan_get_structure(plan, &s, err));
    const size_t bytes = (size_t)s.nnz * spry_type_bytes(s.value_type);
    void *values = malloc(bytes + 1);
    for (int times = 0; times < 3; times++) {
        spry_matrix *C = NULL;
        if (times > 0) change_values(A, state);
        if (times > 1) change_values(P, state);
        spry_matrix *D = two_products(context, A, P, alpha);
        MUST(spry_spgemm_plan_run(plan, values, NULL, err));
        MUST(spry_spgemm_plan_run(plan, NULL, NULL, err));
        MUST(spry_spgemm_plan_get_result(plan, &C, err));
        assert_memory_equal(values, D->a.values, bytes);
        assert_memory_equal(C->a.values, D->a.values, bytes);
        spry_matrix_destroy(C);
        spry_matrix_destroy(D);
    }
    free(values);
}

static void one_trial(spry_context *context, uint64_t trial)
{
    uint64_t state = trial * 31 + 7;
    static const spry_layout layouts[] = {SPRY_CSR, SPRY_CSR, SPRY_COO, SPRY_CSC};
    static const test_kind kinds[] = {TEST_UNIFORM, TEST_SHUFFLED, TEST_STENCIL, TEST_GROUPED, TEST_ONE_ROW};
    const int64_t n = test_below(&state, 60), m = test_below(&state, 40);
    const int wide = trial % 7 == 3;
    const test_form form = {layouts[trial % 4], trial % 3 ? SPRY_F64 : SPRY_F32,
                            trial % 5 && !wide ? SPRY_I32 : SPRY_I64, wide ? SPRY_I64 : SPRY_I32};
    test_entries a = test_make(kinds[trial % 5], n, n, 1 + (double)test_below(&state, 6), &state);
    test_entries p = trial % 2 ? interpolation(n, m, 1 + test_below(&state, 5), 1 + test_below(&state, 9), &state)
                               : test_make(kinds[trial / 5 % 5], n, m, 1 + (double)test_below(&state, 9), &state);
    const double three = 3;
    const float three_f32 = 3;
    for (int w = 0; w < WAYS; w++) {
        spry_matrix *A = test_matrix(context, &a, form), *P = test_matrix(context, &p, form);
        spry_spgemm_plan *plan = NULL;
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        o.kernel = ways[w];
        o.alpha = trial % 4 ? NULL : form.value_type == SPRY_F32 ? (const void *)&three_f32 : (const void *)&three;
        test_dense d = dense_triple(&a, &p, o.alpha ? 3 : 1);
        spry_matrix *C = triple(context, &plan, A, P, &o), *D = triple(context, NULL, A, P, &o);
        test_equal(C, &d, 0, ways[w] ? ways[w] : "chosen");
        assert_true(test_same_bits(C, D));
        assert_int_equal(C->a.symmetry, SPRY_GENERAL);
        spry_matrix_destroy(D);
        o.drop_zeros = 1;
        D = triple(context, NULL, A, P, &o);
        test_equal(D, &d, 1, ways[w] ? ways[w] : "chosen");
        check_plan(context, plan, A, P, o.alpha, &state);
        spry_spgemm_plan_destroy(plan);
        spry_matrix_destroy(D);
        spry_matrix_destroy(C);
        spry_matrix_destroy(P);
        spry_matrix_destroy(A);
        test_dense_free(&d);
    }
    test_discard(&a);
    test_discard(&p);
}

static void random_products(void **state)
{
    for (int trial = 0; trial < TRIALS; trial++) one_trial(*state, (uint64_t)trial);
}

/* A fine grid's operator and its interpolation, large enough for multiple threads. Values have any magnitude. */
typedef struct problem {
    spry_matrix *A, *P;
} problem;

static problem make_problem(spry_context *context, int64_t alike, int64_t length)
{
    uint64_t state = 3;
    problem x = {.A = generate_matrix(context, "gen:grid9,x=150,y=150")};
    test_entries p = interpolation(150 * 150, 3000, alike, length, &state);
    for (int64_t k = 0; k < p.nnz; k++) p.value[k] = (double)(test_below(&state, 1000) - 500) / 333;
    x.P = test_matrix(context, &p, plain);
    test_discard(&p);
    return x;
}

static void discard_problem(problem *x)
{
    spry_matrix_destroy(x->A);
    spry_matrix_destroy(x->P);
}

/* Checks the chosen method and its reason. Any number of threads gives the same bits, in the first run and later. */
static void same_bits(void **unused)
{
    static const struct {
        int64_t alike, length;
        const char *kernel, *reason;
    } cases[] = {{1, 3, ROWS, "row by row"},
                 {4, 3, RUNS, "runs of rows"},
                 {1, 20, "spgemm_rows", "rows of P are long"}};
    spry_context *contexts[] = {context_of(1), context_of(2), context_of(5)};
    for (int c = 0; c < 3; c++) {
        problem x = make_problem(contexts[0], cases[c].alike, cases[c].length);
        spry_matrix *first = NULL;
        for (int t = RACES_ALONE; t < 3; t++) {
            spry_spgemm_plan *plan = NULL;
            spry_matrix *C = triple(contexts[t], &plan, x.A, x.P, NULL), *again = NULL;
            const spry_spgemm_info info = info_of(plan);
            if (!strstr(info.kernel, cases[c].kernel)) fail_msg("case %d: kernel %s", c, info.kernel);
            if (!strstr(info.reason, cases[c].reason)) fail_msg("case %d: %s", c, info.reason);
            assert_true(info.threads > (t > 0 && c < 2 ? 1 : 0) && info.products > x.A->a.nnz);
            if (!first) first = triple(contexts[0], NULL, x.A, x.P, NULL);
            if (!test_same_bits(first, C)) fail_msg("case %d differs with context %d", c, t);
            MUST(spry_spgemm_plan_run(plan, NULL, NULL, err));
            MUST(spry_spgemm_plan_get_result(plan, &again, err));
            if (!test_same_bits(first, again)) fail_msg("case %d differs in a run with context %d", c, t);
            spry_matrix_destroy(again);
            spry_matrix_destroy(C);
            spry_spgemm_plan_destroy(plan);
        }
        spry_matrix_destroy(first);
        discard_problem(&x);
    }
    for (int c = 0; c < 3; c++) spry_context_destroy(contexts[c]);
}

/* Values of each method are within the error bound of two products. The structures are equal. */
static void accuracy(void **state)
{
    problem x = make_problem(*state, 4, 3);
    spry_matrix *D = two_products(*state, x.A, x.P, NULL);
    for (int w = 0; w < WAYS; w++) {
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        o.kernel = ways[w];
        spry_matrix *C = triple(*state, NULL, x.A, x.P, &o);
        assert_int_equal(C->a.nnz, D->a.nnz);
        assert_memory_equal(C->a.indices, D->a.indices, (size_t)C->a.nnz * sizeof(int32_t));
        for (int64_t k = 0; k < C->a.nnz; k++)
            assert_true(fabs(((const double *)C->a.values)[k] - ((const double *)D->a.values)[k]) < 1e-12);
        spry_matrix_destroy(C);
    }
    spry_matrix_destroy(D);
    discard_problem(&x);
}

/* Memory in use stays below the limit and below info's peak. A smaller limit is refused, and all memory is released. */
static void limits(void **unused)
{
    static const int64_t alike[] = {1, 4, 1}, lengths[] = {3, 3, 20};
    for (int c = 0; c < 3; c++) {
        test_memory memory = {0};
        spry_context *context = counted_context(&memory, 2);
        problem x = make_problem(context, alike[c], lengths[c]);
        const int64_t before = atomic_load(&memory.bytes),
                      inputs = spryi_arrays_bytes(&x.A->a) + spryi_arrays_bytes(&x.P->a);
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        spry_spgemm_plan *plan = NULL;
        atomic_store(&memory.most_bytes, before);
        spry_matrix *C = triple(context, &plan, x.A, x.P, NULL), *D = NULL;
        const spry_spgemm_info info = info_of(plan);
        const int64_t held = atomic_load(&memory.most_bytes) - before;
        if (held > info.peak_bytes - inputs + 3 * 8192)
            fail_msg("case %d: %d bytes held, %d told", c, (int)held, (int)(info.peak_bytes - inputs));
        spry_spgemm_plan_destroy(plan);
        plan = NULL;
        /* with a limit, arrays cannot grow into reserved address space, so they are copied to larger arrays */
        o.memory_limit_bytes = 2 * info.peak_bytes;
        D = triple(context, &plan, x.A, x.P, &o);
        assert_true(info_of(plan).peak_bytes <= o.memory_limit_bytes && test_same_bits(C, D));
        spry_matrix_destroy(D);
        spry_spgemm_plan_destroy(plan);
        for (int64_t part = 0; part < 10; part++) {
            spry_error err = SPRY_ERROR_INIT;
            o.memory_limit_bytes = 1 + info.peak_bytes * part / 10;
            const int64_t blocks = atomic_load(&memory.blocks);
            plan = NULL;
            D = NULL;
            const spry_status status = spry_spgemm_triple(context, &D, &plan, x.A, x.P, &o, &err);
            if (status == SPRY_OK) {
                assert_true(info_of(plan).peak_bytes <= o.memory_limit_bytes && test_same_bits(C, D));
                spry_matrix_destroy(D);
                spry_spgemm_plan_destroy(plan);
                continue;
            }
            assert_int_equal(status, SPRY_TOO_LARGE);
            assert_string_equal(err.argument, "memory_limit_bytes");
            assert_int_equal(err.limit, o.memory_limit_bytes);
            assert_true(err.value > o.memory_limit_bytes && !D && !plan);
            assert_int_equal(atomic_load(&memory.blocks), blocks);
        }
        spry_matrix_destroy(C);
        discard_problem(&x);
        spry_context_destroy(context);
        assert_int_equal(atomic_load(&memory.blocks), 0);
    }
}

/* Tests an A that is stored as one triangle, patterns, A itself as P, and operands with an index base. */
static void operands(void **state)
{
    spry_context *context = *state;
    static const int32_t offsets[] = {0, 1, 3, 5}, columns[] = {0, 0, 1, 1, 2};
    static const double values[] = {2, -1, 2, -1, 2};
    static const int32_t p_offsets[] = {0, 1, 3, 4}, p_columns[] = {0, 0, 1, 1};
    spry_arrays a = csr_arrays(3, 3, offsets, columns, values, SPRY_F64);
    spry_arrays p = csr_arrays(3, 2, p_offsets, p_columns, NULL, SPRY_PATTERN);
    a.symmetry = SPRY_SYMMETRIC;
    a.triangle = SPRY_LOWER_TRIANGLE;
    spry_matrix *A = create_matrix(context, &a), *P = create_matrix(context, &p);
    MUST(spry_matrix_set_index_base(A, 1, err));
    for (int w = 0; w < WAYS; w++) {
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        spry_spgemm_plan *plan = NULL;
        o.kernel = ways[w];
        spry_matrix *C = triple(context, &plan, A, P, &o);
        static const double expected[] = {2, 0, 0, 2};
        assert_int_equal(C->a.nnz, 4);
        assert_memory_equal(C->a.values, expected, sizeof expected);
        assert_int_equal(C->a.symmetry, SPRY_GENERAL);
        assert_int_equal(C->index_base, 1);
        spry_matrix_destroy(C);
        spry_spgemm_plan_destroy(plan);
        plan = NULL;
        C = triple(context, &plan, A, A, &o);
        spry_matrix *D = two_products(context, A, A, NULL);
        assert_true(test_same_bits(C, D));
        spry_matrix_destroy(D);
        spry_matrix_destroy(C);
        spry_spgemm_plan_destroy(plan);
    }
    spry_matrix_destroy(A);
    spry_matrix_destroy(P);
}

/*
 * An infinity in P changes only the sums that use it. The run method, which computes groups of rows together, gives the
 * same values as the row method.
 */
static void infinities(void **state)
{
    spry_context *context = *state;
    static const int32_t offsets[] = {0, 1, 2, 3, 4}, columns[] = {0, 1, 2, 3};
    static const int32_t p_offsets[] = {0, 2, 4, 5, 6}, p_columns[] = {0, 1, 0, 1, 2, 3};
    static const double ones[] = {1, 1, 1, 1}, p_values[] = {INFINITY, 1, 1, 1, 1, 1};
    static const int32_t wide_offsets[] = {0, 2, 3, 4, 5}, wide_columns[] = {0, 2, 1, 2, 3};
    static const double wide_values[] = {1, 1, 1, 1, 1};
    spry_matrix *P = borrow_csr(context, 4, 4, p_offsets, p_columns, p_values);
    spry_matrix *As[] = {borrow_csr(context, 4, 4, offsets, columns, ones),
                         borrow_csr(context, 4, 4, wide_offsets, wide_columns, wide_values)};
    for (int m = 0; m < 2; m++) {
        spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
        o.kernel = ROWS;
        spry_matrix *C = triple(context, NULL, As[m], P, &o);
        o.kernel = RUNS;
        spry_matrix *D = triple(context, NULL, As[m], P, &o);
        assert_int_equal(C->a.nnz, D->a.nnz);
        for (int64_t k = 0; k < C->a.nnz; k++) {
            const double c = ((const double *)C->a.values)[k], d = ((const double *)D->a.values)[k];
            assert_true(c == d || (isnan(c) && isnan(d)));
        }
        spry_matrix_destroy(C);
        spry_matrix_destroy(D);
        spry_matrix_destroy(As[m]);
    }
    spry_matrix_destroy(P);
}

/* A row of C with more than 2^16 entries: the row method computes it, and the run method refuses it. */
static void long_rows_of_c(void **state)
{
    enum { N = 70000 };
    spry_context *context = *state;
    int32_t *offsets = malloc((N + 1) * sizeof *offsets), *columns = malloc(N * sizeof *columns);
    int32_t *p_offsets = malloc((N + 1) * sizeof *p_offsets), *p_columns = malloc(N * sizeof *p_columns);
    double *ones = malloc(N * sizeof *ones);
    for (int32_t k = 0; k <= N; k++) {
        offsets[k] = k == 0 ? 0 : N; /* the first row is full */
        p_offsets[k] = k;
        if (k == N) break;
        columns[k] = p_columns[k] = k;
        ones[k] = 1;
    }
    spry_matrix *A = borrow_csr(context, N, N, offsets, columns, ones);
    spry_matrix *P = borrow_csr(context, N, N, p_offsets, p_columns, ones), *C = NULL;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    spry_error err = SPRY_ERROR_INIT;
    o.kernel = RUNS;
    assert_int_equal(spry_spgemm_triple(context, &C, NULL, A, P, &o, &err), SPRY_UNSUPPORTED);
    assert_string_equal(err.argument, "kernel");
    C = triple(context, NULL, A, P, NULL);
    assert_int_equal(C->a.nnz, N);
    spry_matrix_destroy(C);
    spry_matrix_destroy(A);
    spry_matrix_destroy(P);
    free(offsets);
    free(columns);
    free(p_offsets);
    free(p_columns);
    free(ones);
}

#define EXPECT(call, wanted, name)                                                                                     \
    do {                                                                                                               \
        err = (spry_error)SPRY_ERROR_INIT;                                                                             \
        assert_int_equal((call), (wanted));                                                                            \
        assert_string_equal(err.argument, (name));                                                                     \
        assert_true(strlen(err.message) > 10 && !C && !plan);                                                          \
    } while (0)

static void refusals(void **state)
{
    spry_context *context = *state;
    uint64_t seed = 5;
    test_entries a = test_make(TEST_UNIFORM, 30, 30, 5, &seed), p = test_make(TEST_UNIFORM, 30, 10, 3, &seed);
    test_entries q = test_make(TEST_UNIFORM, 31, 10, 3, &seed);
    spry_matrix *A = test_matrix(context, &a, plain), *P = test_matrix(context, &p, plain), *C = NULL;
    spry_matrix *Q = test_matrix(context, &q, plain);
    spry_matrix *F = test_matrix(context, &p, (test_form){SPRY_CSR, SPRY_F32, SPRY_I32, SPRY_I32});
    spry_spgemm_plan *plan = NULL;
    spry_error err = SPRY_ERROR_INIT;
    spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
    EXPECT(spry_spgemm_triple(NULL, &C, &plan, A, P, &o, &err), SPRY_INVALID_ARGUMENT, "context");
    EXPECT(spry_spgemm_triple(context, NULL, &plan, A, P, &o, &err), SPRY_INVALID_ARGUMENT, "C");
    EXPECT(spry_spgemm_triple(context, &C, &plan, NULL, P, &o, &err), SPRY_INVALID_ARGUMENT, "A");
    EXPECT(spry_spgemm_triple(context, &C, &plan, A, NULL, &o, &err), SPRY_INVALID_ARGUMENT, "P");
    EXPECT(spry_spgemm_triple(context, &C, &plan, P, P, &o, &err), SPRY_INVALID_SIZE, "A");
    EXPECT(spry_spgemm_triple(context, &C, &plan, A, Q, &o, &err), SPRY_INVALID_SIZE, "P");
    EXPECT(spry_spgemm_triple(context, &C, &plan, A, F, &o, &err), SPRY_UNSUPPORTED, "P");
    o.op_a = SPRY_TRANSPOSE;
    EXPECT(spry_spgemm_triple(context, &C, &plan, A, P, &o, &err), SPRY_INVALID_ARGUMENT, "op_a");
    o.op_a = SPRY_NO_TRANSPOSE;
    o.op_b = SPRY_TRANSPOSE;
    EXPECT(spry_spgemm_triple(context, &C, NULL, A, P, &o, &err), SPRY_INVALID_ARGUMENT, "op_b");
    o.op_b = SPRY_NO_TRANSPOSE;
    o.drop_zeros = 1;
    EXPECT(spry_spgemm_triple(context, &C, &plan, A, P, &o, &err), SPRY_UNSUPPORTED, "drop_zeros");
    o.drop_zeros = 0;
    o.kernel = "spgemm_triple_cpu";
    EXPECT(spry_spgemm_triple(context, &C, &plan, A, P, &o, &err), SPRY_UNKNOWN_NAME, "kernel");
    assert_non_null(strstr(err.message, ROWS));
    assert_non_null(strstr(err.message, "spgemm_rows_avx2_cpu"));
    o.kernel = ROWS;
    EXPECT(spry_spgemm(context, &C, NULL, A, P, &o, &err), SPRY_UNKNOWN_NAME, "kernel");
    o.device = 1;
    EXPECT(spry_spgemm_triple(context, &C, &plan, A, P, &o, &err), SPRY_UNSUPPORTED, "kernel");
    spry_matrix_destroy(A);
    spry_matrix_destroy(P);
    spry_matrix_destroy(Q);
    spry_matrix_destroy(F);
    test_discard(&a);
    test_discard(&p);
    test_discard(&q);
}

/* ---- failures ------------------------------------------------------------------------------------------ */

static spry_status all_ways(spry_context *context, const void *input, spry_error *err)
{
    spry_status status = SPRY_OK;
    const problem *x = input;
    for (int w = 0; w < WAYS && status == SPRY_OK; w++)
        for (int kept = 0; kept < 2 && status == SPRY_OK; kept++) {
            spry_spgemm_plan *plan = NULL;
            spry_matrix *C = NULL;
            spry_spgemm_options o = SPRY_INIT(spry_spgemm_options);
            o.kernel = ways[w];
            status = spry_spgemm_triple(context, &C, kept ? &plan : NULL, x->A, x->P, &o, err);
            if (status != SPRY_OK) assert_true(!C && !plan);
            if (status == SPRY_OK && kept) status = spry_spgemm_plan_run(plan, NULL, NULL, err);
            spry_spgemm_plan_destroy(plan);
            spry_matrix_destroy(C);
        }
    return status;
}

static void every_allocation_fails(void **unused)
{
    spry_context *context = context_of(2);
    uint64_t state = 5;
    test_entries a = test_make(TEST_SHUFFLED, 30, 30, 5, &state), p = interpolation(30, 12, 3, 2, &state);
    problem x = {test_matrix(context, &a, (test_form){SPRY_COO, SPRY_F64, SPRY_I32, SPRY_I32}),
                 test_matrix(context, &p, (test_form){SPRY_CSC, SPRY_F64, SPRY_I64, SPRY_I32})};
    assert_true(fail_every_allocation(all_ways, &x, 2) > 60);
    discard_problem(&x);
    test_discard(&a);
    test_discard(&p);
    spry_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_products, open_context, close_context),
        cmocka_unit_test_setup_teardown(accuracy, open_context, close_context),
        cmocka_unit_test_setup_teardown(operands, open_context, close_context),
        cmocka_unit_test_setup_teardown(infinities, open_context, close_context),
        cmocka_unit_test_setup_teardown(long_rows_of_c, open_context, close_context),
        cmocka_unit_test_setup_teardown(refusals, open_context, close_context),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(limits),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
