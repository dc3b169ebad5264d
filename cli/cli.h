/* Shared by all commands: options and help, messages, numbers for people, output files. */
#pragma once

#include "common/text_list.h"
#include "spry/io.h"
#include "spry/spry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses. */
enum {
    CLI_OK = 0,
    CLI_UNSUCCESSFUL = 1, /* valid request without success: out of memory, failed verification, a wrong case */
    CLI_USAGE = 2         /* bad usage, missing or unreadable file, bad input */
};
enum { CLI_GO_ON = -1 }; /* no exit status: the command continues */

/* ---- commands and options (options.c) ----------------------------------------------------------- */

/* Type of an option's value, which is stored at offset `at` of the command's arguments. */
typedef enum cli_kind {
    CLI_FLAG,    /* bool: true if given; without a value */
    CLI_TEXT,    /* const char * */
    CLI_INTEGER, /* int64_t, least to most, both included */
    CLI_NUMBER,  /* finite double; if least and most differ, least < value < most */
    CLI_WORD,    /* const char *: one of the words of `value`, "cpu|cuda" */
    CLI_CHOICE,  /* int or enumeration: least plus the index of the word in `value` */
    CLI_TIME,    /* double, microseconds: "50ms", "2s", "500us" */
    CLI_BYTES,   /* int64_t, 1 or more: "65536", "1.5MB", "4GiB", "4G" */
    CLI_INDEX,   /* spry_index_type[2]: of offsets and of columns, "64/32" */
    CLI_LIST,    /* text_list, "a,b,c"; if least is 1, items may repeat: they may be parts of names with commas */
    CLI_JSON,    /* cli_json; the value is optional */
    CLI_OWN,     /* passed to take(state, value) */
    CLI_FLAG_OWN /* passed to take(state, NULL); without a value */
} cli_kind;

typedef struct cli_option {
    const char *name;  /* without the dashes */
    char letter;       /* short form; 0: none */
    const char *value; /* "FILE", "f32|f64": shown in the help */
    const char *help;
    cli_kind kind;
    size_t at;
    int64_t least, most;
    int (*take)(void *state, const char *value); /* CLI_GO_ON, or an exit status after a message */
    bool optional;                               /* for CLI_OWN: the value is optional; NULL if left out */
} cli_option;

/* The member of a command's `arguments` that an option sets. */
#define CLI_AT(field) .at = offsetof(arguments, field)

/* Options of more than one command. */
#define CLI_THREADS_OPTION(about)                                                                                      \
    {                                                                                                                  \
        "threads", 0, "N", about " (default: OMP_NUM_THREADS, else all)", CLI_INTEGER, CLI_AT(threads), 1, 1024        \
    }
#define CLI_JSON_OPTION(about)                                                                                         \
    {                                                                                                                  \
        "json", 0, "FILE", about " to standard output or FILE", CLI_JSON, CLI_AT(json)                                 \
    }
/* Options for all input files of any command (cli_reading). */
#define CLI_READING_OPTIONS                                                                                            \
    {"base",                                                                                                           \
     0,                                                                                                                \
     "0|1",                                                                                                            \
     "number of the first row and node: in edge lists, in the output, and in\n"                                        \
     "containers and .csv files that are written (default: the base of the\n"                                          \
     "file; 0 for edge lists)",                                                                                        \
     CLI_OWN,                                                                                                          \
     .take = cli_take_base},                                                                                           \
        {"input",      0,                                                                                              \
         "auto|edges", "edges: read FILE or standard input as an edge list (default: auto)",                           \
         CLI_OWN,      .take = cli_take_input},                                                                        \
        {"duplicates", 0,                                                                                              \
         "sum|drop",   "duplicate entries of a text file: use their sum or the first (default:\nsum)",                 \
         CLI_OWN,      .take = cli_take_duplicates},                                                                   \
    {                                                                                                                  \
        "undirected", 0, NULL, "edge lists: each edge counts in both directions", CLI_FLAG_OWN,                        \
            .take = cli_take_undirected                                                                                \
    }
/*
 * Option that sets the int64_t member at_ to the memory limit of plans, which replaces the padding guard
 * (docs/formats.md).
 */
#define CLI_MEMORY_LIMIT_OPTION(at_)                                                                                   \
    {                                                                                                                  \
        "memory-limit", 0, "BYTES",                                                                                    \
            "memory limit of a plan; replaces the padding guard. 500MB (powers of\n"                                   \
            "1000), 2GiB or 2G (powers of 1024). A named format that needs more is\n"                                  \
            "refused; auto then chooses csr",                                                                          \
            CLI_BYTES, CLI_AT(at_)                                                                                     \
    }
