/* spry explain: shows the choice of "auto" for a matrix, and its reason. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/table.h"
#include "spry/tune.h"

#include "common/input.h"

#include <math.h>
#include <string.h>

typedef struct arguments {
    const char *device;
    cli_policy policy;
    bool transpose, pattern;
    spry_type type, stored; /* type of vectors; of values */
    int64_t calls, updates, threads, memory_limit;
    int64_t count;      /* number of vectors; 0: not given, one vector */
    const char *layout; /* NULL: not given */
    cli_json json;
} arguments;

static int take_types(void *state, const char *value)
{
    arguments *a = state;
    return cli_take_types(value, &a->stored, &a->type);
}

static int take_count(void *state, const char *value)
{
    arguments *a = state;
    return cli_take_count(value, &a->count);
}

static const cli_option options[] = {
    {"device", 0, "NAME",
     "cpu, cuda, or a device class, which this machine need not have: h200,\n"
     "h100, avx512, avx2, avx512-amd, avx2-amd (default: cpu). --policy\n"
     "measure needs the device",
     CLI_TEXT, CLI_AT(device)},
    {"count", 0, "K",
     "products with K vectors, as in 'spry bench --op spmm'; times, bytes\n"
     "and roof are for all vectors (default: 1)",
     CLI_OWN, .take = take_count},
    CLI_LAYOUT_OPTION("with --count"),
    {"calls", 0, "N", "expected number of products of a plan (default: 10 000)", CLI_INTEGER, CLI_AT(calls), 1,
     INT64_MAX},
    {"updates", 0, "N", "expected number of value updates of a plan (default: 0)", CLI_INTEGER, CLI_AT(updates), 0,
     INT64_MAX},
    CLI_POLICY_OPTIONS,
    CLI_MEMORY_LIMIT_OPTION(memory_limit),
    {"transpose", 't', NULL, "products with the transposed matrix", CLI_FLAG, CLI_AT(transpose)},
    {"type", 0, CLI_TYPES, "type of values and vectors, or type of values and type of vectors (default: f64)", CLI_OWN,
     .take = take_types},
    {"pattern", 0, NULL, "drop the values: all are 1", CLI_FLAG, CLI_AT(pattern)},
    CLI_THREADS_OPTION("threads of a product"),
    CLI_READING_OPTIONS,
    CLI_JSON_OPTION("a JSON line"),
    CLI_END_OF_OPTIONS,
};

static spry_type value_type(const arguments *a)
{
    return a->pattern ? SPRY_PATTERN : a->stored;
}

/* Returns the options of the plans to explain. */
static spry_spmv_options plan_options(const arguments *a)
{
    spry_spmv_options o = SPRY_INIT(spry_spmv_options);
    o.op = a->transpose ? SPRY_TRANSPOSE : SPRY_NO_TRANSPOSE;
    o.expected_calls = a->calls;
    o.expected_updates = a->updates;
    o.memory_limit_bytes = a->memory_limit;
    cli_apply_policy(&a->policy, &o);
    o.vector_type = a->type;
    o.count = a->count;
    o.row_major = a->count > 0 && cli_is_row_major(a->layout);
    return o;
}

static int is_measured(const arguments *a)
{
    return a->policy.name && strcmp(a->policy.name, "measure") == 0;
}

/* Returns the device class: for "cuda" the first class of GPUs, for "cpu" NULL, which means this processor. */
static const char *class_of(const char *device)
{
    if (!device || strcmp(device, "cpu") == 0) return NULL;
    spry_device_class_info info = SPRY_INIT(spry_device_class_info);
    for (int n = 0; strcmp(device, "cuda") == 0 && spry_device_class_get_info(&info, n, NULL) == SPRY_OK; n++)
        if (strcmp(info.device_kind, "cuda") == 0) return info.name;
    return device;
}

/* Places plan and vectors on a GPU, for --policy measure with --device cuda. */
static spry_status place(spry_spmv_options *plan, const spry_context *context, const arguments *a, spry_error *err)
{
    int device = SPRY_DEVICE_DEFAULT;
    if (!a->device || strcmp(a->device, "cuda") != 0) return SPRY_OK;
    const spry_status status = find_device(context, &device, a->device, err);
    plan->device = plan->vector_device = device;
    return status;
}

