#include "device_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tested_plugin;
static spry_context *context;

enum { MOST_HISTORY = 4000 };
static struct {
    int64_t seen, stop; /* stop: the iteration after which no more is wanted; 0: none */
    double residual[MOST_HISTORY];
} observed;

spry_context *gpu_context(void)
{
    spry_context_options options = SPRY_INIT(spry_context_options);
    spry_context *made = NULL;
    options.threads = 2;
    options.cuda_plugin = tested_plugin;
    assert_int_equal(spry_context_create(&made, &options, NULL), SPRY_OK);
    return made;
}

int open_contexts(void **state)
{
    (void)state;
    context = gpu_context();
    return 0;
}

int close_contexts(void **state)
{
    (void)state;
    int held = spry_context_bytes(context) != 0;
    spry_context_destroy(context);
    return held;
}

static int watch(void *user, int64_t iteration, double residual)
{
    (void)user;
    assert_int_equal(iteration, observed.seen + 1);
    if (iteration <= MOST_HISTORY) observed.residual[iteration - 1] = residual;
    observed.seen = iteration;
    return iteration == observed.stop;
}

/* ---- systems ------------------------------------------------------------------------------------- */

static double at(const spry_vector *v, int64_t i)
{
    return v->type == SPRY_F32 ? (double)((const float *)v->data)[i] : ((const double *)v->data)[i];
}

static spry_vector new_vector(int64_t n, spry_type type)
{
    spry_vector v = {0};
    assert_int_equal(spry_vector_create(context, &v, n, type, 0, NULL), SPRY_OK);
    return v;
}

static spry_vector right_side(int64_t n, spry_type type)
{
    spry_vector b = new_vector(n, type);
    for (int64_t i = 0; i < n; i++)
        if (type == SPRY_F32)
            ((float *)b.data)[i] = (float)(i * 7 % 11 - 3) / 4;
        else
            ((double *)b.data)[i] = (double)(i * 7 % 11 - 3) / 4;
    return b;
}

static spry_matrix *generated(const char *spec, spry_type type)
{
    spry_matrix *A = NULL;
    spry_read_options as = SPRY_INIT(spry_read_options);
    as.value_type = type;
    assert_int_equal(spry_matrix_generate(context, &A, spec, &as, NULL), SPRY_OK);
    return A;
}

/* The structure alone, every link 1. */
spry_matrix *graph_of(spry_context *own, const char *spec, spry_type type)
{
    spry_matrix *P = NULL, *A = NULL;
    spry_read_options pattern = SPRY_INIT(spry_read_options);
    spry_convert_options as = SPRY_INIT(spry_convert_options);
    pattern.value_type = SPRY_PATTERN;
    as.value_type = type;
    assert_int_equal(spry_matrix_generate(own, &P, spec, &pattern, NULL), SPRY_OK);
    assert_int_equal(spry_matrix_convert(own, &A, P, &as, NULL), SPRY_OK);
    spry_matrix_destroy(P);
    return A;
}

/* Tridiagonal, diagonally dominant, entries that an f32 holds. */
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
    for (int64_t i = 0; i < v->length; i++) sum += at(v, i) * at(v, i);
    return sqrt(sum);
}

/* ||b - A*x|| / ||b|| in f64, and in *weight ||(|A| |x|)|| / ||b||, of which rounding is a share. */
static double residual_of(const spry_matrix *A, const spry_vector *b, const spry_vector *x, double *weight)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    assert_int_equal(spry_matrix_get_arrays(A, &a, NULL), SPRY_OK);
    double sum = 0, size = 0;
    for (int64_t i = 0; i < a.rows; i++) {
        double r = at(b, i), w = fabs(r);
        for (int64_t k = index_of(a.offsets, a.offset_type, i); k < index_of(a.offsets, a.offset_type, i + 1); k++) {
            double value = a.value_type == SPRY_F32 ? (double)((const float *)a.values)[k]
                                                    : ((const double *)a.values)[k];
            double term = value * at(x, index_of(a.indices, a.index_type, k));
            r -= term;
            w += fabs(term);
        }
        sum += r * r;
        size += w * w;
    }
    *weight = sqrt(size) / norm_of(b);
    return sqrt(sum) / norm_of(b);
}

