/*
 * PageRank's set-up on a GPU: the passes of spryi_links_passes.
 *
 * Idea: properties of entries and sums are counts and first indices, which atomics combine in any order. A warp
 * computes the sum of a row in f64. Rows with more than LONG_ROW entries are put on a list. Then a thread block
 * computes the sum of each row of the list.
 * The order of additions depends only on the row: every run gives the same bits.
 * Cost: values twice, offsets once, sums and factors once, at memory bandwidth, plus launches and four waits. For the
 * cost of the transpose, see csc_convert.cu.
 * Source: this library.
 */
extern "C" {
#include "device/vector_ops.h"
}
#include "device/cuda/convert.cuh"
#include "device/cuda/reduce.cuh"

enum { THREADS = 256, MOST_BLOCKS = 2048, LONG_ROW = 1 << 14, LONG_THREADS = 512, LONG_BLOCKS = 264 };

/* Results of kernels. Indices are initially NOWHERE, other fields 0. */
typedef struct link_words {
    unsigned long long first_bad, first_zero, zeros;
    unsigned not_ones;  /* 1: some value is not 1 */
    unsigned long_rows; /* number of rows in the list of long rows */
} link_words;
static const unsigned long long NOWHERE = ~0ull;

static spry_status make_words(const spryi_device *device, scratch *words, spry_error *err)
{
    const link_words none = {NOWHERE, NOWHERE, 0, 0, 0};
    SPRY_CUDA_TRY(words->make(device, sizeof none, "facts of entries", err));
    SPRY_CUDA_CHECK(cudaMemcpy(words->at, &none, sizeof none, cudaMemcpyHostToDevice), "facts of entries", err);
    return SPRY_OK;
}

/* Reads the results. Waits for earlier launches. */
static spry_status read_words(const scratch *words, link_words *found, const char *what, spry_error *err)
{
    SPRY_CUDA_TRY(launched(err, what));
    SPRY_CUDA_CHECK(cudaMemcpy(found, words->at, sizeof *found, cudaMemcpyDeviceToHost), what, err);
    return SPRY_OK;
}

static unsigned blocks_for(int64_t count)
{
    const int64_t wanted = ceil_div(count, THREADS);
    return (unsigned)(wanted < 1 ? 1 : wanted < MOST_BLOCKS ? wanted : (int64_t)MOST_BLOCKS);
}

/* ---- entries ------------------------------------------------------------------------------------ */

template <typename V> static __global__ void __launch_bounds__(THREADS)
    inspect_kernel(const V *__restrict__ Ax, int64_t nnz, link_words *words)
{
    const int64_t step = (int64_t)gridDim.x * THREADS;
    unsigned long long bad = NOWHERE;
    int not_ones = 0;
#pragma unroll 4
    for (int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x; k < nnz; k += step) {
        const V value = load_once(Ax + k);
        not_ones |= value != 1;
        if (!(value >= 0 && value - value == 0) && (unsigned long long)k < bad) bad = (unsigned long long)k;
    }
    if (bad != NOWHERE) atomicMin(&words->first_bad, bad);
    if (__syncthreads_or(not_ones) && threadIdx.x == 0) words->not_ones = 1; /* every writer writes 1 */
}

template <typename V> static spry_status inspect_typed(const spryi_device *device, spryi_entry_facts *facts,
                                                       const V *Ax, int64_t nnz, spry_error *err)
{
    scratch words;
    link_words found;
    V value;
    SPRY_CUDA_TRY(make_words(device, &words, err));
    inspect_kernel<<<blocks_for(nnz), THREADS>>>(Ax, nnz, (link_words *)words.at);
    SPRY_CUDA_TRY(read_words(&words, &found, "pagerank: values", err));
    facts->all_ones = !found.not_ones;
    facts->bad = found.first_bad == NOWHERE ? -1 : (int64_t)found.first_bad;
    if (facts->bad < 0) return SPRY_OK;
    SPRY_CUDA_CHECK(cudaMemcpy(&value, Ax + facts->bad, sizeof value, cudaMemcpyDeviceToHost), "pagerank: values", err);
    facts->bad_value = (double)value;
    return SPRY_OK;
}

