/* Shared by the commands that iterate: solve and pagerank. */
#pragma once

#include "cli/cli.h"
#include "cli/json.h"
#include "common/copy_bandwidth.h"
#include "common/disturbance.h"
#include "common/input.h"
#include "spry/solve.h"

/* When the residual first fell to each power of ten; an spry_observer, with a progress line for the impatient. */
enum { CLI_DECADES = 20 };
typedef struct cli_convergence {
    double tolerance;             /* 0: not known */
    int64_t reached[CLI_DECADES]; /* [d]: the first iteration with a residual of 10^-d or less; 0: none */
} cli_convergence;
int cli_observe(void *convergence, int64_t iteration, double residual);

/* The values of --out, --type, --format, --device, --time, --threads and --json. */
typedef struct cli_solver {
    const char *out, *format, *device; /* NULL: not given */
    int64_t threads;
    int time;
    spry_type type;
    cli_json json;
} cli_solver;

/*
 * These options, which come last in a command's list, and its end. They are in the member `shared` of its arguments.
 * `what` is written to --out, `types` and `about_types` say what --type takes: string constants.
 */
#define CLI_SOLVER_OPTIONS(what, types, about_types)                                                                   \
    {"out",                                                                                                            \
     'o',                                                                                                              \
     "OUT",                                                                                                            \
     "write " what ": .mtx for a Matrix Market array, .csv for a table; '-' is standard\n"                             \
     "output",                                                                                                         \
     CLI_TEXT,                                                                                                         \
     CLI_AT(shared.out)},                                                                                              \
        {"type", 0, types, about_types " (default: f64)", CLI_CHOICE, CLI_AT(shared.type), SPRY_F32},                  \
        {"format", 0, "NAME", "a format of 'spry kernels', or auto (default: auto)", CLI_TEXT, CLI_AT(shared.format)}, \
        {"device", 0, "cpu|cuda", "where to work (default: cpu)", CLI_WORD, CLI_AT(shared.device)},                    \
        {"time", 0, NULL, "compare an iteration with the least that it takes", CLI_FLAG, CLI_AT(shared.time)},         \
        {"threads", 0,   "N", "threads (default: OMP_NUM_THREADS, else all)", CLI_INTEGER, CLI_AT(shared.threads),     \
         1,         1024},                                                                                             \
        CLI_READING_OPTIONS,                                                                                           \
        {"json", 0, "FILE", "one JSON line to standard output or FILE", CLI_JSON, CLI_AT(shared.json)},                \
        CLI_END_OF_OPTIONS

/*
 * A file for a vector: not standard output beside records, not compressed, and like the records' not the input (nor
 * `other`, NULL: none). CLI_GO_ON, or an exit status.
 */
int cli_check_solver(const cli_solver *solver, const char *input, const char *other);

/* Entry i of a vector of either type. */
static inline double cli_entry(const spry_vector *v, int64_t i)
{
    return v->type == SPRY_F32 ? (double)((const float *)v->data)[i] : ((const double *)v->data)[i];
}

/* How it went, as far as the methods tell the same. */
typedef struct cli_run {
    const char *format, *kernel;
    spry_verdict verdict;
    int64_t iterations;
    double setup_us, solve_us, product_us;
    double numbers;   /* that an iteration reads or writes at the least for each row, beside its product, */
    int number_bytes; /* of so many bytes each; 0: those of the type */
    const cli_convergence *convergence;
    copy_bandwidth copy; /* of cli_measure_floor */
    double others;       /* the share of the processors that other programs had meanwhile */
    double floor_us;     /* of an iteration: the product, and the numbers at the copy bandwidth; NaN: not measured */
} cli_run;

/*
 * With --time the floor of the iterations, if there were any, on the device with this number; else NaN. It takes the
 * time of products from the run. CLI_OK, or an exit status after a message.
 */
int cli_measure_floor(const cli_input *input, const cli_solver *solver, cli_run *run, int device);

/* Lines of the report: the kernel, set-up and convergence; time of iterations; where x went; an iteration's floor. */
void cli_print_begin(const cli_input *input, const cli_run *run);
void cli_print_time(const cli_run *run);
void cli_print_written(const cli_solver *solver, const char *what);
void cli_print_floor(const cli_solver *solver, const cli_run *run);
/* The fields that stand first in the record of such a command, and those of its end. 0: out of memory. */
int cli_begin_to_json(cJSON *o, const cli_input *input, const cli_solver *solver, const cli_run *run,
                      const spry_error *err);
int cli_end_to_json(cJSON *o, const cli_run *run);

/* Writes x to --out, if given; row and value name the columns of CSV. CLI_OK, or an exit status after a message. */
int cli_write_result(const cli_input *input, const cli_solver *solver, const spry_vector *x, const char *row,
                     const char *value);
/* 1: the report is to be printed: people read standard output, and x does not go there. */
int cli_wants_report(const cli_solver *solver);
