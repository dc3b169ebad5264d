/*
 * Shared parts of CG and PageRank in the module cublas. The GPU writes the residual of each iteration to a history.
 * After every METHOD_LOOK iterations the host starts a copy of the newest residuals and checks the previous copy, so
 * that the GPU is never idle. The reported number of iterations and their time exclude iterations after convergence.
 * The time also excludes the copies of b and x.
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
    void *history; /* residuals of the method's stopping rule; element k belongs to iteration k */
    void *seen;    /* host copy of the history; complete up to the last checked copy */
    int is_f64, value_bytes, has_lost;
    int64_t n, limit;
    double alpha, tolerance;
} peer_method;

/* Creates a state: handles, memory and the product with a. */
int peer_method_make(void **state, const spry_peer_matrix *a, const spry_peer_solver_request *request,
                     spry_peer_cost *cost, spry_peer_error *error);
void peer_method_destroy(void *state);

int peer_method_cuda(cudaError_t code, const char *call, spry_peer_error *error);
int peer_method_cublas(cublasStatus_t status, const char *call, spry_peer_error *error);
int peer_method_cusparse(cusparseStatus_t status, const char *call, spry_peer_error *error);

/* Returns the address of element k of an array of the method's type. */
static inline void *peer_method_at(const peer_method *m, void *array, int64_t k)
{
    return (char *)array + k * m->value_bytes;
}
double peer_method_seen(const peer_method *m, int64_t k);

/*
 * Runs iterations until element k of the history is at most `enough`, or to the limit, and reports their number and
 * time. begun_us: start of the time. *executed: number of executed iterations, including those after convergence.
 */
int peer_method_iterate(peer_method *m, int (*iteration)(peer_method *m, int64_t k, spry_peer_error *error),
                        double enough, double begun_us, int64_t *executed, spry_peer_solution *solution,
                        spry_peer_error *error);

/* Call cuBLAS in the method's type. Results of dot and asum, and all alphas, are in device memory. */
cublasStatus_t peer_method_dot(const peer_method *m, const void *x, const void *y, void *result);
cublasStatus_t peer_method_asum(const peer_method *m, const void *x, void *result);
cublasStatus_t peer_method_axpy(const peer_method *m, const void *alpha, const void *x, void *y);
cublasStatus_t peer_method_scal(const peer_method *m, const void *alpha, void *x);

extern const spry_peer_solver peer_cublas_cg, peer_cublas_pagerank;
