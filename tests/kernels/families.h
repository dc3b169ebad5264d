/* Families of matrices that kernels are tested on: structure only, 64-bit CSR. Values are drawn by arrays.h. */
#pragma once

#include "testing.h"

typedef struct family {
    char name[64];
    int64_t rows, cols, nnz;
    int64_t *offsets, *columns;
    int sorted;     /* every row's columns never fall */
    int structured; /* strided or shared rows are expected to be found in it */
    int pieces;     /* it has rows too long for a block */
} family;

int family_count(void);
int family_large_count(void); /* their numbers start at family_count() */

/* The next number; when in haste, without the lengths of rows that add least. */
int family_next(int number, int haste);

/* Number from 0; the caller frees with family_free. */
family family_make(int number);
void family_free(family *f);

/* splitmix64 */
uint64_t family_random(uint64_t *state);
