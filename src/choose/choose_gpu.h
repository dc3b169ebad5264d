/* The choice of a format on a GPU, for choose.c. */
#ifndef SPRYI_CHOOSE_GPU_H
#define SPRYI_CHOOSE_GPU_H

#include "choose/choose.h"
#include "core/matrix.h"

/* How long the rows of a matrix are. */
typedef struct spryi_row_profile {
    double mean, longest;
    double deviation;      /* of the lengths, as a share of their mean, */
    double body_deviation; /* and without the longest hundredth */
    double empty;          /* share of the rows */
} spryi_row_profile;

/* Of a matrix in host memory. */
spry_status spryi_find_row_profile(spryi_row_profile *profile, const spry_matrix *A, spry_error *err);

/* Rows of one length but for few: a deviation of at most half the mean. */
int spryi_rows_are_uniform(const spryi_row_profile *rows);

/* Takes the format of that name; the reason, a format for printf and its arguments, is told behind its name. */
void spryi_choose(spryi_choice *choice, const char *format, spry_reason code, const char *reason, ...)
    __attribute__((format(printf, 4, 5)));

/* csr's kernel on a GPU for a product of values of that type. */
const char *spryi_csr_kernel_on_gpu(const spry_arrays *a, spry_type value_type, const spryi_row_profile *rows);

/*
 * The format for so many products of A (0: many), which has entries: choice->format, with the reason, and csr's kernel.
 * Looks at row lengths and at samples of the columns; what is not CSR in host memory is converted or copied for that.
 */
spry_status spryi_choose_on_gpu(spryi_choice *choice, const spry_matrix *A, spry_type vector_type,
                                int64_t expected_calls, spry_error *err);

#endif
