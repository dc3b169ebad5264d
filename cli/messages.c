#include "cli/cli.h"
#include "spry/io.h"
#include "spry/matrix.h"
#include "spry/tune.h"

#include "common/input.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *command_name = "";
static char first_message[1024]; /* first message that is not a note */

void cli_set_command(const char *name)
{
    command_name = name;
}

const char *cli_command_name(void)
{
    return command_name;
}

const char *cli_first_message(void)
{
    return first_message;
}

/* ---- messages ----------------------------------------------------------------------------------- */

static void message(const char *format, va_list arguments)
{
    cli_progress(NULL);
    fflush(stdout);
    fprintf(stderr, "spry%s%s: ", command_name[0] ? " " : "", command_name);
    /* Escape control characters: names of arguments and files must not break the line or control the terminal. */
    char text[2 * 4096];
    vsnprintf(text, sizeof text, format, arguments);
    if (!first_message[0] && strncmp(text, "note: ", 6) != 0)
        snprintf(first_message, sizeof first_message, "%.1000s", text);
    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '\n')
            fputs("\\n", stderr);
        else if (byte < ' ' || byte == 0x7f)
            fprintf(stderr, "\\x%02x", byte);
        else
            fputc(byte, stderr);
    }
    fputc('\n', stderr);
}

void cli_message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    message(format, arguments);
    va_end(arguments);
}

int cli_usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    message(format, arguments);
    va_end(arguments);
    fprintf(stderr, "Try 'spry%s%s --help'.\n", command_name[0] ? " " : "", command_name);
    return CLI_USAGE;
}

int cli_status(const spry_error *err)
{
    switch (err->status) {
    case SPRY_OK: return CLI_OK;
    case SPRY_INVALID_ARGUMENT:
    case SPRY_INVALID_SIZE:
    case SPRY_INVALID_MATRIX:
    case SPRY_UNKNOWN_NAME:
    case SPRY_FILE_ERROR:
    case SPRY_BAD_FILE: return CLI_USAGE;
    case SPRY_UNSUPPORTED: return err->file[0] ? CLI_USAGE : CLI_UNSUCCESSFUL;
    default: return CLI_UNSUCCESSFUL;
    }
}

/* Splits the words after "expected" or "there are" in a message. Cuts text in place, returns the number of words. */
static int listed_words(char *text, const char *names[], int most)
{
    char *list = strstr(text, "expected "), *rest = NULL;
    int count = 0;
    if (!list) list = strstr(text, "there are ");
    for (char *word = list ? strtok_r(list, " ,;", &rest) : NULL; word && count < most;
         word = strtok_r(NULL, " ,;", &rest))
        names[count++] = word;
    return count;
}

static int known_formats(const char *names[], int most)
{
    int count = 0;
    spry_format_info info = SPRY_INIT(spry_format_info);
    while (count < most && spry_format_get_info(&info, count, NULL) == SPRY_OK) names[count++] = info.name;
    return count;
}

static int known_kernels(const char *names[], int most)
{
    spry_context *context = NULL;
    int count = 0;
    if (spry_context_create(&context, NULL, NULL) != SPRY_OK) return 0;
    spry_kernel_info info = SPRY_INIT(spry_kernel_info);
    while (count < most && spry_kernel_get_info(context, &info, count, NULL) == SPRY_OK) names[count++] = info.name;
    spry_context_destroy(context);
    return count;
}

/* Returns the known name nearest to the name that the message quotes; NULL: none is near. */
static const char *nearest_name(const spry_error *err, char *nearest, size_t size)
{
    enum { MOST = 512 };
    static const char *names[MOST];
    char text[sizeof err->message], given[64];
    snprintf(text, sizeof text, "%s", err->message);
    const char *begin = strpbrk(text, "'\"");
    const size_t length = begin ? strcspn(begin + 1, "'\":") : 0;
    if (length == 0 || length >= sizeof given) return NULL;
    snprintf(given, sizeof given, "%.*s", (int)length, begin + 1);
    const int count = strncmp(text, "no format", 9) == 0   ? known_formats(names, MOST)
                      : strncmp(text, "no kernel", 9) == 0 ? known_kernels(names, MOST)
                                                           : listed_words(text, names, MOST);
    const char *found = cli_nearest(given, names, count);
    if (found) snprintf(nearest, size, "%s", found);
    return found ? nearest : NULL;
}

