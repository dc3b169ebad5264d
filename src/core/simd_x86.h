/*
 * The few vector steps that kernels for AVX2 and AVX-512 share. Eight rows side by side is the unit for
 * both value types: it is a full register of f64 with AVX-512 and of f32 with AVX2.
 */
#ifndef SPRYI_SIMD_X86_H
#define SPRYI_SIMD_X86_H

#include <immintrin.h>
#include <stdint.h>

/*
 * Bytes ahead at which the matrix is fetched. The processors' own prefetchers stop at a page and keep too few
 * lines in flight; docs/performance.md has what distances gained. Rows that are gathered leave the loads
 * little room, so their matrix is fetched into the first-level cache, from nearer; structured runs, which
 * load in order, do better from farther into the second. The address may lie past the arrays: a prefetch
 * never faults.
 */
enum { SPRYI_AHEAD = 4096, SPRYI_AHEAD_NEAR = 2048 };

/* Inlined at once: GCC takes a function that only prefetches for one without effect, and drops its calls. */
#define SPRYI_PREFETCHER static inline __attribute__((always_inline)) void

SPRYI_PREFETCHER spryi_prefetch(const void *base, int64_t bytes)
{
    _mm_prefetch((const char *)((uintptr_t)base + (uintptr_t)bytes), _MM_HINT_T1);
}

SPRYI_PREFETCHER spryi_prefetch_near(const void *base, int64_t bytes)
{
    _mm_prefetch((const char *)((uintptr_t)base + (uintptr_t)bytes), _MM_HINT_T0);
}

/* Entries k..end of the values and columns, SPRYI_AHEAD_NEAR bytes further on, one request a cache line. */
SPRYI_PREFETCHER spryi_prefetch_entries(const void *Ax, const void *Aj, int64_t k, int64_t end, int value_bytes,
                                        int index_bytes)
{
    for (int64_t b = k * value_bytes; b < end * value_bytes; b += 64) spryi_prefetch_near(Ax, b + SPRYI_AHEAD_NEAR);
    for (int64_t b = k * index_bytes; b < end * index_bytes; b += 64) spryi_prefetch_near(Aj, b + SPRYI_AHEAD_NEAR);
}

/* Lane r = the sum of row[r]'s eight lanes, added as ((0+1)+(2+3))+((4+5)+(6+7)). */
static inline __m256 spryi_sum_rows_ps(const __m256 row[8])
{
    __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(row[0], row[1]), _mm256_hadd_ps(row[2], row[3]));
    __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(row[4], row[5]), _mm256_hadd_ps(row[6], row[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}

/* In place: lane r of column[j] = lane j of row[r]. */
static inline void spryi_transpose_ps(__m256 v[8])
{
    __m256 t[8], u[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
        v[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
    }
}

#endif
