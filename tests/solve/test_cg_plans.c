/* Conjugate Gradient: preconditioners, plans, multiple right-hand sides, callbacks, f32 iterations for f64 systems. */
#include "spry/matrix.h"
#include "spry/solve.h"
#include "support.h"

enum { N = 45 };
/* Returns a symmetric positive definite matrix. Entries in diagonal blocks of three rows are the largest. */
static dense blocky(uint64_t seed)
{
    dense d = dense_make(N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            const int same = i / 3 == j / 3, near = i / 3 - j / 3 <= 2;
            d.a[i * N + j] = d.a[j * N + i] = near ? (same ? 3 : 0.2) * (uniform(&seed) - 0.5) : 0;
        }
    for (int i = 0; i < N; i++) {
        double sum = 0.05;
        for (int j = 0; j < N; j++) sum += fabs(d.a[i * N + j]);
        d.a[i * N + i] = sum * (1 + i % 7);
    }
    return d;
}

static void put_right_sides(double *b, int count)
{
    uint64_t seed = 5;
    for (int i = 0; i < N * count; i++) b[i] = uniform(&seed) - 0.5;
}

static spry_const_vector constant(double *data, int64_t length)
{
    return spry_vector_as_const(spry_vector_f64(data, length));
}

static spry_vector columns_of(double *data, int64_t count, int64_t stride)
{
    spry_vector v = spry_vector_f64(data, N);
    v.count = count;
    v.column_stride = stride;
    return v;
}

static void every_preconditioner_solves(void **state)
{
    double b[N], exact[N], x[N];
    dense d = blocky(1);
    put_right_sides(b, 1);
    dense_solve(&d, b, exact);
    for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++)
        for (int precond = 0; precond <= SPRY_PRECOND_CHEBYSHEV; precond++)
            for (int64_t size = 1; size <= 32; size = size < 7 ? size + 1 : size + 9) {
                spry_matrix *A = sparse_of(context, &d, (spry_layout)layout, SPRY_F64);
                spry_cg_options o = SPRY_INIT(spry_cg_options);
                spry_cg_result r = SPRY_INIT(spry_cg_result);
                spry_error err = {0};
                spry_vector v = spry_vector_f64(x, N);
                o.precond = (spry_precond)precond;
                o.block_size = o.degree = size;
                o.tolerance = 1e-14;
                expect_status(spry_cg(context, v, &r, A, constant(b, N), &o, &err), &err, SPRY_OK, "");
                assert_at_most(distance(&v, exact), 1e-12);
                assert_int_equal(r.converged, 1);
                spry_matrix_destroy(A);
            }
    dense_free(&d);
}

static int64_t iterations_of(const spry_matrix *A, int64_t n, spry_cg_options o)
{
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_error err = {0};
    spry_vector b = create_vector(context, n, SPRY_F64, 0);
    spry_vector x = create_vector(context, n, SPRY_F64, 0);
    uint64_t seed = 3;
    for (int64_t i = 0; i < n; i++) ((double *)b.data)[i] = uniform(&seed) - 0.5;
    expect_status(spry_cg(context, x, &r, A, spry_vector_as_const(b), &o, &err), &err, SPRY_OK, "");
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &x);
    return r.iterations;
}

/*
 * Preconditioners reduce the number of iterations. largest_eigenvalue is an estimate for A scaled by jacobi. The
 * eigenvalues of this matrix are between 0 and 2.
 */
