/* spry tune: fits the rates from which "auto" predicts times. The fit uses times of this machine or of records. */
#include "cli/cli.h"
#include "cli/json.h"
#include "spry/io.h"
#include "spry/tune.h"

#include "bench/bench.h"
#include "common/disturbance.h"
#include "common/input.h"
#include "common/wall_clock.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The default matrices: matrices of all kinds with 50 thousand to four million entries. */
static const char *const usual[] = {
    "gen:grid5,x=120,y=120",
    "gen:grid5,x=700,y=700",
    "gen:grid7,x=20,y=20,z=20",
    "gen:grid7,x=45,y=45,z=45",
    "gen:grid7,x=80,y=80,z=80",
    "gen:grid9,x=300,y=300",
    "gen:grid27,x=40,y=40,z=40",
    "gen:fem3,x=12,y=12,z=12",
    "gen:fem3,x=22,y=22,z=22",
    "gen:road,side=300",
    "gen:road,side=900",
    "gen:rgg,scale=14",
    "gen:rgg,scale=16",
    "gen:rgg,scale=18",
    "gen:rgg,scale=17,shuffle=3",
    "gen:grid7p,x=60,y=60,z=60",
    "gen:rmat,scale=13",
    "gen:rmat,scale=16",
    "gen:rmat,scale=17",
    "gen:uniform,rows=30000,degree=6",
    "gen:uniform,rows=200000,degree=12",
    "gen:uniform,rows=20000,degree=100",
    "gen:circuit,rows=200000",
    "gen:banded,rows=150000",
    "gen:rgg,scale=17",
};
enum { USUAL = sizeof usual / sizeof *usual, TEXT_BYTES = 1 << 16, LINE_BYTES = 1 << 14 };

typedef struct arguments {
    const char *out, *device, *device_class;
    text_list from;
    int types; /* 0: f32, 1: f64, 2: f32, f64 and pattern */
    int64_t threads, runs, time_limit;
    const char *cache;
    bool list, clear;
    bool accept_disturbed;
    cli_json json;
} arguments;

static const cli_option options[] = {
    {"out", 'o', "TABLE", "write the table to this file (default: print the table)", CLI_TEXT, CLI_AT(out)},
    {"from", 0, "LIST",
     "fit to these files instead of measuring: JSON lines of spry bench for\n"
     "the FILEs",
     CLI_LIST, CLI_AT(from)},
    {"class", 0, "NAME", "device class of the records of --from (default: class of the device)", CLI_TEXT,
     CLI_AT(device_class)},
    {"device", 0, "cpu|cuda", "device to tune for (default: cpu)", CLI_WORD, CLI_AT(device)},
    {"type", 0, "f32|f64|all",
     "type of values and vectors (default: f64); all: one fit to f32, f64\n"
     "and pattern, because a table has the same rates for all types",
     CLI_CHOICE, CLI_AT(types)},
    CLI_THREADS_OPTION("threads on the CPU"),
    {"runs", 0, "N", "short protocol of spry bench: N runs of each kernel", CLI_INTEGER, CLI_AT(runs), 1, 10000},
    {"time-limit", 0, "SECONDS", "start no further matrix after this time; fit to those measured", CLI_INTEGER,
     CLI_AT(time_limit), 1, 1000000},
    {"accept-disturbed", 0, NULL,
     "write the table even if other programs used the processors during\n"
     "the measurement",
     CLI_FLAG, CLI_AT(accept_disturbed)},
    {"cache", 0, "FILE", "file for --list and --clear (default: SPRY_CHOICES)", CLI_TEXT, CLI_AT(cache)},
    {"list", 0, NULL, "list the choices that --policy measure kept, and tune nothing", CLI_FLAG, CLI_AT(list)},
    {"clear", 0, NULL, "delete these choices, and tune nothing", CLI_FLAG, CLI_AT(clear)},
    CLI_READING_OPTIONS,
    CLI_JSON_OPTION("with --list: a JSON line for each choice"),
    CLI_END_OF_OPTIONS,
};

