/* spry convert: writes a matrix to another file. */
#include "cli/cli.h"
#include "cli/json.h"
#include "common/input.h"
#include "spry/io.h"

#include <string.h>
#include <sys/stat.h>

typedef struct arguments {
    const char *out;
    spry_type type;
    bool full;
    const char *format;
    cli_json json;
} arguments;

static const cli_option options[] = {
    {"out", 'o', "OUT",
     "file to write: .mtx; .csv for an edge list; .mtx.gz and .csv.gz\n"
     "compressed; .spry for a container; '-' is standard output",
     CLI_TEXT, CLI_AT(out)},
    {"type", 0, "f32|f64|pattern|bf16|f16",
     "type of the values: rounded to it; pattern: dropped (default: f64; for\n"
     "containers their type)",
     CLI_CHOICE, CLI_AT(type), SPRY_F32},
    {"full", 0, NULL, "write both halves of a symmetric matrix", CLI_FLAG, CLI_AT(full)},
    {"format", 0, "FORMAT", "format of a container, from 'spry kernels' (default: csr)", CLI_TEXT, CLI_AT(format)},
    CLI_READING_OPTIONS,
    CLI_JSON_OPTION("a JSON line about the written file"),
    CLI_END_OF_OPTIONS,
};

int cli_report_written(cli_json *json, const char *name, const spry_matrix *A, const char *path)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_error err = {0};
    struct stat st;
    if (spry_matrix_get_arrays(A, &a, &err) != SPRY_OK) return cli_fail(&err);
    const int64_t bytes = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
    int status = cli_json_open(json), good = 1;
    if (status != CLI_GO_ON) return status;
    if (json->wanted) {
        cJSON *o = cJSON_CreateObject();
        good = cli_json_begin(o, name, RECORD_OK, NULL) && cli_json_integer(o, "rows", a.rows) &&
               cli_json_integer(o, "columns", a.columns) && cli_json_integer(o, "nnz", a.nnz) &&
               cli_json_text(o, "type", spry_type_name(a.value_type)) &&
               cli_json_integer(o, "index_base", index_base_of(A)) && cli_json_text(o, "out", path) &&
               cli_json_text(o, "kind", cli_output_kind(path)) && cli_json_integer(o, "bytes", bytes);
        good = cli_json_line(json, o, good);
    }
    if (good && cli_for_people(json) && bytes >= 0) {
        printf("%s: %s x %s, %s entries, %s", path, cli_count(a.rows).s, cli_count(a.columns).s, cli_count(a.nnz).s,
               cli_output_kind(path));
        if (strncmp(cli_output_kind(path), "CSV", 3) == 0) printf(", nodes counted from %d", index_base_of(A));
        printf(", %s\n", cli_bytes(bytes).s);
    }
    return cli_json_close(json, good ? CLI_OK : CLI_UNSUCCESSFUL);
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {0};
    cli_input input;
    spry_error err = {0};
    spry_write_options writing = SPRY_INIT(spry_write_options);
    int status = cli_parse(command, &argc, argv, &a);
    if (status != CLI_GO_ON) return status;
    if (!a.out) return cli_usage_error("-o OUT is missing: the file to write, or '-'");
    status = cli_check_outputs(a.out, &a.json, argv[0]);
    if (status == CLI_GO_ON) status = cli_check_stdout(a.out, &a.json);
    if (status == CLI_GO_ON) status = cli_check_matrix_name(a.out);
    if (status != CLI_GO_ON) return status;
    writing.full = a.full && strncmp(cli_output_kind(a.out), "Matrix", 6) == 0; /* CSV, containers: all entries */
    writing.format = a.format;
    const bool narrow = a.type == SPRY_BF16 || a.type == SPRY_F16; /* cli_store_as reports the rounding */
    status = cli_open_input(&input, argv[0], narrow ? SPRY_TYPE_DEFAULT : a.type, 0);
    if (status == CLI_GO_ON && narrow) status = cli_store_as(input.context, &input.A, a.type);
    cli_progress_writing(a.out);
    if (status == CLI_GO_ON)
        status = spry_matrix_write(input.A, a.out, &writing, &err) == SPRY_OK ? CLI_GO_ON : cli_fail(&err);
    if (status == CLI_GO_ON) cli_note_base(a.out, input.base);
    if (status == CLI_GO_ON) status = cli_report_written(&a.json, input.name, input.A, a.out);
    cli_close_input(&input);
    return status;
}

const cli_command cli_convert =
    {.name = "convert",
     .summary = "write a matrix to another file, sorted and with duplicates summed",
     .usage = "FILE -o OUT [OPTIONS]",
     .about =
         "Reads a matrix and writes it sorted, with duplicates summed. Matrix Market (.mtx): values with the digits\n"
         "that identify them; a symmetric matrix is written as symmetric unless --full is given. Edge list (.csv):\n"
         "source, target and weight of each entry, numbered as in FILE or by --base. Container (.spry): the arrays\n"
         "with checksums, which open without parsing.",
     .examples = "  spry convert matrix.mtx.gz -o matrix.mtx\n"
                 "  spry convert gen:grid5,x=100,y=100 -o grid.mtx.gz --type f32\n"
                 "  spry convert matrix.mtx.gz -o matrix.spry\n",
     .options = options,
     .run = run};
