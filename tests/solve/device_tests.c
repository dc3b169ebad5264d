#include "device_tests.h"
#include "base/types.h"
#include "spry/cuda.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/solve.h"

const char *tested_device, *tested_kernel;
spry_context *tested_context;

observation observed;

int open_contexts(void **state)
{
    tested_context = context_of(1);
    return 0;
}

int close_contexts(void **state)
{
    return close_context((void **)&tested_context);
}

int watch(void *user, int64_t iteration, double residual)
{
    assert_int_equal(iteration, observed.seen + 1);
    if (iteration <= MOST_HISTORY) observed.residual[iteration - 1] = residual;
    observed.seen = iteration;
    return iteration == observed.stop;
}

/* ---- systems ------------------------------------------------------------------------------------- */

spry_vector new_vector(int64_t n, spry_type type)
{
    return create_vector(tested_context, n, type, 0);
}

spry_vector right_side(int64_t n, spry_type type)
{
    spry_vector b = new_vector(n, type);
    for (int64_t i = 0; i < n; i++) set_entry(&b, i, (double)(i * 7 % 11 - 3) / 4);
    return b;
}

spry_matrix *generated(const char *spec, spry_type type)
{
    spry_matrix *A = NULL;
    spry_read_options as = SPRY_INIT(spry_read_options);
    as.value_type = type;
    assert_int_equal(spry_matrix_generate(tested_context, &A, spec, &as, NULL), SPRY_OK);
    return A;
}

/* Generates a structure and sets every link to 1. */
spry_matrix *graph_of(spry_context *own, const char *spec, spry_type type)
{
    spry_matrix *P = NULL;
    spry_read_options pattern = SPRY_INIT(spry_read_options);
    spry_matrix_options as = SPRY_INIT(spry_matrix_options);
    pattern.value_type = SPRY_PATTERN;
    as.value_type = type;
    assert_int_equal(spry_matrix_generate(own, &P, spec, &pattern, NULL), SPRY_OK);
    spry_matrix *A = convert_matrix(own, P, &as);
    spry_matrix_destroy(P);
    return A;
}

/* Returns a tridiagonal, diagonally dominant matrix with entries that f32 represents exactly. */
static dense chain(int n)
{
    dense d = dense_make(n);
    for (int i = 0; i < n; i++) {
        d.a[i * n + i] = 3 + 0.25 * (i % 5);
        if (i + 1 < n) d.a[i * n + i + 1] = d.a[(i + 1) * n + i] = -1;
    }
    return d;
}

