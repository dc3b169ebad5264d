/* What the commands share: options and help, messages, numbers for people, output files. */
#ifndef SPRY_CLI_H
#define SPRY_CLI_H

#include "spry/spry.h"

#include <stdint.h>
#include <stdio.h>

/* Exit statuses. */
enum {
    CLI_OK = 0,
    CLI_UNSUCCESSFUL = 1, /* valid, but did not succeed: out of memory, verification failed, a case wrong */
    CLI_USAGE = 2         /* bad usage, missing or unreadable file, bad input */
};
enum { CLI_GO_ON = -1 }; /* what a parser answers when there is no reason to stop */

/* ---- commands and options (options.c) ----------------------------------------------------------- */

typedef enum cli_argument { CLI_NONE, CLI_REQUIRED, CLI_OPTIONAL } cli_argument;

typedef struct cli_option {
    const char *name; /* without the dashes */
    char letter;      /* short form, 0: none */
    cli_argument argument;
    const char *value; /* "FILE", "f32|f64": for the help */
    const char *help;
} cli_option;

typedef struct cli_command {
    const char *name, *summary;
    const char *usage; /* what follows the name */
    const char *about; /* a paragraph */
    const char *examples;
    const cli_option *options; /* beside --help, up to a NULL name */
    int least, most;           /* positional arguments; most -1: any number */
    const char *positional;    /* what they are: "a matrix FILE" */
    int (*run)(const struct cli_command *command, int argc, char **argv);
} cli_command;

extern const cli_command cli_info, cli_devices, cli_kernels, cli_spmv, cli_bench, cli_convert, cli_gen, cli_pagerank,
    cli_reorder, cli_solve, cli_spgemm, cli_tune;

/* Takes the value (NULL: none) of options[option]; CLI_GO_ON, or an exit status after a message. */
typedef int (*cli_apply)(void *state, int option, const char *value);

/*
 * Goes through argv (argv[0] is the command's name). Positional arguments are moved to the front:
 * argv[0] .. argv[*count-1]. CLI_GO_ON, or the exit status to stop with (--help: 0).
 */
int cli_parse(const cli_command *command, int *count, char **argv, cli_apply apply, void *state);
void cli_print_help(FILE *out, const cli_command *command);

/* Values of options. Each reports what is wrong and returns 0. */
int cli_take_integer(const char *option, const char *text, int64_t least, int64_t most, int64_t *value);
int cli_take_number(const char *option, const char *text, double *value);
/* *index: which of the NULL-terminated names. */
int cli_take_name(const char *option, const char *text, const char *const *names, int *index);
/* The number 1 as a matrix: names of kernels, formats and devices are tried on it before minutes go into reading. */
spry_status cli_one(spry_context *context, spry_matrix **A, spry_type type, spry_error *err);
/* What that said: reported, where no other matrix would change it. */
int cli_certain(spry_status status, const spry_error *err);

/* --type f32|f64|pattern up to `last`, --index 32/32|64/32|64/64. CLI_GO_ON, or an exit status after a message. */
int cli_take_type(const char *text, spry_type last, spry_type *type);
int cli_take_index(const char *text, spry_index_type *offset_type, spry_index_type *index_type);

typedef struct cli_list {
    char **items;
    int count;
} cli_list;
/* "a,b,c" */
int cli_take_list(const char *option, const char *text, cli_list *list);
int cli_add_to_list(cli_list *list, const char *item, size_t length); /* 0: out of memory, after a message */
void cli_release_list(cli_list *list);

/* The name nearest to a mistyped one, NULL if none is near. */
const char *cli_nearest(const char *text, const char *const *names, int count);

/* ---- messages (messages.c) ---------------------------------------------------------------------- */

/* "spry bench: ..." to standard error. */
void cli_set_command(const char *name);
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2))); /* returns CLI_USAGE */
int cli_status(spry_status status, const spry_error *err);                          /* exit status for it */
int cli_fail(const spry_error *err);                                                /* message and exit status */

/*
 * A line that is overwritten, on a terminal, from the command's first second on. NULL ends it: before anything is
 * written to standard output, which may be the same terminal. Messages end it themselves.
 */
void cli_progress(const char *text);
void cli_progress_writing(const char *path); /* "writing"; to standard output ("-"): none */

/* A context with that many threads (0: the default) and the table of SPRY_TUNING, or a message and an exit status. */
int cli_open_context(spry_context **context, int64_t threads);

/* ---- numbers for people (text.c) ---------------------------------------------------------------- */

typedef struct cli_text {
    char s[48];
} cli_text;
cli_text cli_bytes(int64_t bytes);   /* "12.3 MB" */
cli_text cli_count(int64_t count);   /* "1 234 567" */
cli_text cli_time(double us);        /* "1.23 ms" */
const char *cli_known(spry_known k); /* "yes", "no", "not known" */
int cli_utf8(void);                  /* 1: the terminal takes Unicode */

/* A matrix as a picture of density, `indent` blanks before each line. 0: message given. */
int cli_print_spy(FILE *out, const spry_matrix *A, int height, int width, int indent);
/* A bar of `share` of `width` cells. */
void cli_print_bar(FILE *out, double share, int width);

/* ---- output files (output.c) -------------------------------------------------------------------- */

/* Written under another name and renamed when complete; standard output, devices and FIFOs directly. */
typedef struct cli_output {
    FILE *stream;
    int error; /* errno of a write that failed, 0: none */
    char path[4096], temporary[4096];
} cli_output;

/* "-" or NULL: standard output. Exit status or CLI_GO_ON. */
int cli_output_open(cli_output *output, const char *path);
/*
 * Before any work: refuses an output (NULL: none) that cannot be made in its folder, or is the very file of an input
 * and would replace it. CLI_GO_ON or CLI_USAGE.
 */
int cli_check_output(const char *option, const char *output, const char *input);
/* A matrix's format is told by its name: refuses an ending that none has, but not of devices and FIFOs. As above. */
int cli_check_matrix_name(const char *output);
/* Flushes and gives the file its name. status is what the command would end with; the worse of both comes back. */
int cli_output_close(cli_output *output, int status);

/* --json[=FILE]: where the records go. */
typedef struct cli_json {
    int wanted;
    const char *path; /* NULL: standard output */
    cli_output output;
} cli_json;
int cli_json_open(cli_json *json); /* CLI_GO_ON or an exit status; nothing when not wanted */
/*
 * The same for records that take long to come: a file is emptied and written under its own name, line by line, so that
 * whatever ends the command leaves those that are there. To be called when nothing can be refused any more.
 */
int cli_json_open_stream(cli_json *json);
int cli_json_close(cli_json *json, int status); /* the status to end with */
/* 1: people's text goes to standard output (no JSON does). */
int cli_for_people(const cli_json *json);
struct cJSON;
/* One line, flushed; deletes the object. good is 0 when building it failed. */
int cli_json_line(cli_json *json, struct cJSON *object, int good);

/*
 * spy_png.c: both matrices side by side, 1024 pixels wide, dark on white. CLI_GO_ON, or an exit status after a message:
 * also where the program was built without libpng.
 */
int cli_write_spy_png(const char *path, const spry_matrix *before, const spry_matrix *after);

/* storage.c: what each format would take for A, and what "auto" picks. */
void cli_print_storage(spry_context *context, const spry_matrix *A);
int cli_json_storage(struct cJSON *o, spry_context *context, const spry_matrix *A); /* 0: out of memory */

#endif
