/*
 * For each value type, with 32-bit columns: lists of products, rows with few products, and the dense window with a flag
 * for each column instead of a bit. A flag costs one store; 64 flags are converted to bits together.
 */
#if !SPRY_J_IS_64

/*
 * Lists the columns of all products of row i in their order. Returns their number. ahead: a compile-time constant. If
 * it is not 0, each entry of A prefetches the row of B that the entry `ahead` positions later selects.
 */
SPRYI_INLINE int64_t SPRY_FN(list_columns)(const spryi_spgemm_job *job, int64_t i, int32_t *restrict list,
                                           const int ahead)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices, *restrict Bj = job->b.indices;
    const SPRY_V *restrict Bx = job->b.values;
    const SPRY_P last = (SPRY_P)(job->a.nnz - 1), stop = Ap[i + 1];
    int32_t *to = list;
    for (SPRY_P k = Ap[i]; k < stop; k++) {
        const SPRY_P begin = Bp[Aj[k]];
        const int length = (int)(Bp[Aj[k] + 1] - begin);
        if (ahead > 0) {
            const SPRY_P next = Bp[Aj[k + ahead < last ? k + ahead : last]];
            _mm_prefetch((const char *)(Bj + next), _MM_HINT_T0);
            _mm_prefetch((const char *)(Bx + next), _MM_HINT_T0);
        }
        for (int t = 0; t < length; t += 16) {
            const __mmask16 live = spryi_upto16(length - t);
            _mm512_storeu_si512(to + t, _mm512_maskz_loadu_epi32(live, Bj + begin + t));
        }
        to += length;
    }
    return to - list;
}

/* Lists the products a_ik * b_kj of row i, in the order of list_columns. */
static inline void SPRY_FN(list_products)(const spryi_spgemm_job *job, int64_t i, SPRY_V *restrict to)
{
    const SPRY_P *restrict Ap = job->a.offsets, *restrict Bp = job->b.offsets;
    const SPRY_J *restrict Aj = job->a.indices;
    const SPRY_V *restrict Ax = job->a.values, *restrict Bx = job->b.values;
    for (SPRY_P k = Ap[i]; k < Ap[i + 1]; k++) {
        const SPRY_P begin = Bp[Aj[k]];
        const int length = (int)(Bp[Aj[k] + 1] - begin);
        const VECTOR a = OF(set1)(Ax[k]);
        for (int t = 0; t < length; t += LANES)
            OF(storeu)(to + t, OF(mul)(a, OF(maskz_loadu)(UPTO(length - t), Bx + begin + t)));
        to += length;
    }
}

/* Returns the number of entries of row i, which has 1 to SPRYI_SHORT products. Sets its first and last column. */
static inline int64_t SPRY_FN(count_short)(const spryi_spgemm_job *job, int64_t i, int64_t *first, int64_t *last)
{
    int32_t list[SPRYI_SHORT + 16], low, high;
    const int count = (int)SPRY_FN(list_columns)(job, i, list, 0);
    const int n = spryi_count_different(list, count, &low, &high);
    *first = low;
    *last = high;
    return n;
}

/* Fills row i, which has 1 to SPRYI_SHORT products. */
static inline void SPRY_FN(fill_short)(const spryi_spgemm_job *job, int64_t i, SPRY_J *restrict Cj, SPRY_V *restrict Cx)
{
    int32_t list[SPRYI_SHORT + 16];
    uint16_t positions[SPRYI_SHORT];
    SPRY_V values[SPRYI_SHORT + 16], sums[SPRYI_SHORT] = {0};
    const SPRY_V alpha = *(const SPRY_V *)job->alpha;
    const int count = (int)SPRY_FN(list_columns)(job, i, list, 0);
    SPRY_FN(list_products)(job, i, values);
    const int64_t n = spryi_short_positions(list, count, positions, Cj);
    for (int p = 0; p < count; p++) sums[positions[p]] += values[p];
    for (int64_t k = 0; k < n; k++) Cx[k] = alpha * sums[k];
}

/* Adds the products of row i to the sums, and flags their columns. */
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

/* Writes the flagged columns of `words` words in order, and clears the window. Returns their number. */
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
