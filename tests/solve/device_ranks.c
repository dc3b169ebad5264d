/* PageRank on a GPU, compared with the CPU. */
#include "device_tests.h"
#include "spry/cuda.h"
#include "spry/matrix.h"
#include "spry/solve.h"

spry_pagerank_options rank_on_gpu(void)
{
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    o.device = 1;
    o.kernel = tested_kernel;
    o.observe = watch;
    o.edges = SPRY_COLUMN_TO_ROW;
    o.dangling = SPRY_DANGLING_REFUSE;
    return o;
}

spry_status rank(spry_pagerank_result *r, spry_vector x, const spry_matrix *A, const spry_pagerank_options *o,
                 spry_error *err)
{
    *r = SPRY_INIT(spry_pagerank_result);
    observed.seen = 0;
    return spry_pagerank(tested_context, x, r, A, o, err);
}

/* Sets x to the first guess, used if the options request a guess. */
static void fill_guess(const spry_vector *x)
{
    for (int64_t i = 0; i < x->length; i++) set_entry(x, i, (double)(i % 7));
    set_entry(x, 0, 1);
}

static void compare_ranks(const spry_matrix *A, int64_t n, spry_type type, const spry_pagerank_options *o)
{
    spry_vector x = new_vector(n, type), y = new_vector(n, type);
    fill_guess(&x);
    fill_guess(&y);
    spry_pagerank_options cpu = *o;
    spry_pagerank_result r, reported;
    spry_error err = {0};
    cpu.device = SPRY_DEVICE_DEFAULT;
    cpu.kernel = NULL;
    expect_status(rank(&reported, y, A, &cpu, &err), &err, SPRY_OK, "");
    expect_status(rank(&r, x, A, o, &err), &err, SPRY_OK, "");
    assert_int_equal(r.verdict, SPRY_VERDICT_CONVERGED);
    assert_int_equal(observed.seen, r.iterations);
    assert_true(observed.residual[r.iterations - 1] == r.residual && r.residual <= o->tolerance);
    assert_int_equal(r.dangling_nodes, reported.dangling_nodes);
    assert_int_equal(r.first_dangling_node, reported.first_dangling_node);
    assert_int_equal(r.is_stochastic, reported.is_stochastic);
    assert_true(r.iterations - reported.iterations <= 1 && reported.iterations - r.iterations <= 1);
    double slack = r.error_bound + reported.error_bound + 32 * (type == SPRY_F32 ? 0x1p-23 : 0x1p-52), difference = 0;
    for (int64_t i = 0; i < n; i++) difference += fabs(entry(&x, i) - entry(&y, i));
    assert_at_most(difference, slack);
    assert_at_most(fabs(r.mass - reported.mass), slack);
    assert_at_most(fabs(r.dangling_mass - reported.dangling_mass), slack);
    spry_vector_destroy(tested_context, &x);
    spry_vector_destroy(tested_context, &y);
}

static void compare_graph(const dense *links, spry_dangling mode)
{
    int n = links->n, all_ones = 1;
    for (int i = 0; i < n * n; i++) all_ones &= links->a[i] == 0 || links->a[i] == 1;
    for (int type = SPRY_F32; type <= (all_ones ? SPRY_PATTERN : SPRY_F64); type++)
        for (int norm = SPRY_NORM_1; norm <= SPRY_NORM_INF; norm++)
            for (int edges = SPRY_ROW_TO_COLUMN; edges <= SPRY_COLUMN_TO_ROW; edges++) {
                /* rows may be empty, and would be refused */
                if (edges == SPRY_ROW_TO_COLUMN && mode == SPRY_DANGLING_REFUSE) continue;
                spry_matrix *A = sparse_of(tested_context, links, SPRY_CSR, (spry_type)type);
                spry_pagerank_options o = rank_on_gpu();
                o.norm = (spry_norm)norm;
                o.edges = (spry_edges)edges;
                o.dangling = mode;
                o.tolerance = type == SPRY_F32 ? 1e-6 : 1e-13;
                o.max_iterations = 1000;
                compare_ranks(A, n, type == SPRY_F32 ? SPRY_F32 : SPRY_F64, &o);
                spry_matrix_destroy(A);
            }
}

