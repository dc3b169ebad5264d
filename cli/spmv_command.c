/* spry spmv: computes, checks and explains one product; with --time also measures it. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/table.h"
#include "spry/io.h"
#include "spry/tune.h"

#include "common/copy_bandwidth.h"
#include "common/disturbance.h"
#include "common/input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    const char *out, *x, *format, *kernel, *ordering, *device;
    int device_number; /* index of `device` */
    bool transpose, time;
    cli_policy policy;
    double alpha, beta;
    spry_type type, stored;   /* type of vectors; of values */
    spry_index_type index[2]; /* of offsets and of columns */
    int64_t threads, memory_limit;
    cli_json json;
} arguments;

static int take_types(void *state, const char *value)
{
    arguments *a = state;
    return cli_take_types(value, &a->stored, &a->type);
}

static const cli_option options[] = {
    {"out", 'o', "OUT", "write y: .mtx for a Matrix Market array, .csv for a table; '-' is\nstandard output", CLI_TEXT,
     CLI_AT(out)},
    {"x", 0, "ones|random|FILE",
     "the vector x; random is the same on every machine. FILE: a Matrix\n"
     "Market file, n x k, with k vectors that are multiplied in one run\n"
     "(default: ones, so that y has the sums of the rows)",
     CLI_TEXT, CLI_AT(x)},
    {"alpha", 0, "A", "factor of the product (default: 1)", CLI_NUMBER, CLI_AT(alpha)},
    {"beta", 0, "B", "factor of the initial y, which is all ones (default: 0)", CLI_NUMBER, CLI_AT(beta)},
    {"transpose", 't', NULL, "multiply with the transposed matrix", CLI_FLAG, CLI_AT(transpose)},
    {"type", 0, CLI_TYPES,
     "type of values and vectors, or type of values, which are rounded, and\n"
     "type of vectors and sums (default: f64)",
     CLI_OWN, .take = take_types},
    {"index", 0, "32/32|64/32|64/64", "bits of offsets/columns (default: the smallest that fit)", CLI_INDEX,
     CLI_AT(index)},
    {"format", 0, "NAME",
     "a format of 'spry kernels', optionally with parameters (sell:c=16), or\n"
     "auto (default: auto)",
     CLI_TEXT, CLI_AT(format)},
    {"kernel", 0, "NAME",
     "a kernel of 'spry kernels', optionally with parameters:\n"
     "csr_vector_cuda:lanes=32; 'spry kernels --long' lists parameters",
     CLI_TEXT, CLI_AT(kernel)},
    CLI_POLICY_OPTIONS,
    CLI_MEMORY_LIMIT_OPTION(memory_limit),
    {"ordering", 0, "none|rcm|bandk|degree|bfs",
     "the plan multiplies a reordered copy; x and y keep their order (default: none)", CLI_WORD, CLI_AT(ordering)},
    {"device", 0, "cpu|cuda", "device to use (default: cpu)", CLI_WORD, CLI_AT(device)},
    {"time", 0, NULL,
     "measure the product in many further runs. The copy bandwidth is\n"
     "measured once and remembered ('spry devices --measure' measures it\n"
     "again); 'spry bench' compares kernels",
     CLI_FLAG, CLI_AT(time)},
    CLI_THREADS_OPTION("threads of the product"),
    CLI_READING_OPTIONS,
    CLI_JSON_OPTION("a JSON line, its times null without --time,"),
    CLI_END_OF_OPTIONS,
};

/* A product: matrix, plan, vectors, and results. */
typedef struct product {
    spry_context *context;
    spry_matrix *A;
    spry_spmv_plan *plan;
    spry_vector given;    /* vectors of --x FILE, column-major */
    spry_vector x, y;     /* multiple vectors are row-major, so that kernels read A once */
    spry_vector y_before; /* one column of the initial y */
    spry_vector column;   /* workspace: a column of y to compare */
    int64_t count;        /* number of vectors */
    double read_us;
    record record;
    copy_bandwidth copy;
    double disturbance; /* share of the processors that other programs used during the measurement */
} product;

/* ---- before reading ----------------------------------------------------------------------------- */

static int is_file(const char *x)
{
    return x && strcmp(x, "random") != 0 && strcmp(x, "ones") != 0;
}