static int64_t index_of(const void *array, spry_index_type type, int64_t k)
{
    return type == SPRY_I64 ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

static double norm_of(const spry_vector *v)
{
    double sum = 0;
    for (int64_t i = 0; i < v->length; i++) sum += entry(v, i) * entry(v, i);
    return sqrt(sum);
}

double residual_of(const spry_matrix *A, const spry_vector *b, const spry_vector *x, double *weight)
{
    spry_arrays a = arrays_of(A);
    double sum = 0, size = 0;
    for (int64_t i = 0; i < a.rows; i++) {
        double r = entry(b, i), w = fabs(r);
        for (int64_t k = index_of(a.offsets, a.offset_type, i); k < index_of(a.offsets, a.offset_type, i + 1); k++) {
            double value = a.value_type == SPRY_F32 ? (double)((const float *)a.values)[k]
                                                    : ((const double *)a.values)[k];
            double term = value * entry(x, index_of(a.indices, a.index_type, k));
            r -= term;
            w += fabs(term);
        }
        sum += r * r;
        size += w * w;
    }
    *weight = sqrt(size) / norm_of(b);
    return sqrt(sum) / norm_of(b);
}

spry_cg_options on_gpu(void)
{
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    o.device = 1;
    o.kernel = tested_kernel;
    o.observe = watch;
    return o;
}

static spry_status solve(spry_cg_result *r, spry_vector x, const spry_matrix *A, spry_vector b,
                         const spry_cg_options *o, spry_error *err)
{
    *r = SPRY_INIT(spry_cg_result);
    observed.seen = 0;
    return spry_cg(tested_context, x, r, A, spry_vector_as_const(b), o, err);
}

/* ---- Conjugate Gradient -------------------------------------------------------------------------- */

static void compare_cg(spry_matrix *A, int64_t n, spry_type type, spry_precond precond, double tolerance)
{
    spry_vector b = right_side(n, type), x = new_vector(n, type), y = new_vector(n, type);
    spry_cg_options gpu = on_gpu(), cpu = SPRY_INIT(spry_cg_options);
    spry_cg_result r, reported;
    spry_error err = {0};
    double weight, eps = type == SPRY_F32 ? 0x1p-23 : 0x1p-52;
    gpu.precond = cpu.precond = precond;
    gpu.block_size = cpu.block_size = 2 + n % 4; /* some sizes fit the fused passes, others need separate passes */
    gpu.tolerance = cpu.tolerance = tolerance;
    expect_status(solve(&reported, y, A, b, &cpu, &err), &err, SPRY_OK, "");
    expect_status(solve(&r, x, A, b, &gpu, &err), &err, SPRY_OK, "");
    assert_int_equal(r.verdict, SPRY_VERDICT_CONVERGED);
    assert_string_equal(r.kernel, tested_kernel);
    assert_int_equal(observed.seen, r.iterations);
    assert_true(r.iterations == 0 || observed.residual[r.iterations - 1] == r.residual || r.restarts > 0);
    double away = (double)(r.iterations - reported.iterations);
    assert_at_most(fabs(away), 2 + 0.1 * (double)reported.iterations);
    double residual = residual_of(A, &b, &x, &weight);
    assert_at_most(r.true_residual, tolerance);
    assert_at_most(fabs(residual - r.true_residual), 16 * eps * weight);
    assert_true(r.solve_us > 0 && r.product_us >= 0);
    spry_vector_destroy(tested_context, &b);
    spry_vector_destroy(tested_context, &x);
    spry_vector_destroy(tested_context, &y);
}

void cg_as_on_the_cpu(void **state)
{
    /*
     * A GPU sums vectors in pieces. The vectors of the first three systems have one element less than a piece, exactly
     * one piece, and one element more. The other systems have many pieces.
     */
    static const char *const specs[] = {"laplace5,x=33,y=31", "laplace5,x=32,y=32", "laplace5,x=41,y=25",
                                        "laplace7,x=20,y=19,z=18", "laplace5,x=150,y=150"};
    for (int type = SPRY_F32; type <= SPRY_F64; type++)
        for (int precond = 0; precond <= SPRY_PRECOND_CHEBYSHEV; precond++) {
            for (int n = 1; n <= 37; n += 12) {
                dense d = chain(n);
                spry_matrix *A = sparse_of(tested_context, &d, SPRY_CSR, (spry_type)type);
                compare_cg(A, n, (spry_type)type, (spry_precond)precond, type == SPRY_F32 ? 1e-5 : 1e-13);
                spry_matrix_destroy(A);
                dense_free(&d);
            }
            for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
                if (SAMPLED && s >= 3 && ((int)s + type + precond) % 4) continue; /* large systems: one case in four */
                spry_matrix *A = generated(specs[s], (spry_type)type);
                spry_arrays a = arrays_of(A);
                compare_cg(A, a.rows, (spry_type)type, (spry_precond)precond, type == SPRY_F32 ? 3e-3 : 1e-9);
                spry_matrix_destroy(A);
            }
        }
}

static spry_cg_result expect_ending(const dense *d, const spry_vector *b, const spry_cg_options *o,
                                    spry_verdict verdict, const char *text, int x_stays)
{
    spry_matrix *A = sparse_of(tested_context, d, SPRY_CSR, b->type);
    spry_vector x = new_vector(d->n, b->type), y = new_vector(d->n, b->type);
    spry_cg_options cpu = *o;
    spry_cg_result r, reported;
    spry_error err = {0};
    cpu.device = SPRY_DEVICE_DEFAULT;
    cpu.kernel = NULL;
    ((char *)x.data)[0] = 77;
    expect_status(solve(&reported, y, A, *b, &cpu, &err), &err, SPRY_NOT_CONVERGED, text);
    expect_status(solve(&r, x, A, *b, o, &err), &err, SPRY_NOT_CONVERGED, text);
    assert_int_equal(r.verdict, verdict);
    assert_int_equal(reported.verdict, verdict);
    assert_int_equal(r.bad_row, reported.bad_row);
    if (verdict != SPRY_VERDICT_STAGNATION) assert_int_equal(r.iterations, reported.iterations);
    assert_int_equal(((char *)x.data)[0] == 77, x_stays);
    spry_vector_destroy(tested_context, &x);
    spry_vector_destroy(tested_context, &y);
    spry_matrix_destroy(A);
    return r;
}

