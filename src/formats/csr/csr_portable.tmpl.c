/* The inner functions in plain C; see csr.h for what each is given. */

static inline void SPRY_FN(put)(const spryi_csr_job *job, int64_t i, SPRY_V sum)
{
    SPRY_V *y = (SPRY_V *)job->y + i;
    *y = job->beta == 0 ? (SPRY_V)job->alpha * sum : (SPRY_V)job->alpha * sum + (SPRY_V)job->beta * *y;
}

/* Four sums, so that one addition need not wait for the one before. */
static inline SPRY_V SPRY_FN(dot)(const SPRY_V *Ax, const SPRY_J *Aj, const SPRY_V *x, int64_t k, int64_t end)
{
    SPRY_V s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (; k + 4 <= end; k += 4) {
        s0 += Ax[k] * x[Aj[k]];
        s1 += Ax[k + 1] * x[Aj[k + 1]];
        s2 += Ax[k + 2] * x[Aj[k + 2]];
        s3 += Ax[k + 3] * x[Aj[k + 3]];
    }
    for (; k < end; k++) s0 += Ax[k] * x[Aj[k]];
    return (s0 + s1) + (s2 + s3);
}

static void SPRY_FN(rows)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    for (int64_t i = begin; i < end; i++)
        SPRY_FN(put)(job, i, SPRY_FN(dot)(job->values, job->columns, job->x, Ap[i], Ap[i + 1]));
}

/* Eight rows side by side: the loop over r has constant length and contiguous x. */
static void SPRY_FN(stepped)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    const SPRY_P *Ap = job->offsets;
    const int64_t first = Ap[begin], length = Ap[begin + 1] - first;
    const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
    int64_t i = begin;
    for (; i + 8 <= end; i += 8) {
        const SPRY_V *Ax = (const SPRY_V *)job->values + first + (i - begin) * length;
        SPRY_V sum[8] = {0};
        for (int64_t j = 0; j < length; j++) {
            const SPRY_V *x = (const SPRY_V *)job->x + Aj[j] + (i - begin);
            for (int r = 0; r < 8; r++) sum[r] += Ax[r * length + j] * x[r];
        }
        for (int r = 0; r < 8; r++) SPRY_FN(put)(job, i + r, sum[r]);
    }
    for (; i < end; i++) {
        const SPRY_V *Ax = (const SPRY_V *)job->values + first + (i - begin) * length;
        SPRY_V sum = 0;
        for (int64_t j = 0; j < length; j++) sum += Ax[j] * ((const SPRY_V *)job->x)[Aj[j] + (i - begin)];
        SPRY_FN(put)(job, i, sum);
    }
}

static void SPRY_FN(shared)(const spryi_csr_job *job, int64_t begin, int64_t end, int group)
{
    const SPRY_P *Ap = job->offsets;
    const SPRY_V *x = job->x;
    for (int64_t i = begin; i < end; i += group) {
        const int64_t first = Ap[i], length = Ap[i + 1] - first;
        const SPRY_J *Aj = (const SPRY_J *)job->columns + first;
        const SPRY_V *Ax = (const SPRY_V *)job->values + first;
        SPRY_V sum[SPRYI_MAX_GROUP] = {0};
        for (int64_t j = 0; j < length; j++) {
            SPRY_V xj = x[Aj[j]];
            for (int r = 0; r < group; r++) sum[r] += Ax[r * length + j] * xj;
        }
        for (int r = 0; r < group; r++) SPRY_FN(put)(job, i + r, sum[r]);
    }
}

static double SPRY_FN(piece)(const spryi_csr_job *job, int64_t begin, int64_t end)
{
    return (double)SPRY_FN(dot)(job->values, job->columns, job->x, begin, end);
}

static spry_status SPRY_FN(run)(const spryi_run_args *args, spry_error *err)
{
    (void)err; /* nothing can fail */
    static const spryi_csr_leaves leaves = {SPRY_FN(rows), SPRY_FN(stepped), SPRY_FN(shared), SPRY_FN(piece), NULL,
                                            NULL};
    return spryi_csr_drive(args, &leaves);
}
