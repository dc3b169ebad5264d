/* The CUDA kernel of windowed, as libspry knows it without a GPU; the functions are in the plug-in. */
#include "formats/windowed/windowed.h"

const spryi_kernel spryi_windowed_staged_cuda = {
    .name = "windowed_staged_cuda",
    .format = "windowed",
    .device = "cuda",
    .idea = "a block of threads a window, its x in shared memory; a warp a slice, a lane a row",
    .source = "this library; x of parts of the rows in shared memory: Chen 2022; slices: Monakov et al. 2010",
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};
