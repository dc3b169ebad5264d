/*
 * The kernels of csr2 and csr3: csr's, on a storage whose blocks are super-rows.
 *
 * Idea: three (four) nested loops: threads over super-rows (super-super-rows), then rows, then entries.
 * Work: as many rows a thread, whatever their lengths; good for regular matrices, and only there.
 * Cost: bytes of CSR and 8 a super-row; where columns step or are shared within a super-row they are not all read.
 * Source: Lane and Booth, Heterogeneous SpMV via Compressed Sparse Row Format, 2022, listings 1 and 2.
 */
#include "formats/csrk/csrk.h"

#define KERNEL(k, way, level, idea_text)                                                                               \
    const spryi_kernel spryi_csr##k##_##way##_cpu = {                                                                  \
        .name = "csr" #k "_" #way "_cpu",                                                                              \
        .format = "csr" #k,                                                                                            \
        .device = "cpu",                                                                                               \
        .idea = idea_text,                                                                                             \
        .source = "Lane, Booth, Heterogeneous SpMV via Compressed Sparse Row Format, 2022, section 3",                 \
        .deterministic = 1,                                                                                            \
        .pattern = 1,                                                                                                  \
        .simd = level,                                                                                                 \
        .spmv = &spryi_csr_gather_##way,                                                                               \
        .spmv_t = &spryi_csr_scatter_##way,                                                                            \
    };

#define KERNELS(way, level, idea_text) KERNEL(2, way, level, idea_text) KERNEL(3, way, level, idea_text)

KERNELS(portable, SPRYI_PORTABLE, "threads share groups of consecutive rows; rows as csr_portable_cpu")
#ifdef SPRY_HAVE_X86
KERNELS(avx2, SPRYI_AVX2, "threads share groups of consecutive rows; rows as csr_avx2_cpu")
KERNELS(avx512, SPRYI_AVX512, "threads share groups of consecutive rows; rows as csr_avx512_cpu")
#endif
