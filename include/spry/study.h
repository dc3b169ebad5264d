/*
 * Spry: CSR-k's groups, for studies of formats.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules at the top of spry/spry.h hold here too.
 */
#ifndef SPRY_STUDY_H
#define SPRY_STUDY_H

#include "spry/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * CSR-k's groups of the caller, as Lane and Booth draw them (2022, figure 1): super-row s holds rows sr_ptr[s] ..
 * sr_ptr[s+1]-1, super-super-row t super-rows ssr_ptr[t] .. ssr_ptr[t+1]-1. Each pointer has its count + 1 numbers,
 * which rise from 0 to the number of what it groups.
 */
typedef struct spry_groups {
    size_t struct_size;
    int64_t rows;
    int64_t sr_count;
    const int64_t *sr_ptr;
    int64_t ssr_count;
    const int64_t *ssr_ptr; /* NULL with count 0: none */
    int64_t sssr_count;
    const int64_t *sssr_ptr; /* of super-super-rows, for csr4; NULL with count 0: none */
} spry_groups;
/*
 * An ordering "groups" that leaves rows where they are, for spry_spmv_options.groups of a matrix of so many rows. The
 * pointers are copied. SPRY_INVALID_ARGUMENT or SPRY_INVALID_SIZE, with the pointer and the place, where they do not
 * rise or do not fit each other.
 */
SPRY_API spry_status spry_ordering_create_groups(spry_context *context, spry_ordering **ordering,
                                                 const spry_groups *groups, spry_error *err);

#ifdef __cplusplus
}
#endif
#endif
