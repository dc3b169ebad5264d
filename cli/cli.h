/* Shared by all commands: options and help, messages, numbers for people, output files. */
#pragma once

#include "common/text_list.h"
#include "spry/io.h"
#include "spry/spry.h"

#include <stddef.h>
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

/* Where an option's value goes, at `at` in the command's arguments. */
typedef enum cli_kind {
    CLI_FLAG,    /* int: 1 when it is given; takes no value */
    CLI_TEXT,    /* const char * */
    CLI_INTEGER, /* int64_t, from least to most */
    CLI_NUMBER,  /* double, finite; above least, below most where they differ */
    CLI_WORD,    /* const char *: one of the words of `value`, "cpu|cuda" */
    CLI_CHOICE,  /* int, or an enumeration: the word's number, from least on */
    CLI_TIME,    /* double, microseconds: "50ms", "2s", "500us" */
    CLI_BYTES,   /* int64_t, 1 or more: "65536", "1.5MB", "4GiB", "4G" */
    CLI_INDEX,   /* spry_index_type[2]: of offsets and of columns, "64/32" */
    CLI_LIST,    /* text_list, "a,b,c"; with 1 as least, an item may come again: names may have commas */
    CLI_JSON,    /* cli_json; the value may be left out */
    CLI_OWN,     /* take(state, value) */
    CLI_FLAG_OWN /* take(state, NULL); takes no value */
} cli_kind;

typedef struct cli_option {
    const char *name;  /* without the dashes */
    char letter;       /* short form, 0: none */
    const char *value; /* "FILE", "f32|f64": for the help */
    const char *help;
    cli_kind kind;
    size_t at;
    int64_t least, most;
    int (*take)(void *state, const char *value); /* CLI_GO_ON, or an exit status after a message */
    int optional;                                /* 1: of CLI_OWN, the value may be left out: NULL */
} cli_option;

/* The member of a command's `arguments` that an option sets. */
#define CLI_AT(field) .at = offsetof(arguments, field)

/* Options that several commands have. */
#define CLI_THREADS_OPTION(about)                                                                                      \
    {                                                                                                                  \
        "threads", 0, "N", about " (default: OMP_NUM_THREADS, else all)", CLI_INTEGER, CLI_AT(threads), 1, 1024        \
    }
#define CLI_JSON_OPTION(about)                                                                                         \
    {                                                                                                                  \
        "json", 0, "FILE", about " to standard output or FILE", CLI_JSON, CLI_AT(json)                                 \
    }
/* What the command line tells of the files that are read: of all of them, whatever the command (cli_reading). */
#define CLI_READING_OPTIONS                                                                                            \
    {"base",                                                                                                           \
     0,                                                                                                                \
     "0|1",                                                                                                            \
     "number of the first row and node in an edge list, in what is shown, and\n"                                       \
     "in containers and .csv files that are written (default: that of the\n"                                           \
     "file; of an edge list 0)",                                                                                       \
     CLI_OWN,                                                                                                          \
     .take = cli_take_base},                                                                                           \
        {"input",      0,                                                                                              \
         "auto|edges", "edges: FILE, or standard input, is an edge list, whatever its name\n(default: auto)",          \
         CLI_OWN,      .take = cli_take_input},                                                                        \
        {"duplicates",                                                                                                 \
         0,                                                                                                            \
         "sum|drop",                                                                                                   \
         "what several entries at one place of a text file count: their sum, or\nthe first (default: sum)",            \
         CLI_OWN,                                                                                                      \
         .take = cli_take_duplicates},                                                                                 \
    {                                                                                                                  \
        "undirected", 0, NULL, "of an edge list: each edge goes both ways", CLI_FLAG_OWN, .take = cli_take_undirected  \
    }
/* An int64_t named `at`: what plans may own, in place of the padding guard. */
#define CLI_MEMORY_LIMIT_OPTION(at_)                                                                                   \
    {                                                                                                                  \
        "memory-limit", 0, "BYTES",                                                                                    \
            "most that a plan may own, in place of the padding guard: 500MB (powers\n"                                 \
            "of 1000), 2GiB or 2G (of 1024). A format named that takes more is\n"                                      \
            "refused; auto chooses csr instead",                                                                       \
            CLI_BYTES, CLI_AT(at_)                                                                                     \
    }
