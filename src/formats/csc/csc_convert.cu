/*
 * CSR to CSC on the device, entries of a column in the order of their rows, and within a row the stored one.
 *
 * Idea: a key an entry, its column above its number; sorted by the column's bits alone, stably, the numbers tell where
 *       each entry of the result comes from. Row indices of all entries are made first (as COO's), so that the last
 *       step gathers rows and values. Offsets are found in the sorted keys by bisection, a thread a column.
 * Work: by entries throughout: no row or column is one thread's.
 * Cost: about 16 bytes an entry for each 8 bits of the columns (the sort, 2 or 3 passes), and 60 beside; scratch of 20
 *       bytes an entry: by the bytes near 10 products with f64.
 * Source: radix sort: CUB; this library.
 */
extern "C" {
#include "formats/csc/csc.h"
}
#include "device/cuda/convert.cuh"

/* offsets[j] = the keys before the first of column j or later. */
template <typename P>
static __global__ void find_offsets(const uint64_t *__restrict__ keys, int64_t nnz, int64_t n, P *__restrict__ offsets)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j <= n) offsets[j] = (P)first_of_major(keys, nnz, j);
}

template <typename V> static __global__ void gather(const uint64_t *__restrict__ keys, int64_t nnz,
                                                    const int32_t *__restrict__ row_of, const V *__restrict__ Ax,
                                                    int32_t *__restrict__ rows, V *__restrict__ values)
{
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= nnz) return;
    const uint32_t k = KEY_ENTRY(keys[p]);
    rows[p] = row_of[k];
    if (values) values[p] = Ax[k];
}

spry_status spry_cuda_transpose(const spryi_device *device, const spry_arrays *a, void *offsets, int32_t *rows,
                                void *values, spry_error *err)
{
    scratch key_space, other_space, row_space;
    if (a->nnz > UINT32_MAX) return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "csc: more entries than a key can number");
    SPRY_CUDA_TRY(key_space.make(device, a->nnz * (int64_t)sizeof(uint64_t), "csc: keys", err));
    SPRY_CUDA_TRY(other_space.make(device, a->nnz * (int64_t)sizeof(uint64_t), "csc: keys", err));
    SPRY_CUDA_TRY(row_space.make(device, a->nnz * (int64_t)sizeof(int32_t), "csc: rows", err));
    uint64_t *keys = (uint64_t *)key_space.at, *other = (uint64_t *)other_space.at;
    const int32_t *row_of = (const int32_t *)row_space.at;
    const unsigned blocks = convert_blocks(a->nnz), columns = convert_blocks(a->columns + 1);
    SPRY_CUDA_TRY(spry_cuda_rows_of(a, (int32_t *)row_space.at, err));
    SPRY_CUDA_TRY(spry_cuda_order_columns(device, a, 1, &keys, &other, err));
    SPRY_BY_TYPE(a->offset_type, P, find_offsets<<<columns, CONVERT_THREADS>>>(keys, a->nnz, a->columns, (P *)offsets));
    SPRY_CUDA_TRY(launched(err, "csc: offsets"));
    if (a->nnz > 0)
        SPRY_BY_STORED(a->value_type, S,
                       gather<<<blocks, CONVERT_THREADS>>>(keys, a->nnz, row_of, (const value_bits<S> *)a->values, rows,
                                                           (value_bits<S> *)values));
    SPRY_CUDA_TRY(launched(err, "csc: entries"));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "csc", err); /* before the scratch goes */
    return SPRY_OK;
}

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_csr *s = (spryi_csr *)c->storage;
    const int64_t offset_bytes = (a->columns + 1) * (int64_t)spryi_index_type_bytes(a->offset_type);
    const int64_t value_bytes = a->nnz * (int64_t)spry_type_bytes(a->value_type);
    void *offsets = NULL, *rows = NULL, *values = NULL;
    if (a->nnz > UINT32_MAX) return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "csc: more entries than a key can number");
    c->cost.bytes = offset_bytes + a->nnz * (int64_t)sizeof(int32_t) + value_bytes;
    SPRY_CUDA_TRY(c->guard(c->request, "csc", &c->cost, err));
    SPRY_CUDA_TRY(spry_cuda_make(c, &offsets, offset_bytes, "csc offsets", err));
    SPRY_CUDA_TRY(spry_cuda_make(c, &rows, a->nnz * (int64_t)sizeof(int32_t), "csc rows", err));
    if (a->value_type != SPRY_PATTERN) SPRY_CUDA_TRY(spry_cuda_make(c, &values, value_bytes, "csc values", err));
    s->a = *a; /* of A^T as CSR */
    s->a.rows = a->columns;
    s->a.columns = a->rows;
    s->a.offsets = offsets;
    s->a.indices = rows;
    s->a.values = values;
    s->a.symmetry = SPRY_GENERAL;
    s->vector_type = c->request->options->vector_type;
    return spry_cuda_transpose(c->device, a, offsets, (int32_t *)rows, values, err);
}

const spryi_converter spry_cuda_to_csc = {"csc", convert};
