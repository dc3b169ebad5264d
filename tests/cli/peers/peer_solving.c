/*
 * Peers of --op cg and --op pagerank on one thread. Two peers are correct, the others have faults. `wrong`: one entry
 * of x is wrong. `early`: stops after two iterations and reports its residual. `liar`: stops after two iterations, but
 * reports half of the tolerance as residual. `limited`: runs to the iteration limit. `changing`: claims the same bits
 * in every solve, but changes x. `lost`: fails.
 */
#include "bench/peer.h"

#include <math.h>
#include <string.h>

typedef enum fault { NONE, WRONG, EARLY, LIAR, LIMITED, CHANGING, LOST } fault;

typedef struct solving {
    spry_peer_solver_request request;
    fault fault;
    int solves;
    double *vectors[4]; /* f64 for every value type */
} solving;

static int prepare(void **state, const spry_peer_solver_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    solving *s = spry_peer_new(state, sizeof *s, error);
    if (!s) return SPRY_PEER_FAILED;
    s->request = *request;
    s->fault = (fault)request->variant;
    for (int v = 0; v < 4; v++) {
        s->vectors[v] = calloc((size_t)request->matrix.rows + 1, sizeof(double));
        if (!s->vectors[v]) return spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory");
    }
    cost->threads = 1;
    return SPRY_PEER_OK;
}

static void destroy(void *state)
{
    solving *s = state;
    for (int v = 0; v < 4; v++) free(s->vectors[v]);
    free(s);
}

static double value_at(const spry_peer_matrix *a, int64_t k)
{
    return a->value_bytes == 4 ? (double)((const float *)a->values)[k] : ((const double *)a->values)[k];
}

static void multiply(const spry_peer_matrix *a, const double *x, double *y)
{
    for (int64_t i = 0; i < a->rows; i++) {
        y[i] = 0;
        for (int64_t k = spry_peer_offset(a, i); k < spry_peer_offset(a, i + 1); k++)
            y[i] += value_at(a, k) * x[spry_peer_index(a->index_bytes, a->columns, k)];
    }
}

