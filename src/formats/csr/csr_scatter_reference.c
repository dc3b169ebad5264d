/* The transposed product as the textbook has it, on one thread: row i adds a_ij x_i to the sum of column j. */
#include "formats/csr/csr.h"

#define SPRYI_TEMPLATE "formats/csr/csr_scatter_reference.tmpl.c"
#include "core/instantiate.h"

const spryi_run_table spryi_csr_scatter_reference = SPRYI_TABLE(run);
