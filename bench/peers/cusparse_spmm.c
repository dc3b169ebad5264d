/*
 * cuSPARSE's product with multiple columns, cusparseSpMM on the first GPU, one kernel for each format and algorithm:
 *   cusparse_spmm_csr_alg1 to _alg3   the caller's arrays, uploaded
 *   cusparse_spmm_coo_alg1 to _alg4   row indices as in cusparse_coo_alg1
 *   cusparse_spmm_bsr                 blocks as in cusparse_bsr
 *
 * prepare works as for products with a vector, and calls cusparseSpMM_preprocess for every kernel. X and Y are dense
 * matrices, row-major or column-major as requested; op(X) is X.
 */
#include "bench/peers/cusparse_layouts.h"

#include <stdlib.h>

#if !HAS_BSR
#define CUSPARSE_SPMM_BSR_ALG1 CUSPARSE_SPMM_ALG_DEFAULT
#endif

static const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

typedef struct spmm_state {
    cusparseConstSpMatDescr_t A;
    cusparseDnMatDescr_t x, y; /* each product sets their pointers */
    cusparseOperation_t op;
    cusparseSpMMAlg_t algorithm;
    cudaDataType type;
    void *buffer;
    peer_cusparse_memory kept;
} spmm_state;

static void destroy(void *state)
{
    spmm_state *s = state;
    (void)cudaStreamSynchronize(NULL); /* a product may still be running */
    if (s->x) (void)cusparseDestroyDnMat(s->x);
    if (s->y) (void)cusparseDestroyDnMat(s->y);
    if (s->A) (void)cusparseDestroySpMat(s->A);
    peer_cusparse_free_arrays(&s->kept);
    free(s);
}

/* Creates the descriptor of X or Y with a temporary array; run sets another pointer. */
static int make_columns(peer_cusparse_preparation *p, cusparseDnMatDescr_t *made, int64_t length, const char *title)
{
    const spry_peer_request *r = p->request;
    void *room;
    SPRY_PEER_TRY(peer_cusparse_new_array(p, &p->temporary, &room, length * r->columns, p->a->value_bytes, title));
    return peer_cusparse_answer(p,
                                cusparseCreateDnMat(made, length, r->columns, r->row_major ? r->columns : length, room,
                                                    p->type, r->row_major ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL),
                                "cusparseCreateDnMat");
}

/* Allocates the workspace and preprocesses. */
static int preprocess(peer_cusparse_preparation *p, spmm_state *s)
{
    float one_f32 = 1, zero_f32 = 0;
    double one_f64 = 1, zero_f64 = 0;
    const void *one = s->type == CUDA_R_64F ? (const void *)&one_f64 : &one_f32;
    const void *zero = s->type == CUDA_R_64F ? (const void *)&zero_f64 : &zero_f32;
    size_t bytes = 0;
    SPRY_PEER_TRY(peer_cusparse_answer(p,
                                       cusparseSpMM_bufferSize(peer_cusparse_handle, s->op, as_is, one, s->A, s->x,
                                                               zero, s->y, s->type, s->algorithm, &bytes),
                                       "cusparseSpMM_bufferSize"));
    SPRY_PEER_TRY(peer_cusparse_new_array(p, p->kept, &s->buffer, (int64_t)bytes, 1, "the workspace of cusparseSpMM"));
    cusparseStatus_t status = cusparseSpMM_preprocess(peer_cusparse_handle, s->op, as_is, one, s->A, s->x, zero, s->y,
                                                      s->type, s->algorithm, s->buffer);
    /* Preprocessing is optional: not all formats support it. */
    if (status != CUSPARSE_STATUS_NOT_SUPPORTED)
        SPRY_PEER_TRY(peer_cusparse_answer(p, status, "cusparseSpMM_preprocess"));
    return peer_cusparse_cuda_answer(p, cudaStreamSynchronize(NULL), "cudaStreamSynchronize after the preparation");
}

