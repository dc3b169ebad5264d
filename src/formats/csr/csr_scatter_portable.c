/*
 * y = A^T x in plain C: csr_portable_cpu transposed, and csc_portable_cpu with A.
 *
 * Idea: row i adds a_ij x_i to y_j. Rows with a constant stride read only the first row's columns. A group of rows with
 *       shared columns is added up before it changes y.
 * Work: chunks of rows, in phases or into windows.
 * Cost: bytes of CSR as for the plain product; y is written and read once more.
 * Source: this library.
 */
#include "formats/csr/csr_driver.h"

#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/csr/csr_scatter.tmpl.c"
#include "base/instantiate.h"

const spryi_run_table spryi_csr_scatter_portable = SPRYI_TABLE(plain_run);
