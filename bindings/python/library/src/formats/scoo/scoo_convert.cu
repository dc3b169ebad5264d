/*
 * CSR to SCOO on the device, bit for bit as on the host.
 *
 * Idea: the entries' numbers are sorted by columns and then by slices, stably, so that those of one column stay as A
 *       stores them; a last step gathers columns, local rows and values in that order.
 * Work: by entries throughout: no row or slice is one thread's.
 * Cost: about 16 bytes an entry for each 8 bits of the columns and of the slices (the sorts, 3 to 5 passes), and 70
 *       beside; scratch of 20 bytes an entry.
 * Source: radix sort: CUB; this library.
 */
extern "C" {
#include "formats/scoo/scoo.h"
}
#include "device/cuda/convert.cuh"
#include "device/cuda/kernels.h"

template <typename P> static __global__ void find_offsets(const P *__restrict__ Ap, int64_t m, int64_t height,
                                                          int64_t slices, P *__restrict__ offsets)
{
    int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (b <= slices) offsets[b] = Ap[b < slices ? b * height : m];
}

template <typename V> static __global__ void gather(const uint64_t *__restrict__ keys, int64_t nnz, uint32_t height,
                                                    const int32_t *__restrict__ row_of, const int32_t *__restrict__ Aj,
                                                    const V *__restrict__ Ax, int32_t *__restrict__ columns,
                                                    uint16_t *__restrict__ rows, V *__restrict__ values)
{
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= nnz) return;
    const uint32_t k = KEY_ENTRY(keys[p]);
    columns[p] = Aj[k];
    rows[p] = (uint16_t)((uint32_t)row_of[k] - KEY_MAJOR(keys[p]) * height);
    values[p] = Ax[k];
}

template <typename V> static spry_status fill(const spry_arrays *a, const spryi_scoo *s, const uint64_t *keys,
                                              const int32_t *row_of, spry_error *err)
{
    gather<V><<<convert_blocks(a->nnz), CONVERT_THREADS>>>(keys, a->nnz, (uint32_t)s->head.height, row_of,
                                                           (const int32_t *)a->indices, (const V *)a->values,
                                                           (int32_t *)s->columns, (uint16_t *)s->rows, (V *)s->values);
    return launched(err, "scoo: entries");
}

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_scoo *s = (spryi_scoo *)c->storage;
    const int64_t nnz = a->nnz, offset_bytes = (int64_t)spry_index_type_bytes(a->offset_type);
    if (a->value_type == SPRY_PATTERN) return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "scoo: a pattern");
    if (nnz > UINT32_MAX) return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "scoo: more entries than a key can number");
    s->head = spryi_scoo_head_of(c->request, a);
    s->types = shape_of(a);
    spryi_scoo_cost(&s->head, &c->cost);
    SPRY_CUDA_TRY(c->guard(c->request, "scoo", &c->cost, err));
    SPRY_CUDA_TRY(spry_cuda_make(c, &s->offsets, (s->head.slices + 1) * offset_bytes, "slice offsets", err));
    SPRY_CUDA_TRY(spry_cuda_make(c, &s->columns, nnz * (int64_t)sizeof(int32_t), "columns of slices", err));
    SPRY_CUDA_TRY(spry_cuda_make(c, &s->rows, nnz * (int64_t)sizeof(uint16_t), "local rows", err));
    SPRY_CUDA_TRY(
        spry_cuda_make(c, &s->values, nnz * (int64_t)spry_type_bytes(a->value_type), "values of slices", err));
    const unsigned blocks = convert_blocks(s->head.slices + 1);
    SPRY_BY_TYPE(a->offset_type, P,
                 find_offsets<<<blocks, CONVERT_THREADS>>>((const P *)a->offsets, a->rows, s->head.height,
                                                           s->head.slices, (P *)s->offsets));
    SPRY_CUDA_TRY(launched(err, "scoo: offsets"));
    scratch key_space, other_space, row_space;
    SPRY_CUDA_TRY(key_space.make(c->device, nnz * (int64_t)sizeof(uint64_t), "scoo: keys", err));
    SPRY_CUDA_TRY(other_space.make(c->device, nnz * (int64_t)sizeof(uint64_t), "scoo: keys", err));
    SPRY_CUDA_TRY(row_space.make(c->device, nnz * (int64_t)sizeof(int32_t), "scoo: rows", err));
    uint64_t *keys = (uint64_t *)key_space.at, *other = (uint64_t *)other_space.at;
    int32_t *row_of = (int32_t *)row_space.at;
    SPRY_CUDA_TRY(spry_cuda_rows_of(a, row_of, err));
    SPRY_CUDA_TRY(spry_cuda_order_blocks(c->device, a, row_of, (uint32_t)s->head.height, 1, &keys, &other, err));
    if (nnz > 0) SPRY_CUDA_TRY(SPRY_BY_TYPE(a->value_type, V, fill<V>(a, s, keys, row_of, err)));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "scoo", err); /* before the scratch goes */
    return SPRY_OK;
}

const spryi_converter spry_cuda_to_scoo = {"scoo", convert};
