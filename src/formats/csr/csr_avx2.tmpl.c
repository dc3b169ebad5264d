/* The loops of csr_avx2_cpu (csr_driver.h) for one value type and index pair. Mixed types use csr_portable.tmpl.c. */
#if SPRY_IS_MIXED

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    return SPRY_FN(plain_run)(args, err);
}

#else

#if SPRY_FIRST_J

/*
 * Writes y of rows i .. i + count - 1, count <= LANES. Lane l of `sums` is the sum of row i + l. Whole registers are
 * stored without a mask, because masked stores are slow on some processors.
 */
static inline void SPRY_FNJ(put)(const spryi_csr_job *job, int64_t i, int count, VEC sums)
{
    SPRY_V *y = (SPRY_V *)job->y + i;
    VEC result = MUL(SET1(SPRY_SCALAR(job->alpha)), sums);
    if (SPRY_SCALAR(job->beta) != 0) result = ADD(result, MUL(SET1(SPRY_SCALAR(job->beta)), MASK_LOAD(y, count)));
    if (count == LANES)
        STORE(y, result);
    else
        MASK_STORE(y, count, result);
}

/*
 * Returns a register whose lanes add up to the sum of entries k .. end - 1 times x. The last entries, fewer than LANES,
 * are not included: their sum is stored in *rest.
 */
static inline VEC SPRY_FNJ(row)(const SPRY_V *Ax, const SPRY_J *Aj, const SPRY_V *x, int64_t k, int64_t end,
                                SPRY_V *rest)
{
    VEC sum = ZERO();
    for (; k + LANES <= end; k += LANES) {
        spryi_prefetch_entries(Ax, Aj, k, k + LANES, sizeof(SPRY_V), sizeof(SPRY_J));
        sum = FMA(LOAD(Ax + k), GATHER(x, Aj + k), sum);
    }
    spryi_prefetch_entries(Ax, Aj, k, k + LANES, sizeof(SPRY_V),
                           sizeof(SPRY_J)); /* unconditional: a branch costs more */
    *rest = 0;
    for (; k < end; k++) *rest += Ax[k] * x[Aj[k]];
    return sum;
}

/* Multiplies LANES rows at a time, one per lane. Reads only the columns of the run's first row. */
static void SPRY_FNJ(strided)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const int64_t first = spryi_csr_offset(job, begin), length = spryi_csr_offset(job, begin + 1) - first;
    const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
    for (int64_t i = begin; i < end; i += LANES) {
        const SPRY_V *Ax = (const SPRY_V *)job->values + first + (i - begin) * length;
        const SPRY_V *x = (const SPRY_V *)job->x + (i - begin);
        int rows = end - i < LANES ? (int)(end - i) : LANES;
        VEC sum = ZERO();
        for (int64_t b = 0; b < LANES * length * (int64_t)sizeof(SPRY_V); b += 64) spryi_prefetch(Ax, b + SPRYI_AHEAD);
        for (int64_t j = 0; j < length; j += LANES) {
            VEC v[LANES];
            int columns = length - j < LANES ? (int)(length - j) : LANES;
            for (int r = 0; r < LANES; r++) {
                const SPRY_V *row = Ax + r * length + j;
                v[r] = r >= rows ? ZERO() : columns == LANES ? LOAD(row) : MASK_LOAD(row, columns);
            }
            TRANSPOSE(v);
            for (int c = 0; c < LANES; c++)
                if (c < columns)
                    sum = FMA(v[c], rows == LANES ? LOAD(x + Aj[j + c]) : MASK_LOAD(x + Aj[j + c], rows), sum);
        }
        SPRY_FNJ(put)(job, i, rows, sum);
    }
}

