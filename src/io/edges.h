/*
 * Lists of edges, inside the reader: lines of two or three columns, "source target" or "source target weight", the
 * same number in all. Blanks, tabs, a comma or a semicolon separate columns. Lines that begin with # or % and blank
 * lines are skipped. The first other line may name the columns: if it names source and target, columns are found by
 * name, in any order, and those of other names are not read. How many nodes there are is known at the end.
 */
#pragma once

#include "io/mtx.h"

typedef struct spryi_edges {
    const char *name; /* of the file, in messages */
    int64_t base;     /* the number of the first node */
    int weighted;     /* lines have a third column */
    int64_t lines;    /* that the head takes */
    int64_t aside;    /* bytes of its comments and blank lines */
    /* Columns that are found by name. columns = 0: there are only source, target and perhaps weight, in this order. */
    int columns, places[3]; /* places of source, target and weight, from 0; -1: none */
    char divider;           /* of fields; 0: blanks, a comma or a semicolon */
    int64_t names_line;     /* the line with the names */
    char others[36];        /* names of columns that are not read */
} spryi_edges;

/* The largest number of a node, from 0. */
#define SPRYI_LARGEST_NODE (INT64_MAX / 64 - 1)

static inline int spryi_is_divider(char c)
{
    return c == ',' || c == ';';
}

/*
 * *are = 1 if the name, or `stated`, says that the text is a list of edges, and the text does not begin as Matrix
 * Market does. Nothing of the text is taken.
 */
spry_status spryi_edges_are(spryi_text *text, int stated, int *are, spry_error *err);

/* edges_line.c: comments, names of columns, and how many columns there are; text then stands before the first edge. */
spry_status spryi_edges_read_head(spryi_text *text, spryi_block *block, spryi_edges *edges, spry_error *err);

/* edges_line.c: takes the line p..end (without its newline) apart. fault may be NULL; it is set for a bad line. */
spryi_line spryi_edges_line(const spryi_edges *edges, const char *p, const char *end, spryi_entry *entry,
                            spryi_fault *fault);

/* edges_read.c: a whole file. */
spry_status spryi_edges_read(spryi_text *text, spry_matrix **A, const spry_read_options *options, spry_error *err);
