/* spry gen: writes a generated matrix, or lists the generators. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/table.h"
#include "spry/io.h"

#include <string.h>

typedef struct arguments {
    const char *out;
    int list, full;
    spry_type type;
    cli_json json;
} arguments;

static const cli_option options[] = {
    {"out", 'o', "OUT", "file to write: .mtx, .mtx.gz to compress, .spry for a container;\n'-' is standard output",
     CLI_TEXT, CLI_AT(out)},
    {"list", 0, NULL, "list the generators with their parameters", CLI_FLAG, CLI_AT(list)},
    {"type", 0, "f32|f64|pattern|bf16|f16", "type of the values (default: f64)", CLI_CHOICE, CLI_AT(type), SPRY_F32},
    {"full", 0, NULL, "write both halves of a symmetric matrix", CLI_FLAG, CLI_AT(full)},
    CLI_JSON_OPTION("a JSON line on what was written, with --list one a generator,"),
    CLI_END_OF_OPTIONS,
};

static int list_generators(cli_json *json)
{
    int status = cli_json_open(json), good = 1;
    if (status != CLI_GO_ON) return status;
    spry_generator_info info = SPRY_INIT(spry_generator_info);
    for (int g = 0; good && spry_generator_get_info(&info, g, NULL) == SPRY_OK; g++) {
        if (json->wanted) {
            cJSON *line = cJSON_CreateObject();
            good = cli_json_line(json, line,
                                 cli_json_begin(line, NULL, RECORD_OK, NULL) &&
                                     cli_json_text(line, "name", info.name) &&
                                     cli_json_text(line, "parameters", info.parameters) &&
                                     cli_json_text(line, "description", info.description));
        }
        if (cli_for_people(json)) {
            char name[32];
            snprintf(name, sizeof name, "%-12s ", info.name);
            cli_print_wrapped(stdout, name, info.description);
            if (info.parameters[0]) printf("%12s %s\n", "", info.parameters);
        }
    }
    return cli_json_close(json, good ? CLI_OK : CLI_UNSUCCESSFUL);
}

static int generate(arguments *a, const char *spec)
{
    spry_context *context = NULL;
    int status = cli_open_context(&context, 0);
    if (status != CLI_GO_ON) return status;
    spry_error err = {0};
    spry_matrix *A = NULL;
    spry_read_options reading = SPRY_INIT(spry_read_options);
    spry_write_options writing = SPRY_INIT(spry_write_options);
    char comment[512];
    snprintf(comment, sizeof comment, "made by: spry gen %.400s", spec);
    reading.value_type = a->type;
    if (strncmp(cli_output_kind(a->out), "Matrix", 6) == 0) { /* other kinds have all entries and no comment */
        writing.full = a->full;
        writing.comment = comment;
    }
    cli_progress("generating");
    spry_status result = spry_matrix_generate(context, &A, spec, &reading, &err);
    cli_progress_writing(a->out);
    if (result == SPRY_OK) result = spry_matrix_write(A, a->out, &writing, &err);
    status = result == SPRY_OK ? cli_tell_written(&a->json, spec, A, a->out) : cli_fail(&err);
    spry_matrix_destroy(A);
    spry_context_destroy(context);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    arguments a = {0};
    int status = cli_parse(command, &argc, argv, &a);
    if (status != CLI_GO_ON) return status;
    if (a.list) {
        if (argc > 0) return cli_usage_error("--list takes no NAME, but got '%s'", argv[0]);
        if (a.out) return cli_usage_error("--list and --out exclude each other");
        return list_generators(&a.json);
    }
    if (argc == 0) return cli_usage_error("NAME of a generator is missing; 'spry gen --list' shows them");
    if (!a.out) return cli_usage_error("-o OUT is missing: the file to write, or '-'");
    status = cli_check_matrix_name(a.out);
    if (status == CLI_GO_ON) status = cli_check_stdout(a.out, &a.json);
    if (status != CLI_GO_ON) return status;
    return generate(&a, strncmp(argv[0], "gen:", 4) == 0 ? argv[0] + 4 : argv[0]);
}

const cli_command cli_gen =
    {.name = "gen",
     .summary = "write a generated matrix, or list the generators",
     .usage = "NAME[,key=value...] -o OUT [OPTIONS] | --list",
     .about = "Writes a generated matrix as Matrix Market, or as a container. The same name and parameters\n"
              "give the same matrix on every machine. Other commands take it directly as gen:NAME.",
     .examples = "  spry gen --list\n"
                 "  spry gen grid7,x=20,y=20,z=20 -o grid7.mtx.gz\n",
     .options = options,
     .most = 1,
     .positional = "one generator's NAME[,key=value...]",
     .run = run};
