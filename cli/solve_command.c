/* spry solve: A x = b for symmetric positive definite A. */
#include "cli/solvers.h"
#include "cli/table.h"
#include "spry/io.h"
#include "spry/solve.h"

#include "common/input.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef struct arguments {
    cli_solver shared;
    const char *b;
    int method; /* always 0: cg is the only method */
    spry_precond precond;
    spry_precision precision;
    double tolerance, absolute, symmetry_tolerance;
    bool symmetric;
    int64_t limit, block, degree;
} arguments;

static const char *const preconds[] = {"none", "jacobi", "block-jacobi", "chebyshev"};
static const char *const precisions[] = {"full", "f32:f64", "f32"};
static const cli_option options[] = {
    {"method", 0, "cg", "conjugate gradients (default: cg)", CLI_CHOICE, CLI_AT(method)},
    {"precond", 0, "none|jacobi|block-jacobi|chebyshev",
     "preconditioner: diagonal, blocks on the diagonal, or polynomial (default: none)", CLI_CHOICE, CLI_AT(precond)},
    {"block", 0, "N", "block-jacobi: rows of a block (default: 3)", CLI_INTEGER, CLI_AT(block), 1, 32},
    {"degree", 0, "N", "chebyshev: additional products per iteration (default: 4)", CLI_INTEGER, CLI_AT(degree), 1, 64},
    {"precision", 0, "full|f32:f64|f32",
     "precision of iterations; f32:f64: values in f32; f32: values and vectors in f32 (default: full)", CLI_CHOICE,
     CLI_AT(precision)},
    {"tol", 0, "T", "stop at ||b - A x|| <= T ||b|| (default: 1e-8, with f32 1e-3)", CLI_NUMBER, CLI_AT(tolerance), 0,
     INT64_MAX},
    {"abs-tol", 0, "T", "also stop at ||b - A x|| <= T (default: none)", CLI_NUMBER, CLI_AT(absolute), 0, INT64_MAX},
    {"max-iterations", 0, "N", "stop after N iterations (default: 10 per row, 10000 to 100000)", CLI_INTEGER,
     CLI_AT(limit), 1, INT64_MAX},
    {"symmetry-tol", 0, "T", "largest difference of an entry and its mirror image, in units of eps (default: 1000)",
     CLI_NUMBER, CLI_AT(symmetry_tolerance)},
    {"symmetric", 0, NULL, "assume that the matrix is symmetric, without a check", CLI_FLAG, CLI_AT(symmetric)},
    {"b", 'b', "ones|random|FILE",
     "right side; FILE: a Matrix Market file, n x 1, or n x k for k right sides (default: ones)", CLI_TEXT, CLI_AT(b)},
    CLI_SOLVER_OPTIONS("x", "f32|f64", "type of values and vectors"),
};

/* ---- work --------------------------------------------------------------------------------------- */

static int create_b(const cli_input *input, const arguments *a, spry_vector *b)
{
    spry_error err = {0};
    int ones = strcmp(a->b, "ones") == 0, random = strcmp(a->b, "random") == 0;
    int64_t n = input->arrays.rows;
    if (!ones && !random) {
        if (spry_vector_read(input->context, b, a->b, a->shared.type, &err) != SPRY_OK) return cli_fail(&err);
        if (b->length == n) return CLI_GO_ON;
        cli_message("%s: the vector has %lld elements, expected %lld, the number of the matrix's rows", a->b,
                    (long long)b->length, (long long)n);
        return CLI_USAGE;
    }
    if (spry_vector_create(input->context, b, n, a->shared.type, 0, &err) != SPRY_OK) return cli_fail(&err);
    const int threads = pool_threads(input->context);
    if (random)
        fill_random(b->data, n, a->shared.type, 1, threads);
    else
        fill_constant(b->data, n, a->shared.type, 1, threads);
    return CLI_GO_ON;
}

/* Returns the number of products per iteration. */
static int64_t products_of(const arguments *a)
{
    if (a->precond != SPRY_PRECOND_CHEBYSHEV) return 1;
    return 1 + (a->degree > 0 ? a->degree : 4); /* 4: the library's default */
}

/*
 * Returns the number of vector elements that an iteration with block-jacobi moves per row. On a GPU with full
 * precision, blocks of 2 to 4 rows are stored in f32 and applied during the passes over the vectors.
 */
static double elements_of_blocks(const arguments *a)
{
    const int64_t block = a->block > 0 ? a->block : 3; /* 3: the library's default */
    const bool on_gpu = a->shared.device && strncmp(a->shared.device, "cuda", 4) == 0;
    if (!on_gpu || a->precision != SPRY_PRECISION_FULL || block < 2 || block > 4) return 13 + (double)(block + 1) / 2;
    return 9 + (double)(block + 1) * (a->shared.type == SPRY_F32 ? 1 : 0.5);
}

/* Returns the number of vector elements that an iteration moves per row and right side (docs/solvers.md). */
static double elements_of(const arguments *a)
{
    switch (a->precond) {
    case SPRY_PRECOND_JACOBI: return 11;
    case SPRY_PRECOND_BLOCK_JACOBI: return elements_of_blocks(a);
    case SPRY_PRECOND_CHEBYSHEV: return 13 + 6 * (double)(products_of(a) - 1);
    default: return 9;
    }
}

