/* spry tune: the sizes of csr2's and csr3's groups for the machine at hand, as a table that contexts load. */
#include "cli/cli.h"

#include "bench/bench.h"
#include "bench/tune.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    OPTION_OUT,
    OPTION_FORMAT,
    OPTION_DEVICE,
    OPTION_TYPE,
    OPTION_THREADS,
    OPTION_FIT,
    OPTION_RUNS,
    OPTION_TIME_LIMIT,
    OPTION_JSON
};

static const cli_option options[] =
    {{"out", 'o', CLI_REQUIRED, "TABLE", "write the table there (default: print it)"},
     {"format", 0, CLI_REQUIRED, "csr2|csr3", "only this one (default: both; on a GPU csr3)"},
     {"device", 0, CLI_REQUIRED, "cpu|cuda", "what to tune for (default: cpu)"},
     {"type", 0, CLI_REQUIRED, "f32|f64|all",
      "type of values and vectors (default: f64); all: one fit of both,\n"
      "for a table does not tell types apart"},
     {"threads", 0, CLI_REQUIRED, "N", "threads on the CPU (default: as many as OpenMP would use)"},
     {"fit", 0, CLI_REQUIRED, "search|regression",
      "on a GPU: the formula that loses least of the sweep's times, sizes\n"
      "in whole eights (default), or the CSR-k study's regression"},
     {"runs", 0, CLI_REQUIRED, "N", "N runs of each size in place of batches in turns: short, as in spry bench"},
     {"time-limit", 0, CLI_REQUIRED, "SECONDS", "begin no matrix after so long, and fit those that were swept"},
     {"json", 0, CLI_OPTIONAL, "FILE", "JSON lines, one a matrix and format, to standard output or FILE"},
     {0}};

/* A few million entries each, from 3 to 81 a row. */
static const char *const usual[] = {
    "gen:road,side=900",
    "gen:twin,rows=800000,entries=3200000,longest=6,kind=mesh2",
    "gen:grid5,x=800,y=800",
    "gen:grid7,x=80,y=80,z=80",
    "gen:grid9,x=600,y=600",
    "gen:rgg,scale=18",
    "gen:twin,rows=200000,entries=4000000,longest=60,kind=ball3",
    "gen:grid27,x=50,y=50,z=50",
    "gen:twin,rows=100000,entries=4000000,longest=90,kind=ball3",
    "gen:fem3,x=25,y=25,z=25",
};
enum { GPU_SIZES = 64 };
enum { USUAL = sizeof usual / sizeof *usual, MOST_MATRICES = 256 };

typedef struct arguments {
    const char *out, *device;
    int levels; /* 2 or 3: of the only format; 0: both */
    int f32, f64, regression;
    int64_t threads, runs, time_limit;
    cli_json json;
} arguments;

/* What was found for one format, csr2 or csr3. */
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
    bench_session session;
    char **paths;
    int count;
    char names[MOST_MATRICES][256];
    findings found[2]; /* the GPU has only csr3 */
    int found_count;
} tuning;

static int apply(void *state, int option, const char *value)
{
    static const char *const devices[] = {"cpu", "cuda", NULL}, *const formats[] = {"csr2", "csr3", NULL};
    static const char *const fits[] = {"search", "regression", NULL};
    static const char *const types[] = {"f32", "f64", "all", NULL};
    arguments *a = state;
    int index = 0;
    switch (option) {
    case OPTION_OUT: a->out = value; break;
    case OPTION_FORMAT:
        if (!cli_take_name("format", value, formats, &index)) return CLI_USAGE;
        a->levels = index + 2;
        break;
    case OPTION_DEVICE:
        if (!cli_take_name("device", value, devices, &index)) return CLI_USAGE;
        a->device = devices[index];
        break;
    case OPTION_TYPE:
        if (!cli_take_name("type", value, types, &index)) return CLI_USAGE;
        a->f32 = index != 1;
        a->f64 = index != 0;
        break;
    case OPTION_THREADS: return cli_take_integer("threads", value, 1, 1024, &a->threads) ? CLI_GO_ON : CLI_USAGE;
    case OPTION_FIT:
        if (!cli_take_name("fit", value, fits, &index)) return CLI_USAGE;
        a->regression = index;
        break;
    case OPTION_RUNS: return cli_take_integer("runs", value, 1, 10000, &a->runs) ? CLI_GO_ON : CLI_USAGE;
    case OPTION_TIME_LIMIT:
        return cli_take_integer("time-limit", value, 1, 1000000, &a->time_limit) ? CLI_GO_ON : CLI_USAGE;
    default:
        a->json.wanted = 1;
        a->json.path = value;
        break;
    }
    return CLI_GO_ON;
}

