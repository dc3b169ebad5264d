/*
 * csr3_gpuspmv3_cuda and csr3_gpuspmv35_cuda: CSR-3 as its paper runs it on GPUs.
 *
 * Idea: the levels of the format are those of the device: a super-super-row is a block of threads.
 *         GPUSpMV-3    threadIdx.y is the super-row, threadIdx.x the row within it: one thread per row
 *         GPUSpMV-3.5  threadIdx.z is the super-row, .y the row within it, and .x the lane within the row. The lanes
 *                      add up their sums by shuffles (the paper: by an array in shared memory)
 * Work: the mean row length chooses the kernel and the threads of a block. For a mean up to 8, GPUSpMV-3 runs with 8*12
 *       threads. For larger means GPUSpMV-3.5 runs, with 4*8*12 threads for a mean up to 16, 8*8*8 threads for a mean
 *       up to 32, and 16*8*4 threads for a mean above 32. The user may name the other kernel. Then GPUSpMV-3 has 8*12
 *       threads and GPUSpMV-3.5 has 4*8*12. Groups that are larger than the block take multiple iterations.
 *       matrix/group_sizes.h computes the sizes of groups. Rows are not balanced: a row far longer than the others
 *       keeps its lanes busy while other threads wait, so irregular matrices are slow, as in the paper. With
 *       csr3:by=longest, the longest row replaces the mean. Long rows then have the most lanes, and short rows leave
 *       most lanes idle.
 * Cost: bytes of CSR, 8 bytes per super-row and 8 bytes per super-super-row. In GPUSpMV-3 neighbouring threads read
 *       entries one row length apart, which suits short rows. Deterministic.
 * Differences from the listings: y = alpha*A*x + beta*y; entries of a pattern are 1; loops over entries are unrolled by
 *       four.
 * Source: Lane and Booth, Heterogeneous SpMV via Compressed Sparse Row Format, 2022, listings 3 and 4. y[k] in the
 *         listings is taken to mean y[j], and the second sr_end of listing 3 to mean ssr_end. Shapes and cases: section
 *         4.1.
 */
#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/csrk/csrk.h"
}
#include "formats/csrk/csrk_row.cuh"

/* Pointers of CSR-3, device addresses. Each super-super-row is one block of threads. */
typedef struct csr3_groups {
    const int64_t *ssr_ptr, *sr_ptr;
} csr3_groups;

enum { ROWS = 8, SUPER_ROWS = 12 }; /* block of GPUSpMV-3 */

template <typename V, typename P, typename J> static __global__ void __launch_bounds__(ROWS *SUPER_ROWS)
    gpuspmv3(const csr3_groups g, const P *__restrict__ Ap, const J *__restrict__ Aj, const V *__restrict__ Ax,
             const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    const int64_t ssr_end = g.ssr_ptr[blockIdx.x + 1];
    for (int64_t s = g.ssr_ptr[blockIdx.x] + threadIdx.y; s < ssr_end; s += SUPER_ROWS) {
        const int64_t sr_end = g.sr_ptr[s + 1];
        for (int64_t i = g.sr_ptr[s] + threadIdx.x; i < sr_end; i += ROWS)
            put(y, i, row_product<1>(Ap[i], Ap[i + 1], Aj, Ax, x), alpha.get(), beta.get());
    }
}

/* All lanes of a warp are in one super-row, because X * Y is a multiple of 32, so all of them reach every shuffle. */
template <int X, int Y, int Z, typename V, typename P, typename J> static __global__ void __launch_bounds__(X *Y *Z)
    gpuspmv35(const csr3_groups g, const P *__restrict__ Ap, const J *__restrict__ Aj, const V *__restrict__ Ax,
              const V *__restrict__ x, V *__restrict__ y, scalar<V> alpha, scalar<V> beta)
{
    static_assert(X * Y % 32 == 0 && 32 % X == 0 && X * Y * Z <= 1024, "rows and lanes fill whole warps");
    const int64_t ssr_end = g.ssr_ptr[blockIdx.x + 1];
    for (int64_t s = g.ssr_ptr[blockIdx.x] + threadIdx.z; s < ssr_end; s += Z) {
        const int64_t sr_end = g.sr_ptr[s + 1];
        for (int64_t first = g.sr_ptr[s]; first < sr_end; first += Y) {
            const int64_t i = first + threadIdx.y;
            V sum = 0;
            if (i < sr_end) sum = row_product<X>((int64_t)Ap[i] + threadIdx.x, Ap[i + 1], Aj, Ax, x);
            sum = lanes_sum(sum, X);
            if (i < sr_end && threadIdx.x == 0) put(y, i, sum, alpha.get(), beta.get());
        }
    }
}

/* Launches one of the two kernels with the given block shape. */
template <typename V, typename P, typename J, typename Kernel>
static spry_status launch(Kernel *kernel, dim3 block, const char *name, const spryi_run_args *args, spry_error *err)
{
    const spryi_csrk *s = (const spryi_csrk *)args->storage;
    const spry_arrays *a = &s->csr.a;
    const csr3_groups groups = {s->ssr_ptr, s->sr_ptr};
    if (s->ssr_count == 0) return SPRY_OK;
    kernel<<<(unsigned)s->ssr_count, block, 0, stream_of(args)>>>(groups, (const P *)a->offsets, (const J *)a->indices,
                                                                  (const V *)a->values, (const V *)args->x,
                                                                  (V *)args->y, SPRY_ALPHA(V, args),
                                                                  SPRY_BETA(V, args));
    return launched(err, name);
}

template <typename V, typename P, typename J> static spry_status run_3(const spryi_run_args *args, spry_error *err)
{
    return launch<V, P, J>(gpuspmv3<V, P, J>, dim3(ROWS, SUPER_ROWS), "csr3_gpuspmv3_cuda", args, err);
}

template <int X, int Y, int Z, typename V, typename P, typename J>
static spry_status launch_35(const spryi_run_args *args, spry_error *err)
{
    return launch<V, P, J>(gpuspmv35<X, Y, Z, V, P, J>, dim3(X, Y, Z), "csr3_gpuspmv35_cuda", args, err);
}

template <typename V, typename P, typename J> static spry_status run_35(const spryi_run_args *args, spry_error *err)
{
    switch (((const spryi_csrk *)args->storage)->which) {
    case SPRYI_GROUP_CASE_3: return launch_35<8, 8, 8, V, P, J>(args, err);
    case SPRYI_GROUP_CASE_4: return launch_35<16, 8, 4, V, P, J>(args, err);
    default: return launch_35<4, 8, 12, V, P, J>(args, err);
    }
}

static const spryi_run_table runs_3 = SPRY_CUDA_TABLE(run_3);
static const spryi_run_table runs_35 = SPRY_CUDA_TABLE(run_35);

const spryi_kernel_functions spry_cuda_csr3_gpuspmv3 = {"csr3_gpuspmv3_cuda", &runs_3, NULL, NULL, NULL, NULL};
const spryi_kernel_functions spry_cuda_csr3_gpuspmv35 = {"csr3_gpuspmv35_cuda", &runs_35, NULL, NULL, NULL, NULL};
