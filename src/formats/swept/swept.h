/*
 * Swept row blocks: rows are cut into blocks whose sums fit the shared memory of a GPU's multiprocessor, and all
 * multiprocessors sweep x together from left to right, without atomics.
 *
 *     a b . .     one block of two rows; here a group has 2 entries instead of 1024, and a batch 2 groups
 *     . c . d
 *                 groups           a c | b d   entries by columns; b has to wait, as the sum of its row is taken by a
 *                 slots            a b c d     thread 0 has a and b, thread 1 c and d
 *                 column - base    0 1 1 3
 *                 sum              0 0 1 1
 *
 *     block    consecutive rows with about 1 / multiprocessors of the entries
 *     batch    base = its least column; group 0 | group 1 | ...
 *     group    1024 entries by rising columns, no two of which add to the same sum: a thread an entry, without atomics
 *     slot     column - base | sum, together 32 bits, and a value; a sum of all ones: padding
 *
 * A batch is 16 bytes of values for each of 1024 threads: U groups (4 of f32, 2 of f64; 4 of a pattern, which has no
 * values). Entry `position` of group g lies in slot position * U + g of the batch, so that a thread reads its U entries
 * at once, and neighbouring threads have neighbouring columns. An entry whose sum the group has already goes to a later
 * group.
 *
 * Rows with entries have a sum each, numbered in their order. A row with entries for more than half of the block's
 * groups, or for more than 3/4 of some stretch of them, has further sums, which its entries take one after the other;
 * they lie behind the others and are added to the first at the end (`extras`). Blocks may share a row with their
 * neighbours: the pieces' sums are added in order by whoever comes last (`shared_rows`). `bitmaps` have a bit for each
 * row of a block that has entries, and how many such rows there are before each 32.
 *
 * Invariants: columns rise along a group and, for one row, from group to group; duplicates keep their order. The cut
 * follows from the matrix and from the GPU's number of multiprocessors and shared memory, never from threads.
 *
 * Size: 8 bytes an entry in f32, 12 in f64, 4 of a pattern, 1 to 5 % of padding, a bit a row.
 * Source: seed 000, SCOO: Dang and Schmidt 2012 (slices in shared memory); groups without conflicts, further sums and
 * pieces of rows: this library.
 *
 * Files: swept_layout.h decides about cuts and sums; swept_format.c builds the blocks on the host and goes back to
 * CSR; swept_convert.cu builds them on a GPU; swept_reference_cpu.c and swept_barrier_cuda.cu multiply.
 */
#pragma once

#include "core/kernel.h"

enum {
    SPRYI_SWEPT_THREADS = 1024,
    SPRYI_SWEPT_BATCH_BYTES = 16,      /* of values, for each thread */
    SPRYI_SWEPT_GPU_BLOCKS = 132,      /* multiprocessors, where no GPU is known ... */
    SPRYI_SWEPT_GPU_BYTES = 227 << 10, /* ... and their shared memory */
    SPRYI_SWEPT_OWN_BYTES = 1 << 10,   /* of it, that kernels take for themselves */
    SPRYI_SWEPT_MOST_SUMS = 65535,
    SPRYI_SWEPT_MOST_ENTRIES = 1 << 28, /* of a block: its slots are counted in 32 bits, rows too */
};

typedef struct spryi_swept_block {
    int64_t first_row; /* which the block before may share */
    int64_t first_bitmap, first_batch, first_extra;
    int32_t rows, sums; /* all rows; those with entries */
    int32_t batches, extras;
    int32_t all_sums, sum_bits;   /* further ones included; bits of an index that tell one, 16 at most */
    int32_t head_row, head_piece; /* the first row among the shared ones, -1: it is the block's own; its piece here */
    int32_t tail_row, tail_piece; /* the same of the last row, where that is another one */
} spryi_swept_block;

