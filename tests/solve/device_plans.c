/* Plans of CG on a GPU: repeated runs, multiple columns, iterations in f32 for f64 systems, callbacks. */
#include "device_tests.h"
#include "spry/cuda.h"
#include "spry/solve.h"

enum { X = 40, Y = 35, N = X * Y };

static const char SPEC[] = "laplace5,x=40,y=35";

static void expect_solution(const spry_matrix *A, const spry_vector *b, const spry_vector *x, double tolerance)
{
    double weight, residual = residual_of(A, b, x, &weight);
    assert_at_most(residual, tolerance + 16 * 0x1p-52 * weight);
}

static spry_vector column(const spry_vector *v, int64_t c)
{
    return spry_vector_f64((double *)v->data + c * v->column_stride, v->length);
}

/* Returns a copy of v in device memory. The caller destroys the copy. */
static spry_vector on_device(const spry_vector *v)
{
    const int64_t bytes = v->length * (int64_t)sizeof(double);
    spry_vector made = create_vector(tested_context, v->length, SPRY_F64, 1);
    assert_int_equal(spry_device_copy(tested_context, made.data, 1, v->data, 0, bytes, NULL, NULL), SPRY_OK);
    assert_int_equal(spry_device_synchronize(tested_context, 1, NULL, NULL), SPRY_OK);
    return made;
}

void cg_plans_run_again(void **state)
{
    for (int precond = 0; precond <= SPRY_PRECOND_CHEBYSHEV; precond++) {
        spry_matrix *A = generated(SPEC, SPRY_F64);
        spry_vector b = right_side(N, SPRY_F64), x = new_vector(N, SPRY_F64), y = new_vector(N, SPRY_F64);
        spry_vector far_b = on_device(&b), far_x = on_device(&b);
        spry_cg_options o = on_gpu();
        spry_cg_run_options first = SPRY_INIT(spry_cg_run_options);
        spry_cg_plan *plan = NULL;
        spry_cg_result r = SPRY_INIT(spry_cg_result), again = r;
        spry_error err = {0};
        o.precond = (spry_precond)precond;
        first.max_iterations = 3;
        expect_status(spry_cg_plan_create(tested_context, &plan, &r, A, &o, &err), &err, SPRY_OK, "");
        observed.seen = 0;
        expect_status(spry_cg_plan_run(plan, x, &r, spry_vector_as_const(b), NULL, &err), &err, SPRY_OK, "");
        expect_solution(A, &b, &x, 1e-8);
        observed.seen = 0;
        expect_status(spry_cg_plan_run(plan, y, &again, spry_vector_as_const(b), &first, &err), &err,
                      SPRY_NOT_CONVERGED, "iteration limit");
        assert_int_equal(again.iterations, 3);
        observed.seen = 0;
        expect_status(spry_cg_plan_run(plan, far_x, &again, spry_vector_as_const(far_b), NULL, &err), &err, SPRY_OK,
                      "");
        download(y.data, &far_x);
        assert_memory_equal(x.data, y.data, N * sizeof(double));
        assert_int_equal(again.iterations, r.iterations);
        observed.seen = 0;
        first.max_iterations = 0;
        first.start = SPRY_START_X; /* x is the solution: no iteration is needed */
        expect_status(spry_cg_plan_run(plan, far_x, &again, spry_vector_as_const(b), &first, &err), &err, SPRY_OK, "");
        assert_int_equal(again.iterations, 0);
        expect_status(spry_cg_plan_update(plan, &again, &err), &err, SPRY_OK, "");
        observed.seen = 0;
        expect_status(spry_cg_plan_run(plan, y, &again, spry_vector_as_const(b), NULL, &err), &err, SPRY_OK, "");
        assert_memory_equal(x.data, y.data, N * sizeof(double));
        spry_cg_plan_destroy(plan);
        spry_vector *vectors[] = {&b, &x, &y, &far_b, &far_x};
        for (int v = 0; v < 5; v++) spry_vector_destroy(tested_context, vectors[v]);
        spry_matrix_destroy(A);
    }
}

