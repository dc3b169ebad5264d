/* The family windowed: formats, kernels, and descriptors of CUDA kernels. The plug-in holds the CUDA functions. */
#include "formats/windowed/windowed.h"

const spryi_kernel spryi_windowed_staged_cuda = {
    SPRYI_KERNEL_OF("windowed", "staged", "cuda"),
    .idea = "a block of threads a window, its x in shared memory; a warp a slice, a lane a row",
    .source = "this library; x of parts of the rows in shared memory: Chen 2022; slices: Monakov et al. 2010",
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
    .mixed = SPRYI_OP_SPMV,
    .narrows = SPRYI_NARROWS_FLOATS,
};

/* clang-format off */
const spryi_family spryi_family_windowed = {
    .name = "windowed",
    .formats = {&spryi_format_windowed},
    .kernels = {
        &spryi_windowed_portable_cpu,
        SPRYI_X86(spryi_windowed_avx2_cpu)
        SPRYI_X86(spryi_windowed_avx512_cpu)
        &spryi_windowed_staged_cuda,
    },
};
/* clang-format on */
