/* Options from a table: parsing, help, and checks of values with messages that say what was expected. */
#include "cli/cli.h"

#include "common/input.h"
#include "spry/io.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_OPTIONS = 48 };
enum { HELP_CODE = 1000, VERSION_CODE, FIRST_CODE }; /* codes of getopt_long, greater than every letter */

static spry_read_options reading = {.struct_size = sizeof(spry_read_options)}; /* set by CLI_READING_OPTIONS */
static int base_given;

static const cli_command *current; /* the running command */

bool cli_command_has(const char *option)
{
    for (int o = 0; current && current->options[o].name; o++)
        if (strcmp(current->options[o].name, option) == 0) return true;
    return false;
}

static int option_count(const cli_command *command)
{
    int count = 0;
    while (command->options[count].name) count++;
    return count;
}

static int argument_of(const cli_option *option)
{
    if (option->kind == CLI_FLAG || option->kind == CLI_FLAG_OWN) return no_argument;
    return option->kind == CLI_JSON || option->optional ? optional_argument : required_argument;
}

/* ---- help --------------------------------------------------------------------------------------- */

static void print_option(FILE *out, const cli_option *option)
{
    const int argument = argument_of(option);
    char left[96], letter[8] = "    ";
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(left, sizeof left, "%s--%s%s%s%s", letter, option->name,
             argument == optional_argument   ? "[="
             : argument == required_argument ? " "
                                             : "",
             argument == no_argument ? "" : option->value, argument == optional_argument ? "]" : "");
    fprintf(out, strlen(left) < 28 ? "  %-28s" : "  %s\n                              ", left);
    /* Indent later lines of the text to the column of the first line. */
    for (const char *c = option->help; *c; c++) {
        fputc(*c, out);
        if (*c == '\n') fprintf(out, "%30s", "");
    }
    fputc('\n', out);
}

