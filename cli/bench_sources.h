/* Which matrices spry bench measures. CLI_GO_ON, or an exit status after a message. */
#pragma once

#include "bench/bench.h"
#include "cli/cli.h"

typedef struct cli_sources {
    bench_source *items; /* the caller's to free */
    int count;
} cli_sources;

/*
 * Adds a matrix, or those of a folder in the order of their names. In folders within the folder only .mtx and .mtx.gz
 * count, as spry fetch stores them.
 */
int cli_add_file(cli_sources *sources, const char *path);
/* The matrices of a named list: generated ones, and real ones from a folder. NULL: none; SPRY_MATRIX_DIR. */
int cli_add_suite(cli_sources *sources, const char *suite, const char *folder);

/* Makes the names of all sources distinct. */
int cli_tell_sources_apart(cli_sources *sources);

/* Leaves the matrices that are named; each must be there. */
int cli_keep_only(cli_sources *sources, const text_list *names);
/* Leaves every parts-th matrix, from the part-th on (1 .. parts). */
void cli_keep_part(cli_sources *sources, int64_t part, int64_t parts);
