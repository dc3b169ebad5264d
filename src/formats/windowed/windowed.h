/*
 * windowed: windows of rows. Each window stages its part of x, that is, copies this part to fast memory. The format is
 * for meshes whose nodes have the numbers that a mesh generator gave them.
 *
 *      row 0   a . . b . . c        window of rows 0, 2, 4       dictionary   0 3 6       columns of the window
 *      row 2   . . . d . . e                                     row 0        0 1 2       columns as dictionary
 *      row 4   f . . . . . g                                     row 2        1 2         indices: 12 or 16 bits
 *                                                                row 4        0 2
 *
 * A product copies the elements of x that a window's dictionary lists into fast memory once: shared memory of a GPU,
 * the first-level cache of a CPU. The rows of the window then read x from fast memory. The order of rows puts rows with
 * common columns into one window:
 *
 *   groups    A group is a set of rows with equal patterns, for example the rows of a node's unknowns. The rows need
 *             not be adjacent. A slice stores the indices of a group once. The leader of a group is its first row.
 *   runs      If the matrix consists of blocks, a dictionary index stands for `run` columns: j, j + stride, j +
 *             2*stride, ... The stride is 1 (unknowns of a node are adjacent) or cols/run (all first unknowns, then all
 *             second unknowns). A window whose rows do not consist of such runs has runs of one column.
 *   cells     Leaders are vertices of a graph, columns are its edges. Some leaders are seeds, chosen by a hash of the
 *             row index. Every leader joins the cell of a seed from which the fewest edges lead to it. Rows of a cell
 *             are adjacent in the order. Columns, x and y keep the matrix's numbering, since each lane stores the index
 *             of its row.
 *
 * The ordered rows are cut into windows of `window` rows. A window with too many columns is halved repeatedly, down to
 * 32 rows. In a window, rows are sorted stably by decreasing length and cut into slices of 32 lanes.
 *
 *   windows       16 bytes each, and one end record: first slice, start of dictionary and pages, sizes
 *   dictionary    low 16 bits of each run's first column, increasing; a window's part starts at a multiple of 8
 *   pages         ranges of the dictionary whose columns have equal high bits: first dictionary index, high bits
 *   slices        16 bytes each, and one end record: start of values and indices, width, see below
 *   rows          the row of each of a slice's 32 lanes; SPRYI_WINDOWED_NO_ROW for lanes after the last row
 *   indices       of a slice, aligned to 16 bytes:
 *                   the group of each lane, 8 bits each, if the slice has fewer than 32 groups; lanes without a row
 *                   form the last group, of length 0;
 *                   the length of each group in runs, 16 bits each, padded to a multiple of 4 bytes;
 *                   words of 32 bits. The dictionary indices of a group are a stream of bits, lowest first; index t
 *                   starts at bit t*bits. A group has word q if length*bits > 32*q. The q-th words of all groups that
 *                   have word q are contiguous. Groups are sorted by length, so these are the first groups.
 *   values        slot by slot. Each slice starts at a multiple of SPRYI_WINDOWED_ALIGN. Slot t*run + c holds entry c
 *                 of run t of the lanes that have the run, contiguous, without padding. Zeros fill the gaps between
 *                 slices.
 *
 * Rows with more than SPRYI_WINDOWED_LONG entries are stored as CSR in pieces, as in packed: long_rows.
 *
 * Entries keep their order in the row. With stride 1, entry c of run t is entry t*run + c of the row. With a larger
 * stride, in a row of n runs, it is entry c*n + t. Unsorted rows and duplicate entries keep their order, in runs of 1.
 *
 * Size: the values, 12 bits of index per scalar entry, and 2 bytes of dictionary per column of each window.
 * Source: x of a part of the rows in shared memory, with local columns: Chen, Explicit caching HYB, 2022; slices:
 * Monakov, Lokhmotov, Avetisyan 2010; cells: Voronoi cells of a graph (Erwig 2000); groups, runs, windows: this
 * library.
 */
#pragma once

#include "core/kernel.h"
#include "formats/shared/long_rows.h"
#include "matrix/assemble.h"

