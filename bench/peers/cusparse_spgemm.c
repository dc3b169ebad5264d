/*
 * cuSPARSE's product of two sparse matrices on the first GPU: cusparseSpGEMM with ALG1, ALG2 and ALG3.
 *
 * prepare uploads the inputs. run covers the whole call: buffers, the estimate, the computation, the allocation of C's
 * arrays and the copy into them. All memory of run comes from CUDA's stream-ordered pool, which keeps freed memory.
 * prepare empties the pool, so only the first product allocates from the driver. Rows of C remain in the order of
 * cuSPARSE. ALG2 and ALG3 use chunks of a fifth of the intermediate products, as cuSPARSE's samples do. Insufficient
 * resources are a limit of the algorithm, not a failure. The reported bytes do not include buffers that cuSPARSE
 * allocates internally.
 */
#include "bench/peers/cusparse_layouts.h"

#include "common/wall_clock.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_BUFFERS = 3 };
static const float chunk_fraction = 0.2F;

static cusparseHandle_t handle; /* NULL until the first prepare */

typedef struct device_csr {
    cusparseSpMatDescr_t descr;
    void *arrays[3]; /* offsets, columns, values */
    int64_t bytes;
} device_csr;

typedef struct spgemm_state {
    device_csr a, b, c; /* b: empty if a is squared */
    int64_t rows, cols, nnz;
    int value_bytes, squared;
    cudaDataType type;
    cusparseSpGEMMAlg_t algorithm;
    cusparseSpGEMMDescr_t work;
    void *buffers[MOST_BUFFERS];
    int64_t buffer_bytes[MOST_BUFFERS];
    int64_t held, peak;
    void *host[3];          /* host copy of C after fetch */
    spry_peer_error *error; /* error of the current call */
} spgemm_state;

/* ---- answers ------------------------------------------------------------------------------------ */

static int cuda_answer(const spgemm_state *s, cudaError_t code, const char *call)
{
    if (code == cudaSuccess) return SPRY_PEER_OK;
    (void)cudaGetLastError(); /* clear the error, so that later calls do not report it */
    return spry_peer_fail(s->error, code == cudaErrorMemoryAllocation ? SPRY_PEER_UNSUPPORTED : SPRY_PEER_FAILED,
                          "%s: %s", call, cudaGetErrorString(code));
}

static int answer(const spgemm_state *s, cusparseStatus_t status, const char *call)
{
    if (status == CUSPARSE_STATUS_SUCCESS) return SPRY_PEER_OK;
    (void)cudaGetLastError();
    const int is_limit = status == CUSPARSE_STATUS_NOT_SUPPORTED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES ||
                         status == CUSPARSE_STATUS_ALLOC_FAILED;
    return spry_peer_fail(s->error, is_limit ? SPRY_PEER_UNSUPPORTED : SPRY_PEER_FAILED, "%s: %s", call,
                          cusparseGetErrorString(status));
}

/* ---- device memory ------------------------------------------------------------------------------ */

static int allocate(spgemm_state *s, void **array, int64_t bytes, const char *title)
{
    cudaError_t code = cudaMallocAsync(array, bytes > 0 ? (size_t)bytes : 1, NULL);
    if (code != cudaSuccess) {
        *array = NULL;
        (void)cudaGetLastError();
        return spry_peer_fail(s->error, SPRY_PEER_UNSUPPORTED,
                              "cannot allocate %lld bytes on the GPU for %s in addition to %lld bytes: %s",
                              (long long)bytes, title, (long long)s->held, cudaGetErrorString(code));
    }
    s->held += bytes;
    if (s->held > s->peak) s->peak = s->held;
    return SPRY_PEER_OK;
}

static void give_back(spgemm_state *s, void **array, int64_t bytes)
{
    if (!*array) return;
    (void)cudaFreeAsync(*array, NULL);
    *array = NULL;
    s->held -= bytes;
}

