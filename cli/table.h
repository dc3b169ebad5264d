/*
 * A table for people: its columns are as wide as what stands in them, and where the line would be longer than the
 * terminal is wide (80 columns where there is none), those that matter least are left out and named below.
 */
#pragma once

#include <stdio.h>

typedef struct cli_column {
    const char *title;
    int is_text; /* 1: to the left; 0: numbers, to the right */
    int rank;    /* 0: never left out; of the others the highest goes first */
} cli_column;

enum { CLI_TABLE_COLUMNS = 20 };

typedef struct cli_table {
    const cli_column *columns;
    int column_count;
    char **cells;        /* row by row; NULL: empty */
    char *marks;         /* a row each: what stands before it, ' ' or '*' */
    int row_count, next; /* the cell of the last row that is filled next */
    int failed;          /* 1: out of memory */
} cli_table;

void cli_table_begin(cli_table *t, const cli_column *columns, int count);
/* A new row. mark: ' ', or '*' for the winner, which a terminal shows bold. */
void cli_table_row(cli_table *t, char mark);
/* The row's next cell. */
void cli_table_cell(cli_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the table, two blanks before each line, and releases it. Nothing without rows. 0: out of memory, told. */
int cli_table_print(FILE *out, cli_table *t);

/*
 * A line of a report: "  kernel          csr_avx2_cpu (...)"; what is longer than the terminal is wide goes on below,
 * behind blanks. label "": a line that goes on.
 */
void cli_print_line(FILE *out, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * Text in lines of at most the terminal's width, the first behind `first`, the others behind as many blanks. One line
 * where there is no terminal (nor COLUMNS): programs and grep read there.
 */
void cli_print_wrapped(FILE *out, const char *first, const char *text);
