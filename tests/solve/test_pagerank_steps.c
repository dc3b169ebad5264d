/* PageRank by steps a to e of the tutorial (Meister 2013, "Assignment: PageRank"), one test per step. */
#include "spry/solve.h"
#include "support.h"

enum { N = 4, NNZ = 9 };
/* "Example data", ptr 0 2 4 7 9. The matrix is not stochastic; tests divide it by its column sums. */
static const int32_t ptr[] = {0, 2, 4, 7, 9}, columns[] = {0, 1, 1, 2, 0, 2, 3, 1, 3};
static const double values[] = {1, 7, 2, 8, 5, 3, 9, 6, 4};

/* Returns options for a matrix whose columns are the links of the nodes, as in B. A column of zeros is refused. */
static spry_pagerank_options of_the_tutorial(void)
{
    spry_pagerank_options o = SPRY_INIT(spry_pagerank_options);
    o.edges = SPRY_COLUMN_TO_ROW;
    o.dangling = SPRY_DANGLING_REFUSE;
    return o;
}

static void divide(double *b)
{
    double sums[N] = {0};
    for (int k = 0; k < NNZ; k++) sums[columns[k]] += values[k];
    for (int k = 0; k < NNZ; k++) b[k] = values[k] / sums[columns[k]];
}

/* Computes steps c and d once: x = alpha*B*x + (1-alpha)/n*e. */
static void iterate(const double *b, double alpha, double *x)
{
    double y[N] = {0};
    for (int i = 0; i < N; i++)
        for (int k = ptr[i]; k < ptr[i + 1]; k++) y[i] += b[k] * x[columns[k]];
    for (int i = 0; i < N; i++) x[i] = alpha * y[i] + (1 - alpha) / N;
}

static spry_pagerank_result rank(const int32_t *Ap, const int32_t *Aj, const double *Ax, spry_pagerank_options o,
                                 spry_status wanted, double *x)
{
    spry_pagerank_result r = SPRY_INIT(spry_pagerank_result);
    spry_error err = {0};
    spry_matrix *A = borrow_csr(context, N, N, Ap, Aj, Ax);
    expect_status(spry_pagerank(context, spry_vector_f64(x, N), &r, A, &o, &err), &err, wanted, "");
    spry_matrix_destroy(A);
    return r;
}

/*
 * "if B is not left stochastic: divide each entry in B by its column sum": ranks equal the ranks of the divided matrix.
 */
static void a_divides(void **state)
{
    double b[NNZ], x[N], of_quotients[N];
    spry_pagerank_options o = of_the_tutorial();
    divide(b);
    assert_false(rank(ptr, columns, values, o, SPRY_OK, x).is_stochastic);
    assert_true(rank(ptr, columns, b, o, SPRY_OK, of_quotients).is_stochastic);
    for (int i = 0; i < N; i++) assert_at_most(fabs(x[i] - of_quotients[i]), 1e-15);
}

/* "If a 0-column exists, abort." */
static void a_aborts(void **state)
{
    static const int32_t without_2[] = {0, 1, 1, 3, 0, 3, 3, 1, 3};
    double x[N] = {7, 7, 7, 7};
    spry_pagerank_options o = of_the_tutorial();
    const spry_pagerank_result r = rank(ptr, without_2, values, o, SPRY_NOT_CONVERGED, x);
    assert_int_equal(r.verdict, SPRY_VERDICT_DANGLING);
    assert_int_equal(r.first_dangling_node, 2);
    for (int i = 0; i < N; i++) assert_true(x[i] == 7);
}

/* "x <- 1/n e". A permutation keeps this x, so the first step ends the iteration. */
static void b_begins_even(void **state)
{
    static const int32_t each[] = {0, 1, 2, 3, 4}, turned[] = {2, 0, 3, 1};
    static const double ones[] = {1, 1, 1, 1};
    double x[N];
    spry_pagerank_options o = of_the_tutorial();
    const spry_pagerank_result r = rank(each, turned, ones, o, SPRY_OK, x);
    assert_true(r.is_stochastic && r.iterations == 1);
    assert_at_most(r.residual, 1e-16);
    for (int i = 0; i < N; i++) assert_at_most(fabs(x[i] - 0.25), 1e-16);
}

/* "y <- B x", "x <- alpha y + (1 - alpha) 1/n e", step by step. The sum of x remains 1, and x is in [0, 1]. */
static void c_and_d(void **state)
{
    static const double alphas[] = {0.15, 0.5, 0.85, 0.99};
    double b[NNZ];
    divide(b);
    for (int a = 0; a < 4; a++) {
        double by_hand[N] = {0.25, 0.25, 0.25, 0.25}, x[N];
        for (int64_t steps = 1; steps <= 8; steps++) {
            double sum = 0;
            spry_pagerank_options o = of_the_tutorial();
            o.alpha = alphas[a];
            o.tolerance = 1e-300;
            o.max_iterations = steps;
            assert_int_equal(rank(ptr, columns, values, o, SPRY_NOT_CONVERGED, x).iterations, steps);
            iterate(b, alphas[a], by_hand);
            for (int i = 0; i < N; i++) {
                assert_at_most(fabs(x[i] - by_hand[i]), 1e-15);
                assert_true(x[i] >= 0 && x[i] <= 1);
                sum += x[i];
            }
            assert_at_most(fabs(sum - 1), 1e-15);
        }
    }
}

static double step_in(spry_norm norm, const double *x, const double *before)
{
    double ones = 0, squares = 0, most = 0;
    for (int i = 0; i < N; i++) {
        const double d = fabs(x[i] - before[i]);
        ones += d;
        squares += d * d;
        most = fmax(most, d);
    }
    return norm == SPRY_NORM_1 ? ones : norm == SPRY_NORM_2 ? sqrt(squares) : most;
}

/*
 * "while error criterion is not fulfilled, back to step c": the iteration ends with the first sufficiently short step.
 */
static void e_ends(void **state)
{
    static const spry_norm norms[] = {SPRY_NORM_1, SPRY_NORM_2, SPRY_NORM_INF};
    double b[NNZ];
    divide(b);
    for (int n = 0; n < 3; n++)
        for (int digits = 1; digits <= 10; digits++) {
            double by_hand[N] = {0.25, 0.25, 0.25, 0.25}, before[N], x[N];
            spry_pagerank_options o = of_the_tutorial();
            int64_t steps = 0;
            o.norm = norms[n];
            o.tolerance = pow(10, -digits);
            do {
                memcpy(before, by_hand, sizeof before);
                iterate(b, 0.85, by_hand);
                steps++;
            } while (step_in(norms[n], by_hand, before) > o.tolerance);
            const spry_pagerank_result r = rank(ptr, columns, values, o, SPRY_OK, x);
            assert_int_equal(r.verdict, SPRY_VERDICT_CONVERGED);
            assert_int_equal(r.iterations, steps);
            for (int i = 0; i < N; i++) assert_at_most(fabs(x[i] - by_hand[i]), 1e-15);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_divides), cmocka_unit_test(a_aborts), cmocka_unit_test(b_begins_even),
        cmocka_unit_test(c_and_d),   cmocka_unit_test(e_ends),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