/* Observations, and the explanations to which they refer. */
typedef struct collected {
    const arguments *a;
    spry_context *context;
    char **paths; /* matrices; path_count 0: the default matrices */
    int path_count;
    char device_class[32];
    spry_observation *list;
    int64_t count, room;
    spry_explanation **explanations;
    int64_t explanation_count;
    const spry_explanation *now; /* explanation of the current matrix and type */
    int status;                  /* CLI_GO_ON, or the exit status after a message */
} collected;

static int out_of_memory(void)
{
    cli_message("out of memory");
    return CLI_UNSUCCESSFUL;
}

static bool has_rates(const spry_explanation *e, const char *format, const char *kernel)
{
    spry_explanation_info info = SPRY_INIT(spry_explanation_info);
    if (spry_explanation_get_info(e, &info, NULL) != SPRY_OK) return false;
    for (int k = 0; k < info.candidates; k++) {
        spry_candidate c = SPRY_INIT(spry_candidate);
        if (spry_explanation_get_candidate(e, &c, k, NULL) == SPRY_OK && strcmp(c.format, format) == 0 &&
            c.predicted_us > 0 && (!c.kernel[0] || strcmp(c.kernel, kernel) == 0))
            return true;
    }
    return false;
}

/*
 * Adds an observation if the kernel has rates. Stores pointers to the library's strings, because records are freed
 * before the fit. Returns false if memory is short.
 */
static bool add(collected *c, const char *kernel, double us, double setup_us)
{
    spry_observation o = SPRY_INIT(spry_observation);
    spry_kernel_info info = SPRY_INIT(spry_kernel_info);
    spry_status status = spry_kernel_get_info(c->context, &info, 0, NULL);
    for (int k = 1; status == SPRY_OK && strcmp(info.name, kernel) != 0; k++)
        status = spry_kernel_get_info(c->context, &info, k, NULL);
    if (status != SPRY_OK || !(us > 0) || !has_rates(c->now, info.format, info.name)) return 1;
    if (c->count == c->room) {
        spry_observation *grown = realloc(c->list, (size_t)(2 * c->room + 64) * sizeof *grown);
        if (!grown) return 0;
        c->list = grown;
        c->room = 2 * c->room + 64;
    }
    o.explanation = c->now;
    o.format = info.format;
    o.kernel = info.name;
    o.time_us = us;
    o.setup_us = setup_us > 0 ? setup_us : 0;
    c->list[c->count++] = o;
    return 1;
}

/* Types with which a matrix is measured; name: as in records. */
typedef struct variant {
    const char *name;
    spry_type values, vectors;
} variant;

/* Sets *first to the variants for --type (0: f32, 1: f64, 2: all) and returns their number. */
static int variants_of(const arguments *a, const variant **first)
{
    static const variant f32 = {"f32", SPRY_F32, SPRY_F32}, f64 = {"f64", SPRY_F64, SPRY_F64};
    static const variant all[] = {{"f64", SPRY_F64, SPRY_F64},
                                  {"f32", SPRY_F32, SPRY_F32},
                                  {"pattern:f64", SPRY_PATTERN, SPRY_F64}};
    *first = a->types == 2 ? all : a->types == 1 ? &f64 : &f32;
    return a->types == 2 ? (int)(sizeof all / sizeof *all) : 1;
}

/* Reads a matrix and explains the choice for the device class: sets c->now. */
static int analyse_matrix(collected *c, const char *path, const variant *v)
{
    spry_read_options read = cli_reading(SPRY_TYPE_DEFAULT);
    spry_spmv_options plan = SPRY_INIT(spry_spmv_options);
    spry_explain_options o = SPRY_INIT(spry_explain_options);
    spry_matrix *A = NULL;
    spry_explanation *e = NULL;
    spry_error err = {0};
    char name[192], step[256];
    c->now = NULL;
    read.value_type = v->values;
    matrix_name(name, sizeof name, path);
    snprintf(step, sizeof step, "%s: reading", name);
    cli_progress(step);
    if (open_matrix(c->context, &A, path, &read, &err) != SPRY_OK) return cli_fail_reading(&err);
    plan.vector_type = v->vectors;
    o.spmv = &plan;
    o.device_class = c->device_class;
    const spry_status status = spry_spmv_explain(c->context, &e, A, &o, &err);
    spry_matrix_destroy(A);
    if (status != SPRY_OK) return cli_fail(&err);
    spry_explanation **grown = realloc(c->explanations, (size_t)(c->explanation_count + 1) * sizeof *grown);
    if (!grown) {
        spry_explanation_destroy(e);
        return out_of_memory();
    }
    c->explanations = grown;
    c->explanations[c->explanation_count++] = e;
    c->now = e;
    return CLI_GO_ON;
}

