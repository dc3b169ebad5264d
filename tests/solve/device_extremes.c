/*
 * Conjugate Gradient on a GPU for systems whose squares underflow or overflow. The solver scales these systems. Their
 * data are on the host or on the device.
 */
#include "device_tests.h"
#include "spry/cuda.h"
#include "spry/solve.h"

#include <stdbool.h>

enum { N = 60 };

static spry_vector multiples_of(double value, spry_type type)
{
    spry_vector v = new_vector(N, type);
    for (int i = 0; i < N; i++) set_entry(&v, i, value * (1 + i % 3));
    return v;
}

static void expect_solution(const spry_vector *x, double a, double b)
{
    const double eps = x->type == SPRY_F32 ? 0x1p-23 : 0x1p-52;
    for (int i = 0; i < N; i++) {
        double exact = b * (1 + i % 3) / (a * (1 + i % 4));
        if (!(fabs(entry(x, i) - exact) <= 100 * eps * exact))
            fail_msg("%s, a %g, b %g: x[%d] is %.9g, expected %.9g", spry_type_name(x->type), a, b, i, entry(x, i),
                     exact);
    }
}

/* Solves with A = a diag(1, 2, 3, 4, 1, ...). If on_device is 1, also with A, x and b in device memory. */
static void solve_extreme(spry_type type, double a, double b, spry_precond precond, int on_device)
{
    dense d = dense_make(N);
    for (int i = 0; i < N; i++) d.a[i * N + i] = a * (1 + i % 4);
    spry_matrix *A = sparse_of(tested_context, &d, SPRY_CSR, type), *A_on_device = NULL;
    spry_vector x = multiples_of(77, type), right = multiples_of(b, type), x_on_device = {0}, right_on_device = {0};
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_error err = {0};
    const int64_t bytes = N * (int64_t)spry_type_bytes(type);
    o.precond = precond;
    o.tolerance = type == SPRY_F32 ? 1e-6 : 1e-15;
    o.kernel = tested_kernel;
    if (on_device) {
        A_on_device = matrix_to_device(A, &arrays);
        x_on_device = create_vector(tested_context, N, type, 1);
        right_on_device = create_vector(tested_context, N, type, 1);
        assert_int_equal(spry_device_copy(tested_context, right_on_device.data, 1, right.data, 0, bytes, NULL, NULL),
                         SPRY_OK);
        expect_status(spry_cg(tested_context, x_on_device, &r, A_on_device, spry_vector_as_const(right_on_device), &o,
                              &err),
                      &err, SPRY_OK, "");
        assert_int_equal(spry_device_copy(tested_context, x.data, 0, x_on_device.data, 1, bytes, NULL, NULL), SPRY_OK);
    } else {
        o.device = 1;
        expect_status(spry_cg(tested_context, x, &r, A, spry_vector_as_const(right), &o, &err), &err, SPRY_OK, "");
    }
    assert_string_equal(r.kernel, tested_kernel);
    assert_at_most(r.true_residual, o.tolerance);
    expect_solution(&x, a, b);
    spry_vector_destroy(tested_context, &x);
    spry_vector_destroy(tested_context, &right);
    spry_vector_destroy(tested_context, &x_on_device);
    spry_vector_destroy(tested_context, &right_on_device);
    spry_matrix_destroy(A_on_device);
    if (on_device) free_device_matrix(&arrays);
    spry_matrix_destroy(A);
    dense_free(&d);
}

static spry_status divide(void *plan, spry_vector z, spry_const_vector r, void *stream, spry_error *err)
{
    spry_spmv_run_options run = SPRY_INIT(spry_spmv_run_options);
    run.stream = stream;
    return spry_spmv_plan_run(plan, z, NULL, r, NULL, &run, err);
}

/*
 * Solves with a callback M, the inverse of A = a diag(1, 2, 3, 4, 1, ...), applied on the device. If `guess` is true,
 * x0 is 77 everywhere.
 */
static void solve_by_callback(spry_type type, double a, double b, bool guess)
{
    dense d = dense_make(N), inverse = dense_make(N);
    for (int i = 0; i < N; i++) {
        d.a[i * N + i] = a * (1 + i % 4);
        inverse.a[i * N + i] = 1 / d.a[i * N + i];
    }
    spry_matrix *A = sparse_of(tested_context, &d, SPRY_CSR, type),
                *M = sparse_of(tested_context, &inverse, SPRY_CSR, type);
    spry_vector x = multiples_of(77, type), right = multiples_of(b, type);
    spry_spmv_options by_M = SPRY_INIT(spry_spmv_options);
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_error err = {0};
    by_M.device = by_M.vector_device = o.device = 1;
    by_M.kernel = o.kernel = tested_kernel;
    spry_spmv_plan *plan = create_plan(tested_context, M, &by_M);
    o.precond = SPRY_PRECOND_CALLBACK;
    o.precondition = divide;
    o.precondition_user = plan;
    o.start = guess ? SPRY_START_X : SPRY_START_DEFAULT;
    o.tolerance = type == SPRY_F32 ? 1e-6 : 1e-15;
    expect_status(spry_cg(tested_context, x, &r, A, spry_vector_as_const(right), &o, &err), &err, SPRY_OK, "");
    assert_at_most(r.true_residual, o.tolerance);
    expect_solution(&x, a, b);
    spry_spmv_plan_destroy(plan);
    spry_vector_destroy(tested_context, &x);
    spry_vector_destroy(tested_context, &right);
    spry_matrix_destroy(M);
    spry_matrix_destroy(A);
    dense_free(&inverse);
    dense_free(&d);
}

void cg_of_extreme_magnitude(void **state)
{
    for (int guess = 0; guess < 2; guess++) {
        static const double sizes[] = {1e-300, 1e-200, 1, 1e200, 1e300};
        for (int k = 0; k < 5; k++) solve_by_callback(SPRY_F64, sizes[k], k % 2 ? 1 : 1e-3, guess);
        solve_by_callback(SPRY_F32, 1e-25, 1, guess);
        solve_by_callback(SPRY_F32, 1e25, 1, guess);
    }
    static const double f64[][2] = {{2, 1e-162},     {2, 1e-300},      {2, 1e300},     {1e-200, 1e-200},
                                    {1e-300, 1e-30}, {1e-310, 1e-310}, {1e300, 1e300}, {1, 1}};
    static const float f32[][2] = {{2, 1e-30f}, {2, 1e37f}, {1e-20f, 1e-30f}, {1e-36f, 1e-20f}, {1e37f, 1e30f}, {1, 1}};
    for (int precond = 0; precond <= SPRY_PRECOND_BLOCK_JACOBI; precond++)
        for (int on_device = 0; on_device < 2; on_device++) {
            for (size_t c = 0; c < sizeof f64 / sizeof *f64; c++)
                solve_extreme(SPRY_F64, f64[c][0], f64[c][1], (spry_precond)precond, on_device);
            for (size_t c = 0; c < sizeof f32 / sizeof *f32; c++)
                solve_extreme(SPRY_F32, (double)f32[c][0], (double)f32[c][1], (spry_precond)precond, on_device);
        }
}
