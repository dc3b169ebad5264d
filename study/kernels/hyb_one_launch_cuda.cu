/*
 * hyb_one_launch_cuda: HYB as printed by Evtushenko, both parts with atomics in one launch.
 *
 * Idea: a first launch multiplies y by beta (the listing clears y). In the second launch, each thread adds its row of
 *       the ELL part to y with atomicAdd, then its share of the COO part, entry by entry. Both parts only add, so the
 *       order of blocks does not matter. (Sparse Methods stores the ELL part instead, which is a race.)
 * Work: blocks of 256 threads, one row per thread. Entries of the COO part are distributed cyclically over all threads.
 *       If the matrix has few rows and a large COO part, few threads do all the work.
 * Cost: the cost of ell_slots_cuda, one more pass over y, and one atomic addition per row. Unlike ell_slots_cuda, the
 *       kernel has no special code for strided slices, so it reads the column of every entry.
 *       Each entry of the COO part costs the bytes of COO and one atomic addition. Padding is not read. Not
 *       deterministic; with an infinite alpha, terms of both signs in a row may give NaN.
 * Source: Evtushenko 2019, listing 8.
 */
#include "device/cuda/cuda_common.cuh"

extern "C" {
#include "formats/hyb/hyb.h"
}

enum { THREADS = 256 };

template <typename V> static __global__ void __launch_bounds__(THREADS)
    multiply_by_beta(int64_t m, V *__restrict__ y, scalar<V> beta)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < m) put(y, i, V(0), V(0), beta.get());
}

template <typename V, typename J> static __global__ void __launch_bounds__(THREADS)
    hyb_one_launch(int64_t m, const J *__restrict__ ell_columns, const V *__restrict__ ell_values,
                   const int32_t *__restrict__ lengths, int64_t rest, const J *__restrict__ rows,
                   const J *__restrict__ columns, const V *__restrict__ values, const V *__restrict__ x,
                   V *__restrict__ y, scalar<V> alpha_given)
{
    const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const V alpha = alpha_given.get();
    if (alpha == 0) return;
    if (thread < m) {
        V sum = 0;
        for (int64_t slot = 0, length = lengths[thread]; slot < length; slot++) {
            const int64_t at = thread + slot * m;
            sum += ell_values[at] * x[ell_columns[at]];
        }
        atomicAdd(y + thread, alpha * sum);
    }
    for (int64_t k = thread; k < rest; k += (int64_t)gridDim.x * THREADS)
        atomicAdd(y + rows[k], alpha * (values[k] * x[columns[k]]));
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_hyb *s = (const spryi_hyb *)args->storage;
    const int64_t m = s->ell.a.rows;
    if (m == 0) return SPRY_OK;
    const unsigned blocks = (unsigned)ceil_div(m, THREADS);
    V *y = (V *)args->y;
    multiply_by_beta<V><<<blocks, THREADS, 0, stream_of(args)>>>(m, y, SPRY_BETA(V, args));
    hyb_one_launch<V, J>
        <<<blocks, THREADS, 0, stream_of(args)>>>(m, (const J *)s->ell.columns, (const V *)s->ell.values,
                                                  s->ell.lengths, s->rest, (const J *)s->rows, (const J *)s->columns,
                                                  (const V *)s->values, (const V *)args->x, y, SPRY_ALPHA(V, args));
    return launched(err, "hyb_one_launch_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_hyb_one_launch = {"hyb_one_launch_cuda", &runs, NULL, NULL, NULL, NULL};
