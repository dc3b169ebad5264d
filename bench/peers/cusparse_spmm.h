/* cuSPARSE's product with several columns: a part of the module cusparse. */
#ifndef SPRY_BENCH_PEERS_CUSPARSE_SPMM_H
#define SPRY_BENCH_PEERS_CUSPARSE_SPMM_H

#include "bench/peer.h"

enum { PEER_CUSPARSE_SPMM = 8 };
extern const spry_peer_kernel peer_cusparse_spmm[PEER_CUSPARSE_SPMM];

#endif
