/* Steps that the templates on slots with AVX-512 need once. */
#ifndef SPRYI_SLOTS_AVX512_H
#define SPRYI_SLOTS_AVX512_H

#include "core/simd_x86.h"

static inline __m128 four_ps(const float *a, const float *b, const float *c, const float *d)
{
    __m128 v = _mm_insert_ps(_mm_load_ss(a), _mm_load_ss(b), 0x10);
    return _mm_insert_ps(_mm_insert_ps(v, _mm_load_ss(c), 0x20), _mm_load_ss(d), 0x30);
}

static inline __m256d four_pd(const double *a, const double *b, const double *c, const double *d)
{
    __m128d low = _mm_loadh_pd(_mm_load_sd(a), b), high = _mm_loadh_pd(_mm_load_sd(c), d);
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), high, 1);
}

static inline __m512 join_ps(__m128 a, __m128 b, __m128 c, __m128 d)
{
    __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(a), b, 1);
    __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(c), d, 1);
    __m512d both = _mm512_castps_pd(_mm512_castps256_ps512(low));
    return _mm512_castpd_ps(_mm512_insertf64x4(both, _mm256_castps_pd(high), 1));
}

static inline __m512d join_pd(__m256d low, __m256d high)
{
    return _mm512_insertf64x4(_mm512_castpd256_pd512(low), high, 1);
}

#endif
