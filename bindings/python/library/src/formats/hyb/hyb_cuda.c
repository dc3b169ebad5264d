/* The CUDA kernels of hyb, as libspry knows them without a GPU; the functions are in the plug-in. */
#include "formats/hyb/hyb.h"

const spryi_kernel spryi_hyb_segmented_cuda = {
    .name = "hyb_segmented_cuda",
    .format = "hyb",
    .device = "cuda",
    .idea = "ELL by a thread a row, then the rest by segmented sums without atomics",
    .source = "Bell and Garland 2008, 4.5; Sparse Methods, HYB; this library",
    .deterministic = 1,
    .operations = SPRYI_OP_SPMV,
};
