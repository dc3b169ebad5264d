/* The family hyb: formats, kernels, and descriptors of CUDA kernels, whose functions are in the plug-in. */
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

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_hyb,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_hyb_portable_cpu,
    SPRYI_X86(spryi_hyb_avx2_cpu)
    SPRYI_X86(spryi_hyb_avx512_cpu)
    &spryi_hyb_segmented_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_hyb = {"hyb", formats, kernels};