static void preconditioners_save_iterations(void **state)
{
    spry_matrix *A = generate_matrix(context, "laplace7,x=16,y=16,z=16");
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    o.precond = SPRY_PRECOND_JACOBI;
    const int64_t n = spry_matrix_rows(A), jacobi = iterations_of(A, n, o);
    o.precond = SPRY_PRECOND_BLOCK_JACOBI;
    assert_in_range(iterations_of(A, n, o), jacobi / 2, jacobi - 3);
    o.precond = SPRY_PRECOND_CHEBYSHEV;
    for (o.degree = 2; o.degree < 9; o.degree += 3) {
        const int64_t products = iterations_of(A, n, o) * (1 + o.degree);
        assert_in_range(products, jacobi * 9 / 10, jacobi * 2);
    }
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_vector b = create_vector(context, n, SPRY_F64, 0);
    spry_vector x = create_vector(context, n, SPRY_F64, 0);
    ((double *)b.data)[0] = 1;
    assert_int_equal(spry_cg(context, x, &r, A, spry_vector_as_const(b), &o, NULL), SPRY_OK);
    assert_true(r.largest_eigenvalue > 1.9 && r.largest_eigenvalue < 2.3);
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &x);
    spry_matrix_destroy(A);
}

/* A plan outlives the matrix's handle. Its runs accept new right-hand sides, new values and other stopping criteria. */
static void a_plan_runs_again(void **state)
{
    for (int precond = 0; precond <= SPRY_PRECOND_CHEBYSHEV; precond++) {
        double b[N], exact[N], x[N];
        dense d = blocky(2);
        spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
        spry_cg_options o = SPRY_INIT(spry_cg_options);
        spry_cg_run_options now = SPRY_INIT(spry_cg_run_options);
        spry_cg_plan *plan = NULL;
        spry_cg_result r = SPRY_INIT(spry_cg_result);
        spry_error err = {0};
        spry_vector v = spry_vector_f64(x, N);
        double *values = NULL;
        o.precond = (spry_precond)precond;
        o.tolerance = 1e-13;
        expect_status(spry_cg_plan_create(context, &plan, &r, A, &o, &err), &err, SPRY_OK, "");
        assert_int_equal(r.verdict, SPRY_VERDICT_NONE);
        assert_true(r.setup_us > 0);
        for (int pass = 0; pass < 4; pass++) {
            put_right_sides(b, 1);
            b[pass] = 3;
            if (pass == 3) { /* doubles the matrix */
                assert_int_equal(spry_matrix_get_values(A, (void **)&values, NULL), SPRY_OK);
                for (int64_t k = 0; k < spry_matrix_nnz(A); k++) values[k] *= 2;
                for (int i = 0; i < N * N; i++) d.a[i] *= 2;
                expect_status(precond % 2 == 0 ? spry_cg_plan_update(plan, NULL, &err)
                                               : spry_matrix_values_changed(A, NULL, &err),
                              &err, SPRY_OK, "");
            }
            dense_solve(&d, b, exact);
            expect_status(spry_cg_plan_run(plan, v, &r, constant(b, N), NULL, &err), &err, SPRY_OK, "");
            assert_at_most(distance(&v, exact), 1e-11);
            assert_true(r.setup_us == 0);
        }
        now.max_iterations = 2;
        expect_status(spry_cg_plan_run(plan, v, &r, constant(b, N), &now, &err), &err, SPRY_NOT_CONVERGED,
                      "iteration limit after 2");
        for (int scaled = 0; scaled < 2; scaled++) { /* the second pass has a plan whose matrix is scaled */
            const double entry = values[1];
            values[1] *= 2; /* no longer symmetric */
            expect_status(spry_cg_plan_update(plan, &r, &err), &err, SPRY_NOT_CONVERGED, "not symmetric");
            assert_int_equal(r.verdict, SPRY_VERDICT_NOT_SYMMETRIC);
            expect_status(spry_cg_plan_run(plan, v, &r, constant(b, N), NULL, &err), &err, SPRY_INVALID_ARGUMENT,
                          "last update of the plan failed");
            values[1] = entry;
            for (int64_t k = 0; k < spry_matrix_nnz(A) && !scaled; k++) values[k] *= 0x1p-600;
            expect_status(spry_cg_plan_update(plan, &r, &err), &err, SPRY_OK, "");
            expect_status(spry_cg_plan_run(plan, v, &r, constant(b, N), NULL, &err), &err, SPRY_OK, "");
        }
        spry_matrix_destroy(A);
        spry_cg_plan_destroy(plan);
        dense_free(&d);
    }
}

