/*
 * spry: calls a command. Also writes man pages (mdoc, one for each command) and completion for bash, zsh and fish from
 * the tables of options. The build installs these texts; "spry help --generate WHAT" prints one.
 */
#include "cli/cli.h"

#include <ctype.h>
#include <locale.h>
#include <string.h>

/* Prints the first line of an option's help, for completion. */
static void print_first_line(const char *help, const char *escaped)
{
    for (const char *c = help; *c && *c != '\n'; c++) {
        if (strchr(escaped, *c)) putchar('\\');
        putchar(*c);
    }
}

/* Returns true if the option's value is one of a list of words, "cpu|cuda", all in lower case. */
static bool has_words(const cli_option *o)
{
    if (!o->value || !strchr(o->value, '|')) return false;
    for (const char *c = o->value; *c; c++)
        if (isupper((unsigned char)*c)) return false;
    return true;
}

static void print_words(const char *words, char between)
{
    for (const char *c = words; *c; c++) putchar(*c == '|' ? between : *c);
}

/* ---- man pages ---------------------------------------------------------------------------------- */

static const char *const date_of_manual = "November 27, 2026";

/* Prints text with escapes for characters that troff would interpret or replace. Returns the number of characters. */
static int print_plain(const char *text, size_t length)
{
    for (const char *c = text; c < text + length; c++) switch (*c) {
        case '\\': fputs("\\e", stdout); break;
        case '-': fputs("\\-", stdout); break;
        case '^': fputs("\\(ha", stdout); break;
        case '~': fputs("\\(ti", stdout); break;
        default: putchar(*c);
        }
    return (int)length;
}

/* Prints examples, line by line. */
static void print_literal(const char *text)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        const size_t length = strcspn(text, "\n");
        if (length > 0 && (text[0] == '.' || text[0] == '\'')) fputs("\\&", stdout);
        print_plain(text, length);
        putchar('\n');
    }
}

/* Prints running text. Starts a new line when a line is full and at each sentence. */
static void print_prose(const char *text)
{
    enum { FULL = 72 };
    int used = 0;
    for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
        const size_t length = strcspn(text, " \n");
        if (used > 0 && used + (int)length > FULL) {
            putchar('\n');
            used = 0;
        }
        if (used > 0) used += printf(" ");
        if (used == 0 && (text[0] == '.' || text[0] == '\'')) fputs("\\&", stdout);
        used += print_plain(text, length);
        text += length;
        if (text[-1] == '.' && *text) {
            putchar('\n');
            used = 0;
        }
    }
    if (used > 0) putchar('\n');
}

static void print_upper(const char *text)
{
    for (; *text; text++) putchar(toupper((unsigned char)*text));
}

static void print_head(const char *name, const char *summary)
{
    printf(".Dd %s\n.Dt SPRY", date_of_manual);
    if (name) putchar('-');
    print_upper(name ? name : "");
    printf(" 1\n.Os\n.Sh NAME\n.Nm spry%s%s\n.Nd %s\n", name ? "-" : "", name ? name : "", summary);
}

static void print_option(const cli_option *o)
{
    const int left_out = o->kind == CLI_JSON || o->optional;
    printf(".It ");
    if (o->letter) {
        printf("Fl %c ", o->letter);
        if (o->value) printf("Ar \"%s\" ", o->value);
        printf(", ");
    }
    printf("Fl \\-%s", o->name);
    if (o->value && left_out)
        printf(" Ns Oo = Ns Ar \"%s\" Oc", o->value);
    else if (o->value)
        printf(" Ar \"%s\"", o->value);
    putchar('\n');
    print_prose(o->help);
}

static void print_examples(const char *examples)
{
    printf(".Sh EXAMPLES\n.Bd -literal\n");
    print_literal(examples);
    printf(".Ed\n");
}

static void print_exit_status(void)
{
    printf(".Sh EXIT STATUS\n.Bl -tag -width Ds\n"
           ".It 0\nSuccess.\nSkipped cases of a benchmark count as success.\n"
           ".It 1\nThe request was valid but did not succeed: memory was short, a method\n"
           "did not converge, a result was wrong, or nothing could be measured.\n"
           ".It 2\nThe command line or a file is wrong, or a file cannot be read or written.\n.El\n");
}

static void print_command_page(const cli_command *command)
{
    print_head(command->name, command->summary);
    printf(".Sh SYNOPSIS\n.Nm spry %s\n.Ar \"%s\"\n.Sh DESCRIPTION\n", command->name, command->usage);
    print_prose(command->about);
    printf(".Sh OPTIONS\n.Bl -tag -width Ds\n");
    for (int o = 0; command->options[o].name; o++) print_option(&command->options[o]);
    printf(".It Fl h , Fl \\-help\nshow the help\n.It Fl \\-version\nshow the version\n.El\n");
    print_exit_status();
    print_examples(command->examples);
    printf(".Sh SEE ALSO\n.Xr spry 1\n");
}

