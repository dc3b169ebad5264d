/*
 * sell_reference_cpu: lane by lane, one thread.
 *
 * Idea: the definition; a lane's entries lie c apart.
 * Cost: bytes of SELL.
 */
#include "formats/sell/sell.h"

#define SPRYI_TEMPLATE "formats/sell/sell_reference.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_sell_reference_cpu = {
    .name = "sell_reference_cpu",
    .format = "sell",
    .device = "cpu",
    .idea = "lane by lane on one thread",
    .source = "Kreutzer et al., A unified sparse matrix data format for efficient general SpMV, 2014",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
};
