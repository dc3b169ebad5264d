/*
 * Packed CSR-k: slices of 32 lanes without padding, whose indices vanish where they can.
 *
 *     row 0   a b . . .     lanes are rows       distances  -1  0  1        what each lane's columns are from its own
 *     row 1   c d e . .     (blocks b = 1);      masks       .  1  1        the distances that lane 0 has, a bit each,
 *     row 2   . f g h .     here 4 of 32                     1  1  1        lane 1, 2 and 3
 *     row 3   . . i j k                                      1  1  1
 *                                                            1  1  1
 *                           values  c f i | a d g j | b e h k               distance by distance, no holes
 *
 * Rows are cut into super-super-rows, and those into super-rows of 32 lanes: slices. A lane is a row, or b rows of a
 * matrix that is made of dense b x b blocks; its entries are then blocks, at block columns. Slices of one
 * super-super-row lie together and need nothing of another, so they are made in parallel. Entries of a slice are
 * stored slot by slot; a slot takes one entry of each lane that has one: they lie side by side, without room for the
 * others unless those are few. Of a block lie first all lanes' first values, then their second
 * ones: n entries take b*b*n values. Entries keep their order within the row. Where the lanes' lengths differ so much
 * that sorting spares a slice SORT_SPARES slots on the average, the rows of the super-super-row are sorted by falling
 * length, stably.
 *
 *   slices    16 bytes each, by rising rows, and one that ends them: where values and indices begin, first row, kind
 *   extras    4 bytes a slice: FIRST column of OFFSETS, or where the masks of STEPPED begin
 *   indices   pieces of 16 bytes. A slice chooses what takes the fewest:
 *     STEPPED   `width` distances (column - lane) that rise, 32 bits each: all entries lie at those, and they are at
 *               most half as many again as the longest lane has entries. Slices that follow each other share a
 *               list. Unless FULL, a mask a lane tells which it has: 8, 16 or 32 bits, as the width needs.
 *     OFFSETS   column - FIRST of each entry, 16 bits
 *     WIDE      the column of each entry, as the matrix has it (32 or 64 bits)
 *               The two begin, unless FULL, with 32 lengths of 8 bits; OUTSIDE marks rows that are long. Then, where
 *               SORTED, follow the lanes' rows, counted from the super-super-row's first, 16 bits each.
 *   FULL      32 lanes that all have `width` entries
 *   PADDED    some lack some, up to one in HOLES: all slots have room for 32 lanes, of values and, unless STEPPED, of
 *             indices. What is missing is zeros there, which are never multiplied. It costs bytes that packing would
 *             spare, and less time: lanes need not count who comes before them.
 *             The values of both begin at a multiple of 32.
 *   values    of all slices
 *
 * Rows that are far longer than others lie apart as CSR, cut into pieces of SPRYI_PACKED_PIECE entries, which are
 * added up in order: long_rows, long_first (piece of each), pieces (entry of each), long_columns, long_values.
 *
 * Cost: values and 20 bytes of 32 lanes on grids (4.1 an entry in f32); 1 to 4 bytes a lane where it has holes; 2 or
 * 4 bytes an entry (or b x b block), 1 of length and 2 of row a lane elsewhere.
 */
#ifndef SPRYI_PACKED_H
#define SPRYI_PACKED_H

#include "core/assemble.h"
#include "core/kernel.h"
#include "formats/ell/windows.h"

enum {
    SPRYI_PACKED_LANES = 32,
    SPRYI_PACKED_GROUP = 1024,       /* rows of a super-super-row, or the multiple of 32*b below */
    SPRYI_PACKED_MOST_BLOCK = 5,     /* b; larger ones are made of blocks of 3 or 4, whose indices cost little too */
    SPRYI_PACKED_MOST_WIDTH = 254,   /* entries of a lane */
    SPRYI_PACKED_OUTSIDE = 255,      /* for a length: the row is long */
    SPRYI_PACKED_LONG = 64,          /* rows of so many entries and ... */
    SPRYI_PACKED_LONG_MEANS = 4,     /* ... times those of the super-super-row's mean row are long */
    SPRYI_PACKED_PIECE = 1024,       /* entries of long rows */
    SPRYI_PACKED_SORT_SPARES = 2,    /* slots of a slice, from which on sorting pays */
    SPRYI_PACKED_HOLES = 2,          /* PADDED: at most one slot in so many is a hole */
    SPRYI_PACKED_UNIT = 16,          /* bytes of `indices` */
    SPRYI_PACKED_BLOCK_COST = 32768, /* values and lanes that a thread takes at once */
    SPRYI_PACKED_STREAM_BYTES =
        16 << 20, /* from this size y, and values being made, are streamed: they would not stay near */
};

