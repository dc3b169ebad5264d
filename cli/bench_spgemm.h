/* What spry bench asks about products of two sparse matrices. CLI_GO_ON, or an exit status after a message. */
#ifndef SPRY_CLI_BENCH_SPGEMM_H
#define SPRY_CLI_BENCH_SPGEMM_H

#include "bench/bench.h"
#include "cli/cli.h"

/* A kernel of the other kind of product would be left out without a word. */
int cli_check_operation(const cli_list *kernels, int squared, const spry_context *context, const bench_peers *peers);

/* Those of seed 002 that the library has for the wanted devices, beside its choice. */
int cli_add_seed_kernels(cli_list *formats, cli_list *kernels, const char *device, const spry_context *context);

int cli_check_spgemm_formats(const cli_list *formats, const cli_list *orderings);

#endif
