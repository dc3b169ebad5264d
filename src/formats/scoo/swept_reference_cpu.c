/*
 * swept_reference_cpu: one block after the other, slot by slot, one thread.
 *
 * Idea: each product is added to the sum of its row (transposed: of its column), padding left out: what the layout
 *       means, for tests and for machines without a GPU.
 * Cost: bytes of the layout at one thread's bandwidth, with additions all over a block's rows.
 */
#include "formats/scoo/swept.h"

#define SPRYI_TEMPLATE "formats/scoo/swept_reference.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_swept_reference_cpu = {
    .name = "swept_reference_cpu",
    .format = "swept",
    .device = "cpu",
    .idea = "slot by slot, each product added to its row's sum, on one thread",
    .source = "SCOO: Dang and Schmidt 2012; groups without conflicts: this library",
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
