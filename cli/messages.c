#include "cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *command_name = "";
static struct timespec started;
static int progress_shown;

void cli_set_command(const char *name)
{
    command_name = name;
    clock_gettime(CLOCK_MONOTONIC, &started);
}

void cli_progress(const char *text)
{
    struct timespec now;
    if (!isatty(STDERR_FILENO)) return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - started.tv_sec) + 1e-9 * (double)(now.tv_nsec - started.tv_nsec);
    if (!text && progress_shown) {
        fputs("\r\033[K", stderr);
        progress_shown = 0;
    } else if (text && seconds > 1) {
        fprintf(stderr, "\r\033[K%.100s ...", text);
        progress_shown = 1;
    }
    fflush(stderr);
}

static void message(const char *format, va_list arguments)
{
    cli_progress(NULL);
    fflush(stdout);
    fprintf(stderr, "spry%s%s: ", command_name[0] ? " " : "", command_name);
    /* One line, and nothing that steers a terminal, whatever an argument or a file is called. */
    char text[2 * 4096];
    vsnprintf(text, sizeof text, format, arguments);
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

/* A count that the chosen index type cannot hold is bad input; too little memory is a good run without success. */
static int breaks_index_type(const spry_error *err)
{
    return strcmp(err->argument, "index_type") == 0 || strcmp(err->argument, "offset_type") == 0;
}

int cli_status(spry_status status, const spry_error *err)
{
    switch (status) {
    case SPRY_OK: return CLI_OK;
    case SPRY_INVALID_ARGUMENT:
    case SPRY_INVALID_SIZE:
    case SPRY_INVALID_MATRIX:
    case SPRY_UNKNOWN_NAME:
    case SPRY_FILE_ERROR:
    case SPRY_BAD_FILE: return CLI_USAGE;
    case SPRY_UNSUPPORTED: return err && err->file[0] ? CLI_USAGE : CLI_UNSUCCESSFUL;
    case SPRY_TOO_LARGE: return err && breaks_index_type(err) ? CLI_USAGE : CLI_UNSUCCESSFUL;
    default: return CLI_UNSUCCESSFUL;
    }
}

int cli_fail(const spry_error *err)
{
    const char *text = err->message[0] ? err->message : spry_status_text(err->status);
    const size_t length = strlen(command_name); /* some of the library's messages begin with the operation's name */
    if (length > 0 && strncmp(text, command_name, length) == 0 && strncmp(text + length, ": ", 2) == 0)
        text += length + 2;
    cli_message("%s", text);
    return cli_status(err->status, err);
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
