/*
 * cuSPARSE's product cusparseSpMV on the first GPU, one kernel for each format and algorithm:
 *   cusparse_csr_alg1, cusparse_csr_alg2   the caller's arrays, uploaded
 *   cusparse_coo_alg1, cusparse_coo_alg2   row indices by cusparseXcsr2coo; on the host if indices are not 32/32
 *   cusparse_csc                           converted on the GPU by cusparseCsr2cscEx2 (indices 32/32)
 *   cusparse_sell                          slices of 32 consecutive rows, built on the host: cuSPARSE has no conversion
 *   cusparse_bsr                           converted on the GPU by cusparse<t>csr2bsr (indices 32/32)
 *   cusparse_spmvop_alg1, cusparse_spmvop_alg2   cusparseSpMVOp of the caller's arrays (cuSPARSE 12.9.4), whose plan is
 *                                                linked by nvJitLink
 *   names with _f32, _f16, _bf16           values stored in this type, only if all values are exact in it; vectors and
 *                                          sums are f64 for _f32, and f32 for the others
 *
 * prepare uploads, converts, allocates the workspace, calls cusparseSpMV_preprocess for every kernel, and waits for the
 * GPU. A matrix is kept in only one layout. The first prepare of the process creates the library's handle; its time is
 * reported as start-up. Work runs in the default stream. "32/32" means 32-bit offsets and 32-bit columns.
 */
#include "bench/peers/cusparse_layouts.h"

#include <stdio.h>
#include <stdlib.h>

/* True if cuSPARSE has SpMVOp with the interface that this file uses. */
#define HAS_SPMVOP (CUSPARSE_VERSION >= 12904)

#if !HAS_BSR
#define CUSPARSE_SPMV_BSR_ALG1 CUSPARSE_SPMV_ALG_DEFAULT
#endif

typedef struct cusparse_state {
    cusparseConstSpMatDescr_t A;
    cusparseDnVecDescr_t x, y; /* each product sets their pointers */
    cusparseOperation_t op;
    cusparseSpMVAlg_t algorithm;
    cudaDataType type;
    void *buffer;
#if HAS_SPMVOP
    cusparseSpMVOpDescr_t op_descr; /* NULL: cusparseSpMV multiplies */
    cusparseSpMVOpPlan_t op_plan;
#endif
    peer_cusparse_memory kept;
} cusparse_state;

/* ---- SpMVOp ------------------------------------------------------------------------------------- */

#if HAS_SPMVOP
/* Creates the plan of SpMVOp. The descriptors of the vectors must exist. */
static int plan_operation(peer_cusparse_preparation *p, cusparse_state *s, cusparseSpMVOpAlg_t algorithm)
{
    size_t bytes = 0;
    SPRY_PEER_TRY(peer_cusparse_answer(p,
                                       cusparseSpMVOp_bufferSize(peer_cusparse_handle, s->op, s->A, s->x, s->y, s->y,
                                                                 s->type, algorithm, &bytes),
                                       "cusparseSpMVOp_bufferSize"));
    SPRY_PEER_TRY(
        peer_cusparse_new_array(p, p->kept, &s->buffer, (int64_t)bytes, 1, "the workspace of cusparseSpMVOp"));
    SPRY_PEER_TRY(peer_cusparse_answer(p,
                                       cusparseSpMVOp_createDescr(peer_cusparse_handle, &s->op_descr, s->op, s->A, s->x,
                                                                  s->y, s->y, s->type, algorithm, s->buffer),
                                       "cusparseSpMVOp_createDescr"));
    SPRY_PEER_TRY(
        peer_cusparse_answer(p, cusparseSpMVOp_createPlan(peer_cusparse_handle, s->op_descr, &s->op_plan, NULL, 0),
                             "cusparseSpMVOp_createPlan"));
    return peer_cusparse_cuda_answer(p, cudaStreamSynchronize(NULL), "cudaStreamSynchronize after the preparation");
}

