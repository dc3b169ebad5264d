/*
 * The CUDA kernels of csc. The storage is a spryi_csr of A^T (formats/csc/csc.h), so the kernels are csr's with the two
 * products exchanged. csc_scatter_cuda computes A*x by the atomics of csr_scatter_cuda and is not deterministic.
 * csc_vector_cuda and csc_merge_cuda compute A^T*x like csr_vector_cuda and csr_merge_cuda and are deterministic. The
 * files of csr describe idea, work, cost and source.
 */
extern "C" {
#include "core/device.h"
}
#include "device/cuda/kernels.h"

/* csr's descriptors are compile-time constants, so they are initialized before the descriptors below */
const spryi_kernel_functions spry_cuda_csc_scatter = {"csc_scatter_cuda",
                                                      spry_cuda_csr_scatter.spmv_t,
                                                      NULL,
                                                      spry_cuda_csr_scatter.prepare,
                                                      spry_cuda_csr_scatter.discard,
                                                      spry_cuda_csr_scatter.workspace_bytes};

const spryi_kernel_functions spry_cuda_csc_vector = {"csc_vector_cuda",
                                                     NULL,
                                                     spry_cuda_csr_vector.spmv,
                                                     spry_cuda_csr_vector.prepare,
                                                     spry_cuda_csr_vector.discard,
                                                     spry_cuda_csr_vector.workspace_bytes};

const spryi_kernel_functions spry_cuda_csc_merge = {"csc_merge_cuda",
                                                    NULL,
                                                    spry_cuda_csr_merge.spmv,
                                                    spry_cuda_csr_merge.prepare,
                                                    spry_cuda_csr_merge.discard,
                                                    spry_cuda_csr_merge.workspace_bytes,
                                                    NULL,
                                                    SPRYI_OP_SPMV_T};
