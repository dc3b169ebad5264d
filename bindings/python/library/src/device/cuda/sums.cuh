/* For kernels that scatter: sums in the workspace, of which a second launch makes y. */
#ifndef SPRY_CUDA_SUMS_CUH
#define SPRY_CUDA_SUMS_CUH

#include "device/cuda/cuda_common.cuh"

template <typename V> static __global__ void take_sums(int64_t length, V *__restrict__ sums, V *__restrict__ y,
                                                       scalar<V> alpha, scalar<V> beta)
{
    const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= length) return;
    const V sum = sums[j];
    sums[j] = 0;
    put(y, j, sum, alpha.get(), beta.get());
}

/* y = alpha*sums + beta*y with the alpha, beta, y and stream of args; leaves zeros for the next run. */
template <typename V> static void launch_take_sums(int64_t length, V *sums, const spryi_run_args *args)
{
    enum { THREADS = 256 };
    take_sums<V><<<(unsigned)ceil_div(length, THREADS), THREADS, 0, stream_of(args)>>>(length, sums, (V *)args->y,
                                                                                       SPRY_ALPHA(V, args),
                                                                                       SPRY_BETA(V, args));
}

#endif
