/*
 * Conjugate Gradient: symmetry up to rounding, verdicts of unreachable tolerances, and the state that a run leaves in a
 * plan.
 */
#include "spry/matrix.h"
#include "spry/solve.h"
#include "support.h"

#include <float.h>

/* ---- symmetry ------------------------------------------------------------------------------------ */

static spry_status solve(const spry_matrix *A, int n, const spry_cg_options *o, spry_cg_result *r, spry_error *err)
{
    double x[64], b[64];
    float xf[64], bf[64];
    for (int i = 0; i < n; i++) bf[i] = (float)(b[i] = 1 + i % 3);
    spry_arrays a = arrays_of(A);
    return a.value_type == SPRY_F32
               ? spry_cg(context, spry_vector_f32(xf, n), r, A, spry_const_vector_f32(bf, n), o, err)
               : spry_cg(context, spry_vector_f64(x, n), r, A, spry_const_vector_f64(b, n), o, err);
}

static void expect_symmetry(const dense *d, spry_type type, const spry_cg_options *o, spry_verdict verdict)
{
    static const spry_layout layouts[] = {SPRY_CSR, SPRY_COO, SPRY_CSC};
    for (int l = 0; l < 3; l++) {
        spry_matrix *A = sparse_of(context, d, layouts[l], type);
        spry_cg_result r = SPRY_INIT(spry_cg_result);
        spry_error err = SPRY_ERROR_INIT;
        (void)!solve(A, d->n, o, &r, &err);
        if (r.verdict != verdict)
            fail_msg("%s: %s, expected %s", spry_verdict_text(r.verdict), err.message, spry_verdict_text(verdict));
        if (verdict == SPRY_VERDICT_NOT_SYMMETRIC) {
            assert_non_null(strstr(err.message, "symmetry_tolerance"));
            assert_non_null(strstr(err.message, "assume_symmetric"));
        }
        spry_matrix_destroy(A);
    }
}

/*
 * Matrices whose first two rows are (4, a_12) and (a_21, 9), with a separate third row. The tolerance of a_21 - a_12 is
 * a multiple of sqrt(4 * 9) = 6.
 */
static void at_the_limit(void **state)
{
    static const struct {
        double off, eps; /* off is a_12; eps is (a_21 - a_12) / 6 in multiples of the type's machine epsilon */
        double tolerance;
        spry_verdict verdict;
    } cases[] = {{1, 999, 0, SPRY_VERDICT_CONVERGED},
                 {1, 1003, 0, SPRY_VERDICT_NOT_SYMMETRIC},
                 {0, 999, 0, SPRY_VERDICT_CONVERGED}, /* a missing entry is 0 */
                 {0, 1003, 0, SPRY_VERDICT_NOT_SYMMETRIC},
                 {0.5, 1e5, 2e5, SPRY_VERDICT_CONVERGED},
                 {0.5, 4, 3, SPRY_VERDICT_NOT_SYMMETRIC},
                 {1, 1, SPRY_TOLERANCE_ZERO, SPRY_VERDICT_NOT_SYMMETRIC},
                 {1, 0, SPRY_TOLERANCE_ZERO, SPRY_VERDICT_CONVERGED}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int f32 = 0; f32 < 2; f32++)
            for (int assumed = 0; assumed < 2; assumed++) {
                dense d = dense_make(3);
                spry_cg_options o = SPRY_INIT(spry_cg_options);
                d.a[0] = 4, d.a[4] = 9, d.a[8] = 1;
                d.a[1] = cases[k].off;
                d.a[3] = cases[k].off + cases[k].eps * 6 * (f32 ? FLT_EPSILON : DBL_EPSILON);
                o.symmetry_tolerance = cases[k].tolerance;
                o.assume_symmetric = assumed;
                o.tolerance = 0.1;
                expect_symmetry(&d, f32 ? SPRY_F32 : SPRY_F64, &o, assumed ? SPRY_VERDICT_CONVERGED : cases[k].verdict);
                dense_free(&d);
            }
}

