/*
 * The loops in plain C. csr_portable_cpu uses all of them. csr_avx2_cpu and csr_avx512_cpu compile them for their
 * levels and use some for patterns, because SIMD does not save the two loads per entry of a pattern (of the column and
 * of x). has_values: 0 for a pattern.
 */

#if SPRY_FIRST_J

SPRYI_INLINE void SPRY_FNJ(plain_put)(const spryi_csr_job *job, int64_t i, SPRY_C sum)
{
    SPRY_V *y = (SPRY_V *)job->y + i;
    const SPRY_C alpha = SPRY_SCALAR(job->alpha), beta = SPRY_SCALAR(job->beta);
    *y = (SPRY_V)(beta == 0 ? alpha * sum : alpha * sum + beta * (SPRY_C)*y);
}

/*
 * Returns the sum of entries k .. end - 1 times x. Uses four sums, so that an addition need not wait for the previous
 * one.
 */
SPRYI_INLINE SPRY_C SPRY_FNJ(plain_dot)(const spryi_csr_job *job, int64_t k, int64_t end, const int has_values)
{
    const SPRY_J *Aj = job->columns;
    const SPRY_S *Ax = job->values;
    const SPRY_V *x = job->x;
    SPRY_C s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    if (has_values) {
        for (; k + 4 <= end; k += 4) {
            s0 += SPRY_VALUE(Ax[k]) * (SPRY_C)x[Aj[k]];
            s1 += SPRY_VALUE(Ax[k + 1]) * (SPRY_C)x[Aj[k + 1]];
            s2 += SPRY_VALUE(Ax[k + 2]) * (SPRY_C)x[Aj[k + 2]];
            s3 += SPRY_VALUE(Ax[k + 3]) * (SPRY_C)x[Aj[k + 3]];
        }
        for (; k < end; k++) s0 += SPRY_VALUE(Ax[k]) * (SPRY_C)x[Aj[k]];
        return (s0 + s1) + (s2 + s3);
    }
    for (; k + 8 <= end; k += 8) {
        spryi_csr_fetch_near(Aj, k * (int64_t)sizeof(SPRY_J));
        s0 += (SPRY_C)x[Aj[k]] + (SPRY_C)x[Aj[k + 4]];
        s1 += (SPRY_C)x[Aj[k + 1]] + (SPRY_C)x[Aj[k + 5]];
        s2 += (SPRY_C)x[Aj[k + 2]] + (SPRY_C)x[Aj[k + 6]];
        s3 += (SPRY_C)x[Aj[k + 3]] + (SPRY_C)x[Aj[k + 7]];
    }
    spryi_csr_fetch_near(Aj, k * (int64_t)sizeof(SPRY_J)); /* unconditional: a branch costs more */
    for (; k + 2 <= end; k += 2) {
        s0 += (SPRY_C)x[Aj[k]];
        s1 += (SPRY_C)x[Aj[k + 1]];
    }
    if (k < end) s2 += (SPRY_C)x[Aj[k]];
    return (s0 + s1) + (s2 + s3);
}

/*
 * Multiplies 8 rows at a time, or 16 of a pattern: the inner loops have a constant length and contiguous x. Reads only
 * the columns of the first row.
 */
