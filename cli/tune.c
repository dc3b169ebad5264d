/* spry tune: rates of products and sizes of csr2's and csr3's groups for a machine, as a table that contexts load. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/table.h"
#include "cli/tune_fit.h"
#include "cli/tune_rates.h"
#include "spry/io.h"

#include "bench/bench.h"
#include "common/disturbance.h"
#include "common/input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A few million entries each, from 3 to 81 a row. */
static const char *const usual[] = {
    "gen:road,side=900",       "gen:grid5,x=800,y=800",  "gen:grid7,x=80,y=80,z=80",  "gen:grid9,x=600,y=600",
    "gen:rgg,scale=18",        "gen:banded,rows=200000", "gen:grid27,x=50,y=50,z=50", "gen:fem3,x=30,y=30,z=30,dof=2",
    "gen:fem3,x=25,y=25,z=25",
};
enum { GPU_SIZES = 64 };
enum { USUAL = sizeof usual / sizeof *usual, MOST_MATRICES = 256 };

enum { WHAT_ALL, WHAT_RATES, WHAT_SIZES };

typedef struct arguments {
    const char *out, *device, *device_class;
    int what;
    text_list from; /* of rates */
    int levels;     /* 2 or 3: of the only format; 0: both */
    int types;      /* 0: f32, 1: f64, 2: both */
    int64_t threads, runs, time_limit;
    const char *cache;
    int list, clear;
    int accept_disturbed;
    cli_json json;
} arguments;

static const cli_option options[] = {
    {"out", 'o', "TABLE", "write the table there (default: print it)", CLI_TEXT, CLI_AT(out)},
    {"what", 0, "all|rates|sizes",
     "rates: what \"auto\" predicts times by; sizes: the groups of csr2 and\n"
     "csr3 (default: all)",
     CLI_CHOICE, CLI_AT(what)},
    {"from", 0, "LIST",
     "fit rates to these files, JSON lines of spry bench of the FILEs, in\n"
     "place of timing",
     CLI_LIST, CLI_AT(from)},
    {"class", 0, "NAME", "the class of devices that they are of (default: that of the device)", CLI_TEXT,
     CLI_AT(device_class)},
    {"format", 0, "csr2|csr3", "of sizes, only this one (default: both; on a GPU csr3)", CLI_CHOICE, CLI_AT(levels), 2},
    {"device", 0, "cpu|cuda", "what to tune for (default: cpu)", CLI_WORD, CLI_AT(device)},
    {"type", 0, "f32|f64|all",
     "type of values and vectors (default: f64); all: one fit of both,\n"
     "for a table does not tell types apart; of rates also without values",
     CLI_CHOICE, CLI_AT(types)},
    CLI_THREADS_OPTION("threads on the CPU"),
    {"runs", 0, "N", "N runs of each size in place of batches in turns: short, as in spry bench", CLI_INTEGER,
     CLI_AT(runs), 1, 10000},
    {"time-limit", 0, "SECONDS", "begin no matrix after so long, and fit those that were swept", CLI_INTEGER,
     CLI_AT(time_limit), 1, 1000000},
    {"accept-disturbed", 0, NULL,
     "write a table although other programs had a good part of the\n"
     "processors while it was measured",
     CLI_FLAG, CLI_AT(accept_disturbed)},
    {"cache", 0, "FILE", "of --list and --clear (default: SPRY_CHOICES)", CLI_TEXT, CLI_AT(cache)},
    {"list", 0, NULL, "tunes nothing: lists what --policy measure has remembered there", CLI_FLAG, CLI_AT(list)},
    {"clear", 0, NULL, "tunes nothing: clears it", CLI_FLAG, CLI_AT(clear)},
    CLI_READING_OPTIONS,
    CLI_JSON_OPTION("JSON lines, one a matrix and format (--list: a choice),"),
    CLI_END_OF_OPTIONS,
};

