/* The names that spry bench is given. CLI_GO_ON, or an exit status after a message. */
#pragma once

#include "bench/bench.h"

int cli_bench_check_formats(const bench_options *o);
/* Parameters and the policy are tried on a matrix without rows: wrong ones are bad usage, no case that failed. */
int cli_bench_check_parameters(const bench_options *o, spry_context *context);
/* Of --kernels; those of peers only where they are wanted. */
int cli_bench_check_kernels(const bench_options *o, spry_context *context, const bench_peers *peers, int want_peers);
