/* Runs the program as a user would and keeps what it says. */
#pragma once

#include "testing.h"
#include <cjson/cJSON.h>

typedef struct outcome {
    int status;      /* exit status; 128 + signal when it was killed */
    char *out, *err; /* what it wrote, with a zero behind; never NULL */
} outcome;

/* A command line with single quotes for what has blanks: spry("info 'a file.mtx'"). $D is the test's own folder. */
outcome spry(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same with text on standard input. */
outcome spry_with_input(const char *input, const char *format, ...) __attribute__((format(printf, 2, 3)));
outcome shell(const char *command); /* what the shell makes of it; the program is "$SPRY" */
void release(outcome *o);

/* Asserts that status is as expected and that out (err) has the text; shows what was written otherwise. */
void expect(const char *command, int status, const char *in_out, const char *in_err);

/* Asserts that the command succeeds and writes exactly this text. */
void expect_text(const char *command, const char *text);

/* Asserts that an outcome is as expected, where NULL stands for no text, and releases it. */
void expect_outcome(outcome o, int status, const char *in_out, const char *in_err);

/* What stands behind a command, and what it says of that on standard error. */
typedef struct mistake {
    const char *options, *message;
} mistake;

/* Asserts that each ends with status 2 and its message, and nothing on standard output. */
void expect_mistakes(const char *command, const mistake *mistakes, size_t count);

/* A folder of this test program, made at first use, removed by remove_folder. */
const char *folder(void);
int remove_folder(void **state);
void write_file(const char *name, const char *text); /* in folder() */
char *read_file(const char *name);                   /* NULL: there is none */
int count_files(void);                               /* in folder() */

/* Line `line` (from 0) of text as JSON; NULL: no such line. Fails the test when it is no JSON. */
cJSON *json_line(const char *text, int line);
int count_lines(const char *text);

/* Small matrices that most tests use: folder()/small.mtx (4 x 5, general) and sym.mtx (3 x 3, symmetric). */
int make_matrices(void **state);