/* Returns G^T D G + I. Each entry is summed in a different order of the rows. */
static void assembled(void **state)
{
    enum { ROWS = 5000, N = 20 };
    uint64_t seed = 1;
    double *G = malloc(sizeof *G * ROWS * N);
    assert_non_null(G);
    for (int k = 0; k < ROWS * N; k++) G[k] = uniform(&seed) - 0.5;
    for (int f32 = 0; f32 < 2; f32++) {
        dense d = dense_make(N);
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        for (int e = 0; e < N * N; e++) {
            const int i = e / N, j = e % N;
            double sum = i == j;
            float narrow = i == j;
            for (int k = 0; k < ROWS; k++) {
                const int row = i < j ? k : ROWS - 1 - k;
                sum += G[row * N + i] * (1 + row % 7) * G[row * N + j];
                narrow += (float)G[row * N + i] * (float)(1 + row % 7) * (float)G[row * N + j];
            }
            d.a[e] = f32 ? narrow : sum;
        }
        expect_symmetry(&d, f32 ? SPRY_F32 : SPRY_F64, &o, SPRY_VERDICT_CONVERGED);
        o.symmetry_tolerance = SPRY_TOLERANCE_ZERO;
        expect_symmetry(&d, f32 ? SPRY_F32 : SPRY_F64, &o, SPRY_VERDICT_NOT_SYMMETRIC);
        dense_free(&d);
    }
    free(G);
}

static void not_finite(void **state)
{
    static const double bad[] = {INFINITY, -INFINITY, NAN};
    for (int k = 0; k < 12; k++) {
        dense d = dense_make(3);
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        spry_cg_result r = SPRY_INIT(spry_cg_result);
        spry_error err = SPRY_ERROR_INIT;
        d.a[0] = d.a[4] = d.a[8] = 2;
        d.a[k % 2 ? 4 : 1] = bad[k / 2 % 3];
        if (k % 2 == 0) d.a[3] = bad[k / 2 % 3];
        o.assume_symmetric = k >= 6;
        spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
        expect_status(solve(A, 3, &o, &r, &err), &err, SPRY_NOT_CONVERGED,
                      k % 2 ? "the entry of A at (1, 1), counted from 0, is" : "the entry of A at (0, 1), counted");
        assert_int_equal(r.verdict, SPRY_VERDICT_NOT_FINITE);
        spry_matrix_destroy(A);
        dense_free(&d);
    }
}

/* ---- verdicts ------------------------------------------------------------------------------------ */

/* Returns a well-conditioned system whose entries have the magnitude of `scale`. */
static dense system_of(int n, double scale)
{
    dense d = dense_make(n);
    uint64_t seed = (uint64_t)n;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++)
            if (uniform(&seed) < 0.3) d.a[i * n + j] = d.a[j * n + i] = scale * (uniform(&seed) - 0.5);
        d.a[i * n + i] = scale * (n / 4 + 1 + uniform(&seed));
    }
    return d;
}

static spry_status same(void *user, spry_vector z, spry_const_vector r, void *stream, spry_error *err)
{
    memcpy(z.data, r.data, (size_t)r.length * spry_type_bytes(r.type));
    return SPRY_OK;
}

