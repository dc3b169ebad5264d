#include "cli/solvers.h"
#include "cli/table.h"
#include "spry/io.h"
#include "spry/solve.h"

#include "common/input.h"

#include <math.h>

int cli_observe(void *user, int64_t iteration, double residual)
{
    cli_convergence *c = user;
    for (int d = 0; d < CLI_DECADES; d++)
        if (c->reached[d] == 0 && residual <= pow(10, -d)) c->reached[d] = iteration;
    if (iteration % 16 == 0) {
        char text[80];
        snprintf(text, sizeof text, "iteration %lld, residual %.2g", (long long)iteration, residual);
        cli_progress(text);
        /* Each power of ten by which the residual falls takes about the same time. */
        if (c->tolerance > 0 && c->tolerance < 1 && residual < 1) {
            const double share = log(residual) / log(c->tolerance);
            cli_progress_share(share < 1 ? share : 1);
        }
    }
    return 0;
}

/* Returns true if a residual of 10^-d was reached, and no smaller power of ten in the same iteration. */
static bool is_reported(const cli_convergence *c, int d)
{
    return c->reached[d] > 0 && (d + 1 == CLI_DECADES || c->reached[d + 1] != c->reached[d]);
}

static void print_convergence(const cli_convergence *c)
{
    char text[1024] = "";
    int used = 0;
    for (int d = 0; d < CLI_DECADES; d++)
        if (is_reported(c, d) && used < (int)sizeof text)
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%g after %s", used ? ", " : "residual ",
                             pow(10, -d), cli_count(c->reached[d]).s);
    cli_print_line(stdout, "convergence", "%s", used ? text : "never below 1");
}

static int convergence_to_json(cJSON *o, const cli_convergence *c)
{
    cJSON *list = cJSON_AddArrayToObject(o, "convergence");
    for (int d = 0; d < CLI_DECADES; d++) {
        if (!is_reported(c, d)) continue;
        cJSON *item = cli_json_item(list);
        if (!cli_json_number(item, "residual", pow(10, -d)) || !cli_json_integer(item, "iteration", c->reached[d]))
            return 0;
    }
    return list != NULL;
}

int cli_check_solver(const cli_solver *solver, const char *input, const char *second_input)
{
    int status = cli_check_vector_output(solver->out, &solver->json);
    if (status == CLI_GO_ON) status = cli_check_outputs(solver->out, &solver->json, input);
    return status == CLI_GO_ON && second_input ? cli_check_outputs(solver->out, &solver->json, second_input) : status;
}

/* ---- floor of an iteration ----------------------------------------------------------------------- */

int cli_measure_floor(const cli_input *input, const cli_solver *solver, cli_run *run, int device)
{
    spry_error err = {0};
    run->floor_us = NAN;
    if (!solver->time || run->iterations == 0) return CLI_OK;
    cli_progress("measuring the copy bandwidth");
    spry_status status = recall_device_copy(input->context, &run->copy, device, &err);
    cli_progress(NULL);
    if (status != SPRY_OK) return cli_fail(&err);
    const int bytes = run->number_bytes > 0 ? run->number_bytes : solver->type == SPRY_F32 ? 4 : 8;
    const double row_bytes = run->numbers * bytes;
    run->floor_us = run->product_us / (double)run->iterations +
                    row_bytes * (double)input->arrays.rows / run->copy.gbps * 1e-3;
    /* If the bandwidth is not known, a report shows the note in place of floor_us. */
    if (run->copy.note[0] && (!cli_wants_report(solver) || !isnan(run->copy.gbps)))
        cli_message("note: the copy bandwidth is %s", run->copy.note);
    return CLI_OK;
}

/* ---- report and record -------------------------------------------------------------------------- */