/* A cli_policy named `policy`. */
#define CLI_POLICY_OPTIONS                                                                                             \
    {"policy",                                                                                                         \
     0,                                                                                                                \
     "NAME",                                                                                                           \
     "how auto decides: cost, measure, tree, tree:memory or\n"                                                         \
     "tree:unpredictable (default: cost)",                                                                             \
     CLI_TEXT,                                                                                                         \
     CLI_AT(policy.name)},                                                                                             \
        {"budget", 0,                                                                                                  \
         "TIME",   "of measure: what trying formats may take, as 500us, 50ms or 2s (default: 50ms)",                   \
         CLI_TIME, CLI_AT(policy.budget_us)},                                                                          \
    {                                                                                                                  \
        "cache", 0, "FILE",                                                                                            \
            "of measure: the file that remembers what was measured\n"                                                  \
            "(default: SPRY_CHOICES, else none; 'spry tune --list')",                                                  \
            CLI_TEXT, CLI_AT(policy.cache)                                                                             \
    }
/* A const char * named `layout`, NULL if it is not given: the layout of several vectors. */
#define CLI_LAYOUT_OPTION(of)                                                                                          \
    {                                                                                                                  \
        "layout", 0, "row|column", of ": X and Y are row-major or column-major (default: row)", CLI_WORD,              \
            CLI_AT(layout)                                                                                             \
    }
#define CLI_END_OF_OPTIONS                                                                                             \
    {                                                                                                                  \
        0                                                                                                              \
    }

typedef struct cli_command {
    const char *name, *summary;
    const char *usage; /* what follows the name */
    const char *about; /* a paragraph */
    const char *examples;
    const cli_option *options; /* beside --help, up to a NULL name */
    int least, most;           /* positional arguments; most -1: any number */
    const char *positional;    /* what they are; NULL: one, a matrix FILE */
    int (*run)(const struct cli_command *command, int argc, char **argv);
} cli_command;

extern const cli_command cli_info, cli_devices, cli_kernels, cli_spmv, cli_bench, cli_convert, cli_gen, cli_pagerank,
    cli_reorder, cli_solve, cli_spgemm, cli_tune, cli_explain, cli_report, cli_fetch;

/*
 * Goes through argv (argv[0] is the command's name) and puts values where they belong in the arguments. Positional
 * arguments are moved to the front: argv[0] .. argv[*count-1]. CLI_GO_ON, or the exit status to stop with (--help: 0).
 */
int cli_parse(const cli_command *command, int *count, char **argv, void *arguments);
void cli_print_help(FILE *out, const cli_command *command);
int cli_command_has(const char *option); /* 1: the command that runs has the option: advice names no other */

/* Values of options: CLI_GO_ON, or CLI_USAGE after a message. */
int cli_take_integer(const char *option, const char *text, int64_t least, int64_t most, int64_t *value);
int cli_take_number(const char *option, const char *text, double *value);
int cli_take_time(const char *option, const char *text, double *us); /* above 0, "50ms" */
int cli_take_bytes(const char *option, const char *text, int64_t *bytes);
/* A factor must not become infinite, nor 0, which is a case of its own, when it is rounded to the type. */
int cli_check_range(const char *option, double value, spry_type type);
/* *index: which of the words of "cpu|cuda". */
int cli_take_word(const char *option, const char *text, const char *words, int *index);
/* Reads a number of --count. */
enum { CLI_MOST_VECTORS = 4096 };
int cli_take_count(const char *text, int64_t *count);
int cli_is_row_major(const char *layout); /* of --layout; NULL: the default */
/* The number 1 as a matrix: names of kernels, formats and devices are tried on it before minutes go into reading. */
spry_status cli_one(spry_context *context, spry_matrix **A, spry_type type, spry_error *err);
/* --type of products with vectors: one type for values and vectors, or two. */
#define CLI_TYPES "f32|f64|f32:f64|bf16:f32|f16:f32"
int cli_take_types(const char *text, spry_type *stored, spry_type *vectors);
const char *cli_types_name(spry_type stored, spry_type vectors); /* "f64", "bf16:f32" */
/* *A with its values as `stored`, where they are others; what that did to them is told. */
int cli_store_as(spry_context *context, spry_matrix **A, spry_type stored);
/* Reports what that said, where no other matrix would change it. */
int cli_certain(spry_status status, const spry_error *err);

