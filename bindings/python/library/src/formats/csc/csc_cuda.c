/* The CUDA kernels of csc, as libspry knows them without a GPU; the functions are csr's, in the plug-in. */
#include "formats/csc/csc.h"

const spryi_kernel spryi_csc_scatter_cuda = {
    .name = "csc_scatter_cuda",
    .format = "csc",
    .device = "cuda",
    .idea = "blocks of columns with equal numbers of entries, scattered by atomics",
    .source = "Sparse Methods, CSC; this library",
    .deterministic = 0,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csc_vector_cuda = {
    .name = "csc_vector_cuda",
    .format = "csc",
    .device = "cuda",
    .idea = "transposed, as csr_vector_cuda: 2 to 32 lanes a column",
    .source = "CSR-Vector of Evtushenko 2019 and Meister 2013, exchanged",
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV_T,
};

const spryi_kernel spryi_csc_merge_cuda = {
    .name = "csc_merge_cuda",
    .format = "csc",
    .device = "cuda",
    .idea = "transposed, as csr_merge_cuda: equal numbers of entries a block",
    .source = "as csr_merge_cuda, exchanged",
    .deterministic = 1,
    .pattern = 1,
    .several = SPRYI_OP_SPMV_T,
    .operations = SPRYI_OP_SPMV_T,
    .mixed = SPRYI_OP_SPMV_T,
};
