/*
 * Swept row blocks: SCOO grown to a GPU's shared memory, with an order of entries that needs no atomics.
 *
 *     rows cut into blocks of about equal entries, a block's columns into parts; a part (task) is swept by one
 *     multiprocessor, which keeps a sum for each of the block's rows that have entries
 *
 *     task:    | batch 0                                     | batch 1 ...        entries by rising columns
 *     batch:   | base = its least column;  group 0 | group 1 | ...                no two entries of a group share a sum
 *     slot:    | column - base | sum |  and a value                               32 bits together; all ones: padding
 *
 * A batch is 16 bytes of values for each of 1024 threads (4 slots of f32, 2 of f64): slot (thread, u) of batch b is
 * number (b * 1024 + thread) * U + u. A group takes `depth` neighbouring u of all threads; its entries, in the order of
 * their columns, are spread over the threads first, so that neighbouring threads have neighbouring columns. Entries
 * whose sum the group has already go to a later one.
 *
 * A row with more entries in a task than 3/4 of the task's groups has several sums, used in turn; the further ones lie
 * behind the others and are added to the first at the end (`longs`). Blocks may share a row with their neighbours; the
 * pieces' sums are a chain, added in order by whoever comes last. `present` has a bit for each row of a block that has
 * entries, and how many there are before each 32.
 *
 * Invariants: columns rise along a group and, for one row, from group to group; duplicates keep their order.
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
};

typedef struct spryi_swept_block {
    int64_t first_row;              /* which the block before may share */
    int64_t first_word;             /* in present */
    int64_t first_partial;          /* where its tasks' sums meet, several parts */
    int32_t rows, sums;             /* all rows; those with entries */
    int32_t head_chain, head_piece; /* of the first row; chain -1: it is the block's own */
    int32_t tail_chain, tail_piece; /* of the last row, where that is another one */
} spryi_swept_block;

typedef struct spryi_swept_task {
    int64_t first_batch, first_long;
    int32_t batches, longs, sums; /* further sums of long rows included */
    int32_t reserved;
} spryi_swept_task;

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
    int64_t blocks, parts, depth, row_bits;
    int64_t batches, words, longs, chains, pieces, partials; /* sizes of arrays; partials: of the tasks' sums */
    int64_t most_sums;                                       /* of a task */
    int32_t value_type, offset_type, index_type, reserved;
} spryi_swept_head;

typedef struct spryi_swept {
    spry_arrays types; /* first, for spryi_leading_arrays */
    spryi_swept_head head;
    spryi_swept_block *blocks;
    spryi_swept_task *tasks; /* blocks * parts */
    spryi_swept_word *present;
    spryi_swept_long *longs;
    spryi_swept_chain *chains;
    int64_t *bases;    /* a batch */
    uint32_t *indices; /* a slot: sum in the low row_bits, column from the batch's base above */
    void *values;
} spryi_swept;

extern const spryi_format spryi_format_swept;
extern const spryi_kernel spryi_swept_reference_cpu, spryi_swept_atomic_cuda, spryi_swept_barrier_cuda;

/* Slots of a thread in a batch. */
static inline int64_t spryi_swept_unroll(int32_t value_type)
{
    return value_type == SPRY_F64 ? SPRYI_SWEPT_BATCH_BYTES / 8 : SPRYI_SWEPT_BATCH_BYTES / 4;
}

/* Slot of entry `place` of group `group` of a task, whose groups have depth * 1024 entries. */
static inline int64_t spryi_swept_slot(int64_t group, int64_t place, int64_t depth, int64_t unroll)
{
    const int64_t in_batch = unroll / depth, batch = group / in_batch, thread = place % SPRYI_SWEPT_THREADS;
    return (batch * SPRYI_SWEPT_THREADS + thread) * unroll + group % in_batch * depth + place / SPRYI_SWEPT_THREADS;
}

/* row_of[sum]: the row, from the block's first on, whose sum it is; t->sums numbers. */
void spryi_swept_rows_of_sums(const spryi_swept *s, int64_t block, int64_t part, int32_t *row_of);

/* ---- the build (swept_cut.c, swept_pack.c) ------------------------------------------------------------- */

/* Where a block begins: row, and entry, which lies inside of the row if the block before has some of it. */
typedef struct spryi_swept_cut {
    int64_t row, entry;
} spryi_swept_cut;

/* What becomes of an entry: slot, from its block's first, and sum. */
typedef struct spryi_swept_target {
    uint32_t slot, sum;
} spryi_swept_target;

/* A storage being made; all but `s` is let go of afterwards. */
typedef struct spryi_swept_making {
    spryi_swept *s;
    const spry_arrays *a;        /* CSR */
    int64_t *before;             /* rows + 1: rows with entries before each */
    spryi_swept_cut *cuts;       /* blocks + 1 */
    spryi_swept_target *targets; /* nnz */
    int64_t most_sums;           /* that a task may have */
} spryi_swept_making;

/* Settles blocks, parts and depth; cuts, blocks and chains are made. */
spry_status spryi_swept_cut_rows(spry_context *context, spryi_swept_making *made, const spryi_build_request *request,
                                 spry_error *err);
/* Finds every entry's slot; tasks are made, and all sizes known. */
spry_status spryi_swept_pack(spry_context *context, spryi_swept_making *made, spry_error *err);
/* Fills present, longs, bases, indices and values, which are allocated. */
spry_status spryi_swept_fill(spry_context *context, spryi_swept_making *made, spry_error *err);

#endif
