/*
 * csr2_listing_cpu, csr3_listing_cpu and csr4_listing_cpu: CSR-k on CPUs as printed in its paper.
 *
 * Idea: nested loops in plain C. Threads share the outermost groups (csr2: super-rows; csr3: super-super-rows). Inner
 *       loops run over each inner level of groups, over the rows of a group and over the entries of a row.
 * Work: each thread has the same number of outermost groups; imbalance if the groups' entries differ.
 * Cost: bytes of CSR and 8 bytes per group. Each addition of a row waits for the previous one, so only short rows are
 *       fast. Small groups add loop overhead; large groups are distributed unevenly.
 * Source: Lane and Booth, Heterogeneous SpMV via Compressed Sparse Row Format, 2022, listing 1 and section 5.2 (static
 *         schedule).
 * Differences from the listing: y = alpha*A*x + beta*y; entries of a pattern are 1; threads of the library's pool
 *         replace OpenMP's; compiled for any processor of the architecture, with sums in the printed order. The paper
 *         has Intel's compiler with -O3 for its processor, which may vectorise the sums: csr2_listing_avx2_cpu and
 *         csr2_listing_avx512_cpu have vector sums.
 */
#ifndef SPRYI_TEMPLATE
#include "formats/csrk/csrk.h"
#include "formats/shared/run_blocks.h"
#include "study/kernels/study_kernels.h"

#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "study/kernels/csrk_listing_cpu.c"
#include "base/instantiate.h"

static const spryi_run_table tables[] = {SPRYI_TABLE(run_2), SPRYI_TABLE(run_3), SPRYI_TABLE(run_4)};

#define KERNEL(k, threads_over, source_text)                                                                           \
    const spryi_kernel spryi_csr##k##_listing_cpu = {                                                                  \
        .name = "csr" #k "_listing_cpu",                                                                               \
        .format = "csr" #k,                                                                                            \
        .device = "cpu",                                                                                               \
        .idea = "nested loops: an equal number of " threads_over " per thread; rows and entries in plain C",           \
        .source = "Lane, Booth, Heterogeneous SpMV via Compressed Sparse Row Format, 2022, " source_text,              \
        .study = 1,                                                                                                    \
        .pattern = 1,                                                                                                  \
        .spmv = &tables[(k)-2],                                                                                        \
        SPRYI_CSRK_LISTING_PARAMETERS(k),                                                                              \
    };

KERNEL(2, "super-rows", "listing 1 without its outermost loop")
KERNEL(3, "super-super-rows", "listing 1")
KERNEL(4, "groups of super-super-rows", "listing 1 with one loop more")

#else /* for each combination of value types and index pair: base/instantiate.h */

static void SPRY_FN(super_rows_of)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_csrk *s = args->storage;
    const SPRY_P *r_ptr = s->csr.a.offsets;
    const SPRY_J *col_idx = s->csr.a.indices;
    const SPRY_S *vals = s->csr.a.values;
    const SPRY_V *x = args->x;
    const SPRY_C alpha = (SPRY_C) * (const SPRY_V *)args->alpha, beta = (SPRY_C) * (const SPRY_V *)args->beta;
    SPRY_V *y = args->y;
    for (int64_t j = begin; j < end; j++) {
        const int64_t sr_end = s->sr_ptr[j + 1];
        for (int64_t k = s->sr_ptr[j]; k < sr_end; k++) {
            const SPRY_P r_end = r_ptr[k + 1];
            SPRY_C temp = 0;
            for (SPRY_P l = r_ptr[k]; l < r_end; l++)
                temp += vals ? SPRY_VALUE(vals[l]) * (SPRY_C)x[col_idx[l]] : (SPRY_C)x[col_idx[l]];
            y[k] = (SPRY_V)(beta == 0 ? alpha * temp : alpha * temp + beta * (SPRY_C)y[k]);
        }
    }
}

static void SPRY_FN(super_super_rows_of)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_csrk *s = args->storage;
    for (int64_t i = begin; i < end; i++) SPRY_FN(super_rows_of)(args, s->ssr_ptr[i], s->ssr_ptr[i + 1]);
}

static void SPRY_FN(outer_groups_of)(const spryi_run_args *args, int64_t begin, int64_t end)
{
    const spryi_csrk *s = args->storage;
    for (int64_t h = begin; h < end; h++) SPRY_FN(super_super_rows_of)(args, s->sssr_ptr[h], s->sssr_ptr[h + 1]);
}

static spry_status SPRY_FN(run_2)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    return spryi_run_shares(args, ((const spryi_csrk *)args->storage)->sr_count, SPRY_FN(super_rows_of));
}

static spry_status SPRY_FN(run_3)(const spryi_run_args *args, spry_error *err)
{
    (void)err;
    return spryi_run_shares(args, ((const spryi_csrk *)args->storage)->ssr_count, SPRY_FN(super_super_rows_of));
}

static spry_status SPRY_FN(run_4)(const spryi_run_args *args, spry_error *err)
{
    (void)err;
    return spryi_run_shares(args, ((const spryi_csrk *)args->storage)->sssr_count, SPRY_FN(outer_groups_of));
}

#endif
