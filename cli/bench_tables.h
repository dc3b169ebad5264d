/* Records of spry bench for people: a block for each matrix and type, and a summary over all of them. */
#pragma once

#include "common/record.h"

/*
 * The records of one matrix, type and ordering as a block: a table, in their order or (sorted) by time, what won and by
 * how much, and what was not measured, each reason once.
 */
void cli_print_group(FILE *out, const record *records, int count, int sorted);
/* Geometric means by class and over all, a performance profile, and what the columns mean. */
void cli_print_summary(FILE *out, const record *records, int count);