/* Returns this command's option, without dashes, that sets a field of the library's structs; NULL: none. */
static const char *option_of_field(const char *field, size_t length, char *option, size_t size)
{
    static const struct {
        const char *field, *option;
    } renamed[] = {{"index_base", "base"},
                   {"memory_limit_bytes", "memory-limit"},
                   {"expected_calls", "calls"},
                   {"expected_updates", "updates"},
                   {"value_type", "type"},
                   {"undirected", "undirected"},
                   {"drop_duplicates", "duplicates"},
                   {"symmetry_tolerance", "symmetry-tol"},
                   {"assume_symmetric", "symmetric"}};
    for (size_t n = 0; n < sizeof renamed / sizeof *renamed; n++)
        if (strlen(renamed[n].field) == length && strncmp(field, renamed[n].field, length) == 0)
            return cli_command_has(renamed[n].option) ? renamed[n].option : NULL;
    snprintf(option, size, "%.*s", (int)length, field);
    if (!strchr(option, '_')) return NULL;
    for (char *c = option; *c; c++)
        if (*c == '_') *c = '-';
    return cli_command_has(option) ? option : NULL;
}

/* Copies a message with --options in place of field names. Keeps a file name at its start. Returns the copy, `to`. */
static const char *name_options(const spry_error *err, const char *text, char *to, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
    const size_t file = strlen(err->file);
    const char *from = file > 0 && strncmp(text, err->file, file) == 0 ? text + file : text;
    size_t used = (size_t)snprintf(to, size, "%.*s", (int)(from - text), text);
    while (*from && used < size) {
        char option[64];
        const size_t word = strspn(from, letters), length = word > 0 ? word : strcspn(from, letters);
        if (strncmp(from, "input 'edges'", 13) == 0) {
            used += (size_t)snprintf(to + used, size - used, "--input edges");
            from += 13;
            continue;
        }
        const char *const name = word > 0 ? option_of_field(from, word, option, sizeof option) : NULL;
        if (name)
            used += (size_t)snprintf(to + used, size - used, "--%s%s", name,
                                     strcmp(name, "duplicates") == 0 ? " drop" : "");
        else
            used += (size_t)snprintf(to + used, size - used, "%.*s", (int)length, from);
        from += length;
    }
    return to;
}

int cli_fail(const spry_error *err)
{
    const char *text = err->message[0] ? err->message : spry_status_text(err->status);
    char with_options[2 * sizeof err->message];
    text = name_options(err, text, with_options, sizeof with_options);
    const size_t length = strlen(command_name); /* leave out the operation's name at the start of a message */
    if (length > 0 && strncmp(text, command_name, length) == 0 && strncmp(text + length, ": ", 2) == 0)
        text += length + 2;
    const int listed = err->status == SPRY_UNKNOWN_NAME && strcmp(err->argument, "kernel") == 0;
    char name[64];
    const int is_name = err->status == SPRY_UNKNOWN_NAME || err->status == SPRY_INVALID_ARGUMENT;
    const char *nearest = is_name ? nearest_name(err, name, sizeof name) : NULL;
    const int padded = strstr(text, "padding guard") && cli_command_has("memory-limit");
    cli_message("%s%s%s%s%s%s", text, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "",
                listed && !nearest ? "; 'spry kernels' lists them" : "",
                padded ? "; --memory-limit replaces the guard" : "");
    return cli_status(err);
}

/* Returns true if a missing file has the form GROUP/NAME of the SuiteSparse Matrix Collection. */
static bool may_be_fetched(const char *file)
{
    const char *slash = strchr(file, '/');
    return slash && slash > file && slash[1] && !strchr(slash + 1, '/') && !strchr(file, '.') && file[0] != '~';
}

int cli_fail_reading(const spry_error *err)
{
    const int status = cli_fail(err);
    if (err->status == SPRY_FILE_ERROR && may_be_fetched(err->file))
        cli_message("'spry fetch %s' gets a matrix of that name from the SuiteSparse collection, if it exists",
                    err->file);
    return err->status == SPRY_TOO_LARGE ? CLI_USAGE : status;
}

int cli_read_csr(spry_context *context, spry_matrix **A, const char *path, spry_type type,
                 const spry_index_type index[2])
{
    spry_error err = {0};
    spry_read_options options = cli_reading(type);
    options.offset_type = index[0];
    options.index_type = index[1];
    cli_progress("reading");
    return read_csr(context, A, path, &options, &err) == SPRY_OK ? CLI_GO_ON : cli_fail_reading(&err);
}

