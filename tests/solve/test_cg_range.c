/* Conjugate Gradient for systems whose squares underflow or overflow, and for values close to the types' limits. */
#include "spry/io.h"
#include "spry/solve.h"
#include "support.h"

#include <stdbool.h>

static dense diagonal(int n, const double *values)
{
    dense d = dense_make(n);
    for (int i = 0; i < n; i++) d.a[i * n + i] = values[i];
    return d;
}

/* ---- systems that differ by powers of two ---------------------------------------------------------- */

enum { N = 25 };

static dense chain(int exponent)
{
    dense d = dense_make(N);
    for (int i = 0; i < N; i++) {
        d.a[i * N + i] = ldexp(2.25 + 0.25 * (i % 5), exponent);
        if (i + 1 < N) d.a[i * N + i + 1] = d.a[(i + 1) * N + i] = ldexp(-1, exponent);
    }
    return d;
}

typedef struct solution {
    spry_status status;
    spry_cg_result r;
    double x[N];
} solution;

/* Solves 2^a A x = 2^b rhs. The guess, if any, is the guess of the plain system times 2^(b-a). */
static solution solve_scaled(int a, int b, spry_layout layout, spry_type type, spry_precond precond, int guessed)
{
    double rhs[N], guess[N];
    uint64_t seed = 31;
    for (int i = 0; i < N; i++) {
        rhs[i] = ldexp((double)(float)(0.5 + uniform(&seed)), b);
        guess[i] = ldexp((double)(float)uniform(&seed), b - a);
    }
    dense d = chain(a);
    spry_matrix *A = sparse_of(context, &d, layout, type);
    spry_vector x = vector_of(context, guess, N, type), right = vector_of(context, rhs, N, type);
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    solution s = {.r = SPRY_INIT(spry_cg_result)};
    o.precond = precond;
    o.start = guessed ? SPRY_START_X : SPRY_START_DEFAULT;
    o.tolerance = type == SPRY_F32 ? 1e-5 : 1e-12;
    spry_error err = {0};
    s.status = spry_cg(context, x, &s.r, A, spry_vector_as_const(right), &o, &err);
    expect_status(s.status, &err, SPRY_OK, "");
    for (int i = 0; i < N; i++) s.x[i] = entry(&x, i);
    for (int i = 0; i < N; i++) assert_true(entry(&right, i) == rhs[i]); /* the caller's b is unchanged */
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &right);
    spry_matrix_destroy(A);
    dense_free(&d);
    return s;
}

static void compare_scaled(int a, int b, spry_layout layout, spry_type type)
{
    for (int precond = 0; precond < 2; precond++)
        for (int guessed = 0; guessed < 2; guessed++) {
            solution plain = solve_scaled(0, 0, layout, type, (spry_precond)precond, guessed);
            solution s = solve_scaled(a, b, layout, type, (spry_precond)precond, guessed);
            if (s.r.iterations != plain.r.iterations || s.r.residual != plain.r.residual ||
                s.r.true_residual != plain.r.true_residual)
                fail_msg("2^%d A, 2^%d b: %d iterations, residual %g", a, b, (int)s.r.iterations, s.r.true_residual);
            for (int i = 0; i < N; i++)
                if (s.x[i] != ldexp(plain.x[i], b - a))
                    fail_msg("2^%d A, 2^%d b: x[%d] is %.17g, expected %.17g", a, b, i, s.x[i],
                             ldexp(plain.x[i], b - a));
        }
}

/*
 * If A and b are multiplied by powers of two, no bit of x's significands changes, even if squares of the values
 * underflow or overflow. Close to this limit, a run may restart with a scaled system and give other bits.
 */