/* Returns random links. ones: every link is 1. zero: every third column is zero. */
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
    for (int ones = 0; ones < 2; ones++) {
        dense d = random_graph(40, ones, 0, 3 + (uint64_t)ones);
        compare_graph(&d, SPRY_DANGLING_REFUSE);
        compare_graph(&d, SPRY_DANGLING_TELEPORT);
        dense_free(&d);
    }
    dense one = dense_make(1); /* one node, without and with a self loop */
    compare_graph(&one, SPRY_DANGLING_TELEPORT);
    compare_graph(&one, SPRY_DANGLING_DROP);
    one.a[0] = 3;
    compare_graph(&one, SPRY_DANGLING_REFUSE);
    dense_free(&one);
    dense parts = dense_make(6); /* a pair, a cycle of three, a self loop */
    parts.a[0 * 6 + 1] = parts.a[1 * 6 + 0] = parts.a[5 * 6 + 5] = 1;
    parts.a[2 * 6 + 3] = parts.a[3 * 6 + 4] = parts.a[4 * 6 + 2] = 1;
    compare_graph(&parts, SPRY_DANGLING_REFUSE); /* stochastic without scaling factors */
    dense_free(&parts);
    for (int type = SPRY_F32; type <= SPRY_PATTERN; type++) {
        spry_matrix *A = graph_of(tested_context, "rmat,scale=13", (spry_type)type);
        spry_arrays a = arrays_of(A);
        spry_pagerank_options o = rank_on_gpu();
        o.edges = SPRY_ROW_TO_COLUMN;
        o.dangling = SPRY_DANGLING_TELEPORT;
        o.tolerance = type == SPRY_F32 ? 1e-5 : 1e-11;
        compare_ranks(A, a.rows, type == SPRY_F32 ? SPRY_F32 : SPRY_F64, &o);
        spry_matrix_destroy(A);
    }
}

void pagerank_dangling_nodes(void **state)
{
    dense d = random_graph(19, 0, 1, 7), none = dense_make(5);
    compare_graph(&d, SPRY_DANGLING_TELEPORT);
    compare_graph(&d, SPRY_DANGLING_DROP);
    compare_graph(&none, SPRY_DANGLING_TELEPORT);
    compare_graph(&none, SPRY_DANGLING_DROP);
    spry_matrix *A = sparse_of(tested_context, &d, SPRY_CSR, SPRY_F64);
    double x[19] = {77}, before[19] = {77};
    spry_pagerank_options o = rank_on_gpu();
    spry_pagerank_result r;
    spry_error err = {0};
    expect_status(rank(&r, spry_vector_f64(x, 19), A, &o, &err), &err, SPRY_NOT_CONVERGED,
                  "nodes without outgoing links: 7, the first is 0 (counted from 0)");
    assert_int_equal(r.verdict, SPRY_VERDICT_DANGLING);
    assert_memory_equal(x, before, sizeof x);
    spry_matrix_destroy(A);
    dense_free(&d);
    dense_free(&none);
}

