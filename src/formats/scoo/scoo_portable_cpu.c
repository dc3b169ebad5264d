/*
 * scoo_portable_cpu: sliced coordinates in plain C with OpenMP.
 *
 * Idea: a slice's sums stay in a core's cache and take additions in any order, while x is read in order, once a
 * slice. Transposed, y is written in order and the slice's x stays in the cache.
 * Work: one thread a slice at a time; transposed, one thread a range of columns, which it finds in each slice by
 * bisection. No atomics, the same bits for any number of threads.
 * Cost: bytes of SCOO, and the part of x that each slice meets once a slice; additions to one row wait for each other.
 */
#include "formats/scoo/scoo.h"

#define SPRYI_TEMPLATE "formats/scoo/scoo_portable.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_scoo_portable_cpu = {
    .name = "scoo_portable_cpu",
    .format = "scoo",
    .device = "cpu",
    .idea = "one thread a slice: sums stay in its cache while x is swept in order, no atomics; plain C",
    .source = "Dang and Schmidt, The sliced COO format for SpMV on CUDA-enabled GPUs, ICCS 2012, on a CPU",
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