/* Solves columns with different numbers of iterations. One column is zero, one needs scaling, one is not finite. */
void cg_columns_side_by_side(void **state)
{
    enum { COLUMNS = 5, STRIDE = N + 3 };
    for (int precond = 0; precond <= SPRY_PRECOND_CHEBYSHEV; precond++)
        for (int bad = 0; bad < 2; bad++) {
            spry_matrix *A = generated(SPEC, SPRY_F64);
            spry_vector b = new_vector(COLUMNS * STRIDE, SPRY_F64), x = new_vector(COLUMNS * N, SPRY_F64);
            spry_cg_options o = on_gpu();
            spry_cg_result r = SPRY_INIT(spry_cg_result);
            spry_error err = {0};
            b.length = x.length = x.column_stride = N;
            b.count = x.count = COLUMNS;
            b.column_stride = STRIDE;
            for (int64_t i = 0; i < N; i++) {
                double *at = (double *)b.data + i;
                at[0] = 1;
                at[STRIDE] = (double)(i * 13 % 17) - 5;
                at[2 * STRIDE] = 0;
                at[3 * STRIDE] = (double)(i % 3) * 0x1p-800;
                at[4 * STRIDE] = bad && i == 7 ? INFINITY : i == 0;
            }
            o.precond = (spry_precond)precond;
            o.kernel = NULL;
            o.format = "csr";
            o.observe = NULL;
            const spry_status status = spry_cg(tested_context, x, &r, A, spry_vector_as_const(b), &o, &err);
            expect_status(status, &err, bad ? SPRY_NOT_CONVERGED : SPRY_OK, bad ? "not finite" : "");
            assert_int_equal(r.converged, COLUMNS - bad);
            assert_int_equal(bad ? r.vector : 4, 4);
            for (int64_t c = 0; c < COLUMNS - bad; c++) {
                spry_vector xc = column(&x, c), bc = column(&b, c);
                if (c == 3)
                    for (int64_t i = 0; i < N; i++) {
                        ((double *)xc.data)[i] *= 0x1p800;
                        ((double *)bc.data)[i] *= 0x1p800;
                    }
                if (c != 2) expect_solution(A, &bc, &xc, 1e-8);
                for (int64_t i = 0; i < N && c == 2; i++) assert_true(entry(&xc, i) == 0);
            }
            spry_vector_destroy(tested_context, &b);
            spry_vector_destroy(tested_context, &x);
            spry_matrix_destroy(A);
        }
}

void cg_with_f32_inside(void **state)
{
    for (int inside = SPRY_PRECISION_F32_VALUES; inside <= SPRY_PRECISION_F32; inside++)
        for (int precond = 0; precond <= SPRY_PRECOND_CHEBYSHEV; precond++)
            for (int guess = 0; guess < 2; guess++) {
                spry_matrix *A = generated(SPEC, SPRY_F64);
                spry_vector b = right_side(N, SPRY_F64), x = right_side(N, SPRY_F64);
                spry_cg_options o = on_gpu();
                spry_cg_result r = SPRY_INIT(spry_cg_result);
                spry_error err = {0};
                spry_arrays a = arrays_of(A);
                for (int64_t k = 0; k < a.nnz; k++) ((double *)(uintptr_t)a.values)[k] *= 1.1; /* not an f32 value */
                for (int64_t i = 0; i < N; i++) ((double *)b.data)[i] += 0.1;
                o.precond = (spry_precond)precond;
                o.precision = (spry_precision)inside;
                o.start = guess ? SPRY_START_X : SPRY_START_DEFAULT;
                o.tolerance = 1e-12;
                o.kernel = NULL;
                o.format = "csr";
                observed.seen = 0;
                const spry_status status = spry_cg(tested_context, x, &r, A, spry_vector_as_const(b), &o, &err);
                /* devices without kernels of mixed precision refuse to iterate with f32 values */
                if (status == SPRY_UNSUPPORTED && inside == SPRY_PRECISION_F32_VALUES) {
                    expect_status(status, &err, SPRY_UNSUPPORTED, "f32 values and f64 vectors");
                } else {
                    expect_status(status, &err, SPRY_OK, "");
                    assert_true(r.replacements >= 3 && r.restarts == 0);
                    assert_int_equal(observed.seen, r.iterations);
                    expect_solution(A, &b, &x, 1e-12);
                }
                spry_vector_destroy(tested_context, &b);
                spry_vector_destroy(tested_context, &x);
                spry_matrix_destroy(A);
            }
}