static int on_gpu(const tuning *t)
{
    return strcmp(t->a->device, "cuda") == 0;
}

/* Each matrix once for each type, one after the other. */
static int types_of(const tuning *t)
{
    return t->a->f32 + t->a->f64;
}

static spry_type type_of(const tuning *t, int number)
{
    return t->a->f64 && number % types_of(t) == 0 ? SPRY_F64 : SPRY_F32;
}

static const char *type_text(const tuning *t)
{
    return types_of(t) == 2 ? "f64 and f32" : t->a->f64 ? "f64" : "f32";
}

/* ---- measuring ---------------------------------------------------------------------------------- */

/* A negative size: the library's own. */
static int add_sizes(bench_group *group, const tuning *t, int levels, tune_trial sizes)
{
    char format[64];
    spry_spmv_options plan = SPRY_INIT(spry_spmv_options);
    if (sizes.srs < 0)
        snprintf(format, sizeof format, "csr%d", levels);
    else if (levels == 2)
        snprintf(format, sizeof format, "csr2:srs=%d", sizes.srs);
    else
        snprintf(format, sizeof format, "csr3:srs=%d:ssrs=%d", sizes.srs, sizes.ssrs);
    plan.format = format;
    plan.device = t->a->device;
    return bench_add_plan(group, &plan, NULL);
}

/* Opens the matrix, adds what `add` wants, measures, and hands the times to `take`. An exit status or CLI_GO_ON. */
static int with_matrix(tuning *t, int number, int (*add)(bench_group *, tuning *, int),
                       void (*take)(const bench_group *, tuning *, int))
{
    spry_matrix *A = NULL;
    spry_error err = {0};
    bench_group group;
    spry_read_options reading = SPRY_INIT(spry_read_options);
    const char *path = t->paths[number / types_of(t)];
    reading.value_type = type_of(t, number);
    bench_matrix_name(t->names[number], sizeof t->names[number], path);
    cli_progress(t->names[number]);
    if (bench_read_csr(t->session.context, &A, path, &reading, &err) != SPRY_OK) return cli_fail(&err);
    int status = CLI_GO_ON;
    if (bench_group_open(&group, &t->session, A, t->names[number], &err) != SPRY_OK) {
        status = cli_fail(&err);
    } else {
        if (!add(&group, t, number)) {
            cli_message("out of memory");
            status = CLI_UNSUCCESSFUL;
        }
        for (int c = 0; status == CLI_GO_ON && c < group.case_count; c++)
            if (group.cases[c].record.status != BENCH_OK) {
                cli_message("%s, %s: %s", t->names[number], group.cases[c].record.format, group.cases[c].record.reason);
                status = CLI_UNSUCCESSFUL;
            }
        if (status == CLI_GO_ON && bench_measure(&group))
            take(&group, t, number);
        else if (status == CLI_GO_ON)
            status = CLI_UNSUCCESSFUL;
        bench_group_close(&group);
    }
    spry_matrix_destroy(A);
    return status;
}

static int sizes_of(const tuning *t, tune_trial *trials, int levels)
{
    return on_gpu(t) ? tune_gpu_sizes(trials) : tune_cpu_sizes(trials, levels);
}

