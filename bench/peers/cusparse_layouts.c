/* Converts CSR in host memory to cuSPARSE's layouts in GPU memory. A matrix is kept in only one layout. */
#include "bench/peers/cusparse_layouts.h"
#include "bench/peers/blocks.h"
#include "bench/peers/narrow_values.h"
#include "common/wall_clock.h"

#include <stdlib.h>
#include <string.h>

cusparseHandle_t peer_cusparse_handle;

/* ---- cuSPARSE's sliced ELL, built on the host ---------------------------------------------------- */

enum { SELL_SLICE = 32 };

/*
 * Sliced ELL. A slot holds an entry or padding; all rows of a slice have the same number of slots. Entry s of row i is
 * in slot offsets[i / 32] + 32 * s + i % 32.
 */
typedef struct sliced_ell {
    int64_t slices, slots;
    void *offsets; /* slices + 1 elements of the matrix's offset type */
    char *columns; /* -1 in padding */
    char *values;
} sliced_ell;

/* Limit on the padding of SELL: MOST_PADDING slots per entry plus SMALL_PADDING slots, as in Spry. */
enum { MOST_PADDING = 2, SMALL_PADDING = 4096 };

static void release_sell(sliced_ell *sell)
{
    free(sell->offsets);
    free(sell->columns);
    free(sell->values);
}

/* Computes `slots` and `offsets`. Returns 0 if memory is short. `slots` is correct even if the offsets overflow. */
static int sell_offsets(const spry_peer_matrix *a, sliced_ell *sell)
{
    sell->slices = (a->rows + SELL_SLICE - 1) / SELL_SLICE;
    sell->slots = 0;
    sell->offsets = malloc((size_t)(sell->slices + 1) * (size_t)a->offset_bytes);
    if (!sell->offsets) return 0;
    for (int64_t s = 0; s <= sell->slices; s++) {
        spry_peer_put_index(a->offset_bytes, sell->offsets, s, sell->slots);
        int64_t end = (s + 1) * SELL_SLICE < a->rows ? (s + 1) * SELL_SLICE : a->rows, widest = 0;
        for (int64_t i = s * SELL_SLICE; i < end; i++) {
            int64_t width = spry_peer_offset(a, i + 1) - spry_peer_offset(a, i);
            if (width > widest) widest = width;
        }
        sell->slots += widest * SELL_SLICE;
    }
    return 1;
}

/* Copies count contiguous elements of 4 or 8 bytes to every SELL_SLICE-th element of `to`. */
static void spread(char *to, const char *from, int64_t count, int bytes)
{
    if (bytes == 8)
        for (int64_t k = 0; k < count; k++) memcpy(to + k * SELL_SLICE * 8, from + k * 8, 8);
    else
        for (int64_t k = 0; k < count; k++) memcpy(to + k * SELL_SLICE * 4, from + k * 4, 4);
}

/* Fills columns and values. Returns 0 if memory is short. */
static int sell_fill(const spry_peer_matrix *a, sliced_ell *sell, int threads)
{
    size_t column_bytes = (size_t)a->index_bytes * SELL_SLICE, value_bytes = (size_t)a->value_bytes * SELL_SLICE;
    sell->columns = malloc((size_t)sell->slots * (size_t)a->index_bytes + 1);
    sell->values = malloc((size_t)sell->slots * (size_t)a->value_bytes + 1);
    if (!sell->columns || !sell->values) return 0;
#pragma omp parallel for schedule(dynamic, 256) num_threads(threads)
    for (int64_t s = 0; s < sell->slices; s++) {
        int64_t start = spry_peer_index(a->offset_bytes, sell->offsets, s);
        size_t width = (size_t)(spry_peer_index(a->offset_bytes, sell->offsets, s + 1) - start) / SELL_SLICE;
        char *columns = sell->columns + start * a->index_bytes, *values = sell->values + start * a->value_bytes;
        memset(columns, 0xff, width * column_bytes);
        memset(values, 0, width * value_bytes);
        for (int64_t i = s * SELL_SLICE; i < (s + 1) * SELL_SLICE && i < a->rows; i++) {
            int64_t first = spry_peer_offset(a, i), count = spry_peer_offset(a, i + 1) - first, lane = i % SELL_SLICE;
            spread(columns + lane * a->index_bytes, (const char *)a->columns + first * a->index_bytes, count,
                   a->index_bytes);
            spread(values + lane * a->value_bytes, (const char *)a->values + first * a->value_bytes, count,
                   a->value_bytes);
        }
    }
    return 1;
}

