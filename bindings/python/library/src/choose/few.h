/* Which kernel of csr suits products too few for a look at the matrix. */
#ifndef SPRYI_CHOOSE_FEW_H
#define SPRYI_CHOOSE_FEW_H

#include "choose/cost.h"

/*
 * Of the kernels of csr that have rates there, the one of the least set-up and `calls` products, by the lengths of some
 * rows; NULL: the one that csr takes by itself, where only that has rates or A is no CSR. Takes 2 to 5 us, and some 25
 * where the arrays lie on a device, if there may be more to gain. A has entries.
 */
const char *spryi_kernel_for_few(const spry_matrix *A, spry_type vector_type, const spryi_device_class *device,
                                 int64_t calls);

/* Of CSR with rows that nobody has looked at: sizes, the mean row, and what gathers most matrices have. */
spryi_features spryi_unseen_features(const spry_arrays *csr, spry_type vector_type);

#endif
