/* Conjugate Gradient compared with a direct solution, and each of its verdicts. */
#include "spry/io.h"
#include "spry/solve.h"
#include "support.h"

/* Returns M'M + shift, exactly symmetric despite rounding, and positive definite for shift > 0. */
static dense definite(int n, double shift, uint64_t seed)
{
    dense m = dense_make(n), d = dense_make(n);
    for (int i = 0; i < n * n; i++)
        if (uniform(&seed) < 0.3) m.a[i] = uniform(&seed) - 0.5;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = i == j ? shift * (1 + 9 * uniform(&seed)) : 0;
            for (int k = 0; k < n; k++) sum += m.a[k * n + i] * m.a[k * n + j];
            d.a[i * n + j] = d.a[j * n + i] = (double)(float)sum;
        }
    dense_free(&m);
    return d;
}

static double norm(const double *v, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += v[i] * v[i];
    return sqrt(sum);
}

/* Returns ||b - d*x|| / ||b||, computed in f64 for every type. */
static double residual_of(const dense *d, const double *b, const spry_vector *x)
{
    double *r = calloc((size_t)d->n, sizeof *r);
    for (int i = 0; i < d->n; i++) {
        r[i] = b[i];
        for (int j = 0; j < d->n; j++)
            r[i] -= d->a[i * d->n + j] * (x->type == SPRY_F32 ? (double)((float *)x->data)[j] : ((double *)x->data)[j]);
    }
    double share = norm(r, d->n) / norm(b, d->n);
    free(r);
    return share;
}

static void against_a_direct_solution(void **state)
{
    for (int n = 1; n <= 41; n += 8) {
        dense d = definite(n, 1, (uint64_t)n);
        double *b = calloc((size_t)n, sizeof *b), *exact = calloc((size_t)n, sizeof *exact);
        uint64_t seed = 99;
        for (int i = 0; i < n; i++) b[i] = (double)(float)(uniform(&seed) - 0.5);
        dense_solve(&d, b, exact);
        for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++)
            for (int type = SPRY_F32; type <= SPRY_F64; type++)
                for (int precond = 0; precond < 2; precond++) {
                    spry_matrix *A = sparse_of(context, &d, (spry_layout)layout, (spry_type)type);
                    spry_vector x = vector_of(context, exact, n, (spry_type)type),
                                right = vector_of(context, b, n, (spry_type)type);
                    spry_cg_options o = SPRY_INIT(spry_cg_options);
                    spry_cg_result r = SPRY_INIT(spry_cg_result);
                    spry_error err = {0};
                    o.tolerance = type == SPRY_F32 ? 1e-5 : 1e-13;
                    o.precond = (spry_precond)precond;
                    expect_status(spry_cg(context, x, &r, A, spry_vector_as_const(right), &o, &err), &err, SPRY_OK, "");
                    assert_int_equal(r.verdict, SPRY_VERDICT_CONVERGED);
                    assert_at_most(r.true_residual, o.tolerance);
                    /* r.true_residual may differ from the residual in f64 by the rounding errors of A*x in `type` */
                    double eps = type == SPRY_F32 ? 0x1p-23 : 0x1p-52;
                    assert_at_most(fabs(residual_of(&d, b, &x) - r.true_residual), 20 * n * eps);
                    assert_at_most(distance(&x, exact),
                                   (r.true_residual + 20 * n * eps) * norm(b, n)); /* |A^-1| <= 1 */
                    assert_true(r.iterations <= 4 * n);
                    spry_vector_destroy(context, &x);
                    spry_vector_destroy(context, &right);
                    spry_matrix_destroy(A);
                }
        free(b);
        free(exact);
        dense_free(&d);
    }
}

