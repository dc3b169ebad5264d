/* Orderings that need no graph. */
#ifndef SPRYI_REORDER_ORDERING_H
#define SPRYI_REORDER_ORDERING_H

#include "core/ordering.h"

/* degree.c: rows by falling number of entries in row and column (row alone where rectangular); ties as they were. */
spry_status spryi_order_by_degree(spry_context *context, int64_t *perm, const spry_matrix *A, spry_error *err);

#endif