void cg_verdicts(void **state)
{
    enum { N = 60 };
    for (int type = SPRY_F32; type <= SPRY_F64; type++) {
        spry_vector b = right_side(N, (spry_type)type);
        spry_cg_options o = on_gpu(), jacobi = o, limited = o, close = o;
        jacobi.precond = SPRY_PRECOND_JACOBI;
        dense d = chain(N), none = dense_make(N);
        close.tolerance = type == SPRY_F32 ? 1e-10 : 1e-18; /* rounding keeps the true residual above the tolerance */
        close.max_iterations = 100000;
        spry_cg_result r = expect_ending(&d, &b, &close, SPRY_VERDICT_STAGNATION, "stagnation after", 0);
        assert_true(r.residual <= close.tolerance && r.true_residual > close.tolerance);
        limited.tolerance = 1e-30;
        for (limited.max_iterations = 1; limited.max_iterations < 20; limited.max_iterations += 3)
            expect_ending(&d, &b, &limited, SPRY_VERDICT_ITERATION_LIMIT, "iteration limit after", 0);
        d.a[5 * N + 4] = 0.5;
        expect_ending(&d, &b, &o, SPRY_VERDICT_NOT_SYMMETRIC, "not symmetric", 1);
        d.a[5 * N + 4] = -1;
        d.a[7 * N + 7] = -4;
        expect_ending(&d, &b, &o, SPRY_VERDICT_NEGATIVE_CURVATURE, "negative curvature: p'Ap is -", 0);
        expect_ending(&d, &b, &jacobi, SPRY_VERDICT_BAD_DIAGONAL, "entry (7, 7), counted from 0", 1);
        expect_ending(&none, &b, &o, SPRY_VERDICT_NEGATIVE_CURVATURE, "p'Ap is 0 in iteration 1", 0);
        d.a[7 * N + 7] = 4;
        if (type == SPRY_F32)
            ((float *)b.data)[3] = INFINITY;
        else
            ((double *)b.data)[3] = INFINITY;
        expect_ending(&d, &b, &o, SPRY_VERDICT_NOT_FINITE, "not finite", 0);
        dense_free(&d);
        dense_free(&none);
        spry_vector_destroy(tested_context, &b);
    }
    /* The residual rises for a while, so the run ends if o.patience is 1. */
    spry_matrix *A = generated("laplace5,x=60,y=60,ay=0.001", SPRY_F64);
    spry_vector b = right_side(3600, SPRY_F64), x = new_vector(3600, SPRY_F64);
    spry_cg_options o = on_gpu();
    spry_cg_result r;
    spry_error err = {0};
    o.patience = 1;
    expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_NOT_CONVERGED, "stagnation");
    assert_int_equal(r.verdict, SPRY_VERDICT_STAGNATION);
    assert_int_equal(observed.seen, r.iterations);
    spry_vector_destroy(tested_context, &b);
    spry_vector_destroy(tested_context, &x);
    spry_matrix_destroy(A);
}

