/*
 * The transposed product in plain C.
 *
 * Idea: row i adds a_ij x_i to y_j. Stepped rows read no columns; a group that shares its columns is summed up before
 * it changes y.
 * Work: chunks of rows in turns, or into windows; see csr_chunks.c.
 * Cost: bytes of CSR as of the plain product, and y is written and read once more.
 */
#include "formats/csr/csr.h"

#define FETCH(Ax, Aj, k) ((void)(Ax))
#define FETCH_STEPPED(Ax, k) ((void)0)
#include "formats/csr/csr_scatter_instances.h"

const spryi_run_table spryi_csr_scatter_portable = SPRYI_TABLE(run);
