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

spry_status spryi_find_row_profile(spryi_row_profile *profile, const spry_matrix *A, spry_error *err);

/* Rows of one length but for few: a deviation of at most half the mean. */
int spryi_rows_are_uniform(const spryi_row_profile *rows);

/* Takes the format of that name; the reason, a format for printf and its arguments, is told behind its name. */
void spryi_choose(spryi_choice *choice, const char *format, spry_reason code, const char *reason, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * The format for so many products of A (0: many), which is in host memory and has values and entries: choice->format,
 * with the reason. Looks at samples of the columns; A that is not CSR is converted for that.
 */
spry_status spryi_choose_on_gpu(spryi_choice *choice, const spry_matrix *A, const spryi_row_profile *rows,
                                int64_t expected_calls, spry_error *err);

#endif
