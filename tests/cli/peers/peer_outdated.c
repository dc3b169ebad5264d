/* Peer module built for an interface that no longer exists. */
#include "bench/peer.h"

const spry_peer_module *spry_peer_get(spry_peer_error *error)
{
    static const spry_peer_module module = {.abi = SPRY_PEER_ABI + 1, .name = "outdated", .version = "1"};
    (void)error;
    return &module;
}