int cli_store_as(spry_context *context, spry_matrix **A, spry_type stored)
{
    spry_arrays a = SPRY_INIT(spry_arrays);
    spry_error err = {0};
    spry_matrix *B = NULL;
    spry_rounding r = SPRY_INIT(spry_rounding);
    spry_matrix_options options = SPRY_INIT(spry_matrix_options);
    if (spry_matrix_get_arrays(*A, &a, &err) != SPRY_OK) return cli_fail(&err);
    if (a.value_type == stored) return CLI_GO_ON;
    options.value_type = stored;
    options.offset_type = a.offset_type;
    if (spry_matrix_convert(context, &B, &r, *A, &options, &err) != SPRY_OK) return cli_fail(&err);
    spry_matrix_destroy(*A);
    *A = B;
    cli_message("note: %s of %s values were rounded to %s, by at most %.2g of their size%s", cli_count(r.rounded).s,
                cli_count(a.nnz).s, spry_type_name(stored), r.largest,
                r.vanished > 0 ? "; some became 0, which counts as 1" : "");
    const int base = index_base_of(*A);
    if (r.overflowed > 0)
        cli_message("note: %s values overflowed %s, the first in row %s and column %s (counted from %d)",
                    cli_count(r.overflowed).s, spry_type_name(stored), cli_count(r.overflowed_row + base).s,
                    cli_count(r.overflowed_column + base).s, base);
    return CLI_GO_ON;
}

int cli_open_context(spry_context **context, int64_t threads)
{
    spry_context_options options = SPRY_INIT(spry_context_options);
    spry_error err = {0};
    options.threads = (int)threads;
    if (spry_context_create(context, &options, &err) != SPRY_OK) return cli_fail(&err);
    const char *table = getenv("SPRY_TUNING");
    if (!table || !table[0] || spry_context_load_tuning(*context, table, &err) == SPRY_OK) return CLI_GO_ON;
    spry_context_destroy(*context);
    *context = NULL;
    return cli_fail(&err);
}

/* Returns true if CSR has no entry in the first row and column. */
static bool first_node_is_unknown(const spry_arrays *a)
{
    const int64_t first = index_at(a->offsets, a->offset_type, 1);
    if (a->layout != SPRY_CSR || first > 0) return false;
    for (int64_t k = 0; k < a->nnz; k++)
        if (index_at(a->indices, a->index_type, k) == 0) return false;
    return true;
}

/* Prints notes on possible mistakes in the options for an edge list. */
static int note_edges(const cli_input *input)
{
    spry_error err = {0};
    spry_source_info source = SPRY_INIT(spry_source_info);
    if (spry_matrix_get_source(input->A, &source, &err) != SPRY_OK) return cli_fail(&err);
    if (strcmp(source.kind, "edge list") != 0) return CLI_GO_ON;
    const char *skipped = strstr(source.layout, "not read: ");
    if (skipped && !strstr(source.layout, ", weight of"))
        cli_message("note: columns are %.*s; a column named weight would be read as weights",
                    (int)strcspn(skipped, ")"), skipped);
    if (input->base == 0 && input->arrays.nnz > 0 && first_node_is_unknown(&input->arrays))
        cli_message("note: no edge has node 0; if the file counts from 1, use --base 1");
    return CLI_GO_ON;
}

int cli_open_input(cli_input *input, const char *path, spry_type type, int64_t threads)
{
    spry_error err = {0};
    const spry_read_options reading = cli_reading(type);
    *input = (cli_input){.arrays = SPRY_INIT(spry_arrays)};
    matrix_name(input->name, sizeof input->name, path);
    int status = cli_open_context(&input->context, threads);
    if (status != CLI_GO_ON) return status;
    cli_progress("reading");
    const double start = now_us();
    if (open_matrix(input->context, &input->A, path, &reading, &err) != SPRY_OK) return cli_fail_reading(&err);
    input->read_us = now_us() - start;
    input->base = index_base_of(input->A);
    if (spry_matrix_get_arrays(input->A, &input->arrays, &err) != SPRY_OK) return cli_fail(&err);
    return note_edges(input);
}

void cli_note_base(const char *out, int base)
{
    const char *const kind = base == 0 && out ? cli_output_kind(out) : NULL;
    if (kind && strncmp(kind, "Matrix Market", 13) == 0)
        cli_message("note: Matrix Market counts from 1: node k of the input is row k + 1 in %s",
                    cli_is_dash(out) ? "the output" : out);
}

void cli_close_input(cli_input *input)
{
    spry_matrix_destroy(input->A);
    spry_context_destroy(input->context);
}
