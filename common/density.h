/* Counts the entries in each part of a matrix, for pictures of its structure. */
#pragma once

#include "spry/spry.h"

/*
 * Counts the entries in each cell of a grid over A: counts[r * width + c] is the number of entries in cell (r, c).
 * height and width are at least 1. Mirror images of a stored triangle are counted. A is in host memory.
 */
spry_status count_density(const spry_matrix *A, int64_t *counts, int height, int width, spry_error *err);
