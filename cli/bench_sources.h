/* Which matrices spry bench measures. CLI_GO_ON, or an exit status after a message. */
#ifndef SPRY_CLI_BENCH_SOURCES_H
#define SPRY_CLI_BENCH_SOURCES_H

#include "bench/bench.h"
#include "cli/cli.h"

typedef struct cli_sources {
    bench_source *items; /* the caller's to free */
    int count;
} cli_sources;

int cli_add_file(cli_sources *sources, const char *path);
/* suite NULL: none; folder NULL: SPRY_MATRIX_DIR. */
int cli_add_suite(cli_sources *sources, const char *suite, const char *folder);

/* Small ones first. */
void cli_sort_sources(cli_sources *sources);
/* Those named; each must be there. */
int cli_keep_only(cli_sources *sources, const cli_list *names);
/* Every parts-th, from the part-th on (1 .. parts): of sorted ones, parts that take about as long. */
void cli_keep_part(cli_sources *sources, int64_t part, int64_t parts);

#endif
