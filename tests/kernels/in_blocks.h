/* Matrices of dense blocks, as in problems with multiple unknowns per node. */
#pragma once

#include "testing.h"

/*
 * Generates the pattern of the spec and replaces each entry by a b x b block of `type`. Bit r*b + c of `holes` omits
 * position (r, c) of every block. Fails the test if creation fails.
 */
spry_matrix *matrix_in_blocks(spry_context *context, const char *spec, int b, unsigned holes, spry_type type);