/* Builds sliced ELL. Returns UNSUPPORTED with an error if padding is too large. Always call release_sell. */
static int build_sell(sliced_ell *sell, const spry_peer_matrix *a, int threads, spry_peer_error *error)
{
    *sell = (sliced_ell){0};
    const int made = sell_offsets(a, sell);
    if (made && a->offset_bytes == 4 && sell->slots > INT32_MAX)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "SELL has too many slots for 32-bit offsets");
    if (made && sell->slots - a->nnz > MOST_PADDING * a->nnz + SMALL_PADDING)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED,
                              "slices of %d rows would store %lld zeros for %lld entries, over %d each", SELL_SLICE,
                              (long long)(sell->slots - a->nnz), (long long)a->nnz, MOST_PADDING);
    if (made && sell_fill(a, sell, threads)) return SPRY_PEER_OK;
    return spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory for sliced ELL with %lld slots",
                          (long long)sell->slots);
}

/* ---- answers ------------------------------------------------------------------------------------ */

int peer_cusparse_cuda_answer(const peer_cusparse_preparation *p, cudaError_t code, const char *call)
{
    if (code == cudaSuccess) return SPRY_PEER_OK;
    (void)cudaGetLastError(); /* clear the error, so that later calls do not report it */
    return spry_peer_fail(p->error, SPRY_PEER_FAILED, "%s: %s", call, cudaGetErrorString(code));
}

int peer_cusparse_answer(const peer_cusparse_preparation *p, cusparseStatus_t status, const char *call)
{
    if (status == CUSPARSE_STATUS_SUCCESS) return SPRY_PEER_OK;
    return spry_peer_fail(p->error, status == CUSPARSE_STATUS_NOT_SUPPORTED ? SPRY_PEER_UNSUPPORTED : SPRY_PEER_FAILED,
                          "%s: %s", call, cusparseGetErrorString(status));
}

/* ---- device memory ------------------------------------------------------------------------------ */

/* Allocates an array and adds it to the list `of`. peer_cusparse_free_arrays frees all arrays of a list. */
int peer_cusparse_new_array(peer_cusparse_preparation *p, peer_cusparse_memory *of, void **array, int64_t count,
                            int bytes, const char *title)
{
    const size_t size = (size_t)count * (size_t)bytes;
    cudaError_t code = cudaMalloc(array, size > 0 ? size : 1);
    if (code == cudaSuccess) {
        of->arrays[of->count++] = *array;
        return SPRY_PEER_OK;
    }
    *array = NULL;
    (void)cudaGetLastError();
    return spry_peer_fail(p->error, SPRY_PEER_FAILED, "cudaMalloc of %zu bytes for %s: %s", size, title,
                          cudaGetErrorString(code));
}

void peer_cusparse_free_arrays(peer_cusparse_memory *of)
{
    for (int i = 0; i < of->count; i++) (void)cudaFree(of->arrays[i]);
}

/* Allocates an array and copies a host array to it. Adds the time to upload_us. */
static int upload(peer_cusparse_preparation *p, peer_cusparse_memory *of, void **array, const void *from, int64_t count,
                  int bytes, const char *title)
{
    double start = now_us();
    SPRY_PEER_TRY(peer_cusparse_new_array(p, of, array, count, bytes, title));
    if (count > 0) {
        cudaError_t code = cudaMemcpy(*array, from, (size_t)count * (size_t)bytes, cudaMemcpyHostToDevice);
        SPRY_PEER_TRY(peer_cusparse_cuda_answer(p, code, "cudaMemcpy to the GPU"));
        SPRY_PEER_TRY(
            peer_cusparse_cuda_answer(p, cudaStreamSynchronize(NULL), "cudaStreamSynchronize after an upload"));
    }
    p->upload_us += now_us() - start;
    return SPRY_PEER_OK;
}

