/*
 * coo_reference_cpu: one pass over the entries, one thread.
 *
 * Idea: sum while the row stays the same, then add to y; y is scaled first, since rows may have no entry.
 * Cost: bytes of COO, and y once more than in CSR.
 */
#include "formats/coo/coo.h"

#include <math.h>

#define SPRYI_TEMPLATE "formats/coo/coo_reference.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_coo_reference_cpu = {
    .name = "coo_reference_cpu",
    .format = "coo",
    .device = "cpu",
    .idea = "one pass over entries sorted by row on one thread",
    .source = "Saad, Iterative Methods for Sparse Linear Systems, section 3.4",
    .deterministic = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &runs,
};