/* The results for one format, csr2 or csr3. */
typedef struct findings {
    int levels;
    tune_point points[MOST_MATRICES];
    tune_trial trials[MOST_MATRICES][GPU_SIZES]; /* on a GPU */
    tune_trial fastest[MOST_MATRICES];
    double fitted_us[MOST_MATRICES], default_us[MOST_MATRICES];
    int srs, ssrs;                /* constants, on the CPU */
    tune_formula srs_by, ssrs_by; /* formulas, on a GPU */
} findings;

typedef struct tuning {
    arguments *a;
    spry_context *context;
    char **paths;
    int count;
    char names[MOST_MATRICES][256];
    findings found[2]; /* the GPU has only csr3 */
    int found_count;
    record *records; /* of the matrix at hand, a format each */
    int record_count;
    int status;           /* CLI_GO_ON, or what went wrong with it */
    double most_others;   /* the largest share of the processors that other programs had during a part of the run */
    int parts, disturbed; /* parts of the run, and how many of them other programs disturbed */
    char *rates;          /* lines of the table; NULL: none were fitted */
} tuning;

static int on_gpu(const tuning *t)
{
    return strcmp(t->a->device, "cuda") == 0;
}

/* Each matrix once for each type, one after the other. */
static int types_of(const tuning *t)
{
    return t->a->types == 2 ? 2 : 1;
}

static spry_type type_of(const tuning *t, int number)
{
    return t->a->types != 0 && number % types_of(t) == 0 ? SPRY_F64 : SPRY_F32;
}

static const char *type_text(const tuning *t)
{
    return t->a->types == 2 ? "f64 and f32" : t->a->types == 1 ? "f64" : "f32";
}

/* ---- measuring ---------------------------------------------------------------------------------- */

/* Formats with sizes as parameters, which the benchmark compares. */
enum { MOST_FORMATS = 160, FORMAT_LENGTH = 32 };
typedef struct format_list {
    char names[MOST_FORMATS][FORMAT_LENGTH];
    int count;
} format_list;

/* A negative size: the library's own. */
static void add_sizes(format_list *list, int levels, tune_trial sizes)
{
    char *name = list->names[list->count++];
    if (sizes.srs < 0)
        snprintf(name, FORMAT_LENGTH, "csr%d", levels);
    else if (levels == 2)
        snprintf(name, FORMAT_LENGTH, "csr2:srs=%d", sizes.srs);
    else
        snprintf(name, FORMAT_LENGTH, "csr3:srs=%d:ssrs=%d", sizes.srs, sizes.ssrs);
}

static int keep(void *user, const record *records, int count)
{
    tuning *t = user;
    for (int r = 0; r < count && t->status == CLI_GO_ON; r++)
        if (records[r].status != RECORD_OK) {
            cli_message("%s, %s: %s", records[r].matrix, records[r].format, records[r].reason);
            t->status = CLI_UNSUCCESSFUL;
        }
    t->record_count = count < MOST_FORMATS ? count : MOST_FORMATS;
    memcpy(t->records, records, (size_t)t->record_count * sizeof *records);
    return t->status != CLI_GO_ON;
}

static void complain(void *user, const spry_error *err, int reading)
{
    ((tuning *)user)->status = reading ? cli_fail_reading(err) : cli_fail(err);
}

static void note_others(tuning *t, double others)
{
    t->parts++;
    t->disturbed += others >= DISTURBED_SHARE;
    if (others > t->most_others) t->most_others = others;
}

/* A table of times that other programs disturbed would mislead for months: none is written, unless that is accepted. */
static int check_disturbed(const tuning *t)
{
    if (t->disturbed == 0) return CLI_GO_ON;
    cli_message("%sother programs had up to %.0f %% of the processors during %d of %d parts of the run%s",
                t->a->accept_disturbed ? "note: " : "", 100 * t->most_others, t->disturbed, t->parts,
                t->a->accept_disturbed ? ""
                                       : ": no table is written; run again on a quiet machine, or take "
                                         "--accept-disturbed");
    return t->a->accept_disturbed ? CLI_GO_ON : CLI_UNSUCCESSFUL;
}

