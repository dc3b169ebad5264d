/*
 * Lists the format and kernels of family csc. The functions of the CUDA kernels are in the CUDA plug-in. CSC of A is
 * CSR of A^T, so the kernels are those of csr with the plain and the transposed product exchanged.
 */
#include "formats/csc/csc.h"

#define KERNEL(way, level, idea_text)                                                                                  \
    const spryi_kernel spryi_csc_##way##_cpu = {                                                                       \
        SPRYI_KERNEL_OF("csc", #way, "cpu"),                                                                           \
        .idea = idea_text,                                                                                             \
        .source = "this library",                                                                                      \
        .pattern = 1,                                                                                                  \
        .simd = level,                                                                                                 \
        .spmv = &spryi_csr_scatter_##way,                                                                              \
        .spmv_t = &spryi_csr_gather_##way,                                                                             \
        .multi_row_major = SPRYI_OP_SPMV_T,                                                                            \
    };

KERNEL(portable, SPRYI_PORTABLE,
       "columns of equal work on all threads, scattered without conflicts in phases or windows; plain C")
#ifdef SPRY_HAVE_X86
KERNEL(avx2, SPRYI_AVX2, "columns in phases or windows with software prefetch; transposed as csr_avx2_cpu; AVX2")
KERNEL(avx512, SPRYI_AVX512,
       "columns in phases or windows, columns with a constant stride by eight; transposed as "
       "csr_avx512_cpu; AVX-512")
#endif

const spryi_kernel spryi_csc_scatter_cuda = {
    SPRYI_KERNEL_OF("csc", "scatter", "cuda"),
    .idea = "blocks of columns with equal numbers of entries, scattered by atomics",
    .source = "Sparse Methods, CSC; this library",
    .nondeterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csc_vector_cuda = {
    SPRYI_KERNEL_OF("csc", "vector", "cuda"),
    .idea = "transposed, as csr_vector_cuda: 2 to 32 lanes per column",
    .source = "CSR-Vector of Evtushenko 2019 and Meister 2013, exchanged",
    .pattern = 1,
    .operations = SPRYI_OP_SPMV_T,
};

const spryi_kernel spryi_csc_merge_cuda = {
    SPRYI_KERNEL_OF("csc", "merge", "cuda"),
    .idea = "transposed, as csr_merge_cuda: equal numbers of entries per block",
    .source = "as csr_merge_cuda, exchanged",
    .pattern = 1,
    .multi_row_major = SPRYI_OP_SPMV_T,
    .operations = SPRYI_OP_SPMV_T,
    .mixed = SPRYI_OP_SPMV_T,
};

/* clang-format off */
const spryi_family spryi_family_csc = {
    .name = "csc",
    .formats = {&spryi_format_csc},
    .kernels = {
        &spryi_csc_portable_cpu,
        SPRYI_X86(spryi_csc_avx2_cpu)
        SPRYI_X86(spryi_csc_avx512_cpu)
        &spryi_csc_scatter_cuda,
        &spryi_csc_vector_cuda,
        &spryi_csc_merge_cuda,
    },
};
/* clang-format on */
