/*
 * packed_reference_cpu: slot by slot, one thread.
 *
 * Idea: the definition; packed_cursor.c tells whose entries a slot has and where their columns are.
 * Cost: bytes of packed.
 */
#include "formats/csrk/packed.h"

#define SPRYI_NO_OFFSETS
#define SPRYI_TEMPLATE "formats/csrk/packed_reference.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_packed_reference_cpu = {
    .name = "packed_reference_cpu",
    .format = "packed",
    .device = "cpu",
    .idea = "slot by slot on one thread",
    .source = "this library; slices: Monakov et al. 2010; super-rows: Lane and Booth 2022",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
};
