/* Matrices of blocks, as several unknowns a node make them. */
#pragma once

#include "testing.h"

/*
 * The pattern that a generator's spec names, each entry of which becomes a block of b x b values of `type`, but for
 * `holes`: bit r*b + c leaves place (r, c) of every block without an entry. Fails the test when it cannot be made.
 */
spry_matrix *matrix_in_blocks(spry_context *context, const char *spec, int b, unsigned holes, spry_type type);
