/* The kernels of sparse times sparse. The plug-in holds the functions of the GPU kernel. */
#include "spgemm/kernels/cpu/rows.h"

static const spryi_kernel spgemm_rows_cuda = {
    .name = "spgemm_rows_cuda",
    .format = "csr",
    .device = "cuda",
    .idea =
        "rows by size: merged by a thread; bit masks or tables of words of columns by 16 or 32 lanes; by blocks; giant "
        "ones by windows of columns",
    .source = "merge: F. Gremse et al., GPU-Accelerated Sparse Matrix-Matrix Multiplication by Iterative Row Merging, "
              "2015; bit masks: this library",
    .pattern = 1,
    .operations = SPRYI_OP_SPGEMM,
};

/* clang-format off */
const spryi_family spryi_family_spgemm = {
    .name = "spgemm",
    .kernels = {
        &spryi_spgemm_rows_cpu,
        SPRYI_X86(spryi_spgemm_rows_avx2_cpu)
        SPRYI_X86(spryi_spgemm_rows_avx512_cpu)
        &spgemm_rows_cuda,
    },
};
/* clang-format on */
