/* What the commands share that iterate: solve and pagerank. */
#ifndef SPRY_CLI_SOLVERS_H
#define SPRY_CLI_SOLVERS_H

#include "cli/cli.h"

struct cJSON;

/* When the residual first fell to each power of ten; an spry_observer, with a progress line for the impatient. */
enum { CLI_DECADES = 20 };
typedef struct cli_convergence {
    int64_t reached[CLI_DECADES]; /* [d]: the first iteration with a residual of 10^-d or less; 0: none */
} cli_convergence;
int cli_observe(void *convergence, int64_t iteration, double residual);
/* "1e-1 after 3, 1e-2 after 9" */
void cli_print_convergence(FILE *out, const cli_convergence *convergence);
struct cJSON *cli_convergence_to_json(const cli_convergence *convergence); /* NULL: out of memory */

/* What --out, --type, --format, --device, --threads and --json say. */
typedef struct cli_solver {
    const char *out, *format, *device; /* NULL: not given */
    int64_t threads;
    spry_type type;
    spry_type widest; /* SPRY_PATTERN: the method may leave values aside; else SPRY_F64 */
    cli_json json;
} cli_solver;

/*
 * These options, which come last in a command's list, and its end. `what` is written to --out, `types` and
 * `about_types` say what --type takes: string constants.
 */
#define CLI_SOLVER_OPTIONS(what, types, about_types)                                                                   \
    {"out", 'o', CLI_REQUIRED, "OUT", "write " what " as a Matrix Market array; '-' is standard output"},              \
        {"type", 0, CLI_REQUIRED, types, about_types " (default: f64)"},                                               \
        {"format", 0, CLI_REQUIRED, "NAME", "a format of 'spry kernels', or auto (default: auto)"},                    \
        {"device", 0, CLI_REQUIRED, "cpu|cuda", "where to work (default: cpu)"},                                       \
        {"threads", 0, CLI_REQUIRED, "N", "threads (default: as many as OpenMP would use)"},                           \
        {"json", 0, CLI_OPTIONAL, "FILE", "one JSON line to standard output or FILE"},                                 \
    {                                                                                                                  \
        0                                                                                                              \
    }
/* Option number `option` of them. CLI_GO_ON, or an exit status after a message. */
int cli_apply_solver(cli_solver *solver, int option, const char *value);

/* With as many digits as bring back the same number (bench_json_number writes 7); null where it is not finite. */
int cli_json_exact(struct cJSON *o, const char *name, double value);

/* A number above 0 and below `bound`, or 0 after a message. */
int cli_take_positive(const char *option, const char *text, double bound, double *value);

/*
 * A file for a vector: not standard output beside records, not compressed, and like the records' not the input (nor
 * `other`, NULL: none). CLI_GO_ON, or an exit status.
 */
int cli_check_outputs(const cli_solver *solver, const char *input, const char *other);

/* Entry i of a vector of either type. */
static inline double cli_entry(const spry_vector *v, int64_t i)
{
    return v->type == SPRY_F32 ? (double)((const float *)v->data)[i] : ((const double *)v->data)[i];
}

/* The matrix of a command: read, and how long that took. */
typedef struct cli_input {
    spry_context *context;
    spry_matrix *A;
    spry_arrays arrays;
    char name[256];
    double read_us;
} cli_input;
/* CLI_GO_ON, or an exit status after a message. Close in any case. */
int cli_open_input(cli_input *input, const char *path, spry_type type, int64_t threads);
void cli_close_input(cli_input *input);

/* How it went, as far as the methods tell the same. */
typedef struct cli_run {
    const char *format, *kernel;
    spry_verdict verdict;
    int64_t iterations;
    double setup_us, solve_us, product_us;
} cli_run;

/* Lines of the report: the kernel, set-up and convergence; the time of iterations; where x went. */
void cli_print_begin(const cli_input *input, const cli_run *run, const cli_convergence *convergence);
void cli_print_time(const cli_run *run);
void cli_print_written(const cli_solver *solver, const char *what);
/* The fields that stand first in the record of such a command, and those of its end. 0: out of memory. */
int cli_begin_to_json(struct cJSON *o, const char *command, const cli_input *input, const cli_solver *solver,
                      const cli_run *run);
int cli_end_to_json(struct cJSON *o, const cli_run *run, const spry_error *err);

/* x to --out, if given. CLI_OK, or an exit status after a message. */
int cli_write_result(const cli_input *input, const cli_solver *solver, const spry_vector *x);
/* 1: the report is to be printed: people read standard output, and x does not go there. */
int cli_wants_report(const cli_solver *solver);

#endif