/* A record for each format: exit status or CLI_GO_ON. */
static int time_formats(tuning *t, int number, format_list *formats)
{
    char *items[MOST_FORMATS], none[] = "none", *orderings[] = {none};
    bench_source source = {.reason = ""};
    const spry_type type = type_of(t, number);
    const bench_options o = {.sources = &source,
                             .source_count = 1,
                             .op = "spmv",
                             .formats = {items, formats->count},
                             .orderings = {orderings, 1},
                             .device = t->a->device,
                             .types = &bench_all_types[type == SPRY_F32],
                             .type_count = 1,
                             .runs = t->a->runs,
                             .skip_bandwidth = 1,
                             .reading = cli_reading(SPRY_TYPE_DEFAULT),
                             .context = t->context,
                             .emit = keep,
                             .progress = cli_progress,
                             .complain = complain,
                             .user = t};
    spry_error err = {0};
    for (int f = 0; f < formats->count; f++) items[f] = formats->names[f];
    RECORD_TEXT(source.path, t->paths[number / types_of(t)]);
    matrix_name(source.name, sizeof source.name, source.path);
    RECORD_TEXT(t->names[number], source.name);
    t->record_count = 0;
    t->status = CLI_GO_ON;
    const processor_time before = read_processor_time();
    const spry_status status = bench_run(&o, &err);
    note_others(t, others_since(before, 0));
    if (t->status == CLI_GO_ON && status != SPRY_OK) t->status = cli_fail(&err);
    return t->status;
}

static int sizes_of(const tuning *t, tune_trial *trials, int levels)
{
    return on_gpu(t) ? tune_gpu_sizes(trials) : tune_cpu_sizes(trials, levels);
}

/* Takes the times of one format's records, one for each size. */
static void take_sweep(const tuning *t, findings *found, int number, tune_trial *trials, int count, const record *r)
{
    tune_trial *fastest = &found->fastest[number];
    *fastest = (tune_trial){.us = INFINITY};
    for (int k = 0; k < count; k++) {
        trials[k].us = r[k].time_us;
        if (trials[k].us > 0 && trials[k].us < fastest->us) *fastest = trials[k];
    }
    found->points[number].density = r->rows > 0 ? (double)r->nnz / (double)r->rows : 0;
    tune_best(&found->points[number], trials, count);
    if (on_gpu(t)) memcpy(found->trials[number], trials, (size_t)count * sizeof *trials);
}

static int sweep_matrix(tuning *t, int number)
{
    tune_trial trials[2][TUNE_MOST_SIZES];
    format_list formats = {.count = 0};
    int counts[2] = {0}, first = 0;
    for (int f = 0; f < t->found_count; f++) {
        counts[f] = sizes_of(t, trials[f], t->found[f].levels);
        for (int k = 0; k < counts[f]; k++) add_sizes(&formats, t->found[f].levels, trials[f][k]);
    }
    const int status = time_formats(t, number, &formats);
    for (int f = 0; f < t->found_count && status == CLI_GO_ON; first += counts[f++])
        take_sweep(t, &t->found[f], number, trials[f], counts[f], &t->records[first]);
    return status;
}

static tune_trial fitted_sizes(const tuning *t, const findings *found, int number)
{
    const double density = found->points[number].density;
    if (!on_gpu(t)) return (tune_trial){.srs = found->srs, .ssrs = found->ssrs};
    return (tune_trial){.srs = tune_size(&found->srs_by, density), .ssrs = tune_size(&found->ssrs_by, density)};
}

