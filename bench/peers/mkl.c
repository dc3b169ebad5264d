/*
 * Intel oneMKL's inspector-executor product, 32-bit indices:
 *   mkl_csr            the caller's arrays, without hints
 *   mkl_csr_optimized  the caller's arrays, after mkl_sparse_set_mv_hint and mkl_sparse_optimize
 *   mkl_csc, mkl_coo, mkl_bsr  MKL's conversions, without hints: with hints MKL may store CSR internally, so that
 *                      another format would be measured
 * Product with multiple columns, in both layouts:
 *   mkl_spmm           the caller's arrays, without hints
 *   mkl_spmm_optimized  the caller's arrays, after mkl_sparse_set_mm_hint and mkl_sparse_optimize
 * Product of two sparse matrices:
 *   mkl_sp2m           mkl_sparse_sp2m in one call, then mkl_sparse_order, because rows of its result are unsorted
 *
 * MKL runs on the peers' OpenMP run-time by its GNU threading layer, which also works with clang's run-time. libiomp5
 * would be a second run-time in the process. Idle threads of both run-times spin after products and take processors
 * from each other. MKL also found omp_get_thread_num of the first run-time, and its optimized product was wrong. The
 * GNU layer is not slower: in a process with only libiomp5, the Intel layer took the same time or up to a tenth longer
 * (oneMKL 2026.0, grid7, G3_circuit and memplus, 2 threads).
 */
#include "bench/peer.h"
#include "bench/peers/blocks.h"

#include <dlfcn.h>
#include <mkl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct mkl_state {
    sparse_matrix_t A;
    struct matrix_descr descr;
    sparse_operation_t operation;
    int f64, threads;
    sparse_layout_t order; /* layout of multiple columns */
    MKL_INT columns;       /* number of columns; 0: a vector */
    MKL_INT x_stride, y_stride;
} mkl_state;

static int answer(sparse_status_t status, const char *call, spry_peer_error *error)
{
    static const char *const texts[] =
        {[SPARSE_STATUS_NOT_INITIALIZED] = "not initialized", [SPARSE_STATUS_ALLOC_FAILED] = "allocation failed",
         [SPARSE_STATUS_INVALID_VALUE] = "invalid value",     [SPARSE_STATUS_EXECUTION_FAILED] = "execution failed",
         [SPARSE_STATUS_INTERNAL_ERROR] = "internal error",   [SPARSE_STATUS_NOT_SUPPORTED] = "not supported"};
    if (status == SPARSE_STATUS_SUCCESS) return SPRY_PEER_OK;
    return spry_peer_fail(error, status == SPARSE_STATUS_NOT_SUPPORTED ? SPRY_PEER_UNSUPPORTED : SPRY_PEER_FAILED,
                          "%s: %s", call, texts[status]);
}

static const char narrow_alone[] = "this module uses MKL's 32-bit interface, which takes indices 32/32 alone";

static int is_narrow(const spry_peer_matrix *a)
{
    return a->offset_bytes == 4 && a->index_bytes == 4;
}

/* Creates a handle of the caller's arrays. MKL's prototypes have no const, but MKL does not write the arrays. */
static int create_csr(sparse_matrix_t *A, const spry_peer_matrix *a, spry_peer_error *error)
{
    MKL_INT *offsets = (MKL_INT *)(uintptr_t)a->offsets, *columns = (MKL_INT *)(uintptr_t)a->columns;
    MKL_INT rows = (MKL_INT)a->rows, cols = (MKL_INT)a->cols;
    void *values = (void *)(uintptr_t)a->values;
    sparse_status_t status =
        a->value_bytes == 8
            ? mkl_sparse_d_create_csr(A, SPARSE_INDEX_BASE_ZERO, rows, cols, offsets, offsets + 1, columns, values)
            : mkl_sparse_s_create_csr(A, SPARSE_INDEX_BASE_ZERO, rows, cols, offsets, offsets + 1, columns, values);
    return answer(status, "mkl_sparse_create_csr", error);
}

static void destroy(void *state)
{
    mkl_state *s = state;
    if (s->A) mkl_sparse_destroy(s->A);
    free(s);
}