/* ---- times of this machine ------------------------------------------------------------------------------ */

static int keep(void *user, const record *records, int count)
{
    collected *c = user;
    for (int r = 0; r < count && c->status == CLI_GO_ON; r++) {
        const record *one = &records[r];
        if (one->status == RECORD_WRONG || one->status == RECORD_FAILED) {
            cli_message("%s, %s: %s", one->input.name, one->method.kernel, one->reason);
            c->status = CLI_UNSUCCESSFUL;
        } else if (one->status == RECORD_OK && one->method.deterministic &&
                   !add(c, one->method.kernel, one->time.median_us,
                        one->cost.setup_us - fmax(one->cost.upload_us, 0))) {
            c->status = out_of_memory();
        }
    }
    return c->status != CLI_GO_ON;
}

static void complain(void *user, const spry_error *err, int reading)
{
    ((collected *)user)->status = reading ? cli_fail_reading(err) : cli_fail(err);
}

/* Lists the formats to measure. On a GPU, lists the kernels of csr by name in place of csr. */
static void list_cases(const arguments *a, text_list *formats, text_list *kernels)
{
    static char *const on_gpu[] = {"csr_merge_cuda", "csr_adaptive_cuda", "csr_vector_cuda", "csr_scalar_cuda"};
    spry_format_info info = SPRY_INIT(spry_format_info);
    for (int f = 0; spry_format_get_info(&info, f, NULL) == SPRY_OK; f++) {
        if (strcmp(info.name, "csc") == 0) continue;
        if (strcmp(a->device, "cuda") == 0 ? strcmp(info.name, "csr") == 0 : strcmp(info.name, "swept") == 0) continue;
        formats->items[formats->count++] = (char *)(uintptr_t)info.name;
    }
    for (size_t k = 0; strcmp(a->device, "cuda") == 0 && k < sizeof on_gpu / sizeof *on_gpu; k++)
        kernels->items[kernels->count++] = on_gpu[k];
}

static int time_matrix(collected *c, const char *path, const variant *v)
{
    const arguments *a = c->a;
    char *formats[64], *kernels[8], none[] = "none", *orderings[] = {none};
    bench_source source = {.reason = ""};
    bench_options o = {.input.sources = &source,
                       .input.source_count = 1,
                       .operation.op = "spmv",
                       .candidates.formats = {formats, 0},
                       .candidates.kernels = {kernels, 0},
                       .candidates.orderings = {orderings, 1},
                       .candidates.device = a->device,
                       .operation.types = &bench_all_types[v->vectors == SPRY_F32],
                       .operation.type_count = 1,
                       .operation.pattern = v->values == SPRY_PATTERN,
                       .protocol.runs = a->runs,
                       .protocol.skip_bandwidth = true,
                       .context = c->context,
                       .receiver.emit = keep,
                       .receiver.progress = cli_progress,
                       .receiver.complain = complain,
                       .receiver.user = c};
    spry_error err = {0};
    list_cases(a, &o.candidates.formats, &o.candidates.kernels);
    RECORD_TEXT(source.path, path);
    matrix_name(source.name, sizeof source.name, source.path);
    int status = analyse_matrix(c, path, v);
    if (status != CLI_GO_ON) return status;
    c->status = CLI_GO_ON;
    const spry_status done = bench_run(&o, &err);
    return c->status == CLI_GO_ON && done != SPRY_OK ? cli_fail(&err) : c->status;
}

