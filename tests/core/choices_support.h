/*
 * Functions that the tests of the policy "measure" share. They create a folder with a file of remembered choices, and
 * plans whose products are checked.
 */
#pragma once

#include "spry/tune.h"
#include "support.h"

/* budget in microseconds; enough to measure all formats, also under a sanitizer */
#define PLENTY 2e7
#define GRID "grid5,x=60,y=50"
#define FEW_ENTRIES "uniform,rows=3000,degree=1" /* multiple formats have similar times */

extern char folder[64], path[96];
int make_folder(void **state);
int remove_folder(void **state);

spry_spmv_options measuring(double budget_us);

/* Copies A (CSR, f64, 32-bit indices) to the memory of device 1. The caller frees arrays with free_on_device. */
spry_matrix *matrix_on_device(spry_context *context, const spry_matrix *A, spry_arrays *arrays);
void free_on_device(spry_context *context, const spry_arrays *arrays);

/* Runs one product and compares every row. */
void check_product(spry_context *context, const spry_spmv_plan *plan, const spry_matrix *A, spry_op op);

typedef struct reported {
    spry_reason code;
    char format[32], parameters[64], kernel[64], reason[400];
    double predicted_us;
} reported;

/* Builds a plan, checks one product unless vectors are f32, and returns the choice that the plan reports. */
reported plan_with(spry_context *context, const spry_matrix *A, const spry_spmv_options *o);

/* Asserts that t->code is `code`, and that t->reason begins with t->format and contains `text`. */
void check_reported(const reported *t, spry_reason code, const char *text);

void set_file(spry_context *context); /* path */
spry_choice_info newest(const spry_context *context);
void write_text(const char *text, size_t length); /* to path */
char *read_text(void);                            /* content of path; the caller frees it */
