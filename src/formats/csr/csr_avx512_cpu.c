/*
 * csr_avx512_cpu: CSR with AVX-512.
 *
 * Idea: a step multiplies a register of a row's entries, eight f64 or sixteen f32. The last step of a row is masked.
 *       Every step loads x element by element, without gather instructions. Short rows form groups of LANES rows, so
 *       that one tree of additions computes all their sums. For very short rows, all products are computed regardless
 *       of rows and then assigned to rows. In strided and shared runs (csr.h), not all columns are read, and not all x
 *       are loaded element by element. With spans no columns are read: one load brings x of the next entries of a row
 *       or of a group of shared rows. Software prefetch of the matrix makes products a third faster.
 * Work: one thread per block of rows or piece of a long row.
 * Cost: bytes of CSR, without the columns that runs do not read. A strided run reads only the columns of its first row,
 *       and a group of rows with shared columns reads them once. A span takes 8 bytes and replaces the columns of its
 *       entries.
 * Source: this library.
 */
#include "base/avx512_lanes.h"
#include "formats/csr/csr_driver.h"

#include <string.h>

enum {
    SHORT_MEAN = 20, /* mean row length below which one tree of additions computes the sums of LANES rows */
    PACKED_f64 = 5,  /* maximum mean row length of groups whose products are computed regardless of rows */
    PACKED_f32 = 8,
    FEW_MEAN_f64 = 8, /* above this mean row length, a run of fewer than 4 rows is faster without a tree of additions */
    FEW_MEAN_f32 = 4
};

/* Returns a mask of the first `count` lanes. A count above the number of lanes sets all lanes. */
static inline __mmask16 first_lanes(int count)
{
    return (__mmask16)_bzhi_u32(0xffff, (unsigned)count);
}

/* Returns a register whose lane r is the sum of the eight lanes of row[r]. */
static inline __m512d sum_rows_f64(const __m512d row[8])
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

/* One step of the tree: adds the 128-bit quarters 0 + 1 and 2 + 3 of a and of b. */
static inline __m512 add_quarters(__m512 a, __m512 b)
{
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

/* Returns two partial sums per row: quarters 0 and 1 have those of rows 0 to 3, quarters 2 and 3 of rows 4 to 7. */
static inline __m512 sum_halves(const __m512 row[8])
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

/* Returns a register whose lane r is the sum of the sixteen lanes of row[r]. */
static inline __m512 sum_rows_f32(const __m512 row[16])
{
    return add_quarters(sum_halves(row), sum_halves(row + 8));
}

/* Returns the sums of eight rows, in the lower lanes. */
static inline __m512 sum_group_f32(const __m512 row[8])
{
    __m512 halves = sum_halves(row);
    return add_quarters(halves, halves);
}

static inline __m512d sum_group_f64(const __m512d row[8])
{
    return sum_rows_f64(row);
}

/*
 * Loads four stored values, converted to the vectors' type. whole: loads all four; otherwise loads the values in
 * `live`, and zeros for the others.
 */
static inline __m256d four_values_f64(const double *p, __mmask8 live, const int whole)
{
    return whole ? _mm256_loadu_pd(p) : _mm256_maskz_loadu_pd(live, p);
}
static inline __m256d four_values_f32_f64(const float *p, __mmask8 live, const int whole)
{
    return _mm256_cvtps_pd(whole ? _mm_loadu_ps(p) : _mm_maskz_loadu_ps(live, p));
}
static inline __m128 four_values_f32(const float *p, __mmask8 live, const int whole)
{
    return whole ? _mm_loadu_ps(p) : _mm_maskz_loadu_ps(live, p);
}
static inline __m128 four_values_bf16_f32(const spryi_bf16_number *p, __mmask8 live, const int whole)
{
    const __m128i v = whole ? _mm_loadl_epi64((const void *)p) : _mm_maskz_loadu_epi16(live, p);
    return _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(v), 16));
}
static inline __m128 four_values_f16_f32(const spryi_f16_number *p, __mmask8 live, const int whole)
{
    return _mm_maskz_cvtph_ps(0xf, whole ? _mm_loadl_epi64((const void *)p) : _mm_maskz_loadu_epi16(live, p));
}

/*
 * Transposes four columns of sixteen rows in place. On entry quarter q of v[r] has row r + 4q; on return v[j] is column
 * j.
 */
static inline void transpose_4x16(__m512 v[4])
{
    const __m512 a = _mm512_unpacklo_ps(v[0], v[1]), b = _mm512_unpackhi_ps(v[0], v[1]);
    const __m512 c = _mm512_unpacklo_ps(v[2], v[3]), d = _mm512_unpackhi_ps(v[2], v[3]);
    v[0] = _mm512_shuffle_ps(a, c, 0x44);
    v[1] = _mm512_shuffle_ps(a, c, 0xee);
    v[2] = _mm512_shuffle_ps(b, d, 0x44);
    v[3] = _mm512_shuffle_ps(b, d, 0xee);
}

/*
 * Loads four columns, one per register, of eight rows (f64) or sixteen rows (f32) with `length` entries each. Ax points
 * to the first row. If `whole` is set, all these rows and columns exist. Otherwise only the first `rows` rows and the
 * columns in `live` are read.
 */