/* Options that set the cli_policy member `policy`. */
#define CLI_POLICY_OPTIONS                                                                                             \
    {"policy",                                                                                                         \
     0,                                                                                                                \
     "NAME",                                                                                                           \
     "how auto decides: cost, measure, tree, tree:memory or\n"                                                         \
     "tree:unpredictable (default: cost)",                                                                             \
     CLI_TEXT,                                                                                                         \
     CLI_AT(policy.name)},                                                                                             \
        {"budget", 0,                                                                                                  \
         "TIME",   "policy measure: time for trying formats: 500us, 50ms, 2s (default: 50ms)",                         \
         CLI_TIME, CLI_AT(policy.budget_us)},                                                                          \
    {                                                                                                                  \
        "cache", 0, "FILE",                                                                                            \
            "policy measure: file that keeps measured choices (default:\n"                                             \
            "SPRY_CHOICES, else none); 'spry tune --list' shows them",                                                 \
            CLI_TEXT, CLI_AT(policy.cache)                                                                             \
    }
/* Option that sets the const char * member `layout` to the layout of multiple vectors; NULL if not given. */
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
    const char *usage; /* arguments, shown after the name */
    const char *about; /* paragraphs of the help */
    const char *examples;
    const cli_option *options; /* except --help; ends at a NULL name */
    int least, most;           /* number of positional arguments; most -1: no limit */
    const char *positional;    /* description of the positional arguments; NULL: one matrix FILE */
    int (*run)(const struct cli_command *command, int argc, char **argv);
} cli_command;

extern const cli_command cli_info, cli_devices, cli_kernels, cli_spmv, cli_bench, cli_convert, cli_gen, cli_pagerank,
    cli_reorder, cli_solve, cli_spgemm, cli_tune, cli_explain, cli_report, cli_fetch;

/*
 * Parses argv, in which argv[0] is the command's name, and stores the values in the arguments. Moves positional
 * arguments to argv[0] .. argv[*count-1]. Returns CLI_GO_ON, or the exit status to stop with (0 after --help).
 */
int cli_parse(const cli_command *command, int *count, char **argv, void *arguments);
void cli_print_help(FILE *out, const cli_command *command);
/* Returns true if the running command has the option, so that a message may name it. */
bool cli_command_has(const char *option);

/* Parse values of options. Return CLI_GO_ON, or CLI_USAGE after a message. */
int cli_take_integer(const char *option, const char *text, int64_t least, int64_t most, int64_t *value);
int cli_take_number(const char *option, const char *text, double *value);
int cli_take_time(const char *option, const char *text, double *us); /* above 0, "50ms" */
int cli_take_bytes(const char *option, const char *text, int64_t *bytes);
/* Refuses a factor that becomes infinite or 0 when it is rounded to the type. */
int cli_check_range(const char *option, double value, spry_type type);
/* Sets *index to the position of the text among the words "cpu|cuda". */
int cli_take_word(const char *option, const char *text, const char *words, int *index);
/* Parses a value of --count, a number of vectors. */
enum { CLI_MOST_VECTORS = 4096 };
int cli_take_count(const char *text, int64_t *count);
bool cli_is_row_major(const char *layout); /* layout: value of --layout; NULL: the default, row-major */
/*
 * Creates the 1 x 1 matrix (1). Commands try names of kernels, formats and devices on it, so that a wrong name is
 * reported before a large matrix is read.
 */
spry_status cli_unit_matrix(spry_context *context, spry_matrix **A, spry_type type, spry_error *err);
/* Values of --type for products with vectors: one type, or the type of values and the type of vectors. */
#define CLI_TYPES "f32|f64|f32:f64|bf16:f32|f16:f32"
int cli_take_types(const char *text, spry_type *stored, spry_type *vectors);
const char *cli_types_name(spry_type stored, spry_type vectors); /* "f64", "bf16:f32" */
/* Converts the values of *A to the type `stored` and prints a note on rounding. Does nothing if they have the type. */
int cli_store_as(spry_context *context, spry_matrix **A, spry_type stored);
/* Reports an error that any matrix would cause: an unknown name, a wrong argument, a missing device. */
int cli_fail_early(spry_status status, const spry_error *err);

int cli_take_list(const char *option, const char *text, text_list *list); /* "a,b,c" */
int cli_take_items(const char *option, const char *text, text_list *list, bool may_repeat);
void cli_release_list(text_list *list);

/*
 * Take the values of CLI_READING_OPTIONS. cli_reading returns read options with these values and the value type `type`.
 * The matrix gets the smallest index types that hold it.
 */
int cli_take_base(void *state, const char *value);
int cli_take_input(void *state, const char *value);
int cli_take_duplicates(void *state, const char *value);
int cli_take_undirected(void *state, const char *value);
spry_read_options cli_reading(spry_type type);

