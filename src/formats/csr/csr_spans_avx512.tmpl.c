/* Columns k .. k + 15 of those that `live` has; they fit in 32 bits (spryi_csr_find_spans sees to it). */
static inline __m512i SPRY_FN(columns)(const SPRY_J *Aj, __mmask16 live)
{
    if (sizeof(SPRY_J) == 4) return _mm512_maskz_loadu_epi32(live, Aj);
    const __m512i low = _mm512_maskz_loadu_epi64((__mmask8)live, Aj);
    const __m512i high = _mm512_maskz_loadu_epi64((__mmask8)(live >> 8), Aj + 8);
    const __m512i both = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(low));
    return _mm512_inserti64x4(both, _mm512_cvtepi64_epi32(high), 1);
}

/*
 * Spans of the entries k .. end - 1, in their order: how many, or -1 where w has not room for them. An entry that is
 * not right of the one before, as unsorted rows have it, begins a span. The columns `ahead` bytes on are fetched, since
 * where the next span begins is known late.
 */
static inline __attribute__((always_inline)) int64_t SPRY_FN(cut)(const SPRY_J *Aj, int64_t k, int64_t end,
                                                                  int64_t ahead, const span_rule *rule,
                                                                  spryi_csr_span *w, int64_t room)
{
    const __m512i most = _mm512_set1_epi32(rule->lanes), one = _mm512_set1_epi32(1);
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    int64_t count = 0;
    while (k < end) {
        if (count == room) return -1;
        spryi_prefetch_near(Aj + k, ahead);
        const __mmask16 live = (__mmask16)_bzhi_u32(0xffff, end - k < 16 ? (unsigned)(end - k) : 16);
        const __m512i column = SPRY_FN(columns)(Aj + k, live);
        const __m512i before = SPRY_FN(columns)(Aj + k - 1, (__mmask16)(live & 0xfffe));
        const __m512i at = _mm512_sub_epi32(column, _mm512_set1_epi32((int)Aj[k]));
        __mmask16 joins = _mm512_mask_cmplt_epu32_mask(live, at, most);
        if (rule->unbroken)
            joins &= _mm512_cmpeq_epi32_mask(at, lane);
        else
            joins &= _mm512_cmpgt_epi32_mask(column, before) | 1;
        const uint32_t entries =
            (uint32_t)__builtin_ctz(~(uint32_t)joins); /* those that join without one between that does not */
        const uint32_t first = _bzhi_u32(0xffff, entries);
        const uint32_t lanes =
            rule->unbroken ? first
                           : (uint32_t)_mm512_mask_reduce_or_epi32((__mmask16)first, _mm512_sllv_epi32(one, at));
        w[count++] = (spryi_csr_span){(int32_t)Aj[k], (uint16_t)lanes, (uint16_t)entries};
        k += entries;
    }
    return count;
}

/*
 * Spans of rows begin .. end - 1, of one row in `group`, at least rule->least a row: how many, or -1. w has
 * SPRYI_MOST_LEAST places more than room.
 */
static inline __attribute__((always_inline)) int64_t SPRY_FN(cut_rows)(const void *offsets, const void *columns,
                                                                       int64_t begin, int64_t end, int group,
                                                                       const span_rule *rule, spryi_csr_span *w,
                                                                       int64_t room)
{
    const SPRY_P *Ap = offsets;
    int64_t count = 0;
    for (int64_t i = begin; i < end; i += group) {
        const int64_t ahead = group > 1 ? 2 * group * (Ap[i + 1] - Ap[i]) * (int64_t)sizeof(SPRY_J) : SPRYI_AHEAD_NEAR;
        int64_t n = SPRY_FN(cut)(columns, Ap[i], Ap[i + 1], ahead, rule, w + count, room - count);
        if (n < 0) return -1;
        if (count + (n > rule->least ? n : rule->least) > room) return -1;
        /* empty ones after, where x may be looked at and is not read; as many for every row, so that none is guessed */
        const int32_t column = n > 0 ? w[count + n - 1].column : 0;
        for (int q = 0; q < rule->least; q++) w[count + n + q] = (spryi_csr_span){column, 0, 0};
        if (n < rule->least) n = rule->least;
        count += n;
    }
    return count;
}
