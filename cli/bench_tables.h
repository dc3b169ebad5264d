/* Records of spry bench for people: a block for each matrix and type, and a summary over all of them. */
#pragma once

#include "common/record.h"

#include <stdbool.h>

/*
 * Prints the records of one matrix, type and ordering: a table, the fastest case with its lead, and the cases that were
 * not measured, grouped by reason. sorted: orders the table by time.
 */
void cli_print_group(FILE *out, const record *records, int count, bool sorted);
/* Prints geometric means by class and over all matrices, a performance profile, and a legend of the columns. */
void cli_print_summary(FILE *out, const record *records, int count);
