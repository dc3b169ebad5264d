#include "cli/solvers.h"

#include "common/input.h"

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
        int good = cli_json_number(o, "residual", pow(10, -d)) && cli_json_integer(o, "iteration", c->reached[d]) &&
                   cJSON_AddItemToArray(list, o);
        if (good) continue;
        cJSON_Delete(o);
        cJSON_Delete(list);
        return NULL;
    }
    return list;
}

int cli_check_outputs(const cli_solver *solver, const char *input, const char *other)
{
    const char *path = solver->out;
    const cli_json *json = &solver->json;
    size_t length = path ? strlen(path) : 0;
    if (path && strcmp(path, "-") == 0 && json->wanted && !cli_for_people(json))
        return cli_usage_error("--out - and --json both want standard output");
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
        return cli_usage_error("--out is '%s': x is written as plain text, expected a name without .gz", path);
    int status = cli_check_output("out", path, input);
    if (status == CLI_GO_ON) status = cli_check_output("json", json->path, input);
    if (status == CLI_GO_ON && other) status = cli_check_output("out", path, other);
    if (status == CLI_GO_ON && other) status = cli_check_output("json", json->path, other);
    return status;
}

int cli_open_input(cli_input *input, const char *path, spry_type type, int64_t threads)
{
    *input = (cli_input){.arrays = SPRY_INIT(spry_arrays)};
    matrix_name(input->name, sizeof input->name, path);
    int status = cli_open_context(&input->context, threads);
    if (status != CLI_GO_ON) return status;
    spry_error err = {0};
    spry_read_options reading = SPRY_INIT(spry_read_options);
    reading.value_type = type;
    double start = now_us();
    status = cli_read(input->context, &input->A, path, &reading);
    input->read_us = now_us() - start;
    if (status != CLI_GO_ON) return status;
    if (spry_matrix_get_arrays(input->A, &input->arrays, &err) != SPRY_OK) return cli_fail(&err);
    return CLI_GO_ON;
}

void cli_close_input(cli_input *input)
{
    spry_matrix_destroy(input->A);
    spry_context_destroy(input->context);
}

/* ---- what is told ------------------------------------------------------------------------------- */

static int on_gpu(const cli_run *run)
{
    size_t length = run->kernel ? strlen(run->kernel) : 0;
    return length > 5 && strcmp(run->kernel + length - 5, "_cuda") == 0;
}

void cli_print_begin(const cli_input *input, const cli_run *run, const cli_convergence *convergence)
{
    spry_device_info gpu = SPRY_INIT(spry_device_info);
    const int threads = spry_context_threads(input->context);
    if (on_gpu(run) && spry_device_get_info(input->context, 1, &gpu, NULL) == SPRY_OK)
        printf("  kernel          %s (format %s, on %s)\n", run->kernel, run->format, gpu.description);
    else
        printf("  kernel          %s (format %s, %d thread%s)\n", run->kernel, run->format, threads,
               threads == 1 ? "" : "s");
    printf("  set-up          %s\n", cli_time(run->setup_us).s);
    printf("  convergence     ");
    cli_print_convergence(stdout, convergence);
}

void cli_print_time(const cli_run *run)
{
    if (run->iterations > 0)
        printf("  time            %s; an iteration %s, of which the product %s\n", cli_time(run->solve_us).s,
               cli_time(run->solve_us / (double)run->iterations).s,
               cli_time(run->product_us / (double)run->iterations).s);
}

void cli_print_written(const cli_solver *solver, const char *what)
{
    if (solver->out) printf("  %-15s %s\n", what, solver->out);
}

int cli_begin_to_json(cJSON *o, const char *command, const cli_input *input, const cli_solver *solver,
                      const cli_run *run)
{
    return cli_json_text(o, "command", command) && cli_json_text(o, "matrix", input->name) &&
           cli_json_integer(o, "rows", input->arrays.rows) && cli_json_integer(o, "cols", input->arrays.cols) &&
           cli_json_integer(o, "nnz", input->arrays.nnz) && cli_json_text(o, "type", spry_type_name(solver->type)) &&
           cli_json_text(o, "device", solver->device ? solver->device : "cpu") &&
           cli_json_integer(o, "threads", spry_context_threads(input->context)) &&
           cli_json_number(o, "read_us", input->read_us) && cli_json_text(o, "format", run->format) &&
           cli_json_text(o, "kernel", run->kernel) && cli_json_text(o, "verdict", spry_verdict_text(run->verdict)) &&
           cli_json_integer(o, "iterations", run->iterations);
}

int cli_end_to_json(cJSON *o, const cli_run *run, const spry_error *err)
{
    double per = run->iterations > 0 ? 1 / (double)run->iterations : NAN;
    return cli_json_number(o, "setup_us", run->setup_us) && cli_json_number(o, "time_us", run->solve_us) &&
           cli_json_number(o, "iteration_us", run->solve_us * per) &&
           cli_json_number(o, "product_us", run->product_us * per) && cli_json_text(o, "reason", err->message);
}

int cli_write_result(const cli_input *input, const cli_solver *solver, const spry_vector *x)
{
    spry_error err = {0};
    if (!solver->out || spry_vector_write(input->context, *x, solver->out, NULL, &err) == SPRY_OK) return CLI_OK;
    return cli_fail(&err);
}

int cli_wants_report(const cli_solver *solver)
{
    return cli_for_people(&solver->json) && !(solver->out && strcmp(solver->out, "-") == 0);
}
