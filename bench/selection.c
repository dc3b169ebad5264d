/* Selection of devices and peers for a run. */
#include "bench/internal.h"

#include <string.h>

bench_factor bench_factor_of(const char *op)
{
    return strncmp(op, "spmm", 4) == 0   ? BY_COLUMNS
           : strcmp(op, "spgemm") == 0   ? BY_A_MATRIX
           : strcmp(op, "cg") == 0       ? IN_CG
           : strcmp(op, "pagerank") == 0 ? IN_PAGERANK
                                         : BY_A_VECTOR;
}

bool bench_adds(const char *op)
{
    return strcmp(op, "spmv_add") == 0;
}

bool bench_iterates(const char *op)
{
    const bench_factor factor = bench_factor_of(op);
    return factor == IN_CG || factor == IN_PAGERANK;
}

bool bench_has_device(const bench_session *session, const char *kind)
{
    for (int d = 0; d < spry_device_count(session->context); d++) {
        spry_device_info device = SPRY_INIT(spry_device_info);
        if (spry_device_get_info(session->context, &device, d, NULL) == SPRY_OK && device.available &&
            strcmp(device.name, kind) == 0)
            return true;
    }
    return false;
}

bool bench_device_fits(const bench_session *session, const char *wanted, const char *kind, bool named)
{
    if (strcmp(wanted, "all") != 0) return strcmp(wanted, kind) == 0;
    return named || bench_has_device(session, kind);
}

bool bench_wants_peer(const bench_session *session, const char *device, int p)
{
    const bench_options *options = session->options;
    const bench_peers *peers = options->candidates.peers;
    bool any_named = false;
    for (int k = 0; k < peers->count; k++)
        any_named = any_named || text_list_has(&options->candidates.kernels, peers->items[k].name);
    if (peers->items[p].factor != bench_factor_of(options->operation.op)) return false;
    if (any_named && !text_list_has(&options->candidates.kernels, peers->items[p].name)) return false;
    return bench_device_fits(session, device, peers->items[p].device, any_named);
}

record_status bench_status_of(spry_status status)
{
    switch (status) {
    case SPRY_UNSUPPORTED:
    case SPRY_UNKNOWN_NAME:
    case SPRY_DEVICE_UNAVAILABLE:
    case SPRY_TOO_LARGE: return RECORD_SKIPPED;
    default: return RECORD_FAILED;
    }
}
