/*
 * SCOO, sliced coordinates, on the CPU.
 *
 *     row 0: a . b .     slice 0 (rows 0, 1):  columns  0 1 2     local rows  0 1 0     values  a c b
 *     row 1: . c . .     slice 1 (row 2):      columns  0 3       local rows  0 0       values  d e
 *     row 2: d . . e     slice offsets  0 3 5
 *
 * Slices of `height` consecutive rows; a slice's entries are ordered by column, those of one column as A stores
 * them (so rows rise). The slice's part of y stays in a core's cache, and takes additions in any order, while x is
 * swept once from its beginning to its end: where x is larger than the caches, that replaces reads all over x by
 * reads in order. Local rows take 16 bits, so height is at most 65536. Duplicates are kept.
 *
 * Invariants: offsets rise from 0 to nnz; columns never fall within a slice; local rows are below the slice's height.
 */
#pragma once

#include "formats/shared/owned_arrays.h"

enum {
    SPRYI_SCOO_MOST_HEIGHT = 65536,
    SPRYI_SCOO_SLICE_BYTES = 256 << 10, /* of y, by default: leaves room in second-level caches from 512 KB */
    SPRYI_SCOO_SLICES = 16,             /* that are aimed at in small matrices ... */
    SPRYI_SCOO_LEAST_HEIGHT = 256,      /* ... with slices no lower than this */
    SPRYI_SCOO_LEAST_RANGES = 16,       /* of columns, of a transposed product */
    SPRYI_SCOO_MOST_RANGES = 256,
    SPRYI_SCOO_GPU_SLICES = 132,           /* on a GPU: one a multiprocessor of a large one ... */
    SPRYI_SCOO_GPU_SLICE_BYTES = 96 << 10, /* ... up to this much of y in shared memory, two slices at a time */
    SPRYI_SCOO_GPU_LEAST_HEIGHT = 32,
    SPRYI_SCOO_GPU_MEETING = 16, /* mean row from which higher slices in two parts are worth adding up twice */
    SPRYI_SCOO_MEETING = 16384,  /* entries of one slice in one range: fewer would use a cached x too little */
};

typedef struct spryi_scoo_head {
    int64_t rows, cols, nnz, height, slices;
    int32_t value_type, offset_type, index_type, reserved;
} spryi_scoo_head;

typedef struct spryi_scoo {
    spry_arrays types; /* of the head; first, as in every storage */
    spryi_scoo_head head;
    void *offsets; /* slices + 1, of offset_type */
    void *columns; /* nnz, of index_type */
    void *rows;    /* nnz, uint16_t */
    void *values;  /* nnz, of value_type */
} spryi_scoo;

/* Parameter of scoo_shared_cuda: sums a row, of which the words are 1, 2, 4, ... 32. */
enum { SPRYI_SCOO_LANES };

extern const spryi_format spryi_format_scoo;
extern const struct spryi_estimator spryi_scoo_estimator; /* scoo_work.c */
extern const spryi_kernel spryi_scoo_portable_cpu;
extern const spryi_kernel spryi_scoo_shared_cuda;
