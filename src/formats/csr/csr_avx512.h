/* Sums across registers, for rows with AVX-512 (csr_avx512_rows.tmpl.c). */
#ifndef SPRYI_CSR_AVX512_H
#define SPRYI_CSR_AVX512_H

#include "core/simd_x86.h"

/* Under this mean row length, rows are taken by LANES, so that one tree adds all their sums. */
enum { SHORT_MEAN = 20 };

/* Counts above a register's lanes give them all. */
static inline __mmask16 first_lanes(int count)
{
    return (__mmask16)_bzhi_u32(0xffff, (unsigned)count);
}

/* Lane r = the sum of row[r]'s eight lanes. */
static inline __m512d sum_rows_pd(const __m512d row[8])
{
    __m512d pair[4], quad[2];
    for (int p = 0; p < 4; p++)
        pair[p] = _mm512_add_pd(_mm512_unpacklo_pd(row[2 * p], row[2 * p + 1]),
                                _mm512_unpackhi_pd(row[2 * p], row[2 * p + 1]));
    for (int q = 0; q < 2; q++)
        quad[q] = _mm512_add_pd(_mm512_shuffle_f64x2(pair[2 * q], pair[2 * q + 1], 0x88),
                                _mm512_shuffle_f64x2(pair[2 * q], pair[2 * q + 1], 0xdd));
    return _mm512_add_pd(_mm512_shuffle_f64x2(quad[0], quad[1], 0x88), _mm512_shuffle_f64x2(quad[0], quad[1], 0xdd));
}

/* A step of the tree below: of a and b each, the 128-bit quarters 0 + 1 and 2 + 3. */
static inline __m512 add_quarters(__m512 a, __m512 b)
{
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

/* Two partial sums of each of eight rows: quarters 0 and 1 have rows 0 to 3, quarters 2 and 3 rows 4 to 7. */
static inline __m512 sum_halves_ps(const __m512 row[8])
{
    __m512 quad[2];
    for (int q = 0; q < 2; q++) {
        const __m512 *r = row + 4 * q;
        __m512d a = _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(r[0], r[1]), _mm512_unpackhi_ps(r[0], r[1])));
        __m512d b = _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(r[2], r[3]), _mm512_unpackhi_ps(r[2], r[3])));
        quad[q] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
    }
    return add_quarters(quad[0], quad[1]);
}

/* Lane r = the sum of row[r]'s sixteen lanes. */
static inline __m512 sum_rows_ps(const __m512 row[16])
{
    return add_quarters(sum_halves_ps(row), sum_halves_ps(row + 8));
}

/* The same of eight rows, in the lower lanes. */
static inline __m512 sum_group_ps(const __m512 row[8])
{
    __m512 halves = sum_halves_ps(row);
    return add_quarters(halves, halves);
}

#endif
