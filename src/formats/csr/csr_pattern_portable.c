/* Products with A whose entries are ones without values, plain C; of matrices with values the level's own. */
#include "formats/csr/csr.h"

#define FETCH(Aj, k) ((void)0)
#define VALUED spryi_csr_values_portable
#define SPRYI_TEMPLATE "formats/csr/csr_pattern.tmpl.c"
#include "core/instantiate.h"

const spryi_run_table spryi_csr_gather_portable = SPRYI_TABLE(run);