static void powers_of_two(void **state)
{
    static const int f64[] = {-1010, -900, -540, -260, -40, 0, 7, 240, 520, 900, 1015};
    static const int f32[] = {-117, -90, -60, -20, 0, 3, 40, 64, 120};
    for (size_t a = 0; a < sizeof f64 / sizeof *f64; a++)
        for (size_t b = 0; b < sizeof f64 / sizeof *f64; b++)
            if (abs(f64[b] - f64[a]) < 1000) compare_scaled(f64[a], f64[b], SPRY_CSR, SPRY_F64);
    for (size_t a = 0; a < sizeof f32 / sizeof *f32; a++)
        for (size_t b = 0; b < sizeof f32 / sizeof *f32; b++)
            if (abs(f32[b] - f32[a]) < 110) compare_scaled(f32[a], f32[b], SPRY_CSR, SPRY_F32);
    compare_scaled(-900, -540, SPRY_COO, SPRY_F64);
    compare_scaled(900, 540, SPRY_CSC, SPRY_F64);
    compare_scaled(-90, -60, SPRY_COO, SPRY_F32);
}

/* ---- single systems -------------------------------------------------------------------------------- */

typedef struct hostile {
    spry_type type;
    double a[3], b[3];
    spry_verdict verdict;
    const char *text; /* part of the message; NULL: x_i is b_i / a_i up to rounding */
} hostile;

static void check_hostile(const hostile *h, spry_precond precond)
{
    int n = h->a[2] != 0 ? 3 : 2;
    dense d = diagonal(n, h->a);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, h->type);
    spry_vector x = vector_of(context, h->a, n, h->type), b = vector_of(context, h->b, n, h->type);
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_error err = {0};
    const double eps = h->type == SPRY_F32 ? 0x1p-23 : 0x1p-52;
    o.precond = precond;
    o.tolerance = 100 * eps;
    spry_status status = spry_cg(context, x, &r, A, spry_vector_as_const(b), &o, &err);
    expect_status(status, &err, h->text ? SPRY_NOT_CONVERGED : SPRY_OK, h->text ? h->text : "");
    assert_int_equal(r.verdict, h->verdict);
    for (int i = 0; i < n && !h->text; i++) {
        double exact = h->type == SPRY_F32 ? (double)((float)h->b[i] / (float)h->a[i]) : h->b[i] / h->a[i];
        if (!(fabs(entry(&x, i) - exact) <= 200 * eps * fabs(exact)))
            fail_msg("%s diag(%g, %g ...), b = %g: x[%d] is %.17g, expected %.17g", spry_type_name(h->type), h->a[0],
                     h->a[1], h->b[i], i, entry(&x, i), exact);
    }
    if (!h->text) assert_at_most(r.true_residual, o.tolerance);
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &b);
    spry_matrix_destroy(A);
    dense_free(&d);
}

