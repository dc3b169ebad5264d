/*
 * SuiteSparse:GraphBLAS's GrB_mxm over plus-times. prepare converts the inputs to 64-bit indices.
 *   graphblas_mxm      sparse times sparse: GraphBLAS chooses Gustavson, hash or heap; then GrB_Matrix_wait finishes
 *                      the deferred sort of rows
 *   graphblas_spmm     sparse times full: the product is added to a full matrix Y of zeros. X and Y are row-major or
 *                      column-major as requested. The time includes clearing Y, and excludes import of X and export
 *                      of Y
 */
#include "bench/peer.h"
#include "common/wall_clock.h"

#include <GraphBLAS.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct grb_state {
    GrB_Matrix A, B, C; /* B is A if A is squared; C: NULL between products */
    GrB_Index *offsets, *columns;
    void *values; /* values of C after fetch */
    int64_t rows, cols;
    int value_bytes, threads;
} grb_state;

static int answer(GrB_Info info, const char *call, spry_peer_error *error)
{
    if (info == GrB_SUCCESS) return SPRY_PEER_OK;
    return spry_peer_fail(error, SPRY_PEER_FAILED, "%s: %s", call,
                          info == GrB_OUT_OF_MEMORY        ? "out of memory"
                          : info == GrB_DIMENSION_MISMATCH ? "dimension mismatch"
                                                           : "an error of GraphBLAS");
}

/* Copies the caller's arrays to a GraphBLAS matrix. */
static int import(GrB_Matrix *A, const spry_peer_matrix *a, spry_peer_error *error)
{
    GrB_Index *offsets = malloc(((size_t)a->rows + 1) * sizeof *offsets);
    GrB_Index *columns = malloc((size_t)a->nnz * sizeof *columns + 1);
    const GrB_Index rows = (GrB_Index)a->rows, cols = (GrB_Index)a->cols, nnz = (GrB_Index)a->nnz;
    const int has_room = offsets && columns;
    GrB_Info info = GrB_OUT_OF_MEMORY;
    if (has_room) {
        for (int64_t i = 0; i <= a->rows; i++) offsets[i] = (GrB_Index)spry_peer_offset(a, i);
        for (int64_t k = 0; k < a->nnz; k++) columns[k] = (GrB_Index)spry_peer_index(a->index_bytes, a->columns, k);
        info = a->value_bytes == 8 ? GrB_Matrix_import_FP64(A, GrB_FP64, rows, cols, offsets, columns, a->values,
                                                            rows + 1, nnz, nnz, GrB_CSR_FORMAT)
                                   : GrB_Matrix_import_FP32(A, GrB_FP32, rows, cols, offsets, columns, a->values,
                                                            rows + 1, nnz, nnz, GrB_CSR_FORMAT);
    }
    free(offsets);
    free(columns);
    if (!has_room) return spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory for 64-bit indices");
    SPRY_PEER_TRY(answer(info, "GrB_Matrix_import", error));
    return answer(GrB_Matrix_wait(*A, GrB_MATERIALIZE), "GrB_Matrix_wait", error);
}

static void release(void *state)
{
    grb_state *s = state;
    if (s->C) GrB_Matrix_free(&s->C);
    free(s->offsets);
    free(s->columns);
    free(s->values);
    s->C = NULL;
    s->offsets = s->columns = NULL;
    s->values = NULL;
}

static void destroy(void *state)
{
    grb_state *s = state;
    release(s);
    if (s->B && s->B != s->A) GrB_Matrix_free(&s->B);
    if (s->A) GrB_Matrix_free(&s->A);
    free(s);
}

static int prepare(void **state, const spry_peer_spgemm_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->a, *b = &request->b;
    grb_state *s = spry_peer_new(state, sizeof *s, error);
    if (!s) return SPRY_PEER_FAILED;
    (void)cost;
    s->rows = a->rows;
    s->cols = b->cols;
    s->value_bytes = a->value_bytes;
    s->threads = request->threads;
    if (a->rows == 0 || a->cols == 0 || b->cols == 0)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "GraphBLAS has no matrix without rows or columns");
    SPRY_PEER_TRY(import(&s->A, a, error));
    if (a->values != b->values) return import(&s->B, b, error);
    s->B = s->A;
    return SPRY_PEER_OK;
}

