/*
 * Spry: details for studies of formats.
 * SPDX-License-Identifier: Apache-2.0
 *
 * spry_spmv_options.policy "tree" is the decision tree of the lecture Sparse Methods. "tree:memory" and
 * "tree:unpredictable" answer its two questions to the user with yes.
 * spry_ordering_options: k is the number of levels with rows, 2 to 4. srs, ssrs, sssrs are the numbers of items per
 * group. tuning is "cpu", "volta", "ampere", "hopper", "table", "volta-ssrs" or "ampere-ssrs". docs/csr-k.md has CSR-k.
 */
#ifndef SPRY_STUDY_H
#define SPRY_STUDY_H

#include "spry/matrix.h"
#include "spry/spgemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Groups of CSR-k: super-row s has the rows sr_ptr[s] .. sr_ptr[s+1]-1, super-super-row t the super-rows ssr_ptr[t] ..
 * ssr_ptr[t+1]-1, and so on. Pointer arrays have count + 1 elements, from 0.
 * Source: Lane and Booth, 2022, figure 1.
 */
typedef struct spry_groups {
    size_t struct_size;
    int64_t rows;
    int64_t sr_count;
    const int64_t *sr_ptr;
    int64_t ssr_count; /* csr3, csr4; else 0 */
    const int64_t *ssr_ptr;
    int64_t sssr_count; /* csr4; else 0 */
    const int64_t *sssr_ptr;
    int64_t srs, ssrs, sssrs; /* in spry_ordering_info: target sizes, or mean sizes of the caller's groups */
} spry_groups;

/*
 * Times of the stages of a sparse product, in microseconds; -1: not measured, or there is no such stage.
 * spry_spgemm_options.stages points to it and must outlive a plan, whose runs write it. On a GPU only kernels for
 * studies are measured.
 */
typedef struct spry_spgemm_stages {
    size_t struct_size;
    double convert_us; /* op(B) to CSC */
    double count_us;   /* entries of each row of C */
    double scan_us;    /* offsets of C */
    double fill_us;    /* columns and values; one pass counts as this stage */
    double sort_us;    /* rows by columns; 0: kernels write them sorted */
} spry_spgemm_stages;

#ifdef __cplusplus
}
#endif
#endif