typedef struct multiplier {
    const spry_spmv_plan *plan;
    int64_t calls, fails_at;
    const char *message;
} multiplier;

static spry_status multiply(void *user, spry_vector y, spry_const_vector x, void *stream, spry_error *err)
{
    multiplier *m = user;
    spry_spmv_run_options run = SPRY_INIT(spry_spmv_run_options);
    run.stream = stream;
    assert_int_equal(y.device, 1);
    assert_int_equal(x.length, N);
    if (++m->calls != m->fails_at) return spry_spmv_plan_run(m->plan, y, NULL, x, NULL, &run, err);
    if (m->message) strcpy(err->message, m->message);
    return SPRY_OUT_OF_MEMORY;
}

/* Computes z = M*r = r/4 by a plan of the diagonal matrix M. */
static spry_status divide(void *user, spry_vector z, spry_const_vector r, void *stream, spry_error *err)
{
    multiplier *m = user;
    return multiply(m, z, r, stream, err);
}

void cg_with_callbacks(void **state)
{
    spry_matrix *A = generated(SPEC, SPRY_F64);
    static int32_t offsets[N + 1], columns[N];
    static double quarters[N];
    spry_vector b = right_side(N, SPRY_F64), x = new_vector(N, SPRY_F64);
    spry_spmv_options po = SPRY_INIT(spry_spmv_options);
    multiplier by_A = {0}, by_Q = {0};
    spry_error err = {0};
    for (int i = 0; i < N; i++) {
        offsets[i + 1] = i + 1;
        columns[i] = i;
        quarters[i] = 0.25;
    }
    spry_matrix *Q = borrow_csr(tested_context, N, N, offsets, columns, quarters);
    po.device = po.vector_device = 1;
    po.format = "csr";
    spry_spmv_plan *plan_A = create_plan(tested_context, A, &po);
    spry_spmv_plan *plan_Q = create_plan(tested_context, Q, &po);
    by_A.plan = plan_A;
    by_Q.plan = plan_Q;
    for (int precond = 0; precond < 2; precond++)
        for (int64_t fails_at = 0; fails_at < 30; fails_at += 7) {
            spry_operator op = SPRY_INIT(spry_operator);
            spry_cg_options o = on_gpu();
            spry_cg_result r = SPRY_INIT(spry_cg_result);
            op.n = N;
            op.type = SPRY_F64;
            op.device = 1;
            op.apply = multiply;
            op.user = &by_A;
            o.kernel = NULL;
            if (precond) {
                o.precond = SPRY_PRECOND_CALLBACK;
                o.precondition = divide;
                o.precondition_user = &by_Q;
            }
            by_A = (multiplier){.plan = plan_A};
            by_Q = (multiplier){.plan = plan_Q};
            observed.seen = 0;
            multiplier *fails = precond ? &by_Q : &by_A;
            fails->fails_at = fails_at;
            fails->message = fails_at == 7 ? "no room on the bench" : NULL;
            const spry_status status = solve_by_products(tested_context, x, &r, &op, spry_vector_as_const(b), &o, &err);
            if (fails_at > 0) {
                expect_status(status, &err, SPRY_OUT_OF_MEMORY, fails->message ? fails->message : "has returned");
                continue;
            }
            expect_status(status, &err, SPRY_OK, "");
            assert_int_equal(observed.seen, r.iterations);
            assert_string_equal(r.format, "");
            expect_solution(A, &b, &x, 1e-8);
        }
    spry_spmv_plan_destroy(plan_A);
    spry_spmv_plan_destroy(plan_Q);
    spry_matrix_destroy(A);
    spry_matrix_destroy(Q);
    spry_vector_destroy(tested_context, &b);
    spry_vector_destroy(tested_context, &x);
}