static spry_cg_options on_gpu(void)
{
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    o.device = "cuda";
    o.kernel = "csr_merge_cuda";
    o.observe = watch;
    return o;
}

static spry_status solve(spry_cg_result *r, spry_vector x, const spry_matrix *A, spry_vector b,
                         const spry_cg_options *o, spry_error *err)
{
    *r = SPRY_INIT(spry_cg_result);
    observed.seen = 0;
    return spry_cg(context, x, r, A, b, o, err);
}

/* ---- Conjugate Gradient -------------------------------------------------------------------------- */

static void compare_cg(spry_matrix *A, int64_t n, spry_type type, spry_precond precond, double tolerance)
{
    spry_vector b = right_side(n, type), x = new_vector(n, type), y = new_vector(n, type);
    spry_cg_options gpu = on_gpu(), cpu = SPRY_INIT(spry_cg_options);
    spry_cg_result r, told;
    spry_error err = {0};
    double weight, eps = type == SPRY_F32 ? 0x1p-23 : 0x1p-52;
    gpu.precond = cpu.precond = precond;
    gpu.tolerance = cpu.tolerance = tolerance;
    expect_status(solve(&told, y, A, b, &cpu, &err), &err, SPRY_OK, "");
    expect_status(solve(&r, x, A, b, &gpu, &err), &err, SPRY_OK, "");
    assert_int_equal(r.verdict, SPRY_VERDICT_CONVERGED);
    assert_string_equal(r.kernel, "csr_merge_cuda");
    assert_int_equal(observed.seen, r.iterations);
    assert_true(r.iterations == 0 || observed.residual[r.iterations - 1] == r.residual || r.restarts > 0);
    double away = (double)(r.iterations - told.iterations);
    assert_at_most(fabs(away), 2 + 0.1 * (double)told.iterations);
    double residual = residual_of(A, &b, &x, &weight);
    assert_at_most(r.true_residual, tolerance);
    assert_at_most(fabs(residual - r.true_residual), 16 * eps * weight);
    assert_true(r.solve_us > 0 && r.product_us >= 0);
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &y);
}

void cg_as_on_the_cpu(void **state)
{
    (void)state;
    /* one entry, less than a piece of a GPU's pass, a whole one, one more, many */
    static const char *const specs[] = {"laplace5,x=33,y=31", "laplace5,x=32,y=32", "laplace5,x=41,y=25",
                                        "laplace7,x=20,y=19,z=18", "laplace5,x=150,y=150"};
    for (int type = SPRY_F32; type <= SPRY_F64; type++)
        for (int precond = 0; precond < 2; precond++) {
            for (int n = 1; n <= 37; n += 12) {
                dense d = chain(n);
                spry_matrix *A = sparse_of(context, &d, SPRY_CSR, (spry_type)type);
                compare_cg(A, n, (spry_type)type, (spry_precond)precond, type == SPRY_F32 ? 1e-5 : 1e-13);
                spry_matrix_destroy(A);
                dense_free(&d);
            }
            for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
                spry_matrix *A = generated(specs[s], (spry_type)type);
                spry_arrays a = SPRY_INIT(spry_arrays);
                assert_int_equal(spry_matrix_get_arrays(A, &a, NULL), SPRY_OK);
                compare_cg(A, a.rows, (spry_type)type, (spry_precond)precond, type == SPRY_F32 ? 3e-3 : 1e-9);
                spry_matrix_destroy(A);
            }
        }
}

