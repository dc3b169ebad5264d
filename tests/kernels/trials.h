/* One product tried: a kernel's plan of a family in one form, run with every alpha and beta, and judged. */
#pragma once

#include "arrays.h"
#include "families.h"
#include "plan/plan.h"
#include "reference.h"
#include "spry/tune.h"

enum { FORMS = 12 };
extern const form forms[FORMS];

/* What is being tested, for the message of a failure. */
typedef struct trial {
    const family *f;
    const form *how;
    const char *kernel;
    spry_type type;
    int pair;
    spry_op op;
} trial;

const char *describe(const trial *t);

int kernel_offers(const spry_kernel_info *kernel, spry_op op); /* 1: available here, and has the product */

/* NULL when the format would take more than 64 MB for padding. Fails the test on anything else that goes wrong. */
spry_spmv_plan *plan_of(spry_context *context, const trial *t, const given *g);
spry_vector vector_of(const guarded *g, spry_type type);
void run(const trial *t, const spry_spmv_plan *plan, double alpha, const guarded *x, double beta, const guarded *y);

/* Everything that one family and type is tested with. */
typedef struct material {
    family f;
    spry_type type;
    spry_op op;
    int64_t x_length, y_length;
    double *values, *x_numbers, *y_numbers;
    reference with_values, pattern;
    guarded x[3], before; /* x in each placement */
} material;

void set_up(material *s, int number, spry_type type, spry_op op);
/* The same with values that are stored as another type than the vectors' are of. */
void set_up_mixed(material *s, int number, spry_type stored, spry_type type, spry_op op);
void clear(material *s);

/* What y holds before a run: numbers, or NaN where it must not be read. */
void fill_y(const guarded *y, spry_type type, const double *before, double beta);

/* Every alpha and beta (two pairs when brief) from first_scaling on. */
void check_plan(const material *s, const trial *t, const spry_spmv_plan *plan, int first_scaling, int brief);

/* ---- several columns of x and y, multiplied in one run and judged one by one ---- */

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
