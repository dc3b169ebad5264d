/* Tests of plans for both directions, op(A) and its transpose, on the CPU or on device 1. */
#pragma once

#include "choices_support.h"

/* Device that the plans are built for: SPRY_CPU or 1. Set by main. */
extern int both_device;

/*
 * Computes y = 1.5*op(A)*x - 0.5*y with host vectors, and compares every row. op: operation of this run, which may
 * differ from the plan's. transpose: run in the plan's second direction.
 */
void check_run(spry_context *context, const spry_spmv_plan *plan, const spry_matrix *A, spry_op op, int transpose);

void both_ways(void **state);
void one_storage_of_symmetric(void **state);
void other_values(void **state);
void limits_and_refusals(void **state);