static int new_buffer(spgemm_state *s, int slot, size_t bytes, const char *title)
{
    SPRY_PEER_TRY(allocate(s, &s->buffers[slot], (int64_t)bytes, title));
    s->buffer_bytes[slot] = (int64_t)bytes;
    return SPRY_PEER_OK;
}

static void free_buffer(spgemm_state *s, int slot)
{
    give_back(s, &s->buffers[slot], s->buffer_bytes[slot]);
    s->buffer_bytes[slot] = 0;
}

static cusparseIndexType_t index_type(int bytes)
{
    return bytes == 8 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
}

/* ---- inputs ------------------------------------------------------------------------------------- */

static int upload(spgemm_state *s, device_csr *to, const spry_peer_matrix *a)
{
    const void *from[3] = {a->offsets, a->columns, a->values};
    const int64_t bytes[3] = {(a->rows + 1) * a->offset_bytes, a->nnz * a->index_bytes, a->nnz * a->value_bytes};
    for (int i = 0; i < 3; i++) {
        cudaError_t code = cudaMalloc(&to->arrays[i], bytes[i] > 0 ? (size_t)bytes[i] : 1);
        if (code != cudaSuccess) to->arrays[i] = NULL;
        SPRY_PEER_TRY(cuda_answer(s, code, "cudaMalloc for an input"));
        if (bytes[i] > 0)
            SPRY_PEER_TRY(cuda_answer(s, cudaMemcpy(to->arrays[i], from[i], (size_t)bytes[i], cudaMemcpyHostToDevice),
                                      "cudaMemcpy to the GPU"));
        to->bytes += bytes[i];
    }
    s->held += to->bytes;
    return answer(s,
                  cusparseCreateCsr(&to->descr, a->rows, a->cols, a->nnz, to->arrays[0], to->arrays[1], to->arrays[2],
                                    index_type(a->offset_bytes), index_type(a->index_bytes), CUSPARSE_INDEX_BASE_ZERO,
                                    s->type),
                  "cusparseCreateCsr");
}

static void free_input(device_csr *a)
{
    if (a->descr) (void)cusparseDestroySpMat(a->descr);
    for (int i = 0; i < 3; i++) (void)cudaFree(a->arrays[i]);
    *a = (device_csr){0};
}

/* ---- one product -------------------------------------------------------------------------------- */

static const void *scalar(const spgemm_state *s, int one)
{
    static const double f64[] = {0, 1};
    static const float f32[] = {0, 1};
    return s->type == CUDA_R_64F ? (const void *)&f64[one] : &f32[one];
}

#define AS_IS CUSPARSE_OPERATION_NON_TRANSPOSE
#define OPERANDS                                                                                                       \
    handle, AS_IS, AS_IS, scalar(s, 1), s->a.descr, b, scalar(s, 0), s->c.descr, s->type, s->algorithm, s->work

static int estimate_and_compute(spgemm_state *s)
{
    const cusparseSpMatDescr_t b = s->squared ? s->a.descr : s->b.descr;
    size_t first = 0, second = 0, third = 0;
    SPRY_PEER_TRY(answer(s, cusparseSpGEMM_workEstimation(OPERANDS, &first, NULL), "cusparseSpGEMM_workEstimation"));
    SPRY_PEER_TRY(new_buffer(s, 0, first, "cusparseSpGEMM_workEstimation"));
    SPRY_PEER_TRY(
        answer(s, cusparseSpGEMM_workEstimation(OPERANDS, &first, s->buffers[0]), "cusparseSpGEMM_workEstimation"));
    if (s->algorithm == CUSPARSE_SPGEMM_ALG1) {
        SPRY_PEER_TRY(answer(s, cusparseSpGEMM_compute(OPERANDS, &second, NULL), "cusparseSpGEMM_compute"));
    } else {
        SPRY_PEER_TRY(answer(s, cusparseSpGEMM_estimateMemory(OPERANDS, chunk_fraction, &third, NULL, NULL),
                             "cusparseSpGEMM_estimateMemory"));
        SPRY_PEER_TRY(new_buffer(s, 2, third, "cusparseSpGEMM_estimateMemory"));
        SPRY_PEER_TRY(answer(s, cusparseSpGEMM_estimateMemory(OPERANDS, chunk_fraction, &third, s->buffers[2], &second),
                             "cusparseSpGEMM_estimateMemory"));
        free_buffer(s, 2);
    }
    SPRY_PEER_TRY(new_buffer(s, 1, second, "cusparseSpGEMM_compute"));
    SPRY_PEER_TRY(answer(s, cusparseSpGEMM_compute(OPERANDS, &second, s->buffers[1]), "cusparseSpGEMM_compute"));
    return SPRY_PEER_OK;
}

