/* The family sell: formats, kernels, and descriptors of CUDA kernels, whose functions are in the plug-in. */
#include "formats/sell/sell.h"

const spryi_kernel spryi_sell_chunks_cuda = {
    .name = "sell_chunks_cuda",
    .format = "sell",
    .device = "cuda",
    .idea = "a thread a row, chunk by chunk; strided chunks read one column a slot",
    .source = "Kreutzer and others, A unified sparse matrix data format, 2014; this library",
    .deterministic = 1,
    .pattern = 1,
    .several = SPRYI_OP_SPMV,
    .operations = SPRYI_OP_SPMV,
    .mixed = SPRYI_OP_SPMV,
};

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
