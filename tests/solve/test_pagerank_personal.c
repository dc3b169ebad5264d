/* Personalised PageRank and first guesses, compared with a direct solution of (I - alpha*B) x = (1-alpha) v. */
#include "spry/solve.h"
#include "support.h"

enum { N = 23 };
/* Returns links. Some nodes have no outgoing links. Entry (i, j) is a link from i to j. */
static dense some_graph(int ones, uint64_t seed)
{
    dense d = dense_make(N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (uniform(&seed) < 0.2 && i % 5 != 2) d.a[i * N + j] = ones ? 1 : 0.25 + uniform(&seed);
    return d;
}

/* Sets v to weights that do not sum to 1. Many weights are 0. */
static void some_weights(double *v, uint64_t seed)
{
    for (int i = 0; i < N; i++) v[i] = i % 3 == 0 ? 0 : (double)(float)(5 * uniform(&seed));
}

/* Solves (I - alpha*B) x = (1-alpha) v / sum(v) directly. */
static void exact_ranks(const dense *links, spry_dangling mode, double alpha, const double *v, double *x)
{
    dense system = dense_make(N);
    double b[N], sum = 0;
    for (int i = 0; i < N; i++) sum += v[i];
    for (int j = 0; j < N; j++) {
        double out = 0;
        for (int i = 0; i < N; i++) out += links->a[j * N + i];
        for (int i = 0; i < N; i++) {
            const double of_zero = mode == SPRY_DANGLING_TELEPORT ? v[i] / sum : 0;
            system.a[i * N + j] = (i == j) - alpha * (out > 0 ? links->a[j * N + i] / out : of_zero);
        }
        b[j] = (1 - alpha) * v[j] / sum;
    }
    dense_solve(&system, b, x);
    dense_free(&system);
}

static void set(void *to, spry_type type, int i, double value)
{
    if (type == SPRY_F32)
        ((float *)to)[i] = (float)value;
    else
        ((double *)to)[i] = value;
}

static void check(const dense *links, int ones, spry_type type, spry_dangling mode, spry_norm norm, int start)
{
    double v[N], x0[N], exact[N], weights[N];
    const spry_type of_x = type == SPRY_F32 ? SPRY_F32 : SPRY_F64;
    spry_matrix *A = sparse_of(context, links, SPRY_CSR, type);
    some_weights(v, 3 + (uint64_t)ones);
    some_weights(x0, 11);
    exact_ranks(links, mode, 0.85, v, exact);
    spry_vector x = create_vector(context, N, of_x, 0);
    for (int i = 0; i < N; i++) set(weights, of_x, i, v[i]);
    for (int i = 0; i < N; i++) set(x.data, of_x, i, x0[i]);
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
    spry_error err = {0};
    o.norm = norm;
    o.dangling = mode;
    o.tolerance = type == SPRY_F32 ? 1e-6 : 1e-13;
    o.max_iterations = 1000;
    o.start = start ? SPRY_START_X : SPRY_START_DEFAULT;
    o.personalization = (spry_const_vector){.data = weights, .length = N, .type = of_x};
    expect_status(spry_pagerank(context, x, &r, A, &o, &err), &err, SPRY_OK, "");
    double slack = r.error_bound + 60 * (type == SPRY_F32 ? 0x1p-23 : 0x1p-52), difference = 0, mass = 0;
    for (int i = 0; i < N; i++) {
        const double at = of_x == SPRY_F32 ? (double)((const float *)x.data)[i] : ((const double *)x.data)[i];
        difference += fabs(at - exact[i]);
        mass += exact[i];
    }
    assert_at_most(difference, slack);
    assert_at_most(fabs(r.mass - mass), slack);
    assert_int_equal(r.dangling_nodes > 0, 1);
    spry_vector_destroy(context, &x);
    spry_matrix_destroy(A);
}

static void against_a_dense_solution(void **state)
{
    for (int ones = 0; ones < 2; ones++) {
        dense d = some_graph(ones, 5 + (uint64_t)ones);
        for (int type = SPRY_F32; type <= (ones ? SPRY_PATTERN : SPRY_F64); type++)
            for (int mode = SPRY_DANGLING_TELEPORT; mode <= SPRY_DANGLING_DROP; mode += SPRY_DANGLING_DROP)
                for (int norm = SPRY_NORM_1; norm <= SPRY_NORM_INF; norm++)
                    for (int start = 0; start < 2; start++)
                        check(&d, ones, (spry_type)type, (spry_dangling)mode, (spry_norm)norm, start);
        dense_free(&d);
    }
}

/* Equal weights give the usual ranks. If all weight is on one node, only nodes reachable from the node have ranks. */
static void special_weights(void **state)
{
    dense d = some_graph(0, 9), pair = dense_make(4); /* 1 -> 2 -> 1, 3 -> 1; node 4 has no links */
    double even[N], usual[N], x[N];
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    spry_error err = {0};
    for (int i = 0; i < N; i++) even[i] = 1e300; /* the sum is finite; the sum of squares overflows */
    o.tolerance = 1e-14;
    o.max_iterations = 1000;
    expect_status(spry_pagerank(context, spry_vector_f64(usual, N), NULL, A, &o, &err), &err, SPRY_OK, "");
    o.personalization = spry_const_vector_f64(even, N);
    expect_status(spry_pagerank(context, spry_vector_f64(x, N), NULL, A, &o, &err), &err, SPRY_OK, "");
    for (int i = 0; i < N; i++) assert_at_most(fabs(x[i] - usual[i]), 1e-14);
    spry_matrix_destroy(A);
    pair.a[0 * 4 + 1] = pair.a[1 * 4 + 0] = pair.a[2 * 4 + 0] = 1;
    A = sparse_of(context, &pair, SPRY_CSR, SPRY_F64);
    double one[4] = {1e-310, 0, 0, 0}; /* its reciprocal overflows */
    o.personalization = spry_const_vector_f64(one, 4);
    expect_status(spry_pagerank(context, spry_vector_f64(x, 4), NULL, A, &o, &err), &err, SPRY_OK, "");
    assert_at_most(fabs(x[0] - 1 / 1.85), 1e-13);
    assert_at_most(fabs(x[1] - 0.85 / 1.85), 1e-13);
    assert_true(x[2] == 0 && x[3] == 0);
    /* x and v may be the same array, because v is copied */
    memcpy(x, one, sizeof one);
    o.personalization = spry_const_vector_f64(x, 4);
    o.start = SPRY_START_X;
    expect_status(spry_pagerank(context, spry_vector_f64(x, 4), NULL, A, &o, &err), &err, SPRY_OK, "");
    assert_at_most(fabs(x[0] - 1 / 1.85), 1e-13);
    spry_matrix_destroy(A);
    dense_free(&d);
    dense_free(&pair);
}

static int stop_at(void *user, int64_t iteration, double residual)
{
    return iteration == *(int64_t *)user;
}

/* Compares each x_k, from x_0 on, and checks the bound in each step. */
static void every_step(void **state)
{
    dense d = some_graph(0, 21);
    double v[N], exact[N], by_hand[N], x[N], sum = 0, sum_0 = 0;
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    some_weights(v, 1);
    exact_ranks(&d, SPRY_DANGLING_TELEPORT, 0.85, v, exact);
    for (int i = 0; i < N; i++) sum += v[i];
    for (int i = 0; i < N; i++) sum_0 += by_hand[i] = i + 1;
    for (int i = 0; i < N; i++) by_hand[i] /= sum_0;
    for (int64_t stop = 1; stop < 30; stop++) {
        double next[N] = {0}, before = 0, distance = 0, error = 0;
        for (int j = 0; j < N; j++) {
            double out = 0;
            for (int i = 0; i < N; i++) out += d.a[j * N + i];
            for (int i = 0; i < N; i++) next[i] += by_hand[j] * (out > 0 ? d.a[j * N + i] / out : v[i] / sum);
        }
        for (int i = 0; i < N; i++) next[i] = 0.85 * next[i] + 0.15 * v[i] / sum;
        for (int i = 0; i < N; i++) before += fabs(next[i] - by_hand[i]);
        memcpy(by_hand, next, sizeof next);
        spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
        spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
        spry_error err = {0};
        o.tolerance = SPRY_TOLERANCE_ZERO;
        o.observe = stop_at;
        o.observe_user = &stop;
        o.personalization = spry_const_vector_f64(v, N);
        o.start = SPRY_START_X;
        for (int i = 0; i < N; i++) x[i] = 0.25 * (i + 1);
        expect_status(spry_pagerank(context, spry_vector_f64(x, N), &r, A, &o, &err), &err, SPRY_NOT_CONVERGED,
                      "stopped");
        for (int i = 0; i < N; i++) distance += fabs(x[i] - by_hand[i]);
        for (int i = 0; i < N; i++) error += fabs(x[i] - exact[i]);
        assert_at_most(distance, 1e-14);
        assert_at_most(fabs(r.residual - before), 1e-14);
        assert_at_most(error, r.error_bound + 1e-14);
    }
    spry_matrix_destroy(A);
    dense_free(&d);
}

static void same_bits_for_any_threads(void **state)
{
    enum { SIDE = 70, NODES = SIDE * SIDE };
    static double v[NODES], x[3][NODES];
    const int threads[] = {1, 2, 5};
    for (int t = 0; t < 3; t++) {
        spry_context *own = context_of(threads[t]);
        spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
        spry_error err = {0};
        uint64_t seed = 4;
        spry_matrix *A = generate_matrix(own, "road,side=70");
        for (int i = 0; i < NODES; i++) v[i] = uniform(&seed);
        for (int i = 0; i < NODES; i++) x[t][i] = uniform(&seed);
        o.personalization = spry_const_vector_f64(v, NODES);
        o.start = SPRY_START_X;
        expect_status(spry_pagerank(own, spry_vector_f64(x[t], NODES), NULL, A, &o, &err), &err, SPRY_OK, "");
        assert_memory_equal(x[t], x[0], sizeof x[0]);
        spry_matrix_destroy(A);
        spry_context_destroy(own);
    }
}

static void bad_weights(void **state)
{
    const int32_t ptr[] = {0, 1, 2, 3}, columns[] = {1, 0, 1};
    const double values[] = {1, 1, 2};
    double x[3] = {5, 5, 5}, v[3] = {1, 1, 1};
    float narrow[3] = {1, 1, 1};
    spry_matrix *A = borrow_csr(context, 3, 3, ptr, columns, values);
    static const struct {
        double entries[3];
        const char *text;
    } cases[] = {
        {{0, 0, 0}, "the elements of %s sum to 0, expected a finite sum above 0"},
        {{1, -2, -3}, "element 1 of %s (counted from 0) is -2, expected finite numbers >= 0"},
        {{1, 1, NAN}, "element 2 of %s (counted from 0) is"},
        {{INFINITY, 1, 1}, "element 0 of %s (counted from 0) is inf"},
        {{1.5e308, 1.5e308, 0}, "the elements of %s sum to inf"},
    };
    for (int start = 0; start < 2; start++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
            spry_error err = {0};
            char text[100], *name = strstr(cases[c].text, "%s");
            memcpy(start ? x : v, cases[c].entries, sizeof v);
            snprintf(text, sizeof text, "%.*s%s%s", (int)(name - cases[c].text), cases[c].text,
                     start ? "x" : "personalization", name + 2);
            o.start = start ? SPRY_START_X : SPRY_START_DEFAULT;
            if (!start) o.personalization = spry_const_vector_f64(v, 3);
            expect_status(spry_pagerank(context, spry_vector_f64(x, 3), NULL, A, &o, &err), &err, SPRY_INVALID_ARGUMENT,
                          text);
            assert_string_equal(err.argument, start ? "x" : "personalization");
            assert_memory_equal(start ? x : v, cases[c].entries, sizeof v);
        }
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    spry_error err = {0};
    spry_vector of_x = spry_vector_f64(x, 3);
    o.personalization = spry_const_vector_f64(v, 2);
    expect_status(spry_pagerank(context, of_x, NULL, A, &o, &err), &err, SPRY_INVALID_SIZE,
                  "personalization has 2 elements, expected 3");
    o.personalization = spry_const_vector_f64(NULL, 3);
    expect_status(spry_pagerank(context, of_x, NULL, A, &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "personalization: data is NULL");
    o.personalization = (spry_const_vector){.data = narrow, .length = 3, .type = SPRY_F32};
    expect_status(spry_pagerank(context, of_x, NULL, A, &o, &err), &err, SPRY_INVALID_ARGUMENT,
                  "personalization is f32, expected f64");
    o.personalization = spry_const_vector_f64(v, 3);
    o.struct_size = offsetof(spry_pagerank_options, personalization); /* of an older program */
    expect_status(spry_pagerank(context, of_x, NULL, A, &o, &err), &err, SPRY_OK, "");
    spry_matrix_destroy(A);
}

/* Ranks with weights and a first guess. Checks that x is unchanged if the call fails. */
static spry_status rank_from_x(spry_context *own, const void *A, spry_error *err)
{
    double x[N], v[N];
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    for (int i = 0; i < N; i++) x[i] = v[i] = i;
    o.personalization = spry_const_vector_f64(v, N);
    o.start = SPRY_START_X;
    const spry_status status = spry_pagerank(own, spry_vector_f64(x, N), NULL, A, &o, err);
    for (int i = 0; i < N && status != SPRY_OK; i++) assert_true(x[i] == i);
    return status;
}

static void every_allocation_refused(void **state)
{
    dense d = some_graph(0, 5);
    spry_matrix *A = sparse_of(context, &d, SPRY_CSR, SPRY_F64);
    assert_true(fail_every_allocation(rank_from_x, A, 2) > 0);
    spry_matrix_destroy(A);
    dense_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_a_dense_solution),
        cmocka_unit_test(special_weights),
        cmocka_unit_test(every_step),
        cmocka_unit_test(same_bits_for_any_threads),
        cmocka_unit_test(bad_weights),
        cmocka_unit_test(every_allocation_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
