/* Common steps of conversions. Sorts and scans use CUB, a part of the CUDA toolkit, and are instantiated only here. */
#include "device/cuda/convert.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

spry_status spry_cuda_allocate_array(spryi_conversion *c, void **array, int64_t bytes, const char *what,
                                     spry_error *err)
{
    if (c->built_count == SPRYI_MOST_SECTIONS) return spryi_fail(err, SPRY_INTERNAL, NULL, "%s: too many arrays", what);
    SPRY_CUDA_TRY(spry_cuda_new(c->device, array, bytes, what, err));
    c->made[c->built_count++] = *array;
    c->built_bytes += bytes;
    return SPRY_OK;
}

spry_status spry_cuda_allocate_arrays(spryi_conversion *c, int (*sections)(void *storage, spryi_section *list),
                                      spry_error *err)
{
    spryi_section list[SPRYI_MOST_SECTIONS];
    for (int n = 0, count = sections(c->storage, list); n < count; n++)
        if (list[n].array && !*list[n].array)
            SPRY_CUDA_TRY(
                spry_cuda_allocate_array(c, list[n].array, list[n].count * list[n].item_bytes, list[n].name, err));
    return SPRY_OK;
}

template <typename P> static __global__ void longest_row(const P *__restrict__ Ap, int64_t m, unsigned long long *most)
{
    unsigned long long own = 0;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < m; i += step) {
        unsigned long long length = (unsigned long long)(Ap[i + 1] - Ap[i]);
        own = length > own ? length : own;
    }
    for (int width = 16; width > 0; width /= 2) {
        unsigned long long other = __shfl_down_sync(0xffffffffu, own, width);
        own = other > own ? other : own;
    }
    if (threadIdx.x % 32 == 0 && own > 0) atomicMax(most, own);
}

spry_status spry_cuda_longest(const spryi_device *device, const spry_arrays *csr, int64_t *longest, spry_error *err)
{
    const int64_t m = csr->rows;
    const unsigned blocks = convert_blocks(m) < 1024 ? convert_blocks(m) : 1024;
    scratch most;
    SPRY_CUDA_TRY(most.make(device, sizeof(unsigned long long), "longest row", err));
    SPRY_CUDA_CHECK(cudaMemsetAsync(most.at, 0, sizeof(unsigned long long)), "longest row", err);
    if (m > 0)
        SPRY_BY_TYPE(csr->offset_type, P,
                     longest_row<<<blocks, CONVERT_THREADS>>>((const P *)csr->offsets, m,
                                                              (unsigned long long *)most.at));
    SPRY_CUDA_TRY(launched(err, "longest row"));
    SPRY_CUDA_CHECK(cudaMemcpy(longest, most.at, sizeof *longest, cudaMemcpyDeviceToHost), "longest row", err);
    return SPRY_OK;
}

template <typename P> static __global__ void __launch_bounds__(CONVERT_THREADS)
    expand_rows(const P *__restrict__ Ap, int64_t m, int64_t nnz, int32_t *__restrict__ rows)
{
    __shared__ int64_t range[2];
    const int64_t begin = (int64_t)blockIdx.x * CONVERT_TILE;
    const int64_t end = begin + CONVERT_TILE < nnz ? begin + CONVERT_TILE : nnz;
    owners_of_tile(Ap, m, begin, end, range);
    for (int64_t k = begin + threadIdx.x; k < end; k += CONVERT_THREADS)
        rows[k] = (int32_t)owner_of(Ap, range[0], range[1] + 1, k);
}

spry_status spry_cuda_rows_of(const spry_arrays *csr, int32_t *rows, spry_error *err)
{
    const unsigned blocks = (unsigned)ceil_div(csr->nnz, CONVERT_TILE);
    if (csr->nnz == 0) return SPRY_OK;
    SPRY_BY_TYPE(csr->offset_type, P,
                 expand_rows<<<blocks, CONVERT_THREADS>>>((const P *)csr->offsets, csr->rows, csr->nnz, rows));
    return launched(err, "rows of entries");
}

