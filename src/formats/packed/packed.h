/*
 * Packed CSR-k: slices of 32 rows, as in SELL, almost without padding and with as few column indices as possible.
 *
 *     a b . . .     Here a slice has 4 lanes instead of 32. Its entries lie on the diagonals -1, 0 and 1, so that
 *     c d e . .     it stores no columns: slot by slot, it takes the entries of one diagonal, lane beside lane.
 *     . f g h .
 *     . . i j k     distances   -1 0 1                      column - row of the slots, once a slice
 *                   masks       .11 111 111 111             which of the slots a lane has, a bit each
 *                   values      c f i | a d g j | b e h k   three slots; lane 0 has no entry in the first one
 *
 * Rows are cut into groups of 1024 (CSR-k's super-super-rows), those into slices of 32 lanes (its super-rows). A lane
 * is a row, or b rows where the matrix is made of dense b x b blocks; its entries are then blocks, at block columns.
 * Slices of a group lie together and need nothing of another group, so groups are made in parallel. A slot takes one
 * entry of each lane that has one; they lie side by side. Of blocks lie first the first values of all lanes, then the
 * second ones: n blocks take b*b*n values. Entries keep their order within the row. Where it saves SORT_SAVES slots a
 * slice on average, the rows of the group are sorted by falling length, stably.
 *
 *   slices    16 bytes each, by rising rows, and one that ends them: where values and indices begin, first row, kind
 *   extras    4 bytes a slice: first column of OFFSETS, or where the masks of DIAGONALS begin
 *   indices   pieces of 16 bytes. A slice takes the kind of the fewest bytes:
 *     DIAGONALS `width` distances (column - lane) that rise, 32 bits each. A slot's entries lie on one diagonal: from
 *               lane to lane the column grows by one, a constant stride. There are at most half as many again as the
 *               longest lane has entries. Slices that follow each other share a list. Unless FULL, a mask a lane
 *               tells which slots it has: 8, 16 or 32 bits, as the width needs.
 *     OFFSETS   column less first column of each entry, 16 bits
 *     COLUMNS   the column of each entry, as the matrix has it (32 or 64 bits)
 *               The two begin, unless FULL, with 32 lengths of 8 bits, LONG_ROW for a row that is kept apart. Then,
 *               where SORTED, follow the lanes' rows, counted from the group's first, 16 bits each.
 *   FULL      32 lanes that all have `width` entries
 *   PADDED    some lack some, at most one in PADDING_LIMIT: all slots have room for 32 lanes, of values and, unless
 *             DIAGONALS, of indices. The missing ones are zeros, or values from nearby where values may be shared, and
 *             no CPU kernel multiplies them. That costs bytes, but lanes need not count who comes before them. The
 *             values of FULL and PADDED slices begin at a multiple of 32.
 *   values    of all slices. In a plan on a CPU slices of a group share them where one's are what another's begin with:
 *             matrices of constant coefficients and graphs without weights take nearly none. Not in files and on GPUs,
 *             whose kernels count on neighbours' values lying side by side.
 *
 * Rows far longer than the others are stored as CSR (long_rows), cut into pieces of SPRYI_PACKED_PIECE entries that are
 * added up in order.
 *
 * Size: the values, and 20 bytes a slice on grids (4.1 an entry in f32); masks of 1 to 4 bytes a lane where there are
 * holes; elsewhere 2 or 4 bytes an entry (or b x b block), 1 of length and 2 of row a lane.
 * Source: slices: Monakov, Lokhmotov, Avetisyan 2010 (SELL); super-rows: Lane and Booth 2022 (CSR-k); diagonals, masks
 * and packed slots: this library.
 *
 * Files: packed_layout.h codes a slice; packed_format.c builds slices on the host, group by group (packed_group.c),
 * packed_convert.cu on a GPU; packed_reader.h reads them entry by entry, packed_lanes.h lane by lane; packed_*_cpu.c
 * and packed_*.cuh multiply.
 */
#pragma once

#include "core/kernel.h"
#include "formats/shared/column_windows.h"
#include "formats/shared/long_rows.h"
#include "matrix/assemble.h"
#include "matrix/columns.h"