#define ROW_AT(Ax, row, length) ((const void *)((uintptr_t)(Ax) + (uintptr_t)((row) * (length)) * sizeof *(Ax)))
#define FOUR_COLUMNS_F64(tag, type)                                                                                    \
    SPRYI_INLINE void four_columns_##tag(const type *Ax, int64_t length, __mmask8 live, int rows, const int whole,     \
                                         __m512d v[4])                                                                 \
    {                                                                                                                  \
        for (int r = 0; r < 4; r++) {                                                                                  \
            __m256d half[2];                                                                                           \
            for (int h = 0; h < 2; h++) {                                                                              \
                const int row = (r < 2 ? r : r + 2) + 2 * h;                                                           \
                half[h] = four_values_##tag(ROW_AT(Ax, row, length), row < rows ? live : 0, whole);                    \
            }                                                                                                          \
            v[r] = spryi_join_pd(half);                                                                                \
        }                                                                                                              \
        spryi_transpose_4x8_pd(v);                                                                                     \
    }
#define FOUR_COLUMNS_F32(tag, type)                                                                                    \
    SPRYI_INLINE void four_columns_##tag(const type *Ax, int64_t length, __mmask8 live, int rows, const int whole,     \
                                         __m512 v[4])                                                                  \
    {                                                                                                                  \
        for (int r = 0; r < 4; r++) {                                                                                  \
            __m128 quarter[4];                                                                                         \
            for (int q = 0; q < 4; q++)                                                                                \
                quarter[q] = four_values_##tag(ROW_AT(Ax, r + 4 * q, length), r + 4 * q < rows ? live : 0, whole);     \
            v[r] = spryi_join_ps(quarter);                                                                             \
        }                                                                                                              \
        transpose_4x16(v);                                                                                             \
    }
FOUR_COLUMNS_F64(f64, double)
FOUR_COLUMNS_F64(f32_f64, float)
FOUR_COLUMNS_F32(f32, float)
FOUR_COLUMNS_F32(bf16_f32, spryi_bf16_number)
FOUR_COLUMNS_F32(f16_f32, spryi_f16_number)

/* Returns offsets Ap[0 .. 7] minus `first`, in lanes of 64 bits; 0 where `live` is not set. */
SPRYI_INLINE __m512i offsets_f64(const void *Ap, const int wide, int64_t first, __mmask8 live)
{
    const __m512i at = wide ? _mm512_maskz_loadu_epi64(live, Ap)
                            : _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(live, Ap));
    return _mm512_maskz_sub_epi64(live, at, _mm512_set1_epi64(first));
}

/* Returns sixteen offsets minus `first`, in lanes of 32 bits. */
SPRYI_INLINE __m512i offsets_f32(const void *Ap, const int wide, int64_t first, __mmask16 live)
{
    if (!wide) return _mm512_maskz_sub_epi32(live, _mm512_maskz_loadu_epi32(live, Ap), _mm512_set1_epi32((int)first));
    const __m512i low = _mm512_maskz_loadu_epi64((__mmask8)live, Ap);
    const __m512i high = _mm512_maskz_loadu_epi64((__mmask8)(live >> 8), (const int64_t *)Ap + 8);
    const __m256i a = _mm512_cvtepi64_epi32(_mm512_sub_epi64(low, _mm512_set1_epi64(first)));
    const __m256i b = _mm512_cvtepi64_epi32(_mm512_sub_epi64(high, _mm512_set1_epi64(first)));
    return _mm512_maskz_mov_epi32(live, _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1));
}

/* Integers as wide as the elements: INDEX(add) is _mm512_add_epi32 or _mm512_add_epi64. */
#define INDEX(name) SPRYI_JOIN(_mm512_##name, SPRYI_TYPED(INDEX))
#define INDEX_f32 epi32
#define INDEX_f64 epi64
#define INDEX_LESS(a, b) SPRYI_JOIN(INDEX(cmplt), mask)(a, b)

static inline __m512i index_in_all_f32(int64_t k)
{
    return _mm512_set1_epi32((int)k);
}

static inline __m512i index_in_all_f64(int64_t k)
{
    return _mm512_set1_epi64(k);
}

#define LOAD_HALF(p) PANEL_LOAD(p, LANES / 2) /* compiled, but never called */

#define SPRYI_ANY_ROW
/* The loops of csr_portable.tmpl.c, some of which patterns and mixed types use, then the loops of this level. */
#define SPRYI_TEMPLATE "formats/csr/csr_portable.tmpl.c"
#include "base/instantiate.h"
#define SPRYI_TEMPLATE "formats/csr/csr_avx512.tmpl.c"
#include "base/instantiate.h"

const spryi_run_table spryi_csr_gather_avx512 = SPRYI_TABLE(run);

const spryi_kernel spryi_csr_avx512_cpu = {
    SPRYI_KERNEL_OF("csr", "avx512", "cpu"),
    .idea = "eight f64 or sixteen f32 entries or rows per step, masked ends, software prefetch, shared column reads; "
            "AVX-512",
    .source = "this library",
    .pattern = 1,
    .simd = SPRYI_AVX512,
    .spmv = &spryi_csr_gather_avx512,
    .spmv_t = &spryi_csr_scatter_avx512,
    .multi_row_major = SPRYI_OP_SPMV,
    .multi_column_major = SPRYI_OP_SPMV,
    .supports_column_major = spryi_csr_supports_column_major,
};