/* The fastest of the sweep once more, what was fitted, and what the library takes by itself. */
static int compare_matrix(tuning *t, int number)
{
    format_list formats = {.count = 0};
    for (int f = 0; f < t->found_count; f++) {
        const findings *found = &t->found[f];
        add_sizes(&formats, found->levels, found->fastest[number]);
        add_sizes(&formats, found->levels, fitted_sizes(t, found, number));
        add_sizes(&formats, found->levels, (tune_trial){.srs = -1});
    }
    const int status = time_formats(t, number, &formats);
    for (int f = 0; f < t->found_count && status == CLI_GO_ON; f++) {
        const record *r = &t->records[3 * f];
        t->found[f].points[number].best_us = r[0].time_us;
        t->found[f].fitted_us[number] = r[1].time_us;
        t->found[f].default_us[number] = r[2].time_us;
    }
    return status;
}

/* ---- telling ------------------------------------------------------------------------------------ */

/* 0: out of memory. */
static int fit(tuning *t)
{
    for (int f = 0; f < t->found_count; f++) {
        findings *found = &t->found[f];
        found->srs = tune_constant(found->points, t->count, 0);
        found->ssrs = tune_constant(found->points, t->count, 1);
        tune_sweep sweeps[MOST_MATRICES];
        for (int i = 0; i < t->count; i++)
            sweeps[i] = (tune_sweep){found->points[i].density, found->trials[i], GPU_SIZES};
        if (on_gpu(t) && isnan(tune_search(&found->ssrs_by, &found->srs_by, sweeps, t->count))) return 0;
    }
    return 1;
}

/* The geometric mean of how much longer `us` take than the best. */
static double loss(const findings *found, const double *us, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += log(us[i] / found->points[i].best_us);
    return 100 * (exp(sum / count) - 1);
}

static const cli_column columns[] = {{"matrix", 1, 0}, {"type", 1, 2},   {"a row", 0, 3},     {"best sizes", 0, 0},
                                     {"us", 0, 0},     {"fitted", 0, 0}, {"fitted us", 0, 0}, {"default us", 0, 1}};

/* "SRS/SSRS", or "SRS" of csr2. */
static void sizes_cell(cli_table *table, const findings *found, tune_trial sizes)
{
    if (found->levels == 3)
        cli_table_cell(table, "%d/%d", sizes.srs, sizes.ssrs);
    else
        cli_table_cell(table, "%d", sizes.srs);
}

static void print_findings(FILE *out, const tuning *t, const findings *found)
{
    cli_table table;
    fprintf(out, "csr%d on %s, %s\n", found->levels, t->a->device, type_text(t));
    cli_table_begin(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < t->count; i++) {
        cli_table_row(&table, ' ');
        cli_table_cell(&table, "%.40s", t->names[i]);
        cli_table_cell(&table, "%s", spry_type_name(type_of(t, i)));
        cli_table_cell(&table, "%.2f", found->points[i].density);
        sizes_cell(&table, found, found->fastest[i]);
        cli_table_cell(&table, "%s", cli_decimal(found->points[i].best_us).s);
        sizes_cell(&table, found, fitted_sizes(t, found, i));
        cli_table_cell(&table, "%s", cli_decimal(found->fitted_us[i]).s);
        cli_table_cell(&table, "%s", cli_decimal(found->default_us[i]).s);
    }
    cli_table_print(out, &table);
    fprintf(out,
            "  sizes: rows of a super-row%s\n"
            "  against the best of all sizes, geometric means: fitted %+.1f %%, default %+.1f %%\n\n",
            found->levels == 3 ? ", and super-rows of a super-super-row" : "", loss(found, found->fitted_us, t->count),
            loss(found, found->default_us, t->count));
}

