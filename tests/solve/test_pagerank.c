/* PageRank, compared with a direct solution of the dense system (I - alpha*B) x = (1-alpha)/n e. */
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/solve.h"
#include "support.h"

/* Returns options for a matrix whose columns are the links of the nodes, as in B. A column of zeros is refused. */
static spry_pagerank_options of_columns(void)
{
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    o.edges = SPRY_COLUMN_TO_ROW;
    o.dangling = SPRY_DANGLING_REFUSE;
    return o;
}

/* Returns the matrix B: links divided by the column sums. `mode` decides the zero columns. Never produces NaN. */
static dense matrix_of_ranks(const dense *links, spry_dangling mode)
{
    int n = links->n;
    dense B = dense_make(n);
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++) sum += links->a[i * n + j];
        for (int i = 0; i < n; i++)
            B.a[i * n + j] = sum > 0 ? links->a[i * n + j] / sum : mode == SPRY_DANGLING_TELEPORT ? 1.0 / n : 0;
    }
    return B;
}

static void exact_ranks(const dense *links, spry_dangling mode, double alpha, double *x)
{
    int n = links->n;
    if (n < 1) abort(); /* avoids a warning of gcc about calloc */
    dense B = matrix_of_ranks(links, mode);
    double *b = calloc((size_t)n, sizeof *b);
    for (int i = 0; i < n * n; i++) B.a[i] *= -alpha;
    for (int i = 0; i < n; i++) {
        B.a[i * n + i] += 1;
        b[i] = (1 - alpha) / n;
    }
    dense_solve(&B, b, x);
    free(b);
    dense_free(&B);
}

static dense transposed(const dense *d)
{
    dense t = dense_make(d->n);
    for (int i = 0; i < d->n; i++)
        for (int j = 0; j < d->n; j++) t.a[j * d->n + i] = d->a[i * d->n + j];
    return t;
}

/* Compares ranks of `links` in each layout, type and direction with the dense solution. */
static void check_graph(const dense *links, spry_dangling mode, double alpha)
{
    int n = links->n, all_ones = 1;
    double *exact = calloc((size_t)n, sizeof *exact), mass = 0;
    dense reversed = transposed(links);
    for (int i = 0; i < n * n; i++) all_ones &= links->a[i] == 0 || links->a[i] == 1;
    exact_ranks(links, mode, alpha, exact);
    for (int i = 0; i < n; i++) mass += exact[i];
    for (int layout = SPRY_CSR; layout <= SPRY_CSC; layout++)
        for (int type = SPRY_F32; type <= (all_ones ? SPRY_PATTERN : SPRY_F64); type++)
            for (int norm = SPRY_NORM_1; norm <= SPRY_NORM_INF; norm++)
                for (int edges = SPRY_ROW_TO_COLUMN; edges <= SPRY_COLUMN_TO_ROW; edges++) {
                    spry_matrix *A = sparse_of(context, edges == SPRY_COLUMN_TO_ROW ? links : &reversed,
                                               (spry_layout)layout, (spry_type)type);
                    spry_type of_x = type == SPRY_F32 ? SPRY_F32 : SPRY_F64;
                    spry_vector x = create_vector(context, n, of_x, 0);
                    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
                    spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
                    spry_error err = {0};
                    o.alpha = alpha;
                    o.norm = (spry_norm)norm;
                    o.edges = (spry_edges)edges;
                    o.dangling = mode;
                    o.tolerance = type == SPRY_F32 ? 1e-6 : 1e-13;
                    o.max_iterations = 1000;
                    expect_status(spry_pagerank(context, x, &r, A, &o, &err), &err, SPRY_OK, "");
                    assert_int_equal(r.verdict, SPRY_VERDICT_CONVERGED);
                    double slack = r.error_bound + 8 * (type == SPRY_F32 ? 0x1p-23 : 0x1p-52) / (1 - alpha);
                    assert_at_most(distance(&x, exact), slack);
                    assert_at_most(fabs(r.mass - mass), slack);
                    assert_at_most(r.residual, o.tolerance);
                    spry_vector_destroy(context, &x);
                    spry_matrix_destroy(A);
                }
    free(exact);
    dense_free(&reversed);
}

