/*
 * Packed CSR-k: slices of 32 rows, as in SELL, with little padding and few column indices.
 *
 *     a b . . .     In this example a slice has 4 lanes instead of 32. Its entries are on the diagonals -1, 0 and 1,
 *     c d e . .     so no columns are stored. A slot has the entries of one diagonal, in order of lanes.
 *     . f g h .
 *     . . i j k     distances   -1 0 1                      column - row of each slot, stored once per slice
 *                   masks       .11 111 111 111             slots of each lane, one bit per slot
 *                   values      c f i | a d g j | b e h k   three slots; lane 0 has no entry in the first slot
 *
 * Rows are divided into groups of 1024 (CSR-k's super-super-rows), and groups into slices of 32 lanes (super-rows). A
 * lane is a row. If the matrix consists of dense b x b blocks, a lane is b rows, its entries are blocks, and its
 * columns are block columns. The slices of a group are adjacent and independent of other groups, so groups are built in
 * parallel. A slot has at most one entry of each lane, stored in order of lanes. A slot of n blocks has b*b*n values:
 * the first value of all blocks, then the second, and so on. Entries keep their order within a row. The rows of a group
 * are sorted by falling length, stably, if sorting saves SORT_SAVES slots per slice on average.
 *
 *   slices    one record of 16 bytes per slice, in the order of rows, and an end record. A record has the positions of
 *             the slice's values and indices, its first row and its kind.
 *   extras    4 bytes per slice: the first column if the kind is OFFSETS, the position of the masks if it is DIAGONALS
 *   indices   the slices' distances, masks, lengths, rows and columns, in units of 16 bytes. A slice has the kind with
 *             the fewest bytes:
 *     DIAGONALS `width` rising distances (column - lane) of 32 bits. The entries of a slot are on one diagonal: the
 *               column increases by one from lane to lane (constant stride). The number of distances is at most 1.5
 *               times the longest lane's entries. Consecutive slices with equal lists store one list. Unless the slice
 *               is FULL, each lane has a mask of its slots, of 8, 16 or 32 bits depending on the width.
 *     OFFSETS   column minus first column for each entry, 16 bits
 *     COLUMNS   column of each entry, of the matrix's index type (32 or 64 bits)
 *               Unless the slice is FULL, 32 lengths of 8 bits precede the OFFSETS or COLUMNS. The length is LONG_ROW
 *               if the row is in long_rows. If the slice is SORTED, the lanes' rows follow the lengths, relative to the
 *               group's first row, 16 bits each.
 *   FULL      32 lanes with `width` entries each
 *   PADDED    some lanes have fewer than `width` entries. At most one in PADDING_LIMIT entries is missing. All slots
 *             have room for 32 lanes in `values` and, if the kind is not DIAGONALS, in `indices`. The value of a
 *             missing entry is zero or, if slices may share values, the previous value of the slot. CPU kernels
 *             do not multiply values of missing entries. Padding costs bytes, but the position of an entry does not
 *             depend on the other lanes. The values of FULL and PADDED slices begin at a multiple of 32.
 *   values    the values of all slices. In a CPU plan, a slice shares the values of another slice of its group if the
 *             other slice's values begin with the slice's own values. Matrices of constant coefficients and graphs
 *             without weights then have few values. Files and GPU storages do not share values, since GPU kernels
 *             expect contiguous values of consecutive slices.
 *
 * Rows much longer than the mean are stored as CSR (long_rows), in pieces of SPRYI_PACKED_PIECE entries whose sums are
 * added in order.
 *
 * Size: on grids, the values plus 20 bytes per slice (in total 4.1 bytes per entry in f32). Masks add 1 to 4 bytes per
 * lane if some lanes lack slots. OFFSETS add 2 bytes per entry (or b x b block), COLUMNS 4 or 8. Lengths add 1 byte per
 * lane, and the rows of SORTED slices 2 bytes per lane.
 *
 * Source: slices: Monakov, Lokhmotov, Avetisyan 2010 (SELL); super-rows: Lane and Booth 2022 (CSR-k); diagonals, masks
 * and packed slots: this library.
 *
 * Files: packed_layout.h encodes a slice. packed_format.c builds slices on the host, group by group (packed_group.c),
 * packed_convert.cu on a GPU. packed_reader.h reads slices entry by entry, packed_lanes.h lane by lane. packed_*_cpu.c
 * and packed_*.cuh multiply.
 */
#pragma once

#include "core/kernel.h"
#include "formats/shared/column_windows.h"
#include "formats/shared/long_rows.h"
#include "matrix/assemble.h"
#include "matrix/columns.h"

#include <stdbool.h>

enum {
    SPRYI_PACKED_LANES = 32,
    SPRYI_PACKED_GROUP = 1024,      /* most rows of a group, see spryi_packed_group_rows */
    SPRYI_PACKED_MOST_IN_PLACE = 3, /* most column-major vectors that a GPU reads in place, if blocks have indices */
    SPRYI_PACKED_MOST_BLOCK = 5,    /* largest b; blocks of 6 are stored as blocks of 3, blocks of 8 as blocks of 4 */
    SPRYI_PACKED_MOST_WIDTH = 254,  /* most entries of a lane */
    SPRYI_PACKED_LONG_ROW = 255,    /* stored instead of the length if the row is in long_rows */
    SPRYI_PACKED_LONG_LEAST = 64,   /* a row is long if it has more entries than this and ... */
    SPRYI_PACKED_LONG_MEANS = 4,    /* ... than this multiple of the group's mean, or than MOST_WIDTH */
    SPRYI_PACKED_PIECE = 1024,      /* entries of a piece of a long row */
    SPRYI_PACKED_SORT_SAVES = 2,    /* least number of slots per slice that sorting must save */
    SPRYI_PACKED_PADDING_LIMIT = 2, /* in a PADDED slice, at most one in this number of entries is missing */
    SPRYI_PACKED_INDEX_UNIT = 16,   /* bytes of a unit of `indices` */
    SPRYI_PACKED_STREAM_BYTES = 16 << 20, /* arrays of at least this size are written with non-temporal stores */
};

