/*
 * csr_avx2_cpu: CSR with AVX2 and FMA.
 *
 * Idea: four f64 or eight f32 entries of a row a step, x gathered; there are no masks for gathers, so the entries
 * left over at the end of a row are added one by one; short rows by four, without gathers. Runs as in csr_avx512_cpu.
 * Work: one thread a block of rows, or a piece of a long row, at a time.
 * Cost: bytes of CSR, less the columns of stepped rows (all) and of shared rows (all but one of a group).
 * Source: this library.
 */
#include "core/simd_x86.h"
#include "formats/csr/csr.h"

/* Under this mean row length, rows are taken four entries a step. */
enum { SHORT_MEAN = 16 };

/* A sliding window over ones and zeros gives the mask of any count. */
static inline __m256i first_lanes_pd(int count)
{
    static const int64_t ones[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i *)(ones + 4 - count));
}

static inline __m256i first_lanes_ps(int count)
{
    static const int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i *)(ones + 8 - count));
}

static inline double sum_four_pd(__m256d v)
{
    __m128d s = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}

static inline float sum_four_ps(__m128 v)
{
    __m128 s = _mm_add_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* Lane r = the sum of row[r]'s four lanes. */
static inline __m256d sum_rows_pd(const __m256d row[4])
{
    __m256d a = _mm256_hadd_pd(row[0], row[1]), b = _mm256_hadd_pd(row[2], row[3]);
    return _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
}

/* In place: lane r of v[j] = lane j of the old v[r]. */
static inline void transpose_pd(__m256d v[4])
{
    __m256d a = _mm256_unpacklo_pd(v[0], v[1]), b = _mm256_unpackhi_pd(v[0], v[1]);
    __m256d c = _mm256_unpacklo_pd(v[2], v[3]), d = _mm256_unpackhi_pd(v[2], v[3]);
    v[0] = _mm256_permute2f128_pd(a, c, 0x20);
    v[1] = _mm256_permute2f128_pd(b, d, 0x20);
    v[2] = _mm256_permute2f128_pd(a, c, 0x31);
    v[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

#define SPRYI_TEMPLATE "formats/csr/csr_avx2.tmpl.c"
#include "core/instantiate.h"

const spryi_run_table spryi_csr_values_avx2 = SPRYI_TABLE(run);

const spryi_kernel spryi_csr_avx2_cpu = {
    .name = "csr_avx2_cpu",
    .format = "csr",
    .device = "cpu",
    .idea = "four f64 or eight f32 entries or rows a step, software prefetch, shared column reads; AVX2 and FMA",
    .source = "this library",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_AVX2,
    .spmv = &spryi_csr_gather_avx2,
    .spmv_t = &spryi_csr_scatter_avx2,
};
