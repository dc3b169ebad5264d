/*
 * ell_reference_cpu: row by row, one thread.
 *
 * Idea: the definition; a row's entries lie a column of the array apart.
 * Cost: bytes of ELL, each cache line met once a row.
 */
#include "formats/ell/ell.h"

#define SPRYI_TEMPLATE "formats/ell/ell_reference.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_ell_reference_cpu = {
    .name = "ell_reference_cpu",
    .format = "ell",
    .device = "cpu",
    .idea = "row by row on one thread",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.2, without padding",
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
};
