/* What Conjugate Gradient asks of a matrix before it begins. */
#ifndef SPRYI_CG_H
#define SPRYI_CG_H

#include "spry/spry.h"

/* Constant time where the creator vouched for it, else spry_matrix_get_stats. */
spry_status spryi_cg_is_symmetric(const spry_matrix *A, int *symmetric, spry_error *err);

/* Entry (row, column) and the one at (column, row), which is not the same. */
typedef struct spryi_cg_unequal {
    int64_t row, column;
    double value, mirrored; /* 0 where nothing is stored */
    int stored;             /* 0: nothing at (column, row) */
} spryi_cg_unequal;

/* The first of them, by rows, of A, on the host, of which spryi_cg_is_symmetric said no. Looks at a sorted copy. */
spry_status spryi_cg_find_unequal(spry_context *context, spryi_cg_unequal *found, const spry_matrix *A,
                                  spry_error *err);

/*
 * D = reciprocals of the diagonal, a vector to destroy (also when it failed). *bad_row: the first row whose entry is
 * missing, not above 0, or has no reciprocal of that type; -1: none.
 */
spry_status spryi_cg_invert_diagonal(spry_context *context, spry_vector *D, int64_t *bad_row, const spry_matrix *A,
                                     spry_type type, spry_error *err);

#endif
