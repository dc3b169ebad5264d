/* The family packed: formats, kernels, and descriptors of the CUDA kernels, whose functions are in the plug-in. */
#include "formats/packed/packed.h"

const spryi_kernel spryi_packed_slices_cuda = {
    SPRYI_KERNEL_OF("packed", "slices", "cuda"),
    .idea = "a warp per slice, a lane per row or block row; x in order on diagonals",
    .source = "this library; slices: Monakov et al. 2010; super-rows: Lane and Booth 2022",
    .pattern = 1,
    .multi_row_major = SPRYI_OP_SPMV,
    .multi_column_major = SPRYI_OP_SPMV,
    .operations = SPRYI_OP_SPMV,
    .mixed = SPRYI_OP_SPMV,
    .narrows = SPRYI_NARROWS_TO_TABLES,
};

/* clang-format off */
const spryi_family spryi_family_packed = {
    .name = "packed",
    .formats = {&spryi_format_packed},
    .kernels = {
        &spryi_packed_portable_cpu,
        SPRYI_X86(spryi_packed_avx2_cpu)
        SPRYI_X86(spryi_packed_avx512_cpu)
        &spryi_packed_slices_cuda,
    },
};
/* clang-format on */
