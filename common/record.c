#include "common/record.h"
#include "spry/tools.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

const char *const record_stage_names[RECORD_STAGES] = {"read", "convert", "count", "scan", "fill", "sort"};

void record_init(record *r)
{
    *r = (record){.columns = -1,
                  .rows = -1,
                  .cols = -1,
                  .nnz = -1,
                  .twin = -1,
                  .threads = -1,
                  .peer = -1,
                  .deterministic = -1,
                  .setup_us = NAN,
                  .upload_us = NAN,
                  .baseline_us = NAN,
                  .predicted_us = NAN,
                  .update_us = NAN,
                  .break_even = -1,
                  .disturbed = -1,
                  .first_us = NAN,
                  .time_us = NAN,
                  .mean_us = NAN,
                  .min_us = NAN,
                  .spread_us = NAN,
                  .iterations = -1,
                  .runs = -1,
                  .gflops = NAN,
                  .gbps = NAN,
                  .copy_gbps = NAN,
                  .roof = NAN,
                  .bytes = -1,
                  .max_error = NAN,
                  .products = -1,
                  .nnz_c = -1,
                  .compression = NAN,
                  .peak_bytes = -1};
    for (int s = 0; s < RECORD_STAGES; s++) r->stages[s] = NAN;
}

spry_status record_describe(record *r, const spry_matrix *A, spry_error *err)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_matrix_stats stats = SPRY_INIT(spry_matrix_stats);
    spry_status status = spry_matrix_get_arrays(A, &a, err);
    if (status == SPRY_OK) status = spry_matrix_get_stats(A, &stats, err);
    if (status != SPRY_OK) return status;
    r->rows = a.rows;
    r->cols = a.cols;
    r->nnz = a.nnz;
    r->class_name = row_length_class(&stats);
    r->type = spry_type_name(a.value_type);
    r->index = index_pair_name(&a);
    return SPRY_OK;
}

spry_status record_take_plan(record *r, const spry_spmv_plan *plan, spry_error *err)
{
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    spry_status status = spry_spmv_plan_get_info(plan, &info, err);
    if (status != SPRY_OK) return status;
    RECORD_TEXT(r->format, info.format);
    snprintf(r->kernel, sizeof r->kernel, "%s%s%s", info.kernel, info.kernel_parameters[0] ? ":" : "",
             info.kernel_parameters);
    RECORD_TEXT(r->device, info.device_name);
    RECORD_TEXT(r->ordering, info.ordering);
    RECORD_TEXT(r->reason, info.reason);
    r->threads = info.threads;
    r->deterministic = info.deterministic;
    r->setup_us = info.setup_us;
    r->upload_us = info.upload_us;
    if (info.predicted_us > 0) { /* else there was no memory to measure the bandwidth in */
        r->baseline_us = info.baseline_us;
        r->predicted_us = info.predicted_us;
    }
    r->update_us = info.predicted_update_us;
    r->break_even = info.break_even_calls;
    r->bytes = info.storage_bytes;
    return SPRY_OK;
}

void record_take_stages(record *r, const spry_spgemm_info *info)
{
    const double us[RECORD_STAGES - 1] = {info->convert_us, info->count_us, info->scan_us, info->fill_us,
                                          info->sort_us};
    for (int s = STAGE_CONVERT; s < RECORD_STAGES; s++)
        r->stages[s] = us[s - STAGE_CONVERT] >= 0 ? us[s - STAGE_CONVERT] : NAN;
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
    return r->peer == 1 && strcmp(r->kernel, "csr_plain") != 0;
}

int64_t record_break_even(const record *r, const record *base)
{
    if (isnan(r->time_us) || isnan(base->time_us) || isnan(r->setup_us) || isnan(base->setup_us)) return -2;
    double dearer = r->setup_us - base->setup_us, gain = base->time_us - r->time_us;
    if (r == base || (dearer <= 0 && gain >= 0)) return 0;
    if (gain <= 0) return -1;
    return (int64_t)ceil(dearer / gain);
}
