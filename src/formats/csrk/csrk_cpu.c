/*
 * csr2_listing_<level>_cpu and so on: csr2, csr3 and csr4 on CPUs.
 *
 * Idea: listing 1 of the paper with the row loops of csr's kernels. Each thread has an equal number of super-rows
 *       (csr3: super-super-rows; csr4: groups of super-super-rows) and loops over the super-rows in them. A super-row
 *       is a block with runs of its own, so the sizes of groups have the same effect as in the paper. Transposed
 *       products use the functions of csr.
 * Work: each thread gets its groups in advance, so threads with longer rows finish later.
 * Cost: bytes of CSR, and at least 80 bytes per super-row for its pointer, block and runs. In strided and shared runs
 *       (csr.h), not all columns are read.
 * Source: Lane and Booth, Heterogeneous SpMV via Compressed Sparse Row Format, 2022, section 2.2, listing 1. The
 *         listing as printed, with its row loops: study/kernels/csrk_listing_cpu.c.
 */
#include "formats/csrk/csrk.h"

#define KERNEL(k, way, level)                                                                                          \
    const spryi_kernel spryi_csr##k##_listing_##way##_cpu = {                                                          \
        SPRYI_KERNEL_OF("csr" #k, "listing_" #way, "cpu"),                                                             \
        .idea = "listing 1: equal numbers of groups per thread, then their super-rows; rows as csr_" #way "_cpu",      \
        .source = "Lane, Booth, Heterogeneous SpMV via Compressed Sparse Row Format, 2022, section 2.2, listing 1; "   \
                  "the rows: this library",                                                                            \
        .pattern = 1,                                                                                                  \
        .simd = level,                                                                                                 \
        .spmv = &spryi_csr_gather_##way,                                                                               \
        .spmv_t = &spryi_csr_scatter_##way,                                                                            \
        .multi_row_major = SPRYI_OP_SPMV,                                                                              \
        SPRYI_CSRK_LISTING_PARAMETERS(k),                                                                              \
    };

#define KERNELS(way, level) KERNEL(2, way, level) KERNEL(3, way, level) KERNEL(4, way, level)

KERNELS(portable, SPRYI_PORTABLE)
#ifdef SPRY_HAVE_X86
KERNELS(avx2, SPRYI_AVX2)
KERNELS(avx512, SPRYI_AVX512)
#endif
