/* Vectors of 512 bits for code that is instantiated for f32 or f64. OF(add) is the intrinsic that adds vectors. */
#pragma once

#include "base/types.h"
#include "spgemm/kernels/cpu/row_primitives.h"

#define SPRYI_PASTE_(a, b) a##b
#define SPRYI_PASTE(a, b) SPRYI_PASTE_(a, b)
#define SPRYI_OF_(operation, suffix) _mm512_##operation##suffix
#define SPRYI_OF(operation, suffix) SPRYI_OF_(operation, suffix)
#define SPRYI_SUFFIX_f32 _ps
#define SPRYI_SUFFIX_f64 _pd

#define LANES ((int)(64 / sizeof(SPRY_V)))
#define VECTOR SPRYI_PASTE(spryi_vector_, SPRYI_TYPE_TAG)
#define OF(operation) SPRYI_OF(operation, SPRYI_PASTE(SPRYI_SUFFIX_, SPRYI_TYPE_TAG))
#define UPTO(n) ((SPRYI_PASTE(spryi_lanes_, SPRYI_TYPE_TAG))spryi_upto16(n)) /* the first n lanes */
#define LOAD_UPTO(n, from) OF(maskz_loadu)(UPTO(n), (from))
#define STORE_UPTO(n, to, vector) OF(mask_storeu)((to), UPTO(n), (vector))
#define TRANSPOSE(r) SPRYI_PASTE(spryi_transpose_, SPRYI_TYPE_TAG)(r) /* transposes LANES vectors in place */

#define ADD_EIGHT SPRYI_PASTE(spryi_add_eight_, SPRYI_TYPE_TAG)
#define TAKE_EIGHT SPRYI_PASTE(spryi_take_eight_, SPRYI_TYPE_TAG)

typedef __m512 spryi_vector_f32;
typedef __m512d spryi_vector_f64;
typedef __mmask16 spryi_lanes_f32;
typedef __mmask8 spryi_lanes_f64;

SPRYI_INLINE void spryi_transpose_f64(__m512d r[8])
{
    __m512d t[8];
    for (int k = 0; k < 8; k += 2) {
        t[k] = _mm512_unpacklo_pd(r[k], r[k + 1]);
        t[k + 1] = _mm512_unpackhi_pd(r[k], r[k + 1]);
    }
    for (int e = 0; e < 2; e++) {
        const __m512d a = _mm512_shuffle_f64x2(t[e], t[2 + e], 0x88),
                      b = _mm512_shuffle_f64x2(t[4 + e], t[6 + e], 0x88);
        const __m512d c = _mm512_shuffle_f64x2(t[e], t[2 + e], 0xdd),
                      d = _mm512_shuffle_f64x2(t[4 + e], t[6 + e], 0xdd);
        r[e] = _mm512_shuffle_f64x2(a, b, 0x88);
        r[2 + e] = _mm512_shuffle_f64x2(c, d, 0x88);
        r[4 + e] = _mm512_shuffle_f64x2(a, b, 0xdd);
        r[6 + e] = _mm512_shuffle_f64x2(c, d, 0xdd);
    }
}

SPRYI_INLINE void spryi_transpose_f32(__m512 r[16])
{
    __m512d q[16];
    for (int k = 0; k < 16; k += 4) {
        const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[k], r[k + 1]));
        const __m512d b = _mm512_castps_pd(_mm512_unpacklo_ps(r[k + 2], r[k + 3]));
        const __m512d c = _mm512_castps_pd(_mm512_unpackhi_ps(r[k], r[k + 1]));
        const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(r[k + 2], r[k + 3]));
        q[k] = _mm512_unpacklo_pd(a, b);
        q[k + 1] = _mm512_unpackhi_pd(a, b);
        q[k + 2] = _mm512_unpacklo_pd(c, d);
        q[k + 3] = _mm512_unpackhi_pd(c, d);
    }
    for (int e = 0; e < 4; e++) {
        const __m512d a = _mm512_shuffle_f64x2(q[e], q[4 + e], 0x88),
                      b = _mm512_shuffle_f64x2(q[8 + e], q[12 + e], 0x88);
        const __m512d c = _mm512_shuffle_f64x2(q[e], q[4 + e], 0xdd),
                      d = _mm512_shuffle_f64x2(q[8 + e], q[12 + e], 0xdd);
        r[e] = _mm512_castpd_ps(_mm512_shuffle_f64x2(a, b, 0x88));
        r[4 + e] = _mm512_castpd_ps(_mm512_shuffle_f64x2(c, d, 0x88));
        r[8 + e] = _mm512_castpd_ps(_mm512_shuffle_f64x2(a, b, 0xdd));
        r[12 + e] = _mm512_castpd_ps(_mm512_shuffle_f64x2(c, d, 0xdd));
    }
}

/*
 * Adds a times the next values of x to the sums of the lanes in `live`. Returns the position after the values used.
 * Stores all lanes: a masked store would delay the next load.
 */
static inline const double *spryi_add_eight_f64(double *restrict sums, __mmask8 live, double a,
                                                const double *restrict x)
{
    const __m512d product = _mm512_maskz_mul_pd(live, _mm512_set1_pd(a), _mm512_maskz_expandloadu_pd(live, x));
    _mm512_store_pd(sums, _mm512_add_pd(_mm512_load_pd(sums), product));
    return x + __builtin_popcount(live);
}

static inline const float *spryi_add_eight_f32(float *restrict sums, __mmask8 live, float a, const float *restrict x)
{
    const __m256 product = _mm256_maskz_mul_ps(live, _mm256_set1_ps(a), _mm256_maskz_expandloadu_ps(live, x));
    _mm256_store_ps(sums, _mm256_add_ps(_mm256_load_ps(sums), product));
    return x + __builtin_popcount(live);
}

/* Stores the sums of the lanes in `live` contiguously. Sets all eight sums to 0. */
static inline void spryi_take_eight_f64(double *restrict to, double *restrict sums, __mmask8 live)
{
    _mm512_storeu_pd(to, _mm512_maskz_compress_pd(live, _mm512_load_pd(sums)));
    _mm512_store_pd(sums, _mm512_setzero_pd());
}

static inline void spryi_take_eight_f32(float *restrict to, float *restrict sums, __mmask8 live)
{
    _mm256_storeu_ps(to, _mm256_maskz_compress_ps(live, _mm256_load_ps(sums)));
    _mm256_store_ps(sums, _mm256_setzero_ps());
}
