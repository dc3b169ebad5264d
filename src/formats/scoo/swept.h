/*
 * Swept row blocks: SCOO grown to a GPU's shared memory, with an order of entries that needs no atomics.
 *
 *     block:   consecutive rows with about 1 / multiprocessors of the entries, whose sums fit the shared memory
 *              | batch 0                                     | batch 1 ...   entries by rising columns
 *     batch:   | base = its least column;  group 0 | group 1 | ...           no two entries of a group share a sum
 *     slot:    | column - base | sum |  and a value                          32 bits together; all ones: padding
 *
 * A batch is 16 bytes of values for each of 1024 threads: U groups (4 of f32, 2 of f64) of 1024 entries. Entry `place`
 * of group g lies in slot place * U + g of the batch, so that a thread reads its U entries at once, and neighbouring
 * threads have neighbouring columns. An entry whose sum the group has already goes to a later group.
 *
 * Rows with entries have a sum each, numbered in their order. A row with entries for more than half of the block's
 * groups, or for more than 3/4 of some stretch of them, has further sums, used in turn; they lie behind the others and
 * are added to the first at the end (`longs`). Blocks may share a row with their neighbours; the pieces' sums are a
 * chain, added in order by whoever comes last. `present` has a bit for each row of a block that has entries, and how
 * many there are before each 32.
 *
 * Invariants: columns rise along a group and, for one row, from group to group; duplicates keep their order. The cut
 * follows from the matrix and from the GPU's number of multiprocessors and shared memory, never from threads.
 */
#ifndef SPRYI_SWEPT_H
#define SPRYI_SWEPT_H

#include "core/kernel.h"

enum {
    SPRYI_SWEPT_THREADS = 1024,
    SPRYI_SWEPT_BATCH_BYTES = 16,      /* of values, a thread */
    SPRYI_SWEPT_GPU_BLOCKS = 132,      /* multiprocessors, where no GPU is known ... */
    SPRYI_SWEPT_GPU_BYTES = 227 << 10, /* ... and their shared memory */
    SPRYI_SWEPT_OWN_BYTES = 1 << 10,   /* of it, that kernels take for themselves */
    SPRYI_SWEPT_MOST_SUMS = 65535,
    SPRYI_SWEPT_MOST_ENTRIES = 1 << 28, /* of a block: its slots are counted in 32 bits, rows too */
};

typedef struct spryi_swept_block {
    int64_t first_row;  /* which the block before may share */
    int64_t first_word; /* in present */
    int64_t first_batch, first_long;
    int32_t rows, sums; /* all rows; those with entries */
    int32_t batches, longs;
    int32_t all_sums, sum_bits;     /* further ones included; bits of an index that tell one, 16 at most */
    int32_t head_chain, head_piece; /* of the first row; chain -1: it is the block's own */
    int32_t tail_chain, tail_piece; /* of the last row, where that is another one */
} spryi_swept_block;

/* Row number `sum` (among those with entries) also has sums first .. first + count - 1. */
typedef struct spryi_swept_long {
    int32_t sum, first, count;
} spryi_swept_long;

typedef struct spryi_swept_chain {
    int64_t row, first; /* of its pieces, among those of all chains */
    int64_t pieces;
} spryi_swept_chain;

typedef struct spryi_swept_word {
    uint32_t bits, before;
} spryi_swept_word;

typedef struct spryi_swept_head {
    int64_t rows, cols, nnz;
    int64_t blocks;
    int64_t batches, words, longs, chains, pieces; /* sizes of arrays; pieces: of all chains */
    int64_t most_sums, room;                       /* sums of a block, further ones included; what it might have had */
    int32_t value_type, offset_type, index_type, reserved;
} spryi_swept_head;

typedef struct spryi_swept {
    spry_arrays types; /* first, for spryi_leading_arrays */
    spryi_swept_head head;
    spryi_swept_block *blocks;
    spryi_swept_word *present;
    spryi_swept_long *longs;
    spryi_swept_chain *chains;
    int64_t *bases;    /* a batch */
    uint32_t *indices; /* a slot: sum in the low sum_bits of its block, column from the batch's base above */
    void *values;
} spryi_swept;

#ifdef __CUDACC__
#define SPRYI_SWEPT_INLINE static __host__ __device__ __forceinline__
#else
#define SPRYI_SWEPT_INLINE static inline
#endif

extern const spryi_format spryi_format_swept;
extern const spryi_kernel spryi_swept_reference_cpu, spryi_swept_barrier_cuda;

/* Groups of a batch, and slots of a thread in it. */
static inline int64_t spryi_swept_unroll(int32_t value_type)
{
    return value_type == SPRY_F64 ? SPRYI_SWEPT_BATCH_BYTES / 8 : SPRYI_SWEPT_BATCH_BYTES / 4;
}

/* Where entry `place` of a block's group lies, from the block's first slot. */
SPRYI_SWEPT_INLINE int64_t spryi_swept_slot(int64_t group, int64_t place, int64_t unroll)
{
    return (group / unroll * SPRYI_SWEPT_THREADS + place) * unroll + group % unroll;
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

/* row_of[sum]: the row, from the block's first on, whose sum it is; block->all_sums numbers. */
void spryi_swept_rows_of_sums(const spryi_swept *s, const spryi_swept_block *block, int32_t *row_of);

#endif
