/* Where the entries of a matrix are, for whoever looks at them on the host. */
#ifndef SPRYI_CHOOSE_STRUCTURE_H
#define SPRYI_CHOOSE_STRUCTURE_H

#include "core/matrix.h"

/*
 * *structure: A's entries as CSR in host memory, whose values need not be there. A itself where it is that; of CSR in
 * device memory a copy of offsets and columns; else a conversion. The same of A^T where op is SPRY_TRANSPOSE. The
 * caller releases it.
 */
spry_status spryi_structure_of(spry_matrix **structure, const spry_matrix *A, spry_op op, spry_error *err);

#endif