void cli_print_begin(const cli_input *input, const cli_run *run)
{
    spry_device_info gpu = SPRY_INIT(spry_device_info);
    const int threads = pool_threads(input->context);
    if (run->kernel && cli_ends_with(run->kernel, "_cuda") &&
        spry_device_get_info(input->context, &gpu, 1, NULL) == SPRY_OK)
        cli_print_line(stdout, "kernel", "%s (format %s, on %s)", run->kernel, run->format, gpu.description);
    else
        cli_print_line(stdout, "kernel", "%s (format %s, %d thread%s)", run->kernel, run->format, threads,
                       threads == 1 ? "" : "s");
    cli_print_line(stdout, "set-up", "%s", cli_time(run->setup_us).s);
    print_convergence(run->convergence);
}

void cli_print_time(const cli_run *run)
{
    if (run->iterations > 0)
        cli_print_line(stdout, "time", "%s; an iteration %s, of which the product %s", cli_time(run->solve_us).s,
                       cli_time(run->solve_us / (double)run->iterations).s,
                       cli_time(run->product_us / (double)run->iterations).s);
    cli_print_disturbed(run->disturbance);
}

void cli_print_written(const cli_solver *solver, const char *label)
{
    if (solver->out) cli_print_line(stdout, label, "%s", solver->out);
}

void cli_print_floor(const cli_solver *solver, const cli_run *run)
{
    if (!solver->time || run->iterations == 0) return;
    const double iterations = (double)run->iterations, iteration_us = run->solve_us / iterations;
    if (isnan(run->floor_us))
        cli_print_line(stdout, "iteration", "%s; its floor is unknown: the copy bandwidth is %s",
                       cli_time(iteration_us).s, run->copy.note);
    else
        cli_print_line(stdout, "iteration", "%s, %.2f of its floor of %s (product %s, %g numbers a row at %.1f GB/s)",
                       cli_time(iteration_us).s, iteration_us / run->floor_us, cli_time(run->floor_us).s,
                       cli_time(run->product_us / iterations).s, run->numbers, run->copy.gbps);
}

bool cli_begin_to_json(cJSON *o, const cli_input *input, const cli_solver *solver, const cli_run *run,
                       const spry_error *err)
{
    const record_status status = run->verdict == SPRY_VERDICT_CONVERGED ? RECORD_OK : RECORD_FAILED;
    return cli_json_begin(o, input->name, status, err->message) && cli_json_integer(o, "rows", input->arrays.rows) &&
           cli_json_integer(o, "columns", input->arrays.columns) && cli_json_integer(o, "nnz", input->arrays.nnz) &&
           cli_json_integer(o, "index_base", input->base) && cli_json_text(o, "type", spry_type_name(solver->type)) &&
           cli_json_text(o, "device", solver->device ? solver->device : "cpu") &&
           cli_json_integer(o, "threads", pool_threads(input->context)) &&
           cli_json_number(o, "read_us", input->read_us) && cli_json_text(o, "format", run->format) &&
           cli_json_text(o, "kernel", run->kernel) && cli_json_text(o, "verdict", spry_verdict_text(run->verdict)) &&
           cli_json_integer(o, "iterations", run->iterations);
}

bool cli_end_to_json(cJSON *o, const cli_run *run)
{
    double per = run->iterations > 0 ? 1 / (double)run->iterations : NAN;
    return cli_json_number(o, "setup_us", run->setup_us) && cli_json_number(o, "time_us", run->solve_us) &&
           cli_json_number(o, "iteration_us", run->solve_us * per) &&
           cli_json_number(o, "product_us", run->product_us * per) && cli_json_number(o, "floor_us", run->floor_us) &&
           cli_json_flag(o, "disturbed", run->disturbance >= DISTURBED_SHARE) &&
           convergence_to_json(o, run->convergence);
}

int cli_write_result(const cli_input *input, const cli_solver *solver, const spry_vector *x, const char *row,
                     const char *value)
{
    spry_error err = {0};
    if (!solver->out || cli_write_vector(input->context, spry_vector_as_const(*x), solver->out, row, value, input->base,
                                         &err) == SPRY_OK)
        return CLI_OK;
    return cli_fail(&err);
}

bool cli_wants_report(const cli_solver *solver)
{
    return cli_for_people(&solver->json) && !cli_is_dash(solver->out);
}