enum {
    SPRYI_PACKED_LANES = 32,
    SPRYI_PACKED_GROUP = 1024,      /* rows of a group, or the multiple of 32*b below */
    SPRYI_PACKED_MOST_BLOCK = 5,    /* b; larger ones are made of blocks of 3 or 4, whose indices cost little too */
    SPRYI_PACKED_MOST_WIDTH = 254,  /* entries of a lane */
    SPRYI_PACKED_LONG_ROW = 255,    /* in place of a length: the row lies apart */
    SPRYI_PACKED_LONG_LEAST = 64,   /* rows of so many entries and ... */
    SPRYI_PACKED_LONG_MEANS = 4,    /* ... times those of the group's mean row are long */
    SPRYI_PACKED_PIECE = 1024,      /* entries of long rows */
    SPRYI_PACKED_SORT_SAVES = 2,    /* slots of a slice, from which on sorting pays */
    SPRYI_PACKED_PADDING_LIMIT = 2, /* PADDED: at most one slot in so many is a hole */
    SPRYI_PACKED_INDEX_UNIT = 16,   /* bytes in which `indices` is counted */
    SPRYI_PACKED_STREAM_BYTES = 16 << 20, /* larger vectors, and values being made, are written past the caches */
};

/* Bits of a slice's info. */
typedef enum spryi_packed_kind {
    SPRYI_PACKED_DIAGONALS = 0,
    SPRYI_PACKED_OFFSETS = 1,
    SPRYI_PACKED_COLUMNS = 2,
    SPRYI_PACKED_KIND_BITS = 3,
    SPRYI_PACKED_FULL = 4,
    SPRYI_PACKED_SORTED = 8,      /* of OFFSETS and COLUMNS */
    SPRYI_PACKED_BLOCK_SHIFT = 4, /* b, four bits */
    SPRYI_PACKED_WIDTH_SHIFT = 8, /* the width, eight bits */
    SPRYI_PACKED_PADDED = 1 << 16,
    SPRYI_PACKED_VALUES_SHIFT = 17, /* the high bits of where the values begin, fifteen */
} spryi_packed_kind;

typedef struct spryi_packed_slice {
    uint32_t values;  /* where its values begin: low bits */
    uint32_t indices; /* distances, lengths or indices, in units of SPRYI_PACKED_INDEX_UNIT */
    uint32_t row;     /* first, in units of 32 */
    uint32_t info;    /* see spryi_packed_kind */
} spryi_packed_slice;

/* The storage of format packed. */
typedef struct spryi_packed {
    spry_arrays a;       /* sizes and types, as CSR without arrays */
    int64_t block;       /* b of the slices that have blocks; 1: there are none */
    int64_t slice_count; /* without the one that ends them */
    int64_t indexed;     /* slices with OFFSETS or COLUMNS */
    int64_t slots;       /* numbers in values */
    int64_t units;       /* of indices */
    spryi_long_rows long_rows;
    spryi_packed_slice *slices; /* slice_count + 1 */
    int32_t *extras;            /* slice_count */
    uint8_t *indices;           /* units * SPRYI_PACKED_INDEX_UNIT */
    void *values;               /* slots; a pattern has none */
    spryi_windows windows;      /* for the transposed product, else empty */
    int64_t most_slots;         /* numbers in values if no slices shared them */
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

/* Rows of a group where lanes are rows, or where they may be b rows. */
SPRYI_PACKED_INLINE int64_t spryi_packed_group_rows(int64_t b)
{
    const int64_t unit = SPRYI_PACKED_LANES * b;
    return SPRYI_PACKED_GROUP / unit * unit;
}

/* Bytes of a lane's mask. */
SPRYI_PACKED_INLINE int spryi_packed_mask_bytes(int width)
{
    return width <= 8 ? 1 : width <= 16 ? 2 : 4;
}

/* An estimate of what packed would be, by a sample of the groups of CSR. */
typedef struct spryi_packed_guess {
    double bytes;    /* an entry, where slices share no values */
    double shared;   /* of these on a CPU, those of values that slices share */
    int64_t block;   /* see spryi_packed */
    double unmarked; /* share of the slices that have no index an entry: of DIAGONALS, or of blocks */
    double strided;  /* share of the slices of DIAGONALS */
    double slices;   /* of the whole matrix */
} spryi_packed_guess;