static int json_findings(cli_json *json, const tuning *t, const findings *found)
{
    for (int i = 0; i < t->count; i++) {
        cJSON *o = cJSON_CreateObject();
        const tune_trial fitted = fitted_sizes(t, found, i);
        const int good = cli_json_begin(o, t->names[i], RECORD_OK, NULL) && cli_json_text(o, "device", t->a->device) &&
                         cli_json_text(o, "type", spry_type_name(type_of(t, i))) &&
                         cli_json_integer(o, "levels", found->levels) &&
                         cli_json_number(o, "density", found->points[i].density) &&
                         cli_json_integer(o, "best_srs", found->fastest[i].srs) &&
                         cli_json_integer(o, "best_ssrs", found->levels == 3 ? found->fastest[i].ssrs : -1) &&
                         cli_json_number(o, "best_us", found->points[i].best_us) &&
                         cli_json_integer(o, "fitted_srs", fitted.srs) &&
                         cli_json_integer(o, "fitted_ssrs", found->levels == 3 ? fitted.ssrs : -1) &&
                         cli_json_number(o, "fitted_us", found->fitted_us[i]) &&
                         cli_json_number(o, "default_us", found->default_us[i]);
        if (!cli_json_line(json, o, good)) return 0;
    }
    return 1;
}

static void write_gpu(FILE *out, const tuning *t, int capability)
{
    const tune_formula *ssrs = &t->found[0].ssrs_by, *srs = &t->found[0].srs_by;
    fprintf(out, "cuda %d\ncuda ssrs %.4g %.4g\ncuda srs %.4g %.4g\ncuda whole %d %d\n", capability / 10,
            ssrs->constant, ssrs->fall, srs->constant, srs->fall, TUNE_STEP, TUNE_MOST);
}

/* What a table tells of the device here, a fact a line, but for comments. */
static void write_facts(FILE *out, const tuning *t)
{
    spry_device_info device = SPRY_INIT(spry_device_info);
    char day[32] = "";
    const time_t now = time(NULL);
    struct tm when;
    if (gmtime_r(&now, &when)) strftime(day, sizeof day, "%Y-%m-%d", &when);
    spry_device_get_info(t->context, &device, on_gpu(t), NULL);
    if (t->rates) fputs(t->rates, out);
    if (t->found_count == 0) return;
    fprintf(out, "# %s, %s, fitted over %d matrices with spry tune, %s\n", device.description ? device.description : "",
            day, t->count / types_of(t), type_text(t));
    if (on_gpu(t)) {
        write_gpu(out, t, device.compute_capability);
    } else {
        for (int f = 0; f < t->found_count; f++) {
            fprintf(out, "cpu csr%d %d", t->found[f].levels, t->found[f].srs);
            if (t->found[f].levels == 3) fprintf(out, " %d", t->found[f].ssrs);
            fputc('\n', out);
        }
    }
}

/* The facts between the first line and the last, which tells how many they are. 0: out of memory. */
static int write_table(FILE *out, const tuning *t)
{
    char *facts = NULL;
    size_t size = 0;
    int count = 0;
    FILE *memory = open_memstream(&facts, &size);
    if (!memory) return 0;
    write_facts(memory, t);
    const int good = fclose(memory) == 0;
    for (const char *line = facts; good && *line; line = strchr(line, '\n') + 1) count += line[0] != '#';
    if (good) fprintf(out, "spry-tuning 3\n%send %d\n", facts, count);
    free(facts);
    return good;
}

static int report(tuning *t)
{
    arguments *a = t->a;
    int status = cli_json_open(&a->json);
    if (status != CLI_GO_ON) return status;
    status = CLI_OK;
    for (int f = 0; f < t->found_count; f++) {
        if (a->json.wanted && !json_findings(&a->json, t, &t->found[f])) status = CLI_UNSUCCESSFUL;
        if (cli_for_people(&a->json)) print_findings(stdout, t, &t->found[f]);
    }
    status = cli_json_close(&a->json, status);
    if (status != CLI_OK || (!a->out && !cli_for_people(&a->json))) return status;
    const int checked = check_disturbed(t);
    if (checked != CLI_GO_ON) return checked;
    cli_output table;
    status = cli_output_open(&table, a->out);
    if (status != CLI_GO_ON) return status;
    status = write_table(table.stream, t) ? CLI_OK : CLI_UNSUCCESSFUL;
    if (status != CLI_OK) cli_message("out of memory");
    status = cli_output_close(&table, status);
    if (status == CLI_OK && a->out && !cli_is_dash(a->out))
        cli_message("wrote %s; the command line takes it with SPRY_TUNING=%s, a program with spry_context_load_tuning",
                    a->out, a->out);
    return status;
}