static spry_status inspect(const spryi_device *device, spryi_entry_facts *facts, const spry_arrays *csr,
                           spry_error *err)
{
    const device_scope scope(device->ordinal);
    *facts = (spryi_entry_facts){-1, 0, 1};
    if (scope.code != cudaSuccess) return spry_cuda_fail(err, scope.code, "device");
    if (csr->value_type == SPRY_PATTERN || csr->nnz == 0) return SPRY_OK;
    return SPRY_BY_TYPE(csr->value_type, V, inspect_typed(device, facts, (const V *)csr->values, csr->nnz, err));
}

/* ---- sums --------------------------------------------------------------------------------------- */

template <typename P>
static __global__ void count_kernel(const P *__restrict__ Ap, int64_t rows, double *__restrict__ sums)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < rows) sums[i] = (double)(Ap[i + 1] - Ap[i]);
}

template <typename V, typename P> static __global__ void __launch_bounds__(THREADS)
    add_kernel(const P *__restrict__ Ap, const V *__restrict__ Ax, int64_t rows, double *__restrict__ sums,
               int32_t *__restrict__ list, link_words *words)
{
    const int64_t i = (int64_t)blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (i >= rows) return;
    const int64_t begin = (int64_t)Ap[i], end = (int64_t)Ap[i + 1];
    if (end - begin > LONG_ROW) {
        if (lane == 0) list[atomicAdd(&words->long_rows, 1u)] = (int32_t)i;
        return;
    }
    double sum = 0;
#pragma unroll 4
    for (int64_t k = begin + lane; k < end; k += 32) sum += (double)load_once(Ax + k);
    sum = lanes_sum(sum, 32);
    if (lane == 0) sums[i] = sum;
}

template <typename V, typename P> static __global__ void __launch_bounds__(LONG_THREADS)
    add_long_kernel(const P *__restrict__ Ap, const V *__restrict__ Ax, double *__restrict__ sums,
                    const int32_t *__restrict__ list, const link_words *words)
{
    __shared__ double parts[LONG_THREADS / 32];
    for (unsigned l = blockIdx.x; l < words->long_rows; l += gridDim.x) {
        const int64_t i = list[l], end = (int64_t)Ap[i + 1];
        double sum = 0;
#pragma unroll 8
        for (int64_t k = (int64_t)Ap[i] + threadIdx.x; k < end; k += LONG_THREADS) sum += (double)load_once(Ax + k);
        sum = sum_of_block<LONG_THREADS>(sum, parts);
        if (threadIdx.x == 0) sums[i] = sum;
    }
}

template <typename V, typename P>
static spry_status add_typed(const spryi_device *device, double *sums, const spry_arrays *csr, spry_error *err)
{
    const P *Ap = (const P *)csr->offsets;
    const V *Ax = (const V *)csr->values;
    const unsigned blocks = (unsigned)ceil_div(csr->rows, THREADS / 32);
    scratch words, list;
    link_words found;
    SPRY_CUDA_TRY(make_words(device, &words, err));
    SPRY_CUDA_TRY(list.make(device, (csr->nnz / LONG_ROW + 1) * (int64_t)sizeof(int32_t), "long rows", err));
    add_kernel<<<blocks, THREADS>>>(Ap, Ax, csr->rows, sums, (int32_t *)list.at, (link_words *)words.at);
    add_long_kernel<<<LONG_BLOCKS, LONG_THREADS>>>(Ap, Ax, sums, (const int32_t *)list.at,
                                                   (const link_words *)words.at);
    return read_words(&words, &found, "pagerank: sums", err);
}

template <typename P> static spry_status count_typed(double *sums, const spry_arrays *csr, spry_error *err)
{
    count_kernel<<<(unsigned)ceil_div(csr->rows, THREADS), THREADS>>>((const P *)csr->offsets, csr->rows, sums);
    SPRY_CUDA_TRY(launched(err, "pagerank: sums"));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(NULL), "pagerank: sums", err);
    return SPRY_OK;
}

