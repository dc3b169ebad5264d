/* The CUDA kernel of scoo, as libspry knows it without a GPU; the functions are in the plug-in. */
#include "formats/scoo/scoo.h"

const spryi_kernel spryi_scoo_shared_cuda = {
    .name = "scoo_shared_cuda",
    .format = "scoo",
    .device = "cuda",
    .idea = "a block a slice, whose sums are in shared memory, several lanes a row in low slices",
    .source = "Evtushenko 2019, SCOO; Dang and Schmidt 2012; this library",
    .deterministic = 0,
    .operations = SPRYI_OP_SPMV,
};