/* ---- command ------------------------------------------------------------------------------------ */

static int check_device(const tuning *t)
{
    spry_device_info info = SPRY_INIT(spry_device_info);
    spry_error err = {0};
    if (!on_gpu(t)) return CLI_GO_ON;
    if (spry_device_get_info(t->context, &info, 1, &err) != SPRY_OK) return cli_fail(&err);
    if (info.available) return CLI_GO_ON;
    cli_message("--device cuda: %s", info.reason);
    return CLI_UNSUCCESSFUL;
}

/* Sweeps until the time is over, and goes on with the matrices that were swept; of two densities at least. */
static int sweep(tuning *t)
{
    const double start = now_us();
    int status = CLI_GO_ON;
    for (int i = 0; status == CLI_GO_ON && i < t->count; i++) {
        if (t->a->time_limit > 0 && i >= 2 * types_of(t) && i % types_of(t) == 0 &&
            now_us() - start > 1e6 * (double)t->a->time_limit) {
            cli_message("note: the time limit of %lld s had passed after %d of %d matrices: the others are left out",
                        (long long)t->a->time_limit, i / types_of(t), t->count / types_of(t));
            t->count = i;
            break;
        }
        status = sweep_matrix(t, i);
        cli_progress_share((i + 1.0) / (2.0 * t->count)); /* and once more, to compare */
    }
    return status;
}

static int fit_rates(tuning *t, int given)
{
    const arguments *a = t->a;
    const tune_rates_request request = {.context = t->context,
                                        .paths = t->paths,
                                        .count = given,
                                        .device = a->device,
                                        .types = a->types,
                                        .runs = a->runs,
                                        .time_limit = a->time_limit,
                                        .from = &a->from,
                                        .device_class = a->device_class};
    const processor_time before = read_processor_time();
    const int status = tune_rates(&request, &t->rates, cli_for_people(&a->json));
    if (a->from.count == 0) note_others(t, others_since(before, 0));
    return status;
}

/* given: matrices that are named; 0: generated ones. */
static int fit_all(tuning *t, int given)
{
    int status = t->a->what != WHAT_SIZES ? fit_rates(t, given) : CLI_GO_ON;
    if (status == CLI_GO_ON && t->found_count > 0) status = sweep(t);
    if (status != CLI_GO_ON) return status;
    cli_progress_share(t->found_count > 0 ? 0.5 : -1);
    if (t->found_count > 0 && !fit(t)) {
        cli_message("out of memory");
        return CLI_UNSUCCESSFUL;
    }
    for (int i = 0; t->found_count > 0 && status == CLI_GO_ON && i < t->count; i++) {
        status = compare_matrix(t, i);
        cli_progress_share((t->count + i + 1.0) / (2.0 * t->count));
    }
    return status == CLI_GO_ON ? report(t) : status;
}

