/*
 * Products with A whose entries are ones without values, AVX-512; of matrices with values the level's own. Rows as
 * there: a register of entries a step, the end masked, spares the mispredictions of loops over a few entries.
 */
#include "core/simd_x86.h"
#include "formats/csr/csr.h"
#include "formats/csr/csr_avx512.h"

#define FETCH(Aj, k) spryi_prefetch_near(Aj, (k) * (int64_t)sizeof(SPRY_J) + SPRYI_AHEAD_NEAR)
#define VALUED spryi_csr_values_avx512
#define HAS_VALUES 0
#define OWN_ROWS
#define SPRYI_TEMPLATE "formats/csr/csr_pattern_avx512.tmpl.c"
#include "core/instantiate.h"

const spryi_run_table spryi_csr_gather_avx512 = SPRYI_TABLE(run);
