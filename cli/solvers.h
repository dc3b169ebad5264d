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

/* With as many digits as bring back the same number (bench_json_number writes 7); null where it is not finite. */
int cli_json_exact(struct cJSON *o, const char *name, double value);

/* A number above 0 and below `bound`, or 0 after a message. */
int cli_take_positive(const char *option, const char *text, double bound, double *value);

/*
 * A file for a vector: not standard output beside records, not compressed, and like the records' not the input (nor
 * `other`, NULL: none). CLI_GO_ON, or an exit status.
 */
int cli_check_outputs(const char *path, const cli_json *json, const char *input, const char *other);

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
/* The fields that stand first in the record of such a command. 0: out of memory. */
int cli_input_to_json(const cli_input *input, struct cJSON *o, const char *command, spry_type type, const char *device);

#endif
