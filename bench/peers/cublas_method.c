/* Memory, handles and the iteration loop of CG and PageRank in the module cublas. */
#include "bench/peers/cublas_method.h"
#include "common/wall_clock.h"

#include <math.h>
#include <string.h>

int peer_method_cuda(cudaError_t code, const char *call, spry_peer_error *error)
{
    if (code == cudaSuccess) return SPRY_PEER_OK;
    (void)cudaGetLastError(); /* clear the error, so that later calls do not report it */
    return spry_peer_fail(error, SPRY_PEER_FAILED, "%s: %s", call, cudaGetErrorString(code));
}

int peer_method_cublas(cublasStatus_t status, const char *call, spry_peer_error *error)
{
    if (status == CUBLAS_STATUS_SUCCESS) return SPRY_PEER_OK;
    return spry_peer_fail(error, SPRY_PEER_FAILED, "%s: %s", call, cublasGetStatusString(status));
}

int peer_method_cusparse(cusparseStatus_t status, const char *call, spry_peer_error *error)
{
    if (status == CUSPARSE_STATUS_SUCCESS) return SPRY_PEER_OK;
    return spry_peer_fail(error, SPRY_PEER_FAILED, "%s: %s", call, cusparseGetErrorString(status));
}

/* ---- cuBLAS in either type ---------------------------------------------------------------------- */

cublasStatus_t peer_method_dot(const peer_method *m, const void *x, const void *y, void *result)
{
    const int n = (int)m->n;
    return m->is_f64 ? cublasDdot(m->blas, n, x, 1, y, 1, result) : cublasSdot(m->blas, n, x, 1, y, 1, result);
}

cublasStatus_t peer_method_asum(const peer_method *m, const void *x, void *result)
{
    const int n = (int)m->n;
    return m->is_f64 ? cublasDasum(m->blas, n, x, 1, result) : cublasSasum(m->blas, n, x, 1, result);
}

cublasStatus_t peer_method_axpy(const peer_method *m, const void *alpha, const void *x, void *y)
{
    const int n = (int)m->n;
    return m->is_f64 ? cublasDaxpy(m->blas, n, alpha, x, 1, y, 1) : cublasSaxpy(m->blas, n, alpha, x, 1, y, 1);
}

cublasStatus_t peer_method_scal(const peer_method *m, const void *alpha, void *x)
{
    const int n = (int)m->n;
    return m->is_f64 ? cublasDscal(m->blas, n, alpha, x, 1) : cublasSscal(m->blas, n, alpha, x, 1);
}

/* ---- set-up ------------------------------------------------------------------------------------- */

static int new_array(peer_method *m, void **array, int64_t count, const char *title, spry_peer_error *error)
{
    peer_cusparse_preparation p = {.error = error};
    return peer_cusparse_new_array(&p, &m->memory, array, count, m->value_bytes, title);
}

/* Creates cuBLAS's handle, which allocates its workspace. Counted as start-up time. */
static int start_cublas(peer_method *m, spry_peer_cost *cost, spry_peer_error *error)
{
    const double begin = now_us();
    SPRY_PEER_TRY(peer_method_cublas(cublasCreate(&m->blas), "cublasCreate", error));
    cost->startup_us += now_us() - begin;
    return peer_method_cublas(cublasSetPointerMode(m->blas, CUBLAS_POINTER_MODE_DEVICE), "cublasSetPointerMode", error);
}

static int make_memory(peer_method *m, spry_peer_error *error)
{
    for (int v = 0; v < METHOD_VECTORS; v++) SPRY_PEER_TRY(new_array(m, &m->vectors[v], m->n, "a vector", error));
    SPRY_PEER_TRY(new_array(m, &m->scalars, SCALARS, "scalars", error));
    SPRY_PEER_TRY(new_array(m, &m->history, m->limit + 1, "residuals", error));
    SPRY_PEER_TRY(peer_method_cuda(cudaMallocHost(&m->seen, (size_t)(m->limit + 1) * (size_t)m->value_bytes),
                                   "cudaMallocHost", error));
    for (int e = 0; e < 2; e++)
        SPRY_PEER_TRY(peer_method_cuda(cudaEventCreateWithFlags(&m->copied[e], cudaEventDisableTiming),
                                       "cudaEventCreate", error));
    const double one_f64 = 1;
    const float one_f32 = 1;
    return peer_method_cuda(cudaMemcpy(peer_method_at(m, m->scalars, SCALAR_ONE),
                                       m->is_f64 ? (const void *)&one_f64 : &one_f32, (size_t)m->value_bytes,
                                       cudaMemcpyHostToDevice),
                            "cudaMemcpy of a scalar", error);
}

