/*
 * Part of rows_count.tmpl.c and rows_fill.tmpl.c: rows that repeat the one before them. Grids, meshes and finite
 * elements are full of rows whose entries in A, and the rows of B behind them, are those of the row before moved by a
 * constant: then so is the row of C, and nothing has to be counted, sorted or looked for.
 */

/* Entries 0 .. n-1 of x are those of y plus `shift`. */
static inline int SPRY_FN(moved)(const SPRY_J *x, const SPRY_J *y, int64_t n, SPRY_J shift)
{
#if defined(__AVX512F__) && !SPRY_J_IS_64
    const __m512i by = _mm512_set1_epi32(shift);
    for (int64_t t = 0; t < n; t += 16) {
        const __mmask16 here = n - t < 16 ? (__mmask16)((1u << (n - t)) - 1) : (__mmask16)0xffff;
        const __m512i from = _mm512_add_epi32(_mm512_maskz_loadu_epi32(here, y + t), by);
        if (_mm512_mask_cmpneq_epi32_mask(here, _mm512_maskz_loadu_epi32(here, x + t), from)) return 0;
    }
    return 1;
#else
    for (int64_t t = 0; t < n; t++)
        if (x[t] - y[t] != shift) return 0;
    return 1;
#endif
}

/* Row i > 0 of C repeats row i - 1, *shift columns further on. */
static __attribute__((noinline)) int SPRY_FN(repeats)(const spryi_spgemm_job *job, int64_t i, SPRY_J *shift)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Bj = job->b.indices, *restrict Aj = (const SPRY_J *)job->a.indices + Ap[i];
    const int64_t n = (int64_t)(Ap[i + 1] - Ap[i]);
    const SPRY_J *restrict before = Aj - n;
    if (n == 0 || (int64_t)(Ap[i] - Ap[i - 1]) != n) return 0;
    const SPRY_J step = (SPRY_J)(Aj[0] - before[0]);
    if (Aj[n - 1] - before[n - 1] != step || !SPRY_FN(moved)(Aj, before, n, step)) return 0;
    *shift = 0;
    if (step == 0) return 1;
    int known = 0;
    for (int64_t t = 0; t < n; t++) {
        const SPRY_P here = Bp[Aj[t]], there = Bp[before[t]];
        const int64_t length = (int64_t)(Bp[Aj[t] + 1] - here);
        if ((int64_t)(Bp[before[t] + 1] - there) != length) return 0;
        if (length == 0) continue;
        if (!known) *shift = (SPRY_J)(Bj[here] - Bj[there]);
        known = 1;
        if (!SPRY_FN(moved)(Bj + here, Bj + there, length, *shift)) return 0;
    }
    return 1;
}