SPRYI_INLINE void SPRY_FNJ(plain_strided)(const spryi_csr_job *job, int64_t begin, int64_t end, const int has_values)
{
    const spryi_csr_job own = *job; /* local copy, which no store can change */
    enum { VALUES = 8, ONES = 16 };
    const int64_t first = spryi_csr_offset(&own, begin), length = spryi_csr_offset(&own, begin + 1) - first;
    const SPRY_J *Aj = (const SPRY_J *)own.columns + first;
    int64_t i = begin;
    for (; has_values && i + VALUES <= end; i += VALUES) {
        const SPRY_S *Ax = (const SPRY_S *)own.values + first + (i - begin) * length;
        SPRY_C sum[VALUES] = {0};
        for (int64_t j = 0; j < length; j++) {
            const SPRY_V *x = (const SPRY_V *)own.x + Aj[j] + (i - begin);
            for (int r = 0; r < VALUES; r++) sum[r] += SPRY_VALUE(Ax[r * length + j]) * (SPRY_C)x[r];
        }
        for (int r = 0; r < VALUES; r++) SPRY_FNJ(plain_put)(&own, i + r, sum[r]);
    }
    for (; !has_values && i + ONES <= end; i += ONES) {
        SPRY_C sum[ONES] = {0};
        for (int64_t j = 0; j < length; j++) {
            const SPRY_V *x = (const SPRY_V *)own.x + Aj[j] + (i - begin);
            for (int r = 0; r < ONES; r++) sum[r] += (SPRY_C)x[r];
        }
        for (int r = 0; r < ONES; r++) SPRY_FNJ(plain_put)(&own, i + r, sum[r]);
    }
    for (; i < end; i++) {
        const SPRY_S *Ax = has_values ? (const SPRY_S *)own.values + first + (i - begin) * length : NULL;
        SPRY_C sum = 0;
        for (int64_t j = 0; j < length; j++) {
            const SPRY_C x = (SPRY_C)((const SPRY_V *)own.x)[Aj[j] + (i - begin)];
            sum += has_values ? SPRY_VALUE(Ax[j]) * x : x;
        }
        SPRY_FNJ(plain_put)(&own, i, sum);
    }
}

/* A group reads its columns once. In a pattern all rows of a group have the same sum. */
SPRYI_INLINE void SPRY_FNJ(plain_shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group,
                                         const int has_values)
{
    const spryi_csr_job own = *job; /* local copy, which no store can change */
    const SPRY_V *x = own.x;
    for (int64_t i = begin; i < end; i += group) {
        const int64_t first = spryi_csr_offset(&own, i), length = spryi_csr_offset(&own, i + 1) - first;
        if (!has_values) {
            const SPRY_C sum = SPRY_FNJ(plain_dot)(&own, first, first + length, 0);
            for (int r = 0; r < group; r++) SPRY_FNJ(plain_put)(&own, i + r, sum);
            continue;
        }
        const SPRY_J *Aj = (const SPRY_J *)own.columns + first;
        const SPRY_S *Ax = (const SPRY_S *)own.values + first;
        SPRY_C sum[SPRYI_MAX_GROUP] = {0};
        for (int64_t j = 0; j < length; j++) {
            SPRY_C xj = (SPRY_C)x[Aj[j]];
            for (int r = 0; r < group; r++) sum[r] += SPRY_VALUE(Ax[r * length + j]) * xj;
        }
        for (int r = 0; r < group; r++) SPRY_FNJ(plain_put)(&own, i + r, sum[r]);
    }
}

SPRYI_INLINE void SPRY_FNJ(plain_piece)(const spryi_csr_job *job, const spryi_csr_block *piece, const int has_values)
{
    job->sums[piece->piece] = (double)SPRY_FNJ(plain_dot)(job, piece->begin, piece->end, has_values);
}

/* ---- multiple row-major vectors ------------------------------------------------------------------------ */

/* Adds the products of entries k .. end - 1 and x to sum[0 .. count - 1], for `count` vectors from vector c on. */
SPRYI_INLINE void SPRY_FNJ(plain_panel_dot)(const spryi_csr_job *job, int64_t k, int64_t end, int64_t c, SPRY_C *sum,
                                            const int has_values, const int count)
{
    for (; k < end; k++) {
        const SPRY_V *x = (const SPRY_V *)job->x + (int64_t)((const SPRY_J *)job->columns)[k] * job->x_stride + c;
        const SPRY_C a = has_values ? SPRY_VALUE(((const SPRY_S *)job->values)[k]) : 1;
        for (int l = 0; l < count; l++) sum[l] += has_values ? a * (SPRY_C)x[l] : (SPRY_C)x[l];
    }
}

