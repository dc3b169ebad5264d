/*
 * CSR to ELL on the device, bit for bit as on the host; the runs, which no GPU kernel reads, are left out.
 *
 * Idea: the longest row is found first, so that a width that would be too much is refused before anything is allocated.
 *       Then a thread fills 16 slots of one row: neighbours write neighbouring slots, and each reads its row in order,
 *       which the first-level cache turns into whole sectors.
 * Work: (m / 256) * (width / 16) blocks: a long row is spread over many.
 * Cost: the entries read once and all slots written once, at 12 bytes (f64) or 8 (f32) each: by the bytes two products.
 */
extern "C" {
#include "formats/ell/ell.h"
}
#include "device/cuda/kernels.h"
#include "formats/ell/ell_convert.cuh"

enum { SLOTS = 16 }; /* a thread */

template <typename P>
static __global__ void find_lengths(const P *__restrict__ Ap, int64_t m, int64_t width, int32_t *__restrict__ lengths)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    const int64_t length = (int64_t)(Ap[i + 1] - Ap[i]);
    lengths[i] = (int32_t)(length < width ? length : width);
}

/* Padding has the column of the row's last entry, of the matrix's first where the row has none. */
template <typename V, typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    fill_slots(const P *__restrict__ Ap, const int32_t *__restrict__ Aj, const V *__restrict__ Ax, int64_t m,
               int64_t width, int64_t row_blocks, int32_t *__restrict__ columns, V *__restrict__ values)
{
    const int64_t part = blockIdx.x / row_blocks, i = (blockIdx.x - part * row_blocks) * CONVERT_THREADS + threadIdx.x;
    if (i >= m) return;
    const int64_t first = (int64_t)Ap[i], length = (int64_t)Ap[i + 1] - first;
    const int64_t padding = length > 0 ? first + length - 1 : 0;
    const int64_t begin = part * SLOTS, end = begin + SLOTS < width ? begin + SLOTS : width;
#pragma unroll 4
    for (int64_t s = begin; s < end; s++) {
        const bool is_entry = s < length;
        const int64_t k = is_entry ? first + s : padding;
        columns[s * m + i] = Aj[k];
        values[s * m + i] = is_entry ? Ax[k] : V(0);
    }
}

template <typename V, typename P> static spry_status fill(const spry_arrays *a, const spryi_ell *s, spry_error *err)
{
    const P *Ap = (const P *)a->offsets;
    const int64_t row_blocks = ceil_div(a->rows, CONVERT_THREADS), blocks = row_blocks * ceil_div(s->width, SLOTS);
    if (blocks > INT32_MAX) return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "ell: more blocks than a launch takes");
    if (a->rows > 0) find_lengths<<<(unsigned)row_blocks, CONVERT_THREADS>>>(Ap, a->rows, s->width, s->lengths);
    SPRY_CUDA_TRY(launched(err, "ell: lengths"));
    if (blocks > 0)
        fill_slots<V, P><<<(unsigned)blocks, CONVERT_THREADS>>>(Ap, (const int32_t *)a->indices, (const V *)a->values,
                                                                a->rows, s->width, row_blocks, (int32_t *)s->columns,
                                                                (V *)s->values);
    return launched(err, "ell: slots");
}

spry_status spry_cuda_make_slots(spryi_conversion *c, spryi_ell *s, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    const int64_t slots = a->rows * s->width;
    SPRY_CUDA_TRY(spry_cuda_make(c, (void **)&s->lengths, a->rows * (int64_t)sizeof(int32_t), "row lengths", err));
    SPRY_CUDA_TRY(spry_cuda_make(c, &s->columns, slots * (int64_t)sizeof(int32_t), "ell columns", err));
    SPRY_CUDA_TRY(spry_cuda_make(c, &s->values, slots * (int64_t)spry_type_bytes(a->value_type), "ell values", err));
    return SPRY_BY_TYPE(a->offset_type, P, SPRY_BY_TYPE(a->value_type, V, fill<V, P>(a, s, err)));
}

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_ell *s = (spryi_ell *)c->storage;
    if (a->value_type == SPRY_PATTERN) return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "ell: a pattern");
    SPRY_CUDA_TRY(spry_cuda_longest(c->device, a, &s->width, err));
    SPRY_CUDA_TRY(spryi_ell_cost(&c->cost, s->width, a, err));
    c->cost.padding = a->rows * s->width - a->nnz;
    SPRY_CUDA_TRY(c->guard(c->request, "ell", &c->cost, err));
    s->a = shape_of(a);
    SPRY_CUDA_TRY(spry_cuda_make_slots(c, s, err));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "ell", err);
    return SPRY_OK;
}

const spryi_converter spry_cuda_to_ell = {"ell", convert};
