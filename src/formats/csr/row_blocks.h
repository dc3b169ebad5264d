/*
 * Row blocks: the pieces of work that the CPU's threads take of a CSR matrix. (A GPU's are csr_row_blocks.cuh.)
 *
 *     rows  0 1 2 3 | 4 5 | 6 6 6 | 7 8 9        | ends a block; row 6 is long and comes in three pieces
 *
 * A block is consecutive rows of about equal work, cut by the matrix alone, never by the number of threads: that makes
 * the bits of y independent of it. A row too long for a block is cut into pieces, which are blocks of their own. Their
 * sums meet in a workspace and are added in order when all are done.
 */
#pragma once

#include "matrix/matrix.h"
#include "spry/spry.h"

enum {
    SPRYI_CSR_ROW_COST = 2,      /* work of a row, in entries, beside its entries */
    SPRYI_CSR_MOST_COST = 32768, /* of a block: large enough to hide its start */
};

typedef struct spryi_csr_block {
    int64_t begin, end;           /* rows; of a piece: entries */
    int64_t runs_begin, runs_end; /* its runs (runs.h); a piece has none */
    int64_t piece;                /* slot of its sum in the workspace, -1 for whole rows */
    int64_t row;                  /* that a piece is of */
} spryi_csr_block;

/* A row in pieces: its sums are slots first .. first + count - 1. */
typedef struct spryi_csr_long_row {
    int64_t row, first, count;
} spryi_csr_long_row;

typedef struct spryi_csr_blocks {
    spryi_csr_block *list;
    spryi_csr_long_row *long_rows;
    int64_t count, long_count, piece_count;
    /*
     * 0: threads take blocks as they come. Else each has an equal share of so many units of blocks: unit u holds blocks
     * from unit_ptr[0][u], and with two pointers from unit_ptr[1][unit_ptr[0][u]]; without any, block u. Another's.
     */
    int64_t units;
    const int64_t *unit_ptr[2];
} spryi_csr_blocks;

/* Cuts the rows of csr; a binary search a block. */
spry_status spryi_csr_blocks_make(spry_context *context, spryi_csr_blocks *blocks, const spry_arrays *csr,
                                  spry_error *err);
void spryi_csr_blocks_release(spry_context *context, spryi_csr_blocks *blocks);

/* Entries of rows begin .. end - 1. */
static inline int64_t spryi_csr_entries(const spry_arrays *csr, int64_t begin, int64_t end)
{
    return spryi_offset_of(csr, end) - spryi_offset_of(csr, begin);
}