/* A run that is limited to k iterations reports exactly the residual that the full run reports for iteration k. */
void cg_stops_where_it_says(void **state)
{
    enum { N = 90 * 70 };
    static double history[MOST_HISTORY];
    for (int precond = 0; precond <= SPRY_PRECOND_CHEBYSHEV; precond++) {
        spry_matrix *A = generated("laplace5,x=90,y=70", SPRY_F64);
        spry_vector b = right_side(N, SPRY_F64), x = new_vector(N, SPRY_F64), y = new_vector(N, SPRY_F64);
        spry_cg_options o = on_gpu();
        spry_cg_result first, r;
        spry_error err = {0};
        o.precond = (spry_precond)precond;
        o.tolerance = 1e-7;
        expect_status(solve(&first, x, A, b, &o, &err), &err, SPRY_OK, "");
        assert_true(first.iterations > (precond == SPRY_PRECOND_CHEBYSHEV ? 20 : 80) && first.restarts == 0);
        memcpy(history, observed.residual, sizeof history);
        for (int64_t k = 0; k < first.iterations; k++)
            assert_int_equal(history[k] <= o.tolerance, k == first.iterations - 1);
        assert_true(history[first.iterations - 1] == first.residual);
        o.tolerance = 1e-300;
        const int64_t limits[] = {1, 2, 8, 9, 17, 40, 41, first.iterations - 1, first.iterations};
        for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
            if (limits[l] > first.iterations) continue;
            o.max_iterations = limits[l];
            expect_status(solve(&r, y, A, b, &o, &err), &err, SPRY_NOT_CONVERGED, "iteration limit");
            assert_int_equal(r.iterations, limits[l]);
            assert_true(r.residual == history[limits[l] - 1]);
        }
        assert_memory_equal(x.data, y.data, N * sizeof(double));
        assert_true(r.true_residual == first.true_residual);
        spry_vector_destroy(tested_context, &b);
        spry_vector_destroy(tested_context, &x);
        spry_vector_destroy(tested_context, &y);
        spry_matrix_destroy(A);
    }
}

void cg_guesses_and_observers(void **state)
{
    enum { N = 5000 };
    int32_t *offsets = malloc((N + 1) * sizeof *offsets), *columns = malloc(N * sizeof *columns);
    double *values = malloc(N * sizeof *values);
    if (!offsets || !columns || !values) abort();
    for (int i = 0; i <= N; i++) offsets[i] = i;
    for (int i = 0; i < N; i++) columns[i] = i;
    for (int i = 0; i < N; i++) values[i] = 2;
    spry_matrix *A = borrow_csr(tested_context, N, N, offsets, columns, values);
    spry_vector b = right_side(N, SPRY_F64), x = new_vector(N, SPRY_F64), none = new_vector(N, SPRY_F64);
    spry_cg_options o = on_gpu();
    spry_cg_result r;
    spry_error err = {0};
    /* One iteration suffices. Its beta is zero up to rounding, so the device cannot predict beta. */
    expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_OK, "");
    assert_int_equal(r.iterations, 1);
    for (int i = 0; i < N; i++) assert_true(entry(&x, i) == entry(&b, i) / 2);
    o.start = SPRY_START_X;
    expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_OK, "");
    assert_int_equal(r.iterations, 0);
    for (int i = 0; i < N; i++) assert_true(entry(&x, i) == entry(&b, i) / 2);
    ((double *)x.data)[N - 1] += 3;
    expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_OK, "");
    assert_at_most(fabs(entry(&x, N - 1) - entry(&b, N - 1) / 2), 1e-7);
    expect_status(solve(&r, x, A, none, &o, &err), &err, SPRY_OK, "");
    assert_memory_equal(x.data, none.data, N * sizeof(double));
    spry_matrix_destroy(A);
    /* If the observer requests a stop, the iterations that were already started still run. */
    A = generated("laplace5,x=100,y=50", SPRY_F64);
    o.start = SPRY_START_DEFAULT;
    for (observed.stop = 1; observed.stop < 60; observed.stop += 19) {
        expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_NOT_CONVERGED, "stopped after");
        assert_int_equal(r.verdict, SPRY_VERDICT_STOPPED);
        assert_true(r.iterations >= observed.stop && r.iterations <= observed.stop + MOST_AHEAD);
    }
    observed.stop = 0;
    spry_matrix_destroy(A);
    dense nothing = dense_make(0);
    A = sparse_of(tested_context, &nothing, SPRY_CSR, SPRY_F64);
    b.length = x.length = 0;
    expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_OK, "");
    b.length = x.length = N;
    spry_matrix_destroy(A);
    dense_free(&nothing);
    spry_vector_destroy(tested_context, &b);
    spry_vector_destroy(tested_context, &x);
    spry_vector_destroy(tested_context, &none);
    free(offsets);
    free(columns);
    free(values);
}

