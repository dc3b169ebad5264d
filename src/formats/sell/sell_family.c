/* Lists the formats and kernels of family sell. The functions of the CUDA kernels are in the CUDA plug-in. */
#include "formats/sell/sell.h"

const spryi_kernel spryi_sell_chunks_cuda = {
    SPRYI_KERNEL_OF("sell", "chunks", "cuda"),
    .idea = "a thread per row, chunk by chunk; strided chunks read one column per slot",
    .source = "Kreutzer and others, A unified sparse matrix data format, 2014; this library",
    .pattern = 1,
    .multi_row_major = SPRYI_OP_SPMV,
    .operations = SPRYI_OP_SPMV,
    .mixed = SPRYI_OP_SPMV,
    .narrows = SPRYI_NARROWS_FLOATS,
};

/* clang-format off */
const spryi_family spryi_family_sell = {
    .name = "sell",
    .formats = {&spryi_format_sell},
    .kernels = {
        &spryi_sell_portable_cpu,
        SPRYI_X86(spryi_sell_avx2_cpu)
        SPRYI_X86(spryi_sell_avx512_cpu)
        &spryi_sell_chunks_cuda,
    },
};
/* clang-format on */