/* Explains the choice for A. budget_us: 0 means the budget of the arguments. */
static spry_status ask(spry_explanation **e, spry_context *context, const spry_matrix *A, const arguments *a,
                       double budget_us, spry_error *err)
{
    spry_spmv_options plan = plan_options(a);
    spry_explain_options o = SPRY_INIT(spry_explain_options);
    o.spmv = &plan;
    o.device_class = class_of(a->device);
    if (budget_us > 0) plan.measure_budget_us = budget_us;
    if (is_measured(a)) {
        const spry_status status = place(&plan, context, a, err);
        if (status != SPRY_OK) return status;
        if (plan.device != SPRY_DEVICE_DEFAULT) o.device_class = NULL;
    }
    return spry_spmv_explain(context, e, A, &o, err);
}

/* Explains the choice for a 1 x 1 matrix, so that unknown names are reported before a large matrix is read. */
static int check_names(spry_context *context, const arguments *a)
{
    spry_matrix *A = NULL;
    spry_explanation *e = NULL;
    spry_error err = {0};
    spry_status status = cli_unit_matrix(context, &A, value_type(a), &err);
    if (status == SPRY_OK) status = ask(&e, context, A, a, 1, &err);
    spry_explanation_destroy(e);
    spry_matrix_destroy(A);
    return cli_fail_early(status, &err);
}

/* ---- for people ----------------------------------------------------------------------------------- */

static const cli_column candidate_columns[] = {{"format or kernel", 1, 0}, {"a product", 0, 0}, {"measured", 0, 1},
                                               {"of roof", 0, 3},          {"set-up", 0, 1},    {"pays after", 0, 2}};

static void add_candidate(cli_table *t, const spry_candidate *c, bool chosen)
{
    cli_table_row(t, chosen ? '*' : ' ');
    cli_table_cell(t, "%s", c->kernel[0] ? c->kernel : c->format);
    cli_table_cell(t, "%s", c->predicted_us > 0 ? cli_time(c->predicted_us).s : "");
    cli_table_cell(t, "%s", c->measured_us > 0 ? cli_time(c->measured_us).s : "");
    if (c->predicted_us > 0 && c->roof > 0)
        cli_table_cell(t, "%.0f %%", 100 * c->roof);
    else
        cli_table_cell(t, "%s", "");
    cli_table_cell(t, "%s", c->predicted_us > 0 ? cli_time(c->setup_us).s : "");
    cli_table_cell(t, "%s",
                   c->refused[0]              ? "refused"
                   : c->predicted_us <= 0     ? ""
                   : c->break_even_calls < 0  ? "never"
                   : c->break_even_calls == 0 ? "at once"
                                              : cli_count(c->break_even_calls).s);
}

/* Prints refused candidates, grouped by reason. */
static int print_refused(const spry_explanation *e, const spry_explanation_info *info, spry_error *err)
{
    for (int k = 0; k < info->candidates; k++) {
        spry_candidate c = SPRY_INIT(spry_candidate), other;
        if (spry_explanation_get_candidate(e, &c, k, err) != SPRY_OK) return cli_fail(err);
        int is_first = c.refused[0] != '\0';
        char names[512];
        int used = snprintf(names, sizeof names, "%s", c.kernel[0] ? c.kernel : c.format);
        for (int o = 0; o < info->candidates && is_first; o++) {
            other = SPRY_INIT(spry_candidate);
            if (spry_explanation_get_candidate(e, &other, o, err) != SPRY_OK) return cli_fail(err);
            if (o == k || strcmp(other.refused, c.refused) != 0) continue;
            is_first = o > k;
            if (o > k && used < (int)sizeof names)
                used += snprintf(names + used, sizeof names - (size_t)used, ", %s",
                                 other.kernel[0] ? other.kernel : other.format);
        }
        if (is_first) cli_print_line(stdout, "refused", "%s: %s", names, c.refused);
    }
    return CLI_OK;
}

static int is_chosen(const spry_candidate *c, const spry_explanation_info *info)
{
    return strcmp(c->format, info->format) == 0 && (!info->kernel[0] || strcmp(c->kernel, info->kernel) == 0);
}

/*
 * The chosen candidate, and the best of the other candidates (next). If measured times decided, next has a measured
 * time, else a predicted time.
 */
typedef struct runner_up {
    spry_candidate chosen, next;
    bool measured;        /* true: measured times decided; false: predicted times */
    bool includes_set_up; /* the decision included set-up */
} runner_up;