/* Prints the program's page: commands, files, and the environment. */
static void print_program_page(const cli_command *const *commands, int count)
{
    static const struct {
        const char *name, *text;
    } environment[] = {
        {"COLUMNS", "width of tables if standard output is not a terminal (80)"},
        {"NO_COLOR", "if set, nothing is shown bold"},
        {"OMP_NUM_THREADS", "number of threads for products without \\-\\-threads"},
        {"SPRY_CHOICES", "file in which \\-\\-policy measure keeps its choices"},
        {"SPRY_CUDA_PLUGIN", "path of libspry\\-cuda.so (default: in the folder of libspry.so)"},
        {"SPRY_FETCH_URL", "server of spry fetch: a mirror of the SuiteSparse collection"},
        {"SPRY_MATRIX_DIR", "folder of the benchmark's suites and of fetched matrices"},
        {"SPRY_PEER_DIR", "folder of the modules of other libraries that the benchmark compares with"},
        {"SPRY_PYTHON", "Python with Matplotlib, for reports"},
        {"SPRY_REPORT_DIR", "folder of the renderer of reports"},
        {"SPRY_SIMD", "portable, avx2 or avx512: highest instruction level that kernels use"},
        {"SPRY_TUNING", "table of spry tune, from which times are predicted"},
        {"XDG_CACHE_HOME", "folder with spry/: bandwidths and fetched matrices (~/.cache)"},
    };
    print_head(NULL, "sparse matrix products on CPUs and GPUs");
    printf(".Sh SYNOPSIS\n.Nm\n.Ar COMMAND\n.Op Ar ARGUMENTS\n.Op Ar OPTIONS\n.Sh DESCRIPTION\n.Nm\n"
           "multiplies sparse matrices with vectors and with each other, and runs\n"
           "PageRank and conjugate gradients.\nEach command has its own page.\n.Bl -tag -width pagerank\n");
    for (int c = 0; c < count; c++) printf(".It Xr spry-%s 1\n%s\n", commands[c]->name, commands[c]->summary);
    printf(".El\n.Pp\nAn input\n.Ar FILE\nis a Matrix Market file (.mtx, .mtx.gz), a container (.spry),\n"
           ".Ql \\-\nfor standard input, or\n.Ql gen:NAME[,key=value...]\nfor a generated matrix;\n"
           ".Ql spry gen \\-\\-list\nshows the generators.\n.Sh ENVIRONMENT\n.Bl -tag -width Ds\n");
    for (size_t e = 0; e < sizeof environment / sizeof *environment; e++)
        printf(".It Ev %s\n%s\n", environment[e].name, environment[e].text);
    printf(".El\n");
    print_exit_status();
    print_examples("  spry info matrix.mtx.gz\n  spry spmv gen:grid7 --time\n"
                   "  spry bench matrix.mtx.gz --formats all --peers\n");
}

/* ---- completion --------------------------------------------------------------------------------- */

static void print_bash(const cli_command *const *commands, int count)
{
    printf("# Completion of spry for bash.\n_spry()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options= values=\n"
           "    COMPREPLY=()\n    if [ \"$COMP_CWORD\" = 1 ]; then\n        mapfile -t COMPREPLY < <(compgen -W '");
    for (int c = 0; c < count; c++) printf("%s ", commands[c]->name);
    printf("help --help --version' -- \"$word\")\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (int c = 0; c < count; c++) {
        printf("    %s)\n        options='", commands[c]->name);
        for (const cli_option *o = commands[c]->options; o->name; o++) printf("--%s ", o->name);
        printf("--help'\n        case $before in\n");
        for (const cli_option *o = commands[c]->options; o->name; o++) {
            if (!has_words(o)) continue;
            printf("        --%s) values='", o->name);
            print_words(o->value, ' ');
            printf("' ;;\n");
        }
        printf("        esac\n        ;;\n");
    }
    printf("    esac\n    if [ -n \"$values\" ]; then\n        mapfile -t COMPREPLY < <(compgen -W \"$values\" -- "
           "\"$word\")\n    elif [[ $word == -* ]]; then\n        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- "
           "\"$word\")\n    else\n        compopt -o default 2>/dev/null\n    fi\n}\ncomplete -F _spry spry\n");
}