spry_status spry_cuda_sort_keys(const spryi_device *device, uint64_t **keys, uint64_t **other, int64_t count, int begin,
                                int end, spry_error *err)
{
    if (count == 0 || begin == end) return SPRY_OK;
    cub::DoubleBuffer<uint64_t> both(*keys, *other);
    scratch space;
    size_t bytes = 0;
    SPRY_CUDA_CHECK(cub::DeviceRadixSort::SortKeys(NULL, bytes, both, count, begin, end), "sort", err);
    SPRY_CUDA_TRY(space.make(device, (int64_t)bytes, "sorting", err));
    SPRY_CUDA_CHECK(cub::DeviceRadixSort::SortKeys(space.at, bytes, both, count, begin, end), "sort", err);
    *keys = both.Current();
    *other = both.Alternate();
    return launched(err, "sort");
}

static __global__ void make_column_keys(const int32_t *__restrict__ Aj, int64_t nnz, uint32_t width,
                                        uint64_t *__restrict__ keys)
{
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < nnz) keys[k] = (uint64_t)((uint32_t)Aj[k] / width) << KEY_BITS | (uint64_t)k;
}

static __global__ void make_row_keys(const int32_t *__restrict__ row_of, int64_t nnz, uint32_t height,
                                     uint64_t *__restrict__ keys)
{
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= nnz) return;
    const uint32_t k = KEY_ENTRY(keys[p]);
    keys[p] = (uint64_t)((uint32_t)row_of[k] / height) << KEY_BITS | (uint64_t)k;
}

spry_status spry_cuda_order_columns(const spryi_device *device, const spry_arrays *csr, uint32_t width, uint64_t **keys,
                                    uint64_t **other, spry_error *err)
{
    if (csr->nnz == 0) return SPRY_OK;
    make_column_keys<<<convert_blocks(csr->nnz), CONVERT_THREADS>>>((const int32_t *)csr->indices, csr->nnz, width,
                                                                    *keys);
    SPRY_CUDA_TRY(launched(err, "column keys"));
    return spry_cuda_sort_keys(device, keys, other, csr->nnz, KEY_BITS, KEY_BITS + bits_of((csr->columns - 1) / width),
                               err);
}

/* Sorts are stable, so the second sort, by block rows, keeps the order of block columns within each block row. */
spry_status spry_cuda_order_blocks(const spryi_device *device, const spry_arrays *csr, const int32_t *row_of,
                                   uint32_t height, uint32_t width, uint64_t **keys, uint64_t **other, spry_error *err)
{
    if (csr->nnz == 0) return SPRY_OK;
    SPRY_CUDA_TRY(spry_cuda_order_columns(device, csr, width, keys, other, err));
    make_row_keys<<<convert_blocks(csr->nnz), CONVERT_THREADS>>>(row_of, csr->nnz, height, *keys);
    SPRY_CUDA_TRY(launched(err, "row keys"));
    return spry_cuda_sort_keys(device, keys, other, csr->nnz, KEY_BITS, KEY_BITS + bits_of((csr->rows - 1) / height),
                               err);
}

spry_status spry_cuda_scan(const spryi_device *device, int64_t *numbers, int64_t count, spry_error *err)
{
    if (count == 0) return SPRY_OK;
    scratch space;
    size_t bytes = 0;
    SPRY_CUDA_CHECK(cub::DeviceScan::InclusiveSum(NULL, bytes, numbers, numbers, count), "scan", err);
    SPRY_CUDA_TRY(space.make(device, (int64_t)bytes, "scan", err));
    SPRY_CUDA_CHECK(cub::DeviceScan::InclusiveSum(space.at, bytes, numbers, numbers, count), "scan", err);
    return launched(err, "scan");
}
