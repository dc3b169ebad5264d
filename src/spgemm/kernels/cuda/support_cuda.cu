/*
 * Functions that spgemm/spgemm_device.c calls in addition to kernels. They count the products of each row, convert
 * offsets to another type, and remove zeros.
 */
#include "device/cuda/convert.cuh"
#include "spgemm/kernels/cuda/rows_cuda.cuh"
#include "spry/matrix.h"

#include <cub/device/device_scan.cuh>

enum { SUPPORT_THREADS = 256 };

static unsigned warps_for(int64_t rows)
{
    return (unsigned)ceil_div(rows * 32, SUPPORT_THREADS);
}

/* ---- products ----------------------------------------------------------------------------------------- */

/* Sets products[i + 1] to the number of products of row first + i of A. A warp processes a row. */
static __global__ void __launch_bounds__(SUPPORT_THREADS)
    count_products(gpu_csr A, row_offsets Bp, int64_t first, int64_t rows, int64_t *products)
{
    const int64_t i = ((int64_t)blockIdx.x * SUPPORT_THREADS + threadIdx.x) / 32;
    if (i >= rows) return;
    const int lane = threadIdx.x % 32;
    int64_t sum = 0;
    for (int64_t k = A.p.get(first + i) + lane; k < A.p.get(first + i + 1); k += 32) {
        const int32_t j = __ldg(A.j + k);
        sum += Bp.get((int64_t)j + 1) - Bp.get(j);
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(ALL_LANES, sum, step);
    if (lane == 0) products[i + 1] = sum;
}

static spry_status scan_in(spryi_device_product *product, int64_t *products, int64_t *host_scan, spry_error *err)
{
    const int64_t rows = product->row_end - product->row_begin;
    cudaStream_t stream = (cudaStream_t)product->stream;
    SPRY_CUDA_CHECK(cudaMemsetAsync(products, 0, sizeof *products, stream), "spgemm: products", err);
    if (rows > 0) {
        const gpu_csr A = gpu_csr_of(&product->a), B = gpu_csr_of(&product->b);
        count_products<<<warps_for(rows), SUPPORT_THREADS, 0, stream>>>(A, B.p, product->row_begin, rows, products);
        SPRY_CUDA_TRY(launched(err, "spgemm: products"));
    }
    SPRY_CUDA_CHECK(cudaMemcpyAsync(host_scan, products, sizeof *products * (size_t)(rows + 1), cudaMemcpyDeviceToHost,
                                    stream),
                    "spgemm: products", err);
    SPRY_CUDA_CHECK(cudaStreamSynchronize(stream), "spgemm: products", err);
    for (int64_t i = 0; i < rows; i++) host_scan[i + 1] += host_scan[i];
    return SPRY_OK;
}

static spry_status scan_products(spryi_device_product *product, int64_t *host_scan, spry_error *err)
{
    void *products = NULL;
    const int64_t rows = product->row_end - product->row_begin;
    SPRY_CUDA_TRY(product->memory.allocate(product, &products, 8 * (rows + 1), "products by row", err));
    spry_status status = scan_in(product, (int64_t *)products, host_scan, err);
    product->memory.release(product, products, 8 * (rows + 1));
    return status;
}

/* ---- B's order ---------------------------------------------------------------------------------------- */

/* Sets *falls to 1 if a column is not larger than the column before it in its row. A warp processes a row. */
static __global__ void __launch_bounds__(SUPPORT_THREADS) find_falls(gpu_csr B, int *falls)
{
    const int64_t i = ((int64_t)blockIdx.x * SUPPORT_THREADS + threadIdx.x) / 32;
    if (i >= B.rows) return;
    for (int64_t k = B.p.get(i) + 1 + threadIdx.x % 32; k < B.p.get(i + 1); k += 32)
        if (__ldg(B.j + k) <= __ldg(B.j + k - 1)) *falls = 1;
}

spry_status gpu_require_rising(spryi_device_product *product, spry_error *err)
{
    const spry_arrays *b = &product->b;
    if ((b->sorted == SPRY_KNOWN_YES && b->unique == SPRY_KNOWN_YES) || b->rows == 0) return SPRY_OK;
    cudaStream_t stream = (cudaStream_t)product->stream;
    void *falls = NULL;
    int host = 0;
    SPRY_CUDA_TRY(product->memory.allocate(product, &falls, sizeof host, "a check", err));
    cudaError_t code = cudaMemsetAsync(falls, 0, sizeof host, stream);
    if (code == cudaSuccess) {
        find_falls<<<warps_for(b->rows), SUPPORT_THREADS, 0, stream>>>(gpu_csr_of(b), (int *)falls);
        code = cudaGetLastError();
    }
    if (code == cudaSuccess) code = cudaMemcpyAsync(&host, falls, sizeof host, cudaMemcpyDeviceToHost, stream);
    if (code == cudaSuccess) code = cudaStreamSynchronize(stream);
    product->memory.release(product, falls, sizeof host);
    if (code != cudaSuccess) return spry_cuda_fail(err, code, "spgemm: order of B");
    if (host == 0) return SPRY_OK;
    return spryi_fail(err, SPRY_UNSUPPORTED, "B",
                      "spgemm on a GPU: rows of op(B) must be sorted and have no duplicates; convert it with "
                      "spry_matrix_convert, or multiply on the CPU");
}

/* ---- offsets ------------------------------------------------------------------------------------------ */

static __global__ void __launch_bounds__(SUPPORT_THREADS)
    shift_offsets(void *to, int to_32, const int64_t *from, int64_t shift, int64_t count)
{
    const int64_t i = (int64_t)blockIdx.x * SUPPORT_THREADS + threadIdx.x;
    if (i >= count) return;
    if (to_32)
        ((int32_t *)to)[i] = (int32_t)(from[i] + shift);
    else
        ((int64_t *)to)[i] = from[i] + shift;
}

static spry_status copy_offsets(void *to, int to_32, const int64_t *from, int64_t shift, int64_t count, void *stream,
                                spry_error *err)
{
    if (count == 0) return SPRY_OK;
    shift_offsets<<<(unsigned)ceil_div(count, SUPPORT_THREADS), SUPPORT_THREADS, 0, (cudaStream_t)stream>>>(to, to_32,
                                                                                                            from, shift,
                                                                                                            count);
    return launched(err, "spgemm: offsets");
}

/* ---- zeros -------------------------------------------------------------------------------------------- */

/* Sets to[i + 1] to the number of nonzero entries of row i. A warp processes a row. */
template <typename V> static __global__ void __launch_bounds__(SUPPORT_THREADS)
    count_kept(const int64_t *offsets, const V *values, int64_t rows, int64_t *to)
{
    const int64_t i = ((int64_t)blockIdx.x * SUPPORT_THREADS + threadIdx.x) / 32;
    if (i >= rows) return;
    int kept = 0;
    for (int64_t k = offsets[i] + threadIdx.x % 32; k < offsets[i + 1]; k += 32) kept += values[k] != V(0);
    kept = warp_sum(kept);
    if (threadIdx.x % 32 == 0) to[i + 1] = kept;
    if (i == 0 && threadIdx.x % 32 == 0) to[0] = 0;
}

template <typename V> static __global__ void __launch_bounds__(SUPPORT_THREADS)
    copy_kept(const int64_t *offsets, const int32_t *columns, const V *values, int64_t rows, const int64_t *to,
              int32_t *to_columns, V *to_values)
{
    const int64_t i = ((int64_t)blockIdx.x * SUPPORT_THREADS + threadIdx.x) / 32;
    if (i >= rows) return;
    const int lane = threadIdx.x % 32;
    int64_t at = to[i];
    for (int64_t k = offsets[i] + lane; k - lane < offsets[i + 1]; k += 32) {
        const V value = k < offsets[i + 1] ? values[k] : V(0);
        const unsigned kept = __ballot_sync(ALL_LANES, value != V(0));
        if (value != V(0)) {
            const int64_t place = at + __popc(kept & ((1u << lane) - 1));
            to_columns[place] = columns[k];
            to_values[place] = value;
        }
        at += __popc(kept);
    }
}

static int64_t padded(int64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static size_t scan_bytes_of(int64_t rows)
{
    size_t bytes = 0;
    (void)cub::DeviceScan::InclusiveSum(NULL, bytes, (int64_t *)NULL, (int64_t *)NULL, rows + 1);
    return bytes;
}

/* Returns the bytes of new offsets, columns and values, and of the scratch memory of the scan. */
static int64_t drop_zeros_bytes(spry_type type, int64_t rows, int64_t nnz)
{
    return padded(8 * (rows + 1)) + padded(4 * nnz) + padded((int64_t)spry_type_bytes(type) * nnz) +
           (int64_t)scan_bytes_of(rows);
}

template <typename V> static spry_status drop_in(int64_t *offsets, int32_t *columns, V *values, int64_t rows,
                                                 int64_t *nnz, char *space, cudaStream_t stream, spry_error *err)
{
    int64_t *to = (int64_t *)space, kept = 0;
    int32_t *to_columns = (int32_t *)(space + padded(8 * (rows + 1)));
    V *to_values = (V *)((char *)to_columns + padded(4 * *nnz));
    void *scan_space = (char *)to_values + padded((int64_t)sizeof(V) * *nnz);
    size_t scan_bytes = scan_bytes_of(rows);
    count_kept<<<warps_for(rows), SUPPORT_THREADS, 0, stream>>>(offsets, values, rows, to);
    SPRY_CUDA_TRY(launched(err, "spgemm: zeros"));
    SPRY_CUDA_CHECK(cub::DeviceScan::InclusiveSum(scan_space, scan_bytes, to, to, rows + 1, stream), "spgemm: zeros",
                    err);
    SPRY_CUDA_CHECK(cudaMemcpyAsync(&kept, to + rows, sizeof kept, cudaMemcpyDeviceToHost, stream), "spgemm: zeros",
                    err);
    SPRY_CUDA_CHECK(cudaStreamSynchronize(stream), "spgemm: zeros", err);
    if (kept == *nnz) return SPRY_OK;
    copy_kept<<<warps_for(rows), SUPPORT_THREADS, 0, stream>>>(offsets, columns, values, rows, to, to_columns,
                                                               to_values);
    SPRY_CUDA_TRY(launched(err, "spgemm: zeros"));
    const void *from[] = {to, to_columns, to_values};
    void *back[] = {offsets, columns, values};
    const size_t bytes[] = {8 * (size_t)(rows + 1), 4 * (size_t)kept, sizeof(V) * (size_t)kept};
    for (int a = 0; a < 3; a++)
        SPRY_CUDA_CHECK(cudaMemcpyAsync(back[a], from[a], bytes[a], cudaMemcpyDeviceToDevice, stream), "spgemm: zeros",
                        err);
    *nnz = kept;
    return SPRY_OK;
}

static spry_status drop_zeros(int64_t *offsets, int32_t *columns, void *values, spry_type type, int64_t rows,
                              int64_t *nnz, void *workspace, void *stream, spry_error *err)
{
    if (rows == 0 || *nnz == 0) return SPRY_OK;
    if (type == SPRY_F64)
        return drop_in(offsets, columns, (double *)values, rows, nnz, (char *)workspace, (cudaStream_t)stream, err);
    return drop_in(offsets, columns, (float *)values, rows, nnz, (char *)workspace, (cudaStream_t)stream, err);
}

const spryi_spgemm_functions spry_cuda_spgemm = {scan_products, copy_offsets, drop_zeros, drop_zeros_bytes};