static void print_zsh(const cli_command *const *commands, int count)
{
    printf("#compdef spry\n# Completion of spry for zsh.\n_spry() {\n    local -a commands\n    commands=(\n");
    for (int c = 0; c < count; c++) {
        printf("        '%s:", commands[c]->name);
        for (const char *s = commands[c]->summary; *s; s++) printf(*s == '\'' ? "'\\''" : "%c", *s);
        printf("'\n");
    }
    printf("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
           "    local name=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $name in\n");
    for (int c = 0; c < count; c++) {
        printf("    %s)\n        _arguments", commands[c]->name);
        for (const cli_option *o = commands[c]->options; o->name; o++) {
            const int optional = o->kind == CLI_JSON || o->optional;
            printf(" \\\n            \"--%s%s[", o->name, !o->value ? "" : optional ? "=-" : "=");
            print_first_line(o->help, "[]\"`$\\:");
            printf("]");
            if (o->value) printf("%s%s:", optional ? "::" : ":", o->name);
            if (has_words(o)) {
                putchar('(');
                print_words(o->value, ' ');
                putchar(')');
            } else if (o->value) {
                printf("_files");
            }
            putchar('"');
        }
        printf(" \\\n            '--help[show the help]' '*:file:_files'\n        ;;\n");
    }
    printf("    esac\n}\n_spry \"$@\"\n");
}

static void print_fish(const cli_command *const *commands, int count)
{
    printf("# Completion of spry for fish.\n");
    for (int c = 0; c < count; c++) {
        printf("complete -c spry -n __fish_use_subcommand -f -a %s -d '", commands[c]->name);
        print_first_line(commands[c]->summary, "'\\");
        printf("'\n");
    }
    for (int c = 0; c < count; c++)
        for (const cli_option *o = commands[c]->options; o->name; o++) {
            printf("complete -c spry -n '__fish_seen_subcommand_from %s' -l %s", commands[c]->name, o->name);
            if (o->letter) printf(" -s %c", o->letter);
            if (o->value && o->kind != CLI_JSON && !o->optional) printf(" -r");
            if (has_words(o)) {
                printf(" -f -a '");
                print_words(o->value, ' ');
                putchar('\'');
            }
            printf(" -d '");
            print_first_line(o->help, "'\\");
            printf("'\n");
        }
}

/* ---- spry help --generate ------------------------------------------------------------------------ */

/*
 * Prints the man page of the command `name` (NULL: of the program), or completion for a shell. Returns an exit status.
 */
static int generate(const char *request, const char *name, const cli_command *const *commands, int count)
{
    int index = 0;
    if (!request) return cli_usage_error("--generate needs a value: man, bash, zsh or fish");
    if (cli_take_word("generate", request, "man|bash|zsh|fish", &index) != CLI_GO_ON) return CLI_USAGE;
    if (name && index != 0)
        return cli_usage_error("'%s' is one argument too many: completion always covers all commands", name);
    if (index == 1) print_bash(commands, count);
    if (index == 2) print_zsh(commands, count);
    if (index == 3) print_fish(commands, count);
    if (index != 0) return CLI_OK;
    if (!name) {
        print_program_page(commands, count);
        return CLI_OK;
    }
    for (int c = 0; c < count; c++)
        if (strcmp(commands[c]->name, name) == 0) {
            print_command_page(commands[c]);
            return CLI_OK;
        }
    return cli_usage_error("unknown command '%s'", name);
}

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
    fputs("\n'spry COMMAND --help' shows the options. An input FILE is one of\n"
          "  .mtx                          Matrix Market\n"
          "  .txt .csv .tsv .edges .el     a list of edges: source, target, weight\n"
          "  .mtx.gz .csv.xz ...           text compressed by gzip, bzip2, xz or Zstandard\n"
          "  .npz                          a file of scipy.sparse.save_npz\n"
          "  .spry                         a container, written by 'spry convert'\n"
          "  gen:NAME[,key=value...]       a generated matrix, 'spry gen --list'\n"
          "  -                             standard input: Matrix Market or a container; edges with\n"
          "                                --input edges\n\n"
          "Exit status: 0 success; 1 valid request without success; 2 bad usage or bad input.\n\n"
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
    cli_when_interrupted("incomplete files are removed");
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
    /* Only the character set depends on the locale. Numbers keep the format of the C locale. */
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
        return close_stdout(generate(argc > 3 ? argv[3] : NULL, argc > 4 ? argv[4] : NULL, commands, COMMANDS));
    if (help) name = argv[2];
    for (int c = 0; c < COMMANDS; c++) {
        if (strcmp(name, commands[c]->name) != 0) continue;
        cli_set_command(name);
        if (help) cli_print_help(stdout, commands[c]);
        return close_stdout(help ? CLI_OK : run_command(commands[c], argc - 1, argv + 1));
    }
    return unknown_command(name);
}
