/* What the files of the CSR-k study's report share. */
#ifndef SPRY_BENCH_CSRK64_H
#define SPRY_BENCH_CSRK64_H

#include "bench/bench.h"

/* NULL: none of the 64. */
const bench_study_matrix *bench_csrk64_find(const char *name);

/* Nothing where there are not several thread counts, or no MKL. */
void bench_print_csrk64_scaling(FILE *out, const bench_record *records, int count, const char *type);
/* Nothing without peers on that device. */
void bench_print_csrk64_ratios(FILE *out, const bench_record *records, int count, const char *type, const char *device);

#endif