static int add_sweep(bench_group *group, tuning *t, int number)
{
    (void)number;
    for (int f = 0; f < t->found_count; f++) {
        tune_trial trials[TUNE_MOST_SIZES];
        const int count = sizes_of(t, trials, t->found[f].levels);
        for (int k = 0; k < count; k++)
            if (!add_sizes(group, t, t->found[f].levels, trials[k])) return 0;
    }
    return 1;
}

static void take_sweep(const bench_group *group, tuning *t, int number)
{
    int c = 0;
    for (int f = 0; f < t->found_count; f++) {
        tune_trial trials[TUNE_MOST_SIZES];
        findings *found = &t->found[f];
        const int count = sizes_of(t, trials, found->levels);
        tune_trial *fastest = &found->fastest[number];
        *fastest = (tune_trial){.us = INFINITY};
        for (int k = 0; k < count; k++, c++) {
            trials[k].us = group->cases[c].record.time_us;
            if (trials[k].us > 0 && trials[k].us < fastest->us) *fastest = trials[k];
        }
        const double rows = (double)group->common.rows;
        found->points[number].density = rows > 0 ? (double)group->common.nnz / rows : 0;
        tune_best(&found->points[number], trials, count);
        if (on_gpu(t)) memcpy(found->trials[number], trials, (size_t)count * sizeof *trials);
    }
}

static tune_trial fitted_sizes(const tuning *t, const findings *found, int number)
{
    const double density = found->points[number].density;
    if (!on_gpu(t)) return (tune_trial){.srs = found->srs, .ssrs = found->ssrs};
    return (tune_trial){.srs = tune_size(&found->srs_by, density), .ssrs = tune_size(&found->ssrs_by, density)};
}

/* The fastest of the sweep once more, what was fitted, and what the library takes by itself. */
static int add_comparison(bench_group *group, tuning *t, int number)
{
    for (int f = 0; f < t->found_count; f++) {
        const findings *found = &t->found[f];
        if (!add_sizes(group, t, found->levels, found->fastest[number]) ||
            !add_sizes(group, t, found->levels, fitted_sizes(t, found, number)) ||
            !add_sizes(group, t, found->levels, (tune_trial){.srs = -1}))
            return 0;
    }
    return 1;
}

static void take_comparison(const bench_group *group, tuning *t, int number)
{
    for (int f = 0; f < t->found_count; f++) {
        const bench_case *cases = &group->cases[3 * f];
        t->found[f].points[number].best_us = cases[0].record.time_us;
        t->found[f].fitted_us[number] = cases[1].record.time_us;
        t->found[f].default_us[number] = cases[2].record.time_us;
    }
}

/* ---- telling ------------------------------------------------------------------------------------ */

static void fit(tuning *t)
{
    for (int f = 0; f < t->found_count; f++) {
        findings *found = &t->found[f];
        found->srs = tune_constant(found->points, t->count, 0);
        found->ssrs = tune_constant(found->points, t->count, 1);
        tune_sweep sweeps[MOST_MATRICES];
        for (int i = 0; i < t->count; i++)
            sweeps[i] = (tune_sweep){found->points[i].density, found->trials[i], GPU_SIZES};
        if (on_gpu(t) && !t->a->regression && !isnan(tune_search(&found->ssrs_by, &found->srs_by, sweeps, t->count)))
            continue;
        found->srs_by = tune_fit(found->points, t->count, 0);
        found->ssrs_by = tune_fit(found->points, t->count, 1);
    }
}

/* The geometric mean of how much longer `us` take than the best. */
static double loss(const findings *found, const double *us, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += log(us[i] / found->points[i].best_us);
    return 100 * (exp(sum / count) - 1);
}

