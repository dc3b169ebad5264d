/*
 * CSR to HYB on the device, bit for bit as on the host; the runs, which no GPU kernel reads, are left out.
 *
 * Idea: where the width is to hold a share of the rows, their lengths are counted and the host reads the counts. What
 *       of each row is past the width, summed up, tells where COO has its entries and how many there are, which the
 *       guard sees before anything is allocated. The first entries go to slots as in ELL's conversion.
 * Work: slots as in ELL; the rest by entries, 2048 a block, each finding its row by bisection: a long row is the work
 *       of many blocks.
 * Cost: as ELL's conversion, and the rest's entries read and written once; scratch of 8 bytes a row.
 * Source: scan: CUB; this library.
 */
extern "C" {
#include "formats/hyb/hyb.h"
}
#include "device/cuda/kernels.h"
#include "formats/ell/ell_convert.cuh"

#include <stdlib.h>

template <typename P>
static __global__ void count_lengths(const P *__restrict__ Ap, int64_t m, unsigned long long *__restrict__ rows_of)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) atomicAdd(rows_of + (Ap[i + 1] - Ap[i]), 1ull);
}

/* Entries of each row past the width, to be summed up: before[i + 1] is row i's. */
template <typename P>
static __global__ void find_rest(const P *__restrict__ Ap, int64_t m, int64_t width, int64_t *__restrict__ before)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i > m) return;
    const int64_t over = i == 0 ? 0 : (int64_t)(Ap[i] - Ap[i - 1]) - width;
    before[i] = over > 0 ? over : 0;
}

template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    take_rest(const P *__restrict__ Ap, const int32_t *__restrict__ Aj, const V *__restrict__ Ax, int64_t m,
              int64_t width, int64_t rest, const int64_t *__restrict__ before, int32_t *__restrict__ rows,
              int32_t *__restrict__ columns, V *__restrict__ values)
{
    __shared__ int64_t range[2];
    const int64_t begin = (int64_t)blockIdx.x * CONVERT_TILE;
    const int64_t end = begin + CONVERT_TILE < rest ? begin + CONVERT_TILE : rest;
    owners_of_tile(before, m, begin, end, range);
    for (int64_t e = begin + threadIdx.x; e < end; e += CONVERT_THREADS) {
        const int64_t i = owner_of(before, range[0], range[1] + 1, e);
        const int64_t k = (int64_t)Ap[i] + width + e - before[i];
        rows[e] = (int32_t)i;
        columns[e] = Aj[k];
        values[e] = Ax[k];
    }
}

/* *width that leaves at least `share` percent of the rows whole. */
static spry_status width_of_share(const spryi_device *device, int64_t *width, const spry_arrays *a, int64_t share,
                                  spry_error *err)
{
    int64_t longest = 0;
    scratch counts;
    SPRY_CUDA_TRY(spry_cuda_longest(device, a, &longest, err));
    const int64_t bytes = (longest + 1) * (int64_t)sizeof(int64_t);
    SPRY_CUDA_TRY(counts.make(device, bytes, "hyb: row length counts", err));
    SPRY_CUDA_CHECK(cudaMemsetAsync(counts.at, 0, (size_t)bytes), "hyb: row length counts", err);
    unsigned long long *rows_of = (unsigned long long *)counts.at;
    const unsigned blocks = convert_blocks(a->rows);
    if (a->rows > 0)
        SPRY_BY_TYPE(a->offset_type, P,
                     count_lengths<<<blocks, CONVERT_THREADS>>>((const P *)a->offsets, a->rows, rows_of));
    SPRY_CUDA_TRY(launched(err, "hyb: row length counts"));
    int64_t *on_host = (int64_t *)malloc((size_t)bytes);
    if (!on_host) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory: row length counts");
    const cudaError_t code = cudaMemcpy(on_host, rows_of, (size_t)bytes, cudaMemcpyDeviceToHost);
    if (code == cudaSuccess) *width = spryi_hyb_width_of_counts(on_host, longest, a->rows, share);
    free(on_host);
    return code == cudaSuccess ? SPRY_OK : spry_cuda_fail(err, code, "hyb: row length counts");
}

template <typename V, typename P>
static spry_status fill_rest(const spry_arrays *a, const spryi_hyb *s, const int64_t *before, spry_error *err)
{
    const unsigned blocks = (unsigned)ceil_div(s->rest, CONVERT_TILE);
    take_rest<V, P><<<blocks, CONVERT_THREADS>>>((const P *)a->offsets, (const int32_t *)a->indices,
                                                 (const V *)a->values, a->rows, s->ell.width, s->rest, before,
                                                 (int32_t *)s->rows, (int32_t *)s->columns, (V *)s->values);
    return launched(err, "hyb: rest");
}

template <typename P> static spry_status make(spryi_conversion *c, spryi_hyb *s, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    scratch space;
    SPRY_CUDA_TRY(space.make(c->device, (a->rows + 1) * (int64_t)sizeof(int64_t), "hyb: rest of rows", err));
    int64_t *before = (int64_t *)space.at;
    find_rest<<<convert_blocks(a->rows + 1), CONVERT_THREADS>>>((const P *)a->offsets, a->rows, s->ell.width, before);
    SPRY_CUDA_TRY(launched(err, "hyb: rest of rows"));
    SPRY_CUDA_TRY(spry_cuda_scan(c->device, before, a->rows + 1, err));
    SPRY_CUDA_CHECK(cudaMemcpy(&s->rest, before + a->rows, sizeof s->rest, cudaMemcpyDeviceToHost), "hyb: rest", err);
    SPRY_CUDA_TRY(spryi_hyb_cost(&c->cost, a, s->ell.width, s->rest, err));
    SPRY_CUDA_TRY(c->guard(c->request, "hyb", &c->cost, err));
    SPRY_CUDA_TRY(spry_cuda_make_slots(c, &s->ell, err));
    s->ell.a = s->a;
    s->ell.a.nnz = a->nnz - s->rest;
    const int64_t bytes = s->rest * (int64_t)sizeof(int32_t), value_bytes = (int64_t)spry_type_bytes(a->value_type);
    SPRY_CUDA_TRY(spry_cuda_make(c, &s->rows, bytes, "rest's rows", err));
    SPRY_CUDA_TRY(spry_cuda_make(c, &s->columns, bytes, "rest's columns", err));
    SPRY_CUDA_TRY(spry_cuda_make(c, &s->values, s->rest * value_bytes, "rest's values", err));
    if (s->rest > 0) SPRY_CUDA_TRY(SPRY_BY_TYPE(a->value_type, V, fill_rest<V, P>(a, s, before, err)));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "hyb", err); /* before the scratch goes */
    return SPRY_OK;
}

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_hyb *s = (spryi_hyb *)c->storage;
    int64_t share = 0;
    if (a->value_type == SPRY_PATTERN) return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "hyb: a pattern");
    SPRY_CUDA_TRY(spryi_hyb_resolve(&s->ell.width, &share, c->request, a, err));
    if (share > 0) SPRY_CUDA_TRY(width_of_share(c->device, &s->ell.width, a, share, err));
    SPRY_CUDA_TRY(spryi_ell_cost(&c->cost, s->ell.width, a, err)); /* before the rest is known: a width too large */
    s->a = shape_of(a);
    return SPRY_BY_TYPE(a->offset_type, P, make<P>(c, s, err));
}

const spryi_converter spry_cuda_to_hyb = {"hyb", convert};
