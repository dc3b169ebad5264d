/* What the tests of the policy "measure" share: a folder with a file of choices, and plans whose product is checked. */
#pragma once

#include "spry/tune.h"
#include "support.h"

/* us, enough for all formats, also where a sanitizer watches. */
#define PLENTY 2e7
#define GRID "grid5,x=60,y=50"
#define FEW_ENTRIES "uniform,rows=3000,degree=1" /* several formats are near, also for several columns */

extern char folder[64], path[96];
int make_folder(void **state);
int remove_folder(void **state);

spry_spmv_options measuring(double budget_us);

/* The same matrix, CSR of f64 with 32-bit indices, in the memory of device 1; `arrays` to be freed. */
spry_matrix *matrix_on_device(spry_context *context, const spry_matrix *A, spry_arrays *arrays);
void free_on_device(spry_context *context, const spry_arrays *arrays);

/* One product, compared row by row. */
void check_product(spry_context *context, const spry_spmv_plan *plan, const spry_matrix *A, spry_op op);

typedef struct told {
    spry_reason code;
    char format[32], parameters[64], kernel[64], reason[400];
    double predicted_us;
} told;

/* Plans, multiplies, and tells what was taken. */
told plan_with(spry_context *context, const spry_matrix *A, const spry_spmv_options *o);

/* It has the code, and the text in its reason. */
void check_told(const told *t, spry_reason code, const char *text);

void set_file(spry_context *context); /* path */
spry_choice_info newest(const spry_context *context);
void write_text(const char *text, size_t length); /* to path */
char *read_text(void);                            /* of path, to be freed */
