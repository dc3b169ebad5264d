/* Sparse times sparse on the GPU: the descriptors; the functions are the plug-in's. */
#include "spgemm/spgemm.h"

#define SEED "S. Rose, GPU Sparse Matrix Multiplication with CUDA, 2013 (seed 002)"

const spryi_spgemm_kernel spryi_spgemm_seed_getvals_cuda = {
    .name = "spgemm_seed_getvals_cuda",
    .device = "cuda",
    .idea = "a block a row, tables of all columns for counting and placing, rows sorted in place by radix",
    .source = SEED,
    .deterministic = 1,
};

const spryi_spgemm_kernel spryi_spgemm_seed_reset_cuda = {
    .name = "spgemm_seed_reset_cuda",
    .device = "cuda",
    .idea = "the seed's, clearing in its tables only what a row has touched",
    .source = SEED,
    .deterministic = 1,
};

const spryi_spgemm_kernel spryi_spgemm_seed_rows_cuda = {
    .name = "spgemm_seed_rows_cuda",
    .device = "cuda",
    .idea = "the seed's, four rows a block, each by a warp with a table of its own",
    .source = SEED,
    .deterministic = 1,
};

const spryi_spgemm_kernel spryi_spgemm_seed_claim_cuda = {
    .name = "spgemm_seed_claim_cuda",
    .device = "cuda",
    .idea = "the seed's, blocks claiming the next row as they get free",
    .source = SEED,
    .deterministic = 1,
};

const spryi_spgemm_kernel spryi_spgemm_seed_balance_cuda = {
    .name = "spgemm_seed_balance_cuda",
    .device = "cuda",
    .idea = "the seed's, with 128 threads a block where it has 32",
    .source = SEED,
    .deterministic = 1,
};

const spryi_spgemm_kernel spryi_spgemm_rows_cuda = {
    .name = "spgemm_rows_cuda",
    .device = "cuda",
    .idea =
        "rows by size: merged by a thread; bit masks or tables of words of columns by 16 or 32 lanes; by blocks; giant "
        "ones by windows of columns",
    .source = "merge: F. Gremse et al., GPU-Accelerated Sparse Matrix-Matrix Multiplication by Iterative Row Merging, "
              "2015; bit masks: this library",
    .deterministic = 1,
};
