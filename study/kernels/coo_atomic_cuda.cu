/*
 * coo_atomic_cuda: COO with atomics.
 *
 * Idea: a first launch multiplies y by beta. In the second launch, each thread multiplies one entry by x and adds the
 *       product to y with atomicAdd.
 * Work: blocks of 256 threads, one entry per thread; balanced for any row lengths.
 * Cost: bytes of COO, one pass over y, and one atomic addition per entry, executed in the L2 cache. Entries of a row
 *       are adjacent, so their additions are serialized: time grows with the row length (Evtushenko 2019, cost 7). Not
 *       deterministic; with an infinite alpha, terms of both signs in a row may give NaN.
 * Source: Evtushenko 2019, listing 7; Sparse Methods, COO.
 */
#include "device/cuda/reduce.cuh"

extern "C" {
#include "base/bisect.h"
#include "formats/coo/coo.h"
}
#include "formats/coo/coo_cuda.cuh"

#include <math.h>

enum { THREADS = 256 };

/* Returns true if row i has an entry. Rows are sorted. */
template <typename J> static __device__ bool has_entries(const J *rows, int64_t nnz, int64_t i)
{
    int64_t k;
    SPRYI_BISECT(k, 0, nnz, (int64_t)rows[k] < i);
    return k < nnz && (int64_t)rows[k] == i;
}

/*
 * Computes y = beta*y. If alpha is not finite, also adds alpha*0 in rows without entries, which get no atomic addition.
 */
template <typename V, typename J> static __global__ void scale_rows(int64_t m, int64_t nnz, const J *__restrict__ rows,
                                                                    V *__restrict__ y, scalar<V> alpha_given,
                                                                    scalar<V> beta_given)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= m) return;
    const V alpha = alpha_given.get();
    put(y, i, V(0), isfinite(alpha) || has_entries(rows, nnz, i) ? V(0) : alpha, beta_given.get());
}

template <int GATHER, typename V, typename J> static __global__ void __launch_bounds__(THREADS)
    coo_atomic(int64_t nnz, const J *__restrict__ rows, const J *__restrict__ columns, const V *__restrict__ values,
               const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha_given)
{
    const int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const V alpha = alpha_given.get();
    const bool has_entry = k < nnz;
    if ((!GATHER && !has_entry) || alpha == 0) return;
    J i = -1;
    V product = 0;
    if (has_entry) {
        i = load_once(rows + k);
        product = load_once(values + k) * x[load_once(columns + k)];
    }
    if (GATHER) {
        const J first = __shfl_sync(0xffffffffu, i, 0);
        if (__all_sync(0xffffffffu, !has_entry || i == first)) {
            product = lanes_sum(product, 32);
            if (threadIdx.x % 32 == 0 && has_entry) atomicAdd(y + first, alpha * product);
            return;
        }
    }
    if (has_entry) atomicAdd(y + i, alpha * product);
}

template <typename V>
spry_status spry_cuda_coo_atomics(const spry_arrays *a, const spryi_run_args *args, int gather, spry_error *err)
{
    if (a->nnz == 0) return SPRY_OK;
    const auto kernel = gather ? coo_atomic<1, V, int32_t> : coo_atomic<0, V, int32_t>;
    kernel<<<(unsigned)ceil_div(a->nnz, THREADS), THREADS, 0, stream_of(args)>>>(a->nnz,
                                                                                 (const int32_t *)a->row_indices,
                                                                                 (const int32_t *)a->indices,
                                                                                 (const V *)a->values,
                                                                                 (const V *)args->x, (V *)args->y,
                                                                                 SPRY_ALPHA(V, args));
    return launched(err, "COO with atomics");
}

template spry_status spry_cuda_coo_atomics<float>(const spry_arrays *, const spryi_run_args *, int, spry_error *);
template spry_status spry_cuda_coo_atomics<double>(const spry_arrays *, const spryi_run_args *, int, spry_error *);

/* Returns true if y needs no scaling before the additions. */
template <typename V> static bool is_ready(const spryi_run_args *args)
{
    return !args->scalars_on_device && *(const V *)args->beta == 1 && isfinite(*(const V *)args->alpha);
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_coo *)args->storage)->a;
    const J *rows = (const J *)a->row_indices;
    V *y = (V *)args->y;
    if (a->rows == 0) return SPRY_OK;
    if (!is_ready<V>(args))
        scale_rows<V, J><<<(unsigned)ceil_div(a->rows, THREADS), THREADS, 0, stream_of(args)>>>(a->rows, a->nnz, rows,
                                                                                                y, SPRY_ALPHA(V, args),
                                                                                                SPRY_BETA(V, args));
    const spry_status status = launched(err, "coo_atomic_cuda");
    return status == SPRY_OK ? spry_cuda_coo_atomics<V>(a, args, 0, err) : status;
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_coo_atomic = {"coo_atomic_cuda", &runs, NULL, NULL, NULL, NULL};
