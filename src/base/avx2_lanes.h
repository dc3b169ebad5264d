/*
 * Macros for AVX2 instructions, with the names of the AVX-512 macros in base/avx512_lanes.h, for code that is
 * instantiated by type. A register has LANES elements: 4 of f64 or 8 of f32. A mask is an integer with one bit per
 * lane. For instructions that need a mask register, the macros convert the mask to a register whose lanes are all ones
 * or all zeros.
 */
#pragma once

#include "base/simd_x86.h"

typedef __m256 spryi_vec_f32;
typedef __m256d spryi_vec_f64;

static inline __m256d spryi_chosen_f64(__m256d without, __m256d with, unsigned mask)
{
    return _mm256_blendv_pd(without, with, _mm256_castsi256_pd(spryi_lanes_f64(mask)));
}

static inline __m256 spryi_chosen_f32(__m256 without, __m256 with, unsigned mask)
{
    return _mm256_blendv_ps(without, with, _mm256_castsi256_ps(spryi_lanes_f32(mask)));
}

static inline double spryi_sum_f64(__m256d v)
{
    return spryi_sum_four_f64(v);
}

static inline float spryi_sum_f32(__m256 v)
{
    return spryi_sum_four_f32(_mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)));
}

/*
 * Load LANES stored values and widen them to the vector type, as in base/avx512_lanes.h. AVX2 has no conversion of f16
 * and no masked load of 16-bit values: these are scalar loops. The long loops of f16 are not inlined.
 */
static inline __m256 spryi_values_f32(const float *p)
{
    return _mm256_loadu_ps(p);
}
static inline __m256 spryi_some_values_f32(unsigned mask, const float *p)
{
    return _mm256_maskload_ps(p, spryi_lanes_f32(mask));
}
static inline __m256d spryi_values_f64(const double *p)
{
    return _mm256_loadu_pd(p);
}
static inline __m256d spryi_some_values_f64(unsigned mask, const double *p)
{
    return _mm256_maskload_pd(p, spryi_lanes_f64(mask));
}
static inline __m256d spryi_values_f32_f64(const float *p)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}
static inline __m256d spryi_some_values_f32_f64(unsigned mask, const float *p)
{
    return _mm256_cvtps_pd(_mm_maskload_ps(p, _mm256_castsi256_si128(spryi_lanes_f32(mask))));
}
static inline __m256 spryi_values_bf16_f32(const spryi_bf16_number *p)
{
    const __m128i bits = _mm_loadu_si128((const void *)p);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
static __attribute__((noinline, unused)) __m256 spryi_values_f16_f32(const spryi_f16_number *p)
{
    float wide[8];
    for (int l = 0; l < 8; l++) wide[l] = spryi_widen_f16(p[l]);
    return _mm256_loadu_ps(wide);
}
static inline __m256 spryi_some_values_bf16_f32(unsigned mask, const spryi_bf16_number *p)
{
    float wide[8] = {0};
    for (int l = 0; l < 8; l++)
        if (mask >> l & 1) wide[l] = spryi_widen_bf16(p[l]);
    return _mm256_loadu_ps(wide);
}
static __attribute__((noinline, unused)) __m256 spryi_some_values_f16_f32(unsigned mask, const spryi_f16_number *p)
{
    float wide[8] = {0};
    for (int l = 0; l < 8; l++)
        if (mask >> l & 1) wide[l] = spryi_widen_f16(p[l]);
    return _mm256_loadu_ps(wide);
}

#define LANES ((int)(32 / sizeof(SPRY_V)))
#define VEC SPRYI_TYPED(spryi_vec)
#define MASK unsigned
#define MASK_OF(bits) ((bits) & ((1u << LANES) - 1)) /* lowest LANES bits, one per lane */
#define LOAD(p) SPRYI_MM256(loadu)(p)
#define LOAD_VALUES(p) SPRYI_JOIN(spryi_values, SPRYI_TYPE_TAG)(p)
#define MASKZ_LOAD_VALUES(mask, p) SPRYI_JOIN(spryi_some_values, SPRYI_TYPE_TAG)(mask, p)
#define MASKZ_LOAD(mask, p) SPRYI_MM256(maskload)(p, SPRYI_TYPED(spryi_lanes)(mask))
#define STORE(p, v) SPRYI_MM256(storeu)(p, v)
#define MASK_STORE(p, mask, v) SPRYI_MM256(maskstore)(p, SPRYI_TYPED(spryi_lanes)(mask), v)
#define STREAM(p, v) SPRYI_MM256(stream)(p, v)
#define FMA(a, b, c) SPRYI_MM256(fmadd)(a, b, c)
#define MASK_FMA(a, b, c, mask) SPRYI_TYPED(spryi_chosen)(c, FMA(a, b, c), mask)
#define SCALAR_FMA(a, b, c)                                                                                            \
    ((SPRY_V)(sizeof(SPRY_V) == 8 ? __builtin_fma(a, b, c) : __builtin_fmaf((float)(a), (float)(b), (float)(c))))
#define MUL(a, b) SPRYI_MM256(mul)(a, b)
#define ADD(a, b) SPRYI_MM256(add)(a, b)
#define MASK_ADD(a, mask, b) SPRYI_TYPED(spryi_chosen)(a, ADD(a, b), mask)
#define SET1(s) SPRYI_MM256(set1)(s)
#define REDUCE(v) SPRYI_TYPED(spryi_sum)(v)
#define ZERO() SPRYI_MM256(setzero)()

#define FOUR_AT(x, at)                                                                                                 \
    SPRYI_JOIN(spryi_four, SPRYI_TYPED(SPRYI_PS))((x) + (at)[0], (x) + (at)[1], (x) + (at)[2], (x) + (at)[3])
#define GATHER_AT(x, at) SPRYI_TYPED(SPRYI_GATHER_AT)(x, at)
#define SPRYI_GATHER_AT_f32(x, at) _mm256_set_m128(FOUR_AT(x, (at) + 4), FOUR_AT(x, at))
#define SPRYI_GATHER_AT_f64(x, at) FOUR_AT(x, at)
