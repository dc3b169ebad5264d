/* The matrices that spry bench measures. Functions return CLI_GO_ON, or an exit status after a message. */
#pragma once

#include "bench/bench.h"
#include "cli/cli.h"

typedef struct cli_sources {
    bench_source *items; /* the caller's to free */
    int count;
} cli_sources;

/*
 * Adds a matrix, or the matrices of a folder in the order of their names. In subfolders only .mtx and .mtx.gz files
 * count, because spry fetch stores such files.
 */
int cli_add_file(cli_sources *sources, const char *path);
/* Adds the matrices of a suite (NULL: none): generated matrices, and files of a folder (NULL: SPRY_MATRIX_DIR). */
int cli_add_suite(cli_sources *sources, const char *suite, const char *folder);

/* Makes the names of all sources distinct. */
int cli_make_sources_distinct(cli_sources *sources);

/* Keeps only the named matrices; each must be among the sources. */
int cli_keep_only(cli_sources *sources, const text_list *names);
/* Keeps every parts-th matrix, beginning with number `part` (1 .. parts). */
void cli_keep_part(cli_sources *sources, int64_t part, int64_t parts);