static spry_cg_result expect_ending(const dense *d, const spry_vector *b, const spry_cg_options *o,
                                    spry_verdict verdict, const char *text, int x_stays)
{
    spry_matrix *A = sparse_of(context, d, SPRY_CSR, b->type);
    spry_vector x = new_vector(d->n, b->type), y = new_vector(d->n, b->type);
    spry_cg_options cpu = *o;
    spry_cg_result r, told;
    spry_error err = {0};
    cpu.device = cpu.kernel = NULL;
    ((char *)x.data)[0] = 77;
    expect_status(solve(&told, y, A, *b, &cpu, &err), &err, SPRY_NOT_CONVERGED, text);
    expect_status(solve(&r, x, A, *b, o, &err), &err, SPRY_NOT_CONVERGED, text);
    assert_int_equal(r.verdict, verdict);
    assert_int_equal(told.verdict, verdict);
    assert_int_equal(r.bad_row, told.bad_row);
    if (verdict != SPRY_VERDICT_STAGNATION) assert_int_equal(r.iterations, told.iterations);
    assert_int_equal(((char *)x.data)[0] == 77, x_stays);
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &y);
    spry_matrix_destroy(A);
    return r;
}

void cg_verdicts(void **state)
{
    (void)state;
    enum { N = 60 };
    for (int type = SPRY_F32; type <= SPRY_F64; type++) {
        spry_vector b = right_side(N, (spry_type)type);
        spry_cg_options o = on_gpu(), jacobi = o, limited = o, close = o;
        jacobi.precond = SPRY_PRECOND_JACOBI;
        dense d = chain(N), none = dense_make(N);
        close.tolerance = type == SPRY_F32 ? 1e-10 : 1e-18; /* rounding keeps the true residual above it */
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
        expect_ending(&d, &b, &jacobi, SPRY_VERDICT_BAD_DIAGONAL, "entry (8, 8), counted from 1", 1);
        expect_ending(&none, &b, &o, SPRY_VERDICT_NEGATIVE_CURVATURE, "p'Ap is 0 in iteration 1", 0);
        d.a[7 * N + 7] = 4;
        if (type == SPRY_F32)
            ((float *)b.data)[3] = INFINITY;
        else
            ((double *)b.data)[3] = INFINITY;
        expect_ending(&d, &b, &o, SPRY_VERDICT_NOT_FINITE, "not finite after 0", 0);
        dense_free(&d);
        dense_free(&none);
        spry_vector_destroy(context, &b);
    }
    /* negative curvature in the middle of what was started ahead */
    spry_matrix *A = generated("laplace5,x=60,y=60,ay=0.001", SPRY_F64);
    spry_vector b = right_side(3600, SPRY_F64), x = new_vector(3600, SPRY_F64);
    spry_cg_options o = on_gpu();
    spry_cg_result r;
    spry_error err = {0};
    o.patience = 1;
    expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_NOT_CONVERGED, "stagnation");
    assert_int_equal(r.verdict, SPRY_VERDICT_STAGNATION);
    assert_int_equal(observed.seen, r.iterations);
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &x);
    spry_matrix_destroy(A);
}

/* What is told of iteration k is what a run tells that may take no more than k, to the last bit. */
void cg_stops_where_it_says(void **state)
{
    (void)state;
    enum { N = 90 * 70 };
    static double history[MOST_HISTORY];
    for (int precond = 0; precond < 2; precond++) {
        spry_matrix *A = generated("laplace5,x=90,y=70", SPRY_F64);
        spry_vector b = right_side(N, SPRY_F64), x = new_vector(N, SPRY_F64), y = new_vector(N, SPRY_F64);
        spry_cg_options o = on_gpu();
        spry_cg_result first, r;
        spry_error err = {0};
        o.precond = (spry_precond)precond;
        o.tolerance = 1e-7;
        expect_status(solve(&first, x, A, b, &o, &err), &err, SPRY_OK, "");
        assert_true(first.iterations > 80 && first.restarts == 0);
        memcpy(history, observed.residual, sizeof history);
        for (int64_t k = 0; k < first.iterations; k++)
            assert_int_equal(history[k] <= o.tolerance, k == first.iterations - 1);
        assert_true(history[first.iterations - 1] == first.residual);
        o.tolerance = 1e-300;
        const int64_t limits[] = {1, 2, 8, 9, 17, 40, 41, first.iterations - 1, first.iterations};
        for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
            o.max_iterations = limits[l];
            expect_status(solve(&r, y, A, b, &o, &err), &err, SPRY_NOT_CONVERGED, "iteration limit");
            assert_int_equal(r.iterations, limits[l]);
            assert_true(r.residual == history[limits[l] - 1]);
        }
        assert_memory_equal(x.data, y.data, N * sizeof(double));
        assert_true(r.true_residual == first.true_residual);
        spry_vector_destroy(context, &b);
        spry_vector_destroy(context, &x);
        spry_vector_destroy(context, &y);
        spry_matrix_destroy(A);
    }
}