/* Returns the name nearest to a mistyped name; NULL if none is near. */
const char *cli_nearest(const char *text, const char *const *names, int count);

/* ---- messages (messages.c) ---------------------------------------------------------------------- */

/* Messages go to standard error, as "spry bench: ...". */
void cli_set_command(const char *name);
const char *cli_command_name(void);
/* Returns the first message of this run that is not a note, for the JSON line of a failure; "": none. */
const char *cli_first_message(void);
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2))); /* returns CLI_USAGE */
int cli_status(const spry_error *err);                                              /* returns the exit status */
int cli_fail(const spry_error *err); /* prints the message, returns the exit status */
/*
 * Calls cli_fail for an error of reading. SPRY_TOO_LARGE means a count that the indices cannot hold, and is bad input.
 */
int cli_fail_reading(const spry_error *err);
/* Reads a matrix as CSR with the index types of --index. Returns CLI_GO_ON, or an exit status after a message. */
int cli_read_csr(spry_context *context, spry_matrix **A, const char *path, spry_type type,
                 const spry_index_type index[2]);

/*
 * Creates a context with this number of threads (0: the default) and the table of SPRY_TUNING. Returns CLI_GO_ON, or an
 * exit status after a message.
 */
int cli_open_context(spry_context **context, int64_t threads);

/* The matrix of a command, in the layout of its file, and the time of reading. */
typedef struct cli_input {
    spry_context *context;
    spry_matrix *A;
    spry_arrays arrays;
    char name[256];
    int base; /* number of the first row and node in the output, index_base_of(A) */
    double read_us;
} cli_input;
/* Prints a note that Matrix Market counts from 1, if base is 0 and `out` (NULL: none) is a Matrix Market file. */
void cli_note_base(const char *out, int base);
/* Returns CLI_GO_ON, or an exit status after a message. Call cli_close_input after success and failure. */
int cli_open_input(cli_input *input, const char *path, spry_type type, int64_t threads);
void cli_close_input(cli_input *input);

/* ---- long work (progress.c) --------------------------------------------------------------------- */

void cli_progress_begin(void); /* starts the clock of the command */
/*
 * Shows the progress line of a step: its text and its time so far. Only a terminal shows the line, after the command's
 * first second. NULL removes the line; call this before writing to standard output, which may be the same terminal.
 * Messages remove the line automatically.
 */
void cli_progress(const char *text);
void cli_progress_writing(const char *path); /* shows "writing", or removes the line if path is "-" */
/* Sets the completed share of the command's work, from which the time left is computed; below 0: not known. */
void cli_progress_share(double share);
int cli_width(int stream); /* returns the terminal's width in characters, else COLUMNS, else 80 */

/*
 * Sets the message that follows "interrupted: " if the command is interrupted from now on; at most one line. The
 * process then ends by the signal.
 */
