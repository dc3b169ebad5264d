/*
 * The inner functions where every entry is 1 and no values are stored: a row's sum is that of its x. Plain C: of two
 * loads an entry none can be saved. The file that includes this gives FETCH(Aj, k), what is to be fetched ahead with
 * entry k, VALUED, the table for stored values, and OWN_ROWS where it has rows and pieces already.
 */

static inline void SPRY_FN(put_one)(const spryi_csr_job *job, int64_t i, SPRY_V sum)
{
    SPRY_V *y = (SPRY_V *)job->y + i;
    *y = job->beta == 0 ? (SPRY_V)job->alpha * sum : (SPRY_V)job->alpha * sum + (SPRY_V)job->beta * *y;
}

/* Four sums, so that one addition need not wait for the one before. */
static inline SPRY_V SPRY_FN(sum)(const SPRY_J *Aj, const SPRY_V *x, int64_t k, int64_t end)
{
    SPRY_V s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (; k + 8 <= end; k += 8) {
        FETCH(Aj, k);
        s0 += x[Aj[k]] + x[Aj[k + 4]];
        s1 += x[Aj[k + 1]] + x[Aj[k + 5]];
        s2 += x[Aj[k + 2]] + x[Aj[k + 6]];
        s3 += x[Aj[k + 3]] + x[Aj[k + 7]];
    }
    FETCH(Aj, k); /* needed or not: no branch */
    for (; k + 2 <= end; k += 2) {
        s0 += x[Aj[k]];
        s1 += x[Aj[k + 1]];
    }
    if (k < end) s2 += x[Aj[k]];
    return (s0 + s1) + (s2 + s3);
}

#ifndef OWN_ROWS
static void SPRY_FN(rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    for (int64_t i = begin; i < end; i++)
        SPRY_FN(put_one)(job, i, SPRY_FN(sum)(job->columns, job->x, Ap[i], Ap[i + 1]));
}
#endif

/* Of the matrix nothing is read but the run's first row: sixteen rows side by side add x that lie so too. */
static void SPRY_FN(stepped)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    enum { SIDE = 16 };
    const SPRY_P *Ap = job->offsets;
    const int64_t length = Ap[begin + 1] - Ap[begin];
    const SPRY_J *Aj = (const SPRY_J *)job->columns + Ap[begin];
    int64_t i = begin;
    for (; i + SIDE <= end; i += SIDE) {
        SPRY_V sum[SIDE] = {0};
        for (int64_t j = 0; j < length; j++) {
            const SPRY_V *x = (const SPRY_V *)job->x + Aj[j] + (i - begin);
            for (int r = 0; r < SIDE; r++) sum[r] += x[r];
        }
        for (int r = 0; r < SIDE; r++) SPRY_FN(put_one)(job, i + r, sum[r]);
    }
    for (; i < end; i++) {
        SPRY_V sum = 0;
        for (int64_t j = 0; j < length; j++) sum += ((const SPRY_V *)job->x)[Aj[j] + (i - begin)];
        SPRY_FN(put_one)(job, i, sum);
    }
}

/* Rows with the same columns have the same sum. */
static void SPRY_FN(shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group)
{
    const SPRY_P *Ap = job->offsets;
    for (int64_t i = begin; i < end; i += group) {
        const SPRY_V sum = SPRY_FN(sum)(job->columns, job->x, Ap[i], Ap[i + 1]);
        for (int r = 0; r < group; r++) SPRY_FN(put_one)(job, i + r, sum);
    }
}

#ifndef OWN_ROWS
static double SPRY_FN(piece)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    return (double)SPRY_FN(sum)(job->columns, job->x, begin, end);
}
#endif

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    static const spryi_csr_leaves leaves = {SPRY_FN(rows), SPRY_FN(stepped), SPRY_FN(shared), SPRY_FN(piece), NULL,
                                            NULL};
    const spryi_csr *s = args->storage;
    if (s->a.value_type == SPRY_PATTERN) return spryi_csr_drive(args, &leaves);
    return VALUED[SPRY_IS_F64][(sizeof(SPRY_P) == 8) + SPRY_J_IS_64](args, err);
}