static void print_findings(FILE *out, const tuning *t, const findings *found)
{
    fprintf(out, "csr%d on %s, %s\n  %-40s  %-3s %7s  %15s  %9s  %15s  %9s  %9s\n", found->levels, t->a->device,
            type_text(t), "matrix", "", "a row", "best SRS / SSRS", "us", "fitted", "us", "default us");
    for (int i = 0; i < t->count; i++) {
        const tune_trial fitted = fitted_sizes(t, found, i);
        fprintf(out, "  %-40.40s  %-3s %7.2f  %7d / %5d  %9.1f  %7d / %5d  %9.1f  %9.1f\n", t->names[i],
                spry_type_name(type_of(t, i)), found->points[i].density, found->fastest[i].srs, found->fastest[i].ssrs,
                found->points[i].best_us, fitted.srs, fitted.ssrs, found->fitted_us[i], found->default_us[i]);
    }
    fprintf(out, "  against the best of all sizes, geometric means: fitted %+.1f %%, the library's own %+.1f %%\n\n",
            loss(found, found->fitted_us, t->count), loss(found, found->default_us, t->count));
}

static int json_findings(cli_json *json, const tuning *t, const findings *found)
{
    for (int i = 0; i < t->count; i++) {
        cJSON *o = cJSON_CreateObject();
        const tune_trial fitted = fitted_sizes(t, found, i);
        const int good = bench_json_text(o, "matrix", t->names[i]) && bench_json_text(o, "device", t->a->device) &&
                         bench_json_text(o, "type", spry_type_name(type_of(t, i))) &&
                         bench_json_integer(o, "levels", found->levels) &&
                         bench_json_number(o, "density", found->points[i].density) &&
                         bench_json_integer(o, "best_srs", found->fastest[i].srs) &&
                         bench_json_integer(o, "best_ssrs", found->levels == 3 ? found->fastest[i].ssrs : -1) &&
                         bench_json_number(o, "best_us", found->points[i].best_us) &&
                         bench_json_integer(o, "fitted_srs", fitted.srs) &&
                         bench_json_integer(o, "fitted_ssrs", found->levels == 3 ? fitted.ssrs : -1) &&
                         bench_json_number(o, "fitted_us", found->fitted_us[i]) &&
                         bench_json_number(o, "default_us", found->default_us[i]);
        if (!cli_json_line(json, o, good)) return 0;
    }
    return 1;
}

static void write_gpu(FILE *out, const tuning *t, int capability)
{
    const tune_formula *ssrs = &t->found[0].ssrs_by, *srs = &t->found[0].srs_by;
    fprintf(out, "cuda %d\ncuda ssrs %.4g %.4g\ncuda srs %.4g %.4g\n", capability / 10, ssrs->constant, ssrs->fall,
            srs->constant, srs->fall);
    if (ssrs->step > 0) fprintf(out, "cuda whole %d %d\n", ssrs->step, ssrs->most);
    for (int c = 0; c < TUNE_CASES - 1; c++)
        fprintf(out, "cuda case%d %.4g %.4g\n", c + 2, ssrs->factor[c], srs->factor[c]);
}

static void write_table(FILE *out, const tuning *t)
{
    spry_device_info device = SPRY_INIT(spry_device_info);
    char day[32] = "";
    const time_t now = time(NULL);
    struct tm when;
    if (gmtime_r(&now, &when)) strftime(day, sizeof day, "%Y-%m-%d", &when);
    spry_device_get_info(t->session.context, on_gpu(t), &device, NULL);
    fprintf(out, "spry-tuning 1\n# %s, %s, fitted over %d matrices with spry tune, %s\n",
            device.description ? device.description : "", day, t->count / types_of(t), type_text(t));
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
    cli_output table;
    status = cli_output_open(&table, a->out);
    if (status != CLI_GO_ON) return status;
    write_table(table.stream, t);
    status = cli_output_close(&table, CLI_OK);
    if (status == CLI_OK && a->out && strcmp(a->out, "-") != 0)
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
    if (spry_device_get_info(t->session.context, 1, &info, &err) != SPRY_OK) return cli_fail(&err);
    if (info.available) return CLI_GO_ON;
    cli_message("--device cuda: %s", info.reason);
    return CLI_UNSUCCESSFUL;
}