void cg_guesses_and_observers(void **state)
{
    (void)state;
    enum { N = 5000 };
    int32_t *offsets = malloc((N + 1) * sizeof *offsets), *columns = malloc(N * sizeof *columns);
    double *values = malloc(N * sizeof *values);
    if (!offsets || !columns || !values) abort();
    for (int i = 0; i <= N; i++) offsets[i] = i;
    for (int i = 0; i < N; i++) columns[i] = i;
    for (int i = 0; i < N; i++) values[i] = 2;
    spry_matrix *A = NULL;
    assert_int_equal(spry_matrix_borrow_csr_f64(context, &A, N, N, offsets, columns, values, NULL), SPRY_OK);
    spry_vector b = right_side(N, SPRY_F64), x = new_vector(N, SPRY_F64), none = new_vector(N, SPRY_F64);
    spry_cg_options o = on_gpu();
    spry_cg_result r;
    spry_error err = {0};
    /* one iteration is enough; its beta cannot be foretold */
    expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_OK, "");
    assert_int_equal(r.iterations, 1);
    for (int i = 0; i < N; i++) assert_true(at(&x, i) == at(&b, i) / 2);
    o.start_from_x = 1;
    expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_OK, "");
    assert_int_equal(r.iterations, 0);
    for (int i = 0; i < N; i++) assert_true(at(&x, i) == at(&b, i) / 2);
    ((double *)x.data)[N - 1] += 3;
    expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_OK, "");
    assert_at_most(fabs(at(&x, N - 1) - at(&b, N - 1) / 2), 1e-7);
    expect_status(solve(&r, x, A, none, &o, &err), &err, SPRY_OK, "");
    assert_memory_equal(x.data, none.data, N * sizeof(double));
    spry_matrix_destroy(A);
    /* an observer that has enough is heard at the next look: no later than all that was started */
    A = generated("laplace5,x=100,y=50", SPRY_F64);
    o.start_from_x = 0;
    for (observed.stop = 1; observed.stop < 60; observed.stop += 19) {
        expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_NOT_CONVERGED, "stopped after");
        assert_int_equal(r.verdict, SPRY_VERDICT_STOPPED);
        assert_true(r.iterations >= observed.stop && r.iterations <= observed.stop + observed.stop / 8);
    }
    observed.stop = 0;
    spry_matrix_destroy(A);
    dense nothing = dense_make(0);
    A = sparse_of(context, &nothing, SPRY_CSR, SPRY_F64);
    b.length = x.length = 0;
    expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_OK, "");
    b.length = x.length = N;
    spry_matrix_destroy(A);
    dense_free(&nothing);
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &none);
    free(offsets);
    free(columns);
    free(values);
}

/* ---- PageRank ------------------------------------------------------------------------------------ */

static spry_pagerank_options rank_on_gpu(void)
{
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    o.device = "cuda";
    o.kernel = "csr_merge_cuda";
    o.observe = watch;
    return o;
}

static spry_status rank(spry_pagerank_result *r, spry_vector x, const spry_matrix *A, const spry_pagerank_options *o,
                        spry_error *err)
{
    *r = SPRY_INIT(spry_pagerank_result);
    observed.seen = 0;
    return spry_pagerank(context, x, r, A, o, err);
}

