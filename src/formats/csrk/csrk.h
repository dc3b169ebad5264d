/*
 * CSR-2, CSR-3 and CSR-4.
 *
 *     rows                   0 1 2 3 4 5 6 7 8        offsets, columns, values: the user's CSR arrays, unchanged
 *     sr_ptr   (SRS 2)       0   2   4   6   8 9      super-row s holds rows sr_ptr[s] .. sr_ptr[s+1]-1
 *     ssr_ptr  (SSRS 2)      0       2       4 5      super-super-row t holds super-rows ssr_ptr[t] .. ssr_ptr[t+1]-1
 *
 * Each pointer array rises from 0 to the number of items that it groups. csr2 has no ssr_ptr. csr4 also has sssr_ptr,
 * which groups super-super-rows. Without an ordering, groups are consecutive and of equal size, except that the last
 * may be smaller. With m rows, sr_ptr has m/SRS + 1 elements of 8 bytes, ssr_ptr has m/(SRS*SSRS) + 1, and sssr_ptr has
 * m/(SRS*SSRS*SSSRS) + 1. The quotients are rounded up.
 *
 * Each thread gets an equal number of outermost groups (csr3: super-super-rows). Rows are never cut, so a very long row
 * causes imbalance; csr, which cuts long rows into pieces, is better for such matrices. The bits of y do not depend on
 * the number of threads.
 *
 * Products on the CPU use the functions of csr: each super-row is a row block (csr.h) with runs and spans of its own.
 *
 * On a GPU a super-super-row (csr2: a super-row) is a block of threads. The sizes of groups follow from the mean row
 * length (matrix/group_sizes.h) unless the user or an ordering gives them. Row blocks and runs are only for the CPU.
 */
#pragma once

#include "formats/csr/csr.h"
#include "formats/shared/run_blocks.h"
#include "matrix/group_sizes.h"

#include <string.h>

enum { SPRYI_CSR2_THREADS = 256 /* maximum threads of a GPU's block in csr2 */ };

/* Returns k of a format's name: 2, 3 or 4; 0 for any other format. */
static inline int spryi_csrk_levels(const char *format)
{
    const int k = strncmp(format, "csr", 3) == 0 && strlen(format) == 4 ? format[3] - '0' : 0;
    return k >= 2 && k <= 4 ? k : 0;
}

/*
 * Row length that decides the paper's case (spryi_csrk_find_case). Value 1 is the first word of parameter "by", and
 * value 2 is the second.
 */
typedef enum spryi_csrk_by { SPRYI_CSRK_BY_MEAN = 1, SPRYI_CSRK_BY_LONGEST } spryi_csrk_by;

/* The storage of formats csr2, csr3 and csr4. */
typedef struct spryi_csrk {
    spryi_csr csr;            /* first member, since csr's kernels read it; each row block is a super-row */
    spry_matrix *matrix;      /* owner of csr's arrays */
    bool owns_arrays;         /* matrix is a conversion for this storage, or the arrays are copied to a GPU */
    int64_t srs, ssrs, sssrs; /* ssrs 0: csr2; sssrs 0: csr2 or csr3 */
    int64_t sr_count, ssr_count, sssr_count;
    int64_t *sr_ptr, *ssr_ptr; /* sr_count + 1 and ssr_count + 1 elements; ssr_ptr is NULL in csr2 */
    int64_t *sssr_ptr;         /* sssr_count + 1 elements; NULL except in csr4 */
    spryi_group_case which;    /* csr3: case that gives the shape of a GPU's blocks */
} spryi_csrk;

/*
 * Finds the case of the paper (1 to 4). The case decides the kernel, GPUSpMV-3 or GPUSpMV-3.5, and the shape of its
 * thread blocks. The mean row length decides the case, or the longest row if `by` is SPRYI_CSRK_BY_LONGEST. For the
 * longest row, *a must be CSR in host memory, or SPRY_UNSUPPORTED is returned.
 */
spry_status spryi_csrk_find_case(spryi_group_case *group_case, int64_t by, const spry_arrays *a, spry_error *err);
enum { SPRYI_CSR3_BY = 3 }; /* index of csr3's parameter "by" */

/*
 * Computes the sizes and counts of the groups, and the cost of the storage. The sizes are from the request's ordering,
 * from its parameters, from its group_table or from formulas. `a` gives the sizes and types of the matrix.
 */
spry_status spryi_csrk_resolve(spryi_csrk *s, spryi_cost *cost, const spryi_build_request *request,
                               const spry_arrays *a, int levels, spry_error *err);

/* Returns the lanes per row of csr2_lanes_cuda: the largest power of two up to the mean row length, 2 to 32. */
static inline int spryi_csr2_lanes(int64_t rows, int64_t nnz)
{
    int lanes = 2;
    while (lanes < 32 && 2 * lanes <= nnz / (rows > 0 ? rows : 1)) lanes *= 2;
    return lanes;
}

/*
 * Parameters of the formats (csrk_format.c) and of the kernels csr2_listing_<level>_cpu and so on. A size that is set
 * for the format overrides the size that is set for the kernel.
 */
extern const spryi_parameter spryi_csrk_sizes_2[], spryi_csrk_sizes_3[], spryi_csrk_sizes_4[];
#define SPRYI_CSRK_LISTING_PARAMETERS(k)                                                                               \
    .parameters.list = spryi_csrk_sizes_##k,                                                                           \
    .parameters.text = "sizes of groups, as in format csr" #k "; the format's sizes override them"

extern const spryi_format spryi_format_csr2, spryi_format_csr3, spryi_format_csr4;
extern const spryi_kernel spryi_csr2_listing_portable_cpu, spryi_csr3_listing_portable_cpu;
extern const spryi_kernel spryi_csr4_listing_portable_cpu;
extern const spryi_kernel spryi_csr2_listing_avx2_cpu, spryi_csr3_listing_avx2_cpu, spryi_csr4_listing_avx2_cpu;
extern const spryi_kernel spryi_csr2_listing_avx512_cpu, spryi_csr3_listing_avx512_cpu, spryi_csr4_listing_avx512_cpu;
extern const spryi_kernel spryi_csr2_lanes_cuda, spryi_csr3_gpuspmv3_cuda, spryi_csr3_gpuspmv35_cuda;
