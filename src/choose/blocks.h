#ifndef SPRYI_CHOOSE_BLOCKS_H
#define SPRYI_CHOOSE_BLOCKS_H

#include "formats/bsr/bsr.h"

/* Share of the entries, by a sample of rows, whose right neighbour is an entry too: half and more in dense blocks. */
double spryi_adjacent_share(const spry_arrays *csr);

/*
 * Share of the entries, by a sample, whose columns csr's product does not read: of rows that lie by at least `step`
 * further than the row before.
 */
double spryi_unread_share(const spry_arrays *csr, int step);

/* *guess: the blocks that a sample of rows finds; block 1 and csr's bytes where a first look sees none. */
spry_status spryi_find_blocks(const spry_arrays *csr, spry_context *context, spryi_bsr_guess *guess, spry_error *err);

/* Bytes of CSR an entry. */
double spryi_csr_entry_bytes(const spry_arrays *csr);

#endif
