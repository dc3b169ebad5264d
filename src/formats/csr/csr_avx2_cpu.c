/*
 * csr_avx2_cpu: CSR with AVX2 and FMA.
 *
 * Idea: a step multiplies four f64 or eight f32 entries of a row and gathers x. The remaining entries of a row are
 *       added one by one, since gathers are not masked. In short rows, a step multiplies four entries and loads x
 *       without gathers. Strided and shared runs are multiplied as in csr_avx512_cpu. Patterns use the loops of
 *       csr_portable_cpu, compiled for this level.
 * Work: one thread per block of rows or piece of a long row.
 * Cost: bytes of CSR, without the columns that runs (csr.h) do not read. A strided run reads only the columns of its
 *       first row, and a group of rows with shared columns reads them once.
 * Source: this library.
 */
#include "base/simd_x86.h"
#include "formats/csr/csr_driver.h"

#include <string.h>

enum { SHORT_MEAN = 16 }; /* below this mean row length, a step takes four entries */

/* Gathers x of a register of columns. wide: columns have 64 bits. */
SPRYI_INLINE __m256d gather_f64(const double *x, const void *Aj, const int wide)
{
    return wide ? _mm256_i64gather_pd(x, _mm256_loadu_si256(Aj), 8) : _mm256_i32gather_pd(x, _mm_loadu_si128(Aj), 8);
}

SPRYI_INLINE __m256 gather_f32(const float *x, const void *Aj, const int wide)
{
    if (!wide) return _mm256_i32gather_ps(x, _mm256_loadu_si256(Aj), 4);
    return _mm256_set_m128(_mm256_i64gather_ps(x, _mm256_loadu_si256((const __m256i *)Aj + 1), 4),
                           _mm256_i64gather_ps(x, _mm256_loadu_si256(Aj), 4));
}

/* Loads half a register. The other lanes are 0. */
static inline __m256d load_half_f64(const double *p)
{
    return _mm256_zextpd128_pd256(_mm_loadu_pd(p));
}

static inline __m256 load_half_f32(const float *p)
{
    return _mm256_zextps128_ps256(_mm_loadu_ps(p));
}

/* Returns sum + a*x for four entries of a short row. */
static inline __m256d four_terms_f64(const double *Ax, __m256d x, __m256d sum)
{
    return _mm256_fmadd_pd(_mm256_loadu_pd(Ax), x, sum);
}

static inline __m128 four_terms_f32(const float *Ax, __m128 x, __m128 sum)
{
    return _mm_fmadd_ps(_mm_loadu_ps(Ax), x, sum);
}

/* Returns a register whose lane r is the sum of the lanes of row[r]. */
static inline __m256d sum_rows_f64(const __m256d row[4])
{
    __m256d a = _mm256_hadd_pd(row[0], row[1]), b = _mm256_hadd_pd(row[2], row[3]);
    return _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
}

static inline __m256 sum_rows_f32(const __m256 row[8])
{
    return spryi_sum_rows_ps(row);
}

/* Names for code that is instantiated by type. LANES: elements per register, 4 of f64 or 8 of f32. */
typedef __m256d vec_f64, four_f64;
typedef __m256 vec_f32;
typedef __m128 four_f32;
#define LANES ((int)(32 / sizeof(SPRY_V)))
#define VEC SPRYI_TYPED(vec)
#define LOAD(p) SPRYI_MM256(loadu)(p)
#define LOAD_HALF(p) SPRYI_TYPED(load_half)(p)
#define STORE(p, v) SPRYI_MM256(storeu)(p, v)
#define STREAM(p, v) SPRYI_MM256(stream)(p, v)
#define MASK_LOAD(p, count) SPRYI_MM256(maskload)(p, SPRYI_TYPED(spryi_first_lanes)(count))
#define MASK_STORE(p, count, v) SPRYI_MM256(maskstore)(p, SPRYI_TYPED(spryi_first_lanes)(count), v)
#define FMA(a, b, c) SPRYI_MM256(fmadd)(a, b, c)
#define MUL(a, b) SPRYI_MM256(mul)(a, b)
#define ADD(a, b) SPRYI_MM256(add)(a, b)
#define SET1(s) SPRYI_MM256(set1)(s)
#define ZERO() SPRYI_MM256(setzero)()
#define GATHER(x, Aj) SPRYI_TYPED(gather)(x, Aj, sizeof(SPRY_J) == 8)
#define TRANSPOSE SPRYI_JOIN(spryi_transpose, SPRYI_TYPED(SPRYI_PS))
#define FOUR_X SPRYI_JOIN(spryi_four, SPRYI_TYPED(SPRYI_PS))

/* The plain loops of csr_portable.tmpl.c, which patterns and mixed types use, then the loops of this level. */
#define SPRYI_ANY_ROW
#define SPRYI_TEMPLATE "formats/csr/csr_portable.tmpl.c"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "formats/csr/csr_avx2.tmpl.c"
#include "base/instantiate.h"

const spryi_run_table spryi_csr_gather_avx2 = SPRYI_TABLE(run);

const spryi_kernel spryi_csr_avx2_cpu = {
    SPRYI_KERNEL_OF("csr", "avx2", "cpu"),
    .idea = "four f64 or eight f32 entries or rows per step, software prefetch, shared column reads; AVX2 and FMA",
    .source = "this library",
    .pattern = 1,
    .simd = SPRYI_AVX2,
    .spmv = &spryi_csr_gather_avx2,
    .spmv_t = &spryi_csr_scatter_avx2,
    .multi_row_major = SPRYI_OP_SPMV,
    .multi_column_major = SPRYI_OP_SPMV,
    .supports_column_major = spryi_csr_supports_column_major,
};
