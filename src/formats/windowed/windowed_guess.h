/* An estimate of what windowed would be, by a sample of CSR. */
#pragma once

#include "core/kernel.h"
#include "matrix/columns.h"

typedef struct spryi_windowed_guess {
    double columns, sectors; /* numbers of x that windows stage, and sectors of 32 bytes of it: an entry. 0: unknown */
    double staged;           /* numbers of x, a window */
    double steps, ragged;    /* of the kernel's warps, and slots that not all rows of a slice have: an entry */
    double heaviest;         /* entries and numbers of x of the heaviest window sampled, over the mean */
    double longest;          /* steps of the longest one, over the mean */
    double windows;
    int64_t group; /* rows of one pattern, the median */
    int64_t run;   /* columns a number of the dictionary stands for */
    int64_t apart; /* rows of a group lie so many rows apart */
    int cells;     /* 1: rows in cells meet fewer columns */
} spryi_windowed_guess;

spry_status spryi_windowed_guess_of(spry_context *context, spryi_windowed_guess *guess, spryi_column_reader *reader,
                                    spryi_effort effort, spry_error *err);
