/*
 * Swept row blocks. Rows are cut into blocks such that the sums of a block's rows fit the shared memory of a GPU's
 * multiprocessor. All multiprocessors work at the same time and sweep x, that is read x from its first to its last
 * element. Sums are added without atomics.
 *
 *     a b . .     one block of two rows; in this example a group has 2 entries instead of 1024, a batch has 2 groups
 *     . c . d
 *                 groups           a c | b d   entries by column; a and b have sum 0, hence b is in the second group
 *                 slots            a b c d     thread 0 has a and b, thread 1 c and d
 *                 column - base    0 1 1 3
 *                 sum              0 0 1 1
 *
 *     block    consecutive rows; blocks have about equal numbers of entries, one block per multiprocessor
 *     batch    U groups; its base is its least column
 *     group    up to 1024 entries by rising columns with distinct sums. One thread adds each entry, without atomics
 *     slot     32 bits with column - base and the sum, and a value. If the sum's bits are all 1, the slot is padding
 *
 * A batch has 16 bytes of values for each of 1024 threads, in U groups. U is 4 for f32, 2 for f64, and 4 for a pattern,
 * which has no values. Entry `position` of group g is in slot position * U + g of the batch. A thread therefore reads
 * its U entries together, and adjacent threads have adjacent columns. Entries with the same sum are
 * in different groups.
 *
 * Each row with entries has a sum. Sums are numbered in row order. A row has further sums if it has more entries than
 * half of the block's groups, or more than 12 entries in a stretch (16 * 1024 consecutive entries by column). The
 * row's entries use its sums in turn. Further sums are numbered after the first sums of all rows, and are added to the
 * row's first sum at the end (`extras`). A row may be shared by consecutive blocks. The sums of its pieces are added in
 * order by the block that finishes last (`shared_rows`). `bitmaps` has a bit for each row of a block, which is set if
 * the row has entries, and for each 32 rows the number of rows with entries before them.
 *
 * Invariants: columns rise along a group and, within a row, from group to group. Duplicates keep their order. The cuts
 * depend on the matrix and on the GPU's number of multiprocessors and shared memory, not on the number of threads.
 *
 * Size: 8 bytes per entry in f32, 12 in f64, 4 for a pattern, plus 1 to 5 % of padding and a bit per row.
 *
 * Source: SCOO: Dang and Schmidt 2012 (slices in shared memory); groups without conflicts, further sums and
 * pieces of rows: this library.
 *
 * Files: swept_layout.h has the decisions about cuts and sums. swept_format.c builds the blocks on the host and
 * converts to CSR. swept_convert.cu builds on a GPU. swept_reference_cpu.c and swept_barrier_cuda.cu multiply.
 */
#pragma once

#include "core/kernel.h"

#include <stdbool.h>

enum {
    SPRYI_SWEPT_THREADS = 1024,
    SPRYI_SWEPT_BATCH_BYTES = 16,      /* bytes of a batch's values for each thread */
    SPRYI_SWEPT_GPU_BLOCKS = 132,      /* number of multiprocessors assumed if the GPU is unknown */
    SPRYI_SWEPT_GPU_BYTES = 227 << 10, /* shared memory of a multiprocessor assumed if the GPU is unknown */
    SPRYI_SWEPT_OWN_BYTES = 1 << 10,   /* bytes of shared memory per block that the sums must leave free */
    SPRYI_SWEPT_MOST_SUMS = 65535,
    SPRYI_SWEPT_MOST_ENTRIES = 1 << 28, /* most entries of a block: slots and rows are counted in 32 bits */
};

typedef struct spryi_swept_block {
    int64_t first_row; /* may be shared with the previous block */
    int64_t first_bitmap, first_batch, first_extra;
    int32_t rows, sums; /* rows: number of rows; sums: number of rows with entries */
    int32_t batches, extras;
    int32_t all_sums, sum_bits; /* all_sums: sums including further sums; sum_bits: bits of a sum in an index */
    /*
     * Indices in shared_rows; -1: none. head_row: row continued from the previous block. tail_row: row continued in the
     * next block.
     * head_piece, tail_piece: index of this block's piece among the pieces of that row.
     */
    int32_t head_row, head_piece;
    int32_t tail_row, tail_piece;
} spryi_swept_block;

