/* Families of matrices to test kernels on: structure only, 64-bit CSR. Values come from arrays.h. */
#pragma once

#include "testing.h"

typedef struct family {
    char name[64];
    int64_t rows, cols, nnz;
    int64_t *offsets, *columns;
    int sorted;     /* columns never decrease within a row */
    int structured; /* format csr must find strided runs, or rows with the columns of the row before */
    int pieces;     /* some rows are longer than a block of format csr, which stores them in pieces */
} family;

int family_count(void);
int family_large_count(void); /* indices of the large families start at family_count() */

/* Returns the next index. If `haste`, skips row lengths that add little. */
int family_next(int number, int haste);

/* Builds family `number`, counted from 0. The caller frees it with family_free. */
family family_make(int number);
void family_free(family *f);

/* splitmix64 */
uint64_t family_random(uint64_t *state);