/* Kinds of slices, and bit fields of spryi_packed_slice.info. */
typedef enum spryi_packed_kind {
    SPRYI_PACKED_DIAGONALS = 0,
    SPRYI_PACKED_OFFSETS = 1,
    SPRYI_PACKED_COLUMNS = 2,
    SPRYI_PACKED_KIND_BITS = 3,
    SPRYI_PACKED_FULL = 4,
    SPRYI_PACKED_SORTED = 8,      /* only OFFSETS and COLUMNS */
    SPRYI_PACKED_BLOCK_SHIFT = 4, /* b, four bits */
    SPRYI_PACKED_WIDTH_SHIFT = 8, /* width, eight bits */
    SPRYI_PACKED_PADDED = 1 << 16,
    SPRYI_PACKED_VALUES_SHIFT = 17, /* high fifteen bits of the position of the values */
} spryi_packed_kind;

typedef struct spryi_packed_slice {
    uint32_t values;  /* low 32 bits of the position of the values */
    uint32_t indices; /* position of distances, lengths or indices, in units of SPRYI_PACKED_INDEX_UNIT */
    uint32_t row;     /* first row, in units of 32 */
    uint32_t info;    /* see spryi_packed_kind */
} spryi_packed_slice;

/* The storage of format packed. */
typedef struct spryi_packed {
    spry_arrays a;       /* sizes and types of the matrix */
    int64_t block;       /* block size b of the slices with blocks; 1: no slice has blocks */
    int64_t slice_count; /* without the end record */
    int64_t indexed;     /* number of slices with OFFSETS or COLUMNS */
    int64_t slots;       /* elements of values */
    int64_t units;       /* units of indices */
    spryi_long_rows long_rows;
    spryi_packed_slice *slices; /* slice_count + 1 elements */
    int32_t *extras;            /* slice_count elements */
    uint8_t *indices;           /* units * SPRYI_PACKED_INDEX_UNIT */
    void *values;               /* `slots` elements; NULL for a pattern */
    void *table;                /* f64 values that `values` index; NULL: `values` has no indices */
    spryi_windows windows;      /* windows of y for the transposed product; empty if the plan does not support it */
    int64_t most_slots;         /* elements that `values` would have if slices shared no values */
} spryi_packed;

extern const spryi_format spryi_format_packed;
extern const struct spryi_estimator spryi_packed_estimator; /* packed_work.c */
extern const spryi_kernel spryi_packed_portable_cpu, spryi_packed_slices_cuda;
extern const spryi_kernel spryi_packed_avx2_cpu, spryi_packed_avx512_cpu;

#ifdef __CUDACC__
#define SPRYI_PACKED_INLINE static __host__ __device__ __forceinline__
#else
#define SPRYI_PACKED_INLINE static inline
#endif

SPRYI_PACKED_INLINE int64_t spryi_packed_values_at(const spryi_packed_slice *slice)
{
    return (int64_t)(slice->info >> SPRYI_PACKED_VALUES_SHIFT) << 32 | slice->values;
}
SPRYI_PACKED_INLINE void spryi_packed_set_values_at(spryi_packed_slice *slice, int64_t at)
{
    slice->values = (uint32_t)at;
    slice->info = (slice->info & ((1u << SPRYI_PACKED_VALUES_SHIFT) - 1)) | (uint32_t)(at >> 32)
                                                                                << SPRYI_PACKED_VALUES_SHIFT;
}
SPRYI_PACKED_INLINE int spryi_packed_kind_of(const spryi_packed_slice *slice)
{
    return (int)(slice->info & SPRYI_PACKED_KIND_BITS);
}
SPRYI_PACKED_INLINE int spryi_packed_b(const spryi_packed_slice *slice)
{
    return (int)(slice->info >> SPRYI_PACKED_BLOCK_SHIFT & 15);
}
SPRYI_PACKED_INLINE int spryi_packed_width(const spryi_packed_slice *slice)
{
    return (int)(slice->info >> SPRYI_PACKED_WIDTH_SHIFT & 255);
}

/* Returns the number of rows of a group, a multiple of 32*b. If b is 1, lanes are rows. */
SPRYI_PACKED_INLINE int64_t spryi_packed_group_rows(int64_t b)
{
    const int64_t unit = SPRYI_PACKED_LANES * b;
    return SPRYI_PACKED_GROUP / unit * unit;
}

/* Returns the bytes of a lane's mask. */
SPRYI_PACKED_INLINE int spryi_packed_mask_bytes(int width)
{
    return width <= 8 ? 1 : width <= 16 ? 2 : 4;
}

/* Sizes of packed, estimated from a sample of groups of CSR rows. */
typedef struct spryi_packed_guess {
    double bytes;    /* bytes per entry if no values are shared */
    double slots;    /* values per entry, with padding, if none are shared */
    double shared;   /* values per entry that a CPU plan saves by sharing values */
    int64_t block;   /* see spryi_packed */
    double unmarked; /* share of the slices without an index per entry: slices of DIAGONALS, slices of blocks */
    double strided;  /* share of the slices with DIAGONALS */
    double slices;   /* number of slices of the whole matrix */
} spryi_packed_guess;
