/* Lists the formats and kernels of family csrk. The functions of the CUDA kernels are in the CUDA plug-in. */
#include "formats/csrk/csrk.h"

const spryi_kernel spryi_csr2_lanes_cuda = {
    SPRYI_KERNEL_OF("csr2", "lanes", "cuda"),
    .idea = "one block per super-row, 2 to 32 lanes per row by the mean row length",
    .source = "super-rows: Lane and Booth 2022; the mapping, which they do not give: this library",
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csr3_gpuspmv3_cuda = {
    SPRYI_KERNEL_OF("csr3", "gpuspmv3", "cuda"),
    .idea = "GPUSpMV-3: one block per super-super-row, threads over super-rows and rows, one thread per row",
    .source = "Lane and Booth 2022, listing 3 and case 1",
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csr3_gpuspmv35_cuda = {
    SPRYI_KERNEL_OF("csr3", "gpuspmv35", "cuda"),
    .idea = "GPUSpMV-3.5: as GPUSpMV-3 with 4, 8 or 16 lanes per row, added up by shuffles",
    .source = "Lane and Booth 2022, listing 4 and cases 2 to 4",
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

/* clang-format off */
const spryi_family spryi_family_csrk = {
    .name = "csrk",
    .formats = {&spryi_format_csr2, &spryi_format_csr3, &spryi_format_csr4},
    .kernels = {
        &spryi_csr2_listing_portable_cpu,
        SPRYI_X86(spryi_csr2_listing_avx2_cpu)
        SPRYI_X86(spryi_csr2_listing_avx512_cpu)
        &spryi_csr2_lanes_cuda,
        &spryi_csr3_listing_portable_cpu,
        SPRYI_X86(spryi_csr3_listing_avx2_cpu)
        SPRYI_X86(spryi_csr3_listing_avx512_cpu)
        &spryi_csr3_gpuspmv3_cuda,
        &spryi_csr3_gpuspmv35_cuda,
        &spryi_csr4_listing_portable_cpu,
        SPRYI_X86(spryi_csr4_listing_avx2_cpu)
        SPRYI_X86(spryi_csr4_listing_avx512_cpu)
    },
};
/* clang-format on */
