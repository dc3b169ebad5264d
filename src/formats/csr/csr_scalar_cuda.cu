/*
 * csr_scalar_cuda: CSR-Scalar.
 *
 * Idea: one thread per row, which adds up the row's entries one after the other.
 * Work: blocks of 256 threads. A warp takes as long as the longest of its 32 rows.
 * Cost: bytes of CSR. Neighbouring threads read entries one row length apart, so the longer the rows, the less of each
 *       sector is used.
 * Source: Evtushenko 2019, CSR-Scalar; Bell and Garland, Efficient sparse matrix-vector multiplication on CUDA, 2008,
 *         4.2.
 * Differences from the listing: y = alpha*A*x + beta*y. Entries of a pattern are 1.
 */
#include "device/cuda/cuda_common.cuh"

extern "C" {
#include "formats/csr/csr.h"
}

template <typename V, typename P, typename J>
static __global__ void csr_scalar(int64_t m, const P *__restrict__ Ap, const J *__restrict__ Aj,
                                  const V *__restrict__ Ax, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha,
                                  scalar<V> beta)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    V sum = 0;
    for (P k = Ap[i], end = Ap[i + 1]; k < end; k++) sum += (Ax ? Ax[k] : V(1)) * x[Aj[k]];
    put(y, i, sum, alpha.get(), beta.get());
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    enum { THREADS = 256 };
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    if (a->rows == 0) return SPRY_OK;
    csr_scalar<V, P, J>
        <<<(unsigned)ceil_div(a->rows, THREADS), THREADS, 0, stream_of(args)>>>(a->rows, (const P *)a->offsets,
                                                                                (const J *)a->indices,
                                                                                (const V *)a->values,
                                                                                (const V *)args->x, (V *)args->y,
                                                                                SPRY_ALPHA(V, args),
                                                                                SPRY_BETA(V, args));
    return launched(err, "csr_scalar_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_csr_scalar = {"csr_scalar_cuda", &runs, NULL, NULL, NULL, NULL};
