/*
 * The kernels of csr2, csr3 and csr4 on CPUs: csr's, on a storage whose blocks are whole groups of rows.
 *
 * csr2_<level>_cpu and so on
 * Idea: threads take blocks of groups, pooled until they are the work of one of csr's blocks, and those that are done
 *       take what others have left. The loops over groups and rows are one, over the runs of a block.
 * Work: blocks of about as many rows, whatever their lengths; good for regular matrices, and only there.
 * Cost: bytes of CSR and 8 a super-row; where columns step or are shared they are not all read.
 *
 * csr2_listing_<level>_cpu and so on
 * Idea: listing 1 of the paper with the rows of csr's kernel: each thread has as many super-rows (csr3:
 *       super-super-rows, csr4: groups of those), then loops over the super-rows in them. A super-row is a block with
 *       runs of its own, so the sizes of groups mean what they mean in the paper.
 * Work: static shares; a thread whose rows are longer is waited for.
 * Cost: as above, and about 88 bytes a super-row for its block and its runs.
 *
 * Source: Lane and Booth, Heterogeneous SpMV via Compressed Sparse Row Format, 2022, section 2.2, listing 1. The
 *         listing as it is printed, rows included: studies/kernels/csrk_listing_cpu.c.
 */
#include "formats/csrk/csrk.h"

#define SOURCE "Lane, Booth, Heterogeneous SpMV via Compressed Sparse Row Format, 2022, section 2.2"

#define KERNEL(k, way, level, idea_text)                                                                               \
    const spryi_kernel spryi_csr##k##_##way##_cpu = {                                                                  \
        .name = "csr" #k "_" #way "_cpu",                                                                              \
        .format = "csr" #k,                                                                                            \
        .device = "cpu",                                                                                               \
        .idea = idea_text,                                                                                             \
        .source = SOURCE,                                                                                              \
        .deterministic = 1,                                                                                            \
        .pattern = 1,                                                                                                  \
        .simd = level,                                                                                                 \
        .spmv = &spryi_csr_gather_##way,                                                                               \
        .spmv_t = &spryi_csr_scatter_##way,                                                                            \
        .several = SPRYI_OP_SPMV,                                                                                      \
    };

#define KERNELS(way, level, idea_text)                                                                                 \
    KERNEL(2, way, level, idea_text) KERNEL(3, way, level, idea_text) KERNEL(4, way, level, idea_text)

KERNELS(portable, SPRYI_PORTABLE, "threads share groups of consecutive rows; rows as csr_portable_cpu")

#ifdef SPRY_HAVE_X86

KERNELS(avx2, SPRYI_AVX2, "threads share groups of consecutive rows; rows as csr_avx2_cpu")
KERNELS(avx512, SPRYI_AVX512, "threads share groups of consecutive rows; rows as csr_avx512_cpu")

#define LISTING(k, way, level)                                                                                         \
    const spryi_kernel spryi_csr##k##_listing_##way##_cpu = {                                                          \
        .name = "csr" #k "_listing_" #way "_cpu",                                                                      \
        .format = "csr" #k,                                                                                            \
        .device = "cpu",                                                                                               \
        .idea = "listing 1: as many groups a thread, then the super-rows in them; rows as csr_" #way "_cpu",           \
        .source = SOURCE ", listing 1; the rows: this library",                                                        \
        .study = 1,                                                                                                    \
        .deterministic = 1,                                                                                            \
        .pattern = 1,                                                                                                  \
        .simd = level,                                                                                                 \
        .spmv = &spryi_csr_gather_##way,                                                                               \
        SPRYI_CSRK_LISTING_PARAMETERS(k),                                                                              \
    };

#define LISTINGS(way, level) LISTING(2, way, level) LISTING(3, way, level) LISTING(4, way, level)

LISTINGS(avx2, SPRYI_AVX2)
LISTINGS(avx512, SPRYI_AVX512)

#endif

int spryi_csrk_keeps_super_rows(const spryi_kernel *kernel)
{
#ifdef SPRY_HAVE_X86
    static const spryi_kernel *const listings[] = {&spryi_csr2_listing_avx2_cpu, &spryi_csr2_listing_avx512_cpu,
                                                   &spryi_csr3_listing_avx2_cpu, &spryi_csr3_listing_avx512_cpu,
                                                   &spryi_csr4_listing_avx2_cpu, &spryi_csr4_listing_avx512_cpu};
    for (size_t n = 0; n < sizeof listings / sizeof *listings; n++)
        if (kernel == listings[n]) return 1;
#endif
    (void)kernel;
    return 0;
}