static double product_of(const runner_up *r, const spry_candidate *c)
{
    return r->measured ? c->measured_us : c->predicted_us;
}

static double total_of(const runner_up *r, const spry_candidate *c, int64_t calls)
{
    return r->measured ? c->measured_setup_us + (double)calls * c->measured_us : c->total_us;
}

/* Returns the cost that decided. */
static double cost_of(const runner_up *r, const spry_candidate *c, int64_t calls)
{
    return r->includes_set_up ? total_of(r, c, calls) : product_of(r, c);
}

static void find_runner_up(runner_up *r, const spry_explanation *e, const spry_explanation_info *info)
{
    for (int k = 0; k < info->candidates; k++) {
        spry_candidate c = SPRY_INIT(spry_candidate);
        if (spry_explanation_get_candidate(e, &c, k, NULL) != SPRY_OK || c.refused[0] || product_of(r, &c) <= 0)
            continue;
        if (is_chosen(&c, info) && !r->chosen.format)
            r->chosen = c;
        else if (!r->next.format || cost_of(r, &c, info->calls) < cost_of(r, &r->next, info->calls))
            r->next = c;
    }
}

/* Prints the runner-up. counts_set_up: the times of policy "measure" include set-up. */
static void print_runner_up(const spry_explanation *e, const spry_explanation_info *info, bool counts_set_up)
{
    const bool measured = info->reason_code == SPRY_REASON_MEASURED;
    runner_up r = {.chosen = SPRY_INIT(spry_candidate),
                   .next = SPRY_INIT(spry_candidate),
                   .measured = measured,
                   .includes_set_up = !measured || counts_set_up};
    find_runner_up(&r, e, info);
    if (!r.chosen.format || !r.next.format) return;
    char with[64] = "";
    if (r.includes_set_up)
        snprintf(with, sizeof with, ", %.2f times with set-up",
                 total_of(&r, &r.next, info->calls) / total_of(&r, &r.chosen, info->calls));
    cli_print_line(stdout, "runner-up", "%s %s %.2f times as long a product as %s%s",
                   r.next.kernel[0] ? r.next.kernel : r.next.format, measured ? "took" : "takes",
                   product_of(&r, &r.next) / product_of(&r, &r.chosen),
                   r.chosen.kernel[0] ? r.chosen.kernel : r.chosen.format, with);
}

/* Prints "  for       10 000 products of 8 vectors, row by row, on avx512 (fitted to ...), 2 threads". */
static void print_products(const spry_explanation_info *info, const arguments *a)
{
    char vectors[96] = "", threads[32] = "";
    if (a->count == 1) snprintf(vectors, sizeof vectors, " of 1 vector");
    if (a->count > 1)
        snprintf(vectors, sizeof vectors, " of %s vectors, %s,", cli_count(a->count).s,
                 cli_is_row_major(a->layout) ? "row by row" : "column by column");
    if (info->threads > 0)
        snprintf(threads, sizeof threads, ", %d thread%s", info->threads, info->threads == 1 ? "" : "s");
    char updates[128] = "";
    if (a->updates > 0 && a->calls > 0)
        snprintf(updates, sizeof updates, "%.40s products and %.40s updates: ", cli_count(a->calls).s,
                 cli_count(a->updates).s);
    cli_print_line(stdout, "for", "%s%s product%s%s%s on %s (fitted %s)%s", updates, cli_count(info->calls).s,
                   info->calls == 1 ? "" : "s", updates[0] ? " a conversion" : "", vectors, info->device_class,
                   info->fitted, threads);
}

