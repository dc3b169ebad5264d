/* Products with A whose entries are ones without values, AVX-512; of matrices with values the level's own. */
#include "core/simd_x86.h"
#include "formats/csr/csr.h"

#define FETCH(Aj, k) spryi_prefetch_near(Aj, (k) * (int64_t)sizeof(SPRY_J) + SPRYI_AHEAD_NEAR)
#define VALUED spryi_csr_values_avx512
#define SPRYI_TEMPLATE "formats/csr/csr_pattern.tmpl.c"
#include "core/instantiate.h"

const spryi_run_table spryi_csr_gather_avx512 = SPRYI_TABLE(run);