/* Weights and first guesses, in host memory and in device memory. */
void pagerank_personalization(void **state)
{
    for (int type = SPRY_F32; type <= SPRY_F64; type++)
        for (int scale = 6; scale <= (INSTRUMENTED ? 10 : 13); scale += INSTRUMENTED ? 4 : 7)
            /* what: 1: weights v, + 2: first guess x, + 4: v in device memory, + 8: SPRY_DANGLING_DROP */
            for (int what = 1; what < 16; what++) {
                if (!(what & 3) || (what & 4 && !(what & 1))) continue;
                const int64_t n = (int64_t)1 << scale;
                char spec[32];
                spry_vector v = new_vector(n, (spry_type)type);
                spry_pagerank_options o = rank_on_gpu();
                snprintf(spec, sizeof spec, "rmat,scale=%d", scale);
                spry_matrix *A = graph_of(tested_context, spec, (spry_type)type);
                for (int64_t i = 0; i < n; i++) set_entry(&v, i, i % 5 == 3 ? 0 : 0.5 + (double)(i % 11));
                spry_vector on_device = create_vector(tested_context, n, (spry_type)type, 1);
                assert_int_equal(spry_device_copy(tested_context, on_device.data, 1, v.data, 0,
                                                  n * (int64_t)spry_type_bytes((spry_type)type), NULL, NULL),
                                 SPRY_OK);
                o.edges = SPRY_ROW_TO_COLUMN;
                o.dangling = what & 8 ? SPRY_DANGLING_DROP : SPRY_DANGLING_TELEPORT;
                o.norm = (spry_norm)(what % 3);
                o.tolerance = type == SPRY_F32 ? 1e-5 : 1e-11;
                o.start = what & 2 ? SPRY_START_X : SPRY_START_DEFAULT;
                if (what & 1) o.personalization = spry_vector_as_const(v);
                if (what & 4) {
                    spry_pagerank_result r;
                    spry_error err = {0};
                    spry_vector x = new_vector(n, (spry_type)type), y = new_vector(n, (spry_type)type);
                    fill_guess(&x);
                    fill_guess(&y);
                    expect_status(rank(&r, x, A, &o, &err), &err, SPRY_OK, "");
                    o.personalization = spry_vector_as_const(on_device);
                    expect_status(rank(&r, y, A, &o, &err), &err, SPRY_OK, "");
                    assert_memory_equal(x.data, y.data, (size_t)n * spry_type_bytes((spry_type)type));
                    spry_vector_destroy(tested_context, &x);
                    spry_vector_destroy(tested_context, &y);
                } else {
                    compare_ranks(A, n, (spry_type)type, &o);
                }
                spry_matrix_destroy(A);
                spry_vector_destroy(tested_context, &v);
                spry_vector_destroy(tested_context, &on_device);
            }
}

/* Weights and first guesses with negative, infinite or NaN elements are refused. x keeps its values. */
void pagerank_bad_weights(void **state)
{
    enum { N = 64 };
    static const double bad[] = {-1, INFINITY, NAN};
    spry_matrix *A = graph_of(tested_context, "rmat,scale=6", SPRY_F64);
    for (int b = 0; b < 3; b++)
        for (int start = 0; start < 2; start++) {
            spry_vector v = new_vector(N, SPRY_F64), x = new_vector(N, SPRY_F64);
            spry_pagerank_options o = rank_on_gpu();
            spry_pagerank_result r;
            spry_error err = {0};
            char text[60];
            for (int i = 0; i < N; i++) set_entry(&v, i, 1);
            for (int i = 0; i < N; i++) set_entry(&x, i, 2);
            set_entry(start ? &x : &v, 61, bad[b]);
            set_entry(start ? &x : &v, 40, bad[b]);
            o.start = SPRY_START_X;
            o.dangling = SPRY_DANGLING_TELEPORT;
            o.personalization = spry_vector_as_const(v);
            snprintf(text, sizeof text, "element 41 of %s (counted from 1) is ", start ? "x" : "personalization");
            expect_status(rank(&r, x, A, &o, &err), &err, SPRY_INVALID_ARGUMENT, text);
            assert_true(entry(&x, 3) == 2);
            for (int i = 0; i < N; i++) set_entry(&v, i, 0);
            expect_status(rank(&r, x, A, &o, &err), &err, SPRY_INVALID_ARGUMENT, "personalization sum to 0");
            spry_vector_destroy(tested_context, &v);
            spry_vector_destroy(tested_context, &x);
        }
    spry_matrix_destroy(A);
}

