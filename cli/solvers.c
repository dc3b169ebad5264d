#include "cli/solvers.h"

#include "bench/bench.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

int cli_observe(void *user, int64_t iteration, double residual)
{
    cli_convergence *c = user;
    for (int d = 0; d < CLI_DECADES; d++)
        if (c->reached[d] == 0 && residual <= pow(10, -d)) c->reached[d] = iteration;
    if (iteration % 16 == 0) {
        char text[80];
        snprintf(text, sizeof text, "iteration %lld, residual %.2g", (long long)iteration, residual);
        cli_progress(text);
    }
    return 0;
}

/* Only the last of powers that were reached in the same iteration. */
static int tells_something(const cli_convergence *c, int d)
{
    return c->reached[d] > 0 && (d + 1 == CLI_DECADES || c->reached[d + 1] != c->reached[d]);
}

void cli_print_convergence(FILE *out, const cli_convergence *c)
{
    const char *comma = "";
    for (int d = 0; d < CLI_DECADES; d++) {
        if (!tells_something(c, d)) continue;
        fprintf(out, "%s%g after %s", comma, pow(10, -d), cli_count(c->reached[d]).s);
        comma = ", ";
    }
    fputs(*comma ? "\n" : "never below 1\n", out);
}

cJSON *cli_convergence_to_json(const cli_convergence *c)
{
    cJSON *list = cJSON_CreateArray();
    for (int d = 0; d < CLI_DECADES && list; d++) {
        if (!tells_something(c, d)) continue;
        cJSON *o = cJSON_CreateObject();
        int good = bench_json_number(o, "residual", pow(10, -d)) && bench_json_integer(o, "iteration", c->reached[d]) &&
                   cJSON_AddItemToArray(list, o);
        if (good) continue;
        cJSON_Delete(o);
        cJSON_Delete(list);
        return NULL;
    }
    return list;
}

int cli_json_exact(cJSON *o, const char *name, double value)
{
    char text[40];
    if (!isfinite(value)) return cJSON_AddNullToObject(o, name) != NULL;
    snprintf(text, sizeof text, "%.17g", value);
    return cJSON_AddRawToObject(o, name, text) != NULL;
}

int cli_take_positive(const char *option, const char *text, double bound, double *value)
{
    if (!cli_take_number(option, text, value)) return 0;
    if (*value > 0 && *value < bound) return 1;
    if (isinf(bound))
        cli_usage_error("--%s is %s, expected a number above 0", option, text);
    else
        cli_usage_error("--%s is %s, expected a number between 0 and %g, neither included", option, text, bound);
    return 0;
}

int cli_check_outputs(const char *path, const cli_json *json, const char *input, const char *other)
{
    size_t length = path ? strlen(path) : 0;
    if (path && strcmp(path, "-") == 0 && json->wanted && !cli_for_people(json))
        return cli_usage_error("--out - and --json both want standard output");
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
        return cli_usage_error("--out is '%s': x is written as plain text, expected a name without .gz", path);
    int status = cli_spare_input("out", path, input);
    if (status == CLI_GO_ON) status = cli_spare_input("json", json->path, input);
    if (status == CLI_GO_ON && other) status = cli_spare_input("out", path, other);
    if (status == CLI_GO_ON && other) status = cli_spare_input("json", json->path, other);
    return status;
}

int cli_open_input(cli_input *input, const char *path, spry_type type, int64_t threads)
{
    *input = (cli_input){.arrays = SPRY_INIT(spry_arrays)};
    bench_matrix_name(input->name, sizeof input->name, path);
    int status = cli_open_context(&input->context, threads);
    if (status != CLI_GO_ON) return status;
    spry_error err = {0};
    spry_read_options reading = SPRY_INIT(spry_read_options);
    reading.value_type = type;
    cli_progress("reading");
    double start = bench_now_us();
    if (spry_matrix_read(input->context, &input->A, path, &reading, &err) != SPRY_OK) return cli_fail(&err);
    input->read_us = bench_now_us() - start;
    if (spry_matrix_get_arrays(input->A, &input->arrays, &err) != SPRY_OK) return cli_fail(&err);
    return CLI_GO_ON;
}

void cli_close_input(cli_input *input)
{
    spry_matrix_destroy(input->A);
    spry_context_destroy(input->context);
}

int cli_input_to_json(const cli_input *input, cJSON *o, const char *command, spry_type type, const char *device)
{
    return bench_json_text(o, "command", command) && bench_json_text(o, "matrix", input->name) &&
           bench_json_integer(o, "rows", input->arrays.rows) && bench_json_integer(o, "cols", input->arrays.cols) &&
           bench_json_integer(o, "nnz", input->arrays.nnz) && bench_json_text(o, "type", spry_type_name(type)) &&
           bench_json_text(o, "device", device ? device : "cpu") &&
           bench_json_integer(o, "threads", spry_context_threads(input->context)) &&
           bench_json_number(o, "read_us", input->read_us);
}
