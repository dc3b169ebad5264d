/* Shared by the commands that iterate: solve and pagerank. */
#pragma once

#include "cli/cli.h"
#include "cli/json.h"
#include "common/copy_bandwidth.h"
#include "common/disturbance.h"
#include "common/input.h"
#include "spry/solve.h"

/*
 * The iterations in which the residual first fell to each power of ten, recorded by cli_observe, which is a
 * spry_observer.
 */
enum { CLI_DECADES = 20 };
typedef struct cli_convergence {
    double tolerance;             /* 0: not known */
    int64_t reached[CLI_DECADES]; /* [d]: first iteration with a residual of at most 10^-d; 0: none */
} cli_convergence;
int cli_observe(void *convergence, int64_t iteration, double residual);

/* The values of --out, --type, --format, --device, --time, --threads and --json. */
typedef struct cli_solver {
    const char *out, *format, *device; /* NULL: not given */
    int64_t threads;
    bool time;
    spry_type type;
    cli_json json;
} cli_solver;

/*
 * The last options of a command and the end of its list. They set the member `shared` of the command's arguments. The
 * three parameters are string constants. `label` names the content of --out. `types` and `about_types` are the values
 * and the help of --type.
 */
#define CLI_SOLVER_OPTIONS(label, types, about_types)                                                                  \
    {"out",                                                                                                            \
     'o',                                                                                                              \
     "OUT",                                                                                                            \
     "write " label ": .mtx for a Matrix Market array, .csv for a table; '-' is standard\n"                            \
     "output",                                                                                                         \
     CLI_TEXT,                                                                                                         \
     CLI_AT(shared.out)},                                                                                              \
        {"type", 0, types, about_types " (default: f64)", CLI_CHOICE, CLI_AT(shared.type), SPRY_F32},                  \
        {"format", 0, "NAME", "a format of 'spry kernels', or auto (default: auto)", CLI_TEXT, CLI_AT(shared.format)}, \
        {"device", 0, "cpu|cuda", "device to use (default: cpu)", CLI_WORD, CLI_AT(shared.device)},                    \
        {"time", 0, NULL, "compare the time of an iteration with its floor", CLI_FLAG, CLI_AT(shared.time)},           \
        {"threads", 0,   "N", "threads (default: OMP_NUM_THREADS, else all)", CLI_INTEGER, CLI_AT(shared.threads),     \
         1,         1024},                                                                                             \
        CLI_READING_OPTIONS,                                                                                           \
        {"json", 0, "FILE", "one JSON line to standard output or FILE", CLI_JSON, CLI_AT(shared.json)},                \
        CLI_END_OF_OPTIONS

/*
 * Checks --out and --json. --out must have a name for vectors and must not share standard output with --json. Neither
 * may be the input or `second_input` (NULL: none). Returns CLI_GO_ON or an exit status.
 */
int cli_check_solver(const cli_solver *solver, const char *input, const char *second_input);

/* Returns element i of an f32 or f64 vector. */
static inline double cli_entry(const spry_vector *v, int64_t i)
{
    return v->type == SPRY_F32 ? (double)((const float *)v->data)[i] : ((const double *)v->data)[i];
}

/* Results that all iterative methods report. */
typedef struct cli_run {
    const char *format, *kernel;
    spry_verdict verdict;
    int64_t iterations;
    double setup_us, solve_us, product_us;
    double numbers;   /* least number of vector elements moved per row and iteration, without the product */
    int number_bytes; /* bytes of a moved vector element; 0: the bytes of --type */
    const cli_convergence *convergence;
    copy_bandwidth copy; /* set by cli_measure_floor */
    double disturbance;  /* share of the processors that other programs used during the solve */
    /*
     * Least time of an iteration: measured time of its product, plus the time to move the method's vectors at
     * copy bandwidth. NaN: not measured.
     */
    double floor_us;
} cli_run;

/*
 * Sets floor_us with --time and at least one iteration, else NaN. Uses the time of the run's products and measures the
 * copy bandwidth of the device. Returns CLI_OK, or an exit status after a message.
 */
int cli_measure_floor(const cli_input *input, const cli_solver *solver, cli_run *run, int device);

/*
 * Print lines of the report. cli_print_begin: kernel, set-up and convergence. cli_print_time: time of iterations.
 * cli_print_written: the file of x. cli_print_floor: floor_us.
 */
void cli_print_begin(const cli_input *input, const cli_run *run);
void cli_print_time(const cli_run *run);
void cli_print_written(const cli_solver *solver, const char *label);
void cli_print_floor(const cli_solver *solver, const cli_run *run);
/*
 * cli_begin_to_json adds the first fields of the JSON object, cli_end_to_json the last. Both return false if memory is
 * short.
 */
bool cli_begin_to_json(cJSON *o, const cli_input *input, const cli_solver *solver, const cli_run *run,
                       const spry_error *err);
bool cli_end_to_json(cJSON *o, const cli_run *run);

/* Writes x to --out, if given. row, value: titles of CSV columns. Returns CLI_OK, or an exit status after a message. */
int cli_write_result(const cli_input *input, const cli_solver *solver, const spry_vector *x, const char *row,
                     const char *value);
/* Returns true if standard output shows the report: it shows neither JSON nor x. */
bool cli_wants_report(const cli_solver *solver);
