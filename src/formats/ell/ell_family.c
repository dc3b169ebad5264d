/* Lists the formats and kernels of family ell. The functions of the CUDA kernels are in the CUDA plug-in. */
#include "formats/ell/ell.h"

const spryi_kernel spryi_ell_slots_cuda = {
    SPRYI_KERNEL_OF("ell", "slots", "cuda"),
    .idea = "one thread per row, slot by slot; strided slices of 32 rows read one column per slot",
    .source = "Bell and Garland 2008, 4.1; Evtushenko 2019; Meister 2013; Sparse Methods; this library",
    .operations = SPRYI_OP_SPMV,
};

/* clang-format off */
const spryi_family spryi_family_ell = {
    .name = "ell",
    .formats = {&spryi_format_ell},
    .kernels = {
        &spryi_ell_portable_cpu,
        SPRYI_X86(spryi_ell_avx2_cpu)
        SPRYI_X86(spryi_ell_avx512_cpu)
        &spryi_ell_slots_cuda,
    },
};
/* clang-format on */
