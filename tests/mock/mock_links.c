/* PageRank's set-up on the mock device: plain loops, at once. */
#include "mock/mock.h"

#include "base/element.h"
#include "device/vector_ops.h"

#include <math.h>
#include <stdlib.h>

static void open_all(void)
{
    mock_finish();
    mock_open_memory();
    mock.looks++;
}

static double value_of(const spry_arrays *a, int64_t k)
{
    return a->value_type == SPRY_PATTERN ? 1 : spryi_value_at(a->values, a->value_type, k);
}

static spry_status look(const spryi_device *device, spryi_entry_facts *facts, const spry_arrays *csr, spry_error *err)
{
    (void)device, (void)err;
    *facts = (spryi_entry_facts){.bad = -1, .all_ones = 1};
    open_all();
    for (int64_t k = csr->nnz - 1; k >= 0; k--) {
        const double value = value_of(csr, k);
        if (value != 1) facts->all_ones = 0;
        if (value >= 0 && isfinite(value)) continue;
        facts->bad = k;
        facts->bad_value = value;
    }
    mock_close_memory();
    return SPRY_OK;
}

static spry_status add(const spryi_device *device, double *sums, const spry_arrays *csr, spry_error *err)
{
    (void)device, (void)err;
    open_all();
    for (int64_t i = 0; i < csr->rows; i++) {
        sums[i] = 0;
        for (int64_t k = spryi_offset_of(csr, i); k < spryi_offset_of(csr, i + 1); k++) sums[i] += value_of(csr, k);
    }
    mock_close_memory();
    return SPRY_OK;
}

static spry_status invert(const spryi_device *device, spryi_sum_facts *facts, void *factors, spry_type type,
                          const double *sums, int64_t n, spry_error *err)
{
    (void)device, (void)err;
    facts->as_they_stand = 1;
    facts->zeros = 0;
    facts->first_zero = facts->bad = -1;
    open_all();
    for (int64_t j = n - 1; j >= 0; j--) {
        const double factor = sums[j] == 0 ? 0 : 1 / sums[j];
        if (!(fabs(sums[j] - 1) <= facts->slack)) facts->as_they_stand = 0;
        spryi_set_value(factors, type, j, factor);
        if (sums[j] == 0) {
            facts->zeros++;
            facts->first_zero = j;
        } else if (!(factor >= facts->least && factor <= facts->largest)) {
            facts->bad = j;
            facts->bad_sum = sums[j];
        }
    }
    mock_close_memory();
    return SPRY_OK;
}

static void set_index(void *array, spry_index_type type, int64_t k, int64_t value)
{
    if (type == SPRY_I64)
        ((int64_t *)array)[k] = value;
    else
        ((int32_t *)array)[k] = (int32_t)value;
}

static spry_status transpose(const spryi_device *device, void *offsets, void *indices, void *values,
                             const spry_arrays *csr, spry_error *err)
{
    (void)device, (void)err;
    int64_t *next = calloc((size_t)csr->cols + 1, sizeof *next), begin = 0;
    if (!next) abort();
    open_all();
    for (int64_t k = 0; k < csr->nnz; k++) next[spryi_index_at(csr->indices, csr->index_type, k)]++;
    for (int64_t j = 0; j <= csr->cols; j++) {
        const int64_t count = next[j];
        set_index(offsets, csr->offset_type, j, begin);
        next[j] = begin;
        begin += count;
    }
    for (int64_t i = 0; i < csr->rows; i++)
        for (int64_t k = spryi_offset_of(csr, i); k < spryi_offset_of(csr, i + 1); k++) {
            const int64_t p = next[spryi_index_at(csr->indices, csr->index_type, k)]++;
            set_index(indices, csr->index_type, p, i);
            if (values) spryi_set_value(values, csr->value_type, p, value_of(csr, k));
        }
    mock_close_memory();
    free(next);
    return SPRY_OK;
}

const spryi_links_passes mock_links_passes = {.look = look, .add = add, .invert = invert, .transpose = transpose};
