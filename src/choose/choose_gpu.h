#ifndef SPRYI_CHOOSE_GPU_H
#define SPRYI_CHOOSE_GPU_H

#include "core/matrix.h"

/*
 * Distinct sectors of x, of numbers of `size` bytes, over entries, in samples of neighbouring entries; 0 where the
 * matrix is too small for that to matter. A is in host memory.
 */
double spryi_scattered_share(const spry_matrix *A, size_t size);
int spryi_is_scattered(double share);

#endif
