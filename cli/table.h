/*
 * A table for people. Columns are as wide as their cells. If a line would exceed the terminal's width (80 columns
 * without a terminal), the least important columns are left out and named below the table.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

typedef struct cli_column {
    const char *title;
    bool is_text; /* true: text, aligned left; false: numbers, aligned right */
    int rank;     /* 0: never left out; columns of the highest rank are left out first */
} cli_column;

enum { CLI_TABLE_COLUMNS = 20 };

typedef struct cli_table {
    const cli_column *columns;
    int column_count;
    char **cells;        /* row-major; NULL: empty */
    char *marks;         /* for each row the character before it, ' ' or '*' */
    int row_count, next; /* next: column of the next cell in the last row */
    bool failed;         /* memory was short */
} cli_table;

void cli_table_begin(cli_table *t, const cli_column *columns, int count);
/* Starts a row. mark: ' ', or '*' for the winner, which a terminal shows bold. */
void cli_table_row(cli_table *t, char mark);
/* Fills the row's next cell. */
void cli_table_cell(cli_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the table, indented by two blanks, and releases it. Returns false after a message if memory was short. */
bool cli_table_print(FILE *out, cli_table *t);

/*
 * Prints a line of a report: "  kernel          csr_avx2_cpu (...)". Text beyond the terminal's width continues on an
 * indented line. label "": continues the line before.
 */
void cli_print_line(FILE *out, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * Prints text in lines of at most the terminal's width. The first line starts with `first`, later lines with blanks of
 * that length. If there is no terminal and COLUMNS is not set, prints one line, so that programs and grep can read the
 * output.
 */
void cli_print_wrapped(FILE *out, const char *first, const char *text);
