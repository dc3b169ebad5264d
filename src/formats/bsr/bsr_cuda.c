/* The CUDA kernels of bsr, as libspry knows them without a GPU; the functions are in the plug-in. */
#include "formats/bsr/bsr.h"

const spryi_kernel spryi_bsr_blocks_cuda = {
    .name = "bsr_blocks_cuda",
    .format = "bsr",
    .device = "cuda",
    .idea = "4 to 32 lanes a block row, a lane a column of a block, one x for its values; long block rows in pieces",
    .source = "Buatois, Caumon and Levy 2009; this library",
    .deterministic = 1,
    .several = SPRYI_OP_SPMV,
    .operations = SPRYI_OP_SPMV,
    .mixed = SPRYI_OP_SPMV,
};
