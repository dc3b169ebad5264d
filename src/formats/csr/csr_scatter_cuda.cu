/*
 * csr_scatter_cuda: y = alpha*A^T*x + beta*y from CSR, with atomics. The same kernel is csc_scatter_cuda, which
 * computes y = alpha*A*x + beta*y from CSC.
 *
 * Idea: row i adds a_ij x_i to the sum of column j with atomicAdd. The sums are a vector in the workspace. A second
 *       launch computes y from the sums, so that an infinite alpha multiplies only complete sums, and y is not read if
 *       beta is 0. It also sets the sums to zero for the next run.
 * Work: the row blocks of CSR-Adaptive: blocks of threads with about equal numbers of entries, long rows in parts. A
 *       block gives each row a group of lanes, as many as its threads allow.
 * Cost: bytes of CSR, an atomic addition in the L2 cache per entry, and three passes over a vector as long as y.
 *       Columns with very many entries are slow, because their additions are serialized. Not deterministic: additions
 *       have no fixed order.
 * Source: the transposed product of the COO kernel of Evtushenko 2019 (additions by atomics) on CSR; CSC of
 *         Sparse Methods; this library.
 */
#include "device/cuda/cuda_common.cuh"
#include "formats/csr/csr_row_blocks.cuh"

extern "C" {
#include "formats/csr/csr.h"
}

template <typename V> static __global__ void take_sums(int64_t length, V *__restrict__ sums, V *__restrict__ y,
                                                       scalar<V> alpha, scalar<V> beta)
{
    const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= length) return;
    const V sum = sums[j];
    sums[j] = 0;
    put(y, j, sum, alpha.get(), beta.get());
}

/* Sets y = alpha*sums + beta*y with the alpha, beta, y and stream of args. Sets the sums to zero for the next run. */
template <typename V> static void launch_take_sums(int64_t length, V *sums, const spryi_run_args *args)
{
    enum { THREADS = 256 };
    take_sums<V><<<(unsigned)ceil_div(length, THREADS), THREADS, 0, stream_of(args)>>>(length, sums, (V *)args->y,
                                                                                       SPRY_ALPHA(V, args),
                                                                                       SPRY_BETA(V, args));
}

/*
 * Multiplies entries k, k + step, ... (below `end`) of a row by the row's element of x, `factor`. Adds the products to
 * the sums of the entries' columns.
 */
template <typename V, typename J> static __device__ __forceinline__ void
scatter(int64_t k, int64_t end, int step, const J *__restrict__ Aj, const V *__restrict__ Ax, V factor, V *sums)
{
    for (; k + 3 * step < end; k += 4 * step) { /* four loads in flight */
        J j[4];
        V a[4];
#pragma unroll
        for (int u = 0; u < 4; u++) j[u] = load_once(Aj + k + u * step);
#pragma unroll
        for (int u = 0; u < 4; u++) a[u] = Ax ? load_once(Ax + k + u * step) : V(1);
#pragma unroll
        for (int u = 0; u < 4; u++) atomicAdd(sums + j[u], a[u] * factor);
    }
    for (; k < end; k += step) atomicAdd(sums + load_once(Aj + k), (Ax ? load_once(Ax + k) : V(1)) * factor);
}

template <typename V, typename P, typename J> static __global__ void __launch_bounds__(row_block_shape<V>::threads)
    csr_scatter(const csr_row_blocks s, const P *__restrict__ Ap, const J *__restrict__ Aj, const V *__restrict__ Ax,
                const V *__restrict__ x, V *sums)
{
    constexpr int THREADS = row_block_shape<V>::threads, PART = row_block_shape<V>::part;
    const csr_row_block mine = s.block[blockIdx.x];
    if (mine.long_row >= 0) {
        const int64_t begin = (int64_t)Ap[mine.row] + (int64_t)mine.part * PART, row_end = (int64_t)Ap[mine.row + 1];
        const int64_t end = row_end - begin > PART ? begin + PART : row_end;
        scatter(begin + threadIdx.x, end, THREADS, Aj, Ax, x[mine.row], sums);
        return;
    }
    const int rows = (int)(s.block[blockIdx.x + 1].row - mine.row);
    const int lanes = lanes_for<THREADS>(rows), lane = threadIdx.x & (lanes - 1);
    for (int r = threadIdx.x / lanes; r < rows; r += THREADS / lanes) {
        const int64_t i = mine.row + r, begin = (int64_t)Ap[i], end = (int64_t)Ap[i + 1];
        if (begin < end) scatter(begin + lane, end, lanes, Aj, Ax, x[i], sums);
    }
}

static int64_t workspace_bytes(const spryi_prepare_request *request, const void *auxiliary)
{
    (void)auxiliary;
    return ((const spryi_csr *)request->storage)->a.columns * (int64_t)spry_type_bytes(request->vector_type);
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spry_arrays *a = &((const spryi_csr *)args->storage)->a;
    const csr_row_blocks *s = (const csr_row_blocks *)args->auxiliary;
    V *sums = (V *)args->workspace;
    if (a->columns == 0) return SPRY_OK;
    if (a->nnz > 0)
        csr_scatter<V, P, J>
            <<<(unsigned)s->blocks, row_block_shape<V>::threads, 0, stream_of(args)>>>(*s, (const P *)a->offsets,
                                                                                       (const J *)a->indices,
                                                                                       (const V *)a->values,
                                                                                       (const V *)args->x, sums);
    launch_take_sums(a->columns, sums, args);
    return launched(err, "csr_scatter_cuda");
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_csr_scatter =
    {"csr_scatter_cuda", NULL, &runs, spry_cuda_row_blocks_prepare, spry_cuda_row_blocks_discard, workspace_bytes};