/* The kernels' layouts. */
typedef enum mkl_layout { PLAIN, OPTIMIZED, CSC, COO, BSR } mkl_layout;

/* Gives MKL a hint of the expected products, and lets it optimize the matrix. */
static int optimize(mkl_state *s, int64_t expected_calls, spry_peer_error *error)
{
    MKL_INT calls = expected_calls > INT32_MAX ? INT32_MAX : (MKL_INT)expected_calls;
    const sparse_status_t status =
        s->columns > 0 ? mkl_sparse_set_mm_hint(s->A, s->operation, s->descr, s->order, s->columns, calls)
                       : mkl_sparse_set_mv_hint(s->A, s->operation, s->descr, calls);
    SPRY_PEER_TRY(answer(status, s->columns > 0 ? "mkl_sparse_set_mm_hint" : "mkl_sparse_set_mv_hint", error));
    return answer(mkl_sparse_optimize(s->A), "mkl_sparse_optimize", error);
}

/* Replaces the handle of the caller's arrays by a copy in another layout. */
static int convert(mkl_state *s, mkl_layout layout, int block, spry_peer_error *error)
{
    const sparse_operation_t as_is = SPARSE_OPERATION_NON_TRANSPOSE;
    sparse_matrix_t source = s->A;
    int result;
    s->A = NULL;
    if (layout == CSC)
        result = answer(mkl_sparse_convert_csc(source, as_is, &s->A), "mkl_sparse_convert_csc", error);
    else if (layout == COO)
        result = answer(mkl_sparse_convert_coo(source, as_is, &s->A), "mkl_sparse_convert_coo", error);
    else
        result = answer(mkl_sparse_convert_bsr(source, block, SPARSE_LAYOUT_ROW_MAJOR, as_is, &s->A),
                        "mkl_sparse_convert_bsr", error);
    mkl_sparse_destroy(source);
    return result;
}

static int64_t bytes_of(const spry_peer_matrix *a, mkl_layout layout, const peer_blocks *blocks)
{
    switch (layout) {
    case PLAIN: return a->nnz * (a->value_bytes + 4) + (a->rows + 1) * 4;
    case CSC: return a->nnz * (a->value_bytes + 4) + (a->cols + 1) * 4;
    case COO: return a->nnz * (a->value_bytes + 8);
    case BSR:
        return blocks->count * (blocks->size * blocks->size * a->value_bytes + 4) + (a->rows / blocks->size + 1) * 4;
    default: return 0; /* not known */
    }
}

static void take_columns(mkl_state *s, const spry_peer_request *request)
{
    const spry_peer_matrix *a = &request->matrix;
    const MKL_INT rows = (MKL_INT)a->rows, cols = (MKL_INT)a->cols;
    s->columns = (MKL_INT)request->columns;
    s->order = request->row_major ? SPARSE_LAYOUT_ROW_MAJOR : SPARSE_LAYOUT_COLUMN_MAJOR;
    s->x_stride = request->row_major ? s->columns : request->transpose ? rows : cols;
    s->y_stride = request->row_major ? s->columns : request->transpose ? cols : rows;
}

static int prepare_any(void **state, const spry_peer_request *request, int multiple, spry_peer_cost *cost,
                       spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->matrix;
    const mkl_layout layout = (mkl_layout)request->variant;
    peer_blocks blocks = {0};
    if (!is_narrow(a)) return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, narrow_alone);
    if (layout == BSR) SPRY_PEER_TRY(peer_blocks_find(&blocks, a, error));
    mkl_state *s = spry_peer_new(state, sizeof *s, error);
    if (!s) return SPRY_PEER_FAILED;
    s->threads = request->threads;
    mkl_set_dynamic(0);
    mkl_set_num_threads_local(s->threads);
    s->f64 = a->value_bytes == 8;
    s->descr.type = SPARSE_MATRIX_TYPE_GENERAL;
    s->operation = request->transpose ? SPARSE_OPERATION_TRANSPOSE : SPARSE_OPERATION_NON_TRANSPOSE;
    if (multiple) take_columns(s, request);
    SPRY_PEER_TRY(create_csr(&s->A, a, error));
    if (layout == OPTIMIZED) SPRY_PEER_TRY(optimize(s, request->expected_calls, error));
    if (layout > OPTIMIZED) SPRY_PEER_TRY(convert(s, layout, blocks.size, error));
    cost->bytes = bytes_of(a, layout, &blocks);
    return SPRY_PEER_OK;
}

