/* spry kernels: what the library can multiply with, here and elsewhere. */
#include "cli/cli.h"

#include "bench/bench.h"

#include <cjson/cJSON.h>
#include <string.h>

enum { OPTION_FORMAT, OPTION_DEVICE, OPTION_LONG, OPTION_JSON };

static const cli_option options[] = {{"format", 0, CLI_REQUIRED, "NAME", "kernels of one format"},
                                     {"device", 0, CLI_REQUIRED, "cpu|cuda", "kernels of one device"},
                                     {"long", 'l', CLI_NONE, NULL,
                                      "each kernel's idea and source, each format's storage"},
                                     {"json", 0, CLI_OPTIONAL, "FILE", "JSON lines to standard output or FILE"},
                                     {0}};

typedef struct arguments {
    const char *format, *device;
    int long_form;
    cli_json json;
} arguments;

static int take_format(arguments *a, const char *value)
{
    const char *names[64] = {0};
    int index = 0;
    for (int f = 0; f < spry_format_count() && f < 63; f++) {
        spry_format_info info = SPRY_INIT(spry_format_info);
        if (spry_format_get_info(f, &info, NULL) == SPRY_OK) names[index++] = info.name;
    }
    if (!cli_take_name("format", value, names, &index)) return CLI_USAGE;
    a->format = value;
    return CLI_GO_ON;
}

static int apply(void *state, int option, const char *value)
{
    static const char *const devices[] = {"cpu", "cuda", NULL};
    arguments *a = state;
    int index = 0;
    switch (option) {
    case OPTION_FORMAT: return take_format(a, value);
    case OPTION_DEVICE:
        if (!cli_take_name("device", value, devices, &index)) return CLI_USAGE;
        a->device = value;
        break;
    case OPTION_LONG: a->long_form = 1; break;
    case OPTION_JSON:
        a->json.wanted = 1;
        a->json.path = value;
        break;
    default: break;
    }
    return CLI_GO_ON;
}

static int json_kernel(cli_json *json, const spry_kernel_info *k)
{
    cJSON *o = cJSON_CreateObject();
    int good = bench_json_text(o, "name", k->name) && bench_json_text(o, "format", k->format) &&
               bench_json_text(o, "device", k->device) && bench_json_text(o, "operations", k->operations) &&
               bench_json_text(o, "types", k->types) && bench_json_text(o, "indices", k->indices) &&
               cJSON_AddBoolToObject(o, "deterministic", k->deterministic) &&
               cJSON_AddBoolToObject(o, "available", k->available) && bench_json_text(o, "reason", k->reason) &&
               bench_json_text(o, "idea", k->idea) && bench_json_text(o, "source", k->source);
    return cli_json_line(json, o, good);
}

static void print_kernel(const spry_kernel_info *k, int long_form)
{
    printf("%-24s %-6s %-6s %-12s %-15s %-18s %-13s %s%s\n", k->name, k->format, k->device, k->operations, k->types,
           k->indices, k->deterministic ? "deterministic" : "may vary",
           k->available ? "available" : "not here: ", k->available ? "" : k->reason);
    if (!long_form) return;
    printf("    %s\n", k->idea);
    if (k->source && k->source[0]) printf("    source: %s\n", k->source);
}

static void print_formats(const char *only)
{
    fputs("\nFormats\n", stdout);
    for (int f = 0; f < spry_format_count(); f++) {
        spry_format_info info = SPRY_INIT(spry_format_info);
        if (spry_format_get_info(f, &info, NULL) != SPRY_OK || (only && strcmp(only, info.name) != 0)) continue;
        printf("%-6s %s\n    storage: %s\n    best for: %s\n", info.name, info.title, info.storage, info.best_for);
    }
}

/* Those of SpMV, then those of sparse times sparse. */
static spry_status kernel_number(spry_context *context, int k, spry_kernel_info *info, spry_error *err)
{
    const int spmv = spry_kernel_count();
    return k < spmv ? spry_kernel_get_info(context, k, info, err)
                    : spry_spgemm_kernel_get_info(context, k - spmv, info, err);
}

static int list_kernels(spry_context *context, arguments *a)
{
    int status = cli_json_open(&a->json), good = 1, people = cli_for_people(&a->json);
    if (status != CLI_GO_ON) return status;
    if (people)
        printf("%-24s %-6s %-6s %-12s %-15s %-18s %-13s %s\n", "kernel", "format", "device", "operations", "types",
               "indices", "bits", "here");
    for (int k = 0; good && k < spry_kernel_count() + spry_spgemm_kernel_count(); k++) {
        spry_kernel_info info = SPRY_INIT(spry_kernel_info);
        spry_error err = {0};
        if (kernel_number(context, k, &info, &err) != SPRY_OK) return cli_json_close(&a->json, cli_fail(&err));
        if (a->format && strcmp(a->format, info.format) != 0) continue;
        if (a->device && strcmp(a->device, info.device) != 0) continue;
        if (a->json.wanted) good = json_kernel(&a->json, &info);
        if (people) print_kernel(&info, a->long_form);
    }
    if (people && a->long_form) print_formats(a->format);
    return cli_json_close(&a->json, good ? CLI_OK : CLI_UNSUCCESSFUL);
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {0};
    int status = cli_parse(command, &argc, argv, apply, &a);
    if (status != CLI_GO_ON) return status;
    spry_context *context = NULL;
    status = cli_open_context(&context, 0);
    if (status != CLI_GO_ON) return status;
    status = list_kernels(context, &a);
    spry_context_destroy(context);
    return status;
}

const cli_command cli_kernels =
    {.name = "kernels",
     .summary = "list the formats' kernels and whether they can run here",
     .usage = "[OPTIONS]",
     .about = "Lists every kernel that the library has, also those that this machine cannot run,\n"
              "with the reason.",
     .examples = "  spry kernels\n"
                 "  spry kernels --format csr --long\n",
     .options = options,
     .least = 0,
     .most = 0,
     .positional = "no arguments",
     .run = run};
