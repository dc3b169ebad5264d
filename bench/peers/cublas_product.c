/* Measures cuSPARSE's products in CSR and in sliced ELL with 32 rows per slice, and keeps the fastest. */
#include "bench/peers/cublas_product.h"

#include <stdlib.h>

static const struct {
    const char *name;
    int (*make)(peer_cusparse_preparation *);
    cusparseSpMVAlg_t algorithm;
} ways[] = {{"CSR_ALG1", peer_cusparse_csr, CUSPARSE_SPMV_CSR_ALG1},
            {"CSR_ALG2", peer_cusparse_csr, CUSPARSE_SPMV_CSR_ALG2},
            {"SELL_ALG1", peer_cusparse_sell, CUSPARSE_SPMV_SELL_ALG1}};
enum { WAYS = sizeof ways / sizeof *ways, TRIALS = 20 };

/* A scalar in both types; cuSPARSE reads the member that has the product's type. */
typedef struct scalar {
    double f64;
    float f32;
} scalar;

static const void *pointer_to(const scalar *s, cudaDataType type)
{
    return type == CUDA_R_64F ? (const void *)&s->f64 : &s->f32;
}

cusparseStatus_t peer_product_run(const peer_product *product, double alpha, const void *x, void *y)
{
    const scalar a = {alpha, (float)alpha}, zero = {0, 0};
    const cudaDataType type = product->type;
    /* Descriptors of vectors take no pointers to const, but x is not written. */
    cusparseStatus_t status = cusparseDnVecSetValues(product->x, (void *)(uintptr_t)x);
    if (status == CUSPARSE_STATUS_SUCCESS) status = cusparseDnVecSetValues(product->y, y);
    if (status != CUSPARSE_STATUS_SUCCESS) return status;
    return cusparseSpMV(peer_cusparse_handle, CUSPARSE_OPERATION_NON_TRANSPOSE, pointer_to(&a, type), product->A,
                        product->x, pointer_to(&zero, type), product->y, type, product->algorithm, product->buffer);
}

void peer_product_destroy(peer_product *product)
{
    if (product->x) (void)cusparseDestroyDnVec(product->x);
    if (product->y) (void)cusparseDestroyDnVec(product->y);
    if (product->A) (void)cusparseDestroySpMat(product->A);
    peer_cusparse_free_arrays(&product->kept);
    *product = (peer_product){0};
}

static int preprocess(peer_cusparse_preparation *p, peer_product *product)
{
    const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const scalar ones = {1, 1}, zeros = {0, 0};
    const void *one = pointer_to(&ones, p->type), *zero = pointer_to(&zeros, p->type);
    size_t bytes = 0;
    SPRY_PEER_TRY(peer_cusparse_answer(p,
                                       cusparseSpMV_bufferSize(peer_cusparse_handle, as_is, one, product->A, product->x,
                                                               zero, product->y, p->type, product->algorithm, &bytes),
                                       "cusparseSpMV_bufferSize"));
    SPRY_PEER_TRY(
        peer_cusparse_new_array(p, p->kept, &product->buffer, (int64_t)bytes, 1, "the workspace of cusparseSpMV"));
    const cusparseStatus_t status = cusparseSpMV_preprocess(peer_cusparse_handle, as_is, one, product->A, product->x,
                                                            zero, product->y, p->type, product->algorithm,
                                                            product->buffer);
    /* Preprocessing is optional: not all formats support it. */
    return status == CUSPARSE_STATUS_NOT_SUPPORTED ? SPRY_PEER_OK
                                                   : peer_cusparse_answer(p, status, "cusparseSpMV_preprocess");
}