/* Sweeps until the time is over, and goes on with the matrices that were swept; of two densities at least. */
static int sweep(tuning *t)
{
    const double start = bench_now_us();
    int status = CLI_GO_ON;
    for (int i = 0; status == CLI_GO_ON && i < t->count; i++) {
        if (t->a->time_limit > 0 && i >= 2 * types_of(t) && i % types_of(t) == 0 &&
            bench_now_us() - start > 1e6 * (double)t->a->time_limit) {
            cli_message("note: the time limit of %lld s had passed after %d of %d matrices: the others are left out",
                        (long long)t->a->time_limit, i / types_of(t), t->count / types_of(t));
            t->count = i;
            break;
        }
        status = with_matrix(t, i, add_sweep, take_sweep);
    }
    return status;
}

static int sweep_and_compare(tuning *t)
{
    int status = sweep(t);
    if (status != CLI_GO_ON) return status;
    fit(t);
    for (int i = 0; status == CLI_GO_ON && i < t->count; i++)
        status = with_matrix(t, i, add_comparison, take_comparison);
    return status == CLI_GO_ON ? report(t) : status;
}

static int tune(tuning *t, spry_context *context)
{
    char note[256];
    t->session.op = "spmv";
    t->session.context = context;
    t->session.runs = (int)t->a->runs;
    for (int levels = on_gpu(t) ? 3 : 2; levels <= 3; levels++)
        if (t->a->levels == 0 || t->a->levels == levels) t->found[t->found_count++].levels = levels;
    int status = check_device(t);
    if (status != CLI_GO_ON) return status;
    if (!bench_session_open(&t->session, context, note, sizeof note)) {
        cli_message("out of memory for the buffer that flushes the caches");
        return CLI_UNSUCCESSFUL;
    }
    status = sweep_and_compare(t);
    bench_session_close(&t->session);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.device = "cpu", .f64 = 1};
    char *matrices[USUAL];
    int status = cli_parse(command, &argc, argv, apply, &a);
    if (status != CLI_GO_ON) return status;
    if (a.levels == 2 && strcmp(a.device, "cuda") == 0)
        return cli_usage_error("--format csr2 with --device cuda: there csr2 has no sizes to fit, only csr3");
    if (argc * (a.f32 + a.f64) > MOST_MATRICES)
        return cli_usage_error("%d matrices are named, expected at most %d", argc, MOST_MATRICES / (a.f32 + a.f64));
    for (int i = 0; i < argc && status == CLI_GO_ON; i++) {
        status = cli_check_output("out", a.out, argv[i]);
        if (status == CLI_GO_ON) status = cli_check_output("json", a.json.path, argv[i]);
    }
    if (status != CLI_GO_ON) return status;
    for (int u = 0; u < USUAL; u++) matrices[u] = (char *)(uintptr_t)usual[u];
    tuning *t = calloc(1, sizeof *t);
    if (!t) {
        cli_message("out of memory");
        return CLI_UNSUCCESSFUL;
    }
    t->a = &a;
    t->paths = argc > 0 ? argv : matrices;
    t->count = (argc > 0 ? argc : USUAL) * types_of(t);
    spry_context *context = NULL;
    status = cli_open_context(&context, a.threads);
    if (status == CLI_GO_ON) status = tune(t, context);
    spry_context_destroy(context);
    free(t);
    return status;
}

const cli_command cli_tune =
    {.name = "tune",
     .summary = "fit the sizes of csr2's and csr3's groups to this machine",
     .usage = "[FILE...] [OPTIONS]",
     .about = "Times csr2 and csr3 (on a GPU csr3) with every size of groups that the CSR-k study tries, on the\n"
              "matrices named or on ten generated ones, and fits what it needs no time to compute: a constant on a\n"
              "CPU, a formula over the mean row length on a GPU. Tells what that loses against the best of all\n"
              "sizes. Takes some minutes.",
     .examples = "  spry tune -o zen4.tuning\n"
                 "  spry tune --device cuda -o gpu.tuning\n"
                 "  SPRY_TUNING=zen4.tuning spry bench matrix.mtx --formats csr2,csr3\n",
     .options = options,
     .least = 0,
     .most = -1,
     .positional = "matrix FILEs",
     .run = run};
