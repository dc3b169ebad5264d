/*
 * windowed: windows of rows that stage their part of x, for meshes as mesh generators number them.
 *
 *     row 0   a . . b . . c        window of rows 0, 2, 4       dictionary   0 3 6       the columns that it meets
 *     row 2   . . . d . . e                                     row 0        0 1 2       columns, as numbers of the
 *     row 4   f . . . . . g                                     row 2        1 2         dictionary: 12 or 16 bits
 *                                                               row 4        0 2
 *
 * A product copies the x of a window's dictionary into fast memory (shared memory of a GPU, the first-level cache of a
 * CPU) once; the rows of the window then read x there. Rows lie in windows so that they share columns:
 *
 *   groups    Rows of equal patterns (the unknowns of a node, wherever their rows are) have their indices once.
 *             The first of them is the leader of its group.
 *   runs      Where the matrix is made of blocks, a number of the dictionary stands for `run` columns: j, j + stride,
 *             j + 2*stride, ... with stride 1 (unknowns of a node side by side) or cols/run (all first unknowns, then
 *             all second ones). A window whose rows are not made of such runs has runs of 1.
 *   cells     Leaders are vertices of a graph, columns its edges. Seeds are chosen by a hash of their number, and every
 *             leader joins the cell of a seed that is nearest in edges. Rows of a cell lie together. Columns keep the
 *             matrix's numbering, x and y too: each lane knows its row of y.
 *
 * Rows in that order are cut into windows of `window` rows. A window that meets too many columns is halved, again and
 * again, down to 32 rows. Inside a window rows are sorted by falling length, stably, and cut into slices of 32 lanes.
 *
 *   windows       16 bytes each and one that ends them: first slice, where dictionary and pages begin, sizes
 *   dictionary    the first columns of the runs, rising, their low 16 bits; at multiples of 8 numbers
 *   pages         runs of the dictionary whose columns have the same high bits: first number, high bits
 *   slices        16 bytes each and one that ends them: where values and indices begin, width, see below
 *   rows          of the 32 lanes of each slice, SPRYI_WINDOWED_NO_ROW past the window's last
 *   indices       of a slice, at a multiple of 16 bytes:
 *                   the group of each lane, 8 bits each, if there are fewer than 32 groups in the slice; lanes without
 *                   a row are the last group, of length 0;
 *                   the length of each group in runs, 16 bits each, to a multiple of 4 bytes;
 *                   words of 32 bits. A group's dictionary numbers are a stream of bits, lowest first, number t at bit
 *                   t*bits; its word q is there if length*bits > 32*q. The q-th words of all groups that have one lie
 *                   side by side; groups are sorted by length, so these are the first groups.
 *   values        slot by slot of a slice, which begins at a multiple of SPRYI_WINDOWED_ALIGN: slot t*run + c holds
 *                   entry c of run t of the lanes that have it, side by side, and no padding. Zeros fill the gaps
 *                   between slices.
 *
 * Rows of over SPRYI_WINDOWED_LONG entries are stored as CSR in pieces, as in packed: long_rows.
 *
 * Entries keep their order within the row. Of stride 1, entry c of run t of a row of n runs is entry t*run + c; of a
 * larger stride it is entry c*n + t. Unsorted rows and entries at one position are entries like others (runs of 1).
 *
 * Size: values; a scalar entry takes 12 bits of index, and its part of the dictionary: 2 bytes a column of the window.
 * Source: x of a part of the rows staged in shared memory, with local columns: Chen, Explicit caching HYB, 2022;
 * slices: Monakov, Lokhmotov, Avetisyan 2010; cells: Voronoi cells of a graph (Erwig 2000); groups, runs, windows: this
 * library.
 */
#pragma once

#include "core/kernel.h"
#include "formats/shared/long_rows.h"
#include "matrix/assemble.h"

