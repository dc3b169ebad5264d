/* spry solve: A x = b for symmetric positive definite A. */
#include "cli/solvers.h"

#include "bench/bench.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

enum {
    OPTION_METHOD,
    OPTION_PRECOND,
    OPTION_TOL,
    OPTION_LIMIT,
    OPTION_B,
    OPTION_SOLVER /* the first of those that both solvers have */
};

static const cli_option options[] =
    {{"method", 0, CLI_REQUIRED, "cg", "conjugate gradients (default: cg)"},
     {"precond", 0, CLI_REQUIRED, "none|jacobi", "jacobi divides by the diagonal (default: none)"},
     {"tol", 0, CLI_REQUIRED, "T", "stop at ||b - A x|| <= T ||b|| (default: 1e-8, with f32 1e-3)"},
     {"max-iterations", 0, CLI_REQUIRED, "N", "stop after N (default: 10 a row, 100 to 100000)"},
     {"b", 'b', CLI_REQUIRED, "ones|random|FILE", "the right side; FILE: a Matrix Market file, n x 1 (default: ones)"},
     CLI_SOLVER_OPTIONS("x", "f32|f64", "type of values and vectors")};

typedef struct arguments {
    cli_solver shared;
    const char *b;
    spry_precond precond;
    double tolerance;
    int64_t limit;
} arguments;

static const char *const preconds[] = {"none", "jacobi", NULL};

static int apply(void *state, int option, const char *value)
{
    static const char *const methods[] = {"cg", NULL};
    arguments *a = state;
    int index = 0, good = 1;
    switch (option) {
    case OPTION_METHOD: good = cli_take_name("method", value, methods, &index); break;
    case OPTION_PRECOND:
        good = cli_take_name("precond", value, preconds, &index);
        a->precond = (spry_precond)index;
        break;
    case OPTION_TOL: good = cli_take_positive("tol", value, INFINITY, &a->tolerance); break;
    case OPTION_LIMIT: good = cli_take_integer("max-iterations", value, 1, INT64_MAX, &a->limit); break;
    case OPTION_B: a->b = value; break;
    default: return cli_apply_solver(&a->shared, option - OPTION_SOLVER, value);
    }
    return good ? CLI_GO_ON : CLI_USAGE;
}

/* ---- work --------------------------------------------------------------------------------------- */

static int make_b(const cli_input *input, const arguments *a, spry_vector *b)
{
    spry_error err = {0};
    int ones = strcmp(a->b, "ones") == 0, random = strcmp(a->b, "random") == 0;
    int64_t n = input->arrays.rows;
    if (!ones && !random) {
        if (spry_vector_read(input->context, b, a->b, a->shared.type, &err) != SPRY_OK) return cli_fail(&err);
        if (b->length == n) return CLI_GO_ON;
        cli_message("%s: the vector has %lld entries, expected %lld, as many as the matrix has rows", a->b,
                    (long long)b->length, (long long)n);
        return CLI_USAGE;
    }
    if (spry_vector_create(input->context, b, n, a->shared.type, 0, &err) != SPRY_OK) return cli_fail(&err);
    if (random) bench_fill_random(b->data, n, a->shared.type, 1, spry_context_threads(input->context));
    for (int64_t i = 0; ones && i < n; i++)
        if (a->shared.type == SPRY_F32)
            ((float *)b->data)[i] = 1;
        else
            ((double *)b->data)[i] = 1;
    return CLI_GO_ON;
}

static cli_run run_of(const spry_cg_result *r)
{
    return (cli_run){r->format, r->kernel, r->verdict, r->iterations, r->setup_us, r->solve_us, r->product_us};
}

static int has_begun(const spry_cg_result *r)
{
    return r->verdict != SPRY_VERDICT_NOT_SYMMETRIC && r->verdict != SPRY_VERDICT_BAD_DIAGONAL;
}

static void print_report(const cli_input *input, const arguments *a, const spry_cg_result *r, const cli_convergence *c)
{
    cli_run run = run_of(r);
    printf("%s: %s x %s, %s entries\n", input->name, cli_count(input->arrays.rows).s, cli_count(input->arrays.cols).s,
           cli_count(input->arrays.nnz).s);
    printf("  read in         %s\n", cli_time(input->read_us).s);
    printf("  system          A x = b, b %s, %s; conjugate gradients, preconditioner %s\n", a->b,
           spry_type_name(a->shared.type), preconds[a->precond]);
    if (has_begun(r)) cli_print_begin(input, &run, c);
    printf("  verdict         %s", spry_verdict_text(r->verdict));
    if (has_begun(r)) printf(" after %s iterations", cli_count(r->iterations).s);
    if (r->restarts > 0) printf(", %s restarts from the true residual", cli_count(r->restarts).s);
    putchar('\n');
    if (!has_begun(r)) return;
    printf("  residual        %.3g of ||b||, computed from x at the end (%.3g as carried along)\n", r->true_residual,
           r->residual);
    cli_print_time(&run);
    cli_print_written(&a->shared, "x written to");
}