static int check_arguments(const arguments *a, const char *path)
{
    if (a->policy.name && (a->kernel || (a->format && strcmp(a->format, "auto") != 0)))
        return cli_usage_error("--policy is for format auto, but --%s is given", a->kernel ? "kernel" : "format");
    int status = cli_check_vector_output(a->out, &a->json);
    if (status == CLI_GO_ON) status = cli_check_policy(&a->policy);
    if (status == CLI_GO_ON) status = cli_check_range("alpha", a->alpha, a->type);
    if (status == CLI_GO_ON) status = cli_check_range("beta", a->beta, a->type);
    if (status == CLI_GO_ON && is_file(a->x) && cli_is_dash(a->x) && cli_is_dash(path))
        return cli_usage_error("the matrix and --x are both '-': expected a file for one of them");
    if (status == CLI_GO_ON) status = cli_check_outputs(a->out, &a->json, path);
    return status == CLI_GO_ON && is_file(a->x) ? cli_check_outputs(a->out, &a->json, a->x) : status;
}

static spry_spmv_options plan_options(const arguments *a, int64_t count)
{
    spry_spmv_options options = SPRY_INIT(spry_spmv_options);
    options.count = count;
    options.row_major = count > 1;
    options.vector_type = a->type;
    options.op = a->transpose ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    options.format = a->format;
    options.kernel = a->kernel;
    options.ordering = a->ordering;
    options.device = a->device_number;
    options.memory_limit_bytes = a->memory_limit;
    cli_apply_policy(&a->policy, &options);
    return options;
}

/*
 * Creates a plan for a 1 x 1 matrix, so that unknown names and missing devices are reported before a large matrix is
 * read.
 */
static int check_names(spry_context *context, arguments *a)
{
    spry_matrix *A = NULL;
    spry_spmv_plan *plan = NULL;
    spry_error err = {0};
    spry_status status = find_device(context, &a->device_number, a->device, &err);
    spry_spmv_options options = plan_options(a, 1);
    options.measure_budget_us = 1; /* so short that nothing is measured */
    if (status == SPRY_OK) status = cli_unit_matrix(context, &A, a->stored, &err);
    if (status == SPRY_OK) status = spry_spmv_plan_create(context, &plan, A, &options, &err);
    spry_spmv_plan_destroy(plan);
    spry_matrix_destroy(A);
    return cli_fail_early(status, &err);
}

/* ---- the product -------------------------------------------------------------------------------- */

/* Reads the vectors of --x. Called before the matrix is read, so that mistakes are reported early. */
static int read_x(product *p, const arguments *a)
{
    spry_error err = {0};
    record *r = &p->record;
    p->count = 1;
    if (!is_file(a->x)) return CLI_GO_ON;
    cli_progress("reading x");
    if (spry_vector_read(p->context, &p->given, a->x, a->type, &err) != SPRY_OK) return cli_fail_reading(&err);
    p->count = p->given.count;
    if (p->count == 1) return CLI_GO_ON;
    if (a->time)
        return cli_usage_error("--time measures a product with one vector, but %s has %lld vectors: use 'spry bench "
                               "--op spmm'",
                               a->x, (long long)p->count);
    r->op = a->transpose ? "spmm_t" : "spmm";
    r->count = p->count;
    r->layout = "row";
    return CLI_GO_ON;
}

static int check_length(const product *p, const arguments *a, int64_t length)
{
    if (!is_file(a->x) || p->given.length == length) return CLI_GO_ON;
    cli_message("%s: the array is %lld x %lld, expected %lld rows, the number of the matrix's %s", a->x,
                (long long)p->given.length, (long long)p->count, (long long)length, a->transpose ? "rows" : "columns");
    return CLI_USAGE;
}

/* Creates a vector, or a row-major block of p->count vectors. */
static spry_status create_vector(const product *p, spry_vector *v, int64_t length, spry_type type, spry_error *err)
{
    int64_t entries;
    if (__builtin_mul_overflow(length, p->count, &entries)) entries = INT64_MAX; /* spry_vector_create refuses this */
    const spry_status status = spry_vector_create(p->context, v, entries, type, 0, err);
    if (status != SPRY_OK || p->count == 1) return status;
    v->length = length;
    v->count = v->row_stride = p->count;
    v->column_stride = 1;
    return SPRY_OK;
}