static void refuse_plan(const spry_matrix *A, spry_cg_options o, spry_status wanted, const char *text)
{
    spry_cg_plan *const before = (spry_cg_plan *)&o, *plan = before;
    spry_error err = {0};
    expect_status(spry_cg_plan_create(context, &plan, NULL, A, &o, &err), &err, wanted, text);
    assert_ptr_equal(plan, before);
}

static void bad_options(void **state)
{
    dense d = blocky(3);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64), *F = sparse_of(context, &d, SPRY_CSR, SPRY_F32);
    spry_cg_options o = SPRY_INIT(spry_cg_options), p;
#define REFUSE(member, given, text)                                                                                    \
    do {                                                                                                               \
        p = o;                                                                                                         \
        p.member = given;                                                                                              \
        refuse_plan(A, p, SPRY_INVALID_ARGUMENT, text);                                                                \
    } while (0)
    REFUSE(precond, (spry_precond)5, "precond is 5, expected SPRY_PRECOND_NONE (0), ");
    REFUSE(precond, SPRY_PRECOND_CALLBACK, "precondition is NULL");
    REFUSE(block_size, 33, "block_size is 33, expected 1 to 32");
    REFUSE(block_size, -1, "block_size is -1");
    REFUSE(degree, 65, "degree is 65");
    REFUSE(eigenvalue_ratio, 1, "eigenvalue_ratio is 1");
    REFUSE(eigenvalue_ratio, NAN, "eigenvalue_ratio");
    REFUSE(absolute_tolerance, -2, "absolute_tolerance is -2");
    REFUSE(absolute_tolerance, INFINITY, "absolute_tolerance is inf");
    REFUSE(precision, (spry_precision)3, "precision is 3, expected SPRY_PRECISION_FULL (0), ");
    REFUSE(start, (spry_start)3, "start is 3, expected SPRY_START_DEFAULT (0), ");
    REFUSE(count, -2, "count is -2");
    REFUSE(max_iterations, -1, "max_iterations is -1");
#undef REFUSE
    p = o;
    p.precision = SPRY_PRECISION_F32;
    refuse_plan(F, p, SPRY_INVALID_ARGUMENT, "the system is f32, expected f64");
    double data[3 * N] = {0};
    spry_cg_plan *plan = NULL;
    spry_error err = {0};
    p = o;
    p.count = 2;
    assert_int_equal(spry_cg_plan_create(context, &plan, NULL, A, &p, NULL), SPRY_OK);
    spry_vector three = columns_of(data, 3, N), two = columns_of(data, 2, N), near = columns_of(data, 2, N - 1);
    expect_status(spry_cg_plan_run(plan, three, NULL, spry_vector_as_const(three), NULL, &err), &err, SPRY_INVALID_SIZE,
                  "at most 2");
    expect_status(spry_cg_plan_run(plan, two, NULL, constant(data, N), NULL, &err), &err, SPRY_INVALID_SIZE,
                  "b has 1 vectors, x has 2");
    expect_status(spry_cg_plan_run(plan, near, NULL, spry_vector_as_const(near), NULL, &err), &err, SPRY_INVALID_SIZE,
                  "column_stride 44");
    spry_vector far = two;
    far.column_stride = INT64_MAX / 2;
    expect_status(spry_cg_plan_run(plan, far, NULL, spry_vector_as_const(two), NULL, &err), &err, SPRY_INVALID_SIZE,
                  "column_stride is 4611686018427387903, expected 1 or more, within memory");
    expect_status(spry_cg_plan_run(plan, two, NULL, spry_vector_as_const(two), NULL, &err), &err, SPRY_INVALID_ARGUMENT,
                  "overlap");
    expect_status(spry_cg_plan_run(NULL, two, NULL, spry_vector_as_const(two), NULL, &err), &err, SPRY_INVALID_ARGUMENT,
                  "plan is NULL");
    spry_cg_plan_destroy(plan);
    spry_cg_plan_destroy(NULL);
    d.a[7 * N + 7] = -1; /* a singular block */
    spry_matrix *B = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    p = o;
    p.precond = SPRY_PRECOND_BLOCK_JACOBI;
    refuse_plan(B, p, SPRY_NOT_CONVERGED, "begins with row 6, counted from 0");
    spry_matrix_destroy(A);
    spry_matrix_destroy(B);
    spry_matrix_destroy(F);
    dense_free(&d);
}