static void out_of_reach(void **state)
{
    static const double tolerances[] = {SPRY_TOLERANCE_ZERO, 1e-300, 1e-44, 1e-20};
    static const double scales[] = {1, 1e-12, 1e12};
    for (int k = 0; k < 2 * 5 * 4 * 3 * 3; k++) {
        const int f32 = k % 2, precond = k / 2 % 5, inside = k / 120;
        dense d = system_of(40, scales[k / 40 % 3]);
        spry_matrix *A = sparse_of(context, &d, SPRY_CSR, f32 ? SPRY_F32 : SPRY_F64);
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        spry_cg_result r = SPRY_INIT(spry_cg_result);
        spry_error err = SPRY_ERROR_INIT;
        o.precond = (spry_precond)precond;
        o.precondition = precond == SPRY_PRECOND_CALLBACK ? same : NULL;
        o.tolerance = tolerances[k / 10 % 4];
        o.precision = f32 ? SPRY_PRECISION_FULL : (spry_precision)inside;
        (void)!solve(A, 40, &o, &r, &err);
        if (r.verdict != SPRY_VERDICT_STAGNATION && r.verdict != SPRY_VERDICT_CONVERGED)
            fail_msg("case %d: %s: %s", k, spry_verdict_text(r.verdict), err.message);
        if (!(r.true_residual <= (f32 ? 1e-5 : 1e-11)))
            fail_msg("case %d: %g after %d, %s", k, r.true_residual, (int)r.iterations, err.message);
        spry_matrix_destroy(A);
        dense_free(&d);
    }
}

/* Small systems whose rows differ by powers of two. Most runs stagnate before the default iteration limit. */
static void out_of_reach_and_badly_scaled(void **state)
{
    static const double tolerances[] = {SPRY_TOLERANCE_ZERO, 1e-300, 1e-20};
    int limits = 0;
    for (int k = 0; k < 2 * 5 * 3 * 20; k++) {
        const int f32 = k % 2, precond = k / 2 % 5, n = 3 + k / 30;
        dense d = system_of(n, 1);
        uint64_t seed = (uint64_t)k;
        for (int i = 0; i < n; i++) {
            const int exponent = (int)(21 * uniform(&seed)) - 10;
            for (int j = 0; j < n; j++) {
                d.a[i * n + j] = ldexp(d.a[i * n + j], exponent);
                d.a[j * n + i] = ldexp(d.a[j * n + i], exponent);
            }
        }
        spry_matrix *A = sparse_of(context, &d, SPRY_CSR, f32 ? SPRY_F32 : SPRY_F64);
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        spry_cg_result r = SPRY_INIT(spry_cg_result);
        spry_error err = SPRY_ERROR_INIT;
        o.precond = (spry_precond)precond;
        o.precondition = precond == SPRY_PRECOND_CALLBACK ? same : NULL;
        o.tolerance = tolerances[k / 10 % 3];
        (void)!solve(A, n, &o, &r, &err);
        limits += r.verdict == SPRY_VERDICT_ITERATION_LIMIT;
        if (r.verdict != SPRY_VERDICT_STAGNATION && r.verdict != SPRY_VERDICT_CONVERGED &&
            !(r.verdict == SPRY_VERDICT_ITERATION_LIMIT && r.iterations == 10000))
            fail_msg("case %d: %s: %s", k, spry_verdict_text(r.verdict), err.message);
        spry_matrix_destroy(A);
        dense_free(&d);
    }
    assert_in_range(limits, 0, 1);
}

/* ---- state after a run --------------------------------------------------------------------------- */

enum { N = 40, COLUMNS = 3 };

typedef struct trouble {
    int kind, calls;
} trouble;

static int stops(void *user, int64_t iteration, double residual)
{
    return iteration == 2;
}

static spry_status fails_at_times(void *user, spry_vector z, spry_const_vector r, void *stream, spry_error *err)
{
    trouble *t = user;
    if (t->kind == 6 && ++t->calls == 3) return SPRY_UNSUPPORTED;
    for (int64_t c = 0; c < r.count || c == 0; c++)
        for (int64_t i = 0; i < r.length; i++)
            ((double *)z.data)[c * r.length + i] = ((const double *)r.data)[c * r.length + i] * (1 + (double)(i % 2));
    return SPRY_OK;
}

static void run_plan(spry_cg_plan *plan, double *x, const double *b, int columns, const spry_cg_run_options *o)
{
    spry_vector to = spry_vector_f64(x, N);
    spry_const_vector from = spry_const_vector_f64(b, N);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_error err = SPRY_ERROR_INIT;
    to.count = from.count = columns;
    to.column_stride = from.column_stride = N;
    (void)!spry_cg_plan_run(plan, to, &r, from, o, &err);
}