/* Fills x with the vectors of --x FILE, random elements, or ones. */
static void fill_x(product *p, const arguments *a)
{
    const int threads = pool_threads(p->context);
    const char *columns = p->given.data;
    const size_t column_bytes = (size_t)p->x.length * spry_type_bytes(a->type);
    if (!is_file(a->x)) {
        if (a->x && strcmp(a->x, "random") == 0)
            fill_random(p->x.data, p->x.length, a->type, 1, threads);
        else
            fill_constant(p->x.data, p->x.length, a->type, 1, threads);
        return;
    }
    for (int64_t c = 0; c < p->count; c++)
        scatter_column(p->x.data, columns + (size_t)c * column_bytes, p->x.length, p->count, c, a->type, threads);
}

static spry_status create_vectors(product *p, const arguments *a, spry_error *err)
{
    const record *r = &p->record;
    const int threads = pool_threads(p->context);
    const int64_t x_length = a->transpose ? r->input.rows : r->input.columns,
                  y_length = a->transpose ? r->input.columns : r->input.rows;
    spry_status status = create_vector(p, &p->x, x_length, a->type, err);
    if (status == SPRY_OK) status = create_vector(p, &p->y, y_length, a->type, err);
    if (status == SPRY_OK) status = spry_vector_create(p->context, &p->y_before, y_length, a->type, 0, err);
    if (status == SPRY_OK) status = spry_vector_create(p->context, &p->column, y_length, a->type, 0, err);
    if (status != SPRY_OK) return status;
    fill_x(p, a);
    fill_constant(p->y.data, y_length * p->count, a->type, 1, threads);
    fill_constant(p->y_before.data, y_length, a->type, 1, threads);
    return SPRY_OK;
}

/* Returns column c of a column-major v. */
static spry_const_vector column_of(const spry_vector *v, int64_t c)
{
    const char *data = v->data;
    return (spry_const_vector){.data = data + (size_t)(c * v->length) * spry_type_bytes(v->type),
                               .length = v->length,
                               .type = v->type,
                               .count = 1};
}

/* Compares every row of every column with the reference. */
static spry_status verify(product *p, const arguments *a, const void *alpha, const void *beta, spry_error *err)
{
    const int threads = pool_threads(p->context);
    const spry_op op = plan_options(a, 1).op;
    record *r = &p->record;
    spry_status status = SPRY_OK;
    for (int64_t c = 0; c < p->count && status == SPRY_OK && r->status == RECORD_OK; c++) {
        spry_spmv_verification v = SPRY_INIT(spry_spmv_verification);
        gather_column(p->column.data, p->y.data, p->y.length, p->count, c, a->type, threads);
        status = spry_spmv_verify(p->context, &v, p->A, op, alpha, column_of(is_file(a->x) ? &p->given : &p->x, c),
                                  beta, spry_vector_as_const(p->y_before), spry_vector_as_const(p->column), err);
        if (status == SPRY_OK && (c == 0 || v.wrong_rows > 0 || v.max_error > r->max_error)) r->max_error = v.max_error;
        if (status != SPRY_OK || v.wrong_rows == 0) continue;
        char vector[40] = "";
        if (p->count > 1) snprintf(vector, sizeof vector, "vector %lld: ", (long long)c + 1);
        const int base = index_base_of(p->A);
        record_fail(r, RECORD_WRONG, "%s%lld rows of y exceed the error bound, the worst is row %lld (counted from %d)",
                    vector, (long long)v.wrong_rows, (long long)v.worst_row + base, base);
    }
    return status;
}

/* Computes y = alpha*op(A)*x + beta*y, where all elements of y are 1 before, and compares every row. */
static spry_status run_and_verify(product *p, const arguments *a, spry_error *err)
{
    const float alpha32 = (float)a->alpha, beta32 = (float)a->beta;
    const void *alpha = a->type == SPRY_F32 ? (const void *)&alpha32 : (const void *)&a->alpha;
    const void *beta = a->type == SPRY_F32 ? (const void *)&beta32 : (const void *)&a->beta;
    const double start = now_us();
    spry_status status = spry_spmv_plan_run(p->plan, p->y, alpha, spry_vector_as_const(p->x), beta, NULL, err);
    p->record.time.first_us = now_us() - start;
    return status == SPRY_OK ? verify(p, a, alpha, beta, err) : status;
}

