/* spry kernels: lists the library's kernels, also those that this machine cannot run. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/table.h"
#include "spry/tune.h"

#include <string.h>

typedef struct arguments {
    const char *format, *device;
    bool long_form;
    cli_json json;
} arguments;

static int take_format(void *state, const char *value)
{
    char names[512] = "";
    int index = 0;
    spry_format_info info = SPRY_INIT(spry_format_info);
    for (int f = 0; spry_format_get_info(&info, f, NULL) == SPRY_OK; f++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? "|" : "", info.name);
    }
    ((arguments *)state)->format = value;
    return cli_take_word("format", value, names, &index);
}

static const cli_option options[] = {
    {"format", 0, "NAME", "kernels of one format", CLI_OWN, .take = take_format},
    {"device", 0, "cpu|cuda", "kernels of one device", CLI_WORD, CLI_AT(device)},
    {"long", 'l', NULL, "also show each kernel's idea and source, and each format's storage", CLI_FLAG,
     CLI_AT(long_form)},
    CLI_JSON_OPTION("JSON lines"),
    CLI_END_OF_OPTIONS,
};

static int json_kernel(cli_json *json, const spry_kernel_info *k)
{
    cJSON *o = cJSON_CreateObject();
    int good = cli_json_begin(o, NULL, k->available ? RECORD_OK : RECORD_SKIPPED, k->reason) &&
               cli_json_text(o, "name", k->name) && cli_json_text(o, "format", k->format) &&
               cli_json_text(o, "device", k->device_kind) && cli_json_text(o, "operations", k->operations) &&
               cli_json_text(o, "types", k->types) && cli_json_text(o, "indices", k->indices) &&
               cJSON_AddBoolToObject(o, "deterministic", k->deterministic) &&
               cJSON_AddBoolToObject(o, "available", k->available) && cli_json_text(o, "idea", k->idea) &&
               cli_json_text(o, "source", k->source) && cJSON_AddBoolToObject(o, "study", k->is_study) &&
               cli_json_text(o, "parameters", k->parameters);
    return cli_json_line(json, o, good);
}

static const cli_column columns[] = {{"kernel", 1, 0}, {"format", 1, 2}, {"device", 1, 0}, {"operations", 1, 1},
                                     {"bits", 1, 3},   {"here", 1, 0},   {"types", 1, 5},  {"indices", 1, 4}};

/* Distinct reasons why kernels cannot run on this machine. The table refers to a reason by its number. */
typedef struct reasons {
    const char *texts[16];
    int count;
} reasons;

static int number_of_reason(reasons *r, const char *text)
{
    for (int n = 0; n < r->count; n++)
        if (strcmp(r->texts[n], text) == 0) return n + 1;
    if (r->count < 16) r->texts[r->count++] = text;
    return r->count;
}

static void add_kernel(cli_table *t, const spry_kernel_info *k, reasons *why)
{
    cli_table_row(t, ' ');
    cli_table_cell(t, "%s", k->name);
    cli_table_cell(t, "%s", k->format);
    cli_table_cell(t, "%s", k->device_kind);
    cli_table_cell(t, "%s", k->operations);
    cli_table_cell(t, "%s", k->deterministic ? "the same" : "may vary");
    if (k->available)
        cli_table_cell(t, "yes");
    else
        cli_table_cell(t, "no (%d)", number_of_reason(why, k->reason));
    cli_table_cell(t, "%s", k->types);
    cli_table_cell(t, "%s", k->indices);
}

static void print_kernel(const spry_kernel_info *k)
{
    char text[256];
    snprintf(text, sizeof text, "format %s, %s; %s; bits %s from run to run", k->format, k->device_kind, k->operations,
             k->deterministic ? "the same" : "may vary");
    printf("%s\n", k->name);
    cli_print_wrapped(stdout, "    ", text);
    cli_print_wrapped(stdout, "    types: ", k->types);
    cli_print_wrapped(stdout, "    offsets/columns: ", k->indices);
    cli_print_wrapped(stdout, "    ", k->idea);
    if (k->parameters[0]) cli_print_wrapped(stdout, "    parameters: ", k->parameters);
    if (k->source && k->source[0]) cli_print_wrapped(stdout, "    source: ", k->source);
    if (!k->available) cli_print_wrapped(stdout, "    not here: ", k->reason);
}

static void print_formats(const char *only)
{
    fputs("\nFormats\n", stdout);
    spry_format_info info = SPRY_INIT(spry_format_info);
    for (int f = 0; spry_format_get_info(&info, f, NULL) == SPRY_OK; f++) {
        if (only && strcmp(only, info.name) != 0) continue;
        printf("%s\n", info.name);
        cli_print_wrapped(stdout, "    ", info.title);
        cli_print_wrapped(stdout, "    storage: ", info.storage);
        cli_print_wrapped(stdout, "    best for: ", info.best_for);
    }
}

/* Lists the kernels for use. If study is true, lists the kernels that exist only for comparison instead. */
static int list_some(spry_context *context, arguments *a, bool study, reasons *why)
{
    const bool people = cli_for_people(&a->json);
    cli_table t;
    int listed = 0;
    cli_table_begin(&t, columns, sizeof columns / sizeof *columns);
    spry_kernel_info info = SPRY_INIT(spry_kernel_info);
    for (int k = 0; spry_kernel_get_info(context, &info, k, NULL) == SPRY_OK; k++) {
        if (info.is_study != study || (a->format && strcmp(a->format, info.format) != 0)) continue;
        if (a->device && strcmp(a->device, info.device_kind) != 0) continue;
        if (people && study && listed++ == 0) puts("\nFor comparison, by name alone: another of the format is faster");
        if (a->json.wanted && !json_kernel(&a->json, &info)) return CLI_UNSUCCESSFUL;
        if (people && a->long_form) print_kernel(&info);
        if (people && !a->long_form) add_kernel(&t, &info, why);
    }
    return cli_table_print(stdout, &t) ? CLI_OK : CLI_UNSUCCESSFUL;
}

static int list_kernels(spry_context *context, arguments *a)
{
    int status = cli_json_open(&a->json), people = cli_for_people(&a->json);
    if (status != CLI_GO_ON) return status;
    reasons why = {.count = 0};
    for (int study = 0; study < 2 && (study == 0 || status == CLI_OK); study++)
        status = list_some(context, a, study, &why);
    for (int n = 0; people && n < why.count; n++) {
        char number[16];
        snprintf(number, sizeof number, "%s  (%d) ", n == 0 ? "\n" : "", n + 1);
        cli_print_wrapped(stdout, number, why.texts[n]);
    }
#ifndef SPRY_STUDIES
    if (people) puts("\nKernels of studies are not in this build: -DSPRY_STUDIES=ON");
#endif
    if (people && a->long_form && status == CLI_OK) print_formats(a->format);
    return cli_json_close(&a->json, status);
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {0};
    spry_context *context = NULL;
    int status = cli_parse(command, &argc, argv, &a);
    if (status == CLI_GO_ON) status = cli_open_context(&context, 0);
    if (status == CLI_GO_ON) status = list_kernels(context, &a);
    spry_context_destroy(context);
    return status;
}

const cli_command cli_kernels =
    {.name = "kernels",
     .summary = "list kernels and whether this machine can run them",
     .usage = "[OPTIONS]",
     .about = "Lists all kernels of the library. For a kernel that this machine cannot run, shows the\n"
              "reason.",
     .examples = "  spry kernels\n"
                 "  spry kernels --format csr --long\n",
     .options = options,
     .positional = "no arguments",
     .run = run};