static dense random_graph(int n, double density, int ones, uint64_t seed)
{
    dense d = dense_make(n);
    for (int i = 0; i < n * n; i++)
        if (uniform(&seed) < density) d.a[i] = ones ? 1 : 0.25 + uniform(&seed);
    return d;
}

static void against_a_dense_solution(void **state)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        dense d = random_graph(17, 0.3, seed % 2 == 0, seed);
        for (int j = 0; j < 17; j++) d.a[((j + 5) % 17) * 17 + j] = 1; /* no column is zero */
        check_graph(&d, SPRY_DANGLING_REFUSE, 0.85);
        check_graph(&d, SPRY_DANGLING_TELEPORT, 0.5);
        dense_free(&d);
    }
}

static void dangling_nodes(void **state)
{
    dense d = random_graph(19, 0.3, 0, 7);
    int zero[] = {0, 4, 18};
    for (int z = 0; z < 3; z++)
        for (int i = 0; i < 19; i++) d.a[i * 19 + zero[z]] = 0;
    check_graph(&d, SPRY_DANGLING_TELEPORT, 0.85);
    check_graph(&d, SPRY_DANGLING_DROP, 0.85);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    double x[19], before[19];
    for (int i = 0; i < 19; i++) x[i] = before[i] = 77 + i;
    spry_pagerank_options o = of_columns();
    spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
    spry_error err = {0};
    expect_status(spry_pagerank(context, spry_vector_f64(x, 19), &r, A, &o, &err), &err, SPRY_NOT_CONVERGED,
                  "nodes without outgoing links: 3, the first is 0 (counted from 0)");
    assert_non_null(strstr(err.message, "'teleport'"));
    assert_non_null(strstr(err.message, "'drop'"));
    assert_int_equal(r.verdict, SPRY_VERDICT_DANGLING);
    assert_int_equal(r.dangling_nodes, 3);
    assert_int_equal(r.first_dangling_node, 0);
    assert_memory_equal(x, before, sizeof x);
    o.dangling = SPRY_DANGLING_TELEPORT;
    expect_status(spry_pagerank(context, spry_vector_f64(x, 19), &r, A, &o, &err), &err, SPRY_OK, "");
    assert_at_most(fabs(r.mass - 1), 1e-14);
    assert_at_most(fabs(r.dangling_mass - (x[0] + x[4] + x[18])), 1e-15);
    o.dangling = SPRY_DANGLING_DROP;
    expect_status(spry_pagerank(context, spry_vector_f64(x, 19), &r, A, &o, &err), &err, SPRY_OK, "");
    assert_true(r.mass < 0.95 && r.mass > 0.15);
    spry_matrix_destroy(A);
    dense_free(&d);
}

/* Default options: row i holds the links of node i, and a node without links links to all nodes. */
static void defaults_are_those_of_a_file(void **state)
{
    dense files = random_graph(16, 0.3, 0, 21);
    for (int j = 0; j < 16; j++) files.a[6 * 16 + j] = 0;
    dense links = transposed(&files);
    spry_matrix *A = sparse_of(context, &files, SPRY_CSR, SPRY_F64);
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    double exact[16], x[16], of_none[16];
    spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
    spry_error err = {0};
    assert_int_equal(o.edges, SPRY_ROW_TO_COLUMN);
    assert_int_equal(o.dangling, SPRY_DANGLING_TELEPORT);
    exact_ranks(&links, SPRY_DANGLING_TELEPORT, 0.85, exact);
    expect_status(spry_pagerank(context, spry_vector_f64(of_none, 16), NULL, A, NULL, &err), &err, SPRY_OK, "");
    expect_status(spry_pagerank(context, spry_vector_f64(x, 16), &r, A, &o, &err), &err, SPRY_OK, "");
    assert_int_equal(r.dangling_nodes, 1);
    assert_int_equal(r.first_dangling_node, 6);
    assert_memory_equal(x, of_none, sizeof x);
    spry_vector v = spry_vector_f64(x, 16);
    assert_at_most(distance(&v, exact), r.error_bound + 1e-14);
    assert_at_most(fabs(r.mass - 1), 1e-14);
    exact_ranks(&files, SPRY_DANGLING_TELEPORT, 0.85, exact);
    assert_true(distance(&v, exact) > 1e-3); /* the reversed graph has different ranks */
    spry_matrix_destroy(A);
    dense_free(&links);
    dense_free(&files);
}