/* Weighted links in rows of many lengths. Row 5 is too long for one warp. Tests CSR, COO, CSC and both directions. */
void pagerank_links(void **state)
{
    enum { N = 20011, MOST = 4 * N };
    static int32_t offsets[N + 1], columns[MOST];
    static double values[MOST];
    int64_t nnz = 0;
    uint64_t seed = 17;
    for (int i = 0; i < N; i++) {
        const int length = i == 5 ? N : i % 1000 == 7 ? 70 + i % 37 : i % 4;
        for (int l = 0; l < length; l++, nnz++) {
            assert_true(nnz < MOST);
            columns[nnz] = (int32_t)((i + (int64_t)l * (i == 5 ? 1 : 31)) % N);
            values[nnz] = 0.125 + uniform(&seed);
        }
        offsets[i + 1] = (int32_t)nnz;
    }
    spry_matrix *A = NULL;
    spry_matrix *rows = borrow_csr(tested_context, N, N, offsets, columns, values);
    for (int type = SPRY_F32; type <= SPRY_F64; type++)
        for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++)
            for (int edges = SPRY_ROW_TO_COLUMN; edges <= SPRY_COLUMN_TO_ROW; edges++) {
                spry_matrix_options to = SPRY_INIT(spry_matrix_options);
                spry_pagerank_options o = rank_on_gpu();
                if (INSTRUMENTED && (layout + edges + type) % 2) continue;
                /* skipped, because the sum over the long row rounds too much in f32 */
                if (type == SPRY_F32 && edges == SPRY_COLUMN_TO_ROW) continue;
                to.layout = (spry_layout)layout;
                to.value_type = (spry_type)type;
                to.keep_duplicates = 1;
                A = convert_matrix(tested_context, rows, &to);
                o.edges = (spry_edges)edges;
                o.dangling = SPRY_DANGLING_TELEPORT;
                o.tolerance = type == SPRY_F32 ? 1e-5 : 1e-11;
                compare_ranks(A, N, (spry_type)type, &o);
                spry_matrix_destroy(A);
            }
    spry_matrix_destroy(rows);
}

/* Checks that the GPU's message equals the CPU's, for A in host memory and in device memory. */
static void same_refusal(const spry_matrix *A, int64_t n, spry_type type, spry_edges edges)
{
    spry_vector x = new_vector(n, type);
    spry_pagerank_options o = rank_on_gpu(), cpu = o;
    spry_pagerank_result r;
    spry_error err = {0}, reported = {0};
    spry_arrays on_device = SPRY_INIT(spry_arrays);
    o.edges = cpu.edges = edges;
    cpu.device = SPRY_DEVICE_DEFAULT;
    cpu.kernel = NULL;
    assert_int_equal(rank(&r, x, A, &cpu, &reported), SPRY_INVALID_MATRIX);
    expect_status(rank(&r, x, A, &o, &err), &err, SPRY_INVALID_MATRIX, reported.message);
    spry_matrix *copy = matrix_to_device(A, &on_device);
    expect_status(rank(&r, x, copy, &o, &err), &err, SPRY_INVALID_MATRIX, reported.message);
    assert_int_equal(err.value, reported.value);
    spry_matrix_destroy(copy);
    free_device_matrix(&on_device);
    spry_vector_destroy(tested_context, &x);
}

void pagerank_bad_links(void **state)
{
    static const double bad[] = {-2, INFINITY, NAN, 1e-310};
    for (int edges = SPRY_ROW_TO_COLUMN; edges <= SPRY_COLUMN_TO_ROW; edges++)
        for (int b = 0; b < 4; b++) {
            dense d = random_graph(33, 0, 0, 5);
            /* distance in d.a from one node to the next; 34 - at: distance between two links of a node */
            const int at = edges == SPRY_COLUMN_TO_ROW ? 1 : 33;
            for (int k = 0; k < 33; k++) d.a[5 * at + k * (34 - at)] = k == 7 ? bad[b] : 0;
            spry_matrix *A = sparse_of(tested_context, &d, SPRY_CSR, SPRY_F64);
            same_refusal(A, 33, SPRY_F64, (spry_edges)edges);
            spry_matrix_destroy(A);
            dense_free(&d);
        }
}

