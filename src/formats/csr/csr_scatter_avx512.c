/*
 * y = A^T x with AVX-512: the transposed product of csr_avx512_cpu, and the plain product of csc_avx512_cpu.
 *
 * Idea: eight rows with a constant stride are scattered together: their values are transposed, one register per column,
 *       and the products of neighbouring columns are added to y in one operation. General rows are scattered one entry
 *       at a time, because the scatter instruction takes twice as long and would need a comparison of columns. Short
 *       rows are scattered without a branch per row. The matrix is prefetched by software. Shared rows and pieces use
 *       the loops of csr_scatter_portable.c.
 */
#include "base/simd_x86.h"
#include "formats/csr/csr_driver.h"

enum {
    SPREAD_ROWS = 256,     /* maximum number of short rows that are scattered together */
    SPREAD_ENTRIES = 1024, /* maximum entries of these rows: their copies of x take 8 KiB, in the L1 cache next to y */
    SPREAD_MEAN = 8,       /* mean row length below which copying x takes less time than a misprediction per row */
    NEIGHBOURS = 64        /* columns of a strided run that are inspected for neighbours */
};

/* Returns a mask of the first `count` lanes; all eight if count >= 8. */
static inline __mmask8 first_lanes(int count)
{
    return (__mmask8)_bzhi_u32(0xff, (unsigned)count);
}

/*
 * Transposes four columns of eight rows, one register per column. On entry the lower halves of v[0] .. v[3] hold rows
 * 0, 1, 4 and 5, and the upper halves hold rows 2, 3, 6 and 7.
 */
static inline void transpose_f64(__m512d v[4])
{
    spryi_transpose_4x8_pd(v);
}

/* Does the same as transpose_f64 for f32: collects pairs of columns, then orders the rows of each column. */
static inline void transpose_f32(__m256 v[4])
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

/* Returns `now` moved up by `shift` lanes. The lanes below are the last lanes of `before`. */
static inline __m512d move_f64(__m512d before, int shift, __m512d now)
{
    const __m512i lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm512_permutex2var_pd(before, _mm512_add_epi64(lanes, _mm512_set1_epi64(8 - shift)), now);
}

static inline __m256 move_f32(__m256 before, int shift, __m256 now)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_permutex2var_ps(before, _mm256_add_epi32(lanes, _mm256_set1_epi32(8 - shift)), now);
}

/* The loops of all levels, then the loops of AVX-512. */
#define SPRYI_TEMPLATE "formats/csr/csr_scatter.tmpl.c"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "formats/csr/csr_scatter_avx512.tmpl.c"
#include "base/instantiate.h"

const spryi_run_table spryi_csr_scatter_avx512 = SPRYI_TABLE(run);
