#ifndef SPRYI_TEMPLATE
/*
 * bsr_avx2_cpu: dense blocks with AVX2.
 *
 * Idea: a column of a block is one register (two of f64 above 4), multiplied by its x in all lanes; sums of several
 *       columns run side by side.
 * Work: as in bsr_portable_cpu, whose loops also do blocks above 8 and the transposed product, with FMA.
 * Cost: as there.
 * Source: register blocking of Sparsity (Im, Yelick and Vuduc 2004); the vector steps are this library's.
 */
#include "core/simd_x86.h"
#include "formats/bsr/bsr.h"

#include <string.h>

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

#define SPRYI_TEMPLATE "formats/bsr/bsr_plain.tmpl.c"
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "formats/bsr/bsr_avx2_cpu.c"
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "formats/bsr/bsr_rows.tmpl.c"
#include "core/instantiate.h"
#undef SPRYI_TEMPLATE
#define SPRYI_TEMPLATE "formats/bsr/bsr_transposed.tmpl.c"
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

#else /* for each value type and index pair: core/instantiate.h */

#undef VEC
#undef WIDTH
#undef MASK_LOAD
#undef LOAD
#undef STORE
#undef FMA
#undef ADD
#undef SET1
#undef ZERO
#undef FIRST_LANES
#undef ONLY

#if SPRY_IS_F64
#define VEC __m256d
#define WIDTH 4
#define MASK_LOAD(p, lanes) _mm256_maskload_pd(p, lanes)
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, v) _mm256_storeu_pd(p, v)
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define ADD(a, b) _mm256_add_pd(a, b)
#define SET1(s) _mm256_set1_pd(s)
#define ZERO() _mm256_setzero_pd()
#define FIRST_LANES(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3))
#define ONLY(v, mask) _mm256_and_pd(v, _mm256_castsi256_pd(bits_pd(mask)))
#else
#define VEC __m256
#define WIDTH 8
#define MASK_LOAD(p, lanes) _mm256_maskload_ps(p, lanes)
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define ADD(a, b) _mm256_add_ps(a, b)
#define SET1(s) _mm256_set1_ps(s)
#define ZERO() _mm256_setzero_ps()
#define FIRST_LANES(n) _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define ONLY(v, mask) _mm256_and_ps(v, _mm256_castsi256_ps(bits_ps(mask)))
#endif

/* Up to WIDTH rows of a column. */
static inline __attribute__((always_inline)) VEC SPRY_FN(column)(const SPRY_V *p, const int rows)
{
    return rows >= WIDTH ? LOAD(p) : MASK_LOAD(p, FIRST_LANES(rows));
}

/* sum = block row I times x, the columns of a block on up to four sums; masked: entries alone, in the same order. */
static inline __attribute__((always_inline)) void SPRY_FN(sum_row)(const spryi_bsr_job *job, int64_t I, const int r,
                                                                   const int masked, SPRY_V *sum)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *Aj = job->columns;
    VEC v[4] = {ZERO(), ZERO(), ZERO(), ZERO()}, w[4] = {ZERO(), ZERO(), ZERO(), ZERO()};
    for (int64_t b = Ap[I]; b < Ap[I + 1]; b++) {
        const SPRY_V *Ax = (const SPRY_V *)job->values + b * r * r, *x = SPRY_FN(x_of)(job, Aj[b], r);
        for (int j = 0; j < r; j++) {
            const unsigned mask = masked ? spryi_bsr_mask(job->masks, r, b * r + j) : 0;
            VEC xj = SET1(x[j]);
            v[j & 3] = FMA(SPRY_FN(column)(Ax + j * r, r), masked ? ONLY(xj, mask) : xj, v[j & 3]);
            if (r > WIDTH)
                w[j & 3] = FMA(SPRY_FN(column)(Ax + j * r + WIDTH, r - WIDTH), masked ? ONLY(xj, mask >> WIDTH) : xj,
                               w[j & 3]);
        }
    }
    STORE(sum, ADD(ADD(v[0], v[1]), ADD(v[2], v[3])));
    if (r > WIDTH) STORE(sum + WIDTH, ADD(ADD(w[0], w[1]), ADD(w[2], w[3])));
}

#endif