void cli_print_help(FILE *out, const cli_command *command)
{
    static const cli_option help = {"help", 'h', NULL, "show this", .kind = CLI_FLAG};
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

/* Returns the number of edits (insert, delete, replace, swap neighbours) from a to b. Long names get a large number. */
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

/* Returns the command's option that replaces an option of an earlier version or of another program; NULL: none. */
static const char *replacement_of(const char *name, const char *const *names, int count)
{
    static const char *const replaced[][2] = {{"columns", "count"},
                                              {"damping", "alpha"},
                                              {"tolerance", "tol"},
                                              {"rtol", "tol"},
                                              {"atol", "abs-tol"},
                                              {"inside", "precision"},
                                              {"maxiter", "max-iterations"},
                                              {"max_iter", "max-iterations"},
                                              {"personalised", "personalization"},
                                              {"zero-columns", "dangling"},
                                              {"personalized", "personalization"}};
    for (size_t r = 0; r < sizeof replaced / sizeof *replaced; r++)
        for (int o = 0; o < count && strcmp(name, replaced[r][0]) == 0; o++)
            if (strcmp(names[o], replaced[r][1]) == 0) return names[o];
    return NULL;
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
    const char *nearest = replacement_of(name, names, count);
    if (!nearest) nearest = cli_nearest(name, names, count + 1);
    if (nearest) return cli_usage_error("unknown option --%s; did you mean --%s?", name, nearest);
    return cli_usage_error("unknown option --%s", name);
}

/* ---- parsing ------------------------------------------------------------------------------------ */

typedef struct tables {
    struct option longs[MOST_OPTIONS + 3];
    char shorts[2 * MOST_OPTIONS + 4];
} tables;

static void build_tables(tables *t, const cli_command *command)
{
    int count = option_count(command);
    char *letters = t->shorts;
    memset(t, 0, sizeof *t);
    *letters++ = ':'; /* getopt returns ':' for a missing value and prints nothing */
    for (int o = 0; o < count; o++) {
        const cli_option *option = &command->options[o];
        t->longs[o] = (struct option){option->name, argument_of(option), NULL, FIRST_CODE + o};
        if (option->letter) *letters++ = option->letter;
        if (option->letter && argument_of(option) == required_argument) *letters++ = ':';
    }
    t->longs[count] = (struct option){"help", no_argument, NULL, HELP_CODE};
    t->longs[count + 1] = (struct option){"version", no_argument, NULL, VERSION_CODE};
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
    const char *expected = command->positional ? command->positional : "a matrix FILE";
    const int least = command->positional ? command->least : 1, most = command->positional ? command->most : 1;
    if (given < least) return cli_usage_error("%s is missing", expected);
    if (given > most && most == 0) return cli_usage_error("expected no arguments, but got '%s'", argv[0]);
    if (given > most && most > 0)
        return cli_usage_error("'%s' is one argument too many: expected %s", argv[most], expected);
    for (int i = 0; i < given; i++)
        if (!argv[i][0]) return cli_usage_error("an argument is empty: expected %s", expected);
    return CLI_GO_ON;
}

static int take_index(const char *text, spry_index_type index[2])
{
    int pair = 0, status = cli_take_word("index", text, "32/32|64/32|64/64", &pair);
    index[0] = pair == 0 ? SPRY_I32 : SPRY_I64;
    index[1] = pair == 2 ? SPRY_I64 : SPRY_I32;
    return status;
}

static int take_number(const cli_option *o, const char *text, double *value)
{
    int status = cli_take_number(o->name, text, value);
    if (status != CLI_GO_ON || o->least == o->most || (*value > (double)o->least && *value < (double)o->most))
        return status;
    if (o->most == INT64_MAX)
        return cli_usage_error("--%s is %s, expected a number above %lld", o->name, text, (long long)o->least);
    return cli_usage_error("--%s is %s, expected a number between %lld and %lld, neither included", o->name, text,
                           (long long)o->least, (long long)o->most);
}

/* Parses an option's value (NULL: none) and stores it in the arguments. */
static int take(const cli_option *o, void *arguments, const char *value)
{
    void *at = (char *)arguments + o->at;
    int word = 0, status = CLI_GO_ON;
    if (strcmp(o->name, "device") == 0 && strcmp(value, "gpu") == 0) value = "cuda";
    switch (o->kind) {
    case CLI_FLAG: *(bool *)at = true; break;
    case CLI_TEXT: *(const char **)at = value; break;
    case CLI_INTEGER: return cli_take_integer(o->name, value, o->least, o->most, at);
    case CLI_TIME: return cli_take_time(o->name, value, at);
    case CLI_BYTES: return cli_take_bytes(o->name, value, at);
    case CLI_NUMBER: return take_number(o, value, at);
    case CLI_WORD: *(const char **)at = value; return cli_take_word(o->name, value, o->value, &word);
    case CLI_CHOICE:
        status = cli_take_word(o->name, value, o->value, &word);
        word += (int)o->least;
        memcpy(at, &word, sizeof word); /* enumerations have the size of int */
        return status;
    case CLI_INDEX: return take_index(value, at);
    case CLI_LIST: return cli_take_items(o->name, value, at, o->least == 1);
    case CLI_JSON:
        ((cli_json *)at)->wanted = true;
        ((cli_json *)at)->path = value;
        break;
    default: return o->take(arguments, value);
    }
    return CLI_GO_ON;
}

/* Reports an unknown option, a missing value, or a value for an option without one. */
static int refuse(const cli_command *command, int code, const char *given)
{
    if (code == ':') return missing_value(command, optopt);
    /* optopt: an unknown letter, the code of a long option with an unexpected value, or 0. */
    if (optopt >= HELP_CODE)
        return cli_usage_error("--%s takes no value", optopt == HELP_CODE ? "help"
                                                      : optopt == VERSION_CODE
                                                          ? "version"
                                                          : command->options[optopt - FIRST_CODE].name);
    if (optopt) return cli_usage_error("unknown option -%c", optopt);
    return unknown_option(command, given);
}

/* Refuses --undirected if no input is an edge list or a folder. A folder may contain edge lists. */
static int check_reading(int count, char **paths)
{
    struct stat st;
    if (!reading.undirected || reading.input) return CLI_GO_ON;
    for (int p = 0; p < count; p++)
        if (is_edge_list_name(paths[p]) || (stat(paths[p], &st) == 0 && S_ISDIR(st.st_mode))) return CLI_GO_ON;
    return cli_usage_error("--undirected expects an edge list: a name that ends in .txt, .csv, .tsv, .edges or .el, or "
                           "--input edges%s%s",
                           count > 0 ? ", but the file is " : "", count > 0 ? paths[0] : "");
}

/* Refuses an optional value that follows as a separate word, in place of "--option=value". */
static int check_left_out(const cli_command *command, const cli_option *o, const char *next)
{
    const bool reads_json = command->positional && strstr(command->positional, "JSON");
    bool is_value = false;
    if (!next || argument_of(o) != optional_argument) return CLI_GO_ON;
    if (o->kind == CLI_JSON)
        is_value = !reads_json && (cli_ends_with(next, ".json") || cli_ends_with(next, ".jsonl"));
    else
        for (const char *word = o->value; *word && !is_value; word += strcspn(word, "|"), word += *word == '|')
            is_value = strcspn(word, "|") == strlen(next) && strncmp(word, next, strlen(next)) == 0;
    return is_value ? cli_usage_error("'%s' would be read as an input file: expected --%s=%s", next, o->name, next)
                    : CLI_GO_ON;
}

int cli_parse(const cli_command *command, int *count, char **argv, void *arguments)
{
    tables t;
    int given[MOST_OPTIONS] = {0};
    current = command;
    build_tables(&t, command);
    opterr = 0;
    optind = 1;
    for (;;) {
        int before = optind, code = getopt_long(*count, argv, t.shorts, t.longs, NULL);
        if (code == -1) break;
        if (code == HELP_CODE || code == 'h') {
            cli_print_help(stdout, command);
            return CLI_OK;
        }
        if (code == VERSION_CODE) {
            printf("spry %s\n", spry_version());
            return CLI_OK;
        }
        if (code == ':' || code == '?') return refuse(command, code, argv[optind > before ? optind - 1 : before]);
        const cli_option *option =
            &command->options[code >= FIRST_CODE ? code - FIRST_CODE : find_letter(command, code)];
        if (given[option - command->options]++) return cli_usage_error("--%s is given twice", option->name);
        if (optarg && !optarg[0]) return cli_usage_error("--%s is empty, expected %s", option->name, option->value);
        int answer = optarg ? CLI_GO_ON : check_left_out(command, option, optind < *count ? argv[optind] : NULL);
        if (answer == CLI_GO_ON) answer = take(option, arguments, optarg);
        if (answer != CLI_GO_ON) return answer;
    }
    int positional = *count - optind;
    memmove(argv, argv + optind, (size_t)positional * sizeof *argv);
    *count = positional;
    if (positional > 0) cli_json_set_input(argv[0]);
    const int status = check_positional(command, positional, argv);
    return status == CLI_GO_ON ? check_reading(positional, argv) : status;
}

/* ---- values ------------------------------------------------------------------------------------- */

int cli_take_integer(const char *option, const char *text, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (isspace((unsigned char)text[0]) || end == text || *end)
        return cli_usage_error("--%s is '%s', expected a whole number", option, text);
    if (errno == ERANGE || number < least || number > most)
        return cli_usage_error("--%s is %s, expected %lld to %lld", option, text, (long long)least, (long long)most);
    *value = number;
    return CLI_GO_ON;
}

int cli_take_number(const char *option, const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (isspace((unsigned char)text[0]) || end == text || *end || !isfinite(*value))
        return cli_usage_error("--%s is '%s', expected a finite number", option, text);
    return CLI_GO_ON;
}

int cli_take_time(const char *option, const char *text, double *us)
{
    static const struct {
        const char *name;
        double us;
    } units[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}};
    static const double MOST = 1e12;
    char *end;
    const double number = strtod(text, &end);
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        *us = number * units[u].us;
        if (isdigit((unsigned char)text[0]) && strcmp(end, units[u].name) == 0 && *us > 0 && *us <= MOST)
            return CLI_GO_ON;
    }
    return cli_usage_error("--%s is '%s', expected a time above 0 such as 500us, 50ms or 2s", option, text);
}

