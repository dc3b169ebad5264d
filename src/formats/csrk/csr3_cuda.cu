/*
 * csr3_gpuspmv3_cuda and csr3_gpuspmv35_cuda: CSR-3 as its paper runs it on GPUs.
 *
 * Idea: the levels of the format are those of the device: a super-super-row is a block of threads.
 *         GPUSpMV-3    y runs over its super-rows, x over the rows of one: a thread a row
 *         GPUSpMV-3.5  z runs over its super-rows, y over the rows of one, x over the entries of a row; the x lanes
 *                      add up by shuffles, where the paper has an array in shared memory
 * Work: shapes of blocks by the mean row length, the density: up to 8 GPUSpMV-3 with 8 x 12 threads; above, GPUSpMV-3.5
 *       with 4 x 8 x 12 up to 16, 8 x 8 x 8 up to 32, and 16 x 8 x 4. The plan takes the right one of the two; asked
 *       for by name outside of its cases GPUSpMV-3 keeps 8 x 12 and GPUSpMV-3.5 takes 4 x 8 x 12. Groups larger than
 *       the block's part are handled in rounds (sizes: matrix/group_sizes.h). Rows are not balanced: a row that is
 *       far longer than the rest keeps its thread, or its few lanes, busy alone, which is what the paper loses on
 *       irregular matrices. With csr3:by=longest the longest row's length takes the density's place, so that long
 *       rows have all lanes that there are, and short ones leave most of theirs idle.
 * Cost: bytes of CSR, 8 a super-row and 8 a super-super-row. In GPUSpMV-3 neighbouring threads read entries a row
 *       apart: good for short rows. Deterministic.
 * Source: Lane and Booth, Heterogeneous SpMV via Compressed Sparse Row Format, 2022, listings 3 and 4, of
 *         which y[k] is read as y[j] and listing 3's second sr_end as ssr_end; shapes and cases: section 4.1.
 */
#include "device/cuda/reduce.cuh"

extern "C" {
#include "formats/csrk/csrk.h"
}
#include "formats/csrk/csrk_row.cuh"

/* The pointers of CSR-3, device addresses; one block of threads each super-super-row. */
typedef struct csr3_groups {
    const int64_t *ssr_ptr, *sr_ptr;
} csr3_groups;

enum { ROWS = 8, SUPER_ROWS = 12 }; /* GPUSpMV-3's block */

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

/* A warp lies within one super-row (x and y fill whole warps), so all its lanes come to every shuffle. */
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

/* The two kernels and the shapes take the same arguments. */
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