static int copy_result(spgemm_state *s)
{
    const cusparseSpMatDescr_t b = s->squared ? s->a.descr : s->b.descr;
    int64_t rows, cols;
    SPRY_PEER_TRY(answer(s, cusparseSpMatGetSize(s->c.descr, &rows, &cols, &s->nnz), "cusparseSpMatGetSize"));
    const int64_t bytes[3] = {(s->rows + 1) * 4, s->nnz * 4, s->nnz * s->value_bytes};
    if (s->nnz > INT32_MAX)
        return spry_peer_fail(s->error, SPRY_PEER_UNSUPPORTED,
                              "the result has %lld entries, past cusparseSpGEMM's 32-bit offsets", (long long)s->nnz);
    for (int i = 0; i < 3; i++) {
        SPRY_PEER_TRY(allocate(s, &s->c.arrays[i], bytes[i], "the result"));
        s->c.bytes += bytes[i];
    }
    SPRY_PEER_TRY(answer(s, cusparseCsrSetPointers(s->c.descr, s->c.arrays[0], s->c.arrays[1], s->c.arrays[2]),
                         "cusparseCsrSetPointers"));
    return answer(s, cusparseSpGEMM_copy(OPERANDS), "cusparseSpGEMM_copy");
}

static int multiply(spgemm_state *s)
{
    SPRY_PEER_TRY(answer(s,
                         cusparseCreateCsr(&s->c.descr, s->rows, s->cols, 0, NULL, NULL, NULL, CUSPARSE_INDEX_32I,
                                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type),
                         "cusparseCreateCsr"));
    SPRY_PEER_TRY(answer(s, cusparseSpGEMM_createDescr(&s->work), "cusparseSpGEMM_createDescr"));
    SPRY_PEER_TRY(estimate_and_compute(s));
    return copy_result(s);
}

static void release(void *state)
{
    spgemm_state *s = state;
    if (s->c.descr) (void)cusparseDestroySpMat(s->c.descr);
    for (int i = 0; i < 3; i++) {
        if (s->c.arrays[i]) (void)cudaFreeAsync(s->c.arrays[i], NULL);
        free(s->host[i]);
        s->host[i] = NULL;
    }
    s->held -= s->c.bytes;
    s->c = (device_csr){0};
    (void)cudaStreamSynchronize(NULL);
}

static int run(void *state, spry_peer_product *product, spry_peer_error *error)
{
    spgemm_state *s = state;
    s->error = error;
    s->peak = s->held;
    int result = multiply(s);
    if (s->work) (void)cusparseSpGEMM_destroyDescr(s->work);
    s->work = NULL;
    for (int i = 0; i < MOST_BUFFERS; i++) free_buffer(s, i);
    cudaError_t code = cudaStreamSynchronize(NULL);
    if (result == SPRY_PEER_OK) result = cuda_answer(s, code, "cudaStreamSynchronize after a product");
    product->peak_bytes = s->peak;
    if (result != SPRY_PEER_OK) release(s);
    return result;
}

