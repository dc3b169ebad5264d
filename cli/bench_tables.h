/* Records of spry bench for people: a block for each matrix and type, and a summary over all of them. */
#ifndef SPRY_CLI_BENCH_TABLES_H
#define SPRY_CLI_BENCH_TABLES_H

#include "common/record.h"

/* The records of one matrix, type and ordering as a block of a table. */
void cli_print_group(FILE *out, const record *records, int count);
/* Geometric means by class and over all, performance profile, and every case that is not ok. */
void cli_print_summary(FILE *out, const record *records, int count);

#endif
