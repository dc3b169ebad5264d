/* spry bench --regret: what "auto" loses, as tables and as JSON lines. CLI_GO_ON, or an exit status after a message. */
#ifndef SPRY_CLI_BENCH_REGRET_H
#define SPRY_CLI_BENCH_REGRET_H

#include "bench/bench.h"
#include "cli/cli.h"

/* Adds a matrix and type to the report, and tells of it: a line of JSON a choice where that is wanted, and a table. */
int cli_regret_add(regret_report *report, const record *records, int count, const regret_choice *choices,
                   int choice_count, cli_json *json);

void cli_regret_print_failures(const record *records, int count, const cli_json *json);

/* The sums of all that was added. */
int cli_regret_finish(const regret_report *report, cli_json *json);

/*
 * Reads lines that --regret --json wrote before, file by file, and adds what they tell to the report. Texts are kept in
 * the list.
 */
int cli_regret_read(regret_report *report, char *const *paths, int count, text_list *texts, cli_json *json);

#endif