enum {
    SPRYI_WINDOWED_LANES = 32,
    SPRYI_WINDOWED_MOST_ROWS = 1024, /* most rows of a window; the minimum is one slice */
    SPRYI_WINDOWED_LONG = 512,       /* most entries of a row in a window; longer rows are stored as CSR */
    SPRYI_WINDOWED_PIECE = 1024,     /* entries of a piece of a long row */
    SPRYI_WINDOWED_NUMBERS = 4096,   /* most elements of x that a window of multiple slices may stage */
    SPRYI_WINDOWED_SHORT_BITS = 12,  /* bits of a dictionary index if run is 1 and a window has at most 4096 columns */
    SPRYI_WINDOWED_MOST_RUN = 5,
    SPRYI_WINDOWED_ALIGN = 4,        /* elements; positions in values are counted in this unit */
    SPRYI_WINDOWED_UNIT = 16,        /* bytes; positions in `indices` are counted in this unit */
    SPRYI_WINDOWED_DICTIONARY = 8,   /* elements; positions in the dictionary are counted in this unit */
    SPRYI_WINDOWED_PAGE_BITS = 16,   /* low bits of a column, stored in the dictionary */
    SPRYI_WINDOWED_AT_ONCE = 528,    /* windows that an H200 runs concurrently: 4 on each of 132 multiprocessors */
    SPRYI_WINDOWED_LEAST_ROWS = 128, /* least number of rows of a default window */
};
#define SPRYI_WINDOWED_NO_ROW UINT32_MAX

typedef struct spryi_windowed_window {
    uint32_t slice;      /* first slice */
    uint32_t dictionary; /* start, in units of SPRYI_WINDOWED_DICTIONARY */
    uint32_t page;       /* first page */
    uint16_t columns;    /* length of the window's dictionary */
    uint8_t run, bits;
} spryi_windowed_window;

typedef struct spryi_windowed_page {
    uint32_t first; /* index in the window's dictionary */
    uint32_t high;  /* high bits of the page's columns */
} spryi_windowed_page;

typedef struct spryi_windowed_slice {
    uint32_t values;  /* start, in units of SPRYI_WINDOWED_ALIGN */
    uint32_t indices; /* start, in units of SPRYI_WINDOWED_UNIT */
    uint16_t width;   /* runs of the longest lane */
    uint16_t whole;   /* runs that all 32 lanes have */
    uint8_t groups, zero[3];
} spryi_windowed_slice;

/* The storage of format windowed. */
typedef struct spryi_windowed {
    spry_arrays a;       /* sizes and types; its arrays are NULL */
    int64_t window;      /* rows of a window, as requested or the default */
    int64_t cells;       /* 1 if rows are ordered by cells, else 0 */
    int64_t run, stride; /* of windows with runs of multiple columns; run is 1 if there are none */
    int64_t window_count, slice_count, page_count;
    int64_t numbers; /* elements of the dictionary, a multiple of SPRYI_WINDOWED_DICTIONARY */
    int64_t units;   /* length of indices, in SPRYI_WINDOWED_UNIT */
    int64_t slots;   /* elements of values, a multiple of SPRYI_WINDOWED_ALIGN */
    int64_t staged;  /* maximum of columns*run over the windows */
    spryi_long_rows long_rows;
    spryi_windowed_window *windows; /* window_count + 1 */
    spryi_windowed_slice *slices;   /* slice_count + 1 */
    spryi_windowed_page *pages;     /* page_count */
    uint16_t *dictionary;           /* numbers elements */
    uint32_t *rows;                 /* slice_count * 32 */
    uint8_t *indices;               /* units * SPRYI_WINDOWED_UNIT */
    void *values;                   /* slots elements; NULL for a pattern */
} spryi_windowed;

extern const spryi_format spryi_format_windowed;
extern const struct spryi_estimator spryi_windowed_estimator; /* windowed_work.c */
extern const spryi_kernel spryi_windowed_portable_cpu, spryi_windowed_staged_cuda;
extern const spryi_kernel spryi_windowed_avx2_cpu, spryi_windowed_avx512_cpu;

/* Fills a zeroed storage from CSR. After an error the caller releases the arrays. */
spry_status spryi_windowed_build(spry_context *context, void *storage, const spryi_build_request *request,
                                 spry_error *err);
spry_status spryi_windowed_predict(spry_context *context, spryi_cost *cost, const spryi_build_request *request,
                                   spry_error *err);