static void extreme_magnitudes(void **state)
{
#define SOLVED SPRY_VERDICT_CONVERGED, NULL
#define BEYOND SPRY_VERDICT_OUT_OF_RANGE, "out of range: the largest element of x is about "
    static const hostile cases[] = {
        {SPRY_F64, {2, 3}, {1e-162, 1e-162}, SOLVED},
        {SPRY_F64, {2, 3}, {1e-161, 1e-161}, SOLVED},
        {SPRY_F64, {2, 3}, {1e-160, 1e-160}, SOLVED},
        {SPRY_F64, {2, 3}, {1e-300, 1e-300}, SOLVED},
        {SPRY_F64, {2, 3}, {1e154, 1e154}, SOLVED},
        {SPRY_F64, {2, 3}, {1e308, 1e308}, SOLVED},
        {SPRY_F64, {1e-200, 1e-200}, {1e-200, 1e-200}, SOLVED},
        {SPRY_F64, {1e-300, 1e-300}, {1e-30, 1e-30}, SOLVED},
        {SPRY_F64, {2e-310, 3e-310}, {1e-310, 1e-310}, SOLVED},
        {SPRY_F64, {1e300, 2e300}, {1e-5, 1e-5}, SOLVED},
        {SPRY_F64, {1e300, 2e300}, {1e300, 1e300}, SOLVED},
        {SPRY_F64, {1, 1}, {0x1p-1070, 0x1p-1071}, SOLVED}, /* x has the same magnitude and is exact */
        {SPRY_F64, {1e-200, 1e-200}, {1e200, 1e200}, BEYOND},
        {SPRY_F64, {1e200, 1e200}, {1e-200, 1e-200}, BEYOND},
        {SPRY_F64, {3, 3}, {1e-322, 1e-322}, BEYOND},
        {SPRY_F32, {2, 3}, {1e-30, 1e-30}, SOLVED},
        {SPRY_F32, {2, 3}, {1e-37, 1e-37}, SOLVED},
        {SPRY_F32, {2, 3}, {1e38, 1e38}, SOLVED},
        {SPRY_F32, {1e-20f, 1e-20f}, {1e-30f, 1e-30f}, SOLVED},
        {SPRY_F32, {1e-36f, 2e-36f}, {1e-20f, 1e-20f}, SOLVED},
        {SPRY_F32, {2e-40f, 3e-40f}, {1e-39f, 1e-39f}, SOLVED},
        {SPRY_F32, {1e38f, 2e38f}, {1e30f, 1e30f}, SOLVED},
        {SPRY_F32, {1e-30f, 1e-30f}, {1e30f, 1e30f}, BEYOND},
        {SPRY_F32, {1e30f, 1e30f}, {1e-30f, 1e-30f}, BEYOND},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int precond = 0; precond < 2; precond++) check_hostile(&cases[c], (spry_precond)precond);
    /* rows of very different magnitude, which jacobi equalises */
    static const hostile spread[] = {
        {SPRY_F64, {1e-200, 1, 1e200}, {1, 1, 1}, SOLVED},
        {SPRY_F64, {1e-300, 1e-200, 1e-100}, {1e-200, 1e-200, 1e-200}, SOLVED},
        {SPRY_F64, {1e100, 1e200, 1e300}, {1e200, 1e200, 1e200}, SOLVED},
        {SPRY_F32, {1e-30f, 1, 1e30f}, {1, 1, 1}, SOLVED},
        {SPRY_F32, {1e-37f, 1e-30f, 1e-25f}, {1e-20f, 1e-20f, 1e-20f}, SOLVED},
        {SPRY_F32,
         {1e-42f, 1, 1e37f},
         {1, 1, 1},
         SPRY_VERDICT_BAD_DIAGONAL,
         "bad diagonal: entry (0, 0), counted from 0, is 1e-42, which has no reciprocal in f32"},
    };
    for (size_t c = 0; c < sizeof spread / sizeof *spread; c++) check_hostile(&spread[c], SPRY_PRECOND_JACOBI);
    /* verdicts unrelated to range do not change; messages show the caller's values */
    static const hostile others[] = {
        {SPRY_F64, {-1e-300, -1e-300}, {1e-30, 1e-30}, SPRY_VERDICT_NEGATIVE_CURVATURE, "p'Ap is -2e-360 in iteration"},
        {SPRY_F64, {-1e200, -1e200}, {1e100, 1e100}, SPRY_VERDICT_NEGATIVE_CURVATURE, "p'Ap is -2e+400 in iteration"},
        {SPRY_F32, {-1e-30f, -1e-30f}, {1e-30f, 1e-30f}, SPRY_VERDICT_NEGATIVE_CURVATURE, "p'Ap is -2e-90 in"},
        {SPRY_F64, {1, 1}, {INFINITY, 0}, SPRY_VERDICT_NOT_FINITE, "element 0 of b, counted from 0, is inf"},
        {SPRY_F64, {1, 1}, {1, NAN}, SPRY_VERDICT_NOT_FINITE, "element 1 of b, counted from 0, is nan"},
        {SPRY_F64, {INFINITY, 1}, {1, 1}, SPRY_VERDICT_NOT_FINITE, "the entry of A at (0, 0)"},
    };
    for (size_t c = 0; c < sizeof others / sizeof *others; c++) check_hostile(&others[c], SPRY_PRECOND_NONE);
}

