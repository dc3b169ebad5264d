/*
 * bsr_reference_cpu: block after block, one thread.
 *
 * Idea: every entry that the masks name, in the order in which it lies.
 * Cost: bytes of BSR, masks included, at one thread's bandwidth.
 */
#include "formats/bsr/bsr.h"

#define SPRYI_TEMPLATE "formats/bsr/bsr_reference.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_bsr_reference_cpu = {
    .name = "bsr_reference_cpu",
    .format = "bsr",
    .device = "cpu",
    .idea = "block after block, entry after entry, on one thread",
    .source = "Im, Yelick and Vuduc, Sparsity: optimization framework for sparse matrix kernels, 2004, section 3",
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