/* Tests self loops, a single node with and without a loop, disconnected parts, and a graph without links. */
static void odd_graphs(void **state)
{
    dense one = dense_make(1);
    check_graph(&one, SPRY_DANGLING_TELEPORT, 0.85);
    check_graph(&one, SPRY_DANGLING_DROP, 0.85);
    one.a[0] = 3;
    check_graph(&one, SPRY_DANGLING_REFUSE, 0.85);
    dense_free(&one);
    dense parts = dense_make(6); /* a pair, a cycle of three, a self loop */
    parts.a[0 * 6 + 1] = parts.a[1 * 6 + 0] = 1;
    parts.a[2 * 6 + 3] = parts.a[3 * 6 + 4] = parts.a[4 * 6 + 2] = 1;
    parts.a[5 * 6 + 5] = 1;
    check_graph(&parts, SPRY_DANGLING_REFUSE, 0.85);
    parts.a[0 * 6 + 0] = parts.a[3 * 6 + 3] = 2;
    check_graph(&parts, SPRY_DANGLING_REFUSE, 0.99);
    dense_free(&parts);
    dense none = dense_make(5);
    check_graph(&none, SPRY_DANGLING_TELEPORT, 0.85);
    check_graph(&none, SPRY_DANGLING_DROP, 0.85);
    dense_free(&none);
}

/* Compares the steps of PageRank on a matrix of the tutorial with a simple loop. */
static void the_tutorials_steps(void **state)
{
    const int32_t ptr[] = {0, 2, 4, 7, 9}, columns[] = {0, 1, 1, 2, 0, 2, 3, 1, 3};
    const double values[] = {1, 7, 2, 8, 5, 3, 9, 6, 4};
    spry_matrix *A = borrow_csr(context, 4, 4, ptr, columns, values);
    for (int64_t steps = 1; steps <= 6; steps++) {
        double sums[4] = {0}, by_hand[4] = {0.25, 0.25, 0.25, 0.25}, x[4], d = 0;
        for (int k = 0; k < 9; k++) sums[columns[k]] += values[k];
        for (int64_t s = 0; s < steps; s++) {
            double y[4] = {0};
            for (int i = 0; i < 4; i++)
                for (int k = ptr[i]; k < ptr[i + 1]; k++) y[i] += values[k] / sums[columns[k]] * by_hand[columns[k]];
            d = 0;
            for (int i = 0; i < 4; i++) {
                double next = 0.85 * y[i] + 0.15 / 4;
                d += fabs(next - by_hand[i]);
                by_hand[i] = next;
            }
        }
        spry_pagerank_options o = of_columns();
        spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
        spry_error err = {0};
        o.max_iterations = steps;
        expect_status(spry_pagerank(context, spry_vector_f64(x, 4), &r, A, &o, &err), &err, SPRY_NOT_CONVERGED,
                      "iteration limit");
        assert_int_equal(r.iterations, steps);
        assert_int_equal(r.verdict, SPRY_VERDICT_ITERATION_LIMIT);
        for (int i = 0; i < 4; i++) assert_at_most(fabs(x[i] - by_hand[i]), 1e-15);
        assert_at_most(fabs(r.residual - d), 1e-15);
        assert_at_most(0.85 / 0.15 * d, r.error_bound);
        assert_at_most(r.error_bound, 0.85 / 0.15 * d + 1e-13); /* rounding */
    }
    spry_matrix_destroy(A);
}

/*
 * A column-stochastic matrix is used unchanged. A matrix with a slightly different value is divided by its column sums.
 */
static void stochastic_as_it_stands(void **state)
{
    dense d = random_graph(12, 0.5, 0, 3);
    for (int j = 0; j < 12; j++) d.a[j * 12 + j] = 1;
    dense B = matrix_of_ranks(&d, SPRY_DANGLING_REFUSE);
    for (int off = 0; off < 2; off++) {
        if (off) B.a[5] += 1e-6;
        spry_matrix *A = sparse_of(context, &B, SPRY_CSR, SPRY_F64);
        double x[12], exact[12];
        spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
        spry_pagerank_options o = of_columns();
        spry_error err = {0};
        o.tolerance = 1e-13;
        expect_status(spry_pagerank(context, spry_vector_f64(x, 12), &r, A, &o, &err), &err, SPRY_OK, "");
        assert_int_equal(r.is_stochastic, !off);
        exact_ranks(&B, SPRY_DANGLING_REFUSE, 0.85, exact);
        spry_vector v = spry_vector_f64(x, 12);
        assert_at_most(distance(&v, exact), 1e-12);
        spry_matrix_destroy(A);
    }
    dense_free(&d);
    dense_free(&B);
}

