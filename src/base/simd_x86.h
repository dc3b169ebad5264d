/* Vector operations that kernels for AVX2 and AVX-512 share, and macros for code that is instantiated by type. */
#pragma once

#include "base/type_row.h"

#include <immintrin.h>
#include <stdint.h>

/*
 * Macros for templates of base/instantiate.h. SPRYI_TYPED(name) is name_f32 or name_f64, depending on the vector type.
 * SPRYI_MM256(add) is _mm256_add_ps or _mm256_add_pd.
 */
#define SPRYI_TYPED(name) SPRYI_JOIN(name, SPRYI_VECTOR_TAG)
#define SPRYI_MM256(name) SPRYI_JOIN(_mm256_##name, SPRYI_TYPED(SPRYI_PS))
#define SPRYI_MM512(name) SPRYI_JOIN(_mm512_##name, SPRYI_TYPED(SPRYI_PS))
#define SPRYI_PS_f32 ps
#define SPRYI_PS_f64 pd

/*
 * Prefetch distances for the matrix, in bytes. Hardware prefetchers stop at the end of a memory page and keep too few
 * cache lines in flight. bench/README.md lists the gains. Loops that gather x prefetch into the first-level cache,
 * SPRYI_AHEAD_NEAR bytes ahead, since gathers leave few loads in flight. Loops that load x in order prefetch into the
 * second-level cache, SPRYI_AHEAD bytes ahead. Loops that read multiple rows together prefetch SPRYI_AHEAD_STEPPED
 * bytes ahead. The address may be past the arrays, since a prefetch never faults.
 */
enum { SPRYI_AHEAD = 4096, SPRYI_AHEAD_NEAR = 2048, SPRYI_AHEAD_STEPPED = 12288 };

/* Always inlined: GCC assumes that a function that only prefetches has no effect, and drops its calls. */
#define SPRYI_PREFETCHER SPRYI_INLINE void

SPRYI_PREFETCHER spryi_prefetch(const void *base, int64_t bytes)
{
    _mm_prefetch((const char *)((uintptr_t)base + (uintptr_t)bytes), _MM_HINT_T1);
}

SPRYI_PREFETCHER spryi_prefetch_near(const void *base, int64_t bytes)
{
    _mm_prefetch((const char *)((uintptr_t)base + (uintptr_t)bytes), _MM_HINT_T0);
}

/*
 * Prefetches the cache lines that are SPRYI_AHEAD_NEAR bytes after the values and after the columns of entries
 * k .. end - 1.
 */
SPRYI_PREFETCHER spryi_prefetch_entries(const void *Ax, const void *Aj, int64_t k, int64_t end, int value_bytes,
                                        int index_bytes)
{
    for (int64_t b = k * value_bytes; b < end * value_bytes; b += 64) spryi_prefetch_near(Ax, b + SPRYI_AHEAD_NEAR);
    for (int64_t b = k * index_bytes; b < end * index_bytes; b += 64) spryi_prefetch_near(Aj, b + SPRYI_AHEAD_NEAR);
}

/*
 * Returns a prefetch distance in rows, for products with multiple vectors. A kernel prefetches the row of x that the
 * last entry of a matrix row multiplies. The distance is the number of rows that have 160 entries together, at most 32.
 * The columns of these rows are in the caches by then. Returns `rows`, which means no prefetch, if fewer than 16 rows
 * have 160 entries together: in long rows the last entry seldom needs a new row of x.
 */
static inline int64_t spryi_rows_to_prefetch(int64_t rows, int64_t entries)
{
    enum { ENTRIES = 160, LEAST = 16, MOST = 32 };
    const int64_t ahead = entries > 0 ? ENTRIES * rows / entries : 0;
    return ahead < LEAST ? rows : ahead < MOST ? ahead : MOST;
}

/* Loads four elements with loads and inserts. Gather instructions are microcode on many processors, or no faster. */
static inline __m128 spryi_four_ps(const float *a, const float *b, const float *c, const float *d)
{
    __m128 v = _mm_insert_ps(_mm_load_ss(a), _mm_load_ss(b), 0x10);
    return _mm_insert_ps(_mm_insert_ps(v, _mm_load_ss(c), 0x20), _mm_load_ss(d), 0x30);
}

static inline __m256d spryi_four_pd(const double *a, const double *b, const double *c, const double *d)
{
    __m128d low = _mm_loadh_pd(_mm_load_sd(a), b), high = _mm_loadh_pd(_mm_load_sd(c), d);
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(low), high, 1);
}

