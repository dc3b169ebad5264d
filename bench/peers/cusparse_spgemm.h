/* cuSPARSE's product of two sparse matrices: a part of the module cusparse. */
#ifndef SPRY_BENCH_PEERS_CUSPARSE_SPGEMM_H
#define SPRY_BENCH_PEERS_CUSPARSE_SPGEMM_H

#include "bench/peer.h"

enum { PEER_CUSPARSE_SPGEMM = 3 };
extern const spry_peer_spgemm peer_cusparse_spgemm[PEER_CUSPARSE_SPGEMM];

#endif
