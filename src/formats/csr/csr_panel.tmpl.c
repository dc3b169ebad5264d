/*
 * Several columns of x and y, row by row, for csr_avx2_cpu and csr_avx512_cpu: an entry is multiplied with a register
 * of its row of x. What is left of the columns takes the first lanes of one. has_values: 0 for a pattern; full: 1 where
 * all lanes are columns. A row is added up in the same order whatever the columns, so that none depends on the others.
 */

/* Entries k .. end - 1 times columns c .. of their rows of x. Four sums, so that no addition waits for the last. */
SPRYI_INLINE VEC SPRY_FN(panel_sum)(const spryi_csr_job *job, int64_t k, int64_t end, int64_t c, int count,
                                    const int has_values, const int full)
{
    const SPRY_J *Aj = job->columns;
    const SPRY_S *Ax = job->values;
    const SPRY_V *x = (const SPRY_V *)job->x + c;
    const int64_t stride = job->x_stride;
#define X_OF(k) (full ? LOAD(x + (int64_t)Aj[k] * stride) : PANEL_LOAD(x + (int64_t)Aj[k] * stride, count))
#define ADD_ENTRY(k, sum) (has_values ? FMA(SET1(SPRY_VALUE(Ax[k])), X_OF(k), sum) : ADD(X_OF(k), sum))
    VEC s0 = ZERO(), s1 = ZERO(), s2 = ZERO(), s3 = ZERO();
    for (; k + 4 <= end; k += 4) {
        if (has_values) spryi_prefetch_entries(Ax, Aj, k, k + 4, sizeof(SPRY_S), sizeof(SPRY_J));
        s0 = ADD_ENTRY(k, s0);
        s1 = ADD_ENTRY(k + 1, s1);
        s2 = ADD_ENTRY(k + 2, s2);
        s3 = ADD_ENTRY(k + 3, s3);
    }
    for (; k < end; k++) s0 = ADD_ENTRY(k, s0);
#undef ADD_ENTRY
#undef X_OF
    return ADD(ADD(s0, s1), ADD(s2, s3));
}

SPRYI_INLINE void SPRY_FN(panel_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, int64_t columns,
                                      const int has_values)
{
    const spryi_csr_job own = *job; /* a copy that no store can change */
    const SPRY_P *Ap = own.offsets;
    const int rest = (int)(columns % LANES);
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = Ap[i], last = Ap[i + 1], y = i * own.y_stride;
        int64_t c = 0;
        for (; c + LANES <= columns; c += LANES) {
            const VEC sums = SPRY_FN(panel_sum)(&own, first, last, c, LANES, has_values, 1);
            SPRY_FN(put)(&own, y + c, LANES, sums);
        }
        if (rest > 0) {
            const VEC sums = SPRY_FN(panel_sum)(&own, first, last, c, rest, has_values, 0);
            SPRY_FN(put)(&own, y + c, rest, sums);
        }
    }
    if (own.stream_y) _mm_sfence();
}

SPRYI_INLINE void SPRY_FN(panel_piece)(const spryi_csr_job *job, const spryi_csr_block *piece, int64_t apart,
                                       int64_t columns, const int has_values)
{
    SPRY_V lanes[LANES];
    for (int64_t c = 0; c < columns; c += LANES) {
        const int count = columns - c < LANES ? (int)(columns - c) : LANES;
        const VEC sum = SPRY_FN(panel_sum)(job, piece->begin, piece->end, c, count, has_values, 0);
        memcpy(lanes, &sum, sizeof lanes);
        for (int l = 0; l < count; l++) job->sums[(c + l) * apart + piece->piece] = (double)lanes[l];
    }
}

#if !SPRY_IS_MIXED
SPRYI_CSR_PANEL_LOOPS(ones, panel, 0)
#endif
SPRYI_CSR_PANEL_LOOPS(values, panel, 1)
