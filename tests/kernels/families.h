/* Families of matrices to test kernels on: structure only, 64-bit CSR. Values come from arrays.h. */
#pragma once

#include "testing.h"

typedef struct family {
    char name[64];
    int64_t rows, cols, nnz;
    int64_t *offsets, *columns;
    int sorted;     /* no row has descending columns */
    int structured; /* strided or shared rows are expected */
    int pieces;     /* some rows are longer than a block */
} family;

int family_count(void);
int family_large_count(void); /* their indices start at family_count() */

/* Returns the next index. If `haste`, skips row lengths that add little. */
int family_next(int number, int haste);

/* Builds family `number`, counted from 0. The caller frees it with family_free. */
family family_make(int number);
void family_free(family *f);

/* splitmix64 */
uint64_t family_random(uint64_t *state);
