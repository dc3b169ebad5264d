/* Plans of both directions, on the CPU or on a device's first. */
#pragma once

#include "choices_support.h"

/* What the plans have to be made for: SPRY_CPU or 1; set by main. */
extern int both_device;

/* y = 1.5*op(A)*x - 0.5*y of host vectors in the plan's direction or the other, `op` in all, compared row by row. */
void check_run(spry_context *context, const spry_spmv_plan *plan, const spry_matrix *A, spry_op op, int transpose);

void both_ways(void **state);
void one_storage_of_symmetric(void **state);
void other_values(void **state);
void limits_and_refusals(void **state);