/* Runs stop at the relative tolerance, at the absolute tolerance, or at the larger of the two. */
static void stops(void **state)
{
    spry_vector x = {0};
    spry_matrix *A = generate_matrix(context, "laplace5,x=30,y=30");
    spry_vector b = create_vector(context, 900, SPRY_F64, 0);
    x = create_vector(context, 900, SPRY_F64, 0);
    const double scales[] = {1, 0x1p-700, 0x1p700};
    for (int s = 0; s < 3; s++)
        for (int kind = 0; kind < 3; kind++) {
            spry_cg_options o = SPRY_INIT(spry_cg_options);
            spry_cg_result r = SPRY_INIT(spry_cg_result);
            spry_error err = {0};
            for (int i = 0; i < 900; i++) ((double *)b.data)[i] = scales[s]; /* the norm of b is 30 * scales[s] */
            o.tolerance = kind == 1 ? SPRY_TOLERANCE_ZERO : 1e-4;
            o.absolute_tolerance = kind == 0 ? 0 : kind == 1 ? 3e-5 * scales[s] : 3e-1 * scales[s];
            expect_status(spry_cg(context, x, &r, A, spry_vector_as_const(b), &o, &err), &err, SPRY_OK, "");
            const double goal = kind == 0 ? 1e-4 : kind == 1 ? 1e-6 : 1e-2;
            assert_true(r.true_residual <= goal && r.residual > goal / 30);
        }
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &x);
    spry_matrix_destroy(A);
}

/*
 * Columns solved together equal columns solved separately, even if some columns have extreme values. Gaps between
 * columns are not written.
 */
static void multiple_right_sides(void **state)
{
    enum { COLUMNS = 6, STRIDE = N + 2 };
    for (int precond = 0; precond <= SPRY_PRECOND_CHEBYSHEV; precond++)
        for (int inside = 0; inside <= SPRY_PRECISION_F32; inside++) {
            dense d = blocky(4);
            double b[COLUMNS * STRIDE], x[COLUMNS * STRIDE], exact[N];
            spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
            spry_cg_options o = SPRY_INIT(spry_cg_options);
            spry_cg_result r = SPRY_INIT(spry_cg_result);
            spry_error err = {0};
            put_right_sides(b, 1);
            for (int c = 1; c < COLUMNS; c++)
                for (int i = 0; i < STRIDE; i++) b[c * STRIDE + i] = c == 2 ? 0 : b[(i * c) % N];
            for (int i = 0; i < STRIDE; i++) b[3 * STRIDE + i] *= 0x1p-900;
            for (int i = 0; i < COLUMNS * STRIDE; i++) x[i] = 77;
            spry_vector xs = columns_of(x, COLUMNS, STRIDE), bs = columns_of(b, COLUMNS, STRIDE);
            o.precond = (spry_precond)precond;
            o.precision = (spry_precision)inside;
            o.tolerance = 1e-13;
            expect_status(spry_cg(context, xs, &r, A, spry_vector_as_const(bs), &o, &err), &err, SPRY_OK, "");
            assert_int_equal(r.converged, COLUMNS);
            for (int c = 0; c < COLUMNS; c++) {
                double *xc = x + c * STRIDE, *bc = b + c * STRIDE;
                spry_vector v = spry_vector_f64(xc, N);
                if (c == 3)
                    for (int i = 0; i < N; i++) xc[i] *= 0x1p900, bc[i] *= 0x1p900;
                dense_solve(&d, bc, exact);
                assert_at_most(distance(&v, exact), 1e-11);
                if (c + 1 < COLUMNS) assert_true(xc[N] == 77 && xc[N + 1] == 77);
            }
            spry_matrix_destroy(A);
            dense_free(&d);
        }
}

