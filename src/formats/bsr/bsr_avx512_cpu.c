/*
 * bsr_avx512_cpu: dense blocks with AVX-512.
 *
 * Idea: a column of a block is one masked register of eight lanes, multiplied by its x in all of them; sums of
 * several columns run side by side. Nothing is fetched ahead by software: blocks come in order, and it cost a tenth.
 * Work: as in bsr_portable_cpu, whose loops also do blocks above 8 and the transposed product, with FMA.
 * Cost: as there.
 * Source: register blocking of Sparsity; the vector steps are this library's.
 */
#include "core/simd_x86.h"
#include "formats/bsr/bsr.h"

#define SPRYI_TEMPLATE "formats/bsr/bsr_avx512.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_bsr_avx512_cpu = {
    .name = "bsr_avx512_cpu",
    .format = "bsr",
    .device = "cpu",
    .idea = "a masked register a column of a block, its x in all lanes; AVX-512",
    .source = "Im, Yelick and Vuduc, Sparsity: optimization framework for sparse matrix kernels, 2004, section 3",
    .deterministic = 1,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
