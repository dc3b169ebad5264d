/* Kernels of a few lines for what cuBLAS lacks: scalars that stay on the GPU, and a number added to all entries. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Places in the array of scalars of CG. */
enum { SCALAR_PQ, SCALAR_ALPHA, SCALAR_MINUS_ALPHA, SCALAR_BETA, SCALAR_ONE, SCALARS };

/* All run in the default stream; is_f64 tells the type of the arrays. A quotient by 0 is 0: x is exact by then. */
cudaError_t peer_take_alpha(int is_f64, void *scalars, const void *rr); /* alpha = rr / pq, and -alpha */
cudaError_t peer_take_beta(int is_f64, void *scalars, const void *rr, const void *next); /* beta = next / rr */
/* y += (alpha*lost + 1 - alpha) / n, and then x = y - x. lost NULL: 0. */
cudaError_t peer_add_rest(int is_f64, int64_t n, void *y, void *x, const void *lost, double alpha);

#ifdef __cplusplus
}
#endif
