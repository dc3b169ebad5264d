/*
 * scoo_reference_cpu: one slice after the other, one thread.
 *
 * Idea: each product is added to the sum of its row (transposed: of its column), in the order in which they lie.
 * Cost: bytes of SCOO at one thread's bandwidth, and the sums.
 */
#include "formats/scoo/scoo.h"

#define SPRYI_TEMPLATE "formats/scoo/scoo_reference.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_scoo_reference_cpu = {
    .name = "scoo_reference_cpu",
    .format = "scoo",
    .device = "cpu",
    .idea = "slices one after the other, each product added to its row's sum, on one thread",
    .source = "Dang and Schmidt, The sliced COO format for SpMV on CUDA-enabled GPUs, ICCS 2012, on a CPU",
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