/* Reads a group's columns and gathers its x once for all rows of the group. */
static void SPRY_FNJ(shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group)
{
    const SPRY_V *x = job->x;
    for (int64_t i = begin; i < end; i += group) {
        const int64_t first = spryi_csr_offset(job, i), length = spryi_csr_offset(job, i + 1) - first;
        const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
        for (int from = 0; from < group; from += LANES) { /* f64 needs two passes for groups of 5 to 8 rows */
            int rows = group - from < LANES ? group - from : LANES;
            const SPRY_V *Ax = (const SPRY_V *)job->values + first + from * length;
            VEC sum[LANES];
            SPRY_V rest[LANES] = {0};
            for (int r = 0; r < LANES; r++) sum[r] = ZERO();
            int64_t j = 0;
            for (; j + LANES <= length; j += LANES) {
                VEC xs = GATHER(x, Aj + j);
                for (int r = 0; r < LANES; r++) {
                    if (r == rows) break;
                    spryi_prefetch(Ax, (r * length + j) * (int64_t)sizeof(SPRY_V) + SPRYI_AHEAD);
                    sum[r] = FMA(LOAD(Ax + r * length + j), xs, sum[r]);
                }
            }
            for (; j < length; j++)
                for (int r = 0; r < rows; r++) rest[r] += Ax[r * length + j] * x[Aj[j]];
            SPRY_FNJ(put)(job, i + from, rows, ADD(SPRYI_TYPED(sum_rows)(sum), LOAD(rest)));
        }
    }
}

static void SPRY_FNJ(piece)(const spryi_csr_job *job, const spryi_csr_block *piece)
{
    SPRY_V rest, lanes[LANES];
    VEC sum = SPRY_FNJ(row)(job->values, job->columns, job->x, piece->begin, piece->end, &rest);
    STORE(lanes, sum);
    double total = (double)rest;
    for (int r = 0; r < LANES; r++) total += (double)lanes[r];
    job->sums[piece->piece] = total;
}

#endif

/*
 * Multiplies short rows, four entries per step. x is collected by loads and inserts, because short rows fill few
 * registers and gathers are not masked.
 */
static void SPRY_FN(short_rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *Aj = job->columns;
    const SPRY_V *Ax = job->values, *x = job->x;
    const SPRY_V alpha = SPRY_SCALAR(job->alpha), beta = SPRY_SCALAR(job->beta);
    SPRY_V *y = job->y;
    for (int64_t i = begin; i < end; i++) {
        int64_t k = Ap[i], stop = Ap[i + 1];
        SPRYI_TYPED(four) four = {0};
        for (; k + 4 <= stop; k += 4)
            four =
                SPRYI_TYPED(four_terms)(Ax + k, FOUR_X(x + Aj[k], x + Aj[k + 1], x + Aj[k + 2], x + Aj[k + 3]), four);
        SPRY_V sum = SPRYI_TYPED(spryi_sum_four)(four);
        for (; k < stop; k++) sum += Ax[k] * x[Aj[k]];
        y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
    }
}

static void SPRY_FN(rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_J *Aj = job->columns;
    const SPRY_V *Ax = job->values, *x = job->x;
    if (Ap[end] - Ap[begin] < SHORT_MEAN * (end - begin)) {
        SPRY_FN(short_rows)(job, begin, end);
        return;
    }
    for (int64_t i = begin; i < end; i += LANES) {
        int count = end - i < LANES ? (int)(end - i) : LANES;
        VEC sum[LANES];
        SPRY_V rest[LANES] = {0};
        for (int r = 0; r < LANES; r++)
            sum[r] = r < count ? SPRY_FNJ(row)(Ax, Aj, x, Ap[i + r], Ap[i + r + 1], &rest[r]) : ZERO();
        SPRY_FNJ(put)(job, i, count, ADD(SPRYI_TYPED(sum_rows)(sum), LOAD(rest)));
    }
}

#include "formats/csr/csr_panel.tmpl.c"

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_csr_loops loops[] = {
        {SPRY_FN(pattern_rows), SPRY_FNJ(pattern_strided), SPRY_FNJ(pattern_shared), SPRY_FNJ(pattern_piece), NULL,
         NULL, SPRY_FNJ(ones_panel_rows), SPRY_FNJ(ones_panel_piece)},
        {SPRY_FN(rows), SPRY_FNJ(strided), SPRY_FNJ(shared), SPRY_FNJ(piece), NULL, NULL, SPRY_FNJ(values_panel_rows),
         SPRY_FNJ(values_panel_piece)},
    };
    return spryi_csr_drive(args, loops);
}

#endif