/* The graphs of check_stops have 2^(2 * SIDE_LOG) nodes. */
enum { SIDE_LOG = INSTRUMENTED ? 5 : 6 };

static void check_stops(const spry_matrix *A, spry_dangling mode, double alpha, int64_t least)
{
    enum { N = 1 << 2 * SIDE_LOG };
    static double history[MOST_HISTORY];
    spry_vector x = new_vector(N, SPRY_F64), y = new_vector(N, SPRY_F64);
    spry_pagerank_options o = rank_on_gpu();
    spry_pagerank_result first, r;
    spry_error err = {0};
    o.dangling = mode;
    o.alpha = alpha;
    o.tolerance = 1e-11;
    o.max_iterations = 2000;
    expect_status(rank(&first, x, A, &o, &err), &err, SPRY_OK, "");
    assert_true(first.iterations > least);
    memcpy(history, observed.residual, sizeof history);
    for (int64_t k = 0; k < first.iterations; k++)
        assert_int_equal(history[k] <= o.tolerance, k == first.iterations - 1);
    o.tolerance = 1e-300;
    /* limits in steps of 12 iterations, and in steps of 1 when fewer than 12 iterations are left */
    for (int64_t left = first.iterations - 1; left >= 0; left -= left < 12 ? 1 : 12) {
        o.max_iterations = first.iterations - left;
        expect_status(rank(&r, y, A, &o, &err), &err, SPRY_NOT_CONVERGED, "iteration limit");
        assert_int_equal(r.iterations, o.max_iterations);
        assert_true(r.residual == history[r.iterations - 1]);
    }
    assert_memory_equal(x.data, y.data, N * sizeof(double));
    assert_true(r.mass == first.mass && r.dangling_mass == first.dangling_mass && r.error_bound == first.error_bound);
    o.max_iterations = 0;
    for (observed.stop = 1; observed.stop < least; observed.stop += 16) {
        expect_status(rank(&r, y, A, &o, &err), &err, SPRY_NOT_CONVERGED, "stopped");
        assert_int_equal(r.verdict, SPRY_VERDICT_STOPPED);
        assert_true(r.iterations >= observed.stop && r.iterations <= observed.stop + MOST_AHEAD);
    }
    observed.stop = 0;
    spry_vector_destroy(tested_context, &x);
    spry_vector_destroy(tested_context, &y);
}

void pagerank_stops_where_it_says(void **state)
{
    spry_matrix *A = graph_of(tested_context, INSTRUMENTED ? "rmat,scale=10" : "rmat,scale=12", SPRY_F64);
    check_stops(A, SPRY_DANGLING_TELEPORT, 0.97, 10);
    check_stops(A, SPRY_DANGLING_DROP, 0.97, 10);
    spry_matrix_destroy(A);
    A = graph_of(tested_context, INSTRUMENTED ? "laplace5,x=32,y=32" : "laplace5,x=64,y=64", SPRY_PATTERN);
    check_stops(A, SPRY_DANGLING_REFUSE, 0.9, 50);
    spry_matrix_destroy(A);
}

