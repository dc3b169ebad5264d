/*
 * csr_vector_cuda: CSR-Vector, a group of lanes per row.
 *
 * Idea: 2, 4, 8, 16 or 32 lanes of a warp read consecutive entries of a row and add up their sums by shuffles.
 * Work: the number of lanes is the smallest power of two that is at least the mean row length, from 2 to 32, or the
 *       parameter `lanes`. With 32 it is CSR-Vector as both papers print it, one warp per row. 256 threads per block.
 *       Rows are not balanced: a row much longer than the mean keeps one group busy.
 * Cost: bytes of CSR, read in whole sectors if rows are as long as the group; log2(lanes) shuffles per row.
 * Source: Evtushenko 2019 and Meister 2013, CSR-Vector; Bell and Garland 2008, 4.3; groups smaller than a warp:
 *         Baskaran and Bordawekar 2009.
 * Differences from the listings, with 32 lanes: y = alpha*A*x + beta*y. Entries of a pattern are 1.
 */
#include "device/cuda/cuda_common.cuh"

extern "C" {
#include "formats/csr/csr.h"
}

template <int LANES, typename V, typename P, typename J>
static __global__ void csr_vector(int64_t m, const P *__restrict__ Ap, const J *__restrict__ Aj,
                                  const V *__restrict__ Ax, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha,
                                  scalar<V> beta)
{
    int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = thread / LANES;
    int lane = (int)(thread % LANES);
    V sum = 0;
    if (i < m)
        for (P k = Ap[i] + lane, end = Ap[i + 1]; k < end; k += LANES) sum += (Ax ? Ax[k] : V(1)) * x[Aj[k]];
#pragma unroll
    for (int width = LANES / 2; width > 0; width /= 2) sum += __shfl_down_sync(0xffffffffu, sum, width, LANES);
    if (i < m && lane == 0) put(y, i, sum, alpha.get(), beta.get());
}

template <int LANES, typename V, typename P, typename J>
static spry_status launch(const spryi_run_args *args, spry_error *err)
{
    enum { THREADS = 256 };
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    if (a->rows == 0) return SPRY_OK;
    csr_vector<LANES, V, P, J>
        <<<(unsigned)ceil_div(a->rows, THREADS / LANES), THREADS, 0, stream_of(args)>>>(a->rows, (const P *)a->offsets,
                                                                                        (const J *)a->indices,
                                                                                        (const V *)a->values,
                                                                                        (const V *)args->x,
                                                                                        (V *)args->y,
                                                                                        SPRY_ALPHA(V, args),
                                                                                        SPRY_BETA(V, args));
    return launched(err, "csr_vector_cuda");
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const int64_t mean = a->rows > 0 ? a->nnz / a->rows : 0;
    const int given = (int)args->kernel_parameters[SPRYI_CSR_LANES];
    const int64_t wanted = given > 0 ? INT64_C(1) << given : mean; /* the words of the parameter are 2, 4, ... 32 */
    if (wanted <= 2) return launch<2, V, P, J>(args, err);
    if (wanted <= 4) return launch<4, V, P, J>(args, err);
    if (wanted <= 8) return launch<8, V, P, J>(args, err);
    if (wanted <= 16) return launch<16, V, P, J>(args, err);
    return launch<32, V, P, J>(args, err);
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_csr_vector = {"csr_vector_cuda", &runs, NULL, NULL, NULL, NULL};
