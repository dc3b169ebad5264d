/*
 * Spry: details for studies of formats. The rules of spry.h hold.
 * SPDX-License-Identifier: Apache-2.0
 *
 * spry_spmv_options.policy "tree" is the decision tree of the lecture Sparse Methods, by row lengths alone;
 * "tree:memory" and "tree:unpredictable" answer its two questions to the user with yes.
 * docs/csr-k.md has CSR-k.
 */
#ifndef SPRY_STUDY_H
#define SPRY_STUDY_H

#include "spry/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * CSR-k's groups: super-row s has the rows sr_ptr[s] .. sr_ptr[s+1]-1, super-super-row t the super-rows ssr_ptr[t] ..
 * ssr_ptr[t+1]-1. Each pointer array has count + 1 elements, from 0 to the number of grouped items.
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
} spry_groups;

#ifdef __cplusplus
}
#endif
#endif
