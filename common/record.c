#include "common/record.h"
#include "spry/matrix.h"
#include "spry/spgemm.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const record_stage_names[RECORD_STAGES] = {"read", "convert", "count", "scan", "fill", "sort"};

void record_init(record *r)
{
    *r = (record){.count = -1,
                  .input.rows = -1,
                  .input.columns = -1,
                  .input.nnz = -1,
                  .input.distinct_values = -1,
                  .input.twin = -1,
                  .method.threads = -1,
                  .method.peer = -1,
                  .method.deterministic = -1,
                  .cost.setup_us = NAN,
                  .cost.upload_us = NAN,
                  .cost.baseline_us = NAN,
                  .cost.predicted_us = NAN,
                  .cost.update_us = NAN,
                  .cost.break_even = -1,
                  .time.disturbed = -1,
                  .time.first_us = NAN,
                  .time.median_us = NAN,
                  .time.mean_us = NAN,
                  .time.min_us = NAN,
                  .time.spread_us = NAN,
                  .time.iterations = -1,
                  .time.runs = -1,
                  .rates.gflops = NAN,
                  .rates.gbps = NAN,
                  .rates.copy_gbps = NAN,
                  .rates.roof = NAN,
                  .rates.bytes = -1,
                  .max_error = NAN,
                  .product.products = -1,
                  .product.nnz_c = -1,
                  .product.compression = NAN,
                  .product.peak_bytes = -1};
    for (int s = 0; s < RECORD_STAGES; s++) r->product.stages[s] = NAN;
}

/* Counts the values with different bits. Returns -1 if there are over 4096. */
static int64_t count_distinct(const spry_arrays *a)
{
    enum { MOST = 4096, BITS = 14, SLOTS = 1 << BITS };
    const size_t size = a->values && a->device == 0 ? spry_type_bytes(a->value_type) : 0;
    uint64_t *slots = size > 0 ? malloc(SLOTS * sizeof *slots) : NULL;
    bool is_used[SLOTS] = {false};
    int64_t count = 0;
    for (int64_t k = 0; slots && k < a->nnz && count <= MOST; k++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)a->values + (size_t)k * size, size);
        uint64_t at = bits * UINT64_C(0x9E3779B97F4A7C15) >> (64 - BITS);
        while (is_used[at] && slots[at] != bits) at = (at + 1) % SLOTS;
        count += !is_used[at];
        is_used[at] = true;
        slots[at] = bits;
    }
    free(slots);
    return slots && count <= MOST ? count : -1;
}

spry_status record_describe(record *r, const spry_matrix *A, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
    spry_status status = spry_matrix_get_arrays(A, &a, err);
    if (status == SPRY_OK) status = spry_matrix_get_stats(A, &stats, err);
    if (status != SPRY_OK) return status;
    r->input.rows = a.rows;
    r->input.columns = a.columns;
    r->input.nnz = a.nnz;
    r->input.distinct_values = count_distinct(&a);
    r->input.class_name = row_length_class(&stats);
    r->input.type = spry_type_name(a.value_type);
    r->input.index = index_pair_name(&a);
    return SPRY_OK;
}

void measure_update(spry_spmv_plan *plan)
{
    const spry_status ignored = spry_spmv_plan_update(plan, NULL, NULL);
    (void)ignored;
}

spry_status record_take_plan(record *r, const spry_spmv_plan *plan, spry_error *err)
{
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    spry_status status = spry_spmv_plan_get_info(plan, &info, err);
    if (status != SPRY_OK) return status;
    RECORD_TEXT(r->method.format, info.format);
    snprintf(r->method.kernel, sizeof r->method.kernel, "%s%s%s", info.kernel, info.kernel_parameters[0] ? ":" : "",
             info.kernel_parameters);
    RECORD_TEXT(r->method.device, info.device_name);
    RECORD_TEXT(r->method.ordering, info.ordering);
    RECORD_TEXT(r->reason, info.reason);
    r->method.threads = info.threads;
    r->method.deterministic = info.deterministic;
    r->cost.setup_us = info.setup_us;
    r->cost.upload_us = info.upload_us;
    if (info.predicted_us > 0) { /* 0: the library predicted no times */
        r->cost.baseline_us = info.baseline_us;
        r->cost.predicted_us = info.predicted_us;
    }
    r->cost.update_us = info.update_us > 0 || info.values_in_place ? info.update_us : NAN;
    r->cost.break_even = info.break_even_calls;
    r->rates.bytes = info.storage_bytes;
    return SPRY_OK;
}

void record_take_stages(record *r, const spry_spgemm_stages *stages)
{
    const double us[RECORD_STAGES - 1] = {stages->convert_us, stages->count_us, stages->scan_us, stages->fill_us,
                                          stages->sort_us};
    for (int s = STAGE_CONVERT; s < RECORD_STAGES; s++)
        r->product.stages[s] = us[s - STAGE_CONVERT] >= 0 ? us[s - STAGE_CONVERT] : NAN;
}

int record_fail(record *r, record_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->reason, sizeof r->reason, format, arguments);
    va_end(arguments);
    r->status = status;
    return 0;
}

const char *record_status_name(record_status status)
{
    static const char *const names[] = {"ok", "wrong", "skipped", "failed"};
    return names[status];
}

const char *row_length_class(const spry_matrix_stats *stats)
{
    return stats->variance_row <= 10 ? "regular" : "irregular";
}

const char *index_pair_name(const spry_arrays *a)
{
    if (a->offset_type == SPRY_I32) return "32/32";
    return a->index_type == SPRY_I32 ? "64/32" : "64/64";
}

bool record_is_rival(const record *r)
{
    return r->method.peer == 1 && strcmp(r->method.kernel, "csr_plain") != 0;
}

int64_t record_break_even(const record *r, const record *base)
{
    if (isnan(r->time.median_us) || isnan(base->time.median_us) || isnan(r->cost.setup_us) ||
        isnan(base->cost.setup_us))
        return -2;
    double dearer = r->cost.setup_us - base->cost.setup_us, gain = base->time.median_us - r->time.median_us;
    if (r == base || (dearer <= 0 && gain >= 0)) return 0;
    if (gain <= 0) return -1;
    return (int64_t)ceil(dearer / gain);
}