/* Further sums first .. first + count - 1 of the row whose first sum is `sum`. */
typedef struct spryi_swept_extra {
    int32_t sum, first, count;
} spryi_swept_extra;

/* A row with pieces in more than one block. */
typedef struct spryi_swept_shared_row {
    int64_t row, first; /* first: index of the row's first piece among the pieces of all shared rows */
    int64_t pieces;
} spryi_swept_shared_row;

/*
 * A bit for each of 32 rows of a block, set if the row has entries, and the number of the block's rows with entries
 * before these 32 rows.
 */
typedef struct spryi_swept_bitmap {
    uint32_t bits, before;
} spryi_swept_bitmap;

typedef struct spryi_swept_sizes {
    int64_t rows, cols, nnz;
    int64_t blocks;
    int64_t batches, bitmaps, extras, shared_rows, pieces; /* lengths of arrays; pieces: total of all shared rows */
    /* most_sums: largest number of sums of a block, including further sums. sum_limit: limit of most_sums. */
    int64_t most_sums, sum_limit;
    int32_t value_type, offset_type, index_type, reserved;
} spryi_swept_sizes;

typedef struct spryi_swept {
    spry_arrays types; /* first member, as in every storage */
    spryi_swept_sizes sizes;
    spryi_swept_block *blocks;
    spryi_swept_bitmap *bitmaps;
    spryi_swept_extra *extras;
    spryi_swept_shared_row *shared_rows;
    int64_t *bases;    /* one per batch */
    uint32_t *indices; /* one per slot: sum in the low sum_bits, column minus the batch's base above */
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

/*
 * Returns the number of groups of a batch, which is also the number of a thread's slots in the batch. These slots have
 * 16 bytes of values or, if values have fewer than 4 bytes, 16 bytes of indices. The macro gives a constant for a type.
 */
#define SPRYI_SWEPT_UNROLL(type) (SPRYI_SWEPT_BATCH_BYTES / (int64_t)(sizeof(type) > 4 ? sizeof(type) : 4))
static inline int64_t spryi_swept_unroll(int32_t value_type)
{
    const int64_t bytes = (int64_t)spry_type_bytes((spry_type)value_type);
    return SPRYI_SWEPT_BATCH_BYTES / (bytes > 4 ? bytes : 4);
}

/* Returns the slot of entry `position` of a group, relative to the block's first slot. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_slot(int64_t group, int64_t position, int64_t unroll)
{
    return (group / unroll * SPRYI_SWEPT_THREADS + position) * unroll + group % unroll;
}

/* Returns the sum that marks a slot without entry. */
SPRYI_SWEPT_INLINE uint32_t spryi_swept_padding(const spryi_swept_block *block)
{
    return (1u << block->sum_bits) - 1;
}

/* Returns the column of the entry in a slot. batch and slot are counted over all blocks. */
static inline int64_t spryi_swept_column(const spryi_swept *s, const spryi_swept_block *block, int64_t batch,
                                         int64_t slot)
{
    return s->bases[batch] + (int64_t)((uint64_t)s->indices[slot] >> block->sum_bits);
}

/* Sets row_of[sum] to the row, relative to the block's first row, for each of the block->all_sums sums. */
static inline void spryi_swept_rows_of_sums(const spryi_swept *s, const spryi_swept_block *block, int32_t *row_of)
{
    int32_t sum = 0;
    for (int32_t r = 0; r < block->rows; r++)
        if (s->bitmaps[block->first_bitmap + r / 32].bits >> (r % 32) & 1) row_of[sum++] = r;
    for (int64_t l = block->first_extra; l < block->first_extra + block->extras; l++)
        for (int32_t n = 0; n < s->extras[l].count; n++) row_of[s->extras[l].first + n] = row_of[s->extras[l].sum];
}
