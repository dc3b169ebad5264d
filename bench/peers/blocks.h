/* Finds small dense blocks of a matrix, for peers that store blocks. */
#pragma once

#include "bench/peer.h"

enum { PEER_BLOCKS_SMALLEST = 2, PEER_BLOCKS_LARGEST = 8 };

typedef struct peer_blocks {
    int size;      /* rows and columns of a block */
    int64_t count; /* non-empty blocks */
} peer_blocks;

/*
 * Finds the block size from 2 to 8 with the fewest bytes, among sizes that divide rows and columns and store at most
 * 1.5 values per entry. The matrix must have 32-bit offsets and columns. Returns UNSUPPORTED with an error if no size
 * qualifies.
 */
int peer_blocks_find(peer_blocks *blocks, const spry_peer_matrix *a, spry_peer_error *error);