static int check_arguments(const arguments *a, int count, char **paths)
{
    const int most = a->types == 2 ? MOST_MATRICES / 2 : MOST_MATRICES;
    int status = CLI_GO_ON;
    if (a->from.count > 0 && a->what == WHAT_SIZES)
        return cli_usage_error("--from with --what sizes: records tell rates alone");
    if (a->from.count > 0 && count == 0) return cli_usage_error("--from: name the matrices that the records are of");
    if (a->device_class && a->from.count == 0)
        return cli_usage_error("--class without --from: what is timed here has the class of the device here");
    if (a->list && a->clear) return cli_usage_error("--list and --clear are given: expected one of them");
    if (a->cache && !a->list && !a->clear) return cli_usage_error("--cache goes with --list or --clear");
    if ((a->list || a->clear) && count > 0)
        return cli_usage_error("'%s' is one argument too many: --%s has no matrix", paths[0],
                               a->list ? "list" : "clear");
    if (a->levels == 2 && strcmp(a->device, "cuda") == 0)
        return cli_usage_error("--format csr2 with --device cuda: there csr2 has no sizes to fit, only csr3");
    if (count > most) return cli_usage_error("%d matrices are named, expected at most %d", count, most);
    for (int i = 0; i < count && status == CLI_GO_ON; i++) status = cli_check_outputs(a->out, &a->json, paths[i]);
    for (int i = 0; i < a->from.count && status == CLI_GO_ON; i++)
        status = cli_check_outputs(a->out, &a->json, a->from.items[i]);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.device = "cpu", .types = 1};
    char *matrices[USUAL];
    int status = cli_parse(command, &argc, argv, &a);
    if (a.from.count > 0 && a.what == WHAT_ALL) a.what = WHAT_RATES;
    if (status == CLI_GO_ON) status = check_arguments(&a, argc, argv);
    if (status != CLI_GO_ON) {
        cli_release_list(&a.from);
        return status;
    }
    if (a.list || a.clear) return cli_manage_choices(a.cache, a.clear, &a.json);
    for (int u = 0; u < USUAL; u++) matrices[u] = (char *)(uintptr_t)usual[u];
    tuning *t = calloc(1, sizeof *t);
    record *records = malloc(MOST_FORMATS * sizeof *records);
    if (t && records) {
        t->a = &a;
        t->records = records;
        t->paths = argc > 0 ? argv : matrices;
        t->count = (argc > 0 ? argc : USUAL) * types_of(t);
        for (int levels = on_gpu(t) ? 3 : 2; a.what != WHAT_RATES && levels <= 3; levels++)
            if (a.levels == 0 || a.levels == levels) t->found[t->found_count++].levels = levels;
        cli_when_interrupted("no table was written");
        status = cli_open_context(&t->context, a.threads);
        if (status == CLI_GO_ON && a.from.count == 0) status = check_device(t);
        if (status == CLI_GO_ON) status = fit_all(t, argc);
        spry_context_destroy(t->context);
    } else {
        cli_message("out of memory");
        status = CLI_UNSUCCESSFUL;
    }
    if (t) free(t->rates);
    free(records);
    free(t);
    cli_release_list(&a.from);
    return status;
}

const cli_command cli_tune =
    {.name = "tune",
     .summary = "fit what \"auto\" predicts times by to this machine",
     .usage = "[FILE...] [OPTIONS]",
     .about =
         "Rates: times every format on the matrices named, or on generated ones of all kinds, and fits the\n"
         "constants by which \"auto\" predicts times (docs/choosing.md), or fits them to records of spry bench.\n"
         "Sizes: times csr2 and csr3 (on a GPU csr3) with every size of groups that the CSR-k study tries, on the\n"
         "matrices named or on ten generated ones, and fits what it needs no time to compute: a constant on a\n"
         "CPU, a formula over the mean row length on a GPU. Tells what that loses against the best of all\n"
         "sizes. Takes some minutes.",
     .examples = "  spry tune --what rates -o zen4.tuning\n"
                 "  spry bench a.mtx b.mtx --formats all --json=h200.jsonl\n"
                 "  spry tune a.mtx b.mtx --from h200.jsonl --device cuda --class h200 -o h200.tuning\n"
                 "  spry tune --device cuda -o gpu.tuning\n"
                 "  SPRY_TUNING=zen4.tuning spry bench matrix.mtx --formats csr2,csr3\n"
                 "  spry tune --cache choices.txt --list\n"
                 "  spry tune --cache choices.txt --clear\n",
     .options = options,
     .most = -1,
     .positional = "matrix FILEs",
     .run = run};
