/* The CUDA kernel of ell, as libspry knows it without a GPU; its function is in the plug-in. */
#include "formats/ell/ell.h"

const spryi_kernel spryi_ell_slots_cuda = {
    .name = "ell_slots_cuda",
    .format = "ell",
    .device = "cuda",
    .idea = "a thread a row, slot by slot; strided slices of 32 rows read one column a slot",
    .source = "Bell and Garland 2008, 4.1; Evtushenko 2019; Meister 2013; Sparse Methods; this library",
    .deterministic = 1,
    .operations = SPRYI_OP_SPMV,
};
