/*
 * ell_listing_cuda, hyb_one_launch_cuda, hyb_atomic_cuda: ELL and HYB by the listings of Evtushenko 2019 and of the
 * lecture Sparse Methods.
 *
 * Idea: one thread per row. Every thread runs over all slots of the ELL part, padding included, so that no thread of a
 *       warp ends before another. Neighbouring threads read neighbouring slots. In HYB, all threads then run over the
 *       entries of the COO part and add each product to y with atomicAdd.
 *       hyb_one_launch (Evtushenko): a launch adds both parts with atomicAdd. If beta is not 1, an earlier launch,
 *       which the listing does not have, multiplies y by beta.
 *       hyb_atomic (lecture): a launch writes y of the ELL part, the next launch adds the COO part.
 * Work: blocks of 256 threads, one thread per row of the matrix. If the matrix has few rows and a large COO part, few
 *       threads do all the work.
 * Cost: values and columns of all slots, x and y; per entry of the COO part the bytes of COO and one atomic addition.
 *       HYB is not deterministic; with an infinite alpha, terms of unequal sign, or zero, in a row may give
 *       NaN.
 * Source: ELL: Evtushenko 2019, listing 6; Sparse Methods, ELLPack Kernel; Bell and Garland 2008, 4.1. HYB: Evtushenko
 *         2019, listing 8; Sparse Methods, Hybrid Kernel; Bell and Garland 2008, 4.5.
 * Differences from the documents: y = alpha*A*x + beta*y. Padding has the column of the row's last entry. If the sum of
 *       a row is infinite or NaN, the row is computed again without its padding, since 0 times an infinity is NaN. The
 *       lecture prints both parts of HYB as one kernel, where a block may add to an element of y that another block has
 *       not written; two launches prevent that race.
 */
extern "C" {
#include "formats/hyb/hyb.h"
#include "study/kernels/study_kernels.h"
}
#include "device/cuda/cuda_common.cuh"

enum { THREADS = 256 };

/* The ELL part on the device. */
template <typename V, typename J> struct slots {
    int64_t rows, width;
    const J *columns;
    const V *values;
    const int32_t *lengths;
};

template <typename V, typename J> static slots<V, J> slots_of(const spryi_ell *s)
{
    const slots<V, J> e = {s->a.rows, s->width, (const J *)s->columns, (const V *)s->values, s->lengths};
    return e;
}

/* Returns the sum of the first `count` slots of row i. */
template <typename V, typename J>
static __device__ __forceinline__ V add_slots(const slots<V, J> &e, int64_t i, int64_t count, const V *__restrict__ x)
{
    V sum = 0;
    for (int64_t s = 0; s < count; s++) sum += e.values[i + s * e.rows] * x[e.columns[i + s * e.rows]];
    return sum;
}

/* Returns the sum of row i, padding included. */
template <typename V, typename J>
static __device__ __forceinline__ V row_sum(const slots<V, J> &e, int64_t i, const V *__restrict__ x)
{
    const V sum = add_slots(e, i, e.width, x);
    return isfinite(sum) ? sum : add_slots(e, i, (int64_t)e.lengths[i], x);
}

/* Computes y = alpha*A*x + beta*y of the ELL part. */
template <typename V, typename J> static __global__ void __launch_bounds__(THREADS)
    ell_listing(slots<V, J> e, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < e.rows) put(y, i, row_sum(e, i, x), alpha.get(), beta.get());
}

template <typename V> static __global__ void __launch_bounds__(THREADS)
    multiply_by_beta(int64_t m, V *__restrict__ y, scalar<V> beta)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < m) put(y, i, V(0), V(0), beta.get());
}

/* Adds the COO part to y, and before it the ELL part if BOTH. */
template <bool BOTH, typename V, typename J> static __global__ void __launch_bounds__(THREADS)
    add_to_y(slots<V, J> e, int64_t rest, const J *__restrict__ rows, const J *__restrict__ columns,
             const V *__restrict__ values, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha_given)
{
    const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const V alpha = alpha_given.get();
    if (alpha == 0) return;
    if (BOTH && thread < e.rows) atomicAdd(y + thread, alpha * row_sum(e, thread, x));
    for (int64_t k = thread; k < rest; k += (int64_t)gridDim.x * THREADS)
        atomicAdd(y + rows[k], alpha * (values[k] * x[columns[k]]));
}

static unsigned blocks_of(int64_t rows)
{
    return (unsigned)ceil_div(rows, THREADS);
}

template <typename V, typename J> static void launch_ell(const spryi_ell *s, const spryi_run_args *args)
{
    ell_listing<V, J><<<blocks_of(s->a.rows), THREADS, 0, stream_of(args)>>>(slots_of<V, J>(s), (const V *)args->x,
                                                                             (V *)args->y, SPRY_ALPHA(V, args),
                                                                             SPRY_BETA(V, args));
}

template <bool BOTH, typename V, typename J>
static void launch_additions(const spryi_hyb *s, const spryi_run_args *args)
{
    add_to_y<BOTH, V, J>
        <<<blocks_of(s->ell.a.rows), THREADS, 0, stream_of(args)>>>(slots_of<V, J>(&s->ell), s->rest,
                                                                    (const J *)s->rows, (const J *)s->columns,
                                                                    (const V *)s->values, (const V *)args->x,
                                                                    (V *)args->y, SPRY_ALPHA(V, args));
}

template <typename V, typename P, typename J> static spry_status run_ell(const spryi_run_args *args, spry_error *err)
{
    const spryi_ell *s = (const spryi_ell *)args->storage;
    if (s->a.rows == 0) return SPRY_OK;
    launch_ell<V, J>(s, args);
    return launched(err, "ell_listing_cuda");
}

template <typename V, typename P, typename J>
static spry_status run_one_launch(const spryi_run_args *args, spry_error *err)
{
    const spryi_hyb *s = (const spryi_hyb *)args->storage;
    const int64_t m = s->ell.a.rows;
    if (m == 0) return SPRY_OK;
    if (args->scalars_on_device || *(const V *)args->beta != 1)
        multiply_by_beta<V><<<blocks_of(m), THREADS, 0, stream_of(args)>>>(m, (V *)args->y, SPRY_BETA(V, args));
    launch_additions<true, V, J>(s, args);
    return launched(err, "hyb_one_launch_cuda");
}

template <typename V, typename P, typename J> static spry_status run_atomic(const spryi_run_args *args, spry_error *err)
{
    const spryi_hyb *s = (const spryi_hyb *)args->storage;
    if (s->ell.a.rows == 0) return SPRY_OK;
    launch_ell<V, J>(&s->ell, args);
    if (s->rest > 0) launch_additions<false, V, J>(s, args);
    return launched(err, "hyb_atomic_cuda");
}

static const spryi_run_table ell_runs = SPRY_CUDA_TABLE(run_ell);
static const spryi_run_table one_launch_runs = SPRY_CUDA_TABLE(run_one_launch);
static const spryi_run_table atomic_runs = SPRY_CUDA_TABLE(run_atomic);

const spryi_kernel_functions spry_cuda_ell_listing = {"ell_listing_cuda", &ell_runs, NULL, NULL, NULL, NULL};
const spryi_kernel_functions spry_cuda_hyb_one_launch =
    {"hyb_one_launch_cuda", &one_launch_runs, NULL, NULL, NULL, NULL};
const spryi_kernel_functions spry_cuda_hyb_atomic = {"hyb_atomic_cuda", &atomic_runs, NULL, NULL, NULL, NULL};