/* A large entry dominates the norm. The sums still include the other entries. */
static void one_large_entry(void **state)
{
    dense d = chain(0);
    double b[N], x[N], exact[N];
    for (int i = 0; i < N; i++) b[i] = 1 + 0.1 * i;
    d.a[5 * N + 5] = 1e308;
    b[5] = 1e200;
    dense_solve(&d, b, exact);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_error err = {0};
    expect_status(spry_cg(context, spry_vector_f64(x, N), &r, A, spry_const_vector_f64(b, N), &o, &err), &err, SPRY_OK,
                  "");
    assert_at_most(r.true_residual, 1e-8);
    assert_at_most(fabs(x[5] - exact[5]), 1e-15 * exact[5]);
    spry_matrix_destroy(A);
    dense_free(&d);
}

/*
 * The solver corrects a guess that is far too large if its residual has a finite norm. It never accepts the guess as
 * the solution.
 */
static void extreme_guesses(void **state)
{
    const double values[] = {2, 3}, guesses[] = {1e-320, 1e-200, 1e100, 1e200, 1e308, INFINITY, NAN};
    dense d = diagonal(2, values);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    o.start = SPRY_START_X;
    for (int g = 0; g < 7; g++)
        for (int small = 0; small < 2; small++) {
            double size = small ? 1e-200 : 1, x[] = {guesses[g], guesses[g]}, b[] = {size, size};
            spry_cg_result r = SPRY_INIT(spry_cg_result);
            spry_status status = spry_cg(context, spry_vector_f64(x, 2), &r, A, spry_const_vector_f64(b, 2), &o, NULL);
            assert_int_equal(status == SPRY_OK, r.verdict == SPRY_VERDICT_CONVERGED);
            if (status == SPRY_OK) assert_at_most(fabs(x[0] - size / 2) + fabs(x[1] - size / 3), 1e-7 * size);
            if (guesses[g] <= (small ? 1e100 : 1e-200)) assert_int_equal(status, SPRY_OK);
            if (!isfinite(guesses[g])) assert_int_equal(r.verdict, SPRY_VERDICT_NOT_FINITE);
        }
    spry_matrix_destroy(A);
    dense_free(&d);
}

/* A guess of usual magnitude with a large A. If the squares of its residual overflow, x = 0 replaces the guess. */
static void guesses_with_a_large_matrix(void **state)
{
    enum { COLUMNS = 3 };
    static const int exponents[] = {100, 400, 520, 600, 777, 900, 1000};
    for (int k = 0; k < 7 * 4 * 3 * 2; k++) {
        const int s = exponents[k % 7], precond = k / 7 % 4, inside = k / 28 % 3, bad = k / 84;
        dense d = chain(s);
        double x[COLUMNS * N], b[COLUMNS * N];
        spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
        spry_vector xs = spry_vector_f64(x, N), bs = spry_vector_f64(b, N);
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        spry_cg_result r = SPRY_INIT(spry_cg_result);
        spry_cg_plan *plan = NULL;
        spry_error err = {0};
        o.precond = (spry_precond)precond;
        o.precision = (spry_precision)inside;
        o.count = COLUMNS;
        o.start = SPRY_START_X;
        assert_int_equal(spry_cg_plan_create(context, &plan, NULL, A, &o, NULL), SPRY_OK);
        for (int columns = 1; columns <= COLUMNS; columns += 2) {
            xs.count = bs.count = columns;
            xs.column_stride = bs.column_stride = N;
            for (int i = 0; i < columns * N; i++) {
                x[i] = i / N == 1 ? 0 : 0.5;
                b[i] = 1 + i % 3;
            }
            if (bad) x[(columns - 1) * N + 3] = bad && s % 200 ? NAN : INFINITY;
            const spry_status status = spry_cg_plan_run(plan, xs, &r, spry_vector_as_const(bs), NULL, &err);
            expect_status(status, &err, bad ? SPRY_NOT_CONVERGED : SPRY_OK, bad ? "not finite after 0 iterations" : "");
            assert_int_equal(r.converged, columns - bad);
            if (!bad) assert_at_most(r.true_residual, 1e-8);
        }
        spry_cg_plan_destroy(plan);
        spry_matrix_destroy(A);
        dense_free(&d);
    }
    /* a matrix of usual magnitude, and guesses whose products, or the products' squares, overflow */
    static const double guesses[] = {1e160, 1e200, 1e308};
    dense d = chain(0);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    for (int g = 0; g < 3; g++) {
        double x[N], b[N];
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        spry_error err = {0};
        o.start = SPRY_START_X;
        for (int i = 0; i < N; i++) x[i] = guesses[g], b[i] = 1;
        expect_status(spry_cg(context, spry_vector_f64(x, N), NULL, A, spry_const_vector_f64(b, N), &o, &err), &err,
                      SPRY_OK, "");
        assert_at_most(fabs(x[N / 2]), 10);
    }
    spry_matrix_destroy(A);
    dense_free(&d);
}

