/* The CUDA kernels of csr, as libspry knows them without a GPU; the functions are in the plug-in. */
#include "formats/csr/csr.h"

const spryi_kernel spryi_csr_vector_cuda = {
    .name = "csr_vector_cuda",
    .format = "csr",
    .device = "cuda",
    .idea = "2 to 32 lanes a row by the mean row length, added up by shuffles",
    .source = "Evtushenko 2019 and Meister 2013, CSR-Vector; Bell and Garland 2008, 4.3",
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csr_adaptive_atomic_cuda = {
    .name = "csr_adaptive_atomic_cuda",
    .format = "csr",
    .device = "cuda",
    .idea = "row blocks: CSR-Stream, CSR-Vector, and CSR-VectorL, whose parts meet by atomics",
    .source = "Evtushenko 2019, CSR-Adaptive; Greathouse and Daga 2014; Daga and Greathouse 2015",
    .study = 1,
    .deterministic = 0,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csr_adaptive_cuda = {
    .name = "csr_adaptive_cuda",
    .format = "csr",
    .device = "cuda",
    .idea = "row blocks: CSR-Stream, CSR-Vector, and CSR-VectorL, whose parts are added in order",
    .source = "Evtushenko 2019, CSR-Adaptive; Greathouse and Daga 2014; this library",
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

const spryi_kernel spryi_csr_scatter_cuda = {
    .name = "csr_scatter_cuda",
    .format = "csr",
    .device = "cuda",
    .idea = "transposed: row blocks of equal numbers of entries, scattered by atomics",
    .source = "additions as in the COO of Evtushenko 2019; this library",
    .deterministic = 0,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV_T,
};