static int time_matrices(collected *c)
{
    const arguments *a = c->a;
    const double start = now_us();
    const variant *v;
    const int count = c->path_count > 0 ? c->path_count : USUAL, variants = variants_of(a, &v);
    int status = CLI_GO_ON;
    for (int i = 0; i < count && status == CLI_GO_ON; i++) {
        if (a->time_limit > 0 && i > 0 && now_us() - start > 1e6 * (double)a->time_limit) {
            cli_message("note: the time limit of %lld s was reached after %d of %d matrices: the rest is left out",
                        (long long)a->time_limit, i, count);
            break;
        }
        for (int n = 0; n < variants && status == CLI_GO_ON; n++)
            status = time_matrix(c, c->path_count > 0 ? c->paths[i] : usual[i], &v[n]);
    }
    return status;
}

/* ---- times of records ----------------------------------------------------------------------------------- */

static const char *text_of(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static double number_of(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* Returns true for a successful record of a deterministic SpMV kernel of Spry for this matrix, type and device. */
static bool counts(const cJSON *o, const char *matrix, const char *type, const char *device)
{
    const char *ordering = text_of(o, "ordering");
    return strcmp(text_of(o, "matrix"), matrix) == 0 && strcmp(text_of(o, "type"), type) == 0 &&
           strcmp(text_of(o, "device"), device) == 0 && strcmp(text_of(o, "status"), "ok") == 0 &&
           strcmp(text_of(o, "op"), "spmv") == 0 && (!ordering[0] || strcmp(ordering, "none") == 0) &&
           cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "deterministic")) &&
           !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "peer"));
}

static int take_record(collected *c, const cJSON *o)
{
    if (strchr(text_of(o, "format"), ':')) return 1; /* skip formats with given parameters */
    return add(c, text_of(o, "kernel"), number_of(o, "time_us"), number_of(o, "setup_us") - number_of(o, "upload_us"));
}

static int read_file(collected *c, const char *path, const char *matrix, const char *type)
{
    char *line = malloc(LINE_BYTES);
    FILE *file = line ? fopen(path, "r") : NULL;
    int good = 1, number = 0;
    if (!file) {
        free(line);
        cli_message("--from: %s cannot be read", path);
        return CLI_USAGE;
    }
    while (good == 1 && fgets(line, LINE_BYTES, file)) {
        number++;
        cJSON *o = cJSON_Parse(line);
        if (!o) {
            cli_message("--from: %s: line %d is not a JSON object: expected JSON lines of spry bench", path, number);
            good = -1;
        } else if (counts(o, matrix, type, c->a->device)) {
            good = take_record(c, o);
        }
        cJSON_Delete(o);
    }
    free(line);
    fclose(file);
    return good == 1 ? CLI_GO_ON : good == 0 ? out_of_memory() : CLI_USAGE;
}

static int read_records(collected *c)
{
    const arguments *a = c->a;
    const variant *v;
    const int variants = variants_of(a, &v);
    int status = CLI_GO_ON;
    for (int i = 0; i < c->path_count && status == CLI_GO_ON; i++)
        for (int n = 0; n < variants && status == CLI_GO_ON; n++) {
            char name[256];
            matrix_name(name, sizeof name, c->paths[i]);
            status = analyse_matrix(c, c->paths[i], &v[n]);
            for (int f = 0; f < a->from.count && status == CLI_GO_ON; f++)
                status = read_file(c, a->from.items[f], name, v[n].name);
        }
    return status;
}

/* ---- the fit -------------------------------------------------------------------------------------------- */

/* Sets the device class: --class, else the class of the measured device. */
static int find_class(collected *c)
{
    const arguments *a = c->a;
    spry_matrix *A = NULL;
    spry_explanation *e = NULL;
    spry_explanation_info info = SPRY_INIT(spry_explanation_info);
    spry_explain_options o = SPRY_INIT(spry_explain_options);
    spry_spmv_options plan = SPRY_INIT(spry_spmv_options);
    spry_error err = {0};
    o.device_class = a->device_class;
    o.spmv = &plan;
    plan.device = !a->device_class && strcmp(a->device, "cuda") == 0 ? 1 : SPRY_CPU;
    if (a->device_class && strcmp(a->device, "cuda") == 0) plan.device = SPRY_DEVICE_DEFAULT;
    spry_status status = cli_unit_matrix(c->context, &A, SPRY_F64, &err);
    if (status == SPRY_OK) status = spry_spmv_explain(c->context, &e, A, &o, &err);
    if (status == SPRY_OK) status = spry_explanation_get_info(e, &info, &err);
    if (status == SPRY_OK) RECORD_TEXT(c->device_class, info.device_class);
    spry_explanation_destroy(e);
    spry_matrix_destroy(A);
    return cli_fail_early(status, &err);
}