/* ---- preconditioners of the caller ----------------------------------------------------------------- */

/* State of the callbacks: M = factor * 2^-exponent * diag(1/4, 1/2, 1/4, ...), or the operator A*x times 2^exponent. */
typedef struct callers {
    int exponent;
    double factor;
} callers;

static spry_status divides(void *user, spry_vector z, spry_const_vector r, void *stream, spry_error *err)
{
    const callers *c = user;
    for (int64_t i = 0; i < r.length * r.count; i++) {
        const double at = r.type == SPRY_F32 ? (double)((const float *)r.data)[i] : ((const double *)r.data)[i];
        set_entry(&z, i, ldexp(c->factor * at, -c->exponent) * (i % 2 ? 0.5 : 0.25));
    }
    return SPRY_OK;
}

static spry_status multiplies(void *user, spry_vector y, spry_const_vector x, void *stream, spry_error *err)
{
    const callers *c = user;
    dense d = chain(0);
    for (int64_t i = 0; i < x.length * x.count; i++) {
        double sum = 0;
        for (int64_t j = 0; j < N; j++) {
            const int64_t k = i / N * N + j;
            sum += d.a[i % N * N + j] *
                   (x.type == SPRY_F32 ? (double)((const float *)x.data)[k] : ((const double *)x.data)[k]);
        }
        set_entry(&y, i, ldexp(sum, c->exponent));
    }
    dense_free(&d);
    return SPRY_OK;
}

typedef struct case_of_caller {
    spry_type type;
    spry_precision inside;
    bool is_operator;
    int a, b, m; /* Solves 2^a A x = 2^b b with M scaled by 2^-m. */
    int columns;
} case_of_caller;

/* Solves, and sets x to the solution times 2^(a-b). */
static spry_cg_result solve_of_caller(const case_of_caller *k, double factor, double *x, spry_status *status,
                                      spry_error *err)
{
    double rhs[2 * N];
    callers c = {k->m, factor}, of_A = {k->a, 1};
    dense d = chain(k->a);
    for (int i = 0; i < k->columns * N; i++) rhs[i] = ldexp(1 + i % 7, k->b);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, k->type);
    spry_vector to = vector_of(context, rhs, k->columns * N, k->type), from = to;
    spry_vector right = vector_of(context, rhs, k->columns * N, k->type);
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_operator op = SPRY_INIT(spry_operator);
    op.n = N;
    op.type = k->type;
    op.apply = multiplies;
    op.user = &of_A;
    from = right;
    to.length = from.length = to.column_stride = from.column_stride = N;
    to.count = from.count = k->columns;
    o.precond = SPRY_PRECOND_CALLBACK;
    o.precondition = divides;
    o.precondition_user = &c;
    o.precision = k->inside;
    o.tolerance = k->type == SPRY_F32 ? 1e-5 : 1e-12;
    *status = k->is_operator ? solve_by_products(context, to, &r, &op, spry_vector_as_const(from), &o, err)
                             : spry_cg(context, to, &r, A, spry_vector_as_const(from), &o, err);
    for (int i = 0; i < k->columns * N; i++) x[i] = ldexp(entry(&to, i), k->a - k->b);
    spry_vector_destroy(context, &to);
    spry_vector_destroy(context, &right);
    spry_matrix_destroy(A);
    dense_free(&d);
    return r;
}

