/*
 * csr_adaptive_listing_cuda: CSR-Adaptive by the listings of Evtushenko 2019.
 *
 * Idea: rows are grouped into row blocks of at most NNZ_PER_WG entries. A block of NNZ_PER_WG threads multiplies a row
 *       block. If it has multiple rows (CSR-Stream), each thread stores one product in shared memory. Then each row is
 *       added up in shared memory, in a tree, by a group of threads whose number is a power of two. If the row block
 *       is one row of up to 64 entries (CSR-Vector), a warp multiplies the row. If it is one longer row (CSR-VectorL),
 *       all threads of the block multiply the row.
 * Work: one block of NNZ_PER_WG threads per row block. One block multiplies a long row, however long the row is.
 * Cost: bytes of CSR and 4 bytes per row block. Offsets are copied to the host once, when the plan is built.
 * Source: Evtushenko 2019, listings 4 and 5. The document does not state NNZ_PER_WG; its source has 64.
 * Differences from the document: y = alpha*A*x + beta*y. A row block has at most NNZ_PER_WG rows, because the document
 *       does not state how rows without entries are grouped. CSR-Vector and CSR-VectorL, which the document does not
 *       list, add by shuffles within a warp, and then in shared memory. The document allows more than one block per
 *       long row, with atomic additions; here, as in the author's program, one block multiplies it.
 */
#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/csr/csr.h"
#include "study/kernels/study_kernels.h"
}

#include <stdlib.h>

enum { VECTOR = 64, WARP = 32 }; /* VECTOR: the longest row that one warp multiplies */

/* Row blocks of a plan. Block b has the rows first[b] .. first[b + 1] - 1. */
typedef struct listing_blocks {
    int64_t count;
    int32_t *first; /* on the device, count + 1 elements */
} listing_blocks;

/* Returns the largest power of two that is at most n, or 0. */
static __device__ __forceinline__ int previous_power_of_two(int n)
{
    return n > 0 ? 1 << (31 - __clz(n)) : 0;
}

/* Returns the sum of a_k x_j over entries k, k + STEP, ... below end. If Ax is NULL, all a_k are 1. */
template <int STEP, typename V, typename J>
static __device__ __forceinline__ V multiply(int64_t k, int64_t end, const J *__restrict__ Aj, const V *__restrict__ Ax,
                                             const V *__restrict__ x)
{
    V sum = 0;
    for (; k < end; k += STEP) sum += (Ax ? Ax[k] : V(1)) * x[Aj[k]];
    return sum;
}

/* Adds up the rows of a row block whose products are in shared memory: `threads` threads per row. */
template <typename V, typename P, int NNZ> static __device__ void
add_rows(const P *__restrict__ Ap, V *y, int begin, int end, int threads, V alpha, V beta, V *cache)
{
    const int i = threadIdx.x, lane = i % threads, row = begin + i / threads;
    const P base = Ap[begin];
    V sum = 0;
    if (row < end)
        for (int k = (int)(Ap[row] - base) + lane; k < (int)(Ap[row + 1] - base); k += threads) sum += cache[k];
    __syncthreads();
    cache[i] = sum;
    for (int j = threads / 2; j > 0; j /= 2) {
        __syncthreads();
        const bool adds = lane < j && i + j < NNZ;
        if (adds) sum += cache[i + j];
        __syncthreads();
        if (adds) cache[i] = sum;
    }
    if (lane == 0 && row < end) put(y, row, sum, alpha, beta);
}

template <typename V, typename P, typename J, int NNZ> static __global__ void __launch_bounds__(NNZ)
    csr_adaptive_listing(const int32_t *__restrict__ blocks, const P *__restrict__ Ap, const J *__restrict__ Aj,
                         const V *__restrict__ Ax, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha_given,
                         scalar<V> beta_given)
{
    __shared__ V cache[NNZ];
    const V alpha = alpha_given.get(), beta = beta_given.get();
    const int begin = blocks[blockIdx.x], end = blocks[blockIdx.x + 1], i = threadIdx.x;
    const P base = Ap[begin];
    const int64_t nnz = (int64_t)(Ap[end] - base);
    if (end - begin > 1) {
        if (i < nnz) cache[i] = (Ax ? Ax[base + i] : V(1)) * x[Aj[base + i]];
        __syncthreads();
        const int threads = previous_power_of_two(NNZ / (end - begin));
        if (threads > 1) {
            add_rows<V, P, NNZ>(Ap, y, begin, end, threads, alpha, beta, cache);
            return;
        }
        for (int row = begin + i; row < end; row += NNZ) {
            V sum = 0;
            for (int k = (int)(Ap[row] - base); k < (int)(Ap[row + 1] - base); k++) sum += cache[k];
            put(y, row, sum, alpha, beta);
        }
    } else if (nnz <= VECTOR) {
        if (i >= WARP) return;
        const V sum = lanes_sum(multiply<WARP>((int64_t)base + i, (int64_t)base + nnz, Aj, Ax, x), WARP);
        if (i == 0) put(y, begin, sum, alpha, beta);
    } else {
        const V own = multiply<NNZ>((int64_t)base + i, (int64_t)base + nnz, Aj, Ax, x);
        const V sum = sum_of_block<NNZ>(own, cache);
        if (i == 0) put(y, begin, sum, alpha, beta);
    }
}

