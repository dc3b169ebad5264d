#include "cli/cli.h"
#include "spry/io.h"
#include "spry/tools.h"

#include "common/input.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const char *command_name = "";
static struct timespec started;

void cli_set_command(const char *name)
{
    command_name = name;
    clock_gettime(CLOCK_MONOTONIC, &started);
}

/* ---- progress ----------------------------------------------------------------------------------- */

/* A step that is begun in the first second may last: a thread shows its text when the second has passed. */
static struct {
    pthread_mutex_t lock;
    char text[256]; /* of the step under way, "": none */
    int is_shown, is_awaited;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int second_has_passed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > started.tv_sec + 1 || (now.tv_sec == started.tv_sec + 1 && now.tv_nsec >= started.tv_nsec);
}

/* With one call past stdio's buffers, which belong to the main thread. */
static void write_to_terminal(const char *text, int length)
{
    ssize_t written = write(STDERR_FILENO, text, (size_t)length);
    (void)written; /* nobody is left to tell */
}

/* In one line of the terminal: only of the last one could it be taken back. */
static void show(void)
{
    char line[sizeof progress.text + 16];
    struct winsize size;
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    int most = columns > 5 ? columns - 5 : 0;
    int length = snprintf(line, sizeof line, "\r\033[K%.*s ...", most < 100 ? most : 100, progress.text);
    write_to_terminal(line, length);
    progress.is_shown = 1;
}

static void *show_later(void *unused)
{
    struct timespec end = {started.tv_sec + 1, started.tv_nsec};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
    }
    pthread_mutex_lock(&progress.lock);
    if (progress.text[0]) show();
    pthread_mutex_unlock(&progress.lock);
    return unused;
}

/* Without a thread to be had, steps begun later are shown all the same. */
static void await_second(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (progress.is_awaited || pthread_attr_init(&attributes) != 0) return;
    progress.is_awaited = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
                          pthread_attr_setstacksize(&attributes, (size_t)256 << 10) == 0 &&
                          pthread_create(&thread, &attributes, show_later, NULL) == 0;
    pthread_attr_destroy(&attributes);
}

void cli_progress(const char *text)
{
    if (!isatty(STDERR_FILENO)) return;
    pthread_mutex_lock(&progress.lock);
    snprintf(progress.text, sizeof progress.text, "%s", text ? text : "");
    for (char *c = progress.text; *c; c++) /* whatever a file is called */
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    if (!text && progress.is_shown) {
        write_to_terminal("\r\033[K", 4);
        progress.is_shown = 0;
    } else if (text && second_has_passed()) {
        show();
    } else if (text) {
        await_second();
    }
    pthread_mutex_unlock(&progress.lock);
}

void cli_progress_writing(const char *path)
{
    cli_progress(cli_is_dash(path) ? NULL : "writing");
}

/* ---- messages ----------------------------------------------------------------------------------- */

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

int cli_fail(const spry_error *err)
{
    const char *text = err->message[0] ? err->message : spry_status_text(err->status);
    const size_t length = strlen(command_name); /* some of the library's messages begin with the operation's name */
    if (length > 0 && strncmp(text, command_name, length) == 0 && strncmp(text + length, ": ", 2) == 0)
        text += length + 2;
    const int listed = err->status == SPRY_UNKNOWN_NAME &&
                       (strcmp(err->argument, "kernel") == 0 || strcmp(err->argument, "format") == 0);
    cli_message("%s%s", text, listed ? "; 'spry kernels' lists them" : "");
    return cli_status(err);
}

int cli_fail_reading(const spry_error *err)
{
    const int status = cli_fail(err);
    return err->status == SPRY_TOO_LARGE ? CLI_USAGE : status;
}

int cli_read_csr(spry_context *context, spry_matrix **A, const char *path, spry_type type,
                 const spry_index_type index[2])
{
    spry_error err = {0};
    spry_read_options options = SPRY_INIT(spry_read_options);
    options.value_type = type;
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
    spry_convert_options options = SPRY_INIT(spry_convert_options);
    if (spry_matrix_get_arrays(*A, &a, &err) != SPRY_OK) return cli_fail(&err);
    if (a.value_type == stored) return CLI_GO_ON;
    options.value_type = stored;
    options.rounding = &r;
    if (spry_matrix_convert(context, &B, *A, &options, &err) != SPRY_OK) return cli_fail(&err);
    spry_matrix_destroy(*A);
    *A = B;
    cli_message("note: %s of %s values were rounded to %s, by %.2g of their size at most%s", cli_count(r.rounded).s,
                cli_count(a.nnz).s, spry_type_name(stored), r.largest,
                r.vanished > 0 ? "; some became 0, which counts as 1" : "");
    if (r.overflowed > 0)
        cli_message("note: %s values overflowed %s, the first in row %s and column %s", cli_count(r.overflowed).s,
                    spry_type_name(stored), cli_count(r.overflowed_row + 1).s, cli_count(r.overflowed_col + 1).s);
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

int cli_open_input(cli_input *input, const char *path, spry_type type, int64_t threads)
{
    spry_error err = {0};
    spry_read_options reading = SPRY_INIT(spry_read_options);
    *input = (cli_input){.arrays = SPRY_INIT(spry_arrays)};
    matrix_name(input->name, sizeof input->name, path);
    int status = cli_open_context(&input->context, threads);
    if (status != CLI_GO_ON) return status;
    cli_progress("reading");
    reading.value_type = type;
    const double start = now_us();
    if (spry_matrix_open(input->context, &input->A, path, &reading, &err) != SPRY_OK) return cli_fail_reading(&err);
    input->read_us = now_us() - start;
    return spry_matrix_get_arrays(input->A, &input->arrays, &err) == SPRY_OK ? CLI_GO_ON : cli_fail(&err);
}

void cli_close_input(cli_input *input)
{
    spry_matrix_destroy(input->A);
    spry_context_destroy(input->context);
}