/*
 * Copies `parts` times 16 bytes with non-temporal stores. `to` is aligned to 16 bytes but seldom to 32: malloc's large
 * blocks never are. Parts that follow each other fill whole cache lines.
 */
static __attribute__((noinline, unused)) void spryi_stream_parts(void *to, const void *from, int parts)
{
    __m128i *p = to;
    const __m128i *q = from;
    do _mm_stream_si128(p++, _mm_loadu_si128(q++));
    while (--parts > 0);
}

/* Returns a register whose first `count` lanes are all ones and whose other lanes are 0. */
static inline __m256i spryi_first_lanes_f64(int count)
{
    static const int64_t ones[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i *)(ones + 4 - count));
}

static inline __m256i spryi_first_lanes_f32(int count)
{
    static const int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i *)(ones + 8 - count));
}

/*
 * Converts a mask with one bit per lane to a register whose lanes are all ones or all zeros. Bits above the lanes are
 * ignored.
 */
static inline __m256i spryi_lanes_f64(unsigned mask)
{
    const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8);
    return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(mask), bits), bits);
}

static inline __m256i spryi_lanes_f32(unsigned mask)
{
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)mask), bits), bits);
}

/* Returns the sum of four lanes. */
static inline double spryi_sum_four_f64(__m256d v)
{
    const __m128d s = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}

static inline float spryi_sum_four_f32(__m128 v)
{
    const __m128 s = _mm_add_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

#ifdef __AVX512F__
static inline __m512 spryi_join_ps(const __m128 v[4])
{
    __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(v[0]), v[1], 1);
    __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(v[2]), v[3], 1);
    __m512d both = _mm512_castps_pd(_mm512_castps256_ps512(low));
    return _mm512_castpd_ps(_mm512_insertf64x4(both, _mm256_castps_pd(high), 1));
}

static inline __m512d spryi_join_pd(const __m256d v[2])
{
    return _mm512_insertf64x4(_mm512_castpd256_pd512(v[0]), v[1], 1);
}

/*
 * Transposes eight rows of four columns in place. On entry, each half of a register is a row: the lower halves of v[0],
 * v[1], v[2], v[3] are rows 0, 1, 4, 5, and the upper halves are rows 2, 3, 6, 7. On return, lane r of v[j] is column j
 * of row r.
 */
static inline void spryi_transpose_4x8_pd(__m512d v[4])
{
    __m512d a = _mm512_unpacklo_pd(v[0], v[1]), b = _mm512_unpackhi_pd(v[0], v[1]);
    __m512d c = _mm512_unpacklo_pd(v[2], v[3]), d = _mm512_unpackhi_pd(v[2], v[3]);
    v[0] = _mm512_shuffle_f64x2(a, c, 0x88);
    v[1] = _mm512_shuffle_f64x2(b, d, 0x88);
    v[2] = _mm512_shuffle_f64x2(a, c, 0xdd);
    v[3] = _mm512_shuffle_f64x2(b, d, 0xdd);
}
#endif

/* Returns a register whose lane r is the sum of the lanes of row[r], added as ((0+1)+(2+3))+((4+5)+(6+7)). */
static inline __m256 spryi_sum_rows_ps(const __m256 row[8])
{
    __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(row[0], row[1]), _mm256_hadd_ps(row[2], row[3]));
    __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(row[4], row[5]), _mm256_hadd_ps(row[6], row[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}

/* Transposes in place: lane r of v[j] becomes lane j of v[r]. */
SPRYI_INLINE void spryi_transpose_pd(__m256d v[4])
{
    const __m256d a = _mm256_unpacklo_pd(v[0], v[1]), b = _mm256_unpackhi_pd(v[0], v[1]);
    const __m256d c = _mm256_unpacklo_pd(v[2], v[3]), d = _mm256_unpackhi_pd(v[2], v[3]);
    v[0] = _mm256_permute2f128_pd(a, c, 0x20);
    v[1] = _mm256_permute2f128_pd(b, d, 0x20);
    v[2] = _mm256_permute2f128_pd(a, c, 0x31);
    v[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

SPRYI_INLINE void spryi_transpose_ps(__m256 v[8])
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

#ifdef __AVX512F__
/* Types and functions of registers with eight elements, in code that is instantiated by type: EIGHT(add)(a, b). */
typedef __m256 eight_f32;
typedef __m512d eight_f64;
#define EIGHT(name) SPRYI_TYPED(EIGHT)(name)
#define EIGHT_f32(name) _mm256_##name##_ps
#define EIGHT_f64(name) _mm512_##name##_pd
#endif
