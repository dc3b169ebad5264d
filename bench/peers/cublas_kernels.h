/* Small kernels for operations that cuBLAS lacks: quotients of scalars on the GPU, and a constant added to a vector. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Indices in the array of CG's scalars. */
enum { SCALAR_PQ, SCALAR_ALPHA, SCALAR_MINUS_ALPHA, SCALAR_BETA, SCALAR_ONE, SCALARS };

/*
 * All functions run in the default stream. is_f64: 1 for double arrays, 0 for float. A quotient with divisor 0 is set
 * to 0, because x is exact then.
 */
cudaError_t peer_take_alpha(int is_f64, void *scalars, const void *rr); /* alpha = rr / pq, and -alpha */
cudaError_t peer_take_beta(int is_f64, void *scalars, const void *rr, const void *next); /* beta = next / rr */
/* Computes y += (alpha*lost + 1 - alpha) / n, then x = y - x. If lost is NULL, *lost counts as 0. */
cudaError_t peer_add_rest(int is_f64, int64_t n, void *y, void *x, const void *lost, double alpha);

#ifdef __cplusplus
}
#endif
