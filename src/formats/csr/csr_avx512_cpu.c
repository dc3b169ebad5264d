/*
 * csr_avx512_cpu: CSR with AVX-512.
 *
 * Idea: a register of entries of a row a step, eight f64 or sixteen f32, the ends masked, x put together by loads
 * and inserts; short rows by as many, so that one tree adds all their sums; of very short ones the products are
 * made without regard to rows and sorted out after. Where columns step or are shared (runs, see csr.h) neither all
 * columns are read nor all x gathered; where they lie close (spans, see csr.h) no columns are read at all, and one load
 * brings the x of the next entries of a row, or of a group of shared rows. The matrix is fetched ahead by software,
 * which alone gains a third.
 * Work: one thread a block of rows, or a piece of a long row, at a time.
 * Cost: bytes of CSR, less the columns of stepped rows (all) and of shared rows (all but one of a group); with spans
 * 8 bytes each in place of columns.
 * Source: this library.
 */
#include "core/simd_x86.h"
#include "formats/csr/csr.h"
#include "formats/csr/csr_avx512.h"

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

#define HAS_VALUES 1
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