static int multiply(product *p, const arguments *a)
{
    const spry_spmv_options options = plan_options(a, p->count);
    spry_error err = {0};
    const int checked = check_length(p, a, a->transpose ? p->record.input.rows : p->record.input.columns);
    if (checked != CLI_GO_ON) return checked;
    cli_progress("planning");
    spry_status status = spry_spmv_plan_create(p->context, &p->plan, p->A, &options, &err);
    if (status == SPRY_OK && a->time) measure_update(p->plan);
    if (status == SPRY_OK) status = record_take_plan(&p->record, p->plan, &err);
    if (!a->kernel && (!a->format || strcmp(a->format, "auto") == 0)) p->record.method.policy = "cost";
    if (status == SPRY_OK) status = create_vectors(p, a, &err);
    cli_progress("multiplying and checking");
    if (status == SPRY_OK) status = run_and_verify(p, a, &err);
    if (status == SPRY_OK && a->out) {
        cli_progress_writing(a->out);
        status =
            cli_write_vector(p->context, spry_vector_as_const(p->y), a->out, "row", "value", index_base_of(p->A), &err);
    }
    return status == SPRY_OK ? CLI_GO_ON : cli_fail(&err);
}

/* ---- --time ------------------------------------------------------------------------------------- */

static spry_status measure(product *p, spry_error *err)
{
    record *r = &p->record;
    spry_measurement m = SPRY_INIT(spry_measurement);
    const int device = strcmp(r->method.device, "cpu") == 0 ? SPRY_CPU : 1;
    cli_progress("measuring the copy bandwidth");
    spry_status status = recall_device_copy(p->context, &p->copy, device, err);
    r->rates.copy_gbps = p->copy.gbps;
    cli_progress("measuring the product");
    const processor_time before = read_processor_time();
    if (status == SPRY_OK) status = spry_spmv_plan_measure(p->plan, &m, err);
    if (status != SPRY_OK) return status;
    p->disturbance = disturbance_since(before, 0);
    r->time.disturbed = p->disturbance >= DISTURBED_SHARE;
    r->time.median_us = m.median_us;
    r->time.mean_us = m.mean_us;
    r->time.min_us = m.min_us;
    r->time.spread_us = m.spread_us;
    r->time.runs = m.runs;
    r->rates.gflops = m.gflops;
    r->rates.gbps = m.gbps;
    r->rates.roof = r->rates.gbps / r->rates.copy_gbps;
    return SPRY_OK;
}

/* ---- report ------------------------------------------------------------------------------------- */

static void print_time(const product *p)
{
    const record *r = &p->record;
    char roof[256];
    cli_print_line(stdout, "time", "%s, median of %s runs; quartiles %.1f %% apart", cli_time(r->time.median_us).s,
                   cli_count(r->time.runs).s, 100 * r->time.spread_us / r->time.median_us);
    if (isnan(r->rates.copy_gbps))
        snprintf(roof, sizeof roof, "; the copy bandwidth was %.200s", p->copy.note);
    else
        snprintf(roof, sizeof roof, ": %.0f %% of the copy bandwidth, %.1f GB/s%s%s%s", 100 * r->rates.roof,
                 r->rates.copy_gbps, p->copy.day[0] ? ", measured " : "", p->copy.day,
                 r->rates.roof > 1 ? "; above 100 %: A stays in the caches" : "");
    cli_print_line(stdout, "rate", "%.2f GFLOP/s, %.1f GB/s%s", r->rates.gflops, r->rates.gbps, roof);
    if (strcmp(r->method.device, "cpu") != 0)
        cli_print_line(stdout, "",
                       "x and y lie in host memory and cross the bus in each product: most of the time; "
                       "'spry bench --device cuda' has them on the GPU");
    cli_print_disturbed(p->disturbance);
}

