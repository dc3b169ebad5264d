/* spry spmv: one product, checked, timed and explained. */
#include "cli/cli.h"

#include "bench/bench.h"

#include <cjson/cJSON.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_OUT,
    OPTION_X,
    OPTION_ALPHA,
    OPTION_BETA,
    OPTION_TRANSPOSE,
    OPTION_TYPE,
    OPTION_INDEX,
    OPTION_FORMAT,
    OPTION_KERNEL,
    OPTION_ORDERING,
    OPTION_DEVICE,
    OPTION_THREADS,
    OPTION_JSON
};

static const cli_option options[] =
    {{"out", 'o', CLI_REQUIRED, "OUT", "write y as a Matrix Market array; '-' is standard output"},
     {"x", 0, CLI_REQUIRED, "random|ones", "the vector x; random is the same on every machine (default: random)"},
     {"alpha", 0, CLI_REQUIRED, "A", "factor of the product (default: 1)"},
     {"beta", 0, CLI_REQUIRED, "B", "factor of y, which is all ones before (default: 0)"},
     {"transpose", 't', CLI_NONE, NULL, "multiply with the transposed matrix"},
     {"type", 0, CLI_REQUIRED, "f32|f64", "type of values and vectors (default: f64)"},
     {"index", 0, CLI_REQUIRED, "32/32|64/32|64/64", "bits of offsets/columns (default: the smallest that fit)"},
     {"format", 0, CLI_REQUIRED, "NAME", "a format of 'spry kernels', or auto (default: auto)"},
     {"kernel", 0, CLI_REQUIRED, "NAME", "a kernel of 'spry kernels'"},
     {"ordering", 0, CLI_REQUIRED, "none|rcm|bandk|degree",
      "the plan multiplies a reordered copy; x and y stay as they are (default: none)"},
     {"device", 0, CLI_REQUIRED, "cpu|cuda", "where to multiply (default: cpu)"},
     {"threads", 0, CLI_REQUIRED, "N", "threads of the product (default: as many as OpenMP would use)"},
     {"json", 0, CLI_OPTIONAL, "FILE", "JSON lines to standard output or FILE: the kernel, then the baseline"},
     {0}};

typedef struct arguments {
    const char *out, *format, *kernel, *ordering, *device;
    int ones, transpose;
    double alpha, beta;
    spry_type type;
    spry_index_type offset_type, index_type;
    int64_t threads;
    cli_json json;
} arguments;

/* ---- options ------------------------------------------------------------------------------------ */

static int take_choice(int *chosen, const char *option, const char *value, const char *const *names)
{
    return cli_take_name(option, value, names, chosen) ? CLI_GO_ON : CLI_USAGE;
}

static int apply(void *state, int option, const char *value)
{
    static const char *const xs[] = {"random", "ones", NULL};
    static const char *const devices[] = {"cpu", "cuda", NULL};
    static const char *const orderings[] = {"none", "rcm", "bandk", "degree", NULL};
    arguments *a = state;
    int index = 0, status = CLI_GO_ON;
    switch (option) {
    case OPTION_OUT: a->out = value; break;
    case OPTION_X: return take_choice(&a->ones, "x", value, xs);
    case OPTION_ALPHA: return cli_take_number("alpha", value, &a->alpha) ? CLI_GO_ON : CLI_USAGE;
    case OPTION_BETA: return cli_take_number("beta", value, &a->beta) ? CLI_GO_ON : CLI_USAGE;
    case OPTION_TRANSPOSE: a->transpose = 1; break;
    case OPTION_TYPE: return cli_take_type(value, SPRY_F64, &a->type);
    case OPTION_INDEX: return cli_take_index(value, &a->offset_type, &a->index_type);
    case OPTION_FORMAT: a->format = value; break;
    case OPTION_KERNEL: a->kernel = value; break;
    case OPTION_ORDERING:
        status = take_choice(&index, "ordering", value, orderings);
        a->ordering = orderings[index];
        return status;
    case OPTION_DEVICE:
        status = take_choice(&index, "device", value, devices);
        a->device = devices[index];
        return status;
    case OPTION_THREADS: return cli_take_integer("threads", value, 1, 1024, &a->threads) ? CLI_GO_ON : CLI_USAGE;
    default:
        a->json.wanted = 1;
        a->json.path = value;
        break;
    }
    return CLI_GO_ON;
}

/* Cast to f32, a number past its range would become infinite, and a very small one 0, which is a case of its own. */
static int check_range(const char *option, double value, spry_type type)
{
    double size = fabs(value);
    if (type != SPRY_F32 || size == 0 || (size >= FLT_TRUE_MIN && size <= FLT_MAX)) return CLI_GO_ON;
    return cli_usage_error("--%s is %g, past the range of f32: expected 0 or %g to %g in size, or --type f64", option,
                           value, (double)FLT_TRUE_MIN, (double)FLT_MAX);
}

