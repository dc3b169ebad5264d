/* The family swept: formats, kernels, and descriptors of the CUDA kernels, whose functions are in the plug-in. */
#include "formats/swept/swept.h"

const spryi_kernel spryi_swept_barrier_cuda = {
    SPRYI_KERNEL_OF("swept", "barrier", "cuda"),
    .idea = "a multiprocessor sweeps x for a row block, whose sums are in its shared memory; barriers, no atomics",
    .source = "SCOO: Dang and Schmidt 2012; groups without conflicts: this library",
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
    .mixed = SPRYI_OP_SPMV,
};

/* clang-format off */
const spryi_family spryi_family_swept = {
    .name = "swept",
    .formats = {&spryi_format_swept},
    .kernels = {
        &spryi_swept_reference_cpu,
        &spryi_swept_barrier_cuda,
    },
};
/* clang-format on */
