/*
 * Peers with faults that the benchmark must report. `wrong`: the middle entry of y's last column has a wrong value.
 * `lost`: the product fails. Peers of sparse products also include `misplaced`: an entry has the wrong column;
 * `unsorted`: entries of a row are in reverse order, which is allowed; `short`: an entry is missing.
 */
#include "bench/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct wrong {
    spry_peer_matrix a;
    int64_t columns;
    int row_major;
} wrong;

static int prepare(void **state, const spry_peer_request *request, spry_peer_cost *cost, spry_peer_error *error)
{
    wrong *w = spry_peer_new(state, sizeof *w, error);
    if (!w) return SPRY_PEER_FAILED;
    *w = (wrong){request->matrix, request->columns, request->row_major};
    if (request->transpose)
        return spry_peer_fail(error, SPRY_PEER_UNSUPPORTED, "what is wrong on purpose is not transposed");
    cost->threads = 1;
    return SPRY_PEER_OK;
}

static double value_at(const spry_peer_matrix *a, const void *array, int64_t k)
{
    return a->value_bytes == 4 ? (double)((const float *)array)[k] : ((const double *)array)[k];
}

/* Returns the position of entry i of column c in a block of vectors with `rows` rows. */
static int64_t place_of(const wrong *w, int64_t rows, int64_t i, int64_t c)
{
    return w->row_major ? i * w->columns + c : c * rows + i;
}

static void multiply_row(const wrong *w, int64_t i, int64_t c, double alpha, const void *x, double beta, void *y)
{
    const spry_peer_matrix *a = &w->a;
    const int64_t at = place_of(w, a->rows, i, c);
    double sum = 0;
    for (int64_t k = spry_peer_offset(a, i); k < spry_peer_offset(a, i + 1); k++) {
        const int64_t j = spry_peer_index(a->index_bytes, a->columns, k);
        sum += value_at(a, a->values, k) * value_at(a, x, place_of(w, a->cols, j, c));
    }
    if (i == a->rows / 2 && c == w->columns - 1) sum = sum * 1.001 + 1e-3;
    sum = alpha * sum + (beta == 0 ? 0 : beta * value_at(a, y, at));
    if (a->value_bytes == 4)
        ((float *)y)[at] = (float)sum;
    else
        ((double *)y)[at] = sum;
}

/* Multiplies. The middle entry of the last column of y is wrong by one part in a thousand. */
static int run(void *state, double alpha, const void *x, double beta, void *y)
{
    const wrong *w = state;
    for (int64_t i = 0; i < w->a.rows; i++)
        for (int64_t c = 0; c < w->columns; c++) multiply_row(w, i, c, alpha, x, beta, y);
    return SPRY_PEER_OK;
}

static int fail(void *state, double alpha, const void *x, double beta, void *y)
{
    (void)state, (void)alpha, (void)x, (void)beta, (void)y;
    return SPRY_PEER_FAILED;
}

static const spry_peer_kernel kernels[] = {{"csr_wrong", "csr", "cpu", "wrong on purpose", 1, prepare, run, free, 0},
                                           {"csr_lost", "csr", "cpu", "fails on purpose", 1, prepare, fail, free, 0}};
static const spry_peer_kernel spmm[] = {{"spmm_wrong", "csr", "cpu", "wrong on purpose", 1, prepare, run, free, 0}};

/* ---- sparse times sparse ------------------------------------------------------------------------ */

typedef enum fault { NONE, VALUE, PLACE, ORDER, COUNT, LOST } fault;

typedef struct product {
    spry_peer_matrix a, b;
    fault fault;
    int64_t *offsets, *columns;
    void *values;
} product;

static int prepare_product(void **state, const spry_peer_spgemm_request *request, spry_peer_cost *cost,
                           spry_peer_error *error)
{
    product *p = spry_peer_new(state, sizeof *p, error);
    if (!p) return SPRY_PEER_FAILED;
    p->a = request->a;
    p->b = request->b;
    p->fault = (fault)request->variant;
    cost->threads = 1;
    return SPRY_PEER_OK;
}

static void release(void *state)
{
    product *p = state;
    free(p->offsets);
    free(p->columns);
    free(p->values);
    p->offsets = p->columns = NULL;
    p->values = NULL;
}

static void destroy_product(void *state)
{
    release(state);
    free(state);
}

