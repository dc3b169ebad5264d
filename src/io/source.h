/* What a matrix keeps of the file that it was read from. */
#pragma once

#include "matrix/matrix.h"

/* spry_source_info.kind */
#define SPRYI_MATRIX_MARKET "Matrix Market"
#define SPRYI_CONTAINER "container"
#define SPRYI_EDGE_LIST "edge list"
#define SPRYI_NPZ "SciPy npz"
#define SPRYI_GENERATED "generated"