/* ---- where the data are -------------------------------------------------------------------------- */

static void *upload(const void *from, int64_t bytes)
{
    void *data = NULL;
    assert_int_equal(spry_device_allocate(tested_context, &data, 1, bytes, NULL), SPRY_OK);
    assert_int_equal(spry_device_copy(tested_context, data, 1, from, 0, bytes, NULL, NULL), SPRY_OK);
    return data;
}

void download(void *to, const spry_vector *v)
{
    assert_int_equal(spry_device_copy(tested_context, to, 0, v->data, v->device, v->length * 8, NULL, NULL), SPRY_OK);
}

spry_matrix *matrix_to_device(const spry_matrix *A, spry_arrays *d)
{
    assert_int_equal(spry_matrix_get_arrays(A, d, NULL), SPRY_OK);
    d->offsets = upload(d->offsets, (d->rows + 1) * (int64_t)spryi_index_type_bytes(d->offset_type));
    d->indices = upload(d->indices, d->nnz * (int64_t)spryi_index_type_bytes(d->index_type));
    if (d->values) d->values = upload(d->values, d->nnz * (int64_t)spry_type_bytes(d->value_type));
    d->device = 1;
    d->ownership = SPRY_BORROW;
    return create_matrix(tested_context, d);
}

void free_device_matrix(const spry_arrays *d)
{
    const void *arrays[] = {d->offsets, d->indices, d->values};
    for (int a = 0; a < 3; a++) spry_device_free(tested_context, 1, (void *)(uintptr_t)arrays[a]);
}

static void cg_with_data_on_device(void)
{
    enum { N = 40 * 30 };
    static double got[N];
    spry_matrix *A = generated("laplace5,x=40,y=30", SPRY_F64);
    spry_vector b = right_side(N, SPRY_F64), x = new_vector(N, SPRY_F64);
    spry_error err = {0};
    spry_vector x_on_device = create_vector(tested_context, N, SPRY_F64, 1);
    assert_int_equal(x_on_device.device, 1);
    spry_vector b_on_device = create_vector(tested_context, N, SPRY_F64, 1);
    assert_int_equal(spry_device_copy(tested_context, b_on_device.data, 1, b.data, 0, N * 8, NULL, &err), SPRY_OK);
    for (int precond = 0; precond < 2; precond++)
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            spry_cg_options o = on_gpu();
            spry_cg_result r;
            o.precond = (spry_precond)precond;
            expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_OK, "");
            expect_status(solve(&r, x_on_device, A, b_on_device, &o, &err), &err, SPRY_OK, "");
            download(got, &x_on_device);
            assert_memory_equal(got, x.data, sizeof got);
            spry_arrays arrays = SPRY_INIT(spry_arrays);
            spry_matrix *on_device = matrix_to_device(A, &arrays);
            if (symmetric) {
                spry_matrix_destroy(on_device);
                arrays.symmetry = SPRY_SYMMETRIC;
                on_device = create_matrix(tested_context, &arrays);
            }
            o.device = SPRY_DEVICE_DEFAULT; /* the device that holds the matrix */
            expect_status(solve(&r, x_on_device, on_device, b, &o, &err), &err, SPRY_OK, "");
            download(got, &x_on_device);
            assert_string_equal(r.kernel, tested_kernel);
            assert_memory_equal(got, x.data, sizeof got);
            spry_matrix_destroy(on_device);
            free_device_matrix(&arrays);
        }
    spry_vector_destroy(tested_context, &b);
    spry_vector_destroy(tested_context, &x);
    spry_vector_destroy(tested_context, &b_on_device);
    spry_vector_destroy(tested_context, &x_on_device);
    spry_matrix_destroy(A);
}

