/* spry convert: a matrix from one file to another. */
#include "cli/cli.h"
#include "spry/io.h"

#include <string.h>

typedef struct arguments {
    const char *out;
    spry_type type;
    int full;
    const char *format;
} arguments;

static const cli_option options[] = {
    {"out", 'o', "OUT",
     "file to write: .mtx, .mtx.gz to compress, .spry for a container;\n"
     "'-' is standard output",
     CLI_TEXT, CLI_AT(out)},
    {"type", 0, "f32|f64|pattern|bf16|f16",
     "round the values to f32, or to 16 bits, or drop them (default:\n"
     "f64; of a container its own)",
     CLI_CHOICE, CLI_AT(type), SPRY_F32},
    {"full", 0, NULL, "write both halves of a symmetric matrix", CLI_FLAG, CLI_AT(full)},
    {"format", 0, "FORMAT", "storage in a container, as `spry kernels` names them (default: csr)", CLI_TEXT,
     CLI_AT(format)},
    CLI_END_OF_OPTIONS,
};

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {0};
    cli_input input;
    spry_error err = {0};
    spry_write_options writing = SPRY_INIT(spry_write_options);
    int status = cli_parse(command, &argc, argv, &a);
    if (status != CLI_GO_ON) return status;
    if (!a.out) return cli_usage_error("-o OUT is missing: the file to write, or '-'");
    status = cli_check_output("out", a.out, argv[0]);
    if (status == CLI_GO_ON) status = cli_check_matrix_name(a.out);
    if (status != CLI_GO_ON) return status;
    writing.full = a.full;
    writing.format = a.format;
    const int narrow = a.type == SPRY_BF16 || a.type == SPRY_F16; /* what that does to the values is told */
    status = cli_open_input(&input, argv[0], narrow ? SPRY_TYPE_DEFAULT : a.type, 0);
    if (status == CLI_GO_ON && narrow) status = cli_store_as(input.context, &input.A, a.type);
    cli_progress_writing(a.out);
    if (status == CLI_GO_ON)
        status = spry_matrix_write(input.A, a.out, &writing, &err) == SPRY_OK ? CLI_OK : cli_fail(&err);
    cli_close_input(&input);
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
     .run = run};