int peer_method_make(void **state, const spry_peer_matrix *a, const spry_peer_solver_request *request,
                     spry_peer_cost *cost, spry_peer_error *error)
{
    int versions[3] = {0};
    if (a->rows > INT32_MAX)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "cuBLAS takes vectors of 32-bit lengths");
    peer_method *m = spry_peer_new(state, sizeof *m, error);
    if (!m) return SPRY_PEER_FAILED;
    m->n = a->rows;
    m->value_bytes = a->value_bytes;
    m->is_f64 = a->value_bytes == 8;
    m->alpha = request->alpha;
    m->tolerance = request->tolerance;
    m->limit = request->max_iterations;
    SPRY_PEER_TRY(peer_product_make(&m->product, a, request->threads, cost, error));
    SPRY_PEER_TRY(start_cublas(m, cost, error));
    SPRY_PEER_TRY(make_memory(m, error));
    for (int v = 0; v < 3; v++) (void)cusparseGetProperty((libraryPropertyType)v, &versions[v]);
    snprintf(cost->version, sizeof cost->version, "%d.%d.%d of cuSPARSE, with %s", versions[0], versions[1],
             versions[2], m->product.name);
    return peer_method_cuda(cudaDeviceSynchronize(), "the preparation", error);
}

void peer_method_destroy(void *state)
{
    peer_method *m = state;
    (void)cudaDeviceSynchronize();
    peer_product_destroy(&m->product);
    if (m->blas) (void)cublasDestroy(m->blas);
    for (int e = 0; e < 2; e++)
        if (m->copied[e]) (void)cudaEventDestroy(m->copied[e]);
    if (m->seen) (void)cudaFreeHost(m->seen);
    peer_cusparse_free_arrays(&m->memory);
    free(m);
}

/* ---- the loop ----------------------------------------------------------------------------------- */

double peer_method_seen(const peer_method *m, int64_t k)
{
    return m->is_f64 ? ((const double *)m->seen)[k] : (double)((const float *)m->seen)[k];
}

/* Starts copying elements from + 1 .. to of the history to the host. */
static int start_copy(peer_method *m, int64_t from, int64_t to, int slot, spry_peer_error *error)
{
    SPRY_PEER_TRY(
        peer_method_cuda(cudaMemcpyAsync(peer_method_at(m, m->seen, from + 1), peer_method_at(m, m->history, from + 1),
                                         (size_t)((to - from) * m->value_bytes), cudaMemcpyDeviceToHost, NULL),
                         "cudaMemcpyAsync of residuals", error));
    return peer_method_cuda(cudaEventRecord(m->copied[slot], NULL), "cudaEventRecord", error);
}

/* Returns the first of the iterations from + 1 .. to whose residual is at most `enough`; 0: none. */
static int64_t find_end(const peer_method *m, int64_t from, int64_t to, double enough)
{
    for (int64_t k = from + 1; k <= to; k++)
        if (peer_method_seen(m, k) <= enough) return k;
    return 0;
}

int peer_method_iterate(peer_method *m, int (*iteration)(peer_method *m, int64_t k, spry_peer_error *error),
                        double enough, double begun_us, int64_t *executed, spry_peer_solution *solution,
                        spry_peer_error *error)
{
    int64_t inspected = 0, copied = 0, end = 0;
    int slot = 0;
    *executed = 0;
    while (*executed < m->limit && end == 0) {
        const int64_t from = *executed;
        for (int i = 0; i < METHOD_LOOK && *executed < m->limit; i++) SPRY_PEER_TRY(iteration(m, ++*executed, error));
        SPRY_PEER_TRY(start_copy(m, from, *executed, slot, error));
        slot = 1 - slot;
        if (copied > inspected) {
            SPRY_PEER_TRY(peer_method_cuda(cudaEventSynchronize(m->copied[slot]), "an iteration", error));
            end = find_end(m, inspected, copied, enough);
            inspected = copied;
        }
        copied = *executed;
    }
    SPRY_PEER_TRY(peer_method_cuda(cudaStreamSynchronize(NULL), "an iteration", error));
    const double took = now_us() - begun_us;
    if (end == 0) end = find_end(m, inspected, *executed, enough);
    solution->iterations = end > 0 ? end : *executed;
    solution->us = took * (double)solution->iterations / (double)*executed;
    return SPRY_PEER_OK;
}