/* "auto" does not read arrays that the host cannot read. It chooses the same format as for the arrays of the host. */
static void auto_with_data_on_device(void)
{
    spry_matrix *A = generated("laplace5,x=40,y=30", SPRY_F64);
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    spry_matrix *on_device = matrix_to_device(A, &arrays);
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    spry_spmv_plan *plan = NULL, *plan_of_host = NULL;
    spry_error err = {0};
    options.format = "auto";
    options.device = 1;
    expect_status(spry_spmv_plan_create(tested_context, &plan_of_host, A, &options, &err), &err, SPRY_OK, "");
    spry_spmv_plan_info of_host = plan_info(plan_of_host);
    expect_status(spry_spmv_plan_create(tested_context, &plan, on_device, &options, &err), &err, SPRY_OK, "");
    spry_spmv_plan_info info = plan_info(plan);
    assert_string_equal(info.format, of_host.format);
    assert_string_equal(info.kernel, of_host.kernel);
    assert_string_equal(info.reason, of_host.reason);
    assert_int_equal(info.reason_code, SPRY_REASON_LEAST_TIME);
    spry_spmv_plan_destroy(plan_of_host);
    spry_spmv_plan_destroy(plan);
    plan = NULL;
    options.expected_calls = 2; /* too few calls: the matrix is not inspected */
    expect_status(spry_spmv_plan_create(tested_context, &plan, on_device, &options, &err), &err, SPRY_OK, "");
    info = plan_info(plan);
    assert_string_equal(info.format, "csr");
    assert_int_equal(info.reason_code, SPRY_REASON_FEW_CALLS);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(on_device);
    spry_matrix_destroy(A);
    free_device_matrix(&arrays);
}

void data_in_device_memory(void **state)
{
    auto_with_data_on_device();
    cg_with_data_on_device();
    ranks_with_data_on_device();
}

void the_same_bits_again(void **state)
{
    enum { N = 150 * 150, RUNS = INSTRUMENTED ? 2 : 5 };
    spry_matrix *A = generated("laplace5,x=150,y=150", SPRY_F64),
                *G = graph_of(tested_context, "rmat,scale=14", SPRY_F64);
    spry_vector b = right_side(N, SPRY_F64), x[RUNS], y[RUNS];
    spry_error err = {0};
    for (int k = 0; k < RUNS; k++) {
        spry_cg_options o = on_gpu();
        spry_cg_result r;
        spry_pagerank_options ro = rank_on_gpu();
        spry_pagerank_result rr;
        ro.dangling = SPRY_DANGLING_TELEPORT;
        x[k] = new_vector(N, SPRY_F64);
        y[k] = new_vector(16384, SPRY_F64);
        expect_status(solve(&r, x[k], A, b, &o, &err), &err, SPRY_OK, "");
        expect_status(rank(&rr, y[k], G, &ro, &err), &err, SPRY_OK, "");
        assert_memory_equal(x[k].data, x[0].data, N * sizeof(double));
        assert_memory_equal(y[k].data, y[0].data, 16384 * sizeof(double));
    }
    for (int k = 0; k < RUNS; k++) {
        spry_vector_destroy(tested_context, &x[k]);
        spry_vector_destroy(tested_context, &y[k]);
    }
    spry_vector_destroy(tested_context, &b);
    spry_matrix_destroy(A);
    spry_matrix_destroy(G);
}

void bad_places(void **state)
{
    dense d = chain(4);
    spry_matrix *A = sparse_of(tested_context, &d, SPRY_CSR, SPRY_F64);
    spry_vector b = right_side(4, SPRY_F64), x = new_vector(4, SPRY_F64);
    spry_cg_options o = on_gpu();
    spry_cg_result r;
    spry_error err = {0};
    spry_vector on_device = create_vector(tested_context, 4, SPRY_F64, 1);
    o.kernel = NULL;
    o.device = SPRY_CPU;
    expect_status(solve(&r, on_device, A, b, &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "x is on device 1, but the work is done on device 0");
    o.device = SPRY_DEVICE_DEFAULT;
    expect_status(solve(&r, x, A, on_device, &o, &err), &err, SPRY_INVALID_ARGUMENT, "b is on device 1");
    o.device = 100;
    expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_INVALID_ARGUMENT, "device is 100, expected a GPU");
    expect_status(spry_vector_create(tested_context, &x, 4, SPRY_F64, 100, &err), &err, SPRY_INVALID_ARGUMENT,
                  "device is 100");
    spry_vector_destroy(tested_context, &on_device);
    assert_null(on_device.data);
    spry_vector_destroy(tested_context, &b);
    spry_vector_destroy(tested_context, &x);
    spry_matrix_destroy(A);
    dense_free(&d);
}

