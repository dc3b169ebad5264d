/*
 * y = A^T x in plain C: the transposed product of csr_portable_cpu, and the plain product of csc_portable_cpu.
 *
 * Idea: row i adds a_ij x_i to y_j. In a strided run (csr.h), only the first row's columns are read. The products of a
 *       group of rows with shared columns are added up before y is changed.
 * Work: a thread scatters one chunk of rows at a time, in phases or into windows (csr.h).
 * Cost: bytes of CSR as for the plain product; y is written and read once more.
 * Source: this library.
 */
#include "formats/csr/csr_driver.h"

#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/csr/csr_scatter.tmpl.c"
#include "base/instantiate.h"

const spryi_run_table spryi_csr_scatter_portable = SPRYI_TABLE(plain_run);
