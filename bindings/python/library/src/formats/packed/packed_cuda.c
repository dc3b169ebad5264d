/* The CUDA kernel of packed, as libspry knows it without a GPU; the functions are in the plug-in. */
#include "formats/packed/packed.h"

const spryi_kernel spryi_packed_slices_cuda = {
    .name = "packed_slices_cuda",
    .format = "packed",
    .device = "cuda",
    .idea = "a warp a slice, a lane a row or block row; x in order on diagonals",
    .source = "this library; slices: Monakov et al. 2010; super-rows: Lane and Booth 2022",
    .deterministic = 1,
    .pattern = 1,
    .several = SPRYI_OP_SPMV,
    .several_apart = SPRYI_OP_SPMV,
    .operations = SPRYI_OP_SPMV,
    .mixed = SPRYI_OP_SPMV,
};