static int check_arguments(const arguments *a, const char *path)
{
    if (a->out && strcmp(a->out, "-") == 0 && a->json.wanted && !cli_for_people(&a->json))
        return cli_usage_error("--out - and --json both want standard output");
    if (a->out && strlen(a->out) > 3 && strcmp(a->out + strlen(a->out) - 3, ".gz") == 0)
        return cli_usage_error("--out is '%s': y is written as plain text, expected a name without .gz", a->out);
    int status = check_range("alpha", a->alpha, a->type);
    if (status == CLI_GO_ON) status = check_range("beta", a->beta, a->type);
    if (status == CLI_GO_ON) status = cli_check_output("out", a->out, path);
    if (status == CLI_GO_ON) status = cli_check_output("json", a->json.path, path);
    return status;
}

static spry_spmv_options plan_options(const arguments *a)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.op = a->transpose ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    options.format = a->format;
    options.kernel = a->kernel;
    options.ordering = a->ordering;
    options.device = a->device;
    return options;
}

/*
 * A name mistyped, or of what is not here, is told before minutes go into reading: a matrix of one entry is planned.
 * Only what no other matrix would change is told.
 */
static int check_names(spry_context *context, const arguments *a)
{
    spry_matrix *A = NULL;
    spry_plan *plan = NULL;
    spry_spmv_options options = plan_options(a);
    spry_error err = {0};
    spry_status status = cli_one(context, &A, a->type, &err);
    if (status == SPRY_OK) status = spry_plan_spmv(context, &plan, A, &options, &err);
    spry_plan_destroy(plan);
    spry_matrix_destroy(A);
    return cli_certain(status, &err);
}

/* ---- the product asked for ---------------------------------------------------------------------- */

/* A vector of either type; entries set by number. */
typedef struct numbers {
    void *data;
    int64_t length;
    spry_type type;
} numbers;

static int make_numbers(numbers *v, int64_t length, spry_type type)
{
    *v = (numbers){malloc((size_t)length * spry_type_bytes(type) + 8), length, type};
    return v->data != NULL;
}

static void fill_ones(numbers *v)
{
    for (int64_t i = 0; i < v->length; i++)
        if (v->type == SPRY_F32)
            ((float *)v->data)[i] = 1;
        else
            ((double *)v->data)[i] = 1;
}

static spry_vector as_vector(const numbers *v)
{
    return (spry_vector){.data = v->data, .length = v->length, .type = v->type, .columns = 1};
}

/* y = alpha*op(A)*x + beta*1 with the plan, checked. */
static spry_status multiply(const bench_group *group, const arguments *a, const numbers *x, const numbers *y,
                            const numbers *y_before, spry_verification *v, spry_error *err)
{
    float alpha32 = (float)a->alpha, beta32 = (float)a->beta;
    const void *alpha = a->type == SPRY_F32 ? (const void *)&alpha32 : (const void *)&a->alpha;
    const void *beta = a->type == SPRY_F32 ? (const void *)&beta32 : (const void *)&a->beta;
    const spry_plan *plan = group->cases[0].plan;
    spry_status status = spry_plan_run(plan, alpha, as_vector(x), beta, as_vector(y), NULL, err);
    if (status != SPRY_OK) return status;
    return spry_verify_spmv(group->session->context, v, group->A, a->transpose ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE,
                            alpha, as_vector(x), beta, as_vector(y_before), as_vector(y), err);
}

static int write_y(const bench_group *group, const char *path, const numbers *y)
{
    spry_error err = {0};
    cli_progress_writing(path);
    spry_status status = spry_vector_write(group->session->context, as_vector(y), path, NULL, &err);
    return status == SPRY_OK ? CLI_OK : cli_fail(&err);
}

/* Before anything is measured, so that nothing that goes wrong there costs the answer. */
static int multiply_and_write(bench_group *group, const arguments *a)
{
    numbers x = {0}, y = {0}, y_before = {0};
    spry_verification v = SPRY_INIT(spry_verification);
    spry_error err = {0};
    int status = CLI_OK;
    if (!make_numbers(&x, group->x_length, a->type) || !make_numbers(&y, group->y_length, a->type) ||
        !make_numbers(&y_before, group->y_length, a->type)) {
        cli_message("out of memory for the vectors");
        status = CLI_UNSUCCESSFUL;
    } else {
        bench_fill_random(x.data, x.length, x.type, 1, spry_context_threads(group->session->context));
        if (a->ones) fill_ones(&x);
        fill_ones(&y);
        fill_ones(&y_before);
        bench_record *r = &group->cases[0].record;
        if (multiply(group, a, &x, &y, &y_before, &v, &err) != SPRY_OK) {
            status = cli_fail(&err);
        } else if (v.wrong_rows > 0) {
            r->status = BENCH_WRONG;
            snprintf(r->reason, sizeof r->reason, "%lld rows of y are past the error bound, the worst is %lld",
                     (long long)v.wrong_rows, (long long)v.worst_row);
        }
        if (v.max_error > r->max_error) r->max_error = v.max_error;
        if (status == CLI_OK && a->out) status = write_y(group, a->out, &y);
    }
    free(x.data);
    free(y.data);
    free(y_before.data);
    return status;
}