/* Compares with the iterates of the textbook method, computed one operation after another in f64. */
static void iterates_of_the_book(void **state)
{
    enum { N = 30 };
    dense d = definite(N, 0.5, 12);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    double b[N], D[N];
    uint64_t seed = 4;
    for (int i = 0; i < N; i++) b[i] = uniform(&seed);
    for (int precond = 0; precond < 2; precond++) {
        double x[N] = {0}, r[N], p[N], rz = 0;
        for (int i = 0; i < N; i++) {
            D[i] = precond ? 1 / d.a[i * N + i] : 1;
            r[i] = b[i];
            p[i] = D[i] * r[i];
            rz += r[i] * p[i];
        }
        for (int64_t k = 1; k <= 10; k++) {
            double q[N] = {0}, pq = 0, rz_new = 0;
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) q[i] += d.a[i * N + j] * p[j];
            for (int i = 0; i < N; i++) pq += p[i] * q[i];
            for (int i = 0; i < N; i++) {
                x[i] += rz / pq * p[i];
                r[i] -= rz / pq * q[i];
                rz_new += r[i] * D[i] * r[i];
            }
            for (int i = 0; i < N; i++) p[i] = D[i] * r[i] + rz_new / rz * p[i];
            rz = rz_new;
            double ours[N];
            spry_cg_options o = SPRY_INIT(spry_cg_options);
            spry_cg_result result = SPRY_INIT(spry_cg_result);
            spry_error err = {0};
            o.max_iterations = k;
            o.tolerance = 1e-15;
            o.precond = (spry_precond)precond;
            expect_status(spry_cg(context, spry_vector_f64(ours, N), &result, A, spry_const_vector_f64(b, N), &o, &err),
                          &err, SPRY_NOT_CONVERGED, "iteration limit");
            assert_int_equal(result.iterations, k);
            spry_vector v = spry_vector_f64(ours, N);
            assert_at_most(distance(&v, x), 1e-11 * norm(x, N));
            assert_at_most(fabs(result.residual - norm(r, N) / norm(b, N)), 1e-11);
        }
    }
    spry_matrix_destroy(A);
    dense_free(&d);
}

/* ---- verdicts ------------------------------------------------------------------------------------ */

typedef struct ending {
    spry_verdict verdict;
    const char *text;
    int x_stays;
} ending;

static spry_cg_result expect_ending(const dense *d, const double *b, const spry_cg_options *o, spry_type type,
                                    ending wanted)
{
    spry_matrix *A = sparse_of(context, d, SPRY_CSR, type);
    double *marks = calloc((size_t)d->n, sizeof *marks);
    for (int i = 0; i < d->n; i++) marks[i] = 77;
    spry_vector x = vector_of(context, marks, d->n, type), right = vector_of(context, b, d->n, type);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_error err = {0};
    expect_status(spry_cg(context, x, &r, A, spry_vector_as_const(right), o, &err), &err,
                  wanted.verdict == SPRY_VERDICT_CONVERGED ? SPRY_OK : SPRY_NOT_CONVERGED, wanted.text);
    assert_int_equal(r.verdict, wanted.verdict);
    assert_int_equal(distance(&x, marks) == 0, wanted.x_stays);
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &right);
    spry_matrix_destroy(A);
    free(marks);
    return r;
}