/* The further sums of a row: number `sum` among those with entries also has sums first .. first + count - 1. */
typedef struct spryi_swept_extra {
    int32_t sum, first, count;
} spryi_swept_extra;

/* A row that several blocks have pieces of. */
typedef struct spryi_swept_shared_row {
    int64_t row, first; /* of its pieces, among those of all shared rows */
    int64_t pieces;
} spryi_swept_shared_row;

/* 32 rows of a block: which of them have entries, and how many such rows are before. */
typedef struct spryi_swept_bitmap {
    uint32_t bits, before;
} spryi_swept_bitmap;

typedef struct spryi_swept_sizes {
    int64_t rows, cols, nnz;
    int64_t blocks;
    int64_t batches, bitmaps, extras, shared_rows, pieces; /* sizes of arrays; pieces: of all shared rows */
    int64_t most_sums, sum_limit; /* sums of a block, further ones included; as many as it may have */
    int32_t value_type, offset_type, index_type, reserved;
} spryi_swept_sizes;

typedef struct spryi_swept {
    spry_arrays types; /* first, as in every storage */
    spryi_swept_sizes sizes;
    spryi_swept_block *blocks;
    spryi_swept_bitmap *bitmaps;
    spryi_swept_extra *extras;
    spryi_swept_shared_row *shared_rows;
    int64_t *bases;    /* a batch */
    uint32_t *indices; /* a slot: sum in the low sum_bits of its block, column from the batch's base above */
    void *values;      /* NULL: a pattern */
} spryi_swept;

#ifdef __CUDACC__
#define SPRYI_SWEPT_INLINE static __host__ __device__ __forceinline__
#else
#define SPRYI_SWEPT_INLINE static inline
#endif

extern const spryi_format spryi_format_swept;
extern const struct spryi_estimator spryi_swept_estimator; /* swept_work.c */
extern const spryi_kernel spryi_swept_reference_cpu, spryi_swept_barrier_cuda;

/* Groups of a batch, and slots of a thread in it, 16 bytes of values or of indices; and of a type, as a constant. */
#define SPRYI_SWEPT_UNROLL(type) (SPRYI_SWEPT_BATCH_BYTES / (int64_t)(sizeof(type) > 4 ? sizeof(type) : 4))
static inline int64_t spryi_swept_unroll(int32_t value_type)
{
    const int64_t bytes = (int64_t)spry_type_bytes((spry_type)value_type);
    return SPRYI_SWEPT_BATCH_BYTES / (bytes > 4 ? bytes : 4);
}

/* Where entry `position` of a block's group lies, from the block's first slot. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_slot(int64_t group, int64_t position, int64_t unroll)
{
    return (group / unroll * SPRYI_SWEPT_THREADS + position) * unroll + group % unroll;
}

/* The sum of a slot that holds no entry. */
SPRYI_SWEPT_INLINE uint32_t spryi_swept_padding(const spryi_swept_block *block)
{
    return (1u << block->sum_bits) - 1;
}

/* The column of the entry in a slot of a batch of the block, both counted over all blocks. */
static inline int64_t spryi_swept_column(const spryi_swept *s, const spryi_swept_block *block, int64_t batch,
                                         int64_t slot)
{
    return s->bases[batch] + (int64_t)((uint64_t)s->indices[slot] >> block->sum_bits);
}

/* Sets row_of[sum] to the row, counted from the block's first row, for each of the block->all_sums sums. */
static inline void spryi_swept_rows_of_sums(const spryi_swept *s, const spryi_swept_block *block, int32_t *row_of)
{
    int32_t sum = 0;
    for (int32_t r = 0; r < block->rows; r++)
        if (s->bitmaps[block->first_bitmap + r / 32].bits >> (r % 32) & 1) row_of[sum++] = r;
    for (int64_t l = block->first_extra; l < block->first_extra + block->extras; l++)
        for (int32_t n = 0; n < s->extras[l].count; n++) row_of[s->extras[l].first + n] = row_of[s->extras[l].sum];
}
