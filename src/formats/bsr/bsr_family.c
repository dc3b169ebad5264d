/* The family bsr: its formats and the kernels of every device. */
#include "core/family.h"
#include "formats/bsr/bsr.h"

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_bsr,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_bsr_portable_cpu,
    SPRYI_X86(spryi_bsr_avx2_cpu)
    SPRYI_X86(spryi_bsr_avx512_cpu)
    &spryi_bsr_blocks_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_bsr = {"bsr", formats, kernels};