typedef enum spryi_packed_kind {
    SPRYI_PACKED_STEPPED = 0,
    SPRYI_PACKED_OFFSETS = 1,
    SPRYI_PACKED_WIDE = 2,
    SPRYI_PACKED_KIND = 3, /* bits of it */
    SPRYI_PACKED_FULL = 4,
    SPRYI_PACKED_SORTED = 8, /* of OFFSETS and WIDE */
    SPRYI_PACKED_B = 4,      /* first bit of b, four of them */
    SPRYI_PACKED_WIDTH = 8,  /* of the width, eight */
    SPRYI_PACKED_PADDED = 1 << 16,
    SPRYI_PACKED_HIGH = 17, /* of what `values` does not hold of its place, fifteen */
} spryi_packed_kind;

typedef struct spryi_packed_slice {
    uint32_t values;  /* where its values begin: low bits */
    uint32_t indices; /* distances, lengths or indices, in units of SPRYI_PACKED_UNIT */
    uint32_t row;     /* first, in units of 32 */
    uint32_t info;    /* see spryi_packed_kind */
} spryi_packed_slice;

/* The storage of format packed. */
typedef struct spryi_packed {
    spry_arrays a;       /* sizes and types, as CSR without arrays */
    int64_t block;       /* b of the slices that have blocks; 1: there are none */
    int64_t slice_count; /* without the one that ends them */
    int64_t indexed;     /* of them: those that are not STEPPED */
    int64_t slots;       /* of values */
    int64_t units;       /* of indices */
    int64_t long_count, piece_count, long_nnz;
    spryi_packed_slice *slices; /* slice_count + 1 */
    int32_t *extras;            /* slice_count */
    uint8_t *indices;           /* units * SPRYI_PACKED_UNIT */
    void *values;               /* slots; a pattern has none */
    int64_t *long_rows;         /* long_count, rising */
    int64_t *long_first;        /* long_count + 1: pieces */
    int64_t *pieces;            /* piece_count + 1: entries of long_columns and long_values */
    void *long_columns, *long_values;
    spryi_windows windows; /* for the transposed product, else empty */
} spryi_packed;

extern const spryi_format spryi_format_packed;
extern const spryi_kernel spryi_packed_reference_cpu, spryi_packed_portable_cpu, spryi_packed_slices_cuda;
extern const spryi_kernel spryi_packed_avx512_cpu;

#ifdef __CUDACC__
#define SPRYI_PACKED_INLINE static __host__ __device__ __forceinline__
#else
#define SPRYI_PACKED_INLINE static inline
#endif

SPRYI_PACKED_INLINE int64_t spryi_packed_values_at(const spryi_packed_slice *slice)
{
    return (int64_t)(slice->info >> SPRYI_PACKED_HIGH) << 32 | slice->values;
}
SPRYI_PACKED_INLINE int spryi_packed_kind_of(const spryi_packed_slice *slice)
{
    return (int)(slice->info & SPRYI_PACKED_KIND);
}
SPRYI_PACKED_INLINE int spryi_packed_b(const spryi_packed_slice *slice)
{
    return (int)(slice->info >> SPRYI_PACKED_B & 15);
}
SPRYI_PACKED_INLINE int spryi_packed_width(const spryi_packed_slice *slice)
{
    return (int)(slice->info >> SPRYI_PACKED_WIDTH & 255);
}

/* Rows of a super-super-row where lanes are rows, or where they may be b rows. */
SPRYI_PACKED_INLINE int64_t spryi_packed_group(int64_t b)
{
    const int64_t unit = SPRYI_PACKED_LANES * b;
    return SPRYI_PACKED_GROUP / unit * unit;
}

/* Bytes of a lane's mask. */
SPRYI_PACKED_INLINE int spryi_packed_mask_bytes(int width)
{
    return width <= 8 ? 1 : width <= 16 ? 2 : 4;
}