static cli_run run_of(const arguments *a, const spry_cg_result *r, int64_t count, const cli_convergence *c)
{
    return (cli_run){.format = r->format[0] ? r->format : NULL,
                     .kernel = r->kernel[0] ? r->kernel : NULL,
                     .verdict = r->verdict,
                     .iterations = r->iterations,
                     .setup_us = r->setup_us,
                     .solve_us = r->solve_us,
                     .product_us = r->product_us,
                     .numbers = elements_of(a) * (double)count,
                     .number_bytes = a->precision == SPRY_PRECISION_F32 ? 4
                                     : a->shared.type == SPRY_F32       ? 4
                                                                        : 8,
                     .convergence = c};
}

/* Returns true if A or b was refused. Then x is undefined. */
static bool is_refused(const spry_cg_result *r)
{
    return !r->kernel[0] || (r->verdict == SPRY_VERDICT_NOT_FINITE && r->iterations == 0 && r->converged == 0);
}

static int create_x(const cli_input *input, const arguments *a, int64_t count, spry_vector *x)
{
    spry_error err = {0};
    const int64_t n = input->arrays.rows;
    if (spry_vector_create(input->context, x, n * count, a->shared.type, 0, &err) != SPRY_OK) return cli_fail(&err);
    x->length = x->column_stride = n;
    x->count = count;
    return CLI_GO_ON;
}

static void print_system(const arguments *a, const spry_cg_result *r, int64_t count)
{
    char more[96] = "", precision[48] = "";
    if (a->precond == SPRY_PRECOND_CHEBYSHEV && r->largest_eigenvalue > 0)
        snprintf(more, sizeof more, " (%lld products an iteration, eigenvalues up to %.3g)", (long long)products_of(a),
                 r->largest_eigenvalue);
    if (a->precision != SPRY_PRECISION_FULL)
        snprintf(precision, sizeof precision, "; precision %s", precisions[a->precision]);
    cli_print_line(stdout, "system", "A x = b, b %s, %s; conjugate gradients, preconditioner %s%s%s", a->b,
                   spry_type_name(a->shared.type), preconds[a->precond], more, precision);
    if (count > 1) cli_print_line(stdout, "right sides", "%s, side by side", cli_count(count).s);
}

static void print_verdict(const spry_cg_result *r, int64_t count)
{
    char sides[96] = "", restarts[96] = "", anew[96] = "";
    if (count > 1)
        snprintf(sides, sizeof sides, " of right side %lld; %lld of %lld converged", (long long)r->vector + 1,
                 (long long)r->converged, (long long)count);
    if (r->restarts > 0)
        snprintf(restarts, sizeof restarts, ", %s restarts from the true residual", cli_count(r->restarts).s);
    if (r->replacements > 0)
        snprintf(anew, sizeof anew, ", the residual computed anew %s times", cli_count(r->replacements).s);
    cli_print_line(stdout, "verdict", "%s after %s iterations%s%s%s", spry_verdict_text(r->verdict),
                   cli_count(r->iterations).s, sides, restarts, anew);
}

static void print_report(const cli_input *input, const arguments *a, const spry_cg_result *r, int64_t count,
                         const cli_run *run)
{
    printf("%s: %s x %s, %s entries\n", input->name, cli_count(input->arrays.rows).s,
           cli_count(input->arrays.columns).s, cli_count(input->arrays.nnz).s);
    cli_print_line(stdout, "read in", "%s", cli_time(input->read_us).s);
    print_system(a, r, count);
    cli_print_begin(input, run);
    print_verdict(r, count);
    cli_print_line(stdout, "residual", "%.3g of ||b||, computed from x at the end (%.3g as carried along)",
                   r->true_residual, r->residual);
    cli_print_time(run);
    cli_print_written(&a->shared, "x written to");
    cli_print_floor(&a->shared, run);
}

static int json_line(const cli_input *input, arguments *a, const spry_cg_result *r, int64_t count, const cli_run *run,
                     const spry_error *err)
{
    cJSON *o = cJSON_CreateObject();
    int good = cli_begin_to_json(o, input, &a->shared, run, err) && cli_json_text(o, "method", "cg") &&
               cli_json_text(o, "precond", preconds[a->precond]) && cli_json_text(o, "b", a->b) &&
               cli_json_number(o, "tol", a->tolerance) && cli_json_number(o, "abs_tol", a->absolute) &&
               cli_json_text(o, "precision", precisions[a->precision]) && cli_json_integer(o, "count", count) &&
               cli_json_integer(o, "vector", r->vector) && cli_json_integer(o, "converged", r->converged) &&
               cli_json_integer(o, "products", products_of(a)) && cli_json_integer(o, "restarts", r->restarts) &&
               cli_json_integer(o, "replacements", r->replacements) && cli_json_exact(o, "residual", r->residual) &&
               cli_json_exact(o, "true_residual", r->true_residual) && cli_end_to_json(o, run);
    return cli_json_line(&a->shared.json, o, good);
}

