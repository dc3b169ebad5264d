/* Vectors of 256 bits for code that is instantiated for f32 and f64, as value_vectors_avx512.h has them. */
#ifndef SPRYI_SPGEMM_VALUE_VECTORS_H
#define SPRYI_SPGEMM_VALUE_VECTORS_H

#include "spgemm/cpu/row_primitives.h"

#define SPRYI_PASTE_(a, b) a##b
#define SPRYI_PASTE(a, b) SPRYI_PASTE_(a, b)
#define SPRYI_OF_(operation, suffix) _mm256_##operation##suffix
#define SPRYI_OF(operation, suffix) SPRYI_OF_(operation, suffix)
#define SPRYI_SUFFIX_f32 _ps
#define SPRYI_SUFFIX_f64 _pd

#define LANES ((int)(32 / sizeof(SPRY_V)))
#define VECTOR SPRYI_PASTE(spryi_vector_, SPRYI_TYPE_TAG)
#define OF(operation) SPRYI_OF(operation, SPRYI_PASTE(SPRYI_SUFFIX_, SPRYI_TYPE_TAG))
#define LOAD_UPTO(n, from) SPRYI_PASTE(spryi_load_, SPRYI_TYPE_TAG)((n), (from)) /* the first n lanes, others 0 */
#define STORE_UPTO(n, to, vector) SPRYI_PASTE(spryi_store_, SPRYI_TYPE_TAG)((n), (to), (vector))
#define TRANSPOSE(r) SPRYI_PASTE(spryi_transpose_, SPRYI_TYPE_TAG)(r) /* of a square of LANES vectors, in place */

typedef __m256 spryi_vector_f32;
typedef __m256d spryi_vector_f64;

static inline __m256d spryi_load_f64(int n, const double *from)
{
    const __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
    return _mm256_maskload_pd(from, _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), lanes));
}

static inline __m256 spryi_load_f32(int n, const float *from)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(from, _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lanes));
}

/* By parts: some processors take tens of cycles for a masked store. */
static inline void spryi_store_f64(int n, double *to, __m256d v)
{
    if (n >= 4) {
        _mm256_storeu_pd(to, v);
        return;
    }
    __m128d part = _mm256_castpd256_pd128(v);
    if (n & 2) {
        _mm_storeu_pd(to, part);
        part = _mm256_extractf128_pd(v, 1);
        to += 2;
    }
    if (n & 1) _mm_store_sd(to, part);
}

static inline void spryi_store_f32(int n, float *to, __m256 v)
{
    if (n >= 8) {
        _mm256_storeu_ps(to, v);
        return;
    }
    __m128 part = _mm256_castps256_ps128(v);
    if (n & 4) {
        _mm_storeu_ps(to, part);
        part = _mm256_extractf128_ps(v, 1);
        to += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)to, part);
        part = _mm_movehl_ps(part, part);
        to += 2;
    }
    if (n & 1) _mm_store_ss(to, part);
}

static inline __attribute__((always_inline)) void spryi_transpose_f64(__m256d r[4])
{
    const __m256d a = _mm256_unpacklo_pd(r[0], r[1]), b = _mm256_unpackhi_pd(r[0], r[1]);
    const __m256d c = _mm256_unpacklo_pd(r[2], r[3]), d = _mm256_unpackhi_pd(r[2], r[3]);
    r[0] = _mm256_permute2f128_pd(a, c, 0x20);
    r[1] = _mm256_permute2f128_pd(b, d, 0x20);
    r[2] = _mm256_permute2f128_pd(a, c, 0x31);
    r[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

static inline __attribute__((always_inline)) void spryi_transpose_f32(__m256 r[8])
{
    __m256d q[8];
    for (int k = 0; k < 8; k += 4) {
        const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(r[k], r[k + 1]));
        const __m256d b = _mm256_castps_pd(_mm256_unpacklo_ps(r[k + 2], r[k + 3]));
        const __m256d c = _mm256_castps_pd(_mm256_unpackhi_ps(r[k], r[k + 1]));
        const __m256d d = _mm256_castps_pd(_mm256_unpackhi_ps(r[k + 2], r[k + 3]));
        q[k] = _mm256_unpacklo_pd(a, b);
        q[k + 1] = _mm256_unpackhi_pd(a, b);
        q[k + 2] = _mm256_unpacklo_pd(c, d);
        q[k + 3] = _mm256_unpackhi_pd(c, d);
    }
    for (int e = 0; e < 4; e++) {
        r[e] = _mm256_castpd_ps(_mm256_permute2f128_pd(q[e], q[4 + e], 0x20));
        r[4 + e] = _mm256_castpd_ps(_mm256_permute2f128_pd(q[e], q[4 + e], 0x31));
    }
}

#endif
