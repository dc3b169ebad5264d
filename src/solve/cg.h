/* Checks of a matrix before Conjugate Gradient begins, and scaling by powers of two. */
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
 * D = reciprocals of the diagonal, a vector to destroy (also when it failed). *bad_row: the first row whose entry,
 * *bad_entry, is missing, not above 0, or has no reciprocal of that type; -1: none.
 */
spry_status spryi_cg_invert_diagonal(spry_context *context, spry_vector *D, int64_t *bad_row, double *bad_entry,
                                     const spry_matrix *A, spry_type type, spry_error *err);

/* ---- scaling by powers of two (cg_scale.c), which is exact but where results underflow or overflow ---- */

/* The smallest and the largest e of 2^e <= |v| < 2^(e+1) over the finite numbers v that are not 0. */
typedef struct spryi_cg_exponents {
    int low, high;
    int any;    /* 0: there are none */
    int finite; /* 0: there is Inf or NaN */
} spryi_cg_exponents;

/* The exponents of a vector on any device, whose stream it is. */
spry_status spryi_cg_look_at_vector(spry_context *context, spryi_cg_exponents *e, const spry_vector *v, void *stream,
                                    spry_error *err);
/* The e for which the largest entry of 2^-e b is near 1, and, as far as the type can, no entry loses digits. */
int spryi_cg_exponent_of_b(const spryi_cg_exponents *b, spry_type type);
/* The e for which 1 is in the middle of the entries (jacobi: of the diagonal) of 2^-e A, and 2^-e A is exact. */
spry_status spryi_cg_exponent_of_matrix(int *exponent, const spry_matrix *A, int jacobi, spry_error *err);

/* exact 0: entries of a vector lost digits (or all of them) by underflow or overflow. */
typedef struct spryi_cg_scaled {
    int exact;
    spryi_cg_exponents e; /* before */
} spryi_cg_scaled;

/* v *= 2^exponent, on any device. */
spry_status spryi_cg_scale_vector(spry_context *context, const spry_vector *v, int exponent, spryi_cg_scaled *told,
                                  void *stream, spry_error *err);
/*
 * *made = 2^exponent A of A's offsets and indices (A on the host must stay) and of *values, both to destroy (also when
 * it failed).
 */
spry_status spryi_cg_scale_matrix(spry_context *context, spry_matrix **made, spry_vector *values, const spry_matrix *A,
                                  int exponent, spry_error *err);

#endif
