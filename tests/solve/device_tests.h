/*
 * The solvers on a GPU against the CPU: the same tests for a real one and for the simulated plug-in. Products on the
 * GPU are csr_merge_cuda's, which both have, unless a test says so.
 */
#ifndef TESTS_SOLVE_DEVICE_TESTS_H
#define TESTS_SOLVE_DEVICE_TESTS_H

#include "support.h"

extern const char *tested_plugin; /* path; NULL: the default */

spry_context *gpu_context(void); /* with tested_plugin */

spry_matrix *graph_of(spry_context *own, const char *spec, spry_type type); /* the structure, every link 1 */

int open_contexts(void **state); /* group set-up and tear-down */
int close_contexts(void **state);

void cg_as_on_the_cpu(void **state);
void cg_verdicts(void **state);
void cg_stops_where_it_says(void **state);
void cg_guesses_and_observers(void **state);
void pagerank_as_on_the_cpu(void **state);
void pagerank_zero_columns(void **state);
void pagerank_stops_where_it_says(void **state);
void data_in_device_memory(void **state);
void the_same_bits_again(void **state);
void bad_places(void **state);

#endif
