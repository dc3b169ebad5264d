/*
 * y = A^T x with the loops of csr_scatter_portable.c, compiled for AVX2, with software prefetch. AVX2 has no scatter
 * instruction.
 */
#include "formats/csr/csr_driver.h"

#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/csr/csr_scatter.tmpl.c"
#include "base/instantiate.h"

const spryi_run_table spryi_csr_scatter_avx2 = SPRYI_TABLE(plain_run);
