/*
 * Kernels of the studies: reference loops and kernels of papers, for reading, comparison and citation. In all
 * measurements another kernel of the same format was faster, so a plan uses a study's kernel only if the caller names
 * the kernel. The library contains the kernels if it is built with SPRY_STUDIES=ON.
 */
#pragma once

#include "core/kernel.h"

/* CPU(NAME) is spryi_NAME_cpu, CUDA(NAME) is spryi_NAME_cuda. Kernels of one format are listed from slow to fast. */
/* clang-format off */
#define SPRYI_STUDY_KERNELS(CPU, CUDA)                                                                                 \
    CPU(csr_reference)                                                                                                 \
    CUDA(csr_vector_shared)                                                                                            \
    CUDA(csr_adaptive_listing)                                                                                         \
    CPU(csc_reference)                                                                                                 \
    CUDA(coo_atomic)                                                                                                   \
    CUDA(coo_sliced)                                                                                                   \
    CUDA(ell_listing)                                                                                                  \
    CUDA(hyb_one_launch)                                                                                               \
    CUDA(hyb_atomic)                                                                                                   \
    CPU(csr2_reference)                                                                                                \
    CPU(csr3_reference)                                                                                                \
    CPU(csr4_reference)                                                                                                \
    CPU(csr2_listing)                                                                                                  \
    CPU(csr3_listing)                                                                                                  \
    CPU(csr4_listing)                                                                                                  \
    CPU(spgemm_seed_dot)                                                                                               \
    CPU(spgemm_seed_dense)                                                                                             \
    CPU(spgemm_smmp)                                                                                                   \
    CUDA(spgemm_seed_older)                                                                                            \
    CUDA(spgemm_seed_getvals)                                                                                          \
    CUDA(spgemm_seed_together)
/* clang-format on */

#define SPRYI_DECLARE_CPU(name) extern const spryi_kernel spryi_##name##_cpu;
#define SPRYI_DECLARE_CUDA(name) extern const spryi_kernel spryi_##name##_cuda;
SPRYI_STUDY_KERNELS(SPRYI_DECLARE_CPU, SPRYI_DECLARE_CUDA)
#undef SPRYI_DECLARE_CPU
#undef SPRYI_DECLARE_CUDA