static void compare_ranks(const spry_matrix *A, int64_t n, spry_type type, const spry_pagerank_options *o)
{
    spry_vector x = new_vector(n, type), y = new_vector(n, type);
    spry_pagerank_options cpu = *o;
    spry_pagerank_result r, told;
    spry_error err = {0};
    cpu.device = cpu.kernel = NULL;
    expect_status(rank(&told, y, A, &cpu, &err), &err, SPRY_OK, "");
    expect_status(rank(&r, x, A, o, &err), &err, SPRY_OK, "");
    assert_int_equal(r.verdict, SPRY_VERDICT_CONVERGED);
    assert_int_equal(observed.seen, r.iterations);
    assert_true(observed.residual[r.iterations - 1] == r.residual && r.residual <= o->tolerance);
    assert_int_equal(r.zero_columns, told.zero_columns);
    assert_int_equal(r.first_zero_column, told.first_zero_column);
    assert_int_equal(r.as_it_stands, told.as_it_stands);
    assert_true(r.iterations - told.iterations <= 1 && told.iterations - r.iterations <= 1);
    double slack = r.error_bound + told.error_bound + 32 * (type == SPRY_F32 ? 0x1p-23 : 0x1p-52), apart = 0;
    for (int64_t i = 0; i < n; i++) apart += fabs(at(&x, i) - at(&y, i));
    assert_at_most(apart, slack);
    assert_at_most(fabs(r.mass - told.mass), slack);
    assert_at_most(fabs(r.zero_mass - told.zero_mass), slack);
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &y);
}

static void compare_graph(const dense *links, spry_zero_columns mode)
{
    int n = links->n, all_ones = 1;
    for (int i = 0; i < n * n; i++) all_ones &= links->a[i] == 0 || links->a[i] == 1;
    for (int type = SPRY_F32; type <= (all_ones ? SPRY_PATTERN : SPRY_F64); type++)
        for (int norm = SPRY_NORM_1; norm <= SPRY_NORM_INF; norm++)
            for (int edges = SPRY_COLUMN_TO_ROW; edges <= SPRY_ROW_TO_COLUMN; edges++) {
                if (edges == SPRY_ROW_TO_COLUMN && mode == SPRY_ZERO_ABORT) continue; /* rows may well be empty */
                spry_matrix *A = sparse_of(context, links, SPRY_CSR, (spry_type)type);
                spry_pagerank_options o = rank_on_gpu();
                o.norm = (spry_norm)norm;
                o.edges = (spry_edges)edges;
                o.zero_columns = mode;
                o.tolerance = type == SPRY_F32 ? 1e-6 : 1e-13;
                o.max_iterations = 1000;
                compare_ranks(A, n, type == SPRY_F32 ? SPRY_F32 : SPRY_F64, &o);
                spry_matrix_destroy(A);
            }
}

/* zero: every third column is one of zeros. */
static dense random_graph(int n, int ones, int zero, uint64_t seed)
{
    dense d = dense_make(n);
    for (int i = 0; i < n * n; i++)
        if (uniform(&seed) < 0.2) d.a[i] = ones ? 1 : 0.25 + uniform(&seed);
    for (int j = 0; j < n; j++) {
        d.a[((j + 5) % n) * n + j] = 1;
        for (int i = 0; i < n && zero && j % 3 == 0; i++) d.a[i * n + j] = 0;
    }
    return d;
}

void pagerank_as_on_the_cpu(void **state)
{
    (void)state;
    for (int ones = 0; ones < 2; ones++) {
        dense d = random_graph(40, ones, 0, 3 + (uint64_t)ones);
        compare_graph(&d, SPRY_ZERO_ABORT);
        compare_graph(&d, SPRY_ZERO_TELEPORT);
        dense_free(&d);
    }
    dense one = dense_make(1); /* one node, without and with a loop */
    compare_graph(&one, SPRY_ZERO_TELEPORT);
    compare_graph(&one, SPRY_ZERO_DROP);
    one.a[0] = 3;
    compare_graph(&one, SPRY_ZERO_ABORT);
    dense_free(&one);
    dense parts = dense_make(6); /* a pair, a cycle of three, a loop */
    parts.a[0 * 6 + 1] = parts.a[1 * 6 + 0] = parts.a[5 * 6 + 5] = 1;
    parts.a[2 * 6 + 3] = parts.a[3 * 6 + 4] = parts.a[4 * 6 + 2] = 1;
    compare_graph(&parts, SPRY_ZERO_ABORT); /* as it stands: no factors */
    dense_free(&parts);
    for (int type = SPRY_F32; type <= SPRY_PATTERN; type++) {
        spry_matrix *A = graph_of(context, "rmat,scale=13", (spry_type)type);
        spry_arrays a = SPRY_INIT(spry_arrays);
        assert_int_equal(spry_matrix_get_arrays(A, &a, NULL), SPRY_OK);
        spry_pagerank_options o = rank_on_gpu();
        o.edges = SPRY_ROW_TO_COLUMN;
        o.zero_columns = SPRY_ZERO_TELEPORT;
        o.tolerance = type == SPRY_F32 ? 1e-5 : 1e-11;
        compare_ranks(A, a.rows, type == SPRY_F32 ? SPRY_F32 : SPRY_F64, &o);
        spry_matrix_destroy(A);
    }
}

