/*
 * coo_portable_cpu: segmented sums in plain C with OpenMP.
 *
 * Idea: entries in blocks of constant size, so that no row, however long, decides the time; the sum of the row
 * that a block shares with the block before is kept apart and added in order at the end.
 * Work: one thread a block at a time. No atomics, the same bits for any number of threads.
 *       Transposed a part of windows.h at a time.
 * Cost: bytes of COO, and y once more than in CSR; transposed the windows written and read.
 */
#include "formats/coo/coo.h"

#define SPRYI_TEMPLATE "formats/coo/coo_portable.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_coo_portable_cpu = {
    .name = "coo_portable_cpu",
    .format = "coo",
    .device = "cpu",
    .idea = "blocks of as many entries on all threads, shared rows added in order at the end; plain C",
    .source = "Bell and Garland, SpMV on throughput-oriented processors, 2009, section 4.3 (segmented reduction)",
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
