/* Lists the formats and kernels of family coo. The functions of the CUDA kernels are in the CUDA plug-in. */
#include "formats/coo/coo.h"

const spryi_kernel spryi_coo_segmented_cuda = {
    SPRYI_KERNEL_OF("coo", "segmented", "cuda"),
    .idea = "equal numbers of entries per block, sums by segmented scan without atomics, long rows in parts",
    .source = "Bell and Garland 2008, 4.4; Blelloch, Heroux and Zagha 1993; this library",
    .operations = SPRYI_OP_SPMV,
};

/* clang-format off */
const spryi_family spryi_family_coo = {
    .name = "coo",
    .formats = {&spryi_format_coo},
    .kernels = {
        &spryi_coo_portable_cpu,
        &spryi_coo_segmented_cuda,
    },
};
/* clang-format on */