static int json_line(const cli_input *input, arguments *a, const spry_cg_result *r, const cli_convergence *c,
                     const spry_error *err)
{
    cJSON *o = cJSON_CreateObject(), *steps = cli_convergence_to_json(c);
    cli_run run = run_of(r);
    int good = o && steps && cli_begin_to_json(o, "solve", input, &a->shared, &run) &&
               bench_json_text(o, "method", "cg") && bench_json_text(o, "precond", preconds[a->precond]) &&
               bench_json_text(o, "b", a->b) && bench_json_number(o, "tol", a->tolerance) &&
               bench_json_integer(o, "restarts", r->restarts) && cli_json_exact(o, "residual", r->residual) &&
               cli_json_exact(o, "true_residual", r->true_residual) && cli_end_to_json(o, &run, err);
    if (good)
        good = cJSON_AddItemToObject(o, "convergence", steps);
    else
        cJSON_Delete(steps);
    return cli_json_line(&a->shared.json, o, good);
}

static int solve(const cli_input *input, arguments *a, const spry_vector *b, spry_vector *x)
{
    cli_convergence convergence = {0};
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_error err = {0};
    o.precond = a->precond;
    o.tolerance = a->tolerance;
    o.max_iterations = a->limit;
    o.device = a->shared.device;
    o.format = a->shared.format;
    o.observe = cli_observe;
    o.user = &convergence;
    spry_status result = spry_cg(input->context, *x, &r, input->A, *b, &o, &err);
    cli_progress(NULL);
    int status = result == SPRY_OK ? CLI_OK : cli_fail(&err);
    if (result != SPRY_OK && result != SPRY_NOT_CONVERGED) return status;
    int written = has_begun(&r) ? cli_write_result(input, &a->shared, x) : CLI_OK;
    if (written != CLI_OK) return written;
    int opened = cli_json_open(&a->shared.json);
    if (opened != CLI_GO_ON) return opened;
    if (a->shared.json.wanted && !json_line(input, a, &r, &convergence, &err)) status = CLI_UNSUCCESSFUL;
    if (cli_wants_report(&a->shared)) print_report(input, a, &r, &convergence);
    return cli_json_close(&a->shared.json, status);
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.shared.type = SPRY_F64, .shared.widest = SPRY_F64, .b = "ones"};
    int status = cli_parse(command, &argc, argv, apply, &a);
    if (a.tolerance == 0) a.tolerance = a.shared.type == SPRY_F32 ? 1e-3 : 1e-8; /* the library's default */
    if (status == CLI_GO_ON) status = cli_check_outputs(&a.shared, argv[0], a.b);
    if (status != CLI_GO_ON) return status;
    cli_input input;
    spry_vector x = {0}, b = {0};
    spry_error err = {0};
    status = cli_open_input(&input, argv[0], a.shared.type, a.shared.threads);
    if (status == CLI_GO_ON && input.arrays.rows != input.arrays.cols) {
        cli_message("%s: the matrix is %lld x %lld, expected a square one", argv[0], (long long)input.arrays.rows,
                    (long long)input.arrays.cols);
        status = CLI_USAGE;
    }
    if (status == CLI_GO_ON) status = make_b(&input, &a, &b);
    if (status == CLI_GO_ON &&
        spry_vector_create(input.context, &x, input.arrays.rows, a.shared.type, 0, &err) != SPRY_OK)
        status = cli_fail(&err);
    if (status == CLI_GO_ON) status = solve(&input, &a, &b, &x);
    spry_vector_destroy(input.context, &x);
    spry_vector_destroy(input.context, &b);
    cli_close_input(&input);
    return status;
}

const cli_command cli_solve =
    {.name = "solve",
     .summary = "solve A x = b by conjugate gradients",
     .usage = "FILE [OPTIONS]",
     .about = "Solves A x = b for a symmetric positive definite matrix, from x = 0. Exit status 1 with the verdict:\n"
              "not symmetric, negative curvature, zero diagonal (jacobi), stagnation, out of range (of the type),\n"
              "or iteration limit.",
     .examples = "  spry solve gen:laplace7\n"
                 "  spry solve stiffness.mtx.gz -b load.mtx --precond jacobi -o x.mtx\n",
     .options = options,
     .least = 1,
     .most = 1,
     .positional = "a matrix FILE",
     .run = run};
