/* The family coo: formats, kernels, and descriptors of CUDA kernels, whose functions are in the plug-in. */
#include "formats/coo/coo.h"

const spryi_kernel spryi_coo_segmented_cuda = {
    .name = "coo_segmented_cuda",
    .format = "coo",
    .device = "cuda",
    .idea = "equal numbers of entries a block, sums by segmented scan without atomics, long rows in parts",
    .source = "Bell and Garland 2008, 4.4; Blelloch, Heroux and Zagha 1993; this library",
    .deterministic = 1,
    .operations = SPRYI_OP_SPMV,
};

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_coo,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_coo_portable_cpu,
    &spryi_coo_segmented_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_coo = {"coo", formats, kernels};
