/* The family bsr: formats, kernels, and descriptors of the CUDA kernels, whose functions are in the plug-in. */
#include "formats/bsr/bsr.h"

const spryi_kernel spryi_bsr_blocks_cuda = {
    SPRYI_KERNEL_OF("bsr", "blocks", "cuda"),
    .idea = "4 to 32 lanes per block row, a lane for a column of a block and its x; long block rows in pieces",
    .source = "Buatois, Caumon and Levy 2009; this library",
    .multi_row_major = SPRYI_OP_SPMV,
    .operations = SPRYI_OP_SPMV,
    .mixed = SPRYI_OP_SPMV,
    .narrows = SPRYI_NARROWS_FLOATS,
};

/* clang-format off */
const spryi_family spryi_family_bsr = {
    .name = "bsr",
    .formats = {&spryi_format_bsr},
    .kernels = {
        &spryi_bsr_portable_cpu,
        SPRYI_X86(spryi_bsr_avx2_cpu)
        SPRYI_X86(spryi_bsr_avx512_cpu)
        &spryi_bsr_blocks_cuda,
    },
};
/* clang-format on */
