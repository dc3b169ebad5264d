/*
 * Methods that a Python process of its own runs, and whose time it takes itself:
 *   scipy_pagerank  power iteration with SciPy's csr_matrix @ vector and NumPy's vectors, one thread (process_rank.py)
 *   cupy_cg         cupyx.scipy.sparse.linalg.cg on the first GPU (process_cupy.py)
 *
 * b and x lie in a file that both map. Commands, after those that process.c tells of:
 * matrix FILE ROWS NNZ VALUE_BYTES INDEX_BYTES; method FILE ALPHA TOLERANCE LIMIT; solve -> "ok ITERATIONS RESIDUAL
 * MICROSECONDS".
 */
#include "bench/peers/process.h"
#include "common/wall_clock.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <process_scripts.h>

enum { RANKS, CUPY }; /* the scripts */

static int load(process *p, const spry_peer_matrix *a, spry_peer_error *error)
{
    char path[256], command[512];
    FILE *file = peer_process_file(path, sizeof path, error);
    if (!file) return SPRY_PEER_FAILED;
    int good = peer_process_put(file, a);
    good &= fclose(file) == 0;
    if (!good) spry_peer_fail(error, SPRY_PEER_FAILED, "%.200s: %s", path, strerror(errno));
    snprintf(command, sizeof command, "matrix %s %lld %lld %d %d\n ", path, (long long)a->rows, (long long)a->nnz,
             a->value_bytes, a->index_bytes);
    good = good && peer_process_ask(p, command, error);
    unlink(path);
    return good ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

static int prepare(void **state, const spry_peer_solver_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->matrix;
    const char *python = peer_process_interpreter("SPRY_PYTHON", SPRY_PEERS_PYTHON, "python3");
    const char *script = request->variant == RANKS ? rank_script : cupy_script;
    char *const arguments[] = {CONST_OFF(python), CONST_OFF("-c"), CONST_OFF(script), NULL};
    char method[128];
    if (a->offset_bytes != a->index_bytes)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                              "it has one index type: 64-bit offsets with 32-bit columns do not fit it");
    process *p = spry_peer_new(state, sizeof *p, error);
    if (!p) return SPRY_PEER_FAILED;
    const double begin = now_us();
    SPRY_PEER_TRY(peer_process_start(p, arguments, cost, error));
    cost->startup_us = now_us() - begin;
    cost->threads = request->variant == RANKS ? 1 : 0;
    SPRY_PEER_TRY(load(p, a, error));
    p->x_bytes = p->y_bytes = (size_t)a->rows * (size_t)a->value_bytes;
    snprintf(method, sizeof method, "%.17g %.17g %lld", request->alpha, request->tolerance,
             (long long)request->max_iterations);
    return peer_process_share(p, p->x_bytes + p->y_bytes, "method", method, error);
}

static int solve(void *state, void *x, const void *b, spry_peer_solution *solution, spry_peer_error *error)
{
    process *p = state;
    long long iterations = 0;
    if (b) memcpy(p->shared, b, p->x_bytes);
    const char *answer = peer_process_ask(p, "solve\n ", error);
    if (!answer) return SPRY_PEER_FAILED;
    if (sscanf(answer, "%lld %lf %lf", &iterations, &solution->residual, &solution->us) != 3)
        return spry_peer_fail(error, SPRY_PEER_FAILED, "it answered '%.200s'", answer);
    solution->iterations = iterations;
    memcpy(x, p->shared + p->x_bytes, p->y_bytes);
    return SPRY_PEER_OK;
}

const spry_peer_solver peer_process_solvers[PEER_PROCESS_SOLVERS] =
    {{"scipy_pagerank", "cpu", "power iteration with SciPy's csr_matrix @ vector and NumPy", SPRY_PEER_PAGERANK, 1,
      prepare, solve, peer_process_destroy, RANKS},
     {"cupy_cg", "cuda", "cupyx.scipy.sparse.linalg.cg", SPRY_PEER_CG, 0, prepare, solve, peer_process_destroy, CUPY}};
