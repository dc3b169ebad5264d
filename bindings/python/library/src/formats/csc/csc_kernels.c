/*
 * The kernels of format csc: those of csr, with the plain and the transposed product exchanged, since a CSC
 * matrix is stored as CSR of its transpose.
 */
#include "formats/csc/csc.h"

#define KERNEL(way, level, idea_text)                                                                                  \
    const spryi_kernel spryi_csc_##way##_cpu = {                                                                       \
        .name = "csc_" #way "_cpu",                                                                                    \
        .format = "csc",                                                                                               \
        .device = "cpu",                                                                                               \
        .idea = idea_text,                                                                                             \
        .source = "this library",                                                                                      \
        .deterministic = 1,                                                                                            \
        .pattern = 1,                                                                                                  \
        .simd = level,                                                                                                 \
        .spmv = &spryi_csr_scatter_##way,                                                                              \
        .spmv_t = &spryi_csr_gather_##way,                                                                             \
        .several = SPRYI_OP_SPMV_T,                                                                                    \
    };

KERNEL(portable, SPRYI_PORTABLE,
       "columns of equal work on all threads, scattered without conflicts in phases or windows; plain C")
#ifdef SPRY_HAVE_X86
KERNEL(avx2, SPRYI_AVX2,
       "columns in phases or windows with software prefetch; transposed, gathered as csr_avx2_cpu; AVX2")
KERNEL(avx512, SPRYI_AVX512,
       "columns in phases or windows, those with a constant stride by eight; transposed, gathered as "
       "csr_avx512_cpu; AVX-512")
#endif
