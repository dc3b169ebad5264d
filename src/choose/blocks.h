/* A look at CSR in host memory: how rows repeat, and blocks. */
#ifndef SPRYI_CHOOSE_BLOCKS_H
#define SPRYI_CHOOSE_BLOCKS_H

#include "core/matrix.h"
#include "formats/bsr/bsr.h"

/* Shares of the entries of sampled rows. */
typedef struct spryi_row_relations {
    double adjacent; /* entries whose right neighbour is one too */
    double repeated; /* in rows whose columns are those of the row before, or all one further: csr does not read them, */
    double moved;    /* the latter alone: nor are they gathered */
} spryi_row_relations;

spryi_row_relations spryi_find_relations(const spry_arrays *csr, spryi_effort effort);

/*
 * *guess: the blocks that a sample of rows finds; block 1 and csr's bytes where so small a share of the entries is
 * adjacent that there are none. longest: of the rows.
 */
spry_status spryi_find_blocks(const spry_arrays *csr, spry_context *context, spryi_bsr_guess *guess, double adjacent,
                              int64_t longest, spryi_effort effort, spry_error *err);

#endif
