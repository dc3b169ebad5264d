/*
 * CSR-2, CSR-3 and CSR-4.
 *
 *     rows                   0 1 2 3 4 5 6 7 8        offsets, columns, values: the user's CSR arrays, as they are
 *     sr_ptr   (SRS 2)       0   2   4   6   8 9      super-row s holds rows sr_ptr[s] .. sr_ptr[s+1]-1
 *     ssr_ptr  (SSRS 2)      0       2       4 5      super-super-row t holds super-rows ssr_ptr[t] .. ssr_ptr[t+1]-1
 *
 * All pointers rise from 0 to the number of what they group; csr2 has no ssr_ptr, csr4 has sssr_ptr, which groups
 * super-super-rows. Without an ordering groups are consecutive and of one size, the last one shorter: that costs
 * (m/SRS + 1) + (m/(SRS*SSRS) + 1) numbers of 8 bytes, and in csr4 (m/(SRS*SSRS*SSSRS) + 1) more.
 *
 * Threads share the outermost groups. A row is never cut, so one of a million entries holds its thread up while the
 * others wait: the scheme has no answer to that, and csr, which cuts such rows into pieces, is the format for them.
 * Bits do not depend on who multiplies what.
 *
 * The inner functions are csr's: each super-row is a block, with the runs and spans (csr.h) found in it, and threads
 * have equal shares of the outermost groups.
 *
 * On a GPU a super-super-row (csr2: a super-row) is a block of threads, and the sizes of the groups, unless given,
 * follow from the mean row length (matrix/group_sizes.h). Blocks and runs are the CPU's and are not made.
 */
#pragma once

#include "formats/csr/csr.h"
#include "formats/shared/run_blocks.h"
#include "matrix/group_sizes.h"

#include <string.h>

enum { SPRYI_CSR2_THREADS = 256 /* of a GPU's block in csr2 */ };

/* k of a format's name: 2, 3 or 4; 0: it is none of these. */
static inline int spryi_csrk_levels(const char *format)
{
    const int k = strncmp(format, "csr", 3) == 0 && strlen(format) == 4 ? format[3] - '0' : 0;
    return k >= 2 && k <= 4 ? k : 0;
}

/* By which length of rows a case is told; the order of the words of parameter "by". */
typedef enum spryi_csrk_by { SPRYI_CSRK_BY_MEAN = 1, SPRYI_CSRK_BY_LONGEST } spryi_csrk_by;

/* The storage of formats csr2, csr3 and csr4. */
typedef struct spryi_csrk {
    spryi_csr csr;            /* first, since csr's kernels run on it: each block is a super-row */
    spry_matrix *matrix;      /* whose arrays csr has */
    int owns_arrays;          /* 1: matrix is a conversion made for this storage, or the arrays are copied to a GPU */
    int64_t srs, ssrs, sssrs; /* ssrs 0: csr2; sssrs 0: csr2 or csr3 */
    int64_t sr_count, ssr_count, sssr_count;
    int64_t *sr_ptr, *ssr_ptr; /* sr_count + 1 rows; ssr_count + 1 super-rows, NULL in csr2 */
    int64_t *sssr_ptr;         /* sssr_count + 1 super-super-rows, NULL but in csr4 */
    spryi_group_case which;    /* of csr3: the shape of a GPU's blocks */
} spryi_csrk;

/*
 * The case that GPUSpMV-3, GPUSpMV-3.5 and shapes of blocks follow, by the mean row length, or by the
 * longest row, for which *a is CSR in host memory: SPRY_UNSUPPORTED else.
 */
spry_status spryi_csrk_find_case(spryi_group_case *which, int64_t by, const spry_arrays *a, spry_error *err);
enum { SPRYI_CSR3_BY = 3 }; /* index of that parameter of csr3 */

/*
 * Sizes and counts of the groups of a matrix with sizes and types of `a`, by the request's table or by
 * formulas, and what all of it takes.
 */
spry_status spryi_csrk_resolve(spryi_csrk *s, spryi_cost *cost, const spryi_build_request *request,
                               const spry_arrays *a, int levels, spry_error *err);

/* Lanes a row of csr2_lanes_cuda: the largest power of two up to the mean row length, 2 to 32. */
static inline int spryi_csr2_lanes(int64_t rows, int64_t nnz)
{
    int lanes = 2;
    while (lanes < 32 && 2 * lanes <= nnz / (rows > 0 ? rows : 1)) lanes *= 2;
    return lanes;
}

/* csrk_format.c: parameters of csr2 and csr4, and of the listings, whose sizes come after those of the format. */
extern const spryi_parameter spryi_csrk_sizes_2[], spryi_csrk_sizes_3[], spryi_csrk_sizes_4[];
#define SPRYI_CSRK_LISTING_PARAMETERS(k)                                                                               \
    .parameters.list = spryi_csrk_sizes_##k, .parameters.text = "sizes of groups, as in format csr" #k                 \
                                                                ", whose own go "                                      \
                                                                "first"

extern const spryi_format spryi_format_csr2, spryi_format_csr3, spryi_format_csr4;
extern const spryi_kernel spryi_csr2_listing_portable_cpu, spryi_csr3_listing_portable_cpu;
extern const spryi_kernel spryi_csr4_listing_portable_cpu;
extern const spryi_kernel spryi_csr2_listing_avx2_cpu, spryi_csr3_listing_avx2_cpu, spryi_csr4_listing_avx2_cpu;
extern const spryi_kernel spryi_csr2_listing_avx512_cpu, spryi_csr3_listing_avx512_cpu, spryi_csr4_listing_avx512_cpu;
extern const spryi_kernel spryi_csr2_lanes_cuda, spryi_csr3_gpuspmv3_cuda, spryi_csr3_gpuspmv35_cuda;