int cli_take_bytes(const char *option, const char *text, int64_t *bytes)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"", 1},       {"B", 1},        {"K", 0x1p10}, {"KiB", 0x1p10}, {"kB", 1e3},
                 {"M", 0x1p20}, {"MiB", 0x1p20}, {"MB", 1e6},   {"G", 0x1p30},   {"GiB", 0x1p30},
                 {"GB", 1e9},   {"k", 0x1p10},   {"m", 0x1p20}, {"g", 0x1p30},   {"KB", 1e3}};
    const size_t digits = strspn(text, "0123456789.");
    char *end = NULL;
    const double number = digits > 0 ? strtod(text, &end) : 0;
    for (size_t u = 0; end == text + digits && u < sizeof units / sizeof *units; u++) {
        if (strcmp(end, units[u].name) != 0) continue;
        const double value = number * units[u].bytes;
        if (!(value >= 1 && value <= 0x1p62))
            return cli_usage_error("--%s is %s, expected 1 byte to 2^62", option, text);
        *bytes = (int64_t)value;
        return CLI_GO_ON;
    }
    return cli_usage_error("--%s is '%s', expected a number of bytes, or one with a unit: kB, MB, GB (powers of 1000), "
                           "KiB, MiB, GiB or K, M, G (powers of 1024)",
                           option, text);
}

