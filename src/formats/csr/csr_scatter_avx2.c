/*
 * y = A^T x as in csr_scatter_portable.c, with software prefetch and the compiler's AVX2, which has no scatter that
 * would do more.
 */
#include "formats/csr/csr_driver.h"

#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/csr/csr_scatter.tmpl.c"
#include "base/instantiate.h"

const spryi_run_table spryi_csr_scatter_avx2 = SPRYI_TABLE(plain_run);