/* After a run that fails or ends early, the next runs give the bits of a new plan. */
static void failed_runs_leave_nothing(void **state)
{
    static const double scales[] = {1, 1e-90, 1e90};
    for (int k = 0; k < 9 * 5 * 3; k++) {
        trouble t = {.kind = k % 9};
        double b[COLUMNS * N], poisoned[COLUMNS * N], x[COLUMNS * N], y[COLUMNS * N];
        dense d = system_of(N, scales[k / 45]);
        spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        spry_cg_run_options in_between = SPRY_INIT(spry_cg_run_options);
        spry_cg_plan *plan = NULL;
        o.count = COLUMNS;
        o.precond = (spry_precond)(k / 9 % 5);
        o.precondition = o.precond == SPRY_PRECOND_CALLBACK ? fails_at_times : NULL;
        o.precondition_user = &t;
        assert_int_equal(spry_cg_plan_create(context, &plan, NULL, A, &o, NULL), SPRY_OK);
        for (int i = 0; i < COLUMNS * N; i++) poisoned[i] = b[i] = 1 + i % 5;
        t.kind = 0;
        run_plan(plan, x, b, COLUMNS, NULL);
        t.kind = k % 9;
        if (t.kind == 1) poisoned[N + 3] = NAN;
        if (t.kind == 2) poisoned[3] = INFINITY;
        if (t.kind == 3) in_between.tolerance = SPRY_TOLERANCE_ZERO;
        if (t.kind == 4) in_between.max_iterations = 2;
        if (t.kind == 5) in_between.observe = stops;
        if (t.kind == 7)
            for (int i = 0; i < COLUMNS * N; i++) poisoned[i] *= i / N == 1 ? 1e-300 : 1;
        if (t.kind == 8)
            for (int i = 0; i < COLUMNS * N; i++) poisoned[i] *= i / N == 2 ? 1e300 : 1;
        run_plan(plan, y, poisoned, t.kind % 2 ? COLUMNS : COLUMNS - 1, &in_between);
        t.kind = 0;
        run_plan(plan, y, b, COLUMNS, NULL);
        if (memcmp(x, y, sizeof x) != 0) fail_msg("case %d: other bits", k);
        spry_cg_plan_destroy(plan);
        spry_matrix_destroy(A);
        dense_free(&d);
    }
}

static int counts(void *user, int64_t iteration, double residual)
{
    *(int64_t *)user = iteration;
    return 0;
}