static int run(void *state, double alpha, const void *x, double beta, void *y)
{
    const mkl_state *s = state;
    mkl_set_num_threads_local(s->threads); /* other cases may have set another number of threads */
    sparse_status_t status = s->f64 ? mkl_sparse_d_mv(s->operation, alpha, s->A, s->descr, x, beta, y)
                                    : mkl_sparse_s_mv(s->operation, (float)alpha, s->A, s->descr, x, (float)beta, y);
    return status == SPARSE_STATUS_SUCCESS ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

static int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    return prepare_any(state, request, 0, cost, error);
}

static int prepare_columns(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    return prepare_any(state, request, 1, cost, error);
}

static int run_columns(void *state, double alpha, const void *x, double beta, void *y)
{
    const mkl_state *s = state;
    mkl_set_num_threads_local(s->threads);
    sparse_status_t status = s->f64 ? mkl_sparse_d_mm(s->operation, alpha, s->A, s->descr, s->order, x, s->columns,
                                                      s->x_stride, beta, y, s->y_stride)
                                    : mkl_sparse_s_mm(s->operation, (float)alpha, s->A, s->descr, s->order, x,
                                                      s->columns, s->x_stride, (float)beta, y, s->y_stride);
    return status == SPARSE_STATUS_SUCCESS ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

static const spry_peer_kernel spmm[] = {{"mkl_spmm", "csr", "cpu", "oneMKL mkl_sparse_d_mm without hints", -1,
                                         prepare_columns, run_columns, destroy, PLAIN},
                                        {"mkl_spmm_optimized", "csr", "cpu",
                                         "oneMKL mkl_sparse_d_mm after set_mm_hint and optimize", -1, prepare_columns,
                                         run_columns, destroy, OPTIMIZED}};

static const spry_peer_kernel kernels[] =
    {{"mkl_csr", "csr", "cpu", "oneMKL mkl_sparse_d_mv without hints", -1, prepare, run, destroy, PLAIN},
     {"mkl_csr_optimized", "csr", "cpu", "oneMKL mkl_sparse_d_mv after set_mv_hint and optimize", -1, prepare, run,
      destroy, OPTIMIZED},
     {"mkl_csc", "csc", "cpu", "oneMKL mkl_sparse_d_mv on CSC", -1, prepare, run, destroy, CSC},
     {"mkl_coo", "coo", "cpu", "oneMKL mkl_sparse_d_mv on COO", -1, prepare, run, destroy, COO},
     {"mkl_bsr", "bsr", "cpu", "oneMKL mkl_sparse_d_mv on BSR", -1, prepare, run, destroy, BSR}};

/* ---- sparse times sparse ------------------------------------------------------------------------ */

typedef struct mkl_product {
    sparse_matrix_t A, B, C; /* C: NULL between products; B is A if A is squared */
    int64_t inner;           /* columns of B */
    int f64, threads;
} mkl_product;

static void product_release(void *state)
{
    mkl_product *p = state;
    if (p->C) mkl_sparse_destroy(p->C);
    p->C = NULL;
}

static void product_destroy(void *state)
{
    mkl_product *p = state;
    product_release(p);
    if (p->B && p->B != p->A) mkl_sparse_destroy(p->B);
    if (p->A) mkl_sparse_destroy(p->A);
    free(p);
}

static int product_prepare(void **state, const spry_peer_spgemm_request *request, spry_peer_cost *cost,
                           spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->a, *b = &request->b;
    (void)cost; /* prepare only creates handles of the caller's arrays */
    if (!is_narrow(a) || !is_narrow(b)) return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, narrow_alone);
    mkl_product *p = spry_peer_new(state, sizeof *p, error);
    if (!p) return SPRY_PEER_FAILED;
    p->f64 = a->value_bytes == 8;
    p->threads = request->threads;
    p->inner = b->cols;
    SPRY_PEER_TRY(create_csr(&p->A, a, error));
    p->B = p->A;
    return a->values == b->values ? SPRY_PEER_OK : create_csr(&p->B, b, error);
}

