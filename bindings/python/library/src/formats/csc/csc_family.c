/* The family csc: its formats and the kernels of every device. */
#include "core/family.h"
#include "formats/csc/csc.h"

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_csc,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_csc_portable_cpu,
    SPRYI_X86(spryi_csc_avx2_cpu)
    SPRYI_X86(spryi_csc_avx512_cpu)
    &spryi_csc_scatter_cuda,
    &spryi_csc_vector_cuda,
    &spryi_csc_merge_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_csc = {"csc", formats, kernels};
