/* spry devices: lists the devices on which products can run. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/table.h"
#include "spry/tune.h"

#include "common/copy_bandwidth.h"
#include "common/input.h"

#include <math.h>

typedef struct arguments {
    bool measure;
    int64_t threads;
    cli_json json;
} arguments;

static const cli_option options[] = {
    {"measure", 0, NULL, "measure the copy bandwidth (about a second, 1 GB of memory)", CLI_FLAG, CLI_AT(measure)},
    CLI_THREADS_OPTION("threads of the measurement"),
    CLI_JSON_OPTION("JSON lines"),
    CLI_END_OF_OPTIONS,
};

static void print_device(const spry_device_info *d, int threads, double copy_gbps)
{
    printf("%s: %s\n", d->name, d->description);
    if (!d->available) {
        cli_print_wrapped(stdout, "  not available: ", d->reason);
        return;
    }
    printf("  units         %d\n", d->units);
    if (d->simd && d->simd[0]) printf("  simd          %s\n", d->simd);
    if (d->memory_bytes > 0) printf("  memory        %s\n", cli_bytes(d->memory_bytes).s);
    if (d->cache_bytes > 0) printf("  last cache    %s\n", cli_bytes(d->cache_bytes).s);
    if (isnan(copy_gbps)) return;
    printf("  copy          %.1f GB/s", copy_gbps);
    if (threads > 0) printf(" with %d thread%s", threads, threads == 1 ? "" : "s");
    printf(", read and written\n");
}

static int json_device(cli_json *json, const spry_device_info *d, int threads, double copy_gbps)
{
    cJSON *o = cJSON_CreateObject();
    int good = cli_json_begin(o, NULL, d->available ? RECORD_OK : RECORD_SKIPPED, d->reason) &&
               cli_json_text(o, "name", d->name) && cli_json_text(o, "description", d->description) &&
               cJSON_AddBoolToObject(o, "available", d->available) && cli_json_integer(o, "units", d->units) &&
               cli_json_text(o, "simd", d->simd) && cli_json_integer(o, "memory_bytes", d->memory_bytes) &&
               cli_json_integer(o, "cache_bytes", d->cache_bytes) && cli_json_integer(o, "threads", threads) &&
               cli_json_number(o, "copy_gbps", copy_gbps);
    return cli_json_line(json, o, good);
}

static int measure_copy(spry_context *context, double *gbps)
{
    cli_progress("measuring the copy bandwidth");
    const copy_bandwidth copy = measure_copy_bandwidth(context, false);
    cli_progress(NULL);
    remember_device_copy(context, &copy, SPRY_CPU);
    if (copy.note[0]) cli_message("%sthe copy bandwidth is %s", isnan(copy.gbps) ? "" : "note: ", copy.note);
    *gbps = copy.gbps;
    return isnan(*gbps) ? CLI_UNSUCCESSFUL : CLI_GO_ON;
}

static int list_devices(spry_context *context, arguments *a)
{
    double cpu_gbps = NAN;
    int status = a->measure ? measure_copy(context, &cpu_gbps) : CLI_GO_ON, good = 1;
    if (status == CLI_GO_ON) status = cli_json_open(&a->json);
    if (status != CLI_GO_ON) return status;
    for (int d = 0; good && d < spry_device_count(context); d++) {
        spry_device_info info = SPRY_INIT(spry_device_info);
        spry_error err = {0};
        if (spry_device_get_info(context, &info, d, &err) != SPRY_OK) return cli_json_close(&a->json, cli_fail(&err));
        int threads = d == 0 ? pool_threads(context) : -1;
        double gbps = d == 0 ? cpu_gbps : NAN;
        if (d > 0 && a->measure && info.available && spry_device_measure_copy(context, &gbps, d, &err) != SPRY_OK)
            return cli_json_close(&a->json, cli_fail(&err));
        if (a->json.wanted) good = json_device(&a->json, &info, threads, gbps);
        if (cli_for_people(&a->json)) print_device(&info, threads, gbps);
    }
    return cli_json_close(&a->json, good ? CLI_OK : CLI_UNSUCCESSFUL);
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {0};
    spry_context *context = NULL;
    int status = cli_parse(command, &argc, argv, &a);
    if (status == CLI_GO_ON) status = cli_open_context(&context, a.threads);
    if (status == CLI_GO_ON) status = list_devices(context, &a);
    spry_context_destroy(context);
    return status;
}

const cli_command cli_devices = {.name = "devices",
                                 .summary = "list the devices that products can run on",
                                 .usage = "[OPTIONS]",
                                 .about = "Lists the devices that the library knows. For a device that cannot be used, "
                                          "shows the reason.",
                                 .examples = "  spry devices\n"
                                             "  spry devices --measure --json\n",
                                 .options = options,
                                 .positional = "no arguments",
                                 .run = run};
