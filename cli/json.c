#include "cli/json.h"
#include "cli/cli.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool cli_json_number(cJSON *object, const char *name, double value)
{
    char text[40];
    if (isnan(value)) return cJSON_AddNullToObject(object, name) != NULL;
    if (isinf(value)) value = value > 0 ? DBL_MAX : -DBL_MAX;
    snprintf(text, sizeof text, fabs(value) >= DBL_MAX ? "%.17g" : "%.7g", value);
    return cJSON_AddRawToObject(object, name, text) != NULL;
}

bool cli_json_exact(cJSON *object, const char *name, double value)
{
    char text[40];
    if (!isfinite(value)) return cJSON_AddNullToObject(object, name) != NULL;
    snprintf(text, sizeof text, "%.17g", value);
    return cJSON_AddRawToObject(object, name, text) != NULL;
}

bool cli_json_integer(cJSON *object, const char *name, int64_t value)
{
    char text[24];
    if (value < 0) return cJSON_AddNullToObject(object, name) != NULL;
    snprintf(text, sizeof text, "%lld", (long long)value);
    return cJSON_AddRawToObject(object, name, text) != NULL;
}

bool cli_json_flag(cJSON *object, const char *name, int value)
{
    if (value < 0) return cJSON_AddNullToObject(object, name) != NULL;
    return cJSON_AddBoolToObject(object, name, value) != NULL;
}

/* Returns the bytes of the UTF-8 character at s, 1 to 4. 0: no valid character (RFC 3629: surrogate, overlong form). */
static size_t utf8_length(const unsigned char *s)
{
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0; /* also if the string ends */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0;
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
    return length;
}

/* Returns valid UTF-8 for JSON: each byte that is not part of a character becomes U+FFFD. The caller frees it. */
static char *to_utf8(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    char *copy = malloc(3 * strlen(text) + 1), *to = copy;
    for (const char *s = text; copy && *s;) {
        size_t length = utf8_length((const unsigned char *)s), bytes = length > 0 ? length : 3;
        memcpy(to, length > 0 ? s : replacement, bytes);
        to += bytes;
        s += length > 0 ? length : 1;
    }
    if (copy) *to = '\0';
    return copy;
}

bool cli_json_text(cJSON *object, const char *name, const char *value)
{
    if (!value || !value[0]) return cJSON_AddNullToObject(object, name) != NULL;
    char *text = to_utf8(value);
    int good = text && cJSON_AddStringToObject(object, name, text) != NULL;
    free(text);
    return good;
}

bool cli_json_begin(cJSON *object, const char *matrix, record_status status, const char *reason)
{
    return cli_json_text(object, "command", cli_command_name()) && cli_json_text(object, "matrix", matrix) &&
           cli_json_text(object, "status", record_status_name(status)) && cli_json_text(object, "reason", reason);
}

cJSON *cli_json_item(cJSON *list)
{
    cJSON *item = cJSON_CreateObject();
    if (cJSON_AddItemToArray(list, item)) return item;
    cJSON_Delete(item);
    return NULL;
}

static int add_stages(cJSON *object, const char *name, const double *us)
{
    cJSON *stages = cJSON_AddObjectToObject(object, name);
    int good = stages != NULL;
    for (int s = 0; s < RECORD_STAGES && good; s++) good = cli_json_number(stages, record_stage_names[s], us[s]);
    return good;
}

/* ---- fields of structs ---------------------------------------------------------------------------- */

static int add_field(cJSON *o, const void *from, const cli_json_field *f)
{
    const void *at = (const char *)from + f->at;
    switch (f->kind) {
    case CLI_JSON_POINTER: return cli_json_text(o, f->name, *(const char *const *)at);
    case CLI_JSON_ARRAY: return cli_json_text(o, f->name, at);
    case CLI_JSON_INT: return cli_json_integer(o, f->name, *(const int *)at);
    case CLI_JSON_COUNT: return cli_json_integer(o, f->name, *(const int64_t *)at);
    case CLI_JSON_FLAG: return cli_json_flag(o, f->name, *(const int *)at);
    case CLI_JSON_NUMBER: return cli_json_number(o, f->name, *(const double *)at);
    case CLI_JSON_STAGES: return add_stages(o, f->name, at);
    default: return cli_json_text(o, f->name, record_status_name(*(const record_status *)at));
    }
}

