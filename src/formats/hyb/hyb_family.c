/* The family hyb: its formats and the kernels of every device. */
#include "core/family.h"
#include "formats/hyb/hyb.h"

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_hyb,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_hyb_portable_cpu,
    SPRYI_X86(spryi_hyb_avx2_cpu)
    SPRYI_X86(spryi_hyb_avx512_cpu)
    &spryi_hyb_segmented_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_hyb = {"hyb", formats, kernels};
