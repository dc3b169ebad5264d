/* The kernels of the study of sparse times sparse; the functions of those on the GPU are the plug-in's. */
#include "core/family.h"
#include "studies/spgemm/seeds.h"

#define SEED(way, idea_)                                                                                               \
    static const spryi_kernel seed_##way##_cuda = {                                                                    \
        .name = "spgemm_seed_" #way "_cuda",                                                                           \
        .format = "csr",                                                                                               \
        .device = "cuda",                                                                                              \
        .idea = idea_,                                                                                                 \
        .source = "S. Rose, GPU Sparse Matrix Multiplication with CUDA, 2013 (seed 002)",                              \
        .study = 1,                                                                                                    \
        .deterministic = 1,                                                                                            \
        .pattern = 1,                                                                                                  \
        .operations = SPRYI_OP_SPGEMM,                                                                                 \
    };
SEED(getvals, "a block a row, tables of all columns for counting and placing, rows sorted in place by radix")
SEED(reset, "the seed's, clearing in its tables only what a row has touched")
SEED(rows, "the seed's, four rows a block, each by a warp with a table of its own")
SEED(claim, "the seed's, blocks claiming the next row as they get free")
SEED(balance, "the seed's, with 128 threads a block where it has 32")

/* clang-format off */
static const spryi_kernel *const kernels[] = {
    &spryi_spgemm_seed_dot_cpu,
    &spryi_spgemm_seed_dense_cpu,
    &spryi_spgemm_smmp_cpu,
    &seed_getvals_cuda,
    &seed_reset_cuda,
    &seed_rows_cuda,
    &seed_claim_cuda,
    &seed_balance_cuda,
    NULL,
};
/* clang-format on */

const spryi_family spryi_family_spgemm_study = {"spgemm_study", NULL, kernels};
