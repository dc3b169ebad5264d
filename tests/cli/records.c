#include "records.h"

#include "spawn.h"

/*
 * kind: n is a number, i an integer, s a text, b a flag. A field whose kind is a capital letter is never null if the
 * record's status is "ok".
 */
static const struct {
    const char *name;
    char kind;
} fields[] = {{"op", 'S'},         {"count", 'i'},         {"layout", 's'},
              {"matrix", 'S'},     {"path", 's'},          {"rows", 'I'},
              {"columns", 'I'},    {"nnz", 'I'},           {"distinct_values", 'i'},
              {"class", 'S'},      {"twin", 'B'},          {"type", 'S'},
              {"index", 'S'},      {"device", 'S'},        {"threads", 'I'},
              {"format", 'S'},     {"kernel", 'S'},        {"ordering", 'S'},
              {"peer", 'B'},       {"deterministic", 'b'}, {"setup_us", 'N'},
              {"upload_us", 'N'},  {"baseline_us", 'n'},   {"predicted_us", 'n'},
              {"update_us", 'n'},  {"break_even", 'i'},    {"policy", 's'},
              {"disturbed", 'B'},  {"first_us", 'N'},      {"time_us", 'N'},
              {"iterations", 'i'}, {"mean_us", 'N'},       {"min_us", 'N'},
              {"spread_us", 'N'},  {"runs", 'I'},          {"state", 'S'},
              {"gflops", 'N'},     {"gbps", 'N'},          {"copy_gbps", 'N'},
              {"roof", 'N'},       {"bytes", 'i'},         {"max_error", 'N'},
              {"status", 'S'},     {"reason", 's'}};
enum { FIELDS = sizeof fields / sizeof *fields };

const char *text_of(const cJSON *record, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(record, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

double number_of(const cJSON *record, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(record, name);
    if (!cJSON_IsNumber(item)) fail_msg("%s is no number", name);
    return item->valuedouble;
}

void assert_near(double value, double expected, double tolerance)
{
    if (fabs(value - expected) <= tolerance) return;
    print_error("%g, expected %g\n", value, expected);
    fail();
}

/* Returns 1 if a field of a measurement has this name. `spry spmv` has these fields only with --time. */
static int is_measured(const char *name)
{
    static const char *const names[] = {"time_us", "mean_us", "min_us",    "spread_us", "runs",
                                        "gflops",  "gbps",    "copy_gbps", "roof",      "disturbed"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (strcmp(names[n], name) == 0) return 1;
    return 0;
}

/* Returns 1 if upload_us may be null: the library's solvers do not report the upload to a GPU. */
static int may_lack_upload(const cJSON *record)
{
    const char *op = text_of(record, "op");
    return (strcmp(op, "cg") == 0 || strcmp(op, "pagerank") == 0) && strncmp(text_of(record, "device"), "cuda", 4) == 0;
}

/* Checks every field, its order and its kind. Fields that the command adds come last. timed 0: nothing was measured. */
static void check_record(const cJSON *record, int timed)
{
    const cJSON *item = record->child;
    if (strcmp(item->string, "command") == 0) item = item->next; /* spry bench has no such field */
    int ok = strcmp(text_of(record, "status"), "ok") == 0;
    for (int f = 0; f < FIELDS; f++, item = item->next) {
        assert_non_null(item);
        assert_string_equal(item->string, fields[f].name);
        int null = cJSON_IsNull(item), good = 0;
        if (!timed && is_measured(item->string)) {
            assert_true(null);
            continue;
        }
        switch (fields[f].kind | 0x20) {
        case 's': good = cJSON_IsString(item); break;
        case 'b': good = cJSON_IsBool(item); break;
        default: good = cJSON_IsNumber(item); break;
        }
        if (null && strcmp(item->string, "upload_us") == 0 && may_lack_upload(record)) continue;
        if (!(good || (null && (!ok || fields[f].kind & 0x20)))) {
            print_error("field %s is of a wrong kind\n", fields[f].name);
            fail();
        }
    }
}

/* Returns 1 if there are records and all cases were skipped. The benchmark then ends with status 1. */
static int all_were_skipped(const char *lines)
{
    int count = count_lines(lines), skipped = 0;
    for (int l = 0; l < count; l++) {
        cJSON *record = json_line(lines, l);
        skipped += strcmp(text_of(record, "status"), "skipped") == 0;
        cJSON_Delete(record);
    }
    return count > 0 && skipped == count;
}

cJSON *records_of(const char *command, int status)
{
    outcome o = spry("%s", command);
    if (status == 0 && strncmp(command, "bench ", 6) == 0 && all_were_skipped(o.out)) status = 1;
    if (o.status != status) {
        print_error("spry %s\n  status %d, expected %d\n%s\n%s\n", command, o.status, status, o.out, o.err);
        fail();
    }
    cJSON *all = cJSON_CreateArray();
    for (int l = 0; l < count_lines(o.out); l++) {
        cJSON *record = json_line(o.out, l);
        check_record(record, strncmp(command, "spmv ", 5) != 0 || strstr(command, "--time") != NULL);
        cJSON_AddItemToArray(all, record);
    }
    release(&o);
    return all;
}

const cJSON *find(const cJSON *records, const char *field, const char *value)
{
    const cJSON *record;
    cJSON_ArrayForEach(record, records) if (strcmp(text_of(record, field), value) == 0) return record;
    return NULL;
}
