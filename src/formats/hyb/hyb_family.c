/* Lists the formats and kernels of family hyb. The functions of the CUDA kernels are in the CUDA plug-in. */
#include "formats/hyb/hyb.h"

const spryi_kernel spryi_hyb_segmented_cuda = {
    SPRYI_KERNEL_OF("hyb", "segmented", "cuda"),
    .idea = "ELL with one thread per row, then the rest by segmented sums without atomics",
    .source = "Bell and Garland 2008, 4.5; Sparse Methods, HYB; this library",
    .operations = SPRYI_OP_SPMV,
};

/* clang-format off */
const spryi_family spryi_family_hyb = {
    .name = "hyb",
    .formats = {&spryi_format_hyb},
    .kernels = {
        &spryi_hyb_portable_cpu,
        SPRYI_X86(spryi_hyb_avx2_cpu)
        SPRYI_X86(spryi_hyb_avx512_cpu)
        &spryi_hyb_segmented_cuda,
    },
};
/* clang-format on */
