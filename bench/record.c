/* One case as a record: the fields of the benchmark's JSON lines, in their order. */
#include "bench/bench.h"

#include <cjson/cJSON.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
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
                             .max_error = NAN,
                             .products = -1,
                             .nnz_c = -1,
                             .peak_bytes = -1,
                             .compression = NAN,
                             .convert_us = NAN};
}

int bench_set_status(bench_record *record, bench_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(record->reason, sizeof record->reason, format, arguments);
    va_end(arguments);
    record->status = status;
    return 0;
}

const char *bench_class_name(const spry_matrix_stats *stats)
{
    return stats->variance_row <= 10 ? "regular" : "irregular";
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

/* Bytes of the UTF-8 character at s: 1 to 4; 0 where no character begins (RFC 3629: no surrogates, no detours). */
static size_t utf8_length(const unsigned char *s)
{
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0; /* a zero ends here too */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0;
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
    return length;
}

/* File names are bytes, JSON is UTF-8: each byte that is no part of a character becomes U+FFFD. */
static char *make_utf8(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    char *made = malloc(3 * strlen(text) + 1), *to = made;
    for (const char *s = text; made && *s;) {
        size_t length = utf8_length((const unsigned char *)s), bytes = length > 0 ? length : 3;
        memcpy(to, length > 0 ? s : replacement, bytes);
        to += bytes;
        s += length > 0 ? length : 1;
    }
    if (made) *to = '\0';
    return made;
}

int bench_json_text(cJSON *object, const char *name, const char *value)
{
    if (!value || !value[0]) return cJSON_AddNullToObject(object, name) != NULL;
    char *text = make_utf8(value);
    int good = text && cJSON_AddStringToObject(object, name, text) != NULL;
    free(text);
    return good;
}

static int json_flag(cJSON *object, const char *name, int value)
{
    if (value < 0) return cJSON_AddNullToObject(object, name) != NULL;
    return cJSON_AddBoolToObject(object, name, value) != NULL;
}

/* What products of two sparse matrices have beside. */
static int json_spgemm(cJSON *o, const bench_record *r)
{
    return !r->op || strcmp(r->op, "spgemm") != 0 ||
           (bench_json_integer(o, "products", r->products) && bench_json_integer(o, "nnz_c", r->nnz_c) &&
            bench_json_number(o, "compression", r->compression) && bench_json_integer(o, "peak_bytes", r->peak_bytes));
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
           bench_json_text(o, "status", bench_status_name(r->status)) && bench_json_text(o, "reason", r->reason) &&
           json_spgemm(o, r);
}