static void verdicts(void **state)
{
    enum { N = 24 };
    double b[N];
    for (int i = 0; i < N; i++) b[i] = 1 + 0.1 * i;
    spry_cg_options o = SPRY_INIT(spry_cg_options), jacobi = o, f32 = o, two = o;
    jacobi.precond = SPRY_PRECOND_JACOBI;
    dense d = definite(N, 1, 8);
    d.a[3 * N + 9] = 0.125;
    d.a[9 * N + 3] = 0.25;
    expect_ending(&d, b, &o, SPRY_F64,
                  (ending){SPRY_VERDICT_NOT_SYMMETRIC,
                           "not symmetric: 0.125 at (3, 9), counted from 0, but 0.25 at (9, 3)", 1});
    expect_ending(&d, b, &o, SPRY_F32, (ending){SPRY_VERDICT_NOT_SYMMETRIC, "but 0.25 at (9, 3)", 1});
    d.a[3 * N + 9] = 0;
    expect_ending(&d, b, &o, SPRY_F64,
                  (ending){SPRY_VERDICT_NOT_SYMMETRIC, "0.25 at (9, 3), counted from 0, but nothing stored at (3, 9)",
                           1});
    d.a[3 * N + 9] = d.a[9 * N + 3] = 0.125;
    two.max_iterations = 2;
    spry_cg_result r =
        expect_ending(&d, b, &two, SPRY_F64, (ending){SPRY_VERDICT_ITERATION_LIMIT, "iteration limit", 0});
    assert_int_equal(r.iterations, 2);
    d.a[7 * N + 7] = -4;
    expect_ending(&d, b, &o, SPRY_F64, (ending){SPRY_VERDICT_NEGATIVE_CURVATURE, "negative curvature: p'Ap is -", 0});
    r = expect_ending(&d, b, &jacobi, SPRY_F64, (ending){SPRY_VERDICT_BAD_DIAGONAL, "entry (7, 7), counted from 0", 1});
    assert_int_equal(r.bad_row, 7);
    d.a[7 * N + 7] = 0;
    r = expect_ending(&d, b, &jacobi, SPRY_F64, (ending){SPRY_VERDICT_BAD_DIAGONAL, "bad diagonal", 1});
    dense_free(&d);
    dense zero = dense_make(N); /* p'Ap = 0 */
    expect_ending(&zero, b, &o, SPRY_F64, (ending){SPRY_VERDICT_NEGATIVE_CURVATURE, "p'Ap is 0 in iteration 1", 0});
    dense_free(&zero);
    /* f32 cannot reach a true residual of 1e-10; the recursive residual reaches it */
    d = definite(N, 0.01, 8);
    f32.tolerance = 1e-10;
    f32.max_iterations = 100000;
    r = expect_ending(&d, b, &f32, SPRY_F32, (ending){SPRY_VERDICT_STAGNATION, "stagnation after", 0});
    assert_true(r.residual < r.true_residual && r.true_residual > 1e-10 && r.true_residual < 1e-3);
    b[5] = INFINITY;
    expect_ending(&d, b, &o, SPRY_F64, (ending){SPRY_VERDICT_NOT_FINITE, "not finite", 0});
    b[5] = 1;
    d.a[5 * N + 5] = INFINITY;
    expect_ending(&d, b, &o, SPRY_F64, (ending){SPRY_VERDICT_NOT_FINITE, "the entry of A at (5, 5)", 1});
    dense_free(&d);
}

/* The residual rises for a while without stagnation. With little patience, the solver reports stagnation. */
static void patience(void **state)
{
    spry_matrix *A = generate_matrix(context, "laplace5,x=60,y=60,ay=0.001");
    static double b[3600], x[3600];
    for (int i = 0; i < 3600; i++) b[i] = 1;
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_error err = {0};
    expect_status(spry_cg(context, spry_vector_f64(x, 3600), &r, A, spry_const_vector_f64(b, 3600), &o, &err), &err,
                  SPRY_OK, "");
    assert_at_most(r.true_residual, 1e-8);
    o.patience = 1;
    expect_status(spry_cg(context, spry_vector_f64(x, 3600), &r, A, spry_const_vector_f64(b, 3600), &o, &err), &err,
                  SPRY_NOT_CONVERGED, "stagnation");
    assert_int_equal(r.verdict, SPRY_VERDICT_STAGNATION);
    spry_matrix_destroy(A);
}

static int64_t seen;
static int watch(void *user, int64_t iteration, double residual)
{
    assert_int_equal(iteration, seen + 1);
    assert_true(residual > 0);
    seen = iteration;
    return user && iteration == *(int64_t *)user;
}