/* ---- layouts ------------------------------------------------------------------------------------ */

static cusparseIndexType_t index_type(int bytes)
{
    return bytes == 8 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
}

static int is_narrow(const spry_peer_matrix *a)
{
    return a->offset_bytes == 4 && a->index_bytes == 4 && a->rows < INT32_MAX && a->cols < INT32_MAX;
}

/* Uploads the caller's arrays. A NULL pointer skips an array. */
static int upload_csr(peer_cusparse_preparation *p, peer_cusparse_memory *of, void **offsets, void **columns,
                      void **values)
{
    const spry_peer_matrix *a = p->a;
    if (offsets) SPRY_PEER_TRY(upload(p, of, offsets, a->offsets, a->rows + 1, a->offset_bytes, "the row offsets"));
    if (columns) SPRY_PEER_TRY(upload(p, of, columns, a->columns, a->nnz, a->index_bytes, "the columns"));
    if (values) SPRY_PEER_TRY(upload(p, of, values, a->values, a->nnz, a->value_bytes, "the values"));
    return SPRY_PEER_OK;
}

static int make_csr_of(peer_cusparse_preparation *p, const void *stored, int value_bytes, cudaDataType type)
{
    const spry_peer_matrix *a = p->a;
    void *offsets, *columns, *values;
    SPRY_PEER_TRY(upload_csr(p, p->kept, &offsets, &columns, NULL));
    SPRY_PEER_TRY(upload(p, p->kept, &values, stored, a->nnz, value_bytes, "the values"));
    p->bytes = a->nnz * (value_bytes + a->index_bytes) + (a->rows + 1) * a->offset_bytes;
    return peer_cusparse_answer(p,
                                cusparseCreateConstCsr(p->A, a->rows, a->cols, a->nnz, offsets, columns, values,
                                                       index_type(a->offset_bytes), index_type(a->index_bytes),
                                                       CUSPARSE_INDEX_BASE_ZERO, type),
                                "cusparseCreateConstCsr");
}

int peer_cusparse_csr(peer_cusparse_preparation *p)
{
    return make_csr_of(p, p->a->values, p->a->value_bytes, p->type);
}

/* Creates CSR with values of a narrower type. */
static int make_narrow(peer_cusparse_preparation *p, const peer_narrow_type *narrow, cudaDataType type)
{
    void *stored;
    SPRY_PEER_TRY(peer_narrow(&stored, p->a, narrow, p->error));
    const int result = make_csr_of(p, stored, narrow->bytes, type);
    free(stored);
    return result;
}

int peer_cusparse_csr_f32(peer_cusparse_preparation *p)
{
    return make_narrow(p, &peer_f32, CUDA_R_32F);
}

int peer_cusparse_csr_f16(peer_cusparse_preparation *p)
{
    return make_narrow(p, &peer_f16, CUDA_R_16F);
}

int peer_cusparse_csr_bf16(peer_cusparse_preparation *p)
{
    return make_narrow(p, &peer_bf16, CUDA_R_16BF);
}

/* Builds row indices on the host, in the type of the columns, and uploads them. */
static int upload_rows(peer_cusparse_preparation *p, void **rows)
{
    const spry_peer_matrix *a = p->a;
    if (a->index_bytes == 4 && a->rows > INT32_MAX)
        return spry_peer_fail(p->error, SPRY_PEER_UNSUPPORTED, "the matrix has too many rows for 32-bit row indices");
    void *host = malloc((size_t)a->nnz * (size_t)a->index_bytes + 1);
    if (!host) return spry_peer_fail(p->error, SPRY_PEER_FAILED, "out of memory for the row indices");
#pragma omp parallel for schedule(static) num_threads(p->request->threads)
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t k = spry_peer_offset(a, i); k < spry_peer_offset(a, i + 1); k++)
            spry_peer_put_index(a->index_bytes, host, k, i);
    int result = upload(p, p->kept, rows, host, a->nnz, a->index_bytes, "the row indices");
    free(host);
    return result;
}

