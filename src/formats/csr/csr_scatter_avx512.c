/*
 * The transposed product with AVX-512. Of stepped rows eight go at a time: their values are turned into a register
 * a column, and what neighbouring columns add goes to y at once. General rows go one entry at a time, since the
 * instruction that scatters takes twice as long and would need their columns compared; short ones without a branch a
 * row. The matrix is fetched ahead by software. Else as csr_scatter_portable.c.
 */
#include "core/simd_x86.h"
#include "formats/csr/csr.h"

enum {
    SPREAD_ROWS = 256,
    SPREAD_ENTRIES = 1024, /* of these rows at most: 8 KiB, in the first-level cache beside y */
    SPREAD_MEAN = 8        /* longer rows go one at a time: a misprediction a row is less than laying out x */
};

enum { NEIGHBOURS = 64 }; /* columns of a stepped run that are looked at for neighbours */

/* The first `count` lanes, all from 8 on. */
#define LANES_UP_TO(count) ((__mmask8)_bzhi_u32(0xff, (unsigned)(count)))

/* The rows whose four values are loaded into the lower and the upper half of register r for the functions below. */
#define TURN_LOW(r) ((r) < 2 ? (r) : (r) + 2)
#define TURN_HIGH(r) ((r) < 2 ? (r) + 2 : (r) + 4)

/* Lane r of v[j] = column j of row r, in place. */
static inline void turn_pd(__m512d v[4])
{
    __m512d even01 = _mm512_unpacklo_pd(v[0], v[1]), odd01 = _mm512_unpackhi_pd(v[0], v[1]);
    __m512d even45 = _mm512_unpacklo_pd(v[2], v[3]), odd45 = _mm512_unpackhi_pd(v[2], v[3]);
    v[0] = _mm512_shuffle_f64x2(even01, even45, 0x88);
    v[1] = _mm512_shuffle_f64x2(odd01, odd45, 0x88);
    v[2] = _mm512_shuffle_f64x2(even01, even45, 0xdd);
    v[3] = _mm512_shuffle_f64x2(odd01, odd45, 0xdd);
}

/* The same of f32, where the halves are 128 bits: pairs of columns, then the rows of each column in order. */
static inline void turn_ps(__m256 v[4])
{
    const __m256i in_order = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
    __m256 first01 = _mm256_unpacklo_ps(v[0], v[1]), last01 = _mm256_unpackhi_ps(v[0], v[1]);
    __m256 first45 = _mm256_unpacklo_ps(v[2], v[3]), last45 = _mm256_unpackhi_ps(v[2], v[3]);
    /* lanes: rows 0 1 4 5 2 3 6 7 */
    v[0] = _mm256_permutevar8x32_ps(_mm256_shuffle_ps(first01, first45, 0x44), in_order);
    v[1] = _mm256_permutevar8x32_ps(_mm256_shuffle_ps(first01, first45, 0xee), in_order);
    v[2] = _mm256_permutevar8x32_ps(_mm256_shuffle_ps(last01, last45, 0x44), in_order);
    v[3] = _mm256_permutevar8x32_ps(_mm256_shuffle_ps(last01, last45, 0xee), in_order);
}

#define FETCH(Ax, Aj, k)                                                                                               \
    (spryi_prefetch_near(Ax, (k) * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD_NEAR),                                        \
     spryi_prefetch_near(Aj, (k) * (int64_t)sizeof(SPRY_J) + SPRYI_AHEAD_NEAR))
#define FETCH_STEPPED(Ax, k) spryi_prefetch(Ax, (k) * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD)
#define LEAVES_TEMPLATE "formats/csr/csr_scatter_avx512.tmpl.c"
#define OWN_STEPPED
#define OWN_ROWS
#include "formats/csr/csr_scatter_instances.h"

const spryi_run_table spryi_csr_scatter_avx512 = SPRYI_TABLE(run);
