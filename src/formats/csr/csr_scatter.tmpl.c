/*
 * The loops of y = A^T x (csr_driver.h) for one value type and index pair, at all levels. csr_scatter_avx512.tmpl.c has
 * faster loops for AVX-512. has_values: 0 for a pattern.
 */

#if SPRY_FIRST_J

SPRYI_INLINE void SPRY_FNJ(fetch)(const SPRY_S *Ax, const SPRY_J *Aj, int64_t k, const int has_values)
{
    if (has_values) spryi_csr_fetch_near(Ax, k * (int64_t)sizeof(SPRY_S));
    spryi_csr_fetch_near(Aj, k * (int64_t)sizeof(SPRY_J));
}

/* Returns sum + a_k x. */
SPRYI_INLINE SPRY_V SPRY_FNJ(plus)(SPRY_V sum, const SPRY_S *Ax, int64_t k, SPRY_V x, const int has_values)
{
    return (SPRY_V)((SPRY_C)sum + (has_values ? SPRY_VALUE(Ax[k]) * (SPRY_C)x : (SPRY_C)x));
}

/* Scatters entries k .. end - 1 of a row whose x is `x`. */
SPRYI_INLINE void SPRY_FNJ(scatter)(const spryi_csr_job *job, SPRY_V x, int64_t k, int64_t end, const int has_values)
{
    const SPRY_J *Aj = job->columns;
    const SPRY_S *Ax = job->values;
    SPRY_V *y = job->y;
    for (; k + 8 <= end; k += 8) {
        SPRY_FNJ(fetch)(Ax, Aj, k, has_values);
        for (int q = 0; q < 8; q++) y[Aj[k + q]] = SPRY_FNJ(plus)(y[Aj[k + q]], Ax, k + q, x, has_values);
    }
    SPRY_FNJ(fetch)(Ax, Aj, k, has_values); /* unconditional: a branch costs more */
    for (; k < end; k++) y[Aj[k]] = SPRY_FNJ(plus)(y[Aj[k]], Ax, k, x, has_values);
}

/*
 * Reads only the columns of the run's first row. Eight rows are scattered together, one diagonal (entry j of each row)
 * at a time. The elements of y that a diagonal changes are contiguous and distinct. The last diagonal is scattered
 * first, so that each y_j adds the rows in order.
 */
SPRYI_INLINE void SPRY_FNJ(plain_strided)(const spryi_csr_job *job, int64_t begin, int64_t end, const int has_values)
{
    enum { ROWS = 8 };
    const int64_t first = spryi_csr_offset(job, begin), length = spryi_csr_offset(job, begin + 1) - first;
    const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
    const SPRY_S *Ax = job->values;
    const SPRY_V *x = job->x;
    int64_t i = begin, k = first;
    for (; i + ROWS <= end; i += ROWS, k += ROWS * length) {
        SPRY_V *y = (SPRY_V *)job->y + (i - begin);
        for (int64_t j = length - 1; j >= 0; j--) {
            SPRY_V sum[ROWS];
            if (has_values) spryi_csr_fetch(Ax, (k + ROWS * j) * (int64_t)sizeof(SPRY_S));
            for (int r = 0; r < ROWS; r++)
                sum[r] = SPRY_FNJ(plus)(y[Aj[j] + r], Ax, k + r * length + j, x[i + r], has_values);
            for (int r = 0; r < ROWS; r++) y[Aj[j] + r] = sum[r];
        }
    }
    for (; i < end; i++, k += length)
        for (int64_t j = 0; j < length; j++) {
            SPRY_V *y = (SPRY_V *)job->y + (i - begin) + Aj[j];
            *y = SPRY_FNJ(plus)(*y, Ax, k + j, x[i], has_values);
        }
}

/* Adds up a group's rows before the scatter, which then reads the columns once and changes y once. */
SPRYI_INLINE void SPRY_FNJ(scatter_groups)(const spryi_csr_job *job, int64_t begin, int64_t end, const int has_values,
                                           const int group)
{
    enum { STEP = 8 };
    const SPRY_S *Ax = job->values;
    const SPRY_V *x = job->x;
    SPRY_V *y = job->y;
    for (int64_t i = begin; i < end; i += group) {
        const int64_t first = spryi_csr_offset(job, i), length = spryi_csr_offset(job, i + 1) - first;
        const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
        int64_t j = 0;
        for (; j + STEP <= length; j += STEP) {
            SPRY_V sum[STEP] = {0};
            SPRY_FNJ(fetch)(Ax, Aj, j, has_values);
            for (int r = 0; r < group; r++) {
                const int64_t k = first + r * length + j;
                if (has_values) spryi_csr_fetch(Ax, k * (int64_t)sizeof(SPRY_S));
                for (int q = 0; q < STEP; q++) sum[q] = SPRY_FNJ(plus)(sum[q], Ax, k + q, x[i + r], has_values);
            }
            for (int q = 0; q < STEP; q++) y[Aj[j + q]] += sum[q];
        }
        for (; j < length; j++) {
            SPRY_V sum = 0;
            for (int r = 0; r < group; r++) sum = SPRY_FNJ(plus)(sum, Ax, first + r * length + j, x[i + r], has_values);
            y[Aj[j]] += sum;
        }
    }
}

SPRYI_INLINE void SPRY_FNJ(plain_shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group,
                                         const int has_values)
{
#if SPRY_IS_MIXED /* one copy for all group sizes: a copy for each would be a fifth of this level's code */
    SPRY_FNJ(scatter_groups)(job, begin, end, has_values, group);
#else
    SPRYI_BY_GROUP(group, SPRY_FNJ(scatter_groups), job, begin, end, has_values)
#endif
}

SPRYI_INLINE void SPRY_FNJ(plain_piece)(const spryi_csr_job *job, const spryi_csr_block *piece, const int has_values)
{
    SPRY_FNJ(scatter)(job, ((const SPRY_V *)job->x)[piece->row], piece->begin, piece->end, has_values);
}

SPRYI_CSR_LOOPS(value, 1)
#if !SPRY_IS_MIXED
SPRYI_CSR_LOOPS(pattern, 0)
#endif

#endif

SPRYI_INLINE void SPRY_FN(plain_rows)(const spryi_csr_job *job, int64_t begin, int64_t end, const int has_values)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_V *x = job->x;
    for (int64_t i = begin; i < end; i++) SPRY_FNJ(scatter)(job, x[i], Ap[i], Ap[i + 1], has_values);
}

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
         NULL, NULL, NULL},
#endif
        {SPRY_FN(value_rows), SPRY_FNJ(value_strided), SPRY_FNJ(value_shared), SPRY_FNJ(value_piece), NULL, NULL, NULL,
         NULL},
    };
    return spryi_csr_drive_scatter(args, loops);
}
