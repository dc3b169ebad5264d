/* The kinds of generators in src/io, and how a matrix is made. core/generator.h tells what a generator is. */
#pragma once

#include "core/generator.h"
#include "spry/io.h"

extern const spryi_kind spryi_kind_grid_star, spryi_kind_grid_full, spryi_kind_laplace;
extern const spryi_kind spryi_kind_road, spryi_kind_rgg, spryi_kind_rmat, spryi_kind_uniform, spryi_kind_circuit;
extern const spryi_kind spryi_kind_debruijn, spryi_kind_diagonal, spryi_kind_banded, spryi_kind_arrow;
extern const spryi_kind spryi_kind_dense, spryi_kind_random, spryi_kind_empty;

/* Makes the matrix of g, whose keys are set. */
spry_status spryi_generate(spryi_generation *g, spry_matrix **A, const spry_read_options *options, spry_error *err);

/* rows = cols = a*b*c*d: SPRY_OUT_OF_MEMORY where that overflows. */
spry_status spryi_square_shape(spryi_generation *g, int64_t a, int64_t b, int64_t c, int64_t d, spry_error *err);
