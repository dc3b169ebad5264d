/*
 * hyb_reference_cpu: row by row, one thread.
 *
 * Idea: a row's slots, then its entries in COO, in one sum. Others fall back to it where alpha is not finite.
 * Cost: bytes of HYB.
 */
#include "formats/hyb/hyb.h"

#define SPRYI_TEMPLATE "formats/hyb/hyb_reference.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_hyb_reference_cpu = {
    .name = "hyb_reference_cpu",
    .format = "hyb",
    .device = "cpu",
    .idea = "row by row, both parts in one sum, on one thread",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.4",
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
};
