/* The CUDA kernels of coo, as libspry knows them without a GPU; the functions are in the plug-in. */
#include "formats/coo/coo.h"

const spryi_kernel spryi_coo_segmented_cuda = {
    .name = "coo_segmented_cuda",
    .format = "coo",
    .device = "cuda",
    .idea = "equal numbers of entries a block, sums by segmented scan without atomics, long rows in parts",
    .source = "Bell and Garland 2008, 4.4; Blelloch, Heroux and Zagha 1993; this library",
    .deterministic = 1,
    .operations = SPRYI_OP_SPMV,
};