/* Solves with two entries of A at one position. f32 holds each of the two values exactly, but not their sum. */
static void duplicates_that_f32_does_not_hold(void **state)
{
    const int32_t offsets[] = {0, 2, 3}, columns[] = {0, 0, 1};
    const double values[] = {1, 0x1p-25, 1};
    for (int inside = 0; inside <= SPRY_PRECISION_F32; inside++)
        for (int zero = 0; zero < 2; zero++) { /* 1: b = 0, and x is a first guess */
            double x[2] = {3, 4}, b[2] = {1, 1};
            spry_cg_options o = SPRY_INIT(spry_cg_options);
            spry_error err = {0};
            spry_matrix *A = borrow_csr(context, 2, 2, offsets, columns, values);
            o.precision = (spry_precision)inside;
            o.tolerance = zero ? SPRY_TOLERANCE_ZERO : 1e-14;
            o.start = zero ? SPRY_START_X : SPRY_START_DEFAULT;
            if (zero) b[0] = b[1] = 0;
            expect_status(spry_cg(context, spry_vector_f64(x, 2), NULL, A, constant(b, 2), &o, &err), &err, SPRY_OK,
                          "");
            assert_at_most(fabs(b[0] - (1 + 0x1p-25) * x[0]) + fabs(b[1] - x[1]), 2e-14);
            spry_matrix_destroy(A);
        }
}

/* The error reports the column that fails. The other columns are solved. */
static void a_column_that_fails(void **state)
{
    dense d = blocky(5);
    double b[3 * N], x[3 * N], exact[N];
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_error err = {0};
    put_right_sides(b, 3);
    b[N + 4] = NAN;
    spry_vector xs = columns_of(x, 3, N), bs = columns_of(b, 3, 0);
    expect_status(spry_cg(context, xs, &r, A, spry_vector_as_const(bs), NULL, &err), &err, SPRY_NOT_CONVERGED,
                  "not finite");
    assert_int_equal(r.vector, 1);
    assert_int_equal(r.converged, 2);
    assert_int_equal(r.verdict, SPRY_VERDICT_NOT_FINITE);
    for (int c = 0; c < 3; c += 2) {
        spry_vector v = spry_vector_f64(x + c * N, N);
        dense_solve(&d, b + c * N, exact);
        assert_at_most(distance(&v, exact), 1e-6);
    }
    spry_matrix_destroy(A);
    dense_free(&d);
}

/* ---- any scale, and f32 inside -------------------------------------------------------------------- */

