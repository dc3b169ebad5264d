/*
 * The dense window with a flag a column in place of a bit, for each value type; columns have 32 bits. A store takes the
 * place of what a bit takes, and flags become bits 64 at once.
 */
#if !SPRY_J_IS_64

/* sums += a_ik * row k of B, for each k of row i, and flags what it meets. */
static inline void SPRY_FN(add_and_flag)(const spryi_spgemm_job *job, const spryi_dense_window *window, int64_t i,
                                         int64_t base)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    SPRY_V *restrict sums = window->sums;
    unsigned char *restrict flags = window->flags;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_V a = Ax[k];
        const SPRY_P end = Bp[Aj[k] + 1];
        for (SPRY_P t = Bp[Aj[k]]; t < end; t++) {
            const int64_t c = Bj[t] - base;
            sums[c] += a * Bx[t];
            flags[c] = 1;
        }
    }
}

/* All that was flagged in `words` words, in order, and how many; leaves the window cleared. */
static inline int64_t SPRY_FN(emit_flagged)(const spryi_dense_window *window, int64_t words, int64_t base, SPRY_V alpha,
                                            SPRY_J *Cj, SPRY_V *Cx)
{
    const SPRY_J *const start = Cj;
    for (int64_t w = 0; w < words; w++) {
        const __m512i flags = _mm512_loadu_si512(window->flags + 64 * w);
        window->bits[w] = _mm512_test_epi8_mask(flags, flags);
        if (window->bits[w] == 0) continue;
        _mm512_storeu_si512(window->flags + 64 * w, _mm512_setzero_si512());
        const int64_t n = SPRY_FN(emit_word)(window, w, base, alpha, Cj, Cx);
        Cj += n;
        Cx += n;
    }
    return Cj - start;
}
#endif
