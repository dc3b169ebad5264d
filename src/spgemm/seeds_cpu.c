#include "spgemm/seeds.h"

#include <string.h>

#define SPRYI_TEMPLATE "spgemm/seeds_count.tmpl.c"
#include "core/instantiate_indices.h"
#undef SPRY_FN
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "spgemm/seeds_fill.tmpl.c"
#include "core/instantiate.h"

static const spryi_spgemm_count_table dot_counts = {dot_count_32_32, dot_count_64_32, dot_count_64_64};
static const spryi_spgemm_count_table dense_counts = {dense_count_32_32, dense_count_64_32, dense_count_64_64};
static const spryi_spgemm_count_table smmp_counts = {smmp_count_32_32, smmp_count_64_32, smmp_count_64_64};
static const spryi_spgemm_fill_table dot_fills = SPRYI_TABLE(dot_fill);
static const spryi_spgemm_fill_table dense_fills = SPRYI_TABLE(dense_fill);
static const spryi_spgemm_fill_table smmp_fills = SPRYI_TABLE(smmp_fill);

static int64_t no_bytes(spryi_spgemm_job *job)
{
    (void)job;
    return 0;
}

static int64_t dense_count_bytes(spryi_spgemm_job *job)
{
    return job->b.cols;
}

static int64_t dense_fill_bytes(spryi_spgemm_job *job)
{
    return job->b.cols * ((int64_t)spry_type_bytes(job->type) + 1);
}

static int64_t smmp_count_bytes(spryi_spgemm_job *job)
{
    return job->b.cols * (int64_t)sizeof(int64_t);
}

static int64_t smmp_fill_bytes(spryi_spgemm_job *job)
{
    return job->b.cols * (int64_t)(sizeof(int64_t) + spry_type_bytes(job->type));
}

const spryi_spgemm_kernel spryi_spgemm_seed_dot_cpu = {
    .name = "spgemm_seed_dot_cpu",
    .device = "cpu",
    .idea = "each row of A times each column of B, which is converted to CSC: the paper's sequential listing",
    .source = "S. Rose, GPU Sparse Matrix Multiplication with CUDA, 2013, section 2.2",
    .deterministic = 1,
    .sequential = 1,
    .needs_csc = 1,
    .simd = SPRYI_PORTABLE,
    .count_bytes = no_bytes,
    .fill_bytes = no_bytes,
    .count = &dot_counts,
    .fill = &dot_fills,
    .refill = &dot_fills,
};

const spryi_spgemm_kernel spryi_spgemm_seed_dense_cpu = {
    .name = "spgemm_seed_dense_cpu",
    .device = "cpu",
    .idea = "row by row into an array of all columns, which is reset and looked through for each row",
    .source = "S. Rose, GPU Sparse Matrix Multiplication with CUDA, 2013, section 4",
    .deterministic = 1,
    .sequential = 1,
    .simd = SPRYI_PORTABLE,
    .count_bytes = dense_count_bytes,
    .fill_bytes = dense_fill_bytes,
    .count = &dense_counts,
    .fill = &dense_fills,
    .refill = &dense_fills,
};

const spryi_spgemm_kernel spryi_spgemm_smmp_cpu = {
    .name = "spgemm_smmp_cpu",
    .device = "cpu",
    .idea = "two passes on one thread; the columns of a row are a linked list through one array, and sorted at the end",
    .source = "R. E. Bank, C. C. Douglas, Sparse Matrix Multiplication Package (SMMP), 1993",
    .deterministic = 1,
    .sequential = 1,
    .simd = SPRYI_PORTABLE,
    .count_bytes = smmp_count_bytes,
    .fill_bytes = smmp_fill_bytes,
    .count = &smmp_counts,
    .fill = &smmp_fills,
    .refill = &smmp_fills,
};
