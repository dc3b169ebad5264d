/*
 * The transposed product with fused multiply-add and software prefetch; AVX-512 TODO. Else
 * as csr_scatter_portable.c.
 */
#include "core/simd_x86.h"
#include "formats/csr/csr.h"

#define FETCH(Ax, Aj, k)                                                                                               \
    (spryi_prefetch_near(Ax, (k) * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD_NEAR),                                        \
     spryi_prefetch_near(Aj, (k) * (int64_t)sizeof(SPRY_J) + SPRYI_AHEAD_NEAR))
#define FETCH_STEPPED(Ax, k) spryi_prefetch(Ax, (k) * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD)
#include "formats/csr/csr_scatter_instances.h"

const spryi_run_table spryi_csr_scatter_avx512 = SPRYI_TABLE(run);