static int product_run(void *state, spry_peer_product *product, spry_peer_error *error)
{
    mkl_product *p = state;
    const struct matrix_descr general = {.type = SPARSE_MATRIX_TYPE_GENERAL};
    const sparse_operation_t as_is = SPARSE_OPERATION_NON_TRANSPOSE;
    (void)product;
    mkl_set_dynamic(0);
    mkl_set_num_threads(p->threads);
    int result = answer(mkl_sparse_sp2m(as_is, general, p->A, as_is, general, p->B, SPARSE_STAGE_FULL_MULT, &p->C),
                        "mkl_sparse_sp2m", error);
    if (result != SPRY_PEER_OK) p->C = NULL;
    SPRY_PEER_TRY(result);
    return answer(mkl_sparse_order(p->C), "mkl_sparse_order", error);
}

/* Returns C. MKL stores rows contiguously, so that the starts of rows are offsets. */
static int product_fetch(void *state, spry_peer_matrix *c, spry_peer_error *error)
{
    const mkl_product *p = state;
    sparse_index_base_t base;
    MKL_INT rows, cols, *starts, *ends, *columns;
    double *f64 = NULL;
    float *f32 = NULL;
    int result = p->f64 ? answer(mkl_sparse_d_export_csr(p->C, &base, &rows, &cols, &starts, &ends, &columns, &f64),
                                 "mkl_sparse_d_export_csr", error)
                        : answer(mkl_sparse_s_export_csr(p->C, &base, &rows, &cols, &starts, &ends, &columns, &f32),
                                 "mkl_sparse_s_export_csr", error);
    if (result != SPRY_PEER_OK) return result;
    for (MKL_INT i = 0; i < rows; i++)
        if (base != SPARSE_INDEX_BASE_ZERO || starts[i + 1] != ends[i])
            return spry_peer_fail(error, SPRY_PEER_FAILED,
                                  "mkl_sparse_export_csr: indices from 1, or rows that do not follow one another");
    *c = (spry_peer_matrix){rows,   p->inner, rows > 0 ? starts[rows] : 0,     p->f64 ? 8 : 4, 4, 4,
                            starts, columns,  p->f64 ? (const void *)f64 : f32};
    return SPRY_PEER_OK;
}

static const spry_peer_spgemm products[] = {{"mkl_sp2m", "cpu", "oneMKL mkl_sparse_sp2m and mkl_sparse_order", -1,
                                             product_prepare, product_run, product_fetch, product_release,
                                             product_destroy, 0}};

const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    static char version[64];
    static const spry_peer_module module = {.abi = SPRY_PEER_ABI,
                                            .name = "mkl",
                                            .version = version,
                                            .kernel_count = sizeof kernels / sizeof *kernels,
                                            .kernels = kernels,
                                            .spgemm_count = sizeof products / sizeof *products,
                                            .spgemm = products,
                                            .spmm_count = sizeof spmm / sizeof *spmm,
                                            .spmm = spmm};
    (void)error;
#ifndef SPRY_MKL_STATIC /* a static MKL uses the linked layers */
    /* The layers must be set before any other call of MKL. */
    mkl_set_interface_layer(MKL_INTERFACE_LP64);
    /* MKL loads its GNU layer, which searches OpenMP in the global scope. Add this module's OpenMP to that scope. */
    Dl_info openmp;
    if (dladdr((void *)(uintptr_t)omp_get_max_threads, &openmp) != 0)
        (void)dlopen(openmp.dli_fname, RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD);
    mkl_set_threading_layer(MKL_THREADING_GNU);
#endif
    MKLVersion v;
    mkl_get_version(&v);
    snprintf(version, sizeof version, "%d.%d.%d", v.MajorVersion, v.MinorVersion, v.UpdateVersion);
    return &module;
}
