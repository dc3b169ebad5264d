/*
 * Spry: details for studies of formats. The rules of spry.h hold.
 * SPDX-License-Identifier: Apache-2.0
 *
 * spry_spmv_options.policy "tree" is the decision tree of the lecture Sparse Methods, by row lengths alone;
 * "tree:memory" and "tree:unpredictable" answer its two questions to the user with yes.
 * spry_ordering_options: k is 2 for super-rows, 3 for super-super-rows too, 4 for one more level. srs, ssrs, sssrs are
 * the numbers of items per group. tuning is "cpu", "volta", "ampere", "hopper", "table", "volta-ssrs" or
 * "ampere-ssrs", as in the format csr3. docs/csr-k.md has CSR-k.
 */
#ifndef SPRY_STUDY_H
#define SPRY_STUDY_H

#include "spry/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Groups of CSR-k: super-row s has the rows sr_ptr[s] .. sr_ptr[s+1]-1, super-super-row t the super-rows ssr_ptr[t] ..
 * ssr_ptr[t+1]-1, and so on. Each pointer array has count + 1 elements, from 0 to the number of grouped items.
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

#ifdef __cplusplus
}
#endif
#endif