static void guesses_observers_and_nothing(void **state)
{
    enum { N = 20 };
    dense d = definite(N, 1, 3);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    double b[N], x[N], exact[N], none[N] = {0};
    int64_t stop = 3;
    uint64_t seed = 6;
    for (int i = 0; i < N; i++) b[i] = uniform(&seed);
    dense_solve(&d, b, exact);
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_error err = {0};
    memcpy(x, exact, sizeof x);
    o.start = SPRY_START_X;
    expect_status(spry_cg(context, spry_vector_f64(x, N), &r, A, spry_const_vector_f64(b, N), &o, &err), &err, SPRY_OK,
                  "");
    assert_int_equal(r.iterations, 0);
    assert_memory_equal(x, exact, sizeof x);
    x[0] += 1;
    expect_status(spry_cg(context, spry_vector_f64(x, N), &r, A, spry_const_vector_f64(b, N), &o, &err), &err, SPRY_OK,
                  "");
    assert_true(r.iterations > 0);
    assert_at_most(fabs(x[0] - exact[0]), 1e-7);
    expect_status(spry_cg(context, spry_vector_f64(x, N), &r, A, spry_const_vector_f64(none, N), &o, &err), &err,
                  SPRY_OK, "");
    assert_memory_equal(x, none, sizeof x);
    assert_true(r.iterations == 0 && r.true_residual == 0);
    o.observe = watch;
    seen = 0;
    o.start = SPRY_START_DEFAULT;
    expect_status(spry_cg(context, spry_vector_f64(x, N), &r, A, spry_const_vector_f64(b, N), &o, &err), &err, SPRY_OK,
                  "");
    assert_int_equal(seen, r.iterations);
    o.observe_user = &stop;
    seen = 0;
    expect_status(spry_cg(context, spry_vector_f64(x, N), &r, A, spry_const_vector_f64(b, N), &o, &err), &err,
                  SPRY_NOT_CONVERGED, "stopped after 3 iterations");
    assert_int_equal(r.verdict, SPRY_VERDICT_STOPPED);
    spry_matrix_destroy(A);
    dense_free(&d);
    dense nothing = dense_make(0);
    A = sparse_of(context, &nothing, SPRY_CSR, SPRY_F64);
    expect_status(spry_cg(context, spry_vector_f64(x, 0), &r, A, spry_const_vector_f64(b, 0), NULL, &err), &err,
                  SPRY_OK, "");
    spry_matrix_destroy(A);
    dense_free(&nothing);
}

static void same_bits_for_any_threads(void **state)
{
    const int threads[] = {1, 2, 5};
    const int64_t n = 150 * 150; /* sums are computed over multiple blocks of a vector; the last block is shorter */
    for (int type = SPRY_F32; type <= SPRY_F64; type++)
        for (int precond = 0; precond < 2; precond++) {
            spry_vector x[3] = {{0}};
            spry_cg_result r[3];
            for (int t = 0; t < 3; t++) {
                spry_context *own = context_of(threads[t]);
                spry_matrix *A = NULL;
                spry_read_options as = SPRY_INIT(spry_read_options);
                as.value_type = (spry_type)type;
                assert_int_equal(spry_matrix_generate(own, &A, "laplace5,x=150,y=150", &as, NULL), SPRY_OK);
                spry_vector b = create_vector(own, n, (spry_type)type, 0);
                assert_int_equal(spry_vector_create(context, &x[t], n, (spry_type)type, 0, NULL), SPRY_OK);
                for (int64_t i = 0; i < n; i++)
                    if (type == SPRY_F32)
                        ((float *)b.data)[i] = (float)(i % 7);
                    else
                        ((double *)b.data)[i] = (double)(i % 7) / 3;
                spry_cg_options o = SPRY_INIT(spry_cg_options);
                r[t] = SPRY_INIT(spry_cg_result);
                spry_error err = {0};
                o.precond = (spry_precond)precond;
                o.tolerance = type == SPRY_F32 ? 3e-3 : 1e-8;
                expect_status(spry_cg(own, x[t], &r[t], A, spry_vector_as_const(b), &o, &err), &err, SPRY_OK, "");
                assert_memory_equal(x[t].data, x[0].data, (size_t)n * spry_type_bytes((spry_type)type));
                assert_true(r[t].residual == r[0].residual && r[t].true_residual == r[0].true_residual &&
                            r[t].iterations == r[0].iterations);
                spry_vector_destroy(own, &b);
                spry_matrix_destroy(A);
                spry_context_destroy(own);
            }
            for (int t = 0; t < 3; t++) spry_vector_destroy(context, &x[t]);
        }
}