static int fetch(void *state, spry_peer_matrix *c, spry_peer_error *error)
{
    spgemm_state *s = state;
    const int64_t bytes[3] = {(s->rows + 1) * 4, s->nnz * 4, s->nnz * s->value_bytes};
    s->error = error;
    for (int i = 0; i < 3; i++) {
        if (!(s->host[i] = malloc((size_t)bytes[i] + 1)))
            return spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory for the result on the host");
        if (bytes[i] > 0)
            SPRY_PEER_TRY(cuda_answer(s,
                                      cudaMemcpy(s->host[i], s->c.arrays[i], (size_t)bytes[i], cudaMemcpyDeviceToHost),
                                      "cudaMemcpy from the GPU"));
    }
    *c = (spry_peer_matrix){s->rows, s->cols, s->nnz, s->value_bytes, 4, 4, s->host[0], s->host[1], s->host[2]};
    return SPRY_PEER_OK;
}

/* ---- the kernels -------------------------------------------------------------------------------- */

static void destroy(void *state)
{
    spgemm_state *s = state;
    release(s);
    free_input(&s->a);
    free_input(&s->b);
    free(s);
}

/* Creates a CUDA context, cuSPARSE's handle, and a pool that keeps its memory. */
static int start(const spgemm_state *s, spry_peer_cost *cost)
{
    double begin = now_us();
    uint64_t keep = UINT64_MAX;
    cudaMemPool_t pool = NULL;
    if (!handle) {
        SPRY_PEER_TRY(cuda_answer(s, cudaFree(NULL), "starting CUDA"));
        cusparseStatus_t status = cusparseCreate(&handle);
        if (status != CUSPARSE_STATUS_SUCCESS) handle = NULL;
        SPRY_PEER_TRY(answer(s, status, "cusparseCreate"));
    }
    SPRY_PEER_TRY(cuda_answer(s, cudaDeviceGetDefaultMemPool(&pool, 0), "cudaDeviceGetDefaultMemPool"));
    SPRY_PEER_TRY(cuda_answer(s, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
                              "cudaMemPoolSetAttribute"));
    SPRY_PEER_TRY(cuda_answer(s, cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo"));
    cost->startup_us = now_us() - begin;
    return SPRY_PEER_OK;
}

static int prepare(void **state, const spry_peer_spgemm_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->a, *b = &request->b;
    if (a->offset_bytes != 4 || a->index_bytes != 4)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "cusparseSpGEMM takes indices 32/32 alone");
    if (a->rows == 0 || a->cols == 0 || b->cols == 0)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "this module leaves out matrices without rows or columns");
    spgemm_state *s = spry_peer_new(state, sizeof *s, error);
    if (!s) return SPRY_PEER_FAILED;
    s->rows = a->rows;
    s->cols = b->cols;
    s->value_bytes = a->value_bytes;
    s->squared = a->values == b->values;
    s->algorithm = (cusparseSpGEMMAlg_t)request->variant;
    s->type = a->value_bytes == 8 ? CUDA_R_64F : CUDA_R_32F;
    s->error = error;
    SPRY_PEER_TRY(start(s, cost));
    double begin = now_us();
    SPRY_PEER_TRY(upload(s, &s->a, a));
    if (!s->squared) SPRY_PEER_TRY(upload(s, &s->b, b));
    cost->upload_us = now_us() - begin;
    cost->threads = 0; /* host threads: 0, as for GPU kernels of Spry */
    return SPRY_PEER_OK;
}

/* deterministic is -1: cuSPARSE does not document whether bits repeat. */
const spry_peer_spgemm peer_cusparse_spgemm[PEER_CUSPARSE_SPGEMM] = {{"cusparse_spgemm_alg1", "cuda",
                                                                      "cuSPARSE SpGEMM ALG1", -1, prepare, run, fetch,
                                                                      release, destroy, CUSPARSE_SPGEMM_ALG1},
                                                                     {"cusparse_spgemm_alg2", "cuda",
                                                                      "cuSPARSE SpGEMM ALG2", -1, prepare, run, fetch,
                                                                      release, destroy, CUSPARSE_SPGEMM_ALG2},
                                                                     {"cusparse_spgemm_alg3", "cuda",
                                                                      "cuSPARSE SpGEMM ALG3", -1, prepare, run, fetch,
                                                                      release, destroy, CUSPARSE_SPGEMM_ALG3}};
