/* The CUDA kernel of sell, as libspry knows it without a GPU; its function is in the plug-in. */
#include "formats/sell/sell.h"

const spryi_kernel spryi_sell_chunks_cuda = {
    .name = "sell_chunks_cuda",
    .format = "sell",
    .device = "cuda",
    .idea = "a thread a row, chunk by chunk; strided chunks read one column a slot",
    .source = "Kreutzer and others, A unified sparse matrix data format, 2014; this library",
    .deterministic = 1,
    .pattern = 1,
    .several = SPRYI_OP_SPMV,
    .operations = SPRYI_OP_SPMV,
    .mixed = SPRYI_OP_SPMV,
};
