/*
 * csr_reference_cpu, and csc, csr2, csr3 and csr4 likewise: the textbook loops, one thread.
 *
 * Idea: y_i is the dot product of row i with x. Transposed, row i adds a_ij x_i to the sum of column j. The kernel that
 * the others are read against.
 * Cost: bytes of CSR at one thread's bandwidth; one addition after the other.
 */
#include "formats/csr/csr.h"
#include "study/kernels/study_kernels.h"

#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "study/kernels/csr_reference.tmpl.c"
#include "base/instantiate.h"

static const spryi_run_table gathers = SPRYI_TABLE(gather), scatters = SPRYI_TABLE(scatter);

/* A storage of csc is CSR of the transpose; those of csr2 to csr4 are CSR and groups of rows. */
#define KERNEL(layout, spmv_table, spmv_t_table, idea_text)                                                            \
    const spryi_kernel spryi_##layout##_reference_cpu = {                                                              \
        .name = #layout "_reference_cpu",                                                                              \
        .format = #layout,                                                                                             \
        .device = "cpu",                                                                                               \
        .idea = idea_text,                                                                                             \
        .source = "Saad, Iterative Methods for Sparse Linear Systems, section 3.4",                                    \
        .study = 1,                                                                                                    \
        .pattern = 1,                                                                                                  \
        .spmv = &spmv_table,                                                                                           \
        .spmv_t = &spmv_t_table,                                                                                       \
    };

KERNEL(csr, gathers, scatters, "the textbook loop over rows on one thread")
KERNEL(csc, scatters, gathers, "the textbook loop over columns on one thread")
KERNEL(csr2, gathers, scatters, "the textbook loop over rows on one thread: what the groups must give too")
KERNEL(csr3, gathers, scatters, "the textbook loop over rows on one thread: what the groups must give too")
KERNEL(csr4, gathers, scatters, "the textbook loop over rows on one thread: what the groups must give too")