static double dot(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* Returns 1 if the stopping rule holds, or if the fault stops the solve here. */
static int is_enough(const solving *s, int64_t iterations, double residual)
{
    if (s->fault == EARLY || s->fault == LIAR) return iterations == 2;
    return s->fault != LIMITED && residual <= s->request.tolerance;
}

/*
 * Runs CG. Once the residual is below 1e-12, x is kept and iterations are only counted, since a step would divide 0 by
 * 0.
 */
static void iterate_cg(solving *s, spry_peer_solution *solution)
{
    const spry_peer_matrix *a = &s->request.matrix;
    const int64_t n = a->rows;
    double *x = s->vectors[0], *r = s->vectors[1], *p = s->vectors[2], *q = s->vectors[3];
    for (int64_t i = 0; i < n; i++) {
        x[i] = 0;
        r[i] = p[i] = 1;
    }
    double rr = (double)n;
    while (solution->iterations < s->request.max_iterations &&
           !is_enough(s, solution->iterations, sqrt(rr / (double)n))) {
        solution->iterations++;
        if (sqrt(rr / (double)n) < 1e-12) continue;
        multiply(a, p, q);
        const double alpha = rr / dot(n, p, q), before = rr;
        for (int64_t i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        rr = dot(n, r, r);
        for (int64_t i = 0; i < n; i++) p[i] = r[i] + rr / before * p[i];
    }
    solution->residual = sqrt(rr / (double)n);
}

/* Returns the sum of row i's values, the weights of the links from node i. */
static double sum_of(const spry_peer_matrix *a, int64_t i)
{
    double sum = 0;
    for (int64_t k = spry_peer_offset(a, i); k < spry_peer_offset(a, i + 1); k++) sum += value_at(a, k);
    return sum;
}

static void iterate_pagerank(solving *s, spry_peer_solution *solution)
{
    const spry_peer_matrix *a = &s->request.matrix;
    const double n = (double)a->rows, alpha = s->request.alpha;
    double *x = s->vectors[0], *y = s->vectors[1];
    for (int64_t i = 0; i < a->rows; i++) x[i] = 1 / n;
    solution->residual = 1;
    while (solution->iterations < s->request.max_iterations &&
           !is_enough(s, solution->iterations, solution->residual)) {
        double lost = 0;
        memset(y, 0, (size_t)a->rows * sizeof *y);
        for (int64_t i = 0; i < a->rows; i++) {
            const double sum = sum_of(a, i);
            if (sum == 0) lost += x[i];
            for (int64_t k = spry_peer_offset(a, i); k < spry_peer_offset(a, i + 1) && sum > 0; k++)
                y[spry_peer_index(a->index_bytes, a->columns, k)] += value_at(a, k) / sum * x[i];
        }
        solution->residual = 0;
        for (int64_t i = 0; i < a->rows; i++) {
            const double next = alpha * y[i] + (alpha * lost + 1 - alpha) / n;
            solution->residual += fabs(next - x[i]);
            x[i] = next;
        }
        solution->iterations++;
    }
}

/* Copies the result to x in the requested type. WRONG and CHANGING change the middle entry. */
static int finish(solving *s, void *x, spry_peer_solution *solution, spry_peer_error *error)
{
    const spry_peer_matrix *a = &s->request.matrix;
    double *made = s->vectors[0];
    if (s->fault == LOST) return spry_peer_fail(error, SPRY_PEER_FAILED, "failed on purpose");
    if (s->fault == WRONG) made[a->rows / 2] *= 1.001;
    if (s->fault == CHANGING) made[a->rows / 2] *= 1 + 1e-6 * s->solves++ / (double)a->rows;
    if (s->fault == LIAR) solution->residual = 0.5 * s->request.tolerance;
    for (int64_t i = 0; i < a->rows; i++)
        if (a->value_bytes == 4)
            ((float *)x)[i] = (float)made[i];
        else
            ((double *)x)[i] = made[i];
    return SPRY_PEER_OK;
}

static int solve(void *state, void *x, const void *b, spry_peer_solution *solution, spry_peer_error *error)
{
    if (!b) return spry_peer_fail(error, SPRY_PEER_FAILED, "there is no b");
    iterate_cg(state, solution);
    return finish(state, x, solution, error);
}

static int rank(void *state, void *x, const void *b, spry_peer_solution *solution, spry_peer_error *error)
{
    if (b) return spry_peer_fail(error, SPRY_PEER_FAILED, "there is a b");
    iterate_pagerank(state, solution);
    return finish(state, x, solution, error);
}

#define CG(name, fault)                                                                                                \
    {                                                                                                                  \
        name, "cpu", "on purpose", SPRY_PEER_CG, 1, prepare, solve, destroy, fault                                     \
    }
#define RANKS(name, fault)                                                                                             \
    {                                                                                                                  \
        name, "cpu", "on purpose", SPRY_PEER_PAGERANK, 1, prepare, rank, destroy, fault                                \
    }
static const spry_peer_solver solvers[] = {CG("cg_right", NONE),       CG("cg_wrong", WRONG),
                                           CG("cg_early", EARLY),      CG("cg_liar", LIAR),
                                           CG("cg_limited", LIMITED),  CG("cg_changing", CHANGING),
                                           CG("cg_lost", LOST),        RANKS("rank_right", NONE),
                                           RANKS("rank_wrong", WRONG), RANKS("rank_early", EARLY),
                                           RANKS("rank_liar", LIAR),   RANKS("rank_lost", LOST)};

const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    static const spry_peer_module module = {.abi = SPRY_PEER_ABI,
                                            .name = "solving",
                                            .version = "1",
                                            .solver_count = sizeof solvers / sizeof *solvers,
                                            .solvers = solvers};
    (void)error;
    return &module;
}