/* Returns the same matrix with 64-bit offsets and columns, in arrays that the caller frees. */
static spry_matrix *widened(const spry_matrix *A, int64_t **offsets, int64_t **columns)
{
    spry_arrays a = arrays_of(A);
    assert_int_equal(a.offset_type, SPRY_I32);
    *offsets = malloc(((size_t)a.rows + 1) * sizeof **offsets);
    *columns = malloc((size_t)a.nnz * sizeof **columns);
    for (int64_t i = 0; i <= a.rows; i++) (*offsets)[i] = ((const int32_t *)a.offsets)[i];
    for (int64_t k = 0; k < a.nnz; k++) (*columns)[k] = ((const int32_t *)a.indices)[k];
    a.offsets = *offsets, a.indices = *columns;
    a.offset_type = a.index_type = SPRY_I64;
    a.ownership = SPRY_BORROW;
    return create_matrix(tested_context, &a);
}

/*
 * Compares ranks of a matrix with 64-bit columns. The device builds links only from 32-bit columns, so the host builds
 * the links of this matrix. The device then computes the ranks if a kernel supports 64-bit columns.
 */
static void wide_ranks_with_data_on_device(const spry_matrix *A, int64_t n)
{
    int64_t *offsets, *columns;
    spry_matrix *wide = widened(A, &offsets, &columns);
    spry_arrays arrays = SPRY_INIT(spry_arrays);
    spry_matrix *on_device = matrix_to_device(wide, &arrays);
    spry_vector x = new_vector(n, SPRY_F64);
    spry_pagerank_options o = rank_on_gpu();
    spry_pagerank_result r;
    spry_error err = {0};
    double *const got = malloc((size_t)n * sizeof *got);
    o.edges = SPRY_ROW_TO_COLUMN;
    o.dangling = SPRY_DANGLING_TELEPORT;
    expect_status(rank(&r, x, A, &o, &err), &err, SPRY_OK, "");
    o.device = SPRY_DEVICE_DEFAULT; /* the device that holds the matrix */
    o.kernel = NULL;
    spry_vector x_on_device = create_vector(tested_context, n, SPRY_F64, 1);
    const spry_status status = rank(&r, x_on_device, on_device, &o, &err);
    if (status != SPRY_UNSUPPORTED) { /* unsupported: the device has no kernels for 64-bit columns */
        expect_status(status, &err, SPRY_OK, "");
        download(got, &x_on_device);
    }
    for (int64_t i = 0; i < n && status == SPRY_OK; i++)
        assert_at_most(fabs(got[i] - entry(&x, i)), 1e-6 * entry(&x, i));
    free(got);
    spry_vector_destroy(tested_context, &x);
    spry_vector_destroy(tested_context, &x_on_device);
    spry_matrix_destroy(on_device);
    spry_matrix_destroy(wide);
    free_device_matrix(&arrays);
    free(offsets);
    free(columns);
}

void ranks_with_data_on_device(void)
{
    enum { N = 1024 };
    static double got[N];
    spry_matrix *A = graph_of(tested_context, "rmat,scale=10", SPRY_F64);
    spry_vector x = new_vector(N, SPRY_F64);
    spry_error err = {0};
    spry_vector x_on_device = create_vector(tested_context, N, SPRY_F64, 1);
    for (int edges = SPRY_ROW_TO_COLUMN; edges <= SPRY_COLUMN_TO_ROW; edges++) {
        spry_pagerank_options o = rank_on_gpu();
        spry_pagerank_result r;
        o.edges = (spry_edges)edges;
        o.dangling = SPRY_DANGLING_TELEPORT;
        expect_status(rank(&r, x, A, &o, &err), &err, SPRY_OK, "");
        spry_arrays arrays = SPRY_INIT(spry_arrays);
        spry_matrix *on_device = matrix_to_device(A, &arrays);
        expect_status(rank(&r, x_on_device, on_device, &o, &err), &err, SPRY_OK, "");
        download(got, &x_on_device);
        assert_memory_equal(got, x.data, sizeof got);
        spry_matrix_destroy(on_device);
        free_device_matrix(&arrays);
    }
    wide_ranks_with_data_on_device(A, N);
    spry_vector_destroy(tested_context, &x);
    spry_vector_destroy(tested_context, &x_on_device);
    spry_matrix_destroy(A);
}