int peer_cusparse_coo(peer_cusparse_preparation *p)
{
    const spry_peer_matrix *a = p->a;
    void *offsets, *rows, *columns, *values;
    if (is_narrow(a)) {
        SPRY_PEER_TRY(upload_csr(p, &p->temporary, &offsets, NULL, NULL));
        SPRY_PEER_TRY(peer_cusparse_new_array(p, p->kept, &rows, a->nnz, 4, "the row indices"));
        SPRY_PEER_TRY(peer_cusparse_answer(p,
                                           cusparseXcsr2coo(peer_cusparse_handle, offsets, (int)a->nnz, (int)a->rows,
                                                            rows, CUSPARSE_INDEX_BASE_ZERO),
                                           "cusparseXcsr2coo"));
    } else {
        SPRY_PEER_TRY(upload_rows(p, &rows));
    }
    SPRY_PEER_TRY(upload_csr(p, p->kept, NULL, &columns, &values));
    p->bytes = a->nnz * (a->value_bytes + 2 * a->index_bytes);
    return peer_cusparse_answer(p,
                                cusparseCreateConstCoo(p->A, a->rows, a->cols, a->nnz, rows, columns, values,
                                                       index_type(a->index_bytes), CUSPARSE_INDEX_BASE_ZERO, p->type),
                                "cusparseCreateConstCoo");
}

int peer_cusparse_csc(peer_cusparse_preparation *p)
{
    const spry_peer_matrix *a = p->a;
    void *csr_offsets, *columns, *csr_values, *offsets, *rows, *values, *workspace;
    int m = (int)a->rows, n = (int)a->cols, nnz = (int)a->nnz;
    size_t bytes = 0;
    if (!is_narrow(a))
        return spry_peer_fail(p->error, SPRY_PEER_UNSUPPORTED,
                              "cuSPARSE converts to CSC with indices 32/32 alone (cusparseCsr2cscEx2)");
    SPRY_PEER_TRY(upload_csr(p, &p->temporary, &csr_offsets, &columns, &csr_values));
    SPRY_PEER_TRY(peer_cusparse_new_array(p, p->kept, &offsets, a->cols + 1, 4, "the column offsets"));
    SPRY_PEER_TRY(peer_cusparse_new_array(p, p->kept, &rows, a->nnz, 4, "the row indices"));
    SPRY_PEER_TRY(peer_cusparse_new_array(p, p->kept, &values, a->nnz, a->value_bytes, "the values by columns"));
    SPRY_PEER_TRY(
        peer_cusparse_answer(p,
                             cusparseCsr2cscEx2_bufferSize(peer_cusparse_handle, m, n, nnz, csr_values, csr_offsets,
                                                           columns, values, offsets, rows, p->type,
                                                           CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
                                                           CUSPARSE_CSR2CSC_ALG_DEFAULT, &bytes),
                             "cusparseCsr2cscEx2_bufferSize"));
    SPRY_PEER_TRY(peer_cusparse_new_array(p, &p->temporary, &workspace, (int64_t)bytes, 1,
                                          "the workspace of cusparseCsr2cscEx2"));
    SPRY_PEER_TRY(
        peer_cusparse_answer(p,
                             cusparseCsr2cscEx2(peer_cusparse_handle, m, n, nnz, csr_values, csr_offsets, columns,
                                                values, offsets, rows, p->type, CUSPARSE_ACTION_NUMERIC,
                                                CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG_DEFAULT, workspace),
                             "cusparseCsr2cscEx2"));
    p->bytes = a->nnz * (a->value_bytes + 4) + (a->cols + 1) * 4;
    return peer_cusparse_answer(p,
                                cusparseCreateConstCsc(p->A, a->rows, a->cols, a->nnz, offsets, rows, values,
                                                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                                       p->type),
                                "cusparseCreateConstCsc");
}

