/*
 * cusparse_pagerank: the textbook loop of PageRank. The host transposes the matrix once and divides each column by its
 * sum. An iteration has four steps: y = alpha*B*x by cuSPARSE; the rank of nodes without links out by cuBLAS's dot, if
 * such nodes exist; a kernel that adds the rank that all nodes receive and subtracts x; and the 1-norm by cuBLAS.
 */
#include "bench/peers/cublas_method.h"
#include "common/wall_clock.h"

#include <string.h>

enum { ONE, OTHER, LOST }; /* ONE and OTHER: x and y, alternating; LOST: 1 for each node without links out */
enum { LOST_MASS = SCALAR_PQ };

/* In host memory: B of SPRY_PEER_PAGERANK (peer.h), the nodes without links out, and the initial ranks. */
typedef struct links {
    spry_peer_matrix B;
    void *offsets, *columns, *values, *lost, *start;
    int has_lost;
} links;

static void release(links *l)
{
    void *blocks[] = {l->offsets, l->columns, l->values, l->lost, l->start};
    for (int b = 0; b < 5; b++) free(blocks[b]);
}

static double value_at(const spry_peer_matrix *a, int64_t k)
{
    return a->value_bytes == 4 ? (double)((const float *)a->values)[k] : ((const double *)a->values)[k];
}

static void put(const spry_peer_matrix *a, void *array, int64_t k, double value)
{
    if (a->value_bytes == 4)
        ((float *)array)[k] = (float)value;
    else
        ((double *)array)[k] = value;
}

/* Transposes a by counting the entries of each column. next: workspace of rows + 1 zeros. */
static void fill(links *l, const spry_peer_matrix *a, int64_t *next)
{
    const int64_t n = a->rows;
    for (int64_t k = 0; k < a->nnz; k++) next[spry_peer_index(a->index_bytes, a->columns, k) + 1]++;
    for (int64_t i = 0; i < n; i++) next[i + 1] += next[i];
    for (int64_t i = 0; i <= n; i++) spry_peer_put_index(a->offset_bytes, l->offsets, i, next[i]);
    for (int64_t i = 0; i < n; i++) {
        const int64_t begin = spry_peer_offset(a, i), end = spry_peer_offset(a, i + 1);
        double sum = 0;
        for (int64_t k = begin; k < end; k++) sum += value_at(a, k);
        for (int64_t k = begin; k < end; k++) {
            const int64_t at = next[spry_peer_index(a->index_bytes, a->columns, k)]++;
            spry_peer_put_index(a->index_bytes, l->columns, at, i);
            put(a, l->values, at, sum > 0 ? value_at(a, k) / sum : 0);
        }
        put(a, l->lost, i, sum > 0 ? 0 : 1);
        put(a, l->start, i, 1 / (double)n);
        l->has_lost |= !(sum > 0);
    }
}

static int transpose_links(links *l, const spry_peer_matrix *a, spry_peer_error *error)
{
    int64_t *next = calloc((size_t)a->rows + 1, sizeof *next);
    const size_t vector = (size_t)a->rows * (size_t)a->value_bytes + 1;
    l->offsets = malloc(((size_t)a->rows + 1) * (size_t)a->offset_bytes);
    l->columns = malloc((size_t)a->nnz * (size_t)a->index_bytes + 1);
    l->values = malloc((size_t)a->nnz * (size_t)a->value_bytes + 1);
    l->lost = malloc(vector);
    l->start = malloc(vector);
    const int good = next && l->offsets && l->columns && l->values && l->lost && l->start;
    if (good) fill(l, a, next);
    free(next);
    l->B = *a;
    l->B.offsets = l->offsets;
    l->B.columns = l->columns;
    l->B.values = l->values;
    return good ? SPRY_PEER_OK : spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory for the transposed matrix");
}

static int prepare(void **state, const spry_peer_solver_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    links l = {.has_lost = 0};
    int result = transpose_links(&l, &request->matrix, error);
    if (result == SPRY_PEER_OK) result = peer_method_make(state, &l.B, request, cost, error);
    peer_method *m = *state;
    if (result == SPRY_PEER_OK) {
        const size_t bytes = (size_t)m->n * (size_t)m->value_bytes;
        m->has_lost = l.has_lost;
        result = peer_method_cuda(cudaMemcpy(m->vectors[LOST], l.lost, bytes, cudaMemcpyHostToDevice),
                                  "cudaMemcpy of nodes", error);
        /* The initial ranks are in the vector after LOST. */
        if (result == SPRY_PEER_OK)
            result = peer_method_cuda(cudaMemcpy(m->vectors[LOST + 1], l.start, bytes, cudaMemcpyHostToDevice),
                                      "cudaMemcpy of the start", error);
    }
    release(&l);
    return result;
}

/* Runs iteration k from one vector to the other. Writes the 1-norm of the step to element k of the history. */
static int iteration(peer_method *m, int64_t k, spry_peer_error *error)
{
    void *x = m->vectors[k % 2 == 1 ? ONE : OTHER], *y = m->vectors[k % 2 == 1 ? OTHER : ONE];
    void *lost = m->has_lost ? peer_method_at(m, m->scalars, LOST_MASS) : NULL;
    SPRY_PEER_TRY(peer_method_cusparse(peer_product_run(&m->product, m->alpha, x, y), "cusparseSpMV", error));
    if (lost) SPRY_PEER_TRY(peer_method_cublas(peer_method_dot(m, m->vectors[LOST], x, lost), "cuBLAS's dot", error));
    SPRY_PEER_TRY(peer_method_cuda(peer_add_rest(m->is_f64, m->n, y, x, lost, m->alpha), "the kernel of ranks", error));
    return peer_method_cublas(peer_method_asum(m, x, peer_method_at(m, m->history, k)), "cuBLAS's asum", error);
}

static int solve(void *state, void *x, const void *b, spry_peer_solution *solution, spry_peer_error *error)
{
    peer_method *m = state;
    const size_t bytes = (size_t)m->n * (size_t)m->value_bytes;
    int64_t executed = 0;
    (void)b;
    SPRY_PEER_TRY(peer_method_cuda(cudaDeviceSynchronize(), "the work before", error));
    const double start = now_us();
    SPRY_PEER_TRY(
        peer_method_cuda(cudaMemcpyAsync(m->vectors[ONE], m->vectors[LOST + 1], bytes, cudaMemcpyDeviceToDevice, NULL),
                         "the start", error));
    SPRY_PEER_TRY(peer_method_iterate(m, iteration, m->tolerance, start, &executed, solution, error));
    solution->residual = peer_method_seen(m, solution->iterations);
    return peer_method_cuda(cudaMemcpy(x, m->vectors[executed % 2 == 1 ? OTHER : ONE], bytes, cudaMemcpyDeviceToHost),
                            "cudaMemcpy of the ranks", error);
}

const spry_peer_solver peer_cublas_pagerank = {"cusparse_pagerank",
                                               "cuda",
                                               "the textbook loop of cuSPARSE's fastest SpMV and cuBLAS",
                                               SPRY_PEER_PAGERANK,
                                               0,
                                               prepare,
                                               solve,
                                               peer_method_destroy,
                                               0};
