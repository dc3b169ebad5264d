/* Entries in any order to CSR: sorted rows, duplicates summed in file order, both halves of a symmetric matrix. */
#ifndef SPRYI_MTX_TO_CSR_H
#define SPRYI_MTX_TO_CSR_H

#include "io/mtx.h"

/*
 * Takes the entries over, also on failure. value_type is what the matrix gets: entries without values count as 1.
 * The result does not depend on the number of threads.
 */
spry_status spryi_mtx_to_csr(spry_context *context, spry_matrix **A, const spryi_mtx *head, spryi_mtx_entries *entries,
                             spry_index_type offset_type, spry_type value_type, spry_error *err);

#endif