static int run(void *state, spry_peer_product *product, spry_peer_error *error)
{
    grb_state *s = state;
    const int f64 = s->value_bytes == 8;
    (void)product;
    SPRY_PEER_TRY(answer(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, s->threads), "GxB_Global_Option_set", error));
    SPRY_PEER_TRY(answer(GrB_Matrix_new(&s->C, f64 ? GrB_FP64 : GrB_FP32, (GrB_Index)s->rows, (GrB_Index)s->cols),
                         "GrB_Matrix_new", error));
    /* Request CSR: a dense result could otherwise be a bitmap. */
    SPRY_PEER_TRY(
        answer(GxB_Matrix_Option_set(s->C, GxB_SPARSITY_CONTROL, GxB_SPARSE), "GxB_Matrix_Option_set", error));
    SPRY_PEER_TRY(answer(GrB_mxm(s->C, NULL, NULL, f64 ? GrB_PLUS_TIMES_SEMIRING_FP64 : GrB_PLUS_TIMES_SEMIRING_FP32,
                                 s->A, s->B, NULL),
                         "GrB_mxm", error));
    return answer(GrB_Matrix_wait(s->C, GrB_MATERIALIZE), "GrB_Matrix_wait", error);
}

/* Expands an iso-valued matrix, which stores a single value for all entries. */
static int spread(grb_state *s, GrB_Index nnz, spry_peer_error *error)
{
    const size_t bytes = (size_t)s->value_bytes;
    char *values = malloc((size_t)nnz * bytes + 1);
    if (!values) return spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory for the values of C");
    for (GrB_Index k = 0; k < nnz; k++) memcpy(values + k * bytes, s->values, bytes);
    free(s->values);
    s->values = values;
    return SPRY_PEER_OK;
}

/* Moves C's arrays out of GraphBLAS. */
static int fetch(void *state, spry_peer_matrix *c, spry_peer_error *error)
{
    grb_state *s = state;
    GrB_Index nnz = 0, offset_bytes, column_bytes, value_bytes;
    bool same = false;
    SPRY_PEER_TRY(answer(GrB_Matrix_nvals(&nnz, s->C), "GrB_Matrix_nvals", error));
    /* NULL for `jumbled`: rows must be sorted, and GrB_Matrix_wait sorted them. */
    SPRY_PEER_TRY(answer(GxB_Matrix_unpack_CSR(s->C, &s->offsets, &s->columns, &s->values, &offset_bytes, &column_bytes,
                                               &value_bytes, &same, NULL, NULL),
                         "GxB_Matrix_unpack_CSR", error));
    if (same && nnz > 0) SPRY_PEER_TRY(spread(s, nnz, error));
    *c = (spry_peer_matrix){s->rows, s->cols, (int64_t)nnz, s->value_bytes, 8, 8, s->offsets, s->columns, s->values};
    return SPRY_PEER_OK;
}

static const spry_peer_spgemm products[] = {{"graphblas_mxm", "cpu",
                                             "SuiteSparse:GraphBLAS GrB_mxm, plus-times, and GrB_Matrix_wait", -1,
                                             prepare, run, fetch, release, destroy, 0}};

/* ---- multiple columns --------------------------------------------------------------------------- */

/* A full matrix, row-major or column-major. Its array is unpacked for reading and writing. */
typedef struct full {
    GrB_Matrix matrix;
    void *values; /* NULL while the array is in the matrix */
    size_t bytes;
} full;

typedef struct spmm_state {
    GrB_Matrix A;
    full x, y;
    int f64, by_row, transpose, threads;
    double us;
} spmm_state;

static int put_in(const spmm_state *s, full *f, spry_peer_error *error)
{
    SPRY_PEER_TRY(answer(s->by_row ? GxB_Matrix_pack_FullR(f->matrix, &f->values, f->bytes, false, NULL)
                                   : GxB_Matrix_pack_FullC(f->matrix, &f->values, f->bytes, false, NULL),
                         "GxB_Matrix_pack_Full", error));
    f->values = NULL;
    return SPRY_PEER_OK;
}

static int take_out(const spmm_state *s, full *f, spry_peer_error *error)
{
    GrB_Index bytes = 0;
    bool same = false;
    SPRY_PEER_TRY(answer(s->by_row ? GxB_Matrix_unpack_FullR(f->matrix, &f->values, &bytes, &same, NULL)
                                   : GxB_Matrix_unpack_FullC(f->matrix, &f->values, &bytes, &same, NULL),
                         "GxB_Matrix_unpack_Full", error));
    if (!same && bytes >= f->bytes) return SPRY_PEER_OK;
    return spry_peer_fail(error, SPRY_PEER_FAILED, "GxB_Matrix_unpack_Full: fewer values than were put in");
}