/* A way through the entries of a slice, slot by slot, for code that need not be fast. */
typedef struct spryi_packed_cursor {
    const spryi_packed *s;
    int kind, full, b, width, lanes;
    int64_t row, first;     /* of lane 0; FIRST */
    const uint8_t *lengths; /* NULL: FULL, or STEPPED */
    const uint16_t *rows;   /* NULL: not SORTED */
    const int32_t *distances;
    const uint8_t *masks;   /* NULL: FULL, or not STEPPED */
    const void *columns;    /* 16 bits or as the matrix has them */
    int64_t before, values; /* entries in the slots before; where the slice's values begin */
    /* the slot */
    int slot, count;    /* count: of its lanes */
    uint32_t mask;      /* of its lanes */
    int64_t column[32]; /* of lane l, in blocks; of lanes in the mask */
    int64_t at;         /* value e of the r-th of its lanes, of lane r where it is dense, is at + e*stride + r */
    int stride, dense;
} spryi_packed_cursor;

/* The first row of lane l. */
static inline int64_t spryi_packed_row(const spryi_packed_cursor *c, int l)
{
    return c->rows ? c->row / SPRYI_PACKED_GROUP * SPRYI_PACKED_GROUP + c->rows[l] : c->row + (int64_t)l * c->b;
}

/* packed_cursor.c: before the first slot; next is 0 after the last. check: s and the slice may be damaged. */
void spryi_packed_open(spryi_packed_cursor *cursor, const spryi_packed *s, int64_t slice);
int spryi_packed_next(spryi_packed_cursor *cursor);
/* Lanes that are rows of the slice: 0 for those past the last row and of long rows. */
uint32_t spryi_packed_row_mask(const spryi_packed_cursor *cursor);
/* Lanes that have slot k. */
uint32_t spryi_packed_slot_mask(const spryi_packed_cursor *cursor, int k);
spry_status spryi_packed_check(const void *storage, spry_error *err);

/*
 * packed_build.c: survey settles a and the sizes of s, otherwise zero, and *parts, what make needs of it, to be
 * released by the caller; make allocates the arrays and fills them. On failure of either the caller clears.
 */
struct spryi_packed_surveyed;
spry_status spryi_packed_survey(spry_context *context, spryi_packed *s, struct spryi_packed_surveyed **parts,
                                const spry_arrays *csr, spry_error *err);
spry_status spryi_packed_make(spry_context *context, spryi_packed *s, struct spryi_packed_surveyed *parts,
                              const spry_arrays *csr, spry_error *err);
spry_status spryi_packed_to_csr(spry_context *context, spry_matrix **csr, const spryi_packed *s, spry_error *err);

/* What packed would be, by a sample of the super-super-rows of CSR. */
typedef struct spryi_packed_guess {
    double bytes;    /* an entry */
    int64_t block;   /* see spryi_packed */
    double unmarked; /* share of the slices that have no index an entry: they step, or are of blocks */
    double stepped;  /* share of the slices that step */
    double slices;   /* of the whole matrix */
} spryi_packed_guess;

spryi_packed_guess spryi_packed_guess_of(const spry_arrays *csr);

/* What the inner functions of a kernel work on. alpha and beta hold an f32 exactly. */
typedef struct spryi_packed_job {
    const spryi_packed *s;
    const void *x;
    void *y, *sums; /* of pieces */
    double alpha, beta;
    int stream_y; /* past the caches; beta is 0 */
} spryi_packed_job;

typedef struct spryi_packed_leaves {
    void (*slices)(const spryi_packed_job *job, int64_t begin, int64_t end); /* rows that are not long */
    void (*pieces)(const spryi_packed_job *job, int64_t begin, int64_t end); /* their sums */
    void (*rows)(const spryi_packed_job *job, int64_t begin, int64_t end);   /* long ones, from the sums */
} spryi_packed_leaves;

/* packed_driver.c: runs the leaves on args->threads threads. */
spry_status spryi_packed_drive(const spryi_run_args *args, const spryi_packed_leaves *leaves);
int64_t spryi_packed_workspace(const void *storage);
/* The slice in which row begins, a multiple of the super-super-rows' or the number of rows. */
int64_t spryi_packed_slice_of(const spryi_packed *s, int64_t row);

#endif