int cli_check_range(const char *option, double value, spry_type type)
{
    const double size = fabs(value);
    if (type != SPRY_F32 || size == 0 || (size >= FLT_TRUE_MIN && size <= FLT_MAX)) return CLI_GO_ON;
    return cli_usage_error("--%s is %g, out of the range of f32: expected 0, a magnitude of %g to %g, or --type f64",
                           option, value, (double)FLT_TRUE_MIN, (double)FLT_MAX);
}

/* Copies the nearest word of "cpu|cuda" to `name`. Returns NULL if none is near. */
static const char *nearest_word(const char *text, const char *words, char *name, size_t size)
{
    char copy[512], *items[64], *rest = NULL;
    int count = 0;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, "|", &rest); word && count < 64; word = strtok_r(NULL, "|", &rest))
        items[count++] = word;
    const char *nearest = cli_nearest(text, (const char *const *)items, count);
    if (nearest) snprintf(name, size, "%s", nearest);
    return nearest ? name : NULL;
}

int cli_take_word(const char *option, const char *text, const char *words, int *index)
{
    char all[512] = "", name[64];
    size_t used = 0, length;
    *index = 0;
    for (const char *word = words;; word += length + 1, ++*index) {
        length = strcspn(word, "|");
        if (strlen(text) == length && strncmp(text, word, length) == 0) return CLI_GO_ON;
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%.*s", used ? ", " : "", (int)length, word);
        if (!word[length] || used >= sizeof all) break;
    }
    const char *nearest = nearest_word(text, words, name, sizeof name);
    return cli_usage_error("--%s is '%s', expected one of: %s%s%s%s", option, text, all,
                           nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

int cli_take_count(const char *text, int64_t *count)
{
    return cli_take_integer("count", text, 1, CLI_MOST_VECTORS, count);
}

bool cli_is_row_major(const char *layout)
{
    return !layout || strcmp(layout, "row") == 0;
}

static int add_to_list(text_list *list, const char *item, size_t length)
{
    char *copy = strndup(item, length), **grown = realloc(list->items, (size_t)(list->count + 1) * sizeof *grown);
    if (grown) list->items = grown;
    if (copy && grown) {
        list->items[list->count++] = copy;
        return CLI_GO_ON;
    }
    free(copy);
    cli_message("out of memory");
    return CLI_UNSUCCESSFUL;
}

int cli_take_items(const char *option, const char *text, text_list *list, bool may_repeat)
{
    cli_release_list(list);
    for (const char *item = text;; item++) {
        size_t length = strcspn(item, ",");
        if (length == 0) return cli_usage_error("--%s is '%s': a name in the list is empty", option, text);
        int status = add_to_list(list, item, length);
        if (status != CLI_GO_ON) return status;
        for (int i = 0; i < list->count - 1 && !may_repeat; i++)
            if (strcmp(list->items[i], list->items[list->count - 1]) == 0)
                return cli_usage_error("--%s has '%s' twice", option, list->items[i]);
        item += length;
        if (!*item) return CLI_GO_ON;
    }
}

int cli_take_list(const char *option, const char *text, text_list *list)
{
    return cli_take_items(option, text, list, false);
}

void cli_release_list(text_list *list)
{
    for (int i = 0; i < list->count; i++) free(list->items[i]);
    free(list->items);
    *list = (text_list){0};
}

int cli_take_base(void *state, const char *value)
{
    (void)state;
    const int status = cli_take_word("base", value, "0|1", &reading.index_base);
    base_given = 1;
    set_index_base(reading.index_base);
    return status;
}

int cli_take_input(void *state, const char *value)
{
    (void)state;
    int word = 0;
    const int status = cli_take_word("input", value, "auto|edges", &word);
    reading.input = word == 1 ? "edges" : NULL;
    return status;
}

int cli_take_duplicates(void *state, const char *value)
{
    (void)state;
    int word = 0;
    const int status = cli_take_word("duplicates", value, "sum|drop", &word);
    reading.drop_duplicates = word == 1;
    return status;
}

int cli_take_undirected(void *state, const char *value)
{
    (void)state, (void)value;
    reading.undirected = true;
    return CLI_GO_ON;
}

spry_read_options cli_reading(spry_type type)
{
    spry_read_options options = reading;
    options.value_type = type;
    return options;
}

spry_status cli_unit_matrix(spry_context *context, spry_matrix **A, spry_type type, spry_error *err)
{
    static const int32_t offsets[] = {0, 1}, columns[] = {0};
    static const float f32[] = {1};
    static const double f64[] = {1};
    static const uint16_t bf16[] = {0x3f80}, f16[] = {0x3c00};
    spry_arrays a = SPRY_INIT(spry_arrays);
    a.layout = SPRY_CSR;
    a.rows = a.columns = a.nnz = 1;
    a.offset_type = a.index_type = SPRY_I32;
    a.value_type = type == SPRY_TYPE_DEFAULT ? SPRY_F64 : type;
    a.offsets = offsets;
    a.indices = columns;
    a.values = type == SPRY_F32    ? (const void *)f32
               : type == SPRY_BF16 ? (const void *)bf16
               : type == SPRY_F16  ? (const void *)f16
                                   : (const void *)f64;
    if (type == SPRY_PATTERN) a.values = NULL;
    return spry_matrix_create(context, A, &a, err);
}

/* The types of CLI_TYPES, in the same order. */
static const struct {
    spry_type stored, vectors;
    const char *name;
} value_types[] = {{SPRY_F32, SPRY_F32, "f32"},
                   {SPRY_F64, SPRY_F64, "f64"},
                   {SPRY_F32, SPRY_F64, "f32:f64"},
                   {SPRY_BF16, SPRY_F32, "bf16:f32"},
                   {SPRY_F16, SPRY_F32, "f16:f32"}};

int cli_take_types(const char *text, spry_type *stored, spry_type *vectors)
{
    int word = 0;
    const int status = cli_take_word("type", text, CLI_TYPES, &word);
    if (status != CLI_GO_ON) return status;
    *stored = value_types[word].stored;
    *vectors = value_types[word].vectors;
    return status;
}

const char *cli_types_name(spry_type stored, spry_type vectors)
{
    for (size_t n = 0; n < sizeof value_types / sizeof *value_types; n++)
        if (value_types[n].stored == stored && value_types[n].vectors == vectors) return value_types[n].name;
    return spry_type_name(stored);
}

int cli_fail_early(spry_status status, const spry_error *err)
{
    const int certain = status == SPRY_UNKNOWN_NAME || status == SPRY_INVALID_ARGUMENT ||
                        status == SPRY_DEVICE_UNAVAILABLE;
    return certain ? cli_fail(err) : CLI_GO_ON;
}