static cusparseStatus_t run_operation(const cusparse_state *s, const void *alpha, const void *beta)
{
    return cusparseSpMVOp(peer_cusparse_handle, s->op_plan, alpha, beta, s->x, s->y, s->y);
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

static int plan_operation(peer_cusparse_preparation *p, cusparse_state *s, int algorithm)
{
    (void)s, (void)algorithm;
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
    (void)cudaStreamSynchronize(NULL); /* a product may still be running */
    destroy_operation(s);
    if (s->x) (void)cusparseDestroyDnVec(s->x);
    if (s->y) (void)cusparseDestroyDnVec(s->y);
    if (s->A) (void)cusparseDestroySpMat(s->A);
    peer_cusparse_free_arrays(&s->kept);
    free(s);
}

/* Creates the descriptors with temporary vectors; run sets other pointers. */
static int make_vectors(peer_cusparse_preparation *p, cusparse_state *s)
{
    const spry_peer_matrix *a = p->a;
    void *x, *y;
    SPRY_PEER_TRY(peer_cusparse_new_array(p, &p->temporary, &x, p->x_length, a->value_bytes, "x"));
    SPRY_PEER_TRY(peer_cusparse_new_array(p, &p->temporary, &y, p->y_length, a->value_bytes, "y"));
    SPRY_PEER_TRY(peer_cusparse_answer(p, cusparseCreateDnVec(&s->x, p->x_length, x, s->type), "cusparseCreateDnVec"));
    return peer_cusparse_answer(p, cusparseCreateDnVec(&s->y, p->y_length, y, s->type), "cusparseCreateDnVec");
}

/* Allocates the workspace and preprocesses for cusparseSpMV. */
static int preprocess(peer_cusparse_preparation *p, cusparse_state *s)
{
    const spry_peer_matrix *a = p->a;
    float one_f32 = 1, zero_f32 = 0;
    double one_f64 = 1, zero_f64 = 0;
    const void *one = a->value_bytes == 8 ? (const void *)&one_f64 : &one_f32;
    const void *zero = a->value_bytes == 8 ? (const void *)&zero_f64 : &zero_f32;
    size_t bytes = 0;
    SPRY_PEER_TRY(peer_cusparse_answer(p,
                                       cusparseSpMV_bufferSize(peer_cusparse_handle, s->op, one, s->A, s->x, zero, s->y,
                                                               s->type, s->algorithm, &bytes),
                                       "cusparseSpMV_bufferSize"));
    SPRY_PEER_TRY(peer_cusparse_new_array(p, p->kept, &s->buffer, (int64_t)bytes, 1, "the workspace of cusparseSpMV"));
    cusparseStatus_t status = cusparseSpMV_preprocess(peer_cusparse_handle, s->op, one, s->A, s->x, zero, s->y, s->type,
                                                      s->algorithm, s->buffer);
    /* Preprocessing is optional: not all formats support it. */
    if (status != CUSPARSE_STATUS_NOT_SUPPORTED)
        SPRY_PEER_TRY(peer_cusparse_answer(p, status, "cusparseSpMV_preprocess"));
    return peer_cusparse_cuda_answer(p, cudaStreamSynchronize(NULL), "cudaStreamSynchronize after the preparation");
}

/* Layout and algorithm of each kernel. The kernels' variants are indices of this list. */
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
    int (*make)(peer_cusparse_preparation *);
    cusparseSpMVAlg_t algorithm;
    int operation; /* algorithm of SpMVOp; 0: cusparseSpMV */
} ways[] = {[CSR_ALG1] = {peer_cusparse_csr, CUSPARSE_SPMV_CSR_ALG1, 0},
            [CSR_ALG2] = {peer_cusparse_csr, CUSPARSE_SPMV_CSR_ALG2, 0},
            [CSC] = {peer_cusparse_csc, CUSPARSE_SPMV_CSR_ALG1, 0},
            [COO_ALG1] = {peer_cusparse_coo, CUSPARSE_SPMV_COO_ALG1, 0},
            [COO_ALG2] = {peer_cusparse_coo, CUSPARSE_SPMV_COO_ALG2, 0},
            [SELL] = {peer_cusparse_sell, CUSPARSE_SPMV_SELL_ALG1, 0},
            [BSR] = {peer_cusparse_bsr, CUSPARSE_SPMV_BSR_ALG1, 0},
            [OP_ALG1] = {peer_cusparse_csr, CUSPARSE_SPMV_ALG_DEFAULT, 1},
            [OP_ALG2] = {peer_cusparse_csr, CUSPARSE_SPMV_ALG_DEFAULT, 2},
            [CSR_F32] = {peer_cusparse_csr_f32, CUSPARSE_SPMV_CSR_ALG1, 0},
            [CSR_F16] = {peer_cusparse_csr_f16, CUSPARSE_SPMV_CSR_ALG1, 0},
            [CSR_BF16] = {peer_cusparse_csr_bf16, CUSPARSE_SPMV_CSR_ALG1, 0},
            [OP_ALG1_F32] = {peer_cusparse_csr_f32, CUSPARSE_SPMV_ALG_DEFAULT, 1},
            [OP_ALG2_F32] = {peer_cusparse_csr_f32, CUSPARSE_SPMV_ALG_DEFAULT, 2}};