void pagerank_zero_columns(void **state)
{
    (void)state;
    dense d = random_graph(19, 0, 1, 7), none = dense_make(5);
    compare_graph(&d, SPRY_ZERO_TELEPORT);
    compare_graph(&d, SPRY_ZERO_DROP);
    compare_graph(&none, SPRY_ZERO_TELEPORT);
    compare_graph(&none, SPRY_ZERO_DROP);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    double x[19] = {77}, before[19] = {77};
    spry_pagerank_options o = rank_on_gpu();
    spry_pagerank_result r;
    spry_error err = {0};
    expect_status(rank(&r, spry_vector_f64(x, 19), A, &o, &err), &err, SPRY_NOT_CONVERGED,
                  "7 of the nodes link nowhere, the first is 1 (counted from 1)");
    assert_int_equal(r.verdict, SPRY_VERDICT_ZERO_COLUMN);
    assert_memory_equal(x, before, sizeof x);
    spry_matrix_destroy(A);
    dense_free(&d);
    dense_free(&none);
}

static void check_stops(const spry_matrix *A, spry_zero_columns mode, double alpha, int64_t least)
{
    enum { N = 4096 };
    static double history[MOST_HISTORY];
    spry_vector x = new_vector(N, SPRY_F64), y = new_vector(N, SPRY_F64);
    spry_pagerank_options o = rank_on_gpu();
    spry_pagerank_result first, r;
    spry_error err = {0};
    o.zero_columns = mode;
    o.alpha = alpha;
    o.tolerance = 1e-11;
    o.max_iterations = 2000;
    expect_status(rank(&first, x, A, &o, &err), &err, SPRY_OK, "");
    assert_true(first.iterations > least);
    memcpy(history, observed.residual, sizeof history);
    for (int64_t k = 0; k < first.iterations; k++)
        assert_int_equal(history[k] <= o.tolerance, k == first.iterations - 1);
    o.tolerance = 1e-300;
    for (int64_t limit = 1; limit <= first.iterations; limit++) {
        o.max_iterations = limit;
        expect_status(rank(&r, y, A, &o, &err), &err, SPRY_NOT_CONVERGED, "iteration limit");
        assert_int_equal(r.iterations, limit);
        assert_true(r.residual == history[limit - 1]);
    }
    assert_memory_equal(x.data, y.data, N * sizeof(double));
    assert_true(r.mass == first.mass && r.zero_mass == first.zero_mass && r.error_bound == first.error_bound);
    o.max_iterations = 0;
    for (observed.stop = 1; observed.stop < least; observed.stop += 16) {
        expect_status(rank(&r, y, A, &o, &err), &err, SPRY_NOT_CONVERGED, "stopped");
        assert_int_equal(r.verdict, SPRY_VERDICT_STOPPED);
        assert_true(r.iterations >= observed.stop && r.iterations <= observed.stop + observed.stop / 8);
    }
    observed.stop = 0;
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &y);
}

void pagerank_stops_where_it_says(void **state)
{
    (void)state;
    spry_matrix *A = graph_of(context, "rmat,scale=12", SPRY_F64);
    check_stops(A, SPRY_ZERO_TELEPORT, 0.97, 10);
    check_stops(A, SPRY_ZERO_DROP, 0.97, 10);
    spry_matrix_destroy(A);
    A = graph_of(context, "laplace5,x=64,y=64", SPRY_PATTERN);
    check_stops(A, SPRY_ZERO_ABORT, 0.9, 50);
    spry_matrix_destroy(A);
}

