/*
 * cuSPARSE's product cusparseSpMV on the first GPU, one kernel for each format and algorithm:
 *   cusparse_csr_alg1, cusparse_csr_alg2   the caller's arrays, uploaded
 *   cusparse_coo_alg1, cusparse_coo_alg2   row indices by cusparseXcsr2coo, or on the host where indices are not 32/32
 *   cusparse_csc                           converted on the GPU by cusparseCsr2cscEx2 (indices 32/32)
 *   cusparse_sell                          slices of 32 rows as they come, made on the host: cuSPARSE has no conversion
 *   cusparse_bsr                           converted on the GPU by cusparse<t>csr2bsr (indices 32/32)
 *   cusparse_spmvop_alg1, cusparse_spmvop_alg2   cusparseSpMVOp of the caller's arrays (cuSPARSE 12.9.4), whose plan is
 *                                                linked by nvJitLink
 *   the same with _f32, _f16, _bf16            values stored in that type beside f64 (_f32) or f32 vectors and sums,
 *                                              where all are numbers of it: the matrix multiplied is the same
 *
 * prepare uploads, converts, allocates the workspace and calls cusparseSpMV_preprocess, which every kernel is given
 * the benefit of; it returns when the GPU has finished. A matrix is kept in one layout alone. The library's handle is
 * made once for the process, in the first prepare, and its time told as start-up. Work goes to the default stream.
 */
#include "bench/peer.h"
#include "bench/peers/blocks.h"
#include "bench/peers/cusparse_spgemm.h"
#include "bench/peers/narrow.h"
#include "bench/peers/sell.h"
#include "common/clock.h"

/* cusparse<t>csr2bsr is on its way out and has no successor. */
#define DISABLE_CUSPARSE_DEPRECATED
#define CUSPARSE_ENABLE_EXPERIMENTAL_API /* SpMVOp */
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first with BSR in cusparseSpMV, CUDA 13.0's. */
#define HAS_BSR (CUSPARSE_VERSION >= 12603 && CUSPARSE_VER_MAJOR == 12)

/* The first with SpMVOp as it is used here. */
#define HAS_SPMVOP (CUSPARSE_VERSION >= 12904)

enum { MOST_ARRAYS = 8 };

static cusparseHandle_t handle; /* NULL until the first prepare */

/* Arrays in device memory. */
typedef struct memory {
    void *arrays[MOST_ARRAYS];
    int count;
} memory;

typedef struct cusparse_state {
    cusparseConstSpMatDescr_t A;
    cusparseDnVecDescr_t x, y; /* their pointers are set by each product */
    cusparseOperation_t op;
    cusparseSpMVAlg_t algorithm;
    cudaDataType type;
    void *buffer;
#if HAS_SPMVOP
    cusparseSpMVOpDescr_t op_descr; /* NULL: cusparseSpMV multiplies */
    cusparseSpMVOpPlan_t op_plan;
#endif
    memory kept;
} cusparse_state;

/* The state of a preparation. */
typedef struct preparation {
    cusparse_state *s;
    const spry_peer_request *request;
    const spry_peer_matrix *a;
    double upload_us;
    int64_t bytes;    /* of the matrix as stored */
    memory *kept;     /* with the state, */
    memory temporary; /* and until the state is ready */
    spry_peer_error *error;
} preparation;

/* ---- answers ------------------------------------------------------------------------------------ */

static int cuda_answer(const preparation *p, cudaError_t code, const char *call)
{
    if (code == cudaSuccess) return SPRY_PEER_OK;
    (void)cudaGetLastError(); /* an allocation that failed must not be found by a later call */
    return spry_peer_fail(p->error, SPRY_PEER_FAILED, "%s: %s", call, cudaGetErrorString(code));
}

static int answer(const preparation *p, cusparseStatus_t status, const char *call)
{
    if (status == CUSPARSE_STATUS_SUCCESS) return SPRY_PEER_OK;
    return spry_peer_fail(p->error, status == CUSPARSE_STATUS_NOT_SUPPORTED ? SPRY_PEER_UNSUPPORTED : SPRY_PEER_FAILED,
                          "%s: %s", call, cusparseGetErrorString(status));
}

