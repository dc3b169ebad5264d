/* The CUDA kernel of swept, as libspry knows it without a GPU; the functions are in the plug-in. */
#include "formats/swept/swept.h"

const spryi_kernel spryi_swept_barrier_cuda = {
    .name = "swept_barrier_cuda",
    .format = "swept",
    .device = "cuda",
    .idea = "a multiprocessor sweeps x for a row block, whose sums are in its shared memory; barriers, no atomics",
    .source = "SCOO: Dang and Schmidt 2012; groups without conflicts: this library",
    .deterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
    .mixed = SPRYI_OP_SPMV,
};
