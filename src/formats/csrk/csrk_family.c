/* The family csrk: its formats and the kernels of every device. */
#include "core/family.h"
#include "formats/csrk/csrk.h"

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_csr2,
    &spryi_format_csr3,
    &spryi_format_csr4,
    NULL,
};

static const spryi_kernel *const kernels[] = {
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
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_csrk = {"csrk", formats, kernels};