static void bad_arguments(void **state)
{
    const int32_t ptr[] = {0, 1, 2}, columns[] = {0, 1};
    double values[] = {1, 1}, x[4] = {5, 5, 5, 5}, b[2] = {1, 1};
    spry_matrix *A = borrow_csr(context, 2, 2, ptr, columns, values);
    spry_matrix *wide = borrow_csr(context, 2, 3, ptr, columns, values);
    spry_vector v = spry_vector_f64(x, 2), w = spry_vector_f64(b, 2), other = w;
    spry_error err = {0};
    spry_cg_options o = SPRY_INIT(spry_cg_options), unset = {0};
    expect_status(spry_cg(NULL, v, NULL, A, spry_vector_as_const(w), NULL, &err), &err, SPRY_INVALID_ARGUMENT,
                  "context is NULL");
    expect_status(spry_cg(context, v, NULL, NULL, spry_vector_as_const(w), NULL, &err), &err, SPRY_INVALID_ARGUMENT,
                  "A is NULL");
    expect_status(spry_cg(context, v, NULL, A, spry_vector_as_const(w), &unset, &err), &err, SPRY_INVALID_ARGUMENT,
                  "struct_size");
    expect_status(spry_cg(context, v, NULL, wide, spry_vector_as_const(w), NULL, &err), &err, SPRY_INVALID_SIZE,
                  "2 x 3");
    other.length = 3;
    expect_status(spry_cg(context, v, NULL, A, spry_vector_as_const(other), NULL, &err), &err, SPRY_INVALID_SIZE,
                  "b has 3 elements");
    other = w;
    other.type = SPRY_F32;
    expect_status(spry_cg(context, v, NULL, A, spry_vector_as_const(other), NULL, &err), &err, SPRY_INVALID_ARGUMENT,
                  "b is f32");
    other = v;
    other.data = x + 1;
    expect_status(spry_cg(context, v, NULL, A, spry_vector_as_const(other), NULL, &err), &err, SPRY_INVALID_ARGUMENT,
                  "overlap");
    other.data = NULL;
    expect_status(spry_cg(context, other, NULL, A, spry_vector_as_const(w), NULL, &err), &err, SPRY_INVALID_ARGUMENT,
                  "x: data is NULL");
    o.tolerance = -2;
    expect_status(spry_cg(context, v, NULL, A, spry_vector_as_const(w), &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "tolerance is -2");
    o.tolerance = 0;
    o.max_iterations = -2;
    expect_status(spry_cg(context, v, NULL, A, spry_vector_as_const(w), &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "max_iterations is -2");
    o.max_iterations = 0;
    o.precond = (spry_precond)9;
    expect_status(spry_cg(context, v, NULL, A, spry_vector_as_const(w), &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "precond is 9");
    o.precond = SPRY_PRECOND_NONE;
    o.device = 999;
    expect_status(spry_cg(context, v, NULL, A, spry_vector_as_const(w), &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "device is 999");
    assert_true(x[0] == 5 && x[1] == 5);
    o.device = SPRY_DEVICE_DEFAULT;
    o.tolerance = SPRY_TOLERANCE_ZERO; /* x is exact for a diagonal of ones */
    expect_status(spry_cg(context, v, NULL, A, spry_vector_as_const(w), &o, &err), &err, SPRY_OK, "");
    assert_true(x[0] == 1 && x[1] == 1);
    expect_status(spry_cg(context, v, NULL, A, spry_vector_as_const(w), NULL, NULL), &err, SPRY_OK, "");
    assert_true(x[0] == 1 && x[1] == 1 && x[2] == 5);
    spry_matrix_destroy(A);
    spry_matrix_destroy(wide);
}

typedef struct system_of_11 {
    spry_matrix *A;
    double b[11];
} system_of_11;

static spry_status solve_with_jacobi(spry_context *own, const void *input, spry_error *err)
{
    const system_of_11 *s = input;
    double x[11];
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    o.precond = SPRY_PRECOND_JACOBI;
    return spry_cg(own, spry_vector_f64(x, 11), NULL, s->A, spry_const_vector_f64(s->b, 11), &o, err);
}

static void every_allocation_refused(void **state)
{
    dense d = definite(11, 1, 5);
    system_of_11 s = {.A = sparse_of(context, &d, SPRY_CSC, SPRY_F64)};
    for (int i = 0; i < 11; i++) s.b[i] = i;
    assert_true(fail_every_allocation(solve_with_jacobi, &s, 2) > 0);
    spry_matrix_destroy(s.A);
    dense_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_a_direct_solution),
        cmocka_unit_test(iterates_of_the_book),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(patience),
        cmocka_unit_test(guesses_observers_and_nothing),
        cmocka_unit_test(same_bits_for_any_threads),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(every_allocation_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
