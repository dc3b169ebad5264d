/* The CUDA kernels of csr2 and csr3, as libspry knows them without a GPU; the functions are in the plug-in. */
#include "formats/csrk/csrk.h"

const spryi_kernel spryi_csr2_lanes_cuda = {
    .name = "csr2_lanes_cuda",
    .format = "csr2",
    .device = "cuda",
    .idea = "a block a super-row, 2 to 32 lanes a row by the mean row length",
    .source = "super-rows: Lane and Booth 2022; the mapping, which they do not give: this library",
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csr3_gpuspmv3_cuda = {
    .name = "csr3_gpuspmv3_cuda",
    .format = "csr3",
    .device = "cuda",
    .idea = "GPUSpMV-3: a block a super-super-row, threads over super-rows and rows, a thread a row",
    .source = "Lane and Booth 2022, listing 3 and case 1",
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csr3_gpuspmv35_cuda = {
    .name = "csr3_gpuspmv35_cuda",
    .format = "csr3",
    .device = "cuda",
    .idea = "GPUSpMV-3.5: as GPUSpMV-3 with 4, 8 or 16 lanes a row, added up by shuffles",
    .source = "Lane and Booth 2022, listing 4 and cases 2 to 4",
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};
