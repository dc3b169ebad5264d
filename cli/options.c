/* Options from a table: parsing, help, and values with messages that say what was expected. */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPTIONS = 32 };
enum { HELP_CODE = 1000, FIRST_CODE = 1001 }; /* getopt_long's codes: above every letter */

static int option_count(const cli_command *command)
{
    int count = 0;
    while (command->options[count].name) count++;
    return count;
}

/* ---- help --------------------------------------------------------------------------------------- */

static void print_option(FILE *out, const cli_option *option)
{
    char left[64], letter[8] = "    ";
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(left, sizeof left, "%s--%s%s%s%s", letter, option->name,
             option->argument == CLI_OPTIONAL   ? "[="
             : option->argument == CLI_REQUIRED ? " "
                                                : "",
             option->argument == CLI_NONE ? "" : option->value, option->argument == CLI_OPTIONAL ? "]" : "");
    fprintf(out, strlen(left) <= 28 ? "  %-28s" : "  %s\n                              ", left);
    /* Later lines of a help text line up with the first. */
    for (const char *c = option->help; *c; c++) {
        fputc(*c, out);
        if (*c == '\n') fprintf(out, "%30s", "");
    }
    fputc('\n', out);
}

void cli_print_help(FILE *out, const cli_command *command)
{
    static const cli_option help = {"help", 'h', CLI_NONE, NULL, "show this"};
    fprintf(out, "Usage: spry %s %s\n\n%s\n\nOptions:\n", command->name, command->usage, command->about);
    for (int o = 0; command->options[o].name; o++) print_option(out, &command->options[o]);
    print_option(out, &help);
    fprintf(out, "\nExamples:\n%s", command->examples);
}

/* ---- suggestions -------------------------------------------------------------------------------- */

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap neighbours) from a to b; long names are not worth it. */
static int distance(const char *a, const char *b)
{
    enum { LONGEST = 47 };
    int d[LONGEST + 1][LONGEST + 1], m = (int)strlen(a), n = (int)strlen(b);
    if (m > LONGEST || n > LONGEST) return LONGEST;
    for (int i = 0; i <= m; i++) d[i][0] = i;
    for (int j = 0; j <= n; j++) d[0][j] = j;
    for (int i = 1; i <= m; i++)
        for (int j = 1; j <= n; j++) {
            d[i][j] = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), 1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[m][n];
}

const char *cli_nearest(const char *text, const char *const *names, int count)
{
    const char *nearest = NULL;
    int best = (int)strlen(text) / 3 + 1;
    for (int i = 0; i < count; i++) {
        int d = distance(text, names[i]);
        if (strlen(text) >= 3 && strncmp(text, names[i], strlen(text)) == 0) d = 1; /* an abbreviation */
        if (d <= best && d < (int)strlen(names[i])) {
            best = d - 1;
            nearest = names[i];
        }
    }
    return nearest;
}

static int unknown_option(const cli_command *command, const char *given)
{
    char name[64];
    const char *names[MOST_OPTIONS + 1];
    int count = option_count(command);
    if (given[0] == '-' && given[1] != '-') return cli_usage_error("unknown option %.60s", given);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(given + 2, "="), given + 2);
    for (int o = 0; o < count; o++) names[o] = command->options[o].name;
    names[count] = "help";
    const char *nearest = cli_nearest(name, names, count + 1);
    if (nearest) return cli_usage_error("unknown option --%s; did you mean --%s?", name, nearest);
    return cli_usage_error("unknown option --%s", name);
}

/* ---- parsing ------------------------------------------------------------------------------------ */

typedef struct tables {
    struct option longs[MOST_OPTIONS + 2];
    char shorts[2 * MOST_OPTIONS + 4];
} tables;

static void make_tables(tables *t, const cli_command *command)
{
    int count = option_count(command);
    char *letters = t->shorts;
    memset(t, 0, sizeof *t);
    *letters++ = ':'; /* a missing value is told apart, and getopt prints nothing */
    for (int o = 0; o < count; o++) {
        const cli_option *option = &command->options[o];
        t->longs[o] = (struct option){option->name, (int)option->argument, NULL, FIRST_CODE + o};
        if (option->letter) *letters++ = option->letter;
        if (option->letter && option->argument == CLI_REQUIRED) *letters++ = ':';
    }
    t->longs[count] = (struct option){"help", no_argument, NULL, HELP_CODE};
    *letters++ = 'h';
}

static int find_letter(const cli_command *command, int letter)
{
    for (int o = 0; command->options[o].name; o++)
        if (command->options[o].letter && command->options[o].letter == letter) return o;
    return -1;
}

static int missing_value(const cli_command *command, int code)
{
    int o = code >= FIRST_CODE ? code - FIRST_CODE : find_letter(command, code);
    return cli_usage_error("--%s needs a value: %s", command->options[o].name, command->options[o].value);
}

static int check_positional(const cli_command *command, int given, char **argv)
{
    if (given < command->least) return cli_usage_error("%s is missing", command->positional);
    if (command->most >= 0 && given > command->most) {
        if (command->most == 0) return cli_usage_error("takes no arguments, but got '%s'", argv[0]);
        return cli_usage_error("'%s' is one argument too many: expected %s", argv[command->most], command->positional);
    }
    for (int i = 0; i < given; i++)
        if (!argv[i][0]) return cli_usage_error("an argument is empty: expected %s", command->positional);
    return CLI_GO_ON;
}