/* ---- row blocks ---------------------------------------------------------------------------------------- */

/* Writes the first rows of the blocks to `first`, unless it is NULL. Returns the number of blocks. */
template <typename P> static int64_t cut(int32_t *first, const P *Ap, int64_t rows, int64_t most)
{
    int64_t count = 0;
    for (int64_t begin = 0, end; begin < rows; begin = end) {
        end = begin + 1;
        while (end < rows && end - begin < most && (int64_t)(Ap[end + 1] - Ap[begin]) <= most) end++;
        if (first) first[count] = (int32_t)begin;
        count++;
    }
    if (first) first[count] = (int32_t)rows;
    return count;
}

static int64_t cut_any(int32_t *first, const void *offsets, const spry_arrays *a, int64_t most)
{
    return a->offset_type == SPRY_I32 ? cut(first, (const int32_t *)offsets, a->rows, most)
                                      : cut(first, (const int64_t *)offsets, a->rows, most);
}

/* Returns NNZ_PER_WG. parameters[0]: 1, 2, 3 for nnz_per_wg=64, 256, 1024; 0: not given, which means 64. */
static int nnz_per_wg(const int64_t *parameters)
{
    static const int words[] = {64, 64, 256, 1024};
    return words[parameters[0]];
}

static void discard(const spryi_device *device, void *auxiliary)
{
    listing_blocks *s = (listing_blocks *)auxiliary;
    spry_cuda_free(device, s->first);
    free(s);
}

/* Copies the offsets to the host, cuts the rows, and copies the blocks to the device. */
static spry_status prepare(const spryi_prepare_request *request, void **auxiliary, int64_t *bytes, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)request->storage)->a;
    const size_t offset_bytes = (size_t)(a->rows + 1) * spryi_index_type_bytes(a->offset_type);
    const int64_t most = nnz_per_wg(request->kernel_parameters);
    spry_status status = SPRY_OK;
    cudaError_t code;
    listing_blocks *s = (listing_blocks *)calloc(1, sizeof *s);
    void *offsets = malloc(offset_bytes);
    int32_t *first = NULL;
    if (!s || !offsets) {
        status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: row blocks");
        goto done;
    }
    code = cudaMemcpy(offsets, a->offsets, offset_bytes, cudaMemcpyDeviceToHost);
    if (code == cudaSuccess) {
        s->count = cut_any(NULL, offsets, a, most);
        *bytes = (s->count + 1) * (int64_t)sizeof *first;
        first = (int32_t *)malloc((size_t)*bytes);
        if (!first) {
            status = spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: %lld row blocks", (long long)s->count);
            goto done;
        }
        cut_any(first, offsets, a, most);
        status = spry_cuda_new(request->device, (void **)&s->first, *bytes, "row blocks", err);
        if (status != SPRY_OK) goto done;
        code = cudaMemcpy(s->first, first, (size_t)*bytes, cudaMemcpyHostToDevice);
    }
    if (code != cudaSuccess) {
        status = spry_cuda_fail(err, code, "row blocks");
        goto done;
    }
    *auxiliary = s;
    s = NULL;
done:
    if (s) discard(request->device, s);
    free(offsets);
    free(first);
    return status;
}

/* ---- run ------------------------------------------------------------------------------------------------ */

template <typename V, typename P, typename J, int NNZ> static void launch(const spryi_run_args *args)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const listing_blocks *s = (const listing_blocks *)args->auxiliary;
    csr_adaptive_listing<V, P, J, NNZ>
        <<<(unsigned)s->count, NNZ, 0, stream_of(args)>>>(s->first, (const P *)a->offsets, (const J *)a->indices,
                                                          (const V *)a->values, (const V *)args->x, (V *)args->y,
                                                          SPRY_ALPHA(V, args), SPRY_BETA(V, args));
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    if (((const listing_blocks *)args->auxiliary)->count == 0) return SPRY_OK;
    switch (nnz_per_wg(args->kernel_parameters)) {
    case 64: launch<V, P, J, 64>(args); break;
    case 256: launch<V, P, J, 256>(args); break;
    default: launch<V, P, J, 1024>(args); break;
    }
    return launched(err, "csr_adaptive_listing_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_csr_adaptive_listing =
    {"csr_adaptive_listing_cuda", &runs, NULL, prepare, discard, NULL};
