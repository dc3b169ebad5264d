/* The family ell: its formats and the kernels of every device. */
#include "core/family.h"
#include "formats/ell/ell.h"

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_ell,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_ell_portable_cpu,
    SPRYI_X86(spryi_ell_avx2_cpu)
    SPRYI_X86(spryi_ell_avx512_cpu)
    &spryi_ell_slots_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_ell = {"ell", formats, kernels};
