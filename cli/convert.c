/* spry convert: a matrix from one file to another. */
#include "cli/cli.h"

#include <string.h>

enum { OPTION_OUT, OPTION_TYPE, OPTION_FULL, OPTION_FORMAT };

static const cli_option options[] = {{"out", 'o', CLI_REQUIRED, "OUT",
                                      "file to write: .mtx, .mtx.gz to compress, .spry for a container;\n"
                                      "'-' is standard output"},
                                     {"type", 0, CLI_REQUIRED, "f32|f64|pattern",
                                      "round the values to f32, or drop them (default: f64; of a\n"
                                      "container its own)"},
                                     {"full", 0, CLI_NONE, NULL, "write both halves of a symmetric matrix"},
                                     {"format", 0, CLI_REQUIRED, "FORMAT",
                                      "storage in a container, as `spry kernels` names them (default: csr)"},
                                     {0}};

typedef struct arguments {
    const char *out;
    spry_type type;
    int full;
    const char *format;
} arguments;

static int apply(void *state, int option, const char *value)
{
    arguments *a = state;
    switch (option) {
    case OPTION_OUT: a->out = value; break;
    case OPTION_TYPE: return cli_take_type(value, SPRY_PATTERN, &a->type);
    case OPTION_FULL: a->full = 1; break;
    case OPTION_FORMAT: a->format = value; break;
    default: break;
    }
    return CLI_GO_ON;
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {0};
    int status = cli_parse(command, &argc, argv, apply, &a);
    if (status != CLI_GO_ON) return status;
    if (!a.out) return cli_usage_error("-o OUT is missing: the file to write, or '-'");
    status = cli_check_output("out", a.out, argv[0]);
    if (status == CLI_GO_ON) status = cli_check_matrix_name(a.out);
    if (status != CLI_GO_ON) return status;
    spry_context *context = NULL;
    status = cli_open_context(&context, 0);
    if (status != CLI_GO_ON) return status;
    spry_error err = {0};
    spry_matrix *A = NULL;
    spry_read_options reading = SPRY_INIT(spry_read_options);
    spry_write_options writing = SPRY_INIT(spry_write_options);
    reading.value_type = a.type;
    writing.full = a.full;
    writing.format = a.format;
    cli_progress("reading");
    spry_status result = spry_matrix_read(context, &A, argv[0], &reading, &err);
    cli_progress_writing(a.out);
    if (result == SPRY_OK) result = spry_matrix_write(A, a.out, &writing, &err);
    status = result == SPRY_OK ? CLI_OK : cli_fail(&err);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    return status;
}

const cli_command cli_convert =
    {.name = "convert",
     .summary = "write a matrix to another file, sorted and with duplicates summed",
     .usage = "FILE -o OUT [OPTIONS]",
     .about = "Reads a matrix and writes it as Matrix Market: sorted, duplicates summed, values with as many\n"
              "digits as bring back the same number. A symmetric matrix stays symmetric unless --full.\n"
              "Or as a container (.spry): its arrays with checksums, which open without being parsed.",
     .examples = "  spry convert matrix.mtx.gz -o matrix.mtx\n"
                 "  spry convert gen:grid5,x=100,y=100 -o grid.mtx.gz --type f32\n"
                 "  spry convert matrix.mtx.gz -o matrix.spry\n",
     .options = options,
     .least = 1,
     .most = 1,
     .positional = "a matrix FILE",
     .run = run};
