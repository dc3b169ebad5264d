/*
 * coo_atomic_cuda, coo_sliced_cuda: COO by the listings of Evtushenko 2019 and of the lecture Sparse Methods, and
 * Evtushenko's sliced COO (SCOO).
 * * Idea: coo_atomic: a first launch, which the listings lack, multiplies y by beta unless beta is 1. The next launch
 *       adds the product of each entry and x to y with atomicAdd.
 *       coo_sliced: a block of threads keeps the sums of a slice of consecutive rows in shared memory and adds each
 *       product there with atomicAdd. A row has multiple sums (lanes), used by different threads, so that fewer
 *       additions collide. At the end the lanes of a row are added up, and y is written once.
 * Work: coo_atomic: blocks of 256 threads, one entry per thread, equal work per thread. coo_sliced: one block of
 *       1024 threads per slice. The number of slices is the least multiple of the GPU's multiprocessors with at most
 *       `rows` rows per slice. Slices with more entries take longer.
 * Cost: bytes of COO. coo_atomic: one pass over y, and one atomic addition per entry, executed in the L2 cache. Entries
 *       of a row are adjacent, so their additions are serialized: time grows with the row length. coo_sliced: one
 *       atomic addition in shared memory per entry. Neither is deterministic; with an infinite alpha, terms of
 *       unequal sign, or zero, in a row of coo_atomic may give NaN.
 * Source: COO: Evtushenko 2019, listing 7; Sparse Methods, COO Kernel. SCOO: Evtushenko 2019, 2.3, which has no
 *         listing; the order of entries (by rows) and the sizes of slices, lanes and blocks are those of the author's
 *         program (github.com/gevtushenko/matrix_format_performance); Dang and Schmidt 2012.
 * Differences from the documents: y = alpha*A*x + beta*y. The lanes of a row are added up by one thread, because the
 *       reduction of the author's program has a race if a block has fewer threads per lane than lanes. The parameter
 *       `rows` (512 in the author's program) allows slices of fewer rows with more lanes, as section 2.3 proposes.
 */
#include "device/cuda/cuda_common.cuh"

extern "C" {
#include "base/bisect.h"
#include "formats/coo/coo.h"
#include "study/kernels/study_kernels.h"
}

#include <math.h>
#include <stdlib.h>

enum {
    THREADS = 256,
    SLICE_THREADS = 1024,
    MOST_SUMS = 1024,        /* maximum sums of a slice, over all rows and lanes */
    SHARED_BYTES = 48 << 10, /* shared memory that limits the lanes of low slices */
};

/* ---- COO ------------------------------------------------------------------------------------------------ */

/* Returns the index of the first entry whose row is at least i. Rows are sorted. */
template <typename J> static __device__ int64_t first_entry(const J *rows, int64_t nnz, int64_t i)
{
    int64_t k;
    SPRYI_BISECT(k, 0, nnz, (int64_t)rows[k] < i);
    return k;
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
    const bool adds = !isfinite(alpha) && first_entry(rows, nnz, i) == first_entry(rows, nnz, i + 1);
    put(y, i, V(0), adds ? alpha : V(0), beta_given.get());
}

template <typename V, typename J> static __global__ void __launch_bounds__(THREADS)
    coo_atomic(int64_t nnz, const J *__restrict__ rows, const J *__restrict__ columns, const V *__restrict__ values,
               const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha_given)
{
    const int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const V alpha = alpha_given.get();
    if (k < nnz && alpha != 0) atomicAdd(y + rows[k], alpha * (values[k] * x[columns[k]]));
}

/* Returns true if y needs no scaling before the additions. */
template <typename V> static bool is_ready(const spryi_run_args *args)
{
    return !args->scalars_on_device && *(const V *)args->beta == 1 && isfinite(*(const V *)args->alpha);
}

template <typename V, typename P, typename J> static spry_status run_atomic(const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_coo *)args->storage)->a;
    const J *rows = (const J *)a->row_indices;
    V *y = (V *)args->y;
    if (a->rows == 0) return SPRY_OK;
    if (!is_ready<V>(args))
        scale_rows<V, J><<<(unsigned)ceil_div(a->rows, THREADS), THREADS, 0, stream_of(args)>>>(a->rows, a->nnz, rows,
                                                                                                y, SPRY_ALPHA(V, args),
                                                                                                SPRY_BETA(V, args));
    if (a->nnz > 0)
        coo_atomic<V, J><<<(unsigned)ceil_div(a->nnz, THREADS), THREADS, 0, stream_of(args)>>>(a->nnz, rows,
                                                                                               (const J *)a->indices,
                                                                                               (const V *)a->values,
                                                                                               (const V *)args->x, y,
                                                                                               SPRY_ALPHA(V, args));
    return launched(err, "coo_atomic_cuda");
}

/* ---- SCOO ----------------------------------------------------------------------------------------------- */

/* Slices of a plan. Slice s has the rows from s*height on and the entries first[s] .. first[s + 1] - 1. */
typedef struct coo_slices {
    int64_t count, height;
    int lanes;
    int64_t *first; /* on the device, count + 1 elements */
} coo_slices;

