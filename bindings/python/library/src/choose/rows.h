/* How long the rows of a matrix are. */
#ifndef SPRYI_CHOOSE_ROWS_H
#define SPRYI_CHOOSE_ROWS_H

#include "core/kernel.h"

typedef struct spryi_row_profile {
    double mean, longest;
    int64_t longest_row;   /* one of that length */
    double deviation;      /* of the lengths, as a share of their mean, */
    double body_deviation; /* and without the longest hundredth */
    double empty;          /* share of the rows */
    double long_rows;      /* rows of over SPRYI_LONG_ROW times the mean, */
    double excess;         /* and their entries beyond that */
    double beyond_mean;    /* entries of rows beyond the mean, which is rounded: COO's part of format hyb */
    double variance;       /* of the lengths */
    double quantiles[3];   /* lengths that a half, nine tenths and 99 hundredths of the rows do not pass */
} spryi_row_profile;

/*
 * Of a matrix whose offsets are in host memory, and, but for CSR, its indices. SPRYI_QUICK: of many rows a part is
 * counted, and the longest is a guess.
 */
spry_status spryi_find_row_profile(spryi_row_profile *profile, spry_context *context, const spry_arrays *A,
                                   spryi_effort effort, spry_error *err);

#define SPRYI_LONG_ROW 8 /* times the mean */

/* Rows of one length but for few: */
#define SPRYI_UNIFORM 0.5 /* the most that body_deviation may be */
int spryi_rows_are_uniform(const spryi_row_profile *rows);

#endif
