/*
 * gap_pr_spmv: PageRank by the loop of the GAP Benchmark Suite's pr_spmv (S. Beamer, K. Asanovic, D. Patterson, The GAP
 * Benchmark Suite, 2015; github.com/sbeamer/gapbs, src/pr_spmv.cc), reimplemented. An iteration has two passes. The
 * first computes each node's contribution: its score divided by the number of its links out. In the second, each node
 * sums the contributions of its links in. Threads take blocks of 16384 nodes dynamically, and sum the changes of scores
 * in f64.
 *
 * Differences from GAP: graphs have weights, so a contribution is the score divided by the sum of the node's weights;
 * the rank of nodes without links out is summed in the first pass and distributed to all nodes. GAP has no weights and
 * drops this rank. If all weights are 1, none are read. As in GAP, prepare transposes the links; node indices have 32
 * bits, offsets 64 bits.
 */
#include "bench/peer.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { BLOCK = 16384 };

typedef struct gap_state {
    int64_t n;
    int64_t *offsets; /* offsets of the links into each node */
    int32_t *nodes;   /* source of each link */
    void *weights;    /* weight of each link; NULL: all are 1 */
    void *inverse;    /* 1 / sum of the weights of each node's links out; 0: the node has no links out */
    void *contributions;
    int threads, value_bytes;
    double alpha, tolerance;
    int64_t limit;
} gap_state;

#define V float
#define NAME(verb) verb##_f32
#include "gap.tmpl.c"
#define V double
#define NAME(verb) verb##_f64
#include "gap.tmpl.c"

static double value_at(const spry_peer_matrix *a, int64_t k)
{
    return a->value_bytes == 4 ? (double)((const float *)a->values)[k] : ((const double *)a->values)[k];
}

static int has_ones(const spry_peer_matrix *a)
{
    for (int64_t k = 0; k < a->nnz; k++)
        if (value_at(a, k) != 1) return 0;
    return 1;
}

static void put(const gap_state *s, void *array, int64_t k, double value)
{
    if (s->value_bytes == 4)
        ((float *)array)[k] = (float)value;
    else
        ((double *)array)[k] = value;
}

/* Transposes the links by counting the links into each node. Links are in the order of their sources. */
static int transpose_links(gap_state *s, const spry_peer_matrix *a)
{
    const int weighted = !has_ones(a);
    int64_t *next = calloc((size_t)s->n + 1, sizeof *next);
    s->offsets = calloc((size_t)s->n + 1, sizeof *s->offsets);
    s->nodes = malloc((size_t)a->nnz * sizeof *s->nodes + 1);
    s->inverse = malloc((size_t)s->n * (size_t)s->value_bytes + 1);
    s->contributions = malloc((size_t)s->n * (size_t)s->value_bytes + 1);
    if (weighted) s->weights = malloc((size_t)a->nnz * (size_t)s->value_bytes + 1);
    const int good = next && s->offsets && s->nodes && s->inverse && s->contributions && (s->weights || !weighted);
    for (int64_t k = 0; good && k < a->nnz; k++) s->offsets[spry_peer_index(a->index_bytes, a->columns, k) + 1]++;
    for (int64_t i = 0; good && i < s->n; i++) next[i + 1] = s->offsets[i + 1] += s->offsets[i];
    for (int64_t i = 0; good && i < s->n; i++) {
        double sum = 0;
        for (int64_t k = spry_peer_offset(a, i); k < spry_peer_offset(a, i + 1); k++) {
            const int64_t at = next[spry_peer_index(a->index_bytes, a->columns, k)]++;
            s->nodes[at] = (int32_t)i;
            if (weighted) put(s, s->weights, at, value_at(a, k));
            sum += value_at(a, k);
        }
        put(s, s->inverse, i, sum > 0 ? 1 / sum : 0);
    }
    free(next);
    return good;
}

static int prepare(void **state, const spry_peer_solver_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->matrix;
    if (a->rows > INT32_MAX)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "GAP's nodes have 32 bits: there are too many");
    gap_state *s = spry_peer_new(state, sizeof *s, error);
    if (!s) return SPRY_PEER_FAILED;
    s->n = a->rows;
    s->value_bytes = a->value_bytes;
    s->threads = request->threads;
    s->alpha = request->alpha;
    s->tolerance = request->tolerance;
    s->limit = request->max_iterations;
    if (!transpose_links(s, a))
        return spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory for the links into nodes");
    cost->bytes = (s->n + 1) * 8 + a->nnz * (4 + (s->weights ? a->value_bytes : 0));
    return SPRY_PEER_OK;
}

static int solve(void *state, void *x, const void *b, spry_peer_solution *solution, spry_peer_error *error)
{
    const gap_state *s = state;
    (void)b, (void)error;
    if (s->value_bytes == 4)
        rank_f32(s, x, solution);
    else
        rank_f64(s, x, solution);
    return SPRY_PEER_OK;
}

static void destroy(void *state)
{
    gap_state *s = state;
    void *blocks[] = {s->offsets, s->nodes, s->weights, s->inverse, s->contributions, s};
    for (int b = 0; b < 6; b++) free(blocks[b]);
}

static const spry_peer_solver solvers[] = {{"gap_pr_spmv", "cpu",
                                            "the pull loop of GAP's pr_spmv, with weights and nodes without links",
                                            SPRY_PEER_PAGERANK, 0, prepare, solve, destroy, 0}};

const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    static const spry_peer_module module = {.abi = SPRY_PEER_ABI,
                                            .name = "gap",
                                            .version = "1.5",
                                            .solver_count = sizeof solvers / sizeof *solvers,
                                            .solvers = solvers};
    (void)error;
    return &module;
}