int cli_parse(const cli_command *command, int *count, char **argv, cli_apply apply, void *state)
{
    tables t;
    int given[MOST_OPTIONS] = {0};
    make_tables(&t, command);
    opterr = 0;
    optind = 1;
    for (;;) {
        int before = optind, code = getopt_long(*count, argv, t.shorts, t.longs, NULL);
        if (code == -1) break;
        if (code == HELP_CODE || code == 'h') {
            cli_print_help(stdout, command);
            return CLI_OK;
        }
        if (code == ':') return missing_value(command, optopt);
        if (code == '?') {
            /* optopt: a letter, the code of a long option that was given a value it does not take, or 0. */
            if (optopt >= HELP_CODE)
                return cli_usage_error("--%s takes no value",
                                       optopt == HELP_CODE ? "help" : command->options[optopt - FIRST_CODE].name);
            if (optopt) return cli_usage_error("unknown option -%c", optopt);
            return unknown_option(command, argv[optind > before ? optind - 1 : before]);
        }
        int o = code >= FIRST_CODE ? code - FIRST_CODE : find_letter(command, code);
        if (given[o]++) return cli_usage_error("--%s is given twice", command->options[o].name);
        if (optarg && !optarg[0])
            return cli_usage_error("--%s is empty, expected %s", command->options[o].name, command->options[o].value);
        int answer = apply(state, o, optarg);
        if (answer != CLI_GO_ON) return answer;
    }
    int positional = *count - optind;
    memmove(argv, argv + optind, (size_t)positional * sizeof *argv);
    *count = positional;
    return check_positional(command, positional, argv);
}

/* ---- values ------------------------------------------------------------------------------------- */

int cli_take_integer(const char *option, const char *text, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (isspace((unsigned char)text[0]) || end == text || *end) {
        cli_usage_error("--%s is '%s', expected a whole number", option, text);
        return 0;
    }
    if (errno == ERANGE || number < least || number > most) {
        cli_usage_error("--%s is %s, expected %lld to %lld", option, text, (long long)least, (long long)most);
        return 0;
    }
    *value = number;
    return 1;
}

int cli_take_number(const char *option, const char *text, double *value)
{
    char *end;
    double number = strtod(text, &end);
    if (isspace((unsigned char)text[0]) || end == text || *end || !isfinite(number)) {
        cli_usage_error("--%s is '%s', expected a finite number", option, text);
        return 0;
    }
    *value = number;
    return 1;
}

int cli_take_name(const char *option, const char *text, const char *const *names, int *index)
{
    char all[512] = "";
    int count = 0;
    for (; names[count]; count++) {
        if (strcmp(text, names[count]) == 0) {
            *index = count;
            return 1;
        }
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", count ? ", " : "", names[count]);
    }
    cli_usage_error("--%s is '%s', expected one of: %s", option, text, all);
    return 0;
}

int cli_take_type(const char *text, spry_type last, spry_type *type)
{
    const char *names[4] = {0};
    int index = 0;
    for (int t = SPRY_F32; t <= (int)last; t++) names[t - SPRY_F32] = spry_type_name((spry_type)t);
    if (!cli_take_name("type", text, names, &index)) return CLI_USAGE;
    *type = (spry_type)(SPRY_F32 + index);
    return CLI_GO_ON;
}

int cli_take_index(const char *text, spry_index_type *offset_type, spry_index_type *index_type)
{
    static const char *const names[] = {"32/32", "64/32", "64/64", NULL};
    int index = 0;
    if (!cli_take_name("index", text, names, &index)) return CLI_USAGE;
    *offset_type = index == 0 ? SPRY_I32 : SPRY_I64;
    *index_type = index == 2 ? SPRY_I64 : SPRY_I32;
    return CLI_GO_ON;
}

int cli_add_to_list(cli_list *list, const char *item, size_t length)
{
    char *copy = strndup(item, length), **grown = realloc(list->items, (size_t)(list->count + 1) * sizeof *grown);
    if (grown) list->items = grown;
    if (!copy || !grown) {
        free(copy);
        cli_message("out of memory");
        return 0;
    }
    list->items[list->count++] = copy;
    return 1;
}

int cli_take_list(const char *option, const char *text, cli_list *list)
{
    cli_release_list(list);
    for (const char *item = text;; item++) {
        size_t length = strcspn(item, ",");
        if (length == 0) {
            cli_usage_error("--%s is '%s': a name in the list is empty", option, text);
            return 0;
        }
        if (!cli_add_to_list(list, item, length)) return 0;
        for (int i = 0; i < list->count - 1; i++)
            if (strcmp(list->items[i], list->items[list->count - 1]) == 0) {
                cli_usage_error("--%s has '%s' twice", option, list->items[i]);
                return 0;
            }
        item += length;
        if (!*item) return 1;
    }
}

void cli_release_list(cli_list *list)
{
    for (int i = 0; i < list->count; i++) free(list->items[i]);
    free(list->items);
    *list = (cli_list){0};
}

spry_status cli_one(spry_context *context, spry_matrix **A, spry_type type, spry_error *err)
{
    static const int32_t offsets[] = {0, 1}, columns[] = {0};
    static const double f64[] = {1};
    static const float f32[] = {1};
    return type == SPRY_F32 ? spry_matrix_borrow_csr_f32(context, A, 1, 1, offsets, columns, f32, err)
                            : spry_matrix_borrow_csr_f64(context, A, 1, 1, offsets, columns, f64, err);
}

int cli_certain(spry_status status, const spry_error *err)
{
    const int certain = status == SPRY_UNKNOWN_NAME || status == SPRY_INVALID_ARGUMENT ||
                        status == SPRY_DEVICE_UNAVAILABLE;
    return certain ? cli_fail(err) : CLI_GO_ON;
}