/* ---- where the data are -------------------------------------------------------------------------- */

static void *uploaded(const void *from, int64_t bytes)
{
    void *data = NULL;
    assert_int_equal(spry_device_allocate(context, &data, 1, bytes, NULL), SPRY_OK);
    assert_int_equal(spry_device_copy(context, data, 1, from, 0, bytes, NULL, NULL), SPRY_OK);
    return data;
}

static void download(void *to, const spry_vector *v)
{
    assert_int_equal(spry_device_copy(context, to, 0, v->data, v->device, v->length * 8, NULL, NULL), SPRY_OK);
}

static spry_matrix *on_device(const spry_matrix *A, spry_arrays *d)
{
    spry_matrix *made = NULL;
    assert_int_equal(spry_matrix_get_arrays(A, d, NULL), SPRY_OK);
    d->offsets = uploaded(d->offsets, (d->rows + 1) * (int64_t)spry_index_type_bytes(d->offset_type));
    d->indices = uploaded(d->indices, d->nnz * (int64_t)spry_index_type_bytes(d->index_type));
    if (d->values) d->values = uploaded(d->values, d->nnz * (int64_t)spry_type_bytes(d->value_type));
    d->device = 1;
    d->ownership = SPRY_BORROW;
    assert_int_equal(spry_matrix_create(context, &made, d, NULL), SPRY_OK);
    return made;
}

static void free_arrays(const spry_arrays *d)
{
    const void *arrays[] = {d->offsets, d->indices, d->values};
    for (int a = 0; a < 3; a++) spry_device_free(context, 1, (void *)(uintptr_t)arrays[a]);
}

static void cg_with_data_there(void)
{
    enum { N = 40 * 30 };
    static double got[N];
    spry_matrix *A = generated("laplace5,x=40,y=30", SPRY_F64);
    spry_vector b = right_side(N, SPRY_F64), x = new_vector(N, SPRY_F64), b_there = {0}, x_there = {0};
    spry_error err = {0};
    assert_int_equal(spry_vector_create(context, &x_there, N, SPRY_F64, 1, &err), SPRY_OK);
    assert_int_equal(x_there.device, 1);
    assert_int_equal(spry_vector_create(context, &b_there, N, SPRY_F64, 1, &err), SPRY_OK);
    assert_int_equal(spry_device_copy(context, b_there.data, 1, b.data, 0, N * 8, NULL, &err), SPRY_OK);
    for (int precond = 0; precond < 2; precond++)
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            spry_cg_options o = on_gpu();
            spry_cg_result r;
            o.precond = (spry_precond)precond;
            expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_OK, "");
            expect_status(solve(&r, x_there, A, b_there, &o, &err), &err, SPRY_OK, "");
            download(got, &x_there);
            assert_memory_equal(got, x.data, sizeof got);
            spry_arrays arrays = SPRY_INIT(spry_arrays);
            spry_matrix *there = on_device(A, &arrays);
            if (symmetric) {
                spry_matrix_destroy(there);
                arrays.symmetry = SPRY_SYMMETRIC;
                assert_int_equal(spry_matrix_create(context, &there, &arrays, NULL), SPRY_OK);
            }
            o.kernel = o.device = NULL; /* where the matrix is; as it lies there */
            expect_status(solve(&r, x_there, there, b, &o, &err), &err, SPRY_OK, "");
            download(got, &x_there);
            assert_string_equal(r.kernel, "csr_merge_cuda");
            assert_memory_equal(got, x.data, sizeof got);
            spry_matrix_destroy(there);
            free_arrays(&arrays);
        }
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &b_there);
    spry_vector_destroy(context, &x_there);
    spry_matrix_destroy(A);
}