static void describe_source(char *text, size_t size, const collected *c)
{
    const arguments *a = c->a;
    const int device = strcmp(a->device, "cuda") == 0;
    spry_device_info info = SPRY_INIT(spry_device_info);
    char day[32] = "";
    const time_t now = time(NULL);
    struct tm when;
    if (gmtime_r(&now, &when)) strftime(day, sizeof day, "%Y-%m-%d", &when);
    spry_device_get_info(c->context, &info, device, NULL);
    if (a->from.count > 0)
        snprintf(text, size, "to records of %d file%s, %s", a->from.count, a->from.count == 1 ? "" : "s", day);
    else
        snprintf(text, size, "to %.96s, %s", info.description ? info.description : a->device, day);
}

static void print_fit(const collected *c, const spry_rates_fit_info *fit)
{
    printf("rates of %s: %lld matrices and types, %lld times\n"
           "  error of predictions (median)            %5.1f %%, before %5.1f %%\n"
           "  chosen format slower than the best (mean) %5.1f %%, before %5.1f %%; worst factor %.2f, before "
           "%.2f\n\n",
           c->device_class, (long long)fit->cases, (long long)c->count, 100 * (exp(fit->error) - 1),
           100 * (exp(fit->error_before) - 1), 100 * (fit->loss - 1), 100 * (fit->loss_before - 1), fit->worst_loss,
           fit->worst_loss_before);
}

/* Fits the rates and sets *text to the lines of the table, which the caller frees. */
static int fit(collected *c, char **text)
{
    spry_rates_fit_info info = SPRY_INIT(spry_rates_fit_info);
    char source[160];
    int64_t length = 0;
    spry_error err = {0};
    describe_source(source, sizeof source, c);
    if (c->count == 0) {
        cli_message("no times of the matrices were found: nothing to fit");
        return CLI_UNSUCCESSFUL;
    }
    cli_progress("fitting");
    if (spry_rates_fit(c->context, &info, c->device_class, c->list, c->count, source, &err) != SPRY_OK)
        return cli_fail(&err);
    cli_progress(NULL);
    print_fit(c, &info);
    *text = malloc(TEXT_BYTES);
    if (!*text) return out_of_memory();
    if (spry_rates_print(c->context, *text, TEXT_BYTES, &length, c->device_class, &err) != SPRY_OK)
        return cli_fail(&err);
    return CLI_GO_ON;
}

/* ---- command -------------------------------------------------------------------------------------------- */

/* Refuses to write a table of disturbed times, unless accepted: wrong rates would affect all later choices. */
static int check_disturbed(const arguments *a, double disturbance)
{
    if (disturbance < DISTURBED_SHARE) return CLI_GO_ON;
    cli_message("%sother programs used %.0f %% of the processors during the run%s", a->accept_disturbed ? "note: " : "",
                100 * disturbance,
                a->accept_disturbed ? ""
                                    : ": no table is written; run again on an idle machine, or use --accept-disturbed");
    return a->accept_disturbed ? CLI_GO_ON : CLI_UNSUCCESSFUL;
}

/* Writes the table: a first line, the lines `facts`, and a last line with their number, comments not counted. */
static int write_table(const char *out, const char *facts)
{
    cli_output table;
    int count = 0, status = cli_output_open(&table, out);
    if (status != CLI_GO_ON) return status;
    for (const char *line = facts; *line; line = strchr(line, '\n') + 1) count += line[0] != '#';
    fprintf(table.stream, "spry-tuning 3\n%send %d\n", facts, count);
    status = cli_output_close(&table, CLI_OK);
    if (status == CLI_OK && out && !cli_is_dash(out))
        cli_message("wrote %s; SPRY_TUNING=%s makes commands use it, spry_context_load_tuning a program", out, out);
    return status;
}