static int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    peer_cusparse_preparation p;
    SPRY_PEER_TRY(peer_cusparse_begin(&p, request, cost, error));
    cusparse_state *s = spry_peer_new(state, sizeof *s, error);
    if (!s) return SPRY_PEER_FAILED;
    p.A = &s->A;
    p.kept = &s->kept;
    s->type = p.type;
    s->op = p.op;
    s->algorithm = ways[request->variant].algorithm;
    const int operation = ways[request->variant].operation;
    int result = ways[request->variant].make(&p);
    if (result == SPRY_PEER_OK) result = make_vectors(&p, s);
    if (result == SPRY_PEER_OK)
        result = operation == 1   ? plan_operation(&p, s, CUSPARSE_SPMVOP_ALG1)
                 : operation == 2 ? plan_operation(&p, s, CUSPARSE_SPMVOP_ALG2)
                                  : preprocess(&p, s);
    peer_cusparse_end(&p, cost);
    /* Transposed products with ALG2 run ALG1, which is not deterministic. */
    if (request->transpose) cost->deterministic = 0;
    return result;
}

static int run(void *state, double alpha, const void *x, double beta, void *y)
{
    const cusparse_state *s = state;
    float alpha_f32 = (float)alpha, beta_f32 = (float)beta;
    const void *a = s->type == CUDA_R_64F ? (const void *)&alpha : &alpha_f32;
    const void *b = s->type == CUDA_R_64F ? (const void *)&beta : &beta_f32;
    /* Descriptors of vectors take no pointers to const, but x is not written. */
    if (cusparseDnVecSetValues(s->x, (void *)(uintptr_t)x) != CUSPARSE_STATUS_SUCCESS ||
        cusparseDnVecSetValues(s->y, y) != CUSPARSE_STATUS_SUCCESS)
        return SPRY_PEER_FAILED;
    cusparseStatus_t status = IS_OPERATION(s) ? run_operation(s, a, b)
                                              : cusparseSpMV(peer_cusparse_handle, s->op, a, s->A, s->x, b, s->y,
                                                             s->type, s->algorithm, s->buffer);
    return status == CUSPARSE_STATUS_SUCCESS ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

/* The member deterministic follows cuSPARSE's documentation of each algorithm. */
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
                                            .spgemm = peer_cusparse_spgemm,
                                            .spmm_count = PEER_CUSPARSE_SPMM,
                                            .spmm = peer_cusparse_spmm};
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