/* Prints predicted times, if the plan has them. */
static void print_prediction(const record *r)
{
    char pays[64];
    if (isnan(r->cost.predicted_us)) return;
    snprintf(pays, sizeof pays, r->cost.break_even < 0 ? "never" : "from the first");
    if (r->cost.break_even > 0)
        snprintf(pays, sizeof pays, "after %s product%s", cli_count(r->cost.break_even).s,
                 r->cost.break_even == 1 ? "" : "s");
    cli_print_line(stdout, "predicted", "%s a product, csr %s; set-up pays %s", cli_time(r->cost.predicted_us).s,
                   cli_time(r->cost.baseline_us).s, pays);
}

/* Prints "y = 2 A^T x + 1 y", without factor alpha = 1 and without y if beta = 0. */
static void print_product(const product *p, const arguments *a)
{
    char alpha[32] = "", beta[40] = "", vectors[40] = "";
    if (a->alpha != 1) snprintf(alpha, sizeof alpha, "%g ", a->alpha);
    if (a->beta != 0) snprintf(beta, sizeof beta, " + %g y", a->beta);
    if (p->count > 1) snprintf(vectors, sizeof vectors, "%lld vectors, ", (long long)p->count);
    cli_print_line(stdout, "product", "y = %sA%s x%s, %s%s, indices %s bits", alpha, a->transpose ? "^T" : "", beta,
                   vectors, p->record.input.type, p->record.input.index);
}

/* Returns the type of the plan's values if it is narrower than the matrix's, else NULL. */
static const char *narrow_type(const product *p)
{
    spry_spmv_plan_info info = SPRY_INIT(spry_spmv_plan_info);
    if (!p->plan || spry_spmv_plan_get_info(p->plan, &info, NULL) != SPRY_OK || info.value_type == SPRY_PATTERN)
        return NULL;
    const char *name = spry_type_name(info.value_type);
    return strncmp(p->record.input.type, name, strlen(name)) == 0 ? NULL : name;
}

static void print_report(const product *p, const arguments *a)
{
    const record *r = &p->record;
    printf("%s: %s x %s, %s entries, %s\n", r->input.name, cli_count(r->input.rows).s, cli_count(r->input.columns).s,
           cli_count(r->input.nnz).s, r->input.class_name);
    cli_print_line(stdout, "read in", "%s", cli_time(p->read_us).s);
    print_product(p, a);
    cli_print_line(stdout, "x", "%s", a->x ? a->x : "ones (--x FILE takes yours)");
    char where[48];
    snprintf(where, sizeof where, "%d thread%s", r->method.threads, r->method.threads == 1 ? "" : "s");
    if (r->method.threads <= 0) snprintf(where, sizeof where, "on device %.24s", r->method.device);
    cli_print_line(stdout, "kernel", "%s (format %s, %s, %s)", r->method.kernel, r->method.format, where,
                   r->method.deterministic == 1 ? "same bits every run" : "bits may vary");
    if (strcmp(r->method.ordering, "none") != 0)
        cli_print_line(stdout, "ordering", "%s, by the plan", r->method.ordering);
    if (r->reason[0]) cli_print_line(stdout, r->status == RECORD_OK ? "because" : "status", "%s", r->reason);
    const char *narrow = narrow_type(p);
    cli_print_line(stdout, "set-up", "%s; the product %s; storage %s%s%s", cli_time(r->cost.setup_us).s,
                   cli_time(r->time.first_us).s, cli_bytes(r->rates.bytes).s, narrow ? ", values as " : "",
                   narrow ? narrow : "");
    print_prediction(r);
    if (r->time.median_us > 0) print_time(p);
    cli_print_line(stdout, "error", "%.2g of the bound in the worst row: %s", r->max_error,
                   r->status == RECORD_OK ? "correct" : record_status_name(r->status));
    if (a->out && !cli_is_dash(a->out)) cli_print_line(stdout, "y written to", "%s", a->out);
}

/* Writes the fields of a benchmark's record, then the fields that only this command has. */
static int json_line(const product *p, arguments *a)
{
    cJSON *o = cJSON_CreateObject();
    int good = cli_json_command_record(o, &p->record) && cli_json_number(o, "read_us", p->read_us) &&
               cli_json_number(o, "alpha", a->alpha) && cli_json_number(o, "beta", a->beta);
    return cli_json_line(&a->json, o, good);
}

