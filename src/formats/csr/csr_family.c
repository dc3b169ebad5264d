/* The family csr: its formats and the kernels of every device. */
#include "core/family.h"
#include "formats/csr/csr.h"

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_csr,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_csr_portable_cpu,
    SPRYI_X86(spryi_csr_avx2_cpu)
    SPRYI_X86(spryi_csr_avx512_cpu)
    &spryi_csr_scalar_cuda,
    &spryi_csr_vector_cuda,
    &spryi_csr_adaptive_atomic_cuda,
    &spryi_csr_adaptive_cuda,
    &spryi_csr_merge_cuda,
    &spryi_csr_scatter_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_csr = {"csr", formats, kernels};
