/*
 * csr_avx512_cpu: CSR with AVX-512.
 *
 * Idea: eight entries of a row a step, the ends masked, x gathered; short rows by eight, so that one tree adds
 * all their sums; where columns step or are shared (runs, see csr.h) neither all columns are read nor all x
 * gathered. The matrix is fetched ahead by software, which alone gains a third.
 * Work: one thread a block of rows, or a piece of a long row, at a time.
 * Cost: bytes of CSR, less the columns of stepped rows (all) and of shared rows (all but one of a group).
 * Source: this library.
 */
#include "core/simd_x86.h"
#include "formats/csr/csr.h"

/* Under this mean row length, rows are taken by eight. */
enum { SHORT_MEAN = 20 };

static inline __mmask8 first_lanes(int count)
{
    return (__mmask8)_bzhi_u32(0xff, (unsigned)count);
}

static inline float reduce_ps(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
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

/* Lane r = the sum of row r's four lanes; the rows lie as transpose_pd finds them. */
static inline __m512d sum_pairs_pd(const __m512d v[4])
{
    __m512d a = _mm512_add_pd(_mm512_unpacklo_pd(v[0], v[1]), _mm512_unpackhi_pd(v[0], v[1]));
    __m512d b = _mm512_add_pd(_mm512_unpacklo_pd(v[2], v[3]), _mm512_unpackhi_pd(v[2], v[3]));
    return _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0x88), _mm512_shuffle_f64x2(a, b, 0xdd));
}

/* The same as transpose_ps finds them. */
static inline __m256 sum_pairs_ps(const __m256 v[4])
{
    return _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
}

/*
 * In place, four columns of eight rows: lane r of v[j] = column j of row r. Before, v[0..3] hold in their
 * lower halves the rows 0, 1, 4, 5 and in their upper halves the rows 2, 3, 6, 7.
 */
static inline void transpose_pd(__m512d v[4])
{
    __m512d a = _mm512_unpacklo_pd(v[0], v[1]), b = _mm512_unpackhi_pd(v[0], v[1]);
    __m512d c = _mm512_unpacklo_pd(v[2], v[3]), d = _mm512_unpackhi_pd(v[2], v[3]);
    v[0] = _mm512_shuffle_f64x2(a, c, 0x88);
    v[1] = _mm512_shuffle_f64x2(b, d, 0x88);
    v[2] = _mm512_shuffle_f64x2(a, c, 0xdd);
    v[3] = _mm512_shuffle_f64x2(b, d, 0xdd);
}

/* The same with rows 0 to 3 below and 4 to 7 above. */
static inline void transpose_ps(__m256 v[4])
{
    __m256 a = _mm256_unpacklo_ps(v[0], v[1]), b = _mm256_unpackhi_ps(v[0], v[1]);
    __m256 c = _mm256_unpacklo_ps(v[2], v[3]), d = _mm256_unpackhi_ps(v[2], v[3]);
    v[0] = _mm256_shuffle_ps(a, c, 0x44);
    v[1] = _mm256_shuffle_ps(a, c, 0xee);
    v[2] = _mm256_shuffle_ps(b, d, 0x44);
    v[3] = _mm256_shuffle_ps(b, d, 0xee);
}

#define SPRYI_TEMPLATE "formats/csr/csr_avx512.tmpl.c"
#include "core/instantiate.h"

static const spryi_run_table runs = SPRYI_TABLE(run);

const spryi_kernel spryi_csr_avx512_cpu = {
    .name = "csr_avx512_cpu",
    .format = "csr",
    .device = "cpu",
    .idea = "eight entries or eight rows a step, masked ends, software prefetch, shared column reads; AVX-512",
    .source = "this library",
    .deterministic = 1,
    .simd = SPRYI_AVX512,
    .spmv = &runs,
};