static int print_explanation(const char *name, const spry_explanation *e, const arguments *a, spry_error *err)
{
    spry_explanation_info info = SPRY_INIT(spry_explanation_info);
    if (spry_explanation_get_info(e, &info, err) != SPRY_OK) return cli_fail(err);
    printf("%s\n", name);
    cli_print_line(stdout, "takes", "%s", info.reason);
    print_products(&info, a);
    print_runner_up(e, &info, a->calls > 0);
    cli_table t;
    bool has_roof = false;
    cli_table_begin(&t, candidate_columns, sizeof candidate_columns / sizeof *candidate_columns);
    for (int k = 0; k < info.candidates; k++) {
        spry_candidate c = SPRY_INIT(spry_candidate);
        if (spry_explanation_get_candidate(e, &c, k, err) != SPRY_OK) return cli_fail(err);
        has_roof = has_roof || c.roof > 0;
        if (!c.refused[0] || c.predicted_us > 0) add_candidate(&t, &c, is_chosen(&c, &info));
    }
    printf("\n");
    if (!cli_table_print(stdout, &t)) return CLI_UNSUCCESSFUL;
    puts("  times are predicted; pays after: products until set-up has paid, against csr");
    if (has_roof) puts("  of roof: the time that the bytes of plain CSR would take, as a share");
    const int status = print_refused(e, &info, err);
    if (status != CLI_OK) return status;
    printf("\n  what they are predicted from\n");
    for (int f = 0; f < info.features; f++) {
        char first[64];
        spry_feature feature = SPRY_INIT(spry_feature);
        if (spry_explanation_get_feature(e, &feature, f, err) != SPRY_OK) return cli_fail(err);
        snprintf(first, sizeof first, "  %-15s %10.4g  ", feature.name, feature.value);
        cli_print_wrapped(stdout, first, feature.text);
    }
    return CLI_OK;
}

/* ---- JSON ----------------------------------------------------------------------------------------- */

static int add_candidates(cJSON *o, const spry_explanation *e, const spry_explanation_info *info)
{
    cJSON *list = cJSON_AddArrayToObject(o, "candidates");
    for (int k = 0; k < info->candidates; k++) {
        spry_candidate c = SPRY_INIT(spry_candidate);
        cJSON *item = list ? cli_json_item(list) : NULL;
        if (!item || spry_explanation_get_candidate(e, &c, k, NULL) != SPRY_OK) return 0;
        const int known = c.predicted_us > 0;
        if (!cli_json_text(item, "format", c.format) || !cli_json_text(item, "kernel", c.kernel) ||
            !cli_json_text(item, "refused", c.refused))
            return 0;
        if (!cli_json_number(item, "predicted_us", known ? c.predicted_us : (double)NAN) ||
            !cli_json_number(item, "setup_us", known ? c.setup_us : (double)NAN) ||
            !cli_json_number(item, "total_us", known ? c.total_us : (double)NAN) ||
            !cli_json_number(item, "bytes", known ? c.bytes : (double)NAN) ||
            !cli_json_number(item, "roof", c.roof > 0 ? c.roof : (double)NAN) ||
            !cli_json_integer(item, "break_even", c.break_even_calls) ||
            !cli_json_number(item, "measured_us", c.measured_us > 0 ? c.measured_us : (double)NAN) ||
            !cli_json_number(item, "measured_setup_us", c.measured_us > 0 ? c.measured_setup_us : (double)NAN))
            return 0;
    }
    return list != NULL;
}

static int add_features(cJSON *o, const spry_explanation *e, const spry_explanation_info *info)
{
    cJSON *object = cJSON_AddObjectToObject(o, "features");
    for (int f = 0; object && f < info->features; f++) {
        spry_feature feature = SPRY_INIT(spry_feature);
        if (spry_explanation_get_feature(e, &feature, f, NULL) != SPRY_OK ||
            !cli_json_number(object, feature.name, feature.value))
            return 0;
    }
    return object != NULL;
}

/* Returns the operation's name in records of spry bench. */
static const char *name_of_op(const arguments *a)
{
    if (a->count > 0) return a->transpose ? "spmm_t" : "spmm";
    return a->transpose ? "spmv_t" : "spmv";
}

static const char *name_of_layout(const arguments *a)
{
    if (a->count == 0) return NULL;
    return cli_is_row_major(a->layout) ? "row" : "column";
}

static int json_line(arguments *a, const cli_input *input, const spry_explanation *e)
{
    cJSON *o = cJSON_CreateObject();
    spry_explanation_info info = SPRY_INIT(spry_explanation_info);
    int good = spry_explanation_get_info(e, &info, NULL) == SPRY_OK &&
               cli_json_begin(o, input->name, RECORD_OK, info.reason) &&
               cli_json_integer(o, "rows", input->arrays.rows) &&
               cli_json_integer(o, "columns", input->arrays.columns) && cli_json_integer(o, "nnz", input->arrays.nnz) &&
               cli_json_text(o, "type", cli_types_name(a->pattern ? a->type : a->stored, a->type)) &&
               cli_json_flag(o, "pattern", a->pattern) && cli_json_text(o, "op", name_of_op(a)) &&
               cli_json_integer(o, "count", a->count > 0 ? a->count : -1) &&
               cli_json_text(o, "layout", name_of_layout(a)) &&
               cli_json_text(o, "policy", a->policy.name ? a->policy.name : "cost") &&
               cli_json_text(o, "device", info.device_class) && cli_json_text(o, "fitted", info.fitted) &&
               cli_json_integer(o, "threads", info.threads) && cli_json_integer(o, "calls", info.calls) &&
               cli_json_text(o, "format", info.format) && cli_json_text(o, "kernel", info.kernel) &&
               add_candidates(o, e, &info) && add_features(o, e, &info);
    return cli_json_line(&a->json, o, good);
}

