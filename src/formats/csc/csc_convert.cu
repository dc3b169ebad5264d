/*
 * Conversion of CSR to CSC on the device. Entries of a column are sorted by row. Entries of a column with the same row
 * remain in stored order.
 *
 * Idea: each entry has a key: its column in the high bits, and the entry's index in the low bits. After a stable sort
 *       by the column's bits, the indices give the source of each entry of the result. The row indices of all entries
 *       are computed first (as for COO), so that the last step gathers rows and values. A bisection of the sorted keys
 *       gives the offsets, one thread per column.
 * Work: one thread per entry in all steps except the bisection, so that the lengths of rows and columns have no effect.
 * Cost: the sort moves about 16 bytes per entry for each 8 bits of the column index (2 or 3 passes), and the other
 *       steps move about 60 bytes per entry. Together, these are the bytes of about 10 products with f64. Scratch
 *       memory: 20 bytes per entry.
 * Source: radix sort: CUB; this library.
 */
extern "C" {
#include "formats/csc/csc.h"
}
#include "device/cuda/convert.cuh"

/* Sets offsets[j] to the number of keys whose column is less than j. */
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
    scratch key_space, spare_space, row_space;
    if (a->nnz > UINT32_MAX)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "csc: %lld entries, a conversion on a GPU supports at most %lld",
                          (long long)a->nnz, (long long)UINT32_MAX);
    SPRY_CUDA_TRY(key_space.make(device, a->nnz * (int64_t)sizeof(uint64_t), "csc: keys", err));
    SPRY_CUDA_TRY(spare_space.make(device, a->nnz * (int64_t)sizeof(uint64_t), "csc: keys", err));
    SPRY_CUDA_TRY(row_space.make(device, a->nnz * (int64_t)sizeof(int32_t), "csc: rows", err));
    uint64_t *keys = (uint64_t *)key_space.at, *spare = (uint64_t *)spare_space.at;
    const int32_t *row_of = (const int32_t *)row_space.at;
    const unsigned blocks = convert_blocks(a->nnz), columns = convert_blocks(a->columns + 1);
    SPRY_CUDA_TRY(spry_cuda_rows_of(a, (int32_t *)row_space.at, err));
    SPRY_CUDA_TRY(spry_cuda_order_columns(device, a, 1, &keys, &spare, err));
    SPRY_BY_TYPE(a->offset_type, P, find_offsets<<<columns, CONVERT_THREADS>>>(keys, a->nnz, a->columns, (P *)offsets));
    SPRY_CUDA_TRY(launched(err, "csc: offsets"));
    if (a->nnz > 0)
        SPRY_BY_BYTES(a->value_type, B,
                      gather<<<blocks, CONVERT_THREADS>>>(keys, a->nnz, row_of, (const B *)a->values, rows,
                                                          (B *)values));
    SPRY_CUDA_TRY(launched(err, "csc: entries"));
    SPRY_CUDA_CHECK(cudaStreamSynchronize(0), "csc", err); /* the scratch memory is freed after the last kernel */
    return SPRY_OK;
}

static spry_status convert(spryi_conversion *c, spry_error *err)
{
    const spry_arrays *a = &c->csr;
    spryi_csr *s = (spryi_csr *)c->storage;
    const int64_t offset_bytes = (a->columns + 1) * (int64_t)spryi_index_type_bytes(a->offset_type);
    const int64_t value_bytes = a->nnz * (int64_t)spry_type_bytes(a->value_type);
    void *offsets = NULL, *rows = NULL, *values = NULL;
    if (a->nnz > UINT32_MAX)
        return spryi_fail(err, SPRY_UNSUPPORTED, NULL, "csc: %lld entries, a conversion on a GPU supports at most %lld",
                          (long long)a->nnz, (long long)UINT32_MAX);
    c->cost.bytes = offset_bytes + a->nnz * (int64_t)sizeof(int32_t) + value_bytes;
    SPRY_CUDA_TRY(c->guard(c->request, "csc", &c->cost, err));
    SPRY_CUDA_TRY(spry_cuda_allocate_array(c, &offsets, offset_bytes, "csc offsets", err));
    SPRY_CUDA_TRY(spry_cuda_allocate_array(c, &rows, a->nnz * (int64_t)sizeof(int32_t), "csc rows", err));
    if (a->value_type != SPRY_PATTERN)
        SPRY_CUDA_TRY(spry_cuda_allocate_array(c, &values, value_bytes, "csc values", err));
    s->a = *a; /* CSR of A^T */
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
