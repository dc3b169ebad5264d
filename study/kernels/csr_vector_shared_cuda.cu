/*
 * csr_vector_shared_cuda: CSR-Vector with the reduction in shared memory.
 *
 * Idea: the 32 lanes of a warp share a row and read adjacent entries. Each lane sums its products in shared memory,
 *       where a tree adds the sums of the lanes. The listing of Meister 2013 adds without synchronisation, which was
 *       correct while the lanes of a warp ran in lockstep. Since Volta they may diverge, so a __syncwarp precedes each
 *       step.
 * Work: one warp per row, eight rows per block of 256 threads; imbalance if row lengths differ.
 * Cost: bytes of CSR. In rows much shorter than 32 entries, most lanes are idle. A row needs five more reads and writes
 *       of shared memory, where csr_vector_cuda needs five shuffles. The kernel exists only for comparison.
 * Source: Meister 2013, CSR kernel 2 with "reduce"; Bell and Garland 2008, 4.3.
 * Differences from the tutorial: y = alpha*A*x + beta*y. Entries of a pattern are 1. __syncwarp.
 */
#include "device/cuda/cuda_common.cuh"

extern "C" {
#include "formats/csr/csr.h"
}

enum { THREADS = 256, WARP = 32 };

template <typename V, typename P, typename J> static __global__ void __launch_bounds__(THREADS)
    csr_vector_shared(int64_t m, const P *__restrict__ Ap, const J *__restrict__ Aj, const V *__restrict__ Ax,
                      const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    __shared__ V sums[THREADS];
    const int64_t i = (int64_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    const int lane = threadIdx.x % WARP;
    if (i >= m) return; /* all lanes of a warp or none, because i is equal for them */
    sums[threadIdx.x] = 0;
    for (P k = Ap[i] + lane, end = Ap[i + 1]; k < end; k += WARP) sums[threadIdx.x] += (Ax ? Ax[k] : V(1)) * x[Aj[k]];
#pragma unroll
    for (int width = WARP / 2; width > 0; width /= 2) { /* reads width .. 2*width-1, writes 0 .. width-1 */
        __syncwarp();
        if (lane < width) sums[threadIdx.x] += sums[threadIdx.x + width];
    }
    if (lane == 0) put(y, i, sums[threadIdx.x], alpha.get(), beta.get());
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    if (a->rows == 0) return SPRY_OK;
    csr_vector_shared<V, P, J>
        <<<(unsigned)ceil_div(a->rows, THREADS / WARP), THREADS, 0, stream_of(args)>>>(a->rows, (const P *)a->offsets,
                                                                                       (const J *)a->indices,
                                                                                       (const V *)a->values,
                                                                                       (const V *)args->x, (V *)args->y,
                                                                                       SPRY_ALPHA(V, args),
                                                                                       SPRY_BETA(V, args));
    return launched(err, "csr_vector_shared_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_csr_vector_shared = {"csr_vector_shared_cuda", &runs, NULL, NULL, NULL, NULL};
