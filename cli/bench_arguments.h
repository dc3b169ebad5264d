/* The arguments of spry bench: what they are, and which of them go together. */
#pragma once

#include "cli/cli.h"

#include "bench/bench.h"

enum { BENCH_MOST_TEAMS = 16, BENCH_MOST_TYPES = 8, BENCH_MOST_COUNTS = 16 };

typedef struct cli_bench_arguments {
    const char *suite, *folder;
    bench_options o; /* its op: NULL until it is known */
    text_list only, thread_list;
    bench_types types[BENCH_MOST_TYPES]; /* o.type_count of them */
    int want_peers;
    int64_t columns[BENCH_MOST_COUNTS]; /* o.column_counts of them */
    const char *layout;                 /* NULL: not told */
    int64_t threads;                    /* the most of the list */
    int64_t part, parts;                /* parts 0: the whole */
    int transpose;                      /* 1: spmv is spmv_t, spmm is spmm_t */
    const char *report;                 /* NULL: none is drawn */
    int sorted;                         /* 1: tables go by time */
    cli_json json;
} cli_bench_arguments;

extern const cli_option cli_bench_options[];
/* Fills in what was left out and refuses what does not go together. CLI_GO_ON, or CLI_USAGE after a message. */
int cli_bench_take_defaults(cli_bench_arguments *a);
void cli_bench_release_arguments(cli_bench_arguments *a);
