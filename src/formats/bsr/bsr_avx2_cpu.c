/*
 * bsr_avx2_cpu: dense blocks with AVX2.
 *
 * Idea: a column of a block is one register (two of f64 above 4), multiplied by its x in all lanes; sums of several
 * columns run side by side.
 * Work: as in bsr_portable_cpu, whose loops also do blocks above 8 and the transposed product, with FMA.
 * Cost: as there.
 * Source: register blocking of Sparsity; the vector steps are this library's.
 */
#include "core/simd_x86.h"
#include "formats/bsr/bsr.h"

/* Lanes all ones where their bit of the mask is set. */
static inline __m256i bits_pd(unsigned mask)
{
    const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
    return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(mask), bit), bit);
}

static inline __m256i bits_ps(unsigned mask)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)mask), bit), bit);
}

#define SPRYI_TEMPLATE "formats/bsr/bsr_avx2.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run), runs_t = SPRYI_TABLE(run_t);

const spryi_kernel spryi_bsr_avx2_cpu = {
    .name = "bsr_avx2_cpu",
    .format = "bsr",
    .device = "cpu",
    .idea = "a register a column of a block, its x in all lanes; AVX2",
    .source = "Im, Yelick and Vuduc, Sparsity: optimization framework for sparse matrix kernels, 2004, section 3",
    .deterministic = 1,
    .simd = SPRYI_AVX2,
    .spmv = &runs,
    .spmv_t = &runs_t,
};
