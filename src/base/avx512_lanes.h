/*
 * Macros for AVX-512 instructions, for code that is instantiated by type (base/instantiate.h). A register has LANES
 * elements: 8 of f64 or 16 of f32. GATHER_AT(x, at) loads the LANES elements x[at[0]], x[at[1]], ... The indices may
 * have any integer type. GATHER_AT uses loads and inserts, which are faster than gather instructions on processors that
 * implement gathers in microcode.
 */
#pragma once

#include "base/simd_x86.h"

typedef __m512 spryi_vec_f32;
typedef __m512d spryi_vec_f64;
typedef __mmask16 spryi_mask_f32;
typedef __mmask8 spryi_mask_f64;

/*
 * Load LANES stored values and widen them to the vector type. The end of a function's name is the tag of a row of types
 * (base/types.h). The functions spryi_some_values load only the lanes whose bit in mask is set. The other lanes are 0.
 */
static inline __m512 spryi_values_f32(const float *p)
{
    return _mm512_loadu_ps(p);
}
static inline __m512 spryi_some_values_f32(__mmask16 mask, const float *p)
{
    return _mm512_maskz_loadu_ps(mask, p);
}
static inline __m512d spryi_values_f64(const double *p)
{
    return _mm512_loadu_pd(p);
}
static inline __m512d spryi_some_values_f64(__mmask8 mask, const double *p)
{
    return _mm512_maskz_loadu_pd(mask, p);
}
static inline __m512d spryi_values_f32_f64(const float *p)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}
static inline __m512d spryi_some_values_f32_f64(__mmask8 mask, const float *p)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, p));
}
static inline __m512 spryi_upper_halves(__m256i numbers)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(numbers), 16));
}
static inline __m512 spryi_values_bf16_f32(const spryi_bf16_number *p)
{
    return spryi_upper_halves(_mm256_loadu_si256((const void *)p));
}
static inline __m512 spryi_some_values_bf16_f32(__mmask16 mask, const spryi_bf16_number *p)
{
    return spryi_upper_halves(_mm256_maskz_loadu_epi16(mask, p));
}
static inline __m512 spryi_values_f16_f32(const spryi_f16_number *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
}
static inline __m512 spryi_some_values_f16_f32(__mmask16 mask, const spryi_f16_number *p)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, p));
}

#define LANES ((int)(64 / sizeof(SPRY_V)))
#define VEC SPRYI_TYPED(spryi_vec)
#define MASK SPRYI_TYPED(spryi_mask)
#define MASK_OF(bits) ((MASK)(bits)) /* one bit per lane */
#define LOAD(p) SPRYI_MM512(loadu)(p)
#define LOAD_VALUES(p) SPRYI_JOIN(spryi_values, SPRYI_TYPE_TAG)(p)
#define MASKZ_LOAD_VALUES(mask, p) SPRYI_JOIN(spryi_some_values, SPRYI_TYPE_TAG)(mask, p)
#define MASKZ_LOAD(mask, p) SPRYI_MM512(maskz_loadu)(mask, p)
#define STORE(p, v) SPRYI_MM512(storeu)(p, v)
#define MASK_STORE(p, mask, v) SPRYI_MM512(mask_storeu)(p, mask, v)
#define STREAM(p, v) SPRYI_MM512(stream)(p, v)
#define FMA(a, b, c) SPRYI_MM512(fmadd)(a, b, c)
#define MASK_FMA(a, b, c, mask) SPRYI_MM512(mask3_fmadd)(a, b, c, mask)
#define MUL(a, b) SPRYI_MM512(mul)(a, b)
#define ADD(a, b) SPRYI_MM512(add)(a, b)
#define MASK_ADD(a, mask, b) SPRYI_MM512(mask_add)(a, mask, a, b)
#define SET1(s) SPRYI_MM512(set1)(s)
#define REDUCE(v) SPRYI_MM512(reduce_add)(v)
#define ZERO()                                                                                                         \
    SPRYI_MM512(set1)                                                                                                  \
    (0) /* clang defines _mm512_setzero as a macro, so SPRYI_MM512(setzero) would not
                                     * compile */

#define FOUR_AT(x, at)                                                                                                 \
    SPRYI_JOIN(spryi_four, SPRYI_TYPED(SPRYI_PS))((x) + (at)[0], (x) + (at)[1], (x) + (at)[2], (x) + (at)[3])
#define GATHER_AT(x, at) SPRYI_TYPED(SPRYI_GATHER_AT)(x, at)
#define SPRYI_GATHER_AT_f32(x, at)                                                                                     \
    spryi_join_ps((const __m128[]){FOUR_AT(x, at), FOUR_AT(x, (at) + 4), FOUR_AT(x, (at) + 8), FOUR_AT(x, (at) + 12)})
#define SPRYI_GATHER_AT_f64(x, at) spryi_join_pd((const __m256d[]){FOUR_AT(x, at), FOUR_AT(x, (at) + 4)})
