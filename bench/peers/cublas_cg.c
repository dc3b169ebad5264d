/*
 * cusparse_cublas_cg: the textbook loop of CG, as in NVIDIA's samples. It uses cuSPARSE's product, cuBLAS's dot, axpy
 * and scal with scalars on the GPU, and two GPU kernels with one thread each for the quotients.
 */
#include "bench/peers/cublas_method.h"
#include "common/wall_clock.h"

#include <math.h>

enum { X, R, P, Q }; /* the vectors */

static int prepare(void **state, const spry_peer_solver_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    return peer_method_make(state, &request->matrix, request, cost, error);
}

/*
 * Runs iteration k. Writes the dot product r.r after the iteration to element k of the history; element k - 1 is r.r
 * before the iteration.
 */
static int iteration(peer_method *m, int64_t k, spry_peer_error *error)
{
    void *const *v = m->vectors;
    void *scalars = m->scalars, *rr = peer_method_at(m, m->history, k - 1), *next = peer_method_at(m, m->history, k);
    SPRY_PEER_TRY(peer_method_cusparse(peer_product_run(&m->product, 1, v[P], v[Q]), "cusparseSpMV", error));
    cublasStatus_t status = peer_method_dot(m, v[P], v[Q], peer_method_at(m, scalars, SCALAR_PQ));
    SPRY_PEER_TRY(peer_method_cuda(peer_take_alpha(m->is_f64, scalars, rr), "the kernel of alpha", error));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = peer_method_axpy(m, peer_method_at(m, scalars, SCALAR_ALPHA), v[P], v[X]);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = peer_method_axpy(m, peer_method_at(m, scalars, SCALAR_MINUS_ALPHA), v[Q], v[R]);
    if (status == CUBLAS_STATUS_SUCCESS) status = peer_method_dot(m, v[R], v[R], next);
    SPRY_PEER_TRY(peer_method_cuda(peer_take_beta(m->is_f64, scalars, rr, next), "the kernel of beta", error));
    if (status == CUBLAS_STATUS_SUCCESS) status = peer_method_scal(m, peer_method_at(m, scalars, SCALAR_BETA), v[P]);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = peer_method_axpy(m, peer_method_at(m, scalars, SCALAR_ONE), v[R], v[P]);
    return peer_method_cublas(status, "cuBLAS", error);
}

/* Sets x = 0 and r = p = b, computes b.b and waits for it. */
static int begin(peer_method *m, double *bb, spry_peer_error *error)
{
    void *const *v = m->vectors;
    const size_t bytes = (size_t)m->n * (size_t)m->value_bytes;
    SPRY_PEER_TRY(peer_method_cuda(cudaMemsetAsync(v[X], 0, bytes, NULL), "cudaMemset of x", error));
    SPRY_PEER_TRY(
        peer_method_cuda(cudaMemcpyAsync(v[P], v[R], bytes, cudaMemcpyDeviceToDevice, NULL), "a copy of b", error));
    SPRY_PEER_TRY(peer_method_cublas(peer_method_dot(m, v[R], v[R], m->history), "the dot of b", error));
    SPRY_PEER_TRY(peer_method_cuda(cudaMemcpy(m->seen, m->history, (size_t)m->value_bytes, cudaMemcpyDeviceToHost),
                                   "cudaMemcpy of b.b", error));
    *bb = peer_method_seen(m, 0);
    return SPRY_PEER_OK;
}

static int solve(void *state, void *x, const void *b, spry_peer_solution *solution, spry_peer_error *error)
{
    peer_method *m = state;
    const size_t bytes = (size_t)m->n * (size_t)m->value_bytes;
    double bb = 0;
    int64_t executed = 0;
    SPRY_PEER_TRY(
        peer_method_cuda(cudaMemcpy(m->vectors[R], b, bytes, cudaMemcpyHostToDevice), "cudaMemcpy of b", error));
    SPRY_PEER_TRY(peer_method_cuda(cudaDeviceSynchronize(), "cudaMemcpy of b", error));
    const double start = now_us();
    SPRY_PEER_TRY(begin(m, &bb, error));
    SPRY_PEER_TRY(
        peer_method_iterate(m, iteration, m->tolerance * m->tolerance * bb, start, &executed, solution, error));
    solution->residual = sqrt(peer_method_seen(m, solution->iterations) / bb);
    return peer_method_cuda(cudaMemcpy(x, m->vectors[X], bytes, cudaMemcpyDeviceToHost), "cudaMemcpy of x", error);
}

const spry_peer_solver peer_cublas_cg = {"cusparse_cublas_cg",
                                         "cuda",
                                         "the textbook loop of cuSPARSE's fastest SpMV and cuBLAS",
                                         SPRY_PEER_CG,
                                         0,
                                         prepare,
                                         solve,
                                         peer_method_destroy,
                                         0};
