/*
 * The kernels of format csc: those of csr, with the plain and the transposed product exchanged, since a CSC
 * matrix is stored as CSR of its transpose.
 */
#include "formats/csc/csc.h"

const spryi_kernel spryi_csc_portable_cpu = {
    .name = "csc_portable_cpu",
    .format = "csc",
    .device = "cpu",
    .idea = "columns of equal work on all threads, scattered without conflicts in phases or windows; plain C",
    .source = "this library",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_PORTABLE,
    .spmv = &spryi_csr_scatter_portable,
    .spmv_t = &spryi_csr_gather_portable,
};

#ifdef SPRY_HAVE_X86
const spryi_kernel spryi_csc_avx2_cpu = {
    .name = "csc_avx2_cpu",
    .format = "csc",
    .device = "cpu",
    .idea = "columns in phases or windows with software prefetch; transposed, gathered as csr_avx2_cpu; AVX2",
    .source = "this library",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_AVX2,
    .spmv = &spryi_csr_scatter_avx2,
    .spmv_t = &spryi_csr_gather_avx2,
};

const spryi_kernel spryi_csc_avx512_cpu = {
    .name = "csc_avx512_cpu",
    .format = "csc",
    .device = "cpu",
    .idea = "columns in phases or windows, those with a constant stride by eight; transposed, gathered as "
            "csr_avx512_cpu; AVX-512",
    .source = "this library",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_AVX512,
    .spmv = &spryi_csr_scatter_avx512,
    .spmv_t = &spryi_csr_gather_avx512,
};
#endif