/*
 * Multiplies a panel: up to SPRYI_CSR_PANEL vectors from c on. If it is full, plain_panel_dot gets a constant count.
 * Returns the number of vectors.
 */
SPRYI_INLINE int SPRY_FNJ(plain_panel_sums)(const spryi_csr_job *job, int64_t k, int64_t end, int64_t c,
                                            int64_t columns, SPRY_C *sum, const int has_values)
{
    const int count = columns - c < SPRYI_CSR_PANEL ? (int)(columns - c) : SPRYI_CSR_PANEL;
    if (count == SPRYI_CSR_PANEL)
        SPRY_FNJ(plain_panel_dot)(job, k, end, c, sum, has_values, SPRYI_CSR_PANEL);
    else
        SPRY_FNJ(plain_panel_dot)(job, k, end, c, sum, has_values, count);
    return count;
}

SPRYI_INLINE void SPRY_FNJ(plain_panel_piece)(const spryi_csr_job *job, const spryi_csr_block *piece,
                                              int64_t sums_stride, int64_t columns, const int has_values)
{
    for (int64_t c = 0; c < columns; c += SPRYI_CSR_PANEL) {
        SPRY_C sum[SPRYI_CSR_PANEL] = {0};
        const int count = SPRY_FNJ(plain_panel_sums)(job, piece->begin, piece->end, c, columns, sum, has_values);
        for (int l = 0; l < count; l++) job->sums[(c + l) * sums_stride + piece->piece] = (double)sum[l];
    }
}

SPRYI_INLINE void SPRY_FNJ(plain_panel_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, int64_t columns,
                                             const int has_values)
{
    const spryi_csr_job own = *job; /* local copy, which no store can change */
    for (int64_t i = begin; i < end; i++)
        for (int64_t c = 0; c < columns; c += SPRYI_CSR_PANEL) {
            SPRY_C sum[SPRYI_CSR_PANEL] = {0};
            const int count = SPRY_FNJ(plain_panel_sums)(&own, spryi_csr_offset(&own, i), spryi_csr_offset(&own, i + 1),
                                                         c, columns, sum, has_values);
            for (int l = 0; l < count; l++) SPRY_FNJ(plain_put)(&own, i * own.y_stride + c + l, sum[l]);
        }
}

SPRYI_CSR_LOOPS(value, 1)
SPRYI_CSR_PANEL_LOOPS(value, plain_panel, 1)
#if !SPRY_IS_MIXED
SPRYI_CSR_LOOPS(pattern, 0)
SPRYI_CSR_PANEL_LOOPS(pattern, plain_panel, 0)
#endif

#endif

SPRYI_INLINE void SPRY_FN(plain_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, const int has_values)
{
    const SPRY_P *Ap = job->offsets;
    for (int64_t i = begin; i < end; i++)
        SPRY_FNJ(plain_put)(job, i, SPRY_FNJ(plain_dot)(job, Ap[i], Ap[i + 1], has_values));
}

/* ---- all together ---------------------------------------------------------------------------------------- */

SPRYI_CSR_ROWS(value, 1)
#if !SPRY_IS_MIXED /* patterns have no mixed types */
SPRYI_CSR_ROWS(pattern, 0)
#endif

static inline spry_status SPRY_FN(plain_run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_csr_loops loops[] = {
#if SPRY_IS_MIXED
        {0},
#else
        {SPRY_FN(pattern_rows), SPRY_FNJ(pattern_strided), SPRY_FNJ(pattern_shared), SPRY_FNJ(pattern_piece), NULL,
         NULL, SPRY_FNJ(pattern_panel_rows), SPRY_FNJ(pattern_panel_piece)},
#endif
        {SPRY_FN(value_rows), SPRY_FNJ(value_strided), SPRY_FNJ(value_shared), SPRY_FNJ(value_piece), NULL, NULL,
         SPRY_FNJ(value_panel_rows), SPRY_FNJ(value_panel_piece)},
    };
    return spryi_csr_drive(args, loops);
}
