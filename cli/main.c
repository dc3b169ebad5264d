/* spry: dispatches to a command. */
#include "cli/cli.h"

#include <locale.h>
#include <string.h>

static const cli_command *const commands[] = {&cli_info,    &cli_spmv,    &cli_spgemm,  &cli_pagerank, &cli_solve,
                                              &cli_bench,   &cli_convert, &cli_reorder, &cli_gen,      &cli_devices,
                                              &cli_kernels, &cli_tune,    &cli_explain, &cli_report,   &cli_fetch};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *out)
{
    fputs("Usage: spry COMMAND [ARGUMENTS] [OPTIONS]\n\n"
          "Sparse matrix products on CPUs and GPUs.\n\n"
          "Commands:\n",
          out);
    for (int c = 0; c < COMMANDS; c++) fprintf(out, "  %-9s %s\n", commands[c]->name, commands[c]->summary);
    fputs("\n'spry COMMAND --help' tells more. Where a FILE is read it may be\n"
          "  .mtx                          Matrix Market\n"
          "  .txt .csv .tsv .edges .el     a list of edges: source, target, weight\n"
          "  .mtx.gz .csv.xz ...           text compressed by gzip, bzip2, xz or Zstandard\n"
          "  .npz                          what scipy.sparse.save_npz wrote\n"
          "  .spry                         a container, 'spry convert' makes it\n"
          "  gen:NAME[,key=value...]       a generated matrix, 'spry gen --list'\n"
          "  -                             standard input: Matrix Market or a container; edges with\n"
          "                                --input edges\n\n"
          "Exit status: 0 ok; 1 valid, but it did not succeed; 2 bad usage or bad input.\n\n"
          "Examples:\n"
          "  spry info matrix.mtx.gz\n"
          "  spry spmv gen:grid7\n"
          "  spry bench matrix.mtx.gz --formats all --peers\n",
          out);
}

static int unknown_command(const char *name)
{
    const char *names[COMMANDS];
    for (int c = 0; c < COMMANDS; c++) names[c] = commands[c]->name;
    const char *nearest = cli_nearest(name, names, COMMANDS);
    if (nearest) return cli_usage_error("unknown command '%s'; did you mean '%s'?", name, nearest);
    return cli_usage_error("unknown command '%s'", name);
}

static int run_command(const cli_command *command, int count, char **arguments)
{
    cli_json_expect(count, arguments);
    cli_when_interrupted("what was not complete is not written");
    return cli_json_refuse(command->run(command, count, arguments));
}

static int close_stdout(int status)
{
    cli_output output = {.stream = stdout};
    cli_progress(NULL);
    return cli_output_close(&output, status);
}

int main(int argc, char **argv)
{
    /* Only how characters look depends on the locale; numbers stay as they are in C. */
    setlocale(LC_CTYPE, "");
    cli_progress_begin();
    cli_set_command("");
    if (argc < 2) {
        print_usage(stderr);
        return CLI_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_usage(stdout);
        return close_stdout(CLI_OK);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 || strcmp(name, "version") == 0) {
        printf("spry %s\n", spry_version());
        return close_stdout(CLI_OK);
    }
    if (strcmp(name, "help") == 0 && argc == 2) {
        print_usage(stdout);
        return close_stdout(CLI_OK);
    }
    if (name[0] == '-') return cli_usage_error("unknown option %s", name);
    int help = strcmp(name, "help") == 0;
    if (help && strcmp(argv[2], "--generate") == 0)
        return close_stdout(cli_generate(argc > 3 ? argv[3] : NULL, argc > 4 ? argv[4] : NULL, commands, COMMANDS));
    if (help) name = argv[2];
    for (int c = 0; c < COMMANDS; c++) {
        if (strcmp(name, commands[c]->name) != 0) continue;
        cli_set_command(name);
        if (help) cli_print_help(stdout, commands[c]);
        return close_stdout(help ? CLI_OK : run_command(commands[c], argc - 1, argv + 1));
    }
    return unknown_command(name);
}