/* Layout and algorithm of each kernel. The kernels' variants are indices of this list. */
enum { CSR_ALG1, CSR_ALG2, CSR_ALG3, COO_ALG1, COO_ALG2, COO_ALG3, COO_ALG4, BSR };
static const struct {
    int (*make)(peer_cusparse_preparation *);
    cusparseSpMMAlg_t algorithm;
} ways[] =
    {[CSR_ALG1] = {peer_cusparse_csr, CUSPARSE_SPMM_CSR_ALG1}, [CSR_ALG2] = {peer_cusparse_csr, CUSPARSE_SPMM_CSR_ALG2},
     [CSR_ALG3] = {peer_cusparse_csr, CUSPARSE_SPMM_CSR_ALG3}, [COO_ALG1] = {peer_cusparse_coo, CUSPARSE_SPMM_COO_ALG1},
     [COO_ALG2] = {peer_cusparse_coo, CUSPARSE_SPMM_COO_ALG2}, [COO_ALG3] = {peer_cusparse_coo, CUSPARSE_SPMM_COO_ALG3},
     [COO_ALG4] = {peer_cusparse_coo, CUSPARSE_SPMM_COO_ALG4}, [BSR] = {peer_cusparse_bsr, CUSPARSE_SPMM_BSR_ALG1}};

static int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    peer_cusparse_preparation p;
    SPRY_PEER_TRY(peer_cusparse_begin(&p, request, cost, error));
    if (request->transpose && request->variant == CSR_ALG3)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "cuSPARSE has no transposed product by CSR_ALG3");
    spmm_state *s = spry_peer_new(state, sizeof *s, error);
    if (!s) return SPRY_PEER_FAILED;
    p.A = &s->A;
    p.kept = &s->kept;
    s->type = p.type;
    s->op = p.op;
    s->algorithm = ways[request->variant].algorithm;
    int result = ways[request->variant].make(&p);
    if (result == SPRY_PEER_OK) result = make_columns(&p, &s->x, p.x_length, "X");
    if (result == SPRY_PEER_OK) result = make_columns(&p, &s->y, p.y_length, "Y");
    if (result == SPRY_PEER_OK) result = preprocess(&p, s);
    peer_cusparse_end(&p, cost);
    /* No algorithm is documented as deterministic for transposed products. */
    if (request->transpose) cost->deterministic = 0;
    return result;
}

static int run(void *state, double alpha, const void *x, double beta, void *y)
{
    const spmm_state *s = state;
    float alpha_f32 = (float)alpha, beta_f32 = (float)beta;
    const void *a = s->type == CUDA_R_64F ? (const void *)&alpha : &alpha_f32;
    const void *b = s->type == CUDA_R_64F ? (const void *)&beta : &beta_f32;
    /* Descriptors take no pointers to const, but x is not written. */
    if (cusparseDnMatSetValues(s->x, (void *)(uintptr_t)x) != CUSPARSE_STATUS_SUCCESS ||
        cusparseDnMatSetValues(s->y, y) != CUSPARSE_STATUS_SUCCESS)
        return SPRY_PEER_FAILED;
    cusparseStatus_t status =
        cusparseSpMM(peer_cusparse_handle, s->op, as_is, a, s->A, s->x, b, s->y, s->type, s->algorithm, s->buffer);
    return status == CUSPARSE_STATUS_SUCCESS ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

/*
 * deterministic has the value of cuSPARSE's documentation, except for CSR_ALG3: with cuSPARSE 12.6.3 on an H200, the
 * bits of its results changed between runs for R-MAT graphs and circuits.
 */
const spry_peer_kernel peer_cusparse_spmm[PEER_CUSPARSE_SPMM] =
    {{"cusparse_spmm_csr_alg1", "csr", "cuda", "cuSPARSE SpMM CSR_ALG1 after preprocess", 0, prepare, run, destroy,
      CSR_ALG1},
     {"cusparse_spmm_csr_alg2", "csr", "cuda", "cuSPARSE SpMM CSR_ALG2 after preprocess", 0, prepare, run, destroy,
      CSR_ALG2},
     {"cusparse_spmm_csr_alg3", "csr", "cuda", "cuSPARSE SpMM CSR_ALG3 after preprocess", 0, prepare, run, destroy,
      CSR_ALG3},
     {"cusparse_spmm_coo_alg1", "coo", "cuda", "cuSPARSE SpMM COO_ALG1", 0, prepare, run, destroy, COO_ALG1},
     {"cusparse_spmm_coo_alg2", "coo", "cuda", "cuSPARSE SpMM COO_ALG2", 1, prepare, run, destroy, COO_ALG2},
     {"cusparse_spmm_coo_alg3", "coo", "cuda", "cuSPARSE SpMM COO_ALG3", 0, prepare, run, destroy, COO_ALG3},
     {"cusparse_spmm_coo_alg4", "coo", "cuda", "cuSPARSE SpMM COO_ALG4", 0, prepare, run, destroy, COO_ALG4},
     {"cusparse_spmm_bsr", "bsr", "cuda", "cuSPARSE SpMM BSR_ALG1", -1, prepare, run, destroy, BSR}};
