/* The CUDA kernels of ell and sell, as libspry knows them without a GPU; the functions are in the plug-in. */
#include "formats/ell/ell.h"
#include "formats/sell/sell.h"

const spryi_kernel spryi_ell_slots_cuda = {
    .name = "ell_slots_cuda",
    .format = "ell",
    .device = "cuda",
    .idea = "a thread a row, slot by slot; stepped slices of 32 rows read one column a slot",
    .source = "Bell and Garland 2008, 4.1; Evtushenko 2019; Meister 2013; the lecture Sparse Methods; this library",
    .deterministic = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_sell_chunks_cuda = {
    .name = "sell_chunks_cuda",
    .format = "sell",
    .device = "cuda",
    .idea = "a thread a row, chunk by chunk; stepped chunks read one column a slot",
    .source = "Kreutzer and others, A unified sparse matrix data format, 2014; this library",
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};