template <typename J> static __global__ void find_slices(coo_slices s, const J *__restrict__ rows, int64_t nnz)
{
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n <= s.count) s.first[n] = first_entry(rows, nnz, n * s.height);
}

template <typename V, typename J> static __global__ void __launch_bounds__(SLICE_THREADS)
    coo_sliced(coo_slices s, int64_t m, const J *__restrict__ rows, const J *__restrict__ columns,
               const V *__restrict__ values, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha,
               scalar<V> beta)
{
    extern __shared__ double memory[];
    V *sums = (V *)memory;
    const int64_t first_row = blockIdx.x * s.height, left = m - first_row, end = s.first[blockIdx.x + 1];
    const int count = (int)(left < s.height ? left : s.height), lane = threadIdx.x % s.lanes;
    for (int n = threadIdx.x; n < count * s.lanes; n += SLICE_THREADS) sums[n] = 0;
    __syncthreads();
    for (int64_t k = s.first[blockIdx.x] + threadIdx.x; k < end; k += SLICE_THREADS)
        atomicAdd(sums + (rows[k] - first_row) * s.lanes + lane, values[k] * x[columns[k]]);
    __syncthreads();
    for (int r = threadIdx.x; r < count; r += SLICE_THREADS) {
        V sum = 0;
        for (int l = 0; l < s.lanes; l++) sum += sums[r * s.lanes + l];
        put(y, first_row + r, sum, alpha.get(), beta.get());
    }
}

/* Returns the greatest power of two that is at most n, n > 0. */
static int64_t power_below(int64_t n)
{
    int64_t power = 1;
    while (2 * power <= n) power *= 2;
    return power;
}

/* Sets the height and number of slices, and the number of lanes. most: maximum rows per slice. */
static void choose_sizes(coo_slices *s, int64_t rows, int64_t most, int64_t multiprocessors, int64_t value_bytes)
{
    const int64_t slices = ceil_div(rows, most * multiprocessors) * multiprocessors;
    s->height = ceil_div(rows, slices);
    s->count = ceil_div(rows, s->height);
    const int64_t room = SHARED_BYTES / (s->height * value_bytes);
    s->lanes = (int)power_below(room < slices ? room : slices);
    while (s->lanes > 1 && s->height * s->lanes > MOST_SUMS) s->lanes /= 2;
}

static void discard(const spryi_device *device, void *auxiliary)
{
    spry_cuda_free(device, ((coo_slices *)auxiliary)->first);
    free(auxiliary);
}

/* Returns the maximum rows per slice. parameters[0]: 1, 2, ... for rows=32, 64, ... 512; 0: not given. */
static int64_t slice_rows(const int64_t *parameters)
{
    return parameters[0] > 0 ? INT64_C(16) << parameters[0] : 512;
}

static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spry_arrays *a = &((const spryi_coo *)request->storage)->a;
    coo_slices *s = (coo_slices *)calloc(1, sizeof *s);
    if (!s) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: slices");
    spry_status status = SPRY_OK;
    if (a->rows == 0) goto done;
    choose_sizes(s, a->rows, slice_rows(request->kernel_parameters), request->device->units,
                 (int64_t)spry_type_bytes(a->value_type));
    *bytes = (s->count + 1) * (int64_t)sizeof *s->first;
    status = spry_cuda_new(request->device, (void **)&s->first, *bytes, "slices", err);
    if (status != SPRY_OK) goto done;
    find_slices<int32_t>
        <<<(unsigned)ceil_div(s->count + 1, THREADS), THREADS>>>(*s, (const int32_t *)a->row_indices, a->nnz);
    status = launched(err, "slices");
    if (status == SPRY_OK && spry_cuda_wait_for_device() != cudaSuccess)
        status = spry_cuda_fail(err, cudaGetLastError(), "slices");
done:
    if (status == SPRY_OK)
        *auxiliary = s;
    else
        discard(request->device, s);
    return status;
}

template <typename V, typename P, typename J> static spry_status run_sliced(const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_coo *)args->storage)->a;
    const coo_slices *s = (const coo_slices *)args->auxiliary;
    if (a->rows == 0) return SPRY_OK;
    coo_sliced<V, J><<<(unsigned)s->count, SLICE_THREADS, (size_t)(s->height * s->lanes) * sizeof(V),
                       stream_of(args)>>>(*s, a->rows, (const J *)a->row_indices, (const J *)a->indices,
                                          (const V *)a->values, (const V *)args->x, (V *)args->y, SPRY_ALPHA(V, args),
                                          SPRY_BETA(V, args));
    return launched(err, "coo_sliced_cuda");
}

static const spryi_run_table atomic_runs = SPRY_CUDA_TABLE(run_atomic);
static const spryi_run_table sliced_runs = SPRY_CUDA_TABLE(run_sliced);

const spryi_kernel_functions spry_cuda_coo_atomic = {"coo_atomic_cuda", &atomic_runs, NULL, NULL, NULL, NULL};
const spryi_kernel_functions spry_cuda_coo_sliced = {"coo_sliced_cuda", &sliced_runs, NULL, prepare, discard, NULL};