/* ---- command -------------------------------------------------------------------------------------- */

static int check_layout(const arguments *a)
{
    if (!a->layout || a->count > 0) return CLI_GO_ON;
    return cli_usage_error("--layout requires --count");
}

static int check_device(const arguments *a)
{
    char words[200] = "cpu|cuda";
    int word = 0;
    if (!a->device || strcmp(a->device, "cpu") == 0 || strcmp(a->device, "cuda") == 0) return CLI_GO_ON;
    if (is_measured(a))
        return cli_usage_error("--device is '%s', but --policy measure needs a device of this machine: cpu or cuda",
                               a->device);
    spry_device_class_info info = SPRY_INIT(spry_device_class_info);
    for (int n = 0; spry_device_class_get_info(&info, n, NULL) == SPRY_OK; n++) {
        const size_t used = strlen(words);
        snprintf(words + used, sizeof words - used, "|%s", info.name);
    }
    return cli_take_word("device", a->device, words, &word);
}

static int explain(const cli_input *input, arguments *a)
{
    spry_explanation *e = NULL;
    spry_error err = {0};
    cli_progress("inspecting the matrix");
    if (ask(&e, input->context, input->A, a, 0, &err) != SPRY_OK) return cli_fail(&err);
    cli_progress(NULL);
    int status = cli_json_open(&a->json);
    if (status == CLI_GO_ON) {
        status = CLI_OK;
        if (a->json.wanted && !json_line(a, input, e)) status = CLI_UNSUCCESSFUL;
        if (cli_for_people(&a->json) && status == CLI_OK) status = print_explanation(input->name, e, a, &err);
        status = cli_json_close(&a->json, status);
    }
    spry_explanation_destroy(e);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.type = SPRY_F64, .stored = SPRY_F64};
    cli_input input = {0};
    spry_context *context = NULL;
    int status = cli_parse(command, &argc, argv, &a);
    if (status == CLI_GO_ON) status = cli_check_policy(&a.policy);
    if (status == CLI_GO_ON) status = check_layout(&a);
    if (status == CLI_GO_ON) status = check_device(&a);
    if (status == CLI_GO_ON) status = cli_check_outputs(NULL, &a.json, argv[0]);
    if (status == CLI_GO_ON) status = cli_open_context(&context, a.threads);
    if (status == CLI_GO_ON) status = check_names(context, &a);
    if (status == CLI_GO_ON) status = cli_use_choices(context, &a.policy); /* reports mistakes before reading */
    spry_context_destroy(context);
    if (status == CLI_GO_ON) status = cli_open_input(&input, argv[0], value_type(&a), a.threads);
    if (status == CLI_GO_ON) status = cli_use_choices(input.context, &a.policy);
    if (status == CLI_GO_ON) status = explain(&input, &a);
    cli_close_input(&input);
    return status;
}

const cli_command cli_explain =
    {.name = "explain",
     .summary = "show the choice of \"auto\" for a matrix, and its reason",
     .usage = "FILE [OPTIONS]",
     .about =
         "Shows the format that products would use, the predicted times of all formats, and the reasons why formats\n"
         "are refused, also for devices that this machine does not have. To measure, use 'spry spmv --time' for the\n"
         "chosen format, 'spry bench --op spmm' for products with K vectors, or --policy measure for all formats\n"
         "near the best, which shows measured times next to predicted times.",
     .examples = "  spry explain matrix.mtx.gz\n"
                 "  spry explain matrix.mtx.gz --device h200 --calls 1000\n"
                 "  spry explain matrix.mtx.gz --count 8 --layout column\n"
                 "  spry explain gen:grid7 --policy tree\n"
                 "  spry explain gen:grid7 --policy measure --budget 2s\n",
     .options = options,
     .run = run};
