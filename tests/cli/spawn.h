/* Runs the program as a user would, and keeps its output. */
#pragma once

#include "testing.h"
#include <cjson/cJSON.h>

typedef struct outcome {
    int status;      /* exit status; 128 + signal if a signal ended the program */
    char *out, *err; /* output, terminated by a zero; never NULL */
} outcome;

/*
 * Runs a command line. Arguments with blanks have single quotes: spry("info 'a file.mtx'"). $D is the test's own
 * folder.
 */
outcome spry(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Runs a command line with text on standard input. */
outcome spry_with_input(const char *input, const char *format, ...) __attribute__((format(printf, 2, 3)));
outcome shell(const char *command); /* runs a shell command; the program is "$SPRY" */
void release(outcome *o);

/* Asserts the status and that out (err) contains the text. On failure, prints the output. */
void expect(const char *command, int status, const char *in_out, const char *in_err);

/* Asserts that the command succeeds and writes exactly this text. */
void expect_text(const char *command, const char *text);

/* Asserts the status and texts of an outcome, and releases the outcome. NULL: the output is empty. */
void expect_outcome(outcome o, int status, const char *in_out, const char *in_err);

/* Options after a command, and the expected message on standard error. */
typedef struct mistake {
    const char *options, *message;
} mistake;

/* Asserts that each mistake ends with status 2 and its message, and nothing on standard output. */
void expect_mistakes(const char *command, const mistake *mistakes, size_t count);

/* Returns a folder of this test program, created at first use. remove_folder removes the folder. */
const char *folder(void);
int remove_folder(void **state);
void write_file(const char *name, const char *text); /* in folder() */
char *read_file(const char *name);                   /* NULL if the file does not exist */
int count_files(void);                               /* in folder() */

/*
 * Returns line `line` (from 0) of text as JSON, or NULL if text has fewer lines. Fails the test if the line is no JSON.
 */
cJSON *json_line(const char *text, int line);
int count_lines(const char *text);

/* Writes small matrices for most tests: folder()/small.mtx (4 x 5, general) and sym.mtx (3 x 3, symmetric). */
int make_matrices(void **state);
