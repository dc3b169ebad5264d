/* The family packed: its formats and the kernels of every device. */
#include "core/family.h"
#include "formats/packed/packed.h"

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_packed,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_packed_portable_cpu,
    SPRYI_X86(spryi_packed_avx2_cpu)
    SPRYI_X86(spryi_packed_avx512_cpu)
    &spryi_packed_slices_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_packed = {"packed", formats, kernels};
