/* The matrix of a graph made ready for PageRank. */
#pragma once

#include "device/vector_ops.h"
#include "spry/solve.h"
#include "spry/spry.h"

typedef struct spryi_links {
    spry_matrix *B;      /* A or its transposed, borrowing A's arrays; a pattern if every entry is 1 */
    spry_vector factors; /* reciprocal column sums of B, 0 for a zero column; data NULL: all 1 */
    int64_t zero_columns, first_zero_column;
    double upload_us;          /* that copies to the device took */
    spry_vector copies[3];     /* on the device, of A's offsets, indices and values; data NULL: none */
    spry_vector transposed[3]; /* the same of its transposed */
} spryi_links;

/*
 * A, on the host, must stay while it lives; so must `given`, which is A as the caller has it: B is made of its arrays
 * if they are in device memory and need no other name. On failure nothing is left to clear.
 */
spry_status spryi_links_make(spry_context *context, spryi_links *links, const spry_matrix *A, const spry_arrays *given,
                             spry_edges edges, spry_type type, spry_error *err);

/*
 * Computes the sum of x_i, each times the number of entries of row i of B, or a bound of the sum if x or B is on a
 * device. The entries of x sum to mass.
 */
spry_status spryi_links_weighted_length(spry_context *context, double *length, const spryi_links *links,
                                        const spry_vector *x, double mass, void *stream, spry_error *err);

/*
 * The same by the device of w, which has taken no work yet: of A in host memory that is copied there once, or of one
 * that lies there. B is CSR in its memory, and factors are there. base: in which messages count nodes.
 * SPRY_UNSUPPORTED: it does not do it for this matrix, for which nothing was done, or an entry is refused, which
 * spryi_links_make finds again and reports by row and column.
 */
spry_status spryi_links_make_there(const spryi_vector_work *w, spryi_links *links, const spry_arrays *given,
                                   spry_edges edges, int base, spry_error *err);
void spryi_links_clear(spry_context *context, spryi_links *links);