void cli_when_interrupted(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Sets the temporary file that an interrupted command removes; NULL: none. */
void cli_remove_when_interrupted(char *path);

/* ---- numbers for people (number_text.c) --------------------------------------------------------- */

typedef struct cli_text {
    char s[48];
} cli_text;
cli_text cli_bytes(int64_t bytes);   /* "12.3 MB" */
cli_text cli_count(int64_t count);   /* "1 234 567" */
cli_text cli_decimal(double value);  /* "1 234.5" */
cli_text cli_time(double us);        /* "1.23 ms" */
const char *cli_known(spry_known k); /* "yes", "no", "not known" */
/* Prints a report line if other programs used at least DISTURBED_SHARE of the processors. */
void cli_print_disturbed(double share);
bool cli_utf8(void); /* returns true if the terminal's character set is UTF-8 */

/* Prints a density picture, each line after `indent` blanks. Returns false after a message. */
bool cli_print_spy(FILE *out, const spry_matrix *A, int height, int width, int indent);
/* Prints a bar that fills `share` of `width` cells. */
void cli_print_bar(FILE *out, double share, int width);

/* ---- output files (output_files.c) -------------------------------------------------------------- */

/* An output file. Regular files get a temporary name until they are complete. */
typedef struct cli_output {
    FILE *stream;
    int error; /* errno of a failed write; 0: none */
    char path[4096], temporary[4096];
} cli_output;

/* --json[=FILE]: destination of the records. */
typedef struct cli_json {
    bool wanted;
    const char *path; /* NULL: standard output */
    cli_output output;
} cli_json;

/*
 * Reports a written matrix by a JSON line, or by a line for people unless the matrix was written to standard output.
 * name: name of the input. Returns an exit status.
 */
int cli_report_written(cli_json *json, const char *name, const spry_matrix *A, const char *path);

/* Opens an output; path "-" or NULL: standard output. Returns CLI_GO_ON, or an exit status after a message. */
int cli_output_open(cli_output *output, const char *path);
/*
 * Refuses an output (NULL: none) that cannot be created or is the file of the input. Called before any work. Returns
 * CLI_GO_ON or CLI_USAGE.
 */
int cli_check_output(const char *option, const char *output, const char *input);
/* Refuses two options that write the same file. */
int cli_check_two_outputs(const char *option, const char *output, const char *other, const char *path);
/* Checks --out and --json against each other and against the input. */
int cli_check_outputs(const char *out, const cli_json *json, const char *input);
/*
 * Returns the kind of file that spry_matrix_write writes under this name: "Matrix Market", "CSV" or "container". The
 * first two may be followed by ", gzip". NULL: the ending is unknown.
 */
const char *cli_output_kind(const char *path);
bool cli_is_csv(const char *path); /* returns true if the kind is "CSV" */
/* Refuses a name (NULL: none) with an ending that is not for vectors. Returns CLI_GO_ON or CLI_USAGE. */
int cli_check_vector_name(const char *option, const char *path);
/* Checks the name of --out for a vector, and that --out and --json do not both use standard output. */
int cli_check_vector_output(const char *out, const cli_json *json);
/* Writes a vector. For CSV, `row` and `value` name the columns and base is the number of the first row. */
spry_status cli_write_vector(spry_context *context, spry_const_vector v, const char *path, const char *row,
                             const char *value, int base, spry_error *err);
/* Refuses the name of a report (NULL: none) with an ending other than .html or .htm. Returns CLI_GO_ON or CLI_USAGE. */
int cli_check_page_name(const char *option, const char *path);
/* Returns true if the text ends in `end` and is longer than `end`. */
bool cli_ends_with(const char *text, const char *end);
/* Returns true for "-", which means standard input or output. */
bool cli_is_dash(const char *path);
/* Refuses --out and --json that both use standard output. */
int cli_check_stdout(const char *out, const cli_json *json);
/* Refuses a name (NULL: none) with an ending that is not for matrices. Returns CLI_GO_ON or CLI_USAGE. */
int cli_check_matrix_name(const char *output);
/* Flushes the file and gives it its final name. status: exit status so far. Returns the worse exit status. */
int cli_output_close(cli_output *output, int status);

/*
 * A command that fails before it writes a JSON line still writes one, with its first message as the reason.
 * cli_json_expect finds --json in the arguments before they are parsed. cli_json_set_input sets the matrix of that
 * line. cli_json_refuse writes the line if no line was written, and returns the exit status. An existing FILE is
 * replaced only if it is empty or holds JSON lines of a command. The FILE of bench is never replaced.
 */
void cli_json_expect(int count, char **arguments);
void cli_json_set_input(const char *path);
int cli_json_refuse(int status);

/* Opens the output of --json; does nothing if not wanted. Returns CLI_GO_ON, or an exit status after a message. */
int cli_json_open(cli_json *json);
/*
 * Opens the output for records of a long run: empties the file and writes each line under the final name, so that an
 * interrupted command keeps its lines. Call after all checks that may refuse the command.
 */
int cli_json_open_stream(cli_json *json);
int cli_json_close(cli_json *json, int status); /* returns the exit status */
/* Returns true if standard output shows text for people, not JSON. */
bool cli_for_people(const cli_json *json);
struct cJSON;
/* Writes and flushes one line; deletes the object. good: false if building the object failed. */
bool cli_json_line(cli_json *json, struct cJSON *object, bool good);

/* ---- choices_list.c: the policy of "auto" and measured choices -------------------------------------------------- */

typedef struct cli_policy {
    const char *name, *cache;
    double budget_us; /* 0: the default */
} cli_policy;

/* Refuses --budget and --cache without --policy measure. Returns CLI_GO_ON, or CLI_USAGE after a message. */
int cli_check_policy(const cli_policy *policy);
void cli_apply_policy(const cli_policy *policy, spry_spmv_options *options);

/*
 * With --policy measure, keeps choices in the file of --cache, else of SPRY_CHOICES. Returns CLI_GO_ON or an exit
 * status.
 */
int cli_use_choices(spry_context *context, const cli_policy *policy);

/* Lists or clears the choices of a file (NULL: SPRY_CHOICES). Returns an exit status. */
int cli_manage_choices(const char *file, bool clear, cli_json *json);

/*
 * Writes to `folder` the path of the folder for downloaded matrices: `given` unless NULL, else SPRY_MATRIX_DIR, else
 * spry/ in the user's cache folder. Returns false if no folder is known or the path is too long. In fetch_command.c.
 */
bool cli_folder_of_matrices(const char *given, char *folder, size_t size);