/* ---- report ------------------------------------------------------------------------------------- */

static void print_baseline(const bench_record *r, const bench_record *base)
{
    if (base->status != BENCH_OK) {
        printf("  compared with   %s: %s, %s\n", base->kernel, bench_status_name(base->status), base->reason);
        return;
    }
    printf("  compared with   %s, the textbook loop on one thread: %s, so this is %.2f times as fast\n", base->kernel,
           cli_time(base->time_us).s, base->time_us / r->time_us);
    int64_t calls = bench_break_even(r, base);
    if (calls > 0) printf("                  set-up has paid after %s products\n", cli_count(calls).s);
}

static void print_rate(const bench_record *r, const char *note)
{
    printf("  time            %s, median of %s runs; quartiles %.1f %% apart\n", cli_time(r->time_us).s,
           cli_count(r->runs).s, 100 * r->spread_us / r->time_us);
    printf("  rate            %.2f GFLOP/s, %.1f GB/s", r->gflops, r->gbps);
    if (isnan(r->copy_gbps))
        printf("\n  copy bandwidth  %s\n", note);
    else
        printf(": %.0f %% of the copy bandwidth, %.1f GB/s\n", 100 * r->roof, r->copy_gbps);
}

/* note: why the copy bandwidth is not measured. */
static void print_report(const bench_group *group, const arguments *a, double read_us, const char *note)
{
    const bench_record *r = &group->cases[0].record;
    printf("%s: %s x %s, %s entries, %s\n", r->matrix, cli_count(r->rows).s, cli_count(r->cols).s, cli_count(r->nnz).s,
           r->class_name);
    printf("  read in         %s\n", cli_time(read_us).s);
    printf("  product         y = %g A%s x + %g y, %s, indices %s\n", a->alpha, a->transpose ? "^T" : "", a->beta,
           r->type, r->index);
    printf("  kernel          %s (format %s, %d thread%s, %s)\n", r->kernel, r->format, r->threads,
           r->threads == 1 ? "" : "s", r->deterministic == 1 ? "same bits every run" : "bits may vary");
    if (strcmp(r->ordering, "none") != 0) printf("  ordering        %s, by the plan\n", r->ordering);
    if (r->reason[0]) printf("  %-14s  %s\n", r->status == BENCH_OK ? "because" : "status", r->reason);
    printf("  set-up          %s; first product %s; storage %s\n", cli_time(r->setup_us).s, cli_time(r->first_us).s,
           cli_bytes(r->bytes).s);
    if (r->time_us > 0) print_rate(r, note);
    printf("  error           %.2g of the bound in the worst row: %s\n", r->max_error,
           r->status == BENCH_OK ? "correct" : bench_status_name(r->status));
    if (group->case_count > 1 && r->time_us > 0) print_baseline(r, &group->cases[1].record);
    if (a->out && strcmp(a->out, "-") != 0) printf("  y written to    %s\n", a->out);
}

/* The benchmark's record, and behind it what this command alone knows. */
static int json_lines(const bench_group *group, const arguments *a, cli_json *json, double read_us)
{
    for (int i = 0; i < group->case_count; i++) {
        cJSON *o = cJSON_CreateObject();
        int good = bench_record_to_json(&group->cases[i].record, o) && bench_json_number(o, "read_us", read_us) &&
                   bench_json_number(o, "alpha", a->alpha) && bench_json_number(o, "beta", a->beta);
        if (!cli_json_line(json, o, good)) return 0;
    }
    return 1;
}

/* 1: the report goes to standard output. */
static int is_for_people(const arguments *a)
{
    return cli_for_people(&a->json) && !(a->out && strcmp(a->out, "-") == 0);
}

static int report(bench_group *group, arguments *a, double read_us, const char *note, int status)
{
    if (group->cases[0].record.status != BENCH_OK) status = CLI_UNSUCCESSFUL;
    int opened = cli_json_open(&a->json);
    if (opened != CLI_GO_ON) return opened;
    if (a->json.wanted && !json_lines(group, a, &a->json, read_us)) status = CLI_UNSUCCESSFUL;
    if (is_for_people(a)) print_report(group, a, read_us, note);
    return cli_json_close(&a->json, status);
}

