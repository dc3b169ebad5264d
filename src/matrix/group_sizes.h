/*
 * Sizes of the groups of CSR-k, in constant time from the mean row length. SRS rows form a super-row, SSRS super-rows
 * form a super-super-row, and SSSRS super-super-rows form the next group.
 *
 *     SSRS = [a - b ln d]    SRS = [c - e ln d]    d entries per row; [] rounds to the nearest, halves up
 *
 * Lane and Booth 2022 (section 4.1) fitted a, b, c, e to each GPU for GPUSpMV-3, which uses one thread per row.
 * GPUSpMV-3.5 uses thread blocks of other shapes. For GPUSpMV-3.5, both sizes are then adjusted by the case of the row
 * length (spryi_group_case). For long rows the formulas give negative numbers, so both sizes are raised to at least 1,
 * before and after the adjustments.
 *
 * The formula for Hopper GPUs is Spry's own, of the same form. Its constants are those that lose the least time on an
 * H200 compared with the best of 30 pairs of sizes, over ten matrices in f32 and f64. The sizes are not adjusted by the
 * case. They are multiples of 8 from 8 to 32, because the thread blocks of both kernels process eight rows at a time.
 */
#pragma once

#include "spry/spry.h"

enum {
    SPRYI_GROUP_SRS = 96,      /* rows, on CPUs: geometric mean of Lane and Booth's best sizes (section 4.2) */
    SPRYI_GROUP_SSRS = 8,      /* super-rows, on CPUs; the paper prefers csr2 on CPUs and gives no constant */
    SPRYI_GROUP_SSSRS = 8,     /* super-super-rows, on CPUs; the paper gives no constant */
    SPRYI_MOST_GROUP = 1 << 15 /* largest size; kernels count the rows of a thread block in 32 bits */
};

/* Rule for the sizes, in the order of the words of csr3's parameter "tuning" and of spry_ordering_options.tuning. */
typedef enum spryi_group_rule {
    SPRYI_GROUPS_CPU = 1,
    SPRYI_GROUPS_VOLTA,
    SPRYI_GROUPS_AMPERE,
    SPRYI_GROUPS_HOPPER,     /* formulas of Spry's own */
    SPRYI_GROUPS_TABLE,      /* formulas of a loaded table */
    SPRYI_GROUPS_VOLTA_SSRS, /* reads "SRSS" in case 2 of the paper as SSRS instead of SRS */
    SPRYI_GROUPS_AMPERE_SSRS
} spryi_group_rule;

/* Lane and Booth's cases of the row length: up to 8, 16, 32 entries, and above. */
typedef enum spryi_group_case {
    SPRYI_GROUP_CASE_1 = 1,
    SPRYI_GROUP_CASE_2,
    SPRYI_GROUP_CASE_3,
    SPRYI_GROUP_CASE_4
} spryi_group_case;

/* A size for mean row length d: constant - fall * ln d, rounded, times the factor of case 2, 3 or 4. */
typedef struct spryi_size_formula {
    double constant, fall, factor[3];
} spryi_size_formula;

/* Sizes fitted to a machine (spry_context_load_tuning). All zero: none. */
typedef struct spryi_group_table {
    int64_t csr2_srs, csr3_srs, csr3_ssrs; /* sizes on CPUs; 0: not fitted */
    int gpu_major;                         /* major compute capability of the fitted GPU; 0: no formulas */
    spryi_size_formula ssrs, srs;
    int64_t step, most; /* sizes are multiples of step, at most `most`; step 0: any size up to SPRYI_MOST_GROUP */
} spryi_group_table;

static inline spryi_group_case spryi_group_case_of_length(double length)
{
    if (length <= 8) return SPRYI_GROUP_CASE_1;
    if (length <= 16) return SPRYI_GROUP_CASE_2;
    return length <= 32 ? SPRYI_GROUP_CASE_3 : SPRYI_GROUP_CASE_4;
}

/* Returns the case of the mean row length. */
static inline spryi_group_case spryi_group_case_of(int64_t rows, int64_t nnz)
{
    return spryi_group_case_of_length(rows > 0 ? (double)nnz / (double)rows : 0);
}

/* Sizes of groups, from 1 to SPRYI_MOST_GROUP. */
typedef struct spryi_group_sizes {
    int64_t srs, ssrs;
} spryi_group_sizes;

/*
 * Returns the sizes of csr<k> by a rule. table contains the loaded sizes; NULL: none. SPRYI_GROUPS_TABLE needs a table
 * with formulas. With k = 2 on a CPU, ssrs is 0. A matrix without entries counts as one with mean row length 1.
 */
spryi_group_sizes spryi_find_group_sizes(spryi_group_rule rule, int k, spryi_group_case length_case, int64_t rows,
                                         int64_t nnz, const spryi_group_table *table);
