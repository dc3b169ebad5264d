/*
 * The CUDA kernels of csc. The storage is a spryi_csr of A^T (formats/csc/csc.h), so the kernels are csr's with the
 * products exchanged: csc_scatter_cuda makes A*x as csr_scatter_cuda does A^T*x, by atomics and so not deterministic;
 * csc_vector_cuda and csc_merge_cuda make A^T*x as csr_vector_cuda and csr_merge_cuda do A*x, with the same bits in
 * every run. Idea, work, cost and source stand with csr's.
 */
extern "C" {
#include "core/device.h"
}
#include "device/cuda/kernels.h"

/* csr's are constants known to the compiler, so they are there before these are filled in. */
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
