/*
 * csr_reference_cpu, csc_reference_cpu, csr2_reference_cpu, csr3_reference_cpu and csr4_reference_cpu: the textbook
 * loops on one thread.
 *
 * Idea: y_i is the dot product of row i and x. In the transposed product, row i adds a_ij x_i to the sum of column j.
 * These loops are the reference for reading the other kernels.
 * Cost: bytes of CSR at one thread's bandwidth; each addition waits for the previous one.
 */
#include "formats/csr/csr.h"
#include "study/kernels/study_kernels.h"

#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "study/kernels/csr_reference.tmpl.c"
#include "base/instantiate.h"

static const spryi_run_table gathers = SPRYI_TABLE(gather), scatters = SPRYI_TABLE(scatter);

/* The storage of csc is CSR of the transpose. The storages of csr2 to csr4 are CSR with groups of rows. */
#define KERNEL(layout, spmv_table, spmv_t_table, idea_text)                                                            \
    const spryi_kernel spryi_##layout##_reference_cpu = {                                                              \
        .name = #layout "_reference_cpu",                                                                              \
        .format = #layout,                                                                                             \
        .device = "cpu",                                                                                               \
        .idea = idea_text,                                                                                             \
        .source = "Saad, Iterative Methods for Sparse Linear Systems, section 3.4",                                    \
        .study = 1,                                                                                                    \
        .pattern = 1,                                                                                                  \
        .one_thread = 1,                                                                                               \
        .spmv = &spmv_table,                                                                                           \
        .spmv_t = &spmv_t_table,                                                                                       \
    };

KERNEL(csr, gathers, scatters, "the textbook loop over rows on one thread")
KERNEL(csc, scatters, gathers, "the textbook loop over columns on one thread")
KERNEL(csr2, gathers, scatters, "the textbook loop over rows on one thread, as reference for the groups")
KERNEL(csr3, gathers, scatters, "the textbook loop over rows on one thread, as reference for the groups")
KERNEL(csr4, gathers, scatters, "the textbook loop over rows on one thread, as reference for the groups")