int cli_take_list(const char *option, const char *text, text_list *list); /* "a,b,c" */
int cli_take_items(const char *option, const char *text, text_list *list, int may_repeat);
void cli_release_list(text_list *list);

/* Of CLI_READING_OPTIONS, and how files are read by them: values as `type`, indices the smallest that fit. */
int cli_take_base(void *state, const char *value);
int cli_take_input(void *state, const char *value);
int cli_take_duplicates(void *state, const char *value);
int cli_take_undirected(void *state, const char *value);
spry_read_options cli_reading(spry_type type);

/* The name nearest to a mistyped one, NULL if none is near. */
const char *cli_nearest(const char *text, const char *const *names, int count);

/* ---- messages (messages.c) ---------------------------------------------------------------------- */

/* "spry bench: ..." to standard error. */
void cli_set_command(const char *name);
const char *cli_command_name(void);
/* The first message of this run that was no note: what a refusal's JSON line tells; "": none. */
const char *cli_first_message(void);
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2))); /* returns CLI_USAGE */
int cli_status(const spry_error *err);                                              /* exit status for it */
int cli_fail(const spry_error *err);                                                /* message and exit status */
/* The same of reading an input: a count that its indices cannot hold is bad input. */
int cli_fail_reading(const spry_error *err);
/* Reads a matrix as CSR, its index types those of --index. CLI_GO_ON, or an exit status after a message. */
int cli_read_csr(spry_context *context, spry_matrix **A, const char *path, spry_type type,
                 const spry_index_type index[2]);

/* A context with that many threads (0: the default) and the table of SPRY_TUNING, or a message and an exit status. */
int cli_open_context(spry_context **context, int64_t threads);

/* The matrix of a command: read in the layout of the file, and how long that took. */
typedef struct cli_input {
    spry_context *context;
    spry_matrix *A;
    spry_arrays arrays;
    char name[256];
    int base; /* number of the first row and node in the output: index_base_of(A) */
    double read_us;
} cli_input;
/* Notes that Matrix Market, which `out` (NULL: none) may be, counts from 1, if base is 0. */
void cli_note_base(const char *out, int base);
/* CLI_GO_ON, or an exit status after a message. Close in any case. */
int cli_open_input(cli_input *input, const char *path, spry_type type, int64_t threads);
void cli_close_input(cli_input *input);

/* ---- long work (progress.c) --------------------------------------------------------------------- */

void cli_progress_begin(void); /* the command begins: its first second passes without a line */
/*
 * A line that is overwritten, on a terminal, from the command's first second on: the text of the step, and how long it
 * takes. NULL ends it: before anything is written to standard output, which may be the same terminal. Messages end it
 * themselves.
 */
void cli_progress(const char *text);
void cli_progress_writing(const char *path); /* "writing"; to standard output ("-"): none */
/* The share of the whole command's work that is done, for the time left; below 0: not known. */
void cli_progress_share(double share);
int cli_width(int stream); /* columns of the terminal, else those of COLUMNS, else 80 */

/*
 * What is said if the command is interrupted from now on, behind "interrupted: "; a line at most. Whatever is said,
 * the process ends by the signal.
 */
