/*
 * csr_avx512_cpu: CSR with AVX-512.
 *
 * Idea: a register of entries of a row a step, eight f64 or sixteen f32, the ends masked, x put together by loads
 * and inserts; short rows by as many, so that one tree adds all their sums; of very short ones the products are
 * made without regard to rows and sorted out after. Where columns step or are shared (runs, see csr.h) neither all
 * columns are read nor all x gathered. The matrix is fetched ahead by software, which alone gains a third.
 * Work: one thread a block of rows, or a piece of a long row, at a time.
 * Cost: bytes of CSR, less the columns of stepped rows (all) and of shared rows (all but one of a group).
 * Source: this library.
 */
#include "core/simd_x86.h"
#include "formats/csr/csr.h"

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

/* The same of sixteen rows: quarter b of v[r] holds row 4 * b + r. */
static inline void transpose_ps(__m512 v[4])
{
    __m512 a = _mm512_unpacklo_ps(v[0], v[1]), b = _mm512_unpackhi_ps(v[0], v[1]);
    __m512 c = _mm512_unpacklo_ps(v[2], v[3]), d = _mm512_unpackhi_ps(v[2], v[3]);
    v[0] = _mm512_shuffle_ps(a, c, 0x44);
    v[1] = _mm512_shuffle_ps(a, c, 0xee);
    v[2] = _mm512_shuffle_ps(b, d, 0x44);
    v[3] = _mm512_shuffle_ps(b, d, 0xee);
}

#define SPRYI_TEMPLATE "formats/csr/csr_avx512.tmpl.c"
#include "core/instantiate.h"

const spryi_run_table spryi_csr_values_avx512 = SPRYI_TABLE(run);

const spryi_kernel spryi_csr_avx512_cpu = {
    .name = "csr_avx512_cpu",
    .format = "csr",
    .device = "cpu",
    .idea =
        "eight f64 or sixteen f32 entries or rows a step, masked ends, software prefetch, shared column reads; AVX-512",
    .source = "this library",
    .deterministic = 1,
    .pattern = 1,
    .simd = SPRYI_AVX512,
    .spmv = &spryi_csr_gather_avx512,
    .spmv_t = &spryi_csr_scatter_avx512,
};