/* Observer that requests a stop in iteration *user. */
static int stop_at(void *user, int64_t iteration, double residual)
{
    return iteration == *(int64_t *)user;
}

static void error_bound_and_observer(void **state)
{
    dense d = random_graph(15, 0.4, 0, 11);
    for (int j = 0; j < 15; j++) d.a[j * 15 + j] = 1;
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    double exact[15], x[15];
    exact_ranks(&d, SPRY_DANGLING_REFUSE, 0.85, exact);
    for (int64_t stop = 1; stop < 40; stop++) {
        spry_pagerank_options o = of_columns();
        spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
        spry_error err = {0};
        o.tolerance = 1e-300;
        o.observe = stop_at;
        o.observe_user = &stop;
        expect_status(spry_pagerank(context, spry_vector_f64(x, 15), &r, A, &o, &err), &err, SPRY_NOT_CONVERGED,
                      "stopped");
        assert_int_equal(r.iterations, stop);
        assert_int_equal(r.verdict, SPRY_VERDICT_STOPPED);
        double error = 0;
        for (int i = 0; i < 15; i++) error += fabs(x[i] - exact[i]);
        assert_at_most(error, r.error_bound + 1e-14);
    }
    spry_matrix_destroy(A);
    dense_free(&d);
}

static void same_bits_for_any_threads(void **state)
{
    const int threads[] = {1, 2, 5};
    double *x[3];
    spry_pagerank_result r[3];
    for (int t = 0; t < 3; t++) {
        spry_context *own = context_of(threads[t]);
        spry_matrix *P = NULL;
        spry_read_options pattern = SPRY_INIT(spry_read_options);
        spry_matrix_options to_f64 = SPRY_INIT(spry_matrix_options);
        pattern.value_type = SPRY_PATTERN;
        to_f64.value_type = SPRY_F64;
        assert_int_equal(spry_matrix_generate(own, &P, "rmat,scale=15", &pattern, NULL), SPRY_OK);
        spry_matrix *A = convert_matrix(own, P, &to_f64);
        x[t] = calloc(32768, sizeof **x);
        spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
        r[t] = SPRY_INIT(spry_pagerank_result);
        spry_error err = {0};
        o.edges = SPRY_ROW_TO_COLUMN;
        o.dangling = SPRY_DANGLING_TELEPORT;
        expect_status(spry_pagerank(own, spry_vector_f64(x[t], 32768), &r[t], A, &o, &err), &err, SPRY_OK, "");
        assert_memory_equal(x[t], x[0], 32768 * sizeof **x);
        assert_true(r[t].residual == r[0].residual && r[t].mass == r[0].mass && r[t].iterations == r[0].iterations);
        spry_matrix_destroy(A);
        spry_matrix_destroy(P);
        spry_context_destroy(own);
    }
    for (int t = 0; t < 3; t++) free(x[t]);
}