/* ---- strides ------------------------------------------------------------------------------------- */

enum { STRIDE = 3 };

/* Copies bytes between host memory and device memory, or within host memory. */
static void copy_bytes(void *to, int to_device, const void *from, int from_device, int64_t bytes)
{
    if (to_device == 0 && from_device == 0) {
        memcpy(to, from, (size_t)bytes);
        return;
    }
    MUST(spry_device_copy(tested_context, to, to_device, from, from_device, bytes, NULL, err));
    MUST(spry_device_synchronize(tested_context, 1, NULL, err));
}

/* Copies a vector of stride 1 in host memory to every STRIDE-th element of a new block. The caller frees *block. */
static spry_vector spread(spry_vector *block, const spry_vector *v, int device)
{
    spry_vector host = create_vector(tested_context, STRIDE * v->length, v->type, 0);
    for (int64_t i = 0; i < v->length; i++) set_entry(&host, STRIDE * i, entry(v, i));
    *block = create_vector(tested_context, STRIDE * v->length, v->type, device);
    copy_bytes(block->data, device, host.data, 0, host.length * (int64_t)spry_type_bytes(v->type));
    spry_vector_destroy(tested_context, &host);
    return (
        spry_vector){.data = block->data, .length = v->length, .row_stride = STRIDE, .type = v->type, .device = device};
}

/* Checks that every STRIDE-th element of a block has the bits of v. */
static void expect_spread(const spry_vector *block, const spry_vector *v)
{
    const int64_t size = (int64_t)spry_type_bytes(v->type);
    char *host = malloc((size_t)(block->length * size));
    copy_bytes(host, 0, block->data, block->device, block->length * size);
    for (int64_t i = 0; i < v->length; i++)
        assert_memory_equal(host + STRIDE * i * size, (const char *)v->data + i * size, (size_t)size);
    free(host);
}

/* CG and PageRank give the same bits with vectors of stride 3, in host memory and in device memory. */
void strided_vectors(void **state)
{
    for (int what = 0; what < 8; what++) {
        const spry_type type = what & 1 ? SPRY_F32 : SPRY_F64;
        const int x_device = what >> 1 & 1, b_device = what >> 2 & 1;
        spry_matrix *A = generated("laplace5,x=9,y=8", type), *G = graph_of(tested_context, "rmat,scale=5", type);
        spry_vector x = new_vector(72, type), b = right_side(72, type), x_block, b_block;
        spry_cg_options o = on_gpu();
        o.start = SPRY_START_X;
        o.observe = NULL;
        for (int64_t i = 0; i < 72; i++) set_entry(&x, i, (double)(i % 3));
        const spry_vector xs = spread(&x_block, &x, x_device), bs = spread(&b_block, &b, b_device);
        MUST(spry_cg(tested_context, x, NULL, A, spry_vector_as_const(b), &o, err));
        MUST(spry_cg(tested_context, xs, NULL, A, spry_vector_as_const(bs), &o, err));
        expect_spread(&x_block, &x);
        spry_vector *const vectors[] = {&x, &b, &x_block, &b_block};
        for (int v = 0; v < 4; v++) spry_vector_destroy(tested_context, vectors[v]);
        spry_pagerank_options ranked = rank_on_gpu();
        ranked.observe = NULL;
        ranked.dangling = SPRY_DANGLING_TELEPORT;
        x = new_vector(32, type);
        b = new_vector(32, type);
        for (int64_t i = 0; i < 32; i++) set_entry(&b, i, (double)(i % 4 + 1));
        const spry_vector ranks = spread(&x_block, &x, x_device), weights = spread(&b_block, &b, b_device);
        ranked.personalization = spry_vector_as_const(b);
        MUST(spry_pagerank(tested_context, x, NULL, G, &ranked, err));
        ranked.personalization = spry_vector_as_const(weights);
        MUST(spry_pagerank(tested_context, ranks, NULL, G, &ranked, err));
        expect_spread(&x_block, &x);
        for (int v = 0; v < 4; v++) spry_vector_destroy(tested_context, vectors[v]);
        spry_matrix_destroy(A);
        spry_matrix_destroy(G);
    }
}
