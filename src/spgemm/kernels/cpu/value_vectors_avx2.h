/* Vectors of 256 bits for code that is instantiated for f32 and f64, with the names of value_vectors_avx512.h. */
#pragma once

#include "base/simd_x86.h"
#include "spgemm/kernels/cpu/row_primitives.h"

#define SPRYI_PASTE_(a, b) a##b
#define SPRYI_PASTE(a, b) SPRYI_PASTE_(a, b)
#define SPRYI_OF_(operation, suffix) _mm256_##operation##suffix
#define SPRYI_OF(operation, suffix) SPRYI_OF_(operation, suffix)
#define SPRYI_SUFFIX_f32 _ps
#define SPRYI_SUFFIX_f64 _pd

#define LANES ((int)(32 / sizeof(SPRY_V)))
#define VECTOR SPRYI_PASTE(spryi_vector_, SPRYI_TYPE_TAG)
#define OF(operation) SPRYI_OF(operation, SPRYI_PASTE(SPRYI_SUFFIX_, SPRYI_TYPE_TAG))
#define LOAD_UPTO(n, from) SPRYI_PASTE(spryi_load_, SPRYI_TYPE_TAG)((n), (from)) /* the first n lanes; the rest is 0 */
#define STORE_UPTO(n, to, vector) SPRYI_PASTE(spryi_store_, SPRYI_TYPE_TAG)((n), (to), (vector))
/* Transposes a square of LANES vectors in place. */
#define TRANSPOSE SPRYI_PASTE(spryi_transpose, SPRYI_PASTE(SPRYI_SUFFIX_, SPRYI_TYPE_TAG))

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

/* Stores in parts: some processors take tens of cycles for a masked store. */
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
