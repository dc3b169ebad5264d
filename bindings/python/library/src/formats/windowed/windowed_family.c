/* The family windowed: its formats and the kernels of every device. */
#include "core/family.h"
#include "formats/windowed/windowed.h"

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_windowed,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_windowed_portable_cpu,
    SPRYI_X86(spryi_windowed_avx2_cpu)
    SPRYI_X86(spryi_windowed_avx512_cpu)
    &spryi_windowed_staged_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_windowed = {"windowed", formats, kernels};
