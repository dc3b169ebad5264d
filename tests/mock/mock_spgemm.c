/*
 * Sparse products of the mock device, one row at a time. A row is summed in an array with one element per column. The
 * order of sums follows the entries of A.
 */
#include "mock/mock.h"

#include "base/error.h"
#include "matrix/assemble.h"
#include "spgemm/kernels/spgemm.h"

#include <stdlib.h>

typedef struct product_state {
    void *workspace; /* device memory: one finite value per column, and the bytes that the test requests */
    int64_t bytes;
} product_state;

static int64_t at(const void *array, spry_index_type type, int64_t k)
{
    return type == SPRY_I64 ? ((const int64_t *)array)[k] : ((const int32_t *)array)[k];
}

static double value(const void *array, spry_type type, int64_t k)
{
    if (!array) return 1;
    return type == SPRY_F64 ? ((const double *)array)[k] : (double)((const float *)array)[k];
}

/* Marks the row's columns and sums its values. Returns the number of columns. */
static int64_t sum_row(const spryi_device_product *p, int64_t i, double *sums, char *marks)
{
    int64_t found = 0;
    for (int64_t k = at(p->a.offsets, p->a.offset_type, i); k < at(p->a.offsets, p->a.offset_type, i + 1); k++) {
        const int64_t row = ((const int32_t *)p->a.indices)[k];
        for (int64_t e = at(p->b.offsets, p->b.offset_type, row); e < at(p->b.offsets, p->b.offset_type, row + 1);
             e++) {
            const int32_t j = ((const int32_t *)p->b.indices)[e];
            found += !marks[j];
            sums[j] = (marks[j] ? sums[j] : 0) + value(p->a.values, p->type, k) * value(p->b.values, p->type, e);
            marks[j] = 1;
        }
    }
    return found;
}

static int64_t products_of(const spryi_device_product *p, int64_t i)
{
    int64_t products = 0;
    for (int64_t k = at(p->a.offsets, p->a.offset_type, i); k < at(p->a.offsets, p->a.offset_type, i + 1); k++) {
        const int64_t row = ((const int32_t *)p->a.indices)[k];
        products += at(p->b.offsets, p->b.offset_type, row + 1) - at(p->b.offsets, p->b.offset_type, row);
    }
    return products;
}

static void clear_marks(const spryi_device_product *p, char *marks)
{
    for (int64_t j = 0; j < p->b.columns; j++) marks[j] = 0;
}

/* Opens device memory for a phase of a product. Aborts unless this thread has made the device current. */
static void begin(void)
{
    if (mock_entered == 0) abort();
    mock_finish();
    mock_open_memory();
}

static void discard(spryi_device_product *p)
{
    product_state *own = p->state;
    if (mock_entered == 0) abort();
    if (!own) return;
    p->memory.release(p, own->workspace, own->bytes);
    free(own);
    p->state = NULL;
}

static spry_status symbolic(spryi_device_product *p, spry_error *err)
{
    product_state *own = calloc(1, sizeof *own);
    if (!own) return spryi_fail(err, SPRY_OUT_OF_MEMORY, NULL, "out of memory");
    p->state = own;
    own->bytes = 9 * p->b.columns + mock.spgemm_bytes;
    spry_status status = p->memory.allocate(p, &own->workspace, own->bytes, "sums", err);
    if (status != SPRY_OK) {
        own->workspace = NULL;
        discard(p);
        return status;
    }
    begin();
    double *sums = own->workspace;
    char *marks = (char *)(sums + p->b.columns);
    p->products = p->nnz = 0;
    for (int64_t i = p->row_begin; i < p->row_end; i++) {
        clear_marks(p, marks);
        p->c_offsets[i - p->row_begin] = p->nnz;
        p->nnz += sum_row(p, i, sums, marks);
        p->products += products_of(p, i);
    }
    p->c_offsets[p->row_end - p->row_begin] = p->nnz;
    mock_close_memory();
    return SPRY_OK;
}

