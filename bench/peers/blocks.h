/* Finds out if a matrix consists of small dense blocks, for peers that store blocks. */
#pragma once

#include "bench/peer.h"

enum { PEER_BLOCKS_SMALLEST = 2, PEER_BLOCKS_LARGEST = 8 };

typedef struct peer_blocks {
    int size;      /* of a side */
    int64_t count; /* blocks that have an entry */
} peer_blocks;

/*
 * The size of 2 to 8 that takes the fewest bytes, among those that divide rows and columns and store at most 1.5
 * values an entry. A matrix with indices 32/32. UNSUPPORTED, with the reason in error, where there is none.
 */
int peer_blocks_find(peer_blocks *blocks, const spry_peer_matrix *a, spry_peer_error *error);