static spry_status add(const spryi_device *device, double *sums, const spry_arrays *csr, spry_error *err)
{
    const device_scope scope(device->ordinal);
    if (scope.code != cudaSuccess) return spry_cuda_fail(err, scope.code, "device");
    if (csr->rows == 0) return SPRY_OK;
    return SPRY_BY_TYPE(csr->offset_type, P,
                        csr->value_type == SPRY_PATTERN
                            ? count_typed<P>(sums, csr, err)
                            : SPRY_BY_TYPE(csr->value_type, V, add_typed<V, P>(device, sums, csr, err)));
}

/* ---- factors ------------------------------------------------------------------------------------ */

template <typename V> static __global__ void __launch_bounds__(THREADS)
    invert_kernel(const double *__restrict__ sums, int64_t n, double slack, double least, double largest,
                  V *__restrict__ factors, link_words *words)
{
    const int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const double sum = j < n ? sums[j] : 1;
    const bool is_zero = sum == 0;
    const double factor = is_zero ? 0 : 1 / sum;
    const unsigned zeros = __ballot_sync(0xffffffffu, is_zero);
    const int count = __syncthreads_count(is_zero), not_ones = __syncthreads_or(!(fabs(sum - 1) <= slack));
    if (j < n) factors[j] = (V)factor;
    if (j < n && !is_zero && !(factor <= largest && factor >= least))
        atomicMin(&words->first_bad, (unsigned long long)j);
    if (is_zero && (int)(threadIdx.x % 32) == __ffs((int)zeros) - 1 &&
        (unsigned long long)j < *(volatile unsigned long long *)&words->first_zero)
        atomicMin(&words->first_zero, (unsigned long long)j);
    if (threadIdx.x == 0 && count > 0) atomicAdd(&words->zeros, (unsigned long long)count);
    if (threadIdx.x == 0 && not_ones) words->not_ones = 1;
}

static spry_status invert(const spryi_device *device, spryi_sum_facts *facts, void *factors, spry_type type,
                          const double *sums, int64_t n, spry_error *err)
{
    const device_scope scope(device->ordinal);
    const unsigned blocks = (unsigned)ceil_div(n, THREADS);
    scratch words;
    link_words found;
    if (scope.code != cudaSuccess) return spry_cuda_fail(err, scope.code, "device");
    SPRY_CUDA_TRY(make_words(device, &words, err));
    if (n > 0)
        SPRY_BY_TYPE(type, V,
                     invert_kernel<<<blocks, THREADS>>>(sums, n, facts->slack, facts->least, facts->largest,
                                                        (V *)factors, (link_words *)words.at));
    SPRY_CUDA_TRY(read_words(&words, &found, "pagerank: factors", err));
    facts->sums_are_one = !found.not_ones;
    facts->zeros = (int64_t)found.zeros;
    facts->first_zero = found.first_zero == NOWHERE ? -1 : (int64_t)found.first_zero;
    facts->bad = found.first_bad == NOWHERE ? -1 : (int64_t)found.first_bad;
    if (facts->bad < 0) return SPRY_OK;
    SPRY_CUDA_CHECK(cudaMemcpy(&facts->bad_sum, sums + facts->bad, sizeof(double), cudaMemcpyDeviceToHost),
                    "pagerank: factors", err);
    return SPRY_OK;
}

/* ---- transpose ---------------------------------------------------------------------------------- */

static spry_status transpose(const spryi_device *device, void *offsets, void *indices, void *values,
                             const spry_arrays *csr, spry_error *err)
{
    const device_scope scope(device->ordinal);
    if (scope.code != cudaSuccess) return spry_cuda_fail(err, scope.code, "device");
    return spry_cuda_transpose(device, csr, offsets, (int32_t *)indices, values, err);
}

extern const spryi_links_passes spry_cuda_links_passes;
const spryi_links_passes spry_cuda_links_passes = {inspect, add, invert, transpose};