/* Preconditioners with the magnitude of A^-1, of 1 and others give the same bits, up to a power of two. */
static void preconditioners_of_any_magnitude(void **state)
{
    static const int f64[] = {-1000, -900, -600, -300, 0, 250, 600, 800, 1000},
                     f32[] = {-115, -100, -50, 0, 60, 100, 115};
    for (int k = 0; k < 9 * 3 * 3 * 4; k++) {
        const int f32_too = k / 81 == 3, way = k / 27 % 3, small_b = f32_too ? 40 : 250;
        /* exponent of A; smaller for operators (k / 81 == 2), which the solver does not scale */
        const int s = f32_too ? f32[k % 7] : k / 81 == 2 ? f64[k % 9] * 4 / 5 : f64[k % 9];
        case_of_caller plain =
            {f32_too ? SPRY_F32 : SPRY_F64, SPRY_PRECISION_FULL, k / 81 == 2, 0, 0, 0, 1 + k / 81 % 2};
        if (k / 81 == 1) plain.inside = SPRY_PRECISION_F32_VALUES;
        case_of_caller scaled = plain;
        scaled.a = s;
        scaled.b = k / 9 % 3 == 0 ? 0 : k / 9 % 3 == 1 ? s / 2 : s < 0 ? -small_b : small_b;
        scaled.m = way == 0 ? s : way == 1 ? 0 : -s / 2;
        double x[2 * N], y[2 * N];
        spry_status status;
        spry_error err = {0};
        const spry_cg_result r = solve_of_caller(&plain, 1, x, &status, &err);
        expect_status(status, &err, SPRY_OK, "");
        const spry_cg_result t = solve_of_caller(&scaled, 1, y, &status, &err);
        if (status != SPRY_OK) fail_msg("case %d, A 2^%d, b 2^%d, M 2^%d: %s", k, s, scaled.b, -scaled.m, err.message);
        /* allowed difference; with f32, A is rounded only if it is scaled, and elements of z may be subnormal */
        const double room = f32_too ? 1e-3 : plain.inside == SPRY_PRECISION_FULL ? 0 : 1e-11;
        if (room == 0) assert_int_equal(t.iterations, r.iterations);
        for (int i = 0; i < plain.columns * N; i++)
            if (!(fabs(x[i] - y[i]) <= room))
                fail_msg("case %d, A 2^%d, b 2^%d: x[%d] is %g, not %g", k, s, scaled.b, i, y[i], x[i]);
    }
    /* verdicts do not change, and messages show the caller's values: r is 2^b (1 2 ... 7 1 ...) */
    static const int exponents[] = {0, 300, 900, -300, -900};
    for (int k = 0; k < 5; k++) {
        case_of_caller bad = {SPRY_F64, SPRY_PRECISION_FULL, false, exponents[k], 0, exponents[k], 1};
        double x[N];
        spry_status status;
        spry_error err = {0};
        char text[80];
        double sum = 0;
        for (int i = 0; i < N; i++) sum += (1 + i % 7) * (1 + i % 7) * (i % 2 ? 0.5 : 0.25);
        snprintf(text, sizeof text, "bad preconditioner: r'Mr is %.3g after iteration 0", ldexp(-sum, -exponents[k]));
        spry_cg_result r = solve_of_caller(&bad, -1, x, &status, &err);
        expect_status(status, &err, SPRY_NOT_CONVERGED, text);
        assert_int_equal(r.verdict, SPRY_VERDICT_BAD_PRECONDITIONER);
        r = solve_of_caller(&bad, NAN, x, &status, &err);
        expect_status(status, &err, SPRY_NOT_CONVERGED, "not finite after 0 iterations");
    }
}

