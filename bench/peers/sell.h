/* Sliced ELL as cuSPARSE takes it, made on the host. */
#ifndef SPRY_BENCH_PEERS_SELL_H
#define SPRY_BENCH_PEERS_SELL_H

#include "bench/peer.h"

enum { PEER_SELL_SLICE = 32 };

/* An entry of row i, slot s of its slice lies at offsets[i / 32] + 32 * s + i % 32. */
typedef struct peer_sell {
    int64_t slices, slots;
    void *offsets; /* slices + 1, of the matrix's offset type */
    char *columns; /* -1 where no entry is */
    char *values;
} peer_sell;

/* UNSUPPORTED, with the reason in error, where it would pad too much; released in any case. */
int peer_sell_build(peer_sell *sell, const spry_peer_matrix *a, int threads, spry_peer_error *error);
void peer_sell_release(peer_sell *sell);

#endif
