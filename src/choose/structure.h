/* Where the entries of a matrix are, for whoever looks at them on the host. */
#ifndef SPRYI_CHOOSE_STRUCTURE_H
#define SPRYI_CHOOSE_STRUCTURE_H

#include "core/columns.h"
#include "core/kernel.h"

/*
 * *structure: A's entries as CSR in host memory, whose values need not be there. A itself where it is that; of CSR in
 * device memory a copy of offsets and columns; else a conversion. The same of A^T where op is SPRY_TRANSPOSE. The
 * caller releases it.
 */
spry_status spryi_structure_of(spry_matrix **structure, const spry_matrix *A, spry_op op, spry_error *err);

/* What a look reads: entries as above, but that columns which lie on a device stay there, for readers to fetch. */
typedef struct spryi_looked_at {
    spry_arrays csr;                   /* values may not be there; with `device` the offsets are a copy of its own */
    const struct spryi_device *device; /* where csr's columns lie; NULL: in host memory */
    spry_matrix *whole;                /* the copy or conversion; NULL: there is none */
    spry_context *context;
} spryi_looked_at;

/* Where a look would fetch nearly all columns they are copied. The caller closes what has been opened. */
spry_status spryi_open_look(spryi_looked_at *at, const spry_matrix *A, spry_op op, spryi_effort effort,
                            spry_error *err);
void spryi_close_look(spryi_looked_at *at);

/* Bytes of A that come from its device to the host for a look, about, and how many copies bring them. */
typedef struct spryi_fetched {
    double bytes, copies;
} spryi_fetched;
spryi_fetched spryi_fetched_for_look(const spry_arrays *a, spry_op op, spryi_effort effort);

#endif