/* Run options that are 0 or NULL default to the plan's options. */
static void runs_inherit(void **state)
{
    dense d = system_of(N, 1);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_run_options run = SPRY_INIT(spry_cg_run_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_cg_plan *plan = NULL;
    int64_t seen = 0, observed = 0;
    double x[N], b[N];
    for (int i = 0; i < N; i++) b[i] = 1 + i % 5;
    o.tolerance = 1e-13;
    o.observe = counts;
    o.observe_user = &seen;
    assert_int_equal(spry_cg_plan_create(context, &plan, NULL, A, &o, NULL), SPRY_OK);
    const spry_vector to = spry_vector_f64(x, N);
    const spry_const_vector from = spry_const_vector_f64(b, N);
    assert_int_equal(spry_cg_plan_run(plan, to, &r, from, NULL, NULL), SPRY_OK);
    const int64_t iterations = r.iterations;
    assert_true(seen == iterations && r.true_residual <= 1e-13);
    run.observe = counts;
    run.observe_user = &observed;
    assert_int_equal(spry_cg_plan_run(plan, to, &r, from, &run, NULL), SPRY_OK);
    assert_true(r.iterations == iterations && observed == iterations);
    run.observe = NULL;
    run.tolerance = 1e-2;
    seen = 0;
    assert_int_equal(spry_cg_plan_run(plan, to, &r, from, &run, NULL), SPRY_OK);
    assert_true(r.iterations < iterations && seen == r.iterations);
    run.tolerance = 0;
    run.start = SPRY_START_X; /* starts from the previous run's x, whose residual is at most 1e-2 */
    assert_int_equal(spry_cg_plan_run(plan, to, &r, from, &run, NULL), SPRY_OK);
    assert_true(r.iterations < iterations);
    run.start = SPRY_START_DEFAULT;
    assert_int_equal(spry_cg_plan_run(plan, to, &r, from, &run, NULL), SPRY_OK);
    assert_int_equal(r.iterations, iterations);
    run.absolute_tolerance = 1e9;
    assert_int_equal(spry_cg_plan_run(plan, to, &r, from, &run, NULL), SPRY_OK);
    assert_int_equal(r.iterations, 0);
    spry_cg_plan_destroy(plan);
    spry_matrix_destroy(A);
    dense_free(&d);
}

/* SPRY_TOLERANCE_ZERO in a run removes the plan's absolute tolerance. Only one of A and products may be given. */
static void runs_without_absolute_tolerance(void **state)
{
    dense d = system_of(N, 1);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    spry_operator O = SPRY_INIT(spry_operator);
    spry_cg_options o = SPRY_INIT(spry_cg_options), both = o;
    spry_cg_run_options run = SPRY_INIT(spry_cg_run_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_cg_plan *plan = NULL;
    spry_error err = {0};
    double x[N], b[N];
    for (int i = 0; i < N; i++) b[i] = 1 + i % 5;
    const spry_vector to = spry_vector_f64(x, N);
    const spry_const_vector from = spry_const_vector_f64(b, N);
    o.absolute_tolerance = 1e9;
    assert_int_equal(spry_cg_plan_create(context, &plan, NULL, A, &o, NULL), SPRY_OK);
    assert_int_equal(spry_cg_plan_run(plan, to, &r, from, NULL, NULL), SPRY_OK);
    assert_int_equal(r.iterations, 0);
    run.absolute_tolerance = SPRY_TOLERANCE_ZERO;
    assert_int_equal(spry_cg_plan_run(plan, to, &r, from, &run, NULL), SPRY_OK);
    assert_true(r.iterations > 0 && r.true_residual <= 1e-8);
    run.start = (spry_start)-1;
    expect_status(spry_cg_plan_run(plan, to, &r, from, &run, &err), &err, SPRY_INVALID_ARGUMENT, "start is -1");
    both.products = &O;
    expect_status(spry_cg(context, to, &r, A, from, &both, &err), &err, SPRY_INVALID_ARGUMENT, "one of the two");
    expect_status(spry_cg(context, to, &r, NULL, from, &o, &err), &err, SPRY_INVALID_ARGUMENT, "A is NULL");
    spry_cg_plan_destroy(plan);
    spry_matrix_destroy(A);
    dense_free(&d);
}

static spry_status fails(void *user, spry_vector y, spry_const_vector x, void *stream, spry_error *err)
{
    return SPRY_UNSUPPORTED;
}

/* Values of A that updates refuse, which depend on the preconditioner. */
enum { REFUSALS = 4 };
static double refused_value(int kind, int precond)
{
    return kind == 0 ? 7 : kind == 1 ? NAN : kind == 2 ? INFINITY : precond ? -1 : 7;
}

static void expect_names(const spry_cg_result *r, const char *format)
{
    assert_true(r->format && r->kernel);
    assert_string_equal(r->format, format);
    assert_true((r->kernel[0] != 0) == (format[0] != 0));
}

/*
 * After a run that scales A or ends early, one update fails and the next update succeeds. Checks names and verdicts.
 * The next run must give the bits of a new plan.
 */
static void updates_after_any_run(void **state)
{
    static const double guesses[] = {0, 1e200, NAN, 0.5};
    for (int k = 0; k < 5 * REFUSALS * 4 * 3; k++) {
        const int precond = k % 5, refusal = k / 5 % REFUSALS, earlier = k / 20 % 4, inside = k / 80;
        double x[N], fresh[N], b[N], bad_b[N], *values = NULL;
        dense d = system_of(N, 1);
        spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        spry_cg_run_options in_between = SPRY_INIT(spry_cg_run_options);
        spry_cg_result r = SPRY_INIT(spry_cg_result);
        spry_cg_plan *plan = NULL;
        const spry_vector to = spry_vector_f64(x, N);
        const spry_const_vector from = spry_const_vector_f64(b, N), bad = spry_const_vector_f64(bad_b, N);
        spry_error err = {0};
        o.precond = (spry_precond)precond;
        o.precondition = precond == SPRY_PRECOND_CALLBACK ? same : NULL;
        o.precision = (spry_precision)inside;
        o.format = inside ? "csr" : "sell";
        for (int i = 0; i < N; i++) {
            b[i] = 1 + i % 5;
            bad_b[i] = earlier == 3 ? ldexp(b[i], 500) : b[i];
            x[i] = guesses[earlier];
        }
        expect_status(spry_cg(context, spry_vector_f64(fresh, N), &r, A, from, &o, &err), &err, SPRY_OK, "");
        expect_status(spry_cg_plan_create(context, &plan, &r, A, &o, &err), &err, SPRY_OK, "");
        expect_names(&r, o.format);
        in_between.start = earlier > 0 ? SPRY_START_X : SPRY_START_DEFAULT;
        (void)!spry_cg_plan_run(plan, to, &r, bad, &in_between, NULL);
        expect_names(&r, o.format);
        /* changes entry (0, 0), or the next entry of the first row, which then differs from its mirror image */
        assert_int_equal(spry_matrix_get_values(A, (void **)&values, NULL), SPRY_OK);
        const int at = refusal == 3 && precond ? 0 : 1;
        const double value = values[at];
        values[at] = refused_value(refusal, precond);
        r.format = r.kernel = NULL;
        expect_status(spry_cg_plan_update(plan, &r, &err), &err,
                      at == 0 && precond == SPRY_PRECOND_CALLBACK ? SPRY_OK : SPRY_NOT_CONVERGED, "");
        if (r.verdict != SPRY_VERDICT_NONE) expect_names(&r, "");
        values[at] = value;
        expect_status(spry_cg_plan_update(plan, &r, &err), &err, SPRY_OK, "");
        expect_names(&r, o.format);
        expect_status(spry_cg_plan_run(plan, to, &r, from, NULL, &err), &err, SPRY_OK, "");
        expect_names(&r, o.format);
        assert_memory_equal(x, fresh, sizeof x);
        spry_cg_plan_destroy(plan);
        spry_matrix_destroy(A);
        dense_free(&d);
    }
}

/* After a run that scaled A, the next run sets A up again and reports errors that A has by then. */
static void a_run_refuses_the_matrix(void **state)
{
    double x[N], b[N], *values = NULL;
    dense d = system_of(N, 0x1p-700);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_cg_plan *plan = NULL;
    const spry_vector to = spry_vector_f64(x, N);
    const spry_const_vector from = spry_const_vector_f64(b, N);
    spry_error err = {0};
    for (int i = 0; i < N; i++) b[i] = 0x1p-700;
    assert_int_equal(spry_cg_plan_create(context, &plan, NULL, A, NULL, NULL), SPRY_OK);
    assert_int_equal(spry_cg_plan_run(plan, to, &r, from, NULL, NULL), SPRY_OK);
    assert_int_equal(spry_matrix_get_values(A, (void **)&values, NULL), SPRY_OK);
    const double value = values[1];
    for (int pass = 0; pass < 2; pass++) {
        values[1] = pass ? NAN : 1;
        expect_status(spry_cg_plan_run(plan, to, &r, from, NULL, &err), &err, SPRY_NOT_CONVERGED,
                      pass ? "is nan" : "not symmetric");
        assert_int_equal(r.verdict, pass ? SPRY_VERDICT_NOT_FINITE : SPRY_VERDICT_NOT_SYMMETRIC);
        expect_names(&r, "");
    }
    values[1] = value;
    assert_int_equal(spry_cg_plan_run(plan, to, &r, from, NULL, NULL), SPRY_OK);
    spry_cg_plan_destroy(plan);
    spry_matrix_destroy(A);
    dense_free(&d);
}

static spry_status does_not_converge(void *user, spry_vector y, spry_const_vector x, void *stream, spry_error *err)
{
    int *calls = user;
    return --*calls ? same(NULL, y, x, stream, err) : SPRY_NOT_CONVERGED;
}

/* The call returns a callback's status without a verdict, even if the status is SPRY_NOT_CONVERGED. */
static void callbacks_that_do_not_converge(void **state)
{
    double x[2 * N], b[2 * N];
    dense d = system_of(N, 1);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    spry_operator O = SPRY_INIT(spry_operator);
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    int calls = 0;
    spry_vector to = spry_vector_f64(x, N);
    spry_const_vector from = spry_const_vector_f64(b, N);
    for (int i = 0; i < 2 * N; i++) b[i] = i < N ? 1 : 1e300; /* column 1 is solved separately */
    O.n = N;
    O.type = SPRY_F64;
    O.apply = does_not_converge;
    O.user = &calls;
    o.precond = SPRY_PRECOND_CALLBACK;
    o.precondition = does_not_converge;
    o.precondition_user = &calls;
    o.tolerance = 1e-14;
    for (int columns = 1; columns <= 2; columns++)
        for (int at = 1; at < 40; at++)
            for (int is_operator = 0; is_operator < 2; is_operator++) {
                spry_cg_result r = SPRY_INIT(spry_cg_result);
                spry_error err = {0};
                to.count = from.count = columns;
                to.column_stride = from.column_stride = N;
                calls = at;
                const spry_status status = is_operator ? solve_by_products(context, to, &r, &O, from, NULL, &err)
                                                       : spry_cg(context, to, &r, A, from, &o, &err);
                if (calls > 0) continue; /* the solve ended before call `at` */
                expect_status(status, &err, SPRY_NOT_CONVERGED, "has returned the status");
                assert_int_equal(r.verdict, SPRY_VERDICT_NONE);
                assert_true(r.iterations == 0 && r.converged == 0 && isnan(r.residual));
                expect_names(&r, "");
            }
    spry_matrix_destroy(A);
    dense_free(&d);
}

/*
 * The fields format and kernel of a result are "" if the call used no format and no kernel. A failed call clears the
 * results of the previous call.
 */
static void results_are_whole(void **state)
{
    dense d = dense_make(2);
    double x[2], b[2] = {1, 1};
    d.a[0] = d.a[3] = d.a[1] = 1;
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_operator O = SPRY_INIT(spry_operator);
    const spry_vector to = spry_vector_f64(x, 2);
    const spry_const_vector from = spry_const_vector_f64(b, 2);
    assert_int_equal(spry_cg(context, to, &r, A, from, NULL, NULL), SPRY_NOT_CONVERGED);
    assert_string_equal(r.format, "");
    assert_string_equal(r.kernel, "");
    O.n = 2;
    O.type = SPRY_F64;
    O.apply = same;
    assert_int_equal(solve_by_products(context, to, &r, &O, from, NULL, NULL), SPRY_OK);
    assert_string_equal(r.format, "");
    assert_string_equal(r.kernel, "");
    r.format = r.kernel = NULL;
    assert_int_equal(spry_cg(NULL, to, &r, A, from, NULL, NULL), SPRY_INVALID_ARGUMENT);
    expect_names(&r, "");
    r.format = r.kernel = NULL;
    assert_int_equal(spry_cg_plan_create(context, NULL, &r, A, NULL, NULL), SPRY_INVALID_ARGUMENT);
    expect_names(&r, "");
    r.format = r.kernel = NULL;
    assert_int_equal(spry_cg_plan_update(NULL, &r, NULL), SPRY_INVALID_ARGUMENT);
    expect_names(&r, "");
    r.format = r.kernel = NULL;
    assert_int_equal(spry_cg_plan_run(NULL, to, &r, from, NULL, NULL), SPRY_INVALID_ARGUMENT);
    expect_names(&r, "");
    O.apply = fails;
    assert_int_equal(solve_by_products(context, to, &r, &O, from, NULL, NULL), SPRY_UNSUPPORTED);
    assert_int_equal(r.verdict, SPRY_VERDICT_NONE);
    assert_true(isnan(r.residual) && r.iterations == 0);
    assert_string_equal(r.format, "");
    spry_pagerank_result p = SPRY_INIT(spry_pagerank_result);
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    assert_int_equal(spry_pagerank(NULL, to, &p, A, NULL, NULL), SPRY_INVALID_ARGUMENT);
    assert_true(p.format && p.kernel);
    assert_int_equal(spry_pagerank(context, to, &p, A, NULL, NULL), SPRY_OK);
    o.alpha = 2;
    assert_int_equal(spry_pagerank(context, to, &p, A, &o, NULL), SPRY_INVALID_ARGUMENT);
    assert_int_equal(p.verdict, SPRY_VERDICT_NONE);
    assert_string_equal(p.format, "");
    spry_matrix_destroy(A);
    dense_free(&d);
}

/* ---- PageRank -------------------------------------------------------------------------------------- */

/*
 * Checks the error bound that is reported for f32 ranks. f64 ranks are the reference. Tests a cycle, stars with random
 * links, and random graphs.
 */
static void pagerank_bounds(void **state)
{
    enum { NODES = 300 };
    for (int k = 0; k < 12; k++) {
        uint64_t seed = (uint64_t)k + 1;
        dense d = dense_make(NODES);
        float x[NODES];
        double exact[NODES], error = 0;
        for (int i = 0; i < NODES; i++) {
            if (k % 3 == 0) d.a[i * NODES + (i + 1) % NODES] = 1;
            if (k % 3 == 1) d.a[i * NODES] = 1, d.a[i] = 0.3;
            for (int e = 0; e < 8 && k % 3 != 0; e++)
                d.a[i * NODES + (int)(uniform(&seed) * NODES)] = k % 2 ? 1 : uniform(&seed);
        }
        spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
        spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
        spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F32);
        spry_matrix_options to = SPRY_INIT(spry_matrix_options);
        to.value_type = SPRY_F64;
        spry_matrix *B = convert_matrix(context, A, &to);
        o.edges = k / 6 ? SPRY_COLUMN_TO_ROW : SPRY_ROW_TO_COLUMN;
        o.tolerance = k % 2 ? 1e-9 : 0; /* 1e-9 leaves only rounding errors; 0 is the default tolerance */
        (void)!spry_pagerank(context, spry_vector_f32(x, NODES), &r, A, &o, NULL);
        o.tolerance = 1e-15;
        (void)!spry_pagerank(context, spry_vector_f64(exact, NODES), NULL, B, &o, NULL);
        for (int i = 0; i < NODES; i++) error += fabs(x[i] - exact[i]);
        assert_at_most(error, r.error_bound);
        spry_matrix_destroy(A);
        spry_matrix_destroy(B);
        dense_free(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_limit),
        cmocka_unit_test(assembled),
        cmocka_unit_test(not_finite),
        cmocka_unit_test(out_of_reach),
        cmocka_unit_test(out_of_reach_and_badly_scaled),
        cmocka_unit_test(runs_inherit),
        cmocka_unit_test(runs_without_absolute_tolerance),
        cmocka_unit_test(failed_runs_leave_nothing),
        cmocka_unit_test(updates_after_any_run),
        cmocka_unit_test(a_run_refuses_the_matrix),
        cmocka_unit_test(callbacks_that_do_not_converge),
        cmocka_unit_test(results_are_whole),
        cmocka_unit_test(pagerank_bounds),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