static void bad_arguments(void **state)
{
    const int32_t ptr[] = {0, 1, 2}, columns[] = {1, 0};
    double values[] = {1, 1}, x[3] = {5, 5, 5};
    spry_matrix *A = borrow_csr(context, 2, 2, ptr, columns, values);
    spry_matrix *wide = borrow_csr(context, 2, 3, ptr, columns, values);
    spry_vector v = spry_vector_f64(x, 2);
    static const struct {
        double alpha, tolerance;
        int64_t limit;
        const char *text;
    } cases[] = {{1, 0, 0, "alpha is 1, expected a number between 0 and 1"},
                 {-0.1, 0, 0, "alpha is -0.1"},
                 {NAN, 0, 0, "alpha is"},
                 {0, -2, 0, "tolerance is -2"},
                 {0, NAN, 0, "tolerance is"},
                 {0, 0, -1, "max_iterations is -1"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
        spry_error err = {0};
        o.alpha = cases[c].alpha;
        o.tolerance = cases[c].tolerance;
        o.max_iterations = cases[c].limit;
        expect_status(spry_pagerank(context, v, NULL, A, &o, &err), &err, SPRY_INVALID_ARGUMENT, cases[c].text);
    }
    spry_error err = {0};
    spry_pagerank_options unset = {0};
    spry_pagerank_result unset_result = {0};
    expect_status(spry_pagerank(NULL, v, NULL, A, NULL, &err), &err, SPRY_INVALID_ARGUMENT, "context is NULL");
    expect_status(spry_pagerank(context, v, NULL, NULL, NULL, &err), &err, SPRY_INVALID_ARGUMENT, "A is NULL");
    expect_status(spry_pagerank(context, v, NULL, A, &unset, &err), &err, SPRY_INVALID_ARGUMENT, "struct_size");
    expect_status(spry_pagerank(context, v, &unset_result, A, NULL, &err), &err, SPRY_INVALID_ARGUMENT, "struct_size");
    expect_status(spry_pagerank(context, v, NULL, wide, NULL, &err), &err, SPRY_INVALID_SIZE, "2 x 3");
    v.length = 3;
    expect_status(spry_pagerank(context, v, NULL, A, NULL, &err), &err, SPRY_INVALID_SIZE, "x has 3 elements");
    v.length = 2;
    v.type = SPRY_F32;
    expect_status(spry_pagerank(context, v, NULL, A, NULL, &err), &err, SPRY_INVALID_ARGUMENT,
                  "x is f32, expected f64");
    v = spry_vector_f64(x, 2);
    static const double bad[] = {-1, INFINITY, NAN};
    for (int b = 0; b < 3; b++) {
        values[1] = bad[b];
        expect_status(spry_pagerank(context, v, NULL, A, NULL, &err), &err, SPRY_INVALID_MATRIX,
                      "entry (1, 0) (counted from 0)");
    }
    values[1] = 1e-310;
    expect_status(spry_pagerank(context, v, NULL, A, NULL, &err), &err, SPRY_INVALID_MATRIX,
                  "the links of node 1 (counted from 0) sum to 1e-310");
    values[1] = 1;
    static const char *const names[] = {"SPRY_NORM_INF (2)", "SPRY_COLUMN_TO_ROW (1)", "SPRY_DANGLING_DROP (2)",
                                        "SPRY_START_X (2)"};
    for (int wrong = 0; wrong < 8; wrong++) {
        spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
        if (wrong / 2 == 0) o.norm = (spry_norm)(wrong % 2 ? -1 : SPRY_NORM_INF + 1);
        if (wrong / 2 == 1) o.edges = (spry_edges)(wrong % 2 ? -1 : SPRY_COLUMN_TO_ROW + 1);
        if (wrong / 2 == 2) o.dangling = (spry_dangling)(wrong % 2 ? -1 : SPRY_DANGLING_DROP + 1);
        if (wrong / 2 == 3) o.start = (spry_start)(wrong % 2 ? -1 : SPRY_START_X + 1);
        expect_status(spry_pagerank(context, v, NULL, A, &o, &err), &err, SPRY_INVALID_ARGUMENT, names[wrong / 2]);
    }
    assert_true(x[0] == 5 && x[1] == 5);
    spry_matrix_destroy(A);
    spry_matrix_destroy(wide);
}

static spry_status rank_rows(spry_context *own, const void *A, spry_error *err)
{
    double x[9];
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    o.edges = SPRY_ROW_TO_COLUMN;
    o.dangling = SPRY_DANGLING_DROP;
    return spry_pagerank(own, spry_vector_f64(x, 9), NULL, A, &o, err);
}

static void every_allocation_refused(void **state)
{
    dense d = random_graph(9, 0.5, 0, 5);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    assert_true(fail_every_allocation(rank_rows, A, 2) > 0);
    spry_matrix_destroy(A);
    dense_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_a_dense_solution),
        cmocka_unit_test(dangling_nodes),
        cmocka_unit_test(defaults_are_those_of_a_file),
        cmocka_unit_test(odd_graphs),
        cmocka_unit_test(the_tutorials_steps),
        cmocka_unit_test(stochastic_as_it_stands),
        cmocka_unit_test(error_bound_and_observer),
        cmocka_unit_test(same_bits_for_any_threads),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(every_allocation_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
