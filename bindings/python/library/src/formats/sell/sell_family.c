/* The family sell: its formats and the kernels of every device. */
#include "core/family.h"
#include "formats/sell/sell.h"

/* A line each, so that a new one is a line in a diff. */
/* clang-format off */
static const spryi_format *const formats[] = {
    &spryi_format_sell,
    NULL,
};

static const spryi_kernel *const kernels[] = {
    &spryi_sell_portable_cpu,
    SPRYI_X86(spryi_sell_avx2_cpu)
    SPRYI_X86(spryi_sell_avx512_cpu)
    &spryi_sell_chunks_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_sell = {"sell", formats, kernels};