static void ranks_with_data_there(void)
{
    enum { N = 1024 };
    static double got[N];
    spry_matrix *A = graph_of(context, "rmat,scale=10", SPRY_F64);
    spry_vector x = new_vector(N, SPRY_F64), x_there = {0};
    spry_error err = {0};
    assert_int_equal(spry_vector_create(context, &x_there, N, SPRY_F64, 1, &err), SPRY_OK);
    for (int edges = SPRY_COLUMN_TO_ROW; edges <= SPRY_ROW_TO_COLUMN; edges++) {
        spry_pagerank_options o = rank_on_gpu();
        spry_pagerank_result r;
        o.edges = (spry_edges)edges;
        o.zero_columns = SPRY_ZERO_TELEPORT;
        expect_status(rank(&r, x, A, &o, &err), &err, SPRY_OK, "");
        spry_arrays arrays = SPRY_INIT(spry_arrays);
        spry_matrix *there = on_device(A, &arrays);
        expect_status(rank(&r, x_there, there, &o, &err), &err, SPRY_OK, "");
        download(got, &x_there);
        assert_memory_equal(got, x.data, sizeof got);
        spry_matrix_destroy(there);
        free_arrays(&arrays);
    }
    spry_vector_destroy(context, &x);
    spry_vector_destroy(context, &x_there);
    spry_matrix_destroy(A);
}

void data_in_device_memory(void **state)
{
    (void)state;
    cg_with_data_there();
    ranks_with_data_there();
}

void the_same_bits_again(void **state)
{
    (void)state;
    enum { N = 150 * 150, RUNS = 5 };
    spry_matrix *A = generated("laplace5,x=150,y=150", SPRY_F64), *G = graph_of(context, "rmat,scale=14", SPRY_F64);
    spry_vector b = right_side(N, SPRY_F64), x[RUNS], y[RUNS];
    spry_error err = {0};
    for (int k = 0; k < RUNS; k++) {
        spry_cg_options o = on_gpu();
        spry_cg_result r;
        spry_pagerank_options ro = rank_on_gpu();
        spry_pagerank_result rr;
        ro.zero_columns = SPRY_ZERO_TELEPORT;
        x[k] = new_vector(N, SPRY_F64);
        y[k] = new_vector(16384, SPRY_F64);
        expect_status(solve(&r, x[k], A, b, &o, &err), &err, SPRY_OK, "");
        expect_status(rank(&rr, y[k], G, &ro, &err), &err, SPRY_OK, "");
        assert_memory_equal(x[k].data, x[0].data, N * sizeof(double));
        assert_memory_equal(y[k].data, y[0].data, 16384 * sizeof(double));
    }
    for (int k = 0; k < RUNS; k++) {
        spry_vector_destroy(context, &x[k]);
        spry_vector_destroy(context, &y[k]);
    }
    spry_vector_destroy(context, &b);
    spry_matrix_destroy(A);
    spry_matrix_destroy(G);
}

void bad_places(void **state)
{
    (void)state;
    dense d = chain(4);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    spry_vector b = right_side(4, SPRY_F64), x = new_vector(4, SPRY_F64), there = {0};
    spry_cg_options o = on_gpu();
    spry_cg_result r;
    spry_error err = {0};
    assert_int_equal(spry_vector_create(context, &there, 4, SPRY_F64, 1, &err), SPRY_OK);
    o.kernel = NULL;
    o.device = "cpu";
    expect_status(solve(&r, there, A, b, &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "x is on device 1, but the work is done on device 0");
    o.device = NULL;
    expect_status(solve(&r, x, A, there, &o, &err), &err, SPRY_INVALID_ARGUMENT, "b is on device 1");
    o.device = "cuda:99";
    expect_status(solve(&r, x, A, b, &o, &err), &err, SPRY_INVALID_ARGUMENT, "device is 100, expected a GPU");
    expect_status(spry_vector_create(context, &x, 4, SPRY_F64, 100, &err), &err, SPRY_INVALID_ARGUMENT,
                  "device is 100");
    spry_vector_destroy(context, &there);
    assert_null(there.data);
    spry_vector_destroy(context, &b);
    spry_vector_destroy(context, &x);
    spry_matrix_destroy(A);
    dense_free(&d);
}