static int sell_upload(peer_cusparse_preparation *p, const sliced_ell *sell)
{
    const spry_peer_matrix *a = p->a;
    void *offsets, *columns, *values;
    SPRY_PEER_TRY(upload(p, p->kept, &offsets, sell->offsets, sell->slices + 1, a->offset_bytes, "the slice offsets"));
    SPRY_PEER_TRY(
        upload(p, p->kept, &columns, sell->columns, sell->slots, a->index_bytes, "the columns of the slices"));
    SPRY_PEER_TRY(upload(p, p->kept, &values, sell->values, sell->slots, a->value_bytes, "the values of the slices"));
    p->bytes = sell->slots * (a->value_bytes + a->index_bytes) + (sell->slices + 1) * a->offset_bytes;
    return peer_cusparse_answer(p,
                                cusparseCreateConstSlicedEll(p->A, a->rows, a->cols, a->nnz, sell->slots, SELL_SLICE,
                                                             offsets, columns, values, index_type(a->offset_bytes),
                                                             index_type(a->index_bytes), CUSPARSE_INDEX_BASE_ZERO,
                                                             p->type),
                                "cusparseCreateConstSlicedEll");
}

int peer_cusparse_sell(peer_cusparse_preparation *p)
{
    sliced_ell sell;
    int result = build_sell(&sell, p->a, p->request->threads, p->error);
    if (result == SPRY_PEER_OK) result = sell_upload(p, &sell);
    release_sell(&sell);
    return result;
}

#if HAS_BSR
static int convert_to_bsr(peer_cusparse_preparation *p, const peer_blocks *blocks, cusparseMatDescr_t descr)
{
    const spry_peer_matrix *a = p->a;
    void *csr_offsets, *csr_columns, *csr_values, *offsets, *columns, *values;
    int m = (int)a->rows, n = (int)a->cols, size = blocks->size, count = 0;
    int64_t area = (int64_t)size * size;
    SPRY_PEER_TRY(upload_csr(p, &p->temporary, &csr_offsets, &csr_columns, &csr_values));
    SPRY_PEER_TRY(
        peer_cusparse_new_array(p, p->kept, &offsets, a->rows / size + 1, 4, "the offsets of the rows of blocks"));
    SPRY_PEER_TRY(peer_cusparse_answer(p,
                                       cusparseXcsr2bsrNnz(peer_cusparse_handle, CUSPARSE_DIRECTION_ROW, m, n, descr,
                                                           csr_offsets, csr_columns, size, descr, offsets, &count),
                                       "cusparseXcsr2bsrNnz"));
    if (count != blocks->count)
        return spry_peer_fail(p->error, SPRY_PEER_FAILED, "cusparseXcsr2bsrNnz: %d blocks of side %d, expected %lld",
                              count, size, (long long)blocks->count);
    SPRY_PEER_TRY(peer_cusparse_new_array(p, p->kept, &columns, count, 4, "the columns of the blocks"));
    SPRY_PEER_TRY(
        peer_cusparse_new_array(p, p->kept, &values, count * area, a->value_bytes, "the values of the blocks"));
    cusparseStatus_t status =
        a->value_bytes == 8 ? cusparseDcsr2bsr(peer_cusparse_handle, CUSPARSE_DIRECTION_ROW, m, n, descr, csr_values,
                                               csr_offsets, csr_columns, size, descr, values, offsets, columns)
                            : cusparseScsr2bsr(peer_cusparse_handle, CUSPARSE_DIRECTION_ROW, m, n, descr, csr_values,
                                               csr_offsets, csr_columns, size, descr, values, offsets, columns);
    SPRY_PEER_TRY(peer_cusparse_answer(p, status, a->value_bytes == 8 ? "cusparseDcsr2bsr" : "cusparseScsr2bsr"));
    p->bytes = count * (area * a->value_bytes + 4) + (a->rows / size + 1) * 4;
    return peer_cusparse_answer(p,
                                cusparseCreateConstBsr(p->A, a->rows / size, a->cols / size, count, size, size, offsets,
                                                       columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                                       CUSPARSE_INDEX_BASE_ZERO, p->type, CUSPARSE_ORDER_ROW),
                                "cusparseCreateConstBsr");
}

