/* Lists the formats and kernels of family csr. The functions of the CUDA kernels are in the CUDA plug-in. */
#include "formats/csr/csr.h"

static const spryi_parameter lanes[] = {{"lanes", 0, 0, "lanes per row"}, {0}};
static const char *const lane_counts[] = {"2", "4", "8", "16", "32", NULL};

static const spryi_parameter adaptive[] = {
    {"nnz_per_wg", 0, 0, "entries per row block"},
    {"vector", 1, SPRYI_CSR_MOST_VECTOR, "maximum entries of a row that CSR-Vector multiplies"},
    {0},
};
static const char *const block_entries[] = {"256", "512", "1024", "2048", NULL};
#define ADAPTIVE_PARAMETERS                                                                                            \
    .parameters.list = adaptive, .parameters.words = {[SPRYI_CSR_NNZ_PER_WG] = block_entries},                         \
    .parameters.text = "nnz_per_wg=256|512|1024|2048 (entries per row block of 256 threads; 256: the paper's "         \
                       "CSR-Stream, one entry per thread; default 2048 in f64, 1024 with 128 threads in f32); "        \
                       "vector=NUMBER (maximum entries of a row alone in its block for CSR-Vector; longer rows are "   \
                       "for CSR-VectorL; the paper's listing has 64; default nnz_per_wg)"

const spryi_kernel spryi_csr_scalar_cuda = {
    SPRYI_KERNEL_OF("csr", "scalar", "cuda"),
    .idea = "one thread per row",
    .source = "Evtushenko 2019, CSR-Scalar; Bell and Garland 2008, 4.2",
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csr_vector_cuda = {
    SPRYI_KERNEL_OF("csr", "vector", "cuda"),
    .idea = "2 to 32 lanes per row, added up by shuffles; long rows by a warp or a block",
    .source = "Evtushenko 2019 and Meister 2013, CSR-Vector; Bell and Garland 2008, 4.3",
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
    .parameters.list = lanes,
    .parameters.words = {[SPRYI_CSR_LANES] = lane_counts},
    .parameters.text = "lanes=2|4|8|16|32 (lanes per row; 32: as in the papers; default by mean and number of rows)",
};

const spryi_kernel spryi_csr_adaptive_atomic_cuda = {
    SPRYI_KERNEL_OF("csr", "adaptive_atomic", "cuda"),
    .idea = "row blocks: CSR-Stream, CSR-Vector, and CSR-VectorL, whose parts are added by atomics",
    .source = "Evtushenko 2019, CSR-Adaptive; Greathouse and Daga 2014; Daga and Greathouse 2015",
    .study = 1,
    .nondeterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
    ADAPTIVE_PARAMETERS,
};

const spryi_kernel spryi_csr_adaptive_cuda = {
    SPRYI_KERNEL_OF("csr", "adaptive", "cuda"),
    .idea = "row blocks: CSR-Stream, CSR-Vector, and CSR-VectorL, whose parts are added in order",
    .source = "Evtushenko 2019, CSR-Adaptive; Greathouse and Daga 2014; this library",
    .pattern = 1,
    .operations = SPRYI_OP_SPMV,
    ADAPTIVE_PARAMETERS,
};

const spryi_kernel spryi_csr_merge_cuda = {
    SPRYI_KERNEL_OF("csr", "merge", "cuda"),
    .idea = "equal numbers of entries per block, products through shared memory, long rows in pieces",
    .source = "Merrill and Garland 2016; Greathouse and Daga 2014; this library",
    .pattern = 1,
    .multi_row_major = SPRYI_OP_SPMV,
    .operations = SPRYI_OP_SPMV,
    .mixed = SPRYI_OP_SPMV,
};

const spryi_kernel spryi_csr_scatter_cuda = {
    SPRYI_KERNEL_OF("csr", "scatter", "cuda"),
    .idea = "transposed: row blocks of equal numbers of entries, scattered by atomics",
    .source = "additions as in the COO of Evtushenko 2019; this library",
    .nondeterministic = 1,
    .pattern = 1,
    .operations = SPRYI_OP_SPMV_T,
};

/* clang-format off */
const spryi_family spryi_family_csr = {
    .name = "csr",
    .formats = {&spryi_format_csr},
    .kernels = {
        &spryi_csr_portable_cpu,
        SPRYI_X86(spryi_csr_avx2_cpu)
        SPRYI_X86(spryi_csr_avx512_cpu)
        &spryi_csr_scalar_cuda,
        &spryi_csr_vector_cuda,
        &spryi_csr_adaptive_atomic_cuda,
        &spryi_csr_adaptive_cuda,
        &spryi_csr_merge_cuda,
        &spryi_csr_scatter_cuda,
    },
};
/* clang-format on */