static int solve(const cli_input *input, arguments *a, const spry_vector *b, spry_vector *x)
{
    cli_convergence convergence = {0};
    spry_cg_options o = SPRY_INIT(spry_cg_options);
    spry_cg_result r = SPRY_INIT(spry_cg_result);
    spry_error err = {0};
    o.precond = a->precond;
    o.block_size = a->block;
    o.degree = a->degree;
    o.precision = a->precision;
    o.tolerance = a->tolerance;
    o.absolute_tolerance = a->absolute;
    o.symmetry_tolerance = a->symmetry_tolerance == 0     ? SPRY_TOLERANCE_ZERO
                           : isnan(a->symmetry_tolerance) ? 0
                                                          : a->symmetry_tolerance;
    o.assume_symmetric = a->symmetric;
    o.max_iterations = a->limit;
    o.format = a->shared.format;
    o.observe = cli_observe;
    o.observe_user = &convergence;
    convergence.tolerance = a->tolerance;
    spry_status result = find_device(input->context, &o.device, a->shared.device, &err);
    cli_progress("solving");
    const processor_time before = read_processor_time();
    if (result == SPRY_OK) result = spry_cg(input->context, *x, &r, input->A, spry_vector_as_const(*b), &o, &err);
    const double disturbance = disturbance_since(before, 0);
    cli_progress(NULL);
    int status = result == SPRY_OK ? CLI_OK : cli_fail(&err);
    if (result != SPRY_OK && result != SPRY_NOT_CONVERGED) return status;
    int written = is_refused(&r) ? CLI_OK : cli_write_result(input, &a->shared, x, "row", "value");
    if (written != CLI_OK) return written;
    cli_run run = run_of(a, &r, b->count, &convergence);
    run.disturbance = disturbance;
    int measured = cli_measure_floor(input, &a->shared, &run, o.device);
    if (measured != CLI_OK) return measured;
    int opened = cli_json_open(&a->shared.json);
    if (opened != CLI_GO_ON) return opened;
    if (a->shared.json.wanted && !json_line(input, a, &r, b->count, &run, &err)) status = CLI_UNSUCCESSFUL;
    if (!is_refused(&r) && cli_wants_report(&a->shared)) print_report(input, a, &r, b->count, &run);
    return cli_json_close(&a->shared.json, status);
}

/* Refuses options of a preconditioner that is not selected. */
static int check_options(const arguments *a)
{
    if (a->block > 0 && a->precond != SPRY_PRECOND_BLOCK_JACOBI)
        return cli_usage_error("--block is for --precond block-jacobi, but --precond is %s", preconds[a->precond]);
    if (a->degree > 0 && a->precond != SPRY_PRECOND_CHEBYSHEV)
        return cli_usage_error("--degree is for --precond chebyshev, but --precond is %s", preconds[a->precond]);
    if (a->symmetry_tolerance < 0)
        return cli_usage_error("--symmetry-tol is %g, expected 0 or more", a->symmetry_tolerance);
    return CLI_GO_ON;
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {.shared.type = SPRY_F64, .b = "ones", .symmetry_tolerance = NAN};
    int status = cli_parse(command, &argc, argv, &a);
    if (status == CLI_GO_ON) status = check_options(&a);
    if (a.tolerance == 0) a.tolerance = a.shared.type == SPRY_F32 ? 1e-3 : 1e-8; /* the library's default */
    if (status == CLI_GO_ON) status = cli_check_solver(&a.shared, argv[0], a.b);
    if (status != CLI_GO_ON) return status;
    cli_input input;
    spry_vector x = {0}, b = {0};
    status = cli_open_input(&input, argv[0], a.shared.type, a.shared.threads);
    if (status == CLI_GO_ON && input.arrays.rows != input.arrays.columns) {
        cli_message("%s: the matrix is %lld x %lld, expected a square matrix", argv[0], (long long)input.arrays.rows,
                    (long long)input.arrays.columns);
        status = CLI_USAGE;
    }
    if (status == CLI_GO_ON) status = create_b(&input, &a, &b);
    if (status == CLI_GO_ON) status = create_x(&input, &a, b.count, &x);
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
     .about =
         "Solves A x = b for a symmetric positive definite matrix, from x = 0. Exit status 1 with the verdict:\n"
         "not symmetric (up to rounding), not finite, negative curvature, bad diagonal (jacobi), stagnation,\n"
         "out of range (of the type), or iteration limit. With --precision f32, iterations use f32, and the\n"
         "residual is recomputed in f64 from time to time, so that tolerances of f64 are reached. With --time, the\n"
         "last line compares an iteration with its floor: the measured time of the products, plus the vector\n"
         "elements moved per row (9, with jacobi 11) at the measured copy bandwidth.",
     .examples = "  spry solve gen:laplace7\n"
                 "  spry solve gen:laplace7,x=140,y=140,z=140 --time\n"
                 "  spry solve gen:laplace7 --precond chebyshev --precision f32\n"
                 "  spry solve stiffness.mtx.gz -b load.mtx --precond jacobi -o x.mtx\n",
     .options = options,
     .run = run};