static void any_scale_and_f32_inside(void **state)
{
    spry_matrix *A = generate_matrix(context, "laplace5,x=30,y=30");
    spry_arrays a = arrays_of(A);
    for (int64_t k = 0; k < a.nnz; k++) ((double *)(uintptr_t)a.values)[k] *= 1.1; /* not an f32 value */
    const double scales[] = {1, 0x1p-900, 0x1p-130, 0x1p130, 0x1p900};
    for (int s = 0; s < 10; s++)
        for (int precond = 0; precond <= SPRY_PRECOND_CHEBYSHEV; precond++)
            for (int inside = 0; inside <= SPRY_PRECISION_F32; inside++) {
                spry_matrix_options copy = SPRY_INIT(spry_matrix_options);
                double *values = NULL, b[900], x[900];
                const double of_A = s < 5 ? 1 : scales[s - 5], of_b = s < 5 ? scales[s] : 1;
                spry_cg_options o = SPRY_INIT(spry_cg_options);
                spry_cg_result r = SPRY_INIT(spry_cg_result);
                spry_error err = {0};
                spry_matrix *B = convert_matrix(context, A, &copy);
                assert_int_equal(spry_matrix_get_values(B, (void **)&values, NULL), SPRY_OK);
                for (int64_t k = 0; k < a.nnz; k++) values[k] *= of_A;
                for (int i = 0; i < 900; i++) b[i] = of_b * (1 + 0.01 * (i % 13));
                o.precond = (spry_precond)precond;
                o.precision = (spry_precision)inside;
                o.tolerance = 1e-12;
                spry_status status = spry_cg(context, spry_vector_f64(x, 900), &r, B, constant(b, 900), &o, &err);
                expect_status(status, &err, SPRY_OK, "");
                assert_true(r.true_residual <= 1e-12 && r.restarts == 0 && (r.replacements > 3) == (inside > 0));
                spry_matrix_destroy(B);
            }
    spry_matrix_destroy(A);
}

/* ---- callbacks ------------------------------------------------------------------------------------ */

typedef struct caller {
    const spry_spmv_plan *plan;
    int64_t calls, fails_at;
    double factor;
    bool notes; /* writes an error and succeeds */
} caller;

static spry_status multiply(void *user, spry_vector y, spry_const_vector x, void *stream, spry_error *err)
{
    caller *c = user;
    assert_non_null(err);
    if (++c->calls == c->fails_at) return SPRY_DEVICE_FAILED;
    if (c->notes) snprintf(err->message, sizeof err->message, "handled by the callback");
    if (c->plan) return spry_spmv_plan_run(c->plan, y, NULL, x, NULL, NULL, err);
    for (int64_t k = 0; k < y.count; k++)
        for (int64_t i = 0; i < y.length; i++)
            ((double *)y.data)[k * y.column_stride + i] = c->factor * ((const double *)x.data)[k * x.column_stride + i];
    return SPRY_OK;
}

static spry_operator operator_of(caller *c)
{
    spry_operator op = SPRY_INIT(spry_operator);
    op.n = N;
    op.type = SPRY_F64;
    op.apply = multiply;
    op.user = c;
    return op;
}

