/* The family swept: formats, kernels, and descriptors of CUDA kernels, whose functions are in the plug-in. */
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

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_swept,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_swept_reference_cpu,
    &spryi_swept_barrier_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_swept = {"swept", formats, kernels};