int peer_cusparse_bsr(peer_cusparse_preparation *p)
{
    peer_blocks blocks;
    cusparseMatDescr_t descr = NULL; /* the defaults: a general matrix with indices from zero */
    if (!is_narrow(p->a))
        return spry_peer_fail(p->error, SPRY_PEER_UNSUPPORTED,
                              "cuSPARSE converts to BSR only with indices 32/32 (cusparse<t>csr2bsr)");
    if (p->request->transpose)
        return spry_peer_fail(p->error, SPRY_PEER_UNSUPPORTED, "cuSPARSE has no transposed product of BSR");
    SPRY_PEER_TRY(peer_blocks_find(&blocks, p->a, p->error));
    SPRY_PEER_TRY(peer_cusparse_answer(p, cusparseCreateMatDescr(&descr), "cusparseCreateMatDescr"));
    int result = convert_to_bsr(p, &blocks, descr);
    cusparseStatus_t status = cusparseDestroyMatDescr(descr);
    return result != SPRY_PEER_OK ? result : peer_cusparse_answer(p, status, "cusparseDestroyMatDescr");
}
#else
int peer_cusparse_bsr(peer_cusparse_preparation *p)
{
    return spry_peer_fail(p->error, SPRY_PEER_UNSUPPORTED,
                          "this module was built with cuSPARSE %d.%d.%d, whose products have no BSR",
                          CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH);
}
#endif

/* ---- begin and end ------------------------------------------------------------------------------ */

/* Creates a CUDA context and cuSPARSE's handle, unless they exist. */
static int start(const peer_cusparse_preparation *p, spry_peer_cost *cost)
{
    if (peer_cusparse_handle) return SPRY_PEER_OK;
    double begin = now_us();
    SPRY_PEER_TRY(peer_cusparse_cuda_answer(p, cudaFree(NULL), "starting CUDA"));
    cusparseStatus_t status = cusparseCreate(&peer_cusparse_handle);
    if (status != CUSPARSE_STATUS_SUCCESS) peer_cusparse_handle = NULL;
    SPRY_PEER_TRY(peer_cusparse_answer(p, status, "cusparseCreate"));
    cost->startup_us = now_us() - begin;
    return SPRY_PEER_OK;
}

int peer_cusparse_begin(peer_cusparse_preparation *p, const spry_peer_request *request, spry_peer_cost *cost,
                        spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->matrix;
    *p = (peer_cusparse_preparation){.request = request,
                                     .a = a,
                                     .type = a->value_bytes == 8 ? CUDA_R_64F : CUDA_R_32F,
                                     .op = request->transpose ? CUSPARSE_OPERATION_TRANSPOSE
                                                              : CUSPARSE_OPERATION_NON_TRANSPOSE,
                                     .x_length = request->transpose ? a->rows : a->cols,
                                     .y_length = request->transpose ? a->cols : a->rows,
                                     .error = error};
    if (a->rows == 0 || a->cols == 0)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "this module leaves out matrices without rows or columns");
    return start(p, cost);
}

void peer_cusparse_end(peer_cusparse_preparation *p, spry_peer_cost *cost)
{
    peer_cusparse_free_arrays(&p->temporary);
    cost->upload_us = p->upload_us;
    cost->bytes = p->bytes;
    cost->threads = 0; /* host threads: 0, as for GPU kernels of Spry */
}