static int check_device(const collected *c)
{
    spry_device_info info = SPRY_INIT(spry_device_info);
    spry_error err = {0};
    if (c->a->from.count > 0 || strcmp(c->a->device, "cuda") != 0) return CLI_GO_ON;
    if (spry_device_get_info(c->context, &info, 1, &err) != SPRY_OK) return cli_fail(&err);
    if (info.available) return CLI_GO_ON;
    cli_message("--device cuda: %s", info.reason);
    return CLI_UNSUCCESSFUL;
}

static int tune(collected *c)
{
    const arguments *a = c->a;
    const processor_time before = read_processor_time();
    char *text = NULL;
    int status = check_device(c);
    if (status == CLI_GO_ON) status = find_class(c);
    if (status == CLI_GO_ON) status = a->from.count > 0 ? read_records(c) : time_matrices(c);
    cli_progress(NULL);
    const double disturbance = a->from.count > 0 ? 0 : disturbance_since(before, 0);
    if (status == CLI_GO_ON) status = fit(c, &text);
    if (status == CLI_GO_ON) status = check_disturbed(a, disturbance);
    if (status == CLI_GO_ON) status = write_table(a->out, text);
    free(text);
    return status;
}

static int check_arguments(const arguments *a, int count, char **paths)
{
    int status = CLI_GO_ON;
    if (a->from.count > 0 && count == 0) return cli_usage_error("--from: expected the matrix FILEs of the records");
    if (a->device_class && a->from.count == 0)
        return cli_usage_error("--class requires --from: measurements have the class of this machine's device");
    if (a->list && a->clear) return cli_usage_error("--list and --clear exclude each other");
    if (a->cache && !a->list && !a->clear) return cli_usage_error("--cache requires --list or --clear");
    if (a->json.wanted && !a->list) return cli_usage_error("--json requires --list");
    if ((a->list || a->clear) && count > 0)
        return cli_usage_error("'%s' is one argument too many: --%s expects no matrix", paths[0],
                               a->list ? "list" : "clear");
    for (int i = 0; i < count && status == CLI_GO_ON; i++) status = cli_check_outputs(a->out, &a->json, paths[i]);
    for (int i = 0; i < a->from.count && status == CLI_GO_ON; i++)
        status = cli_check_outputs(a->out, &a->json, a->from.items[i]);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.device = "cpu", .types = 1};
    collected c = {.a = &a, .paths = argv};
    int status = cli_parse(command, &argc, argv, &a);
    if (status == CLI_GO_ON) status = check_arguments(&a, argc, argv);
    if (status == CLI_GO_ON && (a.list || a.clear)) {
        status = cli_manage_choices(a.cache, a.clear, &a.json);
    } else if (status == CLI_GO_ON) {
        cli_when_interrupted("no table was written");
        status = cli_open_context(&c.context, a.threads);
    }
    c.path_count = argc;
    if (status == CLI_GO_ON) status = tune(&c);
    for (int64_t n = 0; n < c.explanation_count; n++) spry_explanation_destroy(c.explanations[n]);
    free(c.explanations);
    free(c.list);
    spry_context_destroy(c.context);
    cli_release_list(&a.from);
    return status;
}

const cli_command cli_tune =
    {.name = "tune",
     .summary = "fit the predictions of \"auto\" to this machine",
     .usage = "[FILE...] [OPTIONS]",
     .about = "Measures every format on the given matrices, or on generated matrices of all kinds, and fits the rates\n"
              "from which \"auto\" predicts times (docs/choosing.md). With --from, fits to records of spry bench. A\n"
              "measurement takes some minutes.",
     .examples = "  spry tune -o zen4.tuning\n"
                 "  SPRY_TUNING=zen4.tuning spry explain matrix.mtx\n"
                 "  spry bench a.mtx b.mtx --formats all --json=h200.jsonl\n"
                 "  spry tune a.mtx b.mtx --from h200.jsonl --device cuda --class h200 -o h200.tuning\n"
                 "  spry tune --cache choices.txt --list\n"
                 "  spry tune --cache choices.txt --clear\n",
     .options = options,
     .most = -1,
     .positional = "matrix FILEs",
     .run = run};