static spry_status numeric(spryi_device_product *p, spry_error *err)
{
    const product_state *own = p->state;
    if (mock.spgemm_fails) return spryi_fail(err, SPRY_DEVICE_FAILED, NULL, "mock: the device failed");
    begin();
    double *sums = own->workspace;
    char *marks = (char *)(sums + p->b.columns);
    int64_t entry = 0;
    mock.products++;
    for (int64_t i = p->row_begin; i < p->row_end; i++) {
        clear_marks(p, marks);
        (void)sum_row(p, i, sums, marks);
        for (int32_t j = 0; j < (int32_t)p->b.columns; j++) {
            if (!marks[j]) continue;
            p->c_columns[entry] = j;
            if (p->type == SPRY_F64)
                ((double *)p->c_values)[entry++] = *(const double *)p->alpha * sums[j];
            else
                ((float *)p->c_values)[entry++] = (float)((double)*(const float *)p->alpha * sums[j]);
        }
    }
    mock_close_memory();
    return SPRY_OK;
}

static spry_status scan_products(spryi_device_product *p, int64_t *host_scan, spry_error *err)
{
    (void)err;
    begin();
    host_scan[0] = 0;
    for (int64_t i = 0; i < p->a.rows; i++) host_scan[i + 1] = host_scan[i] + products_of(p, i);
    mock_close_memory();
    return SPRY_OK;
}

static spry_status copy_offsets(void *to, int to_32, const int64_t *from, int64_t shift, int64_t count, void *stream,
                                spry_error *err)
{
    (void)stream, (void)err;
    begin();
    for (int64_t i = 0; i < count; i++)
        if (to_32)
            ((int32_t *)to)[i] = (int32_t)(from[i] + shift);
        else
            ((int64_t *)to)[i] = from[i] + shift;
    mock_close_memory();
    return SPRY_OK;
}

static spry_status drop_zeros(int64_t *offsets, int32_t *columns, void *values, spry_type type, int64_t rows,
                              int64_t *nnz, void *workspace, void *stream, spry_error *err)
{
    (void)workspace, (void)stream, (void)err;
    begin();
    int64_t to = 0, begin = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t end = offsets[i + 1];
        for (int64_t k = begin; k < end; k++) {
            if (spryi_value_at(values, type, k) == 0) continue;
            columns[to] = columns[k];
            spryi_set_value(values, type, to++, spryi_value_at(values, type, k));
        }
        begin = end;
        offsets[i + 1] = to;
    }
    *nnz = to;
    mock_close_memory();
    return SPRY_OK;
}

static int64_t drop_zeros_bytes(spry_type type, int64_t rows, int64_t nnz)
{
    (void)type, (void)rows;
    return nnz + 1;
}

/* Reports invented times, which differ by stage, so that tests can check sums over chunks. No scan time is reported. */
static spry_status stages(spryi_device_product *p, spryi_spgemm_stages *stages, spry_error *err)
{
    (void)err;
    if (mock_entered == 0 || mock_waits() > 0 || !p->state) abort();
    stages->convert_us = 8;
    stages->count_us = 1;
    stages->fill_us = 2;
    stages->sort_us = 0;
    return SPRY_OK;
}

const spryi_spgemm_device_phases mock_spgemm_phases = {symbolic, numeric, discard, stages};
const spryi_spgemm_functions mock_spgemm = {.scan_products = scan_products,
                                            .copy_offsets = copy_offsets,
                                            .drop_zeros = drop_zeros,
                                            .drop_zeros_bytes = drop_zeros_bytes};

const spryi_kernel mock_spgemm_kernel = {.name = "spgemm_rows_mock",
                                         .format = "csr",
                                         .device = "mock",
                                         .idea = "sums over all columns, a row at a time",
                                         .source = "tests",
                                         .pattern = 1,
                                         .operations = SPRYI_OP_SPGEMM};
