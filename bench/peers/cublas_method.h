/*
 * What CG and PageRank of the module cublas share. Residuals stay on the GPU, in a history with a place for each
 * iteration. After every few iterations a copy of the newest is started, and the copy before that is looked at, so that
 * the GPU has work while the host looks. Iterations that are made in vain then are left out of the number and of the
 * time that is told, as are the copies of b and x.
 */
#pragma once

#include "bench/peers/cublas_kernels.h"
#include "bench/peers/cublas_product.h"

#include <cublas_v2.h>

enum { METHOD_VECTORS = 4, METHOD_LOOK = 8 };

typedef struct peer_method {
    peer_product product;
    cublasHandle_t blas;
    cudaEvent_t copied[2];
    peer_cusparse_memory memory;
    void *vectors[METHOD_VECTORS];
    void *scalars;
    void *history; /* of residuals, as the method has them: entry k is of iteration k */
    void *seen;    /* its copy on the host, as far as it was made */
    int is_f64, value_bytes, has_lost;
    int64_t n, limit;
    double alpha, tolerance;
} peer_method;

/* Handles, memory and the product of a, as a state. */
int peer_method_make(void **state, const spry_peer_matrix *a, const spry_peer_solver_request *request,
                     spry_peer_cost *cost, spry_peer_error *error);
void peer_method_destroy(void *state);

int peer_method_cuda(cudaError_t code, const char *call, spry_peer_error *error);
int peer_method_cublas(cublasStatus_t status, const char *call, spry_peer_error *error);
int peer_method_cusparse(cusparseStatus_t status, const char *call, spry_peer_error *error);

/* Entry k of an array of the method's type. */
static inline void *peer_method_at(const peer_method *m, void *array, int64_t k)
{
    return (char *)array + k * m->value_bytes;
}
double peer_method_seen(const peer_method *m, int64_t k);

/*
 * Runs iterations 1 to the limit, until entry k of the history is at most `enough`, and tells the number and the time.
 * `begun_us`: when the clock started; *made: the iterations that x has had, those in vain too.
 */
int peer_method_iterate(peer_method *m, int (*iteration)(peer_method *m, int64_t k, spry_peer_error *error),
                        double enough, double begun_us, int64_t *made, spry_peer_solution *solution,
                        spry_peer_error *error);

/* cuBLAS in the type of the method; results of dot and asum go to device memory, and so do alphas come from there. */
cublasStatus_t peer_method_dot(const peer_method *m, const void *x, const void *y, void *result);
cublasStatus_t peer_method_asum(const peer_method *m, const void *x, void *result);
cublasStatus_t peer_method_axpy(const peer_method *m, const void *alpha, const void *x, void *y);
cublasStatus_t peer_method_scal(const peer_method *m, const void *alpha, void *x);

extern const spry_peer_solver peer_cublas_cg, peer_cublas_pagerank;
