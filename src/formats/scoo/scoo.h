/*
 * SCOO, sliced coordinates, on the CPU.
 *
 *     row 0: a . b .     slice 0 (rows 0, 1):  columns  0 1 2     local rows  0 1 0     values  a c b
 *     row 1: . c . .     slice 1 (row 2):      columns  0 3       local rows  0 0       values  d e
 *     row 2: d . . e     slice offsets  0 3 5
 *
 * A slice has `height` consecutive rows. Its entries are sorted by column; entries of one column are in A's order, so
 * their rows rise. The slice's part of y remains in a core's cache and is updated in any order, while x is read once
 * from its beginning to its end. If x is larger than the caches, ordered reads of x replace random ones. A local row is
 * a row's index within its slice. It has 16 bits, so height is at most 65536. Duplicates are kept.
 *
 * Invariants: offsets rise from 0 to nnz; columns do not decrease within a slice; local rows are less than the slice's
 * height.
 */
#pragma once

#include "formats/shared/owned_arrays.h"

enum {
    SPRYI_SCOO_MOST_HEIGHT = 65536,
    SPRYI_SCOO_SLICE_BYTES = 256 << 10, /* default bytes of y per slice: leaves room in L2 caches of 512 KB and more */
    SPRYI_SCOO_SLICES = 16,             /* target number of slices of a small matrix */
    SPRYI_SCOO_LEAST_HEIGHT = 256,      /* minimum height of slices that are lowered for that target */
    SPRYI_SCOO_LEAST_RANGES = 16,       /* minimum ranges of columns in a transposed product; fewer if A is narrow */
    SPRYI_SCOO_MOST_RANGES = 256,
    SPRYI_SCOO_GPU_SLICES = 132,           /* target number of slices on a GPU: one per multiprocessor of a large GPU */
    SPRYI_SCOO_GPU_SLICE_BYTES = 96 << 10, /* maximum bytes of y in a slice on a GPU: two slices fit in shared memory */
    SPRYI_SCOO_GPU_LEAST_HEIGHT = 32,
    SPRYI_SCOO_GPU_DOUBLED_MEAN = 16, /* minimum mean row length for slices of twice the height, in two parts each */
    SPRYI_SCOO_RANGE_ENTRIES =
        16384, /* target mean number of entries of a slice in a range; with fewer, x in the cache is used too seldom */
};

typedef struct spryi_scoo_head {
    int64_t rows, cols, nnz, height, slices;
    int32_t value_type, offset_type, index_type, reserved;
} spryi_scoo_head;

typedef struct spryi_scoo {
    spry_arrays types; /* the types that `head` stores; the first member, as in every storage */
    spryi_scoo_head head;
    void *offsets; /* slices + 1 elements of offset_type */
    void *columns; /* nnz elements of index_type */
    void *rows;    /* nnz elements of uint16_t, local rows */
    void *values;  /* nnz elements of value_type */
} spryi_scoo;

/* Index of scoo_shared_cuda's parameter "lanes", the number of sums per row. Its words are 1, 2, 4, ... 32. */
enum { SPRYI_SCOO_LANES };

extern const spryi_format spryi_format_scoo;
extern const struct spryi_estimator spryi_scoo_estimator; /* scoo_work.c */
extern const spryi_kernel spryi_scoo_portable_cpu;
extern const spryi_kernel spryi_scoo_shared_cuda;
