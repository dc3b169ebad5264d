/* One case as a record: the fields of the benchmark's JSON lines, in their order. */
#include "bench/bench.h"

#include <cjson/cJSON.h>
#include <float.h>
#include <math.h>
#include <string.h>

void bench_record_init(bench_record *record)
{
    *record = (bench_record){.rows = -1,
                             .cols = -1,
                             .nnz = -1,
                             .twin = -1,
                             .threads = -1,
                             .deterministic = -1,
                             .setup_us = NAN,
                             .upload_us = NAN,
                             .first_us = NAN,
                             .time_us = NAN,
                             .mean_us = NAN,
                             .min_us = NAN,
                             .spread_us = NAN,
                             .runs = -1,
                             .gflops = NAN,
                             .gbps = NAN,
                             .copy_gbps = NAN,
                             .roof = NAN,
                             .bytes = -1,
                             .max_error = NAN};
}

const char *bench_status_name(bench_status status)
{
    static const char *const names[] = {"ok", "wrong", "skipped", "failed"};
    return names[status];
}

int bench_json_number(cJSON *object, const char *name, double value)
{
    char text[40];
    if (isnan(value)) return cJSON_AddNullToObject(object, name) != NULL;
    if (isinf(value)) value = value > 0 ? DBL_MAX : -DBL_MAX;
    snprintf(text, sizeof text, fabs(value) >= DBL_MAX ? "%.17g" : "%.7g", value);
    return cJSON_AddRawToObject(object, name, text) != NULL;
}

int bench_json_integer(cJSON *object, const char *name, int64_t value)
{
    char text[24];
    if (value < 0) return cJSON_AddNullToObject(object, name) != NULL;
    snprintf(text, sizeof text, "%lld", (long long)value);
    return cJSON_AddRawToObject(object, name, text) != NULL;
}

int bench_json_text(cJSON *object, const char *name, const char *value)
{
    if (!value || !value[0]) return cJSON_AddNullToObject(object, name) != NULL;
    return cJSON_AddStringToObject(object, name, value) != NULL;
}

static int json_flag(cJSON *object, const char *name, int value)
{
    if (value < 0) return cJSON_AddNullToObject(object, name) != NULL;
    return cJSON_AddBoolToObject(object, name, value) != NULL;
}

int bench_record_to_json(const bench_record *r, cJSON *o)
{
    return bench_json_text(o, "op", r->op) && bench_json_text(o, "matrix", r->matrix) &&
           bench_json_integer(o, "rows", r->rows) && bench_json_integer(o, "cols", r->cols) &&
           bench_json_integer(o, "nnz", r->nnz) && bench_json_text(o, "class", r->class_name) &&
           json_flag(o, "twin", r->twin) && bench_json_text(o, "type", r->type) &&
           bench_json_text(o, "index", r->index) && bench_json_text(o, "device", r->device) &&
           bench_json_integer(o, "threads", r->threads) && bench_json_text(o, "format", r->format) &&
           bench_json_text(o, "kernel", r->kernel) && bench_json_text(o, "ordering", r->ordering) &&
           json_flag(o, "peer", r->peer) && json_flag(o, "deterministic", r->deterministic) &&
           bench_json_number(o, "setup_us", r->setup_us) && bench_json_number(o, "upload_us", r->upload_us) &&
           bench_json_number(o, "first_us", r->first_us) && bench_json_number(o, "time_us", r->time_us) &&
           bench_json_number(o, "mean_us", r->mean_us) && bench_json_number(o, "min_us", r->min_us) &&
           bench_json_number(o, "spread_us", r->spread_us) && bench_json_integer(o, "runs", r->runs) &&
           bench_json_text(o, "state", r->state) && bench_json_number(o, "gflops", r->gflops) &&
           bench_json_number(o, "gbps", r->gbps) && bench_json_number(o, "copy_gbps", r->copy_gbps) &&
           bench_json_number(o, "roof", r->roof) && bench_json_integer(o, "bytes", r->bytes) &&
           bench_json_number(o, "max_error", r->max_error) &&
           bench_json_text(o, "status", bench_status_name(r->status)) && bench_json_text(o, "reason", r->reason);
}
