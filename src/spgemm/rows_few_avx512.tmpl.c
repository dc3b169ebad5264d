/*
 * Part of rows_count.tmpl.c and rows_fill.tmpl.c where they are compiled for AVX-512: rows of at most FEW products, as
 * roads, circuits and graphs of low degree have them. All columns lie in two registers. Comparing them with each one
 * tells which meet a column first, and how many of those are smaller, which is where its sum belongs: nothing is
 * sorted, cleared or looked through, and no branch depends on columns.
 */
#define FEW 32

typedef struct SPRY_FN(few) {
    int32_t columns[FEW + 16];
    int count;
} SPRY_FN(few);

/* The first n lanes; all where there are more: _bzhi_u32 alone looks at n modulo 256. */
static inline __mmask16 SPRY_FN(upto16)(int64_t n)
{
    return n < 16 ? (__mmask16)_bzhi_u32(0xffff, (unsigned)n) : (__mmask16)0xffff;
}

/* The columns of row i, in the order of its products. */
static inline void SPRY_FN(few_columns)(const spryi_spgemm_job *job, int64_t i, SPRY_FN(few) * few)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    int n = 0;
    _mm512_storeu_si512(few->columns, _mm512_setzero_si512());
    _mm512_storeu_si512(few->columns + 16, _mm512_setzero_si512());
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_P begin = Bp[Aj[k]];
        const int length = (int)(Bp[Aj[k] + 1] - begin);
        for (int t = 0; t < length; t += 16) {
            const __mmask16 here = SPRY_FN(upto16)(length - t);
            _mm512_storeu_si512(few->columns + n + t, _mm512_maskz_loadu_epi32(here, Bj + begin + t));
        }
        n += length;
    }
    few->count = n;
}

static inline uint32_t SPRY_FN(few_less)(const __m512i v[2], int32_t column)
{
    const __m512i x = _mm512_set1_epi32(column);
    return _mm512_cmplt_epi32_mask(v[0], x) | (uint32_t)_mm512_cmplt_epi32_mask(v[1], x) << 16;
}

/* Bit p: product p is the first of its column. Zeros behind the last one meet only what is before them. */
static inline uint32_t SPRY_FN(few_leaders)(const SPRY_FN(few) * few, const __m512i v[2])
{
    const __m512i met0 = _mm512_conflict_epi32(v[0]), met1 = _mm512_conflict_epi32(v[1]);
    uint32_t again = 0;
    for (int p = 0; p < 16 && few->count > 16; p++)
        again |= _mm512_cmpeq_epi32_mask(v[1], _mm512_set1_epi32(few->columns[p]));
    const uint32_t first = (_mm512_testn_epi32_mask(met1, met1) & ~again) << 16;
    return (first | _mm512_testn_epi32_mask(met0, met0)) & (uint32_t)_bzhi_u64(0xffffffffu, (unsigned)few->count);
}