enum {
    SPRYI_WINDOWED_LANES = 32,
    SPRYI_WINDOWED_MOST_ROWS = 1024, /* of a window; the least is a slice */
    SPRYI_WINDOWED_LONG = 512,       /* entries; longer rows lie apart */
    SPRYI_WINDOWED_PIECE = 1024,     /* entries of long rows */
    SPRYI_WINDOWED_NUMBERS = 4096,   /* of x that a window of more than a slice may stage */
    SPRYI_WINDOWED_SHORT_BITS = 12,  /* a dictionary number, in windows of runs of 1 with up to 4096 columns; else 16 */
    SPRYI_WINDOWED_MOST_RUN = 5,
    SPRYI_WINDOWED_ALIGN = 4,        /* slots */
    SPRYI_WINDOWED_UNIT = 16,        /* bytes in which `indices` is counted */
    SPRYI_WINDOWED_DICTIONARY = 8,   /* numbers in which the dictionary is counted */
    SPRYI_WINDOWED_PAGE_BITS = 16,   /* low bits of a column, in the dictionary */
    SPRYI_WINDOWED_AT_ONCE = 528,    /* windows that a GPU runs at a time: 4 on each of the 132 units of an H200 */
    SPRYI_WINDOWED_LEAST_ROWS = 128, /* of a window, where none are asked for */
};
#define SPRYI_WINDOWED_NO_ROW UINT32_MAX

typedef struct spryi_windowed_window {
    uint32_t slice;      /* its first */
    uint32_t dictionary; /* in units of SPRYI_WINDOWED_DICTIONARY */
    uint32_t page;       /* its first */
    uint16_t columns;    /* numbers of its dictionary */
    uint8_t run, bits;
} spryi_windowed_window;

typedef struct spryi_windowed_page {
    uint32_t first; /* number of the window's dictionary */
    uint32_t high;  /* bits of its columns */
} spryi_windowed_page;

typedef struct spryi_windowed_slice {
    uint32_t values;  /* in units of SPRYI_WINDOWED_ALIGN */
    uint32_t indices; /* in units of SPRYI_WINDOWED_UNIT */
    uint16_t width;   /* runs of the longest lane */
    uint16_t whole;   /* runs that all 32 lanes have */
    uint8_t groups, zero[3];
} spryi_windowed_slice;

/* The storage of format windowed. */
typedef struct spryi_windowed {
    spry_arrays a;       /* sizes and types, as CSR without arrays */
    int64_t window;      /* rows, as asked for or resolved */
    int64_t cells;       /* 1: rows are ordered by cells */
    int64_t run, stride; /* of windows whose run is not 1; run 1: there are none */
    int64_t window_count, slice_count, page_count;
    int64_t numbers; /* of the dictionary, in whole units */
    int64_t units;   /* of indices */
    int64_t slots;   /* numbers in values, a multiple of SPRYI_WINDOWED_ALIGN */
    int64_t staged;  /* the most numbers of x of a window: columns*run */
    spryi_long_rows long_rows;
    spryi_windowed_window *windows; /* window_count + 1 */
    spryi_windowed_slice *slices;   /* slice_count + 1 */
    spryi_windowed_page *pages;     /* page_count */
    uint16_t *dictionary;           /* numbers */
    uint32_t *rows;                 /* slice_count * 32 */
    uint8_t *indices;               /* units * SPRYI_WINDOWED_UNIT */
    void *values;                   /* slots; a pattern has none */
} spryi_windowed;

extern const spryi_format spryi_format_windowed;
extern const struct spryi_estimator spryi_windowed_estimator; /* windowed_work.c */
extern const spryi_kernel spryi_windowed_portable_cpu, spryi_windowed_staged_cuda;
extern const spryi_kernel spryi_windowed_avx2_cpu, spryi_windowed_avx512_cpu;

/* Fills a zeroed storage from CSR. After a failure the caller releases its arrays. */
spry_status spryi_windowed_build(spry_context *context, void *storage, const spryi_build_request *request,
                                 spry_error *err);
spry_status spryi_windowed_predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request,
                                   spry_error *err);
