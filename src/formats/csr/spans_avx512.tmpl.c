/* Loads columns Aj[0 .. 15] in 32-bit lanes, 0 where `live` is not set. spryi_csr_spans_find ensures that they fit. */
static inline __m512i SPRY_FN(columns)(const SPRY_J *Aj, __mmask16 live)
{
    if (sizeof(SPRY_J) == 4) return _mm512_maskz_loadu_epi32(live, Aj);
    const __m512i low = _mm512_maskz_loadu_epi64((__mmask8)live, Aj);
    const __m512i high = _mm512_maskz_loadu_epi64((__mmask8)(live >> 8), Aj + 8);
    const __m512i both = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(low));
    return _mm512_inserti64x4(both, _mm512_cvtepi64_epi32(high), 1);
}

/*
 * Writes the first span of entries k .. end - 1 of a row to w. A span has entries in stored order. An entry whose
 * column does not exceed the previous entry's, as in unsorted rows, begins a new span. unbroken: 1 if columns within a
 * span must have no gaps. Returns the number of entries of the span. If k == end, writes an empty span at the column of
 * the row's last entry. Callers can then write a minimum number of spans without a test for the row's end. The row must
 * have an entry.
 */
SPRYI_INLINE int64_t SPRY_FN(next)(const SPRY_J *Aj, int64_t k, int64_t end, const int unbroken, int lanes,
                                   spryi_csr_span *w)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const uint32_t left = end - k < lanes ? (uint32_t)(end - k) : (uint32_t)lanes;
    const __mmask16 live = (__mmask16)_bzhi_u32(0xffff, left);
    const int32_t first = (int32_t)Aj[k < end ? k : end - 1];
    const __m512i column = SPRY_FN(columns)(Aj + k, live);
    const __m512i at = _mm512_sub_epi32(column, _mm512_set1_epi32(first));
    uint32_t parts; /* bit l is set if the span cannot include entry k + l, or the entry is not live */
    if (unbroken) {
        parts = (uint16_t)~_mm512_mask_cmpeq_epi32_mask(live, at, lane);
    } else {
        const __m512i before = SPRY_FN(columns)(Aj + k - 1, (__mmask16)(live & 0xfffe));
        parts = (uint16_t)~_mm512_mask_cmplt_epu32_mask(live, at, _mm512_set1_epi32(lanes));
        parts |= _mm512_mask_cmple_epi32_mask((__mmask16)(live & 0xfffe), column, before);
    }
    const uint32_t count = (uint32_t)__builtin_ctz(parts | 0x10000);
    const uint32_t joined = _bzhi_u32(0xffff, count);
    uint32_t set = joined;
    if (!unbroken)
        set = (uint32_t)_mm512_mask_reduce_or_epi32((__mmask16)joined, _mm512_sllv_epi32(_mm512_set1_epi32(1), at));
    const uint64_t span = (uint32_t)first | (uint64_t)set << 32 | (uint64_t)count << 48;
    memcpy(w, &span, sizeof *w); /* one store */
    return count;
}

/*
 * Cuts the first row of each group in rows begin .. end - 1 into spans at w, at least `least` per row. Groups have
 * `group` rows. Returns the number of spans, or -1 if it exceeds `room`. w has SPRYI_MAX_LEAST_SPANS more elements than
 * `room`. Columns are prefetched by software, `ahead` bytes before their use, since the position of the next span is
 * known late.
 */
SPRYI_INLINE int64_t SPRY_FN(cut_any)(const void *offsets, const void *columns, int64_t begin, int64_t end, int group,
                                      const int unbroken, int lanes, const int least, spryi_csr_span *w, int64_t room)
{
    const SPRY_P *Ap = offsets;
    const SPRY_J *Aj = columns;
    int64_t count = 0;
    for (int64_t i = begin; i < end; i += group) {
        int64_t k = Ap[i];
        const int64_t stop = Ap[i + 1];
        if (count + least > room) return -1;
        if (k == stop) {
            for (int q = 0; q < least; q++) w[count++] = (spryi_csr_span){0};
            continue;
        }
        const int64_t ahead = unbroken ? 2 * group * (stop - k) * (int64_t)sizeof(SPRY_J) : SPRYI_AHEAD_NEAR;
        spryi_prefetch_near(Aj + k, ahead);
        for (int q = 0; q < least; q++) k += SPRY_FN(next)(Aj, k, stop, unbroken, lanes, &w[count++]);
        while (k < stop) {
            if (count == room) return -1;
            spryi_prefetch_near(Aj + k, ahead);
            k += SPRY_FN(next)(Aj, k, stop, unbroken, lanes, &w[count++]);
        }
    }
    return count;
}

static int64_t SPRY_FN(cut_rows)(const search *s, int64_t begin, int64_t end, int group, spryi_csr_span *w,
                                 int64_t room)
{
    const void *Ap = s->csr->offsets, *Aj = s->csr->indices;
    const int lanes = s->lanes;
    if (group > 1) return SPRY_FN(cut_any)(Ap, Aj, begin, end, group, 1, lanes, 1, w, room);
    switch (s->least) {
    case 0: return SPRY_FN(cut_any)(Ap, Aj, begin, end, 1, 0, lanes, 0, w, room);
    case 1: return SPRY_FN(cut_any)(Ap, Aj, begin, end, 1, 0, lanes, 1, w, room);
    case 2: return SPRY_FN(cut_any)(Ap, Aj, begin, end, 1, 0, lanes, 2, w, room);
    case 3: return SPRY_FN(cut_any)(Ap, Aj, begin, end, 1, 0, lanes, 3, w, room);
    default: return SPRY_FN(cut_any)(Ap, Aj, begin, end, 1, 0, lanes, SPRYI_MAX_LEAST_SPANS, w, room);
    }
}