bool cli_json_add_fields(cJSON *object, const void *from, const cli_json_field *fields, int count)
{
    for (int f = 0; f < count; f++)
        if (!add_field(object, from, &fields[f])) return false;
    return true;
}

/* ---- records ------------------------------------------------------------------------------------ */

#define FIELD(name, kind, member) CLI_JSON_FIELD(record, #name, kind, member)

static const cli_json_field fields[] = {FIELD(op, POINTER, op),
                                        FIELD(count, COUNT, count),
                                        FIELD(layout, POINTER, layout),
                                        FIELD(matrix, ARRAY, input.name),
                                        FIELD(path, POINTER, input.path),
                                        FIELD(rows, COUNT, input.rows),
                                        FIELD(columns, COUNT, input.columns),
                                        FIELD(nnz, COUNT, input.nnz),
                                        FIELD(distinct_values, COUNT, input.distinct_values),
                                        CLI_JSON_FIELD(record, "class", POINTER, input.class_name),
                                        FIELD(twin, FLAG, input.twin),
                                        FIELD(type, POINTER, input.type),
                                        FIELD(index, POINTER, input.index),
                                        FIELD(device, ARRAY, method.device),
                                        FIELD(threads, INT, method.threads),
                                        FIELD(format, ARRAY, method.format),
                                        FIELD(kernel, ARRAY, method.kernel),
                                        FIELD(ordering, ARRAY, method.ordering),
                                        FIELD(peer, FLAG, method.peer),
                                        FIELD(deterministic, FLAG, method.deterministic),
                                        FIELD(setup_us, NUMBER, cost.setup_us),
                                        FIELD(upload_us, NUMBER, cost.upload_us),
                                        FIELD(baseline_us, NUMBER, cost.baseline_us),
                                        FIELD(predicted_us, NUMBER, cost.predicted_us),
                                        FIELD(update_us, NUMBER, cost.update_us),
                                        FIELD(break_even, COUNT, cost.break_even),
                                        FIELD(policy, POINTER, method.policy),
                                        FIELD(disturbed, FLAG, time.disturbed),
                                        FIELD(first_us, NUMBER, time.first_us),
                                        FIELD(time_us, NUMBER, time.median_us),
                                        FIELD(iterations, COUNT, time.iterations),
                                        FIELD(mean_us, NUMBER, time.mean_us),
                                        FIELD(min_us, NUMBER, time.min_us),
                                        FIELD(spread_us, NUMBER, time.spread_us),
                                        FIELD(runs, COUNT, time.runs),
                                        FIELD(state, POINTER, time.state),
                                        FIELD(gflops, NUMBER, rates.gflops),
                                        FIELD(gbps, NUMBER, rates.gbps),
                                        FIELD(copy_gbps, NUMBER, rates.copy_gbps),
                                        FIELD(roof, NUMBER, rates.roof),
                                        FIELD(bytes, COUNT, rates.bytes),
                                        FIELD(max_error, NUMBER, max_error),
                                        FIELD(status, STATUS, status),
                                        FIELD(reason, ARRAY, reason),
                                        FIELD(products, COUNT, product.products),
                                        FIELD(nnz_c, COUNT, product.nnz_c),
                                        FIELD(compression, NUMBER, product.compression),
                                        FIELD(peak_bytes, COUNT, product.peak_bytes),
                                        FIELD(stages, STAGES, product.stages)};
enum { ALL_FIELDS = sizeof fields / sizeof *fields, OF_SPGEMM = 5 };

bool cli_json_record(cJSON *o, const record *r)
{
    const int count = r->op && strcmp(r->op, "spgemm") == 0 ? ALL_FIELDS : ALL_FIELDS - OF_SPGEMM;
    return cli_json_add_fields(o, r, fields, count);
}

bool cli_json_command_record(cJSON *o, const record *r)
{
    return cli_json_text(o, "command", cli_command_name()) && cli_json_record(o, r);
}