static void put(const product *p, int64_t k, int64_t j, double value)
{
    p->columns[k] = j;
    if (p->a.value_bytes == 4)
        ((float *)p->values)[k] = (float)value;
    else
        ((double *)p->values)[k] = value;
}

/*
 * Computes row i of the product in sums, which has one element per column. Sets marks[j] if column j has an entry.
 * Stores the entries from index `at` on, and returns the index after the last entry.
 */
static int64_t fill_row(const product *p, int64_t i, double *sums, char *marks, int64_t at)
{
    const spry_peer_matrix *a = &p->a, *b = &p->b;
    memset(marks, 0, (size_t)b->cols);
    for (int64_t k = spry_peer_offset(a, i); k < spry_peer_offset(a, i + 1); k++) {
        const int64_t row = spry_peer_index(a->index_bytes, a->columns, k);
        for (int64_t l = spry_peer_offset(b, row); l < spry_peer_offset(b, row + 1); l++) {
            const int64_t j = spry_peer_index(b->index_bytes, b->columns, l);
            sums[j] = (marks[j] ? sums[j] : 0) + value_at(a, a->values, k) * value_at(b, b->values, l);
            marks[j] = 1;
        }
    }
    for (int64_t n = 0; n < b->cols; n++) {
        const int64_t j = p->fault == ORDER ? b->cols - 1 - n : n;
        if (marks[j]) put(p, at++, j, sums[j]);
    }
    return at;
}

/* Puts the fault into the first entry of the middle row. */
static void spoil(const product *p)
{
    const int64_t k = p->offsets[p->a.rows / 2];
    if (p->fault == VALUE) put(p, k, p->columns[k], 1e3);
    if (p->fault == PLACE) p->columns[k] = p->columns[k] > 0 ? p->columns[k] - 1 : p->b.cols - 1;
    if (p->fault == COUNT) p->offsets[p->a.rows]--;
}

static int run_product(void *state, spry_peer_product *reported, spry_peer_error *error)
{
    product *p = state;
    const size_t most = (size_t)(p->a.rows * p->b.cols) + 1;
    (void)reported;
    spry_peer_fail(error, SPRY_PEER_FAILED, "failed on purpose");
    if (p->fault == LOST) return SPRY_PEER_FAILED;
    double *sums = malloc((size_t)p->b.cols * sizeof *sums + 1);
    char *marks = malloc((size_t)p->b.cols + 1);
    p->offsets = malloc((size_t)(p->a.rows + 1) * sizeof *p->offsets);
    p->columns = malloc(most * sizeof *p->columns);
    p->values = malloc(most * sizeof(double));
    const int good = sums && marks && p->offsets && p->columns && p->values;
    if (good) p->offsets[0] = 0;
    for (int64_t i = 0; good && i < p->a.rows; i++) p->offsets[i + 1] = fill_row(p, i, sums, marks, p->offsets[i]);
    if (good && p->a.rows > 0) spoil(p);
    free(sums);
    free(marks);
    return good ? SPRY_PEER_OK : SPRY_PEER_FAILED;
}

static int fetch(void *state, spry_peer_matrix *c, spry_peer_error *error)
{
    const product *p = state;
    (void)error;
    *c = (spry_peer_matrix){p->a.rows,  p->b.cols, p->offsets[p->a.rows], p->a.value_bytes, 8, 8, p->offsets,
                            p->columns, p->values};
    return SPRY_PEER_OK;
}

#define PRODUCT(name, fault)                                                                                           \
    {                                                                                                                  \
        name, "cpu", "on purpose", 1, prepare_product, run_product, fetch, release, destroy_product, fault             \
    }
static const spry_peer_spgemm products[] = {PRODUCT("spgemm_right", NONE),      PRODUCT("spgemm_wrong", VALUE),
                                            PRODUCT("spgemm_misplaced", PLACE), PRODUCT("spgemm_unsorted", ORDER),
                                            PRODUCT("spgemm_short", COUNT),     PRODUCT("spgemm_lost", LOST)};

static const spry_peer_module module = {.abi = SPRY_PEER_ABI,
                                        .name = "wrong",
                                        .version = "1",
                                        .kernel_count = 2,
                                        .kernels = kernels,
                                        .spgemm_count = 6,
                                        .spgemm = products,
                                        .spmm_count = 1,
                                        .spmm = spmm};

const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    (void)error;
    return &module;
}