/* Measures TRIALS products after one untimed product. *ms: their time in milliseconds. */
static int try_product(const peer_cusparse_preparation *p, const peer_product *product, const void *x, void *y,
                       float *ms)
{
    cudaEvent_t start = NULL, end = NULL;
    int result = peer_cusparse_cuda_answer(p, cudaEventCreate(&start), "cudaEventCreate");
    if (result == SPRY_PEER_OK) result = peer_cusparse_cuda_answer(p, cudaEventCreate(&end), "cudaEventCreate");
    for (int t = -1; t < TRIALS && result == SPRY_PEER_OK; t++) {
        if (t == 0) result = peer_cusparse_cuda_answer(p, cudaEventRecord(start, NULL), "cudaEventRecord");
        if (result == SPRY_PEER_OK)
            result = peer_cusparse_answer(p, peer_product_run(product, 1, x, y), "cusparseSpMV");
    }
    if (result == SPRY_PEER_OK) result = peer_cusparse_cuda_answer(p, cudaEventRecord(end, NULL), "cudaEventRecord");
    if (result == SPRY_PEER_OK) result = peer_cusparse_cuda_answer(p, cudaEventSynchronize(end), "a trial product");
    if (result == SPRY_PEER_OK)
        result = peer_cusparse_cuda_answer(p, cudaEventElapsedTime(ms, start, end), "cudaEventElapsedTime");
    if (start) (void)cudaEventDestroy(start);
    if (end) (void)cudaEventDestroy(end);
    return result;
}

/* Creates A in format number `way`, and measures products with this format's algorithm. */
static int make_way(peer_cusparse_preparation *p, int way, peer_product *product, void *x, void *y, float *ms)
{
    const spry_peer_matrix *a = p->a;
    *product = (peer_product){.algorithm = ways[way].algorithm, .type = p->type, .name = ways[way].name};
    p->A = &product->A;
    p->kept = &product->kept;
    p->upload_us = 0;
    SPRY_PEER_TRY(ways[way].make(p));
    product->bytes = p->bytes;
    product->upload_us = p->upload_us;
    SPRY_PEER_TRY(
        peer_cusparse_answer(p, cusparseCreateDnVec(&product->x, a->cols, x, p->type), "cusparseCreateDnVec"));
    SPRY_PEER_TRY(
        peer_cusparse_answer(p, cusparseCreateDnVec(&product->y, a->rows, y, p->type), "cusparseCreateDnVec"));
    SPRY_PEER_TRY(preprocess(p, product));
    return try_product(p, product, x, y, ms);
}

static int choose(peer_cusparse_preparation *p, peer_product *fastest)
{
    void *x, *y;
    float best = 0;
    int result = SPRY_PEER_OK;
    SPRY_PEER_TRY(peer_cusparse_new_array(p, &p->temporary, &x, p->a->cols, p->a->value_bytes, "x"));
    SPRY_PEER_TRY(peer_cusparse_new_array(p, &p->temporary, &y, p->a->rows, p->a->value_bytes, "y"));
    SPRY_PEER_TRY(
        peer_cusparse_cuda_answer(p, cudaMemset(x, 0, (size_t)p->a->cols * (size_t)p->a->value_bytes), "cudaMemset"));
    for (int way = 0; way < WAYS; way++) {
        peer_product candidate;
        float ms = 0;
        result = make_way(p, way, &candidate, x, y, &ms);
        if (result == SPRY_PEER_OK && (!fastest->name || ms < best)) {
            const peer_product swap = *fastest;
            *fastest = candidate;
            candidate = swap;
            best = ms;
        }
        peer_product_destroy(&candidate);
    }
    return fastest->name ? SPRY_PEER_OK : result; /* an error only if all formats failed */
}

int peer_product_make(peer_product *fastest, const spry_peer_matrix *a, int threads, spry_peer_cost *cost,
                      spry_peer_error *error)
{
    const spry_peer_request request = {.matrix = *a, .columns = 1, .threads = threads};
    peer_cusparse_preparation p;
    *fastest = (peer_product){0};
    SPRY_PEER_TRY(peer_cusparse_begin(&p, &request, cost, error));
    const int result = choose(&p, fastest);
    peer_cusparse_end(&p, cost);
    cost->upload_us = fastest->upload_us;
    cost->bytes = fastest->bytes;
    return result;
}
