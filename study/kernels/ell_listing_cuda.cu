/*
 * ell_listing_cuda: ELL by the listing of Evtushenko 2019.
 *
 * Idea: one thread per row. Every thread runs over all slots of the matrix, padding included, so that no thread of a
 *       warp ends before another. Neighbouring threads read neighbouring slots.
 * Work: blocks of 256 threads.
 * Cost: values and columns of all slots, x and y.
 * Source: Evtushenko 2019, listing 6; Bell and Garland 2008, 4.1.
 * Differences from the document: y = alpha*A*x + beta*y. Padding has the column of the row's last entry. If the sum of
 *       a row is infinite or NaN, the row is computed again without its padding, since 0 times an infinity is NaN.
 */
extern "C" {
#include "formats/ell/ell.h"
#include "study/kernels/study_kernels.h"
}
#include "device/cuda/cuda_common.cuh"

enum { THREADS = 256 };

/* Returns the sum of the first `slots` slots of row i. */
template <typename V, typename J>
static __device__ __forceinline__ V multiply(int64_t m, int64_t slots, int64_t i, const J *__restrict__ Aj,
                                             const V *__restrict__ Ax, const V *__restrict__ x)
{
    V sum = 0;
    for (int64_t s = 0; s < slots; s++) sum += Ax[i + s * m] * x[Aj[i + s * m]];
    return sum;
}

template <typename V, typename J> static __global__ void __launch_bounds__(THREADS)
    ell_listing(int64_t m, int64_t width, const J *__restrict__ Aj, const V *__restrict__ Ax,
                const int32_t *__restrict__ lengths, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha,
                scalar<V> beta)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= m) return;
    V sum = multiply(m, width, i, Aj, Ax, x);
    if (!isfinite(sum)) sum = multiply(m, (int64_t)lengths[i], i, Aj, Ax, x);
    put(y, i, sum, alpha.get(), beta.get());
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_ell *s = (const spryi_ell *)args->storage;
    if (s->a.rows == 0) return SPRY_OK;
    ell_listing<V, J>
        <<<(unsigned)ceil_div(s->a.rows, THREADS), THREADS, 0, stream_of(args)>>>(s->a.rows, s->width,
                                                                                  (const J *)s->columns,
                                                                                  (const V *)s->values, s->lengths,
                                                                                  (const V *)args->x, (V *)args->y,
                                                                                  SPRY_ALPHA(V, args),
                                                                                  SPRY_BETA(V, args));
    return launched(err, "ell_listing_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_ell_listing = {"ell_listing_cuda", &runs, NULL, NULL, NULL, NULL};
