/* Several columns of x and y, multiplied in one run and judged one by one. */
#pragma once

#include "trials.h"

enum { MOST_COLUMNS = 33 };

/*
 * Runs the plan with 2 to MOST_COLUMNS columns, which lie row by row or apart, with room between: every column is
 * within the bound, and of the same bits as among the most columns. Column c of x is x_numbers, from number c on.
 */
void judge_rows(const material *s, const trial *t, const spry_spmv_plan *plan, const double *x_numbers, int apart);

/*
 * Runs the plan with columns, row by row or apart, some of whose numbers are zero or not finite, and `single` with each
 * column: the bits are the same, or NaN in both.
 */
void judge_beside_single(const material *s, const trial *t, const spry_spmv_plan *plan, const spry_spmv_plan *single,
                         const double *x_numbers, int apart);