static int report(const product *p, arguments *a, int status)
{
    const bool for_people = cli_for_people(&a->json) && !cli_is_dash(a->out);
    /* If the bandwidth is not known, the report for people has the note. */
    if (p->copy.note[0] && !(for_people && isnan(p->record.rates.copy_gbps)))
        cli_message("note: the copy bandwidth is %s", p->copy.note);
    if (p->record.status != RECORD_OK) status = CLI_UNSUCCESSFUL;
    int opened = cli_json_open(&a->json);
    if (opened != CLI_GO_ON) return opened;
    if (a->json.wanted && !json_line(p, a)) status = CLI_UNSUCCESSFUL;
    if (for_people) print_report(p, a);
    return cli_json_close(&a->json, status);
}

/* ---- command ------------------------------------------------------------------------------------ */

static int read_matrix(product *p, const arguments *a, const char *path)
{
    spry_error err = {0};
    record *r = &p->record;
    r->input.twin = r->method.peer = 0;
    r->time.state = "warm";
    matrix_name(r->input.name, sizeof r->input.name, path);
    r->input.path = path;
    const double start = now_us();
    int status = cli_read_csr(p->context, &p->A, path, a->stored == a->type ? a->type : SPRY_F64, a->index);
    if (status == CLI_GO_ON && a->stored != a->type) status = cli_store_as(p->context, &p->A, a->stored);
    p->read_us = now_us() - start;
    if (status == CLI_GO_ON && record_describe(r, p->A, &err) != SPRY_OK) status = cli_fail(&err);
    r->input.type = cli_types_name(a->stored, a->type);
    return status;
}

/* Multiplies, measures and reports. The report is printed even if the measurement fails. */
static int multiply_and_report(product *p, arguments *a)
{
    spry_error err = {0};
    int status = multiply(p, a);
    if (status != CLI_GO_ON) return status;
    status = a->time && measure(p, &err) != SPRY_OK ? cli_fail(&err) : CLI_OK;
    return report(p, a, status);
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.alpha = 1, .type = SPRY_F64, .stored = SPRY_F64};
    product p = {0};
    record_init(&p.record);
    int status = cli_parse(command, &argc, argv, &a);
    p.record.op = a.transpose ? "spmv_t" : "spmv";
    if (status == CLI_GO_ON) status = check_arguments(&a, argv[0]);
    if (status == CLI_GO_ON) status = cli_open_context(&p.context, a.threads);
    if (status == CLI_GO_ON) status = check_names(p.context, &a);
    if (status == CLI_GO_ON) status = cli_use_choices(p.context, &a.policy);
    if (status == CLI_GO_ON) status = read_x(&p, &a);
    if (status == CLI_GO_ON) status = read_matrix(&p, &a, argv[0]);
    if (status == CLI_GO_ON) status = multiply_and_report(&p, &a);
    spry_vector_destroy(p.context, &p.given);
    spry_vector_destroy(p.context, &p.x);
    spry_vector_destroy(p.context, &p.y);
    spry_vector_destroy(p.context, &p.y_before);
    spry_vector_destroy(p.context, &p.column);
    spry_spmv_plan_destroy(p.plan);
    spry_matrix_destroy(p.A);
    spry_context_destroy(p.context);
    return status;
}

const cli_command cli_spmv =
    {.name = "spmv",
     .summary = "multiply a matrix with vectors, check and explain the product",
     .usage = "FILE [OPTIONS]",
     .about =
         "Computes y = alpha*A*x + beta*y once and checks every row against the error bound. --time then measures\n"
         "the kernel; 'spry bench' compares kernels and other libraries.",
     .examples = "  spry spmv matrix.mtx.gz\n"
                 "  spry spmv matrix.mtx.gz --time\n"
                 "  spry spmv matrix.mtx.gz --x x.mtx -o y.mtx\n"
                 "  spry spmv gen:grid7 --type f32 --x random -o y.mtx\n"
                 "  spry spmv matrix.mtx.gz --device cuda --kernel csr_vector_cuda:lanes=32\n"
                 "  spry spmv matrix.mtx.gz --policy measure --budget 200ms --cache choices.txt\n",
     .options = options,
     .run = run};