static void operators(void **state)
{
    dense d = blocky(6);
    double b[2 * N], x[2 * N], same[2 * N];
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    spry_spmv_options po = SPRY_INIT(spry_spmv_options);
    spry_error err = {0};
    po.format = "csr";
    spry_spmv_plan *plan = create_plan(context, A, &po);
    put_right_sides(b, 2);
    caller c = {.plan = plan};
    spry_operator op = operator_of(&c);
    spry_cg_options o = SPRY_INIT(spry_cg_options), with_format = o;
    with_format.format = "csr";
    spry_cg_result r = SPRY_INIT(spry_cg_result), reported = r;
    spry_vector xs = columns_of(x, 1, N), bs = columns_of(b, 1, N), others = columns_of(same, 1, N);
    expect_status(solve_by_products(context, xs, &r, &op, spry_vector_as_const(bs), &o, &err), &err, SPRY_OK, "");
    expect_status(spry_cg(context, others, &reported, A, spry_vector_as_const(bs), &with_format, &err), &err, SPRY_OK,
                  "");
    assert_memory_equal(x, same, N * sizeof(double));
    spry_error kept = {.status = SPRY_UNKNOWN_NAME, .message = "an earlier error", .value = 42}, before = kept;
    c.notes = true;
    assert_int_equal(solve_by_products(context, xs, &r, &op, spry_vector_as_const(bs), &o, &kept), SPRY_OK);
    assert_memory_equal(&kept, &before, sizeof kept); /* a call that succeeds does not change the error */
    c.calls = c.calls / 2;
    c.notes = false;
    assert_int_equal(c.calls, r.iterations + 1); /* plus one product for the true residual */
    assert_string_equal(r.format, "");
    xs.count = bs.count = 2;
    expect_status(solve_by_products(context, xs, &r, &op, spry_vector_as_const(bs), &o, &err), &err, SPRY_OK, "");
    assert_int_equal(r.converged, 2);
    for (c.fails_at = 1; c.fails_at < 6; c.fails_at++) {
        c.calls = 0;
        expect_status(solve_by_products(context, xs, &r, &op, spry_vector_as_const(bs), &o, &err), &err,
                      SPRY_DEVICE_FAILED, "apply has returned the status");
        assert_int_equal(c.calls, c.fails_at);
    }
    spry_cg_plan *of_products = NULL;
    spry_cg_options given = o;
    given.products = &op;
    expect_status(spry_cg_plan_create(context, &of_products, NULL, NULL, &given, &err), &err, SPRY_OK, "");
    expect_status(spry_cg_plan_update(of_products, NULL, &err), &err, SPRY_OK, ""); /* needs no update */
    spry_cg_plan_destroy(of_products);
    c = (caller){.factor = -2};
    expect_status(solve_by_products(context, xs, &r, &op, spry_vector_as_const(bs), &o, &err), &err, SPRY_NOT_CONVERGED,
                  "negative curvature");
    o.precond = SPRY_PRECOND_JACOBI;
    expect_status(solve_by_products(context, xs, &r, &op, spry_vector_as_const(bs), &o, &err), &err,
                  SPRY_INVALID_ARGUMENT, "options.products does not have");
    o.precond = SPRY_PRECOND_NONE;
    expect_status(solve_by_products(context, xs, &r, &op, spry_vector_as_const(bs), &with_format, &err), &err,
                  SPRY_INVALID_ARGUMENT, "format and kernel need the entries of A");
    op.type = SPRY_BF16;
    expect_status(solve_by_products(context, xs, &r, &op, spry_vector_as_const(bs), &o, &err), &err,
                  SPRY_INVALID_ARGUMENT, "expected f32 or f64");
    op = operator_of(&c);
    op.n = INT64_MAX;
    expect_status(solve_by_products(context, xs, &r, &op, spry_vector_as_const(bs), &o, &err), &err, SPRY_TOO_LARGE,
                  "expected at most");
    op = operator_of(&c);
    op.apply = NULL;
    expect_status(solve_by_products(context, xs, &r, &op, spry_vector_as_const(bs), &o, &err), &err,
                  SPRY_INVALID_ARGUMENT, "apply is NULL");
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    dense_free(&d);
}

static void preconditioners_of_the_caller(void **state)
{
    dense d = blocky(7), inverse = dense_make(N);
    double b[N], x[N], unit[N] = {0}, column[N];
    for (int j = 0; j < N; j++) {
        unit[j] = 1;
        dense_solve(&d, unit, column);
        unit[j] = 0;
        for (int i = 0; i < N; i++) inverse.a[i * N + j] = column[i];
    }
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64), *M = sparse_of(context, &inverse, SPRY_CSR, SPRY_F64);
    spry_error err = {0};
    spry_spmv_plan *plan = create_plan(context, M, NULL);
    put_right_sides(b, 1);
    caller c = {.plan = plan};
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_vector v = spry_vector_f64(x, N);
    o.precond = SPRY_PRECOND_CALLBACK;
    o.precondition = multiply;
    o.precondition_user = &c;
    expect_status(spry_cg(context, v, &r, A, constant(b, N), &o, &err), &err, SPRY_OK, "");
    assert_in_range(r.iterations, 1, 2); /* M is the inverse */
    c = (caller){.plan = plan, .fails_at = 1};
    expect_status(spry_cg(context, v, &r, A, constant(b, N), &o, &err), &err, SPRY_DEVICE_FAILED,
                  "preconditioner's callback");
    c = (caller){.factor = -1};
    expect_status(spry_cg(context, v, &r, A, constant(b, N), &o, &err), &err, SPRY_NOT_CONVERGED,
                  "bad preconditioner: r'Mr is -");
    assert_int_equal(r.verdict, SPRY_VERDICT_BAD_PRECONDITIONER);
    c = (caller){.factor = NAN};
    expect_status(spry_cg(context, v, &r, A, constant(b, N), &o, &err), &err, SPRY_NOT_CONVERGED, "not finite");
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    spry_matrix_destroy(M);
    dense_free(&d);
    dense_free(&inverse);
}

