/* The CUDA kernels of csr, as libspry knows them without a GPU; the functions are in the plug-in. */
#include "formats/csr/csr.h"

const spryi_kernel spryi_csr_scalar_cuda = {
    .name = "csr_scalar_cuda",
    .format = "csr",
    .device = "cuda",
    .idea = "a thread a row",
    .source = "seed 000, CSR-Scalar; Bell and Garland 2008, 4.2",
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csr_vector_cuda = {
    .name = "csr_vector_cuda",
    .format = "csr",
    .device = "cuda",
    .idea = "2 to 32 lanes a row by the mean row length, added up by shuffles",
    .source = "seeds 000 and 003, CSR-Vector; Bell and Garland 2008, 4.3",
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csr_merge_cuda = {
    .name = "csr_merge_cuda",
    .format = "csr",
    .device = "cuda",
    .idea = "equal numbers of entries a block, products through shared memory, long rows in pieces",
    .source = "Merrill and Garland 2016; Greathouse and Daga 2014; this library",
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};
