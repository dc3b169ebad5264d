/*
 * One trial of a product: a plan of one kernel for one family of matrices in one form. The plan runs with every alpha
 * and beta, and the results are compared with the reference.
 */
#pragma once

#include "arrays.h"
#include "families.h"
#include "plan/plan.h"
#include "reference.h"
#include "spry/tune.h"

enum { FORMS = 12 };
extern const form forms[FORMS];

/* Parameters of the test, for the message of a failure. */
typedef struct trial {
    const family *f;
    const form *how;
    const char *kernel;
    spry_type type;
    int pair;
    spry_op op;
} trial;

const char *describe(const trial *t);

int kernel_offers(const spry_kernel_info *kernel, spry_op op); /* 1: available, and has the product */

/* Returns NULL if the format's padding would exceed 64 MB. Fails the test on all other errors. */
spry_spmv_plan *plan_of(spry_context *context, const trial *t, const given *g);
spry_vector vector_of(const guarded *g, spry_type type);
void run(const trial *t, const spry_spmv_plan *plan, double alpha, const guarded *x, double beta, const guarded *y);

/* Input of all tests of one family and type. */
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
/* Sets up as set_up does, with values of type `stored` and vectors of type `type`. */
void set_up_mixed(material *s, int number, spry_type stored, spry_type type, spry_op op);
void clear(material *s);

/* Sets y before a run: to `before`, or to NaN if beta is 0. */
void fill_y(const guarded *y, spry_type type, const double *before, double beta);

/* Runs every pair of alpha and beta from index first_scaling of the list on, or two pairs if brief. */
void check_plan(const material *s, const trial *t, const spry_spmv_plan *plan, int first_scaling, int brief);

/* ---- multiple columns of x and y, multiplied in one run and compared one by one ---- */

enum { MOST_COLUMNS = 33 };

/*
 * Runs the plan with 2 to MOST_COLUMNS columns, column-major if `separate`, else row-major, with gaps. Column c of x is
 * x_numbers from index c on. In the run with MOST_COLUMNS columns, every eleventh column must be within the bound. In a
 * run with fewer columns, every column must be bitwise equal to the same column of the run with MOST_COLUMNS.
 */
void judge_rows(const material *s, const trial *t, const spry_spmv_plan *plan, const double *x_numbers, int separate);

/*
 * Runs the plan with blocks of columns, column-major if `separate`, else row-major. Some values are zero or not finite.
 * Runs `single` with each column. Elements of the two results must be bitwise equal, or both NaN.
 */
void judge_against_single(const material *s, const trial *t, const spry_spmv_plan *plan, const spry_spmv_plan *single,
                          const double *x_numbers, int separate);