static void the_same_bits_for_any_threads(void **state)
{
    for (int precond = 0; precond <= SPRY_PRECOND_CHEBYSHEV; precond++)
        for (int inside = SAMPLED && precond % 2; inside <= SPRY_PRECISION_F32; inside += 1 + SAMPLED) {
            enum { n = 20 * 20 * 60 };
            static double first[n], x[n], b[n];
            for (int threads = 1; threads <= 4; threads += SAMPLED ? 2 : 1) {
                spry_context *own = context_of(threads);
                spry_cg_options o = SPRY_INIT(spry_cg_options);
                spry_error err = {0};
                spry_matrix *A = generate_matrix(own, "laplace7,x=20,y=20,z=60");
                for (int i = 0; i < n; i++) b[i] = i % 19 - 7;
                o.precond = (spry_precond)precond;
                o.precision = (spry_precision)inside;
                expect_status(spry_cg(own, spry_vector_f64(x, n), NULL, A, constant(b, n), &o, &err), &err, SPRY_OK,
                              "");
                if (threads == 1) memcpy(first, x, sizeof x);
                assert_memory_equal(first, x, sizeof x);
                spry_matrix_destroy(A);
                spry_context_destroy(own);
            }
        }
}

typedef struct planned {
    spry_matrix *A;
    int kind;
} planned;

static spry_status plan_and_solve(spry_context *own, const void *input, spry_error *err)
{
    const planned *p = input;
    double b[2 * N], x[2 * N];
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_plan *plan = NULL;
    put_right_sides(b, 2);
    o.precond = (spry_precond)p->kind;
    o.precision = p->kind == 1 ? SPRY_PRECISION_F32 : SPRY_PRECISION_FULL;
    o.count = p->kind == 3 ? 2 : 1;
    spry_vector xs = columns_of(x, o.count, N), bs = columns_of(b, o.count, N);
    spry_status status = spry_cg_plan_create(own, &plan, NULL, p->A, &o, err);
    if (status == SPRY_OK) status = spry_cg_plan_run(plan, xs, NULL, spry_vector_as_const(bs), NULL, err);
    spry_cg_plan_destroy(plan);
    return status;
}

/* Leaves no memory if an allocation fails at any point. */
static void memory_runs_out(void **state)
{
    dense d = blocky(8);
    planned p = {.A = sparse_of(context, &d, SPRY_CSR, SPRY_F64)};
    for (p.kind = 0; p.kind < 4; p.kind++) assert_true(fail_every_allocation(plan_and_solve, &p, 1) > 0);
    spry_matrix_destroy(p.A);
    dense_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preconditioner_solves),
        cmocka_unit_test(preconditioners_save_iterations),
        cmocka_unit_test(a_plan_runs_again),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(stops),
        cmocka_unit_test(multiple_right_sides),
        cmocka_unit_test(a_column_that_fails),
        cmocka_unit_test(duplicates_that_f32_does_not_hold),
        cmocka_unit_test(any_scale_and_f32_inside),
        cmocka_unit_test(operators),
        cmocka_unit_test(preconditioners_of_the_caller),
        cmocka_unit_test(the_same_bits_for_any_threads),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