/* ---- the default tolerance ------------------------------------------------------------------------- */

/*
 * Each type reaches its own default tolerance for a mesh whose matrix has a condition number of about 2700. An explicit
 * tolerance is used unchanged.
 */
static void default_tolerance(void **state)
{
    const double reached[] = {0, 1e-3, 1e-8};
    for (int type = SPRY_F32; type <= SPRY_F64; type++) {
        spry_matrix *A = NULL;
        spry_read_options as = SPRY_INIT(spry_read_options);
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        spry_cg_result r = SPRY_INIT(spry_cg_result);
        spry_error err = {0};
        spry_vector x = {0};
        as.value_type = (spry_type)type;
        assert_int_equal(spry_matrix_generate(context, &A, "laplace5,x=80,y=80", &as, NULL), SPRY_OK);
        x = create_vector(context, 6400, (spry_type)type, 0);
        spry_vector b = create_vector(context, 6400, (spry_type)type, 0);
        for (int i = 0; i < 6400; i++)
            if (type == SPRY_F32)
                ((float *)b.data)[i] = 1;
            else
                ((double *)b.data)[i] = 1;
        expect_status(spry_cg(context, x, &r, A, spry_vector_as_const(b), NULL, &err), &err, SPRY_OK, "");
        assert_at_most(r.true_residual, reached[type]);
        assert_true(r.true_residual > reached[type] / 1000); /* the run stopped at the tolerance */
        o.tolerance = 1e-14;
        expect_status(spry_cg(context, x, &r, A, spry_vector_as_const(b), &o, &err), &err, SPRY_NOT_CONVERGED,
                      "expected at most 1e-14");
        assert_int_equal(r.verdict, SPRY_VERDICT_STAGNATION);
        spry_vector_destroy(context, &x);
        spry_vector_destroy(context, &b);
        spry_matrix_destroy(A);
    }
}

/* ---- memory ---------------------------------------------------------------------------------------- */

typedef struct tiny_system {
    spry_matrix *A;
    spry_precond precond;
} tiny_system;

static spry_status solve_tiny(spry_context *own, const void *input, spry_error *err)
{
    const tiny_system *s = input;
    const double right[] = {1e-310, 2e-310, 3e-310};
    double x[3];
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    o.precond = s->precond;
    return spry_cg(own, spry_vector_f64(x, 3), NULL, s->A, spry_const_vector_f64(right, 3), &o, err);
}

static void every_allocation_refused(void **state)
{
    const double values[] = {2e-310, 3e-310, 5e-310};
    dense d = diagonal(3, values);
    tiny_system s = {.A = sparse_of(context, &d, SPRY_CSC, SPRY_F64)};
    for (int precond = 0; precond < 2; precond++) {
        s.precond = (spry_precond)precond;
        assert_true(fail_every_allocation(solve_tiny, &s, 1) > 0);
    }
    spry_matrix_destroy(s.A);
    dense_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_of_two),
        cmocka_unit_test(extreme_magnitudes),
        cmocka_unit_test(one_large_entry),
        cmocka_unit_test(extreme_guesses),
        cmocka_unit_test(guesses_with_a_large_matrix),
        cmocka_unit_test(preconditioners_of_any_magnitude),
        cmocka_unit_test(default_tolerance),
        cmocka_unit_test(every_allocation_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
