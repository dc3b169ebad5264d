/* A look at CSR for blocks. */
#ifndef SPRYI_CHOOSE_BLOCKS_H
#define SPRYI_CHOOSE_BLOCKS_H

#include "core/columns.h"
#include "formats/bsr/bsr.h"
#include "formats/csr/relations.h"

/*
 * *guess: the blocks that a sample of rows finds; block 1 and csr's bytes where so small a share of the entries is
 * adjacent that there are none. longest: of the rows.
 */
spry_status spryi_find_blocks(spryi_column_reader *reader, spry_context *context, spryi_bsr_guess *guess,
                              double adjacent, int64_t longest, spryi_effort effort, spry_error *err);

#endif