/* ---- command ------------------------------------------------------------------------------------ */

static int plan(bench_group *group, const arguments *a)
{
    spry_spmv_options options = plan_options(a);
    cli_progress("planning and checking");
    if (!bench_add_plan(group, &options, NULL)) {
        cli_message("out of memory");
        return CLI_UNSUCCESSFUL;
    }
    return group->cases[0].err.status == SPRY_OK ? CLI_GO_ON : cli_fail(&group->cases[0].err);
}

/* What was measured, or why not, is told once: by the report, if there is one. */
static void measure_copy(bench_group *group, const arguments *a, char *note, size_t note_size)
{
    bench_session *session = group->session;
    bench_case *product = &group->cases[0];
    cli_progress("measuring the copy bandwidth");
    bench_measure_copy(session, 1, note, note_size);
    group->common.copy_gbps = session->copy_gbps;
    if (product->device == 0) product->record.copy_gbps = session->copy_gbps;
    if (note[0] && !(is_for_people(a) && isnan(product->record.copy_gbps)))
        cli_message("note: the copy bandwidth is %s", note);
}

/* The kernel and the baseline, timed in turn. 0: out of memory. */
static int measure(bench_group *group)
{
    bench_peers peers;
    if (!bench_peers_load(&peers, "plain")) return 0;
    int good = 1;
    for (int p = 0; good && p < peers.count; p++)
        if (strcmp(peers.items[p].name, "csr_plain") == 0) good = bench_add_peer(group, &peers.items[p]);
    cli_progress("measuring the product");
    if (good) good = bench_measure(group);
    bench_peers_release(&peers);
    if (good && group->others >= 0.05)
        cli_message("note: other programs had %.0f %% of the processors meanwhile, so the times mean little",
                    100 * group->others);
    return good;
}

static int with_group(bench_group *group, arguments *a, double read_us)
{
    char note[256];
    int status = plan(group, a);
    if (status != CLI_GO_ON) return status;
    status = group->cases[0].plan ? multiply_and_write(group, a) : CLI_UNSUCCESSFUL;
    if (status == CLI_USAGE) return status; /* y cannot be written */
    measure_copy(group, a, note, sizeof note);
    if (measure(group)) return report(group, a, read_us, note, status);
    cli_message("out of memory for the measurement");
    return CLI_UNSUCCESSFUL;
}

static int with_matrix(spry_context *context, const spry_matrix *A, arguments *a, const char *path, double read_us)
{
    char name[256];
    bench_session session = {.context = context, .op = a->transpose ? "spmv_t" : "spmv", .copy_gbps = NAN};
    bench_group group;
    spry_error err = {0};
    bench_matrix_name(name, sizeof name, path);
    if (bench_group_open(&group, &session, A, name, &err) != SPRY_OK) return cli_fail(&err);
    const int status = with_group(&group, a, read_us);
    bench_group_close(&group);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.alpha = 1, .type = SPRY_F64};
    int status = cli_parse(command, &argc, argv, apply, &a);
    if (status == CLI_GO_ON) status = check_arguments(&a, argv[0]);
    if (status != CLI_GO_ON) return status;
    spry_context *context = NULL;
    status = cli_open_context(&context, a.threads);
    if (status == CLI_GO_ON) status = check_names(context, &a);
    if (status != CLI_GO_ON) {
        spry_context_destroy(context);
        return status;
    }
    spry_error err = {0};
    spry_matrix *A = NULL;
    spry_read_options reading = SPRY_INIT(spry_read_options);
    reading.value_type = a.type;
    reading.offset_type = a.offset_type;
    reading.index_type = a.index_type;
    cli_progress("reading");
    double start = bench_now_us();
    spry_status result = bench_read_csr(context, &A, argv[0], &reading, &err);
    double read_us = bench_now_us() - start;
    status = result == SPRY_OK ? with_matrix(context, A, &a, argv[0], read_us) : cli_fail(&err);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    return status;
}

const cli_command cli_spmv =
    {.name = "spmv",
     .summary = "multiply a matrix with a vector: checked, timed, explained",
     .usage = "FILE [OPTIONS]",
     .about = "Computes y = alpha*A*x + beta*y once as asked, checks every row under the error bound, and measures\n"
              "the kernel beside the textbook loop on one thread.",
     .examples = "  spry spmv matrix.mtx.gz\n"
                 "  spry spmv gen:grid7 --type f32 --x ones -o y.mtx\n",
     .options = options,
     .least = 1,
     .most = 1,
     .positional = "a matrix FILE",
     .run = run};
