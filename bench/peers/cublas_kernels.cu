#include "bench/peers/cublas_kernels.h"

template <typename V> __global__ void alpha_kernel(V *scalars, const V *rr)
{
    const V pq = scalars[SCALAR_PQ], alpha = pq != 0 ? *rr / pq : 0;
    scalars[SCALAR_ALPHA] = alpha;
    scalars[SCALAR_MINUS_ALPHA] = -alpha;
}

template <typename V> __global__ void beta_kernel(V *scalars, const V *rr, const V *next)
{
    scalars[SCALAR_BETA] = *rr != 0 ? *next / *rr : 0;
}

template <typename V> __global__ void rest_kernel(int64_t n, V *y, V *x, const V *lost, double alpha)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double mass = lost ? (double)*lost : 0;
    const V entry = y[i] + (V)((alpha * mass + 1 - alpha) / (double)n);
    y[i] = entry;
    x[i] = entry - x[i];
}

cudaError_t peer_take_alpha(int is_f64, void *scalars, const void *rr)
{
    if (is_f64)
        alpha_kernel<<<1, 1>>>((double *)scalars, (const double *)rr);
    else
        alpha_kernel<<<1, 1>>>((float *)scalars, (const float *)rr);
    return cudaGetLastError();
}

cudaError_t peer_take_beta(int is_f64, void *scalars, const void *rr, const void *next)
{
    if (is_f64)
        beta_kernel<<<1, 1>>>((double *)scalars, (const double *)rr, (const double *)next);
    else
        beta_kernel<<<1, 1>>>((float *)scalars, (const float *)rr, (const float *)next);
    return cudaGetLastError();
}

cudaError_t peer_add_rest(int is_f64, int64_t n, void *y, void *x, const void *lost, double alpha)
{
    const unsigned threads = 256, blocks = (unsigned)((n + threads - 1) / threads);
    if (is_f64)
        rest_kernel<<<blocks, threads>>>(n, (double *)y, (double *)x, (const double *)lost, alpha);
    else
        rest_kernel<<<blocks, threads>>>(n, (float *)y, (float *)x, (const float *)lost, alpha);
    return cudaGetLastError();
}
