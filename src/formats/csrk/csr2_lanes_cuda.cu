/*
 * csr2_lanes_cuda: CSR-2, one block of threads per super-row.
 *
 * Idea: the paper has no mapping of CSR-2 to GPUs. Here the two outer levels of GPUSpMV-3.5 become one: a super-row is
 *       a block, threadIdx.y is the row within the super-row, and threadIdx.x is the lane within the row. The lanes of
 *       a row add up their sums by shuffles.
 * Work: the number of lanes per row is the largest power of two up to the mean row length, 2 to 32. In a row of mean
 *       length up to 64, a lane then has one or two entries. A block has at most 256 threads, and fewer for small
 *       super-rows. By default a super-row has 256 / lanes rows; a larger super-row takes multiple iterations. Neither
 *       rows nor super-rows are balanced.
 * Cost: bytes of CSR and 8 bytes per super-row; log2(lanes) shuffles per row. Deterministic.
 * Source: super-rows: Lane and Booth, Heterogeneous SpMV via Compressed Sparse Row Format, 2022; the mapping: this
 *         library.
 */
#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/csrk/csrk.h"
}
#include "formats/csrk/csrk_row.cuh"

/* Blocks consist of whole warps. Threads without a row or without an entry also take part in the shuffles. */
template <int LANES, typename V, typename P, typename J> static __global__ void __launch_bounds__(SPRYI_CSR2_THREADS)
    csr2(const int64_t *__restrict__ sr_ptr, const P *__restrict__ Ap, const J *__restrict__ Aj,
         const V *__restrict__ Ax, const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    const int64_t sr_end = sr_ptr[blockIdx.x + 1];
    for (int64_t first = sr_ptr[blockIdx.x]; first < sr_end; first += blockDim.y) {
        const int64_t i = first + threadIdx.y;
        V sum = 0;
        if (i < sr_end) sum = row_product<LANES>((int64_t)Ap[i] + threadIdx.x, Ap[i + 1], Aj, Ax, x);
        sum = lanes_sum(sum, LANES);
        if (i < sr_end && threadIdx.x == 0) put(y, i, sum, alpha.get(), beta.get());
    }
}

/*
 * Returns the number of rows that a block multiplies together: the rows of a super-row, rounded up to whole warps, but
 * at most SPRYI_CSR2_THREADS / lanes.
 */
static unsigned rows_at_once(int64_t srs, int lanes)
{
    const int64_t in_a_warp = 32 / lanes, wanted = ceil_div(srs, in_a_warp) * in_a_warp,
                  most = SPRYI_CSR2_THREADS / lanes;
    return (unsigned)(wanted < most ? wanted : most);
}

template <int LANES, typename V, typename P, typename J>
static spry_status launch(const spryi_run_args *args, spry_error *err)
{
    const spryi_csrk *s = (const spryi_csrk *)args->storage;
    const spry_arrays *a = &s->csr.a;
    const dim3 block(LANES, rows_at_once(s->srs, LANES));
    csr2<LANES, V, P, J>
        <<<(unsigned)s->sr_count, block, 0, stream_of(args)>>>(s->sr_ptr, (const P *)a->offsets, (const J *)a->indices,
                                                               (const V *)a->values, (const V *)args->x, (V *)args->y,
                                                               SPRY_ALPHA(V, args), SPRY_BETA(V, args));
    return launched(err, "csr2_lanes_cuda");
}

template <typename V, typename P, typename J> static spry_status run(const spryi_run_args *args, spry_error *err)
{
    const spryi_csrk *s = (const spryi_csrk *)args->storage;
    if (s->sr_count == 0) return SPRY_OK;
    switch (spryi_csr2_lanes(s->csr.a.rows, s->csr.a.nnz)) {
    case 2: return launch<2, V, P, J>(args, err);
    case 4: return launch<4, V, P, J>(args, err);
    case 8: return launch<8, V, P, J>(args, err);
    case 16: return launch<16, V, P, J>(args, err);
    default: return launch<32, V, P, J>(args, err);
    }
}

static const spryi_run_table runs = SPRY_CUDA_TABLE(run);

const spryi_kernel_functions spry_cuda_csr2_lanes = {"csr2_lanes_cuda", &runs, NULL, NULL, NULL, NULL};