static int make_full(const spmm_state *s, full *f, int64_t length, int64_t columns, spry_peer_error *error)
{
    f->bytes = (size_t)length * (size_t)columns * (s->f64 ? sizeof(double) : sizeof(float));
    f->values = malloc(f->bytes);
    if (!f->values) return spry_peer_fail(error, SPRY_PEER_FAILED, "out of memory for a full matrix");
    return answer(GrB_Matrix_new(&f->matrix, s->f64 ? GrB_FP64 : GrB_FP32, (GrB_Index)length, (GrB_Index)columns),
                  "GrB_Matrix_new", error);
}

static void spmm_destroy(void *state)
{
    spmm_state *s = state;
    if (s->A) GrB_Matrix_free(&s->A);
    if (s->x.matrix) GrB_Matrix_free(&s->x.matrix);
    if (s->y.matrix) GrB_Matrix_free(&s->y.matrix);
    free(s->x.values);
    free(s->y.values);
    free(s);
}

static int spmm_prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    const spry_peer_matrix *a = &request->matrix;
    spmm_state *s = spry_peer_new(state, sizeof *s, error);
    if (!s) return SPRY_PEER_FAILED;
    if (a->rows == 0 || a->cols == 0)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "GraphBLAS has no matrix without rows or columns");
    s->f64 = a->value_bytes == 8;
    s->by_row = request->row_major;
    s->transpose = request->transpose;
    s->threads = request->threads;
    cost->us = &s->us;
    SPRY_PEER_TRY(import(&s->A, a, error));
    SPRY_PEER_TRY(make_full(s, &s->x, request->transpose ? a->rows : a->cols, request->columns, error));
    return make_full(s, &s->y, request->transpose ? a->cols : a->rows, request->columns, error);
}

static int multiply(spmm_state *s, spry_peer_error *error)
{
    memset(s->y.values, 0, s->y.bytes);
    SPRY_PEER_TRY(put_in(s, &s->y, error));
    SPRY_PEER_TRY(answer(GrB_mxm(s->y.matrix, NULL, s->f64 ? GrB_PLUS_FP64 : GrB_PLUS_FP32,
                                 s->f64 ? GrB_PLUS_TIMES_SEMIRING_FP64 : GrB_PLUS_TIMES_SEMIRING_FP32, s->A,
                                 s->x.matrix, s->transpose ? GrB_DESC_T0 : NULL),
                         "GrB_mxm", error));
    return answer(GrB_Matrix_wait(s->y.matrix, GrB_MATERIALIZE), "GrB_Matrix_wait", error);
}

static int spmm_run(void *state, double alpha, const void *x, double beta, void *y)
{
    spmm_state *s = state;
    spry_peer_error error;
    if (alpha != 1 || beta != 0) return SPRY_PEER_FAILED;
    SPRY_PEER_TRY(answer(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, s->threads), "GxB_Global_Option_set", &error));
    memcpy(s->x.values, x, s->x.bytes);
    SPRY_PEER_TRY(put_in(s, &s->x, &error));
    const double start = now_us();
    SPRY_PEER_TRY(multiply(s, &error));
    s->us = now_us() - start;
    SPRY_PEER_TRY(take_out(s, &s->x, &error));
    SPRY_PEER_TRY(take_out(s, &s->y, &error));
    memcpy(y, s->y.values, s->y.bytes);
    return SPRY_PEER_OK;
}

static const spry_peer_kernel spmm[] = {{"graphblas_spmm", "csr", "cpu",
                                         "SuiteSparse:GraphBLAS GrB_mxm, plus-times, sparse times full", -1,
                                         spmm_prepare, spmm_run, spmm_destroy, 0}};

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    static const spry_peer_module module = {.abi = SPRY_PEER_ABI,
                                            .name = "graphblas",
                                            .version = TEXT(GxB_IMPLEMENTATION_MAJOR) "." TEXT(
                                                GxB_IMPLEMENTATION_MINOR) "." TEXT(GxB_IMPLEMENTATION_SUB),
                                            .spgemm_count = sizeof products / sizeof *products,
                                            .spgemm = products,
                                            .spmm_count = sizeof spmm / sizeof *spmm,
                                            .spmm = spmm};
    if (answer(GrB_init(GrB_NONBLOCKING), "GrB_init", error) != SPRY_PEER_OK) return NULL;
    return &module;
}