void cli_when_interrupted(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The temporary file that an interrupted command removes; NULL: none. */
void cli_remove_when_interrupted(char *path);

/* ---- numbers for people (text.c) ---------------------------------------------------------------- */

typedef struct cli_text {
    char s[48];
} cli_text;
cli_text cli_bytes(int64_t bytes);   /* "12.3 MB" */
cli_text cli_count(int64_t count);   /* "1 234 567" */
cli_text cli_decimal(double value);  /* "1 234.5" */
cli_text cli_time(double us);        /* "1.23 ms" */
const char *cli_known(spry_known k); /* "yes", "no", "not known" */
/* A line of a report: that other programs had so much of the processors meanwhile; nothing where it was little. */
void cli_print_disturbed(double others);
int cli_utf8(void); /* 1: the terminal takes Unicode */

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

/* --json[=FILE]: where the records go. */
typedef struct cli_json {
    int wanted;
    const char *path; /* NULL: standard output */
    cli_output output;
} cli_json;

/*
 * What a command wrote: a line for people, where standard output is not the file itself, or one of JSON. name: of what
 * the matrix was made of. An exit status.
 */
int cli_tell_written(cli_json *json, const char *name, const spry_matrix *A, const char *path);

/* "-" or NULL: standard output. Exit status or CLI_GO_ON. */
int cli_output_open(cli_output *output, const char *path);
/*
 * Before any work: refuses an output (NULL: none) that cannot be made in its folder, or is the very file of an input
 * and would replace it. CLI_GO_ON or CLI_USAGE.
 */
int cli_check_output(const char *option, const char *output, const char *input);
/* Refuses one file for two options. */
int cli_check_two_outputs(const char *option, const char *output, const char *other, const char *path);
/* The same of --out and --json. */
int cli_check_outputs(const char *out, const cli_json *json, const char *input);
/*
 * Returns the kind of file that spry_matrix_write writes under this name: "Matrix Market", "CSV" or "container", the
 * first two also with ", gzip". NULL: the ending is unknown.
 */
const char *cli_output_kind(const char *path);
int cli_is_csv(const char *path); /* 1: the kind is "CSV" */
/* Refuses a name (NULL: none) whose ending no vector has. CLI_GO_ON or CLI_USAGE. */
int cli_check_vector_name(const char *option, const char *path);
/* The same of --out, which must not be standard output beside records. */
int cli_check_vector_output(const char *out, const cli_json *json);
/* Writes a vector. Of CSV `row` and `value` name the columns, and base is the first row's number. */
spry_status cli_write_vector(spry_context *context, spry_const_vector v, const char *path, const char *row,
                             const char *value, int base, spry_error *err);
/* Refuses a report (NULL: none) under an ending other than .html. CLI_GO_ON or CLI_USAGE. */
int cli_check_page_name(const char *option, const char *path);
/* 1: the text ends so, and is longer. */
int cli_ends_with(const char *text, const char *end);
/* 1: "-", which is standard input or output. */
int cli_is_dash(const char *path);
/* --out and --json may not both be standard output. */
int cli_check_stdout(const char *out, const cli_json *json);
/* Refuses a name (NULL: none) whose ending no matrix has. CLI_GO_ON or CLI_USAGE. */
int cli_check_matrix_name(const char *output);
/* Flushes and gives the file its name. status is what the command would end with; the worse of both comes back. */
int cli_output_close(cli_output *output, int status);

/*
 * A command that is refused, or fails before it has a line to write, writes one all the same, with its first message as
 * the reason. expect looks for --json among a command's arguments before they are parsed; set_input tells the matrix
 * (of a command line that could be parsed); refuse writes the line where none was and returns the status to end with. A
 * FILE is replaced unless it holds anything else than JSON lines, and never that of bench, which may be hours of work.
 */
void cli_json_expect(int count, char **arguments);
void cli_json_set_input(const char *path);
int cli_json_refuse(int status);

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

/* ---- choices.c: the policy of "auto", and choices that were measured -------------------------------------------- */

typedef struct cli_policy {
    const char *name, *cache;
    double budget_us; /* 0: the default */
} cli_policy;

/* --budget and --cache go with --policy measure: CLI_GO_ON, or CLI_USAGE after a message. */
int cli_check_policy(const cli_policy *policy);
void cli_apply_policy(const cli_policy *policy, spry_spmv_options *options);

/* With --policy measure the context remembers in --cache, else in SPRY_CHOICES. CLI_GO_ON, or an exit status. */
int cli_use_choices(spry_context *context, const cli_policy *policy);

/* Lists or clears the choices of a file (NULL: SPRY_CHOICES). An exit status. */
int cli_manage_choices(const char *file, int clear, cli_json *json);

/*
 * fetch.c: the folder where matrices are kept: given, else SPRY_MATRIX_DIR, else spry/ of the user's cache folder.
 * 0: none is known, or its name is too long.
 */
int cli_folder_of_matrices(const char *given, char *folder, size_t size);
