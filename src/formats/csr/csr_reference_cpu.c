/*
 * csr_reference_cpu: the textbook loops, one thread.
 *
 * Idea: y_i is the dot product of row i with x. Transposed, row i adds a_ij x_i to the sum of column j. The kernel that
 * the others are read against.
 * Cost: bytes of CSR at one thread's bandwidth; one addition after the other.
 */
#include "formats/csr/csr.h"

#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/csr/csr_reference.tmpl.c"
#include "core/instantiate.h"

const spryi_run_table spryi_csr_gather_reference = SPRYI_TABLE(gather);
const spryi_run_table spryi_csr_scatter_reference = SPRYI_TABLE(scatter);

const spryi_kernel spryi_csr_reference_cpu = {
    .name = "csr_reference_cpu",
    .format = "csr",
    .device = "cpu",
    .idea = "the textbook loop over rows on one thread",
    .source = "Saad, Iterative Methods for Sparse Linear Systems, section 3.4",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &spryi_csr_gather_reference,
    .spmv_t = &spryi_csr_scatter_reference,
};