/* ---- device memory ------------------------------------------------------------------------------ */

/* An array that lives as long as the others of its memory. */
static int new_array(preparation *p, memory *of, void **array, int64_t count, int bytes, const char *what)
{
    const size_t size = (size_t)count * (size_t)bytes;
    cudaError_t code = cudaMalloc(array, size > 0 ? size : 1);
    if (code == cudaSuccess) {
        of->arrays[of->count++] = *array;
        return SPRY_PEER_OK;
    }
    *array = NULL;
    (void)cudaGetLastError();
    return spry_peer_fail(p->error, SPRY_PEER_FAILED, "cudaMalloc of %zu bytes for %s: %s", size, what,
                          cudaGetErrorString(code));
}

static void free_arrays(memory *of)
{
    for (int i = 0; i < of->count; i++) (void)cudaFree(of->arrays[i]);
}

/* Makes an array and fills it from the host's; the time is counted as the library counts its own. */
static int upload(preparation *p, memory *of, void **array, const void *from, int64_t count, int bytes,
                  const char *what)
{
    double start = now_us();
    SPRY_PEER_TRY(new_array(p, of, array, count, bytes, what));
    if (count > 0) {
        cudaError_t code = cudaMemcpy(*array, from, (size_t)count * (size_t)bytes, cudaMemcpyHostToDevice);
        SPRY_PEER_TRY(cuda_answer(p, code, "cudaMemcpy to the GPU"));
        SPRY_PEER_TRY(cuda_answer(p, cudaStreamSynchronize(NULL), "cudaStreamSynchronize after an upload"));
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

/* The caller's three arrays; each pointer may be NULL, where the array is not wanted. */
static int upload_csr(preparation *p, memory *of, void **offsets, void **columns, void **values)
{
    const spry_peer_matrix *a = p->a;
    if (offsets) SPRY_PEER_TRY(upload(p, of, offsets, a->offsets, a->rows + 1, a->offset_bytes, "the row offsets"));
    if (columns) SPRY_PEER_TRY(upload(p, of, columns, a->columns, a->nnz, a->index_bytes, "the columns"));
    if (values) SPRY_PEER_TRY(upload(p, of, values, a->values, a->nnz, a->value_bytes, "the values"));
    return SPRY_PEER_OK;
}

static int make_csr_of(preparation *p, const void *stored, int value_bytes, cudaDataType type)
{
    const spry_peer_matrix *a = p->a;
    void *offsets, *columns, *values;
    SPRY_PEER_TRY(upload_csr(p, p->kept, &offsets, &columns, NULL));
    SPRY_PEER_TRY(upload(p, p->kept, &values, stored, a->nnz, value_bytes, "the values"));
    p->bytes = a->nnz * (value_bytes + a->index_bytes) + (a->rows + 1) * a->offset_bytes;
    return answer(p,
                  cusparseCreateConstCsr(&p->s->A, a->rows, a->cols, a->nnz, offsets, columns, values,
                                         index_type(a->offset_bytes), index_type(a->index_bytes),
                                         CUSPARSE_INDEX_BASE_ZERO, type),
                  "cusparseCreateConstCsr");
}

static int make_csr(preparation *p)
{
    return make_csr_of(p, p->a->values, p->a->value_bytes, p->s->type);
}

/* The values as numbers of a narrower type. */
static int make_narrow(preparation *p, const peer_narrow_type *narrow, cudaDataType type)
{
    void *stored;
    SPRY_PEER_TRY(peer_narrow(&stored, p->a, narrow, p->error));
    const int result = make_csr_of(p, stored, narrow->bytes, type);
    free(stored);
    return result;
}

static int make_csr_f32(preparation *p)
{
    return make_narrow(p, &peer_f32, CUDA_R_32F);
}

static int make_csr_f16(preparation *p)
{
    return make_narrow(p, &peer_f16, CUDA_R_16F);
}

static int make_csr_bf16(preparation *p)
{
    return make_narrow(p, &peer_bf16, CUDA_R_16BF);
}

/* Row indices made on the host, as wide as the columns. */
static int upload_rows(preparation *p, void **rows)
{
    const spry_peer_matrix *a = p->a;
    if (a->index_bytes == 4 && a->rows > INT32_MAX)
        return spry_peer_fail(p->error, SPRY_PEER_UNSUPPORTED, "32-bit row indices cannot tell so many rows");
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

static int make_coo(preparation *p)
{
    const spry_peer_matrix *a = p->a;
    void *offsets, *rows, *columns, *values;
    if (is_narrow(a)) {
        SPRY_PEER_TRY(upload_csr(p, &p->temporary, &offsets, NULL, NULL));
        SPRY_PEER_TRY(new_array(p, p->kept, &rows, a->nnz, 4, "the row indices"));
        SPRY_PEER_TRY(
            answer(p, cusparseXcsr2coo(handle, offsets, (int)a->nnz, (int)a->rows, rows, CUSPARSE_INDEX_BASE_ZERO),
                   "cusparseXcsr2coo"));
    } else {
        SPRY_PEER_TRY(upload_rows(p, &rows));
    }
    SPRY_PEER_TRY(upload_csr(p, p->kept, NULL, &columns, &values));
    p->bytes = a->nnz * (a->value_bytes + 2 * a->index_bytes);
    return answer(p,
                  cusparseCreateConstCoo(&p->s->A, a->rows, a->cols, a->nnz, rows, columns, values,
                                         index_type(a->index_bytes), CUSPARSE_INDEX_BASE_ZERO, p->s->type),
                  "cusparseCreateConstCoo");
}

static int make_csc(preparation *p)
{
    const spry_peer_matrix *a = p->a;
    void *csr_offsets, *columns, *csr_values, *offsets, *rows, *values, *workspace;
    int m = (int)a->rows, n = (int)a->cols, nnz = (int)a->nnz;
    size_t bytes = 0;
    if (!is_narrow(a))
        return spry_peer_fail(p->error, SPRY_PEER_UNSUPPORTED,
                              "cuSPARSE converts to CSC with indices 32/32 alone (cusparseCsr2cscEx2)");
    SPRY_PEER_TRY(upload_csr(p, &p->temporary, &csr_offsets, &columns, &csr_values));
    SPRY_PEER_TRY(new_array(p, p->kept, &offsets, a->cols + 1, 4, "the column offsets"));
    SPRY_PEER_TRY(new_array(p, p->kept, &rows, a->nnz, 4, "the row indices"));
    SPRY_PEER_TRY(new_array(p, p->kept, &values, a->nnz, a->value_bytes, "the values by columns"));
    SPRY_PEER_TRY(answer(p,
                         cusparseCsr2cscEx2_bufferSize(handle, m, n, nnz, csr_values, csr_offsets, columns, values,
                                                       offsets, rows, p->s->type, CUSPARSE_ACTION_NUMERIC,
                                                       CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG_DEFAULT, &bytes),
                         "cusparseCsr2cscEx2_bufferSize"));
    SPRY_PEER_TRY(new_array(p, &p->temporary, &workspace, (int64_t)bytes, 1, "the workspace of cusparseCsr2cscEx2"));
    SPRY_PEER_TRY(answer(p,
                         cusparseCsr2cscEx2(handle, m, n, nnz, csr_values, csr_offsets, columns, values, offsets, rows,
                                            p->s->type, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
                                            CUSPARSE_CSR2CSC_ALG_DEFAULT, workspace),
                         "cusparseCsr2cscEx2"));
    p->bytes = a->nnz * (a->value_bytes + 4) + (a->cols + 1) * 4;
    return answer(p,
                  cusparseCreateConstCsc(&p->s->A, a->rows, a->cols, a->nnz, offsets, rows, values, CUSPARSE_INDEX_32I,
                                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, p->s->type),
                  "cusparseCreateConstCsc");
}

static int sell_upload(preparation *p, const peer_sell *sell)
{
    const spry_peer_matrix *a = p->a;
    void *offsets, *columns, *values;
    SPRY_PEER_TRY(upload(p, p->kept, &offsets, sell->offsets, sell->slices + 1, a->offset_bytes, "the slice offsets"));
    SPRY_PEER_TRY(
        upload(p, p->kept, &columns, sell->columns, sell->slots, a->index_bytes, "the columns of the slices"));
    SPRY_PEER_TRY(upload(p, p->kept, &values, sell->values, sell->slots, a->value_bytes, "the values of the slices"));
    p->bytes = sell->slots * (a->value_bytes + a->index_bytes) + (sell->slices + 1) * a->offset_bytes;
    return answer(p,
                  cusparseCreateConstSlicedEll(&p->s->A, a->rows, a->cols, a->nnz, sell->slots, PEER_SELL_SLICE,
                                               offsets, columns, values, index_type(a->offset_bytes),
                                               index_type(a->index_bytes), CUSPARSE_INDEX_BASE_ZERO, p->s->type),
                  "cusparseCreateConstSlicedEll");
}

static int make_sell(preparation *p)
{
    peer_sell sell;
    int result = peer_sell_build(&sell, p->a, p->request->threads, p->error);
    if (result == SPRY_PEER_OK) result = sell_upload(p, &sell);
    peer_sell_release(&sell);
    return result;
}

#if HAS_BSR
static int convert_to_bsr(preparation *p, const peer_blocks *blocks, cusparseMatDescr_t descr)
{
    const spry_peer_matrix *a = p->a;
    void *csr_offsets, *csr_columns, *csr_values, *offsets, *columns, *values;
    int m = (int)a->rows, n = (int)a->cols, size = blocks->size, count = 0;
    int64_t area = (int64_t)size * size;
    SPRY_PEER_TRY(upload_csr(p, &p->temporary, &csr_offsets, &csr_columns, &csr_values));
    SPRY_PEER_TRY(new_array(p, p->kept, &offsets, a->rows / size + 1, 4, "the offsets of the rows of blocks"));
    SPRY_PEER_TRY(answer(p,
                         cusparseXcsr2bsrNnz(handle, CUSPARSE_DIRECTION_ROW, m, n, descr, csr_offsets, csr_columns,
                                             size, descr, offsets, &count),
                         "cusparseXcsr2bsrNnz"));
    if (count != blocks->count)
        return spry_peer_fail(p->error, SPRY_PEER_FAILED, "cusparseXcsr2bsrNnz: %d blocks of side %d, expected %lld",
                              count, size, (long long)blocks->count);
    SPRY_PEER_TRY(new_array(p, p->kept, &columns, count, 4, "the columns of the blocks"));
    SPRY_PEER_TRY(new_array(p, p->kept, &values, count * area, a->value_bytes, "the values of the blocks"));
    cusparseStatus_t status = a->value_bytes == 8
                                  ? cusparseDcsr2bsr(handle, CUSPARSE_DIRECTION_ROW, m, n, descr, csr_values,
                                                     csr_offsets, csr_columns, size, descr, values, offsets, columns)
                                  : cusparseScsr2bsr(handle, CUSPARSE_DIRECTION_ROW, m, n, descr, csr_values,
                                                     csr_offsets, csr_columns, size, descr, values, offsets, columns);
    SPRY_PEER_TRY(answer(p, status, a->value_bytes == 8 ? "cusparseDcsr2bsr" : "cusparseScsr2bsr"));
    p->bytes = count * (area * a->value_bytes + 4) + (a->rows / size + 1) * 4;
    return answer(p,
                  cusparseCreateConstBsr(&p->s->A, a->rows / size, a->cols / size, count, size, size, offsets, columns,
                                         values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                         p->s->type, CUSPARSE_ORDER_ROW),
                  "cusparseCreateConstBsr");
}

static int make_bsr(preparation *p)
{
    peer_blocks blocks;
    cusparseMatDescr_t descr = NULL; /* general, from zero */
    if (!is_narrow(p->a))
        return spry_peer_fail(p->error, SPRY_PEER_UNSUPPORTED,
                              "cuSPARSE converts to BSR with indices 32/32 alone (cusparse<t>csr2bsr)");
    if (p->request->transpose)
        return spry_peer_fail(p->error, SPRY_PEER_UNSUPPORTED, "cuSPARSE has no transposed product of BSR");
    SPRY_PEER_TRY(peer_blocks_find(&blocks, p->a, p->error));
    SPRY_PEER_TRY(answer(p, cusparseCreateMatDescr(&descr), "cusparseCreateMatDescr"));
    int result = convert_to_bsr(p, &blocks, descr);
    cusparseStatus_t status = cusparseDestroyMatDescr(descr);
    return result != SPRY_PEER_OK ? result : answer(p, status, "cusparseDestroyMatDescr");
}
#else
#define CUSPARSE_SPMV_BSR_ALG1 CUSPARSE_SPMV_ALG_DEFAULT
static int make_bsr(preparation *p)
{
    return spry_peer_fail(p->error, SPRY_PEER_UNSUPPORTED,
                          "this module was built with cuSPARSE %d.%d.%d, whose cusparseSpMV has no BSR",
                          CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH);
}
#endif

/* ---- SpMVOp ------------------------------------------------------------------------------------- */

#if HAS_SPMVOP
/* Makes the plan of SpMVOp; the vectors' descriptors are there. */
static int plan_operation(preparation *p, cusparseSpMVOpAlg_t algorithm)
{
    cusparse_state *s = p->s;
    size_t bytes = 0;
    SPRY_PEER_TRY(answer(p,
                         cusparseSpMVOp_bufferSize(handle, s->op, s->A, s->x, s->y, s->y, s->type, algorithm, &bytes),
                         "cusparseSpMVOp_bufferSize"));
    SPRY_PEER_TRY(new_array(p, p->kept, &s->buffer, (int64_t)bytes, 1, "the workspace of cusparseSpMVOp"));
    SPRY_PEER_TRY(answer(p,
                         cusparseSpMVOp_createDescr(handle, &s->op_descr, s->op, s->A, s->x, s->y, s->y, s->type,
                                                    algorithm, s->buffer),
                         "cusparseSpMVOp_createDescr"));
    SPRY_PEER_TRY(
        answer(p, cusparseSpMVOp_createPlan(handle, s->op_descr, &s->op_plan, NULL, 0), "cusparseSpMVOp_createPlan"));
    return cuda_answer(p, cudaStreamSynchronize(NULL), "cudaStreamSynchronize after the preparation");
}

static cusparseStatus_t run_operation(const cusparse_state *s, const void *alpha, const void *beta)
{
    return cusparseSpMVOp(handle, s->op_plan, alpha, beta, s->x, s->y, s->y);
}

static void destroy_operation(cusparse_state *s)
{
    if (s->op_plan) (void)cusparseSpMVOp_destroyPlan(s->op_plan);
    if (s->op_descr) (void)cusparseSpMVOp_destroyDescr(s->op_descr);
}

#define IS_OPERATION(s) ((s)->op_plan != NULL)
#else
#define CUSPARSE_SPMVOP_ALG1 1
#define CUSPARSE_SPMVOP_ALG2 2
#define IS_OPERATION(s) 0

static int plan_operation(preparation *p, int algorithm)
{
    (void)algorithm;
    return spry_peer_fail(p->error, SPRY_PEER_UNSUPPORTED,
                          "this module was built with cuSPARSE %d.%d.%d, which lacks SpMVOp", CUSPARSE_VER_MAJOR,
                          CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH);
}

static cusparseStatus_t run_operation(const cusparse_state *s, const void *alpha, const void *beta)
{
    (void)s, (void)alpha, (void)beta;
    return CUSPARSE_STATUS_NOT_SUPPORTED;
}

static void destroy_operation(cusparse_state *s)
{
    (void)s;
}
#endif

/* ---- the kernels -------------------------------------------------------------------------------- */

static void destroy(void *state)
{
    cusparse_state *s = state;
    (void)cudaStreamSynchronize(NULL); /* a product may still be under way */
    destroy_operation(s);
    if (s->x) (void)cusparseDestroyDnVec(s->x);
    if (s->y) (void)cusparseDestroyDnVec(s->y);
    if (s->A) (void)cusparseDestroySpMat(s->A);
    free_arrays(&s->kept);
    free(s);
}

/* The vectors behind the descriptors are room alone, until run sets its own. */
static int make_vectors(preparation *p)
{
    cusparse_state *s = p->s;
    const spry_peer_matrix *a = p->a;
    int64_t x_length = p->request->transpose ? a->rows : a->cols, y_length = a->rows + a->cols - x_length;
    void *x, *y;
    SPRY_PEER_TRY(new_array(p, &p->temporary, &x, x_length, a->value_bytes, "x"));
    SPRY_PEER_TRY(new_array(p, &p->temporary, &y, y_length, a->value_bytes, "y"));
    SPRY_PEER_TRY(answer(p, cusparseCreateDnVec(&s->x, x_length, x, s->type), "cusparseCreateDnVec"));
    return answer(p, cusparseCreateDnVec(&s->y, y_length, y, s->type), "cusparseCreateDnVec");
}

/* Workspace and preprocessing of cusparseSpMV. */
static int preprocess(preparation *p)
{
    cusparse_state *s = p->s;
    const spry_peer_matrix *a = p->a;
    float one_f32 = 1, zero_f32 = 0;
    double one_f64 = 1, zero_f64 = 0;
    const void *one = a->value_bytes == 8 ? (const void *)&one_f64 : &one_f32;
    const void *zero = a->value_bytes == 8 ? (const void *)&zero_f64 : &zero_f32;
    size_t bytes = 0;
    SPRY_PEER_TRY(
        answer(p, cusparseSpMV_bufferSize(handle, s->op, one, s->A, s->x, zero, s->y, s->type, s->algorithm, &bytes),
               "cusparseSpMV_bufferSize"));
    SPRY_PEER_TRY(new_array(p, p->kept, &s->buffer, (int64_t)bytes, 1, "the workspace of cusparseSpMV"));
    cusparseStatus_t status =
        cusparseSpMV_preprocess(handle, s->op, one, s->A, s->x, zero, s->y, s->type, s->algorithm, s->buffer);
    /* It is optional: a format without it is multiplied without it. */
    if (status != CUSPARSE_STATUS_NOT_SUPPORTED) SPRY_PEER_TRY(answer(p, status, "cusparseSpMV_preprocess"));
    return cuda_answer(p, cudaStreamSynchronize(NULL), "cudaStreamSynchronize after the preparation");
}

/* A CUDA context, where there is none yet, and cuSPARSE's handle. */
static int start(const preparation *p, spry_peer_cost *cost)
{
    if (handle) return SPRY_PEER_OK;
    double begin = now_us();
    SPRY_PEER_TRY(cuda_answer(p, cudaFree(NULL), "starting CUDA"));
    cusparseStatus_t status = cusparseCreate(&handle);
    if (status != CUSPARSE_STATUS_SUCCESS) handle = NULL;
    SPRY_PEER_TRY(answer(p, status, "cusparseCreate"));
    cost->startup_us = now_us() - begin;
    return SPRY_PEER_OK;
}

/* How each kernel stores and multiplies; the kernels' variants are numbers of these. */
enum {
    CSR_ALG1,
    CSR_ALG2,
    CSC,
    COO_ALG1,
    COO_ALG2,
    SELL,
    BSR,
    OP_ALG1,
    OP_ALG2,
    CSR_F32,
    CSR_F16,
    CSR_BF16,
    OP_ALG1_F32,
    OP_ALG2_F32
};
static const struct {
    int (*make)(preparation *);
    cusparseSpMVAlg_t algorithm;
    int operation; /* number of SpMVOp's algorithm; 0: cusparseSpMV */
} ways[] = {[CSR_ALG1] = {make_csr, CUSPARSE_SPMV_CSR_ALG1, 0},
            [CSR_ALG2] = {make_csr, CUSPARSE_SPMV_CSR_ALG2, 0},
            [CSC] = {make_csc, CUSPARSE_SPMV_CSR_ALG1, 0},
            [COO_ALG1] = {make_coo, CUSPARSE_SPMV_COO_ALG1, 0},
            [COO_ALG2] = {make_coo, CUSPARSE_SPMV_COO_ALG2, 0},
            [SELL] = {make_sell, CUSPARSE_SPMV_SELL_ALG1, 0},
            [BSR] = {make_bsr, CUSPARSE_SPMV_BSR_ALG1, 0},
            [OP_ALG1] = {make_csr, CUSPARSE_SPMV_ALG_DEFAULT, 1},
            [OP_ALG2] = {make_csr, CUSPARSE_SPMV_ALG_DEFAULT, 2},
            [CSR_F32] = {make_csr_f32, CUSPARSE_SPMV_CSR_ALG1, 0},
            [CSR_F16] = {make_csr_f16, CUSPARSE_SPMV_CSR_ALG1, 0},
            [CSR_BF16] = {make_csr_bf16, CUSPARSE_SPMV_CSR_ALG1, 0},
            [OP_ALG1_F32] = {make_csr_f32, CUSPARSE_SPMV_ALG_DEFAULT, 1},
            [OP_ALG2_F32] = {make_csr_f32, CUSPARSE_SPMV_ALG_DEFAULT, 2}};

static int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->matrix;
    preparation p = {.request = request, .a = a, .error = error};
    if (a->rows == 0 || a->cols == 0)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "this module leaves out matrices without rows or columns");
    SPRY_PEER_TRY(start(&p, cost));
    p.s = spry_peer_new(state, sizeof *p.s, error);
    if (!p.s) return SPRY_PEER_FAILED;
    p.kept = &p.s->kept;
    p.s->type = a->value_bytes == 8 ? CUDA_R_64F : CUDA_R_32F;
    p.s->op = request->transpose ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
    p.s->algorithm = ways[request->variant].algorithm;
    const int operation = ways[request->variant].operation;
    int result = ways[request->variant].make(&p);
    if (result == SPRY_PEER_OK) result = make_vectors(&p);
    if (result == SPRY_PEER_OK)
        result = operation == 1   ? plan_operation(&p, CUSPARSE_SPMVOP_ALG1)
                 : operation == 2 ? plan_operation(&p, CUSPARSE_SPMVOP_ALG2)
                                  : preprocess(&p);
    free_arrays(&p.temporary);
    cost->upload_us = p.upload_us;
    cost->bytes = p.bytes;
    cost->threads = 0; /* of the host: as for the library's own GPU kernels */
    /* Transposed, the second algorithms are the first ones, which promise nothing. */
    if (request->transpose) cost->deterministic = 0;
    return result;
}

static int run(void *state, double alpha, const void *x, double beta, void *y)
{
    const cusparse_state *s = state;
    float alpha_f32 = (float)alpha, beta_f32 = (float)beta;
    const void *a = s->type == CUDA_R_64F ? (const void *)&alpha : &alpha_f32;
    const void *b = s->type == CUDA_R_64F ? (const void *)&beta : &beta_f32;
    /* The vectors' descriptors alone lack const; x is not written to. */
    if (cusparseDnVecSetValues(s->x, (void *)(uintptr_t)x) != CUSPARSE_STATUS_SUCCESS ||
        cusparseDnVecSetValues(s->y, y) != CUSPARSE_STATUS_SUCCESS)
        return SPRY_PEER_FAILED;
    cusparseStatus_t status =
        IS_OPERATION(s) ? run_operation(s, a, b)
                        : cusparseSpMV(handle, s->op, a, s->A, s->x, b, s->y, s->type, s->algorithm, s->buffer);
    return status == CUSPARSE_STATUS_SUCCESS ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

/* deterministic is what cuSPARSE's documentation promises of each algorithm. */
static const spry_peer_kernel kernels[] =
    {{"cusparse_csr_alg1", "csr", "cuda", "cuSPARSE SpMV CSR_ALG1 after preprocess", 0, prepare, run, destroy,
      CSR_ALG1},
     {"cusparse_csr_alg2", "csr", "cuda", "cuSPARSE SpMV CSR_ALG2 after preprocess", 1, prepare, run, destroy,
      CSR_ALG2},
     {"cusparse_csc", "csc", "cuda", "cuSPARSE SpMV CSR_ALG1 on CSC", 0, prepare, run, destroy, CSC},
     {"cusparse_coo_alg1", "coo", "cuda", "cuSPARSE SpMV COO_ALG1", 0, prepare, run, destroy, COO_ALG1},
     {"cusparse_coo_alg2", "coo", "cuda", "cuSPARSE SpMV COO_ALG2", 1, prepare, run, destroy, COO_ALG2},
     {"cusparse_sell", "sell", "cuda", "cuSPARSE SpMV SELL_ALG1, slices of 32 rows converted on the host", 1, prepare,
      run, destroy, SELL},
     {"cusparse_bsr", "bsr", "cuda", "cuSPARSE SpMV BSR_ALG1", -1, prepare, run, destroy, BSR},
     {"cusparse_spmvop_alg1", "csr", "cuda", "cuSPARSE SpMVOp ALG1", -1, prepare, run, destroy, OP_ALG1},
     {"cusparse_spmvop_alg2", "csr", "cuda", "cuSPARSE SpMVOp ALG2", -1, prepare, run, destroy, OP_ALG2},
     {"cusparse_csr_alg1_f32", "csr", "cuda", "cuSPARSE SpMV CSR_ALG1, values stored as f32", 0, prepare, run, destroy,
      CSR_F32},
     {"cusparse_csr_alg1_f16", "csr", "cuda", "cuSPARSE SpMV CSR_ALG1, values stored as f16", 0, prepare, run, destroy,
      CSR_F16},
     {"cusparse_csr_alg1_bf16", "csr", "cuda", "cuSPARSE SpMV CSR_ALG1, values stored as bf16", 0, prepare, run,
      destroy, CSR_BF16},
     {"cusparse_spmvop_alg1_f32", "csr", "cuda", "cuSPARSE SpMVOp ALG1, values stored as f32", -1, prepare, run,
      destroy, OP_ALG1_F32},
     {"cusparse_spmvop_alg2_f32", "csr", "cuda", "cuSPARSE SpMVOp ALG2, values stored as f32", -1, prepare, run,
      destroy, OP_ALG2_F32}};

static int part_of_version(libraryPropertyType part)
{
    int value = 0;
    return cusparseGetProperty(part, &value) == CUSPARSE_STATUS_SUCCESS ? value : 0;
}

const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    static char version[64];
    static const spry_peer_module module = {.abi = SPRY_PEER_ABI,
                                            .name = "cusparse",
                                            .version = version,
                                            .kernel_count = sizeof kernels / sizeof *kernels,
                                            .kernels = kernels,
                                            .spgemm_count = PEER_CUSPARSE_SPGEMM,
                                            .spgemm = peer_cusparse_spgemm};
    int devices = 0;
    cudaError_t code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess || devices == 0) {
        (void)cudaGetLastError();
        spry_peer_fail(error, SPRY_PEER_FAILED, "cuSPARSE needs a GPU: %s",
                       code == cudaSuccess ? "no CUDA device is visible" : cudaGetErrorString(code));
        return NULL;
    }
    snprintf(version, sizeof version, "%d.%d.%d", part_of_version(MAJOR_VERSION), part_of_version(MINOR_VERSION),
             part_of_version(PATCH_LEVEL));
    return &module;
}
